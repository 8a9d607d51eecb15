//! Rust to JavaScript: one test for each cell of the table.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::json;

use super::{refused, refused_at, to_js, to_js_under};
use jsmill::{BigInts, NonFinite, Policy};

const BIG: Policy = Policy {
    big_ints: BigInts::Allow,
    non_finite: NonFinite::Refuse,
    undefined: jsmill::Undefined::Refuse,
    surrogates: jsmill::Surrogates::Refuse,
};

#[derive(Serialize)]
struct Unit;

#[derive(Serialize)]
struct Wrapped(u8);

#[derive(Serialize)]
struct Pair(u8, &'static str);

#[derive(Serialize)]
struct Line {
    id: u32,
    #[serde(rename = "__proto__")]
    proto: &'static str,
}

#[derive(Serialize, PartialEq, Eq, PartialOrd, Ord)]
enum Zone {
    North,
}

#[test]
fn struct_is_a_plain_object_and_proto_an_ordinary_key() {
    let found = to_js(
        &Line { id: 1, proto: "p" },
        "[Object.keys(v), Object.getPrototypeOf(v) === Object.prototype, v.id, Object.getOwnPropertyDescriptor(v, '__proto__').value]",
    );
    assert_eq!(found.unwrap(), json!([["id", "__proto__"], true, 1, "p"]));
}

#[test]
fn map_is_a_plain_object() {
    let map = BTreeMap::from([("a", 1), ("b", 2)]);
    assert_eq!(to_js(&map, "[v, v.constructor === Object]").unwrap(), json!([{"a": 1, "b": 2}, true]));
}

#[test]
fn of_equal_keys_the_last_one_wins() {
    struct Twice;
    impl Serialize for Twice {
        fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            serializer.collect_map([("k", 1), ("other", 0), ("k", 2)])
        }
    }
    assert_eq!(to_js(&Twice, "[v.k, Object.keys(v).length]").unwrap(), json!([2, 2]));
}

#[test]
fn map_keys_that_have_a_text() {
    assert_eq!(to_js(&BTreeMap::from([("s".to_owned(), 1)]), "Object.keys(v)").unwrap(), json!(["s"]));
    assert_eq!(to_js(&BTreeMap::from([('é', 1)]), "Object.keys(v)").unwrap(), json!(["é"]));
    assert_eq!(to_js(&BTreeMap::from([(-7_i64, 1), (3, 1)]), "Object.keys(v)").unwrap(), json!(["3", "-7"]));
    let widest = BTreeMap::from([(u128::MAX, 1)]);
    assert_eq!(to_js(&widest, "Object.keys(v)").unwrap(), json!([u128::MAX.to_string()]));
    assert_eq!(to_js(&BTreeMap::from([(true, 1)]), "Object.keys(v)").unwrap(), json!(["true"]));
    assert_eq!(to_js(&BTreeMap::from([(Zone::North, 1)]), "Object.keys(v)").unwrap(), json!(["North"]));
}

#[test]
fn any_other_map_key_is_an_error() {
    let (_, message) = refused(to_js(&BTreeMap::from([((1, 2), 1)]), "v"));
    assert!(message.contains("key"), "{message}");
    refused(to_js(&BTreeMap::from([(vec![1], 1)]), "v"));
}

#[test]
fn sequences_and_tuples_are_arrays() {
    assert_eq!(to_js(&vec![1, 2], "[Array.isArray(v), v]").unwrap(), json!([true, [1, 2]]));
    assert_eq!(to_js(&(1, "x", true), "[Array.isArray(v), v]").unwrap(), json!([true, [1, "x", true]]));
    assert_eq!(to_js(&Pair(1, "x"), "[Array.isArray(v), v]").unwrap(), json!([true, [1, "x"]]));
    assert_eq!(to_js(&Vec::<u8>::new(), "[Array.isArray(v), v.length]").unwrap(), json!([true, 0]));
    assert_eq!(to_js(&Wrapped(9), "v").unwrap(), json!(9), "a newtype is what it wraps");
}

#[test]
fn nothing_is_null() {
    assert_eq!(to_js(&None::<u8>, "v === null").unwrap(), json!(true));
    assert_eq!(to_js(&(), "v === null").unwrap(), json!(true));
    assert_eq!(to_js(&Unit, "v === null").unwrap(), json!(true));
    assert_eq!(to_js(&[None, Some(1)], "[v[0] === null, v[1]]").unwrap(), json!([true, 1]));
}

#[test]
fn integers_that_a_number_holds() {
    assert_eq!(to_js(&9_007_199_254_740_991_u64, "v === 2 ** 53 - 1").unwrap(), json!(true));
    assert_eq!(to_js(&-9_007_199_254_740_991_i64, "v === -(2 ** 53 - 1)").unwrap(), json!(true));
    assert_eq!(to_js(&i128::from(u32::MAX), "v === 4294967295").unwrap(), json!(true));
    let edges =
        [i64::from(i32::MIN), i64::from(i32::MAX), i64::from(i32::MAX) + 1, (1 << 30) - 1, 1 << 30, -(1 << 30) - 1];
    assert_eq!(to_js(&edges, "v.map(String).join()").unwrap(), json!(edges.map(|edge| edge.to_string()).join(",")));
}

