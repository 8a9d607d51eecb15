//! The small function that most benches call, and the ways to call it many times.

use std::hint::black_box;
use std::sync::Arc;
use std::time::{Duration, Instant};

use jsmill::{Engine, Limits, Script};
use tokio::runtime::Runtime;

/// A function of two numbers and a short text.
pub const SOURCE: &str = "
function price(quantity, unit, code) {
  const rate = code === 'BULK' ? 0.9 : 1;
  return quantity * unit * rate;
}";

/// What the function is called with.
pub const ARGS: (f64, f64, &str) = (12.0, 2.5, "BULK");

/// What it gives.
pub const RESULT: f64 = 27.0;

/// As many callers as the pipelined benches have.
pub const CALLERS: u64 = 64;

/// The arguments, as values that the compiler knows nothing of.
pub fn args() -> (f64, f64, &'static str) {
    black_box(ARGS)
}

/// The script with the function.
pub fn script() -> Arc<Script> {
    Script::new("price.js", SOURCE).expect("the script is sound")
}

/// Every limit that there is, none of which is reached.
pub fn all_limits() -> Limits {
    let long = Some(Duration::from_secs(10));
    Limits { slice_timeout: long, cpu_budget: long, deadline: long, ..Limits::default() }
}

/// An engine of one worker, as the rivals have one thread.
pub fn engine(limits: Limits) -> Engine {
    Engine::builder().workers(1).limits(limits).build().expect("the engine starts")
}

/// A runtime with one thread for the callers: the other core belongs to the worker.
pub fn runtime() -> Runtime {
    tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().expect("the runtime starts")
}

/// Runs `caller` on that many tasks at once, with the calls shared out among them. `caller` is given how many calls to make, one
/// after the other.
pub fn at_once<C, F>(runtime: &Runtime, callers: u64, calls: u64, caller: C) -> Duration
where
    C: Fn(u64) -> F,
    F: Future<Output = ()> + Send + 'static,
{
    let start = Instant::now();
    runtime.block_on(async {
        let shares = (0..callers).map(|at| calls / callers + u64::from(at < calls % callers));
        let tasks: Vec<_> = shares.map(|share| tokio::spawn(caller(share))).collect();
        for task in tasks {
            task.await.expect("no caller panics");
        }
    });
    start.elapsed()
}
