//! Goal: a large value of the host that scripts read in every call, but that is converted once for each worker.
//!
//! Run it with `cargo run --example values`.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use jsmill::{Engine, ErrorKind, Script};
use serde::Serialize;

/// A price list with 20,000 articles: too much to convert again for each call.
#[derive(Serialize)]
struct PriceList {
    currency: &'static str,
    prices: BTreeMap<String, f64>,
}

const SOURCE: &str = "\
const price = (list, article, count) => `${(list.prices[article] * count).toFixed(2)} ${list.currency}`;
const discount = (list) => { list.prices['a7'] = 0; };
const count = (list) => Object.keys(list.prices).length;";

fn list(currency: &'static str, factor: f64) -> Arc<PriceList> {
    let prices = (0..20_000).map(|n| (format!("a{n}"), factor * f64::from(n))).collect();
    Arc::new(PriceList { currency, prices })
}

#[tokio::main]
async fn main() -> jsmill::Result<()> {
    let engine = Engine::builder().workers(1).build()?;
    let script = Script::new("list.js", SOURCE)?;

    // 1. A handle of the value. It is passed like any other argument; other arguments stand beside it.
    let euros = engine.value(list("EUR", 0.5));
    let text: String = engine.task(&script).call("price", (&euros, "a7", 3)).await?;
    assert_eq!(text, "10.50 EUR");

    // 2. Later calls of that worker find the object of the first one. By value, it is converted for each call.
    let start = Instant::now();
    for _ in 0..20 {
        assert_eq!(engine.task(&script).call::<u32>("count", (&euros,)).await?, 20_000);
    }
    let shared = start.elapsed() / 20;
    let start = Instant::now();
    for _ in 0..20 {
        assert_eq!(engine.task(&script).call::<u32>("count", (&**euros.get(),)).await?, 20_000);
    }
    let converted = start.elapsed() / 20;
    assert!(shared < converted, "{shared:?} as a shared value, {converted:?} as an argument");
    println!("a call took {shared:?} with the shared value, and {converted:?} with the value as an argument");

    // 3. All runs see the same object, so that it is read-only: a script that writes to it gets an error.
    let error = engine.task(&script).call::<()>("discount", (&euros,)).await.unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Script(thrown) if thrown.name == "TypeError"), "{error}");
    println!("{error}");

    // 4. A change is a new value with a handle of its own. Calls that run keep the one they were given.
    let francs = engine.value(list("CHF", 0.48));
    let text: String = engine.task(&script).call("price", (&francs, "a7", 3)).await?;
    assert_eq!(text, "10.08 CHF");

    // 5. Two values, two conversions. When the host lets a value go, the workers do as well.
    let figures = figures(&engine).await;
    assert_eq!((figures.0, figures.1), (2, 2));
    drop(euros);
    let end = Instant::now() + Duration::from_secs(20);
    while self::figures(&engine).await.0 > 1 {
        assert!(Instant::now() < end, "the worker keeps a value that is gone");
        // A worker looks after such things between calls, and when it is idle.
        assert_eq!(engine.task(&script).call::<u32>("count", (&francs,)).await?, 20_000);
    }
    println!("2 values were converted once each; one is gone, one is left");

    engine.shutdown().await
}

/// How many shared values the worker holds, and how many it has converted, once it has renewed its figures.
async fn figures(engine: &Engine) -> (usize, u64) {
    tokio::time::sleep(Duration::from_millis(500)).await;
    let worker = &engine.stats().workers[0];
    (worker.values, worker.values_converted)
}
