//! The workers of an engine: started, lost, replaced, ended.

use std::hash::BuildHasher;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::time::Duration;

use parking_lot::{Condvar, Mutex};
use rustc_hash::FxBuildHasher;

use super::admission::{Background, Gate};
use super::config::Config;
use super::link::{Ending, Link, Mail};
use super::load::{Load, Reading};
use super::pressure::{Pressure, SOON, USUAL};
use super::queue::{Queue, Queued};
use super::stats::Stats;
use super::worker;
use crate::channel::HostRuntime;
use crate::clock::Moment;
use crate::error::{Error, ErrorKind, Result};
use crate::exec::{Caching, CallCore, Mode, PendingCount, Priority, deadline, release, stopped};
use crate::observe::Meters;
use crate::script::Isolation;
use crate::vm::{self, CodeCache, Platform};
use crate::watchdog::{Stop, Watchdog, Watched};

pub(super) type CallQueue = Queue<Arc<dyn CallCore>>;

impl Queued for Arc<dyn CallCore> {
    fn submitted(&self) -> Moment {
        self.meta().submitted
    }

    fn home(&self) -> Option<u64> {
        let meta = self.meta();
        if meta.script.isolation() == Isolation::Fresh {
            return None;
        }
        match &meta.caching {
            Caching::Memory => Some(FxBuildHasher.hash_one((Arc::as_ptr(&meta.script), self.kind()))),
            Caching::Stable(key) => Some(FxBuildHasher.hash_one((key, self.kind()))),
            Caching::None => None,
        }
    }

    fn deadline(&self) -> Moment {
        self.meta().deadline
    }

    fn is_over(&self) -> bool {
        CallCore::is_over(&**self)
    }

    fn suspends(&self) -> bool {
        self.mode() != Mode::OneOff
    }

    fn release(self) {
        release(self);
    }
}

/// What the handles, the workers and the watchdog of an engine share.
pub(super) struct Shared {
    pub(super) config: Config,
    pub(super) queue: Arc<CallQueue>,
    pub(super) outside: Arc<Outside>,
    pub(super) watchdog: Arc<Watchdog>,
    pub(super) code: Arc<CodeCache>,
    pub(super) host_runtime: Arc<HostRuntime>,
    /// Host calls, timers and the like that are pending.
    pub(super) pending: Arc<PendingCount>,
    /// The threads for calls of the system that may block.
    #[cfg(feature = "io")]
    pub(super) blocking: Arc<crate::channel::BlockingPool>,
    pub(super) meters: Meters,
    pressure: Pressure,
    platform: &'static Platform,
    crew: Mutex<Crew>,
    /// Workers that run, without the lost ones.
    alive: AtomicUsize,
    someone_ended: Condvar,
    published_code: Mutex<[u64; 3]>,
}

struct Crew {
    links: Vec<Option<Arc<Link>>>,
    lost: usize,
    lost_total: u64,
}

/// Answers queued calls at their deadline.
struct QueueWatch {
    queue: Arc<CallQueue>,
    outside: Arc<Outside>,
}

/// Calls that wait for room in the queue and have a deadline.
#[derive(Default)]
pub(super) struct Outside {
    calls: Mutex<Vec<Arc<dyn CallCore>>>,
    earliest: AtomicU64,
}

impl Outside {
    fn new() -> Self {
        Outside { calls: Mutex::default(), earliest: AtomicU64::new(Moment::NEVER.to_nanos()) }
    }

    pub(super) fn add(&self, call: Arc<dyn CallCore>) {
        let deadline = call.meta().deadline;
        self.calls.lock().push(call);
        self.earliest.fetch_min(deadline.to_nanos(), Ordering::SeqCst);
    }

    pub(super) fn remove(&self, call: &Arc<dyn CallCore>) {
        self.calls.lock().retain(|other| !Arc::ptr_eq(other, call));
    }

