//! Old parts of the language that keep state outside of every object: none of it is seen by a later run.

use jsmill::Script;
use serde_json::{Value, json};

use crate::support::engine;

#[test]
fn the_last_match_of_a_regular_expression_is_not_seen_later() {
    let engine = engine();
    let writer = Script::new("w.js", "const write = (s) => { /(secret)-(\\d+)/.exec(s); return [RegExp.$1 ?? null, RegExp.lastMatch ?? null, RegExp['$&'] ?? null]; };").unwrap();
    let reader = "const read = () => ['$1', '$2', '$9', 'input', '$_', 'lastMatch', '$&', 'lastParen', '$+', 'leftContext', '$`', 'rightContext'].map((k) => RegExp[k] ?? '');";
    let other = Script::new("r.js", reader).unwrap();
    let both = Script::new("b.js", format!("const write = (s) => /(secret)-(\\d+)/.test(s); {reader}")).unwrap();
    for _ in 0..3 {
        engine.task(&writer).call_blocking::<Value>("write", ("a secret-77 b",)).unwrap();
        engine.task(&both).call_blocking::<Value>("write", ("a secret-77 b",)).unwrap();
        for script in [&other, &both] {
            let found: Vec<String> = engine.task(script).call_blocking("read", ()).unwrap();
            assert!(found.iter().all(|text| !text.contains("secret") && !text.contains("77")), "{found:?}");
        }
    }
}

#[test]
fn the_stack_trace_limit_does_not_stay() {
    let engine = engine();
    let source = "
        const deep = (n) => (n ? deep(n - 1) : new Error('e').stack.split('\\n').length);
        const change = (n) => { try { Error.stackTraceLimit = n; } catch (e) { return e.name; } return deep(20); };
        const look = () => deep(20);";
    let script = Script::new("s.js", source).unwrap();
    let before: usize = engine.task(&script).call_blocking("look", ()).unwrap();
    for limit in [0, 1, 15] {
        engine.task(&script).call_blocking::<Value>("change", (limit,)).unwrap();
        assert_eq!(engine.task(&script).call_blocking::<usize>("look", ()).unwrap(), before, "after {limit}");
    }
}

#[test]
fn a_hook_for_stack_traces_does_not_stay_and_forges_no_error() {
    let engine = engine();
    let source = "
        const change = () => { try { Error.prepareStackTrace = (e, frames) => ({ hijacked: frames.map((f) => typeof f.getThis()) }); } catch (e) { return e.name; } return 'set'; };
        const look = () => typeof new Error('e').stack;
        const fail = () => { throw new TypeError('real'); };";
    let script = Script::new("p.js", source).unwrap();
    for _ in 0..3 {
        engine.task(&script).call_blocking::<String>("change", ()).unwrap();
        assert_eq!(engine.task(&script).call_blocking::<String>("look", ()).unwrap(), "string");
        let error = engine.task(&script).call_blocking::<()>("fail", ()).unwrap_err();
        let thrown = error.script_error().unwrap();
        assert_eq!((thrown.name.as_str(), thrown.frames[0].function.as_str()), ("TypeError", "fail"));
    }
}

#[test]
fn the_registry_of_symbols_carries_no_state() {
    let engine = engine();
    let writer = Script::new("w.js", "const main = () => { const s = Symbol.for('k'); try { Object.assign(s, { x: 1 }); } catch {} return String(s); };").unwrap();
    let reader = Script::new("r.js", "const main = () => Symbol.for('k').x === undefined;").unwrap();
    engine.task(&writer).call_blocking::<String>("main", ()).unwrap();
    assert_eq!(engine.task(&reader).call_blocking::<Value>("main", ()).unwrap(), json!(true));
}
