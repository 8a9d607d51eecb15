//! Settings of a zone: passed as a shared value, and converted for each call.

use std::collections::BTreeMap;
use std::sync::Arc;

use criterion::Criterion;
use jsmill::{Limits, Script};

use crate::work;

/// The same call with the same settings, in both ways.
pub fn all(criterion: &mut Criterion) {
    let engine = work::engine(Limits::default());
    let script = Script::new("zone.js", "const rate = (zones, name) => zones[name].rate;").expect("it is sound");
    let zones: BTreeMap<String, BTreeMap<&str, f64>> = (0..1_000)
        .map(|zone| {
            (format!("zone {zone}"), BTreeMap::from([("rate", f64::from(zone)), ("least", 1.0), ("most", 3.0)]))
        })
        .collect();
    let shared = engine.value(Arc::new(zones.clone()));
    let mut group = criterion.benchmark_group("value");
    group.bench_function("cached", |bencher| {
        bencher.iter(|| {
            let rate: f64 = engine.task(&script).call_blocking("rate", (&shared, "zone 7")).expect("it succeeds");
            assert_eq!(rate, 7.0);
        });
    });
    group.bench_function("converted", |bencher| {
        bencher.iter(|| {
            let rate: f64 = engine.task(&script).call_blocking("rate", (&zones, "zone 7")).expect("it succeeds");
            assert_eq!(rate, 7.0);
        });
    });
    group.finish();
}
