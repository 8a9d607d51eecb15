//! Errors of a conversion: what is wrong, and where in the value.
//!
//! Invariant: the path is put together while an error travels outwards, one [`Segment`] per level, so that a conversion
//! that succeeds pays nothing for it. Inside `wire` an error is a [`Fail`], which is one pointer wide.

use std::fmt;

/// A value that cannot be converted: the place and the reason.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("at {path}: {reason}")]
pub struct Error {
    /// Where in the value, from its root.
    pub path: Path,
    /// What is wrong there.
    pub reason: Reason,
}

/// Why a value cannot be converted.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Reason {
    /// `undefined` where a value is needed.
    #[error("the value is undefined; leave it out, use null, or let the policy read undefined as null")]
    Undefined,
    /// NaN or an infinity under a policy that refuses them.
    #[error("{0} is not a finite number; correct the calculation, or let the policy accept it as null or as it is")]
    NonFinite(f64),
    /// A missing element of an array.
    #[error("the array has a hole here; fill it, or let the policy read holes as null")]
    Hole,
    /// An integer that only a BigInt can hold, with its digits.
    #[error(
        "the integer {0} is a BigInt or needs one; let the policy allow BigInts, use an integer type, or pass it as text"
    )]
    BigInt(String),
    /// An integer that the target type cannot hold.
    #[error("{value} is out of range for {target}; use a wider type, or correct the value")]
    IntegerRange {
        /// The value, in digits.
        value: String,
        /// The type asked for.
        target: &'static str,
    },
    /// A number that the target type would change.
    #[error(
        "the number {value} has no exact {target}; round it in the script, use f64, or a BigInt if it is beyond 2^53"
    )]
    NotExact {
        /// The number.
        value: f64,
        /// The type asked for.
        target: &'static str,
    },
    /// Nesting beyond [`Limits::depth`](super::Limits::depth).
    #[error("the value nests deeper than {limit} levels; flatten it, or raise the depth limit")]
    TooDeep {
        /// The limit.
        limit: usize,
    },
    /// Size beyond [`Limits::bytes`](super::Limits::bytes), or beyond what V8 can hold in one string or array.
    #[error("the value is larger than the limit of {limit}; pass less at once, or raise the size limit")]
    TooLarge {
        /// The limit, in bytes, or in characters or elements where V8 sets it.
        limit: usize,
    },
    /// Half of a surrogate pair.
    #[error("the text holds half a surrogate pair; cut strings between characters, or let the policy replace it")]
    Surrogate,
    /// An object that contains itself.
    #[error("the object contains itself; return a tree, with identifiers in place of references upwards")]
    Cycle,
    /// An array with a large length and few elements.
    #[error("the array has a length of {length} and hardly any elements; use an object or a Map with numbers as keys")]
    Sparse {
        /// The length that it claims.
        length: u32,
    },
    /// An array with a property that is no element.
    #[error("the array has the extra property {0:?}, which would be lost; use an object")]
    ExtraProperty(String),
    /// A kind of value that has no counterpart.
    #[error("{0} cannot be converted; return its data as plain objects, arrays, strings or numbers")]
    Unsupported(&'static str),
    /// A value of another kind than the type asks for.
    #[error("found {found} where {expected} is expected; change the value or the type")]
    Mismatch {
        /// What is there.
        found: String,
        /// What the type asks for.
        expected: String,
    },
    /// What the type's own `Serialize` or `Deserialize` says.
    #[error("{0}")]
    Custom(String),
    /// A stream of a version that is not understood.
    #[error("the stream has version {found}, and this build reads 15 and 16; use the build of V8 that belongs to it")]
    Version {
        /// The version found.
        found: u8,
    },
    /// A stream that breaks its own rules.
    #[error("the stream is damaged at byte {offset}; it was cut or changed after it was written")]
    Corrupt {
        /// Where, in bytes from the start.
        offset: usize,
    },
}

/// The way from the root of a value to a part of it; displays as `$.a[0]["b c"]`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Path {
    /// Innermost first, as an error meets them.
    inner_first: Vec<Segment>,
}

/// One step of a [`Path`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Segment {
    /// A property, a Map key, or the name of a variant.
    Key(String),
    /// An element of an array or a Set.
    Index(usize),
}

impl Path {
    /// The steps from the root.
    pub fn segments(&self) -> impl ExactSizeIterator<Item = &Segment> {
        self.inner_first.iter().rev()
    }
}

