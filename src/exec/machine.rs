//! What a run has of JavaScript between its slices, and how it goes on from there.
//!
//! A generator object is driven here: what it yields is a request to the caller, or, if it is a promise, a wait whose value the `yield`
//! gives. The object of an async generator gives promises of what it yields.

use std::any::Any;

use super::CallCore;
use super::call::{AnswerValue, Begun, Brought};
use crate::error::{Error, Result};
use crate::vm::{self, Scope, exception_of};

/// What runs over several slices.
pub(super) enum Machine {
    /// A generator object.
    Generator(v8::Global<v8::Object>),
    /// An async function. All that is left of it is its promise.
    Promise,
    /// The state of a task that is stepped.
    State(Box<dyn Any>),
}

/// A promise that a run waits for, and what it is a promise of.
pub(super) struct Awaited {
    promise: v8::Global<v8::Promise>,
    stage: Stage,
}

impl Awaited {
    /// Whether the promise is pending no longer.
    pub(super) fn is_settled(&self, scope: &mut Scope<'_, '_, '_>) -> bool {
        v8::Local::new(scope.v8(), &self.promise).state() != v8::PromiseState::Pending
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// The end of an async function.
    End,
    /// What the `yield` of a generator gives.
    Yielded,
    /// What an async generator yields or returns.
    Next,
}

/// What a generator is resumed with.
enum Push<'s> {
    Value(v8::Local<'s, v8::Value>),
    Throw(v8::Local<'s, v8::Value>),
    Return,
}

/// How far a run has come.
#[derive(Default)]
pub(super) struct Progress {
    pub(super) machine: Option<Machine>,
    pub(super) awaited: Option<Awaited>,
    /// It is being closed: what it yields is of no interest any more.
    pub(super) closing: bool,
    /// The machine has come to its end.
    pub(super) done: bool,
}

impl Progress {
    /// Whether there is something to close.
    pub(super) fn is_open(&self) -> bool {
        !self.done && matches!(self.machine, Some(Machine::Generator(_) | Machine::State(_)))
    }

    /// The first slice.
    pub(super) fn start<'s>(&mut self, scope: &mut Scope<'_, 's, '_>, call: &dyn CallCore) {
        match call.start(scope) {
            Begun::Done => self.done = true,
            Begun::Promise(promise) => {
                self.machine = Some(Machine::Promise);
                self.wait(scope, promise, Stage::End);
            }
            Begun::Generator(object) => {
                self.machine = Some(Machine::Generator(v8::Global::new(scope.v8(), object)));
                let nothing = v8::undefined(scope.v8()).into();
                self.push(scope, call, Push::Value(nothing));
            }
            Begun::State(mut state) => {
                call.step(scope, &mut *state, true);
                self.done = call.brought() != Brought::Request;
                self.machine = Some(Machine::State(state));
            }
        }
    }

    /// The caller wants to go on. Nothing where it does not.
    pub(super) fn answer<'s>(&mut self, scope: &mut Scope<'_, 's, '_>, call: &dyn CallCore) {
        if let Some(Machine::State(state)) = &mut self.machine {
            if call.step(scope, &mut **state, false) {
                self.done = call.brought() != Brought::Request;
            }
            return;
        }
        let push = match call.answer(scope) {
            Ok(None) => return,
            Ok(Some(AnswerValue::Nothing)) => Push::Value(v8::undefined(scope.v8()).into()),
            Ok(Some(AnswerValue::Reply(value))) => Push::Value(value),
            Ok(Some(AnswerValue::Throw(error))) => match exception_of(scope.v8(), &error) {
                Some(exception) => Push::Throw(exception),
                None => return call.keep_error(vm::stopped()),
            },
            Err(error) => return call.keep_error(error),
        };
        self.push(scope, call, push);
    }

