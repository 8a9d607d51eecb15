//! One worker's place in the watchdog.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use super::{Epoch, Interrupt, SliceState, Stop, Watchdog, Watched};
use crate::clock::Moment;

/// How often the isolate of a long slice looks at its memory: often enough that a script cannot touch much more meanwhile.
pub(super) const INSPECTION: Duration = Duration::from_millis(20);

/// The limits of one slice, as moments.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    /// The slice begins now.
    pub(crate) start: Moment,
    /// The slice is over by then.
    pub(crate) timeout: Moment,
    /// The whole call is over by then.
    pub(crate) deadline: Moment,
    /// The CPU time of the worker's thread at which the budget is used up.
    pub(crate) cpu: Option<CpuLimit>,
}

/// A CPU budget: when it can be used up at the earliest, and the reading of the thread's clock that says so.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CpuLimit {
    pub(crate) earliest: Moment,
    pub(crate) reading: Duration,
}

/// What happens when a worker does not stop within the grace time. Called on the watchdog's thread, once for each slot.
pub(crate) type Lost = Box<dyn Fn(Stop) + Send + Sync>;

/// What happens when a slice takes long, and whether it is to be stopped because its caller has left. Called on the watchdog's thread,
/// every `INSPECTION` of such a slice.
pub(crate) type Long = Box<dyn Fn(Moment) -> bool + Send + Sync>;

/// The state of a worker's slice and the moments at which its limits are due.
pub(crate) struct Slot {
    state: SliceState,
    /// When the last slice began.
    start: AtomicU64,
    /// The next moment at which the watchdog has to look.
    due: AtomicU64,
    timeout: AtomicU64,
    deadline: AtomicU64,
    /// When the isolate is to look at its memory.
    inspection: AtomicU64,
    cpu_earliest: AtomicU64,
    cpu_reading: AtomicU64,
    interrupt: Arc<dyn Interrupt>,
    grace: Duration,
    lost: AtomicBool,
    /// The epoch that the watchdog has seen last.
    seen: AtomicU64,
    on_lost: Lost,
    on_long: Long,
    watchdog: Arc<Watchdog>,
}

impl Slot {
    pub(crate) fn new(
        interrupt: Arc<dyn Interrupt>,
        grace: Duration,
        on_lost: Lost,
        on_long: Long,
        watchdog: Arc<Watchdog>,
    ) -> Arc<Self> {
        let never = || AtomicU64::new(Moment::NEVER.to_nanos());
        let slot = Arc::new(Slot {
            state: SliceState::new(),
            start: never(),
            due: never(),
            timeout: never(),
            deadline: never(),
            inspection: never(),
            cpu_earliest: never(),
            cpu_reading: never(),
            interrupt,
            grace,
            lost: AtomicBool::new(false),
            seen: AtomicU64::new(0),
            on_lost,
            on_long,
            watchdog,
        });
        slot.watchdog.watch(slot.clone());
        slot
    }

    /// A slice begins under these limits. The moments are stored before the state says `Running`.
    pub(crate) fn enter(&self, limits: Limits) -> Epoch {
        let (cpu_earliest, cpu_reading) = match limits.cpu {
            Some(cpu) => (cpu.earliest, u64::try_from(cpu.reading.as_nanos()).unwrap_or(u64::MAX)),
            None => (Moment::NEVER, u64::MAX),
        };
        self.start.store(limits.start.to_nanos(), Ordering::Relaxed);
        self.timeout.store(limits.timeout.to_nanos(), Ordering::Relaxed);
        self.deadline.store(limits.deadline.to_nanos(), Ordering::Relaxed);
        self.cpu_earliest.store(cpu_earliest.to_nanos(), Ordering::Relaxed);
        self.cpu_reading.store(cpu_reading, Ordering::Relaxed);
        let inspection = limits.start.after(INSPECTION);
        self.inspection.store(inspection.to_nanos(), Ordering::Relaxed);
        let due = limits.timeout.min(limits.deadline).min(cpu_earliest).min(inspection);
        self.due.store(due.to_nanos(), Ordering::SeqCst);
        let epoch = self.state.enter();
        self.watchdog.wake_for(due);
        epoch
    }

    /// The slice is over. Returns why it was stopped, where it was.
    pub(crate) fn leave(&self, epoch: Epoch) -> Option<Stop> {
        self.due.store(Moment::NEVER.to_nanos(), Ordering::Release);
        self.state.leave(epoch, || self.interrupt.take_back())
    }

