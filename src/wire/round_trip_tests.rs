//! What one side writes, the other reads: over all shapes that serde knows.

use super::*;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Debug;

fn policy() -> Policy {
    Policy { big_ints: BigInts::Allow, ..Policy::default() }
}

fn same<T: Serialize + DeserializeOwned + PartialEq + Debug>(value: T) {
    let encoded = encode(&value, policy(), Limits::default()).unwrap();
    let back: T =
        decode(&encoded.bytes, policy(), Limits::default()).unwrap_or_else(|error| panic!("{value:?} {error}"));
    assert_eq!(back, value);
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
enum Shape {
    Unit,
    Newtype(Box<Shape>),
    Tuple(u8, String),
    Struct { x: f64, y: Option<i128> },
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind")]
enum Tagged {
    One { a: u64 },
    Two(BTreeMap<String, bool>),
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct All {
    unit: (),
    wide: (u128, i128, u64, i64),
    text: BTreeMap<char, String>,
    numbers: BTreeMap<i64, Vec<f32>>,
    flags: BTreeMap<bool, BTreeSet<u8>>,
    shapes: Vec<Shape>,
    tagged: Vec<Tagged>,
    bytes: serde_bytes::ByteBuf,
    address: std::net::IpAddr,
    #[serde(flatten)]
    rest: BTreeMap<String, serde_json::Value>,
}

#[test]
fn every_shape_comes_back() {
    same(All {
        unit: (),
        wide: (u128::MAX, i128::MIN, u64::MAX, i64::MIN),
        text: [('é', "\u{1F9EA}\0".to_owned()), ('"', String::new())].into(),
        numbers: [(i64::MIN, vec![0.1, -0.0]), (3, vec![])].into(),
        flags: [(true, [1, 255].into())].into(),
        shapes: vec![
            Shape::Unit,
            Shape::Newtype(Box::new(Shape::Tuple(1, "x".into()))),
            Shape::Struct { x: 1e300, y: Some(1 << 100) },
            Shape::Struct { x: 0.0, y: None },
        ],
        tagged: vec![Tagged::One { a: 5 }, Tagged::Two([("q".to_owned(), true)].into())],
        bytes: vec![1, 2, 3].into(),
        address: [127, 0, 0, 1].into(),
        rest: [("more".to_owned(), serde_json::json!({"a": [1, 2.5, null]}))].into(),
    });
}

#[test]
fn raw_json_comes_back() {
    let text = r#"{"z":[1,2.5,-3,"é\n",null,true,{"":{}}],"a":4294967295}"#;
    let raw = serde_json::value::RawValue::from_string(text.to_owned()).unwrap();
    let encoded = encode(&raw, policy(), Limits::default()).unwrap();
    let back: Box<serde_json::value::RawValue> = decode(&encoded.bytes, policy(), Limits::default()).unwrap();
    assert_eq!(back.get(), text);
}

#[test]
fn large_byte_strings_do_not_come_back_without_v8() {
    let encoded = encode(&serde_bytes::ByteBuf::from(vec![0; 5000]), policy(), Limits::default()).unwrap();
    let error = decode::<serde_bytes::ByteBuf>(&encoded.bytes, policy(), Limits::default()).unwrap_err();
    assert_eq!(error.reason, Reason::Unsupported("a transferred ArrayBuffer"));
}
