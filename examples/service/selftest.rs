//! The self-test: the service on free ports, under load that is half and twice of what it can do, with swaps and a hostile script.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use axum::http::StatusCode;
use jsmill::Priority;
use tokio::sync::oneshot;
use tokio::time::Instant;

use crate::app::{App, Fallible, Settings};
use crate::load::Target;
use crate::report::{self, Phase};
use crate::right::{Outcome, Route};
use crate::stage::{self, HOSTILE, Stage};
use crate::{args, plot};

/// How long each phase takes.
const WARM: Duration = Duration::from_secs(1);
const PHASE: Duration = Duration::from_secs(3);
/// The time between two swaps.
const PAUSE: Duration = Duration::from_millis(400);
/// The service answers `/healthz` within this, whatever its scripts do.
const HEALTHY: Duration = Duration::from_secs(1);

pub async fn run(plot_path: &Path) -> Fallible<ExitCode> {
    println!("{}\n", args::USAGE);

    // 1. The service, as `serve` starts it, but on free ports and with a folder of its own.
    let stage = Arc::new(Stage::new(stage::folder())?);
    let free = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
    let settings = Settings { listen: free, stock: free, rates: free, scripts: stage.folder.clone() };
    let running = App::start(settings).await?;
    let app = running.app.clone();
    let target = Target::new(format!("http://{}", running.address));

    // 2. What it can do: as many callers as may be under way.
    let callers = app.gate.most();
    let warm = Phase::new("warm", target.start, target.closed(callers, WARM).await?);
    let start = Instant::now();
    let full = Phase::new("full", start, target.closed(callers, PHASE).await?);
    let capacity = full.good() as f64 / PHASE.as_secs_f64();

    // 3. Half of that, and twice, while both scripts are swapped all the time.
    let (half, half_swap) = swapped("half", 0.5 * capacity, &target, &app, &stage).await?;
    let (twice, twice_swap) = swapped("twice", 2.0 * capacity, &target, &app, &stage).await?;

    // 4. What it can do now: a machine with other work is not the same from one moment to the next. The larger figure counts.
    let start = Instant::now();
    let again = Phase::new("full again", start, target.closed(callers, PHASE).await?);
    let capacity = capacity.max(again.good() as f64 / PHASE.as_secs_f64());

    // 5. Half again, with a version that never returns for one order in 32. The others are answered as ever; so is that one, when
    //    the version is replaced.
    let (hostile, contained) = hostile(0.5 * capacity, &target, &app, &stage).await?;

    // 6. The end: the request that is under way is answered, the next one finds nobody.
    let last = {
        let target = target.clone();
        tokio::spawn(async move { target.ask(Route::Price, 1, 1, Priority::Critical).await })
    };
    while app.gate.inside() == 0 && !last.is_finished() {
        tokio::task::yield_now().await;
    }
    let swaps: u64 = app.scripts.all().iter().map(|entry| entry.live.swaps()).sum();
    running.stop().await?;
    let last = last.await?;
    let graceful = matches!(last, Outcome::Right | Outcome::Degraded);
    let closed = target.get("/healthz", Priority::Normal).await.is_err();

    // 7. What came of it.
    let phases = [warm, full, half, twice, again, hostile];
    report::table(&phases);
    println!(
        "\ncapacity: {capacity:.0} answers a second; the longest of {swaps} swaps took {:.0?}",
        half_swap.max(twice_swap)
    );
    println!("the last request was {}", if graceful && closed { "answered before the end" } else { "lost" });
    plot::draw(plot_path, target.start, &phases)?;
    println!("plot: {}", plot_path.display());
    let failed = phases.iter().map(Phase::failed).sum::<usize>() + usize::from(!graceful || !closed);
    if let Some(trouble) = phases.iter().find_map(Phase::trouble) {
        eprintln!("the first trouble: {trouble}");
    }
    let [_, _, half, twice, ..] = &phases;
    println!(
        "service: requests={} failed={failed} p99_ms={:.1} swaps={swaps} hostile_contained={} goodput_at_2x={:.2}",
        phases.iter().map(Phase::requests).sum::<usize>() + 1,
        half.quantile(0.99),
        u8::from(contained),
        twice.good() as f64 / PHASE.as_secs_f64() / capacity,
    );
    Ok(if failed == 0 && contained { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// A phase at a fixed rate, with swaps; and the longest time that one took.
async fn swapped(
    name: &'static str,
    rate: f64,
    target: &Arc<Target>,
    app: &Arc<App>,
    stage: &Arc<Stage>,
) -> Fallible<(Phase, Duration)> {
    let (stop, stopped) = oneshot::channel();
    let swaps = tokio::spawn(stage.clone().keep_swapping(app.clone(), PAUSE, stopped));
    let start = Instant::now();
    let records = target.open(rate, PHASE).await?;
    // Where nobody listens, the swaps have failed, and say so.
    let _ = stop.send(());
    Ok((Phase::new(name, start, records).with_rate(rate), swaps.await??))
}

/// A phase with the hostile version; and whether it did no harm to others.
async fn hostile(rate: f64, target: &Arc<Target>, app: &Arc<App>, stage: &Stage) -> Fallible<(Phase, bool)> {
    stage.hostile(app).await?;
    let (stop, mut stopped) = oneshot::channel::<()>();
    let probes = tokio::spawn({
        let target = target.clone();
        async move {
            let mut healthy = true;
            while stopped.try_recv().is_err_and(|error| error == oneshot::error::TryRecvError::Empty) {
                let asked = Instant::now();
                let answer = target.get("/healthz", Priority::Normal).await;
                healthy &= answer.is_ok_and(|answer| answer.head.status == StatusCode::OK) && asked.elapsed() < HEALTHY;
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
            healthy
        }
    });
    let start = Instant::now();
    let phase = Phase::new("half, hostile", start, target.open(rate, PHASE).await?).with_rate(rate).hostile();
    // Where nobody listens, the probes have panicked, and the next line says so.
    let _ = stop.send(());
    let healthy = probes.await?;
    stage.swap(app, Route::Price).await?;
    let (item, zone) = HOSTILE;
    let after = target.ask(Route::Price, item, zone, Priority::Critical).await;
    let recovered = matches!(after, Outcome::Right | Outcome::Degraded);
    let contained = healthy && recovered && phase.limited() > 0 && phase.good() > phase.limited();
    Ok((phase, contained))
}
