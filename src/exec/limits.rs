//! What a call may use, and how urgent it is.

use std::time::Duration;

use crate::error::{Error, Result};
use crate::units::Bytes;

/// The limits of one call. Each has an error kind of its own; `None` is no limit.
///
/// A call that pauses (a generator, an async function) has them for the whole of its run: slices and CPU time count only while it runs, the
/// deadline counts everything, and `idle_timeout` counts only while the script waits for its caller.
///
/// ```
/// use jsmill::{Bytes, Limits};
/// use std::time::Duration;
/// let limits = Limits { cpu_budget: Some(Duration::from_millis(50)), ..Limits::default() };
/// assert_eq!(limits.slice_timeout, Some(Duration::from_secs(1)));
/// assert_eq!(limits.result, Bytes::mib(64));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The longest stay inside V8 without a pause, in wall-clock time. Covers loading the script, the function itself, converting
    /// its result, and describing its error. Default: 1 s. Costs some ten nanoseconds a call.
    pub slice_timeout: Option<Duration>,
    /// The CPU time of the worker's thread that the call may use. Does not count V8's helper threads. Accurate to about a
    /// millisecond. Default: none.
    pub cpu_budget: Option<Duration>,
    /// The time from submission to answer, waiting in the queue included. Default: none.
    pub deadline: Option<Duration>,
    /// How long the script may wait for its caller's answer, each time. Default: none.
    pub idle_timeout: Option<Duration>,
    /// How long a generator that is being closed may take for its `finally` blocks, waits included. One that takes longer is torn down.
    /// Default: 100 ms.
    pub close_timeout: Duration,
    /// How many calls of async host functions, timers and the like the call may have pending at a time; one more throws an error into the
    /// script, `PendingLimit` if nothing catches it. Default: 10,000. Each costs some hundred bytes.
    pub pending: usize,
    /// The size of the arguments and of the result, in V8's structured-clone format, each. Default: 64 MiB.
    pub result: Bytes,
    /// How deeply arguments and results may be nested. Default: 256 levels; at most 500.
    pub depth: usize,
}

/// The deepest nesting that a call may allow: conversion recurses once a level, on the stacks of callers and workers.
const MOST_DEPTH: usize = 500;

impl Limits {
    /// # Errors
    /// `Config` when a limit makes no sense.
    pub(crate) fn check(&self) -> Result<()> {
        if self.depth == 0 || self.depth > MOST_DEPTH {
            return Err(Error::config(format!(
                "the limit `depth` is {}: it must be between 1 and {MOST_DEPTH}",
                self.depth
            )));
        }
        Ok(())
    }
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            slice_timeout: Some(Duration::from_secs(1)),
            cpu_budget: None,
            deadline: None,
            idle_timeout: None,
            close_timeout: Duration::from_millis(100),
            pending: 10_000,
            result: Bytes::mib(64),
            depth: 256,
        }
    }
}

/// How urgent a call is. Workers take the most urgent first; each priority has its own bounded queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Priority {
    /// Taken before all others.
    Critical,
    /// The default.
    #[default]
    Normal,
    /// Taken when nothing else waits.
    Background,
}

impl Priority {
    /// All priorities, the most urgent first.
    pub const ALL: [Priority; 3] = [Priority::Critical, Priority::Normal, Priority::Background];

    /// `critical`, `normal` or `background`, as in spans and metrics.
    pub const fn name(self) -> &'static str {
        match self {
            Priority::Critical => "critical",
            Priority::Normal => "normal",
            Priority::Background => "background",
        }
    }
}
