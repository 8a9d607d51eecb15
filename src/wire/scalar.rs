//! Streams that hold nothing but scalars, so that a worker can make the values itself.
//!
//! Invariant: what is given here is exactly what V8's deserializer would make of the bytes.

use super::tag;

/// A primitive value of JavaScript.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Scalar<'a> {
    /// `undefined`.
    Undefined,
    /// `null`.
    Null,
    /// A boolean.
    Bool(bool),
    /// A number that is an `i32`.
    Int32(i32),
    /// A number that is a `u32`.
    Uint32(u32),
    /// Any other number.
    Double(f64),
    /// A string, one byte for each character of Latin-1.
    OneByte(&'a [u8]),
}

impl<'a> Scalar<'a> {
    /// The value of a stream that is a lone scalar.
    pub(crate) fn lone(stream: &'a [u8]) -> Option<Self> {
        match read(stream.get(tag::HEADER..)?)? {
            (scalar, []) => Some(scalar),
            _ => None,
        }
    }
}

/// The elements of a stream that is a dense array of up to 127 scalars, as the arguments of most calls are. Any other
/// stream gives `None`.
pub(crate) fn scalars(stream: &[u8]) -> Option<Scalars<'_>> {
    let [tag::DENSE, count @ 0..0x80, rest @ ..] = stream.get(tag::HEADER..)? else { return None };
    let mut end = rest;
    for _ in 0..*count {
        end = read(end)?.1;
    }
    match *end {
        [tag::END_DENSE, 0, length] if length == *count => Some(Scalars { rest, count: (*count).into() }),
        _ => None,
    }
}

/// An iterator over [`scalars`].
#[derive(Debug, Clone)]
pub(crate) struct Scalars<'a> {
    rest: &'a [u8],
    count: usize,
}

impl<'a> Iterator for Scalars<'a> {
    type Item = Scalar<'a>;

    fn next(&mut self) -> Option<Scalar<'a>> {
        if self.count == 0 {
            return None;
        }
        let (scalar, rest) = read(self.rest)?;
        self.rest = rest;
        self.count -= 1;
        Some(scalar)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.count, Some(self.count))
    }
}

impl ExactSizeIterator for Scalars<'_> {}

/// The scalar at the start of `bytes`, and what follows it.
fn read(bytes: &[u8]) -> Option<(Scalar<'_>, &[u8])> {
    let (&tag, rest) = bytes.split_first()?;
    Some(match tag {
        tag::UNDEFINED => (Scalar::Undefined, rest),
        tag::NULL => (Scalar::Null, rest),
        tag::TRUE => (Scalar::Bool(true), rest),
        tag::FALSE => (Scalar::Bool(false), rest),
        tag::INT32 => {
            let (bits, rest) = varint(rest)?;
            (Scalar::Int32((bits >> 1) as i32 ^ -((bits & 1) as i32)), rest)
        }
        tag::UINT32 => {
            let (value, rest) = varint(rest)?;
            (Scalar::Uint32(value), rest)
        }
        tag::DOUBLE => {
            let (value, rest) = rest.split_first_chunk()?;
            (Scalar::Double(f64::from_ne_bytes(*value)), rest)
        }
        tag::ONE_BYTE => {
            let (length, rest) = varint(rest)?;
            let (text, rest) = rest.split_at_checked(length as usize)?;
            (Scalar::OneByte(text), rest)
        }
        _ => return None,
    })
}

fn varint(bytes: &[u8]) -> Option<(u32, &[u8])> {
    let mut value = 0u64;
    for (index, &byte) in bytes.iter().take(5).enumerate() {
        value |= u64::from(byte & 0x7F) << (7 * index);
        if byte < 0x80 {
            return Some((u32::try_from(value).ok()?, &bytes[index + 1..]));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::{Encoder, Limits, NonFinite, Policy, encode};

    fn policy() -> Policy {
        Policy { non_finite: NonFinite::Keep, ..Policy::default() }
    }

    #[test]
    fn lone_scalars_are_told_from_the_rest() {
        let lone = |value: &dyn Fn() -> Vec<u8>| format!("{:?}", Scalar::lone(&value()));
        let encoded = |value: serde_json::Value| encode(&value, policy(), Limits::default()).unwrap().bytes;
        let cases = [
            (serde_json::json!(null), "Some(Null)"),
            (serde_json::json!(true), "Some(Bool(true))"),
            (serde_json::json!(-70000), "Some(Int32(-70000))"),
            (serde_json::json!(4_000_000_000_u32), "Some(Uint32(4000000000))"),
            (serde_json::json!(5_000_000_000_u64), "Some(Double(5000000000.0))"),
            (serde_json::json!("ab"), "Some(OneByte([97, 98]))"),
            (serde_json::json!("é"), "None"),
            (serde_json::json!([]), "None"),
        ];
        for (value, expected) in cases {
            assert_eq!(lone(&|| encoded(value.clone())), expected, "{value}");
        }
        assert_eq!(Scalar::lone(b"\xFF\x0F_"), Some(Scalar::Undefined));
        for cut in
            [&b""[..], b"\xFF", b"\xFF\x0F", b"\xFF\x0FI", b"\xFF\x0F\"\x05ab", b"\xFF\x0FN1234567", b"\xFF\x0FI\x02T"]
        {
            assert_eq!(Scalar::lone(cut), None);
        }
    }

    #[test]
    fn arguments_that_are_all_scalars() {
        let mut encoder = Encoder::new(policy(), Limits::default());
        encoder.push(&1).unwrap();
        encoder.push("x").unwrap();
        encoder.push(&Some(0.5)).unwrap();
        let (encoded, count) = encoder.finish().unwrap();
        assert_eq!(count, 3);
        let all: Vec<_> = scalars(&encoded.bytes).unwrap().collect();
        assert_eq!(all, [Scalar::Int32(1), Scalar::OneByte(b"x"), Scalar::Double(0.5)]);

        let mut encoder = Encoder::new(policy(), Limits::default());
        encoder.push(&1).unwrap();
        encoder.push(&[2]).unwrap();
        assert!(scalars(&encoder.finish().unwrap().0.bytes).is_none());
        assert_eq!(scalars(b"\xFF\x0FA\x00$\x00\x00").unwrap().len(), 0);
        assert!(scalars(b"\xFF\x0FA\x02T$\x00\x02").is_none());
    }
}
