//! The way to a worker, and what the others know of it: its mailbox, its figures, and the calls that it holds.
//!
//! Invariant: whoever gives a worker up finds every call here that it would have answered.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::task::Waker;
use std::thread::Thread;
use std::time::Duration;

use parking_lot::Mutex;
use slab::Slab;

use super::load::Reading;
use super::stats::Counters;
use crate::exec::{CallCore, Mailbox, Note, RuntimeFigures, release};
use crate::watchdog::{Slot, Stop};

/// What the engine holds of a worker.
pub(super) struct Link {
    pub(super) index: usize,
    pub(super) counters: Counters,
    pub(super) figures: Mutex<RuntimeFigures>,
    pub(super) slot: OnceLock<Arc<Slot>>,
    pub(super) thread: OnceLock<Thread>,
    mailbox: Mutex<VecDeque<Mail>>,
    pub(super) has_mail: AtomicBool,
    pub(super) stop: AtomicBool,
    /// Callers that have their answer and are to be woken.
    pub(super) answered: Mutex<Vec<Waker>>,
    /// The call that runs, for whoever has to answer it when the worker is lost.
    pub(super) current: Mutex<Option<Arc<dyn CallCore>>>,
    /// The calls that are paused, for the same.
    paused: Mutex<Slab<Arc<dyn CallCore>>>,
    /// What its runs have open.
    #[cfg(feature = "io")]
    pub(super) handles: Arc<crate::exec::Handles>,
}

/// How a worker's thread ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ending {
    /// It had nothing more to do, or could not start.
    Regular,
    /// It had been given up before, and V8 has let go now.
    Lost,
    /// By a panic of the engine's own code.
    Fault,
}

/// What is meant for one worker.
pub(super) enum Mail {
    /// A call that every worker has to run: warming, checking.
    Run(Arc<dyn CallCore>),
    /// News for a call that is paused here.
    Note(Note),
    /// Snapshots may be gone.
    Expire,
}

impl Link {
    pub(super) fn new(index: usize) -> Arc<Self> {
        Arc::new(Link {
            index,
            counters: Counters::default(),
            figures: Mutex::default(),
            slot: OnceLock::new(),
            thread: OnceLock::new(),
            mailbox: Mutex::default(),
            has_mail: AtomicBool::new(false),
            stop: AtomicBool::new(false),
            answered: Mutex::default(),
            current: Mutex::new(None),
            paused: Mutex::default(),
            #[cfg(feature = "io")]
            handles: Arc::default(),
        })
    }

    pub(super) fn post(&self, mail: Mail) {
        self.mailbox.lock().push_back(mail);
        self.has_mail.store(true, Ordering::Release);
        self.wake();
    }

    pub(super) fn wake(&self) {
        if let Some(thread) = self.thread.get() {
            thread.unpark();
        }
    }

    /// The worker ends as soon as it can, and what it runs is stopped.
    pub(super) fn stop(&self) {
        self.stop.store(true, Ordering::Release);
        if let Some(slot) = self.slot.get() {
            slot.stop_current(Stop::ShuttingDown);
        }
        self.wake();
    }

    /// Wakes the callers that have their answer.
    pub(super) fn wake_answered(&self) {
        let wakers = std::mem::take(&mut *self.answered.lock());
        wakers.into_iter().for_each(Waker::wake);
    }

    /// The calls that nobody will run or finish any more.
    pub(super) fn abandoned(&self) -> Vec<Arc<dyn CallCore>> {
        #[cfg(feature = "io")]
        self.handles.shut();
        self.wake_answered();
        let mail = std::mem::take(&mut *self.mailbox.lock());
        let current = self.current.lock().take();
        let calls = mail.into_iter().filter_map(|mail| match mail {
            Mail::Run(call) => Some(call),
            Mail::Expire | Mail::Note(_) => None,
        });
        let paused: Vec<_> = self.paused.lock().drain().collect();
        current.into_iter().chain(calls).chain(paused).collect()
    }

    /// The clocks of the worker, for the load.
    pub(super) fn reading(&self) -> Reading {
        let slices = self.counters.cpu();
        // Afterwards: a slice that ends in between is missing in this reading rather than twice in it.
        let (running, thread) =
            self.slot.get().map_or((None, Duration::ZERO), |slot| (slot.running_since(), slot.cpu_time()));
        Reading { slices, running, thread }
    }

    pub(super) fn mail(&self) -> Option<Mail> {
        if !self.has_mail.load(Ordering::Acquire) {
            return None;
        }
        let mut mailbox = self.mailbox.lock();
        let mail = mailbox.pop_front();
        self.has_mail.store(!mailbox.is_empty(), Ordering::Release);
        mail
    }
}

impl Mailbox for Link {
    fn post(&self, note: Note) {
        Link::post(self, Mail::Note(note));
    }

    fn hold(&self, call: Arc<dyn CallCore>) -> u32 {
        // Four billion paused calls are more than any memory holds.
        self.paused.lock().insert(call) as u32
    }

    fn let_go(&self, place: u32) {
        // Nothing is there where the worker was given up.
        let call = self.paused.lock().try_remove(place as usize);
        call.into_iter().for_each(release);
    }
}
