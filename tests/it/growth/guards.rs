//! What a context owns of the host is dropped with it: in every order of ends, and after every kind of failure.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;

use jsmill::{Bytes, Composition, Engine, ErrorKind, HostError, OneOff, Result, Scope, Script, Task};
use serde_json::Value;

use crate::support::{SLACK, engine_with};

/// A task whose context owns a channel's sender, through a host function.
struct Owner {
    script: Arc<Script>,
    sender: Sender<u32>,
    function: &'static str,
}

impl Task for Owner {
    fn script(&self) -> &Arc<Script> {
        &self.script
    }
    fn initialize(&self, scope: &mut Scope<'_, '_, '_>) -> Result<()> {
        let sender = self.sender.clone();
        scope.define_function("send", move |n: u32| -> Result<(), HostError> {
            if n == 13 {
                panic!("thirteen");
            }
            sender.send(n).map_err(|error| HostError::new(error.to_string()))
        })
    }
}

impl OneOff for Owner {
    type Output = Value;
    fn run(&self, scope: &mut Scope<'_, '_, '_>) -> Result<Value> {
        let function = scope.function(self.function)?;
        let result = scope.call(function, &[])?;
        scope.from_js(result)
    }
}

const SOURCE: &str = "const main = () => { send(1); return 1; }; const boom = () => send(13);
    const fill = () => { const k = []; for (;;) k.push({ p: k.length, q: [k.length] }); }; const spin = () => { for (;;); };
    const leak = () => send;";

struct Setup {
    engine: Engine,
    script: Arc<Script>,
    receiver: Receiver<u32>,
}

/// An engine with a warm context that owns the sender; the caller's own is gone.
fn setup(function: &'static str) -> (Setup, Result<Value>) {
    let engine = engine_with(|builder| builder.heap_limit(Bytes::mib(32)));
    let script = Script::new("owner.js", SOURCE).unwrap();
    let (sender, receiver) = channel();
    let run = |function, sender: &Sender<u32>| {
        let task = Owner { script: script.clone(), sender: sender.clone(), function };
        engine.run_blocking(Composition::new(task).one_off().memory())
    };
    assert_eq!(run("main", &sender).unwrap(), 1);
    assert_eq!(receiver.recv().unwrap(), 1);
    let result = if function == "main" { Ok(Value::Null) } else { run(function, &sender) };
    drop(sender);
    (Setup { engine, script, receiver }, result)
}

#[track_caller]
fn assert_closed(receiver: &Receiver<u32>) {
    assert_eq!(receiver.recv_timeout(SLACK), Err(RecvTimeoutError::Disconnected), "the sender lives on");
}

#[test]
fn it_lives_as_long_as_its_context() {
    let (setup, _) = setup("main");
    assert_eq!(setup.receiver.recv_timeout(Duration::from_millis(300)), Err(RecvTimeoutError::Timeout));
    assert_eq!(setup.engine.stats().workers.len(), 1);
    drop(setup.script);
    assert_closed(&setup.receiver);
    drop(setup.engine);
}

#[test]
fn it_goes_with_the_engine_if_that_goes_first() {
    let (setup, _) = setup("main");
    drop(setup.engine);
    assert_closed(&setup.receiver);
    assert_eq!(setup.script.name(), "owner.js");
}

#[test]
fn it_goes_when_the_snapshot_and_the_engine_go_on_other_threads() {
    let (setup, _) = setup("main");
    let (engine, script) = (setup.engine, setup.script);
    let threads = [std::thread::spawn(move || drop(script)), std::thread::spawn(move || drop(engine))];
    for thread in threads {
        thread.join().unwrap();
    }
    assert_closed(&setup.receiver);
}

#[test]
fn it_goes_after_a_shutdown() {
    let (setup, _) = setup("main");
    setup.engine.shutdown_blocking().unwrap();
    assert_closed(&setup.receiver);
}

#[test]
fn it_goes_when_the_receiver_goes_first() {
    let (setup, _) = setup("main");
    drop(setup.receiver);
    let task = Owner { script: setup.script.clone(), sender: channel().0, function: "main" };
    let error = setup.engine.run_blocking(Composition::new(task).one_off().memory()).unwrap_err();
    assert_eq!(error.script_error().unwrap().message, "sending on a closed channel");
}

#[test]
fn it_goes_after_a_failure() {
    for (function, is_right) in [
        ("fill", (|kind| matches!(kind, ErrorKind::HeapLimit { .. })) as fn(&ErrorKind) -> bool),
        ("boom", |kind| matches!(kind, ErrorKind::HostPanicked { .. })),
        ("spin", |kind| matches!(kind, ErrorKind::SliceTimeout { .. })),
    ] {
        let (setup, result) = setup(function);
        let error = result.unwrap_err();
        assert!(is_right(error.kind()), "{function}: {error}");
        // The context was thrown away, though its snapshot lives on.
        assert_closed(&setup.receiver);
        assert_eq!(setup.script.name(), "owner.js");
    }
}

#[test]
fn a_function_that_outlives_its_context_is_harmless() {
    let engine = engine_with(|builder| builder);
    let (sender, receiver) = channel();
    let script = Script::new("owner.js", SOURCE).unwrap();
    let task = Owner { script: script.clone(), sender, function: "leak" };
    let error = engine.run_blocking(Composition::new(task).one_off().memory()).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Convert { .. }), "{error}");
    drop(script);
    assert_closed(&receiver);
    crate::support::still_works(&engine);
}

#[test]
fn many_owners_are_all_dropped() {
    let engine = engine_with(|builder| builder);
    let receivers: Vec<_> = (0..100)
        .map(|_| {
            let (sender, receiver) = channel();
            let task = Owner { script: Script::new("owner.js", SOURCE).unwrap(), sender, function: "main" };
            assert_eq!(engine.run_blocking(Composition::new(task).one_off().memory()).unwrap(), 1);
            assert_eq!(receiver.recv().unwrap(), 1);
            receiver
        })
        .collect();
    receivers.iter().for_each(assert_closed);
}
