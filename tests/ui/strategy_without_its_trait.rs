//! A strategy can be chosen for a task that implements its trait only.

use std::sync::Arc;

use jsmill::{Composition, Engine, Script, Task};

struct Plain(Arc<Script>);

impl Task for Plain {
    fn script(&self) -> &Arc<Script> {
        &self.0
    }
}

fn use_it(engine: &Engine, task: Plain) {
    let _ = engine.run_blocking(Composition::new(task).one_off());
}

fn main() {}
