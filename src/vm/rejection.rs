//! Promises that are rejected and that nothing handles.
//!
//! A rejection without a handler is noted when it happens, and looked at again at the end of the slice: a handler that was attached
//! meanwhile makes it fine.

use super::exception::describe;
use super::host::Host;
use crate::error::{Error, ErrorKind, ScriptError};

/// How many rejections of a slice are remembered, and how many are told.
const REMEMBERED: usize = 1_000;
const TOLD: usize = 16;

/// V8 calls this for what happens to promises without handlers.
pub(super) unsafe extern "C" fn note(message: v8::PromiseRejectMessage) {
    if message.get_event() != v8::PromiseRejectEvent::PromiseRejectWithNoHandler {
        return;
    }
    // SAFETY: V8 calls this on the isolate's thread, inside of the context of the script that rejects, with a message that lives for the
    // call; the scope made of it does not outlive the call.
    v8::callback_scope!(unsafe scope, &message);
    let Some(host) = Host::of(scope) else { return };
    let promise = v8::Global::new(scope, message.get_promise());
    let mut rejected = host.rejected().borrow_mut();
    if rejected.len() >= REMEMBERED {
        rejected.retain(|promise| !v8::Local::new(scope, promise).has_handler());
    }
    if rejected.len() < REMEMBERED {
        rejected.push(promise);
    }
}

/// The slice is over: the error of what was rejected in it and is still not handled. Forgets it all.
pub(crate) fn take_unhandled(scope: &mut v8::PinScope<'_, '_>) -> Option<Error> {
    let host = Host::of(scope)?;
    if host.rejected().borrow().is_empty() {
        return None;
    }
    let rejected = std::mem::take(&mut *host.rejected().borrow_mut());
    let mut errors = Vec::new();
    for promise in rejected {
        let promise = v8::Local::new(scope, promise);
        if promise.has_handler() || errors.len() == TOLD {
            continue;
        }
        let reason = promise.result(scope);
        let message = v8::Exception::create_message(scope, reason);
        let error = describe(scope, reason, Some(message));
        let thrown = error.script_error().cloned();
        errors.push(thrown.unwrap_or_else(|| ScriptError::new("Error", error.to_string())));
    }
    (!errors.is_empty()).then(|| ErrorKind::Unhandled(errors).into())
}
