//! A value of V8 cannot outlive the step of the task that got it.

use std::cell::Cell;
use std::sync::Arc;

use jsmill::{OneOff, Result, Scope, Script, Task};

thread_local! {
    static KEPT: Cell<Option<v8::Local<'static, v8::Function>>> = const { Cell::new(None) };
}

struct Keeps(Arc<Script>);

impl Task for Keeps {
    fn script(&self) -> &Arc<Script> {
        &self.0
    }
}

impl OneOff for Keeps {
    type Output = ();
    fn run(&self, scope: &mut Scope<'_, '_, '_>) -> Result<()> {
        let function = scope.function("main")?;
        KEPT.set(Some(function));
        Ok(())
    }
}

fn main() {}
