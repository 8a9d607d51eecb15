//! Goal: scripts that call a network, a thousand at a time on one worker, as generators and as async functions, with the same results.
//!
//! Run it with `cargo run --release --example network`. The server that they call is part of the program, on the loopback
//! interface. It ends with a line of figures, and fails when a call failed, the styles differ, or far fewer were in flight.

#[path = "network/catalogue.rs"]
mod catalogue;
#[path = "http/client.rs"]
mod client;

use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use jsmill::{Engine, HostError, Script};
use serde::{Deserialize, Serialize};

use client::Client;

/// Callers with one call at a time each. A few more than the thousand requests that shall be in flight: some callers are always
/// between two of them.
const CALLERS: usize = 1_050;
/// How many calls each of them makes, one after the other.
const ROUNDS: usize = 12;
/// What the server takes for each request, at least.
const LATENCY: Duration = Duration::from_millis(20);

#[derive(Serialize)]
struct Order {
    article: u32,
    count: u32,
}

#[derive(Deserialize, Debug, PartialEq)]
struct Value {
    sold: u32,
    total: f64,
}

/// The way to the server, with a count of the requests that wait for their answers.
struct Catalogue {
    client: Client,
    root: String,
    open: AtomicUsize,
    most: AtomicUsize,
}

impl Catalogue {
    async fn get(&self, path: &str) -> Result<serde_json::Value, HostError> {
        self.most.fetch_max(self.open.fetch_add(1, Ordering::Relaxed) + 1, Ordering::Relaxed);
        let answer = self.client.get(&format!("{}{path}", self.root)).await;
        self.open.fetch_sub(1, Ordering::Relaxed);
        Ok(answer?)
    }
}

/// How a script makes its calls.
#[derive(Clone, Copy)]
enum Style {
    Generator,
    Async,
}

/// What all calls of one style brought.
struct Outcome {
    values: Vec<Value>,
    time: Duration,
    /// The worker's time inside V8: by the clock, and of its CPU, which is less where other processes want the core as well.
    busy: Duration,
    cpu: Duration,
    slices: u64,
    most: usize,
}

struct Shop {
    engine: Engine,
    script: Arc<Script>,
    catalogue: Arc<Catalogue>,
}

impl Shop {
    async fn value(&self, style: Style, order: Order) -> jsmill::Result<Value> {
        let task = self.engine.task(&self.script);
        match style {
            // The generator yields a path, its caller answers with a value. While the caller waits for the network, the script
            //    is paused, and holds no worker.
            Style::Generator => {
                let mut run = task.generate::<String, serde_json::Value, Value>("byGenerator", (order,))?;
                while let Some(path) = run.next().await? {
                    match self.catalogue.get(&path).await {
                        Ok(value) => run.reply(value)?,
                        Err(error) => run.throw(error)?,
                    }
                }
                run.finish().await
            }
            // The async function calls `get` itself; its caller sees the result alone.
            Style::Async => task.call_async("byAwait", (order,)).await,
        }
    }

    /// All calls in one style: as many callers as shall be in flight, and what each of them gets, in their order.
    async fn run(self: &Arc<Self>, style: Style) -> Result<Outcome, Box<dyn std::error::Error>> {
        self.catalogue.most.store(0, Ordering::Relaxed);
        let before = self.engine.stats().workers.swap_remove(0);
        let start = Instant::now();
        let callers: Vec<_> = (0..CALLERS)
            .map(|caller| {
                let shop = self.clone();
                tokio::spawn(async move {
                    let mut values = Vec::with_capacity(ROUNDS);
                    for round in 0..ROUNDS {
                        let article = (caller * ROUNDS + round) as u32;
                        values.push(shop.value(style, Order { article, count: article % 20 }).await?);
                    }
                    Ok::<_, jsmill::Error>(values)
                })
            })
            .collect();
        let mut values = Vec::with_capacity(CALLERS * ROUNDS);
        for caller in callers {
            values.extend(caller.await??);
        }
        let (time, after) = (start.elapsed(), self.engine.stats().workers.swap_remove(0));
        let (busy, cpu, slices) = (after.busy - before.busy, after.cpu - before.cpu, after.slices - before.slices);
        Ok(Outcome { values, time, busy, cpu, slices, most: self.catalogue.most.load(Ordering::Relaxed) })
    }
}

