//! Calls that wait for a worker: bounded, in the order of their priority, and given up without a trace.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use futures::future::join_all;
use jsmill::{Composition, Engine, ErrorKind, OneOff, Priority, Result, Scope, Script, Task};

use crate::assert_kind;
use crate::support::{SLACK, engine, engine_with, eventually, on_many_threads, script, still_works};

/// Holds its worker until it is let go, and tells when it has begun.
struct Hold {
    script: Arc<Script>,
    begun: Arc<AtomicU32>,
    free: Arc<AtomicU32>,
}

impl Task for Hold {
    fn script(&self) -> &Arc<Script> {
        &self.script
    }
}

impl OneOff for Hold {
    type Output = ();
    fn run(&self, _: &mut Scope<'_, '_, '_>) -> Result<()> {
        self.begun.store(1, Ordering::SeqCst);
        let end = Instant::now() + SLACK;
        while self.free.load(Ordering::SeqCst) == 0 && Instant::now() < end {
            std::thread::sleep(Duration::from_millis(1));
        }
        Ok(())
    }
}

/// The only worker of an engine, held.
struct Held {
    free: Arc<AtomicU32>,
    thread: Option<std::thread::JoinHandle<Result<()>>>,
}

impl Held {
    fn worker_of(engine: &Engine) -> Self {
        let (begun, free) = (Arc::new(AtomicU32::new(0)), Arc::new(AtomicU32::new(0)));
        let task = Hold { script: script(""), begun: begun.clone(), free: free.clone() };
        let limits = jsmill::Limits { slice_timeout: None, ..jsmill::Limits::default() };
        let engine = engine.clone();
        let thread = std::thread::spawn(move || {
            engine.run_blocking(Composition::new(task).one_off().memory().priority(Priority::Critical).limits(limits))
        });
        eventually("the worker is held", || begun.load(Ordering::SeqCst) == 1);
        Held { free, thread: Some(thread) }
    }

    fn let_go(&mut self) {
        self.free.store(1, Ordering::SeqCst);
        if let Some(thread) = self.thread.take() {
            thread.join().expect("no panic").expect("the worker was only held");
        }
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.free.store(1, Ordering::SeqCst);
    }
}

fn small() -> Engine {
    engine_with(|builder| builder.queue_depth(Priority::Normal, 2).queue_depth(Priority::Background, 1))
}

#[test]
fn a_full_queue_gives_the_arguments_back() {
    let engine = small();
    let source = script("const main = (list, n) => list.length + n;");
    let mut held = Held::worker_of(&engine);
    let queued: Vec<_> =
        (0..2).map(|n| engine.task(&source).try_call::<u32, _>("main", (vec![1], n)).expect("there is room")).collect();
    assert_eq!(engine.stats().queued, [0, 2, 0]);
    let arguments = (vec![1, 2, 3], 7);
    let rejected = engine.task(&source).try_call::<u32, _>("main", arguments).expect_err("the queue is full");
    assert_eq!(rejected.args, (vec![1, 2, 3], 7));
    assert_kind!(rejected.error, ErrorKind::QueueFull { depth: 2 });
    assert!(rejected.error.is_retryable());
    let text = rejected.error.to_string();
    assert!(text.contains("2 calls") && text.contains("queue_depth") && text.contains("test.js: main"), "{text}");
    // The other lanes have room of their own.
    let other = engine
        .task(&source)
        .priority(Priority::Background)
        .try_call::<u32, _>("main", (vec![1], 5))
        .expect("its own lane");
    held.let_go();
    let results = on_many_threads(join_all(queued));
    assert_eq!(results.into_iter().collect::<Result<Vec<_>>>().expect("they were accepted"), [1, 2]);
    assert_eq!(on_many_threads(other).expect("it was accepted"), 6);
    still_works(&engine);
}

#[test]
fn arguments_that_cannot_pass_come_back_too() {
    let engine = engine();
    let rejected =
        engine.task(&script("const main = (x) => x;")).try_call::<f64, _>("main", (f64::NAN,)).expect_err("NaN");
    assert!(rejected.args.0.is_nan());
    assert_kind!(rejected.error, ErrorKind::Convert { .. });
}

