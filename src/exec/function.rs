//! The task behind `engine.task(..)`: one call of a function of a script.

use std::any::TypeId;
use std::marker::PhantomData;

use parking_lot::Mutex;
use serde::de::DeserializeOwned;
use smol_str::SmolStr;

use super::args::{Arguments, EncodedArgs};
use super::call::{Mode, Started};
use super::shared::ErasedShared;
use super::{Work, call_promise};
use crate::error::{Error, ErrorKind, Result};
use crate::vm::{self, Scope};
use crate::wire::Encoded;

/// Which functions a call is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    /// Plain ones.
    Call,
    /// Those that give a promise.
    Async,
    /// Those that give a generator object.
    Generate,
}

/// A function's name, its arguments, and the types of its result and of what it yields.
pub(crate) struct FunctionCall<R, Q = ()> {
    function: SmolStr,
    way: Way,
    /// Of a plain call, freed with the call, by its caller as a rule: to free on one thread what another one allocated makes both wait.
    /// Of another one, which may live for long, freed with the first slice.
    arguments: Mutex<Encoded>,
    shared: Box<[(usize, ErasedShared)]>,
    types: PhantomData<fn() -> (R, Q)>,
}

impl<R, Q> FunctionCall<R, Q> {
    pub(crate) fn new(function: SmolStr, way: Way, args: EncodedArgs) -> Self {
        let EncodedArgs { encoded, shared } = args;
        FunctionCall { function, way, arguments: Mutex::new(encoded), shared: shared.into(), types: PhantomData }
    }

    fn arguments<'s>(&self, scope: &mut Scope<'_, 's, '_>, into: &mut Arguments<'s>) -> Result<()> {
        if self.way == Way::Call {
            let mut encoded = self.arguments.lock();
            let blobs = std::mem::take(&mut encoded.blobs);
            vm::arguments(scope.v8(), &encoded.bytes, blobs, into)?;
        } else {
            let Encoded { bytes, blobs } = std::mem::take(&mut *self.arguments.lock());
            vm::arguments(scope.v8(), &bytes, blobs, into)?;
        }
        for (index, (at, _)) in self.shared.iter().enumerate() {
            let slot = into.get_mut(*at).ok_or_else(|| Error::bug("a shared value beyond the arguments"))?;
            *slot = scope.shared(index).ok_or_else(|| Error::bug("a shared value was not made ready"))?;
        }
        Ok(())
    }
}

/// Whether a function is of the sort that a call is for.
pub(crate) fn check_way(function: v8::Local<'_, v8::Function>, name: &str, way: Way) -> Result<()> {
    let generator = function.is_generator_function();
    let what = match (function.is_async_function(), generator) {
        (true, true) => "an async generator function",
        (true, false) => "an async function",
        (false, true) => "a generator function",
        (false, false) => "a plain function",
    };
    let right = match way {
        Way::Call => !function.is_async_function() && !generator,
        Way::Async => !generator,
        Way::Generate => generator || !function.is_async_function(),
    };
    if right {
        return Ok(());
    }
    let instead = match (function.is_async_function(), generator) {
        (_, true) => "`generate`",
        (true, false) => "`call_async`",
        (false, false) => "`call`",
    };
    let help = format!("it is {what}, which is called with {instead}");
    Err(ErrorKind::NoSuchFunction { function: name.to_owned(), help }.into())
}

impl<R, Q> Work for FunctionCall<R, Q>
where
    R: DeserializeOwned + Send + 'static,
    Q: DeserializeOwned + Send + 'static,
{
    type Request = Q;
    type Reply = Encoded;
    type Output = R;

    fn name(&self) -> &str {
        &self.function
    }

    fn kind(&self) -> TypeId {
        TypeId::of::<FunctionCall<()>>()
    }

    fn mode(&self) -> Mode {
        match self.way {
            Way::Call => Mode::OneOff,
            Way::Async => Mode::Async,
            Way::Generate => Mode::Pausing,
        }
    }

    fn shared(&self) -> &[(usize, ErasedShared)] {
        &self.shared
    }

    fn initialize(&self, _scope: &mut Scope<'_, '_, '_>) -> Result<()> {
        Ok(())
    }

    fn start<'s>(&self, scope: &mut Scope<'_, 's, '_>) -> Result<Started<'s, R>> {
        let function = scope.function(&self.function)?;
        check_way(function, &self.function, self.way)?;
        let mut arguments = Arguments::new();
        self.arguments(scope, &mut arguments)?;
        let result = scope.call(function, &arguments)?;
        match self.way {
            Way::Call => scope.from_js(result).map(Started::Done),
            Way::Async => match call_promise(result) {
                Some(promise) => Ok(Started::Promise(promise)),
                None => scope.from_js(result).map(Started::Done),
            },
            Way::Generate => match v8::Local::<v8::Object>::try_from(result) {
                Ok(object) if object.is_generator_object() => Ok(Started::Generator(object)),
                _ => {
                    let help = "it has not returned a generator object; make it a `function*`".to_owned();
                    Err(ErrorKind::NoSuchFunction { function: self.function.to_string(), help }.into())
                }
            },
        }
    }

    fn request<'s>(&self, scope: &mut Scope<'_, 's, '_>, value: v8::Local<'s, v8::Value>) -> Result<Q> {
        scope.from_js(value)
    }

    fn output<'s>(&self, scope: &mut Scope<'_, 's, '_>, value: v8::Local<'s, v8::Value>) -> Result<R> {
        scope.from_js(value)
    }

    fn reply<'s>(&self, scope: &mut Scope<'_, 's, '_>, reply: Encoded) -> Result<v8::Local<'s, v8::Value>> {
        vm::decode(scope.v8(), reply)
    }
}
