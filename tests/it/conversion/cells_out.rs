//! JavaScript to Rust: one test for each cell of the table.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use serde::Deserialize;
use serde_bytes::ByteBuf;
use serde_json::{Value, json};

use super::{from_js, from_js_under, refused, refused_at};
use jsmill::{BigInts, Policy, Undefined};

#[test]
fn a_number_is_an_integer_if_it_is_whole_safe_and_in_range() {
    assert_eq!(from_js::<i64>("1.0").unwrap(), 1);
    assert_eq!(from_js::<i64>("-(2 ** 53 - 1)").unwrap(), -9_007_199_254_740_991);
    assert_eq!(from_js::<u64>("2 ** 53 - 1").unwrap(), 9_007_199_254_740_991);
    assert_eq!(from_js::<u8>("255").unwrap(), 255);
    assert_eq!(from_js::<i128>("-5").unwrap(), -5);
    for expression in ["1.5", "2 ** 53", "2 ** 53 + 2", "3e44", "-(2 ** 53)", "NaN", "Infinity"] {
        refused(from_js::<i64>(expression));
        refused(from_js::<u64>(expression));
    }
    refused(from_js::<u8>("256"));
    refused(from_js::<u64>("-1"));
    refused(from_js::<i32>("2 ** 31"));
    assert_eq!(refused_at(from_js::<Vec<u8>>("[1, 2, 300]")), "$[2]");
}

#[test]
fn a_number_is_a_float() {
    assert_eq!(from_js::<f64>("3e44").unwrap(), 3e44);
    assert_eq!(from_js::<f64>("2 ** 53 + 2").unwrap(), 9_007_199_254_740_994.0);
    assert!(from_js::<f64>("-0").unwrap().is_sign_negative());
    assert!(from_js::<Vec<f64>>("[-0]").unwrap()[0].is_sign_negative());
    assert_eq!(from_js::<f32>("0.1").unwrap(), 0.1_f32, "rounded");
    refused(from_js::<f32>("1e39"));
}

#[test]
fn a_free_number_keeps_its_value() {
    let cases = [
        ("7", json!(7)),
        ("-7", json!(-7)),
        ("1.5", json!(1.5)),
        ("2 ** 53 - 1", json!(9_007_199_254_740_991_u64)),
        ("2 ** 53", json!(9_007_199_254_740_992.0)),
        ("3e44", json!(3e44)),
        ("-0", json!(-0.0)),
    ];
    for (expression, expected) in cases {
        assert_eq!(from_js::<Value>(expression).unwrap(), expected, "{expression}");
        assert_eq!(from_js::<Value>(&format!("[{expression}]")).unwrap(), json!([expected]), "[{expression}]");
    }
}

#[test]
fn a_bigint_is_an_integer_if_in_range() {
    assert_eq!(from_js::<i64>("9007199254740993n").unwrap(), 9_007_199_254_740_993);
    assert_eq!(from_js::<u64>("2n ** 64n - 1n").unwrap(), u64::MAX);
    assert_eq!(from_js::<i64>("-(2n ** 63n)").unwrap(), i64::MIN);
    assert_eq!(from_js::<u128>("2n ** 64n").unwrap(), 1 << 64);
    assert_eq!(from_js::<i128>("-(2n ** 127n)").unwrap(), i128::MIN);
    assert_eq!(from_js::<i32>("-1n").unwrap(), -1);
    refused(from_js::<i64>("2n ** 63n"));
    refused(from_js::<u64>("2n ** 64n"));
    refused(from_js::<u64>("-1n"));
    refused(from_js::<i32>("9007199254740993n"));
    refused(from_js::<u128>("2n ** 128n"));
}

#[test]
fn a_free_bigint_wants_the_policy() {
    assert_eq!(refused_at(from_js::<Value>("({ a: [1n] })")), "$.a[0]");
    let allow = Policy { big_ints: BigInts::Allow, ..Policy::default() };
    assert_eq!(from_js_under::<Value>(allow, "[1n, 2n ** 64n - 1n]").unwrap(), json!([1, u64::MAX]));
}

#[test]
fn a_string_is_text() {
    for text in ["", "plain", "é", "日本🧪", "\u{feff}"] {
        let literal = serde_json::to_string(text).unwrap();
        assert_eq!(from_js::<String>(&literal).unwrap(), text);
        assert_eq!(from_js::<(String,)>(&format!("[{literal}]")).unwrap().0, text);
    }
    assert_eq!(from_js::<char>("'é'").unwrap(), 'é');
    assert_eq!(from_js::<char>("'\\u{1F9EA}'").unwrap(), '🧪');
    refused(from_js::<char>("'ab'"));
    assert_eq!(from_js::<String>("['a', 'b'].join('-') + 'c'.repeat(3)").unwrap(), "a-bccc");
}

#[test]
fn undefined_inside_goes_by_the_policy() {
    assert_eq!(refused_at(from_js::<Value>("({ u: undefined })")), "$.u");
    assert_eq!(refused_at(from_js::<Value>("[1, undefined]")), "$[1]");
    assert_eq!(refused_at(from_js::<Value>("[1, , 3]")), "$[1]");
    let null = Policy { undefined: Undefined::Null, ..Policy::default() };
    assert_eq!(
        from_js_under::<Value>(null, "[{ u: undefined }, [1, , 3]]").unwrap(),
        json!([{"u": null}, [1, null, 3]])
    );
}