/// Keys are cut to this many characters when a path is displayed.
const SHOWN: usize = 64;
/// Of a path with more steps than twice this number, the middle is left out when it is displayed.
const ENDS: usize = 16;

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("$")?;
        let middle = ENDS..self.inner_first.len().saturating_sub(ENDS);
        for (index, segment) in self.segments().enumerate() {
            if middle.contains(&index) {
                if index == middle.start {
                    f.write_str("…")?;
                }
                continue;
            }
            match segment {
                Segment::Index(index) => write!(f, "[{index}]")?,
                Segment::Key(key) if is_identifier(key) => write!(f, ".{key}")?,
                Segment::Key(key) => match key.char_indices().nth(SHOWN) {
                    Some((end, _)) => write!(f, "[{:?}]", format_args!("{}…", &key[..end]).to_string())?,
                    None => write!(f, "[{key:?}]")?,
                },
            }
        }
        Ok(())
    }
}

fn is_identifier(key: &str) -> bool {
    let word = |b: u8| b.is_ascii_alphanumeric() || b == b'_' || b == b'$';
    key.len() <= SHOWN && key.bytes().all(word) && key.bytes().next().is_some_and(|b| !b.is_ascii_digit())
}

/// An [`Error`] on its way out.
#[derive(Debug)]
pub(super) struct Fail(Box<Error>);

impl Fail {
    /// The error with the place that it is in, seen from one level further out.
    #[cold]
    pub(super) fn at(mut self, segment: Segment) -> Self {
        self.0.path.inner_first.push(segment);
        self
    }

    #[cold]
    pub(super) fn at_index(self, index: usize) -> Self {
        self.at(Segment::Index(index))
    }

    #[cold]
    pub(super) fn at_key(self, key: &str) -> Self {
        self.at(Segment::Key(key.to_owned()))
    }
}

impl From<Reason> for Fail {
    #[cold]
    fn from(reason: Reason) -> Self {
        Fail(Box::new(Error { path: Path::default(), reason }))
    }
}

impl From<Fail> for Error {
    fn from(fail: Fail) -> Self {
        *fail.0
    }
}

impl fmt::Display for Fail {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl std::error::Error for Fail {}

impl serde::ser::Error for Fail {
    fn custom<T: fmt::Display>(message: T) -> Self {
        Reason::Custom(message.to_string()).into()
    }
}

impl serde::de::Error for Fail {
    fn custom<T: fmt::Display>(message: T) -> Self {
        Reason::Custom(message.to_string()).into()
    }

    fn invalid_type(found: serde::de::Unexpected<'_>, expected: &dyn serde::de::Expected) -> Self {
        Reason::Mismatch { found: describe(found), expected: expected.to_string() }.into()
    }

    fn invalid_value(found: serde::de::Unexpected<'_>, expected: &dyn serde::de::Expected) -> Self {
        Reason::Mismatch { found: describe(found), expected: expected.to_string() }.into()
    }

    fn invalid_length(length: usize, expected: &dyn serde::de::Expected) -> Self {
        Reason::Mismatch { found: format!("{length} elements"), expected: expected.to_string() }.into()
    }
}

/// What was found, in JavaScript's words and of bounded length.
fn describe(found: serde::de::Unexpected<'_>) -> String {
    use serde::de::Unexpected as U;
    match found {
        U::Unit | U::Option => "null".to_owned(),
        U::Unsigned(n) => format!("the number {n}"),
        U::Signed(n) => format!("the number {n}"),
        U::Float(n) => format!("the number {n}"),
        U::Str(text) => match text.char_indices().nth(SHOWN) {
            Some((end, _)) => format!("a string that begins with {:?}", &text[..end]),
            None => format!("the string {text:?}"),
        },
        U::Map => "an object".to_owned(),
        U::Seq => "an array".to_owned(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_shows_keys_as_a_script_would_write_them() {
        let fail = Fail::from(Reason::Cycle).at_key("b c").at_index(3).at_key("__proto__").at_key("1").at_key("");
        assert_eq!(Error::from(fail).path.to_string(), r#"$[""]["1"].__proto__[3]["b c"]"#);
    }

    #[test]
    fn a_long_key_is_cut() {
        let path = Error::from(Fail::from(Reason::Cycle).at_key(&"é".repeat(1000))).path.to_string();
        assert!(path.len() < 200 && path.ends_with("…\"]"), "{path}");
    }

    #[test]
    fn a_long_path_shows_its_ends() {
        let fail = (0..1000).rev().fold(Fail::from(Reason::Cycle), Fail::at_index);
        let path = Error::from(fail).path.to_string();
        assert!(path.starts_with("$[0][1]") && path.contains("[15]…[984]") && path.ends_with("[999]"), "{path}");
    }

    #[test]
    fn the_error_says_place_and_reason() {
        let error = Error::from(Fail::from(Reason::Undefined).at_key("a"));
        assert!(error.to_string().starts_with("at $.a: the value is undefined;"));
    }
}
