//! How busy an engine is, and what it refuses when it is too busy.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use futures::future::join_all;
use jsmill::{Admission, Background, CallFuture, Engine, EngineBuilder, ErrorKind, Priority, Result, Script};

use crate::assert_kind;
use crate::support::{SLACK, engine, engine_with, eventually, on_many_threads, script, still_works};

/// Computes for some milliseconds of wall-clock time.
fn spinning() -> Arc<Script> {
    script("const spin = (ms) => { for (const end = Date.now() + ms; Date.now() < end; ); return ms; };")
}

/// A load that a worker passes even on a machine whose cores others want too.
const HIGH: f64 = 0.02;

fn touchy(builder: EngineBuilder) -> EngineBuilder {
    builder.shed(HIGH, HIGH / 2.0)
}

/// An engine's only worker, which computes until this is dropped; its load is above twice [`HIGH`].
fn busy(engine: &Engine) -> CallFuture<u32> {
    let task = engine.task(&spinning()).timeout(SLACK * 10).priority(Priority::Critical);
    let call = task.try_call("spin", (600_000,)).expect("there is room");
    eventually("the load is seen while the slice runs", || engine.load().one_second > 2.0 * HIGH);
    call
}

#[test]
fn a_long_slice_is_load_while_it_runs_and_fades_when_it_is_over() {
    let engine = engine();
    let load = engine.load();
    assert!(load.one_second < 0.5 && load.workers.len() == 1, "{load:?}");
    let call = busy(&engine);
    let load = engine.load();
    assert!(load.ten_seconds > 0.0 && load.one_second <= 1.0, "{load:?}");
    assert_eq!((load.one_second, load.ten_seconds), (load.workers[0].one_second, load.workers[0].ten_seconds));
    drop(call);
    still_works(&engine);
    let peak = engine.load();
    eventually("it fades, and the long window remembers", || {
        let load = engine.load();
        load.one_second < peak.one_second / 4.0 && load.ten_seconds > load.one_second
    });
}

#[test]
fn background_calls_are_refused_while_the_load_is_high_and_welcome_again_later() {
    let engine = engine_with(touchy);
    let source = script("const main = () => 1;");
    let call = |priority| engine.task(&source).priority(priority).try_call::<u32, _>("main", ());
    let long = busy(&engine);
    // What waits is urgent, for as long as it waits.
    let normal = call(Priority::Normal).expect("only background work makes way");
    eventually("the gate is closed", || match call(Priority::Background) {
        Ok(_) => false,
        Err(rejected) => {
            assert_kind!(rejected.error, ErrorKind::Shed);
            assert!(rejected.error.is_retryable() && rejected.error.to_string().contains("test.js: main"));
            true
        }
    });
    let error = engine.task(&source).priority(Priority::Background).call_blocking::<u32>("main", ()).expect_err("shed");
    assert_kind!(error, ErrorKind::Shed);
    drop(long);
    assert_eq!(on_many_threads(normal).expect("it was accepted"), 1);
    eventually("background work is welcome again", || call(Priority::Background).is_ok());
}

#[test]
fn parked_background_calls_wait_until_the_load_has_fallen() {
    let engine = engine_with(|builder| touchy(builder).background(Background::Park));
    let source = script("const main = () => { console.log('runs'); };");
    let ran = Arc::new(Mutex::new(Vec::new()));
    let call = |priority| {
        let ran = ran.clone();
        let logger = move |_: &jsmill::LogLine| ran.lock().expect("no panic").push((priority, Instant::now()));
        engine.task(&source).priority(priority).logger(logger).try_call::<(), _>("main", ()).expect("there is room")
    };
    let long = busy(&engine);
    let calls = [call(Priority::Background), call(Priority::Normal)];
    eventually("the load was sampled since", || engine.load().one_second > HIGH);
    std::thread::sleep(Duration::from_millis(300));
    assert_eq!(engine.stats().queued, [0, 1, 1]);
    drop(long);
    on_many_threads(join_all(calls)).into_iter().collect::<Result<Vec<_>>>().expect("both run");
    let ran = ran.lock().expect("no panic");
    assert_eq!([ran[0].0, ran[1].0], [Priority::Normal, Priority::Background]);
    let later = ran[1].1 - ran[0].1;
    assert!(later > Duration::from_millis(300), "the load was still high after {later:?}");
}

#[test]
fn a_shutdown_runs_what_is_parked() {
    let engine = engine_with(|builder| touchy(builder).background(Background::Park));
    let source = script("const main = () => 1;");
    let long = busy(&engine);
    let call =
        |priority| engine.task(&source).priority(priority).try_call::<u32, _>("main", ()).expect("there is room");
    let calls = [call(Priority::Background), call(Priority::Normal)];
    drop(long);
    engine.shutdown_blocking().expect("it drains");
    assert_eq!(on_many_threads(join_all(calls)).into_iter().collect::<Result<Vec<_>>>().expect("accepted"), [1, 1]);
}

/// Twice as much as the only worker can do for three seconds, by calls that have 200 ms.
#[test]
fn an_overloaded_engine_answers_what_it_can_in_time() {
    let outcome = |admission| {
        let engine = engine_with(|builder| builder.admission(admission));
        let source = spinning();
        still_works(&engine);
        let results = on_many_threads(async {
            let mut calls = Vec::new();
            for _ in 0..300 {
                let task = engine.task(&source).deadline(Duration::from_millis(200));
                calls.push(tokio::spawn(task.call::<u32>("spin", (20,))));
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
            join_all(calls).await
        });
        let results: Vec<_> = results.into_iter().map(|result| result.expect("no panic")).collect();
        let shed = results.iter().filter(|result| matches!(result, Err(error) if *error.kind() == ErrorKind::Shed));
        (results.iter().filter(|result| result.is_ok()).count(), shed.count())
    };
    let (answered, shed) = outcome(Admission::default());
    // 150 could be, unless others use the machine as well.
    assert!(answered > 40 && shed > 20, "{answered} answered, {shed} shed");
    let (_, shed) = outcome(Admission::Off);
    assert_eq!(shed, 0);
}

#[test]
fn calls_without_a_deadline_are_all_answered() {
    let engine = engine();
    let source = spinning();
    let results = on_many_threads(async {
        let calls: Vec<_> = (0..400).map(|_| tokio::spawn(engine.task(&source).call::<u32>("spin", (2,)))).collect();
        join_all(calls).await
    });
    assert!(results.into_iter().all(|result| result.expect("no panic").is_ok()));
}

/// Calls one after the other, over and over on a few scripts: each finds a worker that has its context, and few contexts are made.
#[test]
fn calls_go_to_a_worker_that_has_their_context() {
    let engine = engine_with(|builder| builder.workers(4));
    let scripts: Vec<_> = (0..16).map(|n| script(&format!("const main = () => {n};"))).collect();
    for _ in 0..20 {
        for (n, source) in scripts.iter().enumerate() {
            assert_eq!(engine.task(source).call_blocking::<usize>("main", ()).expect("a call"), n);
        }
    }
    // Without any preference it would be close to one for each script and worker, which is 64.
    eventually("the figures are there", || {
        engine.stats().workers.iter().map(|worker| worker.slices).sum::<u64>() == 320
    });
    let built = || engine.stats().workers.iter().map(|worker| worker.contexts_built).sum::<u64>();
    std::thread::sleep(Duration::from_millis(1_500));
    assert!(built() >= 16 && built() < 40, "{}", built());
}
