//! The growing stream: primitives of the format, without any knowledge of serde.
//!
//! Invariant: `out` plus the blobs never exceed the byte limit by more than one value of fixed size, and `depth` counts
//! the arrays and objects that are open. After an error the stream is unusable until it is [`rewound`](Writer::rewind).

use super::error::{Fail, Reason};
use super::tag;
use super::{BigInts, Limits, NonFinite, Policy};

/// A stream under construction.
pub(super) struct Writer {
    pub(super) out: Vec<u8>,
    pub(super) blobs: Vec<Vec<u8>>,
    pub(super) limits: Limits,
    policy: Policy,
    /// How long `out` may become: the byte limit without what the blobs have taken.
    room: usize,
    depth: usize,
    /// Newtypes and `Some`s that are open: they cost stack as well, yet leave no trace in the stream.
    wraps: usize,
    /// Where the entries of the open maps begin; each map uses the tail from its own base.
    pub(super) entries: Vec<usize>,
}

/// A point to which a stream can be taken back.
pub(super) struct Mark {
    out: usize,
    blobs: usize,
    room: usize,
}

impl Writer {
    pub(super) fn new(policy: Policy, limits: Limits) -> Self {
        let mut out = Vec::with_capacity(128);
        out.extend_from_slice(&[tag::VERSION, tag::WRITTEN]);
        Writer { out, blobs: Vec::new(), limits, policy, room: limits.bytes, depth: 0, wraps: 0, entries: Vec::new() }
    }

    pub(super) fn mark(&self) -> Mark {
        Mark { out: self.out.len(), blobs: self.blobs.len(), room: self.room }
    }

    /// Takes the stream back to `mark`, which was made outside of any array or object.
    pub(super) fn rewind(&mut self, mark: Mark) {
        self.out.truncate(mark.out);
        self.blobs.truncate(mark.blobs);
        self.room = mark.room;
        self.depth = 0;
        self.wraps = 0;
        self.entries.clear();
    }

    /// Opens an array or object.
    pub(super) fn enter(&mut self) -> Result<(), Fail> {
        if self.depth >= self.limits.depth {
            return Err(Reason::TooDeep { limit: self.limits.depth }.into());
        }
        self.depth += 1;
        Ok(())
    }

    pub(super) fn leave(&mut self) {
        self.depth -= 1;
    }

    /// Writes a value that is wrapped in something that the stream does not show.
    pub(super) fn wrapped(&mut self, write: impl FnOnce(&mut Self) -> Result<(), Fail>) -> Result<(), Fail> {
        if self.wraps > self.limits.depth.saturating_mul(4) {
            return Err(Reason::TooDeep { limit: self.limits.depth }.into());
        }
        self.wraps += 1;
        write(self)?;
        self.wraps -= 1;
        Ok(())
    }

    /// Fails if the stream has outgrown its limit.
    pub(super) fn check(&self) -> Result<(), Fail> {
        if self.out.len() > self.room { Err(self.too_large()) } else { Ok(()) }
    }

    fn check_more(&self, more: usize) -> Result<(), Fail> {
        if more > self.room.saturating_sub(self.out.len()) { Err(self.too_large()) } else { Ok(()) }
    }

    #[cold]
    fn too_large(&self) -> Fail {
        Reason::TooLarge { limit: self.limits.bytes }.into()
    }

    pub(super) fn tag(&mut self, tag: u8) {
        self.out.push(tag);
    }

    pub(super) fn varint(&mut self, value: u32) {
        if value < 0x80 {
            self.out.push(value as u8);
        } else {
            let (bytes, length) = varint(value);
            self.out.extend_from_slice(&bytes[..length]);
        }
    }

    pub(super) fn boolean(&mut self, value: bool) {
        self.tag(if value { tag::TRUE } else { tag::FALSE });
    }

    pub(super) fn int32(&mut self, value: i32) {
        self.tag(tag::INT32);
        self.varint(((value << 1) ^ (value >> 31)) as u32);
    }

    pub(super) fn integer(&mut self, value: i64) -> Result<(), Fail> {
        if let Ok(small) = i32::try_from(value) {
            self.int32(small);
        } else if let Ok(small) = u32::try_from(value) {
            self.tag(tag::UINT32);
            self.varint(small);
        } else if value.unsigned_abs() <= tag::MAX_SAFE {
            self.double(value as f64);
        } else {
            return self.big_int(value < 0, u128::from(value.unsigned_abs()));
        }
        Ok(())
    }

    /// An integer of any size, given by sign and magnitude.
    pub(super) fn wide_integer(&mut self, negative: bool, magnitude: u128) -> Result<(), Fail> {
        match i64::try_from(magnitude) {
            Ok(value) => self.integer(if negative { -value } else { value }),
            Err(_) => self.big_int(negative, magnitude),
        }
    }

    fn big_int(&mut self, negative: bool, magnitude: u128) -> Result<(), Fail> {
        if self.policy.big_ints == BigInts::Refuse {
            let sign = if negative { "-" } else { "" };
            return Err(Reason::BigInt(format!("{sign}{magnitude}")).into());
        }
        let length = if magnitude >> 64 == 0 { 8 } else { 16 };
        self.tag(tag::BIG_INT);
        self.varint((length as u32) << 1 | u32::from(negative));
        self.out.extend_from_slice(&magnitude.to_le_bytes()[..length]);
        Ok(())
    }

