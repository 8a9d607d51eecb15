//! jsmill
#![allow(dead_code)]
mod clock;
mod engine;
mod error;
mod exec;
mod observe;
mod script;
mod units;
mod vm;
mod watchdog;
mod wire;
pub use engine::{CallFuture, Engine, EngineBuilder, Live, Pinning, Prepared, Rejected, Snapshot, Stats, Stopped, TaskBuilder, Watch, WorkerStats};
pub use error::{Error, ErrorKind, Result, ScriptError, Frame, Finding};
pub use exec::{Arg, ArgEncoder, Args, Caching, Composition, ExceptionHandler, Limits, OneOff, Priority, Runnable, Shared, Task, cache, strategy};
pub use script::{Isolation, Script, ScriptBuilder};
pub use units::Bytes;
pub use wire::{BigInts, NonFinite, Policy, Surrogates, Undefined};
pub use vm::{HostError, HostFunction, LogLevel, LogLine, Logger, Scope};
