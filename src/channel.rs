//! What lies between a caller and the worker that runs its call.
//!
//! - [`Channel`] is the unbuffered channel of one call: who has the floor, what was asked, what was answered, how it ended. It is a
//!   state machine without lock, clock, or V8; its owner locks it.
//! - [`HostRuntime`] runs the futures of host functions. `blocking` has the threads for calls that block (feature `io`). They, and the
//!   sockets of `exec::io`, are the only places outside of the engine that know tokio.
//!
//! Invariant: at each moment one side at most has something to say. A request waits for its caller, and the script for the answer: nothing
//! is queued, and nobody runs ahead.

#[cfg(feature = "io")]
mod blocking;
mod runtime;
mod state;

#[cfg(feature = "io")]
pub(crate) use blocking::{Blocking, BlockingPool};
pub(crate) use runtime::{Abort, HostRuntime};
pub(crate) use state::{Ask, Begin, Caller, Channel, Event, Leave, Stopping, Unwanted};
