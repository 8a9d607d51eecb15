//! What an embedder implements.

use std::sync::Arc;

use crate::error::Result;
use crate::script::Script;
use crate::vm::Scope;

/// A unit of work in terms of V8: a script, how a context for it is prepared, and (by one strategy, such as [`OneOff`]) what is
/// done there.
///
/// A task owns, or shares, everything that it needs, so that nothing that changes while it runs can disturb it. Put it together
/// with its strategy, caching and extras as a [`Composition`](crate::Composition), and run that with
/// [`Engine::run`](crate::Engine::run). For plain calls of functions there is [`Engine::task`](crate::Engine::task), which needs none of
/// this.
///
/// ```
/// use std::sync::Arc;
/// use jsmill::{Composition, Engine, OneOff, Result, Scope, Script, Task};
///
/// struct Total {
///     script: Arc<Script>,
///     lines: Vec<f64>,
/// }
///
/// impl Task for Total {
///     fn script(&self) -> &Arc<Script> {
///         &self.script
///     }
///     fn initialize(&self, scope: &mut Scope<'_, '_, '_>) -> Result<()> {
///         scope.define("RATE", &0.5)
///     }
/// }
///
/// impl OneOff for Total {
///     type Output = f64;
///     fn run(&self, scope: &mut Scope<'_, '_, '_>) -> Result<f64> {
///         let total = scope.function("total")?;
///         let lines = scope.to_js(&self.lines)?;
///         let result = scope.call(total, &[lines])?;
///         scope.from_js(result)
///     }
/// }
///
/// # fn main() -> Result<()> {
/// let engine = Engine::builder().workers(1).build()?;
/// let script = Script::new("total.js", "const total = (lines) => RATE * lines.reduce((a, b) => a + b, 0);")?;
/// let task = Total { script, lines: vec![1.0, 2.0] };
/// assert_eq!(engine.run_blocking(Composition::new(task).one_off().memory())?, 1.5);
/// # Ok(())
/// # }
/// ```
pub trait Task: Send + Sync + 'static {
    /// The script whose context the task runs in.
    fn script(&self) -> &Arc<Script>;

    /// The name in spans and metrics. Default: the script's name.
    fn name(&self) -> &str {
        self.script().name()
    }

    /// Prepares a new context before the script is loaded into it: host functions, constants. Runs only when there is no cached
    /// context, inside the new one, and within the limits of the call.
    ///
    /// Contexts are shared by all tasks of the same type and script, so what this defines must depend on nothing else.
    ///
    /// # Errors
    /// Fails the call; the context is thrown away.
    fn initialize(&self, scope: &mut Scope<'_, '_, '_>) -> Result<()> {
        let _ = scope;
        Ok(())
    }
}

/// The strategy of a task that runs once, without a pause.
pub trait OneOff: Task {
    /// What the task gives back. Values of V8 cannot be part of it: they do not outlive the scope.
    type Output: Send + 'static;

    /// Runs inside the context, on a worker, as one slice. Must convert its result here.
    ///
    /// # Errors
    /// Those of the methods of [`Scope`], or the task's own, made by [`Error::task`](crate::Error::task).
    ///
    /// # Panics
    /// A panic is caught, logged, and fails the call with `HostPanicked`.
    fn run(&self, scope: &mut Scope<'_, '_, '_>) -> Result<Self::Output>;
}
