//! Sealing what a script left at its top level.

use super::*;

#[test]
fn bindings_are_frozen_deeply() {
    in_sealed(|scope| {
        let script = "class Rate { static cache = { hits: 0 }; static list = [[1]]; get value() { return 1 } }
            const config = { a: [{ b: 1 }], [Symbol.for('s')]: { c: 1 }, f() {}, get g() { return 1 }, __proto__: { inherited: {} } };
            function main() {} main.memo = {}; const again = Object.freeze({ inner: {} }); const loop = {}; loop.self = loop;
            const big = [1n, 'x', null, undefined, true]; globalThis.extra = { deep: {} }; const re = /x/; const sym = Symbol();";
        load(scope, script, &["Rate", "config", "main", "again", "loop", "big", "re", "sym"]).expect("sealed");
        let source = "[Rate, Rate.prototype, Rate.cache, Rate.list[0], Object.getOwnPropertyDescriptor(Rate.prototype, 'value').get, config, config.a, config.a[0],
            config[Symbol.for('s')], config.f, Object.getOwnPropertyDescriptor(config, 'g').get, Object.getPrototypeOf(config), Object.getPrototypeOf(config).inherited,
            main, main.prototype, main.memo, again.inner, loop, big, extra, extra.deep, re, globalThis].map(Object.isFrozen).indexOf(false)";
        assert_eq!(run(scope, source), "-1");
        let source = "re.test('x') + String(re.exec('axb').index) + 'axb'.replace(re, 'y') + 'axb'.split(re) + 'ax'.search(re) + 'ax'.match(re)[0]";
        assert_eq!(run(scope, source), "true1ayba,b1x");
        assert_eq!(run(scope, "try { re.lastIndex = 5 } catch (e) { e.message.includes('lastIndex') }"), "true");
    });
}

#[test]
fn what_freezing_cannot_close_is_refused() {
    let cases = [
        ("{ cache: new Map() }", "it.cache", "a Map"),
        ("[0, { s: new Set() }]", "it[1].s", "a Set"),
        ("{ w: new WeakMap() }", "it.w", "a WeakMap"),
        ("{ w: new WeakSet() }", "it.w", "a WeakSet"),
        ("{ w: new WeakRef({}) }", "it.w", "a WeakRef"),
        ("new Date()", "it", "a Date"),
        ("{ bytes: new Uint8Array(1) }", "it.bytes", "a typed array"),
        ("new Float16Array(1)", "it", "a typed array"),
        ("new ArrayBuffer(1)", "it", "an ArrayBuffer"),
        ("new SharedArrayBuffer(1)", "it", "a SharedArrayBuffer"),
        ("new DataView(new ArrayBuffer(1))", "it", "a DataView"),
        ("(function* () {})()", "it", "a generator object"),
        ("(async function* () {})()", "it", "a generator object"),
        ("[].values()", "it", "an iterator"),
        ("''[Symbol.iterator]()", "it", "an iterator"),
        ("new Map().keys()", "it", "an iterator"),
        ("new Set().keys()", "it", "an iterator"),
        ("''.matchAll(/x/g)", "it", "an iterator"),
        ("[].values().map(x => x)", "it", "an iterator"),
        ("new Intl.Segmenter().segment('')[Symbol.iterator]()", "it", "an iterator"),
        ("{ r: /x/g }", "it.r", "a RegExp with the flag g or y"),
        ("{ r: /x/y }", "it.r", "a RegExp with the flag g or y"),
        ("{ p: new Proxy({}, { ownKeys() { throw 1 }, getPrototypeOf() { throw 1 } }) }", "it.p", "a Proxy"),
        ("new Proxy(function () {}, {})", "it", "a Proxy"),
        ("{ m: new WebAssembly.Memory({ initial: 0 }) }", "it.m", "a WebAssembly.Memory"),
        ("new WebAssembly.Table({ initial: 0, element: 'anyfunc' })", "it", "a WebAssembly.Table"),
        ("new WebAssembly.Global({ value: 'i32', mutable: true }, 0)", "it", "a WebAssembly.Global"),
        (
            "new WebAssembly.Instance(new WebAssembly.Module(new Uint8Array([0,97,115,109,1,0,0,0])))",
            "it",
            "a WebAssembly.Instance",
        ),
        ("new DisposableStack()", "it", "a DisposableStack"),
        ("Promise.resolve({ m: new Map() })", "it.(result).m", "a Map"),
        ("{ [Symbol('secret')]: new Map() }", "it[Symbol(secret)]", "a Map"),
        ("Object.freeze({ m: Object.freeze(new Map()) })", "it.m", "a Map"),
        ("class { static memo = new Map() }", "it.memo", "a Map"),
        ("Object.create({ m: new Map() })", "it.(prototype).m", "a Map"),
        ("Object.defineProperty({}, 'x', { get: Object.assign(() => 1, { memo: new Map() }) })", "it.x.memo", "a Map"),
        ("new (class extends Map {})()", "it", "a Map"),
        ("Object.setPrototypeOf(new Map(), Object.prototype)", "it", "a Map"),
    ];
    in_isolate(move |scope| {
        for (value, path, what) in cases {
            v8::scope!(let scope, scope);
            let context = realm::sealed(scope, None).expect("a context");
            let scope = &mut v8::ContextScope::new(scope, context);
            let refused = load(scope, &format!("const it = {value};"), &["it"]);
            assert_eq!(refused, Err(realm::Refused { path: path.into(), what: what.into() }), "{value}");
        }
    });
}

