//! Compiled code, shared by the workers of an engine.

use std::time::Duration;

use jsmill::{Bytes, Engine, Script};

use crate::support::{engine, engine_with, eventually, on_tokio};

/// A script that takes V8 something to compile.
fn source(n: u32) -> String {
    let functions: String = (0..200).map(|i| format!("function f{i}(x) {{ return x * {i} + {n}; }}\n")).collect();
    format!("{functions}const main = (x) => f7(x);")
}

#[track_caller]
fn compiled(engine: &Engine, compiled: u64, reused: u64) {
    eventually(&format!("{compiled} compiled and {reused} reused: {:?}", engine.stats()), || {
        let stats = engine.stats();
        (stats.compiled, stats.code_reused, stats.code_rejected) == (compiled, reused, 0)
    });
}

#[test]
fn a_second_snapshot_of_the_same_content_compiles_nothing() {
    let engine = engine();
    for run in 0..5 {
        let script = Script::new("s.js", source(1)).unwrap();
        assert_eq!(engine.task(&script).call_blocking::<u32>("main", (2,)).unwrap(), 15);
        compiled(&engine, 1, run);
    }
    let script = Script::new("s.js", source(2)).unwrap();
    assert_eq!(engine.task(&script).call_blocking::<u32>("main", (2,)).unwrap(), 16);
    compiled(&engine, 2, 4);
    assert!(engine.stats().code_cache > Bytes::new(0));
}

#[test]
fn a_second_worker_compiles_nothing() {
    let engine = engine_with(|builder| builder.workers(2));
    let script = Script::new("s.js", source(1)).unwrap();
    let warm = Script::new("s.js", source(1)).unwrap();
    // The first one compiles; the other workers may do so at the same moment, so it is given time.
    engine.task(&warm).call_blocking::<u32>("main", (2,)).unwrap();
    compiled(&engine, 1, 0);
    on_tokio(engine.prepare::<(u32,), u32>(&script, "main")).unwrap();
    compiled(&engine, 1, 2);
}

#[test]
fn a_replaced_isolate_compiles_nothing() {
    let engine = engine_with(|builder| builder.max_runs(1));
    let script = Script::new("s.js", source(1)).unwrap();
    for _ in 0..4 {
        assert_eq!(engine.task(&script).call_blocking::<u32>("main", (2,)).unwrap(), 15);
    }
    compiled(&engine, 1, 3);
    assert!(engine.stats().workers[0].isolates >= 4);
}

#[test]
fn modules_are_shared_one_by_one() {
    let engine = engine();
    let build = |n: u32| {
        Script::builder("m")
            .module("main.js", "import { main as f } from 'lib.js'; export const main = (x) => f(x);")
            .module("lib.js", format!("{} export {{ main }};", source(n)))
            .build()
            .unwrap()
    };
    engine.task(&build(1)).call_blocking::<u32>("main", (2,)).unwrap();
    compiled(&engine, 2, 0);
    engine.task(&build(1)).call_blocking::<u32>("main", (2,)).unwrap();
    compiled(&engine, 2, 2);
    engine.task(&build(3)).call_blocking::<u32>("main", (2,)).unwrap();
    compiled(&engine, 3, 3);
}

#[test]
fn the_size_is_bounded() {
    let engine = engine_with(|builder| builder.code_cache(Bytes::kib(256)));
    for n in 0..60 {
        let script = Script::new("s.js", source(n)).unwrap();
        assert_eq!(
            engine.task(&script).timeout(Duration::from_secs(10)).call_blocking::<u32>("main", (2,)).unwrap(),
            14 + n
        );
        assert!(engine.stats().code_cache <= Bytes::kib(256), "{:?}", engine.stats().code_cache);
    }
}
