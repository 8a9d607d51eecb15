//! Schedules at random: calls of all kinds, with hosts, callers and limits that do all they may at any time, on two workers. Each call has
//! exactly one end, and it is the right one; nothing is left.
//!
//! A schedule follows from its seed but for what threads do by themselves. A few seeds run by default; `JSMILL_SEED` chooses one, and
//! `JSMILL_SOAK` is for how many seconds new ones are tried. A seed that fails is printed.

use std::pin::Pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use jsmill::{Engine, ErrorKind, HostError, Limits, Live, Result, Run, Script, TaskBuilder};

use super::{Futures, nothing_is_left};
use crate::support::{SLACK, engine_with, eventually, forced_gc, on_many_threads, still_works};

/// Numbers at random: xorshift64* of Marsaglia and Vigna.
#[derive(Clone)]
struct Random(u64);

impl Random {
    fn new(seed: u64) -> Self {
        Random(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 11
    }

    fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }

    /// True once in so many times.
    fn once_in(&mut self, times: u64) -> bool {
        self.below(times) == 0
    }
}

/// The functions of every version; `version` differs.
fn source(version: u64) -> String {
    format!(
        "const version = {version};
         const busy = (ms) => {{ const end = Date.now() + ms; while (Date.now() < end); }};
         const plain = (n) => [version, n + 1];
         async function hosts(n) {{ let sum = 0; for (let i = 0; i < n; i++) sum += await latency(i); return [version, sum]; }}
         async function together(n) {{
             const all = await Promise.all(Array.from({{ length: n }}, (_, i) => latency(i)));
             return [version, all.reduce((a, b) => a + b, 0)];
         }}
         async function sleeps(n) {{ let sum = 0; for (let i = 0; i < n; i++) sum += await aio.sleep(i % 3, i); return [version, sum]; }}
         async function fails(n) {{ await aio.sleep(1); try {{ await failure(n); }} catch (e) {{ return [version, Number(e.message)]; }} }}
         function* asks(n) {{
             let sum = 0;
             for (let i = 0; i < n; i++) try {{ sum += yield i; }} catch (e) {{ sum += Number(e.message); }}
             return [version, sum];
         }}
         function* mixes(n) {{
             let sum = 0;
             for (let i = 0; i < n; i++) {{
                 try {{ sum += (yield i) + 0 * (yield latency(1)); }} catch (e) {{ sum += Number(e.message); }} finally {{ busy(0); }}
             }}
             return [version, sum];
         }}
         async function* streams(n) {{
             let sum = 0;
             for (let i = 0; i < n; i++) {{
                 try {{ await aio.sleep(0); sum += yield i; }} catch (e) {{ sum += Number(e.message); }} finally {{ await null; }}
             }}
             return [version, sum];
         }}
         async function loses() {{ Promise.reject(new Error('lost')); await aio.sleep(1); }}
         async function stalls() {{ await new Promise(() => {{}}); }}
         async function throws(n) {{ await latency(1); throw new Error(String(n)); }}
         const spins = () => {{ for (;;); }};
         async function spinsLater() {{ await latency(1); for (;;); }}
         async function never() {{ await forever(); }}"
    )
}

/// What may happen to a call besides its right end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    /// It goes to its end.
    Ends,
    /// Its deadline may come first.
    Hurries(Duration),
}

impl Fate {
    fn at(random: &mut Random) -> Self {
        if random.once_in(5) { Fate::Hurries(Duration::from_millis(random.below(12))) } else { Fate::Ends }
    }

    fn apply<'e>(self, task: TaskBuilder<'e>) -> TaskBuilder<'e> {
        match self {
            Fate::Ends => task,
            Fate::Hurries(deadline) => task.deadline(deadline),
        }
    }

    /// The end is that value, or the deadline where there is one.
    fn check(self, what: &str, end: Result<(u64, u64)>, right: (u64, u64)) {
        match end {
            Ok(value) => assert_eq!(value, right, "{what}"),
            Err(error) => {
                let hurried = matches!(self, Fate::Hurries(_)) && matches!(error.kind(), ErrorKind::Deadline { .. });
                assert!(hurried, "{what}, {self:?}: {error}");
            }
        }
    }

    /// The end is that error, or the deadline where there is one.
    fn check_error(self, what: &str, end: Result<()>, is_right: impl Fn(&ErrorKind) -> bool) {
        let error = end.expect_err(what);
        let hurried = matches!(self, Fate::Hurries(_)) && matches!(error.kind(), ErrorKind::Deadline { .. });
        assert!(hurried || is_right(error.kind()), "{what}, {self:?}: {error}");
    }
}

