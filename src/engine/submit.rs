//! Calls on their way into the queue.

use std::any::TypeId;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::Arc;
use std::task::Poll;

use super::Engine;
use super::crew::Shared;
use super::queue::{NoRoom, Room};
use super::worker;
use crate::clock::Moment;
use crate::error::{Error, ErrorKind, Result};
use crate::exec::{
    Call, CallCore, Composition, ErasedShared, Limits, Meta, OneOff, Pending, Priority, Work, block_on, strategy,
};
use crate::vm::Scope;

/// A composed task as the work of a call.
pub(super) struct Composed<T> {
    task: T,
    shared: Vec<(usize, ErasedShared)>,
}

impl<T: OneOff> Work for Composed<T> {
    type Output = T::Output;

    fn name(&self) -> &str {
        self.task.name()
    }

    fn kind(&self) -> TypeId {
        TypeId::of::<T>()
    }

    fn shared(&self) -> &[(usize, ErasedShared)] {
        &self.shared
    }

    fn initialize(&self, scope: &mut Scope<'_, '_, '_>) -> Result<()> {
        self.task.initialize(scope)
    }

    fn run(&self, scope: &mut Scope<'_, '_, '_>) -> Result<T::Output> {
        self.task.run(scope)
    }
}

/// The call of a composition.
pub(super) fn composed<T: OneOff, C>(
    engine: &Engine,
    composition: Composition<T, strategy::OneOff, C>,
) -> Result<Arc<Call<Composed<T>>>> {
    let limits = composition.limits.unwrap_or_else(|| engine.limits());
    limits.check()?;
    let (submitted, deadline) = moments(&limits);
    let meta = Meta {
        script: composition.task.script().clone(),
        caching: composition.caching,
        limits,
        policy: composition.policy,
        priority: composition.priority,
        submitted,
        deadline,
        handler: composition.handler,
        logger: composition.logger,
        span: span(composition.task.script(), composition.task.name(), composition.priority),
    };
    Ok(Call::new(meta, Composed { task: composition.task, shared: composition.shared }))
}

/// Now, and the deadline of a call that is submitted now.
pub(super) fn moments(limits: &Limits) -> (Moment, Moment) {
    let now = Moment::now();
    (now, limits.deadline.map_or(Moment::NEVER, |deadline| now.after(deadline)))
}

/// The span of a call.
pub(super) fn span(script: &crate::Script, task: &str, priority: Priority) -> tracing::Span {
    tracing::debug_span!(
        target: "jsmill", "call",
        script = script.name(), version = script.version(), task, priority = priority.name()
    )
}

fn refused<W: Work>(shared: &Shared, call: &Call<W>, why: NoRoom) -> Error {
    let error = match why {
        NoRoom::Full { depth } => ErrorKind::QueueFull { depth }.into(),
        NoRoom::Closed => shared.starved().unwrap_or_else(|| ErrorKind::ShuttingDown.into()),
    };
    shared.meters.refused.increment(1);
    Error::at(error, call.meta().script.name(), call.name())
}

fn push<W: Work>(shared: &Shared, room: Room<'_>, pending: Pending<W>) -> Result<Pending<W>> {
    let call = pending.call().clone();
    if let Some(error) = shared.starved() {
        return Err(error.at(call.meta().script.name(), call.name()));
    }
    let (priority, deadline) = (call.meta().priority, call.meta().deadline);
    if shared.queue.push(priority, room, call).is_err() {
        return Err(ErrorKind::ShuttingDown.into());
    }
    if deadline != Moment::NEVER {
        shared.watchdog.wake_for(deadline);
    }
    // Should the last worker have been lost since, nobody else would answer.
    shared.refuse_if_starved();
    Ok(pending)
}

/// Puts a call into the queue; waits while that is full, until the call's deadline at the most.
pub(super) async fn enqueue<W: Work>(shared: &Shared, call: Arc<Call<W>>) -> Result<Pending<W>> {
    let call = match enqueue_now(shared, call) {
        Ok(result) => return result,
        Err(call) => call,
    };
    let _outside = Waiting::new(shared, call.clone());
    let mut pending = Pending::new(call.clone());
    let mut room = std::pin::pin!(shared.queue.room(call.meta().priority));
    let room = poll_fn(|context| {
        // Answered before it was queued: that was its deadline.
        if let Poll::Ready(Err(error)) = Pin::new(&mut pending).poll(context) {
            return Poll::Ready(Err(error));
        }
        room.as_mut().poll(context).map(|room| room.map_err(|why| refused(shared, &call, why)))
    })
    .await?;
    push(shared, room, pending)
}

/// A call outside of the queue, whose deadline is watched nevertheless.
struct Waiting<'s> {
    shared: &'s Shared,
    call: Option<Arc<dyn CallCore>>,
}

impl<'s> Waiting<'s> {
    fn new(shared: &'s Shared, call: Arc<dyn CallCore>) -> Self {
        let deadline = call.meta().deadline;
        if deadline == Moment::NEVER {
            return Waiting { shared, call: None };
        }
        shared.outside.add(call.clone());
        shared.watchdog.wake_for(deadline);
        Waiting { shared, call: Some(call) }
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        if let Some(call) = &self.call {
            self.shared.outside.remove(call);
        }
    }
}

/// Puts a call into the queue; waits on the calling thread while that is full.
pub(super) fn enqueue_blocking<W: Work>(shared: &Shared, call: Arc<Call<W>>) -> Result<Pending<W>> {
    if worker::is_worker_thread() {
        return Err(Error::config(
            "a blocking call was made on a worker, which may be the one that it waits for; make it from a thread of the host",
        ));
    }
    block_on(enqueue(shared, call))
}

/// Puts a call into the queue if there is room. Gives it back where there is none, for its caller to wait.
pub(super) fn enqueue_now<W: Work>(
    shared: &Shared,
    call: Arc<Call<W>>,
) -> std::result::Result<Result<Pending<W>>, Arc<Call<W>>> {
    match shared.queue.try_room(call.meta().priority) {
        Ok(room) => Ok(push(shared, room, Pending::new(call))),
        Err(NoRoom::Closed) => Ok(Err(refused(shared, &call, NoRoom::Closed))),
        Err(NoRoom::Full { .. }) => Err(call),
    }
}

/// Puts a call into the queue if there is room, else gives it back with the reason.
pub(super) fn try_enqueue<W: Work>(
    shared: &Shared,
    call: Arc<Call<W>>,
) -> std::result::Result<Pending<W>, (Error, Arc<Call<W>>)> {
    match shared.queue.try_room(call.meta().priority) {
        Ok(room) => push(shared, room, Pending::new(call.clone())).map_err(|error| (error, call)),
        Err(why) => Err((refused(shared, &call, why), call)),
    }
}
