//! The result of a task goes to another thread.

use std::rc::Rc;
use std::sync::Arc;

use jsmill::{OneOff, Result, Scope, Script, Task};

struct Counts(Arc<Script>);

impl Task for Counts {
    fn script(&self) -> &Arc<Script> {
        &self.0
    }
}

impl OneOff for Counts {
    type Output = Rc<u32>;
    fn run(&self, _scope: &mut Scope<'_, '_, '_>) -> Result<Rc<u32>> {
        Ok(Rc::new(1))
    }
}

fn main() {}
