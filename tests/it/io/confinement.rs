//! What was not granted cannot be reached.

use jsmill::{ErrorKind, Io};
use serde_json::{Value, json};

use super::{Folder, loopback, main, message};
use crate::assert_kind;
use crate::support::{engine, engine_with, script};

const OPEN: &str = "\
const main = async (path, mode) => {
  try { const file = await io.open(path, mode); const text = mode === 'r' ? await file.readText() : ''; await file.close(); return text; }
  catch (error) { return [error.message, error.code ?? null]; }
};";

/// A file outside, with a secret, and a directory inside with ways that lead there.
fn folders() -> (Folder, Folder) {
    let (outside, inside) = (Folder::new(), Folder::new());
    outside.put("secret", "secret");
    inside.put("own", "own");
    std::fs::create_dir(inside.path().join("deep")).unwrap();
    inside.put("deep/er", "deeper");
    for (link, to) in [("file", outside.path().join("secret")), ("folder", outside.path().into()), ("root", "/".into())]
    {
        std::os::unix::fs::symlink(to, inside.path().join(link)).unwrap();
    }
    let up = format!("../{}/secret", outside.path().file_name().unwrap().to_str().unwrap());
    std::os::unix::fs::symlink(up, inside.path().join("up")).unwrap();
    std::os::unix::fs::symlink("deep/er", inside.path().join("within")).unwrap();
    (outside, inside)
}

#[test]
fn no_path_leads_out_of_the_directory() {
    let engine = engine();
    let script = script(OPEN);
    let (outside, inside) = folders();
    let secret = outside.path().join("secret");
    let name = outside.path().file_name().unwrap().to_str().unwrap();
    let ways = [
        secret.to_str().unwrap().to_owned(),
        format!("../{name}/secret"),
        format!("deep/../../{name}/secret"),
        format!("./deep/../../{name}/secret"),
        "..".into(),
        "file".into(),
        "folder/secret".into(),
        format!("root{}", secret.display()),
        "up".into(),
        "deep/../own".into(),
    ];
    for way in ways {
        for mode in ["r", "w", "a", "r+"] {
            let answer = main(&engine, &script, inside.writable(), (&way, mode)).unwrap();
            assert_eq!(answer[1], "EACCES", "{way} {mode}: {answer}");
        }
        let answer = main(&engine, &script, inside.writable(), (&way, "x")).unwrap();
        assert!(answer[1] == "EACCES" || answer[1] == "EEXIST", "{way}: {answer}");
    }
    assert_eq!(outside.get("secret"), b"secret");
    for (way, text) in [("own", "own"), ("deep/er", "deeper"), ("./deep/er", "deeper"), ("within", "deeper")] {
        assert_eq!(main(&engine, &script, inside.readable(), (way, "r")).unwrap(), text, "{way}");
    }
    for way in ["", "a\0b"] {
        assert!(main(&engine, &script, inside.readable(), (way, "r")).unwrap().is_array(), "{way:?}");
    }
    assert_eq!(main(&engine, &script, inside.readable(), ("deep", "r")).unwrap()[1], "EISDIR");
    assert_eq!(main(&engine, &script, inside.readable(), ("none", "r")).unwrap()[1], "ENOENT");
}

#[test]
fn a_directory_to_be_read_is_not_written() {
    let engine = engine();
    let script = script(OPEN);
    let (_outside, inside) = folders();
    for mode in ["w", "a", "r+", "x"] {
        let answer = main(&engine, &script, inside.readable(), ("own", mode)).unwrap();
        assert_eq!(answer[1], "EACCES");
        assert!(answer[0].as_str().unwrap().contains("Io::writable_files"), "{answer}");
    }
    assert_eq!(inside.get("own"), b"own");
}

