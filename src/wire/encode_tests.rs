//! Rust to JavaScript, cell by cell of the table, against the bytes.

use super::*;
use serde::{Serialize, Serializer};
use std::collections::{BTreeMap, HashMap};

fn policy(change: impl FnOnce(&mut Policy)) -> Policy {
    let mut policy = Policy::default();
    change(&mut policy);
    policy
}

/// The stream without its header.
fn bytes<T: Serialize + ?Sized>(value: &T) -> Vec<u8> {
    let encoded = encode(value, Policy::default(), Limits::default()).unwrap();
    assert_eq!(encoded.bytes[..2], [0xFF, 15]);
    assert!(encoded.blobs.is_empty());
    encoded.bytes[2..].to_vec()
}

fn error<T: Serialize + ?Sized>(value: &T) -> (String, Reason) {
    let error = encode(value, Policy::default(), Limits::default()).unwrap_err();
    (error.path.to_string(), error.reason)
}

fn double(value: f64) -> Vec<u8> {
    [b"N".as_slice(), &value.to_ne_bytes()].concat()
}

#[derive(Serialize)]
struct Unit;

#[derive(Serialize)]
struct Newtype(u8);

#[derive(Serialize)]
struct Pair(u8, bool);

#[derive(Serialize, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    Plain,
    Wrap(u8),
    Both(u8, u8),
    Named { a: u8 },
}

#[derive(Serialize)]
struct Fields {
    a: Option<u8>,
    #[serde(skip_serializing_if = "Option::is_none")]
    left_out: Option<u8>,
    b: &'static str,
}

#[test]
fn scalars() {
    assert_eq!(bytes(&()), b"0");
    assert_eq!(bytes(&Unit), b"0");
    assert_eq!(bytes(&None::<u8>), b"0");
    assert_eq!(bytes(&Some(1)), b"I\x02");
    assert_eq!(bytes(&true), b"T");
    assert_eq!(bytes(&false), b"F");
    assert_eq!(bytes(&Newtype(1)), b"I\x02");
    assert_eq!(bytes(&'é'), b"S\x02\xC3\xA9");
    assert_eq!(bytes(""), b"\"\0");
    assert_eq!(bytes("a\0b"), b"\"\x03a\0b");
    assert_eq!(bytes("\u{FEFF} a "), b"S\x06\xEF\xBB\xBF a ");
    let long = "x".repeat(200);
    assert_eq!(bytes(&long), [b"\"\xC8\x01", long.as_bytes()].concat());
}

#[test]
fn integers_keep_their_value() {
    assert_eq!(bytes(&-1i8), b"I\x01");
    assert_eq!(bytes(&i32::MIN), b"I\xFF\xFF\xFF\xFF\x0F");
    assert_eq!(bytes(&i32::MAX), b"I\xFE\xFF\xFF\xFF\x0F");
    assert_eq!(bytes(&(1u32 << 31)), b"U\x80\x80\x80\x80\x08");
    assert_eq!(bytes(&u32::MAX), b"U\xFF\xFF\xFF\xFF\x0F");
    assert_eq!(bytes(&(i64::from(i32::MIN) - 1)), double(-2147483649.0));
    assert_eq!(bytes(&((1u64 << 53) - 1)), double(9007199254740991.0));
    assert_eq!(bytes(&(1i128 - (1 << 53))), double(-9007199254740991.0));
    assert_eq!(error(&(1u64 << 53)), ("$".into(), Reason::BigInt("9007199254740992".into())));
    assert_eq!(error(&i64::MIN).1, Reason::BigInt(i64::MIN.to_string()));
    assert_eq!(error(&u128::MAX).1, Reason::BigInt(u128::MAX.to_string()));
    assert_eq!(error(&i128::MIN).1, Reason::BigInt(i128::MIN.to_string()));
}

#[test]
fn big_ints_where_they_are_allowed() {
    let allow = policy(|policy| policy.big_ints = BigInts::Allow);
    let bytes = |value: i128| encode(&value, allow, Limits::default()).unwrap().bytes[2..].to_vec();
    assert_eq!(bytes(i64::MAX.into()), b"Z\x10\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x7F");
    assert_eq!(bytes(i64::MIN.into()), b"Z\x11\0\0\0\0\0\0\0\x80");
    assert_eq!(bytes(-(1 << 64)), b"Z\x21\0\0\0\0\0\0\0\0\x01\0\0\0\0\0\0\0");
    assert_eq!(bytes(5), b"I\x0A");
}

#[test]
fn floats_follow_the_policy() {
    assert_eq!(bytes(&-0.0), double(-0.0));
    assert_eq!(bytes(&1.5f32), double(1.5));
    assert_eq!(error(&f32::INFINITY).1, Reason::NonFinite(f64::INFINITY));
    assert!(matches!(error(&vec![0.0, f64::NAN]), (path, Reason::NonFinite(_)) if path == "$[1]"));
    let null = policy(|policy| policy.non_finite = NonFinite::Null);
    assert_eq!(encode(&f64::NAN, null, Limits::default()).unwrap().bytes, b"\xFF\x0F0");
    let keep = policy(|policy| policy.non_finite = NonFinite::Keep);
    assert_eq!(encode(&f64::INFINITY, keep, Limits::default()).unwrap().bytes[2..], double(f64::INFINITY));
}

