//! A surge-pricing service in small: the price coefficient of every hour of a year of real demand, computed by a script that is
//! replaced again and again while callers use it.
//!
//! Run it with `cargo run --release --example surge [-- plot.svg]`. It ends with a line of figures, and fails when a call failed
//! or mixed two versions of the script.

#[path = "surge/demand.rs"]
mod demand;
#[path = "surge/plot.rs"]
mod plot;
#[path = "surge/pricing.rs"]
mod pricing;
#[path = "surge/replay.rs"]
mod replay;
#[path = "surge/report.rs"]
mod report;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};
use jsmill::Engine;

use pricing::Zone;
use replay::Service;

/// Callers at the same time.
const CALLERS: usize = 16;
/// How often the year is replayed.
const ROUNDS: usize = 100;
/// How long a revision of the script is left in place.
const PAUSE: Duration = Duration::from_millis(50);
/// How many calls are made with a context of their own.
const UNCACHED: usize = 2_000;

#[tokio::main]
async fn main() -> Result<ExitCode, Box<dyn std::error::Error>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let plot_path = std::env::args_os().nth(1).map_or_else(|| root.join("target/surge.svg"), PathBuf::from);

    // 1. The demand, and an engine with a worker for each core. Each version of the algorithm answers for each hour once, with
    //    nobody to disturb it: what it must answer later as well.
    let hours = demand::read(&root.join("examples/data/bikeshare.csv"))?;
    println!("{} hours of demand", hours.len());
    let engine = Engine::builder().build()?;
    let service = Arc::new(Service::new(engine, Zone::centre(), hours).await?);

    // 2. The year again and again, by many callers at once, while the script is swapped. The zone's settings are a shared value:
    //    each worker converts them once.
    let before = figures(&service).await;
    let bar = bar((service.hours.len() * ROUNDS) as u64);
    let (tally, swaps, time) = service.replay(CALLERS, ROUNDS, PAUSE, &bar).await?;
    bar.finish_and_clear();
    let after = figures(&service).await;

    // 3. The same work with a context of its own for each call.
    let bar = self::bar(UNCACHED as u64);
    let uncached_time = service.uncached(CALLERS, UNCACHED, &bar).await?;
    bar.finish_and_clear();
    let calls = tally.calls();
    let cached = time.div_f64(calls as f64);
    let uncached = uncached_time.div_f64(UNCACHED as f64);

    // 4. What came of it.
    report::versions(&tally);
    println!();
    report::contexts(cached, uncached);
    println!("\nthe ten hottest hours, by the rule `{}`:", pricing::RULES[1]);
    report::hottest(&service.hours, &service.expected[1], service.zone.get(), 10);
    plot::week(&plot_path, &service.hours, &service.expected)?;
    println!("\nplot: {}", plot_path.display());
    if let Some(trouble) = &tally.trouble {
        eprintln!("the first trouble: {trouble}");
    }

    let hits = after.hits - before.hits;
    let misses = after.misses - before.misses;
    let line = format!(
        "surge: calls={calls} failed={} mixed={} swaps={swaps} contexts_built={} hit_rate={:.4} cached_vs_uncached={:.1}x",
        tally.failed,
        tally.mixed,
        after.built - before.built,
        hits as f64 / (hits + misses).max(1) as f64,
        uncached.as_secs_f64() / cached.as_secs_f64(),
    );
    service.engine.shutdown().await?;
    println!("{line}");
    let good = tally.failed == 0 && tally.mixed == 0;
    Ok(if good { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Counters of all workers together.
struct Figures {
    hits: u64,
    misses: u64,
    built: u64,
}

/// The counters, once the workers have renewed them: they do so ten times a second.
async fn figures(service: &Service) -> Figures {
    tokio::time::sleep(Duration::from_millis(250)).await;
    let workers = service.engine.stats().workers;
    Figures {
        hits: workers.iter().map(|worker| worker.context_hits).sum(),
        misses: workers.iter().map(|worker| worker.context_misses).sum(),
        built: workers.iter().map(|worker| worker.contexts_built).sum(),
    }
}

fn bar(length: u64) -> ProgressBar {
    let style = ProgressStyle::with_template("{bar:40} {pos}/{len} calls, {per_sec}, {eta} left {msg}");
    ProgressBar::new(length).with_style(style.expect("the template is sound"))
}
