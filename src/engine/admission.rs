//! Which calls an overloaded engine refuses, so that the others are still answered in time.
//!
//! - [`Admission`] says for how long a call may wait before its waiting counts as overload; `Patience` is that for one call. The queue
//!   draws the consequences.
//! - `Gate` closes to background work while the load is high; [`Background`] says what becomes of that work meanwhile.
//!
//! Pure: time and load are given, never read. It does not know calls, queues or workers.

use std::time::Duration;

use crate::clock::Moment;
use crate::error::{Error, Result};

/// How the time that calls wait decides which of them are refused with [`Shed`](crate::ErrorKind::Shed) when there is more to do than
/// the workers can do.
///
/// A queue that is long for a moment is a burst, and passes; one that stays long is overload: all that it does is to make each answer late.
/// Controlled delay (CoDel: Nichols and Jacobson, "Controlling Queue Delay", 2012; RFC 8289) tells them apart by the waiting time. When the
/// oldest call of a priority has waited longer than a *target*, without a break for an *interval*, that priority is overloaded, until
/// its oldest call has waited less than the target again, or nothing waits. An overload that comes back within an interval is one at once.
///
/// While it lasts, the newest call is taken first, since it still has the best prospect to be answered in time, and a call that has waited for
/// more than twice the target is refused, unless it is the newest itself. This is the form of the algorithm for servers (Maurer, "Fail at
/// Scale", ACM Queue 2015). Refusing at twice the target rather than at the target keeps the overload apart from its end.
///
/// More urgent work is always taken first, so critical calls are refused only when they alone are more than the workers can do.
///
/// ```
/// # fn main() -> jsmill::Result<()> {
/// use jsmill::{Admission, Engine};
/// use std::time::Duration;
/// let engine = Engine::builder().workers(1).admission(Admission::CODEL).build()?;
/// assert_eq!(
///     Admission::CODEL,
///     Admission::Delay { target: Duration::from_millis(5), interval: Duration::from_millis(100) }
/// );
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Admission {
    /// Nothing is refused for its waiting, and the oldest call is always taken first. Under lasting overload every call waits until
    /// shortly before its deadline, and hardly any is answered in time.
    Off,
    /// Only calls with a [deadline](crate::Limits::deadline) are refused: their target is an eighth of the time that they have, 5 ms at
    /// least, and their interval all of it, 100 ms at least. The default.
    ///
    /// A call without a deadline has asked to wait for as long as it takes, and does: a thousand calls of a second each, made at once, are
    /// all answered. In an overloaded priority such calls get every other turn, the oldest first. Nor does a batch of calls with deadlines
    /// that are made together lose one, if the workers can do all of it in time. Calls of one priority are measured by the shortest
    /// deadline among those that wait together, so give those with very different ones different priorities.
    #[default]
    Deadline,
    /// Every call has this target and this interval, with a deadline or without one: for services whose every call has a caller who
    /// does not wait long. Time spent waiting for room in a full queue counts.
    Delay {
        /// How long calls may wait without any consequence. At least 1 ms; [`CODEL`](Admission::CODEL) has 5 ms.
        target: Duration,
        /// How long the queue may be above the target before it is overloaded. At least the target; [`CODEL`](Admission::CODEL) has 100 ms.
        interval: Duration,
    },
}

/// The values of the papers, which are the least that `Admission::Deadline` takes too.
const TARGET: Duration = Duration::from_millis(5);
const INTERVAL: Duration = Duration::from_millis(100);

/// The part of its time that a call with a deadline may wait.
const SHARE: u32 = 8;

/// For how long a call may wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Patience {
    pub(super) target: Duration,
    pub(super) interval: Duration,
}

impl Patience {
    /// A call that has waited longer is refused where there is overload.
    pub(super) fn limit(self) -> Duration {
        self.target.saturating_mul(2)
    }
}

impl Admission {
    /// Controlled delay with the values of the papers: a target of 5 ms, and an interval of 100 ms.
    pub const CODEL: Admission = Admission::Delay { target: TARGET, interval: INTERVAL };

    /// The patience of a call; `None` for one that is never refused.
    pub(super) fn patience(self, submitted: Moment, deadline: Moment) -> Option<Patience> {
        match self {
            Admission::Off => None,
            Admission::Deadline if deadline == Moment::NEVER => None,
            Admission::Deadline => {
                let time = deadline.since(submitted);
                Some(Patience { target: (time / SHARE).max(TARGET), interval: time.max(INTERVAL) })
            }
            Admission::Delay { target, interval } => Some(Patience { target, interval }),
        }
    }

