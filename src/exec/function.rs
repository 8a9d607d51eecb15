//! The task behind `engine.task(..).call(..)`: one call of a function of a script.

use std::any::TypeId;
use std::marker::PhantomData;

use parking_lot::Mutex;
use serde::de::DeserializeOwned;
use smol_str::SmolStr;

use super::Work;
use super::args::{Arguments, EncodedArgs};
use super::shared::ErasedShared;
use crate::error::{Error, Result};
use crate::vm::{self, Scope};
use crate::wire::Encoded;

/// A function's name, its arguments, and the type of its result.
pub(crate) struct FunctionCall<R> {
    function: SmolStr,
    /// Freed with the call, by its caller as a rule: to free on one thread what another one allocated makes both wait.
    arguments: Vec<u8>,
    /// Large byte strings, which the run hands on to V8.
    blobs: Mutex<Vec<Vec<u8>>>,
    shared: Vec<(usize, ErasedShared)>,
    result: PhantomData<fn() -> R>,
}

impl<R> FunctionCall<R> {
    pub(crate) fn new(function: SmolStr, args: EncodedArgs) -> Self {
        let EncodedArgs { encoded: Encoded { bytes, blobs }, shared } = args;
        FunctionCall { function, arguments: bytes, blobs: Mutex::new(blobs), shared, result: PhantomData }
    }
}

impl<R: DeserializeOwned + Send + 'static> Work for FunctionCall<R> {
    type Output = R;

    fn name(&self) -> &str {
        &self.function
    }

    fn kind(&self) -> TypeId {
        TypeId::of::<FunctionCall<()>>()
    }

    fn shared(&self) -> &[(usize, ErasedShared)] {
        &self.shared
    }

    fn initialize(&self, _scope: &mut Scope<'_, '_, '_>) -> Result<()> {
        Ok(())
    }

    fn run(&self, scope: &mut Scope<'_, '_, '_>) -> Result<R> {
        let function = scope.function(&self.function)?;
        let mut arguments = Arguments::new();
        let blobs = std::mem::take(&mut *self.blobs.lock());
        vm::arguments(scope.v8(), &self.arguments, blobs, &mut arguments)?;
        for (index, (at, _)) in self.shared.iter().enumerate() {
            let slot = arguments.get_mut(*at).ok_or_else(|| Error::bug("a shared value beyond the arguments"))?;
            *slot = scope.shared(index).ok_or_else(|| Error::bug("a shared value was not made ready"))?;
        }
        let result = scope.call(function, &arguments)?;
        scope.from_js(result)
    }
}
