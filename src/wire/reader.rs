//! The cursor over a stream: from bytes to [`Token`]s, and from a reference to the object that it means.
//!
//! Invariant: every length is checked against the bytes that are there before it is used. References cost nothing until
//! the first one: then one pass over the stream finds where each object lies.

use super::error::{Fail, Reason, Segment};
use super::item::Item;
use super::scan::Span;
use super::text::Text;
use super::token::{Big, Token};
use super::view::{Kind, View};
use super::{Limits, NonFinite, Policy, Undefined, tag};
use serde::de::DeserializeSeed;

/// A stream and how far it has been read.
pub(super) struct Reader<'de> {
    pub(super) bytes: &'de [u8],
    pub(super) pos: usize,
    pub(super) policy: Policy,
    pub(super) limits: Limits,
    depth: usize,
    /// Where the numbered objects lie; filled at the first reference.
    spans: Option<Vec<Span>>,
    /// The places of the references that are being followed, the outermost first.
    jumps: Vec<usize>,
    /// How many bytes have been read again by following references.
    expanded: usize,
}

impl<'de> Reader<'de> {
    /// A reader at the start of `bytes`, header and all.
    pub(super) fn new(bytes: &'de [u8], policy: Policy, limits: Limits) -> Self {
        Reader { bytes, pos: 0, policy, limits, depth: 0, spans: None, jumps: Vec::new(), expanded: 0 }
    }

    /// Steps over the header.
    pub(super) fn header(&mut self) -> Result<(), Fail> {
        match *self.bytes {
            [tag::VERSION, version, ..] if tag::READABLE.contains(&version) => {
                self.pos = tag::HEADER;
                Ok(())
            }
            [tag::VERSION, found, ..] => Err(Reason::Version { found }.into()),
            _ => Err(self.corrupt()),
        }
    }

    #[cold]
    pub(super) fn corrupt(&self) -> Fail {
        Reason::Corrupt { offset: self.pos }.into()
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

    /// The next tag, which stays where it is; the padding before it does not.
    pub(super) fn peek(&mut self) -> Result<u8, Fail> {
        while let Some(&byte) = self.bytes.get(self.pos) {
            if byte != tag::PADDING {
                return Ok(byte);
            }
            self.pos += 1;
        }
        Err(self.corrupt())
    }

    pub(super) fn byte(&mut self) -> Result<u8, Fail> {
        let byte = *self.bytes.get(self.pos).ok_or_else(|| self.corrupt())?;
        self.pos += 1;
        Ok(byte)
    }

    /// Steps over `tag` if it comes next.
    pub(super) fn eat(&mut self, tag: u8) -> Result<bool, Fail> {
        let found = self.peek()? == tag;
        self.pos += usize::from(found);
        Ok(found)
    }

    pub(super) fn take(&mut self, length: usize) -> Result<&'de [u8], Fail> {
        let rest = &self.bytes[self.pos..];
        let taken = rest.get(..length).ok_or_else(|| self.corrupt())?;
        self.pos += length;
        Ok(taken)
    }

    pub(super) fn varint(&mut self) -> Result<u64, Fail> {
        let first = self.byte()?;
        if first < 0x80 {
            return Ok(first.into());
        }
        let mut value = u64::from(first & 0x7F);
        let mut shift = 7;
        loop {
            let byte = self.byte()?;
            if shift > 63 {
                return Err(self.corrupt());
            }
            value |= u64::from(byte & 0x7F) << shift;
            if byte < 0x80 {
                return Ok(value);
            }
            shift += 7;
        }
    }

    pub(super) fn varint32(&mut self) -> Result<u32, Fail> {
        let value = self.varint()?;
        u32::try_from(value).map_err(|_| self.corrupt())
    }

