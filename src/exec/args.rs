//! The arguments of a call.

use serde::Serialize;
use smallvec::SmallVec;

use super::Shared;
use super::shared::ErasedShared;
use crate::error::Result;
use crate::vm::convert_error;
use crate::wire::{Encoded, Encoder, Limits, Policy};

/// Writes the arguments of one call. The engine makes it; [`Args`] uses it.
pub struct ArgEncoder {
    encoder: Encoder,
    count: usize,
    shared: Vec<(usize, ErasedShared)>,
}

/// Arguments on their way to a worker.
pub(crate) struct EncodedArgs {
    pub(crate) encoded: Encoded,
    /// Which arguments are shared values; `null` stands in their place in the stream.
    pub(crate) shared: Vec<(usize, ErasedShared)>,
}

impl ArgEncoder {
    pub(crate) fn encode(args: &impl Args, policy: Policy, limits: Limits) -> Result<EncodedArgs> {
        let mut encoder = ArgEncoder { encoder: Encoder::new(policy, limits), count: 0, shared: Vec::new() };
        args.encode(&mut encoder)?;
        let (encoded, _) = encoder.encoder.finish().map_err(convert_error)?;
        Ok(EncodedArgs { encoded, shared: encoder.shared })
    }

    fn push<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<()> {
        self.count += 1;
        self.encoder.push(value).map_err(convert_error)
    }
}

/// One argument: anything that serialises, or a [`Shared`] value.
pub trait Arg {
    #[doc(hidden)]
    fn encode(&self, encoder: &mut ArgEncoder) -> Result<()>;
}

impl<T: Serialize + ?Sized> Arg for T {
    fn encode(&self, encoder: &mut ArgEncoder) -> Result<()> {
        encoder.push(self)
    }
}

impl<T> Arg for Shared<T> {
    fn encode(&self, encoder: &mut ArgEncoder) -> Result<()> {
        encoder.shared.push((encoder.count, self.erased.clone()));
        encoder.push(&())
    }
}

impl<T> Arg for &Shared<T> {
    fn encode(&self, encoder: &mut ArgEncoder) -> Result<()> {
        (**self).encode(encoder)
    }
}

/// The arguments of a call: a tuple of up to eight, each by value or by reference.
///
/// ```
/// # fn main() -> jsmill::Result<()> {
/// # let engine = jsmill::Engine::builder().workers(1).build()?;
/// let script = jsmill::Script::new("f.js", "const join = (a, b) => a + b.length; const one = () => 1;")?;
/// let list = vec![1, 2, 3];
/// assert_eq!(engine.task(&script).call_blocking::<u32>("join", (4, &list))?, 7);
/// assert_eq!(engine.task(&script).call_blocking::<u32>("one", ())?, 1);
/// # Ok(())
/// # }
/// ```
pub trait Args {
    /// How many they are.
    const COUNT: usize;
    #[doc(hidden)]
    fn encode(&self, encoder: &mut ArgEncoder) -> Result<()>;
}

macro_rules! args {
    ($count:literal: $($name:ident $index:tt),*) => {
        impl<$($name: Arg),*> Args for ($($name,)*) {
            const COUNT: usize = $count;
            #[allow(unused_variables)]
            fn encode(&self, encoder: &mut ArgEncoder) -> Result<()> {
                $(self.$index.encode(encoder)?;)*
                Ok(())
            }
        }
    };
}

args!(0:);
args!(1: A 0);
args!(2: A 0, B 1);
args!(3: A 0, B 1, C 2);
args!(4: A 0, B 1, C 2, D 3);
args!(5: A 0, B 1, C 2, D 3, E 4);
args!(6: A 0, B 1, C 2, D 3, E 4, F 5);
args!(7: A 0, B 1, C 2, D 3, E 4, F 5, G 6);
args!(8: A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7);

/// The values of an argument list, on the worker.
pub(crate) type Arguments<'s> = SmallVec<[v8::Local<'s, v8::Value>; 8]>;
