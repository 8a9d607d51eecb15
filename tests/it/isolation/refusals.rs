//! State at the top level is refused when a script is made, each piece with its place.

use jsmill::{Error, ErrorKind, Finding, Isolation, Result, Script};
use std::sync::Arc;

fn findings(result: Result<Arc<Script>>) -> Vec<Finding> {
    let error: Error = result.unwrap_err();
    match error.kind() {
        ErrorKind::Compile(findings) => findings.clone(),
        _ => panic!("another error: {error}"),
    }
}

#[test]
fn classic_scripts_name_every_piece_with_line_and_column() {
    let source = "const rate = 0.2;\nlet seen = 0;\nconst cache = new Map();\nfunction main() { cache.set(1, 2); return ++seen; }\n";
    let found = findings(Script::new("state.js", source));
    let places: Vec<_> = found.iter().map(|finding| (finding.code, finding.line, finding.column)).collect();
    assert!(
        places.iter().any(|(code, line, column)| (*code, *line, *column) == ("reassigned", 4, 45)),
        "where it is assigned: {found:?}"
    );
    assert!(places.iter().any(|(code, line, _)| *code == "container" && *line == 3), "{found:?}");
    for finding in &found {
        assert_eq!(finding.script, "state.js");
        assert!(!finding.message.is_empty() && !finding.source_line.is_empty(), "{finding:?}");
    }
    let text = Script::new("state.js", source).unwrap_err().to_string();
    assert!(text.contains("state.js:4:45"), "{text}");
}

#[test]
fn each_way_to_keep_state_is_refused() {
    let sources = [
        "let seen = 0; const main = () => ++seen;",
        "var seen; function main() { seen = 1; }",
        "let a, b; function main() { [a, b] = [1, 2]; }",
        "let x; function main() { for (x of [1]); }",
        "const cache = new Map(); const main = (k) => cache.get(k);",
        "const tags = { all: new Set() }; const main = () => tags.all.add(1);",
        "const at = new Date(); const main = () => at.setTime(0);",
        "const bytes = new Uint8Array(8); const main = () => bytes[0]++;",
        "const make = () => { let n = 0; return () => ++n; }; const next = make(); const main = () => next();",
        "const next = (() => { let n = 0; return () => n++; })(); const main = () => next();",
        "const steps = (function* () { yield 1; })(); const main = () => steps.next();",
        "class C { #n = 0; up() { return ++this.#n; } } const c = new C(); const main = () => c.up();",
        "class C { static #n = 0; static up() { return ++C.#n; } } const main = () => C.up();",
        "function main() { main = null; }",
    ];
    for source in sources {
        let found = findings(Script::new("s.js", source));
        assert!(found.iter().all(|finding| finding.line == 1 && finding.column >= 1), "{source}: {found:?}");
        for isolation in [Isolation::Fresh, Isolation::Shared] {
            Script::builder("s.js").source(source).isolation(isolation).build().unwrap();
        }
    }
}

#[test]
fn what_is_no_state_passes() {
    let sources = [
        "const rate = 0.2, table = [[1, 2], ['3', { a: 'b' }]]; const main = (n) => { let sum = 0; for (const [a] of table) sum += a * n; return sum; };",
        "let total = 0; for (let i = 0; i < 10; i++) total += i; const main = () => total;",
        "const square = ((k) => (n) => n * n * k)(1); const main = (n) => square(n);",
        "class P { constructor(x) { this.x = x; } up() { this.x++; return this.x; } } const main = () => new P(1).up();",
        "const main = () => { const m = new Map(); m.set(1, 2); return m.size; };",
        "const keys = Object.freeze(['a']); const re = /x/; function main(s) { return s.replace(re, keys[0]); }",
        "enumerate(); function enumerate() { return 1; } const main = () => 1;",
    ];
    let engine = crate::support::engine();
    for source in sources {
        let script = Script::new("ok.js", source).unwrap_or_else(|error| panic!("{source}: {error}"));
        let first = engine
            .task(&script)
            .call_blocking::<serde_json::Value>("main", (2,))
            .or_else(|_| engine.task(&script).call_blocking("main", ("x",)));
        assert!(first.is_ok(), "{source}: {first:?}");
    }
}

#[test]
fn modules_name_the_module_and_its_place() {
    let found = findings(
        Script::builder("price")
            .module("main.js", "import { next } from 'count.js';\nexport const main = () => next();")
            .module("count.js", "// keeps a count\n  let count = 0;\nexport const next = () => ++count;")
            .build(),
    );
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!((found[0].script.as_str(), found[0].line, found[0].column), ("count.js", 3, 29));
    assert!(found[0].source_line.contains("++count"));
}

#[test]
fn what_only_the_loaded_script_shows_is_refused_as_it_is_loaded() {
    let engine = crate::support::engine();
    // The analysis sees a plain call; what it gives is a container.
    let sources = [
        "const make = (k) => Reflect.construct(globalThis[k], []); const cache = make('Map'); const main = () => cache.size;",
        "const box = { inner: [Reflect.construct(globalThis['Set'], [])] };\nconst main = () => box.inner[0].size;",
    ];
    for source in sources {
        let error = match Script::new("late.js", source) {
            Ok(script) => engine.task(&script).call_blocking::<u32>("main", ()).unwrap_err(),
            Err(error) => error,
        };
        let ErrorKind::Compile(found) = error.kind() else { panic!("{source}: {error}") };
        assert!(found[0].script == "late.js" && found[0].line == 1 && found[0].column > 0, "{found:?}");
        assert!(error.to_string().contains("late.js"), "{error}");
    }
}
