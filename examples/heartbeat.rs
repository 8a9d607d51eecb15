//! Goal: a runtime that stays prompt while all workers compute: a heartbeat of 10 ms, and how late it is beside an engine with its
//! bounded queue, and beside the same jobs on the runtime's own threads.
//!
//! Run it with `cargo run --release --example heartbeat [-- plot.svg]`. It ends with a line of figures. They are those of the machine
//! as well: the row `nothing` says how late the heartbeat is when nothing else of this program runs. On a runtime that sleeps, tokio's
//! timers are late by up to 2 ms by themselves: the deadline and the wait of the system are rounded up to a millisecond each.

#[path = "heartbeat/beat.rs"]
mod beat;
#[path = "heartbeat/jobs.rs"]
mod jobs;
#[path = "heartbeat/plot.rs"]
mod plot;

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use jsmill::{Engine, Priority};
use plotters::style::RGBColor;

use beat::Beats;
use jobs::{JOB, Job};

/// How long each run takes.
const TIME: Duration = Duration::from_secs(3);
/// How many callers, each with one call at a time.
const CALLERS: [usize; 3] = [4, 16, 256];
/// How many calls may wait in the queue; further callers wait for room.
const QUEUE: usize = 64;
/// What is wanted of the engine, in milliseconds.
const WANTED: f64 = 2.0;

#[tokio::main]
async fn main() -> Result<ExitCode, Box<dyn std::error::Error>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let plot_path = std::env::args_os().nth(1).map_or_else(|| root.join("target/heartbeat.svg"), PathBuf::from);

    // 1. An engine that leaves a core to the rest of the service, and one that takes all of them.
    let cores = std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
    let spared = engine((cores - 1).max(1))?;
    let job = Job::calibrated(&spared).await?;
    println!("{cores} cores; jobs of {JOB:?}; runs of {TIME:?}; a queue of {QUEUE} calls\n");
    println!(
        "{:<34} {:>7} {:>9} {:>9} {:>9} {:>9}",
        "beside the heartbeat", "jobs/s", "p50 ms", "p90 ms", "p99 ms", "max ms"
    );

    // 2. The heartbeat alone: what the machine and the timers make of it.
    let alone = tokio::spawn(Beats::take(TIME)).await?;
    report("nothing", 0.0, &alone);

    // 3. As it should be, with more and more callers. All workers are busy all the time; the callers cost the runtime next to nothing.
    let mut right = Vec::new();
    for callers in CALLERS {
        let (jobs, beats) = beside_engine(&spared, &job, callers).await?;
        report(&format!("{} busy, {callers} callers", workers(&spared)), jobs, &beats);
        right.push(beats);
    }
    spared.shutdown().await?;

    // 4. The same with a worker on each core. Then it is the system's scheduler that decides how soon a thread of the runtime gets a
    //    core back, and that is a matter of its time slices.
    let full = engine(cores)?;
    let (jobs, beats) = beside_engine(&full, &job, CALLERS[1]).await?;
    report(&format!("{} busy, {} callers", workers(&full), CALLERS[1]), jobs, &beats);

    // 5. As it should not be: each job on a thread of the runtime, and no bound on how many there are.
    let count = (cores as u128 * TIME.as_millis() / JOB.as_millis()) as u64;
    let heart = tokio::spawn(Beats::take(TIME));
    let start = Instant::now();
    let done = job.on_the_runtime(&full, count).await?;
    let jobs = done as f64 / start.elapsed().as_secs_f64();
    let wrong = heart.await?;
    report(&format!("{count} jobs on the runtime itself"), jobs, &wrong);
    full.shutdown().await?;

    // 6. All beats beside the first engine together are what counts. Where the machine alone is late, they are late as well.
    let all = Beats { lateness: right.iter().flat_map(|beats| beats.lateness.iter().copied()).collect() };
    let [alone_p99, right_p99, wrong_p99] = [&alone, &all, &wrong].map(|beats| beats.quantile(0.99));
    let busiest = right.last().ok_or("there are callers")?;
    let runs = [
        ("on the runtime itself", &wrong, RGBColor(176, 42, 60)),
        ("beside the engine", busiest, RGBColor(31, 95, 153)),
        ("nothing else", &alone, RGBColor(120, 120, 120)),
    ];
    plot::draw(&plot_path, WANTED, &runs)?;
    let verdict = match (right_p99 < WANTED, alone_p99 < WANTED) {
        (true, _) => "reached",
        (false, true) => "missed",
        (false, false) => "missed, as it is without the engine: other processes want the cores",
    };
    println!("\na p99 below {WANTED} ms beside the engine: {verdict}; the heartbeat alone has {alone_p99:.2} ms");
    println!("plot: {}", plot_path.display());
    println!("heartbeat: engine_p99_ms={right_p99:.2} wrong_p99_ms={wrong_p99:.2}");
    Ok(if right_p99 < wrong_p99 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn engine(workers: usize) -> jsmill::Result<Engine> {
    Engine::builder().workers(workers).queue_depth(Priority::Normal, QUEUE).build()
}

fn workers(engine: &Engine) -> String {
    match engine.stats().workers.len() {
        1 => "1 worker".to_owned(),
        many => format!("{many} workers"),
    }
}

/// The heartbeat while that many callers keep the engine busy; with the jobs of a second.
async fn beside_engine(engine: &Engine, job: &Job, callers: usize) -> Result<(f64, Beats), Box<dyn std::error::Error>> {
    let over = Arc::new(AtomicBool::new(false));
    let jobs = tokio::spawn({
        let (job, engine, over) = (job.clone(), engine.clone(), over.clone());
        async move { job.by_engine(&engine, callers, over).await }
    });
    let start = Instant::now();
    let beats = tokio::spawn(Beats::take(TIME)).await?;
    let time = start.elapsed();
    over.store(true, Ordering::Relaxed);
    Ok((jobs.await?? as f64 / time.as_secs_f64(), beats))
}

fn report(what: &str, jobs: f64, beats: &Beats) {
    let [p50, p90, p99, max] = [0.5, 0.9, 0.99, 1.0].map(|share| beats.quantile(share));
    println!("{what:<34} {jobs:>7.0} {p50:>9.2} {p90:>9.2} {p99:>9.2} {max:>9.2}");
}
