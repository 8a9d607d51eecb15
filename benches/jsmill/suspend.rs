//! What a pause costs: in time, beside a thread for each task; and in memory.

use std::hint::black_box;
use std::io::Write;
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::JoinHandle;
use std::time::Instant;

use criterion::Criterion;
use jsmill::{Engine, HostError, Run, Script};

use crate::work;

const IN_FLIGHT: usize = 1_000;
const SUSPENDED: usize = 100_000;

const SOURCE: &str = "function* asks() { let sum = 0; for (;;) sum += yield sum; }
    function* once() { return yield 1; }
    const ready = async (n) => { let sum = 0; for (let i = 0; i < n; i++) sum += await one(); return sum; };
    const waits = async () => { await never(); };";

fn engine() -> (Engine, Arc<Script>) {
    let engine = Engine::builder()
        .workers(1)
        .live_tasks(2 * SUSPENDED)
        .host_async("one", || async { Ok::<_, HostError>(1) })
        .host_async("never", std::future::pending::<Result<(), HostError>>)
        .build()
        .expect("an engine");
    (engine, Script::new("suspend.js", SOURCE).expect("a script"))
}

pub fn all(criterion: &mut Criterion) {
    let runtime = work::runtime();
    let (engine, script) = engine();
    let mut group = criterion.benchmark_group("suspend");

    for in_flight in [1, IN_FLIGHT] {
        group.bench_function(format!("resume_{in_flight}"), |bencher| {
            bencher.iter_custom(|pairs| {
                let mut runs = Vec::new();
                for _ in 0..in_flight {
                    let mut run = engine.task(&script).generate::<f64, f64, ()>("asks", ()).expect("a run");
                    runtime.block_on(run.next()).expect("a request");
                    runs.push(run);
                }
                let start = Instant::now();
                let each = pairs.div_ceil(in_flight as u64);
                let tasks: Vec<_> = runs
                    .into_iter()
                    .map(|mut run| {
                        runtime.spawn(async move {
                            for _ in 0..each {
                                run.reply(1.0).expect("it is waited for");
                                black_box(run.next().await.expect("a request"));
                            }
                            run
                        })
                    })
                    .collect();
                runtime.block_on(async {
                    for task in tasks {
                        let run: Run<f64, f64, ()> = task.await.expect("the task ends well");
                        drop(run);
                    }
                });
                start.elapsed().mul_f64(pairs as f64 / (each * in_flight as u64) as f64)
            });
        });
    }

    group.bench_function("host_async", |bencher| {
        bencher.iter_custom(|awaits| {
            let start = Instant::now();
            let task = engine.task(&script).limits(jsmill::Limits { slice_timeout: None, ..Default::default() });
            let sum: f64 = runtime.block_on(task.call_async("ready", (awaits,))).expect("the call succeeds");
            assert_eq!(sum, awaits as f64);
            start.elapsed()
        });
    });

    group.bench_function("thread_per_task", |bencher| {
        bencher.iter_custom(|pairs| {
            let threads: Vec<_> = (0..IN_FLIGHT).map(|_| Blocking::start()).collect();
            let start = Instant::now();
            let each = pairs.div_ceil(IN_FLIGHT as u64);
            for _ in 0..each {
                for thread in &threads {
                    thread.replies.as_ref().expect("it runs").send(1.0).expect("it waits");
                }
                for thread in &threads {
                    black_box(thread.requests.recv().expect("it asks"));
                }
            }
            let took = start.elapsed();
            drop(threads);
            took.mul_f64(pairs as f64 / (each * IN_FLIGHT as u64) as f64)
        });
    });
    group.finish();
    memory();
}

/// A thread that stands for a task whose host functions block: it asks, and sleeps until it has its answer.
struct Blocking {
    replies: Option<SyncSender<f64>>,
    requests: Receiver<f64>,
    thread: Option<JoinHandle<()>>,
}

impl Blocking {
    fn start() -> Self {
        let (replies, answers) = sync_channel::<f64>(1);
        let (asks, requests) = sync_channel(1);
        let body = move || {
            let mut sum = 0.0;
            for answer in answers {
                sum += answer;
                if asks.send(sum).is_err() {
                    return;
                }
            }
        };
        let thread = std::thread::Builder::new().stack_size(64 << 10).spawn(body).expect("a thread");
        Blocking { replies: Some(replies), requests, thread: Some(thread) }
    }
}

impl Drop for Blocking {
    fn drop(&mut self) {
        self.replies = None;
        if let Some(thread) = self.thread.take() {
            thread.join().expect("it ends well");
        }
    }
}

fn rss() -> u64 {
    let pages = std::fs::read_to_string("/proc/self/statm").expect("the figures of this process");
    pages.split_whitespace().nth(1).and_then(|pages| pages.parse::<u64>().ok()).expect("a number") * 4096
}

/// Bytes for each suspended run, everything of it counted: V8's heap, the engine, and the caller's end.
fn memory() {
    let wanted = std::env::args().skip(1).find(|argument| !argument.starts_with("--"));
    if wanted.is_some_and(|filter| !"suspend/memory".contains(&filter)) {
        return;
    }
    let number = if std::env::args().any(|argument| argument == "--test") { 2_000 } else { SUSPENDED };
    let runtime = work::runtime();
    let (engine, script) = engine();
    runtime.block_on(engine.task(&script).call_async::<f64>("ready", (1,))).expect("a warm context");
    let before = rss();
    let mut runs = Vec::with_capacity(number);
    runtime.block_on(async {
        for _ in 0..number {
            let mut run = engine.task(&script).generate::<f64, f64, f64>("once", ()).expect("a run");
            run.next().await.expect("a request");
            runs.push(run);
        }
    });
    let generator = (rss().saturating_sub(before)) as f64 / number as f64;
    let heap = engine.stats().workers[0].heap.get() as f64 / number as f64;
    println!("suspend/memory: of a generator, {heap:.0} bytes are in V8's heap, at the most");
    drop(runs);

    let (engine, script) = self::engine();
    runtime.block_on(engine.task(&script).call_async::<f64>("ready", (1,))).expect("a warm context");
    let before = rss();
    let mut calls: Vec<_> = (0..number).map(|_| engine.task(&script).call_async::<()>("waits", ())).collect();
    runtime.block_on(async {
        for call in &mut calls {
            // Polled once, a call is on its way.
            let _ = futures::poll!(call);
            tokio::task::yield_now().await;
        }
        while engine.stats().workers[0].live < number {
            for call in &mut calls {
                let _ = futures::poll!(call);
            }
            tokio::time::sleep(std::time::Duration::from_millis(50)).await;
        }
    });
    let task = (rss().saturating_sub(before)) as f64 / number as f64;
    let heap = engine.stats().workers[0].heap.get() as f64 / number as f64;
    println!("suspend/memory: of an async task, {heap:.0} bytes are in V8's heap, at the most");
    println!("suspend/memory: {number} suspended: {generator:.0} bytes a generator, {task:.0} bytes an async task");
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("target/bench/suspend.json");
    std::fs::create_dir_all(file.parent().expect("it has one")).expect("a folder");
    let mut file = std::fs::File::create(file).expect("a file");
    writeln!(
        file,
        "{{\"suspended\": {number}, \"bytes_per_generator\": {generator:.0}, \"bytes_per_async_task\": {task:.0}}}"
    )
    .expect("the file is written");
}
