//! Scripts that are closed: their `finally` blocks have the close timeout, all of it and no more, whatever was on its way when the
//! caller left.

use std::time::{Duration, Instant};

use jsmill::{Engine, ErrorKind, Limits, Run};

use super::{Notes, nothing_is_left};
use crate::assert_kind;
use crate::support::{SLACK, engine_with, eventually, on_many_threads, on_tokio, script, still_works};

const SOURCE: &str = "
    const busy = (ms) => { const end = Date.now() + ms; while (Date.now() < end); };
    function* main() { try { yield 1; yield 2; } finally { yield aio.sleep(30); note('slept'); } }
    async function* stream() { try { yield 1; yield 2; } finally { await aio.sleep(30); note('slept'); } }
    async function* works() {
        aio.sleep(1).then(() => { note('works'); busy(150); });
        try { yield 1; } finally { await aio.sleep(30); note('slept'); }
    }
    function* sleeps() { try { yield 1; } finally { try { yield aio.sleep(60000); } finally { note('woken'); } } }
    function* loops() { try { yield 1; } finally { for (;;); } }";

/// An engine with `note`, and limits that leave a closing enough time on a loaded machine.
fn engine(notes: &Notes) -> Engine {
    let limits = Limits { close_timeout: SLACK, ..Limits::default() };
    engine_with(|builder| builder.limits(limits).host_fn("note", notes.function()))
}

/// Polls a future once.
async fn once<T>(future: impl Future<Output = T>) -> Option<T> {
    let mut future = std::pin::pin!(future);
    std::future::poll_fn(|context| {
        std::task::Poll::Ready(match future.as_mut().poll(context) {
            std::task::Poll::Ready(value) => Some(value),
            std::task::Poll::Pending => None,
        })
    })
    .await
}

/// The answer and the news that the caller has left reach the worker together: it is closed once, and its waits are waited for.
#[test]
fn a_caller_that_leaves_right_after_its_answer() {
    let notes = Notes::default();
    let engine = engine(&notes);
    let script = script(SOURCE);
    on_many_threads(async {
        for name in ["main", "stream"] {
            let mut run: Run<u32, u32, ()> = engine.task(&script).generate(name, ()).unwrap();
            assert_eq!(run.next().await.unwrap(), Some(1));
            // The worker is busy while the caller answers, goes on, and leaves.
            let busy = tokio::spawn(engine.task(&script).call::<()>("busy", (100,)));
            tokio::time::sleep(Duration::from_millis(40)).await;
            run.reply(1).unwrap();
            assert!(once(run.next()).await.is_none_or(|next| next.is_ok()));
            drop(run);
            busy.await.unwrap().unwrap();
            eventually("its `finally` block runs to its end", || notes.take() == ["slept"]);
        }
    });
    nothing_is_left(&engine);
}

/// While the caller has the floor, something else of its script runs; the caller leaves in the middle of that.
#[test]
fn a_caller_that_leaves_while_something_else_of_its_script_runs() {
    let notes = Notes::default();
    let engine = engine(&notes);
    let script = script(SOURCE);
    on_many_threads(async {
        let mut run: Run<u32, u32, ()> = engine.task(&script).generate("works", ()).unwrap();
        assert_eq!(run.next().await.unwrap(), Some(1));
        eventually("it works", || notes.take() == ["works"]);
        drop(run);
        eventually("its `finally` block runs to its end", || notes.take() == ["slept"]);
    });
    nothing_is_left(&engine);
}

/// The deadline and the caller end it at the same time.
#[test]
fn a_caller_that_leaves_at_the_deadline() {
    let notes = Notes::default();
    let engine = engine(&notes);
    let script = script(SOURCE);
    on_many_threads(async {
        let task = engine.task(&script).deadline(Duration::from_millis(60));
        let mut run: Run<u32, u32, ()> = task.generate("main", ()).unwrap();
        assert_eq!(run.next().await.unwrap(), Some(1));
        let busy = tokio::spawn(engine.task(&script).call::<()>("busy", (150,)));
        tokio::time::sleep(Duration::from_millis(30)).await;
        drop(run);
        busy.await.unwrap().unwrap();
        eventually("its `finally` block runs to its end", || notes.take() == ["slept"]);
    });
    nothing_is_left(&engine);
}

