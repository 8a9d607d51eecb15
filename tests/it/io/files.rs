//! Files: bytes, text, lines, and what goes wrong.

use jsmill::{Bytes, ErrorKind, Io};
use serde_json::{Value, json};

use super::{Folder, main, message};
use crate::assert_kind;
use crate::support::{engine, engine_with, on_tokio, script};

#[test]
fn written_and_read_again() {
    let engine = engine();
    let folder = Folder::new();
    let script = script(
        "const main = async () => {
           const out = await io.open('a', 'w');
           const counts = [await out.write('gr\\u00fc\\u00df '), await out.write(new Uint8Array([0x64, 0x69, 0x63, 0x68])), await out.write('')];
           await out.close(); await out.close();
           const more = await io.open('a', 'a');
           await more.write('!');
           await more.close();
           const file = await io.open('a', 'r+');
           const first = [...await file.read(4)];
           const rest = await file.readText();
           const end = [await file.read(), await file.readText()];
           await file.write('?');
           await file.close();
           return { counts, first, rest, end, closed: await out.close() === undefined };
         };",
    );
    let answer = main(&engine, &script, folder.writable(), ()).unwrap();
    let wanted = json!({
        "counts": [7, 4, 0], "first": [0x67, 0x72, 0xc3, 0xbc], "rest": "ß dich!", "end": [null, ""], "closed": true,
    });
    assert_eq!(answer, wanted);
    assert_eq!(folder.get("a"), "grüß dich!?".as_bytes());
}

#[test]
fn text_that_is_cut_inside_of_a_character_is_refused() {
    let engine = engine();
    let folder = Folder::new();
    folder.put("a", "grüß");
    let script = script(
        "const main = async () => { const file = await io.open('a'); await file.read(3); return file.readText(); };",
    );
    let error = main(&engine, &script, folder.readable(), ()).unwrap_err();
    assert!(message(&error).contains("not UTF-8 at byte 0"), "{error}");
}

/// Lines with both ends, empty ones, long ones, characters of all sizes, and none at the end.
fn lines() -> (String, Vec<String>) {
    let mut text = String::new();
    let mut lines = Vec::new();
    for number in 0..3_000 {
        let line = match number % 5 {
            0 => String::new(),
            1 => "\u{1f600}\u{e4}\u{20ac}x".repeat(number % 97),
            2 => format!("{number}\rmiddle"),
            _ => "y".repeat(number % 701),
        };
        text.push_str(&line);
        text.push_str(if number % 3 == 0 { "\r\n" } else { "\n" });
        lines.push(line);
    }
    text.push_str("last");
    lines.push("last".into());
    (text, lines)
}

#[test]
fn lines_by_for_await_and_in_generators() {
    let engine = engine();
    let folder = Folder::new();
    let (text, lines) = lines();
    assert!(text.len() > 5 * 64 * 1024);
    folder.put("a", &text);
    let script = script(
        "const main = async () => { const all = []; for await (const line of (await io.open('a')).lines()) all.push(line); return all; };
         function* walk() {
           const file = yield io.open('a');
           const lines = file.lines();
           const all = [];
           for (;;) {
             const { done, value } = yield lines.next();
             if (done) return all;
             all.push(value);
           }
         }",
    );
    let answer = main(&engine, &script, folder.readable(), ()).unwrap();
    assert_eq!(serde_json::from_value::<Vec<String>>(answer).unwrap(), lines);
    let mut run = engine.task(&script).io(folder.readable()).generate::<(), (), Vec<String>>("walk", ()).unwrap();
    assert_eq!(run.next_blocking().unwrap(), None);
    assert_eq!(run.finish_blocking().unwrap(), lines);
}

#[test]
fn lines_and_bytes_in_turn() {
    let engine = engine();
    let folder = Folder::new();
    folder.put("a", "head: 5\r\n\r\nbodyX\nmore");
    let script = script(
        "const main = async () => {
           const file = await io.open('a');
           const head = [];
           for await (const line of file.lines()) { if (line === '') break; head.push(line); }
           const body = String.fromCharCode(...await file.read(5));
           return [head, body, await file.readText()];
         };",
    );
    let answer = main(&engine, &script, folder.readable(), ()).unwrap();
    assert_eq!(answer, json!([["head: 5"], "bodyX", "\nmore"]));
}

