//! Arrays and objects while their parts are written.
//!
//! Invariant: V8 refuses an object that has a key twice, so none is closed before earlier entries of equal keys are gone.
//! Of a struct only the first field is compared with the others: that is where serde puts the tag of an enum, which the
//! content may repeat, and the compiler sees to the rest.

use super::duplicate;
use super::error::Fail;
use super::json_in;
use super::key_out::KeyWriter;
use super::tag;
use super::writer::Writer;
use serde::ser::{self, Serialize};

/// An array; inside an object of one key if it is the content of a variant.
pub(super) struct Items<'w> {
    pub(super) writer: &'w mut Writer,
    place: usize,
    declared: Option<u32>,
    pub(super) count: usize,
    variant: Option<&'static str>,
}

impl<'w> Items<'w> {
    pub(super) fn open(
        writer: &'w mut Writer,
        length: Option<usize>,
        variant: Option<&'static str>,
    ) -> Result<Self, Fail> {
        if let Some(variant) = variant {
            writer.open_object()?;
            writer.text(variant)?;
        }
        let declared = length.and_then(|length| u32::try_from(length).ok());
        let place = writer.open_array(declared).map_err(|fail| within(fail, variant))?;
        Ok(Items { writer, place, declared, count: 0, variant })
    }

    fn item<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Fail> {
        match value.serialize(&mut *self.writer).and_then(|()| self.writer.check()) {
            Ok(()) => {
                self.count += 1;
                Ok(())
            }
            Err(fail) => Err(within(fail.at_index(self.count), self.variant)),
        }
    }

    pub(super) fn close(self) -> Result<(), Fail> {
        self.writer.close_array(self.place, self.declared, self.count).map_err(|fail| within(fail, self.variant))?;
        if self.variant.is_some() {
            self.writer.close_object(1);
        }
        Ok(())
    }
}

/// Puts the name of the variant in front of a path.
#[cold]
fn within(fail: Fail, variant: Option<&'static str>) -> Fail {
    match variant {
        Some(variant) => fail.at_key(variant),
        None => fail,
    }
}

macro_rules! items {
    ($($trait:ident :: $method:ident),*) => {$(
        impl ser::$trait for Items<'_> {
            type Ok = ();
            type Error = Fail;

            fn $method<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Fail> {
                self.item(value)
            }

            fn end(self) -> Result<(), Fail> {
                self.close()
            }
        }
    )*};
}

items!(
    SerializeSeq::serialize_element,
    SerializeTuple::serialize_element,
    SerializeTupleStruct::serialize_field,
    SerializeTupleVariant::serialize_field
);

/// An object whose keys are data.
pub(super) struct Entries<'w> {
    pub(super) writer: &'w mut Writer,
    base: usize,
    /// Whether each key so far was greater than the one before it, so that none is there twice.
    rising: bool,
    /// The text of the last key, as a range of the stream.
    key: (usize, usize),
}

impl<'w> Entries<'w> {
    pub(super) fn open(writer: &'w mut Writer) -> Result<Self, Fail> {
        writer.open_object()?;
        let base = writer.entries.len();
        Ok(Entries { writer, base, rising: true, key: (0, 0) })
    }

    /// Begins an entry whose key `write` puts into the stream; `write` gives the length of the key's text.
    pub(super) fn entry(&mut self, write: impl FnOnce(&mut Writer) -> Result<usize, Fail>) -> Result<(), Fail> {
        let first = self.writer.entries.len() == self.base;
        self.writer.entries.push(self.writer.out.len());
        let length = write(self.writer)?;
        let end = self.writer.out.len();
        let key = (end - length, end);
        if self.rising && !first {
            self.rising = self.writer.out[self.key.0..self.key.1] < self.writer.out[key.0..key.1];
        }
        self.key = key;
        Ok(())
    }

    /// The last key, for a path.
    #[cold]
    pub(super) fn last_key(&self) -> String {
        String::from_utf8_lossy(&self.writer.out[self.key.0..self.key.1]).into_owned()
    }

    pub(super) fn close(self) {
        if !self.rising {
            duplicate::remove(self.writer, self.base);
        }
        let count = self.writer.entries.len() - self.base;
        self.writer.entries.truncate(self.base);
        self.writer.close_object(count as u32);
    }
}

impl ser::SerializeMap for Entries<'_> {
    type Ok = ();
    type Error = Fail;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), Fail> {
        self.entry(|writer| key.serialize(KeyWriter(writer)))
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Fail> {
        value
            .serialize(&mut *self.writer)
            .and_then(|()| self.writer.check())
            .map_err(|fail| fail.at_key(&self.last_key()))
    }

    fn end(self) -> Result<(), Fail> {
        self.close();
        Ok(())
    }
}

/// An object whose keys are names of fields; or raw JSON text, which serde hands over as a struct.
pub(super) struct Fields<'w> {
    writer: &'w mut Writer,
    variant: Option<&'static str>,
    raw: bool,
    base: usize,
    first: &'static str,
    /// Whether a later field has the name of the first, as the tag of an enum may have.
    repeated: bool,
}

impl<'w> Fields<'w> {
    pub(super) fn open(writer: &'w mut Writer, variant: Option<&'static str>) -> Result<Self, Fail> {
        if let Some(variant) = variant {
            writer.open_object()?;
            writer.text(variant)?;
        }
        writer.open_object().map_err(|fail| within(fail, variant))?;
        let base = writer.entries.len();
        Ok(Fields { writer, variant, raw: false, base, first: "", repeated: false })
    }

    pub(super) fn raw(writer: &'w mut Writer) -> Self {
        let base = writer.entries.len();
        Fields { writer, variant: None, raw: true, base, first: "", repeated: false }
    }

    fn field<T: Serialize + ?Sized>(&mut self, key: &'static str, value: &T) -> Result<(), Fail> {
        if self.raw && key == tag::RAW_VALUE {
            return value.serialize(json_in::RawText(self.writer));
        }
        if self.writer.entries.len() == self.base {
            self.first = key;
        } else {
            self.repeated |= self.first == key;
        }
        self.writer.entries.push(self.writer.out.len());
        self.writer
            .text(key)
            .and_then(|()| value.serialize(&mut *self.writer))
            .and_then(|()| self.writer.check())
            .map_err(|fail| within(fail.at_key(key), self.variant))
    }

    fn close(self) {
        if self.raw {
            return;
        }
        if self.repeated {
            duplicate::remove(self.writer, self.base);
        }
        let count = self.writer.entries.len() - self.base;
        self.writer.entries.truncate(self.base);
        self.writer.close_object(count as u32);
        if self.variant.is_some() {
            self.writer.close_object(1);
        }
    }
}

macro_rules! fields {
    ($($trait:ident),*) => {$(
        impl ser::$trait for Fields<'_> {
            type Ok = ();
            type Error = Fail;

            fn serialize_field<T: Serialize + ?Sized>(&mut self, key: &'static str, value: &T) -> Result<(), Fail> {
                self.field(key, value)
            }

            fn end(self) -> Result<(), Fail> {
                self.close();
                Ok(())
            }
        }
    )*};
}

fields!(SerializeStruct, SerializeStructVariant);
