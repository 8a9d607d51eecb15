//! The way in: serde's data model onto a [`Writer`].
//!
//! Invariant: each call of the serializer writes exactly one value, or fails.

use super::compound::{Entries, Fields, Items};
use super::error::{Error, Fail, Reason};
use super::writer::{Writer, varint};
use super::{Limits, Policy, tag};
use serde::ser::{Serialize, Serializer};

/// A value in V8's wire format.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Encoded {
    /// The stream, header included.
    pub(crate) bytes: Vec<u8>,
    /// Large byte strings. The stream refers to them as transferred array buffers, by their index here.
    pub(crate) blobs: Blobs,
}

/// The large byte strings of a value. As small as a pointer, since nearly all values have none, and many are kept.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Blobs(#[allow(clippy::box_collection)] Option<Box<Vec<Vec<u8>>>>);

impl Blobs {
    fn new(blobs: Vec<Vec<u8>>) -> Self {
        Blobs(if blobs.is_empty() { None } else { Some(Box::new(blobs)) })
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_none()
    }

    pub(crate) fn into_vec(self) -> Vec<Vec<u8>> {
        self.0.map(|blobs| *blobs).unwrap_or_default()
    }
}

/// Encodes one value.
pub(crate) fn encode<T: Serialize + ?Sized>(value: &T, policy: Policy, limits: Limits) -> Result<Encoded, Error> {
    let mut writer = Writer::new(policy, limits);
    value.serialize(&mut writer)?;
    writer.check()?;
    Ok(Encoded { bytes: writer.out, blobs: Blobs::new(writer.blobs) })
}

/// Encodes the arguments of a call into one array, each as it is pushed.
pub(crate) struct Encoder {
    writer: Writer,
    count: usize,
}

/// Where the array's length is: after the header and the array's tag.
const LENGTH_AT: usize = tag::HEADER + 1;

impl Encoder {
    /// An encoder without arguments yet.
    pub(crate) fn new(policy: Policy, limits: Limits) -> Self {
        let mut writer = Writer::new(policy, limits);
        writer.out.extend_from_slice(&[tag::DENSE, 0]);
        Encoder { writer, count: 0 }
    }

    /// Adds an argument. If that fails, the arguments so far are kept and others may follow.
    pub(crate) fn push<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Error> {
        let mark = self.writer.mark();
        let result = value.serialize(&mut self.writer).and_then(|()| self.writer.check());
        if let Err(fail) = result {
            self.writer.rewind(mark);
            return Err(fail.at_index(self.count).into());
        }
        self.count += 1;
        Ok(())
    }

    /// The array of all arguments, and how many they are.
    pub(crate) fn finish(mut self) -> Result<(Encoded, usize), Error> {
        if self.count > tag::MAX_ARRAY {
            return Err(Fail::from(Reason::TooLarge { limit: tag::MAX_ARRAY }).into());
        }
        let out = &mut self.writer.out;
        let (bytes, length) = varint(self.count as u32);
        out[LENGTH_AT] = bytes[0];
        if length > 1 {
            out.splice(LENGTH_AT + 1..LENGTH_AT + 1, bytes[1..length].iter().copied());
        }
        out.extend_from_slice(&[tag::END_DENSE, 0]);
        out.extend_from_slice(&bytes[..length]);
        Ok((Encoded { bytes: self.writer.out, blobs: Blobs::new(self.writer.blobs) }, self.count))
    }
}

impl<'w> Serializer for &'w mut Writer {
    type Ok = ();
    type Error = Fail;
    type SerializeSeq = Items<'w>;
    type SerializeTuple = Items<'w>;
    type SerializeTupleStruct = Items<'w>;
    type SerializeTupleVariant = Items<'w>;
    type SerializeMap = Entries<'w>;
    type SerializeStruct = Fields<'w>;
    type SerializeStructVariant = Fields<'w>;

    fn serialize_bool(self, value: bool) -> Result<(), Fail> {
        self.boolean(value);
        Ok(())
    }

    fn serialize_i8(self, value: i8) -> Result<(), Fail> {
        self.int32(value.into());
        Ok(())
    }

