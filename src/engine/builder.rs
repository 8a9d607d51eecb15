//! The knobs of an engine.

use std::time::Duration;

use super::Engine;
use super::admission::{Admission, Background};
use super::config::{Options, Pinning};
use crate::error::Result;
use crate::exec::{HostAsync, HostFunctions, Limits, Priority};
use crate::units::Bytes;
use crate::vm::HostFunction;

/// Configures an [`Engine`]. Nothing is checked before [`build`](EngineBuilder::build).
///
/// ```
/// use jsmill::{Bytes, Engine};
/// # fn main() -> jsmill::Result<()> {
/// let engine = Engine::builder().workers(2).heap_limit(Bytes::mib(64)).build()?;
/// assert_eq!(engine.stats().workers.len(), 2);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, Default)]
#[must_use = "`build` makes the engine"]
pub struct EngineBuilder {
    options: Options,
}

impl EngineBuilder {
    /// How many workers: threads with a V8 isolate each. Default: one for each core that the process may use. Costs some 3 MiB of
    /// memory each, before scripts. V8's helper threads, for collection and compilation, are not among them.
    pub fn workers(mut self, workers: usize) -> Self {
        self.options.workers = Some(workers);
        self
    }

    /// Whether workers are pinned to cores. Default: off. Pays where the machine runs nothing else. Does not keep other threads away
    /// from those cores.
    pub fn pinning(mut self, pinning: Pinning) -> Self {
        self.options.pinning = pinning;
        self
    }

    /// The stack of a worker's thread. Default: 8 MiB; from 4 MiB on. JavaScript gets one half; the other one is left to Rust code that it
    /// calls, and to the conversion of values. V8 has it once per process: a second engine that wants another one gets an error. Costs address space; memory only as far as it is used.
    pub fn stack_size(mut self, size: Bytes) -> Self {
        self.options.stack_size = size;
        self
    }

    /// The size that an isolate's heap starts with. Default: V8's own choice. A larger one spares the first collections.
    pub fn heap_initial(mut self, size: Bytes) -> Self {
        self.options.heap_initial = size;
        self
    }

    /// The limit of an isolate's JavaScript heap. Default: 256 MiB; from 16 MiB on. A call that reaches it ends with `HeapLimit`, and
    /// the isolate is replaced. Does not cover array buffers, WebAssembly memory, compiled code, and what V8 needs besides.
    pub fn heap_limit(mut self, limit: Bytes) -> Self {
        self.options.heap_limit = limit;
        self
    }

    /// The limit of an isolate's array buffers and shared array buffers together. Default: 256 MiB. What would pass it throws a
    /// `RangeError`, which ends the call with `BufferLimit` if the script does not catch it. Resizable buffers and WebAssembly memory
    /// are compared with it every 20 ms of a slice; growable shared buffers are refused.
    pub fn buffer_limit(mut self, limit: Bytes) -> Self {
        self.options.buffer_limit = limit;
        self
    }

    /// The limit of one WebAssembly memory. Default: 256 MiB; at most 4 GiB, in steps of 64 KiB. V8 has it once per process: a second
    /// engine that wants another one gets an error.
    pub fn wasm_memory_limit(mut self, limit: Bytes) -> Self {
        self.options.wasm_memory_limit = limit;
        self
    }

    /// How many calls of that priority may wait. Default: 1,024 each. When they are as many, callers wait, and `try_call` gets
    /// `QueueFull`.
    pub fn queue_depth(mut self, priority: Priority, depth: usize) -> Self {
        self.options.queue_depth[priority as usize] = depth;
        self
    }

    /// Which calls are refused with `Shed` because they have waited for too long in a queue that does not get shorter. Default:
    /// [`Admission::Deadline`], which concerns calls with a deadline only. Costs some nanoseconds a call. Does not cover calls that run.
    pub fn admission(mut self, admission: Admission) -> Self {
        self.options.admission = admission;
        self
    }

