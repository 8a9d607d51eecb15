//! The watchdog's thread.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{JoinHandle, Thread};
use std::time::Duration;

use parking_lot::Mutex;

use super::Alarm;
use crate::clock::Moment;
use crate::error::{Error, Result};

/// How often the watchdog looks around while there are slices. No limit of a slice is due earlier than that after its start, unless it
/// is shorter.
const TICK: Duration = super::slot::INSPECTION;

/// Something with a moment at which it wants to be looked at.
pub(crate) trait Watched: Send + Sync {
    /// When; `Moment::NEVER` for not at all. Stored with sequential consistency.
    fn due(&self) -> Moment;
    /// Whether something began there since this was last asked, so that more is likely to come.
    fn was_busy(&self) -> bool {
        false
    }
    /// That moment has come. Short, and never blocks.
    fn look(&self, now: Moment);
}

/// One thread that looks at everything when it is due.
pub(crate) struct Watchdog {
    watched: Mutex<Vec<Arc<dyn Watched>>>,
    alarm: Alarm,
    stop: AtomicBool,
    thread: Mutex<Option<JoinHandle<()>>>,
    unpark: std::sync::OnceLock<Thread>,
}

impl Watchdog {
    pub(crate) fn start() -> Result<Arc<Self>> {
        let watchdog = Arc::new(Watchdog {
            watched: Mutex::new(Vec::new()),
            alarm: Alarm::new(),
            stop: AtomicBool::new(false),
            thread: Mutex::new(None),
            unpark: std::sync::OnceLock::new(),
        });
        let handle = std::thread::Builder::new()
            .name("jsmill-watchdog".into())
            .spawn({
                let watchdog = watchdog.clone();
                move || watchdog.run()
            })
            .map_err(|error| Error::config(format!("the watchdog's thread could not be started: {error}")))?;
        let _ = watchdog.unpark.set(handle.thread().clone());
        *watchdog.thread.lock() = Some(handle);
        Ok(watchdog)
    }

    pub(crate) fn watch(&self, watched: Arc<dyn Watched>) {
        self.watched.lock().push(watched);
        self.unpark();
    }

    pub(crate) fn forget(&self, watched: &Arc<dyn Watched>) {
        self.watched.lock().retain(|other| !Arc::ptr_eq(other, watched));
    }

    /// Something that is watched is due at that moment, which was stored before.
    pub(crate) fn wake_for(&self, due: Moment) {
        if self.alarm.is_earlier(due) {
            self.unpark();
        }
    }

    /// Ends the thread. What is still armed never fires.
    pub(crate) fn stop(&self) {
        self.stop.store(true, Ordering::Release);
        self.unpark();
        let handle = self.thread.lock().take();
        if let Some(handle) = handle
            && handle.thread().id() != std::thread::current().id()
        {
            let _ = handle.join();
        }
    }

    fn unpark(&self) {
        if let Some(thread) = self.unpark.get() {
            thread.unpark();
        }
    }

    fn earliest(&self) -> Moment {
        self.watched.lock().iter().map(|watched| watched.due()).min().unwrap_or(Moment::NEVER)
    }

