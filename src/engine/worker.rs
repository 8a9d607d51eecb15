//! The loop of one worker's thread.
//!
//! What comes first: its own mailbox; then a call from the queue; when there is none, maintenance; then, for a while, spinning; then
//! sleep.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::Waker;
use std::time::Duration;

use super::crew::Shared;
use super::link::{Ending, Link, Mail};
use super::queue::{Queued, Taker};
use crate::clock::Moment;
use crate::error::{ErrorKind, Result};
use crate::exec::{CallCore, Job, OpsOptions, Ran, Runtime, SliceReport, TaskId, Verdict, release};
use crate::observe::{self, WorkerMeters};
use crate::vm::{CpuClock, IsolateInterrupt};
use crate::watchdog::Slot;

/// How often a worker renews its figures and looks for what has expired.
const MAINTENANCE: Duration = Duration::from_millis(100);

/// A slice that takes less than waking a thread and switching to it.
const SHORT: Duration = Duration::from_micros(20);

/// How many callers are woken together at the most.
const TOGETHER: usize = 16;

/// How long an idle worker sleeps before it looks around by itself.
const NAP: Duration = Duration::from_secs(1);

thread_local! {
    static IS_WORKER: Cell<bool> = const { Cell::new(false) };
}

/// Whether the calling thread is a worker of some engine: it must not wait for one.
pub(super) fn is_worker_thread() -> bool {
    IS_WORKER.get()
}

/// A worker while its thread runs.
struct Worker {
    shared: Arc<Shared>,
    link: Arc<Link>,
    slot: Arc<Slot>,
    runtime: Runtime,
    meters: WorkerMeters,
    maintained: Moment,
    /// When the last slice ended.
    ended: Moment,
    /// How long slices take, exponentially weighted.
    typical: Duration,
    /// How many spins in a row found nothing.
    idle_spins: u32,
    /// Calls that are to be refused. Kept for its memory.
    shed: Vec<Arc<dyn CallCore>>,
}

/// The body of a worker's thread. Reports whether it could start, and returns when the worker has ended.
pub(super) fn main(shared: Arc<Shared>, link: Arc<Link>, started: impl FnOnce(Result<()>)) {
    IS_WORKER.set(true);
    let _ = link.thread.set(std::thread::current());
    let cores = &shared.config.cores;
    if !cores.is_empty() {
        let id = cores[link.index % cores.len()];
        if !core_affinity::set_for_current(core_affinity::CoreId { id }) {
            tracing::warn!(target: "jsmill", worker = link.index, core = id, "the worker could not be pinned");
        }
    }
    match Worker::new(&shared, &link) {
        Ok(mut worker) => {
            started(Ok(()));
            // Code of the host is guarded where it is called. What panics past that is a fault of ours: this worker ends, its caller
            // is told, and another worker takes its place.
            let fault = catch_unwind(AssertUnwindSafe(|| worker.work())).is_err();
            worker.end(fault);
        }
        Err(error) => {
            started(Err(error));
            shared.worker_ended(&link, Ending::Regular);
        }
    }
}

impl Worker {
    fn new(shared: &Arc<Shared>, link: &Arc<Link>) -> Result<Self> {
        let clock = CpuClock::of_this_thread().map_err(|error| {
            crate::Error::config(format!("the CPU clock of a worker's thread cannot be read: {error}"))
        })?;
        let interrupt = Arc::new(IsolateInterrupt::new(clock));
        let on_lost = {
            let (shared, link) = (Arc::downgrade(shared), link.clone());
            Box::new(move |stop| {
                if let Some(shared) = shared.upgrade() {
                    shared.worker_lost(&link, stop);
                }
            })
        };
        let on_long = {
            let (shared, link) = (Arc::downgrade(shared), link.clone());
            Box::new(move |now| {
                link.wake_answered();
                if let Some(shared) = shared.upgrade() {
                    shared.sample_load();
                }
                link.current.lock().as_ref().is_some_and(|call| call.is_overdue(now))
            })
        };
        let slot = Slot::new(interrupt.clone(), shared.config.grace, on_lost, on_long, shared.watchdog.clone());
        let _ = link.slot.set(slot.clone());
        let ops = OpsOptions {
            runtime: shared.host_runtime.clone(),
            mailbox: link.clone(),
            count: shared.pending.clone(),
            #[cfg(feature = "io")]
            io: crate::exec::IoOptions { handles: link.handles.clone(), pool: shared.blocking.clone() },
        };
        let runtime = Runtime::new(shared.config.runtime.clone(), shared.code.clone(), interrupt, slot.clone(), ops);
        let runtime = runtime.inspect_err(|_| slot.retire())?;
        shared.meters.isolates.increment(1);
        // What a worker that had this place before was warm for is gone.
        shared.queue.warmth().wipe(link.index);
        Ok(Worker {
            shared: shared.clone(),
            link: link.clone(),
            slot,
            runtime,
            meters: WorkerMeters::new(link.index),
            maintained: Moment::now(),
            ended: Moment::now(),
            typical: SHORT,
            idle_spins: 0,
            shed: Vec::new(),
        })
    }

