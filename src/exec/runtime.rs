//! One worker's inside: an isolate, the contexts and values in it, and the runs that are paused there.
//!
//! `slice` is the way of a run through it; `upkeep` keeps the isolate in shape.
//!
//! Invariant: between two slices none runs, no termination is pending, and every context in the caches is one whose last slice
//! ended by itself. Every run that has begun is in `live` until it has ended.

use std::any::TypeId;
use std::collections::VecDeque;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use super::context_cache::{CacheCounters, ContextCache};
use super::cpu::CpuMeter;
use super::live::LiveRuns;
use super::ops::{Ops, OpsOptions};
use super::slice::{Job, STATE};
use super::value_cache::ValueCache;
use super::{Caching, CallCore, HostFunctions, TaskId, natives};
use crate::clock::Moment;
use crate::error::{Error, ErrorKind, Result};
use crate::units::Bytes;
use crate::vm::{CodeCache, HeapFigures, Host, Isolate, IsolateInterrupt, IsolateOptions, Memory, ScriptContext};
use crate::watchdog::{Slot, Stop};

/// How often the heap is looked at while the worker is busy. Looking takes some microseconds.
pub(super) const HEAP_INTERVAL: Duration = Duration::from_millis(20);

/// What a worker's inside is made with.
pub(crate) struct RuntimeOptions {
    pub(crate) isolate: IsolateOptions,
    pub(crate) contexts: usize,
    pub(crate) context_idle: Duration,
    pub(crate) code_generation: bool,
    /// Contexts that are made ahead for runs without a cache.
    pub(crate) reserve: usize,
    /// The isolate is replaced after so many runs.
    pub(crate) max_runs: u64,
    /// The isolate is replaced at this age.
    pub(crate) max_age: Duration,
    /// An idle worker collects when its heap has grown by so much since the last collection.
    pub(crate) collect_growth: Bytes,
    /// How often it looks.
    pub(crate) collect_interval: Duration,
    /// What all scripts may call.
    pub(crate) host_functions: HostFunctions,
}

/// What has to happen to the worker after a call.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// Nothing.
    Fine,
    /// The isolate has to be replaced.
    Replace(&'static str),
}

/// What a slice was, for spans and figures.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SliceReport {
    pub(crate) end: Moment,
    pub(crate) queued: Duration,
    pub(crate) wall: Duration,
    pub(crate) cpu: Duration,
    pub(crate) built: bool,
    pub(crate) stop: Option<Stop>,
    pub(crate) panicked: bool,
    pub(crate) ran: bool,
    pub(crate) failed: bool,
    /// The run has not ended: it goes on in another slice, or ended before this one.
    pub(crate) paused: bool,
    /// It was the run's first slice.
    pub(crate) first: bool,
}

impl SliceReport {
    pub(super) fn at(end: Moment) -> Self {
        let none = Duration::ZERO;
        SliceReport {
            end,
            queued: none,
            wall: none,
            cpu: none,
            built: false,
            stop: None,
            panicked: false,
            ran: false,
            failed: false,
            paused: false,
            first: false,
        }
    }
}

/// Figures of the inside.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct RuntimeFigures {
    pub(crate) heap: HeapFigures,
    pub(crate) buffers: Bytes,
    pub(crate) contexts: usize,
    /// Contexts that V8 has not freed and nobody holds.
    pub(crate) unheld: usize,
    pub(crate) values: usize,
    pub(crate) values_converted: u64,
    pub(crate) cache: CacheCounters,
    pub(crate) built: u64,
    pub(crate) functions: usize,
    pub(crate) collections: u64,
    pub(crate) isolates: u64,
    /// Runs that have begun and not ended.
    pub(crate) live: usize,
    /// Host calls, timers and the like that are pending.
    pub(crate) pending: usize,
}

/// An isolate with what lives in it. Fields are dropped in this order: handles before their isolate.
pub(super) struct Inside {
    pub(super) contexts: ContextCache<ScriptContext>,
    pub(super) values: ValueCache,
    pub(super) ready: Vec<ScriptContext>,
    pub(super) ops: Rc<Ops>,
    pub(super) host: Rc<Host>,
    pub(super) isolate: Isolate,
    pub(super) born: Moment,
    pub(super) runs: u64,
}