    fn due(&self, now: Moment) -> Vec<Arc<dyn CallCore>> {
        // First, so that a deadline which is added meanwhile is not lost.
        self.earliest.store(Moment::NEVER.to_nanos(), Ordering::SeqCst);
        let mut calls = self.calls.lock();
        let (due, left) = calls.drain(..).partition(|call| call.meta().deadline <= now);
        *calls = left;
        let next = calls.iter().map(|call| call.meta().deadline).min().unwrap_or(Moment::NEVER);
        self.earliest.fetch_min(next.to_nanos(), Ordering::SeqCst);
        due
    }
}

impl Watched for QueueWatch {
    fn due(&self) -> Moment {
        self.queue.earliest_deadline().min(Moment::from_nanos(self.outside.earliest.load(Ordering::SeqCst)))
    }

    fn look(&self, now: Moment) {
        for call in self.queue.take_due(now).into_iter().chain(self.outside.due(now)) {
            call.refuse(deadline(call.meta().limits.deadline, true));
            release(call);
        }
    }
}

impl Shared {
    /// Starts V8, the watchdog and the workers.
    pub(super) fn start(config: Config) -> Result<Arc<Self>> {
        let platform = vm::start(&config.flags)?;
        let watchdog = Watchdog::start()?;
        let queue = Arc::new(CallQueue::new(config.queue_depth, config.admission));
        let outside = Arc::new(Outside::new());
        watchdog.watch(Arc::new(QueueWatch { queue: queue.clone(), outside: outside.clone() }));
        let workers = config.workers;
        let (high, low) = config.shed;
        let shared = Arc::new(Shared {
            queue,
            outside,
            watchdog,
            code: Arc::new(CodeCache::new(config.code_cache)),
            host_runtime: Arc::new(HostRuntime::new(config.host_runtime.clone())),
            pending: Arc::new(PendingCount::new(config.pending)),
            #[cfg(feature = "io")]
            blocking: Arc::new(crate::channel::BlockingPool::new(config.io_threads)),
            meters: Meters::new(Priority::ALL.map(Priority::name)),
            pressure: Pressure::new(Moment::now(), workers, Gate::new(high, low)),
            platform,
            crew: Mutex::new(Crew { links: vec![None; workers], lost: 0, lost_total: 0 }),
            alive: AtomicUsize::new(0),
            someone_ended: Condvar::new(),
            published_code: Mutex::default(),
            config,
        });
        let (report, reports) = mpsc::channel();
        let mut failed = None;
        for index in 0..workers {
            let report = report.clone();
            // Nobody listens only when an earlier worker has failed already.
            let started = move |result| drop(report.send(result));
            if let Err(error) = shared.spawn(index, started) {
                failed = Some(error);
                break;
            }
        }
        drop(report);
        for result in reports {
            failed = failed.or(result.err());
        }
        match failed {
            Some(error) => {
                shared.stop();
                Err(error)
            }
            None => Ok(shared),
        }
    }

    fn spawn(self: &Arc<Self>, index: usize, started: impl FnOnce(Result<()>) + Send + 'static) -> Result<()> {
        let link = Link::new(index);
        self.crew.lock().links[index] = Some(link.clone());
        self.alive.fetch_add(1, Ordering::AcqRel);
        let (shared, its_link) = (self.clone(), link.clone());
        let spawned = self.platform.spawn(format!("jsmill-{index}"), self.config.stack_size, move || {
            worker::main(shared, its_link, started);
        });
        if spawned.is_err() {
            self.worker_ended(&link, Ending::Regular);
        }
        spawned.map(drop)
    }

