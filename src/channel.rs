//! What lies between a caller and the worker that runs its call.
//!
//! - [`Channel`] is the unbuffered channel of one call: who has the floor, what was asked, what was answered, how it ended. It is a
//!   state machine without lock, clock, or V8; its owner locks it.
//! - [`HostRuntime`] runs the futures of host functions, and is the only place outside of the engine that knows tokio.
//!
//! Invariant: at each moment one side at most has something to say. A request waits for its caller, and the script for the answer: nothing
//! is queued, and nobody runs ahead.

mod runtime;
mod state;

pub(crate) use runtime::{Abort, HostRuntime};
pub(crate) use state::{Ask, Begin, Caller, Channel, Event, Leave, Stopping, Unwanted};
