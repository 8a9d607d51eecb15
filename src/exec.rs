//! Execution of tasks inside one worker, between V8 below and the engine above.
//!
//! - [`Task`] and its strategies are what an embedder implements; [`Composition`] puts the parts together.
//! - [`args`](Args) and [`Shared`] carry what a call passes; `function` is the task behind `engine.task(..).call(..)`.
//! - `call` is one submitted task: its state from the queue to its end; `meta` what it is about. `note` is the news that reach it while it is paused.
//! - `context_cache` and `value_cache` keep what is expensive to make; `entry` finds or makes what a run needs.
//! - `runtime` is the inside of a worker; `slice` the way of a run through it, `outcome` what becomes of the run then; `machine` what a run has of JavaScript between its slices,
//!   and `live` all of a paused run; `upkeep` keeps the isolate in shape.
//! - `host` are functions of the host; `ops` what runs wait for, with `timers`; `natives` what `js/aio.js` calls; `io` files and sockets.
//!
//! Invariant: whatever happens to a call, its caller gets exactly one end, and a context that a stopped slice has left is never
//! used again. It does not know queues, threads, or other workers.

mod args;
mod call;
mod compose;
mod context_cache;
mod cpu;
mod entry;
mod function;
mod host;
#[cfg(feature = "io")]
mod io;
mod limits;
mod live;
mod machine;
mod meta;
mod multi;
mod natives;
mod note;
mod ops;
mod outcome;
mod pending;
mod runtime;
mod shared;
mod slice;
mod task;
mod timers;
mod upkeep;
mod value_cache;

pub use args::{Arg, ArgEncoder, Args};
pub(crate) use call::{Answer, Call, CallCore, Channelled, Mode, Started, Work, release};
pub(crate) use compose::Parts;
pub use compose::{Composition, ExceptionHandler, Runnable, Startable, cache, strategy};
pub use context_cache::Caching;
pub(crate) use function::{FunctionCall, Way, check_way};
pub use host::{HostAsync, HostFunctions};
#[cfg(feature = "io")]
pub use io::Io;
#[cfg(feature = "io")]
pub(crate) use io::{Handles, IoOptions};
pub use limits::{Limits, Priority};
use machine::call_promise;
pub(crate) use meta::{Meta, Profile};
pub use multi::{Async, Direct, Generator, Input, Multi, Pause, Transport, Wire};
pub(crate) use multi::{AsyncWork, GeneratorWork, MultiWork, OneOffWork};
pub(crate) use note::{Mailbox, Note, OpId, Outcome, TaskId};
use ops::Ops;
pub(crate) use ops::{OpsOptions, PendingCount};
pub(crate) use pending::{Pending, block_on};
pub(crate) use runtime::{
    Runtime, RuntimeFigures, RuntimeOptions, SliceReport, Verdict, deadline, plain_kind, stopped,
};
pub(crate) use shared::ErasedShared;
pub use shared::Shared;
pub(crate) use slice::{Job, Ran};
pub use task::{OneOff, Task};
