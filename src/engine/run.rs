//! A run that makes requests to its caller.

use std::borrow::Borrow;
use std::fmt;
use std::future::{Future, poll_fn};

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};

use serde::Serialize;

use super::crew::Shared;
use super::submit;
use crate::channel::{Caller, Event};
use crate::error::{Error, ErrorKind, ReplyFault, Result};
use crate::exec::{Answer, Channelled, Direct, Startable, Transport, Wire};
use crate::vm::{HostError, convert_error};
use crate::wire::{self, Encoded, Limits};

/// A generator, or another task that pauses, as its caller sees it: an unbuffered channel of requests `Q` and replies `A`, with a result
/// `R` at the end.
///
/// [`next`](Run::next) lets the script run to its next `yield` and gives what it yields; [`reply`](Run::reply) or [`throw`](Run::throw)
/// says what that `yield` gives, or throws there, when the caller goes on with the next `next`. The script never runs ahead of its caller, and holds no
/// worker while its caller works.
///
/// Dropping it closes the script: its `finally` blocks run, on the worker, for the [close timeout](crate::Limits::close_timeout) at most.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> jsmill::Result<()> {
/// # use jsmill::{Engine, Script};
/// # let engine = Engine::builder().workers(1).build()?;
/// let source = "function* main() { try { return (yield 'rate') * 2; } catch (error) { return error.message; } }";
/// let script = Script::new("rate.js", source)?;
/// let task = engine.task(&script);
///
/// let mut run = task.clone().generate::<String, u32, u32>("main", ())?;
/// assert_eq!(run.next().await?.as_deref(), Some("rate"));
/// run.reply(21)?;
/// assert_eq!(run.next().await?, None);
/// assert_eq!(run.finish().await?, 42);
///
/// let mut run = task.generate::<String, u32, String>("main", ())?;
/// run.next().await?;
/// run.throw("no rate today")?;
/// assert_eq!(run.finish().await?, "no rate today");
/// # Ok(())
/// # }
/// ```
#[must_use = "nothing runs before the first `next`"]
pub struct Run<Q, A, R, T: Transport<A> = Wire> {
    call: Arc<dyn Channelled<Q, T::Reply, R>>,
    entry: Entry,
    end: End<R>,
    id: u64,
}

/// Its way into the queue.
enum Entry {
    /// Not yet asked for.
    Outside(Arc<Shared>),
    /// Waiting for room.
    Waiting(Pin<Box<dyn Future<Output = Result<()>> + Send>>),
    Done,
}

/// The run of a composition.
pub type RunOf<C> =
    Run<<C as Startable>::Request, <C as Startable>::Reply, <C as Startable>::Output, <C as Startable>::Transport>;

enum End<R> {
    /// It has not come.
    None,
    Result(Result<R>),
    /// It was told to the caller.
    Told(Error),
}

/// A request's number: who answers it later, or elsewhere, can only answer this one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Ticket {
    run: u64,
    number: u32,
}

