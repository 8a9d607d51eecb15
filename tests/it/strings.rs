//! Strings at V8's greatest length, on both sides of the border.
//!
//! In processes of their own, because they take gigabytes for a moment.

use std::collections::HashMap;

use jsmill::{Bytes, Engine, ErrorKind, Script};

use crate::assert_kind;
use crate::support::{SLACK, call, engine, engine_with, failure, in_child, script, still_works};

/// The longest string of V8, in UTF-16 code units.
const LONGEST: usize = (1 << 29) - 24;

fn roomy() -> Engine {
    engine_with(|builder| builder.heap_limit(Bytes::gib(3)))
}

#[test]
fn growing_a_string_past_the_maximum_throws() {
    let engine = engine();
    let error = failure(&engine, "const main = () => { let s = 'ab'; for (;;) s += s; };", SLACK);
    assert_kind!(error, ErrorKind::Script(thrown) if thrown.name == "RangeError" && thrown.message == "Invalid string length");
    still_works(&engine);
    let caught = "const main = () => { try { return 'x'.repeat(2 ** 30).length; } catch (e) { return e.name; } };";
    assert_eq!(call::<String>(&engine, caught, "main", ()).expect("it is caught"), "RangeError");
}

#[test]
fn the_longest_string_as_a_result_is_too_large() {
    in_child("strings::the_longest_string_as_a_result_is_too_large", || {
        let engine = roomy();
        for body in [
            "'x'.repeat(2 ** 29 - 24)",
            "'\\u0416'.repeat(2 ** 28)",
            "[1, 'x'.repeat(2 ** 27)]",
            "({ a: { b: 'x'.repeat(2 ** 27) } })",
            "({ ['x'.repeat(2 ** 27)]: 1 })",
            "new Map([['x'.repeat(2 ** 27), 1]])",
        ] {
            let error = failure(&engine, &format!("const main = () => {body};"), SLACK);
            assert_kind!(error, ErrorKind::ResultTooLarge { limit } if *limit == Bytes::mib(64));
            assert!(error.to_string().contains("result_limit"), "{error}");
            still_works(&engine);
        }
    });
}

/// A limit on what comes out also bounds what is made on the way out.
#[test]
fn one_string_many_times_does_not_fill_the_machine() {
    in_child("strings::one_string_many_times_does_not_fill_the_machine", || {
        let engine = engine_with(|builder| builder.heap_limit(Bytes::mib(256)));
        for body in [
            "new Array(64).fill('x'.repeat(2 ** 25))",
            "new Array(64).fill({ s: 'y'.repeat(2 ** 25) }).map((o) => ({ ...o }))",
        ] {
            let error = failure(&engine, &format!("const main = () => {body};"), SLACK);
            assert_kind!(error, ErrorKind::ResultTooLarge { .. });
            still_works(&engine);
        }
        let status = std::fs::read_to_string("/proc/self/status").expect("the figures of this process");
        let peak = status
            .lines()
            .find_map(|line| line.strip_prefix("VmHWM:"))
            .and_then(|text| text.trim().strip_suffix(" kB"));
        let peak: u64 = peak.and_then(|text| text.trim().parse().ok()).expect("the peak");
        assert!(peak < 1 << 20, "the process has taken {} MiB for a result of 64 MiB at most", peak >> 10);
    });
}

#[test]
fn a_longest_string_passes_where_the_limit_allows() {
    in_child("strings::a_longest_string_passes_where_the_limit_allows", || {
        let engine = roomy();
        let source = script(&format!("const main = () => 'x'.repeat({LONGEST}); const length = (s) => s.length;"));
        let result =
            engine.task(&source).timeout(SLACK * 3).result_limit(Bytes::gib(2)).call_blocking::<String>("main", ());
        let longest = result.expect("2 GiB are enough");
        assert_eq!(longest.len(), LONGEST);
        let length = engine
            .task(&source)
            .timeout(SLACK * 3)
            .result_limit(Bytes::gib(2))
            .call_blocking::<usize>("length", (&longest,));
        assert_eq!(length.expect("it came from V8"), LONGEST);
        still_works(&engine);
    });
}

#[test]
fn text_of_the_host_beyond_v8s_maximum_is_refused() {
    in_child("strings::text_of_the_host_beyond_v8s_maximum_is_refused", || {
        let engine = roomy();
        let source = script("const main = (s) => 1;");
        let huge = "x".repeat(600 << 20);
        let error = engine.task(&source).call_blocking::<u32>("main", (&huge,)).expect_err("beyond the call's limit");
        assert_kind!(error, ErrorKind::ResultTooLarge { .. });
        let wide = engine.task(&source).timeout(SLACK * 3).result_limit(Bytes::gib(4));
        let error = wide.clone().call_blocking::<u32>("main", (&huge,)).expect_err("beyond V8's maximum");
        assert_kind!(error, ErrorKind::Convert { .. });
        assert!(error.to_string().contains("longest string"), "{error}");
        still_works(&engine);
        let error = wide.clone().call_blocking::<u32>("main", (vec![&huge],)).expect_err("beyond V8's maximum");
        assert_kind!(error, ErrorKind::Convert { .. });
        let map = HashMap::from([(huge, 1)]);
        let error = wide.call_blocking::<u32>("main", (&map,)).expect_err("beyond V8's maximum");
        assert_kind!(error, ErrorKind::Convert { .. });
        still_works(&engine);
    });
}

#[test]
fn a_source_beyond_v8s_maximum_is_refused() {
    in_child("strings::a_source_beyond_v8s_maximum_is_refused", || {
        let engine = engine();
        let source = format!("const main = () => 1; //{}", "x".repeat(600 << 20));
        let error = Script::new("huge.js", source).expect_err("too long");
        assert_kind!(error, ErrorKind::Config(_));
        assert!(error.to_string().contains("huge.js"), "{error}");
        still_works(&engine);
    });
}

#[test]
fn a_thrown_text_of_any_length_is_cut() {
    in_child("strings::a_thrown_text_of_any_length_is_cut", || {
        let engine = roomy();
        for body in [
            "throw new Error('x'.repeat(2 ** 28))",
            "throw 'x'.repeat(2 ** 28)",
            "const e = new Error('a'); e.name = 'n'.repeat(2 ** 28); throw e",
        ] {
            let error = failure(&engine, &format!("const main = () => {{ {body}; }};"), SLACK);
            assert_kind!(error, ErrorKind::Script(_));
            assert!(error.to_string().len() < 20_000, "{} bytes", error.to_string().len());
            still_works(&engine);
        }
    });
}

#[test]
fn names_of_any_length_are_no_fault() {
    let engine = engine();
    let name = "n".repeat(1 << 20);
    let source = script("const main = () => 1;");
    let error = engine.task(&source).call_blocking::<u32>(&name, ()).expect_err("there is no such function");
    assert_kind!(error, ErrorKind::NoSuchFunction { .. });
    let named = Script::new(name, "const main = () => { throw new Error('x'); };").expect("a script");
    let error = engine.task(&named).call_blocking::<u32>("main", ()).expect_err("it throws");
    assert_kind!(error, ErrorKind::Script(_));
    still_works(&engine);
}