    /// The load of the last second (see [`Engine::load`]) from which on background calls make way for more urgent ones, and the one below
    /// which they are welcome again. Default: 0.9 and 0.7; `shed(1.0, 1.0)` lets them come whatever the load. Concerns them only while
    /// calls of another priority wait or have come within the last second: background work on its own may use the workers up. Load is
    /// looked at every 100 ms.
    pub fn shed(mut self, high: f64, low: f64) -> Self {
        self.options.shed = (high, low);
        self
    }

    /// What becomes of background calls that have to make way. Default: [`Background::Refuse`].
    pub fn background(mut self, background: Background) -> Self {
        self.options.background = background;
        self
    }

    /// The limits of calls that do not set their own. See [`Limits`] for the defaults.
    pub fn limits(mut self, limits: Limits) -> Self {
        self.options.limits = limits;
        self
    }

    /// How long a worker may take to stop when it was asked to. Default: 1 s. Some built-ins of V8 look at no request; after this time
    /// the caller gets its error, and the worker is given up and replaced.
    pub fn grace(mut self, grace: Duration) -> Self {
        self.options.grace = grace;
        self
    }

    /// How long [`shutdown`](Engine::shutdown) lets calls finish before it stops them. Default: 10 s.
    pub fn shutdown_timeout(mut self, timeout: Duration) -> Self {
        self.options.shutdown_timeout = timeout;
        self
    }

    /// How many lost workers may still hold a core before the engine takes no more of them away: beyond that a lost worker is not
    /// replaced, and an engine without workers refuses calls with `WorkerLost`. Default: 4. A lost worker's thread ends when V8 lets
    /// it go, and counts no longer then.
    pub fn max_lost(mut self, workers: usize) -> Self {
        self.options.max_lost = workers;
        self
    }

    /// Whether scripts may make code from strings (`eval`, `new Function`). Default: no; they throw `EvalError`.
    pub fn code_generation(mut self, allowed: bool) -> Self {
        self.options.code_generation = allowed;
        self
    }

    /// Whether scripts may compile WebAssembly. Default: yes.
    pub fn wasm(mut self, allowed: bool) -> Self {
        self.options.wasm = allowed;
        self
    }

    /// How many contexts a worker keeps. Default: 64. A context takes some hundred KiB of heap, and the collector scans them all. 0
    /// keeps none.
    pub fn context_cache(mut self, contexts: usize) -> Self {
        self.options.contexts = contexts;
        self
    }

    /// How long a context under a stable key is kept without a hit. Default: 10 minutes. Does not concern contexts of snapshots, which
    /// are kept for as long as these live.
    pub fn context_idle(mut self, time: Duration) -> Self {
        self.options.context_idle = time;
        self
    }

    /// The size of the code cache that the workers share. Default: 64 MiB.
    pub fn code_cache(mut self, size: Bytes) -> Self {
        self.options.code_cache = size;
        self
    }

    /// How many contexts a worker makes ahead, while it is idle, for runs without a cache. Default: 1. Begins after the first such run.
    pub fn fresh_reserve(mut self, contexts: usize) -> Self {
        self.options.reserve = contexts;
        self
    }

    /// After how many runs an isolate is replaced. Default: never. An insurance against whatever V8 may accumulate. It takes no more calls that
    /// pause then, and goes when those that it has have ended, or 10 s later: then they end with `WorkerLost`.
    pub fn max_runs(mut self, runs: u64) -> Self {
        self.options.max_runs = runs;
        self
    }

    /// At what age an isolate is replaced. Default: never. Calls that are paused are waited for as with [`max_runs`](EngineBuilder::max_runs).
    pub fn max_age(mut self, age: Duration) -> Self {
        self.options.max_age = age;
        self
    }

    /// How many calls that pause (generators, async functions) a worker may hold at a time. Default: 10,000. While it holds so many, it
    /// takes plain calls only. Costs about a kilobyte for each call that is held.
    pub fn live_tasks(mut self, tasks: usize) -> Self {
        self.options.live_tasks = tasks;
        self
    }

    /// How many calls of async host functions, timers and the like may be pending at a time, of all calls of the engine. Default: 1,000,000.
    /// Each call has a limit of its own as well: [`Limits::pending`].
    pub fn pending(mut self, pending: usize) -> Self {
        self.options.pending = pending;
        self
    }

