//! Lines of `console`: to the logger of their call, bounded, and never a reason to fail.

use std::sync::Arc;

use jsmill::{Composition, LogLevel, LogLine, OneOff, Result, Scope, Script, Task};
use parking_lot::Mutex;
use serde_json::Value;

use crate::support::{engine, script};

#[derive(Clone, Default)]
struct Lines(Arc<Mutex<Vec<LogLine>>>);

impl jsmill::Logger for Lines {
    fn log(&self, line: &LogLine) {
        self.0.lock().push(line.clone());
    }
}

impl Lines {
    fn texts(&self) -> Vec<String> {
        self.0.lock().iter().map(|line| line.message.clone()).collect()
    }
}

#[test]
fn lines_come_with_level_script_and_line() {
    let (engine, lines) = (engine(), Lines::default());
    let source = "const main = () => {\n  console.debug('a');\n  console.log('b', 1, null);\n  console.info({ x: [1] });\n  console.warn('d');\n  console.error(new TypeError('e'));\n};";
    engine.task(&script(source)).logger(lines.clone()).call_blocking::<()>("main", ()).unwrap();
    let seen = lines.0.lock();
    let levels: Vec<_> = seen.iter().map(|line| (line.level, line.line)).collect();
    use LogLevel::*;
    assert_eq!(levels, [(Debug, 2), (Info, 3), (Info, 4), (Warn, 5), (Error, 6)]);
    assert!(seen.iter().all(|line| line.script == "test.js"));
    assert_eq!(
        (seen[0].message.as_str(), seen[1].message.as_str(), seen[2].message.as_str()),
        ("a", "b 1 null", "{\"x\":[1]}")
    );
    assert!(seen[4].message.contains("TypeError: e"), "{}", seen[4].message);
}

#[test]
fn each_call_has_its_own_logger() {
    let engine = engine();
    let script = script("const main = (n) => { console.log('n', n); };");
    for n in 0..3 {
        let lines = Lines::default();
        engine.task(&script).logger(lines.clone()).call_blocking::<()>("main", (n,)).unwrap();
        engine.task(&script).call_blocking::<()>("main", (99,)).unwrap();
        assert_eq!(lines.texts(), [format!("n {n}")]);
    }
}

#[test]
fn odd_values_fail_nothing() {
    let (engine, lines) = (engine(), Lines::default());
    let source = "const main = () => {
        const cycle = {}; cycle.self = cycle;
        console.log(cycle); console.log(Symbol('s'), 1n, undefined, () => 1, NaN); console.log(new Proxy({}, {}));
        console.log(Object.create(null)); console.log('\\ud83e'); console.log({ toJSON() { return 5; } }); console.log();
        const { log } = console; log('detached');
        return 1;
    };";
    assert_eq!(engine.task(&script(source)).logger(lines.clone()).call_blocking::<u32>("main", ()).unwrap(), 1);
    assert_eq!(lines.texts().len(), 8, "{:?}", lines.texts());
    assert_eq!(lines.texts()[4], "\u{fffd}");
}

#[test]
fn lines_are_bounded_in_length_and_number() {
    let (engine, lines) = (engine(), Lines::default());
    let source =
        "const main = () => { console.log('x'.repeat(1e6)); for (let i = 0; i < 1e5; i++) console.log(i); return 1; };";
    assert_eq!(engine.task(&script(source)).logger(lines.clone()).call_blocking::<u32>("main", ()).unwrap(), 1);
    let texts = lines.texts();
    assert!(texts.len() <= 1001, "{}", texts.len());
    assert!(texts[0].len() < 3000, "{}", texts[0].len());
    assert!(texts.last().unwrap().contains("not logged"), "{:?}", texts.last());
}

#[test]
fn a_logger_that_panics_fails_nothing() {
    let engine = engine();
    let script = script("const main = () => { console.log('x'); return 7; };");
    for _ in 0..3 {
        let task = engine.task(&script).logger(|_: &LogLine| panic!("a logger"));
        assert_eq!(task.call_blocking::<u32>("main", ()).unwrap(), 7);
    }
}

struct Chatty(Arc<Script>);

impl Task for Chatty {
    fn script(&self) -> &Arc<Script> {
        &self.0
    }
}

impl OneOff for Chatty {
    type Output = Value;
    fn run(&self, scope: &mut Scope<'_, '_, '_>) -> Result<Value> {
        let main = scope.function("main")?;
        let result = scope.call(main, &[])?;
        scope.from_js(result)
    }
}

#[test]
fn a_composition_has_its_logger_too_also_while_loading() {
    let (engine, lines) = (engine(), Lines::default());
    let script =
        Script::new("c.js", "console.log('loading'); const main = () => { console.log('running'); return 1; };")
            .unwrap();
    for _ in 0..2 {
        let composition = Composition::new(Chatty(script.clone())).one_off().memory().logger(lines.clone());
        assert_eq!(engine.run_blocking(composition).unwrap(), 1);
    }
    assert_eq!(lines.texts(), ["loading", "running", "running"]);
}
