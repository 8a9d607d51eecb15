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
use crate::exec::{Call, CallCore, FunctionCall, Pending};

/// A call of a function that gives an `R`. It is put into the queue when it is first polled.
///
/// Cancel safe: dropping it gives the call up. Queued, it never runs; running, its slice is stopped.
#[must_use = "a call does nothing unless it is awaited"]
pub struct CallFuture<R: DeserializeOwned + Send + 'static> {
    state: State<R>,
}

type Enqueue<R> = Pin<Box<dyn Future<Output = Result<Pending<FunctionCall<R>>>> + Send>>;

enum State<R: DeserializeOwned + Send + 'static> {
    Failed(Error),
    Ready {
        shared: Arc<Shared>,
        call: Arc<Call<FunctionCall<R>>>,
    },
    /// The queue is full.
    Waiting(Enqueue<R>),
    Queued(Pending<FunctionCall<R>>),
    Over,
}

impl<R: DeserializeOwned + Send + 'static> CallFuture<R> {
    pub(super) fn new(shared: &Arc<Shared>, call: Result<Arc<Call<FunctionCall<R>>>>) -> Self {
        let state = match call {
            Ok(call) => State::Ready { shared: shared.clone(), call },
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
                State::Ready { shared, call } => {
                    self.state = match submit::enqueue_now(&shared, call) {
                        Ok(Ok(pending)) => State::Queued(pending),
                        Ok(Err(error)) => State::Failed(error),
                        Err(call) => State::Waiting(Box::pin(async move { submit::enqueue(&shared, call).await })),
                    };
                }
                State::Waiting(mut enqueue) => match enqueue.as_mut().poll(context) {
                    Poll::Ready(Ok(pending)) => self.state = State::Queued(pending),
                    Poll::Ready(Err(error)) => return Poll::Ready(Err(error)),
                    Poll::Pending => {
                        self.state = State::Waiting(enqueue);
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
            State::Ready { call, .. } => ("ready", Some(call.name())),
            State::Waiting(_) => ("waiting for room", None),
            State::Queued(_) => ("queued", None),
            State::Over => ("over", None),
        };
        f.debug_struct("CallFuture").field("state", &state).field("function", &call).finish()
    }
}
