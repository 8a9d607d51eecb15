//! JavaScript to Rust, cell by cell of the table, from streams as V8 writes them.

use super::*;
use serde::Deserialize;
use serde::de::{DeserializeOwned, IgnoredAny};
use serde_json::value::RawValue;
use serde_json::{Value, json};
use std::collections::{BTreeMap, HashMap};

const STRICT: Policy = Policy {
    non_finite: NonFinite::Refuse,
    undefined: Undefined::Refuse,
    big_ints: BigInts::Refuse,
    surrogates: Surrogates::Refuse,
};
const LAX: Policy = Policy {
    non_finite: NonFinite::Null,
    undefined: Undefined::Null,
    big_ints: BigInts::Allow,
    surrogates: Surrogates::Replace,
};

fn stream(body: impl AsRef<[u8]>) -> Vec<u8> {
    [b"\xFF\x10", body.as_ref()].concat()
}

fn with<T: DeserializeOwned>(policy: Policy, body: impl AsRef<[u8]>) -> Result<T, Error> {
    decode(&stream(body), policy, Limits::default())
}

fn ok<T: DeserializeOwned>(body: impl AsRef<[u8]>) -> T {
    with(STRICT, body).unwrap_or_else(|error| panic!("{error}"))
}

fn err<T: DeserializeOwned>(body: impl AsRef<[u8]>) -> Reason {
    with::<T>(STRICT, body).err().expect("an error").reason
}

fn path<T: DeserializeOwned>(body: impl AsRef<[u8]>) -> String {
    with::<T>(STRICT, body).err().expect("an error").path.to_string()
}

fn double(value: f64) -> Vec<u8> {
    [b"N".as_slice(), &value.to_ne_bytes()].concat()
}

fn date(value: f64) -> Vec<u8> {
    [b"D".as_slice(), &value.to_ne_bytes()].concat()
}

fn two_byte(units: &[u16]) -> Vec<u8> {
    let bytes: Vec<u8> = units.iter().flat_map(|unit| unit.to_ne_bytes()).collect();
    [b"c".as_slice(), &[bytes.len() as u8], &bytes].concat()
}

#[test]
fn scalars() {
    assert_eq!(ok::<Value>("0"), Value::Null);
    assert!(ok::<bool>("T") && !ok::<bool>("x") && ok::<bool>("y"));
    assert_eq!(ok::<Option<u8>>("0"), None);
    assert_eq!(ok::<Option<u8>>("I\x02"), Some(1));
    assert_eq!(ok::<String>("\"\x02ab"), "ab");
    assert_eq!(ok::<char>(b"\"\x01\xE9"), 'é');
    assert_eq!(ok::<String>(two_byte(&[0xD83E, 0xDDEA])), "\u{1F9EA}");
    assert_eq!(ok::<String>([b"\0".as_slice(), &two_byte(&[0x20AC])].concat()), "€");
    assert_eq!(ok::<String>(b"S\x02\xC3\xA9"), "é");
    assert_eq!(ok::<String>("s\"\x02ab"), "ab");
    assert_eq!(ok::<f64>([b"n".as_slice(), &1.5f64.to_ne_bytes()].concat()), 1.5);
    ok::<()>("0");
    ok::<()>("_");
    ok::<IgnoredAny>("_");
}

#[test]
fn undefined_as_the_whole_value_is_only_a_unit() {
    for policy in [STRICT, LAX] {
        let reasons = [
            with::<Option<u8>>(policy, "_").unwrap_err().reason,
            with::<Value>(policy, "_").unwrap_err().reason,
            with::<u8>(policy, "_").unwrap_err().reason,
        ];
        for reason in reasons {
            assert!(
                matches!(&reason, Reason::Mismatch { found, .. } if found.contains("returned nothing")),
                "{reason}"
            );
        }
    }
}

