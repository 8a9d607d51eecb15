//! What still works: the features V8 adds late, in sealed and in open contexts, and garbage collection.

use super::*;

const FEATURES: [(&str, &str); 22] = [
    ("typeof Promise.try", "function"),
    ("[1,2,3].values().map(x => x * 2).filter(x => x > 2).toArray().join()", "4,6"),
    ("Uint8Array.fromBase64('AQID').toHex()", "010203"),
    ("Math.sumPrecise([0.1, 0.2, -0.1])", "0.2"),
    ("Math.f16round(1.337) > 1", "true"),
    ("Temporal.PlainDate.from('2024-02-29').add({ years: 1 }).toString()", "2025-02-28"),
    ("new Date(0).toTemporalInstant().toString()", "1970-01-01T00:00:00Z"),
    ("new Intl.NumberFormat('de-DE').format(1234.5)", "1.234,5"),
    ("new Intl.DateTimeFormat('en', { timeZone: 'UTC' }).format(new Date(0))", "1/1/1970"),
    ("[...new Intl.Segmenter('en', { granularity: 'word' }).segment('a b')].length", "3"),
    ("new WebAssembly.Module(new Uint8Array([0,97,115,109,1,0,0,0])) instanceof WebAssembly.Module", "true"),
    ("new Map([[1, 2]]).getOrInsert(3, 4) + new Map([[1, 2]]).get(1)", "6"),
    ("Error.isError(new Error())", "true"),
    ("RegExp.escape('a.b').length > 3", "true"),
    ("'aXbX'.replace(/X/g, '-') + 'a1b2'.split(/[0-9]/) + 'abc'.search(/c/) + 'a1'.match(/[0-9]/)[0]", "a-b-a,b,21"),
    ("[...'a1b2'.matchAll(/[0-9]/g)].map(String).join()", "1,2"),
    ("{ class A extends Array {} ; new A(1, 2, 3).map(x => x) instanceof A }", "true"),
    ("{ class P extends Promise {} ; P.resolve(1).then(() => 1) instanceof P }", "true"),
    ("{ using r = { [Symbol.dispose]() {} }; } new DisposableStack().disposed", "false"),
    ("new Float16Array([1.5])[0] + [...[1, 2]].length", "3.5"),
    ("Object.groupBy([1,2,3], x => x % 2 ? 'odd' : 'even').odd.join()", "1,3"),
    ("JSON.stringify({ a: [1, { b: null }] })", r#"{"a":[1,{"b":null}]}"#),
];

fn check(scope: &mut v8::PinScope<'_, '_>) {
    for (source, expected) in FEATURES {
        assert_eq!(run(scope, source), expected, "{source}");
    }
}

#[test]
fn late_features_work_in_a_sealed_context() {
    in_sealed(|scope| {
        check(scope);
        load(scope, "", &[]).expect("sealed");
        check(scope);
        let source = "[Temporal, Temporal.Now, Temporal.PlainDate, Temporal.PlainDate.prototype, WebAssembly, WebAssembly.Module.prototype, Intl,
            Intl.NumberFormat.prototype, Promise.try, Iterator.prototype, Uint8Array.fromBase64, Math, Math.sumPrecise, Float16Array.prototype,
            DisposableStack.prototype, SuppressedError.prototype, Date.prototype, globalThis].every(Object.isFrozen)";
        assert_eq!(run(scope, source), "true");
    });
}

#[test]
fn late_features_work_after_the_global_object_was_frozen() {
    in_sealed(|scope| {
        load(scope, "", &[]).expect("sealed");
        check(scope);
    });
}

#[test]
fn an_open_context_can_be_changed_and_is_alone() {
    in_isolate(|scope| {
        let first = realm::open(scope, None).expect("a context");
        let second = realm::open(scope, None).expect("a context");
        {
            let scope = &mut v8::ContextScope::new(scope, first);
            check(scope);
            assert_eq!(
                run(
                    scope,
                    "Object.prototype.x = 1; Math.round = () => 7; globalThis.y = 2; String([].x + Math.round() + y)"
                ),
                "10"
            );
            assert_eq!(
                run(scope, "typeof FinalizationRegistry + typeof RegExp.$1 + Object.isFrozen(Array.prototype)"),
                "functionstringfalse"
            );
        }
        let scope = &mut v8::ContextScope::new(scope, second);
        assert_eq!(run(scope, "String([].x) + Math.round(1.6) + typeof y"), "undefined2undefined");
        check(scope);
    });
}

#[test]
fn contexts_survive_collections() {
    in_isolate(|scope| {
        for _ in 0..20 {
            v8::scope!(let scope, scope);
            let context = realm::sealed(scope, None).expect("a context");
            let scope = &mut v8::ContextScope::new(scope, context);
            scope.low_memory_notification();
            check(scope);
            load(scope, "const table = { a: [1, 2] }", &["table"]).expect("sealed");
            scope.low_memory_notification();
            check(scope);
            assert_eq!(run(scope, "'x1'.replace(/[0-9]/, 'y') + new Set([1, 2]).size + table.a[1]"), "xy22");
        }
    });
}

#[test]
fn microtasks_go_to_the_given_queue() {
    on_v8_thread(|| {
        let mut isolate = v8::Isolate::new(v8::CreateParams::default().snapshot_blob(v8().startup().into()));
        isolate.set_microtasks_policy(v8::MicrotasksPolicy::Explicit);
        let queue = v8::MicrotaskQueue::new(&mut isolate, v8::MicrotasksPolicy::Explicit);
        v8::scope!(let scope, &mut isolate);
        for make in [realm::sealed, realm::open] {
            let context =
                make(scope, Some(std::ptr::from_ref::<v8::MicrotaskQueue>(&queue).cast_mut())).expect("a context");
            let scope = &mut v8::ContextScope::new(scope, context);
            run(scope, "globalThis.out = 'no'; Promise.resolve().then(() => { out = 'yes' })");
            scope.perform_microtask_checkpoint();
            assert_eq!(run(scope, "out"), "no");
            queue.perform_checkpoint(scope);
            assert_eq!(run(scope, "out"), "yes");
        }
    });
}