    /// Work that was begun comes before new work.
    fn work(&mut self) {
        let mut last_end = None;
        while !self.link.stop.load(Ordering::Acquire) && !self.slot.is_lost() {
            // A slice that follows another one starts where that ended: this saves a look at the clock.
            let now = last_end.unwrap_or_else(Moment::now);
            if let Some(mail) = self.link.mail() {
                match mail {
                    Mail::Run(call) => self.start(call, now),
                    Mail::Note(note) => {
                        let (task, job) = Job::of(note);
                        self.resume(task, job, now);
                    }
                    Mail::Expire => self.runtime.expire(),
                }
                last_end = Some(self.ended.max(now));
            } else if let Some((task, job)) = self.due(now) {
                self.resume(task, job, now);
                last_end = Some(self.ended.max(now));
            } else if let Some(call) = self.take(now) {
                self.start(call, now);
                last_end = Some(self.ended.max(now));
            } else if self.shared.queue.is_closed() && self.runtime.live() == 0 && !self.shared.queue.has_work(true) {
                return;
            } else {
                last_end = None;
                self.let_go();
                self.wait();
            }
        }
    }

    fn due(&mut self, now: Moment) -> Option<(TaskId, Job)> {
        if self.runtime.next_due() > now { None } else { self.runtime.next_job(now) }
    }

    /// Whether it may take a call that pauses.
    fn has_room(&self) -> bool {
        self.runtime.has_room(self.shared.config.live_tasks)
    }

    /// The next call, if there is one for it. Those that waited for too long are told.
    fn take(&mut self, now: Moment) -> Option<Arc<dyn CallCore>> {
        let taker = Taker { now, worker: self.link.index, may_suspend: self.has_room() };
        let call = self.shared.queue.pop(&taker, &mut self.shed);
        for call in self.shed.drain(..) {
            self.shared.meters.refused.increment(1);
            call.refuse(ErrorKind::Shed.into());
            release(call);
        }
        call
    }

    /// Nothing runs: nobody is to be woken later, and the last call is held no longer.
    fn let_go(&self) {
        self.link.wake_answered();
        let last = self.link.current.lock().take();
        if let Some(call) = last {
            release(call);
        }
    }

    fn start(&mut self, call: Arc<dyn CallCore>, start: Moment) {
        self.run(call, |runtime, call| runtime.start(call, start));
    }

    fn resume(&mut self, task: TaskId, job: Job, start: Moment) {
        // News for a run that is gone.
        let Some(call) = self.runtime.call(task).cloned() else { return };
        self.run(call, |runtime, _| runtime.resume(task, job, start));
    }

    fn run(&mut self, call: Arc<dyn CallCore>, slice: impl FnOnce(&mut Runtime, &Arc<dyn CallCore>) -> Ran) {
        // Stays there until the next one comes, or until the worker waits.
        let last = self.link.current.lock().replace(call.clone());
        if let Some(last) = last {
            release(last);
        }
        let span = slice_span(&call, self.link.index);
        let (report, verdict, waker) = span.in_scope(|| slice(&mut self.runtime, &call));
        self.ended = report.end;
        self.wake_caller(waker, report.wall);
        self.runtime.note(&report, &call.meta().caching);
        if report.ran
            && !report.failed
            && let Some(home) = call.home()
        {
            self.shared.queue.warmth().mark(home, self.link.index);
        }
        self.link.counters.add(&report);
        self.meter(&call, &report);
        if !span.is_disabled() {
            span.record("queue_us", report.queued.as_micros() as u64);
            span.record("cpu_us", report.cpu.as_micros() as u64);
            span.record("cached", !report.built);
            span.record("outcome", report.stop.map_or("done", observe::reason));
        }
        if self.slot.is_lost() {
            return;
        }
        if let Verdict::Replace(why) = verdict {
            self.renew(why);
            // The next slice does not pay for that.
            self.ended = Moment::now();
        }
        if report.end.since(self.maintained) >= MAINTENANCE {
            self.runtime.expire();
            self.publish();
            self.ended = Moment::now();
        }
    }

    /// Waking a thread that sleeps costs more than a short call. While short calls follow each other without a pause, their callers
    /// are woken together, a few at a time; the watchdog does it should the next slice take long after all.
    fn wake_caller(&mut self, waker: Option<Waker>, wall: Duration) {
        self.typical = (self.typical * 7 + wall) / 8;
        let Some(waker) = waker else { return };
        let more = self.shared.queue.has_work(self.has_room()) || self.link.has_mail.load(Ordering::Relaxed);
        let several = wall <= SHORT && self.typical <= SHORT && more;
        let full = {
            let mut answered = self.link.answered.lock();
            answered.push(waker);
            answered.len() >= TOGETHER
        };
        if full || !several {
            self.link.wake_answered();
        }
    }

