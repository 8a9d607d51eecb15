//! Which entry comes next while nothing is overloaded.

use super::super::lane::{COURTESY, LOOK_AHEAD};
use super::*;

fn of_home(id: u32, home: u64) -> Entry {
    Entry { home: Some(home), ..entry(id) }
}

fn at_worker(worker: usize, now: Moment) -> Taker {
    Taker { worker, ..taker(now) }
}

#[test]
fn the_most_urgent_first_and_each_lane_in_order() {
    let queue = queue(8);
    push(&queue, Priority::Background, entry(1));
    push(&queue, Priority::Normal, entry(2));
    push(&queue, Priority::Critical, entry(3));
    push(&queue, Priority::Normal, Entry { suspends: true, ..entry(4) });
    push(&queue, Priority::Normal, Entry { deadline: at(1_000), ..entry(5) });
    push(&queue, Priority::Normal, entry(6));
    let order: Vec<_> = std::iter::from_fn(|| pop(&queue, taker(at(0)))).collect();
    assert_eq!(order, [3, 2, 4, 5, 6, 1]);
}

#[test]
fn a_worker_with_enough_live_tasks_passes_over_those_that_suspend() {
    let queue = queue(8);
    push(&queue, Priority::Critical, Entry { suspends: true, ..entry(1) });
    push(&queue, Priority::Normal, Entry { suspends: true, ..entry(2) });
    push(&queue, Priority::Normal, entry(3));
    let full = Taker { may_suspend: false, ..taker(at(0)) };
    assert!(queue.has_work(false));
    assert_eq!([0; 2].map(|_| pop(&queue, full)), [Some(3), None]);
    assert!(!queue.has_work(false) && queue.has_work(true));
    assert_eq!([0; 3].map(|_| pop(&queue, taker(at(0)))), [Some(1), Some(2), None]);
}

#[test]
fn a_cold_worker_takes_one_that_it_is_warm_for() {
    let queue = queue(8);
    queue.warmth().mark(1, 1);
    queue.warmth().mark(2, 0);
    for (id, home) in [(1, 1), (2, 1), (3, 2)] {
        push(&queue, Priority::Normal, of_home(id, home));
    }
    assert_eq!([0; 3].map(|_| pop(&queue, taker(at(0)))), [Some(3), Some(1), Some(2)]);
}

#[test]
fn who_is_cold_everywhere_or_has_no_home_is_passed_over_by_nobody() {
    for first in [entry(1), of_home(1, 7)] {
        let queue = queue(8);
        queue.warmth().mark(2, 0);
        push(&queue, Priority::Normal, first);
        push(&queue, Priority::Normal, of_home(2, 2));
        assert_eq!([0; 2].map(|_| pop(&queue, taker(at(0)))), [Some(1), Some(2)]);
    }
}

#[test]
fn nobody_is_passed_over_for_longer_than_a_moment() {
    let queue = queue(8);
    queue.warmth().mark(1, 1);
    queue.warmth().mark(2, 0);
    push(&queue, Priority::Normal, of_home(1, 1));
    push(&queue, Priority::Normal, of_home(2, 2));
    assert_eq!(pop(&queue, taker(at(0).after(COURTESY))), Some(1));
}

#[test]
fn a_worker_looks_at_a_few_entries_only() {
    let queue = queue(64);
    queue.warmth().mark(1, 1);
    queue.warmth().mark(2, 0);
    for id in 0..LOOK_AHEAD as u32 {
        push(&queue, Priority::Normal, of_home(id, 1));
    }
    push(&queue, Priority::Normal, of_home(99, 2));
    assert_eq!(pop(&queue, taker(at(0))), Some(0));
    assert_eq!(pop(&queue, taker(at(0))), Some(99));
}

#[test]
fn an_entry_is_kept_for_the_worker_that_was_woken_for_it() {
    let queue = queue(8);
    queue.warmth().mark(1, 1);
    assert!(queue.announce_sleep(1, true));
    push(&queue, Priority::Normal, of_home(1, 1));
    assert_eq!(pop(&queue, taker(at(0))), None, "it is for worker 1");
    assert!(queue.has_work(true));
    push(&queue, Priority::Normal, of_home(2, 1));
    assert_eq!(pop(&queue, taker(at(0))), Some(2), "nobody was woken for this one");
    assert_eq!(pop(&queue, at_worker(1, at(0))), Some(1));
}

#[test]
fn an_entry_is_not_kept_from_a_worker_that_is_warm_too() {
    let queue = queue(8);
    queue.warmth().mark(1, 1);
    queue.warmth().mark(1, 0);
    assert!(queue.announce_sleep(1, true));
    push(&queue, Priority::Normal, of_home(1, 1));
    assert_eq!(pop(&queue, taker(at(0))), Some(1));
}

#[test]
fn a_worker_that_does_not_come_loses_its_entry() {
    let queue = queue(8);
    queue.warmth().mark(1, 1);
    assert!(queue.announce_sleep(1, true));
    push(&queue, Priority::Normal, of_home(1, 1));
    assert_eq!(pop(&queue, taker(at(0).after(COURTESY))), Some(1));
}