    /// A float, under the policy for those that are not finite.
    pub(super) fn float(&mut self, value: f64) -> Result<(), Fail> {
        if !value.is_finite() {
            match self.policy.non_finite {
                NonFinite::Refuse => return Err(Reason::NonFinite(value).into()),
                NonFinite::Null => {
                    self.tag(tag::NULL);
                    return Ok(());
                }
                NonFinite::Keep => {}
            }
        }
        self.double(value);
        Ok(())
    }

    fn double(&mut self, value: f64) {
        let mut bytes = [tag::DOUBLE; 9];
        bytes[1..].copy_from_slice(&value.to_ne_bytes());
        self.out.extend_from_slice(&bytes);
    }

    /// A string: one byte per character if it is ASCII, else UTF-8, which V8 turns into its own form.
    pub(super) fn text(&mut self, text: &str) -> Result<(), Fail> {
        self.check_more(text.len())?;
        if text.len() > tag::MAX_STRING && text.encode_utf16().nth(tag::MAX_STRING).is_some() {
            return Err(Reason::TooLarge { limit: tag::MAX_STRING }.into());
        }
        let length = length(text.len())?;
        self.tag(if text.is_ascii() { tag::ONE_BYTE } else { tag::UTF8 });
        self.varint(length);
        self.out.extend_from_slice(text.as_bytes());
        Ok(())
    }

    /// A `Uint8Array` over a buffer of its own, which is inline if it is small.
    pub(super) fn bytes(&mut self, bytes: &[u8]) -> Result<(), Fail> {
        self.check_more(bytes.len())?;
        let length = length(bytes.len())?;
        if bytes.len() < tag::BLOB {
            self.tag(tag::BUFFER);
            self.varint(length);
            self.out.extend_from_slice(bytes);
        } else {
            self.room -= bytes.len();
            self.tag(tag::TRANSFER);
            self.varint(self.blobs.len() as u32);
            self.blobs.push(bytes.to_vec());
        }
        // The view: kind, offset, length, and no flags.
        self.out.extend_from_slice(&[tag::VIEW, b'B', 0]);
        self.varint(length);
        self.varint(0);
        Ok(())
    }

    /// Opens a dense array and gives the place of its length, for [`close_array`](Self::close_array).
    ///
    /// Without a length, room for the longest is kept: V8 reads a padded varint like any other.
    pub(super) fn open_array(&mut self, declared: Option<u32>) -> Result<usize, Fail> {
        self.enter()?;
        self.tag(tag::DENSE);
        let place = self.out.len();
        match declared {
            Some(length) => self.varint(length),
            None => self.out.extend_from_slice(&padded(0)),
        }
        Ok(place)
    }

    /// Closes a dense array whose real length is now known.
    pub(super) fn close_array(&mut self, place: usize, declared: Option<u32>, count: usize) -> Result<(), Fail> {
        self.leave();
        if count > tag::MAX_ARRAY {
            return Err(Reason::TooLarge { limit: tag::MAX_ARRAY }.into());
        }
        let count = count as u32;
        match declared {
            Some(length) if length == count => {}
            Some(wrong) => {
                let (bytes, length) = varint(count);
                let old = varint(wrong).1;
                self.out.splice(place..place + old, bytes[..length].iter().copied());
            }
            None => self.out[place..place + 5].copy_from_slice(&padded(count)),
        }
        self.out.extend_from_slice(&[tag::END_DENSE, 0]);
        self.varint(count);
        Ok(())
    }

    pub(super) fn open_object(&mut self) -> Result<(), Fail> {
        self.enter()?;
        self.tag(tag::OBJECT);
        Ok(())
    }

    pub(super) fn close_object(&mut self, count: u32) {
        self.leave();
        self.tag(tag::END_OBJECT);
        self.varint(count);
    }
}

fn length(length: usize) -> Result<u32, Fail> {
    u32::try_from(length).map_err(|_| Reason::TooLarge { limit: u32::MAX as usize }.into())
}

/// The shortest varint, and how many of the bytes it takes.
pub(super) fn varint(mut value: u32) -> ([u8; 5], usize) {
    let mut bytes = [0; 5];
    let mut length = 0;
    while value >= 0x80 {
        bytes[length] = value as u8 | 0x80;
        value >>= 7;
        length += 1;
    }
    bytes[length] = value as u8;
    (bytes, length + 1)
}

/// A varint that always takes five bytes.
fn padded(value: u32) -> [u8; 5] {
    let part = |shift: u32| (value >> shift) as u8 | 0x80;
    [part(0), part(7), part(14), part(21), (value >> 28) as u8]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn varints_are_short_or_padded() {
        assert_eq!(varint(0), ([0; 5], 1));
        assert_eq!(varint(300).0[..2], [0xAC, 2]);
        assert_eq!(varint(u32::MAX), ([0xFF, 0xFF, 0xFF, 0xFF, 0x0F], 5));
        assert_eq!(padded(300), [0xAC, 0x82, 0x80, 0x80, 0]);
    }

    #[test]
    fn a_wrong_length_is_corrected() {
        let mut writer = Writer::new(Policy::default(), Limits::default());
        let place = writer.open_array(Some(200)).unwrap();
        writer.boolean(true);
        writer.close_array(place, Some(200), 1).unwrap();
        assert_eq!(&writer.out[2..], b"A\x01T$\x00\x01");
    }
}
