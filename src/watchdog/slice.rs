//! Who ends a slice.

use super::sync::{
    atomic::{AtomicU64, Ordering},
    relax,
};

/// Why a slice was stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Stop {
    SliceTimeout = 1,
    CpuBudget = 2,
    Deadline = 3,
    HeapLimit = 4,
    BufferLimit = 5,
    Cancelled = 6,
    ShuttingDown = 7,
}

impl Stop {
    pub(crate) const ALL: [Stop; 7] = [
        Stop::SliceTimeout,
        Stop::CpuBudget,
        Stop::Deadline,
        Stop::HeapLimit,
        Stop::BufferLimit,
        Stop::Cancelled,
        Stop::ShuttingDown,
    ];

    pub(super) fn of(bits: u64) -> Option<Stop> {
        (bits as usize).checked_sub(1).and_then(|index| Stop::ALL.get(index).copied())
    }
}

/// The number of a slice on its worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Epoch(u64);

/// The state of one worker's slice in one word: `epoch << 8 | phase << 4 | reason`.
///
/// `Idle -> Running(epoch) -> Idle` is the usual way. Whoever stops a slice moves `Running(epoch)` to `Stopping(epoch, reason)`,
/// asks V8 to terminate, and moves on to `Stopped(epoch, reason)`. The worker that leaves waits for that last step.
#[derive(Debug)]
pub(crate) struct SliceState(AtomicU64);

const IDLE: u64 = 0;
const RUNNING: u64 = 1 << 4;
const STOPPING: u64 = 2 << 4;
const STOPPED: u64 = 3 << 4;
const PHASE: u64 = 0xF0;
const REASON: u64 = 0x0F;

impl SliceState {
    pub(crate) fn new() -> Self {
        SliceState(AtomicU64::new(IDLE))
    }

    /// A new slice begins. Only the worker calls this, and only while no slice runs.
    pub(crate) fn enter(&self) -> Epoch {
        let epoch = (self.0.load(Ordering::Relaxed) >> 8) + 1;
        self.0.store(epoch << 8 | RUNNING, Ordering::Release);
        Epoch(epoch)
    }

    /// How many slices have begun.
    pub(crate) fn epoch(&self) -> u64 {
        self.0.load(Ordering::Relaxed) >> 8
    }

    /// The slice that runs now and was not stopped.
    pub(crate) fn running(&self) -> Option<Epoch> {
        let word = self.0.load(Ordering::Acquire);
        (word & PHASE == RUNNING).then_some(Epoch(word >> 8))
    }

    /// The slice that was stopped and has not been left.
    pub(crate) fn stopped(&self) -> Option<(Epoch, Stop)> {
        let word = self.0.load(Ordering::Acquire);
        if word & PHASE == STOPPED { Stop::of(word & REASON).map(|reason| (Epoch(word >> 8), reason)) } else { None }
    }

    /// Why the slice of that epoch was stopped, where it was.
    pub(crate) fn reason(&self, epoch: Epoch) -> Option<Stop> {
        let word = self.0.load(Ordering::Acquire);
        if word >> 8 == epoch.0 { Stop::of(word & REASON) } else { None }
    }

    /// Stops that slice and no other one: `request` asks V8 to terminate. False where the slice is over or stopped already;
    /// then `request` is not called.
    pub(crate) fn stop(&self, epoch: Epoch, reason: Stop, request: impl FnOnce()) -> bool {
        let running = epoch.0 << 8 | RUNNING;
        let stopping = epoch.0 << 8 | STOPPING | reason as u64;
        if self.0.compare_exchange(running, stopping, Ordering::AcqRel, Ordering::Relaxed).is_err() {
            return false;
        }
        request();
        self.0.store(epoch.0 << 8 | STOPPED | reason as u64, Ordering::Release);
        true
    }

    /// The worker has left V8. Where somebody stopped the slice, waits until the request is out, takes it back, and returns why.
    pub(crate) fn leave(&self, epoch: Epoch, take_back: impl FnOnce()) -> Option<Stop> {
        let running = epoch.0 << 8 | RUNNING;
        let idle = epoch.0 << 8 | IDLE;
        if self.0.compare_exchange(running, idle, Ordering::AcqRel, Ordering::Acquire).is_ok() {
            return None;
        }
        let reason = self.await_stopped();
        take_back();
        self.0.store(idle, Ordering::Release);
        reason
    }

    /// The request follows the word within a few instructions of another thread, unless that thread lost its core.
    fn await_stopped(&self) -> Option<Stop> {
        let mut rounds = 0;
        loop {
            let word = self.0.load(Ordering::Acquire);
            if word & PHASE != STOPPING {
                return Stop::of(word & REASON);
            }
            relax(rounds);
            rounds += 1;
        }
    }
}
