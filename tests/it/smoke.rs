use jsmill::*;
use std::time::{Duration, Instant};

#[test]
fn calls() {
    let engine = Engine::builder().workers(1).build().unwrap();
    let script = Script::new("a.js", "const k = {a: 1}; function add(a, b) { return a + b; } const obj = (o) => ({...o, k}); const main = () => { for (;;); }; const bad = () => { null.x }").unwrap();
    let t = Instant::now();
    let sum: f64 = engine.task(&script).call_blocking("add", (1, 2.5)).unwrap();
    println!("first {:?}", t.elapsed());
    assert_eq!(sum, 3.5);
    let t = Instant::now();
    for _ in 0..1000 {
        let _: f64 = engine.task(&script).call_blocking("add", (1, 2.5)).unwrap();
    }
    println!("1000: {:?}", t.elapsed());
    let v: serde_json::Value =
        engine.task(&script).call_blocking("obj", (serde_json::json!({"x": [1,2,"é"]}),)).unwrap();
    assert_eq!(v, serde_json::json!({"x": [1,2,"é"], "k": {"a": 1}}));
    let t = Instant::now();
    let e = engine.task(&script).timeout(Duration::from_millis(50)).call_blocking::<()>("main", ()).unwrap_err();
    println!("{e} {:?}", t.elapsed());
    println!("{}", engine.task(&script).call_blocking::<()>("bad", ()).unwrap_err());
    println!("{}", engine.task(&script).call_blocking::<()>("nope", ()).unwrap_err());
    println!("{:#?}", engine.stats());
}
