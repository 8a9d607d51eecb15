//! What a script tries to change in a sealed realm, and what it must be able to do in spite of that.

use super::*;

/// C1: nothing stays from one run to the next.
#[test]
fn globals_stay_as_they_are() {
    in_sealed(|scope| {
        load(
            scope,
            "const probe = f => { try { return f() } catch (e) { return e.name + ': ' + e.message } };",
            &["probe"],
        )
        .expect("sealed");
        for _ in 0..30 {
            let hits = run(scope, "probe(() => { globalThis.hits = (globalThis.hits ?? 0) + 1; return hits })");
            assert_eq!(hits, "TypeError: Cannot add property hits, object is not extensible");
            let math = run(scope, "probe(() => { Math = { max: () => -1 } })");
            assert!(math.starts_with("TypeError: Cannot assign to read only property 'Math'"), "{math}");
            assert_eq!(run(scope, "probe(() => { hits = 1 })"), "ReferenceError: hits is not defined");
            assert_eq!(run(scope, "probe(() => { delete globalThis.Math })").split(':').next(), Some("TypeError"));
            assert!(run(scope, "probe(() => { Temporal = 1 })").starts_with("TypeError"));
            assert!(run(scope, "probe(() => { WebAssembly = 1 })").starts_with("TypeError"));
            assert_eq!(run(scope, "typeof Math.round + typeof hits"), "functionundefined");
        }
    });
}

