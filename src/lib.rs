//! jsmill
mod clock;
mod error;
mod units;
mod watchdog;
pub use error::{Error, ErrorKind, Result, ScriptError, Frame, Finding};
pub use units::Bytes;
