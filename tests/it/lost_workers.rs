//! Built-ins of V8 that look at no request to stop: the caller has its error in time, and the worker is given up and replaced.
//!
//! Each test runs in a process of its own, because its stuck threads hold a core for seconds.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use jsmill::{Engine, ErrorKind, Result};

use crate::assert_kind;
use crate::support::{SLACK, engine_with, eventually, failure, in_child, leave, script, still_works};

const LIMIT: Duration = Duration::from_millis(200);
const GRACE: Duration = Duration::from_millis(300);

/// Runs for hours and looks at no request.
const FOR_EVER: &str = "const main = () => Array.prototype.indexOf.call({ length: 9e15 }, 1);";

/// Runs for a few seconds and looks at no request.
const FOR_SECONDS: &str = "const main = () => Array.prototype.reverse.call({ length: 4e7 });";

fn engine() -> Engine {
    engine_with(|builder| builder.grace(GRACE))
}

/// The caller is answered in time although V8 does not stop.
fn is_answered(engine: &Engine, source: &str) {
    let start = Instant::now();
    let error = failure(engine, source, LIMIT);
    assert_kind!(error, ErrorKind::SliceTimeout { .. });
    assert!(start.elapsed() < SLACK, "after {:?}", start.elapsed());
    still_works(engine);
}

#[test]
fn reverse_of_a_fake_array() {
    in_child("lost_workers::reverse_of_a_fake_array", || {
        let engine = engine();
        is_answered(&engine, "const main = () => Array.prototype.reverse.call({ length: 9e15 });");
        leave();
    });
}

#[test]
fn copy_within_a_fake_array() {
    in_child("lost_workers::copy_within_a_fake_array", || {
        let engine = engine();
        is_answered(&engine, "const main = () => Array.prototype.copyWithin.call({ length: 9e15 }, 5, 0);");
        leave();
    });
}

#[test]
fn includes_of_a_fake_array() {
    in_child("lost_workers::includes_of_a_fake_array", || {
        let engine = engine();
        is_answered(&engine, "const main = () => Array.prototype.includes.call({ length: 9e15 }, 1);");
        leave();
    });
}

#[test]
fn replace_in_a_huge_string() {
    in_child("lost_workers::replace_in_a_huge_string", || {
        let engine = engine_with(|builder| builder.grace(GRACE).heap_limit(jsmill::Bytes::mib(512)));
        is_answered(&engine, "const main = () => 'z'.repeat(3e7).replace(/z/g, 'qq').length;");
        leave();
    });
}

#[test]
fn a_product_of_huge_numbers() {
    in_child("lost_workers::a_product_of_huge_numbers", || {
        let engine = engine();
        let source = "const main = () => { for (;;) { const a = BigInt('7'.repeat(1e6)); a * a; } };";
        is_answered(&engine, source);
        leave();
    });
}

#[test]
fn a_lost_worker_is_counted_and_replaced() {
    in_child("lost_workers::a_lost_worker_is_counted_and_replaced", || {
        let engine = engine();
        let start = Instant::now();
        let error = failure(&engine, FOR_EVER, LIMIT);
        let took = start.elapsed();
        assert_kind!(error, ErrorKind::SliceTimeout { limit } if *limit == LIMIT);
        assert!(took >= LIMIT + GRACE && took < SLACK, "answered after {took:?}");
        let stats = engine.stats();
        assert_eq!((stats.lost, stats.lost_total), (1, 1));
        still_works(&engine);
        eventually("the lost one has a replacement", || engine.stats().workers.len() == 1);
        assert_eq!(engine.stats().lost, 1, "its thread still runs");
        leave();
    });
}

#[test]
fn the_thread_of_a_lost_worker_ends_when_v8_lets_go() {
    in_child("lost_workers::the_thread_of_a_lost_worker_ends_when_v8_lets_go", || {
        let engine = engine_with(|builder| builder.grace(Duration::from_millis(20)));
        let error = failure(&engine, FOR_SECONDS, Duration::from_millis(20));
        assert_kind!(error, ErrorKind::SliceTimeout { .. });
        assert_eq!(engine.stats().lost_total, 1, "the built-in was too fast to lose its worker");
        still_works(&engine);
        let end = Instant::now() + Duration::from_secs(100);
        while engine.stats().lost > 0 {
            assert!(Instant::now() < end, "the thread still runs");
            std::thread::sleep(Duration::from_millis(20));
        }
        assert_eq!(engine.stats().lost_total, 1);
        still_works(&engine);
        engine.shutdown_blocking().expect("nothing is stuck any more");
    });
}

