//! One submitted call, from the queue to its end.
//!
//! Three sides share a call: its caller, who waits, answers or leaves; the worker, which runs its slices; and whoever ends it in the
//! worker's place (the queue at its deadline, the watchdog for a lost worker). The channel decides who has the floor; the end is given
//! once.

use std::any::{Any, TypeId};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Poll, Waker};

use parking_lot::Mutex;

use super::shared::ErasedShared;
use super::{Mailbox, Meta, Note, TaskId};
use crate::channel::{Ask, Begin, Caller, Channel, Event, Leave, Stopping, Unwanted};
use crate::clock::Moment;
use crate::error::{Error, ErrorKind, ReplyFault, Result, Spent};
use crate::vm::{HostError, Scope, guarded, quietly};
use crate::watchdog::{Epoch, Slot, Stop};

/// How a work runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Once, without a pause.
    OneOff,
    /// Until its promise is settled.
    Async,
    /// Until it is done, with pauses at which its caller has the floor.
    Pausing,
}

/// What the first slice of a work gives.
pub enum Started<'s, T> {
    /// The end.
    Done(T),
    /// A generator object, to be driven.
    Generator(v8::Local<'s, v8::Object>),
    /// A promise of the end.
    Promise(v8::Local<'s, v8::Promise>),
    /// The state of a work that is stepped.
    State(Box<dyn Any>),
}

/// What a step of a work gives.
pub enum Step<Q, T> {
    /// A request to its caller.
    Request(Q),
    /// The end.
    Done(T),
}

/// What a caller says to a request.
#[derive(Debug)]
pub enum Answer<A> {
    Reply(A),
    Throw(HostError),
}

/// The work of a call: a task with its strategy.
pub trait Work: Send + Sync + 'static {
    type Request: Send + 'static;
    type Reply: Send + 'static;
    type Output: Send + 'static;

    /// What it is called in errors and spans: the function, or the task.
    fn name(&self) -> &str;
    /// Contexts are shared by works of the same kind.
    fn kind(&self) -> TypeId;
    fn mode(&self) -> Mode;
    /// The shared values that it needs.
    fn shared(&self) -> &[(usize, ErasedShared)];
    fn initialize(&self, scope: &mut Scope<'_, '_, '_>) -> Result<()>;
    /// The first slice.
    fn start<'s>(&self, scope: &mut Scope<'_, 's, '_>) -> Result<Started<'s, Self::Output>>;
    /// What a generator has yielded.
    fn request<'s>(&self, scope: &mut Scope<'_, 's, '_>, value: v8::Local<'s, v8::Value>) -> Result<Self::Request> {
        let _ = (scope, value);
        Err(Error::bug("a request of a work that makes none"))
    }
    /// What a generator has returned, or a promise was fulfilled with.
    fn output<'s>(&self, scope: &mut Scope<'_, 's, '_>, value: v8::Local<'s, v8::Value>) -> Result<Self::Output> {
        let _ = (scope, value);
        Err(Error::bug("an output of a work that ends in its first slice"))
    }
    /// What a generator's `yield` gives.
    fn reply<'s>(&self, scope: &mut Scope<'_, 's, '_>, reply: Self::Reply) -> Result<v8::Local<'s, v8::Value>> {
        let _ = (scope, reply);
        Err(Error::bug("a reply to a work that makes no requests"))
    }
    /// One step of a work that is stepped.
    fn step(
        &self,
        scope: &mut Scope<'_, '_, '_>,
        state: &mut dyn Any,
        answer: Option<Answer<Self::Reply>>,
    ) -> Result<Step<Self::Request, Self::Output>> {
        let _ = (scope, state, answer);
        Err(Error::bug("a step of a work that has none"))
    }
    /// A work that is stepped goes no further.
    fn close(&self, scope: &mut Scope<'_, '_, '_>, state: Box<dyn Any>) -> Result<()> {
        let _ = (scope, state);
        Ok(())
    }
}

/// What [`CallCore::start`] leaves to the runtime.
pub(crate) enum Begun<'s> {
    Done,
    Generator(v8::Local<'s, v8::Object>),
    Promise(v8::Local<'s, v8::Promise>),
    State(Box<dyn Any>),
}

/// An answer as a value of JavaScript.
pub enum AnswerValue<'s> {
    Nothing,
    Reply(v8::Local<'s, v8::Value>),
    Throw(HostError),
}

/// What a slice has brought.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Brought {
    Nothing,
    Request,
    /// A result, or an error.
    End,
}

/// What became of a pause.
pub(crate) enum Paused {
    /// The call lives on; that is who waits for its request.
    Fine(Option<Waker>),
    /// The caller has left: the script is to be closed.
    Left,
}

