//! What the queue itself costs: a call that finds no room, and the way through a queue that is never empty.

use std::sync::Arc;
use std::time::Duration;

use criterion::Criterion;
use jsmill::{Admission, Engine, Limits, Priority, Script};

use crate::work::{self, CALLERS};

/// A function that does nothing, and one that takes long.
const SOURCE: &str = "
const noop = () => undefined;
const hold = (ms) => { for (const end = Date.now() + ms; Date.now() < end; ); };";

pub fn all(criterion: &mut Criterion) {
    let runtime = work::runtime();
    let script = Script::new("queue.js", SOURCE).expect("the script is sound");
    let mut group = criterion.benchmark_group("queue");

    // A deadline far away, so that the controller looks at each call and refuses none.
    let limits = Limits { deadline: Some(Duration::from_secs(3_600)), ..Limits::default() };
    for (name, admission) in [("push_pop", Admission::Deadline), ("push_pop_uncontrolled", Admission::Off)] {
        let builder = Engine::builder().workers(1).limits(limits).admission(admission);
        let engine = builder.build().expect("the engine starts");
        let prepared = runtime.block_on(engine.prepare::<(), ()>(&script, "noop")).expect("the function is there");
        let prepared = Arc::new(prepared);
        group.bench_function(name, |bencher| {
            bencher.iter_custom(|calls| {
                work::at_once(&runtime, CALLERS, calls, |share| {
                    let prepared = prepared.clone();
                    async move {
                        for _ in 0..share {
                            prepared.call(()).await.expect("the call succeeds");
                        }
                    }
                })
            });
        });
    }

    group.bench_function("full", |bencher| {
        let builder = Engine::builder().workers(1).queue_depth(Priority::Normal, 1);
        let engine = builder.build().expect("the engine starts");
        let task = || engine.task(&script).limits(Limits { slice_timeout: None, ..Limits::default() });
        // One holds the worker, and one the only room; both are given up in the end.
        let holds = task().priority(Priority::Critical).try_call::<(), _>("hold", (3_600_000,)).expect("there is room");
        while engine.stats().queued[Priority::Critical as usize] > 0 {
            std::thread::yield_now();
        }
        let waits = task().try_call::<(), _>("noop", ()).expect("there is room");
        bencher.iter(|| task().try_call::<(), _>("noop", ()).expect_err("there is no room"));
        drop((holds, waits));
    });
    group.finish();
}
