//! However a run ends, what it had open is closed.

use std::time::Duration;

use jsmill::{Engine, ErrorKind, Isolation, Script, TaskBuilder};
use serde_json::Value;

use super::{Folder, loopback};
use crate::assert_kind;
use crate::support::{engine, engine_with, eventually, in_child, leave, on_tokio, script, still_works};

const SOURCE: &str = "\
const take = async () => { const files = []; for (let n = 0; n < 5; n++) files.push(await io.open('a')); return files; };
const returns = async () => { await take(); return 1; };
const throws = async () => { await take(); throw new Error('no'); };
const unhandled = async () => { await take(); Promise.reject(new Error('no')); await aio.sleep(60_000); };
const stalls = async () => { await take(); await new Promise(() => {}); };
const sleeps = async () => { await take(); await aio.sleep(60_000); };
const reads = async () => { await take(); const fifo = await io.open('fifo', 'r+'); await fifo.read(); };
const spins = async () => { await take(); for (;;); };
const fills = async () => { await take(); const all = []; for (;;) all.push(new Array(1e5).fill(0.5)); };
const lost = async () => { await take(); Array.prototype.reverse.call({ length: 4e7 }); };
function* asks() { yield take(); yield 1; return 2; }
function* cleans() { const [file] = yield take(); try { yield 1; } finally { (yield io.open('log', 'w')).write('closed'); yield file.read(); } }";

fn task<'e>(engine: &'e Engine, folder: &Folder) -> TaskBuilder<'e> {
    engine.task(&script(SOURCE)).io(folder.writable())
}

fn folder() -> Folder {
    let folder = Folder::new();
    folder.put("a", "a");
    folder
}

fn closed(folder: &Folder, how: &str) {
    eventually(how, || folder.open() == 0);
}

#[test]
fn by_itself() {
    let engine = engine();
    let folder = folder();
    assert_eq!(task(&engine, &folder).call_async_blocking::<u32>("returns", ()).unwrap(), 1);
    closed(&folder, "returned");
    for function in ["throws", "unhandled", "stalls"] {
        task(&engine, &folder).call_async_blocking::<Value>(function, ()).unwrap_err();
        closed(&folder, function);
    }
    let mut run = task(&engine, &folder).generate::<u32, (), u32>("asks", ()).unwrap();
    assert_eq!(run.next_blocking().unwrap(), Some(1));
    assert!(folder.open() >= 5);
    run.reply(()).unwrap();
    assert_eq!(run.next_blocking().unwrap(), None);
    assert_eq!(run.finish_blocking().unwrap(), 2);
    closed(&folder, "a generator returned");
}

#[test]
fn by_a_limit() {
    let engine = engine();
    let folder = folder();
    let short = Duration::from_millis(100);
    let error = task(&engine, &folder).deadline(short).call_async_blocking::<Value>("sleeps", ()).unwrap_err();
    assert_kind!(error, ErrorKind::Deadline { .. });
    closed(&folder, "deadline");
    let error = task(&engine, &folder).timeout(short).call_async_blocking::<Value>("spins", ()).unwrap_err();
    assert_kind!(error, ErrorKind::SliceTimeout { .. });
    closed(&folder, "slice timeout");
    let error = task(&engine, &folder).cpu_budget(short).call_async_blocking::<Value>("spins", ()).unwrap_err();
    assert_kind!(error, ErrorKind::CpuBudget { .. } | ErrorKind::SliceTimeout { .. });
    closed(&folder, "CPU budget");
    let task = task(&engine, &folder).timeout(Duration::from_secs(20));
    let error = task.call_async_blocking::<Value>("fills", ()).unwrap_err();
    assert_kind!(error, ErrorKind::HeapLimit { .. });
    closed(&folder, "heap limit");
    still_works(&engine);
}

