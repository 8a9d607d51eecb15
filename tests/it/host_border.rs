//! Code of the host inside the engine: panics of every kind stop at the border, end their own call, and harm nobody else.

use std::panic::panic_any;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use jsmill::{Composition, Engine, Error, ErrorKind, HostError, LogLine, OneOff, Result, Scope, Script, Task};
use serde::de::Deserializer;
use serde::ser::{SerializeSeq, Serializer};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::assert_kind;
use crate::support::{SLACK, engine, engine_with, in_child, on_many_threads, script, still_works};

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
struct BadArgument(PanicsWhenDropped);

impl<'de> Deserialize<'de> for BadArgument {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        u32::deserialize(deserializer).map(|_| BadArgument(PanicsWhenDropped))
    }
}

/// An argument that panics while it is read.
#[derive(Debug)]
struct UnreadableArgument;

impl<'de> Deserialize<'de> for UnreadableArgument {
    fn deserialize<D: Deserializer<'de>>(_: D) -> Result<Self, D::Error> {
        panic!("while it is read")
    }
}

/// A result that panics in the middle of being written.
struct BadResult;

impl Serialize for BadResult {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut list = serializer.serialize_seq(Some(2))?;
        list.serialize_element(&1)?;
        panic!("while it is written")
    }
}

/// A task with host functions that panic in all ways.
struct Booms {
    script: Arc<Script>,
    entered: Arc<AtomicU32>,
}

impl Task for Booms {
    fn script(&self) -> &Arc<Script> {
        &self.script
    }
    fn initialize(&self, scope: &mut Scope<'_, '_, '_>) -> Result<()> {
        scope.define_function("text", || -> Result<u32, HostError> { panic!("a secret text") })?;
        scope.define_function("formatted", |n: u32| -> Result<u32, HostError> { panic!("a secret {n}") })?;
        scope.define_function("payload", || -> Result<u32, HostError> { panic_any(vec![1, 2, 3]) })?;
        scope.define_function("payload_that_panics", || -> Result<u32, HostError> { panic_any(PanicsWhenDropped) })?;
        scope.define_function("argument", |_: BadArgument| -> Result<u32, HostError> { Ok(1) })?;
        scope.define_function("unreadable", |_: UnreadableArgument| -> Result<u32, HostError> { Ok(1) })?;
        scope.define_function("result", || -> Result<BadResult, HostError> { Ok(BadResult) })?;
        scope.define_function("refuses", || -> Result<u32, HostError> { Err(HostError::new("no")) })?;
        scope.define_function("fine", |n: u32| -> Result<u32, HostError> { Ok(n + 1) })
    }
}

impl OneOff for Booms {
    type Output = Value;
    fn run(&self, scope: &mut Scope<'_, '_, '_>) -> Result<Value> {
        self.entered.fetch_add(1, Ordering::Relaxed);
        let main = scope.function("main")?;
        let result = scope.call(main, &[])?;
        scope.from_js(result)
    }
}

fn run(engine: &Engine, source: &str) -> Result<Value> {
    let task = Booms { script: script(source), entered: Arc::default() };
    engine.run_blocking(Composition::new(task).one_off().memory())
}

/// The call ends with `HostPanicked`, which says what panicked and not what its text was.
#[track_caller]
fn panics(engine: &Engine, source: &str) {
    let error = run(engine, source).expect_err(source);
    assert_kind!(error, ErrorKind::HostPanicked { .. });
    assert!(!format!("{error} {error:?}").contains("secret"), "{error:?}");
    still_works(engine);
    assert_eq!(run(engine, "const main = () => fine(1);").expect("the next task"), 2, "{source}");
}

const BOOMS: [&str; 7] =
    ["text()", "formatted(7)", "payload()", "payload_that_panics()", "argument(1)", "unreadable(1)", "result()"];

