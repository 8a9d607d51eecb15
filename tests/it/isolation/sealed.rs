//! One context serves many runs, and each of them finds it as the first one did.

use std::sync::Arc;

use jsmill::{Caching, Engine, Isolation, Result, Script};
use serde_json::{Value, json};

use crate::support::{call, engine, engine_with};

const RUNS: usize = 30;

fn isolated(name: &str, source: &str, isolation: Isolation) -> Arc<Script> {
    Script::builder(name).source(source).isolation(isolation).build().unwrap()
}

fn outcome(result: Result<Value>) -> String {
    match result {
        Ok(value) => value.to_string(),
        Err(error) => error.to_string(),
    }
}

/// What one run tries to leave for the next, and what it sees of earlier ones.
const ATTEMPTS: [&str; 14] = [
    "globalThis.hits = (globalThis.hits ?? 0) + 1; Math = { max: () => -1 }; console = null; return [hits, typeof Math.round];",
    "try { globalThis.hits = (globalThis.hits ?? 0) + 1; } catch (e) { return e.name; } return hits;",
    "try { Math = { max: () => -1 }; } catch (e) { return [e.name, Math.max(1, 2)]; } return 'changed';",
    "try { console = null; } catch (e) { return [e.name, typeof console.log]; } return 'changed';",
    "try { Array.prototype.map = () => 'mine'; } catch (e) { return [e.name, [1].map((x) => x + 1)]; } return 'changed';",
    "try { Object.prototype.leak = 1; } catch (e) { return [e.name, ({}).leak ?? null]; } return ({}).leak;",
    "try { data.list.push(data.list.length); } catch (e) { return [e.name, data.list.length]; } return data.list.length;",
    "try { data.deep[0].x = 2; } catch (e) { return [e.name, data.deep[0].x]; } return 'changed';",
    "try { main.seen = (main.seen ?? 0) + 1; } catch (e) { return [e.name, main.seen ?? null]; } return main.seen;",
    "try { Kept.count = (Kept.count ?? 0) + 1; } catch (e) { return [e.name]; } return Kept.count;",
    "try { Object.defineProperty(globalThis, 'x', { value: 1 }); } catch (e) { return e.name; } return 'defined';",
    "try { Object.setPrototypeOf(Math, { leak: 1 }); } catch (e) { return [e.name, Math.leak ?? null]; } return Math.leak;",
    "const id = Symbol.for('k'); try { id.description.x = 1; } catch (e) { return e.name; } return 'set';",
    "const made = new Kept(); made.n++; return [made.n, made.toString()];",
];

const TOP: &str = "const data = { list: [], deep: [{ x: 1 }] }; class Kept { n = 0; toString() { return 'kept'; } }";

#[test]
fn each_of_thirty_runs_is_like_the_first() {
    let engine = engine();
    let scripts: Vec<_> = ATTEMPTS
        .iter()
        .enumerate()
        .map(|(index, body)| {
            isolated(&format!("s{index}.js"), &format!("{TOP} function main() {{ {body} }}"), Isolation::Sealed)
        })
        .collect();
    let first: Vec<_> = scripts.iter().map(|script| outcome(engine.task(script).call_blocking("main", ()))).collect();
    for run in 1..RUNS {
        for (index, script) in scripts.iter().enumerate() {
            let again = outcome(engine.task(script).call_blocking("main", ()));
            assert_eq!(again, first[index], "run {run} of `{}`", ATTEMPTS[index]);
        }
    }
    assert!(first.iter().all(|outcome| !outcome.contains("changed")), "{first:?}");
    assert_eq!(engine.stats().workers.len(), 1);
    assert!(first[0].contains("TypeError"), "strict mode: {}", first[0]);
    assert_eq!(first[13], "[1,\"kept\"]");
}

#[test]
fn a_fresh_context_begins_anew_each_time() {
    let engine = engine();
    let source = "let seen = 0; function main() { globalThis.hits = (globalThis.hits ?? 0) + 1; Math = { max: () => -1 }; Array.prototype.leak = 1; return [hits, typeof Math.round, ++seen, [].leak]; }";
    let fresh = isolated("fresh.js", source, Isolation::Fresh);
    for _ in 0..RUNS {
        assert_eq!(engine.task(&fresh).call_blocking::<Value>("main", ()).unwrap(), json!([1, "undefined", 1, 1]));
        let other =
            call::<Value>(&engine, "const main = () => [typeof hits, Math.max(1, 2), typeof [].leak];", "main", ());
        assert_eq!(other.unwrap(), json!(["undefined", 2, "undefined"]));
    }
}

#[test]
fn a_call_without_a_cache_gets_a_context_of_its_own() {
    let engine = engine();
    let source = "let seen = 0; function main() { return ++seen; }";
    let shared = isolated("shared.js", source, Isolation::Shared);
    assert_eq!(engine.task(&shared).call_blocking::<u32>("main", ()).unwrap(), 1);
    for _ in 0..3 {
        let task = engine.task(&shared).caching(Caching::None);
        assert_eq!(task.call_blocking::<u32>("main", ()).unwrap(), 1);
    }
    assert_eq!(engine.task(&shared).call_blocking::<u32>("main", ()).unwrap(), 2);
}

