//! What it costs that every limit is armed.

use criterion::Criterion;
use jsmill::Limits;

use crate::work;

/// The same call with all limits and with none.
pub fn all(criterion: &mut Criterion) {
    let none = Limits { slice_timeout: None, cpu_budget: None, deadline: None, ..Limits::default() };
    let mut group = criterion.benchmark_group("limits");
    for (name, limits) in [("armed", work::all_limits()), ("unarmed", none)] {
        let engine = work::engine(limits);
        let script = work::script();
        let runtime = work::runtime();
        let prepared = runtime.block_on(engine.prepare::<(f64, f64, &str), f64>(&script, "price"));
        let prepared = std::sync::Arc::new(prepared.expect("the function is there"));
        group.bench_function(name, |bencher| {
            bencher.iter_custom(|calls| {
                work::at_once(&runtime, work::CALLERS, calls, |share| {
                    let prepared = prepared.clone();
                    async move {
                        for _ in 0..share {
                            let price = prepared.call(work::args()).await.expect("it succeeds");
                            assert_eq!(price, work::RESULT);
                        }
                    }
                })
            });
        });
    }
    group.finish();
}
