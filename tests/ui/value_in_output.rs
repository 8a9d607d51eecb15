//! A value of V8 cannot be the result of a task.

use std::sync::Arc;

use jsmill::{OneOff, Result, Scope, Script, Task};

struct Returns(Arc<Script>);

impl Task for Returns {
    fn script(&self) -> &Arc<Script> {
        &self.0
    }
}

impl OneOff for Returns {
    type Output = v8::Local<'static, v8::Function>;
    fn run(&self, scope: &mut Scope<'_, '_, '_>) -> Result<Self::Output> {
        scope.function("main")
    }
}

fn main() {}
