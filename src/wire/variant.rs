//! An enum's variant with content: an object whose only key is the variant's name.

use super::error::{Fail, Reason};
use super::item::Item;
use super::reader::Reader;
use super::tag;
use serde::de::{Deserialize, DeserializeSeed, Deserializer, EnumAccess, VariantAccess, Visitor};

/// The inside of the object.
pub(super) struct Variant<'r, 'de> {
    reader: &'r mut Reader<'de>,
    /// Where the name is, for a path.
    key: usize,
}

impl<'r, 'de> Variant<'r, 'de> {
    pub(super) fn new(reader: &'r mut Reader<'de>) -> Result<Self, Fail> {
        if reader.peek()? == tag::END_OBJECT {
            return Err(one_key("an empty object"));
        }
        let key = reader.pos;
        Ok(Variant { reader, key })
    }

    /// Reads the end of the object, once the variant's content is read.
    pub(super) fn finish(reader: &mut Reader<'de>) -> Result<(), Fail> {
        if !reader.eat(tag::END_OBJECT)? {
            return Err(one_key("an object with several keys"));
        }
        if reader.varint()? != 1 {
            return Err(reader.corrupt());
        }
        Ok(())
    }

    fn content<T>(self, read: impl FnOnce(Item<'_, 'de>) -> Result<T, Fail>) -> Result<T, Fail> {
        match self.reader.with_item(read) {
            Ok(value) => Ok(value),
            Err(fail) => Err(fail.at(self.reader.key_at(self.key))),
        }
    }
}

#[cold]
fn one_key(found: &str) -> Fail {
    let expected = "an object with the name of a variant as its only key".to_owned();
    Reason::Mismatch { found: found.to_owned(), expected }.into()
}

impl<'de> EnumAccess<'de> for Variant<'_, 'de> {
    type Error = Fail;
    type Variant = Self;

    fn variant_seed<S: DeserializeSeed<'de>>(self, seed: S) -> Result<(S::Value, Self), Fail> {
        let name = self.reader.value(seed)?;
        Ok((name, self))
    }
}

impl<'de> VariantAccess<'de> for Variant<'_, 'de> {
    type Error = Fail;

    fn unit_variant(self) -> Result<(), Fail> {
        self.content(|item| <()>::deserialize(item))
    }

    fn newtype_variant_seed<S: DeserializeSeed<'de>>(self, seed: S) -> Result<S::Value, Fail> {
        self.content(|item| seed.deserialize(item))
    }

    fn tuple_variant<V: Visitor<'de>>(self, _length: usize, visitor: V) -> Result<V::Value, Fail> {
        self.content(|item| item.deserialize_any(visitor))
    }

    fn struct_variant<V: Visitor<'de>>(self, _fields: &'static [&'static str], visitor: V) -> Result<V::Value, Fail> {
        self.content(|item| item.deserialize_any(visitor))
    }
}
