//! `Engine::stats`: what was done and what is held.

use std::time::Duration;

use jsmill::{Bytes, Caching, Isolation, Script};

use crate::support::{engine_with, eventually, still_works};

#[test]
fn figures_tell_what_was_done() {
    let engine = engine_with(|builder| builder.heap_limit(Bytes::mib(32)));
    let source = "const held = []; const main = () => 1; const spin = () => { for (;;); }; const fail = () => { throw 1; }; const keep = () => { held.push(new ArrayBuffer(1 << 20)); };";
    let script = Script::builder("f.js").source(source).isolation(Isolation::Shared).build().unwrap();
    for _ in 0..10 {
        engine.task(&script).call_blocking::<u32>("main", ()).unwrap();
    }
    engine.task(&script).call_blocking::<()>("fail", ()).unwrap_err();
    engine.task(&script).call_blocking::<()>("keep", ()).unwrap();
    eventually("what is held is seen", || {
        let worker = &engine.stats().workers[0];
        worker.contexts == 1 && worker.buffers >= Bytes::mib(1) && worker.heap > Bytes::new(0)
    });
    let short = Duration::from_millis(30);
    engine.task(&script).timeout(short).call_blocking::<()>("spin", ()).unwrap_err();
    engine.task(&script).cpu_budget(short).call_blocking::<()>("spin", ()).unwrap_err();
    engine.task(&script).deadline(short).call_blocking::<()>("spin", ()).unwrap_err();
    engine.task(&script).caching(Caching::None).call_blocking::<u32>("main", ()).unwrap();
    still_works(&engine);
    eventually("all was counted", || {
        let stats = engine.stats();
        let worker = &stats.workers[0];
        let stopped = (worker.stopped.slice_timeout, worker.stopped.cpu_budget, worker.stopped.deadline);
        (worker.slices, worker.finished, stopped) == (17, 14, (1, 1, 1))
            && worker.heap_limit == Bytes::mib(32)
            && worker.isolates == 1
            && stats.queued == [0; 3]
            && (stats.lost, stats.lost_total) == (0, 0)
    });
    let worker = engine.stats().workers[0].clone();
    assert!(worker.busy >= Duration::from_millis(60), "{:?}", worker.busy);
    assert!(
        worker.cpu > Duration::from_millis(10) && worker.cpu <= worker.busy * 2,
        "{:?} of {:?}",
        worker.cpu,
        worker.busy
    );
    assert_eq!(worker.stopped.heap_limit + worker.stopped.cancelled + worker.stopped.host_panics, 0);
}
