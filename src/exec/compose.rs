//! A task put together from its parts.

use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

use super::shared::ErasedShared;
use super::{
    Async, AsyncWork, Caching, Direct, Generator, GeneratorWork, Limits, Multi, MultiWork, OneOff, OneOffWork,
    Priority, Shared, Task, Transport, Wire, Work,
};
use crate::error::Error;
use crate::vm::Logger;
use crate::wire::Policy;

/// Strategies of execution: exactly one for each task.
pub mod strategy {
    /// Not chosen yet: such a composition cannot be run.
    pub struct Unset;
    /// Runs once, without a pause: [`OneOff`](crate::OneOff).
    pub struct OneOff;
    /// Called until it is done, paused in between: [`Multi`](crate::Multi).
    pub struct Multi;
    /// A generator of JavaScript: [`Generator`](crate::Generator).
    pub struct Generator;
    /// A promise of JavaScript: [`Async`](crate::Async).
    pub struct Async;
}

/// Caching strategies: one for each task at most.
pub mod cache {
    /// A new context for each run.
    pub struct Unset;
    /// A context for each snapshot of the script.
    pub struct Memory;
    /// A context for each key that the embedder vouches for.
    pub struct Stable;
}

/// Sees the errors of a task on the worker, before the caller does, and may put another in their place.
///
/// Called once for each failed run, outside of V8. A panic in it fails the call with `HostPanicked`.
pub trait ExceptionHandler: Send + Sync + 'static {
    /// The error that the caller gets.
    fn handle(&self, error: Error) -> Error;
}

impl<F: Fn(Error) -> Error + Send + Sync + 'static> ExceptionHandler for F {
    fn handle(&self, error: Error) -> Error {
        self(error)
    }
}

/// A task with one strategy of execution, at most one caching strategy, and what else it wants. Wrong combinations do not compile.
///
/// ```
/// # use std::sync::Arc;
/// # use jsmill::*;
/// # struct Answer(Arc<Script>);
/// # impl Task for Answer { fn script(&self) -> &Arc<Script> { &self.0 } }
/// # impl OneOff for Answer {
/// #     type Output = i32;
/// #     fn run(&self, _: &mut Scope<'_, '_, '_>) -> Result<i32> { Ok(42) }
/// # }
/// # fn main() -> Result<()> {
/// # let engine = Engine::builder().workers(1).build()?;
/// # let task = Answer(Script::new("a.js", "")?);
/// let answer = engine.run_blocking(
///     Composition::new(task)
///         .one_off()
///         .memory()
///         .priority(Priority::Critical)
///         .on_exception(|error: Error| Error::task(format!("no answer: {error}"))),
/// )?;
/// assert_eq!(answer, 42);
/// # Ok(())
/// # }
/// ```
///
/// One strategy only, and none twice:
///
/// ```compile_fail
/// # fn f<T: jsmill::OneOff>(task: T) {
/// jsmill::Composition::new(task).one_off().memory().stable("key");
/// # }
/// ```
#[must_use = "`Engine::run` runs it"]
pub struct Composition<T, Strategy = strategy::Unset, Cache = cache::Unset> {
    task: T,
    caching: Caching,
    limits: Option<Limits>,
    policy: Policy,
    priority: Priority,
    handler: Option<Arc<dyn ExceptionHandler>>,
    logger: Option<Arc<dyn Logger>>,
    #[cfg(feature = "io")]
    io: Option<super::Io>,
    shared: Vec<(usize, ErasedShared)>,
    parts: PhantomData<fn() -> (Strategy, Cache)>,
}

impl<T: Task> Composition<T> {
    /// A task without a strategy yet.
    pub fn new(task: T) -> Self {
        Composition {
            task,
            caching: Caching::None,
            limits: None,
            policy: Policy::default(),
            priority: Priority::default(),
            handler: None,
            logger: None,
            #[cfg(feature = "io")]
            io: None,
            shared: Vec::new(),
            parts: PhantomData,
        }
    }
}

