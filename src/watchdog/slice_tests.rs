//! The state of a slice, step by step. Beside it, because `slice.rs` is also built for loom.

use super::slice::*;

#[test]
fn every_reason_survives_the_word() {
    for reason in Stop::ALL {
        assert_eq!(Stop::of(reason as u64), Some(reason));
    }
    assert_eq!(Stop::of(0), None);
    assert_eq!(Stop::of(15), None);
}

#[test]
fn an_old_epoch_stops_nothing() {
    let state = SliceState::new();
    let first = state.enter();
    assert_eq!(state.leave(first, || unreachable!()), None);
    let second = state.enter();
    assert!(!state.stop(first, Stop::SliceTimeout, || unreachable!()));
    assert_eq!(state.running(), Some(second));
}

#[test]
fn the_first_reason_wins() {
    let state = SliceState::new();
    let epoch = state.enter();
    assert!(state.stop(epoch, Stop::HeapLimit, || ()));
    assert!(!state.stop(epoch, Stop::SliceTimeout, || unreachable!()));
    let mut taken_back = false;
    assert_eq!(state.leave(epoch, || taken_back = true), Some(Stop::HeapLimit));
    assert!(taken_back);
    assert_eq!(state.running(), None);
}
