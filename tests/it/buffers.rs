//! Memory outside of the JavaScript heap: array buffers of all kinds and WebAssembly memory, counted, limited and given back.

use std::time::Duration;

use jsmill::{Bytes, Engine, ErrorKind};

use crate::assert_kind;
use crate::support::{
    SLACK, call, engine_with, eventually, failure, forced_gc, in_child, rss_bytes, script, still_works,
};

const LIMIT: Bytes = Bytes::mib(64);

fn engine() -> Engine {
    engine_with(|builder| builder.buffer_limit(LIMIT))
}

/// The call ends with the limit of buffers, or with a `RangeError`, and the process stays small.
#[track_caller]
fn is_limited(engine: &Engine, source: &str) {
    let before = rss_bytes();
    let error = failure(engine, source, SLACK);
    match error.kind() {
        ErrorKind::BufferLimit { limit } => {
            assert_eq!(*limit, LIMIT);
            let text = error.to_string();
            assert!(text.contains("64 MiB") && text.contains("buffer_limit"), "{text}");
        }
        ErrorKind::Script(thrown) => assert_eq!(thrown.name, "RangeError", "{error}"),
        _ => panic!(
            "no limit for {source}: {error}; the process has {} MiB more",
            rss_bytes().saturating_sub(before) >> 20
        ),
    }
    let growth = rss_bytes().saturating_sub(before);
    assert!(growth < Bytes::mib(400).get(), "the process has grown by {} MiB", growth >> 20);
    still_works(engine);
}

#[test]
fn typed_arrays_that_are_kept() {
    in_child("buffers::typed_arrays_that_are_kept", || {
        let engine = engine();
        let error = failure(
            &engine,
            "const main = () => { const k = []; for (;;) k.push(new Uint8Array(1 << 20).fill(1)); };",
            SLACK,
        );
        assert_kind!(error, ErrorKind::BufferLimit { limit } if *limit == LIMIT);
        still_works(&engine);
        // What one run has used up is there for the next.
        let source = "const main = () => { const k = []; for (let n = 0; n < 40; n++) k.push(new Uint8Array(1 << 20).fill(1)); return k.length; };";
        assert_eq!(call::<u32>(&engine, source, "main", ()).expect("40 MiB of 64"), 40);
    });
}

#[test]
fn every_kind_of_buffer() {
    in_child("buffers::every_kind_of_buffer", || {
        let engine = engine();
        for body in [
            "new ArrayBuffer(4e9).byteLength",
            "new ArrayBuffer(2 ** 52).byteLength",
            "new SharedArrayBuffer(1e9).byteLength",
            "new Float64Array(2 ** 24).length",
            "new BigInt64Array(2 ** 27).length",
            "(() => { const k = []; for (;;) k.push(new ArrayBuffer(1 << 20)); })()",
            "(() => { const k = []; for (;;) k.push(new SharedArrayBuffer(1 << 20)); })()",
            "(() => { const k = []; for (;;) k.push(new Float32Array(1 << 18).fill(1).slice()); })()",
            "(() => { const k = []; const b = new Uint8Array(1 << 20).fill(7).buffer; for (;;) k.push(b.slice(0)); })()",
            "(() => { const k = []; for (;;) k.push(structuredClone(new Uint8Array(1 << 20))); })()",
            "(() => { const k = []; for (;;) k.push(Uint8Array.from({ length: 1 << 18 }, () => 1)); })()",
            "(() => { let b = new ArrayBuffer(1 << 20); for (;;) b = b.transfer(b.byteLength * 2); })()",
            "(() => { let b = new ArrayBuffer(1 << 20); for (;;) b = b.transferToFixedLength(b.byteLength * 2); })()",
        ] {
            if body.contains("structuredClone")
                && call::<bool>(&engine, "const main = () => typeof structuredClone === 'undefined';", "main", ())
                    .expect("a call")
            {
                continue;
            }
            is_limited(&engine, &format!("const main = () => {body};"));
        }
    });
}

#[test]
fn resizable_buffers_that_grow() {
    in_child("buffers::resizable_buffers_that_grow", || {
        let engine = engine();
        is_limited(
            &engine,
            "const main = () => { const b = new ArrayBuffer(0, { maxByteLength: 2 ** 32 }); for (let n = 1; n < 4096; n++) { b.resize(n << 20); new Uint8Array(b).fill(1, (n - 1) << 20); } return b.byteLength; };",
        );
        is_limited(
            &engine,
            "const main = () => { const k = []; for (;;) { const b = new ArrayBuffer(0, { maxByteLength: 2 ** 21 }); b.resize(2 ** 20); new Uint8Array(b).fill(1); k.push(b); } };",
        );
        is_limited(
            &engine,
            "const main = () => { const k = []; for (;;) { const b = new SharedArrayBuffer(0, { maxByteLength: 2 ** 21 }); b.grow(2 ** 20); new Uint8Array(b).fill(1); k.push(b); } };",
        );
    });
}

