//! What the test modules share: small engines, short calls, processes of their own, and figures of the process.
//!
//! V8 has its flags once per process. All engines of this binary take them from the environment variable [`FLAGS`], so that the same
//! tests can run under forced collection; a test whose figures mean nothing then asks [`forced_gc`] and stands aside.

use std::io::Read;
use std::process::{Command, Output, Stdio};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use jsmill::{Args, Bytes, Engine, EngineBuilder, Error, Result, Script};
use serde::de::DeserializeOwned;

/// The flags that V8 gets in this process, separated by blanks.
pub const FLAGS: &str = "JSMILL_TEST_V8_FLAGS";

/// Names the test that a child process was started for.
const CHILD: &str = "JSMILL_TEST_CHILD";

/// Carries an argument to a child process.
const ARGUMENT: &str = "JSMILL_TEST_ARGUMENT";

/// What a child says when it has found its test.
const RAN: &str = "jsmill: the child runs its test";

/// What a call may take on a loaded machine before something is wrong.
pub const SLACK: Duration = Duration::from_secs(20);

/// V8's flags for this process.
pub fn flags() -> Vec<String> {
    std::env::var(FLAGS).unwrap_or_default().split_whitespace().map(str::to_owned).collect()
}

/// Whether this process runs under forced collection: times and sizes say nothing then.
pub fn forced_gc() -> bool {
    !flags().is_empty()
}

/// One worker with a heap of 64 MiB.
pub fn engine() -> Engine {
    engine_with(|builder| builder)
}

/// The same with other knobs.
pub fn engine_with(knobs: impl FnOnce(EngineBuilder) -> EngineBuilder) -> Engine {
    // On a loaded machine a worker may take long to stop: that is not what most tests are about.
    let grace = Duration::from_secs(10);
    let builder = Engine::builder().workers(1).heap_limit(Bytes::mib(64)).grace(grace).v8_flags(flags());
    knobs(builder).build().expect("an engine")
}

/// A script of this source.
pub fn script(source: &str) -> Arc<Script> {
    Script::new("test.js", source).expect("a script")
}

/// Calls a function of a script that is made for this call.
pub fn call<R: DeserializeOwned + Send + 'static>(
    engine: &Engine,
    source: &str,
    function: &str,
    args: impl Args,
) -> Result<R> {
    engine.task(&script(source)).call_blocking(function, args)
}

/// The error of a call of `main` that must not succeed, with this slice timeout.
pub fn failure(engine: &Engine, source: &str, timeout: Duration) -> Error {
    let result = engine.task(&script(source)).timeout(timeout).call_blocking::<serde_json::Value>("main", ());
    result.expect_err("the call must fail")
}

/// A trivial call on a script of its own.
pub fn still_works(engine: &Engine) {
    assert_eq!(call::<u32>(engine, "const main = () => 42;", "main", ()).expect("a trivial call"), 42);
}

/// Waits until a condition holds, as long as [`SLACK`].
#[track_caller]
pub fn eventually(what: &str, mut condition: impl FnMut() -> bool) {
    let end = Instant::now() + SLACK;
    while !condition() {
        assert!(Instant::now() < end, "still not so after {SLACK:?}: {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// The memory of this process that is in RAM.
pub fn rss_bytes() -> u64 {
    let pages = std::fs::read_to_string("/proc/self/statm").expect("the figures of this process");
    let resident = pages.split_whitespace().nth(1).expect("the second figure");
    resident.parse::<u64>().expect("a number") * 4096
}

/// How many threads this process has.
pub fn threads() -> usize {
    std::fs::read_dir("/proc/self/task").expect("the threads of this process").count()
}

/// Runs a future on a runtime with one thread.
pub fn on_tokio<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime").block_on(future)
}

/// Runs a future on a runtime with two threads.
pub fn on_many_threads<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .expect("a runtime")
        .block_on(future)
}

/// Whether this process was started by [`in_child`] for that test.
pub fn is_child(test: &str) -> bool {
    std::env::var(CHILD).is_ok_and(|name| name == test)
}

/// Runs one test of this binary in a process of its own, with an argument, and gives what became of it. The test is named with its
/// module, as in `heap::limit`. A child that has not ended within `bound` is killed, and the caller fails.
#[track_caller]
pub fn child(test: &str, argument: &str, bound: Duration) -> Output {
    let mut command = Command::new(std::env::current_exe().expect("the path of this binary"));
    command.args([test, "--exact", "--nocapture", "--test-threads=1"]);
    command.env(CHILD, test).env(ARGUMENT, argument);
    finish(command, &format!("{test} ({argument})"), bound)
}

/// Runs a process to its end, and kills it, and fails, where it has not ended within `bound`.
#[track_caller]
pub fn finish(mut command: Command, what: &str, bound: Duration) -> Output {
    let mut process =
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("a process");
    // Full pipes would stop the child.
    let stdout = reader(process.stdout.take().expect("piped"));
    let stderr = reader(process.stderr.take().expect("piped"));
    let end = Instant::now() + bound;
    let status = loop {
        if let Some(status) = process.try_wait().expect("the state of the child") {
            break status;
        }
        if Instant::now() > end {
            process.kill().expect("the child ends");
            process.wait().expect("the child has ended");
            panic!("{what} has not ended within {bound:?}: {}", text(&stdout.join().expect("its output")));
        }
        std::thread::sleep(Duration::from_millis(10));
    };
    Output { status, stdout: stdout.join().expect("its output"), stderr: stderr.join().expect("its errors") }
}

/// The argument of a child.
pub fn argument() -> String {
    std::env::var(ARGUMENT).unwrap_or_default()
}

/// Runs the body in a process of its own, which must end well: for what may end the process, or leaves stuck threads. The name is that
/// of the test that calls this, with its module.
#[track_caller]
pub fn in_child(test: &str, body: impl FnOnce()) {
    if is_child(test) {
        println!("{RAN}");
        return body();
    }
    let output = child(test, "", Duration::from_secs(120));
    assert!(output.status.success(), "{test}: {}\n{}\n{}", output.status, text(&output.stdout), text(&output.stderr));
    assert!(text(&output.stdout).contains(RAN), "{test} is not the name of a test: {}", text(&output.stdout));
}

/// Ends a child well without waiting for threads that are stuck.
pub fn leave() -> ! {
    std::process::exit(0)
}

/// Bytes of a child as text.
pub fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn reader(mut pipe: impl Read + Send + 'static) -> JoinHandle<Vec<u8>> {
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        // What was read before an error is worth showing.
        let _ = pipe.read_to_end(&mut bytes);
        bytes
    })
}

/// Fails with the whole text of an error when its kind is another one.
#[macro_export]
macro_rules! assert_kind {
    ($error:expr, $kind:pat $(if $guard:expr)?) => {{
        let error = &$error;
        assert!(matches!(error.kind(), $kind $(if $guard)?), "another kind is wanted than that of `{error}`: {:?}", error.kind());
    }};
}
