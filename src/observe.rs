//! What one sees of an engine from outside: metrics. Their names and units are in `observe.md`.

use metrics::{Counter, Gauge, Histogram, counter, gauge, histogram};

use crate::watchdog::Stop;

/// The handles of one engine.
pub(crate) struct Meters {
    pub(crate) ok: Counter,
    pub(crate) error: Counter,
    pub(crate) stopped: Counter,
    pub(crate) refused: Counter,
    terminations: [Counter; 7],
    pub(crate) panics: Counter,
    pub(crate) queue_seconds: [Histogram; 3],
    pub(crate) slice_seconds: Histogram,
    pub(crate) cpu_seconds: Histogram,
    pub(crate) queue_length: [Gauge; 3],
    /// Over one second, and over ten.
    pub(crate) load: [Gauge; 2],
    pub(crate) context_hits: Counter,
    pub(crate) context_misses: Counter,
    pub(crate) contexts_built: Counter,
    pub(crate) collections: Counter,
    pub(crate) compiled: Counter,
    pub(crate) reused: Counter,
    pub(crate) rejected: Counter,
    pub(crate) isolates: Counter,
    pub(crate) lost_total: Counter,
    pub(crate) lost: Gauge,
}

/// The gauges of one worker.
pub(crate) struct WorkerMeters {
    pub(crate) contexts: Gauge,
    pub(crate) detached: Gauge,
    pub(crate) values: Gauge,
    pub(crate) heap: Gauge,
    pub(crate) buffers: Gauge,
    pub(crate) live: Gauge,
    pub(crate) pending: Gauge,
}

/// The name of a stop's reason in metrics and spans.
pub(crate) const fn reason(stop: Stop) -> &'static str {
    match stop {
        Stop::SliceTimeout => "slice_timeout",
        Stop::CpuBudget => "cpu_budget",
        Stop::Deadline => "deadline",
        Stop::HeapLimit => "heap_limit",
        Stop::BufferLimit => "buffer_limit",
        Stop::Cancelled => "cancelled",
        Stop::ShuttingDown => "shutting_down",
    }
}

impl Meters {
    pub(crate) fn new(priorities: [&'static str; 3]) -> Self {
        let calls = |outcome: &'static str| counter!("jsmill_calls_total", "outcome" => outcome);
        let code = |code: &'static str| counter!("jsmill_compilations_total", "code" => code);
        let termination = |reason: &'static str| counter!("jsmill_terminations_total", "reason" => reason);
        Meters {
            ok: calls("ok"),
            error: calls("error"),
            stopped: calls("stopped"),
            refused: calls("refused"),
            terminations: Stop::ALL.map(|stop| termination(reason(stop))),
            panics: termination("host_panic"),
            queue_seconds: priorities.map(|name| histogram!("jsmill_queue_seconds", "priority" => name)),
            slice_seconds: histogram!("jsmill_slice_seconds"),
            cpu_seconds: histogram!("jsmill_cpu_seconds"),
            queue_length: priorities.map(|name| gauge!("jsmill_queue_length", "priority" => name)),
            load: ["1s", "10s"].map(|window| gauge!("jsmill_load", "window" => window)),
            context_hits: counter!("jsmill_context_hits_total"),
            context_misses: counter!("jsmill_context_misses_total"),
            contexts_built: counter!("jsmill_contexts_built_total"),
            collections: counter!("jsmill_collections_total"),
            compiled: code("compiled"),
            reused: code("reused"),
            rejected: code("rejected"),
            isolates: counter!("jsmill_isolates_total"),
            lost_total: counter!("jsmill_lost_workers_total"),
            lost: gauge!("jsmill_lost_workers"),
        }
    }

    pub(crate) fn termination(&self, stop: Stop) -> &Counter {
        &self.terminations[stop as usize - 1]
    }
}

impl WorkerMeters {
    pub(crate) fn new(worker: usize) -> Self {
        let worker = worker.to_string();
        WorkerMeters {
            contexts: gauge!("jsmill_contexts", "worker" => worker.clone()),
            detached: gauge!("jsmill_detached_contexts", "worker" => worker.clone()),
            values: gauge!("jsmill_values", "worker" => worker.clone()),
            heap: gauge!("jsmill_heap_bytes", "worker" => worker.clone()),
            buffers: gauge!("jsmill_buffer_bytes", "worker" => worker.clone()),
            live: gauge!("jsmill_paused_calls", "worker" => worker.clone()),
            pending: gauge!("jsmill_pending_waits", "worker" => worker),
        }
    }
}
