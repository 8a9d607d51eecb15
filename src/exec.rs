//! Execution of tasks inside one worker, between V8 below and the engine above.
//!
//! - [`Task`] and its strategies are what an embedder implements; [`Composition`] puts the parts together.
//! - [`args`](Args) and [`Shared`] carry what a call passes; `function` is the task behind `engine.task(..).call(..)`.
//! - `call` is one submitted task: its state from the queue to its answer.
//! - `context_cache` and `value_cache` keep what is expensive to make; `runtime` runs calls on an isolate.
//!
//! Invariant: whatever happens to a call, its caller gets exactly one answer, and a context that a stopped run has left is never
//! used again. It does not know queues, threads, or other workers.

mod args;
mod call;
mod compose;
mod context_cache;
mod cpu;
mod function;
mod limits;
mod runtime;
mod shared;
mod task;
mod value_cache;

pub use args::{Arg, ArgEncoder, Args};
pub(crate) use call::{Call, CallCore, Meta, Pending, Work, block_on, release};
pub use compose::{Composition, ExceptionHandler, Runnable, cache, strategy};
pub use context_cache::Caching;
pub(crate) use function::FunctionCall;
pub use limits::{Limits, Priority};
pub(crate) use runtime::{
    Runtime, RuntimeFigures, RuntimeOptions, SliceReport, Verdict, deadline, plain_kind, stopped,
};
pub(crate) use shared::ErasedShared;
pub use shared::Shared;
pub use task::{OneOff, Task};