#[test]
fn no_script_can_catch_a_panic() {
    let engine = engine();
    for boom in BOOMS {
        panics(&engine, &format!("const main = () => {boom};"));
        panics(
            &engine,
            &format!("const main = () => {{ try {{ {boom}; }} catch (e) {{ return 'caught ' + typeof e; }} }};"),
        );
        panics(&engine, &format!("const main = () => {{ try {{ {boom}; }} finally {{ return 'kept'; }} }};"));
        panics(&engine, &format!("const main = () => {{ for (;;) try {{ {boom}; }} catch {{ }} }};"));
    }
    assert_eq!(engine.stats().lost_total, 0);
}

#[test]
fn a_panic_from_wherever_it_is_called() {
    let engine = engine();
    for boom in BOOMS {
        for source in [
            "const main = () => ({ get x() { BOOM; return 1; } });",
            "const main = () => ({ toJSON() { BOOM; } });",
            "const main = () => { throw { get message() { BOOM; } }; };",
            "const main = () => new Proxy({}, { ownKeys() { BOOM; } });",
            "const main = () => [3, 1, 2].sort(() => BOOM);",
            "const main = () => JSON.stringify({ toJSON() { BOOM; } });",
            "const main = () => 'aa'.replace(/a/g, () => BOOM);",
            "const main = () => { Promise.resolve().then(() => BOOM); return 1; };",
            "const main = () => { (async () => { await null; BOOM; })(); return 1; };",
            "const main = () => { new Promise(() => BOOM); return 1; };",
            "const main = () => [...(function* () { BOOM; })()];",
        ] {
            panics(&engine, &source.replace("BOOM", boom));
        }
    }
}

#[test]
fn a_panic_while_a_script_is_loaded() {
    let engine = engine();
    panics(&engine, "const x = text(); const main = () => 1;");
    panics(&engine, "Promise.resolve().then(() => text()); const main = () => 1;");
}

#[test]
fn an_error_of_the_host_is_an_exception() {
    let engine = engine();
    let caught =
        "const main = () => { try { refuses(); } catch (e) { return [e instanceof Error, e.name, e.message]; } };";
    assert_eq!(run(&engine, caught).expect("it is caught"), serde_json::json!([true, "Error", "no"]));
    let error = run(&engine, "const main = () => refuses();").expect_err("it is not");
    assert_kind!(error, ErrorKind::Script(thrown) if thrown.message == "no");
    let wrong = "const main = () => { try { fine('x'); } catch (e) { return e.name; } };";
    assert_eq!(run(&engine, wrong).expect("it is caught"), "TypeError");
}

/// What a task does on the worker.
type Body<T> = Box<dyn Fn(&mut Scope<'_, '_, '_>) -> Result<T> + Send + Sync>;

/// A task that does something of the host's own.
struct Native<T> {
    script: Arc<Script>,
    initialize: fn(),
    run: Body<T>,
}

impl<T: Send + 'static> Native<T> {
    fn new(run: impl Fn() -> T + Send + Sync + 'static) -> Self {
        Native {
            script: script("const main = () => { throw new Error('x'); };"),
            initialize: || {},
            run: Box::new(move |_| Ok(run())),
        }
    }

    /// A task whose script throws.
    fn throwing() -> Self
    where
        T: for<'de> Deserialize<'de>,
    {
        let run = |scope: &mut Scope<'_, '_, '_>| {
            let main = scope.function("main")?;
            let result = scope.call(main, &[])?;
            scope.from_js(result)
        };
        Native { run: Box::new(run), ..Native::new(|| unreachable!()) }
    }
}

impl<T: Send + 'static> Task for Native<T> {
    fn script(&self) -> &Arc<Script> {
        &self.script
    }
    fn initialize(&self, _: &mut Scope<'_, '_, '_>) -> Result<()> {
        (self.initialize)();
        Ok(())
    }
}

