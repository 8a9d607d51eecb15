//! The small state machines under loom: every order in which their threads can run.
//!
//! They are built here from their source files, with loom's atomics in place of the system's.

#![allow(dead_code)]

use loom::sync::Arc;
use loom::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use alarm::Alarm;
use clock::Moment;
use slice::{SliceState, Stop};

#[path = "../src/watchdog/alarm.rs"]
mod alarm;
#[path = "../src/clock.rs"]
mod clock;
#[path = "../src/watchdog/slice.rs"]
mod slice;

mod sync {
    pub(crate) use loom::sync::atomic;

    pub(crate) fn relax(_round: u32) {
        loom::thread::yield_now();
    }
}

/// V8's flag "terminate": set by a stop, cleared by a worker that leaves. Whatever the order, it is clear when the next slice
/// begins, and the worker knows of a stop exactly when the watchdog believes that it stopped the slice.
#[test]
fn a_stop_never_reaches_the_next_slice() {
    loom::model(|| {
        let state = Arc::new(SliceState::new());
        let flag = Arc::new(AtomicBool::new(false));
        let first = state.enter();
        let watchdog = {
            let (state, flag) = (state.clone(), flag.clone());
            loom::thread::spawn(move || state.stop(first, Stop::SliceTimeout, || flag.store(true, Ordering::SeqCst)))
        };
        let reason = state.leave(first, || flag.store(false, Ordering::SeqCst));
        let second = state.enter();
        assert!(!flag.load(Ordering::SeqCst), "the second slice begins with a pending termination");
        let stopped = watchdog.join().unwrap();
        assert!(!flag.load(Ordering::SeqCst), "a late request hit the second slice");
        assert_eq!(stopped, reason.is_some());
        assert_eq!(state.leave(second, || unreachable!()), None);
    });
}

/// Two who stop the same slice: one of them succeeds, and the worker learns that one's reason.
#[test]
fn one_of_two_stops_wins() {
    loom::model(|| {
        let state = Arc::new(SliceState::new());
        let epoch = state.enter();
        let other = {
            let state = state.clone();
            loom::thread::spawn(move || state.stop(epoch, Stop::Cancelled, || ()))
        };
        let here = state.stop(epoch, Stop::HeapLimit, || ());
        let reason = state.leave(epoch, || ());
        let there = other.join().unwrap();
        assert!(here != there);
        assert_eq!(reason, Some(if here { Stop::HeapLimit } else { Stop::Cancelled }));
    });
}

/// A limit armed while the watchdog goes to sleep: it is seen by the last look, or its owner wakes the watchdog.
#[test]
fn no_limit_is_overslept() {
    loom::model(|| {
        let alarm = Arc::new(Alarm::new());
        let due = Arc::new(AtomicU64::new(u64::MAX));
        let worker = {
            let (alarm, due) = (alarm.clone(), due.clone());
            loom::thread::spawn(move || {
                due.store(5, Ordering::SeqCst);
                alarm.is_earlier(Moment::from_nanos(5))
            })
        };
        let asleep = alarm.set(Moment::from_nanos(9), || Moment::from_nanos(due.load(Ordering::SeqCst)));
        let woken = worker.join().unwrap();
        assert!(!asleep || woken, "asleep until 9, with a limit due at 5 and nobody to wake");
    });
}
