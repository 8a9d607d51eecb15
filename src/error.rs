//! The one error of the crate, with a kind for each thing that a caller handles in its own way.
//!
//! `Error` is what the public functions return; `ErrorKind` is what a caller matches on; `ScriptError` describes what a script
//! threw. The text of an error names the script, what went wrong, the limit with its value, and what to change.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use crate::units::Bytes;

mod script;

pub use script::{Frame, ScriptError};

/// The result of this crate's functions.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What went wrong, where, and what to do about it.
///
/// The kind says what a caller may want to handle; `Display` gives the whole story in one line.
///
/// ```
/// # fn main() -> jsmill::Result<()> {
/// use jsmill::{Engine, ErrorKind, Script};
/// let engine = Engine::builder().workers(1).build()?;
/// let script = Script::new("loop.js", "function main() { for (;;); }")?;
/// let error = engine
///     .task(&script)
///     .timeout(std::time::Duration::from_millis(20))
///     .call_blocking::<()>("main", ())
///     .unwrap_err();
/// assert!(matches!(error.kind(), ErrorKind::SliceTimeout { .. }));
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct Error {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    kind: ErrorKind,
    /// `price.js: main`, where the error belongs to a call.
    place: Option<String>,
    /// How the time of the call was spent, where it ran.
    spent: Option<Spent>,
}

/// How the time of a call was spent, until it ended.
///
/// ```
/// # fn main() -> jsmill::Result<()> {
/// # let engine = jsmill::Engine::builder().workers(1).build()?;
/// let script = jsmill::Script::new("loop.js", "function main() { for (;;); }")?;
/// let task = engine.task(&script).timeout(std::time::Duration::from_millis(20));
/// let error = task.call_blocking::<()>("main", ()).unwrap_err();
/// assert!(error.spent().unwrap().cpu.as_millis() >= 1);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Spent {
    /// In the queue, before its first slice.
    pub queued: Duration,
    /// CPU time of the worker, in all slices.
    pub cpu: Duration,
    /// Between its slices: waiting for the caller, for host functions and timers, and for the worker.
    pub waiting: Duration,
}

/// Why an answer to a script's request was not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ReplyFault {
    /// There is no request that waits for an answer: `next` gives one.
    NotAsked,
    /// The request has its answer already.
    Second,
    /// The run has ended, or its limits have ended it.
    Late,
    /// The request belongs to another run, or is an earlier one of this run.
    Foreign,
}

/// What a limit on pending work belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scale {
    /// One call.
    Call,
    /// All calls of the engine together.
    Engine,
}

/// What a caller can tell apart.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The script threw, and nothing in it caught.
    Script(ScriptError),
    /// The source could not be compiled, or it keeps state at its top level. Every finding is listed.
    Compile(Vec<Finding>),
    /// The script has no function of that name at its top level (or among the exports of its entry module).
    NoSuchFunction {
        /// The name that was asked for.
        function: String,
        /// What to do instead.
        help: String,
    },
    /// A value could not pass the border between Rust and JavaScript.
    Convert {
        /// Where in the value, as in `$.lines[3].price`; `$` is the whole value.
        path: String,
        /// What is wrong with it and what to do.
        message: String,
    },
    /// The call stayed inside V8 without a pause for longer than the slice timeout.
    SliceTimeout {
        /// The limit that was reached.
        limit: Duration,
    },
    /// The call used up its CPU time.
    CpuBudget {
        /// The limit that was reached.
        limit: Duration,
    },
    /// The call was not finished at its deadline, which counts from its submission.
    Deadline {
        /// The limit that was reached.
        limit: Duration,
        /// Whether the call was still in the queue: then nothing of it ran.
        queued: bool,
    },
    /// The script waited for its caller's answer for longer than the idle timeout.
    IdleTimeout {
        /// The limit that was reached.
        limit: Duration,
    },
    /// The script awaits something that nothing can settle: no host function, timer or other work of the call is pending.
    Stalled,
    /// Promises were rejected, and nothing handled that: what they were rejected with, 16 at most.
    Unhandled(Vec<ScriptError>),
    /// An answer to a request was not taken. Nothing has changed for the script.
    Reply(ReplyFault),
    /// The script asked for something when only its end was waited for.
    Unanswered,
    /// Too many calls of async host functions, timers and the like are pending, and the script did not catch the error.
    PendingLimit {
        /// The limit that was reached.
        limit: usize,
        /// Whose limit it is.
        scale: Scale,
    },
    /// The script's recursion used up the stack of the worker.
    StackOverflow(ScriptError),
    /// The JavaScript heap of the isolate reached its limit.
    HeapLimit {
        /// The limit that was reached.
        limit: Bytes,
    },
    /// Array buffers and WebAssembly memories reached their limit.
    BufferLimit {
        /// The limit that was reached.
        limit: Bytes,
    },
    /// The arguments or the result are larger than the call allows.
    ResultTooLarge {
        /// The limit that was reached.
        limit: Bytes,
    },
    /// The queue of that priority is full, and the call did not want to wait.
    QueueFull {
        /// The depth of the queue.
        depth: usize,
    },
    /// Refused, because the engine has more work than it can do.
    Shed,
    /// The call was given up by its caller.
    Cancelled,
    /// The worker that ran the call was lost or had to be replaced.
    WorkerLost {
        /// Why.
        reason: String,
    },
    /// The engine is shutting down, or is gone.
    ShuttingDown,
    /// Code of the host that a script or a task called panicked.
    HostPanicked {
        /// What panicked. The panic's own text goes to the log, never to a script.
        what: String,
    },
    /// The configuration makes no sense.
    Config(String),
    /// A fault of jsmill itself. Please report it.
    Bug(String),
}

