//! Paused runs beside one that comes to a bad end: those of the same context and of others go on as if nothing had been, and those whose
//! isolate goes end with `WorkerLost`.

use std::time::Duration;

use jsmill::{Engine, ErrorKind, HostError, Isolation, Limits, Run, Script};

use super::{Futures, Notes, nothing_is_left};
use crate::assert_kind;
use crate::support::{SLACK, engine_with, eventually, in_child, leave, on_many_threads, on_tokio, script, still_works};

const SOURCE: &str = "
    function* asks() { const a = yield 1; const b = yield 2; return a + b; }
    async function* streams() { const a = yield 1; await null; const b = yield 2; return a + b; }
    async function waits() { await aio.sleep(300); return 'slept'; }
    const spin = () => { for (;;); };
    async function aSpins() { await null; queueMicrotask(() => note('leftover')); Promise.resolve().then(() => note('leftover')); spin(); }
    function* gSpins() { yield 1; queueMicrotask(() => note('leftover')); Promise.resolve().then(() => note('leftover')); spin(); }
    const spins = () => { queueMicrotask(() => note('leftover')); Promise.resolve().then(() => note('leftover')); spin(); };
    const rejects = () => { Promise.reject(new Error('leftover')); spin(); };
    const panics = () => { queueMicrotask(() => note('leftover')); Promise.reject(new Error('leftover')); boom(); };
    const reads = { get x() { queueMicrotask(() => note('leftover')); spin(); } };
    const gets = () => reads;
    const stuck = () => Array.prototype.includes.call({ length: 9e15 }, 1);
    async function aStuck() { await aio.sleep(1); stuck(); }
    function* gStuck() { yield 1; stuck(); }
    const fill = () => { const k = []; for (;;) k.push({ p: k.length, q: [k.length] }); };
    async function aFills() { await aio.sleep(1); fill(); }
    function* gFills() { yield 1; fill(); }";

fn engine(notes: &Notes) -> Engine {
    engine_with(|builder| {
        let boom = || -> Result<(), HostError> { panic!("in a host function") };
        builder.host_fn("note", notes.function()).host_fn("boom", boom)
    })
}

/// Lets a call come to a bad end, with two runs of each script paused beside it.
async fn beside(engine: &Engine, scripts: &[std::sync::Arc<Script>], what: &str, bad: impl AsyncFnOnce()) {
    let mut runs: Vec<Run<u32, u32, u32>> = Vec::new();
    for script in scripts {
        for name in ["asks", "streams"] {
            let mut run = engine.task(script).generate(name, ()).unwrap();
            assert_eq!(run.next().await.unwrap(), Some(1));
            runs.push(run);
        }
    }
    bad().await;
    for (index, run) in runs.iter_mut().enumerate() {
        run.reply(index as u32).unwrap();
        assert_eq!(run.next().await.unwrap_or_else(|error| panic!("{what}, run {index}: {error}")), Some(2));
    }
    for (index, mut run) in runs.into_iter().enumerate() {
        run.reply(10).unwrap();
        assert_eq!(
            run.finish().await.unwrap_or_else(|error| panic!("{what}, run {index}: {error}")),
            index as u32 + 10
        );
    }
}

/// What a stopped run has queued or rejected does not show in the runs that go on in its context.
#[test]
fn runs_of_the_same_context_go_on_after_a_stop() {
    let notes = Notes::default();
    let engine = engine(&notes);
    for isolation in [Isolation::Sealed, Isolation::Shared] {
        let scripts =
            ["a.js", "b.js"].map(|name| Script::builder(name).source(SOURCE).isolation(isolation).build().unwrap());
        let short = Duration::from_millis(60);
        on_tokio(async {
            for name in ["spins", "rejects", "gets"] {
                beside(&engine, &scripts, name, async || {
                    let call = engine.task(&scripts[0]).timeout(short).call::<serde_json::Value>(name, ());
                    assert_kind!(call.await.unwrap_err(), ErrorKind::SliceTimeout { .. });
                })
                .await;
                assert_eq!(notes.take(), [""; 0], "{name}");
            }
            for name in ["aSpins", "gSpins"] {
                beside(&engine, &scripts, name, async || {
                    let error = super::end_of(engine.task(&scripts[0]).timeout(short), name).await.unwrap_err();
                    assert_kind!(error, ErrorKind::SliceTimeout { .. });
                })
                .await;
                assert_eq!(notes.take(), [""; 0], "{name}");
            }
            beside(&engine, &scripts, "a panic", async || {
                let call = engine.task(&scripts[0]).call::<()>("panics", ());
                assert_kind!(call.await.unwrap_err(), ErrorKind::HostPanicked { .. });
            })
            .await;
            assert_eq!(notes.take(), [""; 0], "a panic");
            beside(&engine, &scripts, "a call that was given up", async || {
                let limits = Limits { slice_timeout: None, ..Limits::default() };
                let call = engine.task(&scripts[0]).limits(limits).call_async::<()>("aSpins", ());
                assert!(tokio::time::timeout(short, call).await.is_err());
                still_works(&engine);
            })
            .await;
            assert_eq!(notes.take(), [""; 0], "a call that was given up");
        });
    }
    nothing_is_left(&engine);
}

