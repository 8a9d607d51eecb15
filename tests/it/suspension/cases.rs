//! Generators and async functions that do what the language leaves open, or forbids: re-entry, answers at the wrong moment, rejections
//! that nobody handles, and waits that never end.

use std::sync::Arc;
use std::time::{Duration, Instant};

use futures::channel::oneshot;
use jsmill::{Composition, Error, ErrorKind, HostError, Input, Multi, Pause, ReplyFault, Result, Scope, Script, Task};
use serde_json::{Value, json};

use super::{Futures, Notes, end_of, nothing_is_left};
use crate::assert_kind;
use crate::growth::Figures;
use crate::support::{SLACK, engine, engine_with, forced_gc, on_tokio, script, still_works};

/// A task that asks for numbers until it gets a zero.
struct Adder(Arc<Script>);

impl Task for Adder {
    fn script(&self) -> &Arc<Script> {
        &self.0
    }
}

impl Multi for Adder {
    type State = u32;
    type Request = u32;
    type Reply = u32;
    type Output = u32;

    fn start(&self, _: &mut Scope<'_, '_, '_>) -> Result<u32> {
        Ok(0)
    }

    fn step(&self, sum: &mut u32, input: Input<u32>, _: &mut Scope<'_, '_, '_>) -> Result<Pause<u32, u32>> {
        match input {
            Input::Reply(0) => return Ok(Pause::Done(*sum)),
            Input::Reply(number) => *sum += number,
            Input::Throw(error) => return Err(Error::task(format!("{error:?}"))),
            Input::Nothing => {}
        }
        Ok(Pause::Request(*sum))
    }
}

fn fault(error: Error) -> ReplyFault {
    match error.kind() {
        ErrorKind::Reply(fault) => *fault,
        _ => panic!("another kind than a reply's: {error}"),
    }
}

#[test]
fn a_generator_that_resumes_itself_gets_a_type_error() {
    let engine = engine();
    let script = script(
        "const plain = () => {
             const box = {};
             function* steps() { yield box.cur.return('now'); }
             box.cur = steps();
             try { box.cur.next(); } catch (e) { return e.name; }
         };
         function driven() {
             const box = {};
             function* steps() {
                 const names = [];
                 for (const way of ['next', 'return', 'throw']) try { box.cur[way](1); } catch (e) { names.push(e.name); }
                 yield 'a request';
                 try { box.cur.next(); } catch (e) { names.push(e.name); }
                 return names;
             }
             return box.cur = steps();
         }
         function waits() {
             const box = {};
             async function* steps() { yield 1; await box.cur.next(); }
             return box.cur = steps();
         }",
    );
    on_tokio(async {
        assert_eq!(engine.task(&script).call::<String>("plain", ()).await.unwrap(), "TypeError");
        let mut run = engine.task(&script).generate::<String, (), Value>("driven", ()).unwrap();
        assert_eq!(run.next().await.unwrap().as_deref(), Some("a request"));
        assert_eq!(run.finish().await.unwrap(), json!(["TypeError", "TypeError", "TypeError", "TypeError"]));
        // An async generator queues the request, and waits for itself.
        let mut run = engine.task(&script).generate::<u32, (), ()>("waits", ()).unwrap();
        assert_eq!(run.next().await.unwrap(), Some(1));
        assert_kind!(run.next().await.unwrap_err(), ErrorKind::Stalled);
    });
    nothing_is_left(&engine);
    still_works(&engine);
}

#[test]
fn second_late_and_foreign_answers_change_nothing() {
    let engine = engine();
    let source =
        script("async function* stream() { const a = yield 1; await null; const b = yield 2; return [a, b]; }");
    on_tokio(async {
        let mut run = engine.task(&source).generate::<u32, u32, Value>("stream", ()).unwrap();
        assert_eq!(fault(run.reply(9).unwrap_err()), ReplyFault::NotAsked);
        run.next().await.unwrap();
        let first = run.ticket().unwrap();
        run.reply_to(first, 1).unwrap();
        assert!(run.ticket().is_none(), "an answered request is not to be answered");
        assert_eq!(fault(run.reply(9).unwrap_err()), ReplyFault::Second);
        run.next().await.unwrap();
        assert_eq!(fault(run.reply_to(first, 9).unwrap_err()), ReplyFault::Foreign);
        let mut other = engine.task(&source).generate::<u32, u32, Value>("stream", ()).unwrap();
        other.next().await.unwrap();
        assert_eq!(fault(run.reply_to(other.ticket().unwrap(), 9).unwrap_err()), ReplyFault::Foreign);
        run.reply(2).unwrap();
        assert_eq!(run.next().await.unwrap(), None);
        assert_eq!(fault(run.reply(9).unwrap_err()), ReplyFault::Late);
        assert_eq!(fault(run.throw("late").unwrap_err()), ReplyFault::Late);
        assert_eq!(run.finish().await.unwrap(), json!([1, 2]));

        let mut run = engine.start(Composition::new(Adder(script(""))).multi().memory()).unwrap();
        assert_eq!(fault(run.reply(9).unwrap_err()), ReplyFault::NotAsked);
        assert_eq!(run.next().await.unwrap(), Some(0));
        run.reply(5).unwrap();
        assert_eq!(fault(run.reply(9).unwrap_err()), ReplyFault::Second);
        assert_eq!(run.next().await.unwrap(), Some(5));
        // Without an answer it goes on as well.
        assert_eq!(run.next().await.unwrap(), Some(5));
        run.reply(0).unwrap();
        assert_eq!(run.next().await.unwrap(), None);
        assert_eq!(fault(run.reply(9).unwrap_err()), ReplyFault::Late);
        assert_eq!(run.finish().await.unwrap(), 5);
    });
    nothing_is_left(&engine);
}

