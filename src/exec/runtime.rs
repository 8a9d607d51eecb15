//! One worker's inside: an isolate, the contexts and values in it, and the way of a call through it.
//!
//! Invariant: between two calls no slice runs, no termination is pending, and every context in the caches is one whose last run
//! ended by itself.

use std::any::TypeId;
use std::rc::Rc;
use std::sync::Arc;
use std::task::Waker;
use std::time::Duration;

use super::context_cache::{CacheCounters, ContextCache};
use super::cpu::CpuMeter;
use super::value_cache::ValueCache;
use super::{Caching, CallCore};
use crate::clock::Moment;
use crate::error::{Error, ErrorKind, Result};
use crate::script::{Isolation, Script};
use crate::units::Bytes;
use crate::vm::{
    CodeCache, HeapFigures, Host, Isolate, IsolateInterrupt, IsolateOptions, Memory, ScriptContext, SharedValue, Terms,
    is_refused_buffer,
};
use crate::watchdog::{self, Epoch, Slot, Stop};
use crate::wire;

/// How many lines a run may write to `console`.
const LOG_LINES: u32 = 1_000;

/// How often the heap is looked at while the worker is busy. Looking takes some microseconds.
const HEAP_INTERVAL: Duration = Duration::from_millis(20);

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
}

impl SliceReport {
    fn at(end: Moment) -> Self {
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
}

/// An isolate with what lives in it. Fields are dropped in this order: handles before their isolate.
struct Inside {
    contexts: ContextCache<ScriptContext>,
    values: ValueCache,
    ready: Vec<ScriptContext>,
    host: Rc<Host>,
    isolate: Isolate,
    born: Moment,
    runs: u64,
}

impl Inside {
    /// Contexts that V8 has and nobody here holds.
    fn unheld(&mut self) -> usize {
        let held = Host::CONTEXTS + self.contexts.len() + self.values.contexts() + self.ready.len();
        self.isolate.heap().contexts.saturating_sub(held)
    }
}

/// The runtime of one worker's thread.
pub(crate) struct Runtime {
    inside: Option<Inside>,
    options: Arc<RuntimeOptions>,
    code: Arc<CodeCache>,
    interrupt: Arc<IsolateInterrupt>,
    slot: Arc<Slot>,
    cpu: CpuMeter,
    /// Whether a run without a cache was seen, so that a reserve pays.
    uncached: bool,
    next_heap_look: Moment,
    /// Heap in use after the last collection that this asked for.
    collected_to: Bytes,
    /// Contexts that nobody held, after the last collection of an idle worker.
    unheld: usize,
    /// Collections in a row after which contexts were still there that nobody holds.
    detached_rounds: u32,
    built: u64,
    collections: u64,
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
    ) -> Result<Self> {
        let now = Moment::now();
        let cpu = CpuMeter::new(now, slot.cpu_time());
        let mut runtime = Runtime {
            inside: None,
            options,
            code,
            interrupt,
            slot,
            cpu,
            uncached: false,
            next_heap_look: now.after(HEAP_INTERVAL),
            collected_to: Bytes::new(0),
            unheld: 0,
            detached_rounds: 0,
            built: 0,
            collections: 0,
            isolates: 0,
            past: CacheCounters::default(),
            past_converted: 0,
        };
        runtime.renew()?;
        Ok(runtime)
    }

    /// Drops the isolate with all that lives in it, and makes a new one.
    pub(crate) fn renew(&mut self) -> Result<()> {
        self.close();
        let mut isolate = Isolate::new(&self.options.isolate)?;
        self.interrupt.set(isolate.handle());
        let slot = self.slot.clone();
        isolate.set_on_limit(Box::new(move |memory| {
            slot.stop_current(match memory {
                Memory::Heap => Stop::HeapLimit,
                Memory::Buffers => Stop::BufferLimit,
            });
        }));
        let host = Host::install(&mut isolate)?;
        self.inside = Some(Inside {
            contexts: ContextCache::new(self.options.contexts, self.options.context_idle),
            values: ValueCache::new(),
            ready: Vec::new(),
            host,
            isolate,
            born: Moment::now(),
            runs: 0,
        });
        self.isolates += 1;
        self.collected_to = Bytes::new(0);
        self.detached_rounds = 0;
        self.unheld = 0;
        Ok(())
    }

    /// Drops the isolate: the old one is gone before a new one is made.
    pub(crate) fn close(&mut self) {
        if let Some(mut inside) = self.inside.take() {
            let CacheCounters { hits, misses, evicted } = inside.contexts.counters;
            self.past.hits += hits;
            self.past.misses += misses;
            self.past.evicted += evicted + inside.contexts.len() as u64;
            self.past_converted += inside.values.converted;
            inside.contexts.clear();
            inside.values.clear();
        }
    }

