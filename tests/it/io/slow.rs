//! File systems that do not answer: neither worker nor runtime wait for them.

use std::time::{Duration, Instant};

use jsmill::ErrorKind;
use serde_json::Value;

use super::{Folder, main};
use crate::assert_kind;
use crate::support::{SLACK, engine_with, eventually, in_child, leave, on_tokio, script, still_works};

const SOURCE: &str = "\
const main = async (path) => (await io.open(path)).readText();
const given_up = async (path) => { io.open(path).then(() => {}); await aio.sleep(10); return 'gone'; };";

/// How often a task of the runtime came to its turn within that time, every 5 ms at the best.
async fn heartbeat(time: Duration) -> (u32, Duration) {
    let start = Instant::now();
    let (mut beats, mut longest) = (0, Duration::ZERO);
    while start.elapsed() < time {
        let before = Instant::now();
        tokio::time::sleep(Duration::from_millis(5)).await;
        longest = longest.max(before.elapsed());
        beats += 1;
    }
    (beats, longest)
}

#[test]
fn opening_that_takes_long_stops_neither_worker_nor_runtime() {
    let folder = Folder::new();
    let fifo = folder.fifo("slow");
    folder.put("fast", "fast");
    on_tokio(async {
        let runtime = tokio::runtime::Handle::current();
        let engine = engine_with(|builder| builder.runtime(runtime));
        let script = script(SOURCE);
        let slow = engine.task(&script).io(folder.readable()).call_async::<String>("main", ("slow",));
        let slow = tokio::spawn(slow);
        let (beats, longest) = heartbeat(Duration::from_millis(500)).await;
        assert!(beats >= 10 && longest < Duration::from_millis(400), "{beats} beats, one after {longest:?}");
        // The only worker runs other calls, of files too.
        for _ in 0..20 {
            let fast = engine.task(&script).io(folder.readable()).call_async::<String>("main", ("fast",));
            assert_eq!(fast.await.unwrap(), "fast");
        }
        assert!(!slow.is_finished());
        std::thread::spawn(move || std::fs::write(fifo, "at last")).join().unwrap().unwrap();
        assert_eq!(slow.await.unwrap().unwrap(), "at last");
    });
}

/// Calls that hang for ever, as many as there are threads and more.
#[test]
fn an_open_that_never_returns_holds_neither_the_end_of_its_run_nor_that_of_the_engine() {
    in_child("io::slow::an_open_that_never_returns_holds_neither_the_end_of_its_run_nor_that_of_the_engine", || {
        let folder = Folder::new();
        folder.fifo("slow");
        folder.put("fast", "fast");
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let engine = engine_with(|builder| builder.runtime(runtime.handle().clone()).io_threads(2));
        let script = script(SOURCE);
        let start = Instant::now();
        let short = Duration::from_millis(50);
        for _ in 0..3 {
            let task = engine.task(&script).io(folder.readable()).deadline(short);
            assert_kind!(task.call_async_blocking::<Value>("main", ("slow",)).unwrap_err(), ErrorKind::Deadline { .. });
            let task = engine.task(&script).io(folder.readable());
            assert_eq!(task.call_async_blocking::<String>("given_up", ("slow",)).unwrap(), "gone");
        }
        // All threads for files hang: further files wait, everything else goes on.
        let task = engine.task(&script).io(folder.readable()).deadline(short);
        assert_kind!(task.call_async_blocking::<Value>("main", ("fast",)).unwrap_err(), ErrorKind::Deadline { .. });
        still_works(&engine);
        eventually("nothing is pending", || engine.stats().workers[0].pending == 0);
        engine.shutdown_blocking().unwrap();
        drop(engine);
        // The embedder's own runtime waits for its blocking calls when it is dropped: none of ours is among them.
        drop(runtime);
        assert!(start.elapsed() < SLACK, "{:?}", start.elapsed());
        leave();
    });
}

#[test]
fn a_file_is_closed_behind_a_read_that_hangs() {
    let folder = Folder::new();
    let fifo = folder.fifo("slow");
    let engine = engine_with(|builder| builder);
    let source = "\
const main = async () => {
  const file = await io.open('slow', 'r+');
  const reading = file.read().catch((error) => error.message);
  await aio.sleep(10);
  const closing = file.close();
  return [await reading, await closing ?? 'closed'];
};";
    let answer = main(&engine, &script(source), folder.writable(), ()).unwrap();
    assert_eq!(answer, serde_json::json!(["the handle was closed meanwhile", "closed"]));
    // The system's call still has it; when that returns, it is closed.
    std::fs::write(fifo, "x").unwrap();
    eventually("the descriptor is closed", || folder.open() == 0);
}