/// The deadline of the call neither shortens its closing nor takes the place of the close timeout.
#[test]
fn a_closing_has_its_own_limit() {
    let notes = Notes::default();
    let engine = engine(&notes);
    let script = script(SOURCE);
    on_tokio(async {
        // A deadline in the middle of the closing.
        let task = engine.task(&script).deadline(Duration::from_millis(500));
        let mut run: Run<u32, u32, ()> = task.generate("main", ()).unwrap();
        assert_eq!(run.next().await.unwrap(), Some(1));
        tokio::time::sleep(Duration::from_millis(485)).await;
        let closed = run.close().await;
        let notes_of_it = notes.take();
        // On a loaded machine the deadline may have come first.
        assert!(closed.is_ok() && notes_of_it == ["slept"] || closed.is_err(), "{closed:?} {notes_of_it:?}");
        if let Err(error) = closed {
            assert_kind!(error, ErrorKind::Deadline { .. });
            eventually("its `finally` block runs to its end", || notes.take() == ["slept"]);
        }

        // A deadline far away.
        let limits =
            Limits { close_timeout: Duration::from_millis(60), deadline: Some(SLACK * 2), ..Limits::default() };
        for name in ["sleeps", "loops"] {
            let mut run: Run<u32, u32, ()> = engine.task(&script).limits(limits).generate(name, ()).unwrap();
            assert_eq!(run.next().await.unwrap(), Some(1));
            let start = Instant::now();
            let error = run.close().await.expect_err(name);
            assert_kind!(error, ErrorKind::SliceTimeout { limit } if *limit == limits.close_timeout);
            assert!(start.elapsed() < SLACK, "{name}: torn down after {:?}", start.elapsed());
        }
    });
    nothing_is_left(&engine);
    assert_eq!(notes.take(), [""; 0], "what is torn down runs no further");
    still_works(&engine);
}

/// Whoever waits for a closing and leaves as well, leaves a closing that goes on.
#[test]
fn a_closing_that_nobody_waits_for_goes_on() {
    let notes = Notes::default();
    let engine = engine(&notes);
    let script = script(SOURCE);
    on_many_threads(async {
        for name in ["main", "stream"] {
            let mut run: Run<u32, u32, ()> = engine.task(&script).generate(name, ()).unwrap();
            assert_eq!(run.next().await.unwrap(), Some(1));
            // In time it may have ended.
            let _ = once(run.close()).await;
            eventually("its `finally` block runs to its end", || notes.take() == ["slept"]);
            let mut run: Run<u32, u32, ()> = engine.task(&script).generate(name, ()).unwrap();
            assert_eq!(run.next().await.unwrap(), Some(1));
            let closing = tokio::spawn(run.close());
            tokio::time::sleep(Duration::from_millis(10)).await;
            closing.abort();
            eventually("its `finally` block runs to its end", || notes.take() == ["slept"]);
        }
    });
    nothing_is_left(&engine);
}

/// A run that has not begun, or has ended, is closed already.
#[test]
fn nothing_to_close() {
    let notes = Notes::default();
    let engine = engine(&notes);
    let script = script("function* main() { try { note('begun'); return yield 1; } finally { note('finally'); } }");
    on_tokio(async {
        let run: Run<u32, u32, u32> = engine.task(&script).generate("main", ()).unwrap();
        run.close().await.unwrap();
        nothing_is_left(&engine);
        assert_eq!(notes.take(), [""; 0]);
        let mut run: Run<u32, u32, u32> = engine.task(&script).generate("main", ()).unwrap();
        run.next().await.unwrap();
        run.reply(1).unwrap();
        assert_eq!(run.next().await.unwrap(), None);
        assert_eq!(notes.take(), ["begun", "finally"]);
        run.close().await.unwrap();
        let mut run: Run<u32, u32, u32> = engine.task(&script).generate("main", ()).unwrap();
        run.next().await.unwrap();
        run.throw("away").unwrap();
        run.next().await.unwrap_err();
        notes.take();
        run.close().await.unwrap();
        nothing_is_left(&engine);
        assert_eq!(notes.take(), [""; 0]);
    });
}
