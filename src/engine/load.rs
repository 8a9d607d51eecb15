//! How busy the workers are: CPU time in slices over wall-clock time, exponentially weighted.
//!
//! [`Load`] is what one sees; `Meter` makes it of `Reading`s of the workers' clocks, taken at irregular moments by whichever thread
//! happens to. Nothing waits inside a slice, so its CPU time is the time that the worker was of use.
//!
//! Invariant: a worker is never credited with more than its slices use, in the end, nor with more than its thread has used, so that spinning
//! for work is no load. A slice that runs counts while it runs. Pure: it reads no clock itself.

use std::time::Duration;

use crate::clock::Moment;

/// How busy an engine is: 0.0 is idle, and 1.0 means that its workers compute all the time.
///
/// Made by [`Engine::load`](crate::Engine::load). The average over the workers, each weighted exponentially over the last second and over
/// the last ten seconds: what happened one window ago counts for a third of what happens now. Time in which a worker's thread wanted
/// to run and got no core does not count.
///
/// ```
/// # fn main() -> jsmill::Result<()> {
/// use jsmill::Engine;
/// let engine = Engine::builder().workers(2).build()?;
/// let load = engine.load();
/// assert!(load.one_second < 0.5, "nothing was done yet");
/// assert_eq!(load.workers.len(), 2);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Load {
    /// Over the last second.
    pub one_second: f64,
    /// Over the last ten seconds.
    pub ten_seconds: f64,
    /// Each worker's own, without those that were lost.
    pub workers: Vec<WorkerLoad>,
}

/// How busy one worker is. See [`Load`].
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct WorkerLoad {
    /// Over the last second.
    pub one_second: f64,
    /// Over the last ten seconds.
    pub ten_seconds: f64,
}

const WINDOWS: [Duration; 2] = [Duration::from_secs(1), Duration::from_secs(10)];

/// A worker's clocks at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Reading {
    /// The CPU time of all slices that are over.
    pub(super) slices: Duration,
    /// When the slice that runs now began.
    pub(super) running: Option<Moment>,
    /// The CPU time of the thread.
    pub(super) thread: Duration,
}

/// Averages of all workers of an engine.
#[derive(Debug)]
pub(super) struct Meter {
    at: Moment,
    workers: Vec<Option<Track>>,
}

/// What is known of one worker.
#[derive(Clone, Copy, Debug, Default)]
struct Track {
    last: Reading,
    /// What was credited for slices that the last reading did not count yet.
    ahead: Duration,
    averages: [f64; 2],
}

impl Meter {
    pub(super) fn new(now: Moment, workers: usize) -> Self {
        Meter { at: now, workers: vec![Some(Track::default()); workers] }
    }

    /// Takes in a reading of each worker; `None` where there is none at that place.
    pub(super) fn feed(&mut self, now: Moment, readings: &[Option<Reading>]) {
        let elapsed = now.since(self.at);
        if elapsed.is_zero() {
            return;
        }
        // The weight of the time since the last feed in an average that forgets exponentially: exact however irregular the feeds are.
        let weights = WINDOWS.map(|window| -(-elapsed.as_secs_f64() / window.as_secs_f64()).exp_m1());
        for (place, reading) in self.workers.iter_mut().zip(readings) {
            let Some(reading) = reading else {
                *place = None;
                continue;
            };
            let track = place.get_or_insert_default();
            let busy = track.credit(self.at, now, *reading).as_secs_f64() / elapsed.as_secs_f64();
            for (average, weight) in track.averages.iter_mut().zip(weights) {
                *average = (*average + weight * (busy.min(1.0) - *average)).clamp(0.0, 1.0);
            }
        }
        self.at = now;
    }

    pub(super) fn load(&self) -> Load {
        let workers: Vec<_> = self
            .workers
            .iter()
            .flatten()
            .map(|track| WorkerLoad { one_second: track.averages[0], ten_seconds: track.averages[1] })
            .collect();
        let count = workers.len().max(1) as f64;
        let mean = |of: fn(&WorkerLoad) -> f64| workers.iter().map(of).fold(0.0, |sum, load| sum + load) / count;
        Load { one_second: mean(|worker| worker.one_second), ten_seconds: mean(|worker| worker.ten_seconds), workers }
    }
}

