//! Scripts that fill the JavaScript heap: the call ends with the limit's name, the process stays, and so does the limit.
//!
//! In processes of their own, because a way around the limit ends the process.

use jsmill::{Bytes, Engine, ErrorKind};

use crate::assert_kind;
use crate::support::{
    SLACK, argument, call, child, engine_with, failure, forced_gc, in_child, is_child, leave, rss_bytes, script,
    still_works, text,
};

const FILL: &str = "const main = () => { const k = []; for (;;) k.push({ p: k.length, q: [k.length] }); };";

fn engine() -> Engine {
    engine_with(|builder| builder.heap_limit(Bytes::mib(32)))
}

#[test]
fn ten_times_in_a_row_without_a_ratchet() {
    in_child("heap::ten_times_in_a_row_without_a_ratchet", || {
        let engine = engine();
        let (mut limits, mut resident) = (Vec::new(), Vec::new());
        for _ in 0..10 {
            let error = failure(&engine, FILL, SLACK);
            assert_kind!(error, ErrorKind::HeapLimit { limit } if *limit == Bytes::mib(32));
            let text = error.to_string();
            assert!(text.contains("32 MiB") && text.contains("heap_limit") && text.contains("test.js"), "{text}");
            still_works(&engine);
            // The figures are renewed when an isolate is replaced.
            limits.push(engine.stats().workers[0].heap_limit);
            resident.push(rss_bytes());
        }
        assert!(limits.iter().all(|limit| *limit == limits[0]), "{limits:?}");
        assert!(limits[0].get() <= Bytes::mib(40).get(), "{limits:?}");
        let growth = resident[9].saturating_sub(resident[0]);
        assert!(forced_gc() || growth < Bytes::mib(64).get(), "{resident:?}");
        let stats = &engine.stats().workers[0];
        assert!(stats.isolates >= 11, "{} isolates", stats.isolates);
        assert_eq!(engine.stats().lost_total, 0);
    });
}

#[test]
fn other_workers_do_not_notice() {
    in_child("heap::other_workers_do_not_notice", || {
        let engine = engine_with(|builder| builder.workers(2).heap_limit(Bytes::mib(32)));
        let filler = {
            let engine = engine.clone();
            std::thread::spawn(move || {
                for _ in 0..3 {
                    assert_kind!(failure(&engine, FILL, SLACK), ErrorKind::HeapLimit { .. });
                }
            })
        };
        while !filler.is_finished() {
            still_works(&engine);
        }
        filler.join().expect("no panic");
    });
}

#[test]
fn what_a_script_catches_does_not_save_it() {
    in_child("heap::what_a_script_catches_does_not_save_it", || {
        let engine = engine();
        let source = "const main = () => { const k = []; for (;;) try { for (;;) k.push({ p: k }); } catch { } finally { k.push([]); } };";
        assert_kind!(failure(&engine, source, SLACK), ErrorKind::HeapLimit { .. });
        still_works(&engine);
    });
}

#[test]
fn a_script_with_much_garbage_is_not_stopped() {
    let engine = engine();
    let source = "const main = (n) => { let sum = 0; for (let i = 0; i < n; i++) sum += [i, { i }, `${i}`].length; return sum; };";
    let rounds = if forced_gc() { 10_000 } else { 2_000_000 };
    let result = engine.task(&script(source)).timeout(SLACK).call_blocking::<u32>("main", (rounds,));
    assert_eq!(result.expect("nothing is kept"), rounds * 3);
}

#[test]
fn memory_kept_by_many_scripts_is_given_back() {
    in_child("heap::memory_kept_by_many_scripts_is_given_back", || {
        // Each snapshot binds 2 MiB of data; together they pass the limit many times over.
        let engine = engine();
        for round in 0..60 {
            let source = format!(
                "const data = Array.from({{ length: 60000 }}, (_, i) => [i + {round}]); const main = () => data.length;"
            );
            let result = engine.task(&script(&source)).timeout(SLACK).call_blocking::<u32>("main", ());
            assert_eq!(result.unwrap_or_else(|error| panic!("round {round}: {error}")), 60_000);
        }
        still_works(&engine);
    });
}

