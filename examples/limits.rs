//! Goal: each kind of runaway script, and what its caller gets: an error of a kind of its own, while the process goes on.
//!
//! Run it with `cargo run --example limits`. The last script holds on to a core until the process ends.

use std::sync::Arc;
use std::time::{Duration, Instant};

use jsmill::{Bytes, Engine, Error, ErrorKind, Limits, Script};

/// A call that takes longer than this was not stopped by its limit.
const FAR_TOO_LONG: Duration = Duration::from_secs(15);

/// The error of a call of `main`, which must fail. Prints what the caller sees.
#[track_caller]
fn run(engine: &Engine, what: &str, source: &str, limits: Limits) -> Error {
    let script = Script::new("runaway.js", source).expect("nothing is wrong with it at first sight");
    let start = Instant::now();
    let result = engine.task(&script).limits(limits).call_blocking::<serde_json::Value>("main", ());
    let (error, took) = (result.expect_err("it cannot succeed"), start.elapsed());
    assert!(took < FAR_TOO_LONG, "{what}: {took:?}");
    assert!(error.is_limit(), "{what}: {error}");
    println!("{what} ({took:.1?}):\n    {error}");
    // The same engine serves the next call.
    let next = Script::new("next.js", "const main = () => 'served';").expect("a script");
    assert_eq!(engine.task(&next).call_blocking::<String>("main", ()).expect("the next call"), "served");
    error
}

fn main() -> jsmill::Result<()> {
    // 1. Small limits, so that all of this takes seconds. The time limits are those of calls that set none of their own.
    let short = Limits { slice_timeout: Some(Duration::from_millis(200)), ..Limits::default() };
    let long = Limits { slice_timeout: Some(FAR_TOO_LONG), ..Limits::default() };
    let engine = Engine::builder()
        .workers(1)
        .heap_limit(Bytes::mib(32))
        .buffer_limit(Bytes::mib(32))
        .grace(Duration::from_millis(500))
        .build()?;

    // 2. Time inside V8, whatever it is spent on, and whatever the script tries to catch.
    let error = run(&engine, "an endless loop", "const main = () => { for (;;) try { for (;;); } catch {} };", short);
    assert!(matches!(error.kind(), ErrorKind::SliceTimeout { .. }));
    // Returned, each promise would wait for the next one, and the heap limit could come first.
    let promises = "const main = () => { const again = () => { Promise.resolve().then(again); }; again(); };";
    let error = run(&engine, "promises without end", promises, short);
    assert!(matches!(error.kind(), ErrorKind::SliceTimeout { .. }));
    let expression = r"const main = () => /^(\w+\s?)+$/.test('such an expression tries every way there is!');";
    let error = run(&engine, "a slow regular expression", expression, short);
    assert!(matches!(error.kind(), ErrorKind::SliceTimeout { .. }));

    // 3. CPU time: fair where the machine is loaded, since waiting for a core does not count.
    let budget = Limits { cpu_budget: Some(Duration::from_millis(50)), ..long };
    let error = run(&engine, "a CPU budget", "const main = () => { for (;;); };", budget);
    assert!(matches!(error.kind(), ErrorKind::CpuBudget { .. }));

    // 4. The stack. A script may catch this one, as a `RangeError`.
    let error = run(&engine, "recursion", "const main = () => 1 + main();", long);
    assert!(matches!(error.kind(), ErrorKind::StackOverflow(thrown) if thrown.name == "RangeError"));

    // 5. Memory: the JavaScript heap, after which the isolate is replaced, and array buffers, which live outside of it.
    let hoard = "const main = () => { const all = []; for (;;) all.push({ n: all.length }); };";
    let error = run(&engine, "allocation", hoard, long);
    assert!(matches!(error.kind(), ErrorKind::HeapLimit { limit } if *limit == Bytes::mib(32)));
    let buffers = "const main = () => { const all = []; for (;;) all.push(new Uint8Array(2 ** 20)); };";
    let error = run(&engine, "array buffers", buffers, long);
    assert!(matches!(error.kind(), ErrorKind::BufferLimit { limit } if *limit == Bytes::mib(32)));

    // 6. What comes back.
    let large = Limits { result: Bytes::kib(64), ..long };
    let error = run(&engine, "a large result", "const main = () => 'x'.repeat(1e6);", large);
    assert!(matches!(error.kind(), ErrorKind::ResultTooLarge { limit } if *limit == Bytes::kib(64)));

    // 7. The time from submission to answer. The worker is busy, the second call waits in the queue: nothing of it runs.
    let error = deadline_in_the_queue(&engine)?;
    assert!(matches!(error.kind(), ErrorKind::Deadline { queued: true, .. }), "{error}");
    assert!(error.is_retryable(), "nothing of it ran");
    println!("a deadline in the queue:\n    {error}");

    // 8. A built-in of V8 that looks at no request to stop. The caller has its error at limit plus grace; the worker is given up and
    //    replaced, and its thread ends when V8 lets go. `max_lost` bounds how many there may be.
    let stuck = "const main = () => Array.prototype.indexOf.call({ length: 9e15 }, 1);";
    let error = run(&engine, "a built-in that V8 cannot interrupt", stuck, short);
    assert!(matches!(error.kind(), ErrorKind::SliceTimeout { .. }));
    assert_eq!((engine.stats().lost, engine.stats().lost_total), (1, 1));
    println!("    1 worker was lost and replaced");

    // 9. Nobody waits for that thread any more: the engine ends like any other.
    let start = Instant::now();
    engine.shutdown_blocking()?;
    assert!(start.elapsed() < FAR_TOO_LONG, "the end took {:?}", start.elapsed());
    assert_eq!(engine.stats().lost, 1, "the thread is still inside V8");
    Ok(())
}

/// The error of a call whose deadline passes while another one holds the only worker.
fn deadline_in_the_queue(engine: &Engine) -> jsmill::Result<Error> {
    let busy =
        Script::new("busy.js", "const main = (ms) => { const end = Date.now() + ms; while (Date.now() < end); };")?;
    let blocker = {
        let (engine, busy): (Engine, Arc<Script>) = (engine.clone(), busy.clone());
        let limits = Limits { slice_timeout: Some(FAR_TOO_LONG), ..Limits::default() };
        std::thread::spawn(move || engine.task(&busy).limits(limits).call_blocking::<()>("main", (1_500,)))
    };
    // The first call has the worker well before the second one is made.
    std::thread::sleep(Duration::from_millis(300));
    let result = engine.task(&busy).deadline(Duration::from_millis(100)).call_blocking::<()>("main", (0,));
    blocker.join().expect("the first caller has not panicked")?;
    Ok(result.expect_err("the worker is busy for longer"))
}
