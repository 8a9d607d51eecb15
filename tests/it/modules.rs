//! Scripts of several modules: linked by name, loaded in one go, and closed towards the outside.

use std::sync::Arc;

use jsmill::{Error, ErrorKind, Finding, Isolation, Result, Script};
use serde_json::{Value, json};

use crate::assert_kind;
use crate::support::{engine, engine_with};

fn modules(modules: &[(&str, &str)]) -> Result<Arc<Script>> {
    modules.iter().fold(Script::builder("app"), |builder, (name, text)| builder.module(*name, *text)).build()
}

#[track_caller]
fn findings(result: Result<Arc<Script>>) -> Vec<Finding> {
    let error: Error = result.unwrap_err();
    match error.kind() {
        ErrorKind::Compile(findings) => findings.clone(),
        _ => panic!("another error: {error}"),
    }
}

#[test]
fn modules_import_each_other_by_name() {
    let script = modules(&[
        ("main.js", "import { tax } from 'lib/tax.js'; import * as util from './util.js'; import base, { RATE as rate } from './base.js'; export { tax as again } from 'lib/tax.js'; export const price = (n) => util.round(tax(n) + base + rate); export default function total() { return 7; }"),
        ("lib/tax.js", "import { RATE } from 'base.js'; export function tax(n) { return n * RATE; }"),
        ("util.js", "export const round = Math.round; export * from 'base.js';"),
        ("base.js", "export const RATE = 2; export default 100;"),
    ])
    .unwrap();
    let engine = engine();
    assert_eq!(engine.task(&script).call_blocking::<u32>("price", (5,)).unwrap(), 112);
    assert_eq!(engine.task(&script).call_blocking::<u32>("again", (5,)).unwrap(), 10);
    assert_eq!(engine.task(&script).call_blocking::<u32>("default", ()).unwrap(), 7);
    let error = engine.task(&script).call_blocking::<u32>("round", (1,)).unwrap_err();
    assert_kind!(error, ErrorKind::NoSuchFunction { .. });
    assert!(error.to_string().contains("`price`"), "it says what there is: {error}");
}

#[test]
fn cycles_are_linked() {
    let script = modules(&[
        ("a.js", "import { odd } from 'b.js'; export const even = (n) => n === 0 || odd(n - 1);"),
        ("b.js", "import { even } from 'a.js'; export const odd = (n) => n !== 0 && even(n - 1);"),
    ])
    .unwrap();
    assert!(engine().task(&script).call_blocking::<bool>("even", (10,)).unwrap());
    let own = modules(&[(
        "self.js",
        "import * as me from 'self.js'; export const one = () => 1; export const two = () => me.one() + 1;",
    )]);
    assert_eq!(engine().task(&own.unwrap()).call_blocking::<u32>("two", ()).unwrap(), 2);
}

#[test]
fn a_cycle_that_reads_too_early_is_a_script_error() {
    let script = modules(&[
        ("a.js", "import { b } from 'b.js'; export const a = b + 1; export const main = () => a;"),
        ("b.js", "import { a } from 'a.js';\nexport const b = a + 1;"),
    ])
    .unwrap();
    let error = engine().task(&script).call_blocking::<u32>("main", ()).unwrap_err();
    let thrown = error.script_error().unwrap_or_else(|| panic!("{error}"));
    assert_eq!(
        (thrown.name.as_str(), thrown.script.as_deref(), thrown.line),
        ("ReferenceError", Some("b.js"), Some(2))
    );
}

#[test]
fn an_import_of_nothing_is_found_at_once() {
    let found = findings(modules(&[(
        "main.js",
        "export const f = 1;\nimport { x } from 'gone.js';\nexport * from './away.js';",
    )]));
    let places: Vec<_> = found.iter().map(|finding| (finding.code, finding.script.as_str(), finding.line)).collect();
    assert_eq!(places, [("import", "main.js", 2), ("import", "main.js", 3)]);
    assert!(found[0].message.contains("gone.js") && found[0].source_line.contains("gone.js"), "{found:?}");
}

