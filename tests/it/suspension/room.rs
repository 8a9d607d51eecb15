//! Room for what waits: paused runs of a worker, pending waits of a call and of an engine, and values of a request and a reply. What has
//! no room is refused or waits; what ends gives its room back.

use std::time::Duration;

use jsmill::{Bytes, ErrorKind, HostError, Limits, Run, Scale};
use serde_json::{Value, json};

use super::{Futures, Notes, end_of, nothing_is_left};
use crate::assert_kind;
use crate::support::{
    SLACK, engine, engine_with, eventually, forced_gc, on_many_threads, on_tokio, script, still_works,
};

const WAITS: &str = "
    async function aAwaits(n = 4) { const all = []; for (let i = 0; i < n; i++) all.push(ask()); await Promise.all(all); }
    async function aCaught() { const all = []; try { for (;;) all.push(ask()); } catch (e) { return [all.length, e.name, e instanceof RangeError]; } }
    async function aSleeps() {
        let refused = 0;
        for (let i = 0; i < 10; i++) aio.sleep(60000).catch((e) => { refused += e instanceof RangeError; });
        for (let i = 0; i < 5; i++) await null;
        return refused;
    }
    async function aTurns() { for (let i = 0; i < 50; i++) await Promise.all([quick(), quick(), aio.sleep(0)]); return 'done'; }
    function* gAwaits() { for (;;) ask(); }
    function* gHolds() { ask(); ask(); yield 1; ask(); yield 2; ask(); yield 3; }";

#[test]
fn pending_waits_of_a_call() {
    let futures = Futures::default();
    let engine = engine_with(|builder| {
        builder.host_async("ask", futures.function()).host_async("quick", || async { Ok::<_, HostError>(1) })
    });
    let script = script(WAITS);
    let limits = Limits { pending: 3, ..Limits::default() };
    on_tokio(async {
        for name in ["aAwaits", "gAwaits"] {
            let error = end_of(engine.task(&script).limits(limits), name).await.unwrap_err();
            assert_kind!(error, ErrorKind::PendingLimit { limit: 3, scale: Scale::Call });
            assert!(error.is_limit() && error.to_string().contains("`pending`"), "{error}");
            eventually("all futures are dropped", || futures.live() == 0);
        }
        let caught = end_of(engine.task(&script).limits(limits), "aCaught").await.unwrap();
        assert_eq!(caught, json!([3, "RangeError", true]));
        assert_eq!(
            end_of(engine.task(&script).limits(limits), "aTurns").await.unwrap(),
            "done",
            "what is settled counts no more"
        );
        let mut run: Run<u32, (), ()> = engine.task(&script).limits(limits).generate("gHolds", ()).unwrap();
        assert_eq!((run.next().await.unwrap(), run.next().await.unwrap()), (Some(1), Some(2)));
        assert_kind!(run.next().await.unwrap_err(), ErrorKind::PendingLimit { limit: 3, scale: Scale::Call });
    });
    nothing_is_left(&engine);
    eventually("all futures are dropped", || futures.live() == 0);
}

/// However calls end, what they have pending is given back to the engine.
#[test]
fn pending_waits_of_an_engine() {
    let futures = Futures::default();
    let engine = engine_with(|builder| {
        builder.pending(6).host_async("ask", futures.function()).host_async("quick", || async { Ok::<_, HostError>(1) })
    });
    let script = script(WAITS);
    on_many_threads(async {
        for _ in 0..if forced_gc() { 5 } else { 40 } {
            // Four are taken; of another four there is room for two.
            let call = tokio::spawn(engine.task(&script).call_async::<()>("aAwaits", (4,)));
            eventually("they are begun", || futures.live() == 4);
            let error = engine.task(&script).call_async::<()>("aAwaits", (4,)).await.unwrap_err();
            assert_kind!(error, ErrorKind::PendingLimit { limit: 6, scale: Scale::Engine });
            assert_eq!(engine.task(&script).call_async::<Value>("aCaught", ()).await.unwrap()[0], 2);
            assert_eq!(engine.task(&script).call_async::<u32>("aSleeps", ()).await.unwrap(), 8);
            call.abort();
            assert!(call.await.unwrap_err().is_cancelled());
            eventually("all futures are dropped", || futures.live() == 0);
            let mut run: Run<u32, (), ()> = engine.task(&script).generate("gHolds", ()).unwrap();
            assert_eq!(run.next().await.unwrap(), Some(1));
            run.close().await.unwrap();
            let task = engine.task(&script).deadline(Duration::from_millis(5));
            assert_kind!(task.call_async::<()>("aAwaits", (6,)).await.unwrap_err(), ErrorKind::Deadline { .. });
            eventually("all futures are dropped", || futures.live() == 0);
        }
        assert_eq!(engine.task(&script).call_async::<Value>("aCaught", ()).await.unwrap()[0], 6, "all of it is free");
    });
    nothing_is_left(&engine);
}

