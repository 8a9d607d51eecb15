//! The strategies of tasks that pause, and all strategies as works of calls.

use std::any::{Any, TypeId};

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::call::{Answer, Mode, Started, Step};
use super::shared::ErasedShared;
use super::{OneOff, Task, Work, call_promise};
use crate::error::{Error, Result};
use crate::vm::{self, HostError, Scope};
use crate::wire::Encoded;

/// The strategy of a task that is called until it is done, and pauses in between: its caller gets a request at each pause and answers it.
///
/// Its state lives on the worker, and may hold values of V8 by `v8::Global`.
///
/// ```
/// use std::sync::Arc;
/// use jsmill::{Composition, Engine, Input, Multi, Pause, Result, Scope, Script, Task};
///
/// /// Asks for numbers until it gets a zero, and gives what the script makes of their sum.
/// struct Adder(Arc<Script>);
///
/// impl Task for Adder {
///     fn script(&self) -> &Arc<Script> {
///         &self.0
///     }
/// }
///
/// impl Multi for Adder {
///     type State = f64;
///     type Request = String;
///     type Reply = f64;
///     type Output = String;
///
///     fn start(&self, _: &mut Scope<'_, '_, '_>) -> Result<f64> {
///         Ok(0.0)
///     }
///     fn step(&self, sum: &mut f64, input: Input<f64>, scope: &mut Scope<'_, '_, '_>) -> Result<Pause<String, String>> {
///         match input {
///             Input::Reply(0.0) => {
///                 let show = scope.function("show")?;
///                 let argument = scope.to_js(sum)?;
///                 let text = scope.call(show, &[argument])?;
///                 Ok(Pause::Done(scope.from_js(text)?))
///             }
///             Input::Reply(number) => {
///                 *sum += number;
///                 Ok(Pause::Request(format!("{sum} so far")))
///             }
///             _ => Ok(Pause::Request("a number, please".into())),
///         }
///     }
/// }
///
/// # fn main() -> Result<()> {
/// let engine = Engine::builder().workers(1).build()?;
/// let script = Script::new("show.js", "const show = (sum) => `= ${sum}`;")?;
/// let mut run = engine.start(Composition::new(Adder(script)).multi().memory())?;
/// assert_eq!(run.next_blocking()?.as_deref(), Some("a number, please"));
/// run.reply(2.5)?;
/// assert_eq!(run.next_blocking()?.as_deref(), Some("2.5 so far"));
/// run.reply(0.0)?;
/// assert_eq!(run.next_blocking()?, None);
/// assert_eq!(run.finish_blocking()?, "= 2.5");
/// # Ok(())
/// # }
/// ```
pub trait Multi: Task {
    /// What is kept on the worker between the steps.
    type State: 'static;
    /// What the caller gets at a pause.
    type Request: Send + 'static;
    /// What the caller answers.
    type Reply: Send + 'static;
    /// What the task gives back.
    type Output: Send + 'static;

    /// Makes the state, in the first slice.
    ///
    /// # Errors
    /// End the run.
    fn start(&self, scope: &mut Scope<'_, '_, '_>) -> Result<Self::State>;

    /// Goes on. The first step follows `start` at once, each further one is a slice of its own.
    ///
    /// # Errors
    /// End the run; `close` is called then.
    ///
    /// # Panics
    /// A panic is caught, logged, and ends the run with `HostPanicked`.
    fn step(
        &self,
        state: &mut Self::State,
        input: Input<Self::Reply>,
        scope: &mut Scope<'_, '_, '_>,
    ) -> Result<Pause<Self::Request, Self::Output>>;

    /// The run ends before it is done: its caller has left, or a limit has come. Runs under the limit `close_timeout`.
    ///
    /// # Errors
    /// Are told to a caller that waits for the closing.
    fn close(&self, state: Self::State, scope: &mut Scope<'_, '_, '_>) -> Result<()> {
        let _ = (state, scope);
        Ok(())
    }
}

/// What a step is called with.
#[derive(Debug)]
pub enum Input<R> {
    /// It is the first one, or the caller goes on without an answer.
    Nothing,
    /// The caller has answered.
    Reply(R),
    /// The caller could not answer, and says why.
    Throw(HostError),
}

/// What a step gives.
#[derive(Debug)]
pub enum Pause<Q, O> {
    /// A request to the caller.
    Request(Q),
    /// The end.
    Done(O),
}

/// The strategy of a task that starts a generator of JavaScript, which the engine then drives to its end.
///
/// What it yields is a request to the caller, whose answer the `yield` gives. A promise that it yields is a wait: the `yield` gives what the
/// promise is fulfilled with. Objects of async generators work too.
pub trait Generator: Task {
    /// What the caller gets for each `yield`.
    type Request: DeserializeOwned + Send + 'static;
    /// What the caller answers.
    type Reply: Serialize + 'static;
    /// What the generator returns.
    type Output: DeserializeOwned + Send + 'static;

    /// Makes the generator object, by calling a generator function.
    ///
    /// # Errors
    /// End the run.
    fn start<'s>(&self, scope: &mut Scope<'_, 's, '_>) -> Result<v8::Local<'s, v8::Object>>;
}

/// The strategy of a task that starts an async function, or whatever else gives a promise, and ends when that is settled.
pub trait Async: Task {
    /// What the promise is fulfilled with.
    type Output: DeserializeOwned + Send + 'static;

