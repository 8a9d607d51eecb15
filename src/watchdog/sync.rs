//! What the state machines take from the system. The loom models in `tests/models.rs` put loom's in this place.

pub(crate) use std::sync::atomic;

/// Waits a little for another thread that is about to do something: a few instructions, unless it lost its core.
pub(crate) fn relax(round: u32) {
    if round % 64 == 63 {
        std::thread::yield_now();
    } else {
        std::hint::spin_loop();
    }
}
