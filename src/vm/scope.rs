//! What a task sees of V8: the current context of its worker, for as long as its step runs.

use std::rc::Rc;

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::callback::{self, HostCall, HostClosure, HostFunction};
use super::context::ScriptContext;
use super::convert;
use super::exception::catch;
use crate::error::{Error, ErrorKind, Result};
use crate::wire::{Limits, Policy};

/// The inside of a context: functions of the script, values of JavaScript, and V8 itself.
///
/// Values that come from a scope live as long as the step of the task that was given the scope; the compiler keeps them from
/// getting out, and converting them is the only way to the host.
///
/// Errors are values of Rust here: what a script throws comes back as an [`Error`](crate::Error) of kind `Script`.
pub struct Scope<'a, 's, 'i> {
    inner: &'a mut v8::PinScope<'s, 'i>,
    context: &'a ScriptContext,
    terms: Terms<'a>,
}

/// Under what conditions a step runs.
#[derive(Clone, Copy, Default)]
pub(crate) struct Terms<'a> {
    pub(crate) policy: Policy,
    pub(crate) limits: Limits,
    /// The shared values that were made ready for the step.
    pub(crate) shared: &'a [SharedValue],
}

/// A frozen object of the isolate that all its contexts may use.
#[derive(Clone)]
pub(crate) struct SharedValue(pub(super) v8::Global<v8::Value>);

impl<'a, 's, 'i> Scope<'a, 's, 'i> {
    pub(super) fn new(inner: &'a mut v8::PinScope<'s, 'i>, context: &'a ScriptContext, terms: Terms<'a>) -> Self {
        Scope { inner, context, terms }
    }

    /// V8's own scope, for whatever the methods here do not do. The current context is the script's.
    pub fn v8(&mut self) -> &mut v8::PinScope<'s, 'i> {
        self.inner
    }

    /// A function of the script's top level, or one that its entry module exports.
    ///
    /// # Errors
    /// `NoSuchFunction`.
    pub fn function(&mut self, name: &str) -> Result<v8::Local<'s, v8::Function>> {
        self.context.function(self.inner, name)
    }

    /// Calls a function with `undefined` as its `this`.
    ///
    /// # Errors
    /// `Script` with what it threw. When the slice is stopped, an error that the engine replaces with the limit that was reached.
    pub fn call(
        &mut self,
        function: v8::Local<'s, v8::Function>,
        arguments: &[v8::Local<'s, v8::Value>],
    ) -> Result<v8::Local<'s, v8::Value>> {
        catch(self.inner, |scope| {
            let this = v8::undefined(scope).into();
            function.call(scope, this, arguments)
        })
    }

    /// A value of Rust as one of JavaScript, under the task's conversion policy.
    ///
    /// # Errors
    /// `Convert` with the path; `ResultTooLarge`.
    pub fn to_js<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<v8::Local<'s, v8::Value>> {
        convert::to_js(self.inner, value, self.terms.policy, self.terms.limits)
    }

    /// A value of JavaScript as one of Rust, under the task's conversion policy. Runs getters and `toJSON` of the script.
    ///
    /// # Errors
    /// `Convert` with the path; `ResultTooLarge`; what a getter threw.
    pub fn from_js<T: DeserializeOwned>(&mut self, value: v8::Local<'s, v8::Value>) -> Result<T> {
        convert::from_js(self.inner, value, self.terms.policy, self.terms.limits)
    }

    /// The shared value that the composition was given as number `index`, from 0.
    pub fn shared(&mut self, index: usize) -> Option<v8::Local<'s, v8::Value>> {
        self.terms.shared.get(index).map(|value| v8::Local::new(self.inner, &value.0))
    }

    /// Defines a global constant. In a sealed context only `initialize` can.
    ///
    /// # Errors
    /// `Convert` when the value cannot pass; `Script` when the global scope is read-only.
    pub fn define<T: Serialize + ?Sized>(&mut self, name: &str, value: &T) -> Result<()> {
        let value = self.to_js(value)?;
        self.define_value(name, value)
    }

    /// Defines a global function whose body is a closure of the host: up to six arguments that deserialise, and a result that
    /// serialises, or a [`HostError`](crate::HostError) that is thrown at the caller.
    ///
    /// A panic in it ends the task with `HostPanicked`; no `catch` of the script sees it. The closure runs on the worker, within the
    /// limits of the slice: it must not block. It is dropped with the context.
    ///
    /// # Errors
    /// `Script` when the global scope is read-only.
    pub fn define_function<Arguments: 'static>(
        &mut self,
        name: &str,
        function: impl HostFunction<Arguments>,
    ) -> Result<()> {
        self.define_host_call(name, Rc::new(HostClosure::new(name, function)))
    }

    pub(crate) fn define_host_call(&mut self, name: &str, call: Rc<dyn HostCall>) -> Result<()> {
        let function = callback::function(self.inner, self.context.functions(), call)?;
        self.define_value(name, function.into())
    }

    fn define_value(&mut self, name: &str, value: v8::Local<'s, v8::Value>) -> Result<()> {
        let defined = catch(self.inner, |scope| {
            let key = v8::String::new(scope, name)?;
            let global = scope.get_current_context().global(scope);
            global.define_own_property(scope, key.into(), value, v8::PropertyAttribute::READ_ONLY)
        })?;
        if defined {
            return Ok(());
        }
        Err(Error::from(ErrorKind::Config(format!(
            "the global `{name}` cannot be defined: the global scope is read-only here, or has it"
        ))))
    }
}
