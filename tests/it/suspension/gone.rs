//! A side that is gone while the other one waits for it: engines that end while a script waits for the host, answers that come too late,
//! and hosts that wait for themselves.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use futures::channel::oneshot;
use jsmill::{Engine, EngineBuilder, ErrorKind, HostError, ReplyFault, Result, Run};
use serde_json::json;

use super::{Futures, nothing_is_left};
use crate::assert_kind;
use crate::support::{
    SLACK, engine, engine_with, eventually, in_child, on_many_threads, on_tokio, script, still_works,
};

/// The only handle of an engine, for a host function of its own.
type Slot = Arc<Mutex<Option<Engine>>>;

/// An engine with host functions that get the engine, which is to be put into the slot.
fn engine_in_slot(knobs: impl FnOnce(EngineBuilder, Slot) -> EngineBuilder) -> Slot {
    let slot = Slot::default();
    let engine = engine_with(|builder| knobs(builder, slot.clone()));
    *slot.lock().unwrap() = Some(engine);
    slot
}

fn take(slot: &Slot) -> Option<Engine> {
    slot.lock().expect("no panic while it is held").take()
}

fn share(slot: &Slot) -> Result<Engine, HostError> {
    slot.lock().expect("no panic while it is held").clone().ok_or_else(|| HostError::new("the engine is gone"))
}

/// The future's end, which must come.
async fn in_time<T>(what: &str, future: impl Future<Output = T>) -> T {
    tokio::time::timeout(SLACK, future).await.unwrap_or_else(|_| panic!("{what} has not ended after {SLACK:?}"))
}

const ASKS: &str = "
    function* main() { return yield 1; }
    async function later() { return await ask(); }
    async function ends() { await end(); return 1; }";

#[test]
fn the_handler_of_a_request_drops_the_engine() {
    on_tokio(async {
        let engine = engine();
        let script = script("function* main() { return yield 1; }");
        let mut run: Run<u32, u32, u32> = engine.task(&script).generate("main", ()).unwrap();
        assert_eq!(run.next().await.unwrap(), Some(1));
        drop(engine);
        let fault = run.reply(1);
        // It may not have been told yet.
        if let Err(error) = fault {
            assert_kind!(error, ErrorKind::Reply(ReplyFault::Late));
        }
        assert_kind!(in_time("a run", run.next()).await.unwrap_err(), ErrorKind::ShuttingDown);
        assert_kind!(run.reply(1).unwrap_err(), ErrorKind::Reply(ReplyFault::Late));
        assert_kind!(in_time("a run", run.finish()).await.unwrap_err(), ErrorKind::ShuttingDown);
    });
}

#[test]
fn a_host_function_drops_the_engine() {
    in_child("suspension::gone::a_host_function_drops_the_engine", || {
        on_many_threads(async {
            let script = script(ASKS);
            for on_worker in [true, false] {
                let slot = engine_in_slot(|builder, slot| {
                    let other = slot.clone();
                    let knobs = builder.host_fn("ask", move || Ok::<_, HostError>(take(&other).is_some()));
                    if on_worker {
                        knobs.host_fn("end", move || Ok::<_, HostError>(take(&slot).is_some()))
                    } else {
                        knobs.host_async("end", move || {
                            let slot = slot.clone();
                            async move {
                                drop(take(&slot));
                                std::future::pending::<Result<u32, HostError>>().await
                            }
                        })
                    }
                });
                let call = share(&slot).unwrap().task(&script).call_async::<u32>("ends", ());
                let error = in_time("the call", call).await.unwrap_err();
                assert_kind!(error, ErrorKind::ShuttingDown);
                assert!(slot.lock().unwrap().is_none());
            }
        });
    });
}

#[test]
fn a_handler_that_shuts_the_engine_down_and_waits_for_that() {
    let short = |builder: EngineBuilder| builder.shutdown_timeout(Duration::from_millis(100));
    on_many_threads(async {
        let engine = engine_with(short);
        let source = script("function* main() { return yield 1; }");
        let mut run: Run<u32, u32, u32> = engine.task(&source).generate("main", ()).unwrap();
        assert_eq!(run.next().await.unwrap(), Some(1));
        let start = Instant::now();
        in_time("the shutdown", engine.shutdown()).await.unwrap();
        assert!(start.elapsed() >= Duration::from_millis(100), "a run may finish: {:?}", start.elapsed());
        assert_kind!(run.next().await.unwrap_err(), ErrorKind::ShuttingDown);

        // Inside of a future that the script awaits.
        let slot = engine_in_slot(|builder, slot| {
            short(builder).host_async("end", move || {
                let slot = slot.clone();
                async move { share(&slot)?.shutdown().await.map_err(|error| HostError::new(error.to_string())) }
            })
        });
        let engine = share(&slot).unwrap();
        let error = in_time("the call", engine.task(&script(ASKS)).call_async::<u32>("ends", ())).await.unwrap_err();
        assert_kind!(error, ErrorKind::ShuttingDown);
        drop(take(&slot));
    });
}

