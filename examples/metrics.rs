//! Goal: what an engine tells the `metrics` facade, as the text that Prometheus reads.
//!
//! Run it with `cargo run --example metrics`. It opens no port: a service would give the text out by its own HTTP server.

use std::time::{Duration, Instant};

use jsmill::{Engine, ErrorKind, Script};
use metrics_exporter_prometheus::{PrometheusBuilder, PrometheusHandle};

const SOURCE: &str = "\
const sum = (n) => { let sum = 0; for (let i = 1; i <= n; i++) sum += i; return sum; };
const spin = () => { for (;;); };
const fail = () => { throw new Error('no'); };";

#[tokio::main]
async fn main() -> jsmill::Result<()> {
    // 1. The recorder comes first: an engine asks it for its handles once, when it is built. With these limits, histograms are
    //    rendered as buckets; without, as quantiles.
    let metrics = PrometheusBuilder::new()
        .set_buckets(&[0.000_01, 0.000_1, 0.001, 0.01, 0.1, 1.0])
        .and_then(PrometheusBuilder::install_recorder)
        .expect("no other recorder is installed");
    let engine = Engine::builder().workers(2).build()?;
    let script = Script::new("work.js", SOURCE)?;

    // 2. Some work: calls that succeed, one that throws, one that runs into its limit.
    for n in 0..50_u32 {
        assert_eq!(engine.task(&script).call::<u32>("sum", (n,)).await?, n * (n + 1) / 2);
    }
    let error = engine.task(&script).call::<u32>("fail", ()).await.unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Script(_)), "{error}");
    let error = engine.task(&script).timeout(Duration::from_millis(50)).call::<u32>("spin", ()).await.unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::SliceTimeout { .. }), "{error}");

    // 3. The figures that say what became of the calls. Those of workers may be some 100 ms behind.
    wait_for(&metrics, r#"jsmill_calls_total{outcome="ok"}"#, 50.0).await;
    wait_for(&metrics, r#"jsmill_calls_total{outcome="error"}"#, 1.0).await;
    wait_for(&metrics, r#"jsmill_calls_total{outcome="stopped"}"#, 1.0).await;
    wait_for(&metrics, r#"jsmill_terminations_total{reason="slice_timeout"}"#, 1.0).await;
    wait_for(&metrics, r#"jsmill_queue_seconds_count{priority="normal"}"#, 52.0).await;
    wait_for(&metrics, r#"jsmill_compilations_total{code="compiled"}"#, 1.0).await;

    // 4. All that has happened. `jsmill::metrics` in the docs lists the names with their units.
    let text = metrics.render();
    for line in text.lines().filter(|line| line.starts_with("jsmill_") && !line.contains("_bucket{")) {
        if !line.ends_with(" 0") {
            println!("{line}");
        }
    }
    for gauge in ["jsmill_heap_bytes", "jsmill_contexts", "jsmill_queue_length"] {
        assert!(text.contains(gauge), "{gauge} is missing");
    }

    // 5. The same as a value, for those who export nothing.
    let workers = engine.stats().workers;
    let busy: Duration = workers.iter().map(|worker| worker.busy).sum();
    let slices: u64 = workers.iter().map(|worker| worker.slices).sum();
    assert_eq!(slices, 52);
    assert!(busy >= Duration::from_millis(50), "the stopped call alone took 50 ms: {busy:?}");
    println!("{slices} slices kept the workers busy for {busy:.1?}");

    engine.shutdown().await
}

/// Waits until the figure of that name has this value.
async fn wait_for(metrics: &PrometheusHandle, name: &str, value: f64) {
    let end = Instant::now() + Duration::from_secs(10);
    loop {
        let text = metrics.render();
        let figure = text.lines().find_map(|line| line.strip_prefix(name)?.trim().parse::<f64>().ok());
        if figure == Some(value) {
            return;
        }
        assert!(Instant::now() < end, "`{name}` is {figure:?} in place of {value} in\n{text}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}