    /// Stops that slice. False where it is over or was stopped before.
    pub(crate) fn stop(&self, epoch: Epoch, reason: Stop) -> bool {
        let due = Moment::now().after(self.grace);
        let stopped = self.state.stop(epoch, reason, || {
            self.interrupt.terminate();
            // Here, because the worker cannot leave yet: afterwards the store could fall into its next slice.
            self.due.store(due.to_nanos(), Ordering::SeqCst);
        });
        if stopped {
            self.watchdog.wake_for(due);
        }
        stopped
    }

    /// Stops the slice that runs now, whichever it is.
    pub(crate) fn stop_current(&self, reason: Stop) -> bool {
        self.state.running().is_some_and(|epoch| self.stop(epoch, reason))
    }

    /// Why that slice was stopped, where it was.
    pub(crate) fn reason(&self, epoch: Epoch) -> Option<Stop> {
        self.state.reason(epoch)
    }

    /// Whether the worker was given up.
    pub(crate) fn is_lost(&self) -> bool {
        self.lost.load(Ordering::Acquire)
    }

    /// When the slice began that runs now, or that was stopped and is not over.
    pub(crate) fn running_since(&self) -> Option<Moment> {
        let inside = self.state.running().is_some() || self.state.stopped().is_some();
        inside.then(|| Moment::from_nanos(self.start.load(Ordering::Relaxed)))
    }

    /// The watchdog forgets this slot.
    pub(crate) fn retire(self: &Arc<Self>) {
        self.watchdog.forget(&(self.clone() as Arc<dyn Watched>));
    }

    pub(crate) fn cpu_time(&self) -> Duration {
        self.interrupt.cpu_time()
    }

    fn limit_due(&self, now: Moment) -> Option<Stop> {
        let at = |moment: &AtomicU64| Moment::from_nanos(moment.load(Ordering::Acquire));
        if now >= at(&self.deadline) {
            return Some(Stop::Deadline);
        }
        if now >= at(&self.timeout) {
            return Some(Stop::SliceTimeout);
        }
        if now >= at(&self.inspection) {
            self.interrupt.inspect();
            self.inspection.store(now.after(INSPECTION).to_nanos(), Ordering::Release);
            if (self.on_long)(now) {
                return Some(Stop::Cancelled);
            }
        }
        if now < at(&self.cpu_earliest) {
            return None;
        }
        let limit = Duration::from_nanos(self.cpu_reading.load(Ordering::Acquire));
        let used = self.interrupt.cpu_time();
        if used >= limit {
            return Some(Stop::CpuBudget);
        }
        self.cpu_earliest.store(now.after(limit - used).to_nanos(), Ordering::Release);
        None
    }
}

impl Watched for Slot {
    fn was_busy(&self) -> bool {
        let epoch = self.state.epoch();
        self.seen.swap(epoch, Ordering::Relaxed) != epoch
    }

    fn due(&self) -> Moment {
        Moment::from_nanos(self.due.load(Ordering::SeqCst))
    }

    fn look(&self, now: Moment) {
        if let Some(epoch) = self.state.running() {
            match self.limit_due(now) {
                Some(reason) => {
                    self.stop(epoch, reason);
                }
                None => {
                    // The worker may have gone on to its next slice, whose own `due` must not be overwritten with a later one.
                    let at = |moment: &AtomicU64| moment.load(Ordering::Acquire);
                    let inspection = at(&self.inspection);
                    let next = at(&self.timeout).min(at(&self.deadline)).min(at(&self.cpu_earliest)).min(inspection);
                    let seen = self.due.load(Ordering::SeqCst);
                    if self.state.running() == Some(epoch) {
                        let _ = self.due.compare_exchange(seen, next, Ordering::SeqCst, Ordering::SeqCst);
                    }
                }
            }
            return;
        }
        match self.state.stopped() {
            Some((_, reason)) => {
                self.due.store(Moment::NEVER.to_nanos(), Ordering::SeqCst);
                if !self.lost.swap(true, Ordering::AcqRel) {
                    (self.on_lost)(reason);
                }
            }
            None => {
                let seen = self.due.load(Ordering::SeqCst);
                if Moment::from_nanos(seen) <= now && self.state.running().is_none() {
                    let never = Moment::NEVER.to_nanos();
                    let _ = self.due.compare_exchange(seen, never, Ordering::SeqCst, Ordering::SeqCst);
                }
            }
        }
    }
}