#[test]
fn paused_runs_of_a_worker() {
    let engine = engine_with(|builder| builder.live_tasks(3));
    let script = script(
        "function* main() { return yield 1; } async function later() { await aio.sleep(1); return 5; } const plain = () => 6;",
    );
    on_many_threads(async {
        let mut held = Vec::new();
        for _ in 0..3 {
            let mut run: Run<u32, u32, u32> = engine.task(&script).generate("main", ()).unwrap();
            assert_eq!(run.next().await.unwrap(), Some(1));
            held.push(run);
        }
        let mut waits: Run<u32, u32, u32> = engine.task(&script).generate("main", ()).unwrap();
        let later = tokio::spawn(engine.task(&script).call_async::<u32>("later", ()));
        assert!(tokio::time::timeout(Duration::from_millis(100), waits.next()).await.is_err(), "there is no room");
        assert!(!later.is_finished());
        assert_eq!(engine.task(&script).call::<u32>("plain", ()).await.unwrap(), 6, "plain calls get through");
        still_works(&engine);
        // Those that are held go on.
        let mut first = held.remove(0);
        first.reply(7).unwrap();
        assert_eq!(first.finish().await.unwrap(), 7);
        assert_eq!(tokio::time::timeout(SLACK, waits.next()).await.expect("there is room").unwrap(), Some(1));
        drop(held.pop());
        assert_eq!(tokio::time::timeout(SLACK, later).await.expect("there is room").unwrap().unwrap(), 5);
        waits.reply(8).unwrap();
        assert_eq!(waits.finish().await.unwrap(), 8);
    });
    nothing_is_left(&engine);
}

#[test]
fn a_deadline_while_there_is_no_room_in_the_queue() {
    let engine = engine_with(|builder| builder.queue_depth(jsmill::Priority::Normal, 1));
    let script = script(
        "const busy = (ms) => { const end = Date.now() + ms; while (Date.now() < end); }; function* main() { yield 1; } async function later() {}",
    );
    on_many_threads(async {
        let calls = [400, 1].map(|ms| tokio::spawn(engine.task(&script).call::<()>("busy", (ms,))));
        tokio::time::sleep(Duration::from_millis(60)).await;
        let task = engine.task(&script).deadline(Duration::from_millis(50));
        let mut run: Run<u32, (), ()> = task.clone().generate("main", ()).unwrap();
        assert_kind!(run.next().await.unwrap_err(), ErrorKind::Deadline { queued: true, .. });
        assert_kind!(run.next().await.unwrap_err(), ErrorKind::Deadline { queued: true, .. });
        let task = engine.task(&script).deadline(Duration::from_millis(50));
        assert_kind!(task.call_async::<()>("later", ()).await.unwrap_err(), ErrorKind::Deadline { queued: true, .. });
        for call in calls {
            call.await.unwrap().unwrap();
        }
    });
    nothing_is_left(&engine);
}

/// A reply that cannot pass is refused where it is made, and the script still waits.
#[test]
fn values_that_are_too_large() {
    let notes = Notes::default();
    let engine = engine_with(|builder| builder.host_fn("note", notes.function()));
    let script = script(
        "function* main() { try { const a = yield 1; yield 'x'.repeat(a); } finally { note('closed'); } }
         function* wrong() { try { yield () => 1; } finally { note('closed'); } }
         async function* stream() { try { const a = yield 1; yield 'x'.repeat(a); } finally { note('closed'); } }",
    );
    on_tokio(async {
        for name in ["main", "stream"] {
            let task = engine.task(&script).result_limit(Bytes::kib(4));
            let mut run: Run<Value, Value, ()> = task.generate(name, ()).unwrap();
            assert_eq!(run.next().await.unwrap(), Some(json!(1)));
            let error = run.reply(json!("y".repeat(10_000))).unwrap_err();
            assert_kind!(error, ErrorKind::ResultTooLarge { .. });
            assert!(run.ticket().is_some(), "the request still waits for its answer");
            let mut deep = json!(1);
            for _ in 0..300 {
                deep = json!([deep]);
            }
            assert_kind!(run.reply(deep).unwrap_err(), ErrorKind::Convert { .. });
            run.reply(json!(10_000)).unwrap();
            assert_kind!(run.next().await.unwrap_err(), ErrorKind::ResultTooLarge { .. });
            eventually("it is closed", || notes.take() == ["closed"]);
        }
        let mut run: Run<Value, (), ()> = engine.task(&script).generate("wrong", ()).unwrap();
        assert_kind!(run.next().await.unwrap_err(), ErrorKind::Convert { path, .. } if path == "$");
        eventually("it is closed", || notes.take() == ["closed"]);
    });
    nothing_is_left(&engine);
    drop(engine);
    still_works(&self::engine());
}
