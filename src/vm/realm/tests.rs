//! The realm as scripts see it, run against real V8.
//!
//! V8 wants every isolate on a thread that descends from the one that initialised it, so all cases run on one root thread.

mod sealing;
mod survey;
mod tamper;
mod works;

use crate::vm::{realm, snapshot};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{OnceLock, mpsc};

type Job = Box<dyn FnOnce() + Send>;

/// Runs `test` on the thread that initialised V8, and hands its panic on.
fn on_root_thread(test: impl FnOnce() + Send + 'static) {
    static ROOT: OnceLock<mpsc::Sender<Job>> = OnceLock::new();
    let root = ROOT.get_or_init(|| {
        let (jobs, inbox) = mpsc::channel::<Job>();
        std::thread::Builder::new()
            .stack_size(8 << 20)
            .spawn(move || {
                v8::V8::initialize_platform(v8::new_default_platform(0, false).make_shared());
                v8::V8::initialize();
                inbox.into_iter().for_each(|job| job());
            })
            .expect("a thread");
        jobs
    });
    let (done, outcome) = mpsc::channel();
    let job = move || drop(done.send(catch_unwind(AssertUnwindSafe(test))));
    root.send(Box::new(job)).expect("the root thread lives");
    if let Err(panic) = outcome.recv().expect("the root thread answers") {
        resume_unwind(panic);
    }
}

/// Runs `test` in a new isolate that was started from the snapshot.
fn in_isolate(test: impl FnOnce(&mut v8::PinScope<'_, '_, ()>) + Send + 'static) {
    static BLOB: OnceLock<Vec<u8>> = OnceLock::new();
    on_root_thread(|| {
        let blob = BLOB.get_or_init(|| snapshot::create().expect("a snapshot").to_vec());
        let blob: &'static [u8] = blob;
        let mut isolate = v8::Isolate::new(v8::CreateParams::default().snapshot_blob(blob.into()));
        v8::scope!(let scope, &mut isolate);
        test(scope);
    });
}

/// Runs `test` in a sealed context.
fn in_sealed(test: impl FnOnce(&mut v8::PinScope<'_, '_>) + Send + 'static) {
    in_isolate(|scope| {
        let context = realm::sealed(scope, None).expect("a context");
        test(&mut v8::ContextScope::new(scope, context));
    });
}

/// The result of a strict script as text, or the exception as text.
fn run(scope: &mut v8::PinScope<'_, '_>, source: &str) -> String {
    let value = evaluate(scope, &format!("'use strict';{source}"));
    value.unwrap_or_else(|thrown| thrown)
}

fn evaluate(scope: &mut v8::PinScope<'_, '_>, source: &str) -> Result<String, String> {
    v8::tc_scope!(let scope, scope);
    let source = v8::String::new(scope, source).expect("a string");
    match v8::Script::compile(scope, source, None).and_then(|script| script.run(scope)) {
        Some(value) => Ok(value.to_rust_string_lossy(scope)),
        None => Err(scope.exception().map(|it| it.to_rust_string_lossy(scope)).unwrap_or_default()),
    }
}

/// Runs `script` and seals its context with the top-level bindings that `names` lists.
fn load(scope: &mut v8::PinScope<'_, '_>, script: &str, names: &[&str]) -> Result<(), realm::Refused> {
    evaluate(scope, &format!("'use strict';{script}")).expect("the script loads");
    let mut bindings = vec![];
    for name in names {
        let source = v8::String::new(scope, name).expect("a string");
        let value = v8::Script::compile(scope, source, None).and_then(|it| it.run(scope)).expect("a binding");
        bindings.push(((*name).to_owned(), value));
    }
    realm::seal(scope, &bindings)
}
