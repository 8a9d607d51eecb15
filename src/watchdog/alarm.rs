//! When the watchdog has to look again.

use super::sync::atomic::{AtomicU64, Ordering};
use crate::clock::Moment;

/// The moment until which the watchdog sleeps.
///
/// Whoever arms a limit first stores when it is due, then asks `is_earlier`; the watchdog first says until when it wants to sleep,
/// then looks at all that is due once more. In whichever order these four steps fall, one side sees the other.
#[derive(Debug)]
pub(crate) struct Alarm(AtomicU64);

impl Alarm {
    pub(crate) fn new() -> Self {
        Alarm(AtomicU64::new(Moment::NEVER.to_nanos()))
    }

    /// Whether the watchdog has to be woken for something due at that moment. Called after the moment was stored where the
    /// watchdog looks for it.
    pub(crate) fn is_earlier(&self, due: Moment) -> bool {
        due.to_nanos() < self.0.load(Ordering::SeqCst)
    }

    /// The watchdog sleeps until that moment, unless `look` (which reads everything that is due) finds an earlier one.
    pub(crate) fn set(&self, until: Moment, look: impl FnOnce() -> Moment) -> bool {
        self.0.store(until.to_nanos(), Ordering::SeqCst);
        look() >= until
    }
}
