//! Limits of the slices that run now, kept by one thread.
//!
//! - [`SliceState`] decides who ends a slice: its worker or somebody who stops it. It knows neither V8 nor time.
//! - [`Slot`] is one worker's place in the watchdog: the state of its slice and the moments at which a limit is due.
//! - [`Alarm`] says when the watchdog has to look again, and wakes it only for an earlier moment than it sleeps for.
//! - [`Watchdog`] is the thread. At most one slice runs on a worker, so it looks through the few slots rather than keeping a
//!   heap of timers: arming is two stores, disarming one, and no timer can pile up.
//!
//! Invariant: a stop is bound to the epoch of its slice. A late timer finds another epoch and changes nothing, and a slice that
//! was stopped is left only after the request to V8 is out, so that the request can be taken back before the next slice.

mod alarm;
mod slice;
#[cfg(test)]
mod slice_tests;
mod slot;
mod sync;
mod thread;

pub(crate) use alarm::Alarm;
pub(crate) use slice::{Epoch, SliceState, Stop};
pub(crate) use slot::{CpuLimit, Limits, Slot};
pub(crate) use thread::{Watchdog, Watched};

use std::time::Duration;

/// What a slot needs of the isolate and thread that it watches. Called from any thread.
pub(crate) trait Interrupt: Send + Sync {
    /// Asks the isolate to stop the JavaScript that it runs.
    fn terminate(&self);
    /// Takes such a request back.
    fn take_back(&self);
    /// Asks the isolate to look at its memory, as soon as it can while JavaScript runs.
    fn inspect(&self);
    /// The CPU time that the worker's thread has used since it started.
    fn cpu_time(&self) -> Duration;
}
