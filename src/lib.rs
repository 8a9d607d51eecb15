//! An embedded JavaScript compute engine for backends.
//!
//! A service links jsmill in, keeps the parts of its algorithms that change every week in JavaScript, and swaps them while it runs.
//! The service keeps its own code, clients and data, and lends what it likes to the scripts.
//!
//! ```
//! use jsmill::{Engine, Live, Script};
//! use serde::{Deserialize, Serialize};
//!
//! #[derive(Serialize)]
//! struct Order {
//!     net: f64,
//!     items: u32,
//! }
//!
//! #[derive(Deserialize, Debug, PartialEq)]
//! struct Price {
//!     total: f64,
//! }
//!
//! #[tokio::main(flavor = "current_thread")]
//! async fn main() -> jsmill::Result<()> {
//!     let engine = Engine::builder().workers(2).build()?;
//!     let script = Live::new(Script::new("price.js", "const price = (order) => ({ total: order.net * 1.2 });")?);
//!
//!     let order = Order { net: 10.0, items: 3 };
//!     let price: Price = engine.task(&script).call("price", (&order,)).await?;
//!     assert_eq!(price, Price { total: 12.0 });
//!
//!     // A new version, while calls run: they finish on the old one, later ones take the new one, none waits for a compilation.
//!     let newer = "const price = ({ net, items }) => ({ total: net * (items > 2 ? 1.1 : 1.2) });";
//!     script.store(&engine, Script::new("price.js", newer)?).await?;
//!     let price: Price = engine.task(&script).call("price", (&order,)).await?;
//!     assert_eq!(price, Price { total: 11.0 });
//!     Ok(())
//! }
//! ```
//!
//! # Core concepts
//!
//! | type | what it is | owns | how many | lives | threads |
//! | --- | --- | --- | --- | --- | --- |
//! | [`Engine`] | the handle | the workers | one for a service, usually | until its last clone is dropped | any |
//! | *worker* | a thread with one V8 isolate, which never leaves it | contexts, converted values | one for each core | as long as the engine; replaced when V8 does not stop | its own |
//! | [`Script`] | one version of an algorithm: an immutable *snapshot* behind an `Arc` | sources | one for each version | while anybody holds it | any |
//! | [`Live`] | the place that holds the current snapshot | a snapshot | one for each algorithm | as you like | any |
//! | *context* | a V8 global with one snapshot loaded into it | the script's objects | one for each snapshot and worker, made at first use | until the snapshot is gone | its worker's |
//! | *call* | what [`Engine::task`] submits: a function, arguments, limits | its arguments | thousands a second | from `call` to its answer, or to the drop of its future | made anywhere, runs on one worker |
//! | *slice* | an uninterrupted stay inside V8, under the watchdog | | one at a time on a worker | from the start, or from a pause, to the next pause or the end | its worker's |
//! | [`Run`] | a call that makes requests to its caller: a generator, as an unbuffered channel | the caller's end | as many as callers wait with; a hundred thousand on a worker | from `generate` to its drop, which closes the script | any |
//! | [`HostFunctions`] | what scripts may call of the host, plain or async | closures | one set for each engine or script | as the engine or the script | closures run on workers, their futures on a runtime |
//! | [`Shared`] | a large value of the host that scripts see frozen | an `Arc` of it | a few | while you hold it | any |
//! | [`Task`] | what a call is underneath, with access to V8's scope | whatever it needs | where functions are not enough | one run | its `run` on a worker |
//!
//! A call goes into a bounded queue (a full one makes the caller wait), is taken by a worker, finds its context in that worker's cache
//! or builds it, and its result is converted there into your type. No value of V8 leaves its worker.
//!
//! **Isolation.** A context is used by many runs, and none may see another one: once loaded, everything that outlives a run is
//! read-only, built-ins included, and state at the top level of a script is refused when the script is made. [`Isolation`] has the
//! other ways.
//!
//! **Suspension.** Nothing waits on a worker. A generator pauses at each `yield` until its caller goes on ([`TaskBuilder::generate`]); an async function
//! pauses at each `await` until the host function, timer or other work that it waits for is done ([`TaskBuilder::call_async`]); meanwhile the worker
//! runs other calls. What was begun goes before what is new. A call stays on the worker and in the context in which it began. What
//! a script has to wait with is the global [`aio`].
//!
//! **Load.** Workers take calls when they have time for them, the most urgent first. Under overload, which is told by the time that calls wait, the newest
//! are taken first and the stale are refused with `Shed` ([`Admission`]); above a threshold of [`Load`], background work is refused.
//!
//! **Limits.** Wall-clock time of a slice, CPU time, deadline, stack, heap, array buffers, size and depth of values: each has a default,
//! and an [`ErrorKind`] of its own. See [`Limits`] and [`EngineBuilder`].
//!
//! **Overload.** Where more calls come than the workers can do, [`Admission`] decides by their waiting time which are refused with
//! [`Shed`](ErrorKind::Shed), and background work makes way above a [`Load`]; see [`EngineBuilder::shed`].
//!
//! **Conversion.** By serde, in both directions, under a [`Policy`]: a value keeps its meaning, or the call fails with the path of the
//! culprit. See [`conversion`] for the tables.
//!
//! **Observing.** [`Engine::stats`], [`Engine::load`], [`metrics`], `tracing` spans `call` and `slice` under the target `jsmill`, and `console` of scripts
//! under `jsmill::console`.
//!
//! # Decisions
//!
//! - Arguments become V8's structured-clone bytes on the caller's thread, and objects in one call of V8's `ValueDeserializer`. Results are walked
//!   by jsmill itself and never by V8's `ValueSerializer`, whose buffer grows without a bound.
//! - The watchdog keeps a slot for each worker in place of a heap of timers: at most one slice runs on a worker. It ticks every 20 ms while there are
//!   slices, so that arming wakes nobody, and sleeps otherwise.
//! - V8 takes the size of the stack from a flag of the process; a limit in the isolate's parameters is overwritten when the isolate starts. So
//!   `stack_size` is one for the process.
//! - Shared values live in a realm of their own in each isolate, and belong to no script's context.
//! - The queue is one lock and three lanes; waiting for room is tokio's semaphore. A worker that answers short calls without a pause wakes their
//!   callers a few at a time.
//! - All isolates of a process share V8's read-only heap, which belongs to the snapshot of the first one. So no isolate from another snapshot may
//!   live beside an engine: whoever uses V8 in the same process by other means makes and drops isolates while there is no engine.
//! - The channel of a paused call is a state machine of its own, locked by its call. A reply is kept with the call and its worker is told only when the
//!   caller goes on: so the script never runs ahead.
//! - A rejected promise without a handler is looked at again at the end of its slice, and fails the call if nothing handles it by then.
//! - A caller that leaves while a generator runs does not stop it at once: it is closed at its next `yield`, where its `finally` blocks can run, or
//!   stopped after the close timeout. Async functions are dropped where they are: JavaScript has no way to end one.
//! - Timers, deadlines and idle timeouts of paused calls are in one ordered map on each worker, which sleeps until the first.
//! - A resizable buffer, a WebAssembly memory: no allocator sees them, so a long slice looks at V8's own count every 20 ms.
//!
//! # Layers
//!
//! Each uses only those above it in this list: `error`, `script`, `units`, `clock`, `wire` (values as V8's bytes) - `channel`, `watchdog`, `observe` -
//! `vm` (V8, all `unsafe`) - `exec` (tasks, contexts, one worker's inside) - `engine` (workers, queue, handles). A test reads the `use` lines.

