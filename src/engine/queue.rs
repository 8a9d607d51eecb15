//! Calls that wait for a worker: bounded, a lane for each priority.
//!
//! Generic over the calls, so that it is tested without V8.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::thread::Thread;

use parking_lot::Mutex;
use tokio::sync::Semaphore;

use crate::clock::Moment;
use crate::exec::Priority;

/// What the queue has to know of what it holds.
pub(super) trait Queued {
    fn deadline(&self) -> Moment;
    /// Whether nobody waits for it any more.
    fn is_over(&self) -> bool;
    /// Whether it may stay with its worker after its first slice.
    fn suspends(&self) -> bool;
    /// Lets go of it.
    fn release(self);
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
    length: AtomicUsize,
    /// The earliest deadline of an entry, or earlier.
    earliest: AtomicU64,
    closed: AtomicBool,
}

struct Inner<T> {
    lanes: [VecDeque<T>; 3],
    sleepers: Vec<Thread>,
}

/// Why there is no room.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum NoRoom {
    Full { depth: usize },
    Closed,
}

impl<T: Queued> Queue<T> {
    pub(super) fn new(depths: [usize; 3]) -> Self {
        Queue {
            inner: Mutex::new(Inner { lanes: Default::default(), sleepers: Vec::new() }),
            rooms: depths.map(Semaphore::new),
            depths,
            length: AtomicUsize::new(0),
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

    /// Adds an entry, and wakes a worker if one sleeps. Gives the entry back when the queue is closed.
    pub(super) fn push(&self, priority: Priority, room: Room<'_>, entry: T) -> Result<(), T> {
        let deadline = entry.deadline();
        let sleeper = {
            let mut inner = self.inner.lock();
            if self.closed.load(Ordering::Relaxed) {
                return Err(entry);
            }
            inner.lanes[priority as usize].push_back(entry);
            self.length.fetch_add(1, Ordering::Release);
            inner.sleepers.pop()
        };
        // The room belongs to the entry now, and comes back when that is taken out.
        std::mem::forget(room);
        if deadline != Moment::NEVER {
            self.earliest.fetch_min(deadline.to_nanos(), Ordering::SeqCst);
        }
        if let Some(thread) = sleeper {
            thread.unpark();
        }
        Ok(())
    }

    /// The most urgent entry; without `may_suspend`, the most urgent one that does not suspend.
    pub(super) fn pop(&self, may_suspend: bool) -> Option<T> {
        if self.is_empty() {
            return None;
        }
        let (lane, entry) = {
            let mut inner = self.inner.lock();
            let take = |entries: &mut VecDeque<T>| {
                if may_suspend {
                    return entries.pop_front();
                }
                entries.iter().position(|entry| !entry.suspends()).and_then(|at| entries.remove(at))
            };
            let found = inner.lanes.iter_mut().enumerate().find_map(|(lane, entries)| Some((lane, take(entries)?)))?;
            self.length.fetch_sub(1, Ordering::Release);
            found
        };
        self.rooms[lane].add_permits(1);
        Some(entry)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.length.load(Ordering::Acquire) == 0
    }

    pub(super) fn is_closed(&self) -> bool {
        self.closed.load(Ordering::Acquire)
    }

    /// How many wait, by priority.
    pub(super) fn lengths(&self) -> [usize; 3] {
        let inner = self.inner.lock();
        std::array::from_fn(|lane| inner.lanes[lane].len())
    }

    /// The calling worker is about to sleep: whoever adds an entry wakes it. False where there is work already.
    pub(super) fn announce_sleep(&self) -> bool {
        let mut inner = self.inner.lock();
        if inner.lanes.iter().any(|lane| !lane.is_empty()) {
            return false;
        }
        inner.sleepers.push(std::thread::current());
        true
    }

    /// The calling worker is awake again.
    pub(super) fn announce_awake(&self) {
        let own = std::thread::current().id();
        self.inner.lock().sleepers.retain(|thread| thread.id() != own);
    }

    /// A worker that was woken for an entry, or might have been, goes away: another one gets the wake-up.
    pub(super) fn pass_on(&self) {
        let sleeper = {
            let mut inner = self.inner.lock();
            if inner.lanes.iter().all(VecDeque::is_empty) { None } else { inner.sleepers.pop() }
        };
        if let Some(thread) = sleeper {
            thread.unpark();
        }
    }

    /// Takes no more entries. Those who wait for room get `Closed`.
    pub(super) fn close(&self) {
        let _inner = self.inner.lock();
        self.closed.store(true, Ordering::Release);
        self.rooms.iter().for_each(Semaphore::close);
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
            inner.lanes.iter().flatten().map(Queued::deadline).min().unwrap_or(Moment::NEVER)
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
        let mut counts = [0; 3];
        {
            let mut inner = self.inner.lock();
            for (lane, count) in inner.lanes.iter_mut().zip(&mut counts) {
                let before = taken.len();
                for _ in 0..lane.len() {
                    let Some(entry) = lane.pop_front() else { break };
                    if which(&entry) { taken.push(entry) } else { lane.push_back(entry) }
                }
                *count = taken.len() - before;
            }
            self.length.fetch_sub(taken.len(), Ordering::Release);
        }
        for (room, count) in self.rooms.iter().zip(counts) {
            room.add_permits(count);
        }
        taken
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use std::time::Duration;

    #[derive(Debug, PartialEq, Clone)]
    struct Entry {
        id: u32,
        deadline: Moment,
        over: bool,
    }

    impl Queued for Entry {
        fn deadline(&self) -> Moment {
            self.deadline
        }
        fn is_over(&self) -> bool {
            self.over
        }
        fn suspends(&self) -> bool {
            false
        }
        fn release(self) {}
    }

    fn entry(id: u32) -> Entry {
        Entry { id, deadline: Moment::NEVER, over: false }
    }

    fn push(queue: &Queue<Entry>, priority: Priority, entry: Entry) {
        let room = queue.try_room(priority).unwrap();
        queue.push(priority, room, entry).unwrap();
    }

    #[test]
    fn the_most_urgent_first_and_each_lane_in_order() {
        let queue = Queue::new([8; 3]);
        push(&queue, Priority::Background, entry(1));
        push(&queue, Priority::Normal, entry(2));
        push(&queue, Priority::Critical, entry(3));
        push(&queue, Priority::Normal, entry(4));
        let order: Vec<_> = std::iter::from_fn(|| queue.pop(true)).map(|entry| entry.id).collect();
        assert_eq!(order, [3, 2, 4, 1]);
    }

    #[test]
    fn a_full_lane_refuses_and_the_others_do_not() {
        let queue = Queue::new([1, 2, 1]);
        push(&queue, Priority::Normal, entry(1));
        push(&queue, Priority::Normal, entry(2));
        assert_eq!(queue.try_room(Priority::Normal).err(), Some(NoRoom::Full { depth: 2 }));
        drop(queue.try_room(Priority::Critical).unwrap());
        push(&queue, Priority::Critical, entry(3));
        queue.pop(true);
        assert!(queue.try_room(Priority::Critical).is_ok());
    }

    #[test]
    fn an_abandoned_entry_makes_way() {
        let queue = Queue::new([1; 3]);
        push(&queue, Priority::Normal, Entry { over: true, ..entry(1) });
        push(&queue, Priority::Normal, entry(2));
        assert_eq!(queue.pop(true), Some(entry(2)));
        assert_eq!(queue.pop(true), None);
    }

    #[test]
    fn due_entries_are_taken_out_and_the_next_deadline_is_kept() {
        let queue = Queue::new([8; 3]);
        let at = |nanos| Entry { deadline: Moment::from_nanos(nanos), ..entry(nanos as u32) };
        for (nanos, priority) in [(30, Priority::Normal), (10, Priority::Background), (20, Priority::Normal)] {
            push(&queue, priority, at(nanos));
        }
        assert_eq!(queue.earliest_deadline(), Moment::from_nanos(10));
        assert_eq!(queue.take_due(Moment::from_nanos(20)), [at(20), at(10)]);
        assert_eq!(queue.earliest_deadline(), Moment::from_nanos(30));
        assert_eq!(queue.lengths(), [0, 1, 0]);
        let rooms: Vec<_> = (0..7).map(|_| queue.try_room(Priority::Normal).unwrap()).collect();
        assert!(queue.try_room(Priority::Normal).is_err());
        drop(rooms);
    }

    #[tokio::test]
    async fn waiting_for_room_is_fair_and_can_be_given_up() {
        let queue = Arc::new(Queue::new([1; 3]));
        push(&queue, Priority::Normal, entry(1));
        let given_up = tokio::time::timeout(Duration::from_millis(5), queue.room(Priority::Normal)).await;
        assert!(given_up.is_err());
        let waiter = tokio::spawn({
            let queue = queue.clone();
            async move {
                let room = queue.room(Priority::Normal).await.unwrap();
                queue.push(Priority::Normal, room, entry(2)).unwrap();
            }
        });
        tokio::task::yield_now().await;
        assert_eq!(queue.pop(true), Some(entry(1)));
        waiter.await.unwrap();
        assert_eq!(queue.pop(true), Some(entry(2)));
    }

    #[tokio::test]
    async fn closing_refuses_those_who_wait_and_those_who_come() {
        let queue = Arc::new(Queue::new([1; 3]));
        push(&queue, Priority::Normal, entry(1));
        let waiter = tokio::spawn({
            let queue = queue.clone();
            async move { queue.room(Priority::Normal).await.err() }
        });
        tokio::task::yield_now().await;
        queue.close();
        assert_eq!(waiter.await.unwrap(), Some(NoRoom::Closed));
        assert_eq!(queue.try_room(Priority::Critical).err(), Some(NoRoom::Closed));
        assert_eq!(queue.drain(), [entry(1)]);
    }
}
