//! A slice of a run: from the worker into V8 and back, and what becomes of the run then.

use std::rc::Rc;
use std::sync::Arc;
use std::task::Waker;

use super::call::CallCore;
use super::entry::{Entry, SharedValues};
use super::live::Live;
use super::machine::Progress;
use super::ops::{Due, OwnOps};
use super::outcome::Left;
use super::runtime::{Inside, Runtime, SliceReport, Verdict, deadline, stopped};
use super::{Note, OpId, Outcome, TaskId};
use crate::channel::Begin;
use crate::clock::Moment;
use crate::error::{Error, ErrorKind, Result};
use crate::units::Bytes;
use crate::vm::{ScriptContext, Terms, is_refused_buffer, take_unhandled};
use crate::watchdog::{self, Epoch, Slot, Stop};
use crate::wire;

/// How many lines a run may write to `console`.
const LOG_LINES: u32 = 1_000;

/// What of the embedder's may panic when a run is over.
pub(super) const STATE: &str = "the drop of a task's state";

/// What a slice is for.
#[derive(Debug)]
pub(crate) enum Job {
    /// It is the first one.
    Start,
    /// The caller wants to go on.
    Resume,
    /// The caller has left, or the call has ended otherwise: the script is to be closed.
    Close,
    /// It was closed and has not ended in time.
    TearDown,
    /// An op is to be settled.
    Settle(OpId, Option<Outcome>),
    /// What it awaits was settled by another run.
    Check,
    /// The call ends with this error, without a slice.
    End(Error),
}

impl Job {
    /// The run that a note is for, and what is to be done.
    pub(crate) fn of(note: Note) -> (TaskId, Job) {
        match note {
            Note::Resume(task) => (task, Job::Resume),
            Note::Close(task) => (task, Job::Close),
            Note::Done(task, op, outcome) => (task, Job::Settle(op, Some(outcome))),
        }
    }
}

/// What a slice was, what has to happen to the worker, and who is to be woken.
pub(crate) type Ran = (SliceReport, Verdict, Option<Waker>);

/// A slice while it runs.
struct Slice<'r> {
    call: &'r dyn CallCore,
    slot: &'r Slot,
    epoch: Epoch,
    task: TaskId,
}

impl Runtime {
    /// The first slice of a call.
    pub(crate) fn start(&mut self, call: &Arc<dyn CallCore>, start: Moment) -> Ran {
        let meta = call.meta();
        let queued = start.since(meta.submitted);
        if start >= meta.deadline {
            call.refuse(deadline(meta.limits.deadline, true));
            return (SliceReport { queued, ..SliceReport::at(start) }, Verdict::Fine, None);
        }
        self.last_task += 1;
        let task = TaskId(self.last_task);
        self.slice(task, call, None, Job::Start, SliceReport { queued, first: true, ..SliceReport::at(start) })
    }

    /// A later slice of a run. One for a run that is gone does nothing.
    pub(crate) fn resume(&mut self, task: TaskId, job: Job, start: Moment) -> Ran {
        let report = SliceReport { paused: true, ..SliceReport::at(start) };
        let Some(mut live) = self.live.remove(&task) else { return (report, Verdict::Fine, None) };
        let call = live.call.clone();
        live.spent.add_waiting(start.since(live.since));
        let job = match job {
            Job::End(error) => return self.end(task, live, error, report),
            Job::TearDown => return self.tear_down(task, live, report),
            // It is told twice where its caller leaves while it pauses.
            Job::Close if live.progress.closing => Job::Check,
            // The caller may have left while this was on its way.
            _ if !live.progress.closing && call.is_left() => Job::Close,
            job => job,
        };
        if matches!(job, Job::Resume) {
            self.forget_timer(live.idle.take());
        }
        self.slice(task, &call, Some(live), job, report)
    }

    /// What is due on this worker without anybody's asking.
    pub(crate) fn next_job(&mut self, now: Moment) -> Option<(TaskId, Job)> {
        if let Some(job) = self.jobs.pop_front() {
            return Some(job);
        }
        let ops = &self.inside.as_ref()?.ops;
        if let Some((task, op)) = ops.pop_woken() {
            return Some((task, Job::Settle(op, None)));
        }
        loop {
            let due = ops.timers.borrow_mut().pop(now)?;
            let (task, error) = match due {
                Due::Op(task, op) => return Some((task, Job::Settle(op, None))),
                Due::Close(task) => return Some((task, Job::TearDown)),
                Due::Deadline(task) => {
                    let Some(live) = self.live.get(&task) else { continue };
                    (task, deadline(live.call.meta().limits.deadline, false))
                }
                Due::Idle(task) => {
                    let Some(live) = self.live.get(&task) else { continue };
                    if !live.call.waits_for_caller() {
                        continue;
                    }
                    let limit = live.call.meta().limits.idle_timeout.unwrap_or_default();
                    (task, ErrorKind::IdleTimeout { limit }.into())
                }
            };
            return Some((task, Job::End(error)));
        }
    }