impl<Q, A, R, T: Transport<A>> Run<Q, A, R, T>
where
    Q: Send + 'static,
    R: Send + 'static,
{
    pub(super) fn new(shared: &Arc<Shared>, call: Arc<dyn Channelled<Q, T::Reply, R>>) -> Self {
        Run { call, entry: Entry::Outside(shared.clone()), end: End::None, id: next_id() }
    }

    /// Lets the script go on, and gives its next request; `None` when it has returned, and [`finish`](Run::finish) gives the result.
    ///
    /// The first one puts the call into the queue, and waits while that is full. A request that was not answered gives `undefined`.
    ///
    /// Cancel safe: a dropped future loses nothing, and the next `next` gives the request.
    ///
    /// # Errors
    /// Those of [`call_async`](crate::TaskBuilder::call_async); `IdleTimeout`. The run is over then.
    pub async fn next(&mut self) -> Result<Option<Q>> {
        poll_fn(|context| self.poll_next_request(context)).await
    }

    /// The same on the calling thread, which waits.
    ///
    /// # Errors
    /// As with [`next`](Run::next); `Config` on a worker's thread.
    pub fn next_blocking(&mut self) -> Result<Option<Q>> {
        submit::block(self.next())
    }

    /// The same as a poll.
    pub fn poll_next_request(&mut self, context: &mut Context<'_>) -> Poll<Result<Option<Q>>> {
        match &self.end {
            End::None => {}
            End::Result(Ok(_)) => return Poll::Ready(Ok(None)),
            End::Result(Err(error)) | End::Told(error) => return Poll::Ready(Err(error.clone())),
        }
        let submit = self.call.ask();
        if let (true, Entry::Outside(shared)) = (submit, &self.entry) {
            let (shared, call) = (shared.clone(), self.call.clone().core());
            self.entry = match submit::enqueue_now(&shared, &call) {
                Some(Ok(())) => Entry::Done,
                Some(Err(error)) => return Poll::Ready(Err(self.fail(error))),
                None => Entry::Waiting(Box::pin(async move { submit::enqueue(&shared, call).await })),
            };
        }
        if let Entry::Waiting(entering) = &mut self.entry {
            match entering.as_mut().poll(context) {
                Poll::Pending => return Poll::Pending,
                Poll::Ready(result) => {
                    self.entry = Entry::Done;
                    if let Err(error) = result {
                        return Poll::Ready(Err(self.fail(error)));
                    }
                }
            }
        }
        match self.call.poll(context.waker()) {
            Poll::Pending => Poll::Pending,
            Poll::Ready(Event::Request(request)) => Poll::Ready(Ok(Some(request))),
            Poll::Ready(Event::End(Ok(result))) => {
                self.end = End::Result(Ok(result));
                Poll::Ready(Ok(None))
            }
            Poll::Ready(Event::End(Err(error))) => Poll::Ready(Err(self.fail(error))),
            Poll::Ready(Event::Over) => Poll::Ready(Err(self.fail(ErrorKind::Cancelled.into()))),
        }
    }

    fn fail(&mut self, error: Error) -> Error {
        self.entry = Entry::Done;
        self.end = End::Told(error.clone());
        error
    }

    /// Throws an error into the script, at the `yield` of its request, when the caller goes on.
    ///
    /// # Errors
    /// `Reply`, as with [`reply`](Run::reply).
    pub fn throw(&mut self, error: impl Into<HostError>) -> Result<()> {
        let number = self.call.number();
        self.call.answer(number, Answer::Throw(error.into()))
    }

    /// The number of the request that was taken last and may be answered. `None` where there is none.
    pub fn ticket(&self) -> Option<Ticket> {
        self.call.asked().map(|number| Ticket { run: self.id, number })
    }

    fn check(&self, ticket: Ticket) -> Result<u32> {
        if ticket.run == self.id {
            return Ok(ticket.number);
        }
        let error = Error::from(ErrorKind::Reply(ReplyFault::Foreign));
        Err(error.at(self.call.meta().script.name(), self.call.name()))
    }

    /// Lets the script go on to its end, and gives what it returned.
    ///
    /// # Errors
    /// As with [`next`](Run::next); `Unanswered` when it asks for something more: then it is closed.
    pub async fn finish(mut self) -> Result<R> {
        if let Some(request) = self.next().await? {
            drop(request);
            return Err(Error::from(ErrorKind::Unanswered).at(self.call.meta().script.name(), self.call.name()));
        }
        match std::mem::replace(&mut self.end, End::None) {
            End::Result(result) => result,
            End::Told(error) => Err(error),
            End::None => Err(Error::bug("a run has ended without an end")),
        }
    }

    /// The same on the calling thread, which waits.
    ///
    /// # Errors
    /// As with [`finish`](Run::finish); `Config` on a worker's thread.
    pub fn finish_blocking(self) -> Result<R> {
        submit::block(self.finish())
    }

    /// Closes the script and waits until that is done: as if its `yield` were a `return`, its `finally` blocks run.
    ///
    /// One that has not begun, or has ended, is closed already. Cancel safe: dropped, the closing goes on.
    ///
    /// # Errors
    /// What a `finally` block threw; `SliceTimeout` where it took longer than the [close timeout](crate::Limits::close_timeout), and was torn down.
    pub async fn close(mut self) -> Result<()> {
        self.entry = Entry::Done;
        self.call.leave(Caller::Stays);
        let event = poll_fn(|context| self.call.poll(context.waker())).await;
        match event {
            Event::End(Err(error)) if !matches!(error.kind(), ErrorKind::Cancelled) => Err(error),
            Event::End(_) | Event::Over | Event::Request(_) => Ok(()),
        }
    }

    /// The same on the calling thread, which waits.
    ///
    /// # Errors
    /// As with [`close`](Run::close); `Config` on a worker's thread.
    pub fn close_blocking(self) -> Result<()> {
        submit::block(self.close())
    }

    /// A stream that takes each request and answers it with what a closure makes of it; an error of the closure is thrown into the
    /// script. Each item is a request's place, from 0, once its answer was given.
    ///
    /// [`AnswerWith::finish`] goes through to the end.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> jsmill::Result<()> {
    /// # use jsmill::{Engine, HostError, Script};
    /// # let engine = Engine::builder().workers(1).build()?;
    /// let script = Script::new("sum.js", "function* sum() { return (yield 1) + (yield 2); }")?;
    /// let run = engine.task(&script).generate::<u64, u64, u64>("sum", ())?;
    /// let sum = run.answer_with(|id| async move { Ok::<_, HostError>(id * 10) }).finish().await?;
    /// assert_eq!(sum, 30);
    /// # Ok(())
    /// # }
    /// ```
    pub fn answer_with<F, P>(self, answer: F) -> AnswerWith<Q, A, R, T, F, P>
    where
        F: FnMut(Q) -> P,
        P: Future<Output = std::result::Result<A, HostError>>,
    {
        AnswerWith { run: Some(self), answer, pending: None, answered: 0 }
    }
}

