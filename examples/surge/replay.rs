//! Callers that replay the hours through the engine while the script is swapped under them.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use hdrhistogram::Histogram;
use indicatif::ProgressBar;
use jsmill::{Caching, Engine, Live, Script, Shared};

use crate::demand::Hour;
use crate::pricing::{self, Answer, Zone};

/// What the callers share.
pub struct Service {
    pub engine: Engine,
    pub script: Live<Script>,
    pub zone: Shared<Zone>,
    pub hours: Vec<Hour>,
    /// What each version of the algorithm answers for each hour when nobody disturbs it.
    pub expected: [Vec<Answer>; 2],
    /// The newest revision whose swap has begun, and the newest whose swap was over.
    begun: AtomicU64,
    stored: AtomicU64,
    over: AtomicBool,
}

/// What one caller, or all of them, have seen.
pub struct Tally {
    pub failed: u64,
    pub mixed: u64,
    /// What went wrong first.
    pub trouble: Option<String>,
    pub rules: [RuleTally; 2],
}

/// The same of one version of the algorithm.
pub struct RuleTally {
    pub calls: u64,
    pub coefficients: f64,
    /// Nanoseconds from the call to its answer.
    pub latency: Histogram<u64>,
}

impl Tally {
    fn new() -> Self {
        let rule = || RuleTally {
            calls: 0,
            coefficients: 0.0,
            latency: Histogram::new_with_bounds(1, 60_000_000_000, 3).expect("the bounds are sound"),
        };
        Tally { failed: 0, mixed: 0, trouble: None, rules: [rule(), rule()] }
    }

    fn add(&mut self, other: Tally) {
        self.failed += other.failed;
        self.mixed += other.mixed;
        self.trouble = self.trouble.take().or(other.trouble);
        for (rule, other) in self.rules.iter_mut().zip(other.rules) {
            rule.calls += other.calls;
            rule.coefficients += other.coefficients;
            rule.latency.add(other.latency).expect("all histograms have the same bounds");
        }
    }

    pub fn calls(&self) -> u64 {
        self.rules.iter().map(|rule| rule.calls).sum::<u64>() + self.failed
    }
}

impl Service {
    /// Starts with revision 0, and asks both versions for all hours once.
    pub async fn new(engine: Engine, zone: Zone, hours: Vec<Hour>) -> jsmill::Result<Self> {
        let zone = engine.value(Arc::new(zone));
        let mut expected = [Vec::new(), Vec::new()];
        for (number, answers) in expected.iter_mut().enumerate() {
            let script = pricing::revision(number as u64)?;
            for hour in &hours {
                answers.push(engine.task(&script).call("surge", (&hour.request, &zone)).await?);
            }
        }
        let script = Live::new(pricing::revision(0)?);
        let (begun, stored) = (AtomicU64::new(0), AtomicU64::new(0));
        Ok(Service { engine, script, zone, hours, expected, begun, stored, over: AtomicBool::new(false) })
    }

    /// What is wrong with an answer: parts of two revisions, other numbers than its version gives, or a revision that was not
    /// current at any moment between the call and its answer.
    fn check(&self, at: usize, answer: &Answer, oldest: u64, newest: u64) -> Option<String> {
        let Answer { revision, factors, .. } = answer;
        if *revision != factors.revision {
            return Some(format!("hour {at}: revision {revision} with the factors of revision {}", factors.revision));
        }
        let expected = &self.expected[pricing::rule(*revision)][at];
        let same = answer.coefficient == expected.coefficient
            && factors.rule == expected.factors.rule
            && factors.raw == expected.factors.raw;
        if !same {
            return Some(format!("hour {at}: {answer:?} in place of {expected:?}"));
        }
        if !(oldest..=newest).contains(revision) {
            return Some(format!("hour {at}: revision {revision}, while {oldest} to {newest} were current"));
        }
        None
    }

