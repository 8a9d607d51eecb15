//! What a call may allow, on the way out; the way in is in `cells_in`.

use serde_json::{Value, json};

use super::{ENGINE, from_js, from_js_under, identity, refused, refused_at};
use jsmill::{BigInts, NonFinite, Policy, Script, Surrogates, Undefined};

const LAX: Policy = Policy {
    non_finite: NonFinite::Null,
    undefined: Undefined::Null,
    big_ints: BigInts::Allow,
    surrogates: Surrogates::Replace,
};

#[test]
fn the_default_refuses_them_all() {
    assert_eq!(
        Policy::default(),
        Policy {
            non_finite: NonFinite::Refuse,
            undefined: Undefined::Refuse,
            big_ints: BigInts::Refuse,
            surrogates: Surrogates::Refuse,
        }
    );
    for (expression, place) in [
        ("({ a: { b: NaN } })", "$.a.b"),
        ("[[-Infinity]]", "$[0][0]"),
        ("({ 'x y': undefined })", "$[\"x y\"]"),
        ("[0, 1n]", "$[1]"),
        ("['\\ud83e']", "$[0]"),
    ] {
        assert_eq!(refused_at(from_js::<Value>(expression)), place, "{expression}");
    }
}

#[test]
fn each_may_be_allowed() {
    assert_eq!(
        from_js_under::<Value>(LAX, "[NaN, Infinity, undefined, 1n, 'a\\ud83e']").unwrap(),
        json!([null, null, null, 1, "a\u{fffd}"])
    );
    assert_eq!(from_js_under::<Option<f64>>(LAX, "NaN").unwrap(), None);
    assert_eq!(from_js_under::<String>(LAX, "'\\ud83e'").unwrap(), "\u{fffd}");
}

#[test]
fn kept_floats_come_back_as_they_are() {
    let keep = Policy { non_finite: NonFinite::Keep, ..Policy::default() };
    assert!(from_js_under::<f64>(keep, "NaN").unwrap().is_nan());
    assert_eq!(from_js_under::<Vec<f64>>(keep, "[Infinity, -Infinity]").unwrap(), [f64::INFINITY, f64::NEG_INFINITY]);
    assert_eq!(identity(keep, &f64::INFINITY).unwrap(), f64::INFINITY);
    refused(from_js_under::<i64>(keep, "NaN"));
}

#[test]
fn a_policy_is_that_of_its_call_alone() {
    let script = Script::new("p.js", "const main = () => [NaN];").unwrap();
    for _ in 0..3 {
        assert_eq!(ENGINE.task(&script).values(LAX).call_blocking::<Value>("main", ()).unwrap(), json!([null]));
        refused(ENGINE.task(&script).call_blocking::<Value>("main", ()));
    }
}