    /// # Errors
    /// `Config` when the numbers make no sense.
    pub(super) fn check(self) -> Result<()> {
        let Admission::Delay { target, interval } = self else { return Ok(()) };
        if target < Duration::from_millis(1) {
            return Err(Error::config(format!(
                "the target of `admission` is {target:?}: a queue is above less than 1 ms all the time"
            )));
        }
        if interval < target {
            return Err(Error::config(format!(
                "the interval of `admission` is {interval:?}, less than its target with {target:?}"
            )));
        }
        Ok(())
    }
}

/// What becomes of background calls while the load is high.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Background {
    /// New ones are refused at once with [`Shed`](crate::ErrorKind::Shed). The default.
    #[default]
    Refuse,
    /// They stay in their queue, which is bounded, and no worker takes one out until the load has fallen.
    Park,
}

/// For how long the gate remembers that there is more urgent work: the window of the load that it looks at.
const MEMORY: Duration = Duration::from_secs(1);

/// Closed while the load is high: from above `high` until below `low`, so that it does not flutter.
///
/// It stands open whatever the load where no urgent call has come for a second: background work on its own has nobody to make way for.
#[derive(Debug)]
pub(super) struct Gate {
    high: f64,
    low: f64,
    closed: bool,
    urgent: Option<Moment>,
}

impl Gate {
    pub(super) fn new(high: f64, low: f64) -> Self {
        Gate { high, low, closed: false, urgent: None }
    }

    /// Takes in the load of the last second, and whether urgent work has come or waits. Says whether the gate is closed.
    pub(super) fn feed(&mut self, now: Moment, load: f64, urgent: bool) -> bool {
        if urgent {
            self.urgent = Some(now);
        }
        let protects = self.urgent.is_some_and(|last| now.since(last) <= MEMORY);
        let bound = if self.closed { self.low } else { self.high };
        // Exactly at `low` it opens, so that equal thresholds cannot keep it closed at that load.
        self.closed = protects && load > bound;
        self.closed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    fn at(millis: u64) -> Moment {
        Moment::from_nanos(millis * 1_000_000)
    }

    #[test]
    fn patience_is_a_share_of_the_time_that_a_call_has() {
        let of = |millis: u64| Admission::Deadline.patience(at(50), at(50 + millis));
        assert_eq!(of(800), Some(Patience { target: 100 * MS, interval: 800 * MS }));
        assert_eq!(of(16), Some(Patience { target: 5 * MS, interval: 100 * MS }), "never less than the papers have");
        assert_eq!(of(0).map(Patience::limit), Some(10 * MS));
    }

    #[test]
    fn who_asked_to_wait_waits() {
        assert_eq!(Admission::Deadline.patience(at(0), Moment::NEVER), None);
        assert_eq!(Admission::Off.patience(at(0), at(10)), None);
        let all = Admission::CODEL.patience(at(0), Moment::NEVER);
        assert_eq!(all, Some(Patience { target: 5 * MS, interval: 100 * MS }));
    }

    #[test]
    fn targets_that_make_no_sense_are_refused() {
        let refused = |target, interval| Admission::Delay { target, interval }.check().unwrap_err().to_string();
        assert!(refused(Duration::ZERO, 100 * MS).contains("the target of `admission` is 0ns"));
        assert!(refused(5 * MS, 4 * MS).contains("the interval of `admission` is 4ms, less than its target with 5ms"));
        for sound in [Admission::Off, Admission::Deadline, Admission::CODEL] {
            sound.check().unwrap();
        }
        Admission::Delay { target: Duration::MAX, interval: Duration::MAX }.check().unwrap();
    }

    #[test]
    fn the_gate_has_hysteresis() {
        let mut gate = Gate::new(0.9, 0.7);
        let mut closed = |load| gate.feed(at(0), load, true);
        assert_eq!([0.8, 0.9, 0.91, 0.8, 0.71].map(&mut closed), [false, false, true, true, true]);
        assert_eq!([0.7, 0.8, 0.9, 0.95].map(&mut closed), [false, false, false, true]);
    }

    #[test]
    fn the_gate_is_open_where_there_is_nobody_to_make_way_for() {
        let mut gate = Gate::new(0.9, 0.7);
        assert!(!gate.feed(at(0), 1.0, false));
        assert!(gate.feed(at(100), 1.0, true));
        assert!(gate.feed(at(1_100), 1.0, false));
        assert!(!gate.feed(at(1_101), 1.0, false));
    }

    #[test]
    fn a_threshold_of_one_never_closes() {
        let mut gate = Gate::new(1.0, 1.0);
        assert!(!gate.feed(at(0), 1.0, true));
    }
}
