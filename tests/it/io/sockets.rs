//! Sockets: echo, many of them, both sides at a time, and ends of all kinds.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::time::Duration;

use jsmill::{ErrorKind, Io};
use serde_json::{Value, json};

use super::{loopback, main, message};
use crate::assert_kind;
use crate::support::{engine, engine_with, eventually, on_many_threads, script};

#[test]
fn two_hundred_clients_are_echoed_by_one_run() {
    let engine = engine_with(|builder| builder.workers(2));
    let script = script(
        "async function echo(socket) {
           for await (const line of socket.lines()) await socket.write(`${line.toUpperCase()}\\n`);
           await socket.close();
         }
         async function main(clients, rounds) {
           const listener = await io.listen('127.0.0.1:0');
           const address = listener.address;
           const served = [];
           const accepting = (async () => {
             for (let n = 0; n < clients; n++) served.push(echo(await listener.accept()));
           })();
           const client = async (number) => {
             const socket = await io.connect(address);
             const lines = socket.lines();
             for (let round = 0; round < rounds; round++) {
               const text = `client-${number}-${round}`;
               await socket.write(text);
               await socket.write('\\r\\n');
               const { value } = await lines.next();
               if (value !== text.toUpperCase()) throw new Error(`${value} in place of ${text}`);
             }
             await socket.close();
             return 1;
           };
           const all = await Promise.all(Array.from({ length: clients }, (_, number) => client(number)));
           await accepting;
           await Promise.all(served);
           await listener.close();
           return all.length;
         }",
    );
    assert_eq!(main(&engine, &script, loopback(), (200, 5)).unwrap(), 200);
    eventually("nothing is pending", || engine.stats().workers.iter().all(|worker| worker.pending == 0));
}

#[test]
fn many_bytes_both_ways_under_back_pressure() {
    let engine = engine();
    let script = script(
        "async function main(size) {
           const listener = await io.listen('127.0.0.1:0');
           const [to, from] = await Promise.all([io.connect(listener.address), listener.accept()]);
           const bytes = new Uint8Array(size).map((_, at) => at % 253);
           const writing = to.write(bytes).then((count) => to.close().then(() => count));
           await aio.sleep(20);
           let at = 0, wrong = 0;
           for (let part; (part = await from.read()) !== null;) {
             if (part[0] !== at % 253) wrong++;
             at += part.length;
           }
           return [await writing, at, wrong, await from.read()];
         }",
    );
    let size = 12 * 1024 * 1024;
    assert_eq!(main(&engine, &script, loopback(), (size,)).unwrap(), json!([size, size, 0, null]));
}

#[test]
fn a_script_that_has_always_something_to_read_does_not_keep_its_worker() {
    let engine = engine();
    let script = script(
        "async function pump() {
           const listener = await io.listen('127.0.0.1:0');
           const [to, from] = await Promise.all([io.connect(listener.address), listener.accept()]);
           for (;;) { await to.write('x'); await from.read(); }
         }
         const main = () => 42;",
    );
    on_many_threads(async {
        let limits = jsmill::Limits { slice_timeout: Some(Duration::from_secs(5)), ..engine.limits() };
        let pump = engine.task(&script).limits(limits).deadline(Duration::from_millis(400)).io(loopback());
        let pump = tokio::spawn(pump.call_async::<()>("pump", ()));
        let mut calls = 0;
        while !pump.is_finished() {
            assert_eq!(engine.task(&script).call::<u32>("main", ()).await.unwrap(), 42);
            calls += 1;
        }
        assert_kind!(pump.await.unwrap().unwrap_err(), ErrorKind::Deadline { .. });
        assert!(calls > 3, "{calls} calls came to their turn");
    });
}

#[test]
fn a_peer_that_has_left_is_an_error_with_a_code() {
    let engine = engine();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let script = script(
        "async function main(address) {
           const socket = await io.connect(address);
           const peer = socket.peer;
           const read = await socket.read();
           const bytes = new Uint8Array(1 << 16);
           try { for (;;) { await socket.write(bytes); await aio.sleep(1); } } catch (error) { return [peer, read, error.code]; }
         }",
    );
    let leaving = std::thread::spawn(move || drop(listener.accept().unwrap()));
    let answer = main(&engine, &script, loopback(), (&address,)).unwrap();
    leaving.join().unwrap();
    assert_eq!(answer[0], address.as_str());
    assert_eq!(answer[1], Value::Null);
    assert!(["EPIPE", "ECONNRESET"].contains(&answer[2].as_str().unwrap()), "{answer}");
    // Nobody listens there any more.
    let error = main(&engine, &script, loopback(), (&address,)).unwrap_err();
    assert!(message(&error).contains("Connection refused"), "{error}");
}

