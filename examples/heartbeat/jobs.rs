//! The jobs: how much work takes 10 ms on this machine, and two ways to have it done.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use jsmill::{Engine, Script};

/// What one job shall take.
pub const JOB: Duration = Duration::from_millis(10);

/// A script, and the argument with which it takes [`JOB`].
#[derive(Clone)]
pub struct Job {
    script: Arc<Script>,
    limit: u32,
    primes: u32,
}

impl Job {
    /// Finds the argument. The shortest of some runs counts: whatever else goes on makes runs longer, and never shorter.
    pub async fn calibrated(engine: &Engine) -> jsmill::Result<Self> {
        let script = Script::new("job.js", include_str!("job.js"))?;
        let mut limit = 1_000_u32;
        loop {
            let (mut best, mut primes) = (Duration::MAX, 0);
            for _ in 0..8 {
                let start = Instant::now();
                primes = engine.task(&script).call("primes", (limit,)).await?;
                best = best.min(start.elapsed());
            }
            if best >= JOB {
                return Ok(Job { script, limit, primes });
            }
            // Careful steps: a few per cent at the end.
            let missing = JOB.as_secs_f64() / best.as_secs_f64();
            limit = (f64::from(limit) * missing.powf(0.6).clamp(1.02, 4.0)) as u32;
        }
    }

    /// As it should be: that many callers, each with one call at a time, in front of the engine's bounded queue. Gives how many jobs
    /// they had done when `over` was set.
    pub async fn by_engine(&self, engine: &Engine, callers: usize, over: Arc<AtomicBool>) -> jsmill::Result<u64> {
        let done = Arc::new(AtomicU64::new(0));
        let callers: Vec<_> = (0..callers)
            .map(|_| {
                let (job, engine, over, done) = (self.clone(), engine.clone(), over.clone(), done.clone());
                tokio::spawn(async move {
                    while !over.load(Ordering::Relaxed) {
                        let primes: u32 = engine.task(&job.script).call("primes", (job.limit,)).await?;
                        assert_eq!(primes, job.primes);
                        if !over.load(Ordering::Relaxed) {
                            done.fetch_add(1, Ordering::Relaxed);
                        }
                    }
                    Ok::<_, jsmill::Error>(())
                })
            })
            .collect();
        for caller in callers {
            caller.await.expect("no caller has panicked")?;
        }
        Ok(done.load(Ordering::Relaxed))
    }

    /// As it should not be: a task of the runtime for each job, all at once, and each holds its thread of the runtime until its job is
    /// done. It is the same for the runtime's other tasks whether the job runs on that thread or the thread waits for it.
    pub async fn on_the_runtime(&self, engine: &Engine, jobs: u64) -> jsmill::Result<u64> {
        let jobs: Vec<_> = (0..jobs)
            .map(|_| {
                let (job, engine) = (self.clone(), engine.clone());
                tokio::spawn(async move { engine.task(&job.script).call_blocking::<u32>("primes", (job.limit,)) })
            })
            .collect();
        let mut done = 0;
        for job in jobs {
            assert_eq!(job.await.expect("no job has panicked")?, self.primes);
            done += 1;
        }
        Ok(done)
    }
}
