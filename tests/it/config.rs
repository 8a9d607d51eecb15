//! Knobs that make no sense are refused in words that name the knob and what is allowed.

use std::time::Duration;

use jsmill::{Admission, Background, Bytes, Engine, EngineBuilder, ErrorKind, Limits, Pinning, Priority};

use crate::assert_kind;
use crate::support::{engine, engine_with, flags, in_child, still_works};

/// Building fails, and the text says all of this.
#[track_caller]
fn is_refused(knobs: impl FnOnce(EngineBuilder) -> EngineBuilder, says: &[&str]) {
    let error = knobs(Engine::builder().workers(1).v8_flags(flags())).build().expect_err("it must be refused");
    assert_kind!(error, ErrorKind::Config(_));
    let text = error.to_string();
    for part in says {
        assert!(text.contains(part), "`{part}` is missing in `{text}`");
    }
}

#[test]
fn sizes_and_numbers_out_of_range() {
    is_refused(|b| b.workers(0), &["`workers` is 0"]);
    is_refused(|b| b.workers(100_000), &["`workers` is 100000", "1024"]);
    is_refused(|b| b.stack_size(Bytes::kib(64)), &["`stack_size`", "64 KiB", "4 MiB"]);
    is_refused(|b| b.stack_size(Bytes::gib(5)), &["`stack_size`", "5 GiB", "1 GiB"]);
    is_refused(|b| b.heap_limit(Bytes::mib(1)), &["`heap_limit`", "1 MiB", "16 MiB"]);
    is_refused(|b| b.heap_limit(Bytes::gib(100)), &["`heap_limit`", "100 GiB", "64 GiB"]);
    is_refused(|b| b.heap_limit(Bytes::new(u64::MAX)), &["`heap_limit`"]);
    is_refused(|b| b.heap_limit(Bytes::mib(32)).heap_initial(Bytes::mib(64)), &["`heap_initial`", "64 MiB", "32 MiB"]);
    is_refused(|b| b.wasm_memory_limit(Bytes::kib(1)), &["`wasm_memory_limit`", "64 KiB"]);
    is_refused(|b| b.wasm_memory_limit(Bytes::gib(8)), &["`wasm_memory_limit`", "4 GiB"]);
    for (priority, name) in
        [(Priority::Critical, "critical"), (Priority::Normal, "normal"), (Priority::Background, "background")]
    {
        is_refused(|b| b.queue_depth(priority, 0), &["queue depth", name, "0"]);
        is_refused(|b| b.queue_depth(priority, usize::MAX), &["queue depth", name]);
    }
    is_refused(|b| b.limits(Limits { depth: 0, ..Limits::default() }), &["`depth` is 0"]);
    is_refused(|b| b.limits(Limits { depth: 100_000, ..Limits::default() }), &["`depth` is 100000", "between 1 and"]);
    is_refused(|b| b.grace(Duration::ZERO), &["`grace`"]);
    for (high, low, which) in [(0.0, 0.0, "upper"), (1.1, 0.5, "upper"), (f64::NAN, 0.5, "upper")] {
        is_refused(|b| b.shed(high, low), &["`shed`", which, &high.to_string()]);
    }
    for (high, low) in [(0.5, 0.6), (0.5, -0.1), (0.5, f64::NAN)] {
        is_refused(|b| b.shed(high, low), &["`shed`", "lower", &low.to_string(), "0.5"]);
    }
    let delay = |target, interval| Admission::Delay { target, interval };
    is_refused(|b| b.admission(delay(Duration::ZERO, Duration::from_secs(1))), &["`admission`", "target"]);
    is_refused(
        |b| b.admission(delay(Duration::from_secs(2), Duration::from_secs(1))),
        &["`admission`", "interval", "1s", "2s"],
    );
    is_refused(|b| b.max_runs(0), &["`max_runs` is 0"]);
    is_refused(|b| b.pinning(Pinning::Cores(vec![])), &["`pinning`", "empty"]);
    is_refused(|b| b.pinning(Pinning::Cores(vec![0, 5_000])), &["`pinning`", "5000"]);
}