#[test]
fn the_error_says_which_knob_grants() {
    let engine = engine();
    let script = script("const main = async (what, how) => { await io[what](how); };");
    let nothing = Io::new();
    let cases = [
        (None, "open", "x", "EngineBuilder::io"),
        (None, "connect", "127.0.0.1:1", "TaskBuilder::io"),
        (Some(nothing.clone()), "open", "x", "Io::files"),
        (Some(nothing.clone()), "listen", "127.0.0.1:0", "Io::listen"),
        (Some(nothing), "connect", "127.0.0.1:1", "Io::connect"),
        (Some(Io::new().connect("127.0.0.1:1")), "connect", "127.0.0.1:2", "Io::connect"),
        (Some(Io::new().connect("127.0.0.1:1")), "connect", "localhost:1", "Io::connect"),
        (Some(loopback()), "listen", "0.0.0.0:0", "Io::listen"),
        (Some(loopback()), "listen", "localhost:0", "no address"),
        (Some(loopback()), "connect", "http://x", "no address"),
    ];
    for (io, what, how, knob) in cases {
        let task = engine.task(&script);
        let task = if let Some(io) = io { task.io(io) } else { task };
        let error = task.call_async_blocking::<()>("main", (what, how)).unwrap_err();
        assert!(message(&error).contains(knob), "{what} {how}: {error}");
    }
}

#[test]
fn a_call_has_its_own_grant_in_place_of_that_of_the_engine() {
    let (first, second) = (Folder::new(), Folder::new());
    first.put("name", "first");
    second.put("name", "second");
    let engine = engine_with(|builder| builder.io(first.readable()));
    // One context for all of them, and runs that overlap.
    let script = script(
        "const read = async () => (await io.open('name')).readText();
         const main = async () => { await aio.sleep(20); const one = await read(); await aio.sleep(20); return [one, await read()]; };",
    );
    crate::support::on_tokio(async {
        let calls = (0..20).map(|number| {
            let task = engine.task(&script);
            let task = if number % 2 == 0 { task } else { task.io(second.readable()) };
            task.call_async::<Value>("main", ())
        });
        let answers = futures::future::try_join_all(calls).await.unwrap();
        for (number, answer) in answers.into_iter().enumerate() {
            let name = ["first", "second"][number % 2];
            assert_eq!(answer, json!([name, name]));
        }
    });
    let error = engine.task(&script).io(Io::new()).call_async_blocking::<()>("main", ()).unwrap_err();
    assert!(message(&error).contains("Io::files"), "{error}");
}

#[test]
fn a_grant_that_makes_no_sense_is_refused() {
    for io in [
        Io::new().listen("here"),
        Io::new().listen("localhost:80"),
        Io::new().connect("x"),
        Io::new().read_limit(jsmill::Bytes::new(0)),
    ] {
        let error = jsmill::Engine::builder().workers(1).io(io.clone()).build().unwrap_err();
        assert_kind!(error, ErrorKind::Config { .. });
        let engine = engine();
        let script = script("const main = async () => 1;");
        assert_kind!(main(&engine, &script, io, ()).unwrap_err(), ErrorKind::Config { .. });
    }
    assert_kind!(jsmill::Engine::builder().workers(1).io_threads(0).build().unwrap_err(), ErrorKind::Config { .. });
}

#[test]
fn handles_are_made_by_the_library_only_and_not_at_the_top_level() {
    let engine = engine();
    let forged = script(
        "const main = async () => ['File', 'Socket', 'Listener'].map((name) => {
           try { new io[name]({}, 1); return 'made'; } catch (error) { return error.constructor.name; }
         });",
    );
    assert_eq!(main(&engine, &forged, Io::new(), ()).unwrap(), json!(["TypeError", "TypeError", "TypeError"]));
    let changed = script(
        "'use strict'; const main = async () => [() => { io.open = 1; }, () => { io.File.prototype.read = 1; }, () => { io.open.x = 1; }]
           .map((change) => { try { change(); return 'changed'; } catch (error) { return error.constructor.name; } });",
    );
    assert_eq!(main(&engine, &changed, Io::new(), ()).unwrap(), json!(["TypeError", "TypeError", "TypeError"]));
    let early = script("let failed; io.open('x').catch(() => {}); const main = async () => 1;");
    assert_eq!(main(&engine, &early, Io::new(), ()).unwrap(), 1);
    let own = script("const io = 7; const main = async () => io;");
    assert_eq!(main(&engine, &own, Io::new(), ()).unwrap(), 7);
}