    /// A worker did not stop in time: its caller is answered, and another worker takes its place. Runs on the watchdog's thread.
    pub(super) fn worker_lost(self: &Arc<Self>, link: &Arc<Link>, stop: Stop) {
        tracing::error!(target: "jsmill", worker = link.index, reason = crate::observe::reason(stop), "a worker is lost: V8 does not stop");
        self.meters.lost_total.increment(1);
        let replace = {
            let mut crew = self.crew.lock();
            crew.lost += 1;
            crew.lost_total += 1;
            self.meters.lost.set(crew.lost as f64);
            crew.forget(link);
            crew.lost <= self.config.max_lost
        };
        // Before the caller is answered: its next call finds a worker.
        if replace {
            self.replace(link.index);
        }
        self.alive.fetch_sub(1, Ordering::AcqRel);
        let isolate = &self.config.runtime.isolate;
        let mut abandoned = link.abandoned().into_iter();
        if let Some(call) = abandoned.next() {
            call.refuse(stopped(stop, &call.meta().limits, isolate));
        }
        for call in abandoned {
            call.refuse(ErrorKind::WorkerLost { reason: "V8 did not stop in time".into() }.into());
        }
        self.refuse_if_starved();
        self.someone_ended.notify_all();
    }

    fn replace(self: &Arc<Self>, index: usize) {
        if self.queue.is_closed() {
            return;
        }
        let started = move |result: Result<()>| {
            if let Err(error) = result {
                tracing::error!(target: "jsmill", worker = index, %error, "the replacement of a worker could not start");
            }
        };
        if let Err(error) = self.spawn(index, started) {
            tracing::error!(target: "jsmill", worker = index, %error, "a worker could not be replaced");
        }
    }

    /// Whether there is nobody left to run calls, and why.
    pub(super) fn starved(&self) -> Option<Error> {
        if self.alive.load(Ordering::Acquire) > 0 || self.queue.is_closed() {
            return None;
        }
        let reason = format!(
            "all workers are, and {} of their threads still hold a core; wait until V8 lets go, or raise `max_lost`",
            self.crew.lock().lost
        );
        Some(ErrorKind::WorkerLost { reason }.into())
    }

    pub(super) fn refuse_if_starved(&self) {
        if let Some(error) = self.starved() {
            for call in self.queue.drain() {
                call.refuse(error.clone());
                release(call);
            }
        }
    }

    /// The thread of a worker is about to end.
    pub(super) fn worker_ended(self: &Arc<Self>, link: &Arc<Link>, ending: Ending) {
        let vacant = {
            let mut crew = self.crew.lock();
            if ending == Ending::Lost {
                crew.lost -= 1;
                self.meters.lost.set(crew.lost as f64);
            } else {
                crew.forget(link);
                self.alive.fetch_sub(1, Ordering::AcqRel);
            }
            crew.links[link.index].is_none()
        };
        let why = match ending {
            Ending::Fault => {
                tracing::error!(target: "jsmill", worker = link.index, "a worker ended by a panic of jsmill, and is replaced");
                ErrorKind::Bug("the worker panicked; see the log".into())
            }
            Ending::Regular | Ending::Lost => ErrorKind::ShuttingDown,
        };
        for call in link.abandoned() {
            call.refuse(why.clone().into());
        }
        self.queue.pass_on();
        if ending != Ending::Regular && vacant {
            self.replace(link.index);
        }
        self.someone_ended.notify_all();
    }

    /// The workers, without the lost ones.
    pub(super) fn links(&self) -> Vec<Arc<Link>> {
        self.crew.lock().links.iter().flatten().cloned().collect()
    }

    /// Contexts of snapshots that are gone may be dropped.
    pub(super) fn expire(&self) {
        for link in self.links() {
            link.post(Mail::Expire);
        }
    }

    /// Renews what is seen of the engine as a whole.
    pub(super) fn publish(&self) {
        for (gauge, length) in self.meters.queue_length.iter().zip(self.queue.lengths()) {
            gauge.set(length as f64);
        }
        let counters = &self.code.counters;
        let now =
            [&counters.compiled, &counters.reused, &counters.rejected].map(|counter| counter.load(Ordering::Relaxed));
        let mut before = self.published_code.lock();
        let meters = [&self.meters.compiled, &self.meters.reused, &self.meters.rejected];
        for ((meter, now), before) in meters.into_iter().zip(now).zip(*before) {
            meter.increment(now.saturating_sub(before));
        }
        *before = now;
        drop(before);
        self.sample_load();
    }

