//! Goal: a server whose logic is JavaScript: an SSH tarpit that holds ten thousand clients, each by an async function that sleeps.
//!
//! Run it with `cargo run --release --features io --example tarpit -- [address]`; its script is `tarpit/tarpit.js`. With `--self-test` it starts
//! itself on loopback, lets another process of its own come with ten thousand clients, measures, and ends by itself.

#[path = "tarpit/clients.rs"]
mod clients;
#[path = "tarpit/self_test.rs"]
mod self_test;

use std::sync::Arc;
use std::time::Duration;

use jsmill::{Bytes, CallFuture, Engine, HostError, HostFunctions, Io, Limits, Result, Script};

/// How long a client waits for the next line.
const INTERVAL: Duration = Duration::from_secs(10);

/// How many clients are held at a time.
const CLIENTS: usize = 10_000;

/// A tarpit.
struct Tarpit {
    engine: Engine,
    script: Arc<Script>,
}

impl Tarpit {
    /// `ready` is called with the address as soon as it listens, `log` with a line for each client that has left.
    fn new(
        ready: impl Fn(String) + Send + Sync + 'static,
        log: impl Fn(String) + Send + Sync + 'static,
    ) -> Result<Self> {
        let host = HostFunctions::new()
            .sync("ready", move |address: String| {
                ready(address);
                Ok::<_, HostError>(())
            })
            .sync("log", move |line: String| {
                log(line);
                Ok::<_, HostError>(())
            });
        // A small heap, of which ten thousand clients take less than half: V8 collects what they leave behind before that is more than they are. What
        // a tarpit makes lives for long: a large young generation would only be memory that holds nothing.
        let engine =
            Engine::builder().workers(1).heap_limit(Bytes::mib(16)).v8_flags(["--max-semi-space-size=1"]).build()?;
        let script =
            Script::builder("tarpit.js").source(include_str!("tarpit/tarpit.js")).host_functions(host).build()?;
        Ok(Tarpit { engine, script })
    }

    /// The run. It never ends by itself, and everything that it holds goes with the future.
    fn run(&self, address: &str, interval: Duration, clients: usize) -> CallFuture<()> {
        // A listener, and a socket for each client; for each one wait, and the one for the next client.
        let io = Io::new().listen(address).handles(clients + 1);
        let limits = Limits { pending: clients + 10, ..self.engine.limits() };
        let task = self.engine.task(&self.script).io(io).limits(limits);
        task.call_async("main", (address, interval.as_millis() as u32, clients as u32))
    }
}

fn main() -> std::result::Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    match arguments[..] {
        ["--self-test"] => runtime.block_on(self_test::run()),
        // The other process of the self-test.
        ["--clients", address, count, interval] => {
            runtime.block_on(clients::run(address, count.parse()?, Duration::from_millis(interval.parse()?)))
        }
        [] => runtime.block_on(serve("127.0.0.1:2222")),
        [address] => runtime.block_on(serve(address)),
        _ => Err("tarpit [address | --self-test]".into()),
    }
}

async fn serve(address: &str) -> std::result::Result<(), Box<dyn std::error::Error>> {
    rlimit::increase_nofile_limit(CLIENTS as u64 + 100)?;
    let tarpit = Tarpit::new(|address| println!("listening at {address}; end with Ctrl-C"), |line| println!("{line}"))?;
    tokio::select! {
        ended = tarpit.run(address, INTERVAL, CLIENTS) => ended?,
        interrupted = tokio::signal::ctrl_c() => interrupted?,
    }
    Ok(())
}