#[test]
fn integers_beyond_are_an_error_or_a_bigint() {
    for value in [u64::MAX, 9_007_199_254_740_992, 9_007_199_254_740_993] {
        assert!(refused(to_js(&value, "v")).1.contains(&value.to_string()));
        assert_eq!(to_js_under(BIG, &value, "typeof v + v").unwrap(), json!(format!("bigint{value}")));
    }
    for value in [i64::MIN, -9_007_199_254_740_992] {
        refused(to_js(&value, "v"));
        assert_eq!(to_js_under(BIG, &value, "typeof v + v").unwrap(), json!(format!("bigint{value}")));
    }
    for value in [i128::MIN, i128::MAX, 1 << 64] {
        assert_eq!(to_js_under(BIG, &value, "typeof v + v").unwrap(), json!(format!("bigint{value}")));
    }
    assert_eq!(to_js_under(BIG, &u128::MAX, "String(v)").unwrap(), json!(u128::MAX.to_string()));
    assert_eq!(refused_at(to_js(&json!({"lines": [{"id": u64::MAX}]}), "v")), "$[0].lines[0].id");
}

#[test]
fn floats_keep_their_value() {
    assert_eq!(to_js(&-0.0_f64, "Object.is(v, -0)").unwrap(), json!(true));
    assert_eq!(
        to_js(&[f64::MAX, f64::MIN_POSITIVE, 5e-324, 0.1], "v.map(String).join()").unwrap(),
        json!("1.7976931348623157e+308,2.2250738585072014e-308,5e-324,0.1")
    );
    assert_eq!(to_js(&0.5_f32, "v").unwrap(), json!(0.5));
}

#[test]
fn floats_that_are_not_finite_go_by_the_policy() {
    for value in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        refused(to_js(&value, "v"));
        assert_eq!(refused_at(to_js(&vec![0.0, value], "v")), "$[0][1]", "the first argument is $[0]");
        let null = Policy { non_finite: NonFinite::Null, ..Policy::default() };
        assert_eq!(to_js_under(null, &value, "v === null").unwrap(), json!(true));
        let keep = Policy { non_finite: NonFinite::Keep, ..Policy::default() };
        assert_eq!(to_js_under(keep, &value, "Number.isFinite(v) === false && typeof v").unwrap(), json!("number"));
    }
}

#[test]
fn text_and_chars_are_strings() {
    for text in ["", "plain", "é", "日本🧪", "nul \u{0} inside", "\u{feff}bom", "\u{2028}"] {
        assert_eq!(
            to_js(&text, "[v, typeof v, v.length]").unwrap(),
            json!([text, "string", text.encode_utf16().count()])
        );
    }
    assert_eq!(to_js(&'🧪', "[v, v.length]").unwrap(), json!(["🧪", 2]));
}

#[test]
fn bytes_are_a_uint8array_at_any_size() {
    for size in [0_usize, 1, 4095, 4096, 4097, 300_000] {
        let data: Vec<u8> = (0..size).map(|byte| byte as u8).collect();
        let sum: u64 = data.iter().map(|byte| u64::from(*byte)).sum();
        let found =
            to_js(&serde_bytes::Bytes::new(&data), "[v instanceof Uint8Array, v.length, v.reduce((a, b) => a + b, 0)]");
        assert_eq!(found.unwrap(), json!([true, size, sum]), "{size} bytes");
    }
    let two = [serde_bytes::Bytes::new(&[7; 5000]), serde_bytes::Bytes::new(b"q")];
    assert_eq!(to_js(&two, "[v[0].length, v[0][4999], v[1][0]]").unwrap(), json!([5000, 7, 113]));
}

#[test]
fn raw_json_is_what_its_text_says() {
    let raw = |text: &str| serde_json::value::RawValue::from_string(text.to_owned()).unwrap();
    let found = to_js(&raw(r#"{"b":[1,2.5,"\u00e9",-0.0],"__proto__":{"b":1},"b":3}"#), "[Object.keys(v).sort(), v.b]");
    assert_eq!(found.unwrap(), json!([["__proto__", "b"], 3]));
    assert_eq!(refused_at(to_js(&raw(r#"{"a":[0,18446744073709551615]}"#), "v")), "$[0].a[1]");
    refused(to_js(&raw("1e400"), "v"));
    refused(to_js(&raw(r#""\ud83e""#), "v"));
    assert_eq!(to_js_under(BIG, &raw("18446744073709551615"), "String(v)").unwrap(), json!("18446744073709551615"));
}

#[test]
fn a_json_value_is_what_it_says() {
    let value = json!({"n": null, "t": true, "i": -5, "f": 1.25, "s": "x", "l": [[], {}], "o": {"p": {"q": 1}}});
    assert_eq!(to_js(&value, "v").unwrap(), value);
}
