//! Goal: a script of several ES modules that import each other.
//!
//! Run it with `cargo run --example modules`.

use jsmill::{Engine, ErrorKind, Script};
use serde_json::{Value, json};

/// The entry: what it exports can be called.
const MAIN: &str = "\
import { tax } from 'tax.js';
import { cents, format as show } from './money.js';

export const total = (lines, country) => {
    const net = lines.reduce((sum, { price, count }) => sum + price * count, 0);
    return { net: cents(net), gross: show(net + tax(net, country)) };
};
export { RATES as rates } from 'tax.js';
export default () => 'total';";

const TAX: &str = "\
import { cents } from 'money.js';

export const RATES = { AT: 0.2, CH: 0.081 };
export function tax(net, country) {
    if (!(country in RATES)) throw new RangeError(`no rate for ${country}`);
    return cents(net * RATES[country]);
}";

const MONEY: &str = "\
export const cents = (amount) => Math.round(amount * 100) / 100;
export const format = (amount) => cents(amount).toFixed(2);";

fn main() -> jsmill::Result<()> {
    let engine = Engine::builder().workers(1).build()?;

    // 1. All modules come with the script, each under the name by which others import it: as it is, or after `./`. Nothing is read
    //    from the outside. The first one is the entry.
    let script =
        Script::builder("shop").module("main.js", MAIN).module("tax.js", TAX).module("money.js", MONEY).build()?;

    // 2. What the entry exports is called like a function of a plain script; this example does so without an async runtime.
    let lines = json!([{ "price": 9.95, "count": 2 }, { "price": 0.35, "count": 10 }]);
    let total: Value = engine.task(&script).call_blocking("total", (&lines, "AT"))?;
    assert_eq!(total, json!({ "net": 23.4, "gross": "28.08" }));
    println!("{total}");
    let name: String = engine.task(&script).call_blocking("default", ())?;
    assert_eq!(name, "total");

    // 3. What it does not export cannot be called, wherever it is defined.
    let error = engine.task(&script).call_blocking::<f64>("cents", (1.234,)).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::NoSuchFunction { .. }), "{error}");
    println!("{error}");

    // 4. An error names the module in which it was thrown, and how it came there.
    let error = engine.task(&script).call_blocking::<Value>("total", (&lines, "NO")).unwrap_err();
    let thrown = error.script_error().expect("the script has thrown");
    assert_eq!((thrown.script.as_deref(), thrown.line), (Some("tax.js"), Some(5)));
    println!("{error}");
    for frame in &thrown.frames {
        println!("    at {frame}");
    }
    assert_eq!(thrown.frames.last().map(|frame| frame.script.as_str()), Some("main.js"));

    // 5. An import of what is not there is found when the script is made, with its place, and all findings at once.
    let error = Script::builder("shop")
        .module("main.js", "import { a } from 'gone.js';\nimport { b } from 'lost.js';\nexport const f = () => a + b;")
        .build()
        .unwrap_err();
    let ErrorKind::Compile(findings) = error.kind() else { panic!("another error: {error}") };
    assert_eq!(findings.iter().map(|finding| finding.line).collect::<Vec<_>>(), [1, 2]);
    for finding in findings {
        println!("{finding}");
    }

    engine.shutdown_blocking()
}
