//! The realm as scripts see it, run against real V8.
//!
//! V8 wants every isolate on a thread that descends from the one that initialised it, so every case gets one from the
//! platform. Its flags are an engine's default ones, as all tests of a process have to agree on them.

mod sealing;
mod survey;
mod tamper;
mod works;

use crate::units::Bytes;
use crate::vm::{platform, realm, snapshot};
use std::panic::resume_unwind;

fn v8() -> &'static platform::Platform {
    let flags = platform::Flags { v8: vec![], wasm_pages: 256 * 16, stack_kib: 4096 };
    platform::start(&flags).expect("V8 starts")
}

/// Runs `test` on a thread that may own an isolate, and hands its panic on.
fn on_v8_thread(test: impl FnOnce() + Send + 'static) {
    let thread = v8().spawn("realm".into(), Bytes::mib(8), test).expect("a thread");
    if let Err(panic) = thread.join() {
        resume_unwind(panic);
    }
}

/// Runs `test` in a new isolate that was started from the snapshot.
fn in_isolate(test: impl FnOnce(&mut v8::PinScope<'_, '_, ()>) + Send + 'static) {
    on_v8_thread(|| {
        let mut isolate = v8::Isolate::new(v8::CreateParams::default().snapshot_blob(v8().startup().into()));
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