#[test]
fn the_handler_of_a_request_may_use_the_same_worker() {
    let engine = engine();
    let script = script(
        "function* main() { return [yield 1, yield 2]; } const double = (n) => 2 * n; const later = async (n) => await double(n);",
    );
    on_tokio(async {
        let run = engine.task(&script).generate::<u32, u32, Value>("main", ()).unwrap();
        let answer = |n| {
            let task = engine.task(&script);
            async move {
                let doubled = task.clone().call::<u32>("double", (n,)).await;
                let doubled = doubled.map_err(|error| HostError::new(error.to_string()))?;
                task.call_async::<u32>("later", (doubled,)).await.map_err(|error| HostError::new(error.to_string()))
            }
        };
        assert_eq!(run.answer_with(answer).finish().await.unwrap(), json!([4, 8]));
    });
}

/// Whoever ends a run, the `finally` blocks of its inner generators run.
#[test]
fn an_end_inside_of_an_inner_generator_runs_all_finally_blocks() {
    let notes = Notes::default();
    let engine = engine_with(|builder| builder.host_fn("note", notes.function()));
    let script = script(
        "function* inner() { try { yield 1; } finally { note('inner'); } }
         function* main() { try { yield* inner(); } finally { note('outer'); } }
         async function* innerStream() { try { yield 1; } finally { await null; note('inner'); } }
         async function* stream() { try { yield* innerStream(); } finally { note('outer'); } }",
    );
    on_tokio(async {
        for name in ["main", "stream"] {
            let mut run = engine.task(&script).generate::<u32, (), ()>(name, ()).unwrap();
            run.next().await.unwrap();
            run.close().await.unwrap();
            assert_eq!(notes.take(), ["inner", "outer"], "{name} is closed");

            let mut run = engine.task(&script).generate::<u32, (), ()>(name, ()).unwrap();
            run.next().await.unwrap();
            run.throw("away").unwrap();
            assert_eq!(run.next().await.unwrap_err().script_error().unwrap().message, "away");
            assert_eq!(notes.take(), ["inner", "outer"], "an error is thrown into {name}");

            let task = engine.task(&script).deadline(Duration::from_millis(30));
            let mut run = task.generate::<u32, (), ()>(name, ()).unwrap();
            run.next().await.unwrap();
            tokio::time::sleep(Duration::from_millis(60)).await;
            assert_kind!(run.next().await.unwrap_err(), ErrorKind::Deadline { queued: false, .. });
            nothing_is_left(&engine);
            assert_eq!(notes.take(), ["inner", "outer"], "the deadline ends {name}");
        }
    });
}

#[test]
fn rejections_that_nobody_handles_fail_a_generator() {
    let engine = engine_with(|builder| {
        builder.host_async("fails", |ms: u64| async move {
            tokio::time::sleep(Duration::from_millis(ms)).await;
            Err::<(), _>(HostError::new("no such host"))
        })
    });
    let script = script(
        "async function save(n) { await null; throw new Error('disk full ' + n); }
         function* gBoth() { save(1); save(2); yield 'asks'; return { ok: true }; }
         function* gReturns() { save(3); return { ok: true }; }
         function* gSameTurn() { const p = save(4); p.catch(() => {}); yield 1; return 'fine'; }
         function* gLate() { const p = save(5); yield 1; p.catch(() => {}); return 'late'; }
         async function aLate() { const p = save(6); await aio.sleep(2); p.catch(() => {}); return 'late'; }
         function* gHeld() { fails(20); yield 1; return 'gone'; }
         async function aHeld() { fails(5); await aio.sleep(60000); }
         async function* gStream() { save(7); yield 1; }",
    );
    on_tokio(async {
        let unhandled = async |name| match end_of(engine.task(&script), name).await {
            Ok(value) => panic!("{name} gives {value}"),
            Err(error) => match error.kind() {
                ErrorKind::Unhandled(errors) => errors.iter().map(|error| error.message.clone()).collect::<Vec<_>>(),
                _ => panic!("{name}: {error}"),
            },
        };
        assert_eq!(unhandled("gBoth").await, ["disk full 1", "disk full 2"]);
        assert_eq!(unhandled("gReturns").await, ["disk full 3"]);
        assert_eq!(end_of(engine.task(&script), "gSameTurn").await.unwrap(), "fine");
        assert_eq!(unhandled("gLate").await, ["disk full 5"]);
        assert_eq!(unhandled("aLate").await, ["disk full 6"]);
        assert_eq!(unhandled("gStream").await, ["disk full 7"]);
        assert_eq!(unhandled("aHeld").await, ["no such host"]);

        // One by the host, while the script waits for its caller.
        let mut run = engine.task(&script).generate::<u32, (), String>("gHeld", ()).unwrap();
        assert_eq!(run.next().await.unwrap(), Some(1));
        tokio::time::sleep(Duration::from_millis(300)).await;
        let error = run.next().await.unwrap_err();
        assert_kind!(error, ErrorKind::Unhandled(errors) if errors[0].message == "no such host");
    });
    nothing_is_left(&engine);
    still_works(&engine);
}

