//! What becomes of a run after a slice: it pauses, it ends, or its script is closed first.

use std::rc::Rc;
use std::sync::Arc;
use std::task::Waker;

use super::TaskId;
use super::call::{Brought, CallCore, Mode, Paused};
use super::entry::SharedValues;
use super::live::{Live, Times};
use super::machine::Progress;
use super::ops::{Due, OwnOps};
use super::runtime::{Runtime, SliceReport, Verdict};
use super::slice::{Job, Ran, STATE};
use crate::clock::Moment;
use crate::error::{Error, ErrorKind};
use crate::vm::{ScriptContext, Terms};

/// What a slice has left behind.
pub(super) struct Left {
    /// The context, where there was one.
    pub(super) context: Option<Rc<ScriptContext>>,
    pub(super) shared: SharedValues,
    /// What goes in place of what the work has brought.
    pub(super) error: Option<Error>,
    /// Rejections that nothing has handled.
    pub(super) unhandled: Option<Error>,
    pub(super) own: OwnOps,
    pub(super) lines: u32,
}

/// How a call ends.
struct Finish<'t> {
    error: Option<Error>,
    translate: &'t dyn Fn(Error) -> Error,
    spent: Times,
    /// Whether a script that has not ended is to be closed.
    close: bool,
}

impl Runtime {
    /// Decides what becomes of a run after a slice.
    #[allow(clippy::too_many_arguments)]
    pub(super) fn settle(
        &mut self,
        task: TaskId,
        call: &Arc<dyn CallCore>,
        live: Option<Box<Live>>,
        progress: Progress,
        left: Left,
        translate: &dyn Fn(Error) -> Error,
        broken: bool,
        report: &mut SliceReport,
    ) -> Option<Waker> {
        let Left { context, shared, mut error, unhandled: _, own, lines } = left;
        // A run that never pauses has nothing to do with the others, and its context is not to be held for them.
        let pauses = call.mode() != Mode::OneOff;
        let concerns_others = pauses || !self.live.is_empty();
        let shared_context = context.clone().filter(|context| concerns_others && !context.is_sealed());
        let mut spent = live.as_ref().map_or_else(|| Times::queued(report.queued), |live| live.spent);
        spent.add_cpu(report.cpu);
        let stays = error.is_none()
            && pauses
            && match (call.brought(), &progress.awaited) {
                (Brought::End, _) => false,
                (Brought::Request, _) => true,
                (Brought::Nothing, Some(_)) if own.is_empty() && shared_context.is_none() => {
                    error = Some(ErrorKind::Stalled.into());
                    false
                }
                (Brought::Nothing, None) if progress.closing && !progress.done => {
                    // It asks for something, and nobody is there any more.
                    error = Some(ErrorKind::Unanswered.into());
                    false
                }
                (Brought::Nothing, _) => !progress.done,
            };
        let waker = match (stays, context) {
            (true, Some(context)) => {
                let mut live = match live {
                    Some(live) => live,
                    None => self.admit(task, call, context, shared),
                };
                live.progress = progress;
                live.ops = own;
                live.spent = spent;
                live.since = report.end;
                live.lines = lines;
                self.pause(task, live, report)
            }
            (_, context) => {
                self.drop_ops(own);
                let closing = progress.closing;
                let live = match (live, context) {
                    (Some(mut live), _) => {
                        live.progress = progress;
                        Some(live)
                    }
                    (None, Some(context)) if !broken && progress.is_open() => {
                        let mut live = self.admit(task, call, context, shared);
                        live.progress = progress;
                        Some(live)
                    }
                    // Before the end is told: whoever is told may look at what the context held.
                    (None, _) => {
                        self.forget(task);
                        crate::vm::quietly(STATE, || drop(progress));
                        None
                    }
                };
                self.finish(task, call, live, Finish { error, translate, spent, close: !broken && !closing }, report)
            }
        };
        if let Some(context) = shared_context {
            self.look_at_others(&context);
        }
        waker
    }

    /// The call ends, without a slice.
    pub(super) fn end(&mut self, task: TaskId, mut live: Box<Live>, error: Error, mut report: SliceReport) -> Ran {
        self.drop_ops(std::mem::take(&mut live.ops));
        live.progress.awaited = None;
        report.ran = true;
        let (call, spent) = (live.call.clone(), live.spent);
        let finish = Finish { error: Some(error), translate: &|error| error, spent, close: true };
        let waker = self.finish(task, &call, Some(live), finish, &mut report);
        (report, Verdict::Fine, waker)
    }

    /// A script that is being closed has not ended in time.
    pub(super) fn tear_down(&mut self, task: TaskId, live: Box<Live>, mut report: SliceReport) -> Ran {
        let (call, spent) = (live.call.clone(), live.spent);
        tracing::debug!(target: "jsmill", script = call.meta().script.name(), task = call.name(), "torn down: it did not end when it was closed");
        let limit = call.meta().limits.close_timeout;
        let error = Some(ErrorKind::SliceTimeout { limit }.into());
        let finish = Finish { error, translate: &|error| error, spent, close: false };
        let waker = self.finish(task, &call, Some(live), finish, &mut report);
        (report, Verdict::Fine, waker)
    }

