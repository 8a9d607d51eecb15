//! Deep values and deep recursion: errors with the limit in their text, and never an overflow of the host's own stack.
//!
//! In processes of their own, because an overflow ends the process.

use std::sync::Arc;

use jsmill::{Composition, ErrorKind, HostError, Limits, OneOff, Result, Scope, Script, Task};
use serde_json::Value;

use crate::assert_kind;
use crate::support::{SLACK, call, engine, engine_with, failure, in_child, script, still_works};

/// How scripts nest a value without recursion.
const NESTINGS: [&str; 5] = [
    "let n = []; for (let k = 0; k < depth; k++) n = [n]; return n;",
    "let n = {}; for (let k = 0; k < depth; k++) n = { n }; return n;",
    "let n = null; for (let k = 0; k < depth; k++) n = { k, next: n }; return n;",
    "let n = new Map(); for (let k = 0; k < depth; k++) n = new Map([['n', n]]); return n;",
    "let n = new Set(); for (let k = 0; k < depth; k++) n = new Set([n]); return n;",
];

/// Room for 300,000 maps.
fn roomy() -> jsmill::Engine {
    engine_with(|builder| builder.heap_limit(jsmill::Bytes::mib(1024)))
}

fn nested(depth: usize) -> Value {
    let mut value = Value::Null;
    for _ in 0..depth {
        value = Value::Array(vec![value]);
    }
    value
}

/// Drops a deep value level by level.
fn take_apart(mut value: Value) {
    while let Value::Array(mut list) = value {
        value = list.pop().unwrap_or_default();
    }
}

/// The depth of a nesting of arrays.
fn depth_of(value: &Value) -> usize {
    let (mut depth, mut value) = (0, value);
    while let Value::Array(list) = value {
        let Some(inner) = list.first() else { return depth };
        (depth, value) = (depth + 1, inner);
    }
    depth
}

#[test]
fn a_deep_result_is_refused() {
    in_child("stack::a_deep_result_is_refused", || {
        let engine = roomy();
        for nesting in NESTINGS {
            for depth in [1_000, 10_000, 300_000] {
                let source = format!("const main = () => {{ const depth = {depth}; {nesting} }};");
                let error = failure(&engine, &source, SLACK);
                assert_kind!(error, ErrorKind::Convert { .. } | ErrorKind::StackOverflow(_));
                still_works(&engine);
            }
            let source = format!("const main = () => {{ const depth = 1000; {nesting} }};");
            let text = failure(&engine, &source, SLACK).to_string();
            assert!(text.contains("256"), "the limit is missing in `{text}`");
        }
    });
}

#[test]
fn a_deep_argument_is_refused_before_recursion() {
    in_child("stack::a_deep_argument_is_refused_before_recursion", || {
        let engine = engine();
        for depth in [257, 1_000, 300_000] {
            let value = nested(depth);
            let error = call::<u32>(&engine, "const main = () => 1;", "main", (&value,)).expect_err("too deep");
            assert_kind!(error, ErrorKind::Convert { .. });
            assert!(error.to_string().contains("256"), "{error}");
            take_apart(value);
        }
        still_works(&engine);
    });
}

#[test]
fn the_documented_depth_passes_both_ways() {
    let engine = engine();
    // The list of arguments is not a level of the value.
    for depth in [1, 100, 250] {
        let value = nested(depth);
        let back: Value = call(&engine, "const main = (x) => x;", "main", (&value,)).expect("the depth is allowed");
        assert_eq!(depth_of(&back), depth);
    }
}

/// A call may ask for more depth than the engine's default, but not for more than its thread can bear.
#[test]
fn no_depth_limit_of_a_call_ends_the_process() {
    in_child("stack::no_depth_limit_of_a_call_ends_the_process", || {
        let engine = roomy();
        for depth in [1_000, 100_000, usize::MAX] {
            let limits = Limits { depth, slice_timeout: Some(SLACK), ..Limits::default() };
            let value = nested(300_000);
            let source = script(
                "const main = (x) => 1; const deep = () => { let n = []; for (let k = 0; k < 300000; k++) n = [n]; return n; };",
            );
            let sent = engine.task(&source).limits(limits).call_blocking::<u32>("main", (&value,));
            assert_kind!(
                sent.expect_err("too deep"),
                ErrorKind::Convert { .. } | ErrorKind::Config(_) | ErrorKind::StackOverflow(_)
            );
            take_apart(value);
            let received = engine.task(&source).limits(limits).call_blocking::<Value>("deep", ());
            assert_kind!(
                received.expect_err("too deep"),
                ErrorKind::Convert { .. } | ErrorKind::Config(_) | ErrorKind::StackOverflow(_)
            );
            still_works(&engine);
        }
    });
}