#[test]
fn numbers_into_integers_are_exact_or_fail() {
    assert_eq!(ok::<i8>("I\x01"), -1);
    assert_eq!(ok::<u64>(double(9007199254740991.0)), 9007199254740991);
    assert_eq!(ok::<i64>(double(-0.0)), 0);
    assert_eq!(ok::<i32>(double(1.0)), 1);
    assert_eq!(ok::<u32>(b"U\xFF\xFF\xFF\xFF\x0F"), u32::MAX);
    assert_eq!(err::<u8>("I\x01"), Reason::IntegerRange { value: "-1".into(), target: "u8" });
    assert_eq!(err::<i32>(double(3e9)), Reason::IntegerRange { value: "3000000000".into(), target: "i32" });
    assert_eq!(err::<i64>(double(3e44)), Reason::IntegerRange { value: "3e+44".into(), target: "i64" });
    assert_eq!(err::<i64>(double(1.5)), Reason::NotExact { value: 1.5, target: "i64" });
    let unsafe_integer = 2f64.powi(53);
    assert_eq!(err::<i64>(double(unsafe_integer)), Reason::NotExact { value: unsafe_integer, target: "i64" });
    assert_eq!(err::<i128>(double(1e20)), Reason::NotExact { value: 1e20, target: "i128" });
    assert_eq!(err::<u64>(double(f64::INFINITY)), Reason::NonFinite(f64::INFINITY));
}

#[test]
fn numbers_where_anything_goes() {
    assert_eq!(ok::<Value>("I\x01"), json!(-1));
    assert_eq!(ok::<Value>(double(5e9)), json!(5_000_000_000u64));
    assert_eq!(ok::<Value>(double(3e44)), json!(3e44));
    assert_eq!(ok::<Value>(double(2f64.powi(53))), json!(2f64.powi(53)));
    assert!(ok::<Value>(double(-0.0)).as_f64().is_some_and(|zero| zero.is_sign_negative()));
    assert_eq!(ok::<f64>("I\x02"), 1.0);
    assert_eq!(ok::<f64>(double(3e44)), 3e44);
    assert_eq!(ok::<f32>(double(0.1)), 0.1f32);
    assert_eq!(err::<f32>(double(1e39)), Reason::NotExact { value: 1e39, target: "f32" });
}

#[test]
fn non_finite_numbers_follow_the_policy() {
    let list = [b"A\x01".as_slice(), &double(f64::NAN), b"$\0\x01"].concat();
    assert!(matches!(err::<Vec<f64>>(&list), Reason::NonFinite(_)));
    assert_eq!(path::<Vec<Option<f64>>>(&list), "$[0]");
    assert_eq!(with::<Vec<Option<f64>>>(LAX, &list).unwrap(), [None]);
    let keep = Policy { non_finite: NonFinite::Keep, ..STRICT };
    assert!(with::<Vec<f64>>(keep, &list).unwrap()[0].is_nan());
    assert_eq!(with::<Value>(keep, &list).unwrap(), json!([null]));
    assert!(matches!(with::<u8>(keep, double(f64::NAN)).unwrap_err().reason, Reason::NotExact { .. }));
}

#[test]
fn big_ints() {
    let big = |value: i128, tag: u8| {
        let length = if value.unsigned_abs() >> 64 == 0 { 8 } else { 16 };
        let head = [tag, (length as u8) << 1 | u8::from(value < 0)];
        [head.as_slice(), &value.unsigned_abs().to_le_bytes()[..length]].concat()
    };
    let nine = 9007199254740993;
    for tag in [b'Z', b'z'] {
        assert_eq!(ok::<u64>(big(nine, tag)), nine as u64);
        assert_eq!(ok::<i128>(big(i128::MIN, tag)), i128::MIN);
        assert_eq!(ok::<i64>(big(i64::MIN.into(), tag)), i64::MIN);
        assert_eq!(ok::<u8>(b"Z\0"), 0);
        assert_eq!(err::<Value>(big(nine, tag)), Reason::BigInt("9007199254740993".into()));
        assert_eq!(with::<Value>(LAX, big(nine, tag)).unwrap(), json!(nine as u64));
        assert_eq!(with::<Value>(LAX, big(-nine, tag)).unwrap(), json!(-nine as i64));
    }
    assert!(matches!(err::<u64>(big(1 << 64, b'Z')), Reason::IntegerRange { target: "u64", .. }));
    assert!(matches!(err::<u64>(big(-1, b'Z')), Reason::IntegerRange { target: "u64", .. }));
    assert!(matches!(err::<i64>(big(1 << 63, b'Z')), Reason::IntegerRange { target: "i64", .. }));
    assert!(matches!(err::<f64>(big(1, b'Z')), Reason::BigInt(_)));
    assert!(matches!(err::<String>(big(1, b'Z')), Reason::BigInt(_)));
    let huge = [b"Z\x30".as_slice(), &[0xFF; 24]].concat();
    assert!(matches!(with::<Value>(LAX, &huge).unwrap_err().reason, Reason::IntegerRange { .. }));
    assert_eq!(err::<u64>(huge), Reason::IntegerRange { value: "the BigInt of 192 bits".into(), target: "u64" });
    assert_eq!(path::<Value>([b"o\"\x01aA\x01".as_slice(), &big(1, b'Z'), b"$\0\x01{\x01"].concat()), "$.a[0]");
}

