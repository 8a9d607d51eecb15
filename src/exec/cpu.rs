//! CPU time of slices, without asking the kernel at each of them.
//!
//! Reading a thread's CPU clock is a system call of some hundred nanoseconds. Between two readings the thread cannot have used more
//! than the wall-clock time between them, so a reading up to a millisecond old bounds the clock to within a millisecond.

use std::time::Duration;

use crate::clock::Moment;
use crate::watchdog::CpuLimit;

/// How old a reading may be.
const FRESH: Duration = Duration::from_millis(1);

/// The last reading of a thread's CPU clock.
#[derive(Debug)]
pub(super) struct CpuMeter {
    at: Moment,
    reading: Duration,
}

impl CpuMeter {
    pub(super) fn new(now: Moment, reading: Duration) -> Self {
        CpuMeter { at: now, reading }
    }

    /// What the clock says at most, now.
    fn upper(&mut self, now: Moment, read: impl FnOnce() -> Duration) -> Duration {
        if now.since(self.at) > FRESH {
            *self = CpuMeter { at: now, reading: read() };
        }
        self.reading + now.since(self.at)
    }

    /// The limit of a slice that begins now and may use so much: never reached early, and late by a millisecond at most.
    pub(super) fn limit(&mut self, now: Moment, budget: Duration, read: impl FnOnce() -> Duration) -> CpuLimit {
        CpuLimit { earliest: now.after(budget), reading: self.upper(now, read).saturating_add(budget) }
    }

    /// The CPU time of a slice from `start` to `end`. A short one is taken to have had its core all the time.
    pub(super) fn used(&mut self, start: Moment, end: Moment, read: impl FnOnce() -> Duration) -> Duration {
        let wall = end.since(start);
        if wall <= FRESH {
            return wall;
        }
        let before = self.reading + start.since(self.at).min(FRESH);
        *self = CpuMeter { at: end, reading: read() };
        self.reading.saturating_sub(before).min(wall)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    #[test]
    fn a_limit_is_never_early_and_hardly_late() {
        let start = Moment::from_nanos(0);
        let mut meter = CpuMeter::new(start, 10 * MS);
        let soon = start.after(MS / 2);
        let limit = meter.limit(soon, 50 * MS, || panic!("the reading is fresh"));
        assert_eq!(limit.reading, 60 * MS + MS / 2);
        assert_eq!(limit.earliest, soon.after(50 * MS));
        let later = start.after(100 * MS);
        assert_eq!(meter.limit(later, 50 * MS, || 30 * MS).reading, 80 * MS);
    }

    #[test]
    fn a_long_slice_that_was_preempted_counts_what_it_used() {
        let start = Moment::from_nanos(0);
        let mut meter = CpuMeter::new(start, Duration::ZERO);
        assert_eq!(meter.used(start, start.after(MS / 4), || panic!("short")), MS / 4);
        assert_eq!(meter.used(start, start.after(100 * MS), || 40 * MS), 40 * MS);
    }
}
