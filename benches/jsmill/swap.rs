//! What it costs to replace a script by the next version of it.

use criterion::Criterion;
use jsmill::{Limits, Live, Script};

use crate::work;

/// A new version each time: parsed, loaded by the worker, and put in the place of the one before.
pub fn all(criterion: &mut Criterion) {
    let engine = work::engine(Limits::default());
    let runtime = work::runtime();
    let live = Live::new(work::script());
    let mut version = 0_u64;
    criterion.bench_function("swap/store", |bencher| {
        bencher.iter(|| {
            version += 1;
            let source = format!("{}\nconst version = {version};", work::SOURCE);
            let script = Script::new("price.js", source).expect("the script is sound");
            runtime.block_on(live.store(&engine, script)).expect("it is stored");
        });
    });
}
