//! jsmill
#![allow(dead_code)]
mod clock;
mod error;
mod script;
mod units;
mod vm;
mod watchdog;
mod wire;
pub use error::{Error, ErrorKind, Result, ScriptError, Frame, Finding};
pub use script::{Isolation, Script, ScriptBuilder};
pub use units::Bytes;
pub use vm::{HostError, HostFunction, LogLevel, LogLine, Logger, Scope};