#[test]
fn callers_wait_while_the_queue_is_full() {
    let engine = small();
    let source = script("const main = (n) => n;");
    let mut held = Held::worker_of(&engine);
    let results = on_many_threads(async {
        let calls: Vec<_> = (0..50).map(|n| tokio::spawn(engine.task(&source).call::<u32>("main", (n,)))).collect();
        tokio::time::sleep(Duration::from_millis(50)).await;
        assert_eq!(engine.stats().queued, [0, 2, 0]);
        assert!(calls.iter().all(|call| !call.is_finished()));
        held.let_go();
        join_all(calls).await
    });
    let results: Vec<_> = results.into_iter().map(|result| result.expect("no panic").expect("it waits")).collect();
    assert_eq!(results, (0..50).collect::<Vec<_>>());
    assert_eq!(engine.stats().queued, [0; 3]);
}

#[test]
fn blocking_callers_wait_as_well() {
    let engine = small();
    let source = script("const main = (n) => n;");
    let mut held = Held::worker_of(&engine);
    let threads: Vec<_> = (0..10)
        .map(|n| {
            let (engine, source) = (engine.clone(), source.clone());
            std::thread::spawn(move || engine.task(&source).call_blocking::<u32>("main", (n,)))
        })
        .collect();
    eventually("the queue is full", || engine.stats().queued == [0, 2, 0]);
    held.let_go();
    for (n, thread) in threads.into_iter().enumerate() {
        assert_eq!(thread.join().expect("no panic").expect("it waits"), n as u32);
    }
}

#[test]
fn the_most_urgent_first() {
    let engine = engine();
    let order = Arc::new(std::sync::Mutex::new(Vec::new()));
    let source = script("const main = (n) => { console.log(n); };");
    let mut held = Held::worker_of(&engine);
    let submit = |priority, n: u32| {
        let order = order.clone();
        let logger = move |line: &jsmill::LogLine| order.lock().expect("no panic").push(line.message.clone());
        engine.task(&source).priority(priority).logger(logger).try_call::<(), _>("main", (n,)).expect("there is room")
    };
    use Priority::{Background, Critical, Normal};
    let calls: Vec<_> = [(Background, 5), (Normal, 3), (Critical, 1), (Background, 6), (Normal, 4), (Critical, 2)]
        .into_iter()
        .map(|(priority, n)| submit(priority, n))
        .collect();
    assert_eq!(engine.stats().queued, [2, 2, 2]);
    held.let_go();
    on_many_threads(join_all(calls)).into_iter().collect::<Result<Vec<_>>>().expect("they run");
    assert_eq!(*order.lock().expect("no panic"), ["1", "2", "3", "4", "5", "6"]);
}

#[test]
fn a_deadline_is_kept_in_the_queue() {
    let engine = engine();
    let source = script("const main = () => 1;");
    let mut held = Held::worker_of(&engine);
    let limit = Duration::from_millis(100);
    let start = Instant::now();
    let error = engine.task(&source).deadline(limit).call_blocking::<u32>("main", ()).expect_err("nobody runs it");
    assert_kind!(error, ErrorKind::Deadline { queued: true, limit: given } if *given == limit);
    assert!(error.is_retryable() && start.elapsed() >= limit && start.elapsed() < SLACK);
    assert!(held.thread.as_ref().is_some_and(|thread| !thread.is_finished()), "the worker was still held");
    assert_eq!(engine.stats().queued, [0; 3]);
    held.let_go();
    still_works(&engine);
}

#[test]
fn a_deadline_is_kept_by_those_who_wait_for_room() {
    let engine = small();
    let source = script("const main = () => 1;");
    let mut held = Held::worker_of(&engine);
    let queued: Vec<_> =
        (0..2).map(|_| engine.task(&source).try_call::<u32, _>("main", ()).expect("there is room")).collect();
    let waits = |blocking: bool| {
        let task = engine.task(&source).deadline(Duration::from_millis(100));
        if blocking { task.call_blocking::<u32>("main", ()) } else { on_many_threads(task.call::<u32>("main", ())) }
    };
    let start = Instant::now();
    for blocking in [false, true] {
        let error = waits(blocking).expect_err("there was no room in time");
        assert_kind!(error, ErrorKind::Deadline { queued: true, .. });
    }
    assert!(
        held.thread.as_ref().is_some_and(|thread| !thread.is_finished()),
        "answered only after {:?}",
        start.elapsed()
    );
    held.let_go();
    assert!(on_many_threads(join_all(queued)).into_iter().all(|result| result.is_ok_and(|one| one == 1)));
}