    /// Takes a sample of the load if the last one is that old.
    fn sample(&self, age: Duration) {
        let now = Moment::now();
        if !self.pressure.is_due(now, age) {
            return;
        }
        let readings: Vec<Option<Reading>> =
            self.crew.lock().links.iter().map(|link| link.as_ref().map(|link| link.reading())).collect();
        self.pressure.feed(now, &readings, self.queue.was_urgent(), |load, closed| {
            for (gauge, load) in self.meters.load.iter().zip([load.one_second, load.ten_seconds]) {
                gauge.set(load);
            }
            self.queue.park(closed && self.config.background == Background::Park);
        });
    }

    /// The same at the usual pace.
    pub(super) fn sample_load(&self) {
        self.sample(USUAL);
    }

    pub(super) fn load(&self) -> Load {
        self.sample(SOON);
        self.pressure.load()
    }

    /// Whether calls of that priority are refused now, so that more urgent ones keep their latency.
    pub(super) fn sheds(&self, priority: Priority) -> bool {
        if priority != Priority::Background
            || self.config.background != Background::Refuse
            || !self.pressure.is_closed()
        {
            return false;
        }
        // The load may have fallen since, while everybody slept.
        self.sample_load();
        self.pressure.is_closed()
    }

    pub(super) fn stats(&self) -> Stats {
        let (links, lost, lost_total) = {
            let crew = self.crew.lock();
            (crew.links.iter().flatten().cloned().collect::<Vec<_>>(), crew.lost, crew.lost_total)
        };
        let counters = &self.code.counters;
        Stats {
            workers: links.iter().map(|link| link.counters.stats(&link.figures.lock())).collect(),
            queued: self.queue.lengths(),
            lost_total,
            lost,
            compiled: counters.compiled.load(Ordering::Relaxed),
            code_reused: counters.reused.load(Ordering::Relaxed),
            code_rejected: counters.rejected.load(Ordering::Relaxed),
            code_cache: self.code.size(),
        }
    }

    /// Takes no more calls; the workers end when the queue is empty. Waits for that until the shutdown timeout, then stops them.
    pub(super) fn drain(&self) -> Result<()> {
        self.queue.close();
        self.links().iter().for_each(|link| link.wake());
        if !self.await_end(self.config.shutdown_timeout) {
            self.stop();
            if !self.await_end(self.config.grace.saturating_mul(2)) {
                self.abandon();
                return Err(ErrorKind::WorkerLost { reason: "V8 did not stop in time for the shutdown".into() }.into());
            }
        }
        self.watchdog.stop();
        Ok(())
    }

    /// Stops everything at once: queued calls are refused, running ones stopped.
    pub(super) fn stop(&self) {
        self.queue.close();
        for call in self.queue.drain() {
            call.refuse(ErrorKind::ShuttingDown.into());
            release(call);
        }
        self.links().iter().for_each(|link| link.stop());
    }

    /// Answers what the workers that did not end would have answered.
    pub(super) fn abandon(&self) {
        for link in self.links() {
            for call in link.abandoned() {
                call.refuse(ErrorKind::ShuttingDown.into());
                release(call);
            }
        }
    }

    /// Waits until all workers have ended that are not lost.
    pub(super) fn await_end(&self, timeout: Duration) -> bool {
        // None: there is no such moment, so wait without an end.
        let end = std::time::Instant::now().checked_add(timeout);
        let mut crew = self.crew.lock();
        while self.alive.load(Ordering::Acquire) > 0 {
            let Some(end) = end else {
                self.someone_ended.wait(&mut crew);
                continue;
            };
            if self.someone_ended.wait_until(&mut crew, end).timed_out() {
                return self.alive.load(Ordering::Acquire) == 0;
            }
        }
        true
    }
}

impl Crew {
    fn forget(&mut self, link: &Arc<Link>) {
        let place = &mut self.links[link.index];
        if place.as_ref().is_some_and(|other| Arc::ptr_eq(other, link)) {
            *place = None;
        }
    }
}
