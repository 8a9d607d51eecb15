//! Values that other engines lose, change, or choke on.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::{ENGINE, from_js, from_js_under, refused, refused_at, thrown, to_js};
use jsmill::{ErrorKind, Policy, Script, Surrogates};

#[test]
fn no_wide_integer_changes() {
    for expression in ["2**53", "2**53 + 2", "3e44", "1.5"] {
        refused(from_js::<i64>(expression));
        refused(from_js::<u64>(expression));
        refused(from_js::<i32>(expression));
        let exact = from_js::<f64>(expression).unwrap();
        assert_eq!(from_js::<Value>(expression).unwrap(), json!(exact));
    }
    for (expression, big) in [("9007199254740993n", 9_007_199_254_740_993_i128), ("2n**64n", 1 << 64), ("-1n", -1)] {
        assert_eq!(from_js::<i64>(expression).ok(), i64::try_from(big).ok(), "{expression}");
        assert_eq!(from_js::<u64>(expression).ok(), u64::try_from(big).ok(), "{expression}");
        assert_eq!(from_js::<i32>(expression).ok(), i32::try_from(big).ok(), "{expression}");
        refused(from_js::<f64>(expression));
        refused(from_js::<Value>(expression));
    }
    assert_eq!(from_js::<i64>("-0").unwrap(), 0, "a whole number without a fraction");
    assert_eq!(from_js::<i64>("1.0").unwrap(), 1);
}

#[test]
fn nothing_vanishes() {
    let parts = [
        ("f() {}", "$.f"),
        ("u: undefined", "$.u"),
        ("l: [undefined, , 3]", "$.l[0]"),
        ("at: new Date(NaN)", "$.at"),
        ("by: new Map([[{}, 'x']])", "$.by"),
        ("w: new WeakSet()", "$.w"),
    ];
    for (part, place) in parts {
        let at = refused_at(from_js::<Value>(&format!("({{ ok: 1, {part} }})")));
        assert!(at.starts_with(place), "{part}: {at}");
    }
    let kept = from_js::<Value>("({ tags: new Set(['a']), by: new Map([[1, 'x']]) })").unwrap();
    assert_eq!(kept, json!({"tags": ["a"], "by": {"1": "x"}}));
    refused(from_js::<Value>(
        "({ tags: new Set(['a']), by: new Map([[1, 'x']]), at: new Date(NaN), f() {}, u: undefined, l: [undefined, , 3] })",
    ));
}

#[test]
fn a_key_that_is_a_symbol_is_refused_or_left_out_by_rule() {
    // Symbol keys are no data: `JSON.stringify`, structured clone and this border all step over them.
    assert_eq!(from_js::<Value>("({ [Symbol('s')]: 1, a: 2 })").unwrap(), json!({"a": 2}));
}

#[test]
fn a_whole_result_without_a_form_is_an_error() {
    for expression in ["() => 1", "Symbol('x')", "undefined", "({ toJSON() {} })"] {
        refused(from_js::<Value>(expression));
    }
    from_js::<()>("undefined").unwrap();
    refused(from_js::<()>("() => 1"));
}

#[test]
fn half_a_surrogate_pair_never_passes_silently() {
    refused(from_js::<Value>("'\\u{1F9EA}'.slice(0, 1)"));
    refused(from_js::<String>("'\\u{1F9EA}'.slice(1)"));
    refused(from_js::<Value>("({ ['\\ud83d']: 1, ['\\ud83e']: 2 })"));
    refused(from_js::<Value>("new Map([['\\ud83d', 1]])"));
    assert_eq!(refused_at(from_js::<Value>("({ a: ['ok', 'x\\udc00y'] })")), "$.a[1]");
    let replace = Policy { surrogates: Surrogates::Replace, ..Policy::default() };
    assert_eq!(from_js_under::<Value>(replace, "['x\\udc00y', '\\u{1F9EA}']").unwrap(), json!(["x\u{fffd}y", "🧪"]));
}

#[test]
fn half_a_surrogate_pair_in_an_error_or_log_fails_nothing_else() {
    let (name, message) = thrown(from_js::<Value>("(() => { throw new TypeError('cut \\ud83e here'); })()"));
    assert_eq!((name.as_str(), message.as_str()), ("TypeError", "cut \u{fffd} here"));
    assert_eq!(from_js::<Value>("(console.log('\\ud83e'), console.error({ a: '\\ud83d' }), 1)").unwrap(), json!(1));
}

#[test]
fn an_array_that_lies_about_its_length_costs_nothing() {
    let sources = [
        "((a) => { a[3_000_000_000] = 1; return a; })([])",
        "((a) => { a.length = 4e9; return a; })([1])",
        "new Proxy([1, 2], { get: (t, k) => (k === 'length' ? 1e9 : t[k]) })",
        "new Array(4294967295)",
    ];
    for source in sources {
        let start = Instant::now();
        for wrapped in [source.to_owned(), format!("({{ a: {source} }})")] {
            let error = from_js::<Value>(&wrapped).unwrap_err();
            assert!(
                matches!(error.kind(), ErrorKind::Convert { .. } | ErrorKind::ResultTooLarge { .. }),
                "{wrapped}: {error}"
            );
        }
        assert!(start.elapsed() < Duration::from_secs(5), "{source} took {:?}", start.elapsed());
    }
    let (_, message) = refused(from_js::<Value>("Object.assign([1, 2], { extra: 3 })"));
    assert!(message.contains("extra"), "{message}");
}

#[test]
fn proto_and_its_friends_are_data() {
    let text =
        r#"{"__proto__":{"role":"root"},"constructor":{"prototype":{"z":1}},"hasOwnProperty":0,"toString":null}"#;
    let value: Value = serde_json::from_str(text).unwrap();
    let source = "const main = (x) => ({ own: Object.keys(x), leaked: x.role === undefined, fresh: ({}).role === undefined, z: ({}).z === undefined, back: x });";
    let script = Script::new("proto.js", source).unwrap();
    let found: Value = ENGINE.task(&script).call_blocking("main", (&value,)).unwrap();
    let own = json!(["__proto__", "constructor", "hasOwnProperty", "toString"]);
    assert_eq!(found, json!({"own": own, "leaked": true, "fresh": true, "z": true, "back": value}));

    let raw = serde_json::value::RawValue::from_string(text.to_owned()).unwrap();
    let found: Value = ENGINE.task(&script).call_blocking("main", (&raw,)).unwrap();
    assert_eq!(found["own"], own);
    assert_eq!(found["back"], value);

    // Through the copy that a function-valued neighbour or a proxy forces.
    let proxied = "new Proxy(JSON.parse('{\"__proto__\":{\"role\":1},\"a\":2}'), {})";
    assert_eq!(from_js::<Value>(proxied).unwrap(), json!({"__proto__": {"role": 1}, "a": 2}));
}

#[test]
fn order_of_keys_is_that_of_javascript() {
    let found = to_js(&json!({"load": 1, "10": 2, "2": 3}), "Object.keys(v).slice(0, 2)");
    assert_eq!(found.unwrap(), json!(["2", "10"]));
}