impl Inside {
    /// Contexts that V8 has and nobody here holds.
    pub(super) fn unheld(&mut self) -> usize {
        self.isolate.heap().contexts.saturating_sub(self.host.contexts())
    }
}

/// The runtime of one worker's thread.
pub(crate) struct Runtime {
    /// Before the isolate: they hold handles of it.
    pub(super) live: LiveRuns,
    pub(super) inside: Option<Inside>,
    pub(super) options: Arc<RuntimeOptions>,
    pub(super) code: Arc<CodeCache>,
    interrupt: Arc<IsolateInterrupt>,
    pub(super) slot: Arc<Slot>,
    pub(super) ops_options: Rc<OpsOptions>,
    pub(super) cpu: CpuMeter,
    /// What is to be done for runs of this worker that nobody outside has asked for.
    pub(super) jobs: VecDeque<(TaskId, Job)>,
    /// The number of the last run.
    pub(super) last_task: u64,
    next_op: u64,
    /// Whether a run without a cache was seen, so that a reserve pays.
    pub(super) uncached: bool,
    /// Since when the isolate is to be replaced as soon as no run is paused.
    pub(super) retiring: Option<Moment>,
    pub(super) next_heap_look: Moment,
    pub(super) next_collect_look: Moment,
    /// Heap in use after the last collection that this asked for.
    pub(super) collected_to: Bytes,
    /// Contexts that nobody held, after the last collection of an idle worker.
    pub(super) unheld: usize,
    /// Collections in a row after which contexts were still there that nobody holds.
    pub(super) detached_rounds: u32,
    built: u64,
    pub(super) collections: u64,
    isolates: u64,
    /// Counters of caches that are gone with their isolate.
    past: CacheCounters,
    past_converted: u64,
}

impl Runtime {
    /// Makes the inside on the calling thread.
    pub(crate) fn new(
        options: Arc<RuntimeOptions>,
        code: Arc<CodeCache>,
        interrupt: Arc<IsolateInterrupt>,
        slot: Arc<Slot>,
        ops_options: OpsOptions,
    ) -> Result<Self> {
        let now = Moment::now();
        let cpu = CpuMeter::new(now, slot.cpu_time());
        let mut runtime = Runtime {
            live: LiveRuns::default(),
            inside: None,
            options,
            code,
            interrupt,
            slot,
            ops_options: Rc::new(ops_options),
            cpu,
            jobs: VecDeque::new(),
            last_task: 0,
            next_op: 1,
            uncached: false,
            retiring: None,
            next_heap_look: now.after(HEAP_INTERVAL),
            next_collect_look: now,
            collected_to: Bytes::new(0),
            unheld: 0,
            detached_rounds: 0,
            built: 0,
            collections: 0,
            isolates: 0,
            past: CacheCounters::default(),
            past_converted: 0,
        };
        runtime.renew("it is new")?;
        Ok(runtime)
    }

    /// Drops the isolate with all that lives in it, and makes a new one. Runs that are paused are told why.
    pub(crate) fn renew(&mut self, why: &str) -> Result<()> {
        let reason = format!("its isolate was replaced while the run was paused, because {why}");
        self.close(&ErrorKind::WorkerLost { reason });
        let mut isolate = Isolate::new(&self.options.isolate)?;
        self.interrupt.set(isolate.handle());
        let slot = self.slot.clone();
        isolate.set_on_limit(Box::new(move |memory| {
            slot.stop_current(match memory {
                Memory::Heap => Stop::HeapLimit,
                Memory::Buffers => Stop::BufferLimit,
            });
        }));
        let host = Host::install(&mut isolate, natives::native())?;
        let ops = Ops::install(isolate.v8(), self.ops_options.clone(), self.next_op);
        self.inside = Some(Inside {
            contexts: ContextCache::new(self.options.contexts, self.options.context_idle),
            values: ValueCache::new(),
            ready: Vec::new(),
            ops,
            host,
            isolate,
            born: Moment::now(),
            runs: 0,
        });
        self.isolates += 1;
        self.retiring = None;
        self.collected_to = Bytes::new(0);
        self.detached_rounds = 0;
        self.unheld = 0;
        Ok(())
    }

