//! Runs that fill the memory in whatever slice they are: the call ends with the limit's name, the process stays, and so does the limit.
//!
//! In processes of their own, because a way around a limit ends the process.

use std::time::{Duration, Instant};

use jsmill::{Bytes, Engine, ErrorKind, Limits, Run};

use super::{end_of, nothing_is_left};
use crate::assert_kind;
use crate::support::{SLACK, engine_with, eventually, forced_gc, in_child, on_tokio, rss_bytes, script, still_works};

const FILL: &str = "
    const fill = () => { const k = []; for (;;) k.push({ p: k.length, q: [k.length] }); };
    async function aFirst() { fill(); }
    async function aLater() { await aio.sleep(1); fill(); }
    async function aReaction() { await aio.sleep(1).then(fill); }
    async function aCatches() { await aio.sleep(1); for (;;) try { fill(); } catch { } finally { fill(); } }
    function* gFirst() { fill(); yield 1; }
    function* gLater() { yield 1; fill(); }
    function* gYielded() { yield 1; yield { get x() { fill(); } }; }
    async function* gStream() { yield 1; await null; fill(); }
    function* slowly() { const kept = []; for (;;) { for (let i = 0; i < 2e4; i++) kept.push({ i, own: [i] }); yield kept.length; } }
    function* finallyFills() { try { yield 1; } finally { fill(); } }
    async function* streamFinallyFills() { try { yield 1; } finally { await aio.sleep(1); fill(); } }";

fn engine() -> Engine {
    let limits = Limits { slice_timeout: Some(SLACK), close_timeout: SLACK, ..Limits::default() };
    engine_with(|builder| builder.heap_limit(Bytes::mib(32)).buffer_limit(Bytes::mib(64)).limits(limits))
}

#[test]
fn the_heap_in_any_slice() {
    in_child("suspension::heaps::the_heap_in_any_slice", || {
        let engine = engine();
        let script = script(FILL);
        let (mut limits, mut resident) = (Vec::new(), Vec::new());
        on_tokio(async {
            for _ in 0..2 {
                for function in ["aFirst", "aLater", "aReaction", "aCatches", "gFirst", "gLater", "gYielded", "gStream"]
                {
                    let error = end_of(engine.task(&script), function).await.unwrap_err();
                    assert!(
                        matches!(error.kind(), ErrorKind::HeapLimit { limit } if *limit == Bytes::mib(32)),
                        "{function}: {error}"
                    );
                    let text = error.to_string();
                    for part in ["32 MiB", "heap_limit", "test.js", function, "spent: "] {
                        assert!(text.contains(part), "`{part}` is missing in `{text}`");
                    }
                    still_works(&engine);
                    limits.push(engine.stats().workers[0].heap_limit);
                    resident.push(rss_bytes());
                }
            }
        });
        assert!(limits.iter().all(|limit| *limit == limits[0]), "{limits:?}");
        let growth = resident[15].saturating_sub(resident[0]);
        assert!(forced_gc() || growth < Bytes::mib(64).get(), "{resident:?}");
        assert!(engine.stats().workers[0].isolates >= 17);
        assert_eq!(engine.stats().lost_total, 0);
        nothing_is_left(&engine);
    });
}

/// What is kept from slice to slice counts as well.
#[test]
fn the_heap_little_by_little() {
    in_child("suspension::heaps::the_heap_little_by_little", || {
        let engine = engine();
        let script = script(FILL);
        on_tokio(async {
            let mut run: Run<u32, (), ()> = engine.task(&script).generate("slowly", ()).unwrap();
            let mut kept = 0;
            let error = loop {
                match run.next().await {
                    Ok(request) => kept = request.unwrap(),
                    Err(error) => break error,
                }
                assert!(kept < 10_000_000, "no limit has come");
            };
            assert!(kept > 20_000, "it took several slices");
            // A worker whose heap stays that full between slices is renewed before the limit comes.
            assert!(
                matches!(error.kind(), ErrorKind::HeapLimit { .. })
                    || matches!(error.kind(), ErrorKind::WorkerLost { reason } if reason.contains("heap")),
                "{error}"
            );
        });
        nothing_is_left(&engine);
        still_works(&engine);
    });
}