#[test]
fn runs_of_an_isolate_that_is_replaced_end_with_worker_lost() {
    in_child("suspension::others::runs_of_an_isolate_that_is_replaced_end_with_worker_lost", || {
        let (notes, futures) = (Notes::default(), Futures::default());
        let engine =
            engine_with(|builder| builder.host_fn("note", notes.function()).host_async("ask", futures.function()));
        let script = script(&format!("{SOURCE} async function asksHost() {{ await ask(); }}"));
        on_many_threads(async {
            for name in ["aFills", "gFills"] {
                let mut held: Run<u32, u32, u32> = engine.task(&script).generate("asks", ()).unwrap();
                assert_eq!(held.next().await.unwrap(), Some(1));
                let mut answered: Run<u32, u32, u32> = engine.task(&script).generate("streams", ()).unwrap();
                assert_eq!(answered.next().await.unwrap(), Some(1));
                answered.reply(1).unwrap();
                let sleeps = tokio::spawn(engine.task(&script).call_async::<String>("waits", ()));
                let asks = tokio::spawn(engine.task(&script).call_async::<u32>("asksHost", ()));
                eventually("the future is begun", || futures.live() == 1);
                let error = super::end_of(engine.task(&script).timeout(SLACK), name).await.unwrap_err();
                assert_kind!(error, ErrorKind::HeapLimit { .. });
                assert!(error.to_string().contains("spent: "), "{error}");
                for error in [
                    held.next().await.unwrap_err(),
                    answered.next().await.unwrap_err(),
                    asks.await.unwrap().unwrap_err(),
                ] {
                    assert_kind!(error, ErrorKind::WorkerLost { reason } if reason.contains("heap limit"));
                    assert!(error.spent().is_some(), "{error:?}");
                }
                // That one may have ended before.
                if let Err(error) = sleeps.await.unwrap() {
                    assert_kind!(error, ErrorKind::WorkerLost { .. });
                }
                eventually("the future is dropped", || futures.live() == 0);
                nothing_is_left(&engine);
                still_works(&engine);
            }
        });
        assert_eq!(engine.stats().lost_total, 0);
        assert!(engine.stats().workers[0].isolates >= 3);
        assert_eq!(notes.take(), [""; 0]);
    });
}

/// V8 looks at no request to stop in some built-ins: the worker is given up, its runs end, and another one takes its place.
#[test]
fn runs_of_a_stuck_worker_end_with_it() {
    in_child("suspension::others::runs_of_a_stuck_worker_end_with_it", || {
        let (notes, futures) = (Notes::default(), Futures::default());
        let engine = engine_with(|builder| {
            builder
                .grace(Duration::from_millis(300))
                .host_fn("note", notes.function())
                .host_async("ask", futures.function())
        });
        let script = script(&format!("{SOURCE} async function asksHost() {{ await ask(); }}"));
        on_many_threads(async {
            for (round, name) in ["aStuck", "gStuck"].into_iter().enumerate() {
                let mut held: Run<u32, u32, u32> = engine.task(&script).generate("asks", ()).unwrap();
                assert_eq!(held.next().await.unwrap(), Some(1));
                let asks = tokio::spawn(engine.task(&script).call_async::<u32>("asksHost", ()));
                eventually("the future is begun", || futures.begun() == round + 1);
                let limit = Duration::from_millis(100);
                let end = super::end_of(engine.task(&script).timeout(limit), name);
                let error = tokio::time::timeout(SLACK, end).await.expect("it is answered").unwrap_err();
                assert_kind!(error, ErrorKind::SliceTimeout { .. } | ErrorKind::WorkerLost { .. });
                for error in [
                    tokio::time::timeout(SLACK, held.next()).await.expect("it is answered").unwrap_err(),
                    tokio::time::timeout(SLACK, asks).await.expect("it is answered").unwrap().unwrap_err(),
                ] {
                    assert_kind!(error, ErrorKind::WorkerLost { .. });
                }
                eventually("another worker takes its place", || engine.stats().lost_total == round as u64 + 1);
                still_works(&engine);
            }
        });
        leave();
    });
}

/// An isolate that is replaced after so many runs counts runs, not their slices.
#[test]
fn a_run_of_many_slices_counts_once() {
    let engine = engine_with(|builder| builder.max_runs(20));
    let script = script("function* main(n) { let sum = 0; for (let i = 0; i < n; i++) sum += yield i; return sum; }");
    on_tokio(async {
        let run: Run<u32, u32, u32> = engine.task(&script).generate("main", (100,)).unwrap();
        let sum = run.answer_with(|_| async { Ok::<_, HostError>(1) }).finish().await.unwrap();
        assert_eq!(sum, 100);
    });
    nothing_is_left(&engine);
}

/// An isolate that has run as often as it may waits for the runs that are paused in it.
#[test]
fn an_isolate_that_is_old_enough_waits_for_its_runs() {
    let engine = engine_with(|builder| builder.max_runs(3));
    let script = script("function* main() { return yield 1; } const plain = () => 2;");
    on_tokio(async {
        let mut run: Run<u32, u32, u32> = engine.task(&script).generate("main", ()).unwrap();
        assert_eq!(run.next().await.unwrap(), Some(1));
        for _ in 0..6 {
            assert_eq!(engine.task(&script).call::<u32>("plain", ()).await.unwrap(), 2);
        }
        assert!(engine.stats().workers[0].isolates <= 1, "it waits");
        run.reply(5).unwrap();
        assert_eq!(run.finish().await.unwrap(), 5);
        still_works(&engine);
        eventually("the isolate is replaced", || engine.stats().workers[0].isolates > 1);
    });
}