impl<T: Task, Strategy, Cache> fmt::Debug for Composition<T, Strategy, Cache> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut debug = f.debug_struct("Composition");
        debug.field("task", &self.task.name()).field("script", self.task.script()).field("caching", &self.caching);
        debug.finish_non_exhaustive()
    }
}

impl<T, Strategy, Cache> Composition<T, Strategy, Cache> {
    fn with<S, C>(self) -> Composition<T, S, C> {
        Composition {
            task: self.task,
            caching: self.caching,
            limits: self.limits,
            policy: self.policy,
            priority: self.priority,
            handler: self.handler,
            logger: self.logger,
            #[cfg(feature = "io")]
            io: self.io,
            shared: self.shared,
            parts: PhantomData,
        }
    }

    /// The limits of a run. Default: those of the engine.
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = Some(limits);
        self
    }

    /// What to do with values that have no exact counterpart on the other side. Default: refuse them.
    pub fn policy(mut self, policy: Policy) -> Self {
        self.policy = policy;
        self
    }

    /// How urgent a run is.
    pub fn priority(mut self, priority: Priority) -> Self {
        self.priority = priority;
        self
    }

    /// Sees errors on the worker and may replace them.
    pub fn on_exception(mut self, handler: impl ExceptionHandler) -> Self {
        self.handler = Some(Arc::new(handler));
        self
    }

    /// Makes a shared value ready for the run, which finds the first one as [`Scope::shared`](crate::Scope::shared)`(0)`.
    pub fn share<V>(mut self, value: &Shared<V>) -> Self {
        self.shared.push((self.shared.len(), value.erased.clone()));
        self
    }

    /// What the run may do with files and sockets, in place of what the engine grants.
    #[cfg(feature = "io")]
    pub fn io(mut self, io: super::Io) -> Self {
        self.io = Some(io);
        self
    }

    /// Receives what the script writes to `console`.
    pub fn logger(mut self, logger: impl Logger) -> Self {
        self.logger = Some(Arc::new(logger));
        self
    }
}

impl<T: Task, Cache> Composition<T, strategy::Unset, Cache> {
    /// Runs once, without a pause.
    pub fn one_off(self) -> Composition<T, strategy::OneOff, Cache>
    where
        T: OneOff,
    {
        self.with()
    }

    /// Is called until it is done, and pauses in between.
    pub fn multi(self) -> Composition<T, strategy::Multi, Cache>
    where
        T: Multi,
    {
        self.with()
    }

    /// Is a generator of JavaScript.
    pub fn generator(self) -> Composition<T, strategy::Generator, Cache>
    where
        T: Generator,
    {
        self.with()
    }

    /// Is a promise of JavaScript.
    pub fn asynchronous(self) -> Composition<T, strategy::Async, Cache>
    where
        T: Async,
    {
        self.with()
    }
}

impl<T, Strategy> Composition<T, Strategy, cache::Unset> {
    /// Keeps the context for as long as this snapshot of the script lives: [`Caching::Memory`].
    pub fn memory(mut self) -> Composition<T, Strategy, cache::Memory> {
        self.caching = Caching::Memory;
        self.with()
    }

    /// Keeps the context under a key that stands for exactly this content of the script: [`Caching::Stable`].
    pub fn stable(mut self, key: impl AsRef<str>) -> Composition<T, Strategy, cache::Stable> {
        self.caching = Caching::Stable(key.as_ref().into());
        self.with()
    }
}

mod sealed {
    pub trait Sealed {}
    impl<T, C> Sealed for super::Composition<T, super::strategy::OneOff, C> {}
    impl<T, C> Sealed for super::Composition<T, super::strategy::Async, C> {}
    impl<T, C> Sealed for super::Composition<T, super::strategy::Generator, C> {}
    impl<T, C> Sealed for super::Composition<T, super::strategy::Multi, C> {}
}

/// The parts of a composition without its task.
pub struct Parts {
    pub(crate) caching: Caching,
    pub(crate) limits: Option<Limits>,
    pub(crate) policy: Policy,
    pub(crate) priority: Priority,
    pub(crate) handler: Option<Arc<dyn ExceptionHandler>>,
    pub(crate) logger: Option<Arc<dyn Logger>>,
    #[cfg(feature = "io")]
    pub(crate) io: Option<super::Io>,
}