    fn renew(&mut self, why: &str) {
        tracing::info!(target: "jsmill", worker = self.link.index, why, "the isolate is replaced");
        self.shared.meters.isolates.increment(1);
        if let Err(error) = self.runtime.renew(why) {
            tracing::error!(target: "jsmill", worker = self.link.index, %error, "no new isolate");
        }
        self.shared.queue.warmth().wipe(self.link.index);
        self.publish();
    }

    fn meter(&self, call: &Arc<dyn CallCore>, report: &SliceReport) {
        let meters = &self.shared.meters;
        if !report.ran {
            if !report.paused {
                meters.refused.increment(1);
            }
            return;
        }
        match report.stop {
            Some(stop) => {
                meters.stopped.increment(1);
                meters.termination(stop).increment(1);
            }
            None if report.panicked => meters.panics.increment(1),
            None if report.paused => {}
            None if report.failed => meters.error.increment(1),
            None => meters.ok.increment(1),
        }
        if report.first {
            meters.queue_seconds[call.meta().priority as usize].record(report.queued);
        }
        meters.slice_seconds.record(report.wall);
        meters.cpu_seconds.record(report.cpu);
    }

    /// There is nothing to do.
    fn wait(&mut self) {
        if self.spin() || self.runtime.fill_reserve() {
            return;
        }
        let now = Moment::now();
        if now.since(self.maintained) >= MAINTENANCE {
            if let Verdict::Replace(why) = self.runtime.maintain() {
                self.renew(why);
            }
            self.publish();
            return;
        }
        if !self.shared.queue.announce_sleep(self.link.index, self.has_room()) {
            // It may be kept for another worker, who is waking up and wants a core.
            std::thread::yield_now();
            return;
        }
        // Whatever came before the announcement is seen here, whatever comes after it wakes the thread.
        let busy = self.link.has_mail.load(Ordering::Acquire)
            || self.link.stop.load(Ordering::Acquire)
            || (self.shared.queue.is_closed() && self.runtime.live() == 0);
        if !busy {
            let nap = if self.slept_long() { NAP } else { MAINTENANCE };
            std::thread::park_timeout(nap.min(self.runtime.next_due().since(Moment::now())));
        }
        self.shared.queue.announce_awake();
    }

    /// After a while without work the worker looks around more rarely.
    fn slept_long(&self) -> bool {
        self.idle_spins > 1_000
    }

    /// Looks for work for a few microseconds. A worker that found nothing for a while does so once in 64 times only.
    fn spin(&mut self) -> bool {
        let time = self.shared.config.spin;
        self.idle_spins = self.idle_spins.saturating_add(1);
        if time.is_zero() || (self.idle_spins > 16 && !self.idle_spins.is_multiple_of(64)) {
            return false;
        }
        let end = Moment::now().after(time);
        loop {
            for _ in 0..32 {
                if self.shared.queue.has_work(self.has_room()) || self.link.has_mail.load(Ordering::Relaxed) {
                    self.idle_spins = 0;
                    return true;
                }
                std::hint::spin_loop();
            }
            if Moment::now() >= end {
                return false;
            }
        }
    }

    /// Renews what is seen of this worker.
    fn publish(&mut self) {
        self.maintained = Moment::now();
        let figures = self.runtime.figures();
        let before = std::mem::replace(&mut *self.link.figures.lock(), figures);
        if figures.cache.evicted > before.cache.evicted {
            // Which contexts are gone is not known here. Those that are left are seen again when they are used.
            self.shared.queue.warmth().wipe(self.link.index);
        }
        let meters = &self.shared.meters;
        meters.context_hits.increment(figures.cache.hits - before.cache.hits);
        meters.context_misses.increment(figures.cache.misses - before.cache.misses);
        meters.contexts_built.increment(figures.built - before.built);
        meters.collections.increment(figures.collections - before.collections);
        self.meters.contexts.set(figures.contexts as f64);
        self.meters.detached.set(figures.unheld as f64);
        self.meters.values.set(figures.values as f64);
        self.meters.heap.set(figures.heap.used.get() as f64);
        self.meters.buffers.set(figures.buffers.get() as f64);
        self.meters.live.set(figures.live as f64);
        self.meters.pending.set(figures.pending as f64);
        self.shared.publish();
    }

    fn end(mut self, fault: bool) {
        let ending = match (self.slot.is_lost(), fault) {
            (true, _) => Ending::Lost,
            (false, true) => Ending::Fault,
            (false, false) => Ending::Regular,
        };
        self.runtime.close(&ErrorKind::ShuttingDown);
        self.slot.retire();
        let (shared, link) = (self.shared.clone(), self.link.clone());
        drop(self);
        shared.worker_ended(&link, ending);
    }
}

fn slice_span(call: &Arc<dyn CallCore>, worker: usize) -> tracing::Span {
    use tracing::field::Empty;
    let Some(parent) = &call.meta().span else { return tracing::Span::none() };
    tracing::debug_span!(
        target: "jsmill", parent: &**parent, "slice",
        worker, queue_us = Empty, cpu_us = Empty, cached = Empty, outcome = Empty
    )
}