/// The sum of the numbers below `n`.
fn sum(n: u64) -> u64 {
    n * n.saturating_sub(1) / 2
}

/// Drives a generator as its caller pleases; the end, unless it leaves before.
async fn drive(mut run: Run<u64, u64, (u64, u64)>, what: &str, fate: Fate, n: u64, mut random: Random, version: u64) {
    let leaves = random.once_in(4).then(|| random.below(n + 1));
    let (mut right, mut seen) = (0, 0);
    loop {
        if leaves == Some(seen) {
            if random.once_in(2) {
                let closed = run.close().await;
                if let Err(error) = closed {
                    let hurried = matches!(error.kind(), ErrorKind::Deadline { .. }) && fate != Fate::Ends;
                    assert!(hurried, "{what}, {fate:?}, closed: {error}");
                }
            }
            return;
        }
        match run.next().await {
            Ok(Some(request)) => assert_eq!(request, seen, "{what}: each request once, and in order"),
            Ok(None) => {
                assert_eq!(seen, n, "{what}: each request before the end");
                return fate.check(what, run.finish().await, (version, right));
            }
            Err(error) => return fate.check(what, Err(error), (0, 0)),
        }
        seen += 1;
        if random.once_in(3) {
            tokio::time::sleep(Duration::from_micros(random.below(2_000))).await;
        }
        let number = random.below(100);
        let answered = if random.once_in(3) { run.throw(number.to_string()) } else { run.reply(number) };
        match answered {
            Ok(()) => right += number,
            Err(error) => {
                let late = matches!(error.kind(), ErrorKind::Reply(jsmill::ReplyFault::Late)) && fate != Fate::Ends;
                assert!(late, "{what}, {fate:?}: {error}");
            }
        }
    }
}

type Job = Pin<Box<dyn Future<Output = ()> + Send>>;

/// A call of some kind with its checks.
fn job(engine: &Engine, live: &Live<Script>, index: u64, mut random: Random) -> Job {
    let snapshot: Arc<Script> = live.load();
    let version: u64 = snapshot.version().parse().expect("a number");
    let (engine, fate, n) = (engine.clone(), Fate::at(&mut random), random.below(7));
    let kind = random.below(16);
    Box::pin(async move {
        let what = format!("call {index} of kind {kind} with {n}");
        let task = fate.apply(engine.task(&snapshot));
        let short = Duration::from_millis(20);
        match kind {
            0 | 1 => fate.check(&what, task.call("plain", (n,)).await, (version, n + 1)),
            2 => fate.check(&what, task.call_async("hosts", (n,)).await, (version, sum(n))),
            3 => fate.check(&what, task.call_async("together", (n,)).await, (version, sum(n))),
            4 => fate.check(&what, task.call_async("sleeps", (n,)).await, (version, sum(n))),
            5 => fate.check(&what, task.call_async("fails", (n,)).await, (version, n)),
            6 | 7 => drive(task.generate("asks", (n,)).unwrap(), &what, fate, n, random, version).await,
            8 | 9 => drive(task.generate("mixes", (n,)).unwrap(), &what, fate, n, random, version).await,
            10 | 11 => drive(task.generate("streams", (n,)).unwrap(), &what, fate, n, random, version).await,
            12 => {
                let lost = |kind: &ErrorKind| matches!(kind, ErrorKind::Unhandled(errors) if errors.len() == 1);
                fate.check_error(&what, task.call_async("loses", ()).await, lost);
                let stalled = |kind: &ErrorKind| *kind == ErrorKind::Stalled;
                fate.check_error(&what, fate.apply(engine.task(&snapshot)).call_async("stalls", ()).await, stalled);
            }
            13 => {
                let thrown =
                    |kind: &ErrorKind| matches!(kind, ErrorKind::Script(error) if error.message == n.to_string());
                fate.check_error(&what, task.call_async("throws", (n,)).await, thrown);
            }
            14 => {
                let stopped = |kind: &ErrorKind| matches!(kind, ErrorKind::SliceTimeout { .. });
                if random.once_in(2) {
                    fate.check_error(&what, task.timeout(short).call("spins", ()).await, stopped);
                } else {
                    fate.check_error(&what, task.timeout(short).call_async("spinsLater", ()).await, stopped);
                }
            }
            _ => {
                // Given up at any time.
                let patience = Duration::from_micros(random.below(8_000));
                let end = tokio::time::timeout(patience, task.call_async::<()>("never", ())).await;
                if let Ok(end) = end {
                    fate.check_error(&what, end, |_| false);
                }
            }
        }
    })
}