#[test]
fn a_shared_context_keeps_state_for_its_snapshot_alone() {
    let engine = engine();
    let source = "let seen = 0; const list = []; function main() { list.push(1); globalThis.g = (globalThis.g ?? 0) + 1; return [++seen, list.length, g]; }";
    let scripts = [0, 1, 2].map(|_| isolated("same.js", source, Isolation::Shared));
    for run in 1..=RUNS {
        for script in &scripts {
            assert_eq!(engine.task(script).call_blocking::<Value>("main", ()).unwrap(), json!([run, run, run]));
        }
    }
    let other = call::<Value>(&engine, "const main = () => typeof g;", "main", ());
    assert_eq!(other.unwrap(), json!("undefined"));
}

#[test]
fn a_sealed_script_is_the_same_on_every_worker() {
    let engine: Engine = engine_with(|builder| builder.workers(2));
    let script = isolated("w.js", &format!("{TOP} function main() {{ {} }}", ATTEMPTS[6]), Isolation::Sealed);
    let outcomes: std::collections::BTreeSet<String> =
        (0..40).map(|_| outcome(engine.task(&script).call_blocking("main", ()))).collect();
    assert_eq!(outcomes.len(), 1, "{outcomes:?}");
}

#[test]
fn bindings_are_frozen_deeply() {
    let source = "const settings = { a: { b: [1, { c: 2 }] }, f() { return this.a; } }; var old = { x: 1 }; let point = [1];
        class Box { static inside = { v: 1 }; }
        function helper() {} helper.note = { n: 1 };
        const main = () => [settings, settings.a.b, settings.a.b[1], settings.f, old, point, Box, Box.inside, Box.prototype, helper, helper.note].map(Object.isFrozen);";
    let frozen: Vec<bool> = call(&engine(), source, "main", ()).unwrap();
    assert_eq!(frozen, [true; 11]);
}

#[test]
fn what_a_frozen_prototype_names_can_still_be_set_on_instances() {
    let source = "'use strict'; function Money(c) { this.c = c; } Money.prototype.toString = function () { return this.c + ' ct'; };
        const e = new Error('x'); e.name = 'Late'; const o = {}; o.constructor = 1; class E2 extends Error {} E2.prototype.message = 'm';
        const main = () => [String(new Money(5)), e.name, o.constructor];
        const more = () => {
            const error = new RangeError('r'); error.message = 'late'; error.name = 'N'; error.stack = 's';
            const list = []; list.toString = () => 'mine'; list.map = 4;
            const map = new Map(); map.constructor = 5; const f = () => 0; f.call = 6; f.toString = 7;
            const date = new Date(0); date.toString = 8; const re = /x/; re.toString = 9; const p = Promise.resolve(); p.catch = 10;
            class Sub extends Array { toString() { return 'sub'; } }
            const made = { __proto__: null, toString: 1 }; const literal = { toString: () => 'lit', valueOf: 2 };
            return [error.message, error.name, error.stack, String(list), list.map, map.constructor, f.call, f.toString, date.toString, re.toString, p.catch, String(new Sub()), made.toString, String(literal)];
        };";
    let engine = engine();
    let script = isolated("c3.js", source, Isolation::Sealed);
    for _ in 0..3 {
        assert_eq!(engine.task(&script).call_blocking::<Value>("main", ()).unwrap(), json!(["5 ct", "Late", 1]));
        let more = json!(["late", "N", "s", "mine", 4, 5, 6, 7, 8, 9, 10, "sub", 1, "lit"]);
        assert_eq!(engine.task(&script).call_blocking::<Value>("more", ()).unwrap(), more);
    }
    let write = "const main = () => { try { Object.prototype.toString = () => 'evil'; } catch (e) { return e.name; } return 'no error'; };";
    for _ in 0..2 {
        // Whether the write throws or is passed over, it has no effect.
        let _: String = call(&engine, write, "main", ()).unwrap();
        assert_eq!(call::<String>(&engine, "const main = () => String({});", "main", ()).unwrap(), "[object Object]");
        assert_eq!(engine.task(&script).call_blocking::<Value>("main", ()).unwrap(), json!(["5 ct", "Late", 1]));
    }
}

#[test]
fn names_of_the_scripts_own_prototypes_can_still_be_set_on_instances() {
    let source = "class E2 extends Error {} E2.prototype.message = 'm';
        class A { m() { return 1; } get g() { return 1; } }
        function F() {} F.prototype.rate = 1;
        const main = () => {
            const e = new E2(); e.message = 'late';
            const a = new A(); a.m = 2;
            const f = new F(); f.rate = 3; f.constructor = 4;
            return [e.message, a.m, f.rate, f.constructor, new E2().message, new A().m(), new F().rate];
        };
        const change = () => { try { A.prototype.m = 5; } catch (e) { return e.name; } return new A().m(); };";
    let engine = engine();
    let script = isolated("own.js", source, Isolation::Sealed);
    for _ in 0..3 {
        let found = engine.task(&script).call_blocking::<Value>("main", ()).unwrap();
        assert_eq!(found, json!(["late", 2, 3, 4, "m", 1, 1]));
        assert_eq!(engine.task(&script).call_blocking::<String>("change", ()).unwrap(), "TypeError");
    }
}