#[test]
fn web_assembly_memory() {
    in_child("buffers::web_assembly_memory", || {
        let engine = engine_with(|builder| builder.buffer_limit(LIMIT).wasm_memory_limit(Bytes::mib(64)));
        is_limited(&engine, "const main = () => new WebAssembly.Memory({ initial: 8192 }).buffer.byteLength;");
        is_limited(
            &engine,
            "const main = () => { const m = new WebAssembly.Memory({ initial: 1 }); for (;;) m.grow(256); };",
        );
        is_limited(
            &engine,
            "const main = () => { const k = []; for (;;) { const m = new WebAssembly.Memory({ initial: 256 }); new Uint8Array(m.buffer).fill(1); k.push(m); } };",
        );
    });
}

#[test]
fn web_assembly_tables_and_modules() {
    in_child("buffers::web_assembly_tables_and_modules", || {
        let engine = engine();
        for body in [
            "(() => { const k = []; for (;;) k.push(new WebAssembly.Table({ initial: 1e6, element: 'externref' }, k)); })()",
            "(() => { const t = new WebAssembly.Table({ initial: 1, element: 'externref' }); for (;;) t.grow(100000, {}); })()",
            "(() => { const k = []; for (;;) k.push(new WebAssembly.Module(new Uint8Array([0, 97, 115, 109, 1, 0, 0, 0]))); })()",
        ] {
            let error = failure(&engine, &format!("const main = () => {body};"), Duration::from_secs(10));
            assert!(
                error.is_limit() || matches!(error.kind(), ErrorKind::Script(thrown) if thrown.name == "RangeError"),
                "{body}: {error}"
            );
            still_works(&engine);
        }
    });
}

#[test]
fn a_script_may_catch_the_refusal() {
    let engine = engine();
    let source = "const main = () => { try { return new ArrayBuffer(4e9).byteLength; } catch (e) { return e.name; } };";
    assert_eq!(call::<String>(&engine, source, "main", ()).expect("it is caught"), "RangeError");
    still_works(&engine);
}

#[test]
fn freed_buffers_give_their_share_back() {
    let engine = engine();
    let source = script("const main = (n) => { const b = new Uint8Array(32 << 20); b[n] = 1; return b.length; };");
    let rounds = if forced_gc() { 20 } else { 1_000 };
    for round in 0..rounds {
        let result = engine.task(&source).timeout(SLACK).call_blocking::<u32>("main", (round,));
        assert_eq!(result.unwrap_or_else(|error| panic!("round {round}: {error}")), 32 << 20);
    }
    let inner = "const main = () => { for (let n = 0; n < 200; n++) new Uint8Array(32 << 20)[n] = 1; return 1; };";
    let result = engine.task(&script(inner)).timeout(SLACK).call_blocking::<u32>("main", ());
    assert_eq!(result.expect("one lives at a time"), 1);
}

#[test]
fn bytes_of_arguments_and_shared_values_are_the_hosts() {
    let engine = engine();
    let bytes = serde_bytes::ByteBuf::from(vec![7_u8; 16 << 20]);
    let source = script("const main = (b) => b.length + b[5];");
    for _ in 0..20 {
        let result = engine.task(&source).timeout(SLACK).call_blocking::<u32>("main", (&bytes,));
        assert_eq!(result.expect("16 MiB of 64"), (16 << 20) + 7);
    }
    still_works(&engine);
}

#[test]
fn the_figure_falls_when_buffers_are_gone() {
    let engine = engine();
    let source =
        "const keep = Array.from({ length: 8 }, () => new Uint8Array(1 << 20)); const main = () => keep.length;";
    let kept = jsmill::Script::builder("keep.js")
        .source(source)
        .isolation(jsmill::Isolation::Shared)
        .build()
        .expect("a script");
    assert_eq!(engine.task(&kept).call_blocking::<u32>("main", ()).expect("a call"), 8);
    eventually("8 MiB are counted", || engine.stats().workers[0].buffers >= Bytes::mib(8));
    drop(kept);
    eventually("the context is gone, and its buffers", || {
        still_works(&engine);
        engine.stats().workers[0].buffers < Bytes::mib(8)
    });
}
