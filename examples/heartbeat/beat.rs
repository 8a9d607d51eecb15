//! The heartbeat: a task of the caller's runtime that shall run every 10 ms, and how late it did.

use std::time::Duration;

use hdrhistogram::Histogram;
use tokio::time::{Instant, MissedTickBehavior};

/// The time from one beat to the next.
pub const PERIOD: Duration = Duration::from_millis(10);

/// How late each beat was.
pub struct Beats {
    pub lateness: Vec<Duration>,
}

impl Beats {
    /// Beats for that time. Each beat has its place in a schedule that is fixed at the beginning, so that a runtime which stands still
    /// for a second makes a hundred late beats, not one.
    pub async fn take(time: Duration) -> Self {
        let count = time.as_millis() / PERIOD.as_millis();
        let mut interval = tokio::time::interval_at(Instant::now() + PERIOD, PERIOD);
        interval.set_missed_tick_behavior(MissedTickBehavior::Burst);
        let mut lateness = Vec::new();
        for _ in 0..count {
            let due = interval.tick().await;
            lateness.push(due.elapsed());
        }
        Beats { lateness }
    }

    /// The lateness that this share of the beats stayed below, in milliseconds.
    pub fn quantile(&self, share: f64) -> f64 {
        let mut micros = Histogram::<u64>::new_with_bounds(1, 60_000_000, 3).expect("the bounds are sound");
        for lateness in &self.lateness {
            micros.saturating_record(u64::try_from(lateness.as_micros()).unwrap_or(u64::MAX));
        }
        micros.value_at_quantile(share) as f64 / 1e3
    }
}
