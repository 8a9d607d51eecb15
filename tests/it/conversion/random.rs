//! Random documents come back from JavaScript as they went in.

use proptest::collection::{btree_map, vec};
use proptest::prelude::*;
use serde_json::{Number, Value};

use super::{ENGINE, identity};
use jsmill::{BigInts, Policy, Script};

/// Numbers that a free target gets back in the form in which they left: whole ones as integers, others as floats.
fn number() -> impl Strategy<Value = Value> {
    prop_oneof![
        (-9_007_199_254_740_991_i64..=9_007_199_254_740_991).prop_map(Value::from),
        any::<i32>().prop_map(Value::from),
        any::<f64>()
            .prop_filter("finite and not a safe whole number", |x| {
                x.is_finite() && (x.fract() != 0.0 || x.abs() > 9_007_199_254_740_991.0)
            })
            .prop_map(|x| Value::Number(Number::from_f64(x).unwrap())),
        Just(Value::from(-0.0)),
    ]
}

fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        vec(any::<char>(), 0..20).prop_map(String::from_iter),
        "[ -~]{0,40}",
        "[0-9]{1,12}",
        Just("__proto__".to_owned()),
        Just("constructor".to_owned()),
        Just("length".to_owned()),
        Just("toJSON".to_owned()),
    ]
}

fn document() -> impl Strategy<Value = Value> {
    let leaf =
        prop_oneof![Just(Value::Null), any::<bool>().prop_map(Value::from), number(), text().prop_map(Value::from)];
    leaf.prop_recursive(6, 120, 12, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..12).prop_map(Value::from),
            btree_map(text(), inner, 0..12).prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_document_comes_back(value in document()) {
        prop_assert_eq!(identity(Policy::default(), &value).unwrap(), value);
    }

    #[test]
    fn any_document_comes_back_from_a_copy(value in document()) {
        let source = "const copy = (v) => Array.isArray(v) ? v.map(copy) : v !== null && typeof v === 'object'
            ? Object.fromEntries(Object.entries(v).map(([k, x]) => [k, copy(x)])) : v;";
        let script = Script::new("copy.js", source).unwrap();
        let back: Value = ENGINE.task(&script).call_blocking("copy", (&value,)).unwrap();
        prop_assert_eq!(back, value);
    }

    #[test]
    fn any_document_reads_in_javascript_as_json_says(value in document()) {
        let script = Script::new("text.js", "const main = (v, t) => [JSON.stringify(v) === JSON.stringify(JSON.parse(t)), JSON.stringify(v)];").unwrap();
        let text = serde_json::to_string(&value).unwrap();
        let (same, seen): (bool, String) = ENGINE.task(&script).call_blocking("main", (&value, &text)).unwrap();
        prop_assert!(same, "{} and {}", text, seen);
    }

    #[test]
    fn any_integers_come_back(values in vec(any::<i64>(), 0..20), wide in vec(any::<i128>(), 0..5), unsigned in any::<u64>()) {
        let allow = Policy { big_ints: BigInts::Allow, ..Policy::default() };
        let value = (values, wide, unsigned);
        prop_assert_eq!(identity(allow, &value).unwrap(), value);
    }

    #[test]
    fn any_floats_and_texts_come_back(floats in vec(any::<f64>().prop_filter("finite", |x| x.is_finite()), 0..30), text in any::<String>(), bytes in vec(any::<u8>(), 0..6000)) {
        let value = (floats, text, serde_bytes::ByteBuf::from(bytes));
        let back = identity(Policy::default(), &value).unwrap();
        prop_assert!(back.0.iter().zip(&value.0).all(|(a, b)| a.to_bits() == b.to_bits()));
        prop_assert_eq!(back, value);
    }
}
