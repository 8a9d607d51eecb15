//! Metrics: names, kinds and labels are those of the table in `src/observe.md`, and they move.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use jsmill::{Caching, Script};
use metrics_util::MetricKind;
use metrics_util::debugging::{DebugValue, DebuggingRecorder, Snapshotter};

use crate::support::{call, engine, eventually, in_child};

/// The names and kinds in the table of the documentation.
fn documented() -> BTreeMap<String, MetricKind> {
    let text = include_str!("../../../src/observe.md");
    let rows = text.lines().filter_map(|line| line.strip_prefix("| `jsmill_"));
    let mut found = BTreeMap::new();
    for row in rows {
        let row = format!("`jsmill_{row}");
        let (names, rest) = row.split_once(" | ").expect("a row of cells");
        let kind = match rest.split(" | ").next() {
            Some("counter") => MetricKind::Counter,
            Some("gauge") => MetricKind::Gauge,
            Some("histogram") => MetricKind::Histogram,
            other => panic!("no kind: {other:?} in {row}"),
        };
        for name in names.split(", ") {
            found.insert(name.trim_matches('`').to_owned(), kind);
        }
    }
    found
}

/// Sums of counters, by name and by one label's value.
fn counters(
    snapshotter: &Snapshotter,
    into: &mut BTreeMap<(String, String), u64>,
    kinds: &mut BTreeMap<String, MetricKind>,
) {
    for (key, _, _, value) in snapshotter.snapshot().into_vec() {
        let (kind, key) = key.into_parts();
        let label = key.labels().next().map(|label| label.value().to_owned()).unwrap_or_default();
        kinds.insert(key.name().to_owned(), kind);
        let entry = into.entry((key.name().to_owned(), label)).or_default();
        match value {
            // A snapshot takes away what it shows; a gauge counts with the largest value that was seen.
            DebugValue::Counter(count) => *entry += count,
            DebugValue::Gauge(value) => *entry = (*entry).max(value.0 as u64),
            DebugValue::Histogram(values) => *entry += values.len() as u64,
        }
    }
}

#[test]
fn names_and_kinds_are_the_documented_ones_and_they_move() {
    in_child("observe::metrics::names_and_kinds_are_the_documented_ones_and_they_move", || {
        let recorder = DebuggingRecorder::new();
        let snapshotter = recorder.snapshotter();
        recorder.install().expect("the first recorder");
        let engine = engine();
        let script = Script::new(
            "m.js",
            "const main = () => 1; const spin = () => { for (;;); }; const fail = () => { throw 1; };",
        )
        .unwrap();
        for _ in 0..5 {
            engine.task(&script).call_blocking::<u32>("main", ()).unwrap();
        }
        engine.task(&script).caching(Caching::None).call_blocking::<u32>("main", ()).unwrap();
        engine.task(&script).call_blocking::<u32>("fail", ()).unwrap_err();
        engine.task(&script).timeout(Duration::from_millis(30)).call_blocking::<u32>("spin", ()).unwrap_err();
        engine.task(&script).call_blocking::<u32>("main", ()).unwrap();
        let value = engine.value(std::sync::Arc::new(1));
        call::<u32>(&engine, "const main = (v) => v;", "main", (&value,)).unwrap();

        let (mut seen, mut kinds) = (BTreeMap::new(), BTreeMap::new());
        let expected = [
            ("jsmill_calls_total", "ok", 8),
            ("jsmill_calls_total", "error", 1),
            ("jsmill_calls_total", "stopped", 1),
            ("jsmill_terminations_total", "slice_timeout", 1),
            ("jsmill_queue_seconds", "normal", 10),
            ("jsmill_slice_seconds", "", 10),
            ("jsmill_cpu_seconds", "", 10),
            ("jsmill_context_hits_total", "", 6),
            ("jsmill_context_misses_total", "", 3),
            ("jsmill_contexts_built_total", "", 4),
            ("jsmill_compilations_total", "compiled", 2),
            ("jsmill_compilations_total", "reused", 2),
            ("jsmill_isolates_total", "", 1),
            ("jsmill_values", "0", 1),
        ];
        eventually("all figures are there", || {
            counters(&snapshotter, &mut seen, &mut kinds);
            expected.iter().all(|(name, label, figure)| {
                let known = seen.get(&((*name).to_owned(), (*label).to_owned())).copied();
                // What is too high will not get better.
                assert!(known.unwrap_or_default() <= *figure, "{name} {label}: {known:?} instead of {figure}");
                known == Some(*figure)
            })
        });
        eventually("the contexts are seen", || {
            counters(&snapshotter, &mut seen, &mut kinds);
            seen[&("jsmill_contexts".to_owned(), "0".to_owned())] >= 1
        });
        let heap = seen[&("jsmill_heap_bytes".to_owned(), "0".to_owned())];
        assert!(heap > 100_000, "{heap}");

        let documented = documented();
        assert!(documented.len() > 15, "{documented:?}");
        assert_eq!(kinds, documented);
        let labels = |name: &str| -> BTreeSet<&str> {
            seen.keys().filter(|(known, _)| known == name).map(|(_, label)| label.as_str()).collect()
        };
        assert_eq!(labels("jsmill_calls_total"), BTreeSet::from(["ok", "error", "stopped", "refused"]));
        assert_eq!(labels("jsmill_queue_length"), BTreeSet::from(["critical", "normal", "background"]));
        assert_eq!(labels("jsmill_compilations_total"), BTreeSet::from(["compiled", "reused", "rejected"]));
        assert_eq!(
            labels("jsmill_terminations_total"),
            BTreeSet::from([
                "slice_timeout",
                "cpu_budget",
                "deadline",
                "heap_limit",
                "buffer_limit",
                "cancelled",
                "shutting_down",
                "host_panic"
            ])
        );
    });
}

#[test]
fn calls_that_are_refused_or_given_up_are_counted() {
    in_child("observe::metrics::calls_that_are_refused_or_given_up_are_counted", || {
        let recorder = DebuggingRecorder::new();
        let snapshotter = recorder.snapshotter();
        recorder.install().expect("the first recorder");
        let engine = engine();
        let script = Script::new("m.js", "const spin = () => { for (;;); };").unwrap();
        crate::support::on_many_threads(async {
            let call = engine.task(&script).timeout(Duration::from_secs(30)).call::<u32>("spin", ());
            let given_up = tokio::time::timeout(Duration::from_millis(200), call).await;
            assert!(given_up.is_err());
        });
        crate::support::still_works(&engine);
        engine.shutdown_blocking().unwrap();
        engine.task(&script).call_blocking::<u32>("spin", ()).unwrap_err();
        let (mut seen, mut kinds) = (BTreeMap::new(), BTreeMap::new());
        eventually("both were counted", || {
            counters(&snapshotter, &mut seen, &mut kinds);
            let get =
                |name: &str, label: &str| seen.get(&(name.to_owned(), label.to_owned())).copied().unwrap_or_default();
            get("jsmill_terminations_total", "cancelled") == 1 && get("jsmill_calls_total", "refused") == 1
        });
    });
}
