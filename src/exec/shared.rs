//! Large values of the host that are converted once for each worker.

use std::any::Any;
use std::fmt;
use std::sync::{Arc, Weak};

use serde::Serialize;

use crate::error::Result;
use crate::vm::convert_error;
use crate::wire::{self, Encoded, Limits, Policy};

/// A handle of a value of the host that scripts see as a frozen object: settings of a zone, a table of prices.
///
/// Made by [`Engine::value`](crate::Engine::value), and passed like an argument. Each worker converts the value when it first meets it,
/// and keeps the result for as long as the host keeps the `Arc`; all contexts of that worker see the same object. To change a
/// value, make a new `Arc` and a new handle of it.
///
/// The object belongs to no script's context, so `instanceof Object` is false for it; `Array.isArray` and everything else works.
pub struct Shared<T> {
    value: Arc<T>,
    pub(crate) erased: ErasedShared,
}

/// A shared value without its type.
#[derive(Clone)]
pub struct ErasedShared {
    value: Arc<dyn Any + Send + Sync>,
    encode: fn(&(dyn Any + Send + Sync)) -> Result<Encoded>,
}

impl<T: Serialize + Send + Sync + 'static> Shared<T> {
    pub(crate) fn new(value: Arc<T>) -> Self {
        fn encode<T: Serialize + 'static>(value: &(dyn Any + Send + Sync)) -> Result<Encoded> {
            let value =
                value.downcast_ref::<T>().ok_or_else(|| crate::Error::bug("a shared value changed its type"))?;
            let limits = Limits { bytes: usize::MAX, ..Limits::default() };
            wire::encode(value, Policy::default(), limits).map_err(convert_error)
        }
        let erased = ErasedShared { value: value.clone(), encode: encode::<T> };
        Shared { value, erased }
    }
}

impl<T> Shared<T> {
    /// The value.
    pub fn get(&self) -> &Arc<T> {
        &self.value
    }
}

impl<T> Clone for Shared<T> {
    fn clone(&self) -> Self {
        Shared { value: self.value.clone(), erased: self.erased.clone() }
    }
}

impl<T: fmt::Debug> fmt::Debug for Shared<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Shared").field(&self.value).finish()
    }
}

impl ErasedShared {
    /// The address of the host's object: the key under which workers keep it.
    pub(super) fn address(&self) -> usize {
        Arc::as_ptr(&self.value).cast::<()>() as usize
    }

    pub(super) fn downgrade(&self) -> Weak<dyn Any + Send + Sync> {
        Arc::downgrade(&self.value)
    }

    pub(super) fn encode(&self) -> Result<Encoded> {
        (self.encode)(&*self.value)
    }
}