#![cfg_attr(docsrs, feature(doc_cfg))]

mod channel;
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

pub use engine::{
    Admission, AnswerWith, Background, CallFuture, Engine, EngineBuilder, Live, Load, Pinning, Prepared, Rejected, Run,
    RunOf, Snapshot, Stats, Stopped, TaskBuilder, Ticket, Watch, WorkerLoad, WorkerStats,
};
pub use error::{Error, ErrorKind, Finding, Frame, ReplyFault, Result, Scale, ScriptError, Spent};
#[cfg(feature = "io")]
#[cfg_attr(docsrs, doc(cfg(feature = "io")))]
pub use exec::Io;
pub use exec::{
    Arg, ArgEncoder, Args, Async, Caching, Composition, Direct, ExceptionHandler, Generator, HostAsync, HostFunctions,
    Input, Limits, Multi, OneOff, Pause, Priority, Runnable, Shared, Startable, Task, Transport, Wire, cache, strategy,
};
pub use script::{Isolation, Script, ScriptBuilder};
pub use units::Bytes;
pub use vm::{HostError, HostFunction, LogLevel, LogLine, Logger, Scope};
pub use wire::{BigInts, NonFinite, Policy, Surrogates, Undefined};

/// The program of the README, compiled and run.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

/// The V8 bindings that [`Scope::v8`] speaks. Their major version moves every four weeks, and with it this item alone.
pub use v8;

#[doc = include_str!("observe.md")]
pub mod metrics {}

#[doc = include_str!("wire.md")]
pub mod conversion {}

#[doc = include_str!("aio.md")]
pub mod aio {}
#[cfg(feature = "io")]
#[cfg_attr(docsrs, doc(cfg(feature = "io")))]
#[doc = include_str!("io.md")]
pub mod files {}
