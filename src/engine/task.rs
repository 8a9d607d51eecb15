//! The everyday way to call a function.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use serde::de::DeserializeOwned;
use smol_str::SmolStr;

use super::future::CallFuture;
use super::run::Run;
use super::{Engine, submit};
use crate::error::{Error, Result};
use crate::exec::{ArgEncoder, Args, Caching, Call, FunctionCall, Limits, Meta, Pending, Priority, Profile, Way, Wire};
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
    #[cfg(feature = "io")]
    pub(super) io: Option<crate::Io>,
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
    pub(super) fn new(engine: &Engine) -> Self {
        CallOptions {
            limits: engine.limits(),
            caching: Caching::Memory,
            policy: Policy::default(),
            priority: Priority::default(),
            logger: None,
            #[cfg(feature = "io")]
            io: engine.shared().config.io.clone(),
        }
    }

    pub(super) fn profile(self, script: Arc<Script>) -> Profile {
        Profile {
            script,
            caching: self.caching,
            limits: self.limits,
            policy: self.policy,
            priority: self.priority,
            handler: None,
            logger: self.logger,
            #[cfg(feature = "io")]
            io: self.io,
        }
    }

    /// The call of a function under these options.
    pub(super) fn call<R, Q>(
        self,
        way: Way,
        script: Arc<Script>,
        function: SmolStr,
        args: &impl Args,
    ) -> Result<Arc<Call<FunctionCall<R, Q>>>>
    where
        R: DeserializeOwned + Send + 'static,
        Q: DeserializeOwned + Send + 'static,
    {
        self.limits.check().map_err(|error| error.at(script.name(), &function))?;
        #[cfg(feature = "io")]
        if let Some(io) = &self.io {
            io.check().map_err(|error| error.at(script.name(), &function))?;
        }
        let limits = wire::Limits { depth: self.limits.depth, bytes: self.limits.result.as_usize() };
        let args = ArgEncoder::encode(args, self.policy, limits).map_err(|error| error.at(script.name(), &function))?;
        let profile = self.profile(script);
        let meta = Meta::new(profile, &function);
        Ok(Call::new(meta, FunctionCall::new(function, way, args)))
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
    pub(super) fn new(engine: &'e Engine, script: Arc<Script>) -> Self {
        TaskBuilder { engine, script, options: CallOptions::new(engine) }
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

    /// How long the script may wait for its caller's answer, each time. See [`Limits::idle_timeout`].
    pub fn idle_timeout(mut self, timeout: Duration) -> Self {
        self.options.limits.idle_timeout = Some(timeout);
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

    /// What the call may do with files and sockets, in place of what the engine grants.
    #[cfg(feature = "io")]
    pub fn io(mut self, io: crate::Io) -> Self {
        self.options.io = Some(io);
        self
    }

    /// Calls a function of the script's top level, or one that its entry module exports.
    ///
    /// The arguments are converted at once, on the calling thread; the result on the worker. While the queue is full, the future
    /// waits. Cancel safe: a dropped future gives the call up; it never runs then, or its slice is stopped.
    ///
    /// # Errors
    /// `NoSuchFunction`; `Script` with what was thrown; `Convert` with the path; `Compile` when the script cannot be loaded; those of the
    /// limits; `Shed`; `WorkerLost`; `ShuttingDown`.
    pub fn call<R: DeserializeOwned + Send + 'static>(self, function: &str, args: impl Args) -> CallFuture<R> {
        let call = self.options.call::<R, ()>(Way::Call, self.script, function.into(), &args);
        CallFuture::new(self.engine.shared(), call)
    }

    /// Calls an async function, or one that gives a promise, and waits until that is settled.
    ///
    /// While it awaits host functions and timers, its worker runs other calls. What it has pending when it returns is dropped. Cancel
    /// safe: dropping the future drops the run and all that is pending for it; code after its `await`s, `finally` blocks too, never runs then.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> jsmill::Result<()> {
    /// use jsmill::{Engine, HostError, HostFunctions, Script};
    /// let host = HostFunctions::new().asynchronous("stock", |id: u64| async move { Ok::<_, HostError>(id * 2) });
    /// let engine = Engine::builder().workers(1).host_functions(host).build()?;
    /// let script = Script::new("stock.js", "const main = async (a, b) => await stock(a) + await stock(b);")?;
    /// assert_eq!(engine.task(&script).call_async::<u64>("main", (3, 4)).await?, 14);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As with [`call`](TaskBuilder::call), and: `Stalled` at once when it awaits what nothing can settle; `Unhandled` when a promise was
    /// rejected that nothing handles, at the end of the slice in which that happened; `PendingLimit`.
    pub fn call_async<R: DeserializeOwned + Send + 'static>(self, function: &str, args: impl Args) -> CallFuture<R> {
        let call = self.options.call::<R, ()>(Way::Async, self.script, function.into(), &args);
        CallFuture::new(self.engine.shared(), call)
    }

    /// The same on the calling thread, which waits.
    ///
    /// # Errors
    /// As with [`call_async`](TaskBuilder::call_async); `Config` on a worker's thread.
    pub fn call_async_blocking<R: DeserializeOwned + Send + 'static>(
        self,
        function: &str,
        args: impl Args,
    ) -> Result<R> {
        let call = self.options.call::<R, ()>(Way::Async, self.script, function.into(), &args)?;
        submit::block(submit::run(self.engine.shared(), Pending::new(call)))
    }

    /// Calls a generator function, plain or async. Nothing runs before the first [`next`](Run::next).
    ///
    /// `Request` is what it yields, `Reply` what the caller answers, `R` what it returns.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> jsmill::Result<()> {
    /// use jsmill::{Engine, Script};
    /// let engine = Engine::builder().workers(1).build()?;
    /// let script = Script::new("sum.js", "function* sum(ids) { let sum = 0; for (const id of ids) sum += yield id; return sum; }")?;
    /// let mut run = engine.task(&script).generate::<u64, f64, f64>("sum", ([1, 2, 3],))?;
    /// while let Some(id) = run.next().await? {
    ///     run.reply(id as f64 / 2.0)?;
    /// }
    /// assert_eq!(run.finish().await?, 3.0);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// What converting the arguments gives. Everything else comes from the first `next`.
    pub fn generate<Request, Reply, R>(self, function: &str, args: impl Args) -> Result<Run<Request, Reply, R, Wire>>
    where
        Request: DeserializeOwned + Send + 'static,
        Reply: 'static,
        R: DeserializeOwned + Send + 'static,
    {
        let call = self.options.call::<R, Request>(Way::Generate, self.script, function.into(), &args)?;
        Ok(Run::new(self.engine.shared(), call))
    }

    /// The same as [`call`](TaskBuilder::call) on the calling thread, which waits.
    ///
    /// For hosts without an async runtime. On a thread that drives one it stops all its other tasks for as long as it waits.
    ///
    /// # Errors
    /// As with [`call`](TaskBuilder::call); `Config` on a worker's thread, since the worker could wait for itself.
    pub fn call_blocking<R: DeserializeOwned + Send + 'static>(self, function: &str, args: impl Args) -> Result<R> {
        let call = self.options.call::<R, ()>(Way::Call, self.script, function.into(), &args)?;
        submit::block(submit::run(self.engine.shared(), Pending::new(call)))
    }

    /// The same without waiting for room: where the queue is full, the arguments come back at once.
    ///
    /// # Errors
    /// `QueueFull`, `Shed`, and whatever else keeps the call from being queued, with the arguments.
    pub fn try_call<R: DeserializeOwned + Send + 'static, A: Args>(
        self,
        function: &str,
        args: A,
    ) -> std::result::Result<CallFuture<R>, Rejected<A>> {
        let call = match self.options.call::<R, ()>(Way::Call, self.script, function.into(), &args) {
            Ok(call) => call,
            Err(error) => return Err(Rejected { error, args }),
        };
        let pending = Pending::new(call);
        match submit::try_enqueue(self.engine.shared(), &pending.core()) {
            Ok(()) => Ok(CallFuture::queued(pending)),
            Err(error) => Err(Rejected { error, args }),
        }
    }
}
