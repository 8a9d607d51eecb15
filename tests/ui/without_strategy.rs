//! A composition without a strategy of execution cannot be run.

use std::sync::Arc;

use jsmill::{Composition, OneOff, Result, Runnable, Scope, Script, Task};

struct Answer(Arc<Script>);

impl Task for Answer {
    fn script(&self) -> &Arc<Script> {
        &self.0
    }
}

impl OneOff for Answer {
    type Output = u32;
    fn run(&self, _scope: &mut Scope<'_, '_, '_>) -> Result<u32> {
        Ok(42)
    }
}

/// As `Engine::run` does.
fn run(_: impl Runnable) {}

fn use_it(task: Answer) {
    run(Composition::new(task).memory());
}

fn main() {}
