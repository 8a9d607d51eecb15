//! Functions of the host that every script of an engine, or every context of one script, may call.

use std::fmt;
use std::future::Future;
use std::marker::PhantomData;
use std::rc::Rc;
use std::sync::Arc;

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::{Ops, Outcome};
use crate::error::{Error, Result};
use crate::script::ScriptBuilder;
use crate::vm::{HostCall, HostClosure, HostError, HostFunction, Scope, argument, convert_error};
use crate::wire::{self, Limits, Policy};

/// An async closure of up to six arguments that scripts may call: each argument is anything that deserialises, and its future gives
/// anything that serialises, or a [`HostError`].
///
/// Implemented for `Fn(A, B, ..) -> impl Future<Output = Result<R, HostError>> + Send`; there is no need to implement it.
pub trait HostAsync<Arguments>: Send + Sync + 'static {
    #[doc(hidden)]
    fn begin_from_js<'s>(
        &self,
        name: &Rc<str>,
        scope: &mut v8::PinScope<'s, '_>,
        arguments: &v8::FunctionCallbackArguments<'s>,
    ) -> std::result::Result<v8::Local<'s, v8::Value>, HostError>;
}

macro_rules! host_async {
    ($($argument:ident $index:literal),*) => {
        impl<Closure, Pending, Output, $($argument),*> HostAsync<($($argument,)*)> for Closure
        where
            Closure: Fn($($argument),*) -> Pending + Send + Sync + 'static,
            Pending: Future<Output = std::result::Result<Output, HostError>> + Send + 'static,
            Output: Serialize,
            $($argument: DeserializeOwned,)*
        {
            #[allow(unused_variables)]
            fn begin_from_js<'s>(
                &self,
                name: &Rc<str>,
                scope: &mut v8::PinScope<'s, '_>,
                arguments: &v8::FunctionCallbackArguments<'s>,
            ) -> std::result::Result<v8::Local<'s, v8::Value>, HostError> {
                let pending = self($(argument::<$argument>(scope, arguments.get($index), $index)?),*);
                begin(name, scope, pending)
            }
        }
    };
}

host_async!();
host_async!(A 0);
host_async!(A 0, B 1);
host_async!(A 0, B 1, C 2);
host_async!(A 0, B 1, C 2, D 3);
host_async!(A 0, B 1, C 2, D 3, E 4);
host_async!(A 0, B 1, C 2, D 3, E 4, F 5);

fn begin<'s, Output: Serialize>(
    name: &Rc<str>,
    scope: &mut v8::PinScope<'s, '_>,
    pending: impl Future<Output = std::result::Result<Output, HostError>> + Send + 'static,
) -> std::result::Result<v8::Local<'s, v8::Value>, HostError> {
    let Some(ops) = Ops::of(scope) else { return Err(HostError::new("this context has no host")) };
    let outcome = async move {
        match pending.await {
            Ok(value) => match wire::encode(&value, Policy::default(), Limits::default()).map_err(convert_error) {
                Ok(encoded) => Outcome::Value(encoded),
                Err(error) => Outcome::Error(HostError::type_error(format!("the result: {error}"))),
            },
            Err(error) => Outcome::Error(error),
        }
    };
    ops.spawn(scope, name, outcome).map(|(_, promise)| promise.into())
}

/// An async closure with its name.
struct AsyncClosure<F, Arguments> {
    name: Rc<str>,
    function: F,
    arguments: PhantomData<fn(Arguments)>,
}

impl<Arguments, F: HostAsync<Arguments>> HostCall for AsyncClosure<F, Arguments> {
    fn name(&self) -> &str {
        &self.name
    }

    fn call<'s>(
        &self,
        scope: &mut v8::PinScope<'s, '_>,
        arguments: &v8::FunctionCallbackArguments<'s>,
    ) -> std::result::Result<v8::Local<'s, v8::Value>, HostError> {
        self.function.begin_from_js(&self.name, scope, arguments)
    }
}

type Maker = Arc<dyn Fn() -> Rc<dyn HostCall> + Send + Sync>;

/// A set of host functions, for all scripts of an engine ([`EngineBuilder::host_functions`](crate::EngineBuilder::host_functions)) or for
/// one script ([`ScriptBuilder::host_functions`]). They are globals of the script's contexts.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> jsmill::Result<()> {
/// use jsmill::{Engine, HostError, HostFunctions, Script};
/// let host = HostFunctions::new()
///     .sync("double", |n: f64| Ok::<_, HostError>(2.0 * n))
///     .asynchronous("stock", |id: u64| async move { if id == 7 { Ok(3) } else { Err(HostError::new("no such article")) } });
/// let script = Script::builder("stock.js")
///     .source("const left = async (id) => double(await stock(id));")
///     .host_functions(host)
///     .build()?;
/// let engine = Engine::builder().workers(1).build()?;
/// assert_eq!(engine.task(&script).call_async::<u32>("left", (7,)).await?, 6);
/// assert!(engine.task(&script).call_async::<u32>("left", (8,)).await.is_err());
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Default)]
pub struct HostFunctions {
    functions: Vec<(String, Maker)>,
}

