//! The engine: the handle that services hold, and the workers behind it.
//!
//! - [`Engine`] is the handle; `builder` and `config` make it from knobs.
//! - `task` and `prepare` are the ways to call functions; `run` is one that makes requests; `live` holds the current snapshot of a script.
//! - `queue` is what calls wait in; `worker` the loop that takes them out, `link` the way to it; `crew` starts, replaces and ends workers.
//! - `load` measures how busy workers are; `admission` says what is refused when there is too much to do; `pressure` joins the two.
//! - `stats` is what one sees.
//!
//! Invariant: every call that was accepted is answered once, whatever becomes of its worker and of the engine.

mod admission;
mod builder;
mod config;
mod crew;
mod future;
mod link;
mod live;
mod load;
mod prepare;
mod pressure;
mod queue;
mod run;
mod stats;
mod submit;
mod task;
mod worker;

pub use admission::{Admission, Background};
pub use builder::EngineBuilder;
pub use config::Pinning;
pub use future::CallFuture;
pub use live::{Live, Snapshot, Watch};
pub use load::{Load, WorkerLoad};
pub use prepare::Prepared;
pub use run::{AnswerWith, Run, RunOf, Ticket};
pub use stats::{Stats, Stopped, WorkerStats};
pub use task::{Rejected, TaskBuilder};

use std::fmt;
use std::sync::Arc;

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::error::{Error, Result};
use crate::exec::{Args, Limits, Pending, Runnable, Shared as SharedHandle, Startable};
use config::Config;
use crew::Shared;

/// An engine: workers with V8 isolates, and the queue in front of them.
///
/// A cheap handle: clones share the engine. Any number of engines may live in a process, be made and dropped on any thread and in any
/// order. All methods may be called from any thread.
///
/// When the last handle is dropped, everything stops at once: queued calls get `ShuttingDown`, running ones are stopped, and the drop
/// waits for the workers to end, for the grace time at most. [`shutdown`](Engine::shutdown) lets calls finish first.
#[derive(Clone)]
pub struct Engine {
    handle: Arc<Handle>,
}

/// Stops the engine when the last handle is gone.
struct Handle {
    shared: Arc<Shared>,
}

impl Engine {
    /// The knobs.
    pub fn builder() -> EngineBuilder {
        EngineBuilder::default()
    }

    fn of(config: Config) -> Result<Self> {
        Ok(Engine { handle: Arc::new(Handle { shared: Shared::start(config)? }) })
    }

    fn shared(&self) -> &Arc<Shared> {
        &self.handle.shared
    }

