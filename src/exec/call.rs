//! One submitted task, from the queue to its answer.
//!
//! Three sides share a call: its caller, who waits or gives up; the worker, which runs it; and whoever ends it in the worker's place
//! (the queue at its deadline, the watchdog for a lost worker). The state decides who answers; the answer is given once.

use std::any::TypeId;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::Thread;

use parking_lot::Mutex;

use super::shared::ErasedShared;
use super::{Caching, ExceptionHandler, Limits, Priority};
use crate::clock::Moment;
use crate::error::{Error, ErrorKind, Result};
use crate::script::Script;
use crate::vm::{Logger, Scope, guarded, quietly};
use crate::watchdog::{Epoch, Slot, Stop};
use crate::wire::Policy;

/// What a call is about, apart from its work.
pub(crate) struct Meta {
    pub(crate) script: Arc<Script>,
    pub(crate) caching: Caching,
    pub(crate) limits: Limits,
    pub(crate) policy: Policy,
    pub(crate) priority: Priority,
    pub(crate) submitted: Moment,
    pub(crate) deadline: Moment,
    pub(crate) handler: Option<Arc<dyn ExceptionHandler>>,
    pub(crate) logger: Option<Arc<dyn Logger>>,
    pub(crate) span: tracing::Span,
}

/// The work of a call: a task with its strategy.
pub(crate) trait Work: Send + Sync + 'static {
    type Output: Send + 'static;

    /// What it is called in errors and spans: the function, or the task.
    fn name(&self) -> &str;
    /// Contexts are shared by works of the same kind.
    fn kind(&self) -> TypeId;
    /// The shared values that it needs.
    fn shared(&self) -> &[(usize, ErasedShared)];
    fn initialize(&self, scope: &mut Scope<'_, '_, '_>) -> Result<()>;
    fn run(&self, scope: &mut Scope<'_, '_, '_>) -> Result<Self::Output>;
}

/// A call as queue and worker see it.
pub(crate) trait CallCore: Send + Sync {
    fn meta(&self) -> &Meta;
    fn name(&self) -> &str;
    fn kind(&self) -> TypeId;
    fn shared(&self) -> &[(usize, ErasedShared)];
    /// A slice of this call begins. False where the call was given up or answered before.
    fn begin(&self, slot: &Arc<Slot>, epoch: Epoch) -> bool;
    fn initialize(&self, scope: &mut Scope<'_, '_, '_>) -> Result<()>;
    /// Runs the work and keeps what it gave.
    fn execute(&self, scope: &mut Scope<'_, '_, '_>);
    /// The slice is over: answers with `instead`, or with what the work gave, its error seen by `translate`.
    /// Says whether the call has succeeded, and who is to be woken for the answer.
    fn finish(&self, instead: Option<Error>, translate: &dyn Fn(Error) -> Error) -> (bool, Option<Waker>);
    /// Answers with an error in place of whoever would have.
    fn refuse(&self, error: Error);
    /// Whether nobody waits for an answer any more.
    fn is_over(&self) -> bool;
}

/// A call of some work.
pub(crate) struct Call<W: Work> {
    meta: Meta,
    work: W,
    state: Mutex<State<W::Output>>,
}

enum State<T> {
    Queued(Option<Waker>),
    Running {
        waker: Option<Waker>,
        slot: Arc<Slot>,
        epoch: Epoch,
        result: Option<Result<T>>,
    },
    Answered(Result<T>),
    /// The answer was taken, or nobody wants it.
    Over,
}

impl<W: Work> Call<W> {
    pub(crate) fn new(meta: Meta, work: W) -> Arc<Self> {
        Arc::new(Call { meta, work, state: Mutex::new(State::Queued(None)) })
    }

    /// Gives the answer, unless there is one already; says who waits for it.
    fn answer(&self, result: Result<W::Output>) -> Option<Waker> {
        let unwanted = {
            let mut state = self.state.lock();
            match std::mem::replace(&mut *state, State::Over) {
                State::Queued(waker) | State::Running { waker, .. } => {
                    *state = State::Answered(result);
                    return waker;
                }
                before => {
                    *state = before;
                    result
                }
            }
        };
        // The caller is gone, or was answered by somebody else.
        quietly("the drop of a result", || drop(unwanted));
        None
    }

    fn poll(&self, waker: &Waker) -> Poll<Result<W::Output>> {
        let mut state = self.state.lock();
        match &mut *state {
            State::Queued(slot) | State::Running { waker: slot, .. } => {
                match slot {
                    Some(known) if known.will_wake(waker) => {}
                    _ => *slot = Some(waker.clone()),
                }
                Poll::Pending
            }
            State::Answered(_) | State::Over => match std::mem::replace(&mut *state, State::Over) {
                State::Answered(result) => Poll::Ready(result),
                _ => Poll::Ready(Err(ErrorKind::Cancelled.into())),
            },
        }
    }

    /// The caller is gone: a queued call never runs, a running slice is stopped.
    fn give_up(&self) {
        let before = std::mem::replace(&mut *self.state.lock(), State::Over);
        if let State::Running { slot, epoch, .. } = before {
            slot.stop(epoch, Stop::Cancelled);
        }
    }
}

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

    fn shared(&self) -> &[(usize, ErasedShared)] {
        self.work.shared()
    }

    fn begin(&self, slot: &Arc<Slot>, epoch: Epoch) -> bool {
        let mut state = self.state.lock();
        let State::Queued(waker) = &mut *state else { return false };
        let waker = waker.take();
        *state = State::Running { waker, slot: slot.clone(), epoch, result: None };
        true
    }

    fn initialize(&self, scope: &mut Scope<'_, '_, '_>) -> Result<()> {
        guarded("`initialize` of a task", || self.work.initialize(scope))
    }

    fn execute(&self, scope: &mut Scope<'_, '_, '_>) {
        let outcome = guarded("the task or the conversion of its values", || self.work.run(scope));
        let unwanted = match &mut *self.state.lock() {
            State::Running { result, .. } => result.replace(outcome),
            _ => Some(outcome),
        };
        quietly("the drop of a result", || drop(unwanted));
    }

    fn finish(&self, instead: Option<Error>, translate: &dyn Fn(Error) -> Error) -> (bool, Option<Waker>) {
        let kept = {
            let mut state = self.state.lock();
            match &mut *state {
                State::Running { waker, result: result @ Some(Ok(_)), .. } if instead.is_none() => {
                    let (waker, result) = (waker.take(), result.take());
                    if let Some(result) = result {
                        *state = State::Answered(result);
                    }
                    return (true, waker);
                }
                State::Running { result, .. } => result.take(),
                _ => None,
            }
        };
        let result = match (instead, kept) {
            (Some(error), _) => Err(error),
            (None, Some(result)) => result.map_err(translate),
            (None, None) => Err(ErrorKind::Cancelled.into()),
        };
        let result = result.map_err(|error| {
            let error = error.at(self.meta.script.name(), self.work.name());
            match &self.meta.handler {
                Some(handler) => match guarded("an exception handler", || Ok(handler.handle(error))) {
                    Ok(error) | Err(error) => error,
                },
                None => error,
            }
        });
        let succeeded = result.is_ok();
        (succeeded, self.answer(result))
    }

    fn refuse(&self, error: Error) {
        if let Some(waker) = self.answer(Err(error.at(self.meta.script.name(), self.work.name()))) {
            waker.wake();
        }
    }

    fn is_over(&self) -> bool {
        !matches!(&*self.state.lock(), State::Queued(_) | State::Running { .. })
    }
}

/// Lets go of a call. What it owns belongs to the embedder, and may panic when it is dropped.
pub(crate) fn release(call: Arc<dyn CallCore>) {
    quietly("the drop of a task", || drop(call));
}

/// The caller's side of a submitted call. Dropping it gives the call up.
#[must_use = "dropping it gives the call up"]
pub(crate) struct Pending<W: Work> {
    call: Arc<Call<W>>,
    taken: bool,
}

impl<W: Work> Pending<W> {
    pub(crate) fn new(call: Arc<Call<W>>) -> Self {
        Pending { call, taken: false }
    }

    pub(crate) fn call(&self) -> &Arc<Call<W>> {
        &self.call
    }

    /// Waits on the calling thread.
    pub(crate) fn wait(self) -> Result<W::Output> {
        block_on(self)
    }
}

impl<W: Work> Future for Pending<W> {
    type Output = Result<W::Output>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let answer = self.call.poll(context.waker());
        self.taken = answer.is_ready();
        answer
    }
}

impl<W: Work> Drop for Pending<W> {
    fn drop(&mut self) {
        if !self.taken {
            self.call.give_up();
        }
    }
}

/// Runs a future on the calling thread, which sleeps while there is nothing to do.
pub(crate) fn block_on<F: Future>(future: F) -> F::Output {
    struct Unpark(Thread);
    impl Wake for Unpark {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
        fn wake_by_ref(self: &Arc<Self>) {
            self.0.unpark();
        }
    }
    thread_local! {
        static WAKER: Waker = Arc::new(Unpark(std::thread::current())).into();
    }
    let mut future = std::pin::pin!(future);
    WAKER.with(|waker| {
        let mut context = Context::from_waker(waker);
        loop {
            match future.as_mut().poll(&mut context) {
                Poll::Ready(value) => return value,
                Poll::Pending => std::thread::park(),
            }
        }
    })
}
