//! Every step of the channel, and who may take it.

use std::task::{Poll, Waker};

use super::*;

type Small = Channel<&'static str, u32, Result<u32, &'static str>, &'static str, &'static str>;

fn poll(channel: &mut Small) -> Poll<Event<&'static str, Result<u32, &'static str>>> {
    channel.poll(Waker::noop())
}

/// A channel whose script has yielded once, and whose caller has that.
fn held() -> Small {
    let mut channel = Small::new();
    assert_eq!(channel.ask(), Ask::Submit);
    assert_eq!(channel.begin("stop"), Begin::Yes);
    assert!(channel.pause(Some("price"), || "home").is_ok());
    assert_eq!(poll(&mut channel), Poll::Ready(Event::Request("price")));
    channel
}

#[test]
fn request_and_reply_take_turns() {
    let mut channel = held();
    assert_eq!(channel.asked(), Some(1));
    assert!(channel.answer(1, 7).is_ok());
    assert_eq!(channel.take_answer(), None, "the script does not run ahead of its caller");
    assert_eq!(channel.ask(), Ask::Tell("home"));
    assert_eq!(channel.ask(), Ask::Wait, "asking twice asks once");
    assert_eq!(channel.begin("stop"), Begin::Yes);
    assert_eq!(channel.take_answer(), Some(Some(7)));
    assert_eq!(channel.take_answer(), None);
    assert!(channel.end(Ok(8)).is_ok());
    assert_eq!(poll(&mut channel), Poll::Ready(Event::End(Ok(8))));
    assert_eq!(poll(&mut channel), Poll::Ready(Event::Over));
}

#[test]
fn answers_that_nobody_waits_for_come_back() {
    let mut new = Small::new();
    assert_eq!(new.answer(0, 1), Err((Unwanted::NotAsked, 1)));
    let mut channel = held();
    assert_eq!(channel.answer(3, 1), Err((Unwanted::Late, 1)));
    assert!(channel.answer(1, 1).is_ok());
    assert_eq!(channel.answer(1, 2), Err((Unwanted::Answered, 2)));
    channel.ask();
    assert_eq!(channel.answer(1, 2), Err((Unwanted::Answered, 2)));
    channel.begin("stop");
    assert_eq!(channel.take_answer(), Some(Some(1)), "the first answer stands");
    assert!(channel.pause(Some("next"), || "home").is_ok());
    poll(&mut channel).is_ready();
    assert_eq!(channel.answer(1, 3), Err((Unwanted::Late, 3)), "an answer to the request before");
    assert!(channel.end(Err("deadline")).is_ok());
    assert_eq!(channel.answer(2, 3), Err((Unwanted::Ended, 3)));
}

#[test]
fn a_caller_that_leaves() {
    let mut queued = Small::new();
    queued.ask();
    assert_eq!(queued.leave(Stopping::AtPause, Caller::Goes).0, Leave::Nothing);
    assert_eq!(queued.begin("stop"), Begin::Left, "it never runs");

    let mut running = Small::new();
    running.ask();
    running.begin("stop");
    assert_eq!(running.leave(Stopping::AtOnce, Caller::Goes).0, Leave::Stop("stop"));

    let mut gently = Small::new();
    gently.ask();
    gently.begin("stop");
    assert_eq!(gently.leave(Stopping::AtPause, Caller::Goes).0, Leave::Nothing);
    assert_eq!(gently.pause(Some("unwanted"), || "home").unwrap_err(), Some("unwanted"));

    let mut paused = held();
    assert_eq!(paused.leave(Stopping::AtPause, Caller::Goes).0, Leave::Tell("home"));
    assert_eq!(paused.leave(Stopping::AtPause, Caller::Goes).0, Leave::Nothing, "once is enough");
    assert!(paused.is_over());
    assert_eq!(paused.end(Ok(1)).unwrap_err(), Ok(1));
}

#[test]
fn a_caller_that_stays_for_the_closing() {
    let mut channel = held();
    assert_eq!(channel.leave(Stopping::AtPause, Caller::Stays).0, Leave::Tell("home"));
    assert!(channel.is_left() && !channel.is_over());
    assert_eq!(poll(&mut channel), Poll::Pending);
    assert!(channel.end(Err("closed")).is_ok());
    assert_eq!(poll(&mut channel), Poll::Ready(Event::End(Err("closed"))));
    let mut ended = held();
    assert!(ended.end(Ok(3)).is_ok());
    assert_eq!(ended.leave(Stopping::AtPause, Caller::Stays).0, Leave::Nothing);
    assert_eq!(poll(&mut ended), Poll::Ready(Event::End(Ok(3))));
}

#[test]
fn a_slice_while_the_caller_has_the_floor_changes_nothing() {
    let mut channel = held();
    assert_eq!(channel.begin("stop"), Begin::Yes);
    assert_eq!(channel.leave(Stopping::AtPause, Caller::Goes).0, Leave::Tell("home"), "it is told, and not stopped");
    let mut channel = held();
    channel.begin("stop");
    assert!(channel.pause(None, || "other").is_ok());
    assert!(channel.waits_for_caller());
    assert!(channel.answer(1, 5).is_ok());
    assert_eq!(channel.ask(), Ask::Tell("home"), "it stays where it is");
}