#[test]
fn the_heap_while_it_is_closed() {
    in_child("suspension::heaps::the_heap_while_it_is_closed", || {
        let engine = engine();
        let script = script(FILL);
        on_tokio(async {
            for name in ["finallyFills", "streamFinallyFills"] {
                let mut run: Run<u32, (), ()> = engine.task(&script).generate(name, ()).unwrap();
                assert_eq!(run.next().await.unwrap(), Some(1));
                assert_kind!(run.close().await.unwrap_err(), ErrorKind::HeapLimit { .. });
                still_works(&engine);
                let isolates = engine.stats().workers[0].isolates;
                let mut run: Run<u32, (), ()> = engine.task(&script).generate(name, ()).unwrap();
                assert_eq!(run.next().await.unwrap(), Some(1));
                drop(run);
                eventually("its isolate is replaced", || engine.stats().workers[0].isolates > isolates);
                still_works(&engine);
            }
        });
        nothing_is_left(&engine);
    });
}

#[test]
fn buffers_in_any_slice() {
    in_child("suspension::heaps::buffers_in_any_slice", || {
        let engine = engine();
        let script = script(
            "const one = () => { const k = []; for (;;) k.push(new Uint8Array(1 << 20).fill(1)); };
             async function aFirst() { one(); }
             async function aLater() { await aio.sleep(1); one(); }
             async function aHuge() { await aio.sleep(1); return new ArrayBuffer(4e9).byteLength; }
             async function aShared() { await aio.sleep(1); return new SharedArrayBuffer(1e9).byteLength; }
             async function aCaught() { await aio.sleep(1); try { one(); } catch (e) { return e.name; } }
             async function aRounds(n) {
                 for (let i = 0; i < n; i++) { new Uint8Array(32 << 20); await null; if (i % 10 === 0) await aio.sleep(0); }
                 return n;
             }
             function* gFirst() { one(); yield 1; }
             function* gLater() { yield 1; one(); }
             function* gKeeps() { const k = []; for (;;) { k.push(new Uint8Array(1 << 20)); yield k.length; } }
             async function* gStream() { yield 1; await null; one(); }
             function* holds() { const k = new Uint8Array(40 << 20); yield 1; return k.length; }",
        );
        let before = rss_bytes();
        on_tokio(async {
            for function in ["aFirst", "aLater", "aHuge", "aShared", "gFirst", "gLater", "gKeeps", "gStream"] {
                let error = end_of(engine.task(&script), function).await.unwrap_err();
                assert!(
                    matches!(error.kind(), ErrorKind::BufferLimit { limit } if *limit == Bytes::mib(64)),
                    "{function}: {error}"
                );
                assert!(error.to_string().contains("spent: "), "{error}");
                still_works(&engine);
            }
            assert_eq!(end_of(engine.task(&script), "aCaught").await.unwrap(), "RangeError");
            // What a paused run holds is taken from all.
            let mut run: Run<u32, (), u32> = engine.task(&script).generate("holds", ()).unwrap();
            assert_eq!(run.next().await.unwrap(), Some(1));
            let mut other: Run<u32, (), u32> = engine.task(&script).generate("holds", ()).unwrap();
            assert_kind!(other.next().await.unwrap_err(), ErrorKind::BufferLimit { .. });
            assert_eq!(run.finish().await.unwrap(), 40 << 20);
            let rounds = if forced_gc() { 20 } else { 300 };
            let task = engine.task(&script);
            assert_eq!(task.call_async::<u32>("aRounds", (rounds,)).await.unwrap(), rounds);
        });
        let growth = rss_bytes().saturating_sub(before);
        assert!(forced_gc() || growth < Bytes::mib(256).get(), "{growth} bytes");
        nothing_is_left(&engine);
    });
}

/// Filling the heap is slower than a limit of time that is short.
#[test]
fn the_first_limit_that_comes_is_named() {
    in_child("suspension::heaps::the_first_limit_that_comes_is_named", || {
        let engine = engine();
        let script = script("async function aKeeps() { const k = []; for (;;) { k.push([]); await aio.sleep(0); } }");
        on_tokio(async {
            let start = Instant::now();
            let task = engine.task(&script).deadline(Duration::from_millis(100));
            assert_kind!(end_of(task, "aKeeps").await.unwrap_err(), ErrorKind::Deadline { .. });
            assert!(start.elapsed() < SLACK);
        });
        nothing_is_left(&engine);
        still_works(&engine);
    });
}