    /// Runs a call: one slice that starts now, from the context to the answer. The caller's waker is for the worker to call.
    pub(crate) fn run(&mut self, call: &Arc<dyn CallCore>, start: Moment) -> (SliceReport, Verdict, Option<Waker>) {
        let meta = call.meta();
        let mut report = SliceReport { queued: start.since(meta.submitted), ..SliceReport::at(start) };
        if start >= meta.deadline {
            call.refuse(deadline(meta.limits.deadline, true));
            return (report, Verdict::Fine, None);
        }
        let Some(inside) = &mut self.inside else {
            call.refuse(ErrorKind::WorkerLost { reason: "its isolate could not be made".into() }.into());
            return (report, Verdict::Replace("it has no isolate"), None);
        };
        let slot = &self.slot;
        let limits = watchdog::Limits {
            start,
            timeout: meta.limits.slice_timeout.map_or(Moment::NEVER, |timeout| start.after(timeout)),
            deadline: meta.deadline,
            cpu: meta.limits.cpu_budget.map(|budget| self.cpu.limit(start, budget, || slot.cpu_time())),
        };
        let epoch = slot.enter(limits);
        if !call.begin(slot, epoch) {
            slot.leave(epoch);
            return (report, Verdict::Fine, None);
        }
        report.ran = true;
        inside.runs += 1;
        inside.host.begin(meta.logger.as_ref(), LOG_LINES);
        let slice = Slice { options: &self.options, code: &self.code, slot, epoch, now: start };
        let (context, early) = match slice.enter(inside, &**call, &mut report) {
            Ok(context) => (Some(context), None),
            Err(error) => (None, Some(error)),
        };
        report.stop = slot.leave(epoch);
        let panicked = inside.host.take_panicked();
        report.panicked = panicked.is_some();
        let refused_buffer = inside.isolate.buffers().take_refused();
        let buffer_limit = self.options.isolate.buffer_limit;
        let instead = match (report.stop, panicked) {
            (Some(stop), _) => Some(stopped(stop, &meta.limits, &self.options.isolate)),
            (None, Some(what)) => Some(ErrorKind::HostPanicked { what }.into()),
            (None, None) => early.map(|error| translate(error, refused_buffer, buffer_limit)),
        };
        if instead.is_some()
            && let Some(context) = &context
        {
            inside.contexts.remove(context);
        }
        // Before the answer: whoever gets it may look at what the context held.
        drop(context);
        let (succeeded, waker) = call.finish(instead, &|error| translate(error, refused_buffer, buffer_limit));
        if !succeeded {
            // A host callback that panicked, or a task with V8's scope, may have asked for a termination past the slot.
            inside.isolate.v8().cancel_terminate_execution();
        }
        report.failed = !succeeded;
        let end = Moment::now();
        report.end = end;
        report.wall = end.since(start);
        report.cpu = self.cpu.used(start, end, || slot.cpu_time());
        (report, self.verdict(end), waker)
    }

    /// Whether the isolate may go on.
    fn verdict(&mut self, now: Moment) -> Verdict {
        let Some(inside) = &mut self.inside else { return Verdict::Replace("it has no isolate") };
        if inside.isolate.heap_limit_reached() {
            return Verdict::Replace("its heap limit was reached");
        }
        if inside.runs >= self.options.max_runs {
            return Verdict::Replace("it has run as often as it may");
        }
        if now < self.next_heap_look {
            return Verdict::Fine;
        }
        self.next_heap_look = now.after(HEAP_INTERVAL);
        if now.since(inside.born) >= self.options.max_age {
            return Verdict::Replace("it has reached its maximum age");
        }
        let limit = self.options.isolate.heap_limit.get();
        if inside.isolate.heap().used.get() < limit / 3 * 2 {
            return Verdict::Fine;
        }
        inside.contexts.expire(now);
        inside.values.expire();
        self.collect();
        let used = self.inside.as_mut().map_or(0, |inside| inside.isolate.heap().used.get());
        if used >= limit / 4 * 3 {
            return Verdict::Replace("three quarters of its heap are in use after a collection");
        }
        Verdict::Fine
    }

    /// What an idle worker does now and then: drops what has expired, collects where it pays.
    pub(crate) fn maintain(&mut self) -> Verdict {
        let now = Moment::now();
        let Some(inside) = &mut self.inside else { return Verdict::Replace("it has no isolate") };
        if now.since(inside.born) >= self.options.max_age {
            return Verdict::Replace("it has reached its maximum age");
        }
        inside.contexts.expire(now);
        inside.values.expire();
        let grown = inside.isolate.heap().used.get().saturating_sub(self.collected_to.get());
        if inside.unheld() != self.unheld || grown >= self.options.isolate.heap_limit.get() / 4 {
            self.collect();
            if let Verdict::Replace(why) = self.detached() {
                return Verdict::Replace(why);
            }
        }
        Verdict::Fine
    }

