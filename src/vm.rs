//! V8: the only folder that knows it from below, and the only one with `unsafe`.
//!
//! - `platform` starts V8 and spawns the threads on which an [`Isolate`] may live; `thread` reads a thread's stack and CPU clock.
//! - `snapshot` and `realm` make contexts: hardened ones, and plain ones.
//! - `context` is a context with a script in it; `code` and `module` compile and load; `scope` is what a task sees of it.
//! - `convert` carries values over the border, `exception` errors, `callback` and `console` calls from scripts to the host.
//! - `buffers` and `isolate` keep the memory limits; `interrupt` lets the watchdog in.
//!
//! Invariant: nothing of V8 leaves its thread, and no panic and no foreign exception unwinds through V8's frames.
//! It does not know tasks, queues or engines.

mod buffers;
mod callback;
mod code;
mod console;
mod context;
mod convert;
mod exception;
mod host;
mod interrupt;
mod isolate;
mod microtask;
mod module;
mod platform;
mod realm;
mod rejection;
mod scope;
mod snapshot;
mod thread;

pub(crate) use callback::{HostCall, HostClosure, argument, exception_of, guarded, quietly};
pub use callback::{HostError, HostFunction};
pub(crate) use code::CodeCache;
pub use console::{LogLevel, LogLine, Logger};
pub(crate) use context::ScriptContext;
#[cfg(feature = "io")]
pub(crate) use convert::bytes;
pub(crate) use convert::{arguments, decode, error as convert_error};
pub(crate) use exception::{catch, describe, is_refused_buffer, stopped};
pub(crate) use host::Host;
pub(crate) use interrupt::IsolateInterrupt;
pub(crate) use isolate::{HeapFigures, Isolate, IsolateOptions, Memory};
pub(crate) use platform::{Flags, Platform, start};
pub(crate) use realm::harden_value as harden;
pub(crate) use rejection::take_unhandled;
pub use scope::Scope;
pub(crate) use scope::{SharedValue, Terms};
pub(crate) use thread::CpuClock;
