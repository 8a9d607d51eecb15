//! A stream that is written value by value, by whoever walks a value of JavaScript.
//!
//! Invariant: the stream never grows beyond its limit; what would pass it is refused before room is made for it.

use super::tag;
use super::writer::varint;

/// The bytes so far.
pub(crate) struct Stream {
    out: Vec<u8>,
    limit: usize,
}

/// The limit would be passed.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Full;

/// A kind of container, by the tags that open and close it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Container {
    Object,
    Map,
    Set,
}

impl Stream {
    pub(crate) fn new(limit: usize) -> Self {
        let mut out = Vec::with_capacity(128);
        out.extend_from_slice(&[tag::VERSION, tag::WRITTEN]);
        Stream { out, limit }
    }

    pub(crate) fn into_bytes(self) -> Vec<u8> {
        self.out
    }

    /// Where the stream is, to go back to.
    pub(crate) fn position(&self) -> usize {
        self.out.len()
    }

    /// Forgets what was written since that position.
    pub(crate) fn back_to(&mut self, position: usize) {
        self.out.truncate(position);
    }

    /// Makes sure that so many bytes fit.
    fn room(&mut self, bytes: usize) -> Result<(), Full> {
        if bytes > self.limit.saturating_sub(self.out.len()) {
            return Err(Full);
        }
        self.out.reserve(bytes);
        Ok(())
    }

    fn tag(&mut self, tag: u8) -> Result<(), Full> {
        self.room(1)?;
        self.out.push(tag);
        Ok(())
    }

    fn tag_and_varint(&mut self, tag: u8, value: u32) -> Result<(), Full> {
        let (bytes, length) = varint(value);
        self.room(1 + length)?;
        self.out.push(tag);
        self.out.extend_from_slice(&bytes[..length]);
        Ok(())
    }

    fn tag_and_word(&mut self, tag: u8, word: [u8; 8]) -> Result<(), Full> {
        self.room(9)?;
        self.out.push(tag);
        self.out.extend_from_slice(&word);
        Ok(())
    }

    pub(crate) fn null(&mut self) -> Result<(), Full> {
        self.tag(tag::NULL)
    }

    pub(crate) fn undefined(&mut self) -> Result<(), Full> {
        self.tag(tag::UNDEFINED)
    }

    pub(crate) fn boolean(&mut self, value: bool) -> Result<(), Full> {
        self.tag(if value { tag::TRUE } else { tag::FALSE })
    }

    pub(crate) fn int32(&mut self, value: i32) -> Result<(), Full> {
        self.tag_and_varint(tag::INT32, ((value << 1) ^ (value >> 31)) as u32)
    }

    pub(crate) fn double(&mut self, value: f64) -> Result<(), Full> {
        self.tag_and_word(tag::DOUBLE, value.to_ne_bytes())
    }

    /// A date, in milliseconds since 1970.
    pub(crate) fn date(&mut self, milliseconds: f64) -> Result<(), Full> {
        self.tag_and_word(tag::DATE, milliseconds.to_ne_bytes())
    }

    /// A BigInt of these words, the least significant first.
    pub(crate) fn big_int(&mut self, negative: bool, words: &[u64]) -> Result<(), Full> {
        let bytes = words.len() * 8;
        let field = u32::try_from(bytes << 1).map_err(|_| Full)? | u32::from(negative);
        self.room(bytes + 6)?;
        self.tag_and_varint(tag::BIG_INT, field)?;
        for word in words {
            self.out.extend_from_slice(&word.to_ne_bytes());
        }
        Ok(())
    }

    /// A string of Latin-1 characters, which `fill` writes into the room for them.
    pub(crate) fn one_byte(&mut self, length: usize, fill: impl FnOnce(&mut [u8])) -> Result<(), Full> {
        let declared = u32::try_from(length).map_err(|_| Full)?;
        self.room(length + 6)?;
        self.tag_and_varint(tag::ONE_BYTE, declared)?;
        let start = self.out.len();
        self.out.resize(start + length, 0);
        fill(&mut self.out[start..]);
        Ok(())
    }