fn version(number: u64) -> Arc<Script> {
    let builder = Script::builder("schedule.js").source(source(number)).version(number.to_string());
    builder.build().expect("a script")
}

/// The engine of a schedule: its queues and what its workers may hold are sometimes small.
fn engine(random: &mut Random, futures: &Futures) -> Engine {
    let limits = Limits { slice_timeout: Some(SLACK), close_timeout: SLACK, ..Limits::default() };
    let small = |random: &mut Random, large| if random.once_in(3) { 1 + random.below(8) as usize } else { large };
    let (depth, live) = (small(random, 1_024), small(random, 10_000));
    engine_with(|builder| {
        builder
            .workers(2)
            .limits(limits)
            .queue_depth(jsmill::Priority::Normal, depth)
            .live_tasks(live)
            .host_async("latency", |n: u64| async move {
                match n * 2_654_435_761 % 5 {
                    0 => {}
                    1 => tokio::task::yield_now().await,
                    factor => tokio::time::sleep(Duration::from_micros(factor * 300)).await,
                }
                Ok::<_, HostError>(n)
            })
            .host_async("failure", |n: u64| async move {
                tokio::task::yield_now().await;
                Err::<(), _>(HostError::new(n.to_string()))
            })
            .host_async("forever", futures.function())
    })
}

/// Says the seed of a schedule that fails.
struct Seed(u64);

impl Drop for Seed {
    fn drop(&mut self) {
        if std::thread::panicking() {
            println!("the schedule with JSMILL_SEED={} has failed", self.0);
        }
    }
}

fn schedule(seed: u64) {
    let _seed = Seed(seed);
    let mut random = Random::new(seed);
    let futures = Futures::default();
    let engine = engine(&mut random, &futures);
    let live = Live::new(version(0));
    let calls = if forced_gc() { 60 } else { 300 };
    on_many_threads(async {
        let mut jobs = Vec::new();
        for index in 0..calls {
            if random.once_in(25) {
                live.store_now(version(index));
            }
            if random.once_in(10) {
                tokio::time::sleep(Duration::from_micros(random.below(3_000))).await;
            }
            let own = Random::new(random.next());
            let job = tokio::spawn(job(&engine, &live, index, own));
            // Some are given up from outside, wherever they are.
            let patience = random.once_in(12).then(|| Duration::from_micros(random.below(5_000)));
            jobs.push(async move {
                if let Some(patience) = patience {
                    tokio::time::sleep(patience).await;
                    job.abort();
                }
                match job.await {
                    Err(error) if error.is_panic() => std::panic::resume_unwind(error.into_panic()),
                    Err(_) | Ok(()) => {}
                }
            });
        }
        let all = futures::future::join_all(jobs);
        tokio::time::timeout(SLACK * 3, all).await.expect("every call has an end");
    });
    nothing_is_left(&engine);
    eventually("all futures are dropped", || futures.live() == 0);
    eventually("the queue is empty", || engine.stats().queued == [0; 3]);
    assert_eq!(engine.stats().lost_total, 0);
    for _ in 0..8 {
        still_works(&engine);
    }
}

#[test]
fn at_random() {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    if let Some(seed) = number("JSMILL_SEED") {
        return schedule(seed);
    }
    (1..=3).for_each(schedule);
    if let Some(seconds) = number("JSMILL_SOAK") {
        let (start, first) = (Instant::now(), u64::from(std::process::id()) << 20);
        let seeds = (first..).take_while(|_| start.elapsed() < Duration::from_secs(seconds));
        seeds.for_each(schedule);
    }
}
