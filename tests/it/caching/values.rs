//! Shared values: converted once for each worker, frozen, the same object everywhere, gone with the host's own.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use jsmill::{Caching, Composition, ErrorKind, Isolation, OneOff, Result, Scope, Script, Shared, Task};
use serde::{Serialize, Serializer};
use serde_json::{Value, json};

use super::until;
use crate::assert_kind;
use crate::support::{call, engine, engine_with, still_works};

/// Counts how often it is read.
struct Counted(AtomicU32);

impl Serialize for Counted {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.fetch_add(1, Ordering::SeqCst);
        json!({"zones": [{"id": 7}], "map": {"a": 1}}).serialize(serializer)
    }
}

const SOURCE: &str = "const main = (v) => v.zones[0].id; const frozen = (v) => [v, v.zones, v.zones[0], v.map].every(Object.isFrozen);
    const same = (a, b) => a === b; const write = (v) => { try { v.zones.push(1); return 'written'; } catch (e) { return e.name; } };
    const kinds = (v) => [Array.isArray(v.zones), Object.keys(v), JSON.stringify(v), [...v.zones].length, v.zones.map((z) => z.id), { ...v.map }];";

#[test]
fn a_value_is_converted_once_and_frozen() {
    let engine = engine();
    let source = Arc::new(Counted(AtomicU32::new(0)));
    let value = engine.value(source.clone());
    for index in 0..5 {
        let script = Script::new(format!("s{index}.js"), SOURCE).unwrap();
        for _ in 0..3 {
            assert_eq!(engine.task(&script).call_blocking::<u32>("main", (&value,)).unwrap(), 7);
            assert!(engine.task(&script).call_blocking::<bool>("frozen", (&value,)).unwrap());
            assert!(engine.task(&script).call_blocking::<bool>("same", (&value, value.clone())).unwrap());
            assert_eq!(engine.task(&script).call_blocking::<String>("write", (&value,)).unwrap(), "TypeError");
        }
    }
    assert_eq!(source.0.load(Ordering::SeqCst), 1);
    until(&engine, "one value, converted once", |worker| (worker.values, worker.values_converted) == (1, 1));
}

#[test]
fn every_isolation_can_use_it() {
    let engine = engine();
    let value = engine.value(Arc::new(Counted(AtomicU32::new(0))));
    for isolation in [Isolation::Sealed, Isolation::Fresh, Isolation::Shared] {
        let script = Script::builder("s.js").source(SOURCE).isolation(isolation).build().unwrap();
        let text = "{\"map\":{\"a\":1},\"zones\":[{\"id\":7}]}";
        let expected = json!([true, ["map", "zones"], text, 1, [7], {"a": 1}]);
        assert_eq!(engine.task(&script).call_blocking::<Value>("kinds", (&value,)).unwrap(), expected);
        assert_eq!(engine.task(&script).caching(Caching::None).call_blocking::<u32>("main", (&value,)).unwrap(), 7);
    }
    until(&engine, "converted once", |worker| worker.values_converted == 1);
}

#[test]
fn each_worker_converts_for_itself() {
    let engine = engine_with(|builder| builder.workers(2));
    let source = Arc::new(Counted(AtomicU32::new(0)));
    let value = engine.value(source.clone());
    let script = Script::new("s.js", SOURCE).unwrap();
    std::thread::scope(|threads| {
        for _ in 0..4 {
            threads.spawn(|| {
                for _ in 0..100 {
                    assert_eq!(engine.task(&script).call_blocking::<u32>("main", (&value,)).unwrap(), 7);
                }
            });
        }
    });
    let conversions = source.0.load(Ordering::SeqCst);
    assert!((1..=2).contains(&conversions), "{conversions}");
}

#[test]
fn it_is_released_when_the_host_drops_it() {
    let engine = engine();
    let script = Script::new("s.js", SOURCE).unwrap();
    let source = Arc::new(Counted(AtomicU32::new(0)));
    let (weak, value) = (Arc::downgrade(&source), engine.value(source));
    engine.task(&script).call_blocking::<u32>("main", (&value,)).unwrap();
    until(&engine, "it is held", |worker| worker.values == 1);
    drop(value);
    assert_eq!(weak.strong_count(), 0, "the worker holds it weakly");
    until(&engine, "it is released", |worker| worker.values == 0);
}

