//! The deadline of a call at every point of its way, and the idle timeout, which counts the caller's time only.

use std::time::{Duration, Instant};

use jsmill::{Engine, ErrorKind, Limits, ReplyFault, Run};

use super::{Futures, Notes, nothing_is_left};
use crate::assert_kind;
use crate::support::{SLACK, engine, engine_with, eventually, on_many_threads, on_tokio, script, still_works};

const SOURCE: &str = "
    const busy = (ms) => { const end = Date.now() + ms; while (Date.now() < end); };
    function* asks() { try { yield 1; yield 2; } finally { note('closed'); } }
    async function* streams() { try { yield 1; await null; yield 2; } finally { note('closed'); } }
    async function sleeps() { try { await aio.sleep(60000); } finally { note('closed'); } }
    async function hosts() { try { await ask(); } finally { note('closed'); } }
    function* gHosts() { try { yield ask(); } finally { note('closed'); } }
    async function aSpins() { await null; for (;;); }
    function* gSpins() { for (;;); }";

struct Setup {
    engine: Engine,
    notes: Notes,
    futures: Futures,
}

fn setup() -> Setup {
    let (notes, futures) = (Notes::default(), Futures::default());
    let engine = engine_with(|builder| builder.host_fn("note", notes.function()).host_async("ask", futures.function()));
    Setup { engine, notes, futures }
}

#[test]
fn in_the_queue() {
    let Setup { engine, notes, .. } = setup();
    let script = script(SOURCE);
    on_many_threads(async {
        let busy = tokio::spawn(engine.task(&script).call::<()>("busy", (300,)));
        tokio::time::sleep(Duration::from_millis(60)).await;
        let task = engine.task(&script).deadline(Duration::from_millis(50));
        let start = Instant::now();
        let error = task.clone().call_async::<()>("sleeps", ()).await.unwrap_err();
        assert_kind!(error, ErrorKind::Deadline { queued: true, .. });
        assert!(error.is_retryable() && error.spent().is_none(), "{error:?}");
        let mut run: Run<u32, (), ()> = task.generate("asks", ()).unwrap();
        let error = run.next().await.unwrap_err();
        assert_kind!(error, ErrorKind::Deadline { queued: true, .. });
        assert!(start.elapsed() < SLACK, "{:?}", start.elapsed());
        assert_kind!(run.reply(()).unwrap_err(), ErrorKind::Reply(ReplyFault::Late | ReplyFault::NotAsked));
        busy.await.unwrap().unwrap();
    });
    nothing_is_left(&engine);
    assert_eq!(notes.take(), [""; 0], "it never ran");
}

#[test]
fn while_it_runs() {
    let Setup { engine, .. } = setup();
    let script = script(SOURCE);
    let limit = Duration::from_millis(80);
    on_tokio(async {
        for name in ["aSpins", "gSpins"] {
            let task = engine.task(&script).timeout(SLACK * 2).deadline(limit);
            let error = super::end_of(task, name).await.unwrap_err();
            assert_kind!(error, ErrorKind::Deadline { queued: false, limit: reached } if *reached == limit);
            let text = error.to_string();
            for part in ["test.js", name, "80ms", "`deadline`", "spent: ", "in the queue", "CPU time", "waiting"] {
                assert!(text.contains(part), "`{part}` is missing in `{text}`");
            }
            still_works(&engine);
        }
    });
    nothing_is_left(&engine);
}

#[test]
fn while_it_waits_for_its_caller() {
    let Setup { engine, notes, .. } = setup();
    let script = script(SOURCE);
    let limit = Duration::from_millis(100);
    on_tokio(async {
        for name in ["asks", "streams"] {
            // The request was taken.
            let mut run: Run<u32, (), ()> = engine.task(&script).deadline(limit).generate(name, ()).unwrap();
            assert_eq!(run.next().await.unwrap(), Some(1));
            tokio::time::sleep(limit).await;
            eventually("it is closed", || notes.take() == ["closed"]);
            assert_kind!(run.reply(()).unwrap_err(), ErrorKind::Reply(ReplyFault::Late));
            let error = run.next().await.unwrap_err();
            assert_kind!(error, ErrorKind::Deadline { queued: false, .. });
            let spent = error.spent().unwrap();
            assert!(spent.waiting >= limit / 2 && spent.waiting < SLACK && spent.cpu < SLACK, "{spent:?}");

            // It was answered, and the caller did not go on.
            let mut run: Run<u32, (), ()> = engine.task(&script).deadline(limit).generate(name, ()).unwrap();
            assert_eq!(run.next().await.unwrap(), Some(1));
            run.reply(()).unwrap();
            tokio::time::sleep(limit).await;
            eventually("it is closed", || notes.take() == ["closed"]);
            assert_kind!(run.next().await.unwrap_err(), ErrorKind::Deadline { queued: false, .. });
            assert_kind!(
                run.close().await.map_or_else(|error| error, |()| ErrorKind::Stalled.into()),
                ErrorKind::Stalled
            );
        }
    });
    nothing_is_left(&engine);
}