#[test]
fn surrogates_follow_the_policy() {
    let half = two_byte(&[0xD83E]);
    assert_eq!(err::<String>(&half), Reason::Surrogate);
    assert_eq!(with::<String>(LAX, &half).unwrap(), "\u{FFFD}");
    let object = [b"o\"\x01ao".as_slice(), b"\0", &half, b"I\x02{\x01{\x01"].concat();
    assert_eq!(err::<Value>(&object), Reason::Surrogate);
    assert_eq!(path::<Value>(&object), "$.a");
    ok::<HashMap<String, IgnoredAny>>(&object);
}

#[derive(Debug, PartialEq, Deserialize)]
struct Fields {
    a: Option<u8>,
    #[serde(default)]
    b: Vec<i32>,
}

#[test]
fn objects() {
    assert_eq!(ok::<Fields>("o\"\x01aI\x02\"\x01bA\x01I\x03$\0\x01{\x02"), Fields { a: Some(1), b: vec![-2] });
    assert_eq!(ok::<Fields>("o\"\x01zoI\x02_{\x01\"\x01a0{\x02"), Fields { a: None, b: vec![] });
    assert_eq!(ok::<BTreeMap<u32, bool>>("oI\x04T\"\x0210F{\x02"), [(2, true), (10, false)].into());
    assert_eq!(ok::<Value>("oI\x04T\"\x09__proto__F{\x02"), json!({"2": true, "__proto__": false}));
    assert_eq!(ok::<BTreeMap<bool, u8>>("o\"\x04trueI\x02{\x01"), [(true, 1)].into());
    assert!(matches!(err::<BTreeMap<u32, bool>>("o\"\x0201T{\x01"), Reason::Mismatch { .. }));
    assert!(matches!(err::<Fields>("I\x02"), Reason::Mismatch { .. }));
    assert_eq!(path::<Fields>("o\"\x01bA\x02I\x02T$\0\x02{\x01"), "$.b[1]");
}

#[test]
fn undefined_inside_a_value_follows_the_policy() {
    let object = "o\"\x01a_{\x01";
    assert_eq!(err::<Fields>(object), Reason::Undefined);
    assert_eq!(path::<Value>(object), "$.a");
    assert_eq!(with::<Fields>(LAX, object).unwrap(), Fields { a: None, b: vec![] });
    assert_eq!(with::<Value>(LAX, "A\x02_-$\0\x02").unwrap(), json!([null, null]));
    assert_eq!(err::<Vec<Option<u8>>>("A\x02I\x02-$\0\x02"), Reason::Hole);
    assert_eq!(path::<Vec<Option<u8>>>("A\x02I\x02-$\0\x02"), "$[1]");
    ok::<Vec<IgnoredAny>>("A\x02_-$\0\x02");
}

