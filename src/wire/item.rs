//! One value of a stream as serde's deserializer.
//!
//! Invariant: an item is read to its end, or its error ends the decoding; a number changes into another type only if it
//! keeps its value, apart from the rounding to `f32`.

use super::access::{Dense, Elements, Entries, SetItems, Sparse};
use super::error::{Fail, Reason};
use super::error_object::ErrorEntries;
use super::reader::Reader;
use super::token::{Big, Token};
use super::variant::Variant;
use super::view::Kind;
use super::{BigInts, date, json_out, tag};
use serde::de::{Deserializer, IntoDeserializer, Visitor};

/// A value whose first token is read.
pub(super) struct Item<'r, 'de> {
    pub(super) reader: &'r mut Reader<'de>,
    pub(super) token: Token<'de>,
    /// Options and newtypes around it: a recursive type of these alone would never end.
    wraps: usize,
}

impl<'r, 'de> Item<'r, 'de> {
    pub(super) fn new(reader: &'r mut Reader<'de>, token: Token<'de>) -> Self {
        Item { reader, token, wraps: 0 }
    }

    fn wrapped(mut self) -> Result<Self, Fail> {
        self.wraps += 1;
        if self.wraps > self.reader.limits.depth.saturating_add(16) {
            return Err(Reason::TooDeep { limit: self.reader.limits.depth }.into());
        }
        Ok(self)
    }

    /// A BigInt for a target that takes what it gets.
    fn free_big<V: Visitor<'de>>(self, big: Big<'de>, visitor: V) -> Result<V::Value, Fail> {
        if self.reader.policy.big_ints == BigInts::Refuse {
            return Err(self.token.refusal(&visitor));
        }
        let (negative, magnitude) = big.parts().ok_or_else(|| big.out_of_range("128-bit integers"))?;
        if negative {
            match (i64::try_from(signed(magnitude)), in_i128(magnitude)) {
                (Ok(value), true) => visitor.visit_i64(value),
                (Err(_), true) => visitor.visit_i128(signed(magnitude)),
                (_, false) => Err(big.out_of_range("i128")),
            }
        } else if let Ok(value) = u64::try_from(magnitude) {
            visitor.visit_u64(value)
        } else if let Ok(value) = i128::try_from(magnitude) {
            visitor.visit_i128(value)
        } else {
            visitor.visit_u128(magnitude)
        }
    }

    /// Reads a compound by `visit`, with the depth counted.
    fn compound<T>(self, visit: impl FnOnce(&mut Reader<'de>) -> Result<T, Fail>) -> Result<T, Fail> {
        self.reader.enter()?;
        let value = visit(self.reader)?;
        self.reader.leave();
        Ok(value)
    }
}

/// Minus `magnitude`, if [`in_i128`] says so.
fn signed(magnitude: u128) -> i128 {
    (magnitude as i128).wrapping_neg()
}

fn in_i128(magnitude: u128) -> bool {
    magnitude <= 1 << 127
}

/// The integer that a number is, if it is whole and safe.
fn whole(value: f64) -> Option<i64> {
    let integer = value as i64;
    (integer as f64 == value && integer.unsigned_abs() <= tag::MAX_SAFE).then_some(integer)
}

macro_rules! integers {
    ($($deserialize:ident $visit:ident $ty:ident $wide:literal;)*) => {$(
        fn $deserialize<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fail> {
            const TARGET: &str = stringify!($ty);
            let out_of_range = |value: String| Fail::from(Reason::IntegerRange { value, target: TARGET });
            let integer = match self.token {
                Token::Int(value) => value,
                Token::Double(value) => match whole(value) {
                    Some(value) => value,
                    None if value.fract() == 0.0 && !(<$ty>::MIN as f64..=<$ty>::MAX as f64).contains(&value) => {
                        return Err(out_of_range(super::text::number(value)));
                    }
                    None => return Err(Reason::NotExact { value, target: TARGET }.into()),
                },
                Token::Date(value) if $wide => match date::iso(value) {
                    Some(_) => value as i64,
                    None => return Err(Reason::Unsupported("an invalid Date").into()),
                },
                Token::Big(big) => {
                    let value = match big.parts() {
                        Some((false, magnitude)) => <$ty>::try_from(magnitude).ok(),
                        Some((true, magnitude)) if in_i128(magnitude) => <$ty>::try_from(signed(magnitude)).ok(),
                        _ => None,
                    };
                    return visitor.$visit(value.ok_or_else(|| big.out_of_range(TARGET))?);
                }
                _ => return self.deserialize_any(visitor),
            };
            match <$ty>::try_from(integer) {
                Ok(value) => visitor.$visit(value),
                Err(_) => Err(out_of_range(integer.to_string())),
            }
        }
    )*};
}