#[tokio::main]
async fn main() -> Result<ExitCode, Box<dyn std::error::Error>> {
    // Client and server are one process here: each connection takes two of its files.
    let files = rlimit::increase_nofile_limit(3 * CALLERS as u64)?;
    if files < 2 * CALLERS as u64 + 100 {
        return Err(format!("{files} open files are too few for {CALLERS} connections; raise `ulimit -n`").into());
    }

    // 1. An engine with one worker, and a host function whose future runs on this runtime, where the client lives.
    let root = format!("http://{}", catalogue::serve(LATENCY).await?);
    let catalogue =
        Arc::new(Catalogue { client: Client::new(), root, open: AtomicUsize::new(0), most: AtomicUsize::new(0) });
    let host = catalogue.clone();
    let engine = Engine::builder()
        .workers(1)
        .runtime(tokio::runtime::Handle::current())
        .host_async("get", move |path: String| {
            let catalogue = host.clone();
            async move { catalogue.get(&path).await }
        })
        .build()?;
    let script = Script::new("order.js", include_str!("network/order.js"))?;
    let shop = Arc::new(Shop { engine, script, catalogue });

    // 2. The same calls in both styles. A first round of the server alone opens the connections, so that neither style pays for them.
    let requests = (0..CALLERS).map(|article| {
        let catalogue = shop.catalogue.clone();
        tokio::spawn(async move { catalogue.get(&format!("/price/{article}")).await })
    });
    for request in requests.collect::<Vec<_>>() {
        request.await?.map_err(|error| error.message().to_owned())?;
    }
    println!("{CALLERS} calls at a time on 1 worker, 2 requests each, answered after {LATENCY:?} at least\n");
    println!("style        calls     time   calls/s  worker busy   its CPU  CPU a slice  in flight");
    let generator = shop.run(Style::Generator).await?;
    report("generator", &generator);
    let asynchronous = shop.run(Style::Async).await?;
    report("async", &asynchronous);

    // 3. What they must have brought, computed here.
    let expected = (0..CALLERS * ROUNDS).map(|article| expected(article as u32));
    let same = generator.values == asynchronous.values && generator.values.iter().zip(expected).all(|(a, b)| *a == b);
    shop.engine.shutdown().await?;
    let most = generator.most.min(asynchronous.most);
    println!(
        "\nnetwork: generator_calls={} async_calls={} in_flight={most} same={}",
        generator.values.len(),
        asynchronous.values.len(),
        u8::from(same),
    );
    // On a loaded machine some answers may come before the last requests are made, but not most of them.
    let good = same && most > CALLERS / 2;
    Ok(if good { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn report(style: &str, outcome: &Outcome) {
    let Outcome { values, time, busy, cpu, slices, most } = outcome;
    println!(
        "{style:<10} {:>7} {:>6.2} s {:>9.0} {:>10.0} % {:>7.0} % {:>9.1} µs {most:>10}",
        values.len(),
        time.as_secs_f64(),
        values.len() as f64 / time.as_secs_f64(),
        100.0 * busy.as_secs_f64() / time.as_secs_f64(),
        100.0 * cpu.as_secs_f64() / time.as_secs_f64(),
        cpu.as_secs_f64() * 1e6 / (*slices).max(1) as f64,
    );
}

fn expected(article: u32) -> Value {
    let sold = catalogue::stock(article).min(article % 20);
    let total = f64::from(sold) * catalogue::price(article) * if sold < 12 { 1.0 } else { 0.9 };
    Value { sold, total }
}
