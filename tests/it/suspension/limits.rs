//! Limits of time in each slice of a run: they stop what does not end by itself, there and then, and nobody else.

use std::time::{Duration, Instant};

use jsmill::{ErrorKind, Run};
use serde_json::Value;

use super::{Notes, end_of, nothing_is_left};
use crate::assert_kind;
use crate::support::{SLACK, engine, engine_with, forced_gc, on_tokio, script, still_works};

const LIMIT: Duration = Duration::from_millis(100);

/// Each of these functions ends at the slice timeout, not long after it.
fn all_time_out(source: &str, functions: &[&str]) {
    let engine = engine();
    let script = script(source);
    on_tokio(async {
        for function in functions {
            let start = Instant::now();
            let error = match end_of(engine.task(&script).timeout(LIMIT), function).await {
                Ok(value) => panic!("{function} gives {value}"),
                Err(error) => error,
            };
            // A slice that follows another one begins where that ended, which may be a little before its call.
            let early = LIMIT * 4 / 5;
            assert!(start.elapsed() >= early && start.elapsed() < SLACK, "{function}: after {:?}", start.elapsed());
            assert!(
                matches!(error.kind(), ErrorKind::SliceTimeout { limit } if *limit == LIMIT),
                "{function}: {error}"
            );
            let text = error.to_string();
            for part in ["test.js", function, "100ms", "timeout", "spent: ", "CPU time"] {
                assert!(text.contains(part), "`{part}` is missing in `{text}`");
            }
            still_works(&engine);
        }
    });
    nothing_is_left(&engine);
    assert_eq!(engine.stats().lost_total, 0, "V8 must have stopped by itself");
}

#[test]
fn values_with_getters_that_never_return() {
    all_time_out(
        "const spin = () => { for (;;); };
         const trap = () => ({ id: 7, get note() { spin(); } });
         async function aFirst() { return trap(); }
         async function aLater() { await aio.sleep(1); return trap(); }
         async function aThrows() { await null; throw { get message() { spin(); } }; }
         async function aThen() { return { get then() { spin(); } }; }
         async function aToJson() { await aio.sleep(1); return { toJSON() { spin(); } }; }
         async function aUnhandled() { Promise.reject({ get message() { spin(); } }); await aio.sleep(1); }
         function* gFirst() { yield trap(); }
         function* gLater() { yield 1; yield trap(); }
         function* gReturns() { yield 1; return trap(); }
         function* gThrows() { yield 1; throw { get message() { spin(); } }; }
         function* gProxy() { yield 1; yield new Proxy({}, { ownKeys() { spin(); } }); }
         async function* gStream() { yield 1; await null; yield trap(); }
         async function* gStreamThen() { yield 1; yield { get then() { spin(); } }; }",
        &[
            "aFirst",
            "aLater",
            "aThrows",
            "aThen",
            "aToJson",
            "aUnhandled",
            "gFirst",
            "gLater",
            "gReturns",
            "gThrows",
            "gProxy",
            "gStream",
            "gStreamThen",
        ],
    );
}

#[test]
fn loops_over_settled_promises() {
    all_time_out(
        "const loop = async () => { let n = 0; for (;;) { await n; n++; } };
         const again = () => queueMicrotask(again);
         const then = () => Promise.resolve().then(then);
         async function aFirst() { await loop(); }
         async function aLater() { await aio.sleep(1); await loop(); }
         async function aQueues() { await aio.sleep(1); again(); }
         async function aThens() { then(); return 'at once'; }
         function* gFirst() { yield loop(); }
         function* gLater() { yield 1; yield loop(); }
         function* gYields() { for (;;) yield Promise.resolve(1); }
         function* gQueues() { yield 1; again(); yield 2; }
         async function* gStream() { yield 1; await loop(); }",
        &["aFirst", "aLater", "aQueues", "aThens", "gFirst", "gLater", "gYields", "gQueues", "gStream"],
    );
}

#[test]
fn catastrophic_regular_expressions() {
    const SOURCE: &str = r"const match = () => /^(\w+\s?)+$/.test('lorem ipsum dolor sit amet consectetur adipis elit!');
         async function aFirst() { return match(); }
         async function aLater() { await aio.sleep(1); return match(); }
         function* gFirst() { yield match(); }
         function* gLater() { yield 1; yield match(); }";
    const FUNCTIONS: [&str; 4] = ["aFirst", "aLater", "gFirst", "gLater"];
    all_time_out(SOURCE, &FUNCTIONS);
    let engine = engine();
    let script = script(SOURCE);
    on_tokio(async {
        for function in FUNCTIONS {
            let error = end_of(engine.task(&script).timeout(SLACK).cpu_budget(LIMIT), function).await.unwrap_err();
            assert_kind!(error, ErrorKind::CpuBudget { limit } if *limit == LIMIT);
            assert!(error.spent().unwrap().cpu >= LIMIT / 2, "{error}");
            still_works(&engine);
        }
    });
}

/// The budget is that of the whole run, though no slice of it is long.
#[test]
fn a_cpu_budget_spans_slices() {
    let engine = engine();
    let script = script(
        "const work = () => { let n = 0; for (let i = 0; i < 2e5; i++) n += i % 7; return n; };
         async function aWorks() { for (;;) { work(); await aio.sleep(0); } }
         function* gWorks() { for (;;) yield work(); }
         async function* gStream() { for (;;) yield work(); }",
    );
    on_tokio(async {
        for function in ["aWorks", "gWorks", "gStream"] {
            let task = engine.task(&script).timeout(SLACK).cpu_budget(LIMIT);
            let error = end_of(task, function).await.unwrap_err();
            assert_kind!(error, ErrorKind::CpuBudget { limit } if *limit == LIMIT);
            let spent = error.spent().unwrap();
            assert!(spent.cpu >= LIMIT * 3 / 4 && spent.cpu < SLACK, "{spent:?}");
        }
    });
    nothing_is_left(&engine);
}

