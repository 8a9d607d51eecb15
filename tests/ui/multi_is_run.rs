//! A task that makes requests is started, not run: somebody has to answer.

use std::sync::Arc;

use jsmill::{Composition, Engine, Input, Multi, Pause, Result, Scope, Script, Task};

struct Asks(Arc<Script>);

impl Task for Asks {
    fn script(&self) -> &Arc<Script> {
        &self.0
    }
}

impl Multi for Asks {
    type State = ();
    type Request = u32;
    type Reply = u32;
    type Output = u32;

    fn start(&self, _: &mut Scope<'_, '_, '_>) -> Result<()> {
        Ok(())
    }

    fn step(&self, _: &mut (), _: Input<u32>, _: &mut Scope<'_, '_, '_>) -> Result<Pause<u32, u32>> {
        Ok(Pause::Request(1))
    }
}

fn use_it(engine: &Engine, task: Asks) {
    let _ = engine.run(Composition::new(task).multi().memory());
}

fn main() {}
