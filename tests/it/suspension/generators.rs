//! Generators over the channel.

use std::time::Duration;

use futures::StreamExt;
use jsmill::{ErrorKind, HostError, ReplyFault};
use serde_json::{Value, json};

use crate::assert_kind;
use crate::support::{engine, eventually, on_tokio, script, still_works};

#[test]
fn requests_and_replies() {
    let engine = engine();
    let script =
        script("function* main(n) { let sum = 0; for (let i = 0; i < n; i++) sum += yield { i }; return sum; }");
    on_tokio(async {
        let mut run = engine.task(&script).generate::<Value, f64, f64>("main", (3,)).unwrap();
        let mut seen = Vec::new();
        while let Some(request) = run.next().await.unwrap() {
            run.reply(request["i"].as_f64().unwrap() * 10.0).unwrap();
            seen.push(request);
        }
        assert_eq!(seen, [json!({"i": 0}), json!({"i": 1}), json!({"i": 2})]);
        assert_eq!(run.finish().await.unwrap(), 30.0);
    });
    still_works(&engine);
}

#[test]
fn the_script_does_not_run_ahead() {
    let engine = engine();
    let script = script("function* main() { yield Date.now(); yield Date.now(); }");
    on_tokio(async {
        let mut run = engine.task(&script).generate::<f64, (), ()>("main", ()).unwrap();
        let first = run.next().await.unwrap().unwrap();
        tokio::time::sleep(Duration::from_millis(60)).await;
        let second = run.next().await.unwrap().unwrap();
        assert!(second - first >= 50.0, "{first} {second}");
    });
}

#[test]
fn host_errors_are_thrown_at_the_yield() {
    let engine = engine();
    let script = script(
        "function* main() { const log = []; try { yield 1; } catch (e) { log.push(e.message, e instanceof Error); } finally { log.push('finally'); } return log; }
         function* naked() { yield 1; }",
    );
    on_tokio(async {
        let mut run = engine.task(&script).generate::<u32, (), Value>("main", ()).unwrap();
        run.next().await.unwrap();
        run.throw("unavailable").unwrap();
        assert_eq!(run.finish().await.unwrap(), json!(["unavailable", true, "finally"]));

        let mut run = engine.task(&script).generate::<u32, (), Value>("naked", ()).unwrap();
        run.next().await.unwrap();
        run.throw(HostError::new("down")).unwrap();
        let error = run.next().await.unwrap_err();
        assert_eq!(error.script_error().unwrap().message, "down");
        assert_eq!(run.finish().await.unwrap_err().script_error().unwrap().message, "down");
    });
}

#[test]
fn replies_that_nobody_waits_for() {
    let engine = engine();
    let script = script("function* main() { const a = yield 1; const b = yield 2; return [a, b]; }");
    let fault = |error: jsmill::Error| match error.kind() {
        ErrorKind::Reply(fault) => *fault,
        _ => panic!("{error}"),
    };
    on_tokio(async {
        let mut run = engine.task(&script).generate::<u32, u32, Value>("main", ()).unwrap();
        assert_eq!(fault(run.reply(0).unwrap_err()), ReplyFault::NotAsked);
        run.next().await.unwrap();
        let first = run.ticket().unwrap();
        let other = engine.task(&script).generate::<u32, u32, Value>("main", ()).unwrap();
        run.reply(1).unwrap();
        assert_eq!(fault(run.reply(7).unwrap_err()), ReplyFault::Second);
        assert_eq!(fault(run.throw("no").unwrap_err()), ReplyFault::Second);
        run.next().await.unwrap();
        assert_eq!(fault(run.reply_to(first, 7).unwrap_err()), ReplyFault::Foreign);
        let mut other = other;
        other.next().await.unwrap();
        assert_eq!(fault(run.reply_to(other.ticket().unwrap(), 7).unwrap_err()), ReplyFault::Foreign);
        run.reply(2).unwrap();
        assert_eq!(run.next().await.unwrap(), None);
        assert_eq!(fault(run.reply(3).unwrap_err()), ReplyFault::Late);
        assert_eq!(run.finish().await.unwrap(), json!([1, 2]));
    });
}

#[test]
fn other_calls_run_while_the_caller_works() {
    let engine = engine();
    let script = script("function* main() { return yield 'x'; } const plain = () => 5;");
    on_tokio(async {
        let mut runs = Vec::new();
        for _ in 0..200 {
            let mut run = engine.task(&script).generate::<String, u32, u32>("main", ()).unwrap();
            assert_eq!(run.next().await.unwrap().as_deref(), Some("x"));
            runs.push(run);
        }
        assert_eq!(engine.task(&script).call::<u32>("plain", ()).await.unwrap(), 5);
        for (n, mut run) in runs.into_iter().enumerate().rev() {
            run.reply(n as u32).unwrap();
            assert_eq!(run.finish().await.unwrap(), n as u32);
        }
    });
}