/// Ways past V8's callback at the limit, each with a name. A child runs one, and must live and answer with an error or a result.
const WAYS: &[(&str, &str)] = &[
    ("array from a length", "Array.from({ length: 2 ** 27 }).length"),
    ("fill of a long array", "new Array(2 ** 27).fill(1).length"),
    ("fill with objects", "new Array(2 ** 25).fill(0).map((_, i) => ({ i })).length"),
    (
        "dense array of the greatest length",
        "(() => { const a = []; for (let i = 0; i < 2 ** 28; i++) a.push(1.5); return a.length; })()",
    ),
    ("concatenated arrays", "(() => { let a = new Array(2 ** 20).fill(1); for (;;) a = a.concat(a); })()"),
    ("spread of a long array", "(() => { let a = new Array(2 ** 22).fill(1); for (;;) a = [...a, ...a]; })()"),
    ("spread into arguments", "Math.max(...new Array(2 ** 24).fill(1))"),
    (
        "push of spread arguments",
        "(() => { const a = []; const b = new Array(60000).fill({}); for (;;) a.push(...b); })()",
    ),
    ("array from a set", "Array.from(new Set(Array.from({ length: 2 ** 23 }, (_, i) => i))).length"),
    (
        "repeated and flattened string",
        "(() => { const k = []; for (let i = 0; ; i++) { const s = ('x' + i).repeat(2 ** 22); s.charCodeAt(5); k.push(s); } })()",
    ),
    (
        "flattened rope",
        "(() => { let s = 'ab\\u0416'; while (s.length < 2 ** 28) s += s; return s.charCodeAt(s.length - 1); })()",
    ),
    (
        "many ropes",
        "(() => { const k = []; let s = 'ab'.repeat(2 ** 24); for (let i = 0; ; i++) { const t = s + i; /x/.test(t); k.push(t); } })()",
    ),
    ("join of a long array", "new Array(2 ** 24).fill('abcdefgh').join('-').length"),
    ("split of a long string", "'x'.repeat(2 ** 26).split('').length"),
    (
        "padded strings",
        "(() => { const k = []; for (let i = 0; ; i++) { const s = `${i}`.padStart(2 ** 23, 'xy'); s.charCodeAt(7); k.push(s); } })()",
    ),
    ("huge numbers", "(() => { const k = []; for (let i = 0n; ; i++) k.push((1n << 8_000_000n) + i); })()"),
    ("doubled huge number", "(() => { let n = 1n; for (;;) n = (n << 1000000n) | 1n; })()"),
    (
        "text of a huge number",
        "(() => { const k = []; for (let i = 0n; ; i++) k.push(((1n << 20_000_000n) + i).toString(16)); })()",
    ),
    ("parsed JSON", "JSON.parse('[' + '[1],'.repeat(2 ** 23) + '0]').length"),
    ("parsed JSON objects", "JSON.parse('[' + '{\"a\":{}},'.repeat(2 ** 22) + '0]').length"),
    (
        "stringified value",
        "(() => { const a = new Array(2 ** 20).fill('x'.repeat(500)); return JSON.stringify(a).length; })()",
    ),
    (
        "map that grows",
        "(() => { const m = new Map(); for (let i = 0; i < 2 ** 24 + 1; i++) m.set(i, i); return m.size; })()",
    ),
    (
        "set that grows",
        "(() => { const m = new Set(); for (let i = 0; i < 2 ** 24 + 1; i++) m.add(i); return m.size; })()",
    ),
    ("object as a dictionary", "(() => { const o = {}; for (let i = 0; ; i++) o[`k${i}`] = i; })()"),
    ("regular expression matches", "'ab'.repeat(2 ** 24).match(/a/g).length"),
    ("replacement with a function", "'ab'.repeat(2 ** 23).replace(/a/g, (m) => m + 'xyz').length"),
    ("closures", "(() => { const k = []; for (;;) { const x = k.length; k.push(() => x); } })()"),
    ("promises", "(() => { const k = []; for (;;) k.push(new Promise(() => {}).then(() => k)); })()"),
    ("weak references", "(() => { const k = []; for (;;) { const o = {}; k.push(o, new WeakRef(o)); } })()"),
    (
        "weak maps",
        "(() => { const k = []; const m = new WeakMap(); for (;;) { const o = {}; k.push(o); m.set(o, [o]); } })()",
    ),
    ("symbols", "(() => { const k = []; for (;;) k.push(Symbol(`s${k.length}`), Symbol.for(`s${k.length}`)); })()"),
    (
        "a second long array",
        "(() => { const k = []; for (let i = 0; i < 64; i++) k.push(new Array(2 ** 25).fill(i)); return k.length; })()",
    ),
    ("fill with objects of a longer array", "new Array(2 ** 26).fill(0).map((_, i) => [i]).length"),
    (
        "sorted long array",
        "(() => { const a = new Array(2 ** 22).fill(0).map((_, i) => ({ i })); return a.toSorted((x, y) => y.i - x.i).length; })()",
    ),
    ("flat map", "(() => { let a = new Array(2 ** 16).fill(1); for (;;) a = a.flatMap((x) => [x, [x]]); })()"),
    (
        "object entries",
        "(() => { const o = {}; for (let i = 0; i < 2 ** 20; i++) o[`k${i}`] = i; return Object.entries(o).map((e) => [...e, e]).length; })()",
    ),
    (
        "collections that free nothing",
        "(() => { let head = null; for (;;) head = { head, pad: new Array(1000).fill(head) }; })()",
    ),
    (
        "encoded text",
        "(() => { const k = []; const s = '\\u0416'.repeat(2 ** 20); for (;;) k.push(encodeURIComponent(s)); })()",
    ),
    (
        "normalized text",
        "(() => { const k = []; const s = '\\ufdfa'.repeat(2 ** 20); for (;;) k.push(s.normalize('NFKD')); })()",
    ),
    (
        "formatted numbers",
        "(() => { const k = []; const f = new Intl.NumberFormat('de'); for (let i = 0; ; i++) k.push(f.formatToParts(i)); })()",
    ),
];

