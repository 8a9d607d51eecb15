//! What is shed, what never is, and in which order the rest comes.

use super::*;

/// Submitted then, with 80 ms until its deadline: a target of 10 ms, a limit of 20 ms, and an interval of 100 ms.
fn timed(id: u32, submitted: u64) -> Entry {
    Entry { submitted: at(submitted), deadline: at(submitted + 80), ..entry(id) }
}

/// A queue whose normal lane is overloaded at 110 ms, with two entries that were submitted then and there.
fn overloaded() -> Queue<Entry> {
    let queue = queue(64);
    for id in 0..12 {
        push(&queue, Priority::Normal, timed(id, u64::from(id) * 9));
    }
    // The oldest has waited for 11 ms at each look.
    for id in 0..10_u32 {
        assert_eq!(pop_and_shed(&queue, at(u64::from(id) * 9 + 11)), (Some(id), vec![]));
    }
    queue
}

#[test]
fn the_newest_comes_first_and_the_stale_are_shed() {
    let queue = overloaded();
    for id in 12..15 {
        push(&queue, Priority::Normal, timed(id, 111));
    }
    // 10 and 11 were submitted at 90 and 99.
    assert_eq!(pop_and_shed(&queue, at(111)), (Some(14), vec![10]));
    assert_eq!(pop_and_shed(&queue, at(112)), (Some(13), vec![]));
    assert_eq!(pop_and_shed(&queue, at(119)), (Some(12), vec![]));
    assert_eq!(pop_and_shed(&queue, at(200)), (Some(11), vec![]), "the newest is never shed");
    assert_eq!(queue.lengths(), [0; 3]);
    let rooms: Vec<_> = (0..64).map(|_| queue.try_room(Priority::Normal).unwrap()).collect();
    drop(rooms);
}

#[test]
fn an_overload_that_is_over_leaves_the_order_as_it_was() {
    let queue = overloaded();
    assert_eq!(pop_and_shed(&queue, at(111)), (Some(11), vec![10]));
    for id in 20..23 {
        push(&queue, Priority::Normal, timed(id, 300));
    }
    assert_eq!([0; 3].map(|_| pop_and_shed(&queue, at(305))), [20, 21, 22].map(|id| (Some(id), vec![])));
}

#[test]
fn who_asked_to_wait_is_never_shed_and_gets_every_other_turn() {
    let queue = overloaded();
    for id in 100..103 {
        push(&queue, Priority::Normal, entry(id));
    }
    for id in 12..15 {
        push(&queue, Priority::Normal, timed(id, 105));
    }
    let order: Vec<_> = (0..6).map(|_| pop_and_shed(&queue, at(116))).collect();
    let shed: Vec<u32> = order.iter().flat_map(|(_, shed)| shed.clone()).collect();
    let order: Vec<_> = order.iter().filter_map(|(id, _)| *id).collect();
    assert_eq!(order, [14, 100, 13, 101, 12, 102]);
    assert_eq!(shed, [10]);
    assert_eq!(pop_and_shed(&queue, at(116)), (Some(11), vec![]));
}

/// The only worker takes a second for each.
#[test]
fn a_thousand_slow_calls_at_once_are_all_served_in_order() {
    let queue = queue(1024);
    for id in 0..1_000 {
        push(&queue, Priority::Background, entry(id));
    }
    for id in 0..1_000 {
        assert_eq!(pop_and_shed(&queue, at(u64::from(id) * 1_000)), (Some(id), vec![]));
    }
}

/// Two hundred calls at once, which take all the time that they have but for the last one's own run.
#[test]
fn a_burst_that_can_be_done_in_time_loses_nothing() {
    let queue = queue(1024);
    for id in 0..200 {
        push(&queue, Priority::Normal, Entry { deadline: at(1_000), ..entry(id) });
    }
    for id in 0..200 {
        assert_eq!(pop_and_shed(&queue, at(u64::from(id) * 5)), (Some(id), vec![]));
    }
}

/// Each slice of the only worker takes a second, and critical calls come all the time.
#[test]
fn critical_calls_that_wait_for_long_slices_of_others_are_not_shed() {
    let queue = queue(64);
    let mut id = 0;
    for second in 1..60_u64 {
        push(&queue, Priority::Normal, entry(9_999));
        for early in [900, 600, 300] {
            id += 1;
            let submitted = at(second * 1_000 - early);
            let deadline = submitted.after(2_000 * MS);
            push(&queue, Priority::Critical, Entry { submitted, deadline, ..entry(id) });
        }
        let expected = [id - 2, id - 1, id, 9_999].map(|id| (Some(id), vec![]));
        assert_eq!([0; 4].map(|_| pop_and_shed(&queue, at(second * 1_000))), expected);
    }
}

#[test]
fn only_the_overloaded_priority_sheds() {
    let queue = overloaded();
    push(&queue, Priority::Critical, timed(50, 60));
    push(&queue, Priority::Critical, timed(51, 60));
    push(&queue, Priority::Background, timed(60, 60));
    push(&queue, Priority::Background, timed(61, 60));
    let all: Vec<_> = (0..6).map(|_| pop_and_shed(&queue, at(111))).collect();
    let shed = all.iter().flat_map(|(_, shed)| shed.clone()).collect::<Vec<_>>();
    let order: Vec<_> = all.iter().filter_map(|(id, _)| *id).collect();
    assert_eq!((order, shed), (vec![50, 51, 11, 60, 61], vec![10]));
}

#[test]
fn switched_off_it_never_sheds() {
    let queue = Queue::new([1024; 3], Admission::Off);
    for id in 0..500 {
        push(&queue, Priority::Normal, timed(id, 0));
    }
    for id in 0..500 {
        assert_eq!(pop_and_shed(&queue, at(u64::from(id))), (Some(id), vec![]));
    }
}

#[test]
fn with_a_target_of_its_own_a_call_without_a_deadline_is_shed_too() {
    let queue = Queue::new([1024; 3], Admission::CODEL);
    for id in 0..100 {
        push(&queue, Priority::Normal, entry(id));
    }
    assert_eq!(pop_and_shed(&queue, at(10)), (Some(0), vec![]));
    assert_eq!(pop_and_shed(&queue, at(109)), (Some(1), vec![]));
    let (id, shed) = pop_and_shed(&queue, at(110));
    assert_eq!((id, shed), (Some(99), (2..66).collect()), "so many at a time");
    assert_eq!(pop_and_shed(&queue, at(110)), (Some(98), (66..98).collect()));
}

#[test]
fn entries_that_may_not_be_taken_are_not_judged() {
    let queue = queue(64);
    for id in 0..4 {
        push(&queue, Priority::Normal, Entry { suspends: true, ..timed(id, 0) });
    }
    let full = |now| Taker { may_suspend: false, ..taker(now) };
    for millis in 11..200 {
        assert_eq!(pop(&queue, full(at(millis))), None);
    }
    assert_eq!(pop_and_shed(&queue, at(200)), (Some(0), vec![]));
    assert_eq!(pop_and_shed(&queue, at(300)), (Some(3), vec![1, 2]));
}
