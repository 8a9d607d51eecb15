//! A value of the stream as raw JSON text.
//!
//! Invariant: the text is what `serde_json` would write for the same value read freely.

use super::error::Fail;
use super::item::Item;
use super::tag;
use serde::de::value::MapDeserializer;
use serde::de::{DeserializeSeed, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};
use serde::ser::Serialize;
use std::fmt;

/// Gives the visitor of a `RawValue` what it wants: a map from a marker to the text.
pub(super) fn raw_value<'de, V: Visitor<'de>>(item: Item<'_, 'de>, visitor: V) -> Result<V::Value, Fail> {
    let mut text = Vec::new();
    JsonText(&mut text).deserialize(item)?;
    let text = String::from_utf8(text).map_err(Fail::custom)?;
    visitor.visit_map(MapDeserializer::new(std::iter::once((tag::RAW_VALUE, text))))
}

/// Appends what it is given to a JSON text.
struct JsonText<'t>(&'t mut Vec<u8>);

impl JsonText<'_> {
    fn scalar<E: serde::de::Error>(self, value: impl Serialize) -> Result<(), E> {
        serde_json::to_writer(self.0, &value).map_err(E::custom)
    }
}

impl<'de> DeserializeSeed<'de> for JsonText<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for JsonText<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value that JSON can hold")
    }

    fn visit_bool<E: serde::de::Error>(self, value: bool) -> Result<(), E> {
        self.scalar(value)
    }

    fn visit_i64<E: serde::de::Error>(self, value: i64) -> Result<(), E> {
        self.scalar(value)
    }

    fn visit_i128<E: serde::de::Error>(self, value: i128) -> Result<(), E> {
        self.scalar(value)
    }

    fn visit_u64<E: serde::de::Error>(self, value: u64) -> Result<(), E> {
        self.scalar(value)
    }

    fn visit_u128<E: serde::de::Error>(self, value: u128) -> Result<(), E> {
        self.scalar(value)
    }

    fn visit_f64<E: serde::de::Error>(self, value: f64) -> Result<(), E> {
        self.scalar(value)
    }

    fn visit_str<E: serde::de::Error>(self, value: &str) -> Result<(), E> {
        self.scalar(value)
    }

    fn visit_unit<E: serde::de::Error>(self) -> Result<(), E> {
        self.scalar(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut access: A) -> Result<(), A::Error> {
        let text = self.0;
        text.push(b'[');
        let mut last = text.len();
        while access.next_element_seed(JsonText(text))?.is_some() {
            last = text.len();
            text.push(b',');
        }
        text.truncate(last);
        text.push(b']');
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<(), A::Error> {
        let text = self.0;
        text.push(b'{');
        let mut last = text.len();
        while access.next_key_seed(JsonKey(text))?.is_some() {
            text.push(b':');
            access.next_value_seed(JsonText(text))?;
            last = text.len();
            text.push(b',');
        }
        text.truncate(last);
        text.push(b'}');
        Ok(())
    }
}

/// Appends a key, which must be a text.
struct JsonKey<'t>(&'t mut Vec<u8>);

impl<'de> DeserializeSeed<'de> for JsonKey<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl Visitor<'_> for JsonKey<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a key that is a string or a number")
    }

    fn visit_str<E: serde::de::Error>(self, key: &str) -> Result<(), E> {
        JsonText(self.0).scalar(key)
    }
}