/// A call as queue and worker see it. What the work gives in a slice is kept until the slice is over, since a limit may take its place.
pub(crate) trait CallCore: Send + Sync {
    fn meta(&self) -> &Meta;
    fn name(&self) -> &str;
    fn kind(&self) -> TypeId;
    fn mode(&self) -> Mode;
    fn shared(&self) -> &[(usize, ErasedShared)];
    /// A slice of this call begins.
    fn begin(&self, slot: &Arc<Slot>, epoch: Epoch) -> Begin;
    fn initialize(&self, scope: &mut Scope<'_, '_, '_>) -> Result<()>;
    /// Runs the first slice of the work.
    fn start<'s>(&self, scope: &mut Scope<'_, 's, '_>) -> Begun<'s>;
    /// The answer that the caller wants to go on with; `None` where it does not want to.
    fn answer<'s>(&self, scope: &mut Scope<'_, 's, '_>) -> Result<Option<AnswerValue<'s>>>;
    /// A step: the first one, or one with the answer that the caller wants to go on with. False where it does not want to.
    fn step(&self, scope: &mut Scope<'_, '_, '_>, state: &mut dyn Any, first: bool) -> bool;
    fn close_state(&self, scope: &mut Scope<'_, '_, '_>, state: Box<dyn Any>) -> Result<()>;
    /// Keeps what a generator has yielded.
    fn keep_request<'s>(&self, scope: &mut Scope<'_, 's, '_>, value: v8::Local<'s, v8::Value>);
    /// Keeps what the script has ended with.
    fn keep_output<'s>(&self, scope: &mut Scope<'_, 's, '_>, value: v8::Local<'s, v8::Value>);
    fn keep_error(&self, error: Error);
    /// What the slice has brought so far.
    fn brought(&self) -> Brought;
    /// The slice is over, and the call lives on.
    fn pause(&self, home: &dyn Fn() -> (Arc<dyn Mailbox>, TaskId)) -> Paused;
    /// The call has ended: with `instead`, or with what the work gave, its error seen by `translate`.
    /// Says whether the call has succeeded, and who is to be woken for the end.
    fn finish(&self, instead: Option<Error>, translate: &dyn Fn(Error) -> Error, spent: Spent)
    -> (bool, Option<Waker>);
    /// Ends the call in place of whoever would have.
    fn refuse(&self, error: Error);
    /// Whether nobody waits for an end any more.
    fn is_over(&self) -> bool;
    /// The same; where somebody does, that waker is woken at the end.
    fn poll_over(&self, waker: &Waker) -> bool;
    /// Whether its caller has left, so that what runs is to be closed.
    fn is_left(&self) -> bool;
    /// Whether the script waits for its caller.
    fn waits_for_caller(&self) -> bool;
    /// Whether the caller left so long ago that the slice is to be stopped.
    fn is_overdue(&self, now: Moment) -> bool;
}

type Home = (Arc<dyn Mailbox>, TaskId);
type CallChannel<W> =
    Channel<<W as Work>::Request, Answer<<W as Work>::Reply>, Result<<W as Work>::Output>, (Arc<Slot>, Epoch), Home>;

/// A call of some work.
pub(crate) struct Call<W: Work> {
    meta: Meta,
    work: W,
    inner: Mutex<Inner<W>>,
    /// When its caller left while a slice ran that is not stopped at once.
    left: AtomicU64,
}

struct Inner<W: Work> {
    channel: CallChannel<W>,
    kept: Option<Kept<W>>,
}

enum Kept<W: Work> {
    Request(W::Request),
    Output(W::Output),
    Failed(Error),
}

impl<W: Work> Call<W> {
    pub(crate) fn new(meta: Meta, work: W) -> Arc<Self> {
        let inner = Mutex::new(Inner { channel: Channel::new(), kept: None });
        Arc::new(Call { meta, work, inner, left: AtomicU64::new(Moment::NEVER.to_nanos()) })
    }

    fn keep(&self, kept: Kept<W>) {
        let before = self.inner.lock().kept.replace(kept);
        quietly("the drop of a result", || drop(before));
    }

    fn keep_result<T>(&self, result: Result<T>, keep: impl FnOnce(T) -> Kept<W>) {
        self.keep(result.map_or_else(Kept::Failed, keep));
    }

    /// Gives the end, unless there is one already; says who waits for it.
    fn end(&self, result: Result<W::Output>) -> Option<Waker> {
        let ended = self.inner.lock().channel.end(result);
        match ended {
            Ok((waker, rest)) => {
                quietly("the drop of a request or a reply", || drop(rest));
                waker
            }
            Err(unwanted) => {
                quietly("the drop of a result", || drop(unwanted));
                None
            }
        }
    }
}

const CONVERSION: &str = "the task or the conversion of its values";

impl<W: Work> CallCore for Call<W> {
    fn meta(&self) -> &Meta {
        &self.meta
    }

    fn name(&self) -> &str {
        self.work.name()
    }

    fn kind(&self) -> TypeId {
        self.work.kind()
    }

    fn mode(&self) -> Mode {
        self.work.mode()
    }

    fn shared(&self) -> &[(usize, ErasedShared)] {
        self.work.shared()
    }

    fn begin(&self, slot: &Arc<Slot>, epoch: Epoch) -> Begin {
        self.inner.lock().channel.begin((slot.clone(), epoch))
    }

    fn initialize(&self, scope: &mut Scope<'_, '_, '_>) -> Result<()> {
        guarded("`initialize` of a task", || self.work.initialize(scope))
    }

    fn start<'s>(&self, scope: &mut Scope<'_, 's, '_>) -> Begun<'s> {
        match guarded(CONVERSION, || self.work.start(scope)) {
            Ok(Started::Done(output)) => self.keep(Kept::Output(output)),
            Ok(Started::Generator(object)) => return Begun::Generator(object),
            Ok(Started::Promise(promise)) => return Begun::Promise(promise),
            Ok(Started::State(state)) => return Begun::State(state),
            Err(error) => self.keep(Kept::Failed(error)),
        }
        Begun::Done
    }

    fn answer<'s>(&self, scope: &mut Scope<'_, 's, '_>) -> Result<Option<AnswerValue<'s>>> {
        let answer = self.inner.lock().channel.take_answer();
        Ok(match answer {
            None => None,
            Some(None) => Some(AnswerValue::Nothing),
            Some(Some(Answer::Throw(error))) => Some(AnswerValue::Throw(error)),
            Some(Some(Answer::Reply(reply))) => {
                let value = guarded(CONVERSION, || self.work.reply(scope, reply))?;
                Some(AnswerValue::Reply(value))
            }
        })
    }

    fn step(&self, scope: &mut Scope<'_, '_, '_>, state: &mut dyn Any, first: bool) -> bool {
        let answer = self.inner.lock().channel.take_answer();
        let Some(answer) = answer.or(first.then_some(None)) else { return false };
        self.keep_result(guarded(CONVERSION, || self.work.step(scope, state, answer)), |step| match step {
            Step::Request(request) => Kept::Request(request),
            Step::Done(output) => Kept::Output(output),
        });
        true
    }

    fn close_state(&self, scope: &mut Scope<'_, '_, '_>, state: Box<dyn Any>) -> Result<()> {
        guarded("`close` of a task", || self.work.close(scope, state))
    }

    fn keep_request<'s>(&self, scope: &mut Scope<'_, 's, '_>, value: v8::Local<'s, v8::Value>) {
        self.keep_result(guarded(CONVERSION, || self.work.request(scope, value)), Kept::Request);
    }

    fn keep_output<'s>(&self, scope: &mut Scope<'_, 's, '_>, value: v8::Local<'s, v8::Value>) {
        self.keep_result(guarded(CONVERSION, || self.work.output(scope, value)), Kept::Output);
    }

    fn keep_error(&self, error: Error) {
        self.keep(Kept::Failed(error));
    }

    fn brought(&self) -> Brought {
        match self.inner.lock().kept {
            None => Brought::Nothing,
            Some(Kept::Request(_)) => Brought::Request,
            Some(Kept::Output(_) | Kept::Failed(_)) => Brought::End,
        }
    }

    fn pause(&self, home: &dyn Fn() -> Home) -> Paused {
        let mut inner = self.inner.lock();
        let request = match inner.kept.take() {
            Some(Kept::Request(request)) => Some(request),
            // The runtime pauses only what has brought a request or nothing.
            other => {
                inner.kept = other;
                None
            }
        };
        match inner.channel.pause(request, home) {
            Ok(waker) => Paused::Fine(waker),
            Err(unwanted) => {
                drop(inner);
                quietly("the drop of a request", || drop(unwanted));
                Paused::Left
            }
        }
    }

    fn finish(
        &self,
        instead: Option<Error>,
        translate: &dyn Fn(Error) -> Error,
        spent: Spent,
    ) -> (bool, Option<Waker>) {
        let kept = self.inner.lock().kept.take();
        let error = match (instead, kept) {
            (None, Some(Kept::Output(output))) => return (true, self.end(Ok(output))),
            (Some(error), unwanted) => {
                quietly("the drop of a result", || drop(unwanted));
                error
            }
            (None, Some(Kept::Failed(error))) => translate(error),
            (None, Some(Kept::Request(_)) | None) => ErrorKind::Cancelled.into(),
        };
        let error = error.at(self.meta.script.name(), self.work.name()).after(spent);
        let result = match &self.meta.handler {
            Some(handler) => {
                guarded("an exception handler", || Ok(handler.handle(error))).unwrap_or_else(|error| error)
            }
            None => error,
        };
        (false, self.end(Err(result)))
    }

    fn refuse(&self, error: Error) {
        if let Some(waker) = self.end(Err(error.at(self.meta.script.name(), self.work.name()))) {
            waker.wake();
        }
    }

    fn is_over(&self) -> bool {
        self.inner.lock().channel.is_over()
    }

    fn poll_over(&self, waker: &Waker) -> bool {
        self.inner.lock().channel.poll_over(waker)
    }

    fn is_left(&self) -> bool {
        self.inner.lock().channel.is_left()
    }

    fn waits_for_caller(&self) -> bool {
        self.inner.lock().channel.waits_for_caller()
    }

    fn is_overdue(&self, now: Moment) -> bool {
        let left = Moment::from_nanos(self.left.load(Ordering::Acquire));
        left != Moment::NEVER && now >= left.after(self.meta.limits.close_timeout) && self.is_left()
    }
}