#[test]
fn a_large_file_in_pieces_and_whole() {
    let engine = engine_with(|builder| builder.buffer_limit(Bytes::mib(8)));
    let folder = Folder::new();
    let size = 40 * 1024 * 1024;
    folder.put("a", (0..size).map(|at| (at % 251) as u8).collect::<Vec<_>>());
    let script = script(
        "const main = async (size) => {
           const file = await io.open('a');
           let at = 0, wrong = 0;
           for (let bytes; (bytes = await file.read(size)) !== null;) {
             if (!(bytes instanceof Uint8Array) || bytes[0] !== at % 251 || bytes.at(-1) !== (at + bytes.length - 1) % 251) wrong++;
             at += bytes.length;
           }
           return [at, wrong];
         };
         const keep = async () => { const file = await io.open('a'); const all = []; for (let b; (b = await file.read()) !== null;) all.push(b); };
         const whole = async () => (await io.open('a')).readText();",
    );
    for size_of_one in [None, Some(1024 * 1024), Some(4 * 1024 * 1024)] {
        let answer = main(&engine, &script, folder.readable(), (size_of_one.map_or(Value::Null, Value::from),));
        // `null` is no size; without an argument the size is the default.
        match size_of_one {
            None => assert!(message(&answer.unwrap_err()).contains("whole number")),
            Some(_) => assert_eq!(answer.unwrap(), json!([size, 0])),
        }
    }
    // More than fits is refused as with any other buffer, and the engine goes on.
    let error = engine.task(&script).io(folder.readable()).call_async_blocking::<()>("keep", ()).unwrap_err();
    assert_kind!(error, ErrorKind::BufferLimit { .. });
    let error = engine.task(&script).io(folder.readable()).call_async_blocking::<()>("whole", ()).unwrap_err();
    assert!(message(&error).contains("Io::read_limit"), "{error}");
    let error = main(&engine, &script, folder.readable().read_limit(Bytes::kib(4)), (4097,)).unwrap_err();
    assert!(message(&error).contains("Io::read_limit"), "{error}");
    assert_eq!(
        main(&engine, &script, folder.readable().read_limit(Bytes::mib(5)), (4_000_000,)).unwrap(),
        json!([size, 0])
    );
}

#[test]
fn a_line_beyond_the_limit() {
    let engine = engine();
    let folder = Folder::new();
    folder.put("a", "short\n".to_owned() + &"x".repeat(100_000));
    let script = script(
        "const main = async () => { let n = 0; for await (const _ of (await io.open('a')).lines()) n++; return n; };",
    );
    let error = main(&engine, &script, folder.readable().read_limit(Bytes::kib(64)), ()).unwrap_err();
    assert!(message(&error).contains("a line is longer than"), "{error}");
    assert_eq!(main(&engine, &script, folder.readable(), ()).unwrap(), 2);
}

#[test]
fn what_goes_wrong_has_a_code() {
    let engine = engine();
    let folder = Folder::new();
    folder.put("old", "old");
    let script = script(
        "const code = async (work) => { try { await work(); return 'fine'; } catch (error) { return error.code ?? error.constructor.name; } };
         const main = async () => {
           const reader = await io.open('old');
           const writer = await io.open('new', 'w');
           const gone = await io.open('old');
           await gone.close();
           return {
             write: await code(() => reader.write('x')), read: await code(() => writer.read()), lines: await code(() => writer.lines().next()),
             exists: await code(() => io.open('old', 'x')), none: await code(() => io.open('none')), mode: await code(() => io.open('old', 'rw')),
             closed: await code(() => gone.read()), data: await code(() => writer.write(7)), size: await code(() => reader.read(0)),
             path: await code(() => io.open(7)), twice: await code(() => Promise.all([reader.read(), reader.read()])),
             full: await code(async () => { await reader.close(); await reader.readText(); }),
           };
         };",
    );
    let answer = main(&engine, &script, folder.writable(), ()).unwrap();
    let wanted = json!({
        "write": "EBADF", "read": "EBADF", "lines": "EBADF", "exists": "EEXIST", "none": "ENOENT", "mode": "TypeError",
        "closed": "EBADF", "data": "TypeError", "size": "TypeError", "path": "TypeError", "twice": "Error", "full": "EBADF",
    });
    assert_eq!(answer, wanted);
}

#[test]
fn a_device_that_is_full_and_a_rejection_that_nobody_handles() {
    let engine = engine();
    let script = script(
        "const main = async () => { const file = await io.open('full', 'r+'); await file.write('x'); };
         const naked = async () => { const file = await io.open('full', 'r+'); file.write('x'); await aio.sleep(5_000); };",
    );
    // `/dev` as the granted directory, since links out of one are refused.
    let io = Io::new().writable_files("/dev");
    let error = main(&engine, &script, io.clone(), ()).unwrap_err();
    assert!(message(&error).contains("No space left"), "{error}");
    let error = engine.task(&script).io(io).call_async_blocking::<()>("naked", ()).unwrap_err();
    assert_kind!(error, ErrorKind::Unhandled(_));
}

#[test]
fn many_runs_at_a_time() {
    let engine = engine_with(|builder| builder.workers(2).io_threads(4));
    let folder = Folder::new();
    let script = script(
        "const main = async (n) => {
           const file = await io.open(`f${n}`, 'x');
           for (let i = 0; i < 10; i++) await file.write(`${n}:${i}\\n`);
           await file.close();
           let count = 0;
           for await (const line of (await io.open(`f${n}`)).lines()) if (line === `${n}:${count}`) count++;
           return count;
         };",
    );
    on_tokio(async {
        let calls = (0..200).map(|n| engine.task(&script).io(folder.writable()).call_async::<u32>("main", (n,)));
        assert_eq!(futures::future::try_join_all(calls).await.unwrap(), [10; 200]);
    });
}