#[test]
fn a_dropped_run_is_closed() {
    let engine = engine();
    let source = "let log = []; function* inner() { try { yield 1; } finally { log.push('inner'); } }
        function* main() { try { yield* inner(); } finally { log.push('outer'); } } const read = () => log;";
    let script = jsmill::Script::builder("t.js").source(source).isolation(jsmill::Isolation::Shared).build().unwrap();
    on_tokio(async {
        let mut run = engine.task(&script).generate::<u32, (), ()>("main", ()).unwrap();
        run.next().await.unwrap();
        drop(run);
        assert_eq!(engine.task(&script).call::<Value>("read", ()).await.unwrap(), json!(["inner", "outer"]));
        let mut run = engine.task(&script).generate::<u32, (), ()>("main", ()).unwrap();
        run.next().await.unwrap();
        run.close().await.unwrap();
        assert_eq!(engine.task(&script).call::<Value>("read", ()).await.unwrap().as_array().unwrap().len(), 4);
    });
    eventually("no run is left", || engine.stats().workers[0].live == 0);
}

#[test]
fn a_generator_that_refuses_to_end_is_torn_down() {
    let engine = engine();
    let script = script(
        "function* yields() { for (;;) try { yield 1; } finally { continue; } }
         function* loops() { try { yield 1; } finally { for (;;); } }
         function* waits() { try { yield 1; } finally { yield new Promise(() => {}); } }
         function* sleeps() { try { yield 1; } finally { yield aio.sleep(60000); } }
         function* throws() { try { yield 1; } finally { throw new Error('in finally'); } }",
    );
    on_tokio(async {
        let mut ends = Vec::new();
        for name in ["yields", "loops", "waits", "sleeps"] {
            let mut run = engine.task(&script).generate::<u32, (), ()>(name, ()).unwrap();
            run.next().await.unwrap();
            ends.push(run.close().await.unwrap_err());
        }
        assert_kind!(ends[0], ErrorKind::Unanswered);
        assert_kind!(ends[1], ErrorKind::SliceTimeout { .. });
        assert_kind!(ends[2], ErrorKind::Stalled);
        assert_kind!(ends[3], ErrorKind::SliceTimeout { .. });
        let mut run = engine.task(&script).generate::<u32, (), ()>("throws", ()).unwrap();
        run.next().await.unwrap();
        assert_eq!(run.close().await.unwrap_err().script_error().unwrap().message, "in finally");
    });
    eventually("no run is left", || engine.stats().workers[0].live == 0);
    still_works(&engine);
}

#[test]
fn promises_are_waited_for_and_async_generators_are_streams() {
    let engine = engine();
    let script = script(
        "function* waits() { const a = yield aio.sleep(5, 'slept'); const b = yield a; return [a, b]; }
         async function* stream(n) { for (let i = 0; i < n; i++) { await aio.sleep(1); yield i; } return 'end'; }",
    );
    on_tokio(async {
        let mut run = engine.task(&script).generate::<String, u32, Value>("waits", ()).unwrap();
        assert_eq!(run.next().await.unwrap().as_deref(), Some("slept"));
        run.reply(4).unwrap();
        assert_eq!(run.finish().await.unwrap(), json!(["slept", 4]));

        let mut run = engine.task(&script).generate::<u32, (), String>("stream", (5,)).unwrap();
        let mut values = Vec::new();
        while let Some(value) = run.next().await.unwrap() {
            values.push(value);
        }
        assert_eq!(values, [0, 1, 2, 3, 4]);
        assert_eq!(run.finish().await.unwrap(), "end");

        let run = engine.task(&script).generate::<u32, (), String>("stream", (3,)).unwrap();
        assert_eq!(run.map(|value| value.unwrap()).collect::<Vec<_>>().await, [0, 1, 2]);
    });
}

#[test]
fn the_wrong_way_to_call_says_which_is_right() {
    let engine = engine();
    let script =
        script("function* gen() {} async function later() {} async function* stream() {} const plain = () => 1;");
    on_tokio(async {
        let text = |error: jsmill::Error| error.to_string();
        let plain = |name| engine.task(&script).call::<Value>(name, ());
        assert!(text(plain("gen").await.unwrap_err()).contains("`generate`"));
        assert!(text(plain("later").await.unwrap_err()).contains("`call_async`"));
        assert!(text(plain("stream").await.unwrap_err()).contains("`generate`"));
        let later = engine.task(&script).call_async::<Value>("gen", ()).await;
        assert!(text(later.unwrap_err()).contains("`generate`"));
        let mut run = engine.task(&script).generate::<Value, (), Value>("later", ()).unwrap();
        assert!(text(run.next().await.unwrap_err()).contains("`call_async`"));
        let mut run = engine.task(&script).generate::<Value, (), Value>("plain", ()).unwrap();
        assert!(text(run.next().await.unwrap_err()).contains("function*"));
        let prepared = engine.prepare::<(), Value>(&script, "later").await;
        assert!(text(prepared.unwrap_err()).contains("`call_async`"));
    });
}