/// A call as its caller sees it: requests `Q`, replies `A`, and the result `O`.
pub(crate) trait Channelled<Q, A, O>: Send + Sync {
    /// The same call as queue and worker see it.
    fn core(self: Arc<Self>) -> Arc<dyn CallCore>;
    fn meta(&self) -> &Meta;
    fn name(&self) -> &str;
    /// The caller wants the next event. True where the call has to be put into the queue for that.
    fn ask(&self) -> bool;
    fn poll(&self, waker: &Waker) -> Poll<Event<Q, Result<O>>>;
    /// The number of the request that the caller has and that may be answered.
    fn asked(&self) -> Option<u32>;
    /// The number of the request that was taken last; 0 before the first.
    fn number(&self) -> u32;
    /// Answers the request of that number.
    fn answer(&self, number: u32, answer: Answer<A>) -> Result<()>;
    /// The caller leaves, or stays only until the closing is over: a queued call never runs, a running slice is stopped, a script that is
    /// paused is closed.
    fn leave(&self, caller: Caller);
}

impl<W: Work> Channelled<W::Request, W::Reply, W::Output> for Call<W> {
    fn core(self: Arc<Self>) -> Arc<dyn CallCore> {
        self
    }

    fn meta(&self) -> &Meta {
        &self.meta
    }

