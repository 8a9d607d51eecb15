//! Documents into JavaScript and out of it, beside what one would do with JSON text.
//!
//! Both sides make the same kind of call on the same engine. `in` passes the document to a function that looks at one part of it;
//! `out` gets it back from a function that has it already.

use std::hint::black_box;

use criterion::{BenchmarkGroup, Criterion, measurement::WallTime};
use jsmill::{BigInts, Bytes, Engine, Isolation, Limits, Policy, Script};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::work;

const SOURCE: &str = "
let kept;
let parsed;
const size = (value) => Object.keys(value).length;
const sizeOfText = (text) => Object.keys(JSON.parse(text)).length;
const keep = (value) => { kept = value; };
const keepText = (text) => { parsed = JSON.parse(text); };
const give = () => kept;
const giveText = () => JSON.stringify(parsed);
";

/// A struct of eight fields, as requests and answers often are.
#[derive(Serialize, Deserialize)]
struct Small {
    id: u64,
    name: String,
    price: f64,
    stock: u32,
    zone: String,
    active: bool,
    weight: f64,
    note: Option<String>,
}

/// All benches of conversion.
pub fn all(criterion: &mut Criterion) {
    let engine = work::engine(Limits { result: Bytes::mib(64), ..Limits::default() });
    let script =
        Script::builder("convert.js").source(SOURCE).isolation(Isolation::Shared).build().expect("it is sound");
    let mut group = criterion.benchmark_group("convert");
    for (name, text) in [
        ("twitter", include_str!("../data/twitter.json")),
        ("citm", include_str!("../data/citm_catalog.json")),
        ("canada", include_str!("../data/canada.json")),
    ] {
        let document: Value = serde_json::from_str(text).expect("it is JSON");
        both_ways(&mut group, &engine, &script, name, &document);
    }
    let small = Small {
        id: 4711,
        name: "cargo bike".into(),
        price: 12.5,
        stock: 3,
        zone: "north-east".into(),
        active: true,
        weight: 38.2,
        note: None,
    };
    both_ways(&mut group, &engine, &script, "small", &small);
    group.finish();
}

fn both_ways<T: Serialize + DeserializeOwned + Send + 'static>(
    group: &mut BenchmarkGroup<'_, WallTime>,
    engine: &Engine,
    script: &std::sync::Arc<Script>,
    name: &str,
    document: &T,
) {
    // The ids of tweets are larger than a JavaScript number can hold: they pass as BigInts, where the text loses digits.
    let policy = Policy { big_ints: BigInts::Allow, ..Policy::default() };
    let task = || engine.task(script).values(policy);
    let keys: u32 = task().call_blocking("size", (document,)).expect("it passes");
    group.bench_function(format!("{name}_in/jsmill"), |bencher| {
        bencher.iter(|| assert_eq!(task().call_blocking::<u32>("size", (document,)).expect("it passes"), keys));
    });
    group.bench_function(format!("{name}_in/json_text"), |bencher| {
        bencher.iter(|| {
            let text = serde_json::to_string(document).expect("it has a text");
            assert_eq!(task().call_blocking::<u32>("sizeOfText", (text,)).expect("it passes"), keys);
        });
    });
    task().call_blocking::<()>("keep", (document,)).expect("it passes");
    let text = serde_json::to_string(document).expect("it has a text");
    task().call_blocking::<()>("keepText", (text,)).expect("it passes");
    group.bench_function(format!("{name}_out/jsmill"), |bencher| {
        bencher.iter(|| black_box(task().call_blocking::<T>("give", ()).expect("it passes")));
    });
    group.bench_function(format!("{name}_out/json_text"), |bencher| {
        bencher.iter(|| {
            let text: String = task().call_blocking("giveText", ()).expect("it passes");
            black_box(serde_json::from_str::<T>(&text).expect("it is JSON"))
        });
    });
}
