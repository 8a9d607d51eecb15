//! Making a context and running a small script in it, in each of the ways that there are.

use std::time::Duration;

use criterion::Criterion;
use jsmill::{Caching, Engine, Limits};

use crate::{raw, work};

/// Freezes what a script can reach of the built-ins by their names, as one would by hand in each new context.
const FREEZE_BY_HAND: &str = "
(() => {
  const seen = new Set();
  const queue = [globalThis];
  while (queue.length > 0) {
    const object = queue.pop();
    if (seen.has(object)) continue;
    seen.add(object);
    const next = [Object.getPrototypeOf(object)];
    for (const key of Reflect.ownKeys(object)) {
      const { value, get, set } = Object.getOwnPropertyDescriptor(object, key);
      next.push(value, get, set);
    }
    for (const part of next) {
      if ((typeof part === 'object' && part !== null) || typeof part === 'function') queue.push(part);
    }
  }
  seen.forEach(Object.freeze);
})();";

/// All benches of contexts.
pub fn all(criterion: &mut Criterion) {
    raw::start_v8();
    let mut group = criterion.benchmark_group("context");

    group.bench_function("plain_v8", |bencher| with_isolate(|isolate| bencher.iter(|| plain(isolate, None))));
    group.bench_function("sealed_without_snapshot", |bencher| {
        with_isolate(|isolate| bencher.iter(|| plain(isolate, Some(FREEZE_BY_HAND))));
    });

    let script = work::script();
    let price = |engine: &Engine, caching: Caching| {
        let price: f64 = engine.task(&script).caching(caching).call_blocking("price", work::ARGS).expect("it succeeds");
        assert_eq!(price, work::RESULT);
    };
    let engine = |reserve| {
        let builder = Engine::builder().workers(1).limits(Limits::default()).fresh_reserve(reserve);
        builder.build().expect("the engine starts")
    };

    let without = engine(0);
    group.bench_function("fresh", |bencher| bencher.iter(|| price(&without, Caching::None)));
    // The reserve is filled while the worker is idle, so each call is given the time for that, which does not count.
    let with = engine(1);
    price(&with, Caching::None);
    group.bench_function("fresh_ready", |bencher| {
        bencher.iter_batched(
            || std::thread::sleep(Duration::from_millis(10)),
            |()| price(&with, Caching::None),
            criterion::BatchSize::PerIteration,
        );
    });
    group.bench_function("cached", |bencher| bencher.iter(|| price(&without, Caching::Memory)));
    group.finish();
}

fn with_isolate(body: impl FnOnce(&mut v8::OwnedIsolate)) {
    body(&mut v8::Isolate::new(Default::default()));
}

/// A context, the script, what is run in it then, and one call.
fn plain(isolate: &mut v8::OwnedIsolate, then: Option<&str>) {
    v8::scope!(let scope, isolate);
    let context = v8::Context::new(scope, Default::default());
    let scope = &mut v8::ContextScope::new(scope, context);
    raw::load(scope);
    if let Some(then) = then {
        let source = v8::String::new(scope, then).expect("a short text");
        let script = v8::Script::compile(scope, source, None).expect("it compiles");
        script.run(scope).expect("it runs");
    }
    let name = v8::String::new(scope, "price").expect("a short text");
    let function = context.global(scope).get(scope, name.into()).expect("the script defines it");
    let function = v8::Local::<v8::Function>::try_from(function).expect("it is a function");
    assert_eq!(raw::price(scope, function, work::ARGS), work::RESULT);
}
