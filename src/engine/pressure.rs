//! The load of a running engine, sampled by whoever comes by, and whether background work is welcome.
//!
//! Workers come by when they renew their figures, the watchdog during long slices, and those who ask for the load. `Pressure` sees to it that
//! one of them takes the sample at a time, and not too often; what it means is up to `Meter` and `Gate`.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use parking_lot::Mutex;

use super::admission::Gate;
use super::load::{Load, Meter, Reading};
use crate::clock::Moment;

/// How often the load is sampled by those who come by.
pub(super) const USUAL: Duration = Duration::from_millis(100);

/// How often for those who ask for it.
pub(super) const SOON: Duration = Duration::from_millis(10);

/// The meter and the gate of an engine.
pub(super) struct Pressure {
    sampled: AtomicU64,
    closed: AtomicBool,
    state: Mutex<(Meter, Gate)>,
}

impl Pressure {
    pub(super) fn new(now: Moment, workers: usize, gate: Gate) -> Self {
        Pressure {
            sampled: AtomicU64::new(now.to_nanos()),
            closed: AtomicBool::new(false),
            state: Mutex::new((Meter::new(now, workers), gate)),
        }
    }

    /// Whether the caller is to take a sample: the last one is that old, and nobody else takes one.
    pub(super) fn is_due(&self, now: Moment, age: Duration) -> bool {
        let last = self.sampled.load(Ordering::Relaxed);
        now.since(Moment::from_nanos(last)) >= age
            && self.sampled.compare_exchange(last, now.to_nanos(), Ordering::Relaxed, Ordering::Relaxed).is_ok()
    }

    /// Takes in a sample. `then` gets the load and whether the gate is closed, before anybody else's sample can be taken in.
    pub(super) fn feed(&self, now: Moment, readings: &[Option<Reading>], urgent: bool, then: impl FnOnce(&Load, bool)) {
        let mut state = self.state.lock();
        let (meter, gate) = &mut *state;
        meter.feed(now, readings);
        let load = meter.load();
        let closed = gate.feed(now, load.one_second, urgent);
        self.closed.store(closed, Ordering::Relaxed);
        then(&load, closed);
    }

    pub(super) fn load(&self) -> Load {
        self.state.lock().0.load()
    }

    /// Whether background work is unwelcome.
    pub(super) fn is_closed(&self) -> bool {
        self.closed.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: u64) -> Moment {
        Moment::from_nanos(millis * 1_000_000)
    }

    #[test]
    fn a_sample_is_taken_once_and_not_too_often() {
        let pressure = Pressure::new(at(0), 1, Gate::new(0.9, 0.7));
        assert!(!pressure.is_due(at(99), USUAL));
        assert!(pressure.is_due(at(100), USUAL));
        assert!(!pressure.is_due(at(100), USUAL));
        assert!(!pressure.is_due(at(105), SOON));
        assert!(pressure.is_due(at(110), SOON));
    }

    #[test]
    fn a_high_load_closes_the_gate_and_a_low_one_opens_it() {
        let pressure = Pressure::new(at(0), 1, Gate::new(0.9, 0.7));
        let mut told = Vec::new();
        for second in 1..=5_u64 {
            // Busy for three seconds, then idle.
            let busy = Duration::from_secs(second.min(3));
            let reading = Reading { slices: busy, running: None, thread: busy };
            pressure.feed(at(second * 1_000), &[Some(reading)], true, |load, closed| {
                told.push((load.one_second > 0.9, closed));
            });
            assert_eq!(told.last().map(|(_, closed)| *closed), Some(pressure.is_closed()));
        }
        assert_eq!(told, [(false, false), (false, false), (true, true), (false, false), (false, false)]);
        assert!(pressure.load().one_second < 0.2);
    }
}