    /// Where the futures of async host functions run. Default: a small runtime of the engine's own, with one thread, started when it is first
    /// needed.
    pub fn runtime(mut self, runtime: tokio::runtime::Handle) -> Self {
        self.options.host_runtime = Some(runtime);
        self
    }

    /// A global function of all scripts whose body is a closure of the host. See [`HostFunctions::sync`].
    pub fn host_fn<Arguments: 'static>(
        mut self,
        name: &str,
        function: impl HostFunction<Arguments> + Send + Sync,
    ) -> Self {
        self.options.host_functions = self.options.host_functions.sync(name, function);
        self
    }

    /// A global function of all scripts that gives a promise of what a closure's future brings. See [`HostFunctions::asynchronous`].
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> jsmill::Result<()> {
    /// use jsmill::{Engine, HostError, Script};
    /// let engine = Engine::builder()
    ///     .workers(1)
    ///     .host_async("rate", |zone: String| async move { Ok::<_, HostError>(zone.len()) })
    ///     .build()?;
    /// let script = Script::new("r.js", "const main = async (zone) => (await rate(zone)) * 2;")?;
    /// assert_eq!(engine.task(&script).call_async::<u32>("main", ("north",)).await?, 10);
    /// # Ok(())
    /// # }
    /// ```
    pub fn host_async<Arguments: 'static>(mut self, name: &str, function: impl HostAsync<Arguments>) -> Self {
        self.options.host_functions = self.options.host_functions.asynchronous(name, function);
        self
    }

    /// A set of global functions of all scripts.
    pub fn host_functions(mut self, functions: HostFunctions) -> Self {
        self.options.host_functions = self.options.host_functions.and(functions);
        self
    }

    /// What all scripts may do with files and sockets. Default: nothing. [`TaskBuilder::io`](crate::TaskBuilder::io) replaces it for one call.
    #[cfg(feature = "io")]
    pub fn io(mut self, io: crate::Io) -> Self {
        self.options.io = Some(io);
        self
    }

    /// How many threads make the calls of the system that may block: opening, reading, writing and closing files, and resolving names. Default:
    /// 16; started when they are first needed. Further calls wait for one of them. A file system that hangs holds as many as it is asked; nothing
    /// else waits for those, not even the end of the engine.
    #[cfg(feature = "io")]
    pub fn io_threads(mut self, threads: usize) -> Self {
        self.options.io_threads = threads;
        self
    }

    /// An idle worker collects garbage when its heap has grown by this much since its last collection. Default: a quarter of the heap
    /// limit. A small value keeps memory low and costs CPU time between calls; while there is work, V8 decides for itself.
    pub fn collect_growth(mut self, growth: Bytes) -> Self {
        self.options.collect_growth = Some(growth);
        self
    }

    /// How often an idle worker looks whether to collect. Default: 1 s.
    pub fn collect_interval(mut self, interval: Duration) -> Self {
        self.options.collect_interval = interval;
        self
    }

    /// How long a worker looks for new calls before its thread sleeps. Default: 30 µs where there are fewer workers than cores, else not
    /// at all. Waking a thread can cost as much; a worker that finds nothing for a while spins more rarely.
    pub fn spin(mut self, time: Duration) -> Self {
        self.options.spin = Some(time);
        self
    }

    /// Flags of V8, such as `--max-lazy`. Default: none. V8 has them once per process: a second engine that wants other ones gets an error
    /// that names the differences. What they do is between you and V8.
    pub fn v8_flags<I: IntoIterator<Item = S>, S: Into<String>>(mut self, flags: I) -> Self {
        self.options.v8_flags = flags.into_iter().map(Into::into).collect();
        self
    }

    /// Checks the configuration, starts V8 if it does not run yet, and starts the workers.
    ///
    /// Blocks for some milliseconds, and for some tens for the first engine of a process. May be called on any thread.
    ///
    /// # Errors
    /// `Config`, in a sentence that names the knob.
    pub fn build(self) -> Result<Engine> {
        Engine::of(self.options.resolve()?)
    }
}
