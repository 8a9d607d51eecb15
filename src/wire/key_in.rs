//! Keys of objects and Maps: a property's key is a text, whatever the stream has; a Map's key is a value like any other.
//!
//! Invariant: a text is read as an integer only if it is what JavaScript writes for that integer, so that two keys never
//! become one.

use super::error::{Fail, Reason};
use super::item::Item;
use super::text;
use super::token::Token;
use serde::de::{Deserializer, Visitor};

/// A key whose first token is read.
pub(super) struct KeyItem<'r, 'de> {
    pub(super) item: Item<'r, 'de>,
    /// Whether it is an object's key.
    pub(super) property: bool,
}

impl<'de> KeyItem<'_, 'de> {
    /// The key as a text, if it is one or a number.
    fn text<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fail> {
        match self.item.token {
            Token::Int(value) => visitor.visit_string(value.to_string()),
            Token::Double(value) | Token::NonFinite(value) => visitor.visit_string(text::number(value)),
            _ => self.item.deserialize_any(visitor),
        }
    }
}

macro_rules! integers {
    ($($deserialize:ident $visit:ident $ty:ident;)*) => {$(
        fn $deserialize<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fail> {
            let Token::Text(text) = self.item.token else { return self.item.$deserialize(visitor) };
            let value = text.ascii().and_then(|text| Some((text, text.parse::<$ty>().ok()?)));
            match value {
                Some((text, value)) if value.to_string() == text => visitor.$visit(value),
                _ => Err(Reason::Mismatch {
                    found: format!("the key {:?}", text.lossy()),
                    expected: concat!("a key that is an integer of type ", stringify!($ty)).to_owned(),
                }
                .into()),
            }
        }
    )*};
}

impl<'de> Deserializer<'de> for KeyItem<'_, 'de> {
    type Error = Fail;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fail> {
        if self.property { self.text(visitor) } else { self.item.deserialize_any(visitor) }
    }

    integers! {
        deserialize_i8 visit_i8 i8;
        deserialize_i16 visit_i16 i16;
        deserialize_i32 visit_i32 i32;
        deserialize_i64 visit_i64 i64;
        deserialize_i128 visit_i128 i128;
        deserialize_u8 visit_u8 u8;
        deserialize_u16 visit_u16 u16;
        deserialize_u32 visit_u32 u32;
        deserialize_u64 visit_u64 u64;
        deserialize_u128 visit_u128 u128;
    }

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fail> {
        let text = match self.item.token {
            Token::Text(text) => text.ascii(),
            _ => None,
        };
        match text {
            Some("true") => visitor.visit_bool(true),
            Some("false") => visitor.visit_bool(false),
            _ => self.item.deserialize_bool(visitor),
        }
    }

    fn deserialize_f32<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fail> {
        self.item.deserialize_f32(visitor)
    }

    fn deserialize_f64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fail> {
        self.item.deserialize_f64(visitor)
    }

    fn deserialize_char<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fail> {
        self.text(visitor)
    }

    fn deserialize_str<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fail> {
        self.text(visitor)
    }

    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fail> {
        self.text(visitor)
    }

    fn deserialize_identifier<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fail> {
        self.text(visitor)
    }

    fn deserialize_bytes<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fail> {
        self.item.deserialize_bytes(visitor)
    }

    fn deserialize_byte_buf<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fail> {
        self.item.deserialize_byte_buf(visitor)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fail> {
        match self.item.token {
            Token::Null => visitor.visit_none(),
            _ => visitor.visit_some(self),
        }
    }

    fn deserialize_unit<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fail> {
        self.item.deserialize_unit(visitor)
    }

    fn deserialize_unit_struct<V: Visitor<'de>>(self, name: &'static str, visitor: V) -> Result<V::Value, Fail> {
        self.item.deserialize_unit_struct(name, visitor)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(self, _name: &'static str, visitor: V) -> Result<V::Value, Fail> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Fail> {
        self.item.deserialize_enum(name, variants, visitor)
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fail> {
        self.item.deserialize_ignored_any(visitor)
    }

    serde::forward_to_deserialize_any! {
        seq tuple tuple_struct map struct
    }
}