    /// The call has ended. A script that has not is closed, in a slice of its own.
    fn finish(
        &mut self,
        task: TaskId,
        call: &Arc<dyn CallCore>,
        live: Option<Box<Live>>,
        finish: Finish<'_>,
        report: &mut SliceReport,
    ) -> Option<Waker> {
        let Finish { error, translate, spent, close } = finish;
        let closing = live.as_ref().is_some_and(|live| live.progress.closing);
        let open = match live {
            Some(live) if close && live.progress.is_open() => Some(live),
            // Before the end is told: whoever is told may look at what the context held.
            Some(live) => {
                self.retire(task, live);
                None
            }
            None => None,
        };
        // A call that ended before its script was closed has had its end.
        let waker = if closing && call.is_over() {
            report.paused = true;
            None
        } else {
            let (succeeded, waker) = call.finish(error, translate, spent.into());
            report.paused = false;
            report.failed = !succeeded;
            waker
        };
        if let Some(live) = open {
            self.close_later(task, live);
        }
        waker
    }

    /// The run pauses.
    fn pause(&mut self, task: TaskId, mut live: Box<Live>, report: &mut SliceReport) -> Option<Waker> {
        report.paused = true;
        let call = live.call.clone();
        let mailbox = self.ops_options.mailbox.clone();
        let asks = call.brought() == Brought::Request;
        if live.progress.closing {
            self.live.insert(task, live);
            return None;
        }
        if asks && let Some(limit) = call.meta().limits.idle_timeout {
            live.idle = self.add_timer(report.end.after(limit), Due::Idle(task));
        }
        match call.pause(&|| (mailbox.clone(), task)) {
            Paused::Fine(waker) => {
                self.live.insert(task, live);
                waker
            }
            Paused::Left if live.progress.is_open() => {
                self.close_later(task, live);
                None
            }
            Paused::Left => {
                self.retire(task, live);
                None
            }
        }
    }

    /// The run gets its place among those that are held.
    fn admit(
        &mut self,
        task: TaskId,
        call: &Arc<dyn CallCore>,
        context: Rc<ScriptContext>,
        shared: SharedValues,
    ) -> Box<Live> {
        Box::new(Live {
            call: call.clone(),
            context,
            progress: Progress::default(),
            ops: OwnOps::default(),
            shared: shared.into_vec().into_boxed_slice(),
            spent: Times::default(),
            since: Moment::from_nanos(0),
            lines: 0,
            place: self.ops_options.mailbox.hold(call.clone()),
            deadline: self.add_timer(call.meta().deadline, Due::Deadline(task)),
            idle: None,
        })
    }

    /// The run has ended, and its script has not: it is closed in a slice of its own.
    fn close_later(&mut self, task: TaskId, mut live: Box<Live>) {
        self.drop_ops(std::mem::take(&mut live.ops));
        live.progress.awaited = None;
        self.forget_timer(live.deadline.take());
        self.forget_timer(live.idle.take());
        self.live.insert(task, live);
        self.jobs.push_back((task, Job::Close));
    }

    /// Nothing is left to be done for the run.
    fn retire(&mut self, task: TaskId, mut live: Box<Live>) {
        self.drop_ops(std::mem::take(&mut live.ops));
        self.forget_timer(live.deadline.take());
        self.forget_timer(live.idle.take());
        self.ops_options.mailbox.let_go(live.place);
        self.forget(task);
        super::release(live.call.clone());
        crate::vm::quietly(STATE, || drop(live));
    }

    /// Whoever waits for the end of the run is woken.
    fn forget(&self, task: TaskId) {
        if let Some(inside) = &self.inside {
            inside.ops.ended(task);
        }
    }

    /// In a context that runs can change, one run may settle what another one awaits, or leave it with nobody who could.
    fn look_at_others(&mut self, context: &Rc<ScriptContext>) {
        let Some(inside) = &mut self.inside else { return };
        let mut active = false;
        let mut stuck = Vec::new();
        let others = self.live.iter().filter(|(_, live)| Rc::ptr_eq(&live.context, context));
        context.with(inside.isolate.v8(), Terms::default(), |scope| {
            for (task, live) in others {
                match &live.progress.awaited {
                    Some(awaited) if awaited.is_settled(scope) => {
                        self.jobs.push_back((*task, Job::Check));
                        active = true;
                    }
                    Some(_) if live.ops.is_empty() => stuck.push(*task),
                    _ => active = true,
                }
            }
        });
        if !active {
            self.jobs.extend(stuck.into_iter().map(|task| (task, Job::End(ErrorKind::Stalled.into()))));
        }
    }

    fn add_timer(&mut self, at: Moment, due: Due) -> Option<super::timers::TimerKey> {
        self.inside.as_ref()?.ops.timers.borrow_mut().add(at, due)
    }

    pub(super) fn forget_timer(&mut self, key: Option<super::timers::TimerKey>) {
        if let (Some(key), Some(inside)) = (key, &self.inside) {
            inside.ops.timers.borrow_mut().remove(key);
        }
    }

    fn drop_ops(&self, ops: OwnOps) {
        if let (false, Some(inside)) = (ops.is_empty(), &self.inside) {
            inside.ops.drop_all(ops);
        }
    }
}
