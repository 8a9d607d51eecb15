//! Host code that panics while a run is on its way: the run ends with `HostPanicked`, whichever slice it is in, and nobody else notices.

use std::panic::panic_any;
use std::sync::Arc;

use jsmill::{Composition, Engine, ErrorKind, HostError, Input, Multi, Pause, Result, Scope, Script, Task};
use serde::de::Deserializer;
use serde::ser::{SerializeSeq, Serializer};
use serde::{Deserialize, Serialize};

use super::{end_of, nothing_is_left};
use crate::assert_kind;
use crate::support::{SLACK, engine, engine_with, in_child, on_tokio, script, still_works};

/// The drop of this panics.
struct PanicsWhenDropped;

impl Drop for PanicsWhenDropped {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            panic!("dropped");
        }
    }
}

/// An argument whose drop panics.
struct BadArgument(#[allow(dead_code)] PanicsWhenDropped);

impl<'de> Deserialize<'de> for BadArgument {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        u32::deserialize(deserializer).map(|_| BadArgument(PanicsWhenDropped))
    }
}

/// A value that panics in the middle of being written.
struct BadResult;

impl Serialize for BadResult {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut list = serializer.serialize_seq(Some(2))?;
        list.serialize_element(&1)?;
        panic!("while it is written")
    }
}

/// A value that panics while it is read.
#[derive(Debug)]
struct Unreadable;

impl<'de> Deserialize<'de> for Unreadable {
    fn deserialize<D: Deserializer<'de>>(_: D) -> Result<Self, D::Error> {
        panic!("while it is read")
    }
}

type Host<T> = Result<T, HostError>;

/// Whether a future of the host panics; a condition that the compiler does not see through.
fn always() -> bool {
    std::hint::black_box(true)
}

/// Host functions that panic in all ways: while they are called, and in their futures.
fn booms() -> Engine {
    engine_with(|builder| {
        builder
            .host_fn("text", || -> Host<u32> { panic!("a secret text") })
            .host_fn("payload", || -> Host<u32> { panic_any(vec![1, 2, 3]) })
            .host_fn("payload_that_panics", || -> Host<u32> { panic_any(PanicsWhenDropped) })
            .host_fn("argument", |_: BadArgument| -> Host<u32> { Ok(1) })
            .host_fn("result", || -> Host<BadResult> { Ok(BadResult) })
            .host_async("before_text", || {
                assert!(!always(), "a secret text");
                std::future::ready(Host::Ok(1))
            })
            .host_async("before_payload", || {
                if always() {
                    panic_any(PanicsWhenDropped);
                }
                std::future::ready(Host::Ok(1))
            })
            .host_async("future_text", || async {
                tokio::task::yield_now().await;
                assert!(!always(), "a secret text");
                Host::Ok(1)
            })
            .host_async("future_at_once", || async {
                assert!(!always(), "a secret text");
                Host::Ok(1)
            })
            .host_async("future_payload", || async {
                tokio::task::yield_now().await;
                if always() {
                    panic_any(vec![1, 2, 3]);
                }
                Host::Ok(1)
            })
            .host_async("future_payload_that_panics", || async {
                tokio::task::yield_now().await;
                if always() {
                    panic_any(PanicsWhenDropped);
                }
                Host::Ok(1)
            })
            .host_async("future_argument", |argument: BadArgument| async move {
                tokio::task::yield_now().await;
                drop(argument);
                Host::Ok(1)
            })
            .host_async("future_result", || async {
                tokio::task::yield_now().await;
                Host::Ok(BadResult)
            })
    })
}

/// Those that panic while they are called.
const AT_ONCE: [&str; 7] =
    ["text()", "payload()", "payload_that_panics()", "argument(1)", "result()", "before_text()", "before_payload()"];

/// Those whose futures panic.
const LATER: [&str; 6] = [
    "future_text()",
    "future_at_once()",
    "future_payload()",
    "future_payload_that_panics()",
    "future_argument(1)",
    "future_result()",
];

/// The call of that function ends with `HostPanicked`, which does not say what the panic's text was.
async fn panics(engine: &Engine, script: &Arc<Script>, function: &str, what: &str) {
    let error = match end_of(engine.task(script), function).await {
        Ok(value) => panic!("{function} with {what} gives {value}"),
        Err(error) => error,
    };
    assert!(matches!(error.kind(), ErrorKind::HostPanicked { .. }), "{function} with {what}: {error}");
    assert!(!format!("{error} {error:?}").contains("secret"), "{error:?}");
}

