//! Memory over time: what belongs to a context, a snapshot or an engine goes with it, and long churn stays flat.
//!
//! The sizes here take seconds. With `JSMILL_SOAK` set to a number of seconds, the soak runs for that long, and the other tests run
//! at full size.

mod churn;
mod guards;
mod soak;

use std::sync::Arc;
use std::time::Duration;

use jsmill::{Composition, Engine, OneOff, Result, Scope, Script, Task};

use crate::support::{forced_gc, rss_bytes};

/// How long the soak was asked to run.
fn soak_time() -> Option<Duration> {
    std::env::var("JSMILL_SOAK").ok().map(|text| Duration::from_secs(text.parse().unwrap_or(600)))
}

/// A number of rounds: a small one by default, the full one in a soak, a tiny one under forced collection.
fn rounds(small: usize, full: usize) -> usize {
    if forced_gc() {
        (small / 50).max(8)
    } else if soak_time().is_some() {
        full
    } else {
        small
    }
}

/// Figures of each quarter of a long loop: the largest of each.
#[derive(Debug, Default)]
struct Quarters([u64; 4]);

impl Quarters {
    fn note(&mut self, round: usize, rounds: usize, figure: u64) {
        let quarter = &mut self.0[(round * 4 / rounds).min(3)];
        *quarter = (*quarter).max(figure);
    }

    /// The last quarter is within a fifth of the second, give or take some slack.
    #[track_caller]
    fn assert_flat(&self, what: &str, slack: u64) {
        let [_, second, _, last] = self.0;
        assert!(last <= second + second / 5 + slack, "{what} grows: {self:?}");
    }
}

const MIB: u64 = 1 << 20;

/// Collects on its worker, and gives the heap that is left in use.
struct Collect(Arc<Script>);

impl Task for Collect {
    fn script(&self) -> &Arc<Script> {
        &self.0
    }
}

impl OneOff for Collect {
    type Output = u64;
    fn run(&self, scope: &mut Scope<'_, '_, '_>) -> Result<u64> {
        let isolate = scope.v8();
        isolate.low_memory_notification();
        Ok(isolate.get_heap_statistics().used_heap_size() as u64)
    }
}

/// The heap of the only worker after a collection, and the memory of the process. What V8 has not got round to collecting is no growth.
pub(crate) struct Figures {
    engine: Engine,
    script: Arc<Script>,
}

impl Figures {
    pub(crate) fn of(engine: &Engine) -> Self {
        Figures { engine: engine.clone(), script: Script::new("collect.js", "").unwrap() }
    }

    pub(crate) fn heap_and_rss(&self) -> (u64, u64) {
        let heap = self.engine.run_blocking(Composition::new(Collect(self.script.clone())).one_off().memory());
        (heap.expect("a collection"), rss_bytes())
    }
}
