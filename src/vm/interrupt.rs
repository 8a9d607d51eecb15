//! How the watchdog reaches a worker.

use std::time::Duration;

use parking_lot::Mutex;

use super::thread::CpuClock;
use crate::watchdog::Interrupt;

/// The handle of a worker's isolate and the clock of its thread. A worker may have several isolates, one after another.
pub(crate) struct IsolateInterrupt {
    handle: Mutex<Option<v8::IsolateHandle>>,
    clock: CpuClock,
}

impl IsolateInterrupt {
    /// The interrupt of the thread that has this clock; it has no isolate yet.
    pub(crate) fn new(clock: CpuClock) -> Self {
        IsolateInterrupt { handle: Mutex::new(None), clock }
    }

    /// The worker has made an isolate. Called while no slice runs.
    pub(crate) fn set(&self, handle: v8::IsolateHandle) {
        *self.handle.lock() = Some(handle);
    }
}

impl Interrupt for IsolateInterrupt {
    fn terminate(&self) {
        if let Some(handle) = &*self.handle.lock() {
            handle.terminate_execution();
        }
    }

    fn take_back(&self) {
        if let Some(handle) = &*self.handle.lock() {
            handle.cancel_terminate_execution();
        }
    }

    fn inspect(&self) {
        if let Some(handle) = &*self.handle.lock() {
            handle.request_interrupt(super::isolate::inspect, std::ptr::null_mut());
        }
    }

    fn cpu_time(&self) -> Duration {
        self.clock.read()
    }
}
