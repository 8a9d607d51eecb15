//! The queue with entries that are only what it asks of them.

mod order;
mod overload;
mod properties;
mod simulation;
mod sleep;

use std::sync::Arc;
use std::time::Duration;

use super::*;

const MS: Duration = Duration::from_millis(1);

#[derive(Debug, PartialEq, Clone)]
struct Entry {
    id: u32,
    submitted: Moment,
    deadline: Moment,
    suspends: bool,
    home: Option<u64>,
    over: bool,
}

impl Queued for Entry {
    fn submitted(&self) -> Moment {
        self.submitted
    }
    fn deadline(&self) -> Moment {
        self.deadline
    }
    fn suspends(&self) -> bool {
        self.suspends
    }
    fn home(&self) -> Option<u64> {
        self.home
    }
    fn is_over(&self) -> bool {
        self.over
    }
    fn release(self) {}
}

fn at(millis: u64) -> Moment {
    Moment::from_nanos(millis * 1_000_000)
}

/// Submitted at the beginning, without a deadline.
fn entry(id: u32) -> Entry {
    Entry { id, submitted: at(0), deadline: Moment::NEVER, suspends: false, home: None, over: false }
}

fn taker(now: Moment) -> Taker {
    Taker { now, worker: 0, may_suspend: true }
}

fn queue(depth: usize) -> Queue<Entry> {
    Queue::new([depth; 3], Admission::default())
}

fn push(queue: &Queue<Entry>, priority: Priority, entry: Entry) {
    let room = queue.try_room(priority).unwrap();
    queue.push(priority, room, entry).unwrap();
}

/// Takes the next entry, where nothing may be shed.
fn pop(queue: &Queue<Entry>, taker: Taker) -> Option<u32> {
    let mut shed = Vec::new();
    let popped = queue.pop(&taker, &mut shed);
    assert_eq!(shed, []);
    popped.map(|entry| entry.id)
}

/// Takes the next entry. Gives the ids of what was shed too.
fn pop_and_shed(queue: &Queue<Entry>, now: Moment) -> (Option<u32>, Vec<u32>) {
    let mut shed = Vec::new();
    let popped = queue.pop(&taker(now), &mut shed);
    (popped.map(|entry| entry.id), shed.into_iter().map(|entry| entry.id).collect())
}

#[test]
fn a_full_lane_refuses_and_the_others_do_not() {
    let queue = Queue::new([1, 2, 1], Admission::default());
    push(&queue, Priority::Normal, entry(1));
    push(&queue, Priority::Normal, entry(2));
    assert_eq!(queue.try_room(Priority::Normal).err(), Some(NoRoom::Full { depth: 2 }));
    drop(queue.try_room(Priority::Critical).unwrap());
    push(&queue, Priority::Critical, entry(3));
    assert_eq!(pop(&queue, taker(at(0))), Some(3));
    assert!(queue.try_room(Priority::Critical).is_ok());
}

#[test]
fn an_abandoned_entry_makes_way() {
    let queue = queue(1);
    push(&queue, Priority::Normal, Entry { over: true, ..entry(1) });
    push(&queue, Priority::Normal, entry(2));
    assert_eq!(pop(&queue, taker(at(0))), Some(2));
    assert_eq!(pop(&queue, taker(at(0))), None);
}

#[test]
fn due_entries_are_taken_out_and_the_next_deadline_is_kept() {
    let queue = queue(8);
    let due = |millis| Entry { deadline: at(millis), ..entry(millis as u32) };
    for (millis, priority) in [(30, Priority::Normal), (10, Priority::Background), (20, Priority::Normal)] {
        push(&queue, priority, due(millis));
    }
    assert_eq!(queue.earliest_deadline(), at(10));
    assert_eq!(queue.take_due(at(20)), [due(20), due(10)]);
    assert_eq!(queue.earliest_deadline(), at(30));
    assert_eq!(queue.lengths(), [0, 1, 0]);
    let rooms: Vec<_> = (0..7).map(|_| queue.try_room(Priority::Normal).unwrap()).collect();
    assert!(queue.try_room(Priority::Normal).is_err());
    drop(rooms);
}

#[tokio::test]
async fn waiting_for_room_is_fair_and_can_be_given_up() {
    let queue = Arc::new(queue(1));
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
    assert_eq!(pop(&queue, taker(at(0))), Some(1));
    waiter.await.unwrap();
    assert_eq!(pop(&queue, taker(at(0))), Some(2));
}

#[tokio::test]
async fn closing_refuses_those_who_wait_and_those_who_come() {
    let queue = Arc::new(queue(1));
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

#[test]
fn parked_background_work_stays_bounded_and_comes_back() {
    let queue = queue(2);
    push(&queue, Priority::Background, entry(1));
    queue.park(true);
    push(&queue, Priority::Background, entry(2));
    assert_eq!(queue.try_room(Priority::Background).err(), Some(NoRoom::Full { depth: 2 }));
    assert!(!queue.has_work(true));
    push(&queue, Priority::Normal, entry(3));
    assert_eq!([0; 2].map(|_| pop(&queue, taker(at(0)))), [Some(3), None]);
    assert_eq!(queue.lengths(), [0, 0, 2]);
    queue.park(false);
    assert_eq!([0; 3].map(|_| pop(&queue, taker(at(0)))), [Some(1), Some(2), None]);
}

#[test]
fn a_queue_that_closes_parks_nothing() {
    let queue = queue(2);
    push(&queue, Priority::Background, entry(1));
    queue.park(true);
    queue.close();
    queue.park(true);
    assert_eq!(pop(&queue, taker(at(0))), Some(1));
}

#[test]
fn urgent_work_is_seen_when_it_comes_and_while_it_waits() {
    let queue = queue(4);
    push(&queue, Priority::Background, entry(1));
    assert!(!queue.was_urgent());
    push(&queue, Priority::Normal, entry(2));
    assert_eq!([0; 3].map(|_| queue.was_urgent()), [true; 3]);
    assert_eq!(pop(&queue, taker(at(0))), Some(2));
    assert!(!queue.was_urgent());
    push(&queue, Priority::Critical, entry(3));
    assert_eq!(pop(&queue, taker(at(0))), Some(3));
    assert_eq!([0; 2].map(|_| queue.was_urgent()), [true, false]);
}
