//! Depth and size: at the limit, beyond it, and far beyond it, both ways.

use serde::ser::{Serialize, SerializeMap, SerializeSeq, Serializer};
use serde_json::{Value, json};

use super::{ENGINE, from_js, from_js_within, refused, to_js};
use jsmill::{Bytes, ErrorKind, Limits, Policy, Script};

/// Arrays (or objects) in each other, made as they are written.
struct Nested {
    levels: usize,
    object: bool,
}

impl Serialize for Nested {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let inner = Nested { levels: self.levels - 1, object: self.object };
        if self.object {
            let mut map = serializer.serialize_map(Some(1))?;
            if inner.levels > 0 {
                map.serialize_entry("n", &inner)?;
            }
            map.end()
        } else {
            let mut seq = serializer.serialize_seq(None)?;
            if inner.levels > 0 {
                seq.serialize_element(&inner)?;
            }
            seq.end()
        }
    }
}

fn nested_js(levels: usize, wrap: &str) -> String {
    format!("((n) => {{ for (let k = 1; k < {levels}; k++) n = {wrap}; return n; }})([])")
}

const DEEPEST: &str = "((n) => { let levels = 1; while (n = n[0] ?? n.n) levels++; return levels; })(v)";

#[test]
fn the_documented_depth_passes_both_ways() {
    let limit = Limits::default().depth;
    for object in [false, true] {
        assert_eq!(to_js(&Nested { levels: limit, object }, DEEPEST).unwrap(), json!(limit));
        let (_, message) = refused(to_js(&Nested { levels: limit + 1, object }, "1"));
        assert!(message.contains(&limit.to_string()), "{message}");
    }
    for wrap in ["[n]", "({ n })", "new Map([['n', n]])", "new Set([n])", "new Proxy([n], {})"] {
        assert!(from_js::<Value>(&nested_js(limit, wrap)).is_ok(), "{wrap}");
        let (_, message) = refused(from_js::<Value>(&nested_js(limit + 1, wrap)));
        assert!(message.contains(&limit.to_string()), "{wrap}: {message}");
    }
}

#[test]
fn depth_far_beyond_the_limit_overflows_no_stack() {
    for wrap in ["[n]", "({ n })", "({ value: 1, next: n })", "new Proxy([n], {})", "({ toJSON() { return [n]; } })"] {
        for levels in [3_000, 300_000] {
            let error = from_js::<Value>(&nested_js(levels, wrap)).unwrap_err();
            let right = matches!(error.kind(), ErrorKind::Convert { .. } | ErrorKind::ResultTooLarge { .. });
            assert!(right, "{wrap}, {levels}: {error}");
            assert_eq!(from_js::<u8>("42").unwrap(), 42, "{wrap}, {levels}");
        }
    }
    for object in [false, true] {
        refused(to_js(&Nested { levels: 300_000, object }, "1"));
    }
    let raw = serde_json::value::RawValue::from_string("[".repeat(100) + &"]".repeat(100)).unwrap();
    assert_eq!(to_js(&raw, DEEPEST).unwrap(), json!(100));
}

#[test]
fn a_call_may_set_its_own_depth() {
    let limits = Limits { depth: 3, ..ENGINE.limits() };
    assert!(from_js_within::<Value>(Policy::default(), limits, "[[[]]]").is_ok());
    let (_, message) = refused(from_js_within::<Value>(Policy::default(), limits, "[[[[]]]]"));
    assert!(message.contains('3'), "{message}");
}

#[test]
fn a_result_beyond_its_limit_is_refused() {
    let limits = Limits { result: Bytes::mib(1), ..ENGINE.limits() };
    for expression in [
        "'x'.repeat(2 ** 21)",
        "'é'.repeat(2 ** 21)",
        "'日'.repeat(2 ** 21)",
        "['x'.repeat(2 ** 21)]",
        "new Uint8Array(2 ** 21)",
        "Array.from({ length: 300_000 }, (_, i) => 'item' + i)",
        "((b) => { for (let i = 0; i < 40; i++) b = [b, b]; return b; })([])",
        "new Proxy(Array.from({ length: 300_000 }, (_, i) => 'item' + i), {})",
    ] {
        let error = from_js_within::<Value>(Policy::default(), limits, expression).unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::ResultTooLarge { .. }), "{expression}: {error}");
        assert!(error.to_string().contains("1 MiB"), "{error}");
        assert!(error.is_limit());
    }
    assert_eq!(from_js_within::<String>(Policy::default(), limits, "'x'.repeat(1000)").unwrap().len(), 1000);
}

#[test]
fn arguments_beyond_their_limit_are_refused() {
    let script = Script::new("a.js", "const main = (v) => v.length;").unwrap();
    let small = |value: &dyn erased::Value| value.call(&script);
    assert!(matches!(
        small(&"x".repeat(2 << 20)).unwrap_err().kind(),
        ErrorKind::ResultTooLarge { .. } | ErrorKind::Convert { .. }
    ));
    assert!(small(&vec![1_u64; 1 << 20]).is_err());
    assert_eq!(small(&"x".repeat(1000)).unwrap(), 1000);
}

/// Arguments of several types in one list.
mod erased {
    use super::{Bytes, ENGINE, Script, Serialize};
    use std::sync::Arc;

    pub trait Value {
        fn call(&self, script: &Arc<Script>) -> jsmill::Result<usize>;
    }

    impl<T: Serialize> Value for T {
        fn call(&self, script: &Arc<Script>) -> jsmill::Result<usize> {
            ENGINE.task(script).result_limit(Bytes::mib(1)).call_blocking("main", (self,))
        }
    }
}
