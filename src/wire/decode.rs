//! The way out: what V8 wrote, or a lone scalar that never was in a stream, into the embedder's type.

use super::error::{Error, Fail, Reason};
use super::item::Item;
use super::reader::Reader;
use super::text::Text;
use super::token::Token;
use super::{Limits, Policy, tag};
use serde::de::DeserializeOwned;

/// Decodes a stream that V8's serializer wrote.
pub(crate) fn decode<T: DeserializeOwned>(bytes: &[u8], policy: Policy, limits: Limits) -> Result<T, Error> {
    if bytes.len() > limits.bytes {
        return Err(Fail::from(Reason::TooLarge { limit: limits.bytes }).into());
    }
    let mut reader = Reader::new(bytes, policy, limits);
    Ok(whole(&mut reader)?)
}

fn whole<T: DeserializeOwned>(reader: &mut Reader<'_>) -> Result<T, Fail> {
    reader.header()?;
    let value = if reader.eat(tag::UNDEFINED)? {
        T::deserialize(Item::new(reader, Token::Nothing))?
    } else {
        reader.with_item(|item| T::deserialize(item))?
    };
    if reader.pos < reader.bytes.len() {
        return Err(reader.corrupt());
    }
    Ok(value)
}

/// Decodes a token that needs no stream.
fn lone<T: DeserializeOwned>(token: Token<'_>, policy: Policy) -> Result<T, Error> {
    let mut reader = Reader::new(&[], policy, Limits::default());
    let token = match token {
        Token::Double(value) => reader.float(value),
        token => token,
    };
    Ok(T::deserialize(Item::new(&mut reader, token))?)
}

/// Decodes a number.
pub(crate) fn decode_f64<T: DeserializeOwned>(value: f64, policy: Policy) -> Result<T, Error> {
    lone(Token::Double(value), policy)
}

/// Decodes a string.
pub(crate) fn decode_str<T: DeserializeOwned>(value: &str) -> Result<T, Error> {
    let mut reader = Reader::new(&[], Policy::default(), Limits::default());
    Ok(T::deserialize(Item::new(&mut reader, Token::Text(Text::Utf8(value.as_bytes()))))?)
}

/// Decodes a boolean.
pub(crate) fn decode_bool<T: DeserializeOwned>(value: bool) -> Result<T, Error> {
    lone(Token::Bool(value), Policy::default())
}

/// Decodes `null`.
pub(crate) fn decode_null<T: DeserializeOwned>() -> Result<T, Error> {
    lone(Token::Null, Policy::default())
}

/// Decodes `undefined` as a whole value, which only `()` takes.
pub(crate) fn decode_undefined<T: DeserializeOwned>() -> Result<T, Error> {
    lone(Token::Nothing, Policy::default())
}