#[test]
fn compounds() {
    assert_eq!(bytes(&[1, 2]), b"A\x02I\x02I\x04$\0\x02");
    assert_eq!(bytes(&(1, true)), b"A\x02I\x02T$\0\x02");
    assert_eq!(bytes(&Pair(1, false)), b"A\x02I\x02F$\0\x02");
    assert_eq!(bytes(&Vec::<u8>::new()), b"A\0$\0\0");
    assert_eq!(bytes(&Fields { a: None, left_out: None, b: "x" }), b"o\"\x01a0\"\x01b\"\x01x{\x02");
    assert_eq!(bytes(&BTreeMap::from([("__proto__", 1)])), b"o\"\x09__proto__I\x02{\x01");
    assert_eq!(bytes(&Kind::Plain), b"\"\x05Plain");
    assert_eq!(bytes(&Kind::Wrap(1)), b"o\"\x04WrapI\x02{\x01");
    assert_eq!(bytes(&Kind::Both(1, 2)), b"o\"\x04BothA\x02I\x02I\x04$\0\x02{\x01");
    assert_eq!(bytes(&Kind::Named { a: 1 }), b"o\"\x05Namedo\"\x01aI\x02{\x01{\x01");
}

#[test]
fn a_length_that_is_unknown_or_wrong_is_put_right() {
    struct Says(Option<usize>, usize);
    impl Serialize for Says {
        fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            use serde::ser::SerializeSeq;
            let mut seq = serializer.serialize_seq(self.0)?;
            (0..self.1).try_for_each(|_| seq.serialize_element(&true))?;
            seq.end()
        }
    }
    assert_eq!(bytes(&Says(None, 2)), b"A\x82\x80\x80\x80\0TT$\0\x02");
    assert_eq!(bytes(&Says(Some(5), 2)), b"A\x02TT$\0\x02");
    assert_eq!(bytes(&Says(Some(1), 200)), [b"A\xC8\x01".as_slice(), &[b'T'; 200], b"$\0\xC8\x01"].concat());
    assert_eq!(bytes(&Says(Some(usize::MAX), 1)), b"A\x81\x80\x80\x80\0T$\0\x01");
}

#[test]
fn keys_that_have_a_text() {
    let key = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes[3..bytes[2] as usize + 3]).into_owned();
    assert_eq!(key(bytes(&BTreeMap::from([(-7i64, 0)]))), "-7");
    assert_eq!(key(bytes(&BTreeMap::from([(u128::MAX, 0)]))), u128::MAX.to_string());
    assert_eq!(key(bytes(&BTreeMap::from([(i128::MIN, 0)]))), i128::MIN.to_string());
    assert_eq!(key(bytes(&BTreeMap::from([(true, 0)]))), "true");
    assert_eq!(key(bytes(&BTreeMap::from([('x', 0)]))), "x");
    assert_eq!(key(bytes(&BTreeMap::from([(Kind::Plain, 0)]))), "Plain");
    assert_eq!(key(bytes(&BTreeMap::from([(Some("x"), 0)]))), "x");
    for (path, reason) in [
        error(&BTreeMap::from([(Kind::Wrap(1), 0)])),
        error(&BTreeMap::from([((1, 2), 0)])),
        error(&BTreeMap::from([(None::<u8>, 0)])),
        error(&BTreeMap::from([((), 0)])),
    ] {
        assert!(matches!(reason, Reason::Mismatch { .. }) && path == "$", "{path} {reason}");
    }
    struct Float;
    impl Serialize for Float {
        fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            serializer.collect_map([(1.0, 0)])
        }
    }
    assert!(matches!(error(&Float).1, Reason::Mismatch { found, .. } if found == "a float"));
}

#[test]
fn of_equal_keys_the_last_one_wins() {
    #[derive(Serialize)]
    struct Flat {
        a: u8,
        #[serde(flatten)]
        rest: BTreeMap<&'static str, u8>,
    }
    assert_eq!(bytes(&Flat { a: 1, rest: [("a", 2), ("b", 3)].into() }), b"o\"\x01aI\x04\"\x01bI\x06{\x02");

    #[derive(Serialize)]
    struct Inner {
        kind: u8,
        x: u8,
    }
    #[derive(Serialize)]
    #[serde(tag = "kind")]
    enum Tagged {
        A(Inner),
    }
    assert_eq!(bytes(&Tagged::A(Inner { kind: 1, x: 2 })), b"o\"\x04kindI\x02\"\x01xI\x04{\x02");
    let many: HashMap<String, u8> = (0..100).map(|n| (n.to_string(), 1)).collect();
    assert!(bytes(&many).ends_with(b"{\x64"));
}