impl<T: Send + 'static> OneOff for Native<T> {
    type Output = T;
    fn run(&self, scope: &mut Scope<'_, '_, '_>) -> Result<T> {
        (self.run)(scope)
    }
}

#[test]
fn a_task_that_panics() {
    let engine = engine();
    for task in [
        Native::<u32>::new(|| panic!("a secret text")),
        Native::new(|| panic_any(PanicsWhenDropped)),
        Native { initialize: || panic!("a secret text"), ..Native::new(|| 1) },
    ] {
        let error = engine.run_blocking(Composition::new(task).one_off()).expect_err("it panics");
        assert_kind!(error, ErrorKind::HostPanicked { .. });
        assert!(!error.to_string().contains("secret"), "{error}");
        still_works(&engine);
    }
}

#[test]
fn an_exception_handler_that_panics() {
    let engine = engine();
    let handler = |_: Error| -> Error { panic!("in the handler") };
    let task = Composition::new(Native::<u32>::throwing()).one_off().memory().on_exception(handler);
    assert_kind!(engine.run_blocking(task).expect_err("it throws"), ErrorKind::HostPanicked { .. });
    still_works(&engine);
    let handler = |error: Error| Error::task(format!("seen: {error}"));
    let task = Composition::new(Native::<u32>::throwing()).one_off().memory().on_exception(handler);
    let error = engine.run_blocking(task).expect_err("it throws");
    assert!(error.to_string().contains("seen: "), "{error}");
}

#[test]
fn a_logger_that_panics() {
    let engine = engine();
    let source = script("const main = () => { for (let n = 0; n < 5; n++) console.log(n); return 42; };");
    let logger = |_: &LogLine| panic!("in the logger");
    assert_eq!(
        engine.task(&source).logger(logger).call_blocking::<u32>("main", ()).expect("the log is no concern of it"),
        42
    );
    still_works(&engine);
}

#[test]
fn a_result_type_that_panics_while_it_is_read() {
    let engine = engine();
    for body in ["1", "'text'", "true", "null", "({ a: 1 })", "[1]", "'\\u0416'"] {
        let source = script(&format!("const main = () => {body};"));
        let error = engine.task(&source).call_blocking::<UnreadableArgument>("main", ()).expect_err("it panics");
        assert_kind!(error, ErrorKind::HostPanicked { .. });
        still_works(&engine);
    }
}

#[test]
fn a_shared_value_that_panics_while_it_is_written() {
    let engine = engine();
    let value = engine.value(Arc::new(BadResult));
    let source = script("const main = (v) => 1;");
    for _ in 0..3 {
        let error = engine.task(&source).call_blocking::<u32>("main", (&value,)).expect_err("it panics");
        assert_kind!(error, ErrorKind::HostPanicked { .. });
        still_works(&engine);
    }
}

/// A result that nobody wants any more is dropped by the engine, wherever that is.
#[test]
fn a_result_whose_drop_panics_when_its_caller_is_gone() {
    in_child("host_border::a_result_whose_drop_panics_when_its_caller_is_gone", || {
        let engine = engine();
        on_many_threads(async {
            for _ in 0..3 {
                let (begun, has_begun) = std::sync::mpsc::channel();
                let begun = std::sync::Mutex::new(begun);
                let task = Native::new(move || {
                    begun.lock().expect("no panic").send(()).expect("the test waits");
                    std::thread::sleep(Duration::from_millis(100));
                    PanicsWhenDropped
                });
                let call = tokio::spawn(engine.run(Composition::new(task).one_off().memory()));
                has_begun.recv_timeout(SLACK).expect("it begins");
                call.abort();
                assert!(call.await.is_err_and(|error| error.is_cancelled()));
            }
        });
        still_works_in_time(&engine);
    });
}

