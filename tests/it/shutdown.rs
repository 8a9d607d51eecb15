//! The end of engines: bounded whatever their scripts do, in any order, on any thread.

use std::sync::Arc;
use std::time::{Duration, Instant};

use jsmill::{Composition, Engine, ErrorKind, OneOff, Result, Scope, Script, Task};

use crate::assert_kind;
use crate::support::{
    SLACK, engine, engine_with, eventually, forced_gc, in_child, leave, on_many_threads, on_tokio, script, still_works,
    threads,
};

const LOOP: &str = "const main = () => { for (;;); };";
const STUCK: &str = "const main = () => Array.prototype.includes.call({ length: 9e15 }, 1);";
const BUSY: &str = "const main = (ms) => { const end = Date.now() + ms; while (Date.now() < end); return 42; };";

/// Waits until the worker has taken what was queued.
async fn taken(engine: &Engine) {
    while engine.stats().queued != [0; 3] {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    tokio::time::sleep(Duration::from_millis(50)).await;
}

#[test]
fn a_shutdown_lets_calls_finish() {
    let engine = engine();
    let source = script(BUSY);
    on_many_threads(async {
        let calls: Vec<_> =
            (0..5).map(|_| tokio::spawn(engine.task(&source).timeout(SLACK).call::<u32>("main", (50,)))).collect();
        tokio::time::sleep(Duration::from_millis(20)).await;
        engine.shutdown().await.expect("nothing is stuck");
        for call in calls {
            assert_eq!(call.await.expect("no panic").expect("it was accepted"), 42);
        }
        let late = engine.task(&source).call::<u32>("main", (1,)).await.expect_err("it is over");
        assert_kind!(late, ErrorKind::ShuttingDown);
        let late = engine.task(&source).try_call::<u32, _>("main", (1,)).expect_err("it is over");
        assert_kind!(late.error, ErrorKind::ShuttingDown);
        assert_eq!(late.args, (1,));
        engine.shutdown().await.expect("once more is no harm");
    });
    assert_kind!(
        engine.task(&source).call_blocking::<u32>("main", (1,)).expect_err("it is over"),
        ErrorKind::ShuttingDown
    );
    engine.shutdown_blocking().expect("once more is no harm");
}

#[test]
fn a_shutdown_refuses_those_who_wait_for_room() {
    let engine = engine_with(|builder| builder.queue_depth(jsmill::Priority::Normal, 1));
    let source = script(BUSY);
    on_many_threads(async {
        let calls: Vec<_> =
            (0..6).map(|_| tokio::spawn(engine.task(&source).timeout(SLACK).call::<u32>("main", (200,)))).collect();
        tokio::time::sleep(Duration::from_millis(100)).await;
        engine.shutdown().await.expect("nothing is stuck");
        let (mut finished, mut refused) = (0, 0);
        for call in calls {
            match call.await.expect("no panic") {
                Ok(42) => finished += 1,
                Ok(other) => panic!("{other}"),
                Err(error) => {
                    assert_kind!(error, ErrorKind::ShuttingDown);
                    refused += 1;
                }
            }
        }
        assert_eq!((finished, refused), (2, 4), "one ran, one was queued, four waited for room");
    });
}

#[test]
fn a_shutdown_stops_what_does_not_finish() {
    let engine = engine_with(|builder| builder.shutdown_timeout(Duration::from_millis(200)));
    let source = script(LOOP);
    let limits = jsmill::Limits { slice_timeout: None, ..jsmill::Limits::default() };
    on_many_threads(async {
        let call = tokio::spawn(engine.task(&source).limits(limits).call::<u32>("main", ()));
        taken(&engine).await;
        let start = Instant::now();
        engine.shutdown().await.expect("V8 stops");
        assert!(start.elapsed() >= Duration::from_millis(200) && start.elapsed() < SLACK, "{:?}", start.elapsed());
        assert_kind!(call.await.expect("no panic").expect_err("it was stopped"), ErrorKind::ShuttingDown);
    });
}

#[test]
fn a_shutdown_gives_a_stuck_script_up() {
    in_child("shutdown::a_shutdown_gives_a_stuck_script_up", || {
        let knobs = |builder: jsmill::EngineBuilder| {
            builder.shutdown_timeout(Duration::from_millis(200)).grace(Duration::from_millis(200))
        };
        let limits = jsmill::Limits { slice_timeout: None, ..jsmill::Limits::default() };
        for _ in 0..3 {
            let engine = engine_with(knobs);
            let source = script(STUCK);
            on_many_threads(async {
                let call = tokio::spawn(engine.task(&source).limits(limits).call::<u32>("main", ()));
                taken(&engine).await;
                let start = Instant::now();
                // Whether this is an error is said by whether the thread still runs; that it ends is what counts.
                let _ = engine.shutdown().await;
                assert!(start.elapsed() < SLACK, "{:?}", start.elapsed());
                let result =
                    tokio::time::timeout(SLACK, call).await.expect("the caller is answered").expect("no panic");
                assert_kind!(
                    result.expect_err("it was given up"),
                    ErrorKind::ShuttingDown | ErrorKind::WorkerLost { .. }
                );
            });
        }
        leave();
    });
}

#[test]
fn a_drop_stops_everything_at_once() {
    let engine = engine();
    let source = script(LOOP);
    let limits = jsmill::Limits { slice_timeout: None, ..jsmill::Limits::default() };
    on_many_threads(async {
        let running = tokio::spawn(engine.task(&source).limits(limits).call::<u32>("main", ()));
        taken(&engine).await;
        let queued: Vec<_> = (0..3).map(|_| tokio::spawn(engine.task(&source).call::<u32>("main", ()))).collect();
        while engine.stats().queued[1] != 3 {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        let start = Instant::now();
        drop(engine);
        assert!(start.elapsed() < SLACK, "{:?}", start.elapsed());
        for call in queued.into_iter().chain([running]) {
            let result = tokio::time::timeout(SLACK, call).await.expect("every caller is answered").expect("no panic");
            assert_kind!(result.expect_err("the engine is gone"), ErrorKind::ShuttingDown);
        }
    });
}

#[test]
fn a_drop_gives_a_stuck_script_up() {
    in_child("shutdown::a_drop_gives_a_stuck_script_up", || {
        let limits = jsmill::Limits { slice_timeout: None, ..jsmill::Limits::default() };
        for round in 0..5 {
            let engine = engine_with(|builder| builder.grace(Duration::from_millis(100)));
            let source = script(STUCK);
            on_many_threads(async {
                let call = tokio::spawn(engine.task(&source).limits(limits).call::<u32>("main", ()));
                taken(&engine).await;
                let start = Instant::now();
                drop(engine);
                assert!(start.elapsed() < SLACK, "{:?}", start.elapsed());
                let answer = tokio::time::timeout(SLACK, call).await;
                let result = answer
                    .unwrap_or_else(|_| panic!("round {round}: the caller was never answered"))
                    .expect("no panic");
                assert_kind!(
                    result.expect_err("it was given up"),
                    ErrorKind::ShuttingDown | ErrorKind::WorkerLost { .. }
                );
            });
        }
        leave();
    });
}

#[test]
fn clones_keep_an_engine_and_the_last_one_ends_it() {
    let first = engine();
    let second = first.clone();
    drop(first);
    still_works(&second);
    let third = second.clone();
    std::thread::spawn(move || drop(second)).join().expect("no panic");
    still_works(&third);
}

#[test]
fn engines_in_any_order() {
    let order = [[0, 1, 2], [2, 1, 0], [1, 0, 2], [1, 2, 0], [2, 0, 1], [0, 2, 1]];
    for order in order {
        let mut engines: Vec<_> = (0..3).map(|_| Some(engine())).collect();
        for index in order {
            for engine in engines.iter().flatten() {
                still_works(engine);
            }
            drop(engines[index].take());
        }
    }
}

#[test]
fn engines_built_and_dropped_by_many_threads() {
    let rounds = if forced_gc() { 1 } else { 4 };
    let threads: Vec<_> = (0..6)
        .map(|n| {
            std::thread::spawn(move || {
                let mut kept = Vec::new();
                for round in 0..rounds {
                    let engine = engine_with(|builder| builder.workers(1 + (n + round) % 2));
                    still_works(&engine);
                    if round % 2 == 0 { kept.push(engine) } else { drop(engine) }
                }
                kept
            })
        })
        .collect();
    // Dropped on another thread than the one that built them.
    for thread in threads {
        let kept = thread.join().expect("no panic");
        std::thread::spawn(move || kept.iter().for_each(still_works)).join().expect("no panic");
    }
}

#[test]
fn an_engine_inside_of_tokio() {
    on_tokio(async {
        let engine = engine();
        let source = script("const main = () => 42;");
        assert_eq!(engine.task(&source).call::<u32>("main", ()).await.expect("a call"), 42);
        drop(engine);
    });
    on_many_threads(async {
        let tasks: Vec<_> = (0..4)
            .map(|_| {
                tokio::spawn(async {
                    let engine = engine();
                    let source = script("const main = () => 42;");
                    assert_eq!(engine.task(&source).call::<u32>("main", ()).await.expect("a call"), 42);
                    engine
                })
            })
            .collect();
        for task in tasks {
            let engine = task.await.expect("no panic");
            tokio::spawn(async move { drop(engine) }).await.expect("no panic");
        }
    });
}

#[test]
fn a_runtime_that_ends_before_its_calls() {
    let engine = engine();
    let source = script(LOOP);
    on_many_threads(async {
        tokio::spawn(engine.task(&source).timeout(SLACK * 10).call::<u32>("main", ()));
        taken(&engine).await;
    });
    still_works(&engine);
}

#[test]
fn an_engine_dropped_while_a_thread_unwinds() {
    let thread = std::thread::spawn(|| {
        let engine = engine();
        still_works(&engine);
        let _both = (engine.clone(), engine);
        panic!("on purpose");
    });
    assert!(thread.join().is_err());
    still_works(&engine());
}

/// Builds, uses and drops engines on a worker.
struct Nested {
    script: Arc<Script>,
    /// An engine to drop there.
    engine: std::sync::Mutex<Option<Engine>>,
}

impl Task for Nested {
    fn script(&self) -> &Arc<Script> {
        &self.script
    }
}

impl OneOff for Nested {
    type Output = String;
    fn run(&self, _: &mut Scope<'_, '_, '_>) -> Result<String> {
        drop(self.engine.lock().expect("no panic").take());
        let inner = engine();
        let source = script("const main = () => 42;");
        let waits = inner.task(&source).call_blocking::<u32>("main", ()).expect_err("a worker must not wait");
        let ends = inner.shutdown_blocking().expect_err("a worker must not wait");
        assert_kind!(ends, ErrorKind::Config(_));
        drop(inner);
        Ok(waits.to_string())
    }
}

#[test]
fn engines_inside_of_a_worker() {
    in_child("shutdown::engines_inside_of_a_worker", || {
        let outer = engine();
        still_works(&outer);
        let before = threads();
        for _ in 0..5 {
            let other = engine();
            let task = Nested { script: script(""), engine: std::sync::Mutex::new(Some(other)) };
            let limits = jsmill::Limits { slice_timeout: Some(SLACK), ..jsmill::Limits::default() };
            let text = outer.run_blocking(Composition::new(task).one_off().limits(limits)).expect("it runs");
            assert!(text.contains("worker"), "{text}");
            still_works(&outer);
        }
        eventually("the engines that were dropped there have no threads any more", || threads() <= before);
    });
}

/// The last handle of an engine may be dropped by the engine's own worker.
#[test]
fn an_engine_dropped_by_its_own_worker() {
    in_child("shutdown::an_engine_dropped_by_its_own_worker", || {
        let keep = engine();
        still_works(&keep);
        let before = threads();
        for _ in 0..5 {
            let own = engine();
            let task = Nested { script: script(""), engine: std::sync::Mutex::new(Some(own.clone())) };
            let call = own.run(Composition::new(task).one_off());
            drop(own);
            // Stopped or finished: the answer is there.
            let answer = on_tokio(async { tokio::time::timeout(SLACK, call).await.expect("an answer") });
            if let Err(error) = answer {
                assert_kind!(error, ErrorKind::ShuttingDown);
            }
        }
        eventually("no threads are left", || threads() <= before);
        still_works(&keep);
    });
}

#[test]
fn threads_and_memory_of_dropped_engines_are_gone() {
    in_child("shutdown::threads_and_memory_of_dropped_engines_are_gone", || {
        let round = || {
            let engine = engine_with(|builder| builder.workers(2));
            still_works(&engine);
        };
        (0..5).for_each(|_| round());
        eventually("the first ones are gone", || threads() < 20);
        let (count, resident) = (threads(), crate::support::rss_bytes());
        (0..40).for_each(|_| round());
        eventually("no thread is left over", || threads() <= count);
        let growth = crate::support::rss_bytes().saturating_sub(resident);
        assert!(forced_gc() || growth < 64 << 20, "40 engines have left {} MiB", growth >> 20);
    });
}

#[test]
fn a_panic_or_a_full_heap_does_not_keep_an_engine() {
    in_child("shutdown::a_panic_or_a_full_heap_does_not_keep_an_engine", || {
        for source in [
            "const main = () => { const k = []; for (;;) k.push([k.length]); };",
            "const main = () => { const f = () => f(); f(); };",
            LOOP,
        ] {
            let engine = engine();
            let error = crate::support::failure(&engine, source, Duration::from_secs(2));
            assert!(error.is_limit(), "{error}");
            let start = Instant::now();
            drop(engine);
            assert!(start.elapsed() < SLACK);
        }
        still_works(&engine());
    });
}