#[test]
fn a_name_is_resolved() {
    let engine = engine();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let script = script(
        "const main = async (address) => { const socket = await io.connect(address); return await socket.write('hello'); };",
    );
    let reading = std::thread::spawn(move || {
        let mut text = String::new();
        listener.accept().unwrap().0.read_to_string(&mut text).unwrap();
        text
    });
    let io = Io::new().connect("localhost:*");
    main(&engine, &script, io.clone(), (format!("LocalHost:{port}"),)).unwrap();
    assert_eq!(reading.join().unwrap(), "hello");
    assert!(main(&engine, &script, io, (format!("127.0.0.1:{port}"),)).is_err());
}

#[test]
fn closing_ends_what_is_pending() {
    let engine = engine();
    let script = script(
        "async function main() {
           const listener = await io.listen('127.0.0.1:0');
           const [to, from] = await Promise.all([io.connect(listener.address), listener.accept()]);
           const told = (promise) => promise.then(() => 'fine', (error) => error.code);
           const accepting = told(listener.accept());
           const reading = told(from.read());
           const second = await told(from.lines().next());
           await aio.sleep(5);
           await listener.close();
           await from.close();
           const after = await told(from.read());
           return [await accepting, await reading, second ?? 'pending', after, (() => { try { return from.peer; } catch (error) { return error.code; } })(), await to.read()];
         }",
    );
    let answer = main(&engine, &script, loopback(), ()).unwrap();
    assert_eq!(answer, json!(["EBADF", "EBADF", "pending", "EBADF", "EBADF", null]));
}

#[test]
fn text_until_the_end_and_a_line_that_never_ends() {
    let engine = engine();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let script = script(
        "async function main(address) {
           const one = await io.connect(address);
           const text = await one.readText();
           const two = await io.connect(address);
           try { return [text, await two.lines().next()]; } catch (error) { return [text, error.message]; }
         }",
    );
    let peer = std::thread::spawn(move || {
        let (mut one, _) = listener.accept().unwrap();
        for part in ["gr\u{fc}".as_bytes(), b"\xc3", b"\x9f dich"] {
            one.write_all(part).unwrap();
            std::thread::sleep(Duration::from_millis(5));
        }
        one.shutdown(Shutdown::Both).unwrap();
        let (mut two, _) = listener.accept().unwrap();
        // Until the script has had enough.
        while two.write_all(&[b'x'; 4096]).is_ok() {}
    });
    let io = loopback().read_limit(jsmill::Bytes::kib(100));
    let answer = main(&engine, &script, io, (&address,)).unwrap();
    assert_eq!(answer[0], "grüß dich");
    assert!(answer[1].as_str().unwrap().contains("a line is longer"), "{answer}");
    peer.join().unwrap();
}

#[test]
fn no_more_handles_than_granted() {
    let engine = engine();
    let script = script(
        "async function main() {
           const listener = await io.listen('127.0.0.1:0');
           const sockets = [];
           let code;
           try { for (;;) sockets.push(await io.connect(listener.address)); } catch (error) { code = error.code; }
           const many = sockets.length;
           await sockets[0].close();
           await io.connect(listener.address);
           return [many, code];
         }",
    );
    assert_eq!(main(&engine, &script, loopback().handles(10), ()).unwrap(), json!([9, "EMFILE"]));
}

#[test]
fn the_address_of_a_listener_is_where_clients_come() {
    let engine = engine();
    let script = script(
        "async function* main() {
           const listener = await io.listen('127.0.0.1:0');
           yield listener.address;
           const socket = await listener.accept();
           await socket.write('hello');
           return socket.peer;
         }",
    );
    let mut run = engine.task(&script).io(loopback()).generate::<String, (), String>("main", ()).unwrap();
    let address = run.next_blocking().unwrap().unwrap();
    let mut client = TcpStream::connect(address).unwrap();
    let own = client.local_addr().unwrap().to_string();
    run.reply(()).unwrap();
    assert_eq!(run.next_blocking().unwrap(), None);
    assert_eq!(run.finish_blocking().unwrap(), own);
    let mut text = String::new();
    client.read_to_string(&mut text).unwrap();
    assert_eq!(text, "hello");
}
