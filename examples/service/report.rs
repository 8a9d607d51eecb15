//! What the phases of the self-test brought, and the table of it.

use std::time::Duration;

use hdrhistogram::Histogram;
use jsmill::Priority;
use tokio::time::Instant;

use crate::load::Record;
use crate::right::Outcome;

/// Some seconds of load.
pub struct Phase {
    pub name: &'static str,
    pub start: Instant,
    pub records: Vec<Record>,
    /// Requests a second, where that was fixed.
    pub rate: Option<f64>,
    hostile: bool,
}

impl Phase {
    pub fn new(name: &'static str, start: Instant, records: Vec<Record>) -> Self {
        Phase { name, start, records, rate: None, hostile: false }
    }

    pub fn with_rate(mut self, rate: f64) -> Self {
        self.rate = Some(rate);
        self
    }

    /// A script of this phase runs into its limits, and that is right.
    pub fn hostile(mut self) -> Self {
        self.hostile = true;
        self
    }

    fn count(&self, which: impl Fn(&Outcome) -> bool) -> usize {
        self.records.iter().filter(|record| which(&record.outcome)).count()
    }

    pub fn requests(&self) -> usize {
        self.records.len()
    }

    /// Right answers, degraded ones among them.
    pub fn good(&self) -> usize {
        self.count(|outcome| matches!(outcome, Outcome::Right | Outcome::Degraded))
    }

    pub fn limited(&self) -> usize {
        self.count(|outcome| matches!(outcome, Outcome::Limit(_)))
    }

    /// Neither the right answer nor a documented refusal.
    pub fn failed(&self) -> usize {
        self.count(|outcome| self.is_failure(outcome))
    }

    fn is_failure(&self, outcome: &Outcome) -> bool {
        matches!(outcome, Outcome::Failed(_)) || (matches!(outcome, Outcome::Limit(_)) && !self.hostile)
    }

    /// What failed first.
    pub fn trouble(&self) -> Option<String> {
        let first = self.records.iter().find(|record| self.is_failure(&record.outcome))?;
        Some(format!("{}: {:?}", self.name, first.outcome))
    }

    /// The time in milliseconds that this share of the right answers took at most.
    pub fn quantile(&self, share: f64) -> f64 {
        quantile(self.records.iter().filter(|record| is_good(record)).map(|record| record.latency), share)
    }
}

/// Whether a request got the right answer.
pub fn is_good(record: &Record) -> bool {
    matches!(record.outcome, Outcome::Right | Outcome::Degraded)
}

/// The time in milliseconds that this share of some times is within.
pub fn quantile(times: impl Iterator<Item = Duration>, share: f64) -> f64 {
    let mut micros = Histogram::<u64>::new_with_bounds(1, 60_000_000, 3).expect("the bounds are sound");
    for time in times {
        micros.saturating_record(u64::try_from(time.as_micros()).unwrap_or(u64::MAX));
    }
    micros.value_at_quantile(share) as f64 / 1e3
}

/// One line for each phase; and for each priority, what it got while there was too much to do.
pub fn table(phases: &[Phase]) {
    let columns = ["asked/s", "right", "degraded", "refused", "limit", "failed", "p50 ms", "p99 ms"];
    println!("{:<14} {}", "phase", columns.map(|column| format!("{column:>9}")).join(""));
    for phase in phases {
        let asked = phase.rate.map_or_else(|| "-".to_owned(), |rate| format!("{rate:.0}"));
        let degraded = phase.count(|outcome| *outcome == Outcome::Degraded);
        let refused = phase.count(|outcome| *outcome == Outcome::Refused);
        println!(
            "{:<14} {asked:>9}{:>9}{degraded:>9}{refused:>9}{:>9}{:>9}{:>9.1}{:>9.1}",
            phase.name,
            phase.good() - degraded,
            phase.limited(),
            phase.failed(),
            phase.quantile(0.5),
            phase.quantile(0.99),
        );
    }
    for phase in phases.iter().filter(|phase| phase.name == "twice") {
        let shares = Priority::ALL.map(|priority| {
            let all = || phase.records.iter().filter(move |record| record.priority == priority);
            let good = all().filter(|record| is_good(record)).count();
            format!("{} {:.0} %", priority.name(), 100.0 * good as f64 / all().count().max(1) as f64)
        });
        println!("\nanswered at twice the capacity, by priority: {}", shares.join(", "));
    }
}
