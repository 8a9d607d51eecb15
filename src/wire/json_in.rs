//! Raw JSON text into the stream, token by token, without a tree in between.
//!
//! Invariant: the same rules hold as for the values that the text stands for. An integer beyond 64 bits is read as the
//! nearest double, as JavaScript reads it.

use super::compound::{Entries, Items};
use super::error::{Fail, Reason};
use super::writer::Writer;
use serde::de::{DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde::ser::{Impossible, Serialize, Serializer};
use std::fmt;

/// Takes the JSON text of a raw value, which arrives as a string.
pub(super) struct RawText<'w>(pub(super) &'w mut Writer);

/// Copies the JSON `text` into the stream as a value.
fn transcode(writer: &mut Writer, text: &str) -> Result<(), Fail> {
    let mut failed = None;
    let mut json = serde_json::Deserializer::from_str(text);
    let result = JsonValue { writer, failed: &mut failed }.deserialize(&mut json).and_then(|()| json.end());
    match (result, failed) {
        (Ok(()), _) => Ok(()),
        (Err(_), Some(fail)) => Err(fail),
        (Err(error), None) => Err(json_error(&error)),
    }
}

/// What `serde_json` says; two of its findings have a reason of their own here.
#[cold]
fn json_error(error: &serde_json::Error) -> Fail {
    let text = error.to_string();
    if text.starts_with("recursion limit") {
        Reason::TooDeep { limit: 128 }.into()
    } else if text.contains("surrogate") || text.contains("end of hex escape") {
        Reason::Surrogate.into()
    } else {
        Reason::Custom(format!("the raw JSON text is not valid: {text}")).into()
    }
}

/// One JSON value on its way into the stream. An error of this side is kept in `failed`, since the reader has its own.
struct JsonValue<'a> {
    writer: &'a mut Writer,
    failed: &'a mut Option<Fail>,
}

/// Keeps `fail` and gives the reader an error to stop with.
#[cold]
fn stop<E: serde::de::Error>(failed: &mut Option<Fail>, fail: Fail) -> E {
    *failed = Some(fail);
    E::custom("stopped")
}

/// Adds a step to the path of the error that is kept.
#[cold]
fn locate(failed: &mut Option<Fail>, step: impl FnOnce(Fail) -> Fail) {
    *failed = failed.take().map(step);
}

impl<'a> JsonValue<'a> {
    fn done<E: serde::de::Error>(self, result: Result<(), Fail>) -> Result<(), E> {
        result.map_err(|fail| stop(self.failed, fail))
    }
}

impl<'de> DeserializeSeed<'de> for JsonValue<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for JsonValue<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any JSON value")
    }

    fn visit_bool<E>(self, value: bool) -> Result<(), E> {
        self.writer.boolean(value);
        Ok(())
    }

    fn visit_i64<E: serde::de::Error>(self, value: i64) -> Result<(), E> {
        let result = self.writer.integer(value);
        self.done(result)
    }

    fn visit_u64<E: serde::de::Error>(self, value: u64) -> Result<(), E> {
        let result = self.writer.wide_integer(false, value.into());
        self.done(result)
    }

    fn visit_f64<E: serde::de::Error>(self, value: f64) -> Result<(), E> {
        let result = self.writer.float(value);
        self.done(result)
    }

    fn visit_str<E: serde::de::Error>(self, value: &str) -> Result<(), E> {
        let result = self.writer.text(value);
        self.done(result)
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        self.writer.tag(super::tag::NULL);
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut access: A) -> Result<(), A::Error> {
        let failed = self.failed;
        let mut items = Items::open(self.writer, None, None).map_err(|fail| stop(failed, fail))?;
        loop {
            let seed = JsonValue { writer: &mut *items.writer, failed: &mut *failed };
            match access.next_element_seed(seed) {
                Ok(Some(())) => items.writer.check().map_err(|fail| stop(failed, fail.at_index(items.count)))?,
                Ok(None) => return items.close().map_err(|fail| stop(failed, fail)),
                Err(error) => {
                    locate(failed, |fail| fail.at_index(items.count));
                    return Err(error);
                }
            }
            items.count += 1;
        }
    }

    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<(), A::Error> {
        let failed = self.failed;
        let mut entries = Entries::open(self.writer).map_err(|fail| stop(failed, fail))?;
        while access.next_key_seed(JsonKey { entries: &mut entries, failed: &mut *failed })?.is_some() {
            let seed = JsonValue { writer: &mut *entries.writer, failed: &mut *failed };
            if let Err(error) = access.next_value_seed(seed) {
                locate(failed, |fail| fail.at_key(&entries.last_key()));
                return Err(error);
            }
            entries.writer.check().map_err(|fail| stop(failed, fail.at_key(&entries.last_key())))?;
        }
        entries.close();
        Ok(())
    }
}

/// A key on its way into the stream.
struct JsonKey<'k, 'w> {
    entries: &'k mut Entries<'w>,
    failed: &'k mut Option<Fail>,
}

impl<'de> DeserializeSeed<'de> for JsonKey<'_, '_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl Visitor<'_> for JsonKey<'_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a key")
    }

    fn visit_str<E: serde::de::Error>(self, key: &str) -> Result<(), E> {
        let result = self.entries.entry(|writer| writer.text(key).map(|()| key.len()));
        result.map_err(|fail| stop(self.failed, fail))
    }
}

type Never = Impossible<(), Fail>;

macro_rules! refuse {
    ($($method:ident($($ty:ty),*) $(-> $ok:ty)?;)*) => {$(
        fn $method(self $(, _: $ty)*) -> Result<refuse!(@ok $($ok)?), Fail> {
            Err(Reason::Custom("a raw JSON value must hold its text as a string".to_owned()).into())
        }
    )*};
    (@ok) => { () };
    (@ok $ok:ty) => { $ok };
}

impl Serializer for RawText<'_> {
    type Ok = ();
    type Error = Fail;
    type SerializeSeq = Never;
    type SerializeTuple = Never;
    type SerializeTupleStruct = Never;
    type SerializeTupleVariant = Never;
    type SerializeMap = Never;
    type SerializeStruct = Never;
    type SerializeStructVariant = Never;

    fn serialize_str(self, text: &str) -> Result<(), Fail> {
        transcode(self.0, text)
    }

    refuse! {
        serialize_bool(bool);
        serialize_i8(i8);
        serialize_i16(i16);
        serialize_i32(i32);
        serialize_i64(i64);
        serialize_u8(u8);
        serialize_u16(u16);
        serialize_u32(u32);
        serialize_u64(u64);
        serialize_f32(f32);
        serialize_f64(f64);
        serialize_char(char);
        serialize_bytes(&[u8]);
        serialize_none();
        serialize_unit();
        serialize_unit_struct(&'static str);
        serialize_unit_variant(&'static str, u32, &'static str);
        serialize_seq(Option<usize>) -> Never;
        serialize_tuple(usize) -> Never;
        serialize_tuple_struct(&'static str, usize) -> Never;
        serialize_tuple_variant(&'static str, u32, &'static str, usize) -> Never;
        serialize_map(Option<usize>) -> Never;
        serialize_struct(&'static str, usize) -> Never;
        serialize_struct_variant(&'static str, u32, &'static str, usize) -> Never;
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<(), Fail> {
        value.serialize(self)
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(self, _name: &'static str, value: &T) -> Result<(), Fail> {
        value.serialize(self)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _name: &'static str,
        _index: u32,
        _variant: &'static str,
        value: &T,
    ) -> Result<(), Fail> {
        value.serialize(self)
    }
}
