//! A function that was checked once and is called often.

use std::any::TypeId;
use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

use serde::de::DeserializeOwned;
use smol_str::SmolStr;

use super::future::CallFuture;
use super::link::Mail;
use super::live::Snapshot;
use super::task::CallOptions;
use super::{Engine, submit};
use crate::error::{ErrorKind, Result};
use crate::exec::{
    Args, Call, ErasedShared, Limits, Meta, Mode, Pending, Priority, Started, Way, Work, check_way, plain_kind,
};
use crate::script::Script;
use crate::vm::Scope;

/// A function of a script, with arguments `A` and result `R`. Made by [`Engine::prepare`].
pub struct Prepared<A, R> {
    engine: Engine,
    script: Box<dyn Snapshot>,
    function: SmolStr,
    options: CallOptions,
    types: PhantomData<fn(A) -> R>,
}

impl<A: Args, R: DeserializeOwned + Send + 'static> Prepared<A, R> {
    pub(super) async fn new(engine: &Engine, script: impl Snapshot + 'static, function: &str) -> Result<Self> {
        let snapshot = script.snapshot();
        check_arity(&snapshot, function, A::COUNT).map_err(|error| error.at(snapshot.name(), function))?;
        on_every_worker(engine, &snapshot, Some(function)).await?;
        let options = CallOptions::new(engine);
        Ok(Prepared {
            engine: engine.clone(),
            script: Box::new(script),
            function: function.into(),
            options,
            types: PhantomData,
        })
    }

    /// The limits of the calls. Default: those of the engine.
    pub fn limits(mut self, limits: Limits) -> Self {
        self.options.limits = limits;
        self
    }

    /// How urgent the calls are. Default: normal.
    pub fn priority(mut self, priority: Priority) -> Self {
        self.options.priority = priority;
        self
    }

    /// Calls the function. Cancel safe, as [`TaskBuilder::call`](crate::TaskBuilder::call) is, and with the same errors.
    pub fn call(&self, args: A) -> CallFuture<R> {
        let call = self.options.clone().call::<R, ()>(Way::Call, self.script.snapshot(), self.function.clone(), &args);
        CallFuture::new(self.engine.shared(), call)
    }

    /// The same on the calling thread, which waits.
    ///
    /// # Errors
    /// As with [`TaskBuilder::call_blocking`](crate::TaskBuilder::call_blocking).
    pub fn call_blocking(&self, args: A) -> Result<R> {
        let call =
            self.options.clone().call::<R, ()>(Way::Call, self.script.snapshot(), self.function.clone(), &args)?;
        submit::block(submit::run(self.engine.shared(), Pending::new(call)))
    }
}

impl<A, R> fmt::Debug for Prepared<A, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Prepared")
            .field("script", &self.script.snapshot())
            .field("function", &self.function)
            .finish_non_exhaustive()
    }
}

/// Whether a function whose parameters are known takes that many arguments. Others are taken as they are.
fn check_arity(script: &Script, function: &str, count: usize) -> Result<()> {
    let functions = &script.entry().outline.functions;
    let Some(known) = functions.iter().find(|known| known.name == function) else { return Ok(()) };
    let (least, most) = (known.length as usize, known.parameters as usize);
    if count >= least && (count <= most || known.has_rest) {
        return Ok(());
    }
    let takes = match (least, most) {
        _ if known.has_rest => format!("{least} arguments or more"),
        (least, most) if least == most => format!("{least} argument{}", if least == 1 { "" } else { "s" }),
        (least, most) => format!("{least} to {most} arguments"),
    };
    let help = format!("`{function}` (line {}) takes {takes}, and {count} would be passed", known.line);
    Err(ErrorKind::NoSuchFunction { function: function.to_owned(), help }.into())
}

/// Makes sure that a context is warm, and that a function is there.
struct Warm {
    function: Option<String>,
}

impl Work for Warm {
    type Request = ();
    type Reply = ();
    type Output = ();

    fn name(&self) -> &str {
        self.function.as_deref().unwrap_or("")
    }

    fn kind(&self) -> TypeId {
        plain_kind()
    }

    fn mode(&self) -> Mode {
        Mode::OneOff
    }

    fn shared(&self) -> &[(usize, ErasedShared)] {
        &[]
    }

    fn initialize(&self, _scope: &mut Scope<'_, '_, '_>) -> Result<()> {
        Ok(())
    }

    fn start<'s>(&self, scope: &mut Scope<'_, 's, '_>) -> Result<Started<'s, ()>> {
        if let Some(name) = &self.function {
            check_way(scope.function(name)?, name, Way::Call)?;
        }
        Ok(Started::Done(()))
    }
}

/// Loads a snapshot on every worker, and finds the function there. Waits for all; the first error counts.
pub(super) async fn on_every_worker(engine: &Engine, script: &Arc<Script>, function: Option<&str>) -> Result<()> {
    let shared = engine.shared();
    if shared.queue.is_closed() {
        return Err(ErrorKind::ShuttingDown.into());
    }
    let mut pending = Vec::new();
    for link in shared.links() {
        let options = CallOptions::new(engine);
        let meta = Meta::new(options.profile(script.clone()), "(warm)");
        let call = Call::new(meta, Warm { function: function.map(str::to_owned) });
        pending.push(Pending::new(call.clone()));
        link.post(Mail::Run(call));
    }
    if let Some(error) = shared.starved() {
        return Err(error);
    }
    let mut result = Ok(());
    for pending in pending {
        result = result.and(pending.await);
    }
    result
}
