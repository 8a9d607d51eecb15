//! JavaScript's Error objects, as maps of `name`, `message` and, where there is one, `cause`.
//!
//! The stack is left out: it tells about the script's source, not about the value.

use super::error::Fail;
use super::item::Item;
use super::reader::Reader;
use super::tag;
use super::text::Text;
use super::token::Token;
use serde::de::{DeserializeSeed, IntoDeserializer, MapAccess};

/// What comes before the cause.
#[derive(Debug, Clone, Copy)]
pub(super) struct Head<'de> {
    name: &'static str,
    message: Option<Text<'de>>,
    cause: bool,
}

impl<'de> Reader<'de> {
    /// Reads an Error up to its cause, or up to its end if it has none.
    pub(super) fn error_head(&mut self) -> Result<Head<'de>, Fail> {
        let name = match self.peek()? {
            b'E' => "EvalError",
            b'R' => "RangeError",
            b'F' => "ReferenceError",
            b'S' => "SyntaxError",
            b'T' => "TypeError",
            b'U' => "URIError",
            _ => "Error",
        };
        self.pos += usize::from(name != "Error");
        let message = if self.eat(b'm')? { Some(self.text()?) } else { None };
        if self.eat(b's')? {
            self.text()?;
        }
        let cause = self.eat(b'c')?;
        Ok(Head { name, message, cause })
    }
}

/// The entries of an Error.
pub(super) struct ErrorEntries<'r, 'de> {
    reader: &'r mut Reader<'de>,
    head: Head<'de>,
    /// The key that comes next, as an index into [`KEYS`].
    next: usize,
}

const KEYS: [&str; 3] = ["name", "message", "cause"];

impl<'r, 'de> ErrorEntries<'r, 'de> {
    pub(super) fn new(reader: &'r mut Reader<'de>) -> Result<Self, Fail> {
        let head = reader.error_head()?;
        Ok(ErrorEntries { reader, head, next: 0 })
    }

    fn count(&self) -> usize {
        if self.head.cause { 3 } else { 2 }
    }

    pub(super) fn finish(self) -> Result<(), Fail> {
        if self.head.cause && self.next < 3 {
            self.reader.skip_value()?;
        }
        if self.reader.eat(tag::END_ERROR)? { Ok(()) } else { Err(self.reader.corrupt()) }
    }
}

impl<'de> MapAccess<'de> for ErrorEntries<'_, 'de> {
    type Error = Fail;

    fn next_key_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>, Fail> {
        match KEYS.get(self.next).filter(|_| self.next < self.count()) {
            Some(&key) => seed.deserialize(key.into_deserializer()).map(Some),
            None => Ok(None),
        }
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, Fail> {
        let key = self.next;
        self.next += 1;
        let value = match key {
            0 => seed.deserialize(Item::new(self.reader, Token::Text(Text::OneByte(self.head.name.as_bytes())))),
            1 => {
                let message = self.head.message.unwrap_or(Text::OneByte(b""));
                seed.deserialize(Item::new(self.reader, Token::Text(message)))
            }
            _ => self.reader.value(seed),
        };
        value.map_err(|fail| fail.at_key(KEYS.get(key).copied().unwrap_or_default()))
    }
}