    /// Drops the isolate: the old one is gone before a new one is made. Runs that are paused end with that error.
    pub(crate) fn close(&mut self, why: &ErrorKind) {
        self.jobs.clear();
        for (_, live) in std::mem::take(&mut self.live) {
            self.ops_options.mailbox.let_go(live.place);
            live.call.refuse(Error::from(why.clone()).after(live.spent.into()));
            // Here, outside of V8: what the call owns is the embedder's.
            super::release(live.call.clone());
            crate::vm::quietly(STATE, || drop(live));
        }
        if let Some(mut inside) = self.inside.take() {
            self.next_op = inside.ops.next();
            inside.ops.clear();
            let CacheCounters { hits, misses, evicted } = inside.contexts.counters;
            self.past.hits += hits;
            self.past.misses += misses;
            self.past.evicted += evicted + inside.contexts.len() as u64;
            self.past_converted += inside.values.converted;
            inside.contexts.clear();
            inside.values.clear();
        }
    }

    /// Drops contexts whose snapshot is gone.
    pub(crate) fn expire(&mut self) {
        if let Some(inside) = &mut self.inside {
            inside.contexts.expire(Moment::now());
            inside.values.expire();
        }
    }

    pub(crate) fn figures(&mut self) -> RuntimeFigures {
        let mut figures = RuntimeFigures {
            cache: self.past,
            values_converted: self.past_converted,
            built: self.built,
            collections: self.collections,
            isolates: self.isolates,
            live: self.live.len(),
            ..RuntimeFigures::default()
        };
        if let Some(inside) = &mut self.inside {
            let CacheCounters { hits, misses, evicted } = inside.contexts.counters;
            figures.cache.hits += hits;
            figures.cache.misses += misses;
            figures.cache.evicted += evicted;
            figures.heap = inside.isolate.heap();
            figures.buffers = inside.isolate.buffers().used();
            figures.contexts = inside.contexts.len();
            figures.unheld = inside.unheld();
            figures.values = inside.values.len();
            figures.values_converted += inside.values.converted;
            figures.functions = inside.host.live_functions();
            figures.pending = inside.ops.len();
        }
        figures
    }

    pub(crate) fn note(&mut self, report: &SliceReport, caching: &Caching) {
        self.built += u64::from(report.built);
        self.uncached |= *caching == Caching::None;
    }

    /// Whether a run that pauses may begin, where `limit` of them may be held.
    pub(crate) fn has_room(&self, limit: usize) -> bool {
        self.retiring.is_none() && self.live.len() < limit
    }

    /// How many runs have begun and not ended.
    pub(crate) fn live(&self) -> usize {
        self.live.len()
    }

    /// The call of a run.
    pub(crate) fn call(&self, task: TaskId) -> Option<&Arc<dyn CallCore>> {
        self.live.get(&task).map(|live| &live.call)
    }
}

pub(crate) fn deadline(limit: Option<Duration>, queued: bool) -> Error {
    ErrorKind::Deadline { limit: limit.unwrap_or_default(), queued }.into()
}

/// The error of a stopped slice.
pub(crate) fn stopped(stop: Stop, limits: &super::Limits, isolate: &IsolateOptions) -> Error {
    match stop {
        Stop::SliceTimeout => ErrorKind::SliceTimeout { limit: limits.slice_timeout.unwrap_or_default() }.into(),
        Stop::CpuBudget => ErrorKind::CpuBudget { limit: limits.cpu_budget.unwrap_or_default() }.into(),
        Stop::Deadline => deadline(limits.deadline, false),
        Stop::HeapLimit => ErrorKind::HeapLimit { limit: isolate.heap_limit }.into(),
        Stop::BufferLimit => ErrorKind::BufferLimit { limit: isolate.buffer_limit }.into(),
        Stop::Cancelled => ErrorKind::Cancelled.into(),
        Stop::ShuttingDown => ErrorKind::ShuttingDown.into(),
    }
}

/// The kind of plain calls, for warming a context before the first of them.
pub(crate) fn plain_kind() -> TypeId {
    TypeId::of::<super::FunctionCall<()>>()
}
