//! What the stream holds next, as far as it can be told without going into it.

use super::error::{Fail, Reason};
use super::text::Text;
use super::view::View;

/// A scalar, or the beginning of a compound whose parts follow in the stream.
#[derive(Debug, Clone, Copy)]
pub(super) enum Token<'de> {
    /// `undefined` inside a value, under a policy that refuses it.
    Undefined,
    /// `undefined` as the whole value.
    Nothing,
    /// A missing element, under a policy that refuses it.
    Hole,
    Null,
    Bool(bool),
    Int(i64),
    Double(f64),
    /// NaN or an infinity, under a policy that refuses them.
    NonFinite(f64),
    Big(Big<'de>),
    Text(Text<'de>),
    /// Milliseconds since 1970.
    Date(f64),
    Object,
    /// An array of this length whose elements all follow.
    Dense(u32),
    /// An array of this length whose elements follow with their indices.
    Sparse(u32),
    Map,
    Set,
    View(View<'de>),
    Error,
    /// An object that came before, by its number.
    Reference(u32),
    /// A reference to an object that is still open.
    Cycle,
    /// A reference that would expand the value beyond the limit.
    Expanded(usize),
    Unsupported(&'static str),
}

/// A BigInt.
#[derive(Debug, Clone, Copy)]
pub(super) enum Big<'de> {
    /// Sign and little-endian magnitude, of any size.
    Digits { negative: bool, magnitude: &'de [u8] },
    /// An element of a `BigInt64Array`.
    Word(i64),
}

impl Big<'_> {
    /// Sign and magnitude, if 128 bits are enough.
    pub(super) fn parts(self) -> Option<(bool, u128)> {
        match self {
            Big::Word(word) => Some((word < 0, u128::from(word.unsigned_abs()))),
            Big::Digits { negative, magnitude } => {
                let used = magnitude.len() - magnitude.iter().rev().take_while(|&&byte| byte == 0).count();
                if used > 16 {
                    return None;
                }
                let mut bytes = [0; 16];
                bytes[..used].copy_from_slice(&magnitude[..used]);
                Some((negative && used > 0, u128::from_le_bytes(bytes)))
            }
        }
    }

    /// The value for a message: in digits, or by its size if it is huge.
    #[cold]
    pub(super) fn describe(self) -> String {
        match (self.parts(), self) {
            (Some((negative, magnitude)), _) => format!("{}{magnitude}", if negative { "-" } else { "" }),
            (None, Big::Digits { magnitude, .. }) => format!("of {} bits", magnitude.len() * 8),
            (None, Big::Word(word)) => word.to_string(),
        }
    }

    #[cold]
    pub(super) fn out_of_range(self, target: &'static str) -> Fail {
        Reason::IntegerRange { value: format!("the BigInt {}", self.describe()), target }.into()
    }
}

impl Token<'_> {
    /// The error for a token that no target can take, with what `expected` names for those that only this one cannot.
    #[cold]
    pub(super) fn refusal(self, expected: &dyn serde::de::Expected) -> Fail {
        match self {
            Token::Undefined => Reason::Undefined.into(),
            Token::Hole => Reason::Hole.into(),
            Token::NonFinite(value) => Reason::NonFinite(value).into(),
            Token::Cycle => Reason::Cycle.into(),
            Token::Expanded(limit) => Reason::TooLarge { limit }.into(),
            Token::Unsupported(what) => Reason::Unsupported(what).into(),
            Token::Big(big) => Reason::BigInt(big.describe()).into(),
            Token::Nothing => {
                let found = "undefined (the function returned nothing)".to_owned();
                Reason::Mismatch { found, expected: expected.to_string() }.into()
            }
            other => {
                let found = other.name().to_owned();
                Reason::Mismatch { found, expected: expected.to_string() }.into()
            }
        }
    }

    fn name(self) -> &'static str {
        match self {
            Token::Null => "null",
            Token::Bool(_) => "a boolean",
            Token::Int(_) | Token::Double(_) => "a number",
            Token::Text(_) => "a string",
            Token::Date(_) => "a Date",
            Token::Object => "an object",
            Token::Dense(_) | Token::Sparse(_) => "an array",
            Token::Map => "a Map",
            Token::Set => "a Set",
            Token::View(_) => "a typed array or buffer",
            Token::Error => "an Error",
            Token::Reference(_) => "a reference",
            _ => "another value",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn big_ints_show_their_digits_or_size() {
        let big = |negative, magnitude| Big::Digits { negative, magnitude };
        assert_eq!(big(true, &[5, 0, 0, 0, 0, 0, 0, 0]).describe(), "-5");
        assert_eq!(big(false, &[0xFF; 16]).describe(), u128::MAX.to_string());
        assert_eq!(big(false, &[0xFF; 24]).describe(), "of 192 bits");
        assert_eq!(big(true, &[]).parts(), Some((false, 0)));
        assert_eq!(Big::Word(i64::MIN).parts(), Some((true, 1 << 63)));
    }
}
