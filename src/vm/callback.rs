//! Functions of the host that scripts call.
//!
//! A panic in one is caught here: unwinding through V8's frames would end the process. It stops the slice, so that no `catch` of
//! the script can hide it, and the call ends with `HostPanicked`. The panic's own text goes to the log.

use std::marker::PhantomData;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::convert;
use super::host::{FunctionOwner, Host};
use crate::error::{Error, ErrorKind, Result, Scale};
use crate::wire::{Limits, Policy};

/// What a host function tells the script that called it: the message of an `Error` that is thrown there.
///
/// ```
/// use jsmill::HostError;
/// fn stock(id: u64) -> Result<u32, HostError> {
///     if id == 0 { Err(HostError::new("there is no article 0")) } else { Ok(3) }
/// }
/// # assert!(stock(0).is_err());
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostError {
    /// Small, since every answer has room for one.
    inner: Box<Inner>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Inner {
    name: &'static str,
    message: String,
    /// The limit on pending work that was reached.
    pending: Option<(usize, Scale)>,
}

impl HostError {
    /// An `Error` with this message. The script sees the text, and may show it to anybody.
    pub fn new(message: impl Into<String>) -> Self {
        HostError::of("Error", message.into())
    }

    fn of(name: &'static str, message: String) -> Self {
        HostError { inner: Box::new(Inner { name, message, pending: None }) }
    }

    /// What the script sees as the error's `message`.
    pub fn message(&self) -> &str {
        &self.inner.message
    }

    pub(crate) fn type_error(message: String) -> Self {
        HostError::of("TypeError", message)
    }

    /// The limit of the buffers is reached: what V8 says when it cannot make one.
    #[cfg(feature = "io")]
    pub(super) fn no_buffer() -> Self {
        HostError::of("RangeError", super::exception::BUFFER_REFUSED[0].to_owned())
    }

    /// As many ops are pending as may be.
    pub(crate) fn pending(limit: usize, scale: Scale) -> Self {
        let message = ErrorKind::PendingLimit { limit, scale }.to_string();
        HostError { inner: Box::new(Inner { name: "RangeError", message, pending: Some((limit, scale)) }) }
    }

    /// A value that could not pass. A stack that is used up is what it is anywhere else: a `RangeError`.
    fn conversion(what: String, error: &Error) -> Self {
        match error.kind() {
            ErrorKind::StackOverflow(thrown) => HostError::of("RangeError", thrown.message.clone()),
            _ => HostError::type_error(format!("{what}: {error}")),
        }
    }
}

impl<T: Into<String>> From<T> for HostError {
    fn from(message: T) -> Self {
        HostError::new(message)
    }
}

/// A function of the host as V8's callback sees it.
pub(crate) trait HostCall {
    fn name(&self) -> &str;
    fn call<'s>(
        &self,
        scope: &mut v8::PinScope<'s, '_>,
        arguments: &v8::FunctionCallbackArguments<'s>,
    ) -> std::result::Result<v8::Local<'s, v8::Value>, HostError>;
}

/// A closure of up to six arguments that scripts may call: each argument is anything that deserialises, the result anything that
/// serialises, or a [`HostError`].
///
/// Implemented for `Fn(A, B, ..) -> Result<R, HostError>`; there is no need to implement it.
pub trait HostFunction<Arguments>: 'static {
    #[doc(hidden)]
    fn call_from_js<'s>(
        &self,
        scope: &mut v8::PinScope<'s, '_>,
        arguments: &v8::FunctionCallbackArguments<'s>,
    ) -> std::result::Result<v8::Local<'s, v8::Value>, HostError>;
}

/// A closure with its name.
pub(crate) struct HostClosure<F, Arguments> {
    name: String,
    function: F,
    arguments: PhantomData<fn(Arguments)>,
}

impl<F, Arguments> HostClosure<F, Arguments> {
    pub(crate) fn new(name: &str, function: F) -> Self {
        HostClosure { name: name.to_owned(), function, arguments: PhantomData }
    }
}

impl<Arguments, F: HostFunction<Arguments>> HostCall for HostClosure<F, Arguments> {
    fn name(&self) -> &str {
        &self.name
    }

    fn call<'s>(
        &self,
        scope: &mut v8::PinScope<'s, '_>,
        arguments: &v8::FunctionCallbackArguments<'s>,
    ) -> std::result::Result<v8::Local<'s, v8::Value>, HostError> {
        self.function.call_from_js(scope, arguments)
    }
}

macro_rules! host_function {
    ($($argument:ident $index:literal),*) => {
        impl<Closure, Output, $($argument),*> HostFunction<($($argument,)*)> for Closure
        where
            Closure: Fn($($argument),*) -> std::result::Result<Output, HostError> + 'static,
            Output: Serialize,
            $($argument: DeserializeOwned,)*
        {
            #[allow(unused_variables)]
            fn call_from_js<'s>(
                &self,
                scope: &mut v8::PinScope<'s, '_>,
                arguments: &v8::FunctionCallbackArguments<'s>,
            ) -> std::result::Result<v8::Local<'s, v8::Value>, HostError> {
                let result = self($(argument::<$argument>(scope, arguments.get($index), $index)?),*)?;
                convert::to_js(scope, &result, Policy::default(), Limits::default())
                    .map_err(|error| HostError::conversion("the result".into(), &error))
            }
        }
    };
}