    /// Starts it.
    ///
    /// # Errors
    /// End the run.
    fn start<'s>(&self, scope: &mut Scope<'_, 's, '_>) -> Result<v8::Local<'s, v8::Promise>>;
}

/// How a reply travels from the caller to the worker.
pub trait Transport<A>: 'static {
    /// What travels.
    type Reply: Send + 'static;
}

/// As bytes of V8's structured-clone format, made on the caller's thread.
#[derive(Debug)]
pub struct Wire;

/// As it is.
#[derive(Debug)]
pub struct Direct;

impl<A: 'static> Transport<A> for Wire {
    type Reply = Encoded;
}

impl<A: Send + 'static> Transport<A> for Direct {
    type Reply = A;
}

macro_rules! work {
    ($(#[$doc:meta])* $name:ident, $strategy:ident) => {
        $(#[$doc])*
        pub struct $name<T> {
            pub(crate) task: T,
            pub(crate) shared: Vec<(usize, ErasedShared)>,
        }

        impl<T: $strategy> $name<T> {
            pub(crate) fn new(task: T, shared: Vec<(usize, ErasedShared)>) -> Self {
                $name { task, shared }
            }
        }
    };
}

macro_rules! task_methods {
    ($mode:expr) => {
        fn name(&self) -> &str {
            self.task.name()
        }
        fn kind(&self) -> TypeId {
            TypeId::of::<T>()
        }
        fn mode(&self) -> Mode {
            $mode
        }
        fn shared(&self) -> &[(usize, ErasedShared)] {
            &self.shared
        }
        fn initialize(&self, scope: &mut Scope<'_, '_, '_>) -> Result<()> {
            self.task.initialize(scope)
        }
    };
}

work!(
    /// A task that runs once.
    OneOffWork, OneOff
);
work!(
    /// A task that gives a promise.
    AsyncWork, Async
);
work!(
    /// A task that gives a generator.
    GeneratorWork, Generator
);
work!(
    /// A task that is stepped.
    MultiWork, Multi
);

impl<T: OneOff> Work for OneOffWork<T> {
    type Request = ();
    type Reply = ();
    type Output = T::Output;
    task_methods!(Mode::OneOff);

    fn start<'s>(&self, scope: &mut Scope<'_, 's, '_>) -> Result<Started<'s, T::Output>> {
        self.task.run(scope).map(Started::Done)
    }
}

impl<T: Async> Work for AsyncWork<T> {
    type Request = ();
    type Reply = ();
    type Output = T::Output;
    task_methods!(Mode::Async);

    fn start<'s>(&self, scope: &mut Scope<'_, 's, '_>) -> Result<Started<'s, T::Output>> {
        self.task.start(scope).map(Started::Promise)
    }

    fn output<'s>(&self, scope: &mut Scope<'_, 's, '_>, value: v8::Local<'s, v8::Value>) -> Result<T::Output> {
        scope.from_js(value)
    }
}

impl<T: Generator> Work for GeneratorWork<T> {
    type Request = T::Request;
    type Reply = Encoded;
    type Output = T::Output;
    task_methods!(Mode::Pausing);

    fn start<'s>(&self, scope: &mut Scope<'_, 's, '_>) -> Result<Started<'s, T::Output>> {
        let object = self.task.start(scope)?;
        if object.is_generator_object() {
            return Ok(Started::Generator(object));
        }
        let what = if call_promise(object.into()).is_some() { "a promise" } else { "another object" };
        Err(Error::task(format!("the task has to start a generator object, and has started {what}")))
    }

    fn request<'s>(&self, scope: &mut Scope<'_, 's, '_>, value: v8::Local<'s, v8::Value>) -> Result<T::Request> {
        scope.from_js(value)
    }

    fn output<'s>(&self, scope: &mut Scope<'_, 's, '_>, value: v8::Local<'s, v8::Value>) -> Result<T::Output> {
        scope.from_js(value)
    }

    fn reply<'s>(&self, scope: &mut Scope<'_, 's, '_>, reply: Encoded) -> Result<v8::Local<'s, v8::Value>> {
        vm::decode(scope.v8(), reply)
    }
}

impl<T: Multi> Work for MultiWork<T> {
    type Request = T::Request;
    type Reply = T::Reply;
    type Output = T::Output;
    task_methods!(Mode::Pausing);

    fn start<'s>(&self, scope: &mut Scope<'_, 's, '_>) -> Result<Started<'s, T::Output>> {
        let state = self.task.start(scope)?;
        Ok(Started::State(Box::new(state)))
    }

    fn step(
        &self,
        scope: &mut Scope<'_, '_, '_>,
        state: &mut dyn Any,
        answer: Option<Answer<T::Reply>>,
    ) -> Result<Step<T::Request, T::Output>> {
        let state = state.downcast_mut::<T::State>().ok_or_else(|| Error::bug("the state of another task"))?;
        let input = match answer {
            None => Input::Nothing,
            Some(Answer::Reply(reply)) => Input::Reply(reply),
            Some(Answer::Throw(error)) => Input::Throw(error),
        };
        Ok(match self.task.step(state, input, scope)? {
            Pause::Request(request) => Step::Request(request),
            Pause::Done(output) => Step::Done(output),
        })
    }

    fn close(&self, scope: &mut Scope<'_, '_, '_>, state: Box<dyn Any>) -> Result<()> {
        let state = state.downcast::<T::State>().map_err(|_| Error::bug("the state of another task"))?;
        self.task.close(*state, scope)
    }
}
