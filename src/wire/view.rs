//! Array buffers and the views on them, as sequences of numbers.

use super::token::{Big, Token};

/// A stretch of bytes and how to read its elements.
#[derive(Debug, Clone, Copy)]
pub(super) struct View<'de> {
    pub(super) kind: Kind,
    pub(super) bytes: &'de [u8],
}

/// The element type of a view.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// Bytes: an `ArrayBuffer`, `DataView`, `Uint8Array` or `Uint8ClampedArray`.
    Bytes,
    Int8,
    Int16,
    Uint16,
    Int32,
    Uint32,
    Float16,
    Float32,
    Float64,
    BigInt64,
    BigUint64,
}

impl Kind {
    pub(super) fn from_tag(tag: u8) -> Option<Self> {
        Some(match tag {
            b'B' | b'C' | b'?' => Kind::Bytes,
            b'b' => Kind::Int8,
            b'w' => Kind::Int16,
            b'W' => Kind::Uint16,
            b'd' => Kind::Int32,
            b'D' => Kind::Uint32,
            b'h' => Kind::Float16,
            b'f' => Kind::Float32,
            b'F' => Kind::Float64,
            b'q' => Kind::BigInt64,
            b'Q' => Kind::BigUint64,
            _ => return None,
        })
    }

    /// The bytes that an element takes.
    pub(super) fn size(self) -> usize {
        match self {
            Kind::Bytes | Kind::Int8 => 1,
            Kind::Int16 | Kind::Uint16 | Kind::Float16 => 2,
            Kind::Int32 | Kind::Uint32 | Kind::Float32 => 4,
            Kind::Float64 | Kind::BigInt64 | Kind::BigUint64 => 8,
        }
    }
}

/// The first `N` bytes, with zeros where there are fewer.
fn word<const N: usize>(bytes: &[u8]) -> [u8; N] {
    bytes.first_chunk().copied().unwrap_or([0; N])
}

impl<'de> View<'de> {
    pub(super) fn len(self) -> usize {
        self.bytes.len() / self.kind.size()
    }

    /// The element at `index`, with floats as they are.
    pub(super) fn element(self, index: usize) -> Option<Token<'de>> {
        let size = self.kind.size();
        let bytes = self.bytes.get(index * size..(index + 1) * size)?;
        Some(match self.kind {
            Kind::Bytes => Token::Int(u8::from_ne_bytes(word(bytes)).into()),
            Kind::Int8 => Token::Int(i8::from_ne_bytes(word(bytes)).into()),
            Kind::Int16 => Token::Int(i16::from_ne_bytes(word(bytes)).into()),
            Kind::Uint16 => Token::Int(u16::from_ne_bytes(word(bytes)).into()),
            Kind::Int32 => Token::Int(i32::from_ne_bytes(word(bytes)).into()),
            Kind::Uint32 => Token::Int(u32::from_ne_bytes(word(bytes)).into()),
            Kind::Float16 => Token::Double(half(u16::from_ne_bytes(word(bytes)))),
            Kind::Float32 => Token::Double(f32::from_ne_bytes(word(bytes)).into()),
            Kind::Float64 => Token::Double(f64::from_ne_bytes(word(bytes))),
            Kind::BigInt64 => Token::Big(Big::Word(i64::from_ne_bytes(word(bytes)))),
            Kind::BigUint64 => Token::Big(Big::Digits { negative: false, magnitude: bytes }),
        })
    }
}

/// A half-precision float: 1 bit of sign, 5 of exponent, 10 of fraction.
fn half(bits: u16) -> f64 {
    let fraction = f64::from(bits & 0x3FF) / 1024.0;
    let magnitude = match i32::from(bits >> 10 & 0x1F) {
        0 => fraction * 2f64.powi(-14),
        31 if fraction == 0.0 => f64::INFINITY,
        31 => f64::NAN,
        exponent => (1.0 + fraction) * 2f64.powi(exponent - 15),
    };
    if bits >> 15 == 1 { -magnitude } else { magnitude }
}

#[cfg(test)]
mod tests {
    use super::half;

    #[test]
    fn half_floats() {
        let cases =
            [(0x3C00, 1.0), (0xC000, -2.0), (0x7BFF, 65504.0), (0x0001, 2f64.powi(-24)), (0x3555, 0.333_251_953_125)];
        for (bits, value) in cases {
            assert_eq!(half(bits), value);
        }
        assert!(half(0x7E00).is_nan() && half(0xFC00) == f64::NEG_INFINITY);
    }
}
