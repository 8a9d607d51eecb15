//! The small state machines under loom: every order in which their threads can run.
//!
//! They are built here from their source files, with loom's atomics in place of the system's.

#![allow(dead_code)]

use std::task::{Poll, Waker};

use loom::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use loom::sync::{Arc, Mutex};

use alarm::Alarm;
use clock::Moment;
use slice::{SliceState, Stop};
use state::{Ask, Begin, Caller, Channel, Event, Leave, Stopping, Unwanted};

#[path = "../src/watchdog/alarm.rs"]
mod alarm;
#[path = "../src/clock.rs"]
mod clock;
#[path = "../src/watchdog/slice.rs"]
mod slice;
#[path = "../src/channel/state.rs"]
mod state;

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

/// A channel under its lock: requests and answers are numbers, an end is a number, a slice is stopped by its name, and home is a name.
type Call = Arc<Mutex<Channel<u32, u32, u32, &'static str, &'static str>>>;

/// A call whose first slice runs.
fn running() -> Call {
    let mut channel = Channel::new();
    assert_eq!(channel.ask(), Ask::Submit);
    assert_eq!(channel.begin("slice"), Begin::Yes);
    Arc::new(Mutex::new(channel))
}

/// A call whose caller has its first request.
fn held() -> Call {
    let call = running();
    {
        let mut channel = call.lock().unwrap();
        assert!(channel.pause(Some(1), || "home").is_ok());
        assert_eq!(channel.poll(Waker::noop()), Poll::Ready(Event::Request(1)));
    }
    call
}

/// A caller leaves while a slice pauses: either the worker is told, or it finds out at the pause, and never both.
#[test]
fn a_caller_that_leaves_at_a_pause_is_noticed_once() {
    use {Caller::*, Stopping::*};
    for (request, stopping, caller) in
        [(Some(1), AtPause, Goes), (Some(1), AtPause, Stays), (None, AtPause, Goes), (None, AtOnce, Goes)]
    {
        loom::model(move || {
            let call = running();
            let worker = {
                let call = call.clone();
                loom::thread::spawn(move || call.lock().unwrap().pause(request, || "home").is_err())
            };
            let (leave, _rest) = call.lock().unwrap().leave(stopping, caller);
            let told = matches!(leave, Leave::Tell("home"));
            let found = worker.join().unwrap();
            assert!(told != found, "told: {told}, found at the pause: {found}");
            assert!(
                !matches!(leave, Leave::Stop(_)) || (found && stopping == AtOnce),
                "a slice is stopped that was over"
            );
            let mut channel = call.lock().unwrap();
            assert!(channel.is_left());
            assert_eq!(channel.end(7).is_ok(), caller == Stays, "only who waits gets the end of the closing");
        });
    }
}

/// While the caller has the floor, another slice of its script may run. A caller that leaves then is noticed all the same.
#[test]
fn a_caller_that_leaves_while_it_has_the_floor_is_noticed() {
    loom::model(|| {
        let call = held();
        let worker = {
            let call = call.clone();
            loom::thread::spawn(move || {
                let begun = call.lock().unwrap().begin("slice");
                begun == Begin::Left || call.lock().unwrap().pause(None, || "home").is_err()
            })
        };
        let (leave, _rest) = call.lock().unwrap().leave(Stopping::AtPause, Caller::Goes);
        let found = worker.join().unwrap();
        assert!(found || leave == Leave::Tell("home"), "{leave:?}");
    });
}

/// An answer meets the end of its call: it is taken in or refused, nobody gets it later, and the end comes once.
#[test]
fn an_answer_at_the_end_reaches_nobody() {
    loom::model(|| {
        let call = held();
        let worker = {
            let call = call.clone();
            loom::thread::spawn(move || call.lock().unwrap().end(9).is_ok())
        };
        let answered = call.lock().unwrap().answer(1, 5);
        let ask = call.lock().unwrap().ask();
        assert!(matches!(answered, Ok(()) | Err((Unwanted::Ended, 5))), "{answered:?}");
        assert!(answered.is_ok() || ask == Ask::Wait, "a call that has ended is told of nothing");
        assert!(worker.join().unwrap());
        let mut channel = call.lock().unwrap();
        assert_eq!(channel.take_answer(), None);
        assert_eq!(channel.poll(Waker::noop()), Poll::Ready(Event::End(9)));
        assert_eq!(channel.poll(Waker::noop()), Poll::Ready(Event::Over));
    });
}

