//! How the watchdog reaches a worker.

use std::time::Duration;

use super::thread::CpuClock;
use crate::watchdog::Interrupt;

/// The handle of a worker's isolate and the clock of its thread.
pub(crate) struct IsolateInterrupt {
    handle: v8::IsolateHandle,
    clock: CpuClock,
}

impl IsolateInterrupt {
    pub(crate) fn new(handle: v8::IsolateHandle, clock: CpuClock) -> Self {
        IsolateInterrupt { handle, clock }
    }
}

impl Interrupt for IsolateInterrupt {
    fn terminate(&self) {
        self.handle.terminate_execution();
    }

    fn take_back(&self) {
        self.handle.cancel_terminate_execution();
    }

    fn cpu_time(&self) -> Duration {
        self.clock.read()
    }
}