/// A shutdown lets runs go on to their end, if their hosts answer in time.
#[test]
fn a_shutdown_waits_for_runs_that_are_answered() {
    on_many_threads(async {
        let engine = engine_with(|builder| builder.shutdown_timeout(SLACK));
        let source = script(
            "function* main() { return (yield 1) + (yield 2); } async function later() { await aio.sleep(50); return 'slept'; }",
        );
        let mut run: Run<u32, u32, u32> = engine.task(&source).generate("main", ()).unwrap();
        assert_eq!(run.next().await.unwrap(), Some(1));
        let later = tokio::spawn(engine.task(&source).call_async::<String>("later", ()));
        let shutdown = tokio::spawn({
            let engine = engine.clone();
            async move { engine.shutdown().await }
        });
        tokio::time::sleep(Duration::from_millis(20)).await;
        run.reply(10).unwrap();
        assert_eq!(run.next().await.unwrap(), Some(2));
        assert!(!shutdown.is_finished(), "a run goes on");
        run.reply(20).unwrap();
        assert_eq!(run.finish().await.unwrap(), 30);
        assert_eq!(later.await.unwrap().unwrap(), "slept");
        in_time("the shutdown", shutdown).await.unwrap().unwrap();
    });
}

/// A host function `ask` that is answered through a channel from outside.
fn asked(futures: &Futures) -> (Engine, oneshot::Sender<u32>) {
    let (sender, receiver) = oneshot::channel();
    let receiver = Mutex::new(Some(receiver));
    let futures = futures.clone();
    let engine = engine_with(|builder| {
        builder.host_async("ask", move || {
            let receiver = receiver.lock().expect("no panic").take();
            let guard = futures.guard();
            async move {
                let _guard = guard;
                let receiver = receiver.ok_or_else(|| HostError::new("asked twice"))?;
                receiver.await.map_err(|_| HostError::new("nobody answers"))
            }
        })
    });
    (engine, sender)
}

#[test]
fn an_answer_after_the_deadline() {
    on_tokio(async {
        let futures = Futures::default();
        let (engine, sender) = asked(&futures);
        let script = script(ASKS);
        let task = engine.task(&script).deadline(Duration::from_millis(50));
        assert_kind!(
            task.clone().call_async::<u32>("later", ()).await.unwrap_err(),
            ErrorKind::Deadline { queued: false, .. }
        );
        eventually("its future is dropped", || (futures.begun(), futures.live()) == (1, 0));
        assert!(sender.send(1).is_err(), "the one who answers learns that the call is gone");
        let mut run: Run<u32, u32, u32> = task.generate("main", ()).unwrap();
        run.next().await.unwrap();
        tokio::time::sleep(Duration::from_millis(50)).await;
        nothing_is_left(&engine);
        assert_kind!(run.reply(1).unwrap_err(), ErrorKind::Reply(ReplyFault::Late));
        assert_kind!(run.next().await.unwrap_err(), ErrorKind::Deadline { queued: false, .. });
        still_works(&engine);
    });
}

#[test]
fn an_answer_that_never_comes() {
    on_tokio(async {
        let futures = Futures::default();
        let (engine, sender) = asked(&futures);
        let script = script(ASKS);
        let limit = Duration::from_millis(80);
        let start = Instant::now();
        let error = engine.task(&script).deadline(limit).call_async::<u32>("later", ()).await.unwrap_err();
        assert_kind!(error, ErrorKind::Deadline { limit: reached, .. } if *reached == limit);
        assert!(start.elapsed() >= limit && start.elapsed() < SLACK, "{:?}", start.elapsed());
        drop(sender);
        let mut run: Run<u32, u32, u32> = engine.task(&script).deadline(limit).generate("main", ()).unwrap();
        run.next().await.unwrap();
        tokio::time::sleep(limit * 3).await;
        assert_kind!(run.finish().await.unwrap_err(), ErrorKind::Deadline { .. });
        nothing_is_left(&engine);
        still_works(&engine);
    });
}