/// One finding about a source text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// A stable code: `syntax`, `reassigned`, `closure`, `container`, `import` and so on.
    pub code: &'static str,
    /// The script or module.
    pub script: String,
    /// The line, from 1.
    pub line: u32,
    /// The column, from 1, in UTF-16 code units.
    pub column: u32,
    /// What is wrong and what to do.
    pub message: String,
    /// The text of the line.
    pub source_line: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}: {} [{}]", self.script, self.line, self.column, self.message, self.code)?;
        let text = self.source_line.trim();
        if text.is_empty() { Ok(()) } else { write!(f, " in `{text}`") }
    }
}

impl Error {
    /// The kind, for matching.
    pub fn kind(&self) -> &ErrorKind {
        &self.inner.kind
    }

    /// What the script threw, where this is such an error (`Script` and `StackOverflow`).
    pub fn script_error(&self) -> Option<&ScriptError> {
        match &self.inner.kind {
            ErrorKind::Script(error) | ErrorKind::StackOverflow(error) => Some(error),
            _ => None,
        }
    }

    /// How the time of the call was spent, where it had begun to run.
    pub fn spent(&self) -> Option<Spent> {
        self.inner.spent
    }

    /// Whether the call ran into one of its limits.
    pub fn is_limit(&self) -> bool {
        use ErrorKind::*;
        matches!(
            self.inner.kind,
            SliceTimeout { .. }
                | CpuBudget { .. }
                | Deadline { .. }
                | IdleTimeout { .. }
                | PendingLimit { .. }
                | StackOverflow(_)
                | HeapLimit { .. }
                | BufferLimit { .. }
                | ResultTooLarge { .. }
        )
    }

    /// Whether the same call may succeed if it is made again later: nothing of it ran, for want of room or time.
    pub fn is_retryable(&self) -> bool {
        use ErrorKind::*;
        matches!(self.inner.kind, QueueFull { .. } | Shed | Deadline { queued: true, .. })
    }

    /// An error of an embedder's own task, as if its script had thrown an `Error` with this message.
    ///
    /// ```
    /// let error = jsmill::Error::task("the order has no lines");
    /// assert_eq!(error.to_string(), "Error: the order has no lines");
    /// ```
    pub fn task(message: impl Into<String>) -> Self {
        ErrorKind::Script(ScriptError::new("Error", message)).into()
    }

    pub(crate) fn bug(message: impl Into<String>) -> Self {
        let message = message.into();
        tracing::error!(target: "jsmill", %message, "a fault of jsmill");
        debug_assert!(false, "a fault of jsmill: {message}");
        ErrorKind::Bug(message).into()
    }

    pub(crate) fn config(message: impl Into<String>) -> Self {
        ErrorKind::Config(message.into()).into()
    }

    pub(crate) fn convert(path: impl Into<String>, message: impl Into<String>) -> Self {
        ErrorKind::Convert { path: path.into(), message: message.into() }.into()
    }

    /// The same error with the script and the function it belongs to, where it does not say so yet.
    pub(crate) fn at(self, script: &str, function: &str) -> Self {
        if self.inner.place.is_some() {
            return self;
        }
        let place = Some(if function.is_empty() { script.to_owned() } else { format!("{script}: {function}") });
        self.with(|inner| inner.place = place)
    }

    /// The same error with how the time of its call was spent.
    pub(crate) fn after(self, spent: Spent) -> Self {
        self.with(|inner| inner.spent = Some(spent))
    }

    fn with(self, change: impl FnOnce(&mut Inner)) -> Self {
        let mut inner = Arc::try_unwrap(self.inner).unwrap_or_else(|shared| Inner {
            kind: shared.kind.clone(),
            place: shared.place.clone(),
            spent: shared.spent,
        });
        change(&mut inner);
        Error { inner: Arc::new(inner) }
    }
}

impl From<ErrorKind> for Error {
    fn from(kind: ErrorKind) -> Self {
        Error { inner: Arc::new(Inner { kind, place: None, spent: None }) }
    }
}

impl std::error::Error for Error {}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(place) = &self.inner.place {
            write!(f, "{place}: ")?;
        }
        self.inner.kind.fmt(f)?;
        match self.inner.spent {
            Some(spent) if self.is_limit() => write!(f, " ({spent})"),
            _ => Ok(()),
        }
    }
}

