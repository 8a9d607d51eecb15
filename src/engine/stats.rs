//! What an engine has done and what it holds, as a value.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::exec::{RuntimeFigures, SliceReport};
use crate::units::Bytes;
use crate::watchdog::Stop;

/// Figures of an engine at one moment. Those of workers are renewed by the workers themselves, every 100 ms at least while they
/// have work or wake up, and may be that old.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Stats {
    /// Each worker's figures.
    pub workers: Vec<WorkerStats>,
    /// Calls in the queue: critical, normal, background.
    pub queued: [usize; 3],
    /// Workers that did not stop in time and were given up, ever.
    pub lost_total: u64,
    /// Threads of such workers that still run.
    pub lost: usize,
    /// Sources that V8 compiled.
    pub compiled: u64,
    /// Sources whose code came from the code cache.
    pub code_reused: u64,
    /// Entries of the code cache that V8 rejected; they were compiled anew.
    pub code_rejected: u64,
    /// The size of the code cache.
    pub code_cache: Bytes,
}

/// Figures of one worker; counters go on when its isolate is replaced, and begin anew with the worker.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct WorkerStats {
    /// Slices that ran.
    pub slices: u64,
    /// Calls that ended without an error of limits or of the host.
    pub finished: u64,
    /// Slices that were stopped, by reason.
    pub stopped: Stopped,
    /// Wall-clock time spent in slices.
    pub busy: Duration,
    /// CPU time spent in slices.
    pub cpu: Duration,
    /// Calls that found their context in the cache.
    pub context_hits: u64,
    /// Calls that did not.
    pub context_misses: u64,
    /// Contexts that were made.
    pub contexts_built: u64,
    /// Contexts that were dropped from the cache.
    pub contexts_evicted: u64,
    /// Contexts in the cache.
    pub contexts: usize,
    /// Contexts that V8 has not freed, and that the cache does not hold.
    pub contexts_detached: usize,
    /// Shared values that the isolate holds.
    pub values: usize,
    /// Conversions of shared values.
    pub values_converted: u64,
    /// Host functions that live in the isolate.
    pub host_functions: usize,
    /// The heap in use.
    pub heap: Bytes,
    /// The heap's limit now.
    pub heap_limit: Bytes,
    /// What array buffers hold.
    pub buffers: Bytes,
    /// Collections that the engine asked for.
    pub collections: u64,
    /// Isolates that the worker has had.
    pub isolates: u64,
    /// Calls that have begun and are paused.
    pub live: usize,
    /// Calls of async host functions, timers and the like that are pending.
    pub pending: usize,
}

/// How many slices were stopped for which reason.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Stopped {
    /// By their slice timeout.
    pub slice_timeout: u64,
    /// By their CPU budget.
    pub cpu_budget: u64,
    /// By their deadline.
    pub deadline: u64,
    /// By the heap limit.
    pub heap_limit: u64,
    /// By the limit of array buffers.
    pub buffer_limit: u64,
    /// By their caller.
    pub cancelled: u64,
    /// By the end of the engine.
    pub shutting_down: u64,
    /// By a panic of host code.
    pub host_panics: u64,
}

/// The counters of one worker, written by it alone.
#[derive(Debug, Default)]
pub(super) struct Counters {
    slices: AtomicU64,
    busy: AtomicU64,
    cpu: AtomicU64,
    stopped: [AtomicU64; 7],
    panics: AtomicU64,
}

fn bump(counter: &AtomicU64, by: u64) {
    // One writer: no read-modify-write is needed.
    counter.store(counter.load(Ordering::Relaxed).wrapping_add(by), Ordering::Relaxed);
}

fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

impl Counters {
    pub(super) fn add(&self, report: &SliceReport) {
        if !report.ran {
            return;
        }
        bump(&self.slices, 1);
        bump(&self.busy, nanos(report.wall));
        bump(&self.cpu, nanos(report.cpu));
        if let Some(stop) = report.stop {
            bump(&self.stopped[stop as usize - 1], 1);
        } else if report.panicked {
            bump(&self.panics, 1);
        }
    }

    /// The CPU time spent in slices that are over.
    pub(super) fn cpu(&self) -> Duration {
        Duration::from_nanos(self.cpu.load(Ordering::Relaxed))
    }

    pub(super) fn stats(&self, figures: &RuntimeFigures) -> WorkerStats {
        let get = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let stopped = |stop: Stop| get(&self.stopped[stop as usize - 1]);
        let slices = get(&self.slices);
        let stopped = Stopped {
            slice_timeout: stopped(Stop::SliceTimeout),
            cpu_budget: stopped(Stop::CpuBudget),
            deadline: stopped(Stop::Deadline),
            heap_limit: stopped(Stop::HeapLimit),
            buffer_limit: stopped(Stop::BufferLimit),
            cancelled: stopped(Stop::Cancelled),
            shutting_down: stopped(Stop::ShuttingDown),
            host_panics: get(&self.panics),
        };
        let unfinished: u64 = self.stopped.iter().map(get).sum::<u64>() + stopped.host_panics;
        WorkerStats {
            slices,
            finished: slices.saturating_sub(unfinished),
            stopped,
            busy: Duration::from_nanos(get(&self.busy)),
            cpu: Duration::from_nanos(get(&self.cpu)),
            context_hits: figures.cache.hits,
            context_misses: figures.cache.misses,
            contexts_built: figures.built,
            contexts_evicted: figures.cache.evicted,
            contexts: figures.contexts,
            contexts_detached: figures.unheld,
            values: figures.values,
            values_converted: figures.values_converted,
            host_functions: figures.functions,
            heap: figures.heap.used,
            heap_limit: figures.heap.limit,
            buffers: figures.buffers,
            collections: figures.collections,
            isolates: figures.isolates,
            live: figures.live,
            pending: figures.pending,
        }
    }
}