#[test]
fn sparse_arrays() {
    assert_eq!(ok::<Vec<u8>>("a\x02I\0I\x02I\x02I\x04@\x02\x02"), [1, 2]);
    assert_eq!(ok::<Vec<u8>>("a\0@\0\0"), [0u8; 0]);
    let gap = "a\x03I\0I\x02I\x04I\x04@\x02\x03";
    assert_eq!((err::<Vec<u8>>(gap), path::<Vec<u8>>(gap)), (Reason::Hole, "$[1]".into()));
    assert_eq!(with::<Value>(LAX, gap).unwrap(), json!([1, null, 2]));
    assert_eq!(with::<Value>(LAX, "a\x02@\0\x02").unwrap(), json!([null, null]));
    let far = [b"a\x81\xBC\xC1\x96\x0B".as_slice(), &double(3e9), b"I\x02@\x01\x81\xBC\xC1\x96\x0B"].concat();
    for policy in [STRICT, LAX] {
        assert_eq!(with::<Value>(policy, &far).unwrap_err().reason, Reason::Sparse { length: 3_000_000_001 });
    }
    ok::<IgnoredAny>(&far);
    assert_eq!(err::<Value>("a\x01I\0T\"\x01xT@\x02\x01"), Reason::ExtraProperty("x".into()));
}

#[test]
fn arrays_lose_no_property() {
    assert_eq!(err::<Vec<u8>>("A\x02I\x02I\x04\"\x05extraI\x06$\x01\x02"), Reason::ExtraProperty("extra".into()));
    assert!(matches!(err::<(u8, u8)>("A\x03I\x02I\x04I\x06$\0\x03"), Reason::Mismatch { .. }));
    assert!(matches!(err::<(u8, u8)>("A\x01I\x02$\0\x01"), Reason::Mismatch { .. }));
}

#[test]
fn maps_and_sets() {
    let map = ";\"\x01aI\x02I\x04I\x04:\x04";
    assert_eq!(ok::<Value>(map), json!({"a": 1, "2": 2}));
    assert_eq!(ok::<BTreeMap<String, u8>>(map).len(), 2);
    assert_eq!(ok::<BTreeMap<(u8, u8), bool>>(";A\x02I\x02I\x04$\0\x02T:\x02"), [((1, 2), true)].into());
    assert_eq!(ok::<Vec<(u8, u8)>>("'A\x02I\x02I\x04$\0\x02,\x01"), [(1, 2)]);
    assert_eq!(ok::<Value>("'\"\x01aT,\x02"), json!(["a", true]));
    assert!(matches!(err::<Value>(";o{\0T:\x02"), Reason::Mismatch { .. }));
    assert_eq!(path::<Value>(";\"\x03a b_:\x02"), "$[\"a b\"]");
    assert_eq!(path::<Value>("'T_,\x02"), "$[1]");
}

#[test]
fn dates() {
    let day = date(951_782_400_000.0);
    assert_eq!(ok::<Value>(&day), json!("2000-02-29T00:00:00.000Z"));
    assert_eq!(ok::<String>(&day), "2000-02-29T00:00:00.000Z");
    assert_eq!(ok::<i64>(&day), 951_782_400_000);
    assert_eq!(ok::<f64>(&day), 951_782_400_000.0);
    for reason in [err::<Value>(date(f64::NAN)), err::<i64>(date(f64::NAN)), err::<f64>(date(f64::NAN))] {
        assert_eq!(reason, Reason::Unsupported("an invalid Date"));
    }
}

