//! A task without requests is run, not started: there is nothing to answer.

use std::sync::Arc;

use jsmill::{Composition, Engine, OneOff, Result, Scope, Script, Task};

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

fn use_it(engine: &Engine, task: Answer) {
    let _ = engine.start(Composition::new(task).one_off().memory());
}

fn main() {}
