//! Runs that do not end by themselves: every limit of time stops them, at the limit, wherever they are, and nobody else.

use std::time::{Duration, Instant};

use jsmill::{ErrorKind, Limits};

use crate::assert_kind;
use crate::support::{SLACK, engine, eventually, failure, forced_gc, script, still_works, threads};

const LIMIT: Duration = Duration::from_millis(200);

/// The call ends with a slice timeout, not long after the limit, and the engine goes on.
#[track_caller]
fn times_out(source: &str) {
    let engine = engine();
    let start = Instant::now();
    let error = failure(&engine, source, LIMIT);
    assert!(start.elapsed() >= LIMIT && start.elapsed() < SLACK, "after {:?}: {error}", start.elapsed());
    assert_kind!(error, ErrorKind::SliceTimeout { limit } if *limit == LIMIT);
    let text = error.to_string();
    for part in ["test.js", "main", "200ms", "timeout"] {
        assert!(text.contains(part), "`{part}` is missing in `{text}`");
    }
    still_works(&engine);
    assert_eq!(engine.stats().lost_total, 0, "V8 must have stopped by itself");
}

#[test]
fn a_plain_loop() {
    times_out("const main = () => { for (;;); };");
}

#[test]
fn a_loop_that_catches_everything() {
    times_out("const main = () => { for (;;) { try { for (;;); } catch { } finally { for (;;); } } };");
}

#[test]
fn a_loop_while_the_script_is_loaded() {
    times_out("const spin = () => { for (;;); }; const x = spin(); const main = () => x;");
}

#[test]
fn a_getter_of_the_result() {
    times_out("const main = () => ({ id: 7, get note() { for (;;); } });");
}

#[test]
fn the_message_of_what_was_thrown() {
    times_out("const main = () => { throw { get message() { for (;;); } }; };");
}

#[test]
fn the_name_of_what_was_thrown() {
    times_out(
        "const main = () => { const e = new Error('x'); Object.defineProperty(e, 'name', { get() { for (;;); } }); throw e; };",
    );
}

#[test]
fn to_json_of_the_result() {
    times_out("const main = () => ({ toJSON() { for (;;); } });");
}

#[test]
fn a_proxy_as_the_result() {
    times_out("const main = () => new Proxy({}, { ownKeys() { for (;;); } });");
}

#[test]
fn to_json_of_what_is_logged() {
    // Without a listener nothing is formatted; the logger is one.
    let engine = engine();
    let source = script("const main = () => { console.log({ toJSON() { for (;;); } }); };");
    let result = engine.task(&source).timeout(LIMIT).logger(|_: &jsmill::LogLine| {}).call_blocking::<()>("main", ());
    assert_kind!(result.expect_err("it loops"), ErrorKind::SliceTimeout { .. });
    still_works(&engine);
}

#[test]
fn an_async_loop_over_settled_promises() {
    times_out(
        "const spin = async () => { let n = 0; for (;;) { await n; n++; } }; const main = () => { spin(); return 1; };",
    );
}

#[test]
fn microtasks_that_queue_themselves() {
    times_out("const main = () => { queueMicrotask(function again() { queueMicrotask(again); }); return 1; };");
    times_out("const main = () => { const again = () => Promise.resolve().then(again); again(); return 1; };");
}

/// What a stopped run has queued does not run in the next one, on the same context or another.
#[test]
fn microtasks_of_a_stopped_run_are_gone() {
    let engine = engine();
    let source = "
        const seen = [];
        const main = (loops) => {
            if (loops) {
                for (let n = 0; n < 100; n++) Promise.resolve().then(() => { seen.push(n); for (;;); });
                for (;;);
            }
            return seen.length;
        };
        const drained = (x) => x;";
    let shared = jsmill::Script::builder("left.js")
        .source(source)
        .isolation(jsmill::Isolation::Shared)
        .build()
        .expect("a script");
    for _ in 0..5 {
        let stopped = engine.task(&shared).timeout(Duration::from_millis(50)).call_blocking::<u32>("main", (true,));
        assert_kind!(stopped.expect_err("it loops"), ErrorKind::SliceTimeout { .. });
        assert_eq!(engine.task(&shared).call_blocking::<u32>("drained", (7,)).expect("the next call"), 7);
        assert_eq!(engine.task(&shared).call_blocking::<u32>("main", (false,)).expect("the next call"), 0);
        still_works(&engine);
    }
}

#[test]
fn a_catastrophic_regular_expression() {
    let source = r"const main = () => /^(\w+\s?)+$/.test('lorem ipsum dolor sit amet consectetur adipis elit!');";
    times_out(source);
    let engine = engine();
    let budget = Duration::from_millis(150);
    let error = engine.task(&script(source)).timeout(SLACK).cpu_budget(budget).call_blocking::<bool>("main", ());
    assert_kind!(error.expect_err("it takes for ever"), ErrorKind::CpuBudget { limit } if *limit == budget);
    still_works(&engine);
}

#[test]
fn an_atomic_wait_does_not_hold_the_worker() {
    let engine = engine();
    let error =
        failure(&engine, "const main = () => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);", SLACK);
    assert_kind!(error, ErrorKind::Script(thrown) if thrown.name == "TypeError");
    still_works(&engine);
}