#[test]
fn buffers_and_views() {
    let bytes = "B\x04\x01\x02\x03\x04VB\x01\x02\0";
    assert_eq!(ok::<serde_bytes::ByteBuf>(bytes), [2, 3]);
    assert_eq!(ok::<Vec<u8>>(bytes), [2, 3]);
    assert_eq!(ok::<Value>(bytes), json!([2, 3]));
    assert_eq!(ok::<serde_bytes::ByteBuf>("B\x02\x07\x08"), [7, 8]);
    assert_eq!(ok::<serde_bytes::ByteBuf>("~\x02\x10\x07\x08V?\0\x02\x03"), [7, 8]);
    // Views that follow the length of their buffer have no length of their own.
    assert_eq!(ok::<Vec<u16>>("~\x05\x10\x01\0\x02\0\x03VW\x02\0\x03"), [2]);
    assert!(matches!(err::<Value>("~\x01\x10\x01VB\x02\0\x03"), Reason::Corrupt { .. }));
    let view = |kind: u8, bytes: &[u8]| {
        let length = bytes.len() as u8;
        [&[b'B', length], bytes, &[b'V', kind, 0, length, 0]].concat()
    };
    assert_eq!(ok::<Value>(view(b'b', &[0xFF])), json!([-1]));
    assert_eq!(ok::<Value>(view(b'w', &(-2i16).to_ne_bytes())), json!([-2]));
    assert_eq!(ok::<Value>(view(b'W', &65535u16.to_ne_bytes())), json!([65535]));
    assert_eq!(ok::<Value>(view(b'd', &(-2i32).to_ne_bytes())), json!([-2]));
    assert_eq!(ok::<Value>(view(b'D', &u32::MAX.to_ne_bytes())), json!([u32::MAX]));
    assert_eq!(ok::<Vec<f64>>(view(b'h', &0x3C00u16.to_ne_bytes())), [1.0]);
    assert_eq!(ok::<Vec<f32>>(view(b'f', &0.5f32.to_ne_bytes())), [0.5]);
    assert_eq!(path::<Vec<f64>>(view(b'F', &f64::NAN.to_ne_bytes())), "$[0]");
    assert_eq!(ok::<Vec<i64>>(view(b'q', &i64::MIN.to_ne_bytes())), [i64::MIN]);
    assert_eq!(ok::<Vec<u64>>(view(b'Q', &u64::MAX.to_ne_bytes())), [u64::MAX]);
    assert!(matches!(err::<Value>(view(b'w', &[1])), Reason::Corrupt { .. }));
    assert!(matches!(err::<Value>("B\x01\x01VB\x01\x01\0"), Reason::Corrupt { .. }));
}

#[test]
fn errors_are_maps() {
    let error = "rRm\"\x03bads\"\x05stackc\"\x03why.";
    assert_eq!(ok::<Value>(error), json!({"name": "RangeError", "message": "bad", "cause": "why"}));
    assert_eq!(ok::<Value>("r."), json!({"name": "Error", "message": ""}));
    assert_eq!(ok::<(IgnoredAny, u8)>(format!("A\x02{error}I\x02$\0\x02")).1, 1);
    assert_eq!(path::<Value>("rc_."), "$.cause");
}

#[test]
fn what_has_no_counterpart() {
    assert_eq!(err::<Value>("R\"\x01x\x01"), Reason::Unsupported("a RegExp"));
    assert_eq!(ok::<(IgnoredAny, u8)>("A\x02R\"\x01x\x01I\x02$\0\x02").1, 1);
    assert_eq!(err::<Value>("u\0"), Reason::Unsupported("a SharedArrayBuffer"));
    assert_eq!(err::<Value>("w\0"), Reason::Unsupported("a WebAssembly.Module"));
    assert_eq!(err::<Value>("m\x02\0u\0"), Reason::Unsupported("a WebAssembly.Memory"));
    assert_eq!(err::<Value>("\\x"), Reason::Unsupported("an object of the host"));
    assert_eq!(err::<Value>("t\0VB\0\x02\0"), Reason::Unsupported("a transferred ArrayBuffer"));
    assert_eq!(path::<Value>("o\"\x01at\0VB\0\x02\0{\x01"), "$.a");
}

#[test]
fn references() {
    // [x, x] with x = {a: 1}, and the same with a Date, a boxed number and an Error numbered in between.
    assert_eq!(ok::<Value>("A\x02o\"\x01aI\x02{\x01^\x01$\0\x02"), json!([{"a": 1}, {"a": 1}]));
    let mixed = [b"A\x06".as_slice(), &date(0.0), b"y", b"rc'T,\x01.", b"R\"\x01x\0", b"o{\0", b"^\x06$\0\x06"];
    assert_eq!(ok::<(IgnoredAny, bool, IgnoredAny, IgnoredAny, Value, Value)>(mixed.concat()).5, json!({}));
    // A buffer counts before the view on it; a second view refers to the buffer.
    let views = "A\x04B\x02\x07\x08VB\0\x02\0^\x01VB\x01\x01\0^\x02^\x03$\0\x04";
    assert_eq!(ok::<Value>(views), json!([[7, 8], [8], [7, 8], [8]]));
    assert_eq!(ok::<Value>("A\x02B\x02\x07\x08^\x01$\0\x02"), json!([[7, 8], [7, 8]]));
    assert!(matches!(err::<Value>("A\x01^\x05$\0\x01"), Reason::Corrupt { .. }));
    assert!(matches!(err::<Value>("A\x02^\x01o{\0$\0\x02"), Reason::Corrupt { .. }));
}

