//! The parts of arrays, Sets, typed arrays, objects and Maps, one after another.
//!
//! Invariant: no loop runs to a length that the stream merely claims: each turn reads a byte at least, or is one of the
//! few holes that [`Sparse`] admits.

use super::error::{Fail, Reason};
use super::item::Item;
use super::key_in::KeyItem;
use super::reader::Reader;
use super::tag;
use super::token::Token;
use super::view::View;
use serde::de::{DeserializeSeed, MapAccess, SeqAccess};

/// The error for parts that the target has left over.
#[cold]
fn leftover(whole: &str, taken: usize) -> Fail {
    Reason::Mismatch { found: format!("{whole} that goes on after {taken}"), expected: format!("{taken} elements") }
        .into()
}

/// An array whose elements all follow.
pub(super) struct Dense<'r, 'de> {
    reader: &'r mut Reader<'de>,
    index: u32,
    length: u32,
}

impl<'r, 'de> Dense<'r, 'de> {
    pub(super) fn new(reader: &'r mut Reader<'de>, length: u32) -> Self {
        Dense { reader, index: 0, length }
    }

    pub(super) fn finish(self) -> Result<(), Fail> {
        if self.index < self.length {
            return Err(leftover("an array", self.index as usize));
        }
        close_array(self.reader, tag::END_DENSE, 0, self.length)
    }
}

/// Reads the end of an array, at which nothing but elements has been met.
fn close_array(reader: &mut Reader<'_>, end: u8, properties: u32, length: u32) -> Result<(), Fail> {
    if !reader.eat(end)? {
        return match reader.token()? {
            Token::Text(key) => Err(Reason::ExtraProperty(key.lossy()).into()),
            _ => Err(reader.corrupt()),
        };
    }
    if reader.varint32()? != properties || reader.varint32()? != length {
        return Err(reader.corrupt());
    }
    Ok(())
}

impl<'de> SeqAccess<'de> for Dense<'_, 'de> {
    type Error = Fail;

    fn next_element_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>, Fail> {
        if self.index == self.length {
            return Ok(None);
        }
        let value = self.reader.value(seed).map_err(|fail| fail.at_index(self.index as usize))?;
        self.index += 1;
        Ok(Some(value))
    }

    fn size_hint(&self) -> Option<usize> {
        let left = (self.length - self.index) as usize;
        Some(left.min(self.reader.bytes.len() - self.reader.pos))
    }
}

/// An array whose elements follow with their indices, in rising order.
pub(super) struct Sparse<'r, 'de> {
    reader: &'r mut Reader<'de>,
    index: u32,
    length: u32,
    /// How many elements have been read.
    present: u32,
    /// The index of the next element, once it is read.
    next: Option<u32>,
    /// Whether there are enough elements to go through the holes.
    admitted: bool,
}

impl<'r, 'de> Sparse<'r, 'de> {
    pub(super) fn new(reader: &'r mut Reader<'de>, length: u32) -> Self {
        Sparse { reader, index: 0, length, present: 0, next: None, admitted: false }
    }

    /// Looks at the index of the next element. `None` means that there is no further one.
    fn look(&mut self) -> Result<Option<u32>, Fail> {
        if self.next.is_none() && self.reader.peek()? != tag::END_SPARSE {
            let index = match self.reader.token()? {
                Token::Int(index) => u32::try_from(index).ok(),
                Token::Double(index) if index == f64::from(index as u32) => Some(index as u32),
                Token::Text(key) => match key.ascii().and_then(array_index) {
                    Some(index) => Some(index),
                    None => return Err(Reason::ExtraProperty(key.lossy()).into()),
                },
                _ => None,
            };
            let valid = index.filter(|index| (self.index..self.length).contains(index));
            self.next = Some(valid.ok_or_else(|| self.reader.corrupt())?);
        }
        Ok(self.next)
    }

    /// Fails unless the elements are many, measured by the length.
    fn admit(&mut self) -> Result<(), Fail> {
        let back = self.reader.pos;
        let mut present = u64::from(self.present);
        if self.next.is_some() {
            self.reader.skip_value()?;
            present += 1;
        }
        while self.reader.peek()? != tag::END_SPARSE {
            self.reader.skip_value()?;
            self.reader.skip_value()?;
            present += 1;
        }
        self.reader.pos = back;
        if u64::from(self.length) > 2 * present + 1024 {
            return Err(Reason::Sparse { length: self.length }.into());
        }
        self.admitted = true;
        Ok(())
    }

    pub(super) fn finish(mut self) -> Result<(), Fail> {
        if self.index < self.length {
            return Err(leftover("an array", self.index as usize));
        }
        self.look()?;
        close_array(self.reader, tag::END_SPARSE, self.present, self.length)
    }
}

/// The array index that a key is, if it is one as JavaScript writes it.
fn array_index(key: &str) -> Option<u32> {
    let index: u32 = key.parse().ok()?;
    let canonical = key == "0" || key.bytes().next().is_some_and(|byte| (b'1'..=b'9').contains(&byte));
    canonical.then_some(index)
}

