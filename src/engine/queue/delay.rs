//! Controlled delay: whether entries that wait are a burst, or a standing queue.
//!
//! The state of CoDel (Nichols and Jacobson, "Controlling Queue Delay", ACM Queue 2012; RFC 8289) with the two changes that servers
//! make (Maurer, "Fail at Scale", ACM Queue 2015): what is too old is let go by its age, rather than at a rate that grows, since calls have no
//! sender who slows down; and it is the oldest entry that is measured, since the newest is taken first during overload and never waits.
//!
//! Invariant: overload begins only when the oldest entry was above the target at every look for a whole interval, or when it is above the
//! target within an interval after overload was seen last. It does not know the entries.

use std::time::Duration;

use crate::clock::Moment;
use crate::engine::admission::Patience;

/// The state for one line of entries.
#[derive(Debug)]
pub(super) struct Delay {
    /// The least patience of the entries since the line was empty.
    patience: Patience,
    /// Since when the oldest entry was seen above the target each time.
    above: Option<Moment>,
    overloaded: bool,
    /// When overload was seen last.
    seen: Option<Moment>,
}

impl Delay {
    pub(super) fn new() -> Self {
        let patience = Patience { target: Duration::MAX, interval: Duration::MAX };
        Delay { patience, above: None, overloaded: false, seen: None }
    }

    /// An entry joins the line, which was empty before or not.
    pub(super) fn join(&mut self, patience: Patience, was_empty: bool) {
        if was_empty {
            self.relieve();
            self.patience = patience;
        } else {
            self.patience.target = self.patience.target.min(patience.target);
            self.patience.interval = self.patience.interval.min(patience.interval);
        }
    }

    /// Looks at the age of the oldest entry. Says whether the line is overloaded.
    pub(super) fn look(&mut self, now: Moment, oldest: Duration) -> bool {
        if oldest <= self.patience.target {
            self.relieve();
            return false;
        }
        let since = *self.above.get_or_insert(now);
        // A line of few entries is in order by chance now and then, overload or not.
        let again = self.seen.is_some_and(|last| now.since(last) < self.patience.interval);
        self.overloaded |= again || now.since(since) >= self.patience.interval;
        if self.overloaded {
            self.seen = Some(now);
        }
        self.overloaded
    }

    pub(super) fn is_overloaded(&self) -> bool {
        self.overloaded
    }

    fn relieve(&mut self) {
        self.above = None;
        self.overloaded = false;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);
    const PATIENCE: Patience = Patience { target: Duration::from_millis(5), interval: Duration::from_millis(100) };

    fn at(millis: u64) -> Moment {
        Moment::from_nanos(millis * 1_000_000)
    }

    fn delay() -> Delay {
        let mut delay = Delay::new();
        delay.join(PATIENCE, true);
        delay
    }

    #[test]
    fn overload_is_a_whole_interval_above_the_target() {
        let mut delay = delay();
        assert!(!delay.look(at(10), 5 * MS));
        assert!(!delay.look(at(11), 6 * MS));
        assert!(!delay.look(at(110), 50 * MS));
        assert!(delay.look(at(111), 50 * MS));
        assert!(delay.look(at(112), 6 * MS), "until it is in order");
        assert!(!delay.look(at(113), 5 * MS));
    }

    #[test]
    fn one_look_in_order_begins_the_interval_anew() {
        let mut delay = delay();
        assert!(!delay.look(at(11), 6 * MS));
        assert!(!delay.look(at(60), 5 * MS));
        assert!(!delay.look(at(111), 6 * MS));
        assert!(!delay.look(at(210), 6 * MS));
        assert!(delay.look(at(211), 6 * MS));
    }

    #[test]
    fn an_overload_soon_after_another_one_is_the_same() {
        let mut delay = delay();
        delay.look(at(10), 6 * MS);
        assert!(delay.look(at(110), 6 * MS));
        assert!(!delay.look(at(120), MS));
        assert!(delay.look(at(130), 6 * MS));
        assert!(!delay.look(at(140), MS));
        delay.join(PATIENCE, true);
        assert!(!delay.look(at(230), 6 * MS), "this one is another");
    }

    #[test]
    fn what_waited_before_the_line_was_empty_counts_no_longer() {
        let mut delay = delay();
        assert!(!delay.look(at(10), 6 * MS));
        delay.join(PATIENCE, true);
        assert!(!delay.look(at(500), 480 * MS), "nobody looked for long");
        assert!(delay.look(at(600), 6 * MS));
        delay.join(PATIENCE, true);
        assert!(!delay.is_overloaded());
        assert!(!delay.look(at(3_600_000), 50 * MS), "the overload is long over");
    }

    #[test]
    fn the_least_patient_entry_counts() {
        let mut delay = Delay::new();
        delay.join(Patience { target: 100 * MS, interval: 800 * MS }, true);
        delay.join(PATIENCE, false);
        delay.look(at(10), 6 * MS);
        assert!(delay.look(at(110), 6 * MS));
    }
}