impl HostFunctions {
    /// None yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// A closure that runs on the worker, inside the slice: it must not block. See [`Scope::define_function`].
    pub fn sync<Arguments: 'static>(
        mut self,
        name: &str,
        function: impl HostFunction<Arguments> + Send + Sync,
    ) -> Self {
        let function = Arc::new(HostClosure::new(name, function));
        self.functions.push((name.to_owned(), Arc::new(move || Rc::new(ArcCall(function.clone())))));
        self
    }

    /// A closure whose future runs on the engine's runtime, while the script awaits its promise. The closure itself runs on the worker,
    /// and the future is dropped when its call ends before it does.
    ///
    /// An error of the future rejects the promise. A panic ends the call with `HostPanicked`; no `catch` of the script sees it.
    pub fn asynchronous<Arguments: 'static>(mut self, name: &str, function: impl HostAsync<Arguments>) -> Self {
        let function = Arc::new(function);
        let its_name = name.to_owned();
        let maker = move || -> Rc<dyn HostCall> {
            let function = ArcAsync(function.clone());
            Rc::new(AsyncClosure { name: its_name.as_str().into(), function, arguments: PhantomData::<fn(Arguments)> })
        };
        self.functions.push((name.to_owned(), Arc::new(maker)));
        self
    }

    /// Those of another set as well. Of two with the same name the later one counts.
    pub fn and(mut self, others: HostFunctions) -> Self {
        self.functions.extend(others.functions);
        self
    }

    /// Their names, in the order of their definition.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.functions.iter().map(|(name, _)| name.as_str())
    }

    /// Defines them in the context of a scope, but for those that `later` defines.
    pub(super) fn define(&self, scope: &mut Scope<'_, '_, '_>, later: Option<&HostFunctions>) -> Result<()> {
        for (index, (name, make)) in self.functions.iter().enumerate() {
            let rest = self.functions[index + 1..].iter().map(|(name, _)| name);
            let later = later.map(|later| later.functions.as_slice()).unwrap_or_default();
            if rest.chain(later.iter().map(|(name, _)| name)).any(|other| other == name) {
                continue;
            }
            scope.define_host_call(name, make())?;
        }
        Ok(())
    }
}

impl fmt::Debug for HostFunctions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.names()).finish()
    }
}

/// A closure that all workers share.
struct ArcCall<C>(Arc<C>);

impl<C: HostCall> HostCall for ArcCall<C> {
    fn name(&self) -> &str {
        self.0.name()
    }

    fn call<'s>(
        &self,
        scope: &mut v8::PinScope<'s, '_>,
        arguments: &v8::FunctionCallbackArguments<'s>,
    ) -> std::result::Result<v8::Local<'s, v8::Value>, HostError> {
        self.0.call(scope, arguments)
    }
}

struct ArcAsync<F>(Arc<F>);

impl<Arguments, F: HostAsync<Arguments>> HostAsync<Arguments> for ArcAsync<F> {
    fn begin_from_js<'s>(
        &self,
        name: &Rc<str>,
        scope: &mut v8::PinScope<'s, '_>,
        arguments: &v8::FunctionCallbackArguments<'s>,
    ) -> std::result::Result<v8::Local<'s, v8::Value>, HostError> {
        self.0.begin_from_js(name, scope, arguments)
    }
}

impl ScriptBuilder {
    /// Host functions for the contexts of this script. One that the engine has under the same name gives way.
    pub fn host_functions(self, functions: HostFunctions) -> Self {
        self.extend(Arc::new(functions))
    }
}

impl Scope<'_, '_, '_> {
    /// Defines a global function that returns the promise of what a closure's future gives. Under the same rules as
    /// [`define_function`](Scope::define_function), and as [`HostFunctions::asynchronous`].
    ///
    /// # Errors
    /// `Config` when the global scope is read-only, or has the name.
    pub fn define_async_function<Arguments: 'static>(
        &mut self,
        name: &str,
        function: impl HostAsync<Arguments>,
    ) -> Result<()> {
        let closure = AsyncClosure { name: name.into(), function, arguments: PhantomData::<fn(Arguments)> };
        self.define_host_call(name, Rc::new(closure))
    }
}

/// The host functions that a script brings along.
pub(super) fn of_script(script: &crate::script::Script) -> Result<Option<&HostFunctions>> {
    match script.extension() {
        None => Ok(None),
        Some(extension) => extension
            .downcast_ref::<HostFunctions>()
            .map(Some)
            .ok_or_else(|| Error::bug("a script with an extension of another type")),
    }
}
