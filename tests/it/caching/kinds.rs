//! Tasks of the embedder: `initialize` runs for a new context only, and each type of task has contexts of its own.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use jsmill::{Composition, Error, HostError, OneOff, Result, Scope, Script, Task};
use serde_json::{Value, json};

use super::until;
use crate::support::{engine, still_works};

/// A task whose contexts have a constant, a host function, and a count of how often they were prepared.
struct First {
    script: Arc<Script>,
    prepared: Arc<AtomicU32>,
}

struct Second(First);

fn run(scope: &mut Scope<'_, '_, '_>) -> Result<Value> {
    let main = scope.function("main")?;
    let result = scope.call(main, &[])?;
    scope.from_js(result)
}

impl Task for First {
    fn script(&self) -> &Arc<Script> {
        &self.script
    }
    fn initialize(&self, scope: &mut Scope<'_, '_, '_>) -> Result<()> {
        self.prepared.fetch_add(1, Ordering::SeqCst);
        scope.define("WHO", "first")?;
        scope.define_function("twice", |n: u32| -> Result<u32, HostError> { Ok(n * 2) })
    }
}

impl OneOff for First {
    type Output = Value;
    fn run(&self, scope: &mut Scope<'_, '_, '_>) -> Result<Value> {
        run(scope)
    }
}

impl Task for Second {
    fn script(&self) -> &Arc<Script> {
        &self.0.script
    }
    fn initialize(&self, scope: &mut Scope<'_, '_, '_>) -> Result<()> {
        self.0.prepared.fetch_add(1, Ordering::SeqCst);
        scope.define("WHO", "second")?;
        scope.define_function("twice", |n: u32| -> Result<u32, HostError> { Ok(n * 20) })
    }
}

impl OneOff for Second {
    type Output = Value;
    fn run(&self, scope: &mut Scope<'_, '_, '_>) -> Result<Value> {
        run(scope)
    }
}

const SOURCE: &str = "const main = () => [typeof WHO === 'undefined' ? null : WHO, typeof twice === 'undefined' ? null : twice(4)]; const plain = () => typeof WHO;";

#[test]
fn initialize_runs_on_a_miss_only_and_types_do_not_share() {
    let engine = engine();
    let script = Script::new("k.js", SOURCE).unwrap();
    let (first, second) = (Arc::new(AtomicU32::new(0)), Arc::new(AtomicU32::new(0)));
    for _ in 0..4 {
        let task = First { script: script.clone(), prepared: first.clone() };
        assert_eq!(engine.run_blocking(Composition::new(task).one_off().memory()).unwrap(), json!(["first", 8]));
        let task = Second(First { script: script.clone(), prepared: second.clone() });
        assert_eq!(engine.run_blocking(Composition::new(task).memory().one_off()).unwrap(), json!(["second", 80]));
        assert_eq!(engine.task(&script).call_blocking::<String>("plain", ()).unwrap(), "undefined");
    }
    assert_eq!((first.load(Ordering::SeqCst), second.load(Ordering::SeqCst)), (1, 1));
    until(&engine, "three contexts and two functions", |worker| (worker.contexts, worker.host_functions) == (3, 2));
    drop(script);
    until(&engine, "they go with their contexts", |worker| (worker.contexts, worker.host_functions) == (0, 0));
}

#[test]
fn without_a_cache_each_run_is_initialised() {
    let engine = engine();
    let script = Script::new("k.js", SOURCE).unwrap();
    let prepared = Arc::new(AtomicU32::new(0));
    for run in 1..=4 {
        let task = First { script: script.clone(), prepared: prepared.clone() };
        assert_eq!(engine.run_blocking(Composition::new(task).one_off()).unwrap(), json!(["first", 8]));
        assert_eq!(prepared.load(Ordering::SeqCst), run);
    }
}

#[test]
fn a_stable_key_is_per_type_too() {
    let engine = engine();
    let prepared = Arc::new(AtomicU32::new(0));
    for _ in 0..3 {
        let script = Script::new("k.js", SOURCE).unwrap();
        let task = First { script: script.clone(), prepared: prepared.clone() };
        assert_eq!(engine.run_blocking(Composition::new(task).one_off().stable("k")).unwrap(), json!(["first", 8]));
        let task = Second(First { script, prepared: prepared.clone() });
        assert_eq!(engine.run_blocking(Composition::new(task).one_off().stable("k")).unwrap(), json!(["second", 80]));
    }
    assert_eq!(prepared.load(Ordering::SeqCst), 2);
}

struct Refuses(Arc<Script>);

impl Task for Refuses {
    fn script(&self) -> &Arc<Script> {
        &self.0
    }
    fn initialize(&self, _scope: &mut Scope<'_, '_, '_>) -> Result<()> {
        Err(Error::task("not today"))
    }
}

impl OneOff for Refuses {
    type Output = Value;
    fn run(&self, scope: &mut Scope<'_, '_, '_>) -> Result<Value> {
        run(scope)
    }
}

#[test]
fn an_initialize_that_fails_fails_the_call_and_keeps_nothing() {
    let engine = engine();
    let script = Script::new("k.js", SOURCE).unwrap();
    for _ in 0..3 {
        let error = engine.run_blocking(Composition::new(Refuses(script.clone())).one_off().memory()).unwrap_err();
        assert!(error.to_string().contains("not today"), "{error}");
    }
    still_works(&engine);
    until(&engine, "no context of it", |worker| worker.contexts <= 1);
}

struct Late(Arc<Script>);

impl Task for Late {
    fn script(&self) -> &Arc<Script> {
        &self.0
    }
}

impl OneOff for Late {
    type Output = String;
    fn run(&self, scope: &mut Scope<'_, '_, '_>) -> Result<String> {
        match scope.define("LATE", &1) {
            Ok(()) => Ok("defined".into()),
            Err(error) => Ok(error.to_string()),
        }
    }
}

#[test]
fn a_sealed_context_takes_no_globals_after_initialize() {
    let engine = engine();
    let script = Script::new("l.js", "const main = () => typeof LATE;").unwrap();
    let told = engine.run_blocking(Composition::new(Late(script)).one_off().memory()).unwrap();
    assert!(told.contains("LATE") && told.contains("read-only"), "{told}");
}