#[test]
fn a_deadline_covers_a_run_and_names_itself() {
    let engine = engine();
    let limit = Duration::from_millis(100);
    let result =
        engine.task(&script("const main = () => { for (;;); };")).deadline(limit).call_blocking::<()>("main", ());
    assert_kind!(result.expect_err("it loops"), ErrorKind::Deadline { queued: false, .. });
    still_works(&engine);
    assert_eq!(engine.stats().lost_total, 0);
}

#[test]
fn a_cpu_budget_is_not_used_up_by_sleeping() {
    struct Sleeper(std::sync::Arc<jsmill::Script>);
    impl jsmill::Task for Sleeper {
        fn script(&self) -> &std::sync::Arc<jsmill::Script> {
            &self.0
        }
    }
    impl jsmill::OneOff for Sleeper {
        type Output = u32;
        fn run(&self, _: &mut jsmill::Scope<'_, '_, '_>) -> jsmill::Result<u32> {
            std::thread::sleep(Duration::from_millis(400));
            Ok(42)
        }
    }
    let engine = engine();
    let limits =
        Limits { cpu_budget: Some(Duration::from_millis(200)), slice_timeout: Some(SLACK), ..Limits::default() };
    let task = jsmill::Composition::new(Sleeper(script(""))).one_off().memory().limits(limits);
    assert_eq!(engine.run_blocking(task).expect("sleeping costs nothing"), 42);
}

#[test]
fn no_limit_is_possible_and_huge_ones_are_none() {
    let engine = engine();
    let limits = Limits { slice_timeout: None, ..Limits::default() };
    let source = script("const main = () => 42;");
    assert_eq!(engine.task(&source).limits(limits).call_blocking::<u32>("main", ()).expect("a call"), 42);
    let huge = Duration::MAX;
    let task = engine.task(&source).timeout(huge).cpu_budget(huge).deadline(huge);
    assert_eq!(task.call_blocking::<u32>("main", ()).expect("a call"), 42);
}

#[test]
fn a_limit_of_nothing_stops_at_once() {
    let engine = engine();
    let source = script("const main = () => { for (;;); };");
    let zero = Duration::ZERO;
    let error = engine.task(&source).timeout(zero).call_blocking::<()>("main", ()).expect_err("no time");
    assert_kind!(error, ErrorKind::SliceTimeout { .. });
    let error = engine.task(&source).cpu_budget(zero).call_blocking::<()>("main", ()).expect_err("no CPU time");
    assert_kind!(error, ErrorKind::CpuBudget { .. });
    let error = engine.task(&source).deadline(zero).call_blocking::<()>("main", ()).expect_err("no time");
    assert_kind!(error, ErrorKind::Deadline { .. });
    still_works(&engine);
}

/// A run that ends just when its limit fires never harms the one after it.
#[test]
fn the_watchdog_of_one_run_never_stops_the_next() {
    let engine = engine();
    let source = script(
        "const busy = (ms) => { const end = performance_now() + ms; while (performance_now() < end); return 1; };
        const performance_now = () => Date.now();
        const spin = (n) => { let s = 0; for (let i = 0; i < n; i++) s += i % 7; return s; };",
    );
    let rounds = if forced_gc() { 100 } else { 700 };
    let (mut finished, mut stopped) = (0, 0);
    for round in 0..rounds {
        let limit = Duration::from_millis(3);
        // A duration that begins anywhere within a millisecond ends on both sides of the limit.
        std::thread::sleep(Duration::from_micros(round * 37 % 1000));
        match engine.task(&source).timeout(limit).call_blocking::<u32>("busy", (3,)) {
            Ok(1) => finished += 1,
            Ok(other) => panic!("{other} is no result"),
            Err(error) => {
                assert_kind!(error, ErrorKind::SliceTimeout { .. });
                stopped += 1;
            }
        }
        let next = engine.task(&source).timeout(SLACK).call_blocking::<u32>("busy", (4,));
        assert_eq!(next.unwrap_or_else(|error| panic!("round {round}: an innocent run: {error}")), 1);
    }
    assert_eq!(finished + stopped, rounds);
    assert!(stopped > 0, "no limit ever fired, which tests nothing");
    assert_eq!(engine.stats().lost_total, 0);
}

#[test]
fn limits_leave_no_threads_or_timers() {
    let engine = engine();
    let source = script("const main = () => 1;");
    let call =
        || engine.task(&source).timeout(Duration::from_secs(60)).call_blocking::<u32>("main", ()).expect("a call");
    call();
    // Other tests of this process start and end engines meanwhile, so that threads are counted by name.
    let own = || {
        std::fs::read_dir("/proc/self/task").map_or(0, |tasks| {
            let names = tasks.flatten().filter_map(|task| std::fs::read_to_string(task.path().join("comm")).ok());
            names.filter(|name| name.contains("timer")).count()
        })
    };
    let rounds = if forced_gc() { 2_000 } else { 100_000 };
    let start = Instant::now();
    for _ in 0..rounds {
        call();
    }
    assert_eq!(own(), 0, "a thread for a timer");
    assert!(threads() < 200, "{} threads", threads());
    // Armed limits that pile up would make each call slower than the one before.
    assert!(start.elapsed() < SLACK * 3, "{rounds} calls took {:?}", start.elapsed());
    eventually("the figures are renewed", || engine.stats().workers[0].slices > rounds);
}
