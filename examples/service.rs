//! An HTTP service whose answers are made by scripts that ask two other services: scripts in a folder, swapped when a file changes,
//! limits, priorities, refusals under load, metrics, and a graceful end.
//!
//! Run it with `cargo run --release --example service [-- --self-test] [--plot FILE]`: the service under its own load, with swaps and a
//! hostile script, for some seconds. It ends with a line of figures, and fails when a request got neither the right answer nor a
//! documented refusal. `-- serve` runs it until it is interrupted; `-- --help` says more.

#[path = "service/app.rs"]
mod app;
#[path = "service/args.rs"]
mod args;
#[path = "http/client.rs"]
mod client;
#[path = "service/gate.rs"]
mod gate;
#[path = "service/load.rs"]
mod load;
#[path = "service/plot.rs"]
mod plot;
#[path = "service/refusal.rs"]
mod refusal;
#[path = "service/report.rs"]
mod report;
#[path = "service/right.rs"]
mod right;
#[path = "service/routes.rs"]
mod routes;
#[path = "service/scripts.rs"]
mod scripts;
#[path = "service/selftest.rs"]
mod selftest;
#[path = "service/stage.rs"]
mod stage;
#[path = "service/upstream.rs"]
mod upstream;

use std::process::ExitCode;

use app::{App, Fallible, Settings};
use args::Mode;

#[tokio::main]
async fn main() -> Fallible<ExitCode> {
    match args::parse(std::env::args().skip(1)) {
        Ok(Mode::SelfTest { plot }) => selftest::run(&plot).await,
        Ok(Mode::Serve(settings)) => serve(settings).await,
        Ok(Mode::Help) => {
            println!("{}", args::USAGE);
            Ok(ExitCode::SUCCESS)
        }
        Err(trouble) => {
            eprintln!("{trouble}\n{}", args::USAGE);
            Ok(ExitCode::FAILURE)
        }
    }
}

/// Serves until the process is interrupted, and ends gracefully then.
async fn serve(settings: Settings) -> Fallible<ExitCode> {
    let folder = settings.scripts.display().to_string();
    let running = App::start(settings).await?;
    let address = running.address;
    println!("http://{address}/price/3/1, /delivery/3/1, /healthz, /metrics; scripts in {folder}; Ctrl-C ends it");
    interrupted().await?;
    println!("ending: requests that are under way are answered");
    running.stop().await?;
    Ok(ExitCode::SUCCESS)
}

/// Waits for Ctrl-C, or for the signal by which service managers end a process.
#[cfg(unix)]
async fn interrupted() -> std::io::Result<()> {
    use tokio::signal::unix::{SignalKind, signal};
    let mut terminated = signal(SignalKind::terminate())?;
    tokio::select! {
        interrupted = tokio::signal::ctrl_c() => interrupted,
        _ = terminated.recv() => Ok(()),
    }
}

/// Waits for Ctrl-C.
#[cfg(not(unix))]
async fn interrupted() -> std::io::Result<()> {
    tokio::signal::ctrl_c().await
}