#[test]
fn cycles_and_explosions_are_errors() {
    assert_eq!(err::<Value>("o\"\x01a^\0{\x01"), Reason::Cycle);
    assert_eq!(path::<Value>("o\"\x01aA\x01^\0$\0\x01{\x01"), "$.a[0]");
    assert_eq!(err::<Value>("A\x02o\"\x01aA\x01^\x01$\0\x01{\x01^\x01$\0\x02"), Reason::Cycle);
    assert_eq!(err::<Value>("rc^\0."), Reason::Cycle);
    ok::<IgnoredAny>("o\"\x01a^\0{\x01");
    // Each level holds the level before it twice.
    let mut body = b"A\0$\0\0".to_vec();
    for level in 0..40u8 {
        let first = 39 - level + 1;
        body = [b"A\x02".as_slice(), &body, &[b'^', first], b"$\0\x02"].concat();
    }
    let limits = Limits { bytes: 1 << 16, ..Limits::default() };
    let error = decode::<Value>(&stream(body), STRICT, limits).unwrap_err();
    assert_eq!(error.reason, Reason::TooLarge { limit: 1 << 16 });
}

#[test]
fn enums_in_all_forms() {
    #[derive(Debug, PartialEq, Deserialize)]
    enum External {
        Plain,
        Wrap(u8),
        Both(u8, u8),
        Named { a: u8 },
    }
    assert_eq!(ok::<External>("\"\x05Plain"), External::Plain);
    assert_eq!(ok::<External>("o\"\x05Plain0{\x01"), External::Plain);
    assert_eq!(ok::<External>("o\"\x04WrapI\x02{\x01"), External::Wrap(1));
    assert_eq!(ok::<External>("o\"\x04BothA\x02I\x02I\x04$\0\x02{\x01"), External::Both(1, 2));
    assert_eq!(ok::<External>("o\"\x05Namedo\"\x01aI\x02{\x01{\x01"), External::Named { a: 1 });
    assert_eq!(path::<External>("o\"\x04BothA\x02I\x02T$\0\x02{\x01"), "$.Both[1]");
    for body in ["I\x02", "o{\0", "o\"\x04WrapI\x02\"\x01xT{\x02", "\"\x04Wrap", "\"\x01?"] {
        err::<External>(body);
    }

    #[derive(Debug, PartialEq, Deserialize)]
    #[serde(tag = "t")]
    enum Internal {
        A { x: u8 },
    }
    assert_eq!(ok::<Internal>("o\"\x01xI\x02\"\x01t\"\x01A{\x02"), Internal::A { x: 1 });

    #[derive(Debug, PartialEq, Deserialize)]
    #[serde(tag = "t", content = "c")]
    enum Adjacent {
        A(u8),
    }
    assert_eq!(ok::<Adjacent>("o\"\x01cI\x02\"\x01t\"\x01A{\x02"), Adjacent::A(1));

    #[derive(Debug, PartialEq, Deserialize)]
    #[serde(untagged)]
    enum Untagged {
        Number(u8),
        Text(String),
    }
    assert_eq!(ok::<Vec<Untagged>>("A\x02I\x02\"\x01a$\0\x02"), [Untagged::Number(1), Untagged::Text("a".into())]);
}

