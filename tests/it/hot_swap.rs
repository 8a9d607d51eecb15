//! Scripts that are replaced while calls run.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use jsmill::{Engine, ErrorKind, Live, Script};

use crate::assert_kind;
use crate::support::{call, engine, engine_with, eventually, forced_gc, on_many_threads, on_tokio};

/// A script that tells its version by a binding, a function and a nested object, so that a mix of two would show.
fn version(n: u64) -> Arc<Script> {
    let source = format!(
        "const number = {n}; const table = {{ inner: {{ number: {n} }} }}; function other() {{ return {n}; }}
         const main = (pad) => [number, other(), table.inner.number, pad];"
    );
    Script::builder("versions.js").source(source).version(n.to_string()).build().unwrap()
}

fn long() -> bool {
    std::env::var_os("JSMILL_SOAK").is_some()
}

#[test]
fn eight_callers_see_whole_versions_and_never_an_old_one() {
    let engine = engine_with(|builder| builder.workers(2));
    let script = Live::new(version(0));
    // The newest version whose `store` has returned.
    let stored = Arc::new(AtomicU64::new(0));
    let stop = Arc::new(AtomicBool::new(false));
    let calls = Arc::new(AtomicU64::new(0));
    let wanted = if forced_gc() { 20 } else { 300 };
    let least = Duration::from_secs(if long() { 60 } else { 2 });
    let swaps = on_many_threads(async {
        let callers: Vec<_> = (0..8)
            .map(|caller| {
                let (engine, script, stored, stop, calls) =
                    (engine.clone(), script.clone(), stored.clone(), stop.clone(), calls.clone());
                tokio::spawn(async move {
                    let mut last = 0;
                    while !stop.load(Ordering::SeqCst) {
                        let least = stored.load(Ordering::SeqCst);
                        let seen: (u64, u64, u64, u64) =
                            engine.task(&script).call("main", (caller,)).await.expect("no call fails");
                        assert_eq!(seen, (seen.0, seen.0, seen.0, caller), "a mix of versions");
                        assert!(seen.0 >= least, "version {} after {least} was stored", seen.0);
                        assert!(seen.0 >= last, "version {} after {last} was seen", seen.0);
                        last = seen.0;
                        calls.fetch_add(1, Ordering::Relaxed);
                    }
                })
            })
            .collect();
        let start = Instant::now();
        let mut n = 0;
        while n < wanted || start.elapsed() < least {
            n += 1;
            script.store(&engine, version(n)).await.expect("no swap fails");
            stored.store(n, Ordering::SeqCst);
        }
        stop.store(true, Ordering::SeqCst);
        for caller in callers {
            caller.await.expect("no caller fails");
        }
        n
    });
    assert!(swaps >= wanted && calls.load(Ordering::Relaxed) >= swaps, "{swaps} swaps, {calls:?} calls");
    assert_eq!(script.swaps(), swaps);
    println!("{swaps} swaps, {} calls", calls.load(Ordering::Relaxed));
    eventually("old contexts are gone", || {
        let workers = engine.stats().workers;
        workers.iter().all(|worker| worker.contexts <= 2 && worker.contexts_detached <= 4)
    });
    let evicted: u64 = engine.stats().workers.iter().map(|worker| worker.contexts_evicted).sum();
    assert!(evicted >= swaps, "{evicted}");
}

#[test]
fn a_store_that_has_returned_is_seen_by_every_way_to_call() {
    let engine = engine_with(|builder| builder.workers(2));
    let script = Live::new(version(1));
    on_tokio(async {
        let prepared = engine.prepare::<(u64,), (u64, u64, u64, u64)>(&script, "main").await.unwrap();
        assert_eq!(prepared.call((5,)).await.unwrap(), (1, 1, 1, 5));
        for n in 2..20 {
            script.store(&engine, version(n)).await.unwrap();
            assert_eq!(prepared.call((5,)).await.unwrap(), (n, n, n, 5));
            assert_eq!(engine.task(&script).call::<(u64, u64, u64, u64)>("main", (6,)).await.unwrap(), (n, n, n, 6));
            assert_eq!(script.load().version(), n.to_string());
        }
    });
}

#[test]
fn a_store_warms_every_worker() {
    let engine = engine_with(|builder| builder.workers(2));
    let script = Live::new(version(1));
    on_tokio(script.store(&engine, version(2))).unwrap();
    for _ in 0..50 {
        engine.task(&script).call_blocking::<(u64, u64, u64, u64)>("main", (0,)).unwrap();
    }
    eventually("no call built a context", || {
        let workers = engine.stats().workers;
        workers.iter().map(|worker| worker.contexts_built).sum::<u64>() == 2
            && workers.iter().map(|worker| worker.context_hits).sum::<u64>() == 50
    });
}