    /// Prepares calls of functions of a script: of an `Arc<Script>`, or of whatever a [`Live`] script holds when the call is made.
    ///
    /// ```
    /// # fn main() -> jsmill::Result<()> {
    /// use jsmill::{Engine, Script};
    /// let engine = Engine::builder().workers(1).build()?;
    /// let script = Script::new("add.js", "function add(a, b) { return a + b; }")?;
    /// let sum: f64 = engine.task(&script).call_blocking("add", (1, 2.5))?;
    /// assert_eq!(sum, 3.5);
    /// # Ok(())
    /// # }
    /// ```
    pub fn task<S: Snapshot + ?Sized>(&self, script: &S) -> TaskBuilder<'_> {
        TaskBuilder::new(self, script.snapshot())
    }

    /// A function that is called often: found on every worker now, with as many parameters as `A` has members.
    ///
    /// With a [`Live`] script, calls go to the snapshot that it holds when they are made.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> jsmill::Result<()> {
    /// use jsmill::{Engine, Script};
    /// let engine = Engine::builder().workers(1).build()?;
    /// let script = Script::new("add.js", "function add(a, b) { return a + b; }")?;
    /// let add = engine.prepare::<(u32, u32), u32>(&script, "add").await?;
    /// assert_eq!(add.call((1, 2)).await?, 3);
    /// assert!(engine.prepare::<(u32,), u32>(&script, "add").await.is_err());
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// `NoSuchFunction` when there is none, or it takes another number of arguments; what loading the script gives.
    pub async fn prepare<A: Args, R: DeserializeOwned + Send + 'static>(
        &self,
        script: &(impl Snapshot + Clone + 'static),
        function: &str,
    ) -> Result<Prepared<A, R>> {
        Prepared::new(self, script.clone(), function).await
    }

    /// Runs a composition once.
    ///
    /// Cancel safe: a dropped future gives the run up, wherever it is.
    ///
    /// # Errors
    /// Those of the task; those of its limits; `Shed`; `ShuttingDown`.
    pub fn run<C: Runnable>(&self, composition: C) -> impl Future<Output = Result<C::Output>> + Send + use<C> {
        let (script, work, parts) = composition.into_work();
        let pending = submit::composed(self, script, work, parts).map(Pending::new);
        let shared = self.shared().clone();
        async move { submit::run(&shared, pending?).await }
    }

    /// The same on the calling thread, which waits. Must not be called on a thread that drives an async runtime.
    ///
    /// # Errors
    /// As with [`run`](Engine::run).
    pub fn run_blocking<C: Runnable>(&self, composition: C) -> Result<C::Output> {
        let (script, work, parts) = composition.into_work();
        let call = submit::composed(self, script, work, parts)?;
        submit::block(submit::run(self.shared(), Pending::new(call)))
    }

    /// A run of a composition that makes requests to its caller. Nothing runs before the first [`next`](Run::next).
    ///
    /// # Errors
    /// `Config` when its limits make no sense.
    pub fn start<C: Startable>(&self, composition: C) -> Result<RunOf<C>> {
        let (script, work, parts) = composition.into_work();
        Ok(Run::new(self.shared(), submit::composed(self, script, work, parts)?))
    }

    /// A handle by which calls pass this value to scripts as a frozen object that each worker converts once. See [`Shared`](crate::Shared).
    ///
    /// ```
    /// # fn main() -> jsmill::Result<()> {
    /// use std::{collections::HashMap, sync::Arc};
    /// use jsmill::{Engine, Script};
    /// let engine = Engine::builder().workers(1).build()?;
    /// let settings = engine.value(Arc::new(HashMap::from([("base", 7)])));
    /// let script = Script::new("s.js", "const price = (settings, n) => settings.base * n;")?;
    /// assert_eq!(engine.task(&script).call_blocking::<u32>("price", (&settings, 6))?, 42);
    /// # Ok(())
    /// # }
    /// ```
    pub fn value<T: Serialize + Send + Sync + 'static>(&self, value: Arc<T>) -> SharedHandle<T> {
        SharedHandle::new(value)
    }

    /// The limits of calls that do not set their own.
    pub fn limits(&self) -> Limits {
        self.shared().config.limits
    }

    /// How busy the workers are. A slice counts while it runs; the figures are 10 ms old at the most.
    ///
    /// ```
    /// # fn main() -> jsmill::Result<()> {
    /// use jsmill::{Engine, Script};
    /// let engine = Engine::builder().workers(1).build()?;
    /// let script = Script::new("spin.js", "function spin(ms) { for (const end = Date.now() + ms; Date.now() < end; ); }")?;
    /// engine.task(&script).call_blocking::<()>("spin", (300,))?;
    /// let load = engine.load();
    /// assert!(load.one_second > 0.0 && load.one_second <= 1.0);
    /// assert_eq!(load.one_second, load.workers[0].one_second);
    /// # Ok(())
    /// # }
    /// ```
    pub fn load(&self) -> Load {
        self.shared().load()
    }

    /// What the engine has done and what it holds.
    pub fn stats(&self) -> Stats {
        self.shared().stats()
    }

    /// Takes no more calls, lets those that it has finish for the shutdown timeout, stops the rest, and ends the workers.
    ///
    /// Later calls on any handle get `ShuttingDown`. Cancel safe: dropped, the shutdown goes on.
    ///
    /// # Errors
    /// `WorkerLost` when a worker does not stop within the grace time; its thread goes on until V8 lets go. Workers that were lost before are
    /// not waited for.
    pub async fn shutdown(&self) -> Result<()> {
        let (done, ended) = tokio::sync::oneshot::channel();
        let shared = self.shared().clone();
        std::thread::Builder::new()
            .name("jsmill-shutdown".into())
            .spawn(move || {
                // A caller that is gone needs no answer.
                let _ = done.send(shared.drain());
            })
            .map_err(|error| Error::config(format!("the thread for the shutdown could not be started: {error}")))?;
        ended.await.unwrap_or_else(|_| Err(Error::bug("the shutdown ended without an answer")))
    }

    /// The same on the calling thread.
    ///
    /// # Errors
    /// As with [`shutdown`](Engine::shutdown); `Config` on a worker's thread, which cannot wait for itself.
    pub fn shutdown_blocking(&self) -> Result<()> {
        if worker::is_worker_thread() {
            return Err(Error::config(
                "`shutdown_blocking` was called on a worker, which would wait for itself; call it elsewhere",
            ));
        }
        self.shared().drain()
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        self.shared.stop();
        let shared = self.shared.clone();
        let finish = move || {
            if !shared.await_end(shared.config.grace) {
                shared.abandon();
            }
            shared.watchdog.stop();
        };
        // A worker that drops the last handle cannot wait for itself.
        if !worker::is_worker_thread() {
            finish();
        } else if let Err(error) = std::thread::Builder::new().name("jsmill-shutdown".into()).spawn(finish) {
            tracing::error!(target: "jsmill", %error, "the watchdog of a dropped engine could not be ended");
        }
    }
}

impl fmt::Debug for Engine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Engine").field("workers", &self.shared().config.workers).finish_non_exhaustive()
    }
}
