//! Many contexts, many swaps, many failures.

use jsmill::{Caching, Live, Script};

use super::{Figures, MIB, Quarters, rounds};
use crate::support::{engine, eventually, in_child, on_tokio};

#[test]
fn contexts_that_come_and_go_leave_nothing() {
    in_child("growth::churn::contexts_that_come_and_go_leave_nothing", || {
        let engine = engine();
        let figures = Figures::of(&engine);
        let script =
            Script::new("c.js", "const table = [1, 2, 3].map((n) => ({ n })); const main = () => table.length;")
                .unwrap();
        let (mut heap, mut rss) = (Quarters::default(), Quarters::default());
        let rounds = rounds(2_000, 20_000);
        for round in 0..rounds {
            let task = engine.task(&script).caching(Caching::None);
            assert_eq!(task.call_blocking::<u32>("main", ()).unwrap(), 3, "round {round}");
            if round % 50 == 0 {
                let now = figures.heap_and_rss();
                heap.note(round, rounds, now.0);
                rss.note(round, rounds, now.1);
            }
        }
        heap.assert_flat("the heap", 2 * MIB);
        rss.assert_flat("the process", 16 * MIB);
        assert_eq!(engine.stats().workers[0].isolates, 1, "without another isolate");
        println!("{rounds} contexts: heap {heap:?}, process {rss:?}");
    });
}

#[test]
fn sealed_contexts_of_snapshots_come_and_go() {
    in_child("growth::churn::sealed_contexts_of_snapshots_come_and_go", || {
        let engine = engine();
        let figures = Figures::of(&engine);
        let (mut heap, mut rss) = (Quarters::default(), Quarters::default());
        let rounds = rounds(500, 5_000);
        for round in 0..rounds {
            let script = Script::new("c.js", format!("const table = [{round}]; const main = () => table[0];")).unwrap();
            assert_eq!(engine.task(&script).call_blocking::<usize>("main", ()).unwrap(), round);
            if round % 20 == 0 {
                let now = figures.heap_and_rss();
                heap.note(round, rounds, now.0);
                rss.note(round, rounds, now.1);
            }
        }
        heap.assert_flat("the heap", 2 * MIB);
        rss.assert_flat("the process", 24 * MIB);
        println!("{rounds} sealed contexts: heap {heap:?}, process {rss:?}");
    });
}

#[test]
fn swaps_of_a_large_source_leave_nothing() {
    in_child("growth::churn::swaps_of_a_large_source_leave_nothing", || {
        let engine = engine();
        let figures = Figures::of(&engine);
        let filler: String =
            (0..1_500).map(|i| format!("function f{i}(x) {{ return x + {i}; }} // {}\n", "-".repeat(60))).collect();
        let large = |n: usize| Script::new("big.js", format!("{filler}const main = () => f1({n});")).unwrap();
        assert!(filler.len() > 140_000, "{}", filler.len());
        let script = Live::new(large(0));
        let (mut heap, mut rss) = (Quarters::default(), Quarters::default());
        let rounds = rounds(60, 1_000);
        for round in 1..=rounds {
            on_tokio(script.store(&engine, large(round))).expect("no swap fails");
            assert_eq!(engine.task(&script).call_blocking::<usize>("main", ()).unwrap(), round + 1);
            if round % 3 == 0 {
                let now = figures.heap_and_rss();
                heap.note(round, rounds, now.0);
                rss.note(round, rounds, now.1);
            }
        }
        heap.assert_flat("the heap", 2 * MIB);
        // The code cache fills up to its bound of 64 MiB.
        rss.assert_flat("the process", 96 * MIB);
        println!("{rounds} swaps: heap {heap:?}, process {rss:?}, code {}", engine.stats().code_cache);
        drop(figures);
        eventually("one context is left", || engine.stats().workers[0].contexts == 1);
    });
}

#[test]
fn scripts_that_throw_leave_nothing() {
    in_child("growth::churn::scripts_that_throw_leave_nothing", || {
        let engine = engine();
        let figures = Figures::of(&engine);
        let (mut heap, mut rss) = (Quarters::default(), Quarters::default());
        let rounds = rounds(1_000, 50_000);
        for round in 0..rounds {
            let script =
                Script::new("t.js", format!("const main = () => {{ throw new Error('failure {}'); }};", round % 7))
                    .unwrap();
            let error = engine.task(&script).caching(Caching::None).call_blocking::<()>("main", ()).unwrap_err();
            assert_eq!(error.script_error().unwrap().message, format!("failure {}", round % 7));
            if round % 50 == 0 {
                let now = figures.heap_and_rss();
                heap.note(round, rounds, now.0);
                rss.note(round, rounds, now.1);
            }
        }
        heap.assert_flat("the heap", 2 * MIB);
        rss.assert_flat("the process", 16 * MIB);
        println!("{rounds} failures: heap {heap:?}, process {rss:?}");
    });
}
