//! Calls that wait for a worker: bounded, a lane for each priority.
//!
//! - `Queue` is the lock around the lanes, the room in them, and the workers that sleep for want of work.
//! - `lane` decides which entry of a priority is next; `delay` says whether it is overloaded; `warmth` knows which worker has which context.
//!
//! There is no scheduler apart from these: workers come for work when they have time for it, so the only choices are which entry a worker
//! takes (`Lane::pop`), and which sleeping worker is woken for an entry (`Queue::push`).
//!
//! Invariant: an entry that was accepted comes out once, by `pop`, as one that was shed, or by `take_due`, `drain` or `try_room`, and its room
//! is free then. No more entries are in a lane than it has room for. While an entry may be taken, no worker that may take it falls asleep.
//! Generic over the calls, so that it is tested without V8.

mod delay;
mod lane;
mod warmth;

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::thread::Thread;

use parking_lot::Mutex;
use tokio::sync::Semaphore;

use super::admission::Admission;
use crate::clock::Moment;
use crate::exec::Priority;
use lane::Lane;
pub(super) use warmth::Warmth;

/// What the queue has to know of what it holds.
pub(super) trait Queued {
    fn submitted(&self) -> Moment;
    fn deadline(&self) -> Moment;
    /// Whether it may still be live when its first slice is over.
    fn suspends(&self) -> bool;
    /// A hash of what its context belongs to; `None` where it gets one of its own.
    fn home(&self) -> Option<u64>;
    /// Whether nobody waits for it any more.
    fn is_over(&self) -> bool;
    /// Lets go of it.
    fn release(self);
}

/// A worker that wants an entry.
#[derive(Clone, Copy, Debug)]
pub(super) struct Taker {
    pub(super) now: Moment,
    pub(super) worker: usize,
    /// Whether it may take one that suspends: it has fewer live tasks than its limit.
    pub(super) may_suspend: bool,
}

/// Room for one entry of a lane. The entry takes it over; dropped without one, it gives the room back.
#[must_use]
pub(super) struct Room<'q> {
    lane: &'q Semaphore,
}

impl Drop for Room<'_> {
    fn drop(&mut self) {
        self.lane.add_permits(1);
    }
}

/// The bounded lanes, and the workers that sleep for want of work.
pub(super) struct Queue<T> {
    inner: Mutex<Inner<T>>,
    rooms: [Semaphore; 3],
    depths: [usize; 3],
    admission: Admission,
    warmth: Warmth,
    /// How many entries may be taken now that do not suspend, and that do.
    ready: [AtomicUsize; 2],
    /// Whether an urgent entry has come since this was last asked.
    urgent: AtomicBool,
    /// The earliest deadline of an entry, or earlier.
    earliest: AtomicU64,
    closed: AtomicBool,
}

struct Inner<T> {
    lanes: [Lane<T>; 3],
    /// Whether background entries stay where they are.
    parked: bool,
    /// Those that slept for the longest time come first.
    sleepers: Vec<Sleeper>,
}

struct Sleeper {
    thread: Thread,
    worker: usize,
    may_suspend: bool,
}

/// Why there is no room.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum NoRoom {
    Full { depth: usize },
    Closed,
}

impl<T: Queued> Queue<T> {
    pub(super) fn new(depths: [usize; 3], admission: Admission) -> Self {
        Queue {
            inner: Mutex::new(Inner {
                lanes: std::array::from_fn(|_| Lane::new()),
                parked: false,
                sleepers: Vec::new(),
            }),
            rooms: depths.map(Semaphore::new),
            depths,
            admission,
            warmth: Warmth::new(),
            ready: Default::default(),
            urgent: AtomicBool::new(false),
            earliest: AtomicU64::new(Moment::NEVER.to_nanos()),
            closed: AtomicBool::new(false),
        }
    }

