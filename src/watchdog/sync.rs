//! The atomics of the state machines: those of loom while loom explores them.

#[cfg(loom)]
pub(crate) use loom::{hint, sync::atomic, thread};
#[cfg(not(loom))]
pub(crate) use std::{hint, sync::atomic, thread};
