//! JavaScript's texts as Rust's: strings in V8's three forms, and numbers as property keys.
//!
//! Invariant: no unit of a string is dropped or replaced unless the policy says so.

use super::error::{Fail, Reason};
use super::{Policy, Surrogates};
use serde::de::Visitor;
use std::borrow::Cow;

/// A string of the stream, not yet looked at.
#[derive(Debug, Clone, Copy)]
pub(super) enum Text<'de> {
    /// One byte for each character of Latin-1.
    OneByte(&'de [u8]),
    /// UTF-16 in the machine's byte order, of an even length, and at any address.
    TwoByte(&'de [u8]),
    /// UTF-8; V8 reads this form and does not write it.
    Utf8(&'de [u8]),
}

impl<'de> Text<'de> {
    /// Hands the text over, borrowed from the stream where it is UTF-8 as it stands.
    pub(super) fn visit<V: Visitor<'de>>(self, policy: Policy, visitor: V) -> Result<V::Value, Fail> {
        match self.decode(policy)? {
            Cow::Borrowed(text) => visitor.visit_borrowed_str(text),
            Cow::Owned(text) => visitor.visit_string(text),
        }
    }

    /// The text, under the policy for surrogates.
    pub(super) fn decode(self, policy: Policy) -> Result<Cow<'de, str>, Fail> {
        match self {
            Text::OneByte(bytes) => match (bytes.is_ascii(), std::str::from_utf8(bytes)) {
                (true, Ok(text)) => Ok(Cow::Borrowed(text)),
                _ => Ok(Cow::Owned(latin1(bytes))),
            },
            Text::TwoByte(bytes) => utf16(bytes, policy.surrogates).map(Cow::Owned),
            Text::Utf8(bytes) => match (std::str::from_utf8(bytes), policy.surrogates) {
                (Ok(text), _) => Ok(Cow::Borrowed(text)),
                (Err(_), Surrogates::Refuse) => Err(Reason::Surrogate.into()),
                (Err(_), Surrogates::Replace) => Ok(String::from_utf8_lossy(bytes)),
            },
        }
    }

    /// The text for an error message or a path, where loss does no harm.
    pub(super) fn lossy(self) -> String {
        let policy = Policy { surrogates: Surrogates::Replace, ..Policy::default() };
        self.decode(policy).map_or_else(|_| String::new(), Cow::into_owned)
    }

    /// The text if it is plain ASCII.
    pub(super) fn ascii(self) -> Option<&'de str> {
        match self {
            Text::OneByte(bytes) | Text::Utf8(bytes) if bytes.is_ascii() => std::str::from_utf8(bytes).ok(),
            _ => None,
        }
    }
}

fn latin1(bytes: &[u8]) -> String {
    let wide = bytes.iter().filter(|byte| !byte.is_ascii()).count();
    let mut text = String::with_capacity(bytes.len() + wide);
    text.extend(bytes.iter().map(|&byte| char::from(byte)));
    text
}

fn utf16(bytes: &[u8], surrogates: Surrogates) -> Result<String, Fail> {
    let units = || bytes.chunks_exact(2).map(|pair| u16::from_ne_bytes([pair[0], pair[1]]));
    // A pair of surrogates takes four bytes, so two for each half; replaced halves may take one more.
    let width = |unit: u16| match unit {
        0..0x80 => 1,
        0x80..0x800 | 0xD800..0xE000 => 2,
        _ => 3,
    };
    let mut text = String::with_capacity(units().map(width).sum());
    for character in char::decode_utf16(units()) {
        match (character, surrogates) {
            (Ok(character), _) => text.push(character),
            (Err(_), Surrogates::Replace) => text.push(char::REPLACEMENT_CHARACTER),
            (Err(_), Surrogates::Refuse) => return Err(Reason::Surrogate.into()),
        }
    }
    Ok(text)
}

/// A number as JavaScript's `String(number)` gives it.
pub(super) fn number(value: f64) -> String {
    if value.is_nan() {
        return "NaN".to_owned();
    }
    if value.is_infinite() {
        return if value > 0.0 { "Infinity" } else { "-Infinity" }.to_owned();
    }
    if value == 0.0 {
        return "0".to_owned();
    }
    // The shortest digits that give the number back, and the exponent of the first of them.
    let scientific = format!("{:e}", value.abs());
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let digits: String = mantissa.chars().filter(|&digit| digit != '.').collect();
    let sign = if value < 0.0 { "-" } else { "" };
    let count = digits.len() as i32;
    match exponent {
        0..21 if exponent + 1 >= count => format!("{sign}{digits}{}", "0".repeat((exponent + 1 - count) as usize)),
        0..21 => {
            let (whole, part) = digits.split_at(exponent as usize + 1);
            format!("{sign}{whole}.{part}")
        }
        -6..0 => format!("{sign}0.{}{digits}", "0".repeat((-exponent - 1) as usize)),
        _ => format!("{sign}{mantissa}e{}{exponent}", if exponent > 0 { "+" } else { "" }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn units(units: &[u16]) -> Vec<u8> {
        units.iter().flat_map(|unit| unit.to_ne_bytes()).collect()
    }

    #[test]
    fn latin1_is_not_taken_for_utf8() {
        assert_eq!(Text::OneByte(&[0xC3, 0xA9]).decode(Policy::default()).unwrap(), "Ã©");
        assert_eq!(Text::OneByte(b"abc").decode(Policy::default()).unwrap(), "abc");
    }

    #[test]
    fn half_a_pair_follows_the_policy() {
        let whole = units(&[0x61, 0xD83E, 0xDDEA, 0x20AC]);
        let text = utf16(&whole, Surrogates::Refuse).unwrap();
        assert_eq!(text, "a\u{1F9EA}€");
        assert_eq!(text.len(), text.capacity());
        let half = units(&[0xD83E, 0x61]);
        assert_eq!(utf16(&half, Surrogates::Replace).unwrap(), "\u{FFFD}a");
        assert_eq!(crate::wire::Error::from(utf16(&half, Surrogates::Refuse).unwrap_err()).reason, Reason::Surrogate);
    }

    #[test]
    fn numbers_read_as_in_javascript() {
        let cases = [
            (0.0, "0"),
            (-0.0, "0"),
            (1.0, "1"),
            (-1.5, "-1.5"),
            (123456.789, "123456.789"),
            (1e20, "100000000000000000000"),
            (1e21, "1e+21"),
            (1.5e300, "1.5e+300"),
            (1e-6, "0.000001"),
            (1.5e-7, "1.5e-7"),
            (f64::NAN, "NaN"),
            (f64::NEG_INFINITY, "-Infinity"),
            (5e-324, "5e-324"),
            (f64::MAX, "1.7976931348623157e+308"),
        ];
        for (value, text) in cases {
            assert_eq!(number(value), text);
        }
    }
}
