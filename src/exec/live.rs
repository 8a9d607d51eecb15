//! The runs that a worker holds between their slices.

use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use rustc_hash::FxHashMap;

use super::machine::Progress;
use super::ops::OwnOps;
use super::timers::TimerKey;
use super::{CallCore, TaskId};
use crate::clock::Moment;
use crate::error::Spent;
use crate::vm::{ScriptContext, SharedValue};

/// A run that has begun and not ended.
pub(super) struct Live {
    pub(super) call: Arc<dyn CallCore>,
    pub(super) context: Rc<ScriptContext>,
    pub(super) progress: Progress,
    /// What it waits for.
    pub(super) ops: OwnOps,
    pub(super) shared: Box<[SharedValue]>,
    pub(super) spent: Times,
    /// When its last slice ended.
    pub(super) since: Moment,
    /// How many lines it may still log.
    pub(super) lines: u32,
    /// Where its call is found when the worker is lost.
    pub(super) place: u32,
    /// Its deadline, or the end of its closing.
    pub(super) deadline: Option<TimerKey>,
    pub(super) idle: Option<TimerKey>,
}

/// The runs of one worker, by their number.
pub(super) type LiveRuns = FxHashMap<TaskId, Box<Live>>;

/// How the time of a run was spent, in nanoseconds: half as large as [`Spent`], since there may be a hundred thousand of them.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Times {
    queued: u64,
    cpu: u64,
    waiting: u64,
}

impl Times {
    pub(super) fn queued(queued: Duration) -> Self {
        Times { queued: nanos(queued), ..Times::default() }
    }

    pub(super) fn add_cpu(&mut self, time: Duration) {
        self.cpu = self.cpu.saturating_add(nanos(time));
    }

    pub(super) fn add_waiting(&mut self, time: Duration) {
        self.waiting = self.waiting.saturating_add(nanos(time));
    }

    pub(super) fn cpu(&self) -> Duration {
        Duration::from_nanos(self.cpu)
    }
}

impl From<Times> for Spent {
    fn from(times: Times) -> Self {
        let Times { queued, cpu, waiting } = times;
        let [queued, cpu, waiting] = [queued, cpu, waiting].map(Duration::from_nanos);
        Spent { queued, cpu, waiting }
    }
}

fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}
