//! Stepping over values without decoding them: to ignore one, or to find where each object lies.
//!
//! Invariant: objects are numbered as V8 numbers them, each as it begins, a buffer before the view on it. The stream is
//! flat, so nothing here recurses.

use super::error::Fail;
use super::reader::{Reader, unsupported};
use super::tag;

/// Where a numbered object lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Span {
    pub(super) start: usize,
    pub(super) end: usize,
    /// Whether this is the buffer alone, without the view that may follow it.
    pub(super) buffer: bool,
}

/// What a step went over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    /// The start of a compound.
    Open,
    /// The end of one.
    Close,
    /// A value that V8 does not number.
    Scalar,
    /// A whole object.
    Object,
    /// A buffer, which a view may follow.
    Buffer,
    /// The view on the buffer, or on the reference to one, that came just before.
    View,
}

impl Reader<'_> {
    fn step(&mut self) -> Result<Step, Fail> {
        let tag = self.peek()?;
        self.pos += 1;
        Ok(match tag {
            tag::OBJECT | tag::MAP | tag::SET => Step::Open,
            tag::DENSE | tag::SPARSE => {
                self.varint()?;
                Step::Open
            }
            tag::END_OBJECT | tag::END_MAP | tag::END_SET => {
                self.varint()?;
                Step::Close
            }
            tag::END_DENSE | tag::END_SPARSE => {
                self.varint()?;
                self.varint()?;
                Step::Close
            }
            tag::END_ERROR => Step::Close,
            tag::ERROR => {
                self.error_head()?;
                // The end is seen as a step of its own; what is before it can only be the cause.
                Step::Open
            }
            tag::VIEW => {
                self.pos += 1;
                for _ in 0..3 {
                    self.varint()?;
                }
                Step::View
            }
            tag::DATE
            | tag::NUMBER_OBJECT
            | tag::TRUE_OBJECT
            | tag::FALSE_OBJECT
            | tag::BIG_INT_OBJECT
            | tag::STRING_OBJECT
            | tag::REG_EXP => {
                self.pos -= 1;
                self.token()?;
                Step::Object
            }
            tag::BUFFER | tag::IMMUTABLE_BUFFER | tag::RESIZABLE_BUFFER => {
                self.pos -= 1;
                self.buffer()?;
                Step::Buffer
            }
            tag::TRANSFER => {
                self.varint()?;
                Step::Buffer
            }
            _ if unsupported(tag).is_some() => return Err(unsupported(tag).map_or_else(|| self.corrupt(), Fail::from)),
            _ => {
                self.pos -= 1;
                self.token()?;
                Step::Scalar
            }
        })
    }

    /// Steps over the next value.
    pub(super) fn skip_value(&mut self) -> Result<(), Fail> {
        if self.step()? == Step::Open {
            self.skip(1)?;
        }
        if self.bytes[self.pos..].first() == Some(&tag::VIEW) {
            self.step()?;
        }
        Ok(())
    }

    /// Steps over the rest of `open` compounds.
    pub(super) fn skip(&mut self, mut open: usize) -> Result<(), Fail> {
        while open > 0 {
            match self.step()? {
                Step::Open => open += 1,
                Step::Close => open -= 1,
                _ => {}
            }
        }
        Ok(())
    }
}

/// Where all objects of the stream lie, by number. The reader stays where it is.
pub(super) fn spans(reader: &mut Reader<'_>) -> Result<Vec<Span>, Fail> {
    let back = std::mem::replace(&mut reader.pos, tag::HEADER);
    let mut spans: Vec<Span> = Vec::new();
    let mut open = Vec::new();
    let mut before = reader.pos;
    loop {
        reader.peek()?;
        let start = reader.pos;
        let step = reader.step()?;
        let end = reader.pos;
        match step {
            Step::Open => {
                open.push(spans.len());
                spans.push(Span { start, end, buffer: false });
            }
            Step::Close => match open.pop() {
                Some(index) => spans[index].end = end,
                None => return Err(reader.corrupt()),
            },
            Step::Scalar => {}
            Step::Object => spans.push(Span { start, end, buffer: false }),
            Step::Buffer => spans.push(Span { start, end, buffer: true }),
            Step::View => spans.push(Span { start: before, end, buffer: false }),
        }
        before = start;
        if open.is_empty() && reader.bytes[end..].first() != Some(&tag::VIEW) {
            break;
        }
    }
    reader.pos = back;
    Ok(spans)
}
