//! The strategy `generator` takes a task that is a `Generator`.

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
    let _ = engine.start(Composition::new(task).generator().memory());
}

fn main() {}