    /// A length, and the bytes that it counts.
    fn sized(&mut self) -> Result<&'de [u8], Fail> {
        let length = self.varint()?;
        let length = usize::try_from(length).map_err(|_| self.corrupt())?;
        self.take(length)
    }

    fn double(&mut self) -> Result<f64, Fail> {
        let bytes = self.take(8)?;
        Ok(bytes.first_chunk().map_or(f64::NAN, |bytes| f64::from_ne_bytes(*bytes)))
    }

    /// A float, under the policy for those that are not finite.
    pub(super) fn float(&self, value: f64) -> Token<'de> {
        match self.policy.non_finite {
            NonFinite::Refuse if !value.is_finite() => Token::NonFinite(value),
            NonFinite::Null if !value.is_finite() => Token::Null,
            _ => Token::Double(value),
        }
    }

    fn big(&mut self) -> Result<Token<'de>, Fail> {
        let bits = self.varint32()?;
        let magnitude = self.take((bits >> 1) as usize)?;
        Ok(Token::Big(Big::Digits { negative: bits & 1 == 1, magnitude }))
    }

    /// A missing value, under the policy for it.
    pub(super) fn missing(&self, refused: Token<'de>) -> Token<'de> {
        match self.policy.undefined {
            Undefined::Refuse => refused,
            Undefined::Null => Token::Null,
        }
    }

    /// The string that must come next.
    pub(super) fn text(&mut self) -> Result<Text<'de>, Fail> {
        self.peek()?;
        let tag = self.byte()?;
        let bytes = self.sized()?;
        match tag {
            tag::ONE_BYTE => Ok(Text::OneByte(bytes)),
            tag::TWO_BYTE if bytes.len() % 2 == 0 => Ok(Text::TwoByte(bytes)),
            tag::UTF8 => Ok(Text::Utf8(bytes)),
            _ => Err(self.corrupt()),
        }
    }

    /// Reads on to the end of a scalar, or into a compound.
    pub(super) fn token(&mut self) -> Result<Token<'de>, Fail> {
        let tag = self.peek()?;
        if matches!(tag, tag::ONE_BYTE | tag::TWO_BYTE | tag::UTF8) {
            return Ok(Token::Text(self.text()?));
        }
        self.pos += 1;
        Ok(match tag {
            tag::INT32 => {
                let bits = self.varint32()?;
                Token::Int(((bits >> 1) as i32 ^ -((bits & 1) as i32)).into())
            }
            tag::UINT32 => Token::Int(self.varint32()?.into()),
            tag::DOUBLE | tag::NUMBER_OBJECT => {
                let value = self.double()?;
                self.float(value)
            }
            tag::NULL => Token::Null,
            tag::TRUE | tag::TRUE_OBJECT => Token::Bool(true),
            tag::FALSE | tag::FALSE_OBJECT => Token::Bool(false),
            tag::OBJECT => Token::Object,
            tag::DENSE => Token::Dense(self.varint32()?),
            tag::SPARSE => Token::Sparse(self.varint32()?),
            tag::UNDEFINED => self.missing(Token::Undefined),
            tag::HOLE => self.missing(Token::Hole),
            tag::BIG_INT | tag::BIG_INT_OBJECT => self.big()?,
            tag::STRING_OBJECT => Token::Text(self.text()?),
            tag::DATE => Token::Date(self.double()?),
            tag::MAP => Token::Map,
            tag::SET => Token::Set,
            tag::ERROR => Token::Error,
            tag::REFERENCE => Token::Reference(self.varint32()?),
            tag::BUFFER | tag::IMMUTABLE_BUFFER | tag::RESIZABLE_BUFFER => {
                self.pos -= 1;
                let buffer = self.buffer()?;
                Token::View(self.view_of(buffer)?)
            }
            tag::REG_EXP => {
                self.text()?;
                self.varint()?;
                Token::Unsupported("a RegExp")
            }
            tag::TRANSFER => {
                self.varint()?;
                self.view_of(&[]).ok();
                Token::Unsupported("a transferred ArrayBuffer")
            }
            _ => return Err(unsupported(tag).map_or_else(|| self.corrupt(), Fail::from)),
        })
    }

    /// The content of the buffer that must come next.
    pub(super) fn buffer(&mut self) -> Result<&'de [u8], Fail> {
        if self.byte()? == tag::RESIZABLE_BUFFER {
            let length = self.varint()?;
            self.varint()?;
            let length = usize::try_from(length).map_err(|_| self.corrupt())?;
            return self.take(length);
        }
        self.sized()
    }

    /// The view on `buffer`, if one comes next, else the whole buffer.
    fn view_of(&mut self, buffer: &'de [u8]) -> Result<View<'de>, Fail> {
        if self.pos == self.bytes.len() || self.peek()? != tag::VIEW {
            return Ok(View { kind: Kind::Bytes, bytes: buffer });
        }
        self.pos += 1;
        let tag = self.byte()?;
        let (offset, length, flags) = (self.varint()?, self.varint()?, self.varint()?);
        let kind = Kind::from_tag(tag).ok_or_else(|| self.corrupt())?;
        // A view that follows the length of a resizable buffer is written with a length of 0.
        let tracks = flags & 1 == 1;
        let range = usize::try_from(offset).ok().zip(usize::try_from(length).ok());
        let range = range.and_then(|(start, length)| {
            let rest = buffer.len().checked_sub(start)?;
            let length = if tracks { rest - rest % kind.size() } else { length };
            Some(start..start.checked_add(length)?)
        });
        let bytes = range.and_then(|range| buffer.get(range)).ok_or_else(|| self.corrupt())?;
        if bytes.len() % kind.size() != 0 {
            return Err(self.corrupt());
        }
        Ok(View { kind, bytes })
    }

    /// The next value, which `read` must consume.
    pub(super) fn with_item<T>(&mut self, read: impl FnOnce(Item<'_, 'de>) -> Result<T, Fail>) -> Result<T, Fail> {
        match self.token()? {
            Token::Reference(id) => self.follow(id, read),
            token => read(Item::new(self, token)),
        }
    }

    /// The next value, for a seed.
    pub(super) fn value<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, Fail> {
        self.with_item(|item| seed.deserialize(item))
    }

    /// Reads the object that a reference means, and comes back.
    #[cold]
    fn follow<T>(&mut self, id: u32, read: impl FnOnce(Item<'_, 'de>) -> Result<T, Fail>) -> Result<T, Fail> {
        let origin = self.pos;
        let span = self.span(id)?;
        if span.start >= origin {
            return Err(self.corrupt());
        }
        if span.buffer {
            // A view may follow that shares this buffer.
            self.pos = span.start;
            let buffer = self.buffer()?;
            self.pos = origin;
            let view = self.view_of(buffer)?;
            return read(Item::new(self, Token::View(view)));
        }
        self.expanded = self.expanded.saturating_add(span.end - span.start);
        let open = |&place: &usize| (span.start..span.end).contains(&place);
        if open(&(origin - 1)) || self.jumps.iter().any(open) {
            return read(Item::new(self, Token::Cycle));
        }
        if self.expanded > self.limits.bytes {
            let limit = self.limits.bytes;
            return read(Item::new(self, Token::Expanded(limit)));
        }
        self.jumps.push(origin - 1);
        self.pos = span.start;
        // A view whose buffer is itself a reference begins with that reference, one step away.
        let value = self.with_item(read)?;
        self.jumps.pop();
        self.pos = origin;
        Ok(value)
    }

    fn span(&mut self, id: u32) -> Result<Span, Fail> {
        if self.spans.is_none() {
            self.spans = Some(super::scan::spans(self)?);
        }
        let spans = self.spans.as_deref().unwrap_or_default();
        spans.get(id as usize).copied().ok_or_else(|| self.corrupt())
    }

    /// The key at `place`, for a path.
    #[cold]
    pub(super) fn key_at(&mut self, place: usize) -> Segment {
        let back = std::mem::replace(&mut self.pos, place);
        let token = self.token();
        self.pos = back;
        Segment::Key(match token {
            Ok(Token::Text(text)) => text.lossy(),
            Ok(Token::Int(value)) => value.to_string(),
            Ok(Token::Double(value)) => super::text::number(value),
            Ok(Token::Bool(value)) => value.to_string(),
            _ => "(an object)".to_owned(),
        })
    }
}

/// Why a tag that V8 knows is not read.
pub(super) fn unsupported(tag: u8) -> Option<Reason> {
    Some(Reason::Unsupported(match tag {
        tag::SHARED_BUFFER => "a SharedArrayBuffer",
        tag::SHARED_OBJECT => "a shared object",
        tag::WASM_MODULE => "a WebAssembly.Module",
        tag::WASM_MEMORY => "a WebAssembly.Memory",
        tag::HOST_OBJECT => "an object of the host",
        _ => return None,
    }))
}
