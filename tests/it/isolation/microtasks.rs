//! What a run has queued ends with that run.

use std::time::Duration;

use jsmill::{ErrorKind, Isolation, Script};

use crate::assert_kind;
use crate::support::engine;

#[test]
fn what_a_run_queues_is_done_when_it_is_over() {
    let engine = engine();
    let source = "let done = 0; const main = () => { Promise.resolve().then(() => { done++; }); return done; };";
    let script = Script::builder("m.js").source(source).isolation(Isolation::Shared).build().unwrap();
    let seen: Vec<u32> = (0..5).map(|_| engine.task(&script).call_blocking("main", ()).unwrap()).collect();
    assert_eq!(seen, [0, 1, 2, 3, 4]);
}

#[test]
fn what_a_stopped_run_has_queued_never_runs() {
    let engine = engine();
    let source = "let ran = 0;
        const main = () => { for (let i = 0; i < 10; i++) queueMicrotask(() => { ran++; }); for (;;); };
        const again = () => { queueMicrotask(function more() { ran++; queueMicrotask(more); }); return 1; };
        const look = () => ran;";
    let source = source.replace("queueMicrotask(", "Promise.resolve().then(");
    let script = Script::builder("q.js").source(source).isolation(Isolation::Shared).build().unwrap();
    for function in ["main", "again"] {
        let task = engine.task(&script).timeout(Duration::from_millis(100));
        assert_kind!(task.call_blocking::<u32>(function, ()).unwrap_err(), ErrorKind::SliceTimeout { .. });
        for _ in 0..3 {
            assert_eq!(engine.task(&script).call_blocking::<u32>("look", ()).unwrap(), 0, "after `{function}`");
        }
    }
}

#[test]
fn a_queue_that_never_empties_counts_as_the_run() {
    let engine = engine();
    let script = Script::new("a.js", "const main = () => { (async () => { let n = 0; for (;;) { await n; n++; } })(); return 1; }; const fine = () => 42;").unwrap();
    for _ in 0..3 {
        let task = engine.task(&script).timeout(Duration::from_millis(150));
        assert_kind!(task.call_blocking::<u32>("main", ()).unwrap_err(), ErrorKind::SliceTimeout { .. });
        assert_eq!(engine.task(&script).call_blocking::<u32>("fine", ()).unwrap(), 42);
    }
}

#[test]
fn a_run_that_throws_still_empties_its_queue() {
    let engine = engine();
    let source = "let ran = 0; const main = () => { Promise.resolve().then(() => { ran++; }); throw new Error('x'); }; const look = () => ran;";
    let script = Script::builder("t.js").source(source).isolation(Isolation::Shared).build().unwrap();
    engine.task(&script).call_blocking::<()>("main", ()).unwrap_err();
    assert_eq!(engine.task(&script).call_blocking::<u32>("look", ()).unwrap(), 1);
}
