//! Conversion between Rust values and V8's structured-clone bytes, by serde and without V8.
//!
//! The caller's thread turns its arguments into the bytes that V8's `ValueDeserializer` reads, so a worker makes all
//! JavaScript objects of a call in one native step; what V8's `ValueSerializer` writes becomes the caller's type away
//! from the worker. The bytes live in memory only, between threads of one process: they are in the machine's byte order
//! and never stored.
//!
//! Invariant: a value keeps its meaning or the conversion fails with the path of the first culprit. Where a [`Policy`]
//! allows a loss (NaN as null, a replaced surrogate), the caller has asked for it. No input makes this code panic,
//! recurse beyond [`Limits::depth`], or reserve memory by a length that the input merely claims.
//!
//! What it does not know: isolates, contexts, getters, proxies, `toJSON`. Those run while V8 writes its bytes.
//!
//! The tables of what becomes of what are in `wire.md`.

mod access;
mod compound;
mod date;
mod decode;
mod duplicate;
mod encode;
mod error;
mod error_object;
mod item;
mod json_in;
mod json_out;
mod key_in;
mod key_out;
mod reader;
mod scalar;
mod scan;
mod stream;
mod tag;
mod text;
mod token;
mod variant;
mod view;
mod writer;

#[cfg(test)]
mod decode_tests;
#[cfg(test)]
mod encode_tests;
#[cfg(test)]
mod random_tests;
#[cfg(test)]
mod round_trip_tests;

pub(crate) use decode::{decode, decode_bool, decode_f64, decode_null, decode_str, decode_undefined};
pub use encode::{Blobs, Encoded};
pub(crate) use encode::{Encoder, encode};
pub(crate) use error::{Error, Reason};
pub(crate) use scalar::{Scalar, scalars};
/// The longest string that V8 can hold, in code units.
pub(crate) const MAX_STRING: usize = tag::MAX_STRING;

pub(crate) use stream::{Container, Full, Stream};

/// What to do with values that have no exact counterpart on the other side. The default refuses them all.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Policy {
    /// NaN and the infinities, in both directions.
    pub non_finite: NonFinite,
    /// `undefined` and array holes inside a value that comes from JavaScript.
    pub undefined: Undefined,
    /// Integers that a JavaScript number cannot hold, in both directions.
    pub big_ints: BigInts,
    /// Halves of a surrogate pair in strings that come from JavaScript.
    pub surrogates: Surrogates,
}

/// What becomes of NaN and the infinities.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum NonFinite {
    /// An error that names the place.
    #[default]
    Refuse,
    /// `null`, as `JSON.stringify` does.
    Null,
    /// Passed on as they are. A target that cannot hold them decides for itself: `serde_json::Value` makes null of them.
    Keep,
}

/// What becomes of `undefined` and of holes inside a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Undefined {
    /// An error that names the place.
    #[default]
    Refuse,
    /// Read as `null`.
    Null,
}

/// What becomes of integers beyond ±(2^53 - 1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum BigInts {
    /// An error; a BigInt still fits a target that is an integer type.
    #[default]
    Refuse,
    /// Such integers become BigInts, and a BigInt may be read where no type is asked for.
    Allow,
}

/// What becomes of half a surrogate pair.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Surrogates {
    /// An error that names the place.
    #[default]
    Refuse,
    /// U+FFFD takes its place. This loses information: two keys that differ only there become equal.
    Replace,
}

/// Bounds for one conversion.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// How deep arrays and objects may nest. The default is 256. Each level costs stack in the thread that converts.
    pub depth: usize,
    /// The size of the encoded value, byte strings included. The default is 64 MiB. An object that a value refers to
    /// several times counts each time.
    pub bytes: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Limits { depth: 256, bytes: 64 << 20 }
    }
}
