//! Values over the border: `wire` streams to V8 values and back.
//!
//! In: the stream that the caller's thread wrote becomes values in one call of V8's `ValueDeserializer`; lone scalars, and
//! argument lists made of scalars only, skip it. Out: `walk` writes the stream that serde reads; numbers, booleans, ASCII strings, null
//! and undefined skip it.

mod walk;

use serde::Serialize;
use serde::de::DeserializeOwned;
use v8::ValueDeserializerHelper;

use super::exception::{catch, stopped};
use super::host::Host;
use crate::error::{Error, ErrorKind, Result};
use crate::units::Bytes;
use crate::wire::{self, Blobs, Encoded, Limits, Policy, Scalar};

/// A Rust value as a value of the current context.
pub(crate) fn to_js<'s, T: Serialize + ?Sized>(
    scope: &mut v8::PinScope<'s, '_>,
    value: &T,
    policy: Policy,
    limits: Limits,
) -> Result<v8::Local<'s, v8::Value>> {
    let encoded = wire::encode(value, policy, limits).map_err(error)?;
    decode(scope, encoded)
}

/// The value of a stream.
pub(crate) fn decode<'s>(scope: &mut v8::PinScope<'s, '_>, encoded: Encoded) -> Result<v8::Local<'s, v8::Value>> {
    match Scalar::lone(&encoded.bytes) {
        Some(lone) => scalar(scope, lone),
        None => deserialize(scope, &encoded.bytes, encoded.blobs),
    }
}

/// Bytes that came from outside, as a `Uint8Array` that counts as the script's own.
#[cfg(feature = "io")]
pub(crate) fn bytes<'s>(
    scope: &mut v8::PinScope<'s, '_>,
    bytes: Vec<u8>,
) -> std::result::Result<v8::Local<'s, v8::Uint8Array>, super::HostError> {
    let length = bytes.len();
    let meter = Host::of(scope).map(|host| host.buffers.clone());
    let meter = meter.ok_or_else(|| super::HostError::new("this context has no host"))?;
    let store = meter.admit(bytes).or_else(|bytes| {
        // As V8 does when its allocator refuses: what nobody holds any more may be in the way.
        scope.low_memory_notification();
        meter.admit(bytes)
    });
    let store = store.map_err(|_| super::HostError::no_buffer())?.make_shared();
    let buffer = v8::ArrayBuffer::with_backing_store(scope, &store);
    let array = v8::Uint8Array::new(scope, buffer, 0, length);
    array.ok_or_else(|| super::HostError::new("the bytes are longer than V8's longest array"))
}

/// The elements of a stream that is an argument list.
pub(crate) fn arguments<'s>(
    scope: &mut v8::PinScope<'s, '_>,
    bytes: &[u8],
    blobs: Blobs,
    into: &mut smallvec::SmallVec<[v8::Local<'s, v8::Value>; 8]>,
) -> Result<()> {
    if let Some(scalars) = wire::scalars(bytes) {
        for value in scalars {
            into.push(scalar(scope, value)?);
        }
        return Ok(());
    }
    let list = deserialize(scope, bytes, blobs)?;
    let list = v8::Local::<v8::Array>::try_from(list).map_err(|_| Error::bug("an argument list is no array"))?;
    for index in 0..list.length() {
        into.push(list.get_index(scope, index).ok_or_else(stopped)?);
    }
    Ok(())
}

fn scalar<'s>(scope: &mut v8::PinScope<'s, '_>, value: Scalar<'_>) -> Result<v8::Local<'s, v8::Value>> {
    Ok(match value {
        Scalar::Undefined => v8::undefined(scope).into(),
        Scalar::Null => v8::null(scope).into(),
        Scalar::Bool(value) => v8::Boolean::new(scope, value).into(),
        Scalar::Int32(value) => v8::Integer::new(scope, value).into(),
        Scalar::Uint32(value) => v8::Integer::new_from_unsigned(scope, value).into(),
        Scalar::Double(value) => v8::Number::new(scope, value).into(),
        Scalar::OneByte(text) => v8::String::new_from_one_byte(scope, text, v8::NewStringType::Normal)
            .ok_or_else(|| Error::convert("$", "the text is longer than V8's longest string; pass it in parts"))?
            .into(),
    })
}

struct Reading;

impl v8::ValueDeserializerImpl for Reading {}

fn deserialize<'s>(scope: &mut v8::PinScope<'s, '_>, bytes: &[u8], blobs: Blobs) -> Result<v8::Local<'s, v8::Value>> {
    catch(scope, |scope| {
        let context = scope.get_current_context();
        let reader = v8::ValueDeserializer::new(scope, Box::new(Reading), bytes);
        let host = if blobs.is_empty() { None } else { Some(Host::of(scope)?) };
        for (index, blob) in blobs.into_vec().into_iter().enumerate() {
            let store = host.as_ref()?.buffers.adopt(blob).make_shared();
            let buffer = v8::ArrayBuffer::with_backing_store(scope, &store);
            reader.transfer_array_buffer(index as u32, buffer);
        }
        if reader.read_header(context)? { reader.read_value(context) } else { None }
    })
}

/// A value of the current context as a Rust value. Runs getters of the script, and so belongs inside a slice.
pub(crate) fn from_js<T: DeserializeOwned>(
    scope: &mut v8::PinScope<'_, '_>,
    value: v8::Local<'_, v8::Value>,
    policy: Policy,
    limits: Limits,
) -> Result<T> {
    if value.is_number() {
        let number = value.number_value(scope).ok_or_else(stopped)?;
        return wire::decode_f64(number, policy).map_err(error);
    }
    if let Ok(text) = v8::Local::<v8::String>::try_from(value) {
        if text.length() > limits.bytes {
            return Err(too_large(limits));
        }
        if text.is_onebyte() {
            let view = v8::ValueView::new(scope, text);
            if let Some(text) = view.as_str() {
                return wire::decode_str(text).map_err(error);
            }
        }
    } else if value.is_boolean() {
        return wire::decode_bool(value.is_true()).map_err(error);
    } else if value.is_null() {
        return wire::decode_null().map_err(error);
    } else if value.is_undefined() {
        return wire::decode_undefined().map_err(error);
    }
    let bytes = serialize(scope, value, limits)?;
    wire::decode(&bytes, policy, limits).map_err(error)
}

/// The stream of a value that is no scalar.
fn serialize(scope: &mut v8::PinScope<'_, '_>, value: v8::Local<'_, v8::Value>, limits: Limits) -> Result<Vec<u8>> {
    catch(scope, |scope| {
        let value = v8::Local::new(scope, value);
        match walk::stream(scope, value, limits) {
            Ok(bytes) => Some(Ok(bytes)),
            Err(walk::Halt::Error(error)) => Some(Err(error)),
            Err(walk::Halt::Thrown) => None,
        }
    })?
}

/// A conversion's error as one of the crate.
pub(crate) fn error(error: wire::Error) -> Error {
    match &error.reason {
        wire::Reason::TooLarge { limit: wire::MAX_STRING } => {
            Error::convert(error.path.to_string(), "the text is longer than V8's longest string; pass it in parts")
        }
        wire::Reason::TooLarge { limit } => ErrorKind::ResultTooLarge { limit: Bytes::new(*limit as u64) }.into(),
        reason => Error::convert(error.path.to_string(), reason.to_string()),
    }
}

fn too_large(limits: Limits) -> Error {
    ErrorKind::ResultTooLarge { limit: Bytes::new(limits.bytes as u64) }.into()
}
