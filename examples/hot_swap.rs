//! Goal: a script that is replaced while callers use it, without a failed call, and a broken version that never gets in.
//!
//! Run it with `cargo run --example hot_swap`.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use jsmill::{Engine, ErrorKind, Live, Script};

/// How often the script is replaced.
const SWAPS: u64 = 20;
/// How many callers use it meanwhile.
const CALLERS: usize = 8;

/// A version of the script: two functions that both say which one it is.
fn version(number: u64) -> jsmill::Result<Arc<Script>> {
    let source = format!("const number = {number}; const half = () => number; const both = () => [half(), number];");
    Script::builder("rates.js").source(source).version(format!("v{number}")).build()
}

#[tokio::main]
async fn main() -> jsmill::Result<()> {
    let engine = Engine::builder().workers(2).build()?;

    // 1. The place that holds the current version. Its clones share it.
    let script = Live::new(version(0)?);

    // 2. Callers that go on and on, and count their calls. A call keeps the version that was current when it was made.
    let over = Arc::new(AtomicBool::new(false));
    let callers: Vec<_> = (0..CALLERS)
        .map(|_| {
            let (engine, script, over) = (engine.clone(), script.clone(), over.clone());
            tokio::spawn(async move {
                let (mut calls, mut last) = (0_u64, 0);
                while !over.load(Ordering::Relaxed) {
                    let (half, number): (u64, u64) = engine.task(&script).call("both", ()).await?;
                    assert_eq!(half, number, "a call has seen parts of two versions");
                    assert!(number >= last, "version {number} after version {last}");
                    last = number;
                    calls += 1;
                }
                Ok::<u64, jsmill::Error>(calls)
            })
        })
        .collect();

    // 3. Somebody who wants to know of swaps: to log them, or to drop what was made for the old version. Those that follow each
    //    other quickly may be told of at once.
    let mut watch = script.watch();
    let watcher = tokio::spawn(async move {
        loop {
            let current = watch.changed().await;
            if current.version() == format!("v{SWAPS}") {
                return current;
            }
        }
    });

    // 4. New versions. `store` returns when every worker has loaded the new one and it is current: no call waits for that.
    for number in 1..=SWAPS {
        tokio::time::sleep(Duration::from_millis(20)).await;
        script.store(&engine, version(number)?).await?;
        let seen: u64 = engine.task(&script).call("half", ()).await?;
        assert_eq!(seen, number, "a call after the swap sees the new version");
    }

    // 5. A version with an error of syntax, or with state at its top level, is not even a `Script`.
    let error = Script::new("rates.js", "let last = 0; const half = () => ++last;").unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Compile(findings) if findings[0].code == "reassigned"), "{error}");
    println!("refused: {error}");

    // 6. One that throws while it is loaded is found out by `store`, before any call has seen it: the old one stays.
    let broken = Script::new("rates.js", "const table = JSON.parse('[1, 2'); const half = () => table[0];")?;
    let error = script.store(&engine, broken).await.unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Script(thrown) if thrown.name == "SyntaxError"), "{error}");
    println!("refused: {error}");
    assert_eq!(script.load().version(), format!("v{SWAPS}"));
    assert_eq!(script.swaps(), SWAPS);

    // 7. All callers are still well.
    over.store(true, Ordering::Relaxed);
    let mut calls = 0;
    for caller in callers {
        calls += caller.await.expect("no caller has panicked")?;
    }
    let last = watcher.await.expect("the watcher has not panicked");
    println!("{calls} calls, none failed, {SWAPS} swaps, the last one to {}", last.version());
    assert!(calls > SWAPS, "{calls} calls");

    engine.shutdown().await
}