    fn run(&self) {
        let mut due = Vec::new();
        while !self.stop.load(Ordering::Acquire) {
            let now = Moment::now();
            due.extend(self.watched.lock().iter().filter(|watched| watched.due() <= now).cloned());
            for watched in due.drain(..) {
                // Whoever is looked after here is not to be left alone because of a fault of somebody else's code.
                if catch_unwind(AssertUnwindSafe(|| watched.look(now))).is_err() {
                    tracing::error!(target: "jsmill", "a panic on the watchdog's thread");
                }
            }
            // Who was busy will soon arm something again, due in a tick or later: to be awake by then spares it the waking.
            let mut busy = false;
            for watched in self.watched.lock().iter() {
                busy |= watched.was_busy();
            }
            let until = if busy { self.earliest().min(now.after(TICK)) } else { self.earliest() };
            if !self.alarm.set(until, || self.earliest()) {
                continue;
            }
            let now = Moment::now();
            if until == Moment::NEVER {
                std::thread::park();
            } else if until > now {
                std::thread::park_timeout(until.since(now).max(Duration::from_micros(1)));
            }
        }
        self.watched.lock().clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::watchdog::{Interrupt, Limits, Slot, Stop};
    use std::sync::atomic::AtomicU32;

    #[derive(Default)]
    struct Fake(Arc<AtomicU32>);

    impl Interrupt for Fake {
        fn terminate(&self) {
            self.0.fetch_add(1, Ordering::SeqCst);
        }
        fn take_back(&self) {}
        fn inspect(&self) {}
        fn cpu_time(&self) -> Duration {
            Duration::from_millis(7)
        }
    }

    fn slot(grace: Duration) -> (Arc<Watchdog>, Arc<Slot>, Arc<AtomicU32>, Arc<AtomicU32>) {
        let watchdog = Watchdog::start().unwrap();
        let (terminated, lost) = (Arc::new(AtomicU32::new(0)), Arc::new(AtomicU32::new(0)));
        let on_lost = {
            let lost = lost.clone();
            Box::new(move |_| {
                lost.fetch_add(1, Ordering::SeqCst);
            })
        };
        let slot = Slot::new(Arc::new(Fake(terminated.clone())), grace, on_lost, Box::new(|_| false), watchdog.clone());
        (watchdog, slot, terminated, lost)
    }

    fn within(millis: u64) -> Limits {
        let timeout = Moment::now().after(Duration::from_millis(millis));
        Limits { start: Moment::now(), timeout, deadline: Moment::NEVER, cpu: None }
    }

    fn eventually(what: impl Fn() -> bool) {
        for _ in 0..5_000 {
            if what() {
                return;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        panic!("it never happened");
    }

    #[test]
    fn a_timeout_stops_its_slice_and_a_worker_that_stays_is_lost_once() {
        let (watchdog, slot, terminated, lost) = slot(Duration::from_millis(5));
        let epoch = slot.enter(within(5));
        eventually(|| terminated.load(Ordering::SeqCst) == 1);
        assert_eq!(slot.reason(epoch), Some(Stop::SliceTimeout));
        eventually(|| lost.load(Ordering::SeqCst) == 1);
        std::thread::sleep(Duration::from_millis(20));
        assert_eq!(lost.load(Ordering::SeqCst), 1);
        assert!(slot.is_lost());
        watchdog.stop();
    }

    #[test]
    fn a_slice_says_since_when_it_runs_until_it_is_left() {
        let (watchdog, slot, ..) = slot(Duration::from_secs(60));
        assert_eq!(slot.running_since(), None);
        let limits = within(60_000);
        let epoch = slot.enter(limits);
        assert_eq!(slot.running_since(), Some(limits.start));
        assert!(slot.stop(epoch, Stop::Cancelled));
        assert_eq!(slot.running_since(), Some(limits.start), "V8 has not let go");
        assert_eq!(slot.leave(epoch), Some(Stop::Cancelled));
        assert_eq!(slot.running_since(), None);
        watchdog.stop();
    }

    #[test]
    fn an_earlier_limit_than_the_one_slept_for_is_in_time() {
        let (watchdog, slot, terminated, _) = slot(Duration::from_secs(60));
        let epoch = slot.enter(within(60_000));
        std::thread::sleep(Duration::from_millis(5));
        assert_eq!(slot.leave(epoch), None);
        let epoch = slot.enter(within(5));
        eventually(|| terminated.load(Ordering::SeqCst) == 1);
        assert_eq!(slot.leave(epoch), Some(Stop::SliceTimeout));
        watchdog.stop();
    }

    #[test]
    fn a_cpu_budget_is_read_from_the_threads_clock() {
        use crate::watchdog::slot::CpuLimit;
        let (watchdog, slot, terminated, _) = slot(Duration::from_secs(60));
        let now = Moment::now();
        let cpu = |reading| Some(CpuLimit { earliest: now, reading: Duration::from_millis(reading) });
        let epoch = slot.enter(Limits { start: now, timeout: Moment::NEVER, deadline: Moment::NEVER, cpu: cpu(8_000) });
        std::thread::sleep(Duration::from_millis(20));
        assert_eq!(slot.leave(epoch), None, "the thread has used 7 ms of 8 s");
        let epoch = slot.enter(Limits { start: now, timeout: Moment::NEVER, deadline: Moment::NEVER, cpu: cpu(7) });
        eventually(|| terminated.load(Ordering::SeqCst) == 1);
        assert_eq!(slot.leave(epoch), Some(Stop::CpuBudget));
        watchdog.stop();
    }

    #[test]
    fn fifty_thousand_slices_leave_nothing_armed() {
        let (watchdog, slot, terminated, lost) = slot(Duration::from_millis(1));
        for _ in 0..50_000 {
            let epoch = slot.enter(within(60_000));
            assert_eq!(slot.leave(epoch), None);
        }
        assert_eq!(slot.due(), Moment::NEVER);
        assert_eq!(watchdog.watched.lock().len(), 1);
        assert_eq!((terminated.load(Ordering::SeqCst), lost.load(Ordering::SeqCst)), (0, 0));
        watchdog.stop();
    }
}
