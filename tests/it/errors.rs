//! What a caller learns of a failure: the script's own errors with their place, odd things thrown, and texts that help.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use jsmill::{Bytes, Composition, Engine, Error, ErrorKind, Frame, OneOff, Result, Scope, Script, ScriptError, Task};
use serde_json::Value;

use crate::assert_kind;
use crate::support::{engine, engine_with, still_works};

fn fail(engine: &Engine, source: &str) -> Error {
    let script = Script::new("price.js", source).unwrap();
    engine.task(&script).call_blocking::<Value>("main", ()).unwrap_err()
}

#[track_caller]
fn thrown(error: &Error) -> &ScriptError {
    assert_kind!(error, ErrorKind::Script(_));
    error.script_error().unwrap()
}

#[test]
fn an_error_comes_with_place_line_and_stack() {
    let source = "const rate = (zone) => {\n  if (!zone) throw new RangeError('no zone');\n  return 1;\n};\nfunction price(order) { return order.n * rate(order.zone); }\nconst main = () => price({ n: 1 });\n";
    let error = fail(&engine(), source);
    let thrown = thrown(&error);
    assert_eq!((thrown.name.as_str(), thrown.message.as_str()), ("RangeError", "no zone"));
    assert_eq!((thrown.script.as_deref(), thrown.line, thrown.column), (Some("price.js"), Some(2), Some(14)));
    assert_eq!(thrown.source_line.as_deref(), Some("  if (!zone) throw new RangeError('no zone');"));
    let frames: Vec<_> = thrown.frames.iter().map(|frame: &Frame| (frame.function.as_str(), frame.line)).collect();
    assert_eq!(frames, [("rate", 2), ("price", 5), ("main", 6)]);
    assert_eq!((thrown.frames[0].script.as_str(), thrown.frames[0].column), ("price.js", 20));
    assert_eq!(thrown.frames[1].to_string(), "price (price.js:5:42)");
    let text = error.to_string();
    for part in
        ["price.js: main: ", "RangeError: no zone", "price.js:2:14", "`if (!zone) throw new RangeError('no zone');`"]
    {
        assert!(text.contains(part), "`{part}` is missing: {text}");
    }
}

#[test]
fn an_error_of_the_language_is_one_too() {
    let engine = engine();
    for (source, name, line) in [
        ("const main = () =>\n null.x;", "TypeError", 2),
        ("const main = () => nowhere;", "ReferenceError", 1),
        ("const main = () => { 'use strict'; undeclared = 1; };", "ReferenceError", 1),
        ("const main = () => new Array(-1);", "RangeError", 1),
        ("const main = () => decodeURIComponent('%');", "URIError", 1),
        ("const main = () => BigInt('x');", "SyntaxError", 1),
    ] {
        let error = fail(&engine, source);
        let thrown = thrown(&error);
        assert_eq!((thrown.name.as_str(), thrown.line), (name, Some(line)), "{source}");
        assert!(thrown.frames.iter().any(|frame| frame.function == "main"), "{source}: {:?}", thrown.frames);
    }
}

#[test]
fn an_error_while_loading_names_the_place() {
    let error = fail(&engine(), "const a = 1;\nconst b = a.x.y;\nconst main = () => b;");
    let thrown = thrown(&error);
    assert_eq!((thrown.name.as_str(), thrown.line), ("TypeError", Some(2)));
    assert_eq!(thrown.frames[0].function, "");
    assert_eq!(thrown.frames[0].to_string(), "<top level> (price.js:2:15)");
}

#[test]
fn anything_may_be_thrown() {
    let engine = engine();
    for (what, text) in [
        ("'plain'", "plain"),
        ("42", "42"),
        ("null", "null"),
        ("undefined", "undefined"),
        ("7n", "7"),
        ("Symbol('s')", "Symbol(s)"),
        ("true", "true"),
    ] {
        let error = fail(&engine, &format!("const main = () => {{ throw {what}; }};"));
        let thrown = thrown(&error);
        assert_eq!(thrown.name, "Error", "{what}");
        assert!(thrown.message.contains(text), "{what}: {}", thrown.message);
        assert_eq!(thrown.line, Some(1), "{what}");
    }
    for (what, name, message) in [
        ("{ name: 'Mine', message: 'm' }", "Mine", "m"),
        ("{ message: 'only' }", "Error", "only"),
        ("{ name: 'Only' }", "Only", ""),
        ("{ name: Symbol('n'), message: 5 }", "Symbol(n)", "5"),
        ("new (class Custom extends Error { name = 'Custom'; })('c')", "Custom", "c"),
        ("new Proxy({ message: 'through' }, {})", "Error", "through"),
        ("new AggregateError([new Error('a')], 'all')", "AggregateError", "all"),
        ("new Error('outer', { cause: new Error('inner') })", "Error", "outer"),
    ] {
        let error = fail(&engine, &format!("const main = () => {{ throw {what}; }};"));
        let thrown = thrown(&error);
        assert_eq!((thrown.name.as_str(), thrown.message.as_str()), (name, message), "{what}");
    }
}