#[test]
fn a_name_that_is_not_exported_is_an_error_with_its_place() {
    let script = modules(&[
        ("main.js", "\nimport { missing } from 'b.js';\nexport const main = () => missing;"),
        ("b.js", "export const there = 1;"),
    ]);
    let error = match script {
        Ok(script) => engine().task(&script).call_blocking::<u32>("main", ()).unwrap_err(),
        Err(error) => error,
    };
    assert!(matches!(error.kind(), ErrorKind::Compile(_) | ErrorKind::Script(_)), "{error}");
    let text = error.to_string();
    assert!(text.contains("missing") && text.contains("main.js:2"), "{text}");
}

#[test]
fn a_syntax_error_names_its_module_and_place() {
    let found = findings(modules(&[
        ("main.js", "import 'b.js'; export const main = () => 1;"),
        ("b.js", "export const x = 1;\nexport const = 2;"),
    ]));
    let syntax: Vec<_> = found.iter().filter(|finding| finding.code == "syntax").collect();
    assert_eq!(syntax.len(), 1, "{found:?}");
    assert_eq!((syntax[0].script.as_str(), syntax[0].line, syntax[0].column), ("b.js", 2, 14));
    assert!(found.iter().all(|finding| finding.code == "syntax"), "the module is there, if broken: {found:?}");
    let both = findings(modules(&[("a.js", "const;"), ("b.js", "let;")]));
    assert_eq!(both.iter().filter(|finding| finding.code == "syntax").count(), 2, "{both:?}");
}

#[test]
fn dynamic_import_and_top_level_await_are_refused() {
    let found = findings(modules(&[
        ("main.js", "export const main = () =>\n  import('b.js');"),
        ("b.js", "export const x = await 1;"),
    ]));
    let places: Vec<_> = found.iter().map(|finding| (finding.code, finding.script.as_str(), finding.line)).collect();
    assert!(places.contains(&("dynamic-import", "main.js", 2)), "{found:?}");
    assert!(places.contains(&("top-level-await", "b.js", 1)), "{found:?}");
    let found = findings(Script::new("c.js", "const main = () => import('x');"));
    assert_eq!(found[0].code, "dynamic-import");
}

#[test]
fn import_through_generated_code_reaches_nothing() {
    let engine = engine_with(|builder| builder.code_generation(true));
    let source = "let outcome = 'pending'; const main = () => { (0, eval)('import(\"x.js\")').then(() => { outcome = 'loaded'; }, (e) => { outcome = e.name; }); return outcome; };";
    let script = Script::builder("e.js").source(source).isolation(Isolation::Shared).build().unwrap();
    let outcomes = [0, 1].map(|_| engine.task(&script).call_blocking::<String>("main", ()));
    for outcome in outcomes {
        assert!(outcome.as_ref().map_or(true, |text| text != "loaded"), "{outcome:?}");
    }
}

#[test]
fn import_meta_tells_nothing() {
    let script = modules(&[(
        "main.js",
        "export const main = () => [Object.keys(import.meta), typeof import.meta.url, Object.getPrototypeOf(import.meta) === null];",
    )]);
    assert_eq!(
        engine().task(&script.unwrap()).call_blocking::<Value>("main", ()).unwrap(),
        json!([[], "undefined", true])
    );
}

