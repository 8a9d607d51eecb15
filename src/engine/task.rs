//! The everyday way to call a function.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use serde::de::DeserializeOwned;
use smol_str::SmolStr;

use super::future::CallFuture;
use super::{Engine, submit};
use crate::error::{Error, Result};
use crate::exec::{ArgEncoder, Args, Caching, Call, FunctionCall, Limits, Meta, Priority};
use crate::script::Script;
use crate::units::Bytes;
use crate::vm::Logger;
use crate::wire::{self, Policy};

/// Options of a call, and the ways to make it. Made by [`Engine::task`].
///
/// The snapshot of the script is taken when the builder is made.
#[derive(Clone)]
#[must_use = "`call` makes the call"]
pub struct TaskBuilder<'e> {
    engine: &'e Engine,
    script: Arc<Script>,
    options: CallOptions,
}

/// What a call may be told.
#[derive(Clone)]
pub(super) struct CallOptions {
    pub(super) limits: Limits,
    pub(super) caching: Caching,
    pub(super) policy: Policy,
    pub(super) priority: Priority,
    pub(super) logger: Option<Arc<dyn Logger>>,
}

/// A call that found the queue full, with its arguments.
#[derive(Debug)]
pub struct Rejected<A> {
    /// Why.
    pub error: Error,
    /// The arguments, as they were.
    pub args: A,
}

impl CallOptions {
    pub(super) fn new(limits: Limits) -> Self {
        CallOptions {
            limits,
            caching: Caching::Memory,
            policy: Policy::default(),
            priority: Priority::default(),
            logger: None,
        }
    }

    /// The call of a function under these options.
    pub(super) fn call<R: DeserializeOwned + Send + 'static>(
        self,
        script: Arc<Script>,
        function: SmolStr,
        args: &impl Args,
    ) -> Result<Arc<Call<FunctionCall<R>>>> {
        self.limits.check().map_err(|error| error.at(script.name(), &function))?;
        let limits = wire::Limits { depth: self.limits.depth, bytes: self.limits.result.as_usize() };
        let args = ArgEncoder::encode(args, self.policy, limits).map_err(|error| error.at(script.name(), &function))?;
        let (submitted, deadline) = submit::moments(&self.limits);
        let span = submit::span(&script, &function, self.priority);
        let meta = Meta {
            script,
            caching: self.caching,
            limits: self.limits,
            policy: self.policy,
            priority: self.priority,
            submitted,
            deadline,
            handler: None,
            logger: self.logger,
            span,
        };
        Ok(Call::new(meta, FunctionCall::new(function, args)))
    }
}

impl fmt::Debug for TaskBuilder<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TaskBuilder")
            .field("script", &self.script)
            .field("limits", &self.options.limits)
            .finish_non_exhaustive()
    }
}

impl<'e> TaskBuilder<'e> {
    pub(super) fn new(engine: &'e Engine, script: Arc<Script>, limits: Limits) -> Self {
        TaskBuilder { engine, script, options: CallOptions::new(limits) }
    }

    /// The longest stay inside V8 without a pause. See [`Limits::slice_timeout`].
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.options.limits.slice_timeout = Some(timeout);
        self
    }

    /// The CPU time that the call may use. See [`Limits::cpu_budget`].
    pub fn cpu_budget(mut self, budget: Duration) -> Self {
        self.options.limits.cpu_budget = Some(budget);
        self
    }

    /// The time from now to the answer. See [`Limits::deadline`].
    pub fn deadline(mut self, deadline: Duration) -> Self {
        self.options.limits.deadline = Some(deadline);
        self
    }

    /// The size of the arguments and of the result, each. See [`Limits::result`].
    pub fn result_limit(mut self, limit: Bytes) -> Self {
        self.options.limits.result = limit;
        self
    }

    /// All limits at once.
    pub fn limits(mut self, limits: Limits) -> Self {
        self.options.limits = limits;
        self
    }

    /// How urgent the call is. Default: normal.
    pub fn priority(mut self, priority: Priority) -> Self {
        self.options.priority = priority;
        self
    }

    /// Whether and how the context is kept for later calls. Default: [`Caching::Memory`].
    pub fn caching(mut self, caching: Caching) -> Self {
        self.options.caching = caching;
        self
    }

    /// What to do with values that have no exact counterpart on the other side. Default: refuse them, with the path.
    pub fn values(mut self, policy: Policy) -> Self {
        self.options.policy = policy;
        self
    }

    /// Receives what the script writes to `console`, in place of `tracing`.
    pub fn logger(mut self, logger: impl Logger) -> Self {
        self.options.logger = Some(Arc::new(logger));
        self
    }

    /// Calls a function of the script's top level, or one that its entry module exports.
    ///
    /// The arguments are converted at once, on the calling thread; the result on the worker. While the queue is full, the future
    /// waits. Cancel safe: a dropped future gives the call up; it never runs then, or its slice is stopped.
    ///
    /// # Errors
    /// `NoSuchFunction`; `Script` with what was thrown; `Convert` with the path; `Compile` when the script cannot be loaded; those of the
    /// limits; `WorkerLost`; `ShuttingDown`.
    pub fn call<R: DeserializeOwned + Send + 'static>(self, function: &str, args: impl Args) -> CallFuture<R> {
        let call = self.options.call::<R>(self.script, function.into(), &args);
        CallFuture::new(self.engine.shared(), call)
    }

    /// The same on the calling thread, which waits.
    ///
    /// For hosts without an async runtime. On a thread that drives one it stops all its other tasks for as long as it waits.
    ///
    /// # Errors
    /// As with [`call`](TaskBuilder::call); `Config` on a worker's thread, since the worker could wait for itself.
    pub fn call_blocking<R: DeserializeOwned + Send + 'static>(self, function: &str, args: impl Args) -> Result<R> {
        let call = self.options.call::<R>(self.script, function.into(), &args)?;
        submit::enqueue_blocking(self.engine.shared(), call)?.wait()
    }

    /// The same without waiting for room: where the queue is full, the arguments come back at once.
    ///
    /// # Errors
    /// `QueueFull` and whatever else keeps the call from being queued, with the arguments.
    pub fn try_call<R: DeserializeOwned + Send + 'static, A: Args>(
        self,
        function: &str,
        args: A,
    ) -> std::result::Result<CallFuture<R>, Rejected<A>> {
        let call = match self.options.call::<R>(self.script, function.into(), &args) {
            Ok(call) => call,
            Err(error) => return Err(Rejected { error, args }),
        };
        match submit::try_enqueue(self.engine.shared(), call) {
            Ok(pending) => Ok(CallFuture::queued(pending)),
            Err((error, _)) => Err(Rejected { error, args }),
        }
    }
}
