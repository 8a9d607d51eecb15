//! Thousands of runs that are paused and then given up: the heap and all counts are back where they were, again and again.

use std::time::Duration;

use jsmill::{Bytes, Run};

use super::{Futures, nothing_is_left};
use crate::growth::Figures;
use crate::support::{engine_with, eventually, forced_gc, in_child, on_many_threads, script, still_works};

const SOURCE: &str = "
    function* asks(n) { const own = new Array(20).fill(n); try { yield n; } finally { own.length = 0; } }
    async function* streams(n) { const own = new Array(20).fill(n); await null; yield n; return own; }
    async function hosts(n) { const own = new Array(20).fill(n); await ask(); return own; }
    async function sleeps(n) { const own = new Array(20).fill(n); await aio.sleep(600000); return own; }";

/// Runs, of four sorts.
fn runs() -> usize {
    if forced_gc() { 200 } else { 10_000 }
}

#[test]
fn thousands_of_paused_runs_leave_nothing() {
    in_child("suspension::memory::thousands_of_paused_runs_leave_nothing", || {
        let futures = Futures::default();
        let engine = engine_with(|builder| {
            builder.heap_limit(Bytes::mib(256)).live_tasks(20_000).host_async("ask", futures.function())
        });
        let script = script(SOURCE);
        let figures = Figures::of(&engine);
        let quarter = runs() / 4;
        let mut measured = Vec::new();
        on_many_threads(async {
            for round in 0..6 {
                let mut paused: Vec<Run<u32, (), Vec<u32>>> = Vec::new();
                let mut waiting = Vec::new();
                for n in 0..quarter {
                    for name in ["asks", "streams"] {
                        let mut run = engine.task(&script).generate(name, (n,)).unwrap();
                        assert_eq!(run.next().await.unwrap(), Some(n as u32));
                        paused.push(run);
                    }
                    for name in ["hosts", "sleeps"] {
                        let call = engine.task(&script).call_async::<Vec<u32>>(name, (n,));
                        waiting.push(tokio::spawn(call));
                    }
                }
                eventually("all are paused", || {
                    let worker = &engine.stats().workers[0];
                    worker.live == quarter * 4 && worker.pending == quarter * 2
                });
                let (held, _) = figures.heap_and_rss();
                let rejected = engine.stats().queued;
                drop(paused);
                waiting.iter().for_each(tokio::task::JoinHandle::abort);
                for call in waiting {
                    assert!(call.await.unwrap_err().is_cancelled());
                }
                nothing_is_left(&engine);
                eventually("all futures are dropped", || futures.live() == 0);
                assert_eq!(futures.begun(), quarter * (round + 1));
                assert_eq!(rejected, [0; 3]);
                let (heap, resident) = figures.heap_and_rss();
                assert!(
                    forced_gc() || held > heap + quarter as u64 * 4 * 100,
                    "{held} bytes while they are paused, then {heap}"
                );
                measured.push((heap, resident));
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        });
        still_works(&engine);
        let (heap, resident) = measured[0];
        // V8 takes a step of some 300 KiB once. Some ten bytes a run would be more than this.
        let (small, large) = (512 << 10, 24 << 20);
        assert!(measured.iter().all(|figures| figures.0 < heap + small), "the heap grows: {measured:?}");
        let flat = measured.iter().all(|figures| figures.1 < resident + large);
        assert!(forced_gc() || flat, "the process grows: {measured:?}");
    });
}

/// A run that is answered many times keeps nothing of what went to and fro.
#[test]
fn requests_and_replies_leave_nothing() {
    in_child("suspension::memory::requests_and_replies_leave_nothing", || {
        let engine = engine_with(|builder| builder);
        let script = script(
            "const text = () => 'x'.repeat(1000);
             const check = (reply) => { if (reply.text.length !== 1000) throw new Error(reply.text); };
             function* main() { for (let n = 0; ; n++) check(yield { n, text: text() }); }
             async function* stream() { for (let n = 0; ; n++) { check(yield { n, text: text() }); await null; } }",
        );
        let figures = Figures::of(&engine);
        let rounds = if forced_gc() { 100 } else { 4_000 };
        let reply = std::collections::HashMap::from([("text", "y".repeat(1_000))]);
        on_many_threads(async {
            for name in ["main", "stream"] {
                let mut run = engine
                    .task(&script)
                    .generate::<serde_json::Value, std::collections::HashMap<&'static str, String>, u32>(name, ())
                    .unwrap();
                let mut heaps = Vec::new();
                for n in 0..rounds * 3 {
                    assert_eq!(run.next().await.unwrap().unwrap()["n"], n);
                    run.reply(&reply).unwrap();
                    if n % rounds == rounds - 1 {
                        heaps.push(figures.heap_and_rss().0);
                    }
                }
                assert!(heaps[2] < heaps[1] + (64 << 10), "{name}: {heaps:?}");
                run.close().await.unwrap();
            }
        });
        nothing_is_left(&engine);
    });
}