#[test]
fn the_least_and_the_greatest_that_is_allowed() {
    in_child("config::the_least_and_the_greatest_that_is_allowed", || {
        let least = engine_with(|b| {
            b.heap_limit(Bytes::mib(16))
                .buffer_limit(Bytes::new(0))
                .code_cache(Bytes::new(0))
                .context_cache(0)
                .context_idle(Duration::ZERO)
                .fresh_reserve(0)
                .queue_depth(Priority::Normal, 1)
                .admission(Admission::Off)
                .shed(f64::MIN_POSITIVE, 0.0)
                .background(Background::Park)
                .grace(Duration::from_millis(1))
                .shutdown_timeout(Duration::ZERO)
                .max_lost(0)
                .max_runs(1)
                .max_age(Duration::ZERO)
                .spin(Duration::ZERO)
        });
        for _ in 0..20 {
            still_works(&least);
        }
        drop(least);
        let greatest = engine_with(|b| {
            b.heap_limit(Bytes::gib(8))
                .heap_initial(Bytes::mib(64))
                .buffer_limit(Bytes::new(u64::MAX))
                .code_cache(Bytes::new(u64::MAX))
                .context_cache(usize::MAX)
                .context_idle(Duration::MAX)
                .queue_depth(Priority::Normal, 1 << 20)
                .admission(Admission::Delay { target: Duration::MAX, interval: Duration::MAX })
                .shed(1.0, 1.0)
                .grace(Duration::MAX)
                .shutdown_timeout(Duration::MAX)
                .max_lost(usize::MAX)
                .max_runs(u64::MAX)
                .max_age(Duration::MAX)
        });
        for _ in 0..20 {
            still_works(&greatest);
        }
        greatest.shutdown_blocking().expect("nothing runs");
        drop(greatest);
    });
}

#[test]
fn the_least_stack() {
    in_child("config::the_least_stack", || still_works(&engine_with(|b| b.stack_size(Bytes::mib(4)))));
}

#[test]
fn the_greatest_stack() {
    in_child("config::the_greatest_stack", || still_works(&engine_with(|b| b.stack_size(Bytes::gib(1)))));
}

#[test]
fn another_stack_is_refused_with_both_sizes() {
    in_child("config::another_stack_is_refused_with_both_sizes", || {
        let engine = engine();
        is_refused(|b| b.stack_size(Bytes::mib(16)), &["`stack_size`", "8 MiB", "16 MiB"]);
        still_works(&engine);
    });
}

#[test]
fn a_refused_engine_spoils_nothing() {
    for _ in 0..20 {
        is_refused(|b| b.workers(0), &["workers"]);
    }
    still_works(&engine_with(|b| b));
}

#[test]
fn pinned_workers_work() {
    let engine = engine_with(|b| b.workers(2).pinning(Pinning::On));
    still_works(&engine);
}

#[test]
fn other_flags_than_the_first_engine_has_are_refused() {
    in_child("config::other_flags_than_the_first_engine_has_are_refused", || {
        let first = Engine::builder().workers(1).v8_flags(["--max-lazy"]).build().expect("an engine");
        is_refused(
            |b| b.v8_flags(["--no-opt"]),
            &["`--no-opt` is wanted and not set", "`--max-lazy` is set and not wanted"],
        );
        is_refused(
            |b| b.v8_flags(["--max-lazy"]).wasm_memory_limit(Bytes::mib(1)),
            &["WebAssembly", "1 MiB", "256 MiB"],
        );
        still_works(&first);
        let second = Engine::builder().workers(1).v8_flags(["--max-lazy"]).build().expect("the same flags");
        still_works(&second);
        drop(first);
        is_refused(|b| b.v8_flags(["--no-opt"]), &["--no-opt"]);
        still_works(&second);
    });
}

#[test]
fn a_flag_that_v8_does_not_know_is_named() {
    in_child("config::a_flag_that_v8_does_not_know_is_named", || {
        is_refused(|b| b.v8_flags(["--no-such-flag-at-all"]), &["--no-such-flag-at-all", "v8_flags"]);
        is_refused(|b| b.v8_flags(["stray"]), &["stray"]);
        still_works(&engine_with(|b| b.v8_flags(Vec::<String>::new())));
    });
}