    /// A full collection.
    pub(crate) fn collect(&mut self) {
        if let Some(inside) = &mut self.inside {
            let before = inside.isolate.heap().used;
            inside.isolate.collect();
            let after = inside.isolate.heap().used;
            self.collected_to = after;
            self.collections += 1;
            tracing::debug!(target: "jsmill", %before, %after, "collected");
        }
    }

    /// Contexts that nobody holds and that collections do not free are held by something within V8: after some rounds of that, the
    /// isolate is replaced.
    fn detached(&mut self) -> Verdict {
        let Some(inside) = &mut self.inside else { return Verdict::Fine };
        self.unheld = inside.unheld();
        if self.unheld <= 4 {
            self.detached_rounds = 0;
            return Verdict::Fine;
        }
        self.detached_rounds += 1;
        if self.detached_rounds >= 5 { Verdict::Replace("contexts stay that nobody holds") } else { Verdict::Fine }
    }

    /// Makes one context for the reserve, if one is missing. Says whether it did.
    pub(crate) fn fill_reserve(&mut self) -> bool {
        let Some(inside) = &mut self.inside else { return false };
        if self.uncached && inside.ready.len() < self.options.reserve {
            match ScriptContext::realm(inside.isolate.v8(), &inside.host, false, self.options.code_generation) {
                Ok(context) => {
                    inside.ready.push(context);
                    return true;
                }
                Err(error) => tracing::warn!(target: "jsmill", %error, "no context for the reserve"),
            }
        }
        false
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
        }
        figures
    }

    pub(crate) fn note(&mut self, report: &SliceReport, caching: &Caching) {
        self.built += u64::from(report.built);
        self.uncached |= *caching == Caching::None;
    }
}

/// What a slice needs while it is inside V8.
struct Slice<'r> {
    options: &'r RuntimeOptions,
    code: &'r CodeCache,
    slot: &'r Slot,
    epoch: Epoch,
    now: Moment,
}

impl Slice<'_> {
    /// Finds or makes the context, and runs the work in it. The work's own result stays with the call.
    fn enter(&self, inside: &mut Inside, call: &dyn CallCore, report: &mut SliceReport) -> Result<Rc<ScriptContext>> {
        let meta = call.meta();
        let mut shared = smallvec::SmallVec::<[SharedValue; 2]>::new();
        for (_, value) in call.shared() {
            shared.push(inside.values.get(&mut inside.isolate, &inside.host, value)?);
        }
        let context = self.context(inside, call, report)?;
        let limits = wire::Limits { depth: meta.limits.depth, bytes: meta.limits.result.as_usize() };
        let terms = Terms { policy: meta.policy, limits, shared: &shared };
        context.with(inside.isolate.v8(), terms, |scope| call.execute(scope));
        // After a stop no script of this slice runs any more, and the context goes with what it has queued.
        if self.slot.reason(self.epoch).is_none() {
            context.run_microtasks(inside.isolate.v8());
        }
        Ok(context)
    }

    fn context(&self, inside: &mut Inside, call: &dyn CallCore, report: &mut SliceReport) -> Result<Rc<ScriptContext>> {
        let meta = call.meta();
        let fresh = is_fresh(&meta.script, &meta.caching);
        if !fresh && let Some(context) = inside.contexts.get(&meta.caching, &meta.script, call.kind(), self.now)? {
            return Ok(context);
        }
        let sealed = !fresh && meta.script.isolation() == Isolation::Sealed;
        let ready = if sealed { None } else { inside.ready.pop() };
        let realm = match ready {
            Some(realm) => realm,
            None => ScriptContext::realm(inside.isolate.v8(), &inside.host, sealed, self.options.code_generation)?,
        };
        report.built = true;
        let initialize = |scope: &mut crate::vm::Scope<'_, '_, '_>| call.initialize(scope);
        let context = realm.load(inside.isolate.v8(), &inside.host, self.code, &meta.script, initialize)?;
        let context = Rc::new(context);
        // A load that was stopped may have left anything; one in which host code panicked is dropped by `run`.
        if !fresh && self.slot.reason(self.epoch).is_none() {
            inside.contexts.put(&meta.caching, &meta.script, call.kind(), context.clone(), self.now);
        }
        Ok(context)
    }
}

fn is_fresh(script: &Script, caching: &Caching) -> bool {
    *caching == Caching::None || script.isolation() == Isolation::Fresh
}

/// What a script's error really is.
fn translate(error: Error, refused_buffer: bool, limit: Bytes) -> Error {
    match error.script_error() {
        Some(thrown) if refused_buffer && is_refused_buffer(thrown) => ErrorKind::BufferLimit { limit }.into(),
        _ => error,
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