#[test]
fn while_it_waits_for_the_host() {
    let Setup { engine, notes, futures } = setup();
    let script = script(SOURCE);
    let limit = Duration::from_millis(100);
    on_tokio(async {
        for (name, closed) in [("hosts", 0), ("sleeps", 0), ("gHosts", 1)] {
            let task = engine.task(&script).deadline(limit);
            let error = match name {
                "gHosts" => super::driven(task, name).await.unwrap_err(),
                _ => task.call_async::<()>(name, ()).await.unwrap_err(),
            };
            assert_kind!(error, ErrorKind::Deadline { queued: false, .. });
            assert!(error.spent().unwrap().waiting >= limit / 2, "{error}");
            nothing_is_left(&engine);
            assert_eq!(futures.live(), 0, "its future is dropped");
            // A generator can be closed; an async function cannot.
            assert_eq!(notes.take().len(), closed, "{name}");
        }
    });
    assert_eq!(futures.begun(), 2);
}

/// Only the waits for the caller count: not those for timers and hosts, not those for the worker, and not the time before the first.
#[test]
fn the_idle_timeout_counts_the_callers_time_only() {
    let engine = engine();
    let limit = Duration::from_millis(400);
    let script = script(
        "const busy = (ms) => { const end = Date.now() + ms; while (Date.now() < end); };
         function* main() { yield aio.sleep(600); yield 1; busy(600); yield 2; yield aio.sleep(600); return 'done'; }
         async function* stream() { await aio.sleep(600); yield 1; busy(600); yield 2; await aio.sleep(600); return 'done'; }",
    );
    on_many_threads(async {
        for name in ["main", "stream"] {
            let task = engine.task(&script).timeout(SLACK).idle_timeout(limit);
            let mut run: Run<u32, (), String> = task.clone().generate(name, ()).unwrap();
            tokio::time::sleep(limit * 3 / 2).await;
            assert_eq!(run.next().await.unwrap(), Some(1), "{name}: it sleeps for longer");
            assert_eq!(run.next().await.unwrap(), Some(2), "{name}: it works for longer");
            assert_eq!(run.next().await.unwrap(), None, "{name}: it sleeps for longer");
            assert_eq!(run.finish().await.unwrap(), "done");

            // Asked to go on in time, while the worker is busy for longer.
            let mut run: Run<u32, (), String> = task.clone().generate(name, ()).unwrap();
            assert_eq!(run.next().await.unwrap(), Some(1));
            let busy = tokio::spawn(engine.task(&script).timeout(SLACK).call::<()>("busy", (700,)));
            tokio::time::sleep(Duration::from_millis(30)).await;
            assert_eq!(run.next().await.unwrap(), Some(2), "{name}: the worker was busy for longer");
            busy.await.unwrap().unwrap();
            run.close().await.unwrap();

            // Each request has the whole time; a caller that has answered and does not go on makes it wait as well.
            let mut run: Run<u32, (), String> = task.generate(name, ()).unwrap();
            assert_eq!(run.next().await.unwrap(), Some(1));
            tokio::time::sleep(limit / 4).await;
            assert_eq!(run.next().await.unwrap(), Some(2));
            run.reply(()).unwrap();
            tokio::time::sleep(limit * 2).await;
            let error = run.next().await.unwrap_err();
            assert_kind!(error, ErrorKind::IdleTimeout { limit: reached } if *reached == limit);
            assert!(error.is_limit() && error.to_string().contains("`idle_timeout`"), "{error}");
            assert!(error.to_string().contains("spent: "), "{error}");
        }
    });
    nothing_is_left(&engine);
}

#[test]
fn an_idle_script_is_closed() {
    let Setup { engine, notes, .. } = setup();
    let script = script(SOURCE);
    on_tokio(async {
        for name in ["asks", "streams"] {
            let task = engine.task(&script).idle_timeout(Duration::from_millis(40));
            let mut run: Run<u32, (), ()> = task.generate(name, ()).unwrap();
            assert_eq!(run.next().await.unwrap(), Some(1));
            eventually("it is closed", || notes.take() == ["closed"]);
            assert_kind!(run.reply(()).unwrap_err(), ErrorKind::Reply(ReplyFault::Late));
            assert_kind!(run.finish().await.unwrap_err(), ErrorKind::IdleTimeout { .. });
        }
    });
    nothing_is_left(&engine);
}

/// A deadline that is over before the call is made.
#[test]
fn no_time_at_all() {
    let Setup { engine, notes, .. } = setup();
    let script = script(SOURCE);
    on_tokio(async {
        let limits = Limits { deadline: Some(Duration::ZERO), ..Limits::default() };
        let error = engine.task(&script).limits(limits).call_async::<()>("sleeps", ()).await.unwrap_err();
        assert_kind!(error, ErrorKind::Deadline { .. });
        let mut run: Run<u32, (), ()> = engine.task(&script).limits(limits).generate("asks", ()).unwrap();
        assert_kind!(run.next().await.unwrap_err(), ErrorKind::Deadline { .. });
        // The time runs from the moment at which the run is made.
        let mut run: Run<u32, (), ()> =
            engine.task(&script).deadline(Duration::from_millis(20)).generate("asks", ()).unwrap();
        tokio::time::sleep(Duration::from_millis(40)).await;
        assert_kind!(run.next().await.unwrap_err(), ErrorKind::Deadline { queued: true, .. });
    });
    nothing_is_left(&engine);
    assert_eq!(notes.take(), [""; 0]);
}