#[test]
fn undefined_as_the_whole_is_no_result() {
    from_js::<()>("undefined").unwrap();
    refused(from_js::<Value>("undefined"));
    refused(from_js::<u8>("undefined"));
    refused(from_js::<String>("undefined"));
    assert_eq!(from_js::<Value>("null").unwrap(), Value::Null, "null is not undefined");
    assert_eq!(from_js::<Option<u8>>("null").unwrap(), None);
    assert_eq!(from_js::<Option<u8>>("5").unwrap(), Some(5));
    from_js::<()>("null").unwrap();
}

#[derive(Deserialize, Debug, PartialEq)]
struct Point {
    x: i32,
    y: Option<i32>,
}

#[test]
fn objects_and_maps_are_structs_and_maps() {
    assert_eq!(from_js::<Point>("({ x: 1, y: 2 })").unwrap(), Point { x: 1, y: Some(2) });
    assert_eq!(from_js::<Point>("({ x: 1 })").unwrap(), Point { x: 1, y: None });
    assert_eq!(from_js::<Point>("new Map([['x', 1], ['y', null]])").unwrap(), Point { x: 1, y: None });
    assert_eq!(from_js::<Point>("new (class { constructor() { this.x = 3; } })").unwrap(), Point { x: 3, y: None });
    refused(from_js::<Point>("({ y: 1 })"));
    assert_eq!(from_js::<BTreeMap<String, u8>>("({ a: 1, b: 2 })").unwrap().len(), 2);
    assert_eq!(from_js::<Value>("new Map([['a', new Map()], [2, 'x']])").unwrap(), json!({"a": {}, "2": "x"}));
}

#[test]
fn number_keys_are_text_and_parse() {
    let expected = HashMap::from([(1_u32, "x".to_owned()), (20, "y".to_owned())]);
    assert_eq!(from_js::<HashMap<u32, String>>("({ 1: 'x', 20: 'y' })").unwrap(), expected);
    assert_eq!(from_js::<HashMap<u32, String>>("new Map([[1, 'x'], [20, 'y']])").unwrap(), expected);
    assert_eq!(from_js::<HashMap<i8, u8>>("({ '-3': 1 })").unwrap(), HashMap::from([(-3, 1)]));
    assert_eq!(from_js::<HashMap<bool, u8>>("({ true: 1 })").unwrap(), HashMap::from([(true, 1)]));
    assert_eq!(from_js::<HashMap<char, u8>>("({ é: 1 })").unwrap(), HashMap::from([('é', 1)]));
    refused(from_js::<HashMap<u32, u8>>("({ a: 1 })"));
    refused(from_js::<HashMap<u8, u8>>("({ 256: 1 })"));
    refused(from_js::<Value>("new Map([[{}, 1]])"));
}

#[test]
fn arrays_sets_and_typed_arrays_are_sequences() {
    assert_eq!(from_js::<Vec<u8>>("[1, 2]").unwrap(), [1, 2]);
    assert_eq!(from_js::<(u8, String)>("[1, 'a']").unwrap(), (1, "a".to_owned()));
    assert_eq!(from_js::<[u8; 2]>("[1, 2]").unwrap(), [1, 2]);
    refused(from_js::<(u8, u8)>("[1]"));
    assert_eq!(from_js::<BTreeSet<String>>("new Set(['a', 'b', 'a'])").unwrap().len(), 2);
    assert_eq!(from_js::<Value>("new Set([1, [2]])").unwrap(), json!([1, [2]]));
    let arrays = "[new Int8Array([-1]), new Uint16Array([65535]), new Int32Array([-5]), new Uint32Array([4294967295]), new Float32Array([0.5]), new Float64Array([2.5]), new Float16Array([1.5])]";
    assert_eq!(
        from_js::<Value>(arrays).unwrap(),
        json!([[-1], [65535], [-5], [4_294_967_295_u32], [0.5], [2.5], [1.5]])
    );
    assert_eq!(from_js::<Vec<i64>>("new BigInt64Array([-(2n ** 63n), 5n])").unwrap(), [i64::MIN, 5]);
    assert_eq!(from_js::<Vec<u64>>("new BigUint64Array([2n ** 64n - 1n])").unwrap(), [u64::MAX]);
    assert_eq!(from_js::<Vec<i16>>("new Int16Array([1, -2, 3]).subarray(1)").unwrap(), [-2, 3]);
}