    /// Takes room, if there is any. Entries that nobody waits for make way.
    pub(super) fn try_room(&self, priority: Priority) -> Result<Room<'_>, NoRoom> {
        let lane = &self.rooms[priority as usize];
        loop {
            match lane.try_acquire() {
                Ok(permit) => {
                    permit.forget();
                    return Ok(Room { lane });
                }
                Err(tokio::sync::TryAcquireError::Closed) => return Err(NoRoom::Closed),
                Err(tokio::sync::TryAcquireError::NoPermits) => {
                    let abandoned = self.take(|entry| entry.is_over());
                    if abandoned.is_empty() {
                        return Err(NoRoom::Full { depth: self.depths[priority as usize] });
                    }
                    abandoned.into_iter().for_each(T::release);
                }
            }
        }
    }

    /// Waits for room, in the order of asking. Dropping the future gives up the place.
    pub(super) async fn room(&self, priority: Priority) -> Result<Room<'_>, NoRoom> {
        match self.try_room(priority) {
            Err(NoRoom::Full { .. }) => {}
            other => return other,
        }
        let lane = &self.rooms[priority as usize];
        match lane.acquire().await {
            Ok(permit) => {
                permit.forget();
                Ok(Room { lane })
            }
            Err(_) => Err(NoRoom::Closed),
        }
    }

    /// Adds an entry, and wakes a worker if one sleeps: one that is warm for it, else the one that fell asleep last. Gives the entry back
    /// when the queue is closed.
    pub(super) fn push(&self, priority: Priority, room: Room<'_>, entry: T) -> Result<(), T> {
        let (deadline, home, suspends) = (entry.deadline(), entry.home(), entry.suspends());
        let patience = self.admission.patience(entry.submitted(), deadline);
        let sleeper = {
            let mut inner = self.inner.lock();
            if self.closed.load(Ordering::Relaxed) {
                return Err(entry);
            }
            let is_warm = |worker| home.is_some_and(|home| self.warmth.is_warm(home, worker));
            let is_parked = inner.parked && priority == Priority::Background;
            let sleeper = if is_parked { None } else { inner.sleeper_for(suspends, is_warm) };
            let kept_for = sleeper.as_ref().map(|sleeper| sleeper.worker).filter(|worker| is_warm(*worker));
            inner.lanes[priority as usize].push(entry, patience, home, kept_for);
            self.count(&inner);
            sleeper
        };
        // The room belongs to the entry now, and comes back when that is taken out.
        std::mem::forget(room);
        if deadline != Moment::NEVER {
            self.earliest.fetch_min(deadline.to_nanos(), Ordering::SeqCst);
        }
        // Read first: a write would take the cache line away from the other callers.
        if priority != Priority::Background && !self.urgent.load(Ordering::Relaxed) {
            self.urgent.store(true, Ordering::Relaxed);
        }
        if let Some(sleeper) = sleeper {
            sleeper.thread.unpark();
        }
        Ok(())
    }

    /// The most urgent entry that the worker may take and that is not kept for another worker. Those that are refused for their waiting
    /// are added to `shed`.
    pub(super) fn pop(&self, taker: &Taker, shed: &mut Vec<T>) -> Option<T> {
        if !self.has_work(taker.may_suspend) {
            return None;
        }
        let mut freed = [0; 3];
        let found = {
            let mut inner = self.inner.lock();
            let takeable = inner.takeable();
            let mut found = None;
            for (lane, freed) in inner.lanes[..takeable].iter_mut().zip(&mut freed) {
                let before = shed.len();
                found = lane.pop(taker, &self.warmth, shed);
                *freed = shed.len() - before + usize::from(found.is_some());
                if found.is_some() {
                    break;
                }
            }
            self.count(&inner);
            found
        };
        self.free(freed);
        found
    }

    /// Whether there is an entry to take, for a worker that may take one that suspends or may not.
    pub(super) fn has_work(&self, may_suspend: bool) -> bool {
        self.ready[0].load(Ordering::Acquire) > 0 || (may_suspend && self.ready[1].load(Ordering::Acquire) > 0)
    }

    pub(super) fn is_closed(&self) -> bool {
        self.closed.load(Ordering::Acquire)
    }

    /// How many wait, by priority.
    pub(super) fn lengths(&self) -> [usize; 3] {
        let inner = self.inner.lock();
        std::array::from_fn(|lane| inner.lanes[lane].lengths().iter().sum())
    }

    /// Whether an entry that is more urgent than background work waits, or has come since this was last asked.
    pub(super) fn was_urgent(&self) -> bool {
        let came = self.urgent.swap(false, Ordering::Relaxed);
        let lengths = self.lengths();
        came || lengths[Priority::Critical as usize] + lengths[Priority::Normal as usize] > 0
    }

    /// What is known of the workers' contexts.
    pub(super) fn warmth(&self) -> &Warmth {
        &self.warmth
    }

    /// Background entries stay where they are from now on, or may be taken again. A closed queue is emptied, so nothing stays there.
    pub(super) fn park(&self, parked: bool) {
        let woken = {
            let mut inner = self.inner.lock();
            let parked = parked && !self.closed.load(Ordering::Relaxed);
            if inner.parked == parked {
                return;
            }
            inner.parked = parked;
            self.count(&inner);
            if parked { Vec::new() } else { std::mem::take(&mut inner.sleepers) }
        };
        woken.into_iter().for_each(|sleeper| sleeper.thread.unpark());
    }

    /// The calling worker is about to sleep: whoever adds an entry that it may take wakes it. False where there is one already.
    pub(super) fn announce_sleep(&self, worker: usize, may_suspend: bool) -> bool {
        let mut inner = self.inner.lock();
        if self.has_work(may_suspend) {
            return false;
        }
        inner.sleepers.push(Sleeper { thread: std::thread::current(), worker, may_suspend });
        true
    }

    /// The calling worker is awake again.
    pub(super) fn announce_awake(&self) {
        let own = std::thread::current().id();
        self.inner.lock().sleepers.retain(|sleeper| sleeper.thread.id() != own);
    }

    /// A worker that was woken for an entry, or might have been, goes away: another one gets the wake-up.
    pub(super) fn pass_on(&self) {
        let sleeper = {
            let mut inner = self.inner.lock();
            let suspends = !self.has_work(false);
            if self.has_work(true) { inner.sleeper_for(suspends, |_| false) } else { None }
        };
        if let Some(sleeper) = sleeper {
            sleeper.thread.unpark();
        }
    }

    /// Takes no more entries. Those who wait for room get `Closed`, and nothing is parked any more.
    pub(super) fn close(&self) {
        {
            let _inner = self.inner.lock();
            self.closed.store(true, Ordering::Release);
            self.rooms.iter().for_each(Semaphore::close);
        }
        self.park(false);
    }

    /// When an entry may be due, at the earliest.
    pub(super) fn earliest_deadline(&self) -> Moment {
        Moment::from_nanos(self.earliest.load(Ordering::SeqCst))
    }

    /// Takes out the entries whose deadline has come.
    pub(super) fn take_due(&self, now: Moment) -> Vec<T> {
        // First, so that a deadline which is added meanwhile is not lost.
        self.earliest.store(Moment::NEVER.to_nanos(), Ordering::SeqCst);
        let due = self.take(|entry| entry.deadline() <= now);
        let left = {
            let inner = self.inner.lock();
            inner.lanes.iter().flat_map(Lane::entries).map(Queued::deadline).min().unwrap_or(Moment::NEVER)
        };
        self.earliest.fetch_min(left.to_nanos(), Ordering::SeqCst);
        due
    }

    /// Takes everything out.
    pub(super) fn drain(&self) -> Vec<T> {
        self.take(|_| true)
    }

    fn take(&self, which: impl Fn(&T) -> bool) -> Vec<T> {
        let mut taken = Vec::new();
        let mut freed = [0; 3];
        {
            let mut inner = self.inner.lock();
            for (lane, freed) in inner.lanes.iter_mut().zip(&mut freed) {
                let before = taken.len();
                lane.take(&which, &mut taken);
                *freed = taken.len() - before;
            }
            self.count(&inner);
        }
        self.free(freed);
        taken
    }

    /// The lock is held: what can be taken is seen by those who look without it.
    fn count(&self, inner: &Inner<T>) {
        let mut ready = [0; 2];
        for lane in &inner.lanes[..inner.takeable()] {
            let [steady, suspending] = lane.lengths();
            ready[0] += steady;
            ready[1] += suspending;
        }
        for (shown, ready) in self.ready.iter().zip(ready) {
            shown.store(ready, Ordering::Release);
        }
    }

    /// Gives the room of entries back.
    fn free(&self, freed: [usize; 3]) {
        for (room, count) in self.rooms.iter().zip(freed) {
            if count > 0 {
                room.add_permits(count);
            }
        }
    }
}

impl<T> Inner<T> {
    /// From how many lanes, beginning with the most urgent, entries are taken.
    fn takeable(&self) -> usize {
        if self.parked { Priority::Background as usize } else { self.lanes.len() }
    }

    /// Takes the sleeper for an entry off the list: a warm one, else the one that fell asleep last.
    fn sleeper_for(&mut self, suspends: bool, is_warm: impl Fn(usize) -> bool) -> Option<Sleeper> {
        let can = |sleeper: &Sleeper| sleeper.may_suspend || !suspends;
        let warm = self.sleepers.iter().rposition(|sleeper| can(sleeper) && is_warm(sleeper.worker));
        let at = warm.or_else(|| self.sleepers.iter().rposition(can))?;
        Some(self.sleepers.remove(at))
    }
}

#[cfg(test)]
mod tests;
