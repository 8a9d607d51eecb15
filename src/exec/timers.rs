//! What is due later, on one worker: timers of scripts, deadlines and idle timeouts of calls that are paused.
//!
//! One ordered map for all of them; the worker sleeps until its first entry. It knows neither what is due nor the clock.

use std::collections::BTreeMap;
use std::num::NonZeroU64;

use crate::clock::Moment;

/// Moments and what is due then, the earliest first, and in the order of asking among equals.
#[derive(Debug)]
pub(super) struct Timers<T> {
    due: BTreeMap<TimerKey, T>,
    next: NonZeroU64,
}

/// An entry of [`Timers`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct TimerKey {
    at: Moment,
    /// Never zero, so that an optional key is no larger.
    number: NonZeroU64,
}

impl<T> Timers<T> {
    pub(super) fn new() -> Self {
        Timers { due: BTreeMap::new(), next: NonZeroU64::MIN }
    }

    /// Adds an entry; none for `Moment::NEVER`.
    pub(super) fn add(&mut self, at: Moment, what: T) -> Option<TimerKey> {
        if at == Moment::NEVER {
            return None;
        }
        let key = TimerKey { at, number: self.next };
        self.next = self.next.saturating_add(1);
        self.due.insert(key, what);
        Some(key)
    }

    pub(super) fn remove(&mut self, key: TimerKey) -> Option<T> {
        self.due.remove(&key)
    }

    /// Takes the first entry that is due.
    pub(super) fn pop(&mut self, now: Moment) -> Option<T> {
        let first = self.due.first_entry()?;
        if first.key().at <= now { Some(first.remove()) } else { None }
    }

    /// When the first entry is due.
    pub(super) fn first(&self) -> Moment {
        self.due.first_key_value().map_or(Moment::NEVER, |(key, _)| key.at)
    }

    pub(super) fn clear(&mut self) {
        self.due.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(nanos: u64) -> Moment {
        Moment::from_nanos(nanos)
    }

    #[test]
    fn the_earliest_first_and_equals_in_the_order_of_asking() {
        let mut timers = Timers::new();
        for (moment, name) in [(30, 'c'), (10, 'a'), (20, 'x'), (20, 'y'), (10, 'b')] {
            assert!(timers.add(at(moment), name).is_some());
        }
        assert_eq!(timers.add(Moment::NEVER, 'z'), None);
        assert_eq!(timers.first(), at(10));
        assert_eq!(timers.pop(at(9)), None);
        let due: String = std::iter::from_fn(|| timers.pop(at(20))).collect();
        assert_eq!(due, "abxy");
        assert_eq!(timers.first(), at(30));
    }

    #[test]
    fn what_was_removed_is_never_due() {
        let mut timers = Timers::new();
        let key = timers.add(at(5), 'a').unwrap();
        timers.add(at(5), 'b');
        assert_eq!(timers.remove(key), Some('a'));
        assert_eq!(timers.remove(key), None);
        assert_eq!(timers.pop(at(9)), Some('b'));
        assert_eq!(timers.pop(at(9)), None);
        assert_eq!(timers.first(), Moment::NEVER);
    }
}
