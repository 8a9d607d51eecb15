//! A caller that waits for the end of its call.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::Thread;

use super::{Call, CallCore, Channelled, Work};
use crate::channel::{Caller, Event};
use crate::error::{Error, ErrorKind, Result};

/// The caller's side of a call without requests. Dropping it gives the call up.
#[must_use = "dropping it gives the call up"]
pub(crate) struct Pending<W: Work> {
    call: Arc<Call<W>>,
    taken: bool,
}

impl<W: Work> Pending<W> {
    pub(crate) fn new(call: Arc<Call<W>>) -> Self {
        Pending { call, taken: false }
    }

    pub(crate) fn core(&self) -> Arc<dyn CallCore> {
        self.call.clone()
    }
}

impl<W: Work> Future for Pending<W> {
    type Output = Result<W::Output>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let event = match self.call.poll(context.waker()) {
            Poll::Pending => return Poll::Pending,
            Poll::Ready(event) => event,
        };
        self.taken = true;
        Poll::Ready(match event {
            Event::End(result) => result,
            Event::Over => Err(ErrorKind::Cancelled.into()),
            Event::Request(_) => Err(Error::bug("a request of a call that makes none")),
        })
    }
}

impl<W: Work> Drop for Pending<W> {
    fn drop(&mut self) {
        if !self.taken {
            self.call.leave(Caller::Goes);
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
