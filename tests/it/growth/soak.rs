//! A soak: contexts, swaps, errors and limits in turn, for seconds or for as long as it was asked to.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use jsmill::{Bytes, Caching, Engine, ErrorKind, Isolation, Live, Script};
use serde_json::{Value, json};

use super::{MIB, Quarters, soak_time};
use crate::support::{engine_with, forced_gc, in_child, on_tokio, rss_bytes, still_works};

fn algorithm(n: u64) -> Arc<Script> {
    let source = format!(
        "const rate = {n}; const table = Array.from({{ length: 100 }}, (_, i) => ({{ i, text: 'row ' + i }}));
         const main = (list) => list.reduce((sum, x) => sum + x, 0) * 0 + rate + table.length;"
    );
    Script::new("soak.js", source).unwrap()
}

/// One of the things that happen in turn. Each checks its outcome.
fn step(engine: &Engine, script: &Live<Script>, odd: &Arc<Script>, n: u64) {
    let short = Duration::from_millis(15);
    match n % 12 {
        0 => {
            let error = engine.task(odd).timeout(short).call_blocking::<Value>("spin", ()).unwrap_err();
            assert!(matches!(error.kind(), ErrorKind::SliceTimeout { .. }), "{error}");
        }
        1 => {
            let error = engine.task(odd).call_blocking::<Value>("fail", (n,)).unwrap_err();
            assert_eq!(error.script_error().unwrap().message, format!("failure {n}"));
        }
        2 => {
            let error = engine.task(odd).call_blocking::<Value>("deep", ()).unwrap_err();
            assert!(matches!(error.kind(), ErrorKind::StackOverflow(_)), "{error}");
        }
        3 => {
            let fresh = engine.task(odd).caching(Caching::None).call_blocking::<u64>("count", ());
            assert_eq!(fresh.unwrap(), 1);
        }
        4 => {
            let key = Caching::Stable(format!("key {}", n % 5).into());
            assert!(engine.task(odd).caching(key).call_blocking::<u64>("count", ()).unwrap() >= 1);
        }
        5 => {
            let value = engine.value(Arc::new(json!({"rows": vec![n; 50]})));
            assert_eq!(engine.task(odd).call_blocking::<u64>("first", (&value,)).unwrap(), n);
        }
        6 => {
            let bytes = vec![7_u8; 100_000];
            assert_eq!(
                engine.task(odd).call_blocking::<u64>("size", (serde_bytes::Bytes::new(&bytes),)).unwrap(),
                100_000
            );
        }
        7 if n % 132 == 7 => {
            let error =
                engine.task(odd).timeout(Duration::from_secs(20)).call_blocking::<Value>("fill", ()).unwrap_err();
            assert!(matches!(error.kind(), ErrorKind::HeapLimit { .. }), "{error}");
        }
        8 => drop(engine.task(script).call::<u64>("main", (vec![1, 2],))),
        9 => {
            let error = engine.task(odd).call_blocking::<u64>("nowhere", ()).unwrap_err();
            assert!(matches!(error.kind(), ErrorKind::NoSuchFunction { .. }), "{error}");
        }
        _ => {
            let seen = engine.task(script).call_blocking::<u64>("main", ((0..50).collect::<Vec<u64>>(),)).unwrap();
            assert!(seen >= 100, "{seen}");
        }
    }
}

#[test]
fn everything_in_turn_stays_flat() {
    in_child("growth::soak::everything_in_turn_stays_flat", || {
        let time = soak_time().unwrap_or(Duration::from_secs(if forced_gc() { 2 } else { 8 }));
        let engine = engine_with(|builder| builder.workers(2).heap_limit(Bytes::mib(48)).code_cache(Bytes::mib(2)));
        let script = Live::new(algorithm(0));
        let source = "let n = 0; const spin = () => { for (;;); }; const fail = (n) => { throw new Error('failure ' + n); }; const deep = () => deep() + 1;
            const count = () => ++n; const first = (v) => v.rows[0]; const size = (b) => b.length;
            const fill = () => { const k = []; for (;;) k.push({ p: k.length, q: [k.length] }); };";
        let odd = Script::builder("odd.js").source(source).isolation(Isolation::Shared).build().unwrap();
        let (stop, steps) = (AtomicBool::new(false), AtomicU64::new(0));
        let mut rss = Quarters::default();
        std::thread::scope(|threads| {
            for caller in 0..3 {
                let (engine, script, odd, stop, steps) = (&engine, &script, &odd, &stop, &steps);
                threads.spawn(move || {
                    let mut n = caller;
                    while !stop.load(Ordering::Relaxed) {
                        step(engine, script, odd, n);
                        steps.fetch_add(1, Ordering::Relaxed);
                        n += 1;
                    }
                });
            }
            let start = Instant::now();
            let mut swaps = 0;
            while start.elapsed() < time {
                swaps += 1;
                on_tokio(script.store(&engine, algorithm(swaps))).expect("no swap fails");
                let done = start.elapsed().as_millis() as usize;
                rss.note(done, time.as_millis() as usize + 1, rss_bytes());
                std::thread::sleep(Duration::from_millis(10));
            }
            stop.store(true, Ordering::Relaxed);
        });
        println!("{} steps, process {rss:?}, {:?}", steps.load(Ordering::Relaxed), engine.stats().workers[0]);
        if !forced_gc() {
            rss.assert_flat("the process", 48 * MIB);
        }
        let stats = engine.stats();
        assert_eq!((stats.lost_total, stats.lost, stats.queued), (0, 0, [0; 3]));
        still_works(&engine);
        engine.shutdown_blocking().unwrap();
    });
}