#[test]
fn by_a_caller_who_leaves() {
    let engine = engine();
    let folder = folder();
    folder.fifo("fifo");
    on_tokio(async {
        for (function, open) in [("sleeps", 5), ("reads", 6)] {
            let call = tokio::spawn(task(&engine, &folder).call_async::<Value>(function, ()));
            while folder.open() < open {
                tokio::time::sleep(Duration::from_millis(2)).await;
            }
            call.abort();
            assert!(call.await.is_err());
            if function == "reads" {
                // The system's call has it still.
                eventually("the others are closed", || folder.open() <= 1);
                std::fs::write(folder.path().join("fifo"), "x").unwrap();
            }
            closed(&folder, function);
        }
    });
    let mut run = task(&engine, &folder).generate::<u32, (), u32>("asks", ()).unwrap();
    run.next_blocking().unwrap();
    drop(run);
    closed(&folder, "a generator's caller has left");
}

#[test]
fn while_a_generator_is_closed_it_may_use_what_it_has_open() {
    let engine = engine();
    let folder = folder();
    let limits = jsmill::Limits { close_timeout: Duration::from_secs(10), ..engine.limits() };
    let task = task(&engine, &folder).limits(limits);
    let mut run = task.generate::<u32, (), u32>("cleans", ()).unwrap();
    run.next_blocking().unwrap();
    drop(run);
    eventually("the last words are written", || {
        std::fs::read(folder.path().join("log")).is_ok_and(|log| log == b"closed")
    });
    closed(&folder, "closed");
}

#[test]
fn by_the_end_of_the_engine() {
    let folder = folder();
    let engine = engine();
    on_tokio(async {
        let call = tokio::spawn(task(&engine, &folder).call_async::<Value>("sleeps", ()));
        while folder.open() < 5 {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
        drop(engine);
        assert_kind!(call.await.unwrap().unwrap_err(), ErrorKind::ShuttingDown);
    });
    closed(&folder, "the engine is gone");
}

#[test]
fn by_the_loss_of_the_worker() {
    in_child("io::ends::by_the_loss_of_the_worker", || {
        let engine = engine_with(|builder| builder.grace(Duration::from_millis(300)));
        let folder = folder();
        let task = task(&engine, &folder).timeout(Duration::from_millis(200));
        let error = task.call_async_blocking::<Value>("lost", ()).unwrap_err();
        assert_kind!(error, ErrorKind::SliceTimeout { .. });
        closed(&folder, "the worker is lost");
        still_works(&engine);
        leave();
    });
}

#[test]
fn a_handle_of_another_run_is_of_no_use() {
    let engine = engine();
    let folder = folder();
    let script = Script::builder("shared.js")
        .source(
            "let kept;
             const keep = async () => { kept = await io.open('a'); await aio.sleep(60_000); };
             const leave = async () => { kept = await io.open('a'); return 1; };
             const use = async () => { try { return await kept.readText(); } catch (error) { return error.message; } };",
        )
        .isolation(Isolation::Shared)
        .build()
        .unwrap();
    on_tokio(async {
        let call = |name| engine.task(&script).io(folder.readable()).call_async::<Value>(name, ());
        call("leave").await.unwrap();
        assert!(call("use").await.unwrap().as_str().unwrap().contains("closed"));
        let keeping = tokio::spawn(call("keep"));
        while folder.open() == 0 {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
        // Until the slice in which the script gets it.
        tokio::time::sleep(Duration::from_millis(50)).await;
        assert!(call("use").await.unwrap().as_str().unwrap().contains("another run"));
        keeping.abort();
    });
    closed(&folder, "the first run has ended");
}

#[test]
fn sockets_too() {
    let engine = engine();
    let script = script(
        "async function* main() { const listener = await io.listen('127.0.0.1:0'); yield listener.address; await listener.accept(); yield 'accepted'; }",
    );
    let mut run = engine.task(&script).io(loopback()).generate::<String, (), ()>("main", ()).unwrap();
    let address = run.next_blocking().unwrap().unwrap();
    let mut client = std::net::TcpStream::connect(&address).unwrap();
    run.reply(()).unwrap();
    assert_eq!(run.next_blocking().unwrap().as_deref(), Some("accepted"));
    drop(run);
    assert_eq!(std::io::Read::read(&mut client, &mut [0; 8]).unwrap(), 0);
    eventually("nobody listens any more", || std::net::TcpStream::connect(&address).is_err());
}