/// Polls a future once.
fn poll_once<F: Future + Unpin>(future: &mut F) -> Poll<F::Output> {
    std::pin::Pin::new(future).poll(&mut Context::from_waker(Waker::noop()))
}

#[test]
fn a_queued_call_that_is_given_up_never_runs() {
    let engine = small();
    let ran = Arc::new(AtomicU32::new(0));
    let source = script("const main = () => { console.log('ran'); };");
    let mut held = Held::worker_of(&engine);
    let logger = || {
        let ran = ran.clone();
        move |_: &jsmill::LogLine| {
            ran.fetch_add(1, Ordering::SeqCst);
        }
    };
    for round in 0..100 {
        // Never polled, polled while there is room, polled while there is none.
        let mut calls: Vec<_> = (0..4).map(|_| engine.task(&source).logger(logger()).call::<()>("main", ())).collect();
        for call in calls.iter_mut().skip(1) {
            assert!(poll_once(call).is_pending(), "round {round}");
        }
    }
    // Given-up calls make way for others.
    let kept = engine.task(&source).logger(logger()).try_call::<(), _>("main", ()).expect("there is room again");
    held.let_go();
    on_many_threads(kept).expect("this one runs");
    still_works(&engine);
    assert_eq!(ran.load(Ordering::SeqCst), 1);
    assert_eq!(engine.stats().queued, [0; 3]);
}

#[test]
fn a_running_call_that_is_given_up_is_stopped() {
    let engine = engine();
    let source = script("const main = () => { console.log('begun'); for (;;); };");
    for round in 1..=5_u64 {
        let begun = Arc::new(AtomicU32::new(0));
        let logger = {
            let begun = begun.clone();
            move |_: &jsmill::LogLine| begun.store(1, Ordering::SeqCst)
        };
        let mut call = engine.task(&source).timeout(SLACK * 10).logger(logger).call::<()>("main", ());
        assert!(poll_once(&mut call).is_pending());
        eventually("the call runs", || begun.load(Ordering::SeqCst) == 1);
        drop(call);
        still_works(&engine);
        eventually("it is counted", || engine.stats().workers[0].stopped.cancelled == round);
    }
    assert_eq!(engine.stats().lost_total, 0);
}

/// Futures dropped at every moment of a call's life leave nothing behind and harm no other call.
#[test]
fn calls_given_up_at_any_moment_leave_nothing() {
    let engine = engine_with(|builder| builder.workers(2).queue_depth(Priority::Normal, 4));
    let source = script("const main = (n) => { let s = 0; for (let i = 0; i < n; i++) s += i % 3; return 42; };");
    on_many_threads(async {
        let callers = (0..8_u64).map(|caller| {
            let (engine, source) = (engine.clone(), source.clone());
            tokio::spawn(async move {
                let mut finished = 0;
                for round in 0..60_u64 {
                    let work = (round * 7919 + caller * 104_729) % 100_000;
                    let patience = Duration::from_micros((round * 131 + caller * 17) % 3_000);
                    let call = engine.task(&source).timeout(SLACK).call::<u32>("main", (work,));
                    match tokio::time::timeout(patience, call).await {
                        Ok(result) => {
                            assert_eq!(result.unwrap_or_else(|error| panic!("{error}")), 42);
                            finished += 1;
                        }
                        Err(_) => tokio::task::yield_now().await,
                    }
                }
                finished
            })
        });
        for caller in join_all(callers).await {
            caller.expect("no panic");
        }
    });
    for _ in 0..10 {
        still_works(&engine);
    }
    assert_eq!(engine.stats().queued, [0; 3]);
    assert_eq!(Arc::strong_count(&source), 1, "a call that nobody waits for is still there");
    assert_eq!(engine.stats().lost_total, 0);
}

#[test]
fn a_future_that_is_polled_after_its_end_says_so() {
    let engine = engine();
    let mut call = engine.task(&script("const main = () => 1;")).call::<u32>("main", ());
    assert_eq!(on_many_threads(&mut call).expect("a call"), 1);
    assert_kind!(on_many_threads(&mut call).expect_err("it is over"), ErrorKind::Cancelled);
}
