//! What is kept between calls: contexts, converted values, compiled code.

mod code;
mod contexts;
mod kinds;
mod values;

use jsmill::{Engine, Stats, WorkerStats};

use crate::support::eventually;

/// Waits until the figures of the only worker are so; workers renew them from time to time.
#[track_caller]
fn until(engine: &Engine, what: &str, is_so: impl Fn(&WorkerStats) -> bool) {
    let mut last = Stats::default();
    let mut seen = || {
        last = engine.stats();
        is_so(&last.workers[0])
    };
    if (0..40).any(|_| {
        let so = seen();
        if !so {
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
        so
    }) {
        return;
    }
    eventually(&format!("{what}: {:?}", engine.stats().workers[0]), seen);
}