#[test]
fn recursion_through_other_things_than_calls_can_be_caught() {
    let prelude = "
        class K { static get w() { return [K.w]; } }
        const b = { toString() { return `${this}`; } };
        const c = { toJSON() { return JSON.stringify(this); } };
        const d = () => new Proxy({}, { get: (t, k, r) => r[k] });
        const e = (n) => [n].map(e);
        const f = () => f();
        const g = () => new (class { constructor() { g(); } })();
        const h = () => [2, 1].sort(() => h());
        const i = () => 'x'.replace('x', () => i());
        const j = { [Symbol.toPrimitive]() { return +j; } };
        function* k() { yield* k(); }
        const l = () => Reflect.apply(l, undefined, []);
        const m = () => JSON.parse('[1]', () => m());";
    let bodies = [
        "K.w",
        "String(b)",
        "JSON.stringify(c)",
        "d().x",
        "e(1)",
        "f()",
        "g()",
        "h()",
        "i()",
        "+j",
        "k().next()",
        "l()",
        "m()",
    ];
    let engine = engine();
    for body in bodies {
        let source = format!(
            "{prelude}\nconst main = () => {{ try {{ {body}; return 'no error'; }} catch (e) {{ return e.name; }} }}; const bare = () => {{ {body}; }};"
        );
        let source = script(&source);
        let caught = engine.task(&source).timeout(SLACK).call_blocking::<String>("main", ());
        assert_eq!(caught.unwrap_or_else(|error| panic!("{body}: {error}")), "RangeError", "{body}");
        let bare = engine.task(&source).timeout(SLACK).call_blocking::<Value>("bare", ()).expect_err(body);
        assert_kind!(bare, ErrorKind::StackOverflow(_));
        assert!(bare.to_string().contains("stack_size"), "{bare}");
        still_works(&engine);
    }
}

#[test]
fn recursion_in_what_the_conversion_runs() {
    let engine = engine();
    let sources = [
        "const main = () => ({ get x() { return this.x; } });",
        "const main = () => ({ toJSON() { return this.toJSON(); } });",
        "const main = () => { throw { get message() { return this.message; } }; };",
        "const main = () => new Proxy({}, { ownKeys(t) { return Reflect.ownKeys(new Proxy(t, this)); } });",
    ];
    for source in sources {
        let error = failure(&engine, source, SLACK);
        assert_kind!(error, ErrorKind::StackOverflow(_) | ErrorKind::Script(_));
        still_works(&engine);
    }
}

/// Calls a host function at the very bottom of its stack.
struct Bottom(Arc<Script>);

impl Task for Bottom {
    fn script(&self) -> &Arc<Script> {
        &self.0
    }
    fn initialize(&self, scope: &mut Scope<'_, '_, '_>) -> Result<()> {
        scope.define_function("host", |value: Value| -> Result<Value, HostError> {
            // As much as host code may want: a formatted text, a sorted list.
            let mut words: Vec<String> = (0..100).map(|n| format!("{n} {value}")).collect();
            words.sort();
            Ok(Value::from(words.len()))
        })
    }
}

impl OneOff for Bottom {
    type Output = String;
    fn run(&self, scope: &mut Scope<'_, '_, '_>) -> Result<String> {
        let main = scope.function("main")?;
        let result = scope.call(main, &[])?;
        scope.from_js(result)
    }
}

#[test]
fn a_host_function_at_the_bottom_of_the_stack_has_room() {
    in_child("stack::a_host_function_at_the_bottom_of_the_stack_has_room", || {
        // The smallest stack leaves the smallest reserve to host code.
        let engine = engine_with(|builder| builder.stack_size(jsmill::Bytes::mib(4)));
        let source = "
            const value = () => { let n = {}; for (let k = 0; k < 250; k++) n = { n }; return n; };
            const deep = (v) => {
                try { return deep(v); } catch (e) { if (e.name !== 'RangeError') throw e; }
                return host(v);
            };
            const main = () => { const out = deep(value()); return `${typeof out} ${out}`; };";
        let limits = Limits { slice_timeout: Some(SLACK), ..Limits::default() };
        let task = Composition::new(Bottom(script(source))).one_off().memory().limits(limits);
        assert_eq!(engine.run_blocking(task).expect("there is room"), "number 100");
        still_works(&engine);
    });
}

#[test]
fn a_deep_argument_of_a_host_function_is_an_exception() {
    in_child("stack::a_deep_argument_of_a_host_function_is_an_exception", || {
        let engine = roomy();
        for nesting in NESTINGS {
            let source = format!(
                "const value = (depth) => {{ {nesting} }}; const main = () => {{ try {{ return `${{host(value(300000))}}`; }} catch (e) {{ return e.name; }} }};"
            );
            let task = Composition::new(Bottom(script(&source))).one_off().memory();
            let name = engine
                .run_blocking(task.limits(Limits { slice_timeout: Some(SLACK), ..Limits::default() }))
                .expect("it is caught");
            assert!(name == "TypeError" || name == "RangeError", "{name}");
            still_works(&engine);
        }
    });
}

#[test]
fn deeply_nested_source_is_refused() {
    in_child("stack::deeply_nested_source_is_refused", || {
        let engine = engine();
        for (open, close) in [("(", ")"), ("[", "]"), ("{a:", "}"), ("!", ""), ("1+(", ")"), ("x=>", "")] {
            let depth = 200_000;
            let source = format!("const main = () => {}1{};", open.repeat(depth), close.repeat(depth));
            let error = match Script::new("deep.js", source) {
                Err(error) => error,
                Ok(script) => {
                    engine.task(&script).timeout(SLACK).call_blocking::<Value>("main", ()).expect_err("too deep")
                }
            };
            assert_kind!(error, ErrorKind::Compile(_) | ErrorKind::StackOverflow(_) | ErrorKind::Script(_));
            still_works(&engine);
        }
    });
}