#[test]
fn what_describes_an_error_may_fail_itself() {
    let engine = engine();
    for what in [
        "{}",
        "[]",
        "() => 1",
        "{ get message() { throw 1; } }",
        "{ get name() { throw new Error('n'); }, message: 'm' }",
        "{ message: { toString() { throw 1; } } }",
        "{ message: { toString() { return {}; } } }",
        "new Proxy({}, { get() { throw new Error('trap'); } })",
        "new Proxy({}, { getPrototypeOf() { throw new Error('trap'); }, get() { return undefined; } })",
        "((p) => { p.revoke(); return p.proxy; })(Proxy.revocable({}, {}))",
        "Object.create(null)",
        "Object.defineProperty(new Error('x'), 'stack', { get() { throw 1; } })",
        "Object.defineProperty(new Error('x'), 'message', { get() { throw 1; } })",
        "Object.setPrototypeOf(new Error('x'), null)",
        "{ message: 'x'.repeat(2 ** 28) }",
        "((e) => { e.message = e; return e; })({})",
    ] {
        let error = fail(&engine, &format!("const main = () => {{ throw {what}; }};"));
        let thrown = thrown(&error);
        assert!(!thrown.name.is_empty(), "{what}: {thrown:?}");
        assert!(error.to_string().len() < 20_000, "{what}: {}", error.to_string().len());
        still_works(&engine);
    }
}

#[test]
fn the_stack_is_bounded_and_the_text_clipped() {
    let engine = engine();
    let error = fail(
        &engine,
        "const down = (n) => { if (n === 0) throw new Error('y'.repeat(100000)); return down(n - 1) + 1; }; const main = () => down(500);",
    );
    let thrown = thrown(&error);
    assert_eq!(thrown.frames.len(), 10);
    assert!(thrown.message.len() < 10_000, "{}", thrown.message.len());
    let long = format!("const main = () => {{ throw new Error('x'); /* {} */ }};", "z".repeat(1_000_000));
    let error = fail(&engine, &long);
    assert!(error.to_string().len() < 10_000, "{}", error.to_string().len());
}

#[test]
fn a_missing_function_is_named_with_those_that_exist() {
    let engine = engine();
    let script = Script::new("f.js", "const rate = 1; function price() {} const tax = () => 1; async function later() {} function* steps() {} class K {}").unwrap();
    let help = |name: &str| {
        let error = engine.task(&script).call_blocking::<Value>(name, ()).unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::NoSuchFunction { function, .. } if function == name), "{error}");
        error.to_string()
    };
    let text = help("prise");
    assert!(
        text.contains("`prise`") && text.contains("`price`") && text.contains("`tax`") && text.contains("f.js"),
        "{text}"
    );
    assert!(help("rate").contains("no function"));
    assert!(help("later").contains("async"));
    assert!(help("steps").contains("generator"));
    for name in ["", "toString", "__proto__", "constructor", "a b", "rate; 1", "globalThis", "Math"] {
        help(name);
    }
}

#[test]
fn a_syntax_error_is_found_when_the_script_is_made() {
    let error = Script::new("bad.js", "const a = 1;\nconst = 2;").unwrap_err();
    let ErrorKind::Compile(found) = error.kind() else { panic!("{error}") };
    assert_eq!((found[0].code, found[0].script.as_str(), found[0].line, found[0].column), ("syntax", "bad.js", 2, 7));
    assert!(error.to_string().contains("bad.js:2:7") && error.to_string().contains("const = 2;"), "{error}");
    assert!(Script::new("with.js", "with ({}) {}").is_err(), "strict mode");
}

#[test]
fn what_only_v8_refuses_is_a_compile_error_at_the_call() {
    let engine = engine();
    let sources = [
        "const main = () => 1;\nconst re = /(?<a>x)(?<a>y)/;",
        "const main = () => 1;\nconst re = /[z-a]/u;",
        "const main = () => 1;\nconst re = /(/;",
    ];
    for source in sources {
        let error = match Script::new("re.js", source) {
            Ok(script) => engine.task(&script).call_blocking::<u32>("main", ()).unwrap_err(),
            Err(error) => error,
        };
        let ErrorKind::Compile(found) = error.kind() else { panic!("{source}: {error} {:?}", error.kind()) };
        assert_eq!((found[0].code, found[0].line), ("syntax", 2), "{source}: {found:?}");
        still_works(&engine);
    }
}

/// Whether a kind is the right one.
type Check = fn(&ErrorKind) -> bool;