#[test]
fn bindings_that_are_not_exported_are_frozen_too() {
    let script = modules(&[
        ("main.js", "import { peek, poke } from 'b.js'; const hidden = { list: [1] }; export const main = () => [Object.isFrozen(hidden), Object.isFrozen(hidden.list), peek()]; export const write = () => { try { hidden.list.push(2); } catch (e) { return [e.name, poke()]; } };"),
        ("b.js", "const inner = { deep: { x: 1 } }; export const peek = () => Object.isFrozen(inner.deep); export const poke = () => { try { inner.deep.x = 2; } catch (e) { return e.name; } };"),
    ])
    .unwrap();
    let engine = engine();
    for _ in 0..3 {
        assert_eq!(engine.task(&script).call_blocking::<Value>("main", ()).unwrap(), json!([true, true, true]));
        assert_eq!(
            engine.task(&script).call_blocking::<Value>("write", ()).unwrap(),
            json!(["TypeError", "TypeError"])
        );
    }
}

#[test]
fn the_entry_may_be_chosen() {
    let builder = || {
        Script::builder("app")
            .module("a.js", "export const who = () => 'a';")
            .module("b.js", "export const who = () => 'b';")
    };
    let engine = engine();
    assert_eq!(engine.task(&builder().build().unwrap()).call_blocking::<String>("who", ()).unwrap(), "a");
    assert_eq!(engine.task(&builder().entry("b.js").build().unwrap()).call_blocking::<String>("who", ()).unwrap(), "b");
    assert_kind!(builder().entry("c.js").build().unwrap_err(), ErrorKind::Config(_));
    assert_kind!(builder().module("a.js", "").build().unwrap_err(), ErrorKind::Config(_));
    assert_kind!(builder().source("1").build().unwrap_err(), ErrorKind::Config(_));
    assert_kind!(Script::builder("none").build().unwrap_err(), ErrorKind::Config(_));
    assert_kind!(Script::builder("c").source("1").entry("c").build().unwrap_err(), ErrorKind::Config(_));
}

#[test]
fn an_error_thrown_in_a_module_names_it() {
    let script = modules(&[
        ("main.js", "import { deep } from 'lib.js';\nexport const main = () => deep();"),
        ("lib.js", "\n\nexport function deep() {\n  throw new TypeError('from below');\n}"),
    ])
    .unwrap();
    let error = engine().task(&script).call_blocking::<()>("main", ()).unwrap_err();
    let thrown = error.script_error().unwrap();
    assert_eq!(
        (thrown.script.as_deref(), thrown.line, thrown.source_line.as_deref()),
        (Some("lib.js"), Some(4), Some("  throw new TypeError('from below');"))
    );
    let frames: Vec<_> =
        thrown.frames.iter().map(|frame| (frame.function.as_str(), frame.script.as_str(), frame.line)).collect();
    assert_eq!(frames, [("deep", "lib.js", 4), ("main", "main.js", 2)]);
}

#[test]
fn modules_with_isolation() {
    let builder = |isolation| {
        Script::builder("app")
            .module("main.js", "import { up } from 'n.js'; export const main = () => up();")
            .module("n.js", "let n = 0; export const up = () => ++n;")
            .isolation(isolation)
            .build()
    };
    let engine = engine();
    assert_kind!(builder(Isolation::Sealed).unwrap_err(), ErrorKind::Compile(_));
    let fresh = builder(Isolation::Fresh).unwrap();
    let shared = builder(Isolation::Shared).unwrap();
    for run in 1..=3 {
        assert_eq!(engine.task(&fresh).call_blocking::<u32>("main", ()).unwrap(), 1);
        assert_eq!(engine.task(&shared).call_blocking::<u32>("main", ()).unwrap(), run);
    }
}

#[test]
fn an_export_that_changes_is_read_anew_where_state_is_allowed() {
    let source = "export let f = () => 1; export const swap = () => { f = () => 2; return 0; };";
    let script = Script::builder("app").module("m.js", source).isolation(Isolation::Shared).build().unwrap();
    let engine = engine();
    assert_eq!(engine.task(&script).call_blocking::<u32>("f", ()).unwrap(), 1);
    engine.task(&script).call_blocking::<u32>("swap", ()).unwrap();
    assert_eq!(engine.task(&script).call_blocking::<u32>("f", ()).unwrap(), 2);
}