    /// When something is due on this worker, at the earliest.
    pub(crate) fn next_due(&self) -> Moment {
        let Some(inside) = &self.inside else { return Moment::NEVER };
        if !self.jobs.is_empty() || inside.ops.has_woken() {
            return Moment::from_nanos(0);
        }
        inside.ops.timers.borrow().first()
    }

    fn slice(
        &mut self,
        task: TaskId,
        call: &Arc<dyn CallCore>,
        live: Option<Box<Live>>,
        job: Job,
        mut report: SliceReport,
    ) -> Ran {
        let start = report.end;
        let meta = call.meta();
        let Some(inside) = &mut self.inside else {
            call.refuse(ErrorKind::WorkerLost { reason: "its isolate could not be made".into() }.into());
            return (report, Verdict::Replace("it has no isolate"), None);
        };
        let closing = matches!(job, Job::Close) || live.as_ref().is_some_and(|live| live.progress.closing);
        let slot = &self.slot;
        let spent_cpu = live.as_ref().map_or_else(Default::default, |live| live.spent.cpu());
        let limits = if closing {
            let timeout = start.after(meta.limits.close_timeout);
            watchdog::Limits { start, timeout, deadline: Moment::NEVER, cpu: None }
        } else {
            let budget = meta.limits.cpu_budget.map(|budget| budget.saturating_sub(spent_cpu));
            watchdog::Limits {
                start,
                timeout: meta.limits.slice_timeout.map_or(Moment::NEVER, |timeout| start.after(timeout)),
                deadline: meta.deadline,
                cpu: budget.map(|budget| self.cpu.limit(start, budget, || slot.cpu_time())),
            }
        };
        let epoch = slot.enter(limits);
        if call.begin(slot, epoch) == Begin::Left && !closing {
            slot.leave(epoch);
            return match live {
                Some(live) => self.slice(task, call, Some(live), Job::Close, report),
                None => (report, Verdict::Fine, None),
            };
        }
        report.ran = true;
        inside.runs += u64::from(report.first);
        let slice = Slice { call: &**call, slot, epoch, task };
        let mut progress = Progress::default();
        let mut held = None;
        let mut left = match live {
            None => {
                let entry = Entry { options: &self.options, code: &self.code, slot, epoch, now: start };
                slice.first(inside, &entry, &mut progress, &mut report)
            }
            Some(mut live) => {
                progress = std::mem::take(&mut live.progress);
                let left = slice.later(inside, &mut live, &mut progress, job);
                held = Some(live);
                left
            }
        };
        report.stop = slot.leave(epoch);
        let panicked = inside.host.take_panicked();
        report.panicked = panicked.is_some();
        let refused_buffer = inside.isolate.buffers().take_refused();
        let buffer_limit = self.options.isolate.buffer_limit;
        let translate = |error: Error| translate(error, refused_buffer, buffer_limit);
        let instead = match (report.stop, panicked) {
            (Some(Stop::SliceTimeout), _) if closing => {
                Some(ErrorKind::SliceTimeout { limit: meta.limits.close_timeout }.into())
            }
            (Some(stop), _) => Some(stopped(stop, &meta.limits, &self.options.isolate)),
            (None, Some(what)) => Some(ErrorKind::HostPanicked { what }.into()),
            (None, None) => left.error.take().map(translate),
        };
        let broken = instead.is_some();
        if broken {
            // A host callback that panicked, or a task with V8's scope, may have asked for a termination past the slot.
            inside.isolate.v8().cancel_terminate_execution();
        }
        if broken && let Some(context) = &left.context {
            inside.contexts.remove(context);
            // Other runs may live on in it.
            context.forget_microtasks(inside.isolate.v8());
        }
        let end = Moment::now();
        report.end = end;
        report.wall = end.since(start);
        report.cpu = self.cpu.used(start, end, || slot.cpu_time());
        let instead = instead.or(left.unhandled.take());
        let left = Left { error: instead, ..left };
        let waker = self.settle(task, call, held, progress, left, &translate, broken, &mut report);
        let verdict = self.verdict(end);
        (report, verdict, waker)
    }
}