    /// Goes on where the awaited promise was settled. False where it was not, or where nothing is awaited.
    pub(super) fn go_on<'s>(&mut self, scope: &mut Scope<'_, 's, '_>, call: &dyn CallCore) -> bool {
        let Some(awaited) = &self.awaited else { return false };
        let promise = v8::Local::new(scope.v8(), &awaited.promise);
        let stage = awaited.stage;
        let rejected = match promise.state() {
            v8::PromiseState::Pending => return false,
            v8::PromiseState::Fulfilled => false,
            v8::PromiseState::Rejected => true,
        };
        self.awaited = None;
        let value = promise.result(scope.v8());
        match stage {
            Stage::Yielded if rejected => self.push(scope, call, Push::Throw(value)),
            Stage::Yielded => self.push(scope, call, Push::Value(value)),
            Stage::End | Stage::Next if rejected => {
                self.done = true;
                let message = v8::Exception::create_message(scope.v8(), value);
                call.keep_error(vm::describe(scope.v8(), value, Some(message)));
            }
            Stage::End => {
                self.done = true;
                call.keep_output(scope, value);
            }
            Stage::Next => self.inspect(scope, call, value),
        }
        true
    }

    /// Makes the script end: its `finally` blocks run.
    pub(super) fn close<'s>(&mut self, scope: &mut Scope<'_, 's, '_>, call: &dyn CallCore) {
        self.closing = true;
        self.awaited = None;
        match self.machine.take() {
            Some(Machine::State(state)) => {
                self.done = true;
                if let Err(error) = call.close_state(scope, state) {
                    call.keep_error(error);
                }
            }
            Some(Machine::Promise) | None => self.done = true,
            generator => {
                self.machine = generator;
                self.push(scope, call, Push::Return);
            }
        }
    }

    fn push<'s>(&mut self, scope: &mut Scope<'_, 's, '_>, call: &dyn CallCore, push: Push<'s>) {
        let Some(Machine::Generator(object)) = &self.machine else {
            return call.keep_error(Error::bug("a generator is resumed that is none"));
        };
        let object = v8::Local::new(scope.v8(), object);
        match resume(scope, object, push) {
            Err(error) => {
                self.done = true;
                call.keep_error(error);
            }
            // Only an async generator gives a promise here.
            Ok(result) => match call_promise(result) {
                Some(promise) => self.wait(scope, promise, Stage::Next),
                None => self.inspect(scope, call, result),
            },
        }
    }

    /// Looks at what a generator has given.
    fn inspect<'s>(&mut self, scope: &mut Scope<'_, 's, '_>, call: &dyn CallCore, result: v8::Local<'s, v8::Value>) {
        let (done, value) = match parts(scope, result) {
            Ok(parts) => parts,
            Err(error) => return call.keep_error(error),
        };
        self.done = done;
        if done {
            if !self.closing {
                call.keep_output(scope, value);
            }
        } else if let Some(promise) = call_promise(value) {
            self.wait(scope, promise, Stage::Yielded);
        } else if !self.closing {
            call.keep_request(scope, value);
        }
    }

    fn wait(&mut self, scope: &mut Scope<'_, '_, '_>, promise: v8::Local<'_, v8::Promise>, stage: Stage) {
        // Its rejection is handled here.
        promise.mark_as_handled();
        self.awaited = Some(Awaited { promise: v8::Global::new(scope.v8(), promise), stage });
    }
}

/// A value that is a promise.
pub(crate) fn call_promise<'s>(value: v8::Local<'s, v8::Value>) -> Option<v8::Local<'s, v8::Promise>> {
    v8::Local::try_from(value).ok()
}

fn resume<'s>(
    scope: &mut Scope<'_, 's, '_>,
    object: v8::Local<'s, v8::Object>,
    push: Push<'s>,
) -> Result<v8::Local<'s, v8::Value>> {
    vm::catch(scope.v8(), |scope| {
        let (name, value) = match push {
            Push::Value(value) => ("next", value),
            Push::Throw(value) => ("throw", value),
            Push::Return => ("return", v8::undefined(scope).into()),
        };
        let key = intern(scope, name)?;
        let method = object.get(scope, key.into())?;
        match v8::Local::<v8::Function>::try_from(method) {
            Ok(method) => method.call(scope, object.into(), &[value]),
            Err(_) => {
                let text = v8::String::new(scope, "the generator object has lost its methods")?;
                let error = v8::Exception::type_error(scope, text);
                scope.throw_exception(error);
                None
            }
        }
    })
}

/// `done` and `value` of an iterator's result.
fn parts<'s>(
    scope: &mut Scope<'_, 's, '_>,
    result: v8::Local<'s, v8::Value>,
) -> Result<(bool, v8::Local<'s, v8::Value>)> {
    vm::catch(scope.v8(), |scope| {
        let object = result.to_object(scope)?;
        let done = intern(scope, "done")?;
        let done = object.get(scope, done.into())?.boolean_value(scope);
        let value = intern(scope, "value")?;
        Some((done, object.get(scope, value.into())?))
    })
}

fn intern<'s>(scope: &mut v8::PinScope<'s, '_>, name: &str) -> Option<v8::Local<'s, v8::String>> {
    v8::String::new_from_one_byte(scope, name.as_bytes(), v8::NewStringType::Internalized)
}