impl fmt::Display for Spent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ms = |time: Duration| time.as_secs_f64() * 1e3;
        let Spent { queued, cpu, waiting } = *self;
        write!(
            f,
            "spent: {:.1} ms in the queue, {:.1} ms of CPU time, {:.1} ms waiting",
            ms(queued),
            ms(cpu),
            ms(waiting)
        )
    }
}

impl fmt::Display for ReplyFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            ReplyFault::NotAsked => "the script has not asked for anything; take its request with `next` first",
            ReplyFault::Second => "the request was answered already; take the next one with `next`",
            ReplyFault::Late => "the run has ended, and takes no more answers",
            ReplyFault::Foreign => "the request belongs to another run, or to an earlier moment of this one",
        })
    }
}

impl fmt::Display for ErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ErrorKind::Script(error) => error.fmt(f),
            ErrorKind::Compile(findings) => {
                for (index, finding) in findings.iter().enumerate() {
                    if index > 0 {
                        f.write_str("; ")?;
                    }
                    finding.fmt(f)?;
                }
                Ok(())
            }
            ErrorKind::NoSuchFunction { function, help } => {
                write!(f, "there is no function `{function}` to call: {help}")
            }
            ErrorKind::Convert { path, message } => write!(f, "{path}: {message}"),
            ErrorKind::SliceTimeout { limit } => {
                write!(f, "ran for longer than its slice timeout of {limit:?}; give it less work or raise `timeout`")
            }
            ErrorKind::CpuBudget { limit } => {
                write!(f, "used up its CPU budget of {limit:?}; give it less work or raise `cpu_budget`")
            }
            ErrorKind::Deadline { limit, queued: true } => write!(
                f,
                "was still in the queue at its deadline of {limit:?}; add workers, send less, or raise `deadline`"
            ),
            ErrorKind::Deadline { limit, queued: false } => write!(
                f,
                "was not finished at its deadline of {limit:?}; give it less work, add workers, or raise `deadline`"
            ),
            ErrorKind::IdleTimeout { limit } => {
                write!(f, "waited for its caller for longer than its idle timeout of {limit:?}; answer sooner or raise `idle_timeout`")
            }
            ErrorKind::Stalled => f.write_str(
                "stalled: nothing is pending that could settle what the script awaits; check for promises that are never resolved",
            ),
            ErrorKind::Unhandled(errors) => {
                f.write_str("rejected promises that nothing handled: ")?;
                for (index, error) in errors.iter().enumerate() {
                    if index > 0 {
                        f.write_str("; ")?;
                    }
                    error.fmt(f)?;
                }
                f.write_str("; await each promise, or give it a `catch`")
            }
            ErrorKind::Reply(fault) => write!(f, "the answer was not taken: {fault}"),
            ErrorKind::Unanswered => f.write_str(
                "asked for something when only its end was waited for; call `next` until it gives `None`, then `finish`",
            ),
            ErrorKind::PendingLimit { limit, scale: Scale::Call } => write!(
                f,
                "has {limit} host calls and timers pending, as many as it may; await some first, or raise `pending` of its limits"
            ),
            ErrorKind::PendingLimit { limit, scale: Scale::Engine } => write!(
                f,
                "the engine has {limit} host calls and timers pending, as many as it may; send less, or raise `pending` of the engine"
            ),
            ErrorKind::StackOverflow(error) => write!(
                f,
                "{error}; the recursion is too deep for the worker's stack: make it a loop, or raise `stack_size`"
            ),
            ErrorKind::HeapLimit { limit } => write!(
                f,
                "reached the heap limit of {limit}; keep less data alive in the script, or raise `heap_limit`"
            ),
            ErrorKind::BufferLimit { limit } => write!(
                f,
                "reached the limit of {limit} for array buffers and WebAssembly memory; keep fewer, or raise `buffer_limit`"
            ),
            ErrorKind::ResultTooLarge { limit } => {
                write!(
                    f,
                    "the arguments or the result are larger than {limit} in V8's format; pass less, or raise `result_limit`"
                )
            }
            ErrorKind::QueueFull { depth } => write!(
                f,
                "the queue of {depth} calls is full; wait with `call`, send less, add workers, or raise `queue_depth`"
            ),
            ErrorKind::Shed => f.write_str("refused: the engine is overloaded; try again later"),
            ErrorKind::Cancelled => f.write_str("cancelled by its caller"),
            ErrorKind::WorkerLost { reason } => write!(f, "the worker was lost: {reason}"),
            ErrorKind::ShuttingDown => f.write_str("the engine is shutting down"),
            ErrorKind::HostPanicked { what } => write!(f, "host code panicked in {what}; see the log for the panic"),
            ErrorKind::Config(message) => f.write_str(message),
            ErrorKind::Bug(message) => write!(f, "a fault of jsmill, please report it: {message}"),
        }
    }
}