/// The last owner of a task may be the engine.
#[test]
fn a_task_whose_drop_panics_when_its_caller_is_gone() {
    in_child("host_border::a_task_whose_drop_panics_when_its_caller_is_gone", || {
        let engine = engine();
        on_many_threads(async {
            for deadline in [None, Some(Duration::from_millis(200))] {
                let busy = {
                    let engine = engine.clone();
                    let source = script(
                        "const main = () => { const end = Date.now() + 500; while (Date.now() < end); return 1; };",
                    );
                    tokio::spawn(async move { engine.task(&source).timeout(SLACK).call::<u32>("main", ()).await })
                };
                tokio::time::sleep(Duration::from_millis(100)).await;
                let owned = std::sync::Mutex::new(Some(PanicsWhenDropped));
                let task = Native::new(move || drop(owned.lock().map(|owned| owned.is_some())));
                let limits = jsmill::Limits { deadline, ..jsmill::Limits::default() };
                let call = tokio::spawn(engine.run(Composition::new(task).one_off().memory().limits(limits)));
                tokio::time::sleep(Duration::from_millis(50)).await;
                call.abort();
                assert!(call.await.is_err());
                assert_eq!(busy.await.expect("no panic").expect("it ends"), 1);
            }
        });
        still_works_in_time(&engine);
        // The limits of time are still watched.
        let error = crate::support::failure(&engine, "const main = () => { for (;;); };", Duration::from_millis(50));
        assert_kind!(error, ErrorKind::SliceTimeout { .. });
    });
}

/// A trivial call, which must not hang for want of a worker.
fn still_works_in_time(engine: &Engine) {
    let (done, is_done) = std::sync::mpsc::channel();
    let engine = engine.clone();
    std::thread::spawn(move || {
        still_works(&engine);
        done.send(()).expect("the test waits");
    });
    is_done.recv_timeout(SLACK).expect("the engine has a worker and answers");
}

#[test]
fn a_host_function_may_not_wait_for_its_own_engine() {
    let engine = engine();
    let inner = engine.clone();
    let task = Native::new(move || {
        let source = script("const main = () => 42;");
        inner.task(&source).call_blocking::<u32>("main", ()).map_err(|error| error.to_string())
    });
    let text = engine
        .run_blocking(Composition::new(task).one_off())
        .expect("the task itself runs")
        .expect_err("it would wait");
    assert!(text.contains("worker"), "{text}");
    still_works(&engine);
}

#[test]
fn a_task_that_waits_for_its_own_engine_by_a_detour_ends_at_its_limit() {
    in_child("host_border::a_task_that_waits_for_its_own_engine_by_a_detour_ends_at_its_limit", || {
        let engine = engine_with(|builder| builder.grace(Duration::from_millis(100)));
        let inner = engine.clone();
        let task = Native::new(move || {
            let inner = inner.clone();
            let other =
                std::thread::spawn(move || crate::support::call::<u32>(&inner, "const main = () => 42;", "main", ()));
            other.join().expect("no panic").map_err(|error| error.to_string())
        });
        let limits = jsmill::Limits { slice_timeout: Some(Duration::from_millis(300)), ..jsmill::Limits::default() };
        let result = engine.run_blocking(Composition::new(task).one_off().limits(limits));
        assert_kind!(result.expect_err("it waits for itself"), ErrorKind::SliceTimeout { .. });
        still_works_in_time(&engine);
        crate::support::eventually("the detour ends, and the thread with it", || engine.stats().lost == 0);
    });
}

#[test]
fn results_of_tasks_on_a_runtime_with_one_thread() {
    let engine = engine();
    crate::support::on_tokio(async {
        let source = script("const main = (n) => n + 1;");
        let mut n = 0;
        for _ in 0..50 {
            n = engine.task(&source).call::<u32>("main", (n,)).await.expect("a call");
        }
        assert_eq!(n, 50);
        // A blocking call stops the runtime for as long as it takes, and no longer.
        assert_eq!(engine.task(&source).call_blocking::<u32>("main", (1,)).expect("a call"), 2);
    });
}
