//! No way leads from a value to another realm, nor from text to code.

use jsmill::{Isolation, Script};
use serde_json::{Value, json};

use crate::support::{engine, engine_with};

/// Objects that a script can lay hands on, by the realm that may have made them.
const SOURCE: &str = "
    const up = (o) => { try { return o.constructor.constructor('return this')() === globalThis; } catch (e) { return e.name; } };
    const kinds = { plain: function () {}, arrow: () => 0, async: async () => 0, gen: function* () {}, asyncGen: async function* () {}, method: { m() {} }.m, klass: class {} };
    const main = (argument, list, bytes) => {
        let thrown; try { null.x; } catch (e) { thrown = e; }
        let parsed; try { JSON.parse('{'); } catch (e) { parsed = e; }
        return [
            up(globalThis), up(argument), up(argument.inner), up(list), up(bytes), up(thrown), up(parsed), up(console), up(console.log),
            up(kinds.gen()), up(kinds.asyncGen()), up(kinds.async()), up(new Proxy({}, {})), up(Symbol.iterator), up(''), up(1n),
            ...Object.values(kinds).map(up),
            ...Object.values(kinds).map((f) => { try { return f.constructor('return this')() === globalThis; } catch (e) { return e.name; } }),
        ];
    };
    const indirect = () => { try { return (0, eval)('this') === globalThis; } catch (e) { return e.name; } };
    const timer = () => typeof setTimeout;";

#[test]
fn no_constructor_leads_out_and_code_from_strings_is_off() {
    let engine = engine();
    for isolation in [Isolation::Sealed, Isolation::Fresh, Isolation::Shared] {
        let script = Script::builder("up.js").source(SOURCE).isolation(isolation).build().unwrap();
        for _ in 0..2 {
            let args = (json!({"inner": {"x": 1}}), vec![1, 2], serde_bytes::Bytes::new(b"x"));
            let found: Vec<Value> = engine.task(&script).call_blocking("main", args).unwrap();
            assert!(found.iter().all(|answer| answer == "EvalError"), "{isolation:?}: {found:?}");
            assert_eq!(engine.task(&script).call_blocking::<String>("indirect", ()).unwrap(), "EvalError");
        }
    }
}

#[test]
fn where_code_from_strings_is_on_it_stays_in_its_realm() {
    let engine = engine_with(|builder| builder.code_generation(true));
    let source = "
        const up = (o) => { try { return o.constructor.constructor('return this')() === globalThis; } catch (e) { return e.name; } };
        const main = (argument, list) => { let thrown; try { null.x; } catch (e) { thrown = e; } return [globalThis, argument, list, thrown, console, () => 0].map(up); };
        const sum = (n) => new Function('a', 'return a + ' + n)(1);
        const leak = () => { try { (0, eval)('var leaked = 1'); } catch (e) { return e.name; } return typeof leaked; };";
    for isolation in [Isolation::Sealed, Isolation::Fresh] {
        let script = Script::builder("eval.js").source(source).isolation(isolation).build().unwrap();
        for _ in 0..3 {
            let found: Vec<Value> = engine.task(&script).call_blocking("main", (json!({}), vec![1])).unwrap();
            assert_eq!(found, vec![json!(true); 6], "{isolation:?}");
            assert_eq!(engine.task(&script).call_blocking::<u32>("sum", (41,)).unwrap(), 42);
            engine.task(&script).call_blocking::<String>("leak", ()).unwrap();
        }
        let look = Script::builder("look.js")
            .source("const main = () => typeof leaked;")
            .isolation(isolation)
            .build()
            .unwrap();
        assert_eq!(engine.task(&look).call_blocking::<String>("main", ()).unwrap(), "undefined");
    }
}

#[test]
fn a_shared_value_leads_nowhere() {
    let engine = engine();
    let value = engine.value(std::sync::Arc::new(json!({"list": [1], "o": {"p": 1}})));
    let source = "
        const up = (o) => { try { return o.constructor.constructor('return this')() === undefined ? 'none' : 'out'; } catch (e) { return e.name; } };
        const main = (v) => {
            const write = (f) => { try { f(); return 'written'; } catch (e) { return e.name; } };
            return [up(v), up(v.list), up(v.o), write(() => { v.constructor.prototype.leak = 1; }), write(() => { Object.getPrototypeOf(v).leak = 1; }), write(() => { v.constructor.leak = 1; }), write(() => { v.list.push(2); })];
        };";
    let script = Script::new("v.js", source).unwrap();
    for _ in 0..2 {
        let found: Vec<String> = engine.task(&script).call_blocking("main", (&value,)).unwrap();
        assert!(
            found.iter().all(|answer| answer == "EvalError" || answer == "TypeError" || answer == "none"),
            "{found:?}"
        );
    }
}

#[test]
fn the_outside_world_is_not_there() {
    let names = [
        "setTimeout",
        "fetch",
        "process",
        "require",
        "Deno",
        "XMLHttpRequest",
        "importScripts",
        "performance",
        "gc",
        "d8",
        "print",
    ];
    let source = format!("const main = () => {names:?}.map((name) => typeof globalThis[name]);");
    let script = Script::new("w.js", source).unwrap();
    let found: Vec<String> = engine().task(&script).call_blocking("main", ()).unwrap();
    assert_eq!(found, vec!["undefined"; names.len()]);
}