#[test]
fn a_new_version_that_fails_to_load_keeps_the_old_one() {
    let engine = engine();
    let script = Live::new(version(1));
    let bad = [
        Script::new("bad.js", "const a = null; const b = a.x; const main = () => 1;").unwrap(),
        Script::new("slow.js", "for (;;); const main = () => 1;").unwrap(),
        Script::new("thrown.js", "throw 'no';").unwrap(),
    ];
    for snapshot in bad {
        let error = on_tokio(script.store(&engine, snapshot)).unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::Script(_) | ErrorKind::SliceTimeout { .. }), "{error}");
        assert_eq!((script.load().version(), script.swaps()), ("1", 0));
        assert_eq!(engine.task(&script).call_blocking::<(u64, u64, u64, u64)>("main", (3,)).unwrap(), (1, 1, 1, 3));
    }
}

#[test]
fn a_running_call_keeps_its_version() {
    let engine = engine();
    let slow = |n: u32| {
        Script::new(
            "s.js",
            format!("const main = (ms) => {{ const end = Date.now() + ms; while (Date.now() < end); return {n}; }};"),
        )
        .unwrap()
    };
    let script = Live::new(slow(1));
    on_many_threads(async {
        // A call is bound to its snapshot when it is made.
        let (running, queued) =
            (engine.task(&script).call::<u32>("main", (300,)), engine.task(&script).call::<u32>("main", (1,)));
        let running = tokio::spawn(running);
        tokio::time::sleep(Duration::from_millis(50)).await;
        drop(script.store_now(slow(2)));
        assert_eq!(running.await.unwrap().unwrap(), 1);
        assert_eq!(queued.await.unwrap(), 1);
        assert_eq!(engine.task(&script).call::<u32>("main", (1,)).await.unwrap(), 2);
    });
}

#[test]
fn store_now_gives_the_old_one_back() {
    let script = Live::new(version(1));
    let before = script.store_now(version(2));
    assert_eq!((before.version(), script.load().version(), script.swaps()), ("1", "2", 1));
    let other = script.clone();
    other.store_now(version(3));
    assert_eq!(script.load().version(), "3", "clones share it");
}

#[test]
fn a_watch_tells_of_swaps() {
    let engine = engine();
    let script = Live::new(version(1));
    on_tokio(async {
        let mut watch = script.watch();
        let waits = tokio::time::timeout(Duration::from_millis(50), watch.changed()).await;
        assert!(waits.is_err(), "there was no swap");
        script.store(&engine, version(2)).await.unwrap();
        script.store_now(version(3));
        let seen = tokio::time::timeout(Duration::from_secs(10), watch.changed()).await.unwrap();
        assert_eq!(seen.version(), "3", "the current one");
        let waits = tokio::time::timeout(Duration::from_millis(50), watch.changed()).await;
        assert!(waits.is_err(), "both were told");
        let other = script.clone();
        let task = tokio::spawn(async move { watch.changed().await.version().to_owned() });
        tokio::task::yield_now().await;
        other.store_now(version(4));
        assert_eq!(tokio::time::timeout(Duration::from_secs(10), task).await.unwrap().unwrap(), "4");
    });
}

#[test]
fn a_store_that_is_dropped_changes_nothing() {
    let engine = engine();
    let script = Live::new(version(1));
    on_tokio(async {
        let busy =
            Script::new("busy.js", "const main = () => { const end = Date.now() + 300; while (Date.now() < end); };")
                .unwrap();
        let running = engine.task(&busy).call::<()>("main", ());
        let running = tokio::spawn(running);
        tokio::task::yield_now().await;
        let store = tokio::time::timeout(Duration::from_millis(20), script.store(&engine, version(2))).await;
        if store.is_err() {
            assert_eq!((script.load().version(), script.swaps()), ("1", 0));
        }
        running.await.unwrap().unwrap();
    });
    assert_eq!(call::<u32>(&engine, "const main = () => 1;", "main", ()).unwrap(), 1);
}

#[test]
fn an_engine_that_is_shutting_down_takes_no_store() {
    let engine: Engine = engine();
    let script = Live::new(version(1));
    engine.shutdown_blocking().unwrap();
    assert_kind!(on_tokio(script.store(&engine, version(2))).unwrap_err(), ErrorKind::ShuttingDown);
    assert_eq!(script.load().version(), "1");
}