impl<'de> SeqAccess<'de> for Sparse<'_, 'de> {
    type Error = Fail;

    fn next_element_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>, Fail> {
        if self.index == self.length {
            return Ok(None);
        }
        let index = self.index as usize;
        let value = if self.look()? == Some(self.index) {
            self.next = None;
            self.present += 1;
            self.reader.value(seed)
        } else {
            if !self.admitted {
                self.admit()?;
            }
            let hole = self.reader.missing(Token::Hole);
            seed.deserialize(Item::new(self.reader, hole))
        };
        let value = value.map_err(|fail| fail.at_index(index))?;
        self.index += 1;
        Ok(Some(value))
    }
}

/// The elements of a Set.
pub(super) struct SetItems<'r, 'de> {
    reader: &'r mut Reader<'de>,
    index: usize,
    done: bool,
}

impl<'r, 'de> SetItems<'r, 'de> {
    pub(super) fn new(reader: &'r mut Reader<'de>) -> Self {
        SetItems { reader, index: 0, done: false }
    }

    fn ended(&mut self) -> Result<bool, Fail> {
        if !self.done && self.reader.eat(tag::END_SET)? {
            if self.reader.varint()? != self.index as u64 {
                return Err(self.reader.corrupt());
            }
            self.done = true;
        }
        Ok(self.done)
    }

    pub(super) fn finish(mut self) -> Result<(), Fail> {
        if self.ended()? { Ok(()) } else { Err(leftover("a Set", self.index)) }
    }
}

impl<'de> SeqAccess<'de> for SetItems<'_, 'de> {
    type Error = Fail;

    fn next_element_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>, Fail> {
        if self.ended()? {
            return Ok(None);
        }
        let value = self.reader.value(seed).map_err(|fail| fail.at_index(self.index))?;
        self.index += 1;
        Ok(Some(value))
    }
}

/// The elements of a view, or the bytes of a buffer.
pub(super) struct Elements<'r, 'de> {
    reader: &'r mut Reader<'de>,
    view: View<'de>,
    index: usize,
}

impl<'r, 'de> Elements<'r, 'de> {
    pub(super) fn new(reader: &'r mut Reader<'de>, view: View<'de>) -> Self {
        Elements { reader, view, index: 0 }
    }

    pub(super) fn finish(self) -> Result<(), Fail> {
        if self.index < self.view.len() { Err(leftover("a typed array", self.index)) } else { Ok(()) }
    }
}

impl<'de> SeqAccess<'de> for Elements<'_, 'de> {
    type Error = Fail;

    fn next_element_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>, Fail> {
        let token = match self.view.element(self.index) {
            Some(Token::Double(value)) => self.reader.float(value),
            Some(token) => token,
            None => return Ok(None),
        };
        let value = seed.deserialize(Item::new(self.reader, token)).map_err(|fail| fail.at_index(self.index))?;
        self.index += 1;
        Ok(Some(value))
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.view.len() - self.index)
    }
}

/// The entries of an object or a Map.
pub(super) struct Entries<'r, 'de> {
    reader: &'r mut Reader<'de>,
    end: u8,
    count: u64,
    /// Where the last key is, for a path.
    key: usize,
    done: bool,
}

impl<'r, 'de> Entries<'r, 'de> {
    pub(super) fn of_object(reader: &'r mut Reader<'de>) -> Self {
        Entries { reader, end: tag::END_OBJECT, count: 0, key: 0, done: false }
    }

    pub(super) fn of_map(reader: &'r mut Reader<'de>) -> Self {
        Entries { reader, end: tag::END_MAP, count: 0, key: 0, done: false }
    }

    fn ended(&mut self) -> Result<bool, Fail> {
        if !self.done && self.reader.eat(self.end)? {
            // A Map counts keys and values.
            let expected = if self.end == tag::END_MAP { self.count * 2 } else { self.count };
            if self.reader.varint()? != expected {
                return Err(self.reader.corrupt());
            }
            self.done = true;
        }
        Ok(self.done)
    }

    pub(super) fn finish(mut self) -> Result<(), Fail> {
        if self.ended()? { Ok(()) } else { Err(leftover("an object", self.count as usize)) }
    }
}

impl<'de> MapAccess<'de> for Entries<'_, 'de> {
    type Error = Fail;

    fn next_key_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>, Fail> {
        if self.ended()? {
            return Ok(None);
        }
        self.count += 1;
        self.key = self.reader.pos;
        let property = self.end == tag::END_OBJECT;
        let key = self.reader.with_item(|item| seed.deserialize(KeyItem { item, property }))?;
        Ok(Some(key))
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, Fail> {
        match self.reader.value(seed) {
            Ok(value) => Ok(value),
            Err(fail) => Err(fail.at(self.reader.key_at(self.key))),
        }
    }
}
