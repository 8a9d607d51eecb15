//! Goal: a function that is called often, checked once: before the first request, not in the middle of it.
//!
//! Run it with `cargo run --example prepare`.

use jsmill::{Engine, ErrorKind, Live, Script};

const SOURCE: &str = "\
const fee = (net, country) => Math.round(net * (country === 'CH' ? 0.02 : 0.03) * 100) / 100;";

#[tokio::main]
async fn main() -> jsmill::Result<()> {
    let engine = Engine::builder().workers(2).build()?;
    let script = Live::new(Script::new("fee.js", SOURCE)?);

    // 1. Every worker loads the script now, and finds the function. The types of arguments and result are stated once.
    let fee = engine.prepare::<(f64, &str), f64>(&script, "fee").await?;

    // 2. From here on a call is its arguments.
    assert_eq!(fee.call((100.0, "CH")).await?, 2.0);
    assert_eq!(fee.call((100.0, "AT")).await?, 3.0);

    // 3. Many at once: each call is a future, and both workers are busy.
    let nets: Vec<f64> = (1..=1_000).map(f64::from).collect();
    let fees = futures::future::try_join_all(nets.iter().map(|net| fee.call((*net, "AT")))).await?;
    let total: f64 = fees.iter().sum();
    assert!((total - 0.03 * 500_500.0).abs() < 0.01, "{total}");
    println!("{} fees, {total:.2} in all", fees.len());

    // 4. What does not fit is found before anything depends on it: a name that is not there,
    let error = engine.prepare::<(f64, &str), f64>(&script, "fees").await.expect_err("there is no `fees`");
    assert!(matches!(error.kind(), ErrorKind::NoSuchFunction { .. }), "{error}");
    println!("{error}");
    //    and another number of parameters.
    let error = engine.prepare::<(f64,), f64>(&script, "fee").await.expect_err("it takes two arguments");
    assert!(matches!(error.kind(), ErrorKind::NoSuchFunction { .. }), "{error}");
    println!("{error}");

    // 5. It follows the live script: the same handle calls the new version.
    script.store(&engine, Script::new("fee.js", "const fee = (net, country) => 1;")?).await?;
    assert_eq!(fee.call((100.0, "CH")).await?, 1.0);

    // 6. Nothing was loaded during a call: each of the two workers has made one context for each version.
    let built = contexts_built(&engine).await;
    assert_eq!(built, 4);
    println!("{built} contexts were made, for two versions on two workers");

    engine.shutdown().await
}

/// How many contexts the workers have made, once they have renewed their figures: they do so some ten times a second.
async fn contexts_built(engine: &Engine) -> u64 {
    tokio::time::sleep(std::time::Duration::from_millis(500)).await;
    engine.stats().workers.iter().map(|worker| worker.contexts_built).sum()
}