#[test]
fn too_many_lost_workers_make_the_engine_refuse() {
    in_child("lost_workers::too_many_lost_workers_make_the_engine_refuse", || {
        let engine = engine_with(|builder| builder.grace(GRACE).max_lost(1));
        is_answered(&engine, FOR_EVER);
        let error = failure(&engine, FOR_EVER, LIMIT);
        assert_kind!(error, ErrorKind::SliceTimeout { .. });
        let start = Instant::now();
        let refused: Result<u32> = engine.task(&script("const main = () => 42;")).call_blocking("main", ());
        let refused = refused.expect_err("no worker is left");
        assert_kind!(refused, ErrorKind::WorkerLost { .. });
        let text = refused.to_string();
        assert!(text.contains('2') && text.contains("max_lost"), "{text}");
        assert!(start.elapsed() < SLACK);
        leave();
    });
}

#[test]
fn calls_that_wait_are_refused_when_the_last_worker_is_lost() {
    in_child("lost_workers::calls_that_wait_are_refused_when_the_last_worker_is_lost", || {
        let engine = engine_with(|builder| builder.grace(GRACE).max_lost(0));
        let begun = Arc::new(AtomicBool::new(false));
        let logger = {
            let begun = begun.clone();
            move |_: &jsmill::LogLine| begun.store(true, Ordering::SeqCst)
        };
        let stuck =
            "const main = () => { console.log('begun'); return Array.prototype.indexOf.call({ length: 9e15 }, 1); };";
        let (stuck, trivial) = (script(stuck), script("const main = () => 42;"));
        crate::support::on_many_threads(async {
            let first = tokio::spawn(engine.task(&stuck).timeout(LIMIT).logger(logger).call::<u32>("main", ()));
            while !begun.load(Ordering::SeqCst) {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
            let waiting: Vec<_> = (0..5).map(|_| tokio::spawn(engine.task(&trivial).call::<u32>("main", ()))).collect();
            assert_kind!(first.await.expect("no panic").expect_err("it is stuck"), ErrorKind::SliceTimeout { .. });
            for call in waiting {
                assert_kind!(
                    call.await.expect("no panic").expect_err("nobody can run it"),
                    ErrorKind::WorkerLost { .. }
                );
            }
        });
        leave();
    });
}

#[test]
fn other_workers_and_engines_go_on() {
    in_child("lost_workers::other_workers_and_engines_go_on", || {
        let stuck = engine_with(|builder| builder.workers(2).grace(GRACE));
        let other = engine();
        let thread = {
            let stuck = stuck.clone();
            std::thread::spawn(move || failure(&stuck, FOR_EVER, LIMIT))
        };
        for _ in 0..200 {
            still_works(&stuck);
            still_works(&other);
        }
        assert_kind!(thread.join().expect("no panic"), ErrorKind::SliceTimeout { .. });
        assert_eq!((stuck.stats().lost_total, other.stats().lost_total), (1, 0));
        let start = Instant::now();
        other.shutdown_blocking().expect("this one is not stuck");
        stuck.shutdown_blocking().expect("the lost one is not waited for");
        assert!(start.elapsed() < SLACK, "the shutdown took {:?}", start.elapsed());
        leave();
    });
}

/// A caller that was just answered for a lost worker finds the replacement, not an engine without workers.
#[test]
fn the_next_call_after_a_loss_is_served() {
    in_child("lost_workers::the_next_call_after_a_loss_is_served", || {
        let trivial = script("const main = () => 42;");
        let stuck = script("const main = () => Array.prototype.reverse.call({ length: 1e7 });");
        let mut losses = 0;
        for round in 0..40 {
            let engine = engine_with(|builder| builder.grace(Duration::from_millis(10)).max_lost(1_000));
            // A result means that the built-in was done before the limit.
            let result =
                engine.task(&stuck).timeout(Duration::from_millis(10)).call_blocking::<serde_json::Value>("main", ());
            let next = engine.task(&trivial).call_blocking::<u32>("main", ());
            assert_eq!(next.unwrap_or_else(|error| panic!("round {round}, after {result:?}: {error}")), 42);
            losses += engine.stats().lost_total;
        }
        assert!(losses > 0, "no worker was lost, which tests nothing");
        leave();
    });
}