/// What a stopped run has queued runs in nobody else's slice.
#[test]
fn microtasks_of_a_stopped_run_are_gone() {
    let notes = Notes::default();
    let engine = engine_with(|builder| builder.host_fn("note", notes.function()));
    let script = script(
        "const later = () => Promise.resolve().then(() => { note('ran'); for (;;); });
         async function aQueues() { await aio.sleep(1); for (;;) { later(); if (Date.now() % 2 > 2) break; } }
         function* gQueues() { yield 1; for (let n = 0; n < 100; n++) later(); for (;;); }
         const plain = () => 5;",
    );
    on_tokio(async {
        for function in ["gQueues", "aQueues"] {
            let error = end_of(engine.task(&script).timeout(LIMIT), function).await.unwrap_err();
            assert_kind!(error, ErrorKind::SliceTimeout { .. } | ErrorKind::HeapLimit { .. });
            assert_eq!(engine.task(&script).call::<u32>("plain", ()).await.unwrap(), 5);
            still_works(&engine);
        }
    });
    assert_eq!(notes.take(), [""; 0]);
}

/// A slice that ends just when its limit fires never harms the slice of another run after it.
#[test]
fn the_watchdog_of_one_slice_never_stops_the_next() {
    let engine = engine();
    let script = script(
        "const busy = (ms) => { const end = Date.now() + ms; while (Date.now() < end); };
         function* tight() { for (;;) { yield 1; busy(2); } }
         async function tightAsync() { for (;;) { await aio.sleep(0); busy(2); } }
         function* innocent() { let n = 0; for (;;) n += yield n; }",
    );
    let resumes = if forced_gc() { 400 } else { 20_000 };
    let limit = Duration::from_millis(2);
    let (mut finished, mut stopped) = (0, 0);
    on_tokio(async {
        let begin = || engine.task(&script).timeout(limit).generate::<u32, (), ()>("tight", ()).unwrap();
        let mut tight: Run<u32, (), ()> = begin();
        let task = engine.task(&script).timeout(SLACK);
        let mut innocent: Run<u32, u32, ()> = task.generate("innocent", ()).unwrap();
        assert_eq!(innocent.next().await.unwrap(), Some(0));
        for n in 1..=resumes {
            if n % 40 == 0 {
                // A duration that begins anywhere within a millisecond ends on both sides of the limit.
                tokio::time::sleep(Duration::from_micros(u64::from(n) * 37 % 1000)).await;
                match tight.next().await {
                    Ok(request) => {
                        assert_eq!(request, Some(1));
                        finished += 1;
                    }
                    Err(error) => {
                        assert_kind!(error, ErrorKind::SliceTimeout { .. });
                        stopped += 1;
                        tight = begin();
                    }
                }
            }
            innocent.reply(1).unwrap();
            let next = innocent.next().await;
            assert_eq!(next.unwrap_or_else(|error| panic!("resume {n}: an innocent run: {error}")), Some(n));
        }
        // The same beside an async function that goes on by itself.
        for n in 1..=(resumes / 100) {
            let other = engine.task(&script).timeout(limit).call_async::<()>("tightAsync", ());
            let other = tokio::spawn(other);
            while !other.is_finished() {
                innocent.reply(1).unwrap();
                let next = innocent.next().await;
                next.unwrap_or_else(|error| panic!("round {n}: an innocent run: {error}"));
            }
            assert_kind!(other.await.unwrap().unwrap_err(), ErrorKind::SliceTimeout { .. });
        }
    });
    assert!(stopped > 0, "no limit ever fired in {} slices, which tests nothing", finished + stopped);
    assert_eq!(engine.stats().lost_total, 0);
    nothing_is_left(&engine);
}

/// Slices that end in time leave no limit behind, however many there are.
#[test]
fn twenty_thousand_resumes_under_one_limit() {
    let engine = engine();
    let script = script(
        "function* main() { let n = 0; for (;;) n += yield n; }
         async function waits(n) { for (let i = 0; i < n; i++) await tick(); return n; }",
    );
    let resumes = if forced_gc() { 400 } else { 20_000 };
    let started = engine_with(|builder| builder.host_async("tick", || async { Ok::<_, jsmill::HostError>(1) }));
    on_tokio(async {
        // On a loaded machine any short slice may be held up for a while; the sum of all is far beyond this limit.
        let limit = Duration::from_millis(700);
        let task = engine.task(&script).timeout(limit);
        let start = Instant::now();
        let mut run: Run<Value, u32, ()> = task.generate("main", ()).unwrap();
        for n in 0..resumes {
            assert_eq!(run.next().await.unwrap_or_else(|error| panic!("resume {n}: {error}")), Some(Value::from(n)));
            run.reply(1).unwrap();
            if n == resumes / 2 {
                // Pauses do not count.
                tokio::time::sleep(limit * 2).await;
            }
        }
        assert!(forced_gc() || start.elapsed() > limit, "it did not take long enough to test anything");
        let task = started.task(&script).timeout(limit);
        assert_eq!(task.call_async::<u32>("waits", (resumes,)).await.unwrap(), resumes);
    });
}