#[test]
fn the_text_of_a_limit_names_script_function_limit_and_remedy() {
    let engine = engine_with(|builder| builder.heap_limit(Bytes::mib(32)).buffer_limit(Bytes::mib(16)));
    let script = Script::new(
        "limits.js",
        "const spin = () => { for (;;); }; const deep = () => deep() + 1; const fill = () => { const k = []; for (;;) k.push({ p: [k.length] }); };
         const buffers = () => { const k = []; for (;;) k.push(new Uint8Array(1 << 20)); }; const large = () => 'x'.repeat(1 << 21);",
    )
    .unwrap();
    let short = Duration::from_millis(60);
    let cases: [(&str, Check, &[&str]); 7] = [
        ("timeout", |kind| matches!(kind, ErrorKind::SliceTimeout { .. }), &["limits.js: spin", "60ms", "`timeout`"]),
        ("cpu", |kind| matches!(kind, ErrorKind::CpuBudget { .. }), &["limits.js: spin", "60ms", "`cpu_budget`"]),
        ("deadline", |kind| matches!(kind, ErrorKind::Deadline { .. }), &["limits.js: spin", "60ms", "`deadline`"]),
        ("deep", |kind| matches!(kind, ErrorKind::StackOverflow(_)), &["limits.js: deep", "`stack_size`"]),
        ("fill", |kind| matches!(kind, ErrorKind::HeapLimit { .. }), &["limits.js: fill", "32 MiB", "`heap_limit`"]),
        (
            "buffers",
            |kind| matches!(kind, ErrorKind::BufferLimit { .. }),
            &["limits.js: buffers", "16 MiB", "`buffer_limit`"],
        ),
        (
            "large",
            |kind| matches!(kind, ErrorKind::ResultTooLarge { .. }),
            &["limits.js: large", "1 MiB", "`result_limit`"],
        ),
    ];
    for (case, is_right, parts) in cases {
        let task = engine.task(&script).timeout(Duration::from_secs(20)).result_limit(Bytes::mib(1));
        let result = match case {
            "timeout" => task.timeout(short).call_blocking::<Value>("spin", ()),
            "cpu" => task.cpu_budget(short).call_blocking("spin", ()),
            "deadline" => task.deadline(short).call_blocking("spin", ()),
            function => task.call_blocking(function, ()),
        };
        let error = result.unwrap_err();
        assert!(is_right(error.kind()) && error.is_limit(), "{case}: {error}");
        for part in parts {
            assert!(error.to_string().contains(part), "{case}: `{part}` is missing: {error}");
        }
        still_works(&engine);
    }
}

struct Asks(Arc<Script>);

impl Task for Asks {
    fn script(&self) -> &Arc<Script> {
        &self.0
    }
}

impl OneOff for Asks {
    type Output = Value;
    fn run(&self, scope: &mut Scope<'_, '_, '_>) -> Result<Value> {
        let main = scope.function("main")?;
        let result = scope.call(main, &[])?;
        scope.from_js(result)
    }
}

#[test]
fn an_exception_handler_sees_each_failure_once_and_may_replace_it() {
    let engine = engine();
    let calls = Arc::new(AtomicU32::new(0));
    let run = |source: &str| {
        let calls = calls.clone();
        let composition = Composition::new(Asks(Script::new("h.js", source).unwrap())).one_off().memory();
        engine.run_blocking(composition.on_exception(move |error: Error| {
            calls.fetch_add(1, Ordering::SeqCst);
            assert_eq!(error.script_error().map(|thrown| thrown.name.as_str()), Some("TypeError"), "{error}");
            Error::task(format!("replaced: {error}"))
        }))
    };
    assert_eq!(run("const main = () => 5;").unwrap(), 5);
    assert_eq!(calls.load(Ordering::SeqCst), 0);
    let error = run("const main = () => { throw new TypeError('original'); };").unwrap_err();
    assert!(error.to_string().contains("replaced: ") && error.to_string().contains("original"), "{error}");
    assert_eq!(calls.load(Ordering::SeqCst), 1);
}

#[test]
fn a_handler_that_panics_fails_its_call_alone() {
    let engine = engine();
    let script = Script::new("h.js", "const main = () => { throw 1; };").unwrap();
    let composition =
        Composition::new(Asks(script)).one_off().on_exception(|_: Error| -> Error { panic!("a handler") });
    let error = engine.run_blocking(composition).unwrap_err();
    assert_kind!(error, ErrorKind::HostPanicked { .. });
    still_works(&engine);
}

#[test]
fn an_error_of_the_script_leaves_its_context_in_the_cache() {
    let engine = engine();
    let script = Script::new("e.js", "const main = (n) => { if (n) throw new Error('x'); return n; };").unwrap();
    for _ in 0..5 {
        engine.task(&script).call_blocking::<u32>("main", (1,)).unwrap_err();
        assert_eq!(engine.task(&script).call_blocking::<u32>("main", (0,)).unwrap(), 0);
    }
    crate::support::eventually("one context was built", || {
        let stats = engine.stats();
        (stats.workers[0].contexts_built, stats.workers[0].context_hits) == (1, 9)
    });
}
