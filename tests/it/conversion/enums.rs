//! Enums in all four representations, and the rest of serde's data model, there and back.

use std::collections::{BTreeMap, HashMap};
use std::fmt::Debug;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{identity, refused, to_js};
use jsmill::{BigInts, Policy};

#[derive(Serialize, Deserialize, Debug, PartialEq, Clone)]
enum External {
    Unit,
    One(u8),
    Two(u8, String),
    Fields { a: u8, b: Option<bool> },
}

#[derive(Serialize, Deserialize, Debug, PartialEq, Clone)]
#[serde(tag = "kind")]
enum Internal {
    Unit,
    Inner(Inner),
    Fields { a: u8, b: Vec<f64> },
}

#[derive(Serialize, Deserialize, Debug, PartialEq, Clone)]
struct Inner {
    text: String,
    count: i64,
}

#[derive(Serialize, Deserialize, Debug, PartialEq, Clone)]
#[serde(tag = "t", content = "c")]
enum Adjacent {
    Unit,
    One(u8),
    Two(u8, String),
    Fields { a: u8 },
}

#[derive(Serialize, Deserialize, Debug, PartialEq, Clone)]
#[serde(untagged)]
enum Untagged {
    Number(i32),
    Float(f64),
    Text(String),
    Pair(u8, u8),
    Fields { a: u8 },
}

/// The value has this form in JavaScript, and comes back as it was.
#[track_caller]
fn both_ways<T: Serialize + DeserializeOwned + Debug + PartialEq + Send + 'static>(value: T, form: Value) {
    assert_eq!(to_js(&value, "v").unwrap(), form);
    assert_eq!(identity(Policy::default(), &value).unwrap(), value);
}

#[test]
fn externally_tagged() {
    both_ways(External::Unit, json!("Unit"));
    both_ways(External::One(1), json!({"One": 1}));
    both_ways(External::Two(1, "x".into()), json!({"Two": [1, "x"]}));
    both_ways(External::Fields { a: 1, b: None }, json!({"Fields": {"a": 1, "b": null}}));
    both_ways(vec![External::Unit, External::One(2)], json!(["Unit", {"One": 2}]));
    let (_, message) = refused(super::from_js::<External>("'Nowhere'"));
    assert!(message.contains("Nowhere"), "{message}");
    refused(super::from_js::<External>("({ One: 1, Two: [1, 'x'] })"));
}

#[test]
fn internally_tagged() {
    both_ways(Internal::Unit, json!({"kind": "Unit"}));
    both_ways(
        Internal::Inner(Inner { text: "é".into(), count: -5 }),
        json!({"kind": "Inner", "text": "é", "count": -5}),
    );
    both_ways(Internal::Fields { a: 1, b: vec![0.5, 2.0] }, json!({"kind": "Fields", "a": 1, "b": [0.5, 2]}));
}

#[test]
fn adjacently_tagged() {
    both_ways(Adjacent::Unit, json!({"t": "Unit"}));
    both_ways(Adjacent::One(1), json!({"t": "One", "c": 1}));
    both_ways(Adjacent::Two(1, "x".into()), json!({"t": "Two", "c": [1, "x"]}));
    both_ways(Adjacent::Fields { a: 1 }, json!({"t": "Fields", "c": {"a": 1}}));
}

#[test]
fn untagged() {
    both_ways(Untagged::Number(-3), json!(-3));
    both_ways(Untagged::Float(1.5), json!(1.5));
    both_ways(Untagged::Text("x".into()), json!("x"));
    both_ways(Untagged::Pair(1, 2), json!([1, 2]));
    both_ways(Untagged::Fields { a: 1 }, json!({"a": 1}));
}

#[derive(Serialize, Deserialize, Debug, PartialEq)]
struct Flat {
    id: u32,
    #[serde(flatten)]
    inner: Inner,
    #[serde(flatten)]
    rest: BTreeMap<String, Value>,
}

#[test]
fn flattened_fields_and_leftovers() {
    let value = Flat {
        id: 1,
        inner: Inner { text: "t".into(), count: 2 },
        rest: BTreeMap::from([("more".into(), json!([1.5, {"x": null}]))]),
    };
    both_ways(value, json!({"id": 1, "text": "t", "count": 2, "more": [1.5, {"x": null}]}));
}

#[test]
fn maps_with_keys_that_are_no_strings() {
    both_ways(HashMap::from([(-1_i64, true), (7, false)]), json!({"-1": true, "7": false}));
    both_ways(BTreeMap::from([(u64::MAX, 1)]), json!({"18446744073709551615": 1}));
    both_ways(BTreeMap::from([('é', 1)]), json!({"é": 1}));
    both_ways(BTreeMap::from([(true, 1), (false, 0)]), json!({"true": 1, "false": 0}));
}

#[test]
fn wide_integers() {
    let allow = Policy { big_ints: BigInts::Allow, ..Policy::default() };
    for value in [i128::MIN, i128::MAX, -1, 0, 1 << 53, 1 << 64] {
        assert_eq!(identity(allow, &value).unwrap(), value);
    }
    for value in [u128::MAX, u128::from(u64::MAX)] {
        assert_eq!(identity(allow, &vec![value]).unwrap(), [value]);
    }
    assert_eq!(identity(Policy::default(), &(1_i128 << 50)).unwrap(), 1 << 50);
}

#[test]
fn options_units_and_tuples() {
    both_ways((Some(1_u8), None::<u8>, ((), 'c', "s".to_owned())), json!([1, null, [null, "c", "s"]]));
    both_ways(vec![(1.25_f64, true)], json!([[1.25, true]]));
    both_ways(Some(vec![Some(BTreeMap::from([("k".to_owned(), Some(1_u8))]))]), json!([{"k": 1}]));
}