impl<Q, A: Serialize + 'static, R> Run<Q, A, R, Wire>
where
    Q: Send + 'static,
    R: Send + 'static,
{
    /// Answers the request that was taken last: that is what its `yield` gives, when the caller goes on.
    ///
    /// The answer is converted at once, on the calling thread.
    ///
    /// # Errors
    /// `Reply` when there is no request, or it was answered; `Convert`; `ResultTooLarge`. Nothing has changed for the script then.
    pub fn reply(&mut self, reply: impl Borrow<A>) -> Result<()> {
        let number = self.call.number();
        let reply = self.encode(reply.borrow())?;
        self.call.answer(number, Answer::Reply(reply))
    }

    /// The same for the request of that ticket.
    ///
    /// # Errors
    /// As with [`reply`](Run::reply), also when the ticket is of another run, or of an earlier request.
    pub fn reply_to(&mut self, ticket: Ticket, reply: impl Borrow<A>) -> Result<()> {
        let number = self.check(ticket)?;
        let reply = self.encode(reply.borrow())?;
        self.call.answer(number, Answer::Reply(reply))
    }

    fn encode(&self, reply: &A) -> Result<Encoded> {
        let meta = self.call.meta();
        let limits = Limits { depth: meta.limits.depth, bytes: meta.limits.result.as_usize() };
        wire::encode(reply, meta.policy, limits)
            .map_err(|error| convert_error(error).at(meta.script.name(), self.call.name()))
    }
}

impl<Q, A: Send + 'static, R> Run<Q, A, R, Direct>
where
    Q: Send + 'static,
    R: Send + 'static,
{
    /// Answers the request that was taken last: that is what the next step gets, when the caller goes on.
    ///
    /// # Errors
    /// `Reply` when there is no request, or it was answered.
    pub fn reply(&mut self, reply: A) -> Result<()> {
        let number = self.call.number();
        self.call.answer(number, Answer::Reply(reply))
    }

    /// The same for the request of that ticket.
    ///
    /// # Errors
    /// As with [`reply`](Run::reply), also when the ticket is of another run, or of an earlier request.
    pub fn reply_to(&mut self, ticket: Ticket, reply: A) -> Result<()> {
        let number = self.check(ticket)?;
        self.call.answer(number, Answer::Reply(reply))
    }
}

/// The values that a generator yields, without answers. After the last one, [`Run::finish`] gives what it returned.
impl<Q, A, R, T: Transport<A>> futures_core::Stream for Run<Q, A, R, T>
where
    Q: Send + 'static,
    R: Send + 'static,
{
    type Item = Result<Q>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Result<Q>>> {
        if matches!(self.end, End::Told(_)) {
            return Poll::Ready(None);
        }
        self.poll_next_request(context).map(Result::transpose)
    }
}

impl<Q, A, R, T: Transport<A>> Unpin for Run<Q, A, R, T> {}

