//! Code of the script that runs while its values are read: getters, proxies, `toJSON`.

use std::time::Duration;

use serde_json::{Value, json};

use super::{ENGINE, from_js, refused, refused_at, thrown};
use jsmill::{ErrorKind, Script};

#[test]
fn a_getter_is_read_once() {
    assert_eq!(from_js::<Value>("({ get a() { return [1, 2]; } })").unwrap(), json!({"a": [1, 2]}));
    let counted = "((n) => ({ get a() { return ++n; } }))(0)";
    assert_eq!(from_js::<Value>(counted).unwrap(), json!({"a": 1}));
}

#[test]
fn what_a_getter_throws_is_the_error() {
    let (name, message) = thrown(from_js::<Value>("({ a: [{ get b() { throw new RangeError('not now'); } }] })"));
    assert_eq!((name.as_str(), message.as_str()), ("RangeError", "not now"));
    let (name, message) = thrown(from_js::<Value>("({ get a() { throw 'plain'; } })"));
    assert_eq!(name, "Error");
    assert!(message.contains("plain"), "{message}");
}

#[test]
fn to_json_speaks_for_its_object() {
    assert_eq!(from_js::<Value>("({ toJSON() { return { x: 1 }; } })").unwrap(), json!({"x": 1}));
    assert_eq!(from_js::<Value>("[{ secret: 1, toJSON: () => 'shown' }]").unwrap(), json!(["shown"]));
    let (name, _) = thrown(from_js::<Value>("({ toJSON() { throw new SyntaxError('s'); } })"));
    assert_eq!(name, "SyntaxError");
}

#[test]
fn to_json_of_a_class_is_the_same_as_an_own_one() {
    let inherited = "new (class Money { constructor() { this.cents = 5; } toJSON() { return '5 ct'; } })";
    let own = "((m) => { m.toJSON = () => '5 ct'; return m; })({ cents: 5 })";
    assert_eq!(from_js::<Value>(own).unwrap(), json!("5 ct"));
    assert_eq!(from_js::<Value>(inherited).unwrap(), json!("5 ct"));
    assert_eq!(from_js::<Value>(&format!("[{inherited}]")).unwrap(), json!(["5 ct"]));
}

#[test]
fn a_proxy_is_what_it_shows() {
    assert_eq!(from_js::<Value>("new Proxy({ a: 1, b: [2] }, {})").unwrap(), json!({"a": 1, "b": [2]}));
    assert_eq!(from_js::<Value>("[new Proxy([1, 2], {})]").unwrap(), json!([[1, 2]]));
    let shown = "new Proxy({}, { ownKeys: () => ['x'], getOwnPropertyDescriptor: () => ({ value: 7, enumerable: true, configurable: true }), get: () => 7 })";
    assert_eq!(from_js::<Value>(shown).unwrap(), json!({"x": 7}));
    let (name, message) = thrown(from_js::<Value>("new Proxy({ a: 1 }, { get() { throw new Error('trap'); } })"));
    assert_eq!((name.as_str(), message.as_str()), ("Error", "trap"));
    let (name, _) = thrown(from_js::<Value>("new Proxy({ a: 1 }, { ownKeys() { throw new TypeError('keys'); } })"));
    assert_eq!(name, "TypeError");
    let revoked = "((p) => { p.revoke(); return { a: p.proxy }; })(Proxy.revocable({}, {}))";
    let error = from_js::<Value>(revoked).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Script(_) | ErrorKind::Convert { .. }), "{error}");
}

#[test]
fn the_copy_that_a_proxy_makes_necessary_loses_nothing() {
    let proxy = "new Proxy({ p: 1 }, {})";
    let parts = [
        ("new Map([['k', [1]]])", json!({"k": [1]})),
        ("new Set(['a'])", json!(["a"])),
        ("new Date(0)", json!("1970-01-01T00:00:00.000Z")),
        ("new Uint8Array([1, 2])", json!([1, 2])),
        ("Object(1.5)", json!(1.5)),
        ("new RangeError('r')", json!({"name": "RangeError", "message": "r"})),
        ("JSON.parse('{\"__proto__\":1}')", json!({"__proto__": 1})),
    ];
    for (part, form) in parts {
        assert_eq!(from_js::<Value>(&format!("[{part}, {proxy}]")).unwrap(), json!([form, {"p": 1}]), "{part}");
    }
    let (_, message) = refused(from_js::<Value>(&format!("[Object.assign([1, 2], {{ extra: 3 }}), {proxy}]")));
    assert!(message.contains("extra"), "{message}");
    for refusal in
        ["[1, , 3]", "[undefined]", "NaN", "1n", "'\\ud83e'", "((x) => (x.x = x))({})", "new Date(NaN)", "/x/"]
    {
        assert!(refused_at(from_js::<Value>(&format!("[{proxy}, {refusal}]"))).starts_with("$[1]"), "{refusal}");
    }
}

#[test]
fn a_function_beside_data_is_named_with_its_path() {
    assert_eq!(refused_at(from_js::<Value>("({ a: [{ 'b c': () => 1 }] })")), "$.a[0][\"b c\"]");
    let (_, message) = refused(from_js::<Value>("({ s: Symbol('x') })"));
    assert!(message.contains("symbol"), "{message}");
}

#[test]
fn reading_that_never_ends_meets_the_timeout() {
    let sources = [
        "({ id: 7, get note() { for (;;); } })",
        "({ toJSON() { for (;;); } })",
        "new Proxy({ a: 1 }, { get() { for (;;); } })",
        "new Proxy({ a: 1 }, { ownKeys() { for (;;); } })",
        "new Proxy({ a: 1 }, { getOwnPropertyDescriptor() { for (;;); } })",
        "(() => { throw { get message() { for (;;); } }; })()",
        "(() => { throw { get name() { for (;;); } }; })()",
        "(() => { throw { message: { toString() { for (;;); } } }; })()",
    ];
    for source in sources {
        let script = Script::new("loop.js", format!("const main = () => {source};")).unwrap();
        let error =
            ENGINE.task(&script).timeout(Duration::from_millis(100)).call_blocking::<Value>("main", ()).unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::SliceTimeout { .. }), "{source}: {error}");
        assert_eq!(from_js::<u8>("42").unwrap(), 42);
    }
}

#[test]
fn reading_that_changes_the_value_is_safe() {
    let sources = [
        "((a) => { a[0] = { get x() { a.length = 0; return 1; } }; a[1] = 2; return a; })([])",
        "((o) => { Object.defineProperty(o, 'a', { enumerable: true, get() { delete o.b; return 1; } }); o.b = 2; return o; })({})",
        "((m) => { m.set('a', { get x() { m.clear(); return 1; } }); m.set('b', 1); return m; })(new Map())",
        "((b) => ({ get a() { b.transfer(); return 1; }, view: new Uint8Array(b) }))(new ArrayBuffer(64))",
        "((b) => ({ get a() { b.resize(1); return 1; }, view: new Uint8Array(b, 8) }))(new ArrayBuffer(64, { maxByteLength: 128 }))",
    ];
    for source in sources {
        match from_js::<Value>(source) {
            Ok(value) => assert!(value.is_object() || value.is_array(), "{source}: {value}"),
            Err(error) => {
                assert!(matches!(error.kind(), ErrorKind::Script(_) | ErrorKind::Convert { .. }), "{source}: {error}");
            }
        }
        assert_eq!(from_js::<u8>("42").unwrap(), 42, "{source}");
    }
}
