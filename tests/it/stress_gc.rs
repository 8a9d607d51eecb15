//! The tests of this binary once more, under forced collection: V8 moves its objects as often as it can, so that a handle which is held
//! in a wrong way is found.
//!
//! Left out are tests whose figures mean nothing then (memory, threads, time), those that read sources only, and those that
//! run for too long.

use std::time::Duration;

use crate::support::{FLAGS, forced_gc};

/// Collect and compact again and again, and look at the heap's consistency where V8 can.
const FORCED: &str = "--stress-compaction --gc-interval=500";

/// Parts of test names that are left out.
const LEFT_OUT: [&str; 9] = [
    "stress_gc::",
    "shape::",
    "growth::",
    "observe::figures::",
    "heap::",
    "strings::",
    "shutdown::threads_and_memory",
    "suspension::heaps::",
    "suspension::memory::",
];

#[test]
fn everything_under_forced_collection() {
    if forced_gc() {
        return;
    }
    let mut command = std::process::Command::new(std::env::current_exe().expect("the path of this binary"));
    command.env(FLAGS, FORCED).arg("--test-threads=2");
    for part in LEFT_OUT {
        command.args(["--skip", part]);
    }
    let output = crate::support::finish(command, "the tests under forced collection", Duration::from_secs(400));
    let stdout = crate::support::text(&output.stdout);
    assert!(output.status.success(), "{}\n{stdout}\n{}", output.status, crate::support::text(&output.stderr));
    let passed =
        stdout.lines().find_map(|line| line.strip_prefix("test result: ok. ")?.split(' ').next()?.parse::<u32>().ok());
    assert!(passed.is_some_and(|passed| passed > 50), "too few tests ran: {stdout}");
}