    /// One caller: every `callers`th hour from its own on, `rounds` times.
    async fn call(&self, caller: usize, callers: usize, rounds: usize, bar: &ProgressBar) -> Tally {
        let mut tally = Tally::new();
        for _ in 0..rounds {
            for at in (caller..self.hours.len()).step_by(callers) {
                let oldest = self.stored.load(Ordering::SeqCst);
                let start = Instant::now();
                let call =
                    self.engine.task(&self.script).call::<Answer>("surge", (&self.hours[at].request, &self.zone));
                let answer = call.await;
                let latency = start.elapsed();
                let newest = self.begun.load(Ordering::SeqCst);
                match answer {
                    Ok(answer) => {
                        if let Some(trouble) = self.check(at, &answer, oldest, newest) {
                            tally.mixed += 1;
                            tally.trouble.get_or_insert(trouble);
                        }
                        let rule = &mut tally.rules[pricing::rule(answer.revision)];
                        rule.calls += 1;
                        rule.coefficients += answer.coefficient;
                        rule.latency.saturating_record(u64::try_from(latency.as_nanos()).unwrap_or(u64::MAX));
                    }
                    Err(error) => {
                        tally.failed += 1;
                        tally.trouble.get_or_insert(format!("hour {at}: {error}"));
                    }
                }
            }
            bar.inc(self.hours.len().div_ceil(callers) as u64);
        }
        tally
    }

    /// Swaps the script until the callers are done: every worker loads the new revision, then the pointer moves.
    async fn swap(&self, pause: Duration, bar: &ProgressBar) -> jsmill::Result<u64> {
        let mut number = 0;
        while !self.over.load(Ordering::SeqCst) {
            number += 1;
            let script = pricing::revision(number)?;
            bar.set_message(script.version().to_owned());
            self.begun.store(number, Ordering::SeqCst);
            self.script.store(&self.engine, script).await?;
            self.stored.store(number, Ordering::SeqCst);
            tokio::time::sleep(pause).await;
        }
        Ok(number)
    }

    /// Replays the hours with that many callers at once, and swaps the script all the while. Gives what was seen, how often the
    /// script was swapped, and the time.
    pub async fn replay(
        self: &Arc<Self>,
        callers: usize,
        rounds: usize,
        pause: Duration,
        bar: &ProgressBar,
    ) -> Result<(Tally, u64, Duration), Box<dyn std::error::Error>> {
        let start = Instant::now();
        let swaps = tokio::spawn({
            let (service, bar) = (self.clone(), bar.clone());
            async move { service.swap(pause, &bar).await }
        });
        let tasks: Vec<_> = (0..callers)
            .map(|caller| {
                let (service, bar) = (self.clone(), bar.clone());
                tokio::spawn(async move { service.call(caller, callers, rounds, &bar).await })
            })
            .collect();
        let mut tally = Tally::new();
        for task in tasks {
            tally.add(task.await?);
        }
        let time = start.elapsed();
        self.over.store(true, Ordering::SeqCst);
        Ok((tally, swaps.await??, time))
    }

    /// The same work with a new context for every call: `calls` of them, by as many callers. Gives the time.
    pub async fn uncached(
        self: &Arc<Self>,
        callers: usize,
        calls: usize,
        bar: &ProgressBar,
    ) -> Result<Duration, Box<dyn std::error::Error>> {
        let start = Instant::now();
        let tasks: Vec<_> = (0..callers)
            .map(|caller| {
                let (service, bar) = (self.clone(), bar.clone());
                tokio::spawn(async move {
                    for at in (caller..calls).step_by(callers) {
                        let at = at % service.hours.len();
                        let task = service.engine.task(&service.script).caching(Caching::None);
                        let answer: Answer = task.call("surge", (&service.hours[at].request, &service.zone)).await?;
                        assert_eq!(
                            answer.coefficient,
                            service.expected[pricing::rule(answer.revision)][at].coefficient
                        );
                        bar.inc(1);
                    }
                    Ok::<_, jsmill::Error>(())
                })
            })
            .collect();
        for task in tasks {
            task.await??;
        }
        Ok(start.elapsed())
    }
}