#[test]
fn bytes_are_inline_or_beside_the_stream() {
    let small = serde_bytes::Bytes::new(&[7, 8]);
    assert_eq!(bytes(&small), b"B\x02\x07\x08VB\0\x02\0");
    assert_eq!(bytes(&serde_bytes::Bytes::new(&[])), b"B\0VB\0\0\0");
    let large = serde_bytes::ByteBuf::from(vec![1; 4096]);
    let encoded = encode(&[&large, &large], Policy::default(), Limits::default()).unwrap();
    assert_eq!(encoded.bytes[2..], *b"A\x02t\0VB\0\x80\x20\0t\x01VB\0\x80\x20\0$\0\x02");
    assert_eq!(encoded.blobs.into_vec(), [vec![1; 4096], vec![1; 4096]]);
}

#[test]
fn raw_json_is_taken_over_as_what_it_says() {
    let raw = |text: &str| serde_json::value::RawValue::from_string(text.to_owned()).unwrap();
    let text = r#"{"b":[1,-2.5,"é",null,true],"a":{},"b":[9007199254740991]}"#;
    let expected = [b"o\"\x01ao{\0\"\x01bA\x81\x80\x80\x80\0".as_slice(), &double(9007199254740991.0), b"$\0\x01{\x02"];
    assert_eq!(bytes(&raw(text)), expected.concat());
    assert_eq!(error(&vec![raw(r#"{"a":[0,18446744073709551615]}"#)]).0, "$[0].a[1]");
    assert_eq!(error(&raw(r#"["\ud83e"]"#)).1, Reason::Surrogate);
    assert!(matches!(error(&raw(&format!("{}1{}", "[".repeat(200), "]".repeat(200)))).1, Reason::TooDeep { .. }));
}

#[test]
fn errors_say_where() {
    #[derive(Serialize)]
    struct Deep {
        list: Vec<BTreeMap<&'static str, Option<(u8, u64)>>>,
    }
    let value = Deep { list: vec![[("a b", None)].into(), [("x", Some((1, u64::MAX)))].into()] };
    assert_eq!(error(&value).0, "$.list[1].x[1]");

    #[derive(Serialize)]
    enum Variants {
        New(u64),
        Tuple(u8, u64),
        Struct { a: u64 },
    }
    assert_eq!(error(&Variants::New(u64::MAX)).0, "$.New");
    assert_eq!(error(&Variants::Tuple(1, u64::MAX)).0, "$.Tuple[1]");
    assert_eq!(error(&Variants::Struct { a: u64::MAX }).0, "$.Struct.a");

    struct Fails;
    impl Serialize for Fails {
        fn serialize<S: Serializer>(&self, _: S) -> Result<S::Ok, S::Error> {
            Err(serde::ser::Error::custom("no luck"))
        }
    }
    assert_eq!(error(&[Fails]), ("$[0]".into(), Reason::Custom("no luck".into())));
}

#[test]
fn limits_hold() {
    #[derive(Serialize)]
    struct Chain(Option<Box<Chain>>);
    let mut chain = Chain(None);
    let mut list = serde_json::json!(1);
    for _ in 0..2000 {
        chain = Chain(Some(Box::new(chain)));
    }
    for _ in 0..256 {
        list = serde_json::Value::Array(vec![list]);
    }
    assert_eq!(error(&chain).1, Reason::TooDeep { limit: 256 });
    bytes(&list);
    let error_of = encode(&[list], Policy::default(), Limits::default()).unwrap_err();
    assert_eq!((error_of.path.segments().len(), error_of.reason), (256, Reason::TooDeep { limit: 256 }));

    let limits = Limits { bytes: 10_000, ..Limits::default() };
    let fails = |value: &dyn Fn(Limits) -> Result<Encoded, Error>| {
        assert_eq!(value(limits).unwrap_err().reason, Reason::TooLarge { limit: 10_000 });
    };
    fails(&|limits| encode(&"x".repeat(10_000), Policy::default(), limits));
    fails(&|limits| encode(&vec![0u8; 10_000], Policy::default(), limits));
    let blob = serde_bytes::ByteBuf::from(vec![0; 5_000]);
    fails(&|limits| encode(&[&blob, &blob], Policy::default(), limits));
    fails(&|limits| encode(&(0..3000).map(|n| (n, n)).collect::<BTreeMap<_, _>>(), Policy::default(), limits));
}

#[test]
fn arguments() {
    let mut encoder = Encoder::new(Policy::default(), Limits::default());
    encoder.push(&1).unwrap();
    let error = encoder.push(&BTreeMap::from([("a", vec![1, u64::MAX])])).unwrap_err();
    assert_eq!(error.path.to_string(), "$[1].a[1]");
    encoder.push("x").unwrap();
    let (encoded, count) = encoder.finish().unwrap();
    assert_eq!((count, encoded.bytes.as_slice()), (2, b"\xFF\x0FA\x02I\x02\"\x01x$\0\x02".as_slice()));

    let mut encoder = Encoder::new(Policy::default(), Limits::default());
    (0..300).for_each(|_| encoder.push(&true).unwrap());
    let expected = [b"\xFF\x0FA\xAC\x02".as_slice(), &[b'T'; 300], b"$\0\xAC\x02"].concat();
    assert_eq!(encoder.finish().unwrap().0.bytes, expected);
}