impl Track {
    /// The CPU time in slices since the last reading.
    fn credit(&mut self, before: Moment, now: Moment, reading: Reading) -> Duration {
        if reading.thread < self.last.thread {
            // The clock of another thread: a new worker at this place.
            (self.last, self.ahead) = (Reading::default(), Duration::ZERO);
        }
        let most = reading.thread.saturating_sub(self.last.thread);
        let finished = reading.slices.saturating_sub(self.last.slices);
        let over = finished.saturating_sub(self.ahead).min(most);
        self.ahead = self.ahead.saturating_sub(finished);
        let running = reading.running.map_or(Duration::ZERO, |since| now.since(since.max(before))).min(most - over);
        self.ahead += running;
        self.last = reading;
        over + running
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    fn at(millis: u64) -> Moment {
        Moment::from_nanos(millis * 1_000_000)
    }

    fn meter() -> Meter {
        Meter::new(at(0), 1)
    }

    /// A worker that has used this much in slices, and in all.
    fn used(slices: u32, thread: u32) -> Reading {
        Reading { slices: slices * MS, running: None, thread: thread * MS }
    }

    fn close(actual: f64, expected: f64) {
        assert!((actual - expected).abs() < 1e-6, "{actual} instead of {expected}");
    }

    #[test]
    fn before_the_first_feed_all_are_idle() {
        let load = Meter::new(at(0), 2).load();
        assert_eq!(load, Load { workers: vec![WorkerLoad::default(); 2], ..Load::default() });
    }

    #[test]
    fn a_constant_load_is_found_whatever_the_sampling() {
        for steps in [[1_000; 10].as_slice(), &[1, 2_999, 500, 500, 6_000]] {
            let (mut meter, mut now) = (meter(), 0_u64);
            for step in steps {
                now += step;
                meter.feed(at(now), &[Some(used(now as u32 / 4, now as u32))]);
            }
            let load = meter.load();
            // The first steps use integer milliseconds: a quarter of one is lost.
            assert!((load.one_second - 0.25 * (1.0 - (-10.0_f64).exp())).abs() < 1e-3, "{load:?}");
            assert!((load.ten_seconds - 0.25 * (1.0 - (-1.0_f64).exp())).abs() < 1e-3, "{load:?}");
            assert_eq!(load.workers[0], WorkerLoad { one_second: load.one_second, ten_seconds: load.ten_seconds });
        }
    }

    #[test]
    fn a_long_slice_counts_while_it_runs_and_once() {
        let mut meter = meter();
        let running = |thread: u32| Reading { slices: Duration::ZERO, running: Some(at(100)), thread: thread * MS };
        meter.feed(at(600), &[Some(running(500))]);
        close(meter.load().one_second, 500.0 / 600.0 * -(-0.6_f64).exp_m1());
        meter.feed(at(1_100), &[Some(running(1_000))]);
        let before = meter.load().one_second;
        // Over, but not counted yet; then counted. Nothing new was done.
        meter.feed(at(1_200), &[Some(used(0, 1_000))]);
        meter.feed(at(1_300), &[Some(used(1_000, 1_000))]);
        close(meter.load().one_second, before * (-0.2_f64).exp());
    }

    #[test]
    fn what_the_thread_does_besides_is_no_load_and_a_missing_core_is_none() {
        let mut spinning = meter();
        spinning.feed(at(1_000), &[Some(used(10, 900))]);
        close(spinning.load().one_second, 0.01 * -(-1.0_f64).exp_m1());
        let mut preempted = meter();
        preempted.feed(at(1_000), &[Some(Reading { running: Some(at(0)), ..used(0, 300) })]);
        close(preempted.load().one_second, 0.3 * -(-1.0_f64).exp_m1());
        // It has used 300 ms and 200 more, and all of it is counted now.
        preempted.feed(at(2_000), &[Some(used(500, 500))]);
        let first = 0.3 * -(-1.0_f64).exp_m1();
        close(preempted.load().one_second, first + -(-1.0_f64).exp_m1() * (0.2 - first));
    }

    #[test]
    fn a_lost_worker_is_left_out_and_a_new_one_begins_anew() {
        let mut meter = Meter::new(at(0), 2);
        meter.feed(at(1_000), &[Some(used(1_000, 1_000)), Some(used(0, 5))]);
        close(meter.load().one_second, 0.5 * -(-1.0_f64).exp_m1());
        meter.feed(at(2_000), &[None, Some(used(0, 6))]);
        let load = meter.load();
        assert_eq!((load.workers.len(), load.one_second), (1, 0.0));
        meter.feed(at(3_000), &[Some(used(400, 500)), Some(used(0, 7))]);
        close(meter.load().workers[0].one_second, 0.4 * -(-1.0_f64).exp_m1());
        // Replaced between two readings: smaller clocks.
        meter.feed(at(4_000), &[Some(used(100, 120)), Some(used(0, 8))]);
        let before = 0.4 * -(-1.0_f64).exp_m1();
        close(meter.load().workers[0].one_second, before + -(-1.0_f64).exp_m1() * (0.1 - before));
    }

    #[test]
    fn no_time_and_time_that_goes_back_change_nothing() {
        let mut meter = meter();
        meter.feed(at(1_000), &[Some(used(500, 500))]);
        let load = meter.load();
        meter.feed(at(1_000), &[Some(used(900, 900))]);
        meter.feed(at(10), &[Some(used(900, 900))]);
        assert_eq!(meter.load(), load);
        assert_eq!(Meter::new(at(0), 0).load(), Load::default());
    }
}
