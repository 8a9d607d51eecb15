//! Calls on their way into the queue.

use std::future::{Future, poll_fn};
use std::sync::Arc;
use std::task::Poll;

use super::Engine;
use super::crew::Shared;
use super::queue::{NoRoom, Room};
use super::worker;
use crate::clock::Moment;
use crate::error::{Error, ErrorKind, Result};
use crate::exec::{Call, CallCore, Meta, Parts, Pending, Profile, Work, block_on};
use crate::script::Script;

/// The call of a composition.
pub(super) fn composed<W: Work>(engine: &Engine, script: Arc<Script>, work: W, parts: Parts) -> Result<Arc<Call<W>>> {
    let limits = parts.limits.unwrap_or_else(|| engine.limits());
    limits.check()?;
    #[cfg(feature = "io")]
    if let Some(io) = &parts.io {
        io.check()?;
    }
    let profile = Profile {
        script,
        caching: parts.caching,
        limits,
        policy: parts.policy,
        priority: parts.priority,
        handler: parts.handler,
        logger: parts.logger,
        #[cfg(feature = "io")]
        io: parts.io.or_else(|| engine.shared().config.io.clone()),
    };
    let meta = Meta::new(profile, work.name());
    Ok(Call::new(meta, work))
}

fn refused(shared: &Shared, call: &dyn CallCore, why: NoRoom) -> Error {
    let error = match why {
        NoRoom::Full { depth } => ErrorKind::QueueFull { depth }.into(),
        NoRoom::Closed => shared.starved().unwrap_or_else(|| ErrorKind::ShuttingDown.into()),
    };
    shared.meters.refused.increment(1);
    Error::at(error, call.meta().script.name(), call.name())
}

/// The error of a call that the engine is too busy for.
fn shed(shared: &Shared, call: &dyn CallCore) -> Option<Error> {
    if !shared.sheds(call.meta().priority) {
        return None;
    }
    shared.meters.refused.increment(1);
    Some(Error::at(ErrorKind::Shed.into(), call.meta().script.name(), call.name()))
}

fn push(shared: &Shared, room: Room<'_>, call: Arc<dyn CallCore>) -> Result<()> {
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
    Ok(())
}

/// Puts a call into the queue; waits while that is full, until the call's deadline at the most. Whoever asks for that answers for the
/// call: it is given up by its owner, not here.
pub(super) async fn enqueue(shared: &Shared, call: Arc<dyn CallCore>) -> Result<()> {
    if let Some(result) = enqueue_now(shared, &call) {
        return result;
    }
    let _outside = Waiting::new(shared, call.clone());
    let mut room = std::pin::pin!(shared.queue.room(call.meta().priority));
    let room = poll_fn(|context| {
        if let Poll::Ready(room) = room.as_mut().poll(context) {
            return Poll::Ready(room.map(Some).map_err(|why| refused(shared, &*call, why)));
        }
        // It may come to its end before it is queued: that is its deadline, and its owner finds the error.
        if call.poll_over(context.waker()) { Poll::Ready(Ok(None)) } else { Poll::Pending }
    })
    .await?;
    match room {
        Some(room) => push(shared, room, call),
        None => Ok(()),
    }
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

/// Runs what waits for a worker on the calling thread, which must not be one.
pub(super) fn block<T>(future: impl Future<Output = Result<T>>) -> Result<T> {
    if worker::is_worker_thread() {
        return Err(Error::config(
            "a blocking call was made on a worker, which may be the one that it waits for; make it from a thread of the host",
        ));
    }
    block_on(future)
}

/// Puts a call into the queue, and waits for its end.
pub(super) async fn run<W: Work>(shared: &Shared, pending: Pending<W>) -> Result<W::Output> {
    enqueue(shared, pending.core()).await?;
    pending.await
}

/// Puts a call into the queue if there is room. `None` where there is none, for its caller to wait.
pub(super) fn enqueue_now(shared: &Shared, call: &Arc<dyn CallCore>) -> Option<Result<()>> {
    if let Some(error) = shed(shared, &**call) {
        return Some(Err(error));
    }
    match shared.queue.try_room(call.meta().priority) {
        Ok(room) => Some(push(shared, room, call.clone())),
        Err(NoRoom::Closed) => Some(Err(refused(shared, &**call, NoRoom::Closed))),
        Err(NoRoom::Full { .. }) => None,
    }
}

/// Puts a call into the queue if there is room, or says why not.
pub(super) fn try_enqueue(shared: &Shared, call: &Arc<dyn CallCore>) -> Result<()> {
    if let Some(error) = shed(shared, &**call) {
        return Err(error);
    }
    match shared.queue.try_room(call.meta().priority) {
        Ok(room) => push(shared, room, call.clone()),
        Err(why) => Err(refused(shared, &**call, why)),
    }
}