#[test]
fn at_once_in_a_first_or_a_later_slice() {
    let engine = booms();
    on_tokio(async {
        for boom in AT_ONCE {
            let script = script(
                &"async function aFirst() { try { BOOM; } catch (e) { return 'caught'; } finally { return 'kept'; } }
                  async function aReaction() { await Promise.resolve().then(() => BOOM).catch(() => 'caught'); return 1; }
                  async function aLater() { await aio.sleep(1); try { BOOM; } catch (e) { return 'caught'; } }
                  async function aGetter() { await aio.sleep(1); return { get x() { BOOM; return 1; } }; }
                  async function aThrown() { await null; throw { get message() { BOOM; } }; }
                  function* gFirst() { try { BOOM; } catch (e) { yield 'caught'; } }
                  function* gLater() { yield 1; try { BOOM; } catch (e) { return 'caught'; } }
                  function* gYielded() { yield { get x() { BOOM; return 1; } }; }
                  function* gReturned() { yield 1; return new Proxy({}, { ownKeys() { BOOM; return []; } }); }
                  function* gReaction() { yield 1; yield Promise.resolve().then(() => BOOM).catch(() => 'caught'); }
                  async function* gStream() { await aio.sleep(1); try { BOOM; } catch (e) { yield 'caught'; } }"
                    .replace("BOOM", boom),
            );
            for function in [
                "aFirst",
                "aReaction",
                "aLater",
                "aGetter",
                "aThrown",
                "gFirst",
                "gLater",
                "gYielded",
                "gReturned",
                "gReaction",
                "gStream",
            ] {
                panics(&engine, &script, function, boom).await;
            }
        }
    });
    nothing_is_left(&engine);
    still_works(&engine);
    assert_eq!(engine.stats().lost_total, 0);
}

#[test]
fn in_a_future() {
    let engine = booms();
    on_tokio(async {
        for boom in LATER {
            let script = script(
                &"async function aAwaits() { try { await BOOM; } catch (e) { return 'caught'; } finally { return 'kept'; } }
                  async function aCatches() { await BOOM.catch(() => 'caught'); }
                  async function aLeaves() { BOOM; await aio.sleep(60000); }
                  async function aGetter() { const o = { get x() { return BOOM; } }; return await o.x; }
                  function* gYields() { try { yield BOOM; } catch (e) { return 'caught'; } }
                  function* gSlept() { yield aio.sleep(1); yield BOOM.then(() => 1, () => 'caught'); }
                  async function* gStream() { try { yield await BOOM; } catch (e) { yield 'caught'; } }"
                    .replace("BOOM", boom),
            );
            for function in ["aAwaits", "aCatches", "aLeaves", "aGetter", "gYields", "gSlept", "gStream"] {
                panics(&engine, &script, function, boom).await;
            }
        }
    });
    nothing_is_left(&engine);
    still_works(&engine);
}

#[test]
fn while_the_caller_has_the_floor() {
    let engine = booms();
    let script = script("function* main() { future_text(); yield 1; return 2; }");
    on_tokio(async {
        let mut run = engine.task(&script).generate::<u32, u32, u32>("main", ()).unwrap();
        let first = run.next().await;
        if let Ok(request) = &first {
            assert_eq!(*request, Some(1));
            nothing_is_left(&engine);
            assert_kind!(run.reply(1).unwrap_err(), ErrorKind::Reply(jsmill::ReplyFault::Late));
        }
        assert_kind!(run.next().await.unwrap_err(), ErrorKind::HostPanicked { .. });
    });
    nothing_is_left(&engine);
    still_works(&engine);
}

#[test]
fn while_a_generator_is_closed() {
    let engine = booms();
    on_tokio(async {
        for boom in ["text()", "result()", "before_text()", "yield future_text()", "yield future_argument(1)"] {
            let source =
                "function* main() { try { yield 1; } finally { try { BOOM; } catch (e) { } } }".replace("BOOM", boom);
            let script = script(&source);
            let mut run = engine.task(&script).generate::<u32, (), ()>("main", ()).unwrap();
            run.next().await.unwrap();
            let error = run.close().await.expect_err(boom);
            assert_kind!(error, ErrorKind::HostPanicked { .. });
            let mut run = engine.task(&script).generate::<u32, (), ()>("main", ()).unwrap();
            run.next().await.unwrap();
            drop(run);
            nothing_is_left(&engine);
            still_works(&engine);
        }
    });
}