impl<T, S, C> Composition<T, S, C> {
    fn take_apart(self) -> (T, Vec<(usize, ErasedShared)>, Parts) {
        let parts = Parts {
            caching: self.caching,
            limits: self.limits,
            policy: self.policy,
            priority: self.priority,
            handler: self.handler,
            logger: self.logger,
            #[cfg(feature = "io")]
            io: self.io,
        };
        (self.task, self.shared, parts)
    }
}

/// A complete composition without requests: [`Engine::run`](crate::Engine::run) runs it. Implemented for the strategies [`OneOff`] and [`Async`].
#[diagnostic::on_unimplemented(
    message = "this composition cannot be run: it has no strategy of execution, or one that makes requests",
    label = "choose one, as with `.one_off()`, or use `Engine::start`"
)]
pub trait Runnable: sealed::Sealed + Send + 'static {
    /// What the task gives back.
    type Output: Send + 'static;
    #[doc(hidden)]
    type Work: Work<Output = Self::Output>;
    #[doc(hidden)]
    fn into_work(self) -> (Arc<crate::script::Script>, Self::Work, Parts);
}

impl<T: OneOff, C: 'static> Runnable for Composition<T, strategy::OneOff, C> {
    type Output = T::Output;
    type Work = OneOffWork<T>;
    fn into_work(self) -> (Arc<crate::script::Script>, OneOffWork<T>, Parts) {
        let (task, shared, parts) = self.take_apart();
        (task.script().clone(), OneOffWork::new(task, shared), parts)
    }
}

impl<T: Async, C: 'static> Runnable for Composition<T, strategy::Async, C> {
    type Output = T::Output;
    type Work = AsyncWork<T>;
    fn into_work(self) -> (Arc<crate::script::Script>, AsyncWork<T>, Parts) {
        let (task, shared, parts) = self.take_apart();
        (task.script().clone(), AsyncWork::new(task, shared), parts)
    }
}

/// A complete composition with requests to its caller: [`Engine::start`](crate::Engine::start) starts it. Implemented for the strategies
/// [`Generator`] and [`Multi`].
#[diagnostic::on_unimplemented(
    message = "this composition cannot be started: it has no strategy of execution, or one without requests",
    label = "choose one, as with `.generator()`, or use `Engine::run`"
)]
pub trait Startable: sealed::Sealed + Send + 'static {
    /// What the caller gets at a pause.
    type Request: Send + 'static;
    /// What the caller answers.
    type Reply: 'static;
    /// What the task gives back.
    type Output: Send + 'static;
    /// How the caller's answers travel.
    type Transport: Transport<Self::Reply>;
    #[doc(hidden)]
    type Work: Work<Request = Self::Request, Reply = <Self::Transport as Transport<Self::Reply>>::Reply, Output = Self::Output>;
    #[doc(hidden)]
    fn into_work(self) -> (Arc<crate::script::Script>, Self::Work, Parts);
}

impl<T: Generator, C: 'static> Startable for Composition<T, strategy::Generator, C> {
    type Request = T::Request;
    type Reply = T::Reply;
    type Output = T::Output;
    type Transport = Wire;
    type Work = GeneratorWork<T>;
    fn into_work(self) -> (Arc<crate::script::Script>, GeneratorWork<T>, Parts) {
        let (task, shared, parts) = self.take_apart();
        (task.script().clone(), GeneratorWork::new(task, shared), parts)
    }
}

impl<T: Multi, C: 'static> Startable for Composition<T, strategy::Multi, C> {
    type Request = T::Request;
    type Reply = T::Reply;
    type Output = T::Output;
    type Transport = Direct;
    type Work = MultiWork<T>;
    fn into_work(self) -> (Arc<crate::script::Script>, MultiWork<T>, Parts) {
        let (task, shared, parts) = self.take_apart();
        (task.script().clone(), MultiWork::new(task, shared), parts)
    }
}
