//! `js/aio.js`: a folder of scripts with what their `main` gives, and what several runs of one context do with `aio.once`.
//!
//! A case begins with its name, `//= value` or `//! ErrorKind`, and `//@ sealed` or `//@ shared`.

use std::sync::Arc;
use std::time::Duration;

use jsmill::{Engine, ErrorKind, Isolation, Script};
use serde_json::{Value, json};

use crate::assert_kind;
use crate::support::{engine, on_tokio};

fn module(name: &str, source: &str, isolation: Isolation) -> Arc<Script> {
    Script::builder(name).module("main.js", source).isolation(isolation).build().expect(name)
}

fn shared(source: &str) -> Arc<Script> {
    module("shared.js", source, Isolation::Shared)
}

/// Calls `main`, whichever sort of function it is.
async fn main_of(engine: &Engine, script: &Arc<Script>, generator: bool) -> jsmill::Result<Value> {
    let task = engine.task(script).timeout(Duration::from_secs(20));
    if generator {
        task.generate::<Value, Value, Value>("main", ())?.finish().await
    } else {
        task.call_async("main", ()).await
    }
}

#[test]
fn every_case_of_the_folder() {
    let engine = engine();
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/suspension/aio");
    let mut seen = 0;
    let mut wrong = Vec::new();
    let mut files: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    for path in files {
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        let source = std::fs::read_to_string(&path).unwrap();
        let tagged = |tag: &str| source.lines().find_map(|line| line.strip_prefix(tag)).map(str::trim);
        let isolation = match tagged("//@").expect("an isolation") {
            "sealed" => Isolation::Sealed,
            "shared" => Isolation::Shared,
            other => panic!("{name}: {other}"),
        };
        let script = module(&name, &source, isolation);
        let result = on_tokio(main_of(&engine, &script, source.contains("function* main")));
        match (tagged("//="), tagged("//!")) {
            (Some(expected), None) => {
                let expected: Value = serde_json::from_str(expected).expect("JSON");
                match result {
                    Ok(value) if value == expected => {}
                    other => wrong.push(format!("{name}: {other:?}, and not {expected}")),
                }
            }
            (None, Some("Stalled")) => match result {
                Err(error) if *error.kind() == ErrorKind::Stalled => {}
                other => wrong.push(format!("{name}: {other:?}, and not stalled")),
            },
            other => panic!("{name}: {other:?}"),
        }
        seen += 1;
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert!(seen >= 25, "{seen} cases");
}

const ONCE: &str = "let runs = 0;
    const get = aio.once(async () => { runs += 1; await aio.sleep(100); return runs; });
    export async function main() { return await get(); }
    export async function leave() { get(); return 'left'; }
    export async function hasty() { return await aio.timeout(20, get()).catch((error) => error.name); }
    export async function burn() { await get(); for (;;); }";

#[test]
fn concurrent_first_users_share_one_run() {
    let engine = engine();
    let script = shared(ONCE);
    on_tokio(async {
        let calls = (0..20).map(|_| engine.task(&script).call_async::<u32>("main", ()));
        assert_eq!(futures::future::try_join_all(calls).await.unwrap(), [1; 20]);
        assert_eq!(engine.task(&script).call_async::<u32>("main", ()).await.unwrap(), 1);
    });
}

#[test]
fn a_failed_run_is_told_to_all_that_waited_and_retried_by_the_next() {
    let engine = engine();
    let script = shared(
        "let runs = 0;
         const get = aio.once(async () => { runs += 1; await aio.sleep(50); if (runs === 1) throw new Error('down'); return runs; });
         export async function main() { return await get(); }",
    );
    on_tokio(async {
        let calls = (0..5).map(|_| engine.task(&script).call_async::<u32>("main", ()));
        for result in futures::future::join_all(calls).await {
            assert_eq!(result.unwrap_err().script_error().unwrap().message, "down");
        }
        assert_eq!(engine.task(&script).call_async::<u32>("main", ()).await.unwrap(), 2);
    });
}

#[test]
fn a_waiter_takes_over_when_the_runner_dies() {
    let engine = engine();
    let script = shared(ONCE);
    on_tokio(async {
        let runner = engine.task(&script).deadline(Duration::from_millis(50)).call_async::<u32>("main", ());
        let runner = tokio::spawn(runner);
        tokio::time::sleep(Duration::from_millis(10)).await;
        let waiters = (0..2).map(|_| engine.task(&script).call_async::<u32>("main", ()));
        assert_eq!(futures::future::try_join_all(waiters).await.unwrap(), [2, 2]);
        assert_kind!(runner.await.unwrap().unwrap_err(), ErrorKind::Deadline { .. });
    });
    let script = shared(ONCE);
    on_tokio(async {
        assert_eq!(engine.task(&script).call_async::<String>("leave", ()).await.unwrap(), "left");
        assert_eq!(engine.task(&script).call_async::<u32>("main", ()).await.unwrap(), 2);
    });
}

#[test]
fn a_waiter_may_give_up_and_goes_on_in_its_own_run() {
    let engine = engine();
    let script = shared(ONCE);
    on_tokio(async {
        let main = tokio::spawn(engine.task(&script).call_async::<u32>("main", ()));
        tokio::time::sleep(Duration::from_millis(5)).await;
        let burn = engine.task(&script).cpu_budget(Duration::from_millis(30)).call_async::<u32>("burn", ());
        let burn = tokio::spawn(burn);
        assert_eq!(engine.task(&script).call_async::<String>("hasty", ()).await.unwrap(), "TimeoutError");
        assert_eq!(main.await.unwrap().unwrap(), 1);
        assert_kind!(burn.await.unwrap().unwrap_err(), ErrorKind::CpuBudget { .. });
    });
}

#[test]
fn state_of_one_run_is_none_of_another() {
    let engine = engine();
    let script = shared(
        "let kept;
         export async function make() { kept = aio.queue(); }
         export async function main() { try { kept.tryPut(1); } catch (error) { return error.message; } }",
    );
    on_tokio(async {
        engine.task(&script).call_async::<()>("make", ()).await.unwrap();
        let text = engine.task(&script).call_async::<String>("main", ()).await.unwrap();
        assert!(text.contains("belongs to another task"), "{text}");
    });
    let script = shared(
        "const ready = Promise.resolve(7);
         export async function main(spin) { const raced = aio.race([ready]); if (spin) for (;;); return await raced; }",
    );
    on_tokio(async {
        let task = engine.task(&script).timeout(Duration::from_millis(30));
        assert_kind!(task.call_async::<u32>("main", (true,)).await.unwrap_err(), ErrorKind::SliceTimeout { .. });
        assert_eq!(engine.task(&script).call_async::<u32>("main", (false,)).await.unwrap(), 7);
    });
}

#[test]
fn what_holds_state_is_refused_at_the_top_level_of_a_sealed_script() {
    let engine = engine();
    for source in [
        "const s = aio.semaphore(1);",
        "const q = aio.queue();",
        "const { promise, resolve } = Promise.withResolvers();",
    ] {
        let script = Script::new("top.js", format!("{source} const main = () => 1;")).unwrap();
        let error = engine.task(&script).call_blocking::<u32>("main", ()).unwrap_err();
        assert!(error.to_string().contains("inside"), "{source}: {error}");
    }
    let script = Script::new("once.js", "const get = aio.once(() => 1); async function main() { return await get(); }");
    let value = engine.task(&script.unwrap()).call_async_blocking::<Value>("main", ()).unwrap();
    assert_eq!(value, json!(1));
}
