//! What reaches a call that is paused on its worker.

use std::sync::Arc;

use super::CallCore;
use crate::vm::HostError;
use crate::wire::Encoded;

/// The number of a run on its worker. Never used twice there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct TaskId(pub(super) u64);

/// The number of something that a run waits for, on its worker. Never used twice there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct OpId(pub(super) u64);

/// News for a run that is paused. One for a run that is gone means nothing.
#[derive(Debug)]
pub(crate) enum Note {
    /// Its caller wants to go on.
    Resume(TaskId),
    /// Its caller has left.
    Close(TaskId),
    /// A host function's future has ended.
    Done(TaskId, OpId, Outcome),
}

/// What a host function's future has ended with.
#[derive(Debug)]
pub(crate) enum Outcome {
    Value(Encoded),
    /// What an operation on a file or a socket has brought.
    #[cfg(feature = "io")]
    Io(Result<super::io::Answer, super::io::Fault>),
    Error(HostError),
    Panicked,
    /// It was dropped by its runtime.
    Dropped,
}

/// The way to a worker. Bounded by what is asked of it: one resumption for each paused run, one outcome for each pending future.
pub(crate) trait Mailbox: Send + Sync {
    fn post(&self, note: Note);
    /// Keeps a paused call where it is found when the worker is lost.
    fn hold(&self, call: Arc<dyn CallCore>) -> u32;
    /// The call is paused no longer.
    fn let_go(&self, place: u32);
}