    fn name(&self) -> &str {
        self.work.name()
    }

    fn ask(&self) -> bool {
        let ask = self.inner.lock().channel.ask();
        match ask {
            Ask::Submit => true,
            Ask::Tell((mailbox, task)) => {
                mailbox.post(Note::Resume(task));
                false
            }
            Ask::Wait => false,
        }
    }

    fn poll(&self, waker: &Waker) -> Poll<Event<W::Request, Result<W::Output>>> {
        self.inner.lock().channel.poll(waker)
    }

    fn asked(&self) -> Option<u32> {
        self.inner.lock().channel.asked()
    }

    fn number(&self) -> u32 {
        self.inner.lock().channel.number()
    }

    fn answer(&self, number: u32, answer: Answer<W::Reply>) -> Result<()> {
        let refused = self.inner.lock().channel.answer(number, answer);
        refused.map_err(|(unwanted, answer)| {
            quietly("the drop of a reply", || drop(answer));
            let fault = match unwanted {
                Unwanted::NotAsked => ReplyFault::NotAsked,
                Unwanted::Answered => ReplyFault::Second,
                Unwanted::Ended => ReplyFault::Late,
                Unwanted::Late => ReplyFault::Foreign,
            };
            Error::from(ErrorKind::Reply(fault)).at(self.meta.script.name(), self.work.name())
        })
    }

    fn leave(&self, caller: Caller) {
        let pauses = self.work.mode() == Mode::Pausing;
        let stopping = if pauses { Stopping::AtPause } else { Stopping::AtOnce };
        // First, so that whoever sees that the caller has left sees when.
        self.left.store(Moment::now().to_nanos(), Ordering::Release);
        let (leave, rest) = self.inner.lock().channel.leave(stopping, caller);
        quietly("the drop of a request, a reply or a result", || drop(rest));
        match leave {
            Leave::Nothing => {}
            Leave::Stop((slot, epoch)) => {
                slot.stop(epoch, Stop::Cancelled);
            }
            Leave::Tell((mailbox, task)) => mailbox.post(Note::Close(task)),
        }
    }
}

/// Lets go of a call. What it owns belongs to the embedder, and may panic when it is dropped.
pub(crate) fn release(call: Arc<dyn CallCore>) {
    quietly("the drop of a task", || drop(call));
}
