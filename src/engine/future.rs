//! The future of a call of a function.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use serde::de::DeserializeOwned;

use super::crew::Shared;
use super::submit;
use crate::error::{Error, ErrorKind, Result};
use crate::exec::{Call, FunctionCall, Pending};

/// A call of a function that gives an `R`. It is put into the queue when it is first polled.
///
/// Cancel safe: dropping it gives the call up. Queued, it never runs; running, its slice is stopped.
#[must_use = "a call does nothing unless it is awaited"]
pub struct CallFuture<R: DeserializeOwned + Send + 'static> {
    state: State<R>,
}

type Enqueue = Pin<Box<dyn Future<Output = Result<()>> + Send>>;

enum State<R: DeserializeOwned + Send + 'static> {
    Failed(Error),
    Ready {
        shared: Arc<Shared>,
        pending: Pending<FunctionCall<R>>,
    },
    /// The queue is full.
    Waiting(Enqueue, Pending<FunctionCall<R>>),
    Queued(Pending<FunctionCall<R>>),
    Over,
}

impl<R: DeserializeOwned + Send + 'static> CallFuture<R> {
    pub(super) fn new(shared: &Arc<Shared>, call: Result<Arc<Call<FunctionCall<R>>>>) -> Self {
        let state = match call {
            Ok(call) => State::Ready { shared: shared.clone(), pending: Pending::new(call) },
            Err(error) => State::Failed(error),
        };
        CallFuture { state }
    }

    pub(super) fn queued(pending: Pending<FunctionCall<R>>) -> Self {
        CallFuture { state: State::Queued(pending) }
    }
}

impl<R: DeserializeOwned + Send + 'static> Future for CallFuture<R> {
    type Output = Result<R>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<R>> {
        loop {
            match std::mem::replace(&mut self.state, State::Over) {
                State::Failed(error) => return Poll::Ready(Err(error)),
                State::Over => return Poll::Ready(Err(ErrorKind::Cancelled.into())),
                State::Ready { shared, pending } => {
                    let call = pending.core();
                    self.state = match submit::enqueue_now(&shared, &call) {
                        Some(Ok(())) => State::Queued(pending),
                        Some(Err(error)) => State::Failed(error),
                        None => State::Waiting(Box::pin(async move { submit::enqueue(&shared, call).await }), pending),
                    };
                }
                State::Waiting(mut enqueue, pending) => match enqueue.as_mut().poll(context) {
                    Poll::Ready(Ok(())) => self.state = State::Queued(pending),
                    Poll::Ready(Err(error)) => return Poll::Ready(Err(error)),
                    Poll::Pending => {
                        self.state = State::Waiting(enqueue, pending);
                        return Poll::Pending;
                    }
                },
                State::Queued(mut pending) => {
                    let answer = Pin::new(&mut pending).poll(context);
                    if answer.is_pending() {
                        self.state = State::Queued(pending);
                    }
                    return answer;
                }
            }
        }
    }
}

impl<R: DeserializeOwned + Send + 'static> fmt::Debug for CallFuture<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (state, call) = match &self.state {
            State::Failed(_) => ("failed", None),
            State::Ready { pending, .. } => ("ready", Some(pending.core())),
            State::Waiting(_, pending) => ("waiting for room", Some(pending.core())),
            State::Queued(pending) => ("queued", Some(pending.core())),
            State::Over => ("over", None),
        };
        let function = call.as_ref().map(|call| call.name());
        f.debug_struct("CallFuture").field("state", &state).field("function", &function).finish()
    }
}
