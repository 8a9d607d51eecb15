//! Properties over random values and random bytes.

use super::*;
use proptest::prelude::*;
use serde_json::Value;

fn json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<i16>().prop_map(Value::from),
        // A float that is whole comes back as an integer.
        any::<f64>().prop_filter("fraction", |value| value.fract() != 0.0).prop_map(Value::from),
        any::<String>().prop_map(Value::from),
    ];
    leaf.prop_recursive(6, 64, 8, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..8).prop_map(Value::from),
            prop::collection::btree_map(any::<String>(), inner, 0..8).prop_map(|map| map.into_iter().collect()),
        ]
    })
}

/// Bytes that look like a stream more often than chance would have it.
fn stream() -> impl Strategy<Value = Vec<u8>> {
    let tags = b"_0TFIUNZS\"c^o{aA@$Dyxnzs R;:',BC~tVupwm\\r.-?mscR\x00\x01\x02\x03\x04\x08".to_vec();
    let byte = prop_oneof![8 => prop::sample::select(tags), 1 => any::<u8>()];
    prop::collection::vec(byte, 0..60).prop_map(|body| [b"\xFF\x10".as_slice(), &body].concat())
}

fn lax() -> Policy {
    Policy {
        non_finite: NonFinite::Keep,
        undefined: Undefined::Null,
        big_ints: BigInts::Allow,
        surrogates: Surrogates::Replace,
    }
}

fn try_all(bytes: &[u8]) {
    let limits = Limits { depth: 20, bytes: 1 << 16 };
    for policy in [Policy::default(), lax()] {
        let _ = decode::<Value>(bytes, policy, limits);
        let _ = decode::<serde::de::IgnoredAny>(bytes, policy, limits);
        let _ = decode::<Box<serde_json::value::RawValue>>(bytes, policy, limits);
        let _ = decode::<std::collections::HashMap<i64, Option<Vec<u8>>>>(bytes, policy, limits);
        let _ = decode::<Result<(String, f32), u128>>(bytes, policy, limits);
        let _ = decode::<serde_bytes::ByteBuf>(bytes, policy, limits);
    }
    let _ = Scalar::lone(bytes);
    let _ = scalars(bytes).map(Iterator::count);
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: 128, ..ProptestConfig::default() })]

    #[test]
    fn values_come_back(value in json()) {
        let policy = Policy { big_ints: BigInts::Allow, ..Policy::default() };
        let encoded = encode(&value, policy, Limits::default()).unwrap();
        let back: Value = decode(&encoded.bytes, policy, Limits::default()).unwrap();
        prop_assert_eq!(back, value);
    }

    #[test]
    fn cut_streams_are_errors(value in json(), cut in any::<prop::sample::Index>()) {
        let bytes = encode(&value, lax(), Limits::default()).unwrap().bytes;
        let cut = &bytes[..cut.index(bytes.len())];
        prop_assert!(decode::<Value>(cut, lax(), Limits::default()).is_err());
        try_all(cut);
    }

    #[test]
    fn changed_streams_do_not_panic(value in json(), at in any::<prop::sample::Index>(), byte in any::<u8>()) {
        let mut bytes = encode(&value, lax(), Limits::default()).unwrap().bytes;
        let at = at.index(bytes.len());
        bytes[at] = byte;
        try_all(&bytes);
    }

    #[test]
    fn random_streams_do_not_panic(bytes in stream()) {
        try_all(&bytes);
    }
}