/// C3: assignments that only shadow go on working.
#[test]
fn frozen_prototypes_do_not_break_assignments() {
    in_sealed(|scope| {
        let source =
            "function Money(c) { this.c = c; } Money.prototype.toString = function () { return this.c + ' ct'; };
            const e = new Error('x'); e.name = 'Late'; const o = {}; o.constructor = 1;
            class E2 extends Error {} E2.prototype.message = 'm'; E2.prototype.name = 'E2';
            JSON.stringify([String(new Money(5)), e.name, o.constructor, String(new E2()), Object.keys(e), String(e)])";
        assert_eq!(run(scope, source), r#"["5 ct","Late",1,"E2: m",["name"],"Late: x"]"#);
        let source = "try { Object.prototype.toString = () => 'evil'; 'changed' } catch (e) { e.name + String({}) }";
        assert_eq!(run(scope, source), "TypeError[object Object]");
    });
}

#[test]
fn inherited_names_can_be_shadowed() {
    in_sealed(|scope| {
        let source = "
            const failed = [];
            const shadow = (label, object, names) => {
                for (const name of names) {
                    try {
                        const own = Object.hasOwn(object, name);
                        object[name] = 'mine';
                        const d = Object.getOwnPropertyDescriptor(object, name);
                        if (d?.value !== 'mine' || !d.writable || (!own && !d.enumerable) || !d.configurable) failed.push(label + '.' + name);
                        object[name] = 'again';
                        if (object[name] !== 'again') failed.push(label + '.' + name + ' twice');
                    } catch (e) { failed.push(label + '.' + name + ' ' + e); }
                }
            };
            const strings = (o, ...except) => Object.getOwnPropertyNames(o).filter(k => !except.includes(k));
            shadow('object', {}, strings(Object.prototype, '__proto__'));
            shadow('class', (class { static {} }).prototype, ['toString', 'valueOf', 'hasOwnProperty', 'isPrototypeOf']);
            shadow('function', function () {}, ['toString', 'call', 'apply', 'bind', 'constructor', 'valueOf']);
            shadow('array', [], strings(Array.prototype, 'length', 'constructor'));
            for (const E of [Error, TypeError, RangeError, SyntaxError, ReferenceError, EvalError, URIError, AggregateError, SuppressedError, WebAssembly.CompileError, WebAssembly.RuntimeError]) {
                shadow(E.name, Object.create(E.prototype), strings(E.prototype));
                shadow(E.name + ' instance', E === AggregateError ? new E([]) : new E('m'), strings(E.prototype));
            }
            shadow('iterator', Object.create(Iterator.prototype), strings(Iterator.prototype));
            shadow('helper', [].values().map(x => x), ['next', 'return']);
            shadow('generator', (function* () {})(), ['next', 'return', 'throw']);
            shadow('date', new Date(), ['toString', 'valueOf', 'toJSON', 'toISOString', 'constructor']);
            shadow('map', new Map(), ['constructor', 'toString', 'valueOf']);
            shadow('promise', Promise.resolve(), ['catch', 'finally', 'toString']);
            shadow('regexp', /x/, ['toString', 'valueOf']);
            shadow('bytes', new Uint8Array(1), ['toString', 'valueOf']);
            function Sub() { Error.call(this) } Sub.prototype = Object.create(Error.prototype); Sub.prototype.constructor = Sub; Sub.prototype.name = 'Sub';
            if (new Sub().constructor !== Sub || new Sub().name !== 'Sub') failed.push('Sub');
            failed.join('; ')";
        assert_eq!(run(scope, source), "");
    });
}

#[test]
fn shadowing_keeps_to_the_rules() {
    in_sealed(|scope| {
        let name = |source: &str| format!("try {{ {source}; 'no error' }} catch (e) {{ e.name }}");
        assert_eq!(run(scope, &name("Object.freeze({}).toString = 1")), "TypeError");
        assert_eq!(run(scope, &name("(5).valueOf = 1")), "TypeError");
        assert_eq!(run(scope, &name("Array.prototype.toString = 1")), "TypeError");
        let source = "const o = Object.defineProperty({}, 'toString', { value: 1, writable: true, enumerable: false, configurable: true });
            Reflect.set(Object.prototype, 'toString', 2, o); const d = Object.getOwnPropertyDescriptor(o, 'toString'); [d.value, d.enumerable].join()";
        assert_eq!(run(scope, source), "2,false");
    });
}

/// Every object of the realm, by every own key.
#[test]
fn no_intrinsic_can_be_changed() {
    in_sealed(|scope| {
        let source = format!(
            "const survey = {}([]); const late = [Temporal, WebAssembly, DisposableStack, AsyncDisposableStack];
            const failed = [];
            let objects = 0, keys = 0;
            for (const object of survey.walk([...survey.roots(), ...late], new Set())) {{
                if (object === globalThis) continue;
                objects++;
                if (!Object.isFrozen(object)) failed.push('not frozen: ' + (object.name ?? Object.getOwnPropertyNames(object)));
                for (const key of [...Reflect.ownKeys(object), 'added']) {{
                    keys++;
                    const before = Object.getOwnPropertyDescriptor(object, key);
                    try {{
                        const current = before && 'value' in before ? before.value : undefined;
                        object[key] = 'changed';
                        const after = Object.getOwnPropertyDescriptor(object, key);
                        const [a, b] = [before, after];
                        const same = a === undefined ? b === undefined : a.value === b?.value && a.get === b?.get && a.set === b?.set;
                        if (!same || key !== '__proto__') failed.push('assigned: ' + String(key));
                    }} catch (e) {{ if (!(e instanceof TypeError) && key !== 'length') failed.push(String(key) + e); }}
                    if (Reflect.defineProperty(object, key, {{ value: key === 'length' ? 99 : 'changed' }})) failed.push('defined: ' + String(key));
                    if (before && Reflect.deleteProperty(object, key)) failed.push('deleted: ' + String(key));
                }}
                const proto = Object.getPrototypeOf(object);
                if (Reflect.setPrototypeOf(object, {{}}) && proto !== null) failed.push('prototype');
            }}
            failed.slice(0, 20).join('; ') + (objects > 1100 && keys > 3000) + objects",
            include_str!("../../../../js/survey.js")
        );
        let answer = run(scope, &source);
        assert!(answer.starts_with("true"), "{answer}");
    });
}

#[test]
fn the_realm_keeps_no_legacy_state() {
    in_sealed(|scope| {
        let source = "/(a)(b)/.exec('xaby'); [RegExp.$1, RegExp.lastMatch, RegExp['$&'], RegExp.input, RegExp.$_].every(x => x === undefined)
            + ' ' + Object.getOwnPropertyNames(RegExp).sort()";
        assert_eq!(run(scope, source), "true escape,length,name,prototype");
        let name = |source: &str| format!("try {{ {source}; 'no error' }} catch (e) {{ e.name }}");
        assert_eq!(run(scope, &name("Error.stackTraceLimit = 0")), "TypeError");
        assert_eq!(run(scope, &name("Error.prepareStackTrace = () => 1")), "TypeError");
        assert_eq!(run(scope, &name("/x/.compile('y')")), "TypeError");
        assert_eq!(run(scope, "Error.stackTraceLimit + typeof FinalizationRegistry"), "10undefined");
        let source = "function up() { const o = {}; Error.captureStackTrace(o); return o.stack } up().includes('at up') && new Error('q').stack.startsWith('Error: q')";
        assert_eq!(run(scope, source), "true");
        assert_eq!(run(scope, "new TypeError('q').stack.split('\\n')[0]"), "TypeError: q");
    });
}

/// C4: the ways up to a constructor of functions all lead to this realm.
#[test]
fn constructors_lead_to_their_own_realm() {
    in_sealed(|scope| {
        let source = "const up = o => { try { return o.constructor.constructor('return this')() === globalThis } catch (e) { return e.name } };
            function raised(f) { try { f() } catch (e) { return e } }
            [globalThis, {}, [], async () => {}, function* () {}, async function* () {}, () => {}, Temporal, Temporal.Now,
             Temporal.Now.instant(), new Date().toTemporalInstant, new Date().toTemporalInstant(), WebAssembly, WebAssembly.Module, raised(() => null.x), raised(() => new WebAssembly.Module(new Uint8Array(1))),
             raised(() => { Object.prototype.toString = 1 }), Object.getOwnPropertyDescriptor(Object.prototype, 'toString').set,
             Object.getOwnPropertyDescriptor(globalThis, 'Temporal').get, (0, eval)('({})')].map(up).join()";
        assert_eq!(run(scope, source), ["true"; 20].join(","));
        assert_eq!(run(scope, "(function* () {})().constructor === Object.getPrototypeOf(function* () {})"), "true");
        scope.get_current_context().set_allow_generation_from_strings(false);
        assert_eq!(run(scope, "try { (() => {}).constructor('return this')() } catch (e) { e.name }"), "EvalError");
        assert_eq!(
            run(
                scope,
                "Temporal.Now.constructor === Object && Temporal.Instant.prototype.__proto__ === Object.prototype && Temporal.Instant.__proto__ === Function.prototype"
            ),
            "true"
        );
    });
}