#[test]
fn globals_are_sealed_like_bindings() {
    in_sealed(|scope| {
        let refused = load(scope, "globalThis.store = { m: new Map() };", &[]).expect_err("a Map");
        assert_eq!(refused.to_string(), "`store.m` is a Map, which can be changed even when it is frozen");
    });
}

#[test]
fn deep_nesting_does_not_overflow() {
    in_sealed(|scope| {
        let script = "let deep = []; for (let i = 0; i < 1000000; i++) deep = [deep];";
        load(scope, script, &["deep"]).expect("sealed");
        assert_eq!(run(scope, "Object.isFrozen(deep[0][0][0][0])"), "true");
    });
}

#[test]
fn a_value_of_the_host_is_hardened() {
    in_isolate(|scope| {
        for make in [realm::sealed, realm::open] {
            let context = make(scope, None).expect("a context");
            let scope = &mut v8::ContextScope::new(scope, context);
            let source = v8::String::new(scope, "globalThis.data = { rows: [{ a: 1 }] }; data").expect("a string");
            let data = v8::Script::compile(scope, source, None).and_then(|it| it.run(scope)).expect("a value");
            assert_eq!(realm::harden_value(scope, data), Ok(()));
            assert_eq!(run(scope, "[data, data.rows, data.rows[0]].every(Object.isFrozen)"), "true");
            let source = v8::String::new(scope, "({ a: [0, new Map()] })").expect("a string");
            let data = v8::Script::compile(scope, source, None).and_then(|it| it.run(scope)).expect("a value");
            assert_eq!(
                realm::harden_value(scope, data),
                Err(realm::Refused { path: "value.a[1]".into(), what: "a Map".into() })
            );
        }
    });
}

#[test]
fn a_hostile_open_realm_does_not_disturb_the_walk() {
    in_isolate(|scope| {
        let context = realm::open(scope, None).expect("a context");
        let scope = &mut v8::ContextScope::new(scope, context);
        let source = "const all = [Array, Set, WeakSet, Map].flatMap(({ prototype }) => Reflect.ownKeys(prototype).map(key => [prototype, key]));
            for (let at = 0; at < all.length; at++) try { all[at][0][all[at][1]] = () => { throw 1 } } catch {}
            Object.freeze = Reflect.ownKeys = () => { throw 1 }; globalThis.data = { rows: [Object.seal({ a: [1] })] }; data";
        let source = v8::String::new(scope, source).expect("a string");
        let data = v8::Script::compile(scope, source, None).and_then(|it| it.run(scope)).expect("a value");
        assert_eq!(realm::harden_value(scope, data), Ok(()));
        assert_eq!(run(scope, "Object.isFrozen(data) && Object.isFrozen(data.rows[0].a)"), "true");
    });
}

#[test]
fn a_foreign_context_is_an_error() {
    in_isolate(|scope| {
        let context = v8::Context::new(scope, Default::default());
        let scope = &mut v8::ContextScope::new(scope, context);
        assert!(realm::seal(scope, &[]).is_err());
    });
}
