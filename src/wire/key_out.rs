//! Keys of maps: whatever has an unambiguous text becomes a string.
//!
//! Floats do not: `1.0` and `1` would be one key in JavaScript.

use super::error::{Fail, Reason};
use super::writer::Writer;
use serde::ser::{Impossible, Serialize, Serializer};
use std::io::Write;

/// Writes a key and gives the length of its text.
pub(super) struct KeyWriter<'w>(pub(super) &'w mut Writer);

impl KeyWriter<'_> {
    fn text(self, text: &str) -> Result<usize, Fail> {
        self.0.text(text)?;
        Ok(text.len())
    }

    fn digits(self, value: impl std::fmt::Display) -> Result<usize, Fail> {
        // The longest integer, of 128 bits, has 40 characters.
        let mut digits = [0; 40];
        let mut rest = &mut digits[..];
        if write!(rest, "{value}").is_err() {
            return self.text(&value.to_string());
        }
        let length = 40 - rest.len();
        match std::str::from_utf8(&digits[..length]) {
            Ok(text) => self.text(text),
            Err(_) => self.text(&value.to_string()),
        }
    }
}

#[cold]
fn refused(found: &str) -> Fail {
    let expected = "a map key with a text: a string, char, integer, bool or unit variant".to_owned();
    Reason::Mismatch { found: found.to_owned(), expected }.into()
}

macro_rules! digits {
    ($($method:ident($ty:ty)),*) => {$(
        fn $method(self, value: $ty) -> Result<usize, Fail> {
            self.digits(value)
        }
    )*};
}

type Never = Impossible<usize, Fail>;

impl Serializer for KeyWriter<'_> {
    type Ok = usize;
    type Error = Fail;
    type SerializeSeq = Never;
    type SerializeTuple = Never;
    type SerializeTupleStruct = Never;
    type SerializeTupleVariant = Never;
    type SerializeMap = Never;
    type SerializeStruct = Never;
    type SerializeStructVariant = Never;

    digits!(
        serialize_i8(i8),
        serialize_i16(i16),
        serialize_i32(i32),
        serialize_i64(i64),
        serialize_i128(i128),
        serialize_u8(u8),
        serialize_u16(u16),
        serialize_u32(u32),
        serialize_u64(u64),
        serialize_u128(u128)
    );

    fn serialize_bool(self, value: bool) -> Result<usize, Fail> {
        self.text(if value { "true" } else { "false" })
    }

    fn serialize_f32(self, _value: f32) -> Result<usize, Fail> {
        Err(refused("a float"))
    }

    fn serialize_f64(self, _value: f64) -> Result<usize, Fail> {
        Err(refused("a float"))
    }

    fn serialize_char(self, value: char) -> Result<usize, Fail> {
        self.text(value.encode_utf8(&mut [0; 4]))
    }

    fn serialize_str(self, value: &str) -> Result<usize, Fail> {
        self.text(value)
    }

    fn serialize_bytes(self, _value: &[u8]) -> Result<usize, Fail> {
        Err(refused("bytes"))
    }

    fn serialize_none(self) -> Result<usize, Fail> {
        Err(refused("None"))
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<usize, Fail> {
        value.serialize(self)
    }

    fn serialize_unit(self) -> Result<usize, Fail> {
        Err(refused("a unit"))
    }

    fn serialize_unit_struct(self, _name: &'static str) -> Result<usize, Fail> {
        Err(refused("a unit struct"))
    }

    fn serialize_unit_variant(self, _name: &'static str, _index: u32, variant: &'static str) -> Result<usize, Fail> {
        self.text(variant)
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(self, _name: &'static str, value: &T) -> Result<usize, Fail> {
        value.serialize(self)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _name: &'static str,
        _index: u32,
        _variant: &'static str,
        _value: &T,
    ) -> Result<usize, Fail> {
        Err(refused("a variant with content"))
    }

    fn serialize_seq(self, _length: Option<usize>) -> Result<Never, Fail> {
        Err(refused("a sequence"))
    }

    fn serialize_tuple(self, _length: usize) -> Result<Never, Fail> {
        Err(refused("a tuple"))
    }

    fn serialize_tuple_struct(self, _name: &'static str, _length: usize) -> Result<Never, Fail> {
        Err(refused("a tuple struct"))
    }

    fn serialize_tuple_variant(
        self,
        _name: &'static str,
        _index: u32,
        _variant: &'static str,
        _length: usize,
    ) -> Result<Never, Fail> {
        Err(refused("a variant with content"))
    }

    fn serialize_map(self, _length: Option<usize>) -> Result<Never, Fail> {
        Err(refused("a map"))
    }

    fn serialize_struct(self, _name: &'static str, _length: usize) -> Result<Never, Fail> {
        Err(refused("a struct"))
    }

    fn serialize_struct_variant(
        self,
        _name: &'static str,
        _index: u32,
        _variant: &'static str,
        _length: usize,
    ) -> Result<Never, Fail> {
        Err(refused("a variant with content"))
    }
}
