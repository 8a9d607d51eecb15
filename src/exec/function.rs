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
    /// Taken by the run, which hands large byte strings on to V8.
    encoded: Mutex<Option<Encoded>>,
    shared: Vec<(usize, ErasedShared)>,
    result: PhantomData<fn() -> R>,
}

impl<R> FunctionCall<R> {
    pub(crate) fn new(function: SmolStr, args: EncodedArgs) -> Self {
        let EncodedArgs { encoded, shared } = args;
        FunctionCall { function, encoded: Mutex::new(Some(encoded)), shared, result: PhantomData }
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
        let encoded = self.encoded.lock().take().ok_or_else(|| Error::bug("a call ran twice"))?;
        vm::arguments(scope.v8(), encoded, &mut arguments)?;
        for (index, (at, _)) in self.shared.iter().enumerate() {
            let slot = arguments.get_mut(*at).ok_or_else(|| Error::bug("a shared value beyond the arguments"))?;
            *slot = scope.shared(index).ok_or_else(|| Error::bug("a shared value was not made ready"))?;
        }
        let result = scope.call(function, &arguments)?;
        scope.from_js(result)
    }
}
