//! One call of a small function: by V8 alone, by the least one could write by hand, and by the engine with every limit armed.

use std::hint::black_box;
use std::time::Instant;

use criterion::Criterion;

use crate::bare::Bare;
use crate::raw;
use crate::work::{self, CALLERS, RESULT, args};

pub fn all(criterion: &mut Criterion) {
    raw::start_v8();
    let runtime = work::runtime();
    let mut group = criterion.benchmark_group("call");

    group.bench_function("raw_v8", |bencher| {
        raw::with_function(|scope, function| {
            assert_eq!(raw::price(scope, function, args()), RESULT);
            bencher.iter(|| raw::price(scope, function, args()));
        });
    });

    group.bench_function("bare_pipelined", |bencher| {
        let bare = Bare::start();
        bencher.iter_custom(|calls| {
            work::at_once(&runtime, CALLERS, calls, |share| {
                let caller = bare.caller();
                async move {
                    for _ in 0..share {
                        assert_eq!(caller.price(args()).await, RESULT);
                    }
                }
            })
        });
    });

    group.bench_function("bare_roundtrip", |bencher| {
        let bare = Bare::start();
        let caller = bare.caller();
        bencher.iter_custom(|calls| {
            let start = Instant::now();
            runtime.block_on(async {
                for _ in 0..calls {
                    black_box(caller.price(args()).await);
                }
            });
            start.elapsed()
        });
        drop(caller);
    });

    let engine = work::engine(work::all_limits());
    let script = work::script();

    group.bench_function("pipelined", |bencher| {
        bencher.iter_custom(|calls| {
            work::at_once(&runtime, CALLERS, calls, |share| {
                let (engine, script) = (engine.clone(), script.clone());
                async move {
                    for _ in 0..share {
                        let price: f64 = engine.task(&script).call("price", args()).await.expect("the call succeeds");
                        assert_eq!(price, RESULT);
                    }
                }
            })
        });
    });

    let prepared = engine.prepare::<(f64, f64, &'static str), f64>(&script, "price");
    let prepared = std::sync::Arc::new(runtime.block_on(prepared).expect("the function is there"));
    group.bench_function("prepared_pipelined", |bencher| {
        bencher.iter_custom(|calls| {
            work::at_once(&runtime, CALLERS, calls, |share| {
                let prepared = prepared.clone();
                async move {
                    for _ in 0..share {
                        assert_eq!(prepared.call(args()).await.expect("the call succeeds"), RESULT);
                    }
                }
            })
        });
    });

    group.bench_function("roundtrip", |bencher| {
        bencher.iter_custom(|calls| {
            let start = Instant::now();
            runtime.block_on(async {
                for _ in 0..calls {
                    let price: f64 = engine.task(&script).call("price", args()).await.expect("the call succeeds");
                    black_box(price);
                }
            });
            start.elapsed()
        });
    });

    group.bench_function("blocking", |bencher| {
        bencher.iter(|| {
            let price: f64 = engine.task(&script).call_blocking("price", args()).expect("the call succeeds");
            price
        });
    });
    group.finish();
}