#[test]
fn while_values_cross_the_border() {
    let engine = engine();
    let script = script(
        "function* main() { yield 1; yield 2; return 3; } async function later() { await aio.sleep(1); return 4; }",
    );
    on_tokio(async {
        let mut run = engine.task(&script).generate::<Unreadable, (), u32>("main", ()).unwrap();
        assert_kind!(run.next().await.unwrap_err(), ErrorKind::HostPanicked { .. });
        let mut run = engine.task(&script).generate::<u32, (), Unreadable>("main", ()).unwrap();
        assert_eq!((run.next().await.unwrap(), run.next().await.unwrap()), (Some(1), Some(2)));
        assert_kind!(run.next().await.unwrap_err(), ErrorKind::HostPanicked { .. });
        let error = engine.task(&script).call_async::<Unreadable>("later", ()).await.unwrap_err();
        assert_kind!(error, ErrorKind::HostPanicked { .. });
    });
    nothing_is_left(&engine);
    still_works(&engine);
}

/// Where a task that is stepped panics.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum At {
    Start,
    First,
    Second,
    Close,
    StateDrop,
}

struct Steps(Arc<Script>, At);

/// Its drop panics if it was told to.
struct State(Option<PanicsWhenDropped>);

impl Task for Steps {
    fn script(&self) -> &Arc<Script> {
        &self.0
    }
}

impl Multi for Steps {
    type State = State;
    type Request = u32;
    type Reply = u32;
    type Output = u32;

    fn start(&self, _: &mut Scope<'_, '_, '_>) -> Result<State> {
        assert!(self.1 != At::Start, "a secret text");
        Ok(State((self.1 == At::StateDrop).then(|| PanicsWhenDropped)))
    }

    fn step(&self, _: &mut State, input: Input<u32>, _: &mut Scope<'_, '_, '_>) -> Result<Pause<u32, u32>> {
        match input {
            Input::Nothing if self.1 == At::First => panic!("a secret text"),
            Input::Nothing => Ok(Pause::Request(1)),
            _ if self.1 == At::Second => panic_any(PanicsWhenDropped),
            Input::Reply(0) => Ok(Pause::Done(7)),
            _ => Ok(Pause::Request(2)),
        }
    }

    fn close(&self, state: State, _: &mut Scope<'_, '_, '_>) -> Result<()> {
        assert!(self.1 != At::Close, "a secret text");
        drop(state.0);
        Ok(())
    }
}

#[test]
fn in_a_task_that_is_stepped() {
    let engine = engine();
    let source = script("");
    on_tokio(async {
        let start = |at| engine.start(Composition::new(Steps(source.clone(), at)).multi().memory()).unwrap();
        for at in [At::Start, At::First] {
            assert_kind!(start(at).next().await.unwrap_err(), ErrorKind::HostPanicked { .. });
        }
        let mut run = start(At::Second);
        assert_eq!(run.next().await.unwrap(), Some(1));
        run.reply(5).unwrap();
        assert_kind!(run.next().await.unwrap_err(), ErrorKind::HostPanicked { .. });
        for at in [At::Close, At::StateDrop] {
            let mut run = start(at);
            assert_eq!(run.next().await.unwrap(), Some(1));
            assert_kind!(run.close().await.unwrap_err(), ErrorKind::HostPanicked { .. });
            let mut run = start(at);
            assert_eq!(run.next().await.unwrap(), Some(1));
            drop(run);
            nothing_is_left(&engine);
            still_works(&engine);
        }
        // The state is dropped by the engine at the end, and its result stands.
        let mut run = start(At::StateDrop);
        assert_eq!(run.next().await.unwrap(), Some(1));
        run.reply(0).unwrap();
        assert_eq!(run.next().await.unwrap(), None);
        assert_eq!(run.finish().await.unwrap(), 7);
    });
    nothing_is_left(&engine);
    still_works(&engine);
}

#[test]
fn in_the_state_of_a_task_whose_isolate_is_replaced() {
    in_child("suspension::panics::in_the_state_of_a_task_whose_isolate_is_replaced", || {
        let engine = engine();
        let fill = script("const main = () => { const k = []; for (;;) k.push({ p: k.length, q: [k.length] }); };");
        on_tokio(async {
            let task = Composition::new(Steps(script(""), At::StateDrop)).multi().memory();
            let mut run = engine.start(task).unwrap();
            assert_eq!(run.next().await.unwrap(), Some(1));
            let error = engine.task(&fill).timeout(SLACK).call::<()>("main", ()).await.unwrap_err();
            assert_kind!(error, ErrorKind::HeapLimit { .. });
            assert_kind!(run.next().await.unwrap_err(), ErrorKind::WorkerLost { .. });
        });
        still_works(&engine);
        assert_eq!(engine.stats().lost_total, 0);
    });
}