#[test]
fn raw_json() {
    let body = [b"o\"\x01aA\x04".as_slice(), &double(1.5), b"0T\"\x01\"$\0\x04\"\x01\xE9o{\0{\x02"].concat();
    assert_eq!(ok::<Box<RawValue>>(&body).get(), r#"{"a":[1.5,null,true,"\""],"é":{}}"#);
    let list = "A\x02I\x02A\0$\0\0$\0\x02";
    assert_eq!(ok::<Vec<Box<RawValue>>>(list)[1].get(), "[]");
    assert_eq!(path::<Vec<Box<RawValue>>>("A\x01o\"\x01a_{\x01$\0\x01"), "$[0].a");
}

#[test]
fn limits_hold() {
    let nested = |depth: usize| {
        [vec![b"A\x01".as_slice(); depth].concat(), b"T".to_vec(), vec![b"$\0\x01".as_slice(); depth].concat()].concat()
    };
    ok::<Value>(nested(256));
    assert_eq!(err::<Value>(nested(257)), Reason::TooDeep { limit: 256 });
    ok::<IgnoredAny>(nested(100_000));
    let small = Limits { bytes: 4, ..Limits::default() };
    assert_eq!(decode::<Value>(b"\xFF\x10A\0$\0\0", STRICT, small).unwrap_err().reason, Reason::TooLarge { limit: 4 });

    #[derive(Debug, Deserialize)]
    struct Endless(#[allow(dead_code)] Option<Box<Endless>>);
    assert!(matches!(err::<Endless>("T"), Reason::TooDeep { .. }));
}

/// Takes any compound and looks at none of its parts.
#[derive(Debug)]
struct IgnoredMap;

impl<'de> Deserialize<'de> for IgnoredMap {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Any;
        impl<'de> serde::de::Visitor<'de> for Any {
            type Value = IgnoredMap;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("a compound")
            }

            fn visit_seq<A: serde::de::SeqAccess<'de>>(self, mut access: A) -> Result<IgnoredMap, A::Error> {
                while access.next_element::<IgnoredAny>()?.is_some() {}
                Ok(IgnoredMap)
            }

            fn visit_map<A: serde::de::MapAccess<'de>>(self, mut access: A) -> Result<IgnoredMap, A::Error> {
                while access.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
                Ok(IgnoredMap)
            }
        }
        deserializer.deserialize_any(Any)
    }
}

#[test]
fn damaged_streams() {
    assert_eq!(
        decode::<Value>(b"\xFF\x0D0", STRICT, Limits::default()).unwrap_err().reason,
        Reason::Version { found: 13 }
    );
    assert_eq!(decode::<Value>(b"", STRICT, Limits::default()).unwrap_err().reason, Reason::Corrupt { offset: 0 });
    for body in ["", "\0", "I", "A\x02T", "o\"\x05ab", "c\x03abc", "T0", "{\0", "N1234", "~\x01"] {
        assert!(matches!(err::<Value>(body), Reason::Corrupt { .. }), "{body:?}");
        assert!(with::<IgnoredAny>(STRICT, body).is_err(), "{body:?}");
    }
    for miscounted in ["A\x01T$\0\x02", "o\"\x01aT{\x02", ";TT:\x01", "'T,\x02", "a\x01I\0T@\x02\x01"] {
        assert!(matches!(err::<IgnoredMap>(miscounted), Reason::Corrupt { .. }), "{miscounted:?}");
    }
    assert!(matches!(err::<Vec<u64>>(b"A\xFF\xFF\xFF\xFF\x0F"), Reason::Corrupt { .. }));
}

#[test]
fn lone_scalars() {
    assert_eq!(decode_f64::<u8>(3.0, STRICT).unwrap(), 3);
    assert_eq!(decode_f64::<Value>(0.5, STRICT).unwrap(), json!(0.5));
    assert_eq!(decode_f64::<Option<u8>>(f64::NAN, LAX).unwrap(), None);
    assert!(decode_f64::<f64>(f64::NAN, STRICT).is_err());
    assert_eq!(decode_str::<String>("é").unwrap(), "é");
    assert!(decode_bool::<bool>(true).unwrap());
    assert_eq!(decode_null::<Option<u8>>().unwrap(), None);
    decode_undefined::<()>().unwrap();
    assert!(decode_undefined::<Option<u8>>().is_err());
}
