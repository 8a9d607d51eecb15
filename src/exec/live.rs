//! The runs that a worker holds between their slices.

use std::rc::Rc;
use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::machine::Progress;
use super::timers::TimerKey;
use super::{CallCore, OpId, TaskId};
use crate::clock::Moment;
use crate::error::Spent;
use crate::vm::{ScriptContext, SharedValue};

/// A run that has begun and not ended.
pub(super) struct Live {
    pub(super) call: Arc<dyn CallCore>,
    pub(super) context: Rc<ScriptContext>,
    pub(super) progress: Progress,
    /// What it waits for.
    pub(super) ops: Vec<OpId>,
    pub(super) shared: Box<[SharedValue]>,
    pub(super) spent: Spent,
    /// When its last slice ended.
    pub(super) since: Moment,
    /// How many lines it may still log.
    pub(super) lines: u32,
    /// Where its call is found when the worker is lost.
    pub(super) place: usize,
    /// Its deadline, or the end of its closing.
    pub(super) deadline: Option<TimerKey>,
    pub(super) idle: Option<TimerKey>,
}

/// The runs of one worker, by their number.
pub(super) type LiveRuns = FxHashMap<TaskId, Box<Live>>;