host_function!();
host_function!(A 0);
host_function!(A 0, B 1);
host_function!(A 0, B 1, C 2);
host_function!(A 0, B 1, C 2, D 3);
host_function!(A 0, B 1, C 2, D 3, E 4);
host_function!(A 0, B 1, C 2, D 3, E 4, F 5);

/// An argument that a script has passed.
pub(crate) fn argument<'s, T: DeserializeOwned>(
    scope: &mut v8::PinScope<'s, '_>,
    value: v8::Local<'_, v8::Value>,
    index: i32,
) -> std::result::Result<T, HostError> {
    let value = v8::Local::new(scope, value);
    convert::from_js(scope, value, Policy::default(), Limits::default())
        .map_err(|error| HostError::conversion(format!("argument {}", index + 1), &error))
}

/// Makes a JavaScript function of a closure. It works for as long as its owner lives.
pub(super) fn function<'s>(
    scope: &mut v8::PinScope<'s, '_>,
    owner: &FunctionOwner,
    call: Rc<dyn HostCall>,
) -> Result<v8::Local<'s, v8::Function>> {
    let name =
        v8::String::new(scope, call.name()).ok_or_else(|| Error::config("the name of a host function is too long"))?;
    let id = owner.add(call)?;
    let id = v8::Integer::new_from_unsigned(scope, id);
    let function = v8::Function::builder(trampoline)
        .data(id.into())
        .constructor_behavior(v8::ConstructorBehavior::Throw)
        .build(scope)
        .ok_or_else(super::exception::stopped)?;
    function.set_name(name);
    Ok(function)
}

fn trampoline<'s>(
    scope: &mut v8::PinScope<'s, '_>,
    arguments: v8::FunctionCallbackArguments<'s>,
    mut result: v8::ReturnValue<'s, v8::Value>,
) {
    let id = arguments.data().uint32_value(scope);
    let Some(host) = Host::of(scope) else { return };
    let Some(call) = id.and_then(|id| host.function(id)) else {
        let error = HostError::type_error("this host function belongs to a context that is gone".into());
        return throw(scope, &error);
    };
    match catch_unwind(AssertUnwindSafe(|| call.call(scope, &arguments))) {
        Ok(Ok(value)) => result.set(value),
        Ok(Err(error)) => {
            // While the slice is being stopped there is no JavaScript left to throw to.
            if !scope.is_execution_terminating() {
                throw(scope, &error);
            }
        }
        Err(payload) => {
            tracing::error!(target: "jsmill", function = call.name(), panic = panic_text(&*payload), "a host function panicked");
            host.set_panicked(format!("the host function `{}`", call.name()));
            quietly("the drop of a panic's payload", || drop(payload));
            scope.terminate_execution();
        }
    }
}

fn throw(scope: &mut v8::PinScope<'_, '_>, error: &HostError) {
    if let Some(exception) = exception_of(scope, error) {
        scope.throw_exception(exception);
    }
}

/// An error of the host as one of JavaScript. `None` when V8 has no memory for it.
pub(crate) fn exception_of<'s>(
    scope: &mut v8::PinScope<'s, '_>,
    error: &HostError,
) -> Option<v8::Local<'s, v8::Value>> {
    let message =
        v8::String::new(scope, error.message()).or_else(|| v8::String::new(scope, "a host function failed"))?;
    let exception = match error.inner.name {
        "TypeError" => v8::Exception::type_error(scope, message),
        "RangeError" => v8::Exception::range_error(scope, message),
        _ => v8::Exception::error(scope, message),
    };
    if let Some((limit, scale)) = error.inner.pending {
        super::exception::mark_pending(scope, exception, limit, scale)?;
    }
    Some(exception)
}

/// Runs code of the embedder that must not unwind further. A panic is logged; what was asked for is `None` then.
pub(crate) fn quietly<T>(what: &str, body: impl FnOnce() -> T) -> Option<T> {
    match catch_unwind(AssertUnwindSafe(body)) {
        Ok(value) => Some(value),
        Err(payload) => {
            tracing::error!(target: "jsmill", what, panic = panic_text(&*payload), "host code panicked");
            // A payload whose own drop panics is not worth a process.
            if let Err(second) = catch_unwind(AssertUnwindSafe(|| drop(payload))) {
                std::mem::forget(second);
            }
            None
        }
    }
}

/// Runs code of the embedder; a panic becomes the error `HostPanicked`.
pub(crate) fn guarded<T>(what: &str, body: impl FnOnce() -> Result<T>) -> Result<T> {
    quietly(what, body).unwrap_or_else(|| Err(ErrorKind::HostPanicked { what: what.to_owned() }.into()))
}

fn panic_text(payload: &(dyn std::any::Any + Send)) -> &str {
    let text = payload.downcast_ref::<&str>().copied();
    text.or_else(|| payload.downcast_ref::<String>().map(String::as_str)).unwrap_or("(no text)")
}