#[test]
fn bytes_where_asked_for_else_numbers() {
    let sources = [
        "new Uint8Array([1, 2, 3])",
        "new Uint8ClampedArray([1, 2, 3])",
        "new Uint8Array([1, 2, 3]).buffer",
        "new DataView(new Uint8Array([1, 2, 3]).buffer)",
        "new Uint8Array([0, 1, 2, 3]).subarray(1)",
    ];
    for source in sources {
        assert_eq!(from_js::<ByteBuf>(source).unwrap(), [1, 2, 3].as_slice(), "{source}");
        assert_eq!(from_js::<Value>(source).unwrap(), json!([1, 2, 3]), "{source}");
        assert_eq!(from_js::<(ByteBuf,)>(&format!("[{source}]")).unwrap().0, [1, 2, 3].as_slice(), "[{source}]");
    }
    assert_eq!(from_js::<ByteBuf>("new Uint8Array(100_000).fill(7)").unwrap(), vec![7; 100_000].as_slice());
}

#[test]
fn a_date_is_text_or_milliseconds() {
    assert_eq!(from_js::<String>("new Date(0)").unwrap(), "1970-01-01T00:00:00.000Z");
    assert_eq!(
        from_js::<Value>("({ at: new Date(951782400000) })").unwrap(),
        json!({"at": "2000-02-29T00:00:00.000Z"})
    );
    assert_eq!(from_js::<i64>("new Date(-5)").unwrap(), -5);
    assert_eq!(from_js::<u64>("new Date(5)").unwrap(), 5);
    assert_eq!(from_js::<i128>("new Date(-5)").unwrap(), -5);
    assert_eq!(from_js::<u128>("new Date(5)").unwrap(), 5);
    assert_eq!(from_js::<f64>("new Date(5)").unwrap(), 5.0);
    let both = "[-1, 951782400000, -62198755200000, 253402300800000, 8.64e15, -8.64e15].map((d) => [new Date(d), new Date(d).toISOString()])";
    for (date, text) in from_js::<Vec<(String, String)>>(both).unwrap() {
        assert_eq!(date, text);
    }
    refused(from_js::<u64>("new Date(-5)"));
}

#[test]
fn a_boxed_primitive_is_the_primitive() {
    let boxed = "[Object(1.5), Object('s'), Object(true), Object(false)]";
    assert_eq!(from_js::<Value>(boxed).unwrap(), json!([1.5, "s", true, false]));
    assert_eq!(from_js::<i64>("Object(5n)").unwrap(), 5);
}

#[test]
fn an_error_is_its_name_message_and_cause() {
    let error = "new RangeError('bad', { cause: { code: [1] } })";
    assert_eq!(
        from_js::<Value>(error).unwrap(),
        json!({"name": "RangeError", "message": "bad", "cause": {"code": [1]}})
    );
    assert_eq!(from_js::<Value>("({ e: new Error('x') })").unwrap(), json!({"e": {"name": "Error", "message": "x"}}));
}

#[test]
fn what_has_no_counterpart_is_an_error_with_its_path() {
    let sources = [
        "/x/",
        "new SharedArrayBuffer(8)",
        "new Uint8Array(new SharedArrayBuffer(8))",
        "new WebAssembly.Memory({ initial: 1 })",
        "new WebAssembly.Module(new Uint8Array([0, 97, 115, 109, 1, 0, 0, 0]))",
        "new WeakMap()",
        "new WeakRef({})",
        "Promise.resolve(1)",
        "() => 1",
        "Symbol('x')",
        "(function* () {})()",
        "(async function* () {})()",
        "new Intl.NumberFormat('en')",
        "[1].values()",
        "[1].values().map((x) => x)",
        "new Map().entries()",
        "'ab'.matchAll(/a/g)",
        "Object(Symbol('s'))",
    ];
    for source in sources {
        let (path, message) = refused(from_js::<Value>(&format!("({{ a: [0, ({source})] }})")));
        assert!(path == "$.a[1]" && message.len() > 10, "{source}: {path}: {message}");
    }
}

#[test]
fn an_array_with_a_property_that_is_no_index_is_an_error() {
    let (_, message) = refused(from_js::<Value>("Object.assign([1, 2], { extra: 3 })"));
    assert!(message.contains("extra"), "{message}");
    refused(from_js::<Value>("'ab'.match(/a/)"));
}

#[test]
fn an_object_met_twice_is_decoded_twice_and_a_cycle_refused() {
    assert_eq!(from_js::<Value>("((x) => [x, { y: x }])({ q: 1 })").unwrap(), json!([{"q": 1}, {"y": {"q": 1}}]));
    refused(from_js::<Value>("((x) => { x.self = [x]; return x; })({})"));
    refused(from_js::<Value>("((x) => { x.set('me', x); return x; })(new Map())"));
}

#[test]
fn an_ignored_field_is_stepped_over() {
    let source = "({ x: 1, ignored: [NaN, undefined, 10n, new Date(NaN), /x/, { deep: [new Set([1])] }], y: 2 })";
    assert_eq!(from_js::<Point>(source).unwrap(), Point { x: 1, y: Some(2) });
}

#[test]
fn raw_json_takes_what_there_is() {
    let raw =
        from_js::<Box<serde_json::value::RawValue>>("({ a: [1, 'é', null, 1.5], m: new Map([['k', true]]) })").unwrap();
    let value: Value = serde_json::from_str(raw.get()).unwrap();
    assert_eq!(value, json!({"a": [1, "é", null, 1.5], "m": {"k": true}}));
    refused(from_js::<Box<serde_json::value::RawValue>>("[NaN]"));
}