/// What is pending when a call returns is dropped, and its answer reaches nobody.
#[test]
fn an_answer_after_the_return_reaches_nobody() {
    let (notes, futures) = (Notes::default(), Futures::default());
    let (sender, receiver) = oneshot::channel::<u32>();
    let receiver = std::sync::Mutex::new(Some(receiver));
    let engine = engine_with(|builder| {
        let guards = futures.clone();
        builder.host_fn("note", notes.function()).host_async("answer", move || {
            let receiver = receiver.lock().expect("no panic").take();
            let guard = guards.guard();
            async move {
                let _guard = guard;
                let receiver = receiver.ok_or_else(|| HostError::new("twice"))?;
                receiver.await.map_err(|_| HostError::new("gone"))
            }
        })
    });
    let source = script(
        "async function main() { answer().then(() => { note('late'); throw new Error('late'); }); return 'done'; }",
    );
    on_tokio(async {
        assert_eq!(engine.task(&source).call_async::<String>("main", ()).await.unwrap(), "done");
        crate::support::eventually("the future is dropped", || futures.live() == 0);
        assert_eq!(futures.begun(), 1);
        assert!(sender.send(7).is_err(), "the one who answers learns that the call is gone");
    });
    still_works(&engine);
    nothing_is_left(&engine);
    assert_eq!(notes.take(), [""; 0]);
}

#[test]
fn a_wait_for_nothing_ends_at_once_wherever_it_begins() {
    let engine = engine();
    let script = script(
        "const never = () => new Promise(() => {});
         async function aNever() { await never(); }
         async function aLater() { await aio.sleep(5); await never(); }
         async function aThenable() { await aio.sleep(1); await { then() {} }; }
         function* gNever() { yield never(); }
         function* gLater() { yield 1; yield never(); }
         function* gSlept() { yield aio.sleep(5); yield never(); }
         async function* gStream() { yield 1; await never(); }
         async function* gYields() { yield never(); }
         function* gFinally() { try { yield never(); } finally { yield never(); } }",
    );
    on_tokio(async {
        for name in ["aNever", "aLater", "aThenable", "gNever", "gLater", "gSlept", "gStream", "gYields", "gFinally"] {
            let start = Instant::now();
            let error = end_of(engine.task(&script).deadline(SLACK * 2), name).await.unwrap_err();
            assert_kind!(error, ErrorKind::Stalled);
            assert!(start.elapsed() < SLACK, "{name} took {:?}", start.elapsed());
        }
    });
    nothing_is_left(&engine);
    still_works(&engine);
}

#[test]
fn an_atomic_wait_throws_in_every_slice() {
    let engine = engine();
    let script = script(
        "const wait = () => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
         async function aFirst() { wait(); }
         async function aLater() { await aio.sleep(1); wait(); }
         function* gFirst() { wait(); }
         function* gLater() { yield 1; wait(); }",
    );
    on_tokio(async {
        for name in ["aFirst", "aLater", "gFirst", "gLater"] {
            let error = end_of(engine.task(&script), name).await.unwrap_err();
            assert_eq!(error.script_error().unwrap_or_else(|| panic!("{name}: {error}")).name, "TypeError");
        }
    });
    still_works(&engine);
}

/// Each race leaves a reaction with the promise that never settles; all go with their run.
#[test]
fn races_with_a_pending_promise_leave_nothing() {
    let engine = engine();
    let script = script(
        "const never = () => new Promise(() => {});
         async function aRaces(n) { const p = never(); for (let i = 0; i < n; i++) await Promise.race([p, i]); return 'done'; }
         function* gRaces(n) { const p = never(); for (let i = 0; i < n; i++) yield Promise.race([p, i]); return 'done'; }",
    );
    let n = if forced_gc() { 2_000 } else { 200_000 };
    let figures = Figures::of(&engine);
    on_tokio(async {
        let race = async || {
            let task = engine.task(&script).timeout(SLACK);
            assert_eq!(task.clone().call_async::<String>("aRaces", (n,)).await.unwrap(), "done");
            let mut run = task.generate::<(), (), String>("gRaces", (n,)).unwrap();
            assert_eq!(run.next().await.unwrap(), None);
            assert_eq!(run.finish().await.unwrap(), "done");
        };
        race().await;
        let (before, _) = figures.heap_and_rss();
        race().await;
        let (after, _) = figures.heap_and_rss();
        assert!(forced_gc() || after < before + (1 << 20), "{before} bytes, then {after}");
    });
}