    /// A string of UTF-16 code units, which `unit` gives one after another.
    pub(crate) fn two_byte(&mut self, units: &[u16]) -> Result<(), Full> {
        let declared = u32::try_from(units.len() * 2).map_err(|_| Full)?;
        self.room(units.len() * 2 + 6)?;
        self.tag_and_varint(tag::TWO_BYTE, declared)?;
        for unit in units {
            self.out.extend_from_slice(&unit.to_ne_bytes());
        }
        Ok(())
    }

    /// Whether so many more bytes fit.
    pub(crate) fn has_room(&self, bytes: usize) -> bool {
        bytes <= self.limit.saturating_sub(self.out.len())
    }

    /// The elements of a typed array, buffer or data view; `kind` is V8's letter for the element type.
    pub(crate) fn view(&mut self, kind: u8, length: usize, fill: impl FnOnce(&mut [u8])) -> Result<(), Full> {
        let declared = u32::try_from(length).map_err(|_| Full)?;
        self.room(length + 16)?;
        self.tag_and_varint(tag::BUFFER, declared)?;
        let start = self.out.len();
        self.out.resize(start + length, 0);
        fill(&mut self.out[start..]);
        // Offset 0, the whole length, no flags.
        self.out.extend_from_slice(&[tag::VIEW, kind, 0]);
        let (bytes, count) = varint(declared);
        self.out.extend_from_slice(&bytes[..count]);
        self.out.push(0);
        Ok(())
    }

    pub(crate) fn open(&mut self, container: Container) -> Result<(), Full> {
        self.tag(match container {
            Container::Object => tag::OBJECT,
            Container::Map => tag::MAP,
            Container::Set => tag::SET,
        })
    }

    /// Closes a container of so many entries.
    pub(crate) fn close(&mut self, container: Container, entries: u32) -> Result<(), Full> {
        match container {
            Container::Object => self.tag_and_varint(tag::END_OBJECT, entries),
            Container::Map => self.tag_and_varint(tag::END_MAP, entries.saturating_mul(2)),
            Container::Set => self.tag_and_varint(tag::END_SET, entries),
        }
    }

    pub(crate) fn open_array(&mut self, length: u32) -> Result<(), Full> {
        self.tag_and_varint(tag::DENSE, length)
    }

    /// A regular expression, whichever: the reader refuses it with its path, or steps over it.
    pub(crate) fn reg_exp(&mut self) -> Result<(), Full> {
        self.tag(tag::REG_EXP)?;
        self.one_byte(0, |_| ())?;
        self.tag(0)
    }

    pub(crate) fn hole(&mut self) -> Result<(), Full> {
        self.tag(tag::HOLE)
    }

    pub(crate) fn close_array(&mut self, length: u32) -> Result<(), Full> {
        self.tag_and_varint(tag::END_DENSE, 0)?;
        let (bytes, count) = varint(length);
        self.room(count)?;
        self.out.extend_from_slice(&bytes[..count]);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::{Limits, Policy, decode};
    use serde_json::{Value, json};

    fn read(stream: Stream) -> Value {
        decode(&stream.into_bytes(), Policy::default(), Limits::default()).unwrap()
    }

    #[test]
    fn what_is_written_is_read() {
        let mut stream = Stream::new(1000);
        stream.open(Container::Object).unwrap();
        stream.one_byte(1, |room| room.copy_from_slice(b"a")).unwrap();
        stream.open_array(6).unwrap();
        stream.int32(-7).unwrap();
        stream.int32(i32::MAX).unwrap();
        stream.double(0.5).unwrap();
        stream.two_byte(&"ключ".encode_utf16().collect::<Vec<_>>()).unwrap();
        stream.boolean(true).unwrap();
        stream.null().unwrap();
        stream.close_array(6).unwrap();
        stream.one_byte(1, |room| room.copy_from_slice(b"b")).unwrap();
        stream.view(b'W', 4, |room| room.copy_from_slice(&[1, 0, 0, 1])).unwrap();
        stream.close(Container::Object, 2).unwrap();
        assert_eq!(read(stream), json!({ "a": [-7, i32::MAX, 0.5, "ключ", true, null], "b": [1, 256] }));
    }

    #[test]
    fn nothing_passes_the_limit() {
        let mut stream = Stream::new(20);
        stream.double(1.0).unwrap();
        assert_eq!(stream.one_byte(20, |_| panic!("there is no room")), Err(Full));
        assert_eq!(stream.double(1.0), Ok(()));
        assert_eq!(stream.null(), Err(Full));
    }
}