/// A caller that waits is woken, or sees what came before it looked.
#[test]
fn no_request_and_no_end_is_overslept() {
    for ends in [false, true] {
        loom::model(move || {
            let call = running();
            let worker = {
                let call = call.clone();
                loom::thread::spawn(move || {
                    let mut channel = call.lock().unwrap();
                    let waker = if ends {
                        channel.end(9).map(|(waker, _)| waker).map_err(drop)
                    } else {
                        channel.pause(Some(1), || "home").map_err(drop)
                    };
                    waker.expect("its caller is there").is_some()
                })
            };
            let seen = call.lock().unwrap().poll(Waker::noop());
            let woken = worker.join().unwrap();
            assert!(seen.is_ready() != woken, "asleep for ever, or woken for what was seen: {seen:?}, {woken}");
        });
    }
}

/// A caller goes on while another slice of its script runs: its answer is taken by that slice, or the worker is told of it.
#[test]
fn no_answer_is_overlooked() {
    loom::model(|| {
        let call = held();
        let worker = {
            let call = call.clone();
            loom::thread::spawn(move || {
                assert_eq!(call.lock().unwrap().begin("slice"), Begin::Yes);
                let taken = call.lock().unwrap().take_answer();
                assert!(call.lock().unwrap().pause(None, || "home").is_ok());
                taken
            })
        };
        call.lock().unwrap().answer(1, 5).unwrap();
        let ask = call.lock().unwrap().ask();
        assert_eq!(ask, Ask::Tell("home"), "whoever was told finds the answer, or that it was taken");
        let taken = worker.join().unwrap();
        let later = call.lock().unwrap().take_answer();
        assert!(matches!((taken, later), (Some(Some(5)), None) | (None, Some(Some(5)))), "{taken:?}, {later:?}");
    });
}

/// Two who end a call (its worker and the watchdog, or the queue): one of them does, and its caller is told once.
#[test]
fn a_call_ends_once() {
    loom::model(|| {
        let call = running();
        let other = {
            let call = call.clone();
            loom::thread::spawn(move || call.lock().unwrap().end(2).is_ok())
        };
        let here = {
            let mut channel = call.lock().unwrap();
            channel.pause(Some(1), || "home").is_ok() && channel.end(3).is_ok()
        };
        let there = other.join().unwrap();
        assert!(here != there, "{here} {there}");
        let mut channel = call.lock().unwrap();
        // The request went with the end: nobody is asked by a call that has ended.
        assert_eq!(channel.poll(Waker::noop()), Poll::Ready(Event::End(if here { 3 } else { 2 })));
        assert_eq!(channel.poll(Waker::noop()), Poll::Ready(Event::Over));
    });
}

/// A caller that takes events while its call asks and ends sees the request before the end, or the end alone.
#[test]
fn no_request_comes_after_the_end() {
    loom::model(|| {
        let call = running();
        let worker = {
            let call = call.clone();
            loom::thread::spawn(move || {
                assert!(call.lock().unwrap().pause(Some(1), || "home").is_ok());
                assert!(call.lock().unwrap().end(9).is_ok());
            })
        };
        let mut seen = Vec::new();
        for _ in 0..2 {
            if let Poll::Ready(event) = call.lock().unwrap().poll(Waker::noop()) {
                seen.push(event);
            }
        }
        worker.join().unwrap();
        if !seen.contains(&Event::End(9)) {
            let Poll::Ready(event) = call.lock().unwrap().poll(Waker::noop()) else { panic!("an end is missing") };
            seen.push(event);
        }
        let over = seen.iter().position(|event| *event == Event::End(9)).expect("the end is told");
        assert!(over <= 1 && (over == 0 || seen[0] == Event::Request(1)), "{seen:?}");
        assert!(seen[over + 1..].iter().all(|event| *event == Event::Over), "{seen:?}");
    });
}
