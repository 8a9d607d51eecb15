//! The monotonic clock as one integer, so that a point in time fits into an atomic.

use std::sync::OnceLock;
use std::time::{Duration, Instant};

/// A point of monotonic time, in nanoseconds since the first use of the clock in this process.
///
/// `Moment::NEVER` lies beyond every other moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Moment(u64);

impl Moment {
    /// Later than every moment that the clock returns.
    pub const NEVER: Moment = Moment(u64::MAX);

    /// Now.
    pub fn now() -> Self {
        Moment(as_nanos(origin().elapsed()))
    }

    /// The moment `duration` later; `NEVER` where that lies beyond the range of the clock.
    pub fn after(self, duration: Duration) -> Self {
        Moment(self.0.saturating_add(as_nanos(duration)))
    }

    /// The time from `earlier` to this moment; zero where `earlier` is the later one.
    pub fn since(self, earlier: Moment) -> Duration {
        Duration::from_nanos(self.0.saturating_sub(earlier.0))
    }

    /// The integer behind the moment.
    pub const fn to_nanos(self) -> u64 {
        self.0
    }

    /// The moment of an integer that came from `to_nanos`.
    pub const fn from_nanos(nanos: u64) -> Self {
        Moment(nanos)
    }
}

fn origin() -> Instant {
    static ORIGIN: OnceLock<Instant> = OnceLock::new();
    *ORIGIN.get_or_init(Instant::now)
}

fn as_nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn never_stays_never() {
        assert_eq!(Moment::NEVER.after(Duration::from_secs(1)), Moment::NEVER);
        assert_eq!(Moment::now().after(Duration::MAX), Moment::NEVER);
    }

    #[test]
    fn goes_forward() {
        let first = Moment::now();
        let second = Moment::now();
        assert!(second >= first);
        assert_eq!(first.since(second.after(Duration::from_secs(1))), Duration::ZERO);
    }
}