/// The ways on which V8 itself ends the process. The limits in the crate's documentation list them.
const FATAL: &[&str] = &[];

#[test]
fn one_way_past_the_callback() {
    let name = "heap::one_way_past_the_callback";
    if !is_child(name) {
        // The test below starts the children; here is only what they run.
        assert!(WAYS.iter().all(|(name, body)| !name.is_empty() && !body.is_empty()));
        return;
    }
    let wanted = argument();
    let (_, body) = WAYS.iter().find(|(name, _)| *name == wanted).expect("a way of that name");
    let engine = engine();
    let result = engine
        .task(&script(&format!("const main = () => {body};")))
        .timeout(std::time::Duration::from_secs(10))
        .call_blocking::<serde_json::Value>("main", ());
    let outcome = match result {
        Ok(value) => format!("gave {value}"),
        Err(error) => match error.kind() {
            ErrorKind::HeapLimit { .. } => "HeapLimit".to_owned(),
            ErrorKind::SliceTimeout { .. } => format!("SliceTimeout, {} lost", engine.stats().lost_total),
            ErrorKind::Script(thrown) if thrown.name == "RangeError" => format!("RangeError: {}", thrown.message),
            ErrorKind::StackOverflow(_) => "StackOverflow".to_owned(),
            _ => panic!("no limit: {error}"),
        },
    };
    assert_eq!(call::<u32>(&engine, "const main = () => 42;", "main", ()).expect("a trivial call"), 42);
    let peak = std::fs::read_to_string("/proc/self/status").expect("the figures of this process");
    let peak = peak.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect("the peak").trim().to_owned();
    println!("outcome: {outcome}; peak {peak}");
    leave();
}

#[test]
fn ways_past_the_callback() {
    let mut table = String::new();
    let mut wrong = Vec::new();
    for &(name, _) in WAYS {
        let output = child("heap::one_way_past_the_callback", name, std::time::Duration::from_secs(90));
        let (stdout, stderr) = (text(&output.stdout), text(&output.stderr));
        let outcome = stdout.lines().find_map(|line| Some(line.split_once("outcome: ")?.1.to_owned()));
        let died = !output.status.success();
        let line = match &outcome {
            Some(outcome) if !died => outcome.clone(),
            _ => {
                let why =
                    stderr.lines().find(|line| line.contains("atal") || line.contains("panicked")).unwrap_or("no text");
                format!("{}: {why}", output.status)
            }
        };
        table.push_str(&format!("| {name} | {line} |\n"));
        if died != FATAL.contains(&name) {
            wrong.push(format!("{name}: {line}"));
        }
    }
    println!("{table}");
    assert!(wrong.is_empty(), "not as documented:\n{}", wrong.join("\n"));
}