#[test]
fn a_new_arc_is_a_new_conversion() {
    let engine = engine();
    let script = Script::new("s.js", "const main = (v) => v.n;").unwrap();
    for n in 0..20 {
        let value = engine.value(Arc::new(json!({"n": n})));
        assert_eq!(engine.task(&script).call_blocking::<u32>("main", (&value,)).unwrap(), n);
        assert_eq!(engine.task(&script).call_blocking::<u32>("main", (&value,)).unwrap(), n);
    }
    until(&engine, "each was converted once", |worker| worker.values_converted == 20 && worker.values == 0);
}

#[test]
fn two_handles_of_one_arc_are_one_value() {
    let engine = engine();
    let source = Arc::new(Counted(AtomicU32::new(0)));
    let (one, two) = (engine.value(source.clone()), engine.value(source.clone()));
    assert!(call::<bool>(&engine, SOURCE, "same", (&one, &two)).unwrap());
    assert_eq!(source.0.load(Ordering::SeqCst), 1);
}

#[test]
fn plain_values_and_odd_ones() {
    let engine = engine();
    let text = engine.value(Arc::new("text".to_owned()));
    let nothing = engine.value(Arc::new(None::<u8>));
    let number = engine.value(Arc::new(1.5));
    let source = "const main = (a, b, c) => [a, b, c];";
    assert_eq!(call::<Value>(&engine, source, "main", (&text, &nothing, &number)).unwrap(), json!(["text", null, 1.5]));
    let mixed = call::<Value>(&engine, source, "main", (1, &text, vec![2])).unwrap();
    assert_eq!(mixed, json!([1, "text", [2]]));
    let bad = engine.value(Arc::new(vec![1.0, f64::NAN]));
    assert_kind!(call::<Value>(&engine, source, "main", (&bad, 1, 2)).unwrap_err(), ErrorKind::Convert { .. });
    let bytes = engine.value(Arc::new(serde_bytes::ByteBuf::from(vec![1, 2, 3])));
    // A typed array cannot be frozen.
    assert_kind!(call::<Value>(&engine, source, "main", (&bytes, 1, 2)).unwrap_err(), ErrorKind::Convert { .. });
    still_works(&engine);
}

#[test]
fn a_serializer_that_panics_fails_its_call_alone() {
    struct Panics;
    impl Serialize for Panics {
        fn serialize<S: Serializer>(&self, _: S) -> Result<S::Ok, S::Error> {
            panic!("a serializer")
        }
    }
    // Printing a panic with its frames may take long on a loaded machine.
    let limits = jsmill::Limits { slice_timeout: Some(crate::support::SLACK), ..jsmill::Limits::default() };
    let engine = crate::support::engine_with(|builder| builder.limits(limits));
    let value: Shared<Panics> = engine.value(Arc::new(Panics));
    assert_kind!(
        call::<Value>(&engine, "const main = (v) => v;", "main", (&value,)).unwrap_err(),
        ErrorKind::HostPanicked { .. }
    );
    still_works(&engine);
}

struct Uses(Arc<Script>);

impl Task for Uses {
    fn script(&self) -> &Arc<Script> {
        &self.0
    }
}

impl OneOff for Uses {
    type Output = (u32, bool);
    fn run(&self, scope: &mut Scope<'_, '_, '_>) -> Result<(u32, bool)> {
        let main = scope.function("main")?;
        let value = scope.shared(0).expect("it was shared");
        let result = scope.call(main, &[value])?;
        Ok((scope.from_js(result)?, scope.shared(1).is_none()))
    }
}

#[test]
fn a_composition_shares_by_number() {
    let engine = engine();
    let value = engine.value(Arc::new(Counted(AtomicU32::new(0))));
    let script = Script::new("s.js", SOURCE).unwrap();
    for _ in 0..3 {
        let composition = Composition::new(Uses(script.clone())).one_off().memory().share(&value);
        assert_eq!(engine.run_blocking(composition).unwrap(), (7, true));
    }
    until(&engine, "converted once", |worker| worker.values_converted == 1);
}