impl<'de> Deserializer<'de> for Item<'_, 'de> {
    type Error = Fail;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fail> {
        match self.token {
            Token::Null => visitor.visit_unit(),
            Token::Bool(value) => visitor.visit_bool(value),
            Token::Int(value) => match u64::try_from(value) {
                Ok(value) => visitor.visit_u64(value),
                Err(_) => visitor.visit_i64(value),
            },
            Token::Double(value) => match whole(value) {
                Some(0) if value.is_sign_negative() => visitor.visit_f64(value),
                Some(integer) => match u64::try_from(integer) {
                    Ok(integer) => visitor.visit_u64(integer),
                    Err(_) => visitor.visit_i64(integer),
                },
                None => visitor.visit_f64(value),
            },
            Token::Text(text) => text.visit(self.reader.policy, visitor),
            Token::Big(big) => self.free_big(big, visitor),
            Token::Date(value) => {
                let text = date::iso(value).ok_or(Reason::Unsupported("an invalid Date"))?;
                visitor.visit_string(text)
            }
            Token::Object => self.compound(|reader| {
                let mut entries = Entries::of_object(reader);
                let value = visitor.visit_map(&mut entries)?;
                entries.finish()?;
                Ok(value)
            }),
            Token::Map => self.compound(|reader| {
                let mut entries = Entries::of_map(reader);
                let value = visitor.visit_map(&mut entries)?;
                entries.finish()?;
                Ok(value)
            }),
            Token::Error => self.compound(|reader| {
                let mut entries = ErrorEntries::new(reader)?;
                let value = visitor.visit_map(&mut entries)?;
                entries.finish()?;
                Ok(value)
            }),
            Token::Dense(length) => self.compound(|reader| {
                let mut items = Dense::new(reader, length);
                let value = visitor.visit_seq(&mut items)?;
                items.finish()?;
                Ok(value)
            }),
            Token::Sparse(length) => self.compound(|reader| {
                let mut items = Sparse::new(reader, length);
                let value = visitor.visit_seq(&mut items)?;
                items.finish()?;
                Ok(value)
            }),
            Token::Set => self.compound(|reader| {
                let mut items = SetItems::new(reader);
                let value = visitor.visit_seq(&mut items)?;
                items.finish()?;
                Ok(value)
            }),
            Token::View(view) => self.compound(|reader| {
                let mut items = Elements::new(reader, view);
                let value = visitor.visit_seq(&mut items)?;
                items.finish()?;
                Ok(value)
            }),
            other => Err(other.refusal(&visitor)),
        }
    }

    integers! {
        deserialize_i8 visit_i8 i8 false;
        deserialize_i16 visit_i16 i16 false;
        deserialize_i32 visit_i32 i32 false;
        deserialize_i64 visit_i64 i64 true;
        deserialize_i128 visit_i128 i128 true;
        deserialize_u8 visit_u8 u8 false;
        deserialize_u16 visit_u16 u16 false;
        deserialize_u32 visit_u32 u32 false;
        deserialize_u64 visit_u64 u64 true;
        deserialize_u128 visit_u128 u128 true;
    }

    fn deserialize_f32<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fail> {
        let value = match self.token {
            Token::Int(value) => value as f64,
            Token::Double(value) => value,
            Token::Big(_) => return Err(self.token.refusal(&visitor)),
            _ => return self.deserialize_any(visitor),
        };
        let rounded = value as f32;
        if rounded.is_infinite() && value.is_finite() {
            return Err(Reason::NotExact { value, target: "f32" }.into());
        }
        visitor.visit_f32(rounded)
    }

    fn deserialize_f64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fail> {
        match self.token {
            Token::Int(value) => visitor.visit_f64(value as f64),
            Token::Double(value) => visitor.visit_f64(value),
            Token::Date(value) if date::iso(value).is_some() => visitor.visit_f64(value),
            Token::Big(_) => Err(self.token.refusal(&visitor)),
            _ => self.deserialize_any(visitor),
        }
    }

    fn deserialize_bytes<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fail> {
        match self.token {
            Token::View(view) if view.kind == Kind::Bytes => visitor.visit_borrowed_bytes(view.bytes),
            _ => self.deserialize_any(visitor),
        }
    }

    fn deserialize_byte_buf<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fail> {
        match self.token {
            Token::View(view) if view.kind == Kind::Bytes => visitor.visit_byte_buf(view.bytes.to_vec()),
            _ => self.deserialize_any(visitor),
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fail> {
        match self.token {
            Token::Null => visitor.visit_none(),
            Token::Nothing => Err(self.token.refusal(&visitor)),
            _ => visitor.visit_some(self.wrapped()?),
        }
    }

    fn deserialize_unit<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fail> {
        match self.token {
            Token::Null | Token::Nothing => visitor.visit_unit(),
            _ => self.deserialize_any(visitor),
        }
    }

    fn deserialize_unit_struct<V: Visitor<'de>>(self, _name: &'static str, visitor: V) -> Result<V::Value, Fail> {
        self.deserialize_unit(visitor)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(self, name: &'static str, visitor: V) -> Result<V::Value, Fail> {
        if name == tag::RAW_VALUE {
            return json_out::raw_value(self, visitor);
        }
        visitor.visit_newtype_struct(self.wrapped()?)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _name: &'static str,
        _variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Fail> {
        match self.token {
            Token::Text(text) => {
                let text = text.decode(self.reader.policy)?;
                visitor.visit_enum(IntoDeserializer::<Fail>::into_deserializer(text))
            }
            Token::Object => self.compound(|reader| {
                let value = visitor.visit_enum(Variant::new(reader)?)?;
                Variant::finish(reader)?;
                Ok(value)
            }),
            other => Err(other.refusal(&"the name of a variant, or an object with that name as its only key")),
        }
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fail> {
        match self.token {
            Token::Object | Token::Dense(_) | Token::Sparse(_) | Token::Map | Token::Set => self.reader.skip(1)?,
            Token::Error => {
                self.reader.error_head()?;
                self.reader.skip(1)?;
            }
            _ => {}
        }
        visitor.visit_unit()
    }

    serde::forward_to_deserialize_any! {
        bool char str string seq tuple tuple_struct map struct identifier
    }
}