    fn serialize_i16(self, value: i16) -> Result<(), Fail> {
        self.int32(value.into());
        Ok(())
    }

    fn serialize_i32(self, value: i32) -> Result<(), Fail> {
        self.int32(value);
        Ok(())
    }

    fn serialize_i64(self, value: i64) -> Result<(), Fail> {
        self.integer(value)
    }

    fn serialize_i128(self, value: i128) -> Result<(), Fail> {
        self.wide_integer(value < 0, value.unsigned_abs())
    }

    fn serialize_u8(self, value: u8) -> Result<(), Fail> {
        self.int32(value.into());
        Ok(())
    }

    fn serialize_u16(self, value: u16) -> Result<(), Fail> {
        self.int32(value.into());
        Ok(())
    }

    fn serialize_u32(self, value: u32) -> Result<(), Fail> {
        self.integer(value.into())
    }

    fn serialize_u64(self, value: u64) -> Result<(), Fail> {
        self.wide_integer(false, value.into())
    }

    fn serialize_u128(self, value: u128) -> Result<(), Fail> {
        self.wide_integer(false, value)
    }

    fn serialize_f32(self, value: f32) -> Result<(), Fail> {
        self.float(value.into())
    }

    fn serialize_f64(self, value: f64) -> Result<(), Fail> {
        self.float(value)
    }

    fn serialize_char(self, value: char) -> Result<(), Fail> {
        self.text(value.encode_utf8(&mut [0; 4]))
    }

    fn serialize_str(self, value: &str) -> Result<(), Fail> {
        self.text(value)
    }

    fn serialize_bytes(self, value: &[u8]) -> Result<(), Fail> {
        self.bytes(value)
    }

    fn serialize_none(self) -> Result<(), Fail> {
        self.serialize_unit()
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<(), Fail> {
        self.wrapped(|writer| value.serialize(writer))
    }

    fn serialize_unit(self) -> Result<(), Fail> {
        self.tag(tag::NULL);
        Ok(())
    }

    fn serialize_unit_struct(self, _name: &'static str) -> Result<(), Fail> {
        self.serialize_unit()
    }

    fn serialize_unit_variant(self, _name: &'static str, _index: u32, variant: &'static str) -> Result<(), Fail> {
        self.text(variant)
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(self, _name: &'static str, value: &T) -> Result<(), Fail> {
        self.wrapped(|writer| value.serialize(writer))
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _name: &'static str,
        _index: u32,
        variant: &'static str,
        value: &T,
    ) -> Result<(), Fail> {
        self.open_object()?;
        self.text(variant)?;
        value.serialize(&mut *self).map_err(|fail| fail.at_key(variant))?;
        self.close_object(1);
        self.check()
    }

    fn serialize_seq(self, length: Option<usize>) -> Result<Items<'w>, Fail> {
        Items::open(self, length, None)
    }

    fn serialize_tuple(self, length: usize) -> Result<Items<'w>, Fail> {
        Items::open(self, Some(length), None)
    }

    fn serialize_tuple_struct(self, _name: &'static str, length: usize) -> Result<Items<'w>, Fail> {
        Items::open(self, Some(length), None)
    }

    fn serialize_tuple_variant(
        self,
        _name: &'static str,
        _index: u32,
        variant: &'static str,
        length: usize,
    ) -> Result<Items<'w>, Fail> {
        Items::open(self, Some(length), Some(variant))
    }

    fn serialize_map(self, _length: Option<usize>) -> Result<Entries<'w>, Fail> {
        Entries::open(self)
    }

    fn serialize_struct(self, name: &'static str, _length: usize) -> Result<Fields<'w>, Fail> {
        if name == tag::RAW_VALUE { Ok(Fields::raw(self)) } else { Fields::open(self, None) }
    }

    fn serialize_struct_variant(
        self,
        _name: &'static str,
        _index: u32,
        variant: &'static str,
        _length: usize,
    ) -> Result<Fields<'w>, Fail> {
        Fields::open(self, Some(variant))
    }
}