impl<Q, A, R, T: Transport<A>> Drop for Run<Q, A, R, T> {
    fn drop(&mut self) {
        self.call.leave(Caller::Goes);
    }
}

impl<Q, A, R, T: Transport<A>> fmt::Debug for Run<Q, A, R, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Run")
            .field("script", &self.call.meta().script.name())
            .field("function", &self.call.name())
            .finish_non_exhaustive()
    }
}

/// A run whose requests a closure answers. Made by [`Run::answer_with`].
#[must_use = "a stream does nothing unless it is polled"]
pub struct AnswerWith<Q, A, R, T: Transport<A>, F, P> {
    run: Option<Run<Q, A, R, T>>,
    answer: F,
    pending: Option<Pin<Box<P>>>,
    answered: u64,
}

/// Gives a reply to the run of its kind.
#[doc(hidden)]
pub trait Reply<A> {
    fn give(&mut self, reply: A) -> Result<()>;
}

impl<Q: Send + 'static, A: Serialize + 'static, R: Send + 'static> Reply<A> for Run<Q, A, R, Wire> {
    fn give(&mut self, reply: A) -> Result<()> {
        self.reply(reply)
    }
}

impl<Q: Send + 'static, A: Send + 'static, R: Send + 'static> Reply<A> for Run<Q, A, R, Direct> {
    fn give(&mut self, reply: A) -> Result<()> {
        self.reply(reply)
    }
}

impl<Q, A, R, T: Transport<A>, F, P> AnswerWith<Q, A, R, T, F, P>
where
    Q: Send + 'static,
    R: Send + 'static,
    Run<Q, A, R, T>: Reply<A>,
    F: FnMut(Q) -> P,
    P: Future<Output = std::result::Result<A, HostError>>,
{
    /// Answers all requests, and gives what the script returned.
    ///
    /// Cancel safe in that dropping it closes the script, as dropping the run does.
    ///
    /// # Errors
    /// As with [`Run::next`] and [`Run::reply`].
    pub async fn finish(mut self) -> Result<R> {
        while let Some(answered) = poll_fn(|context| self.poll_answered(context)).await {
            answered?;
        }
        match self.run.take() {
            Some(run) => run.finish().await,
            None => Err(ErrorKind::Cancelled.into()),
        }
    }

    fn poll_answered(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<u64>>> {
        let Some(run) = &mut self.run else { return Poll::Ready(None) };
        if self.pending.is_none() {
            match run.poll_next_request(context) {
                Poll::Pending => return Poll::Pending,
                Poll::Ready(Ok(Some(request))) => self.pending = Some(Box::pin((self.answer)(request))),
                Poll::Ready(Ok(None)) => return Poll::Ready(None),
                Poll::Ready(Err(error)) => {
                    self.run = None;
                    return Poll::Ready(Some(Err(error)));
                }
            }
        }
        let Some(pending) = &mut self.pending else { return Poll::Ready(None) };
        let Poll::Ready(answer) = pending.as_mut().poll(context) else { return Poll::Pending };
        self.pending = None;
        let given = match answer {
            Ok(reply) => run.give(reply),
            Err(error) => run.throw(error),
        };
        if let Err(error) = given {
            self.run = None;
            return Poll::Ready(Some(Err(error)));
        }
        self.answered += 1;
        Poll::Ready(Some(Ok(self.answered - 1)))
    }
}

impl<Q, A, R, T: Transport<A>, F, P> futures_core::Stream for AnswerWith<Q, A, R, T, F, P>
where
    Q: Send + 'static,
    R: Send + 'static,
    Run<Q, A, R, T>: Reply<A>,
    F: FnMut(Q) -> P + Unpin,
    P: Future<Output = std::result::Result<A, HostError>>,
{
    type Item = Result<u64>;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Result<u64>>> {
        self.get_mut().poll_answered(context)
    }
}

impl<Q, A, R, T: Transport<A>, F: Unpin, P> Unpin for AnswerWith<Q, A, R, T, F, P> {}

impl<Q, A, R, T: Transport<A>, F, P> fmt::Debug for AnswerWith<Q, A, R, T, F, P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AnswerWith").field("run", &self.run).field("answered", &self.answered).finish_non_exhaustive()
    }
}

/// Numbers of runs, so that a ticket of one is none of another, also when that is gone.
fn next_id() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    NEXT.fetch_add(1, Ordering::Relaxed)
}