#[test]
fn an_answer_after_the_heap_was_full() {
    in_child("suspension::gone::an_answer_after_the_heap_was_full", || {
        on_tokio(async {
            let futures = Futures::default();
            let (engine, sender) = asked(&futures);
            let script = script(
                "function* main() { return yield 1; }
                 const fill = () => { const k = []; for (;;) k.push({ p: k.length, q: [k.length] }); };
                 async function fills() { const p = ask(); await aio.sleep(1); fill(); return await p; }",
            );
            let mut run: Run<u32, u32, u32> = engine.task(&script).generate("main", ()).unwrap();
            run.next().await.unwrap();
            let error = engine.task(&script).timeout(SLACK).call_async::<u32>("fills", ()).await.unwrap_err();
            assert_kind!(error, ErrorKind::HeapLimit { .. });
            eventually("its future is dropped", || (futures.begun(), futures.live()) == (1, 0));
            assert!(sender.send(1).is_err(), "the one who answers learns that the call is gone");
            // The isolate went, and with it what else it held.
            nothing_is_left(&engine);
            assert_kind!(run.reply(1).unwrap_err(), ErrorKind::Reply(ReplyFault::Late));
            assert_kind!(run.next().await.unwrap_err(), ErrorKind::WorkerLost { .. });
            still_works(&engine);
        });
    });
}

#[test]
fn a_host_function_that_calls_its_own_engine() {
    let slot = engine_in_slot(|builder, slot| {
        let blocking = slot.clone();
        builder
            .host_fn("blocks", move |n: u32| {
                let script = script("const double = (n) => 2 * n;");
                let result = share(&blocking)?.task(&script).call_blocking::<u32>("double", (n,));
                result.map_err(|error| HostError::new(error.to_string()))
            })
            .host_async("nested", move |n: u32| {
                let slot = slot.clone();
                async move {
                    let script = script("const double = async (n) => { await aio.sleep(1); return 2 * n; };");
                    let engine = share(&slot)?;
                    let task = engine.task(&script).deadline(Duration::from_millis(300));
                    let result = task.call_async::<u32>("double", (n,)).await;
                    result.map_err(|error| HostError::new(error.to_string()))
                }
            })
    });
    let engine = share(&slot).unwrap();
    let script = script(
        "async function main() { return await nested(await nested(1)); }
         async function blocked() { await aio.sleep(1); try { return blocks(1); } catch (e) { return e.message; } }
         function* asks() { return [yield nested(4), yield 1]; }",
    );
    on_tokio(async {
        assert_eq!(in_time("a call", engine.task(&script).call_async::<u32>("main", ())).await.unwrap(), 4);
        let text = in_time("a call", engine.task(&script).call_async::<String>("blocked", ())).await.unwrap();
        assert!(text.contains("blocking call"), "{text}");
        let mut run = engine.task(&script).generate::<u32, u32, serde_json::Value>("asks", ()).unwrap();
        assert_eq!(in_time("a run", run.next()).await.unwrap(), Some(1));
        // From a thread of an async runtime: it stops that thread for as long as it takes, and no longer.
        let answer = engine.task(&script).call_async_blocking::<u32>("main", ()).unwrap();
        run.reply(answer).unwrap();
        assert_eq!(in_time("a run", run.finish()).await.unwrap(), json!([8, 4]));
    });
    nothing_is_left(&engine);
    drop(take(&slot));
}

/// With room for one call that pauses, a second one that the first waits for never gets in: its deadline says so.
#[test]
fn a_call_that_waits_for_one_that_has_no_room() {
    let slot = engine_in_slot(|builder, slot| {
        builder.live_tasks(1).host_async("nested", move || {
            let slot = slot.clone();
            async move {
                let engine = share(&slot)?;
                let script = script("async function main() { await aio.sleep(1); }");
                let task = engine.task(&script).deadline(Duration::from_millis(100));
                match task.call_async::<()>("main", ()).await {
                    Err(error) if matches!(error.kind(), ErrorKind::Deadline { queued: true, .. }) => Ok("no room"),
                    other => Err(HostError::new(format!("{other:?}"))),
                }
            }
        })
    });
    let engine = share(&slot).unwrap();
    let script = script("async function main() { return await nested(); } const plain = () => 5;");
    on_tokio(async {
        let call = tokio::spawn(engine.task(&script).call_async::<String>("main", ()));
        // Plain calls get through meanwhile.
        assert_eq!(in_time("a plain call", engine.task(&script).call::<u32>("plain", ())).await.unwrap(), 5);
        assert_eq!(in_time("the outer call", call).await.unwrap().unwrap(), "no room");
    });
    nothing_is_left(&engine);
    drop(take(&slot));
}

/// A caller that serves the requests only after the end has been waited for.
#[test]
fn a_caller_that_waits_for_the_end_before_it_answers() {
    let engine = engine();
    let script = script("function* main() { return yield 1; } async function* stream() { return yield 1; }");
    on_tokio(async {
        for name in ["main", "stream"] {
            let run: Run<u32, u32, u32> = engine.task(&script).generate(name, ()).unwrap();
            assert_kind!(in_time("a run", run.finish()).await.unwrap_err(), ErrorKind::Unanswered);
            let run: Run<u32, u32, u32> = engine.task(&script).generate(name, ()).unwrap();
            assert_kind!(run.finish_blocking().unwrap_err(), ErrorKind::Unanswered);
        }
    });
    nothing_is_left(&engine);
}