impl Slice<'_> {
    fn terms<'t>(&self, shared: &'t [crate::vm::SharedValue]) -> Terms<'t> {
        let meta = self.call.meta();
        let limits = wire::Limits { depth: meta.limits.depth, bytes: meta.limits.result.as_usize() };
        Terms { policy: meta.policy, limits, shared }
    }

    fn first(&self, inside: &mut Inside, entry: &Entry<'_>, progress: &mut Progress, report: &mut SliceReport) -> Left {
        let meta = self.call.meta();
        inside.host.begin(meta.logger.as_ref(), LOG_LINES);
        inside.ops.enter(self.task, meta, OwnOps::default());
        let entered: Result<_> = entry.enter(inside, self.call, report);
        match entered {
            Ok((context, shared)) => {
                context.with(inside.isolate.v8(), self.terms(&shared), |scope| progress.start(scope, self.call));
                let unhandled = self.go_on(inside, &context, progress, &shared);
                self.left(inside, Some(context), shared, None, unhandled)
            }
            Err(error) => self.left(inside, None, SharedValues::new(), Some(error), None),
        }
    }

    fn later(&self, inside: &mut Inside, live: &mut Live, progress: &mut Progress, job: Job) -> Left {
        let meta = self.call.meta();
        let context = live.context.clone();
        inside.host.begin(meta.logger.as_ref(), live.lines);
        let mut own = std::mem::take(&mut live.ops);
        let closes = matches!(job, Job::Close);
        if closes {
            // What the script has waited for is of no interest any more.
            inside.ops.drop_all(std::mem::take(&mut own));
            let mut timers = inside.ops.timers.borrow_mut();
            let past = [live.deadline.take(), live.idle.take()];
            past.into_iter().flatten().for_each(|key| {
                timers.remove(key);
            });
        }
        inside.ops.enter(self.task, meta, own);
        let ops = inside.ops.clone();
        context.with(inside.isolate.v8(), self.terms(&live.shared), |scope| match job {
            Job::Resume => progress.answer(scope, self.call),
            Job::Close => progress.close(scope, self.call),
            Job::Settle(op, outcome) => {
                if let Err(error) = ops.settle(scope.v8(), op, outcome) {
                    self.call.keep_error(error);
                }
            }
            Job::Start | Job::Check | Job::TearDown | Job::End(_) => {}
        });
        let unhandled = self.go_on(inside, &context, progress, &live.shared);
        let left = self.left(inside, Some(context), SharedValues::new(), None, unhandled);
        if closes && progress.is_open() {
            // The rest has to come in time.
            let end = Moment::now().after(meta.limits.close_timeout);
            live.deadline = inside.ops.timers.borrow_mut().add(end, Due::Close(self.task));
        }
        left
    }

    /// Runs what the script has queued, and goes on as long as what it awaits is settled. After a stop no script of this slice runs any
    /// more, and the context goes with what it has queued.
    fn go_on(
        &self,
        inside: &mut Inside,
        context: &ScriptContext,
        progress: &mut Progress,
        shared: &[crate::vm::SharedValue],
    ) -> Option<Error> {
        loop {
            if self.slot.reason(self.epoch).is_some() {
                return None;
            }
            context.run_microtasks(inside.isolate.v8());
            if self.slot.reason(self.epoch).is_some() {
                return None;
            }
            if progress.awaited.is_none()
                || !context.with(inside.isolate.v8(), self.terms(shared), |scope| progress.go_on(scope, self.call))
            {
                break;
            }
        }
        if !inside.host.has_rejected() {
            return None;
        }
        context.with(inside.isolate.v8(), self.terms(shared), |scope| take_unhandled(scope.v8()))
    }

    fn left(
        &self,
        inside: &Inside,
        context: Option<Rc<ScriptContext>>,
        shared: SharedValues,
        error: Option<Error>,
        unhandled: Option<Error>,
    ) -> Left {
        Left { context, shared, error, unhandled, own: inside.ops.leave(), lines: inside.host.lines_left() }
    }
}

/// What a script's error really is.
fn translate(error: Error, refused_buffer: bool, limit: Bytes) -> Error {
    match error.script_error() {
        Some(thrown) if refused_buffer && is_refused_buffer(thrown) => ErrorKind::BufferLimit { limit }.into(),
        _ => error,
    }
}
