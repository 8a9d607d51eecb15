//! What runs wait for: futures of host functions, timers, and the runs of others.
//!
//! An *op* belongs to the run in whose slice it was begun, and is settled in a slice of that run. It goes with the run.
//!
//! Invariant: an op is settled once or dropped; when its run ends, its future is aborted and nothing of it is left.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::future::Future;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use rustc_hash::{FxHashMap, FxHashSet};

use super::timers::{TimerKey, Timers};
use super::{Mailbox, Meta, Note, OpId, Outcome, TaskId};
use crate::channel::{Abort, HostRuntime};
use crate::clock::Moment;
use crate::error::{Result, Scale};
use crate::vm::{self, Host, HostError};

/// What a worker's timers are for.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Due {
    /// A timer of a script.
    Op(TaskId, OpId),
    /// The deadline of a paused call.
    Deadline(TaskId),
    /// The caller of a paused call has taken too long.
    Idle(TaskId),
    /// A script that is being closed has taken too long.
    Close(TaskId),
}

/// The engine's count of what is pending.
#[derive(Debug)]
pub(crate) struct PendingCount {
    count: AtomicUsize,
    limit: usize,
}

impl PendingCount {
    pub(crate) fn new(limit: usize) -> Self {
        PendingCount { count: AtomicUsize::new(0), limit }
    }

    fn add(&self) -> bool {
        let added = self
            .count
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |count| (count < self.limit).then_some(count + 1));
        added.is_ok()
    }

    fn remove(&self, number: usize) {
        self.count.fetch_sub(number, Ordering::Relaxed);
    }
}

/// What the ops of a worker need of its engine.
pub(crate) struct OpsOptions {
    pub(crate) runtime: Arc<HostRuntime>,
    pub(crate) mailbox: Arc<dyn Mailbox>,
    pub(crate) count: Arc<PendingCount>,
    #[cfg(feature = "io")]
    pub(crate) io: super::IoOptions,
}

/// The ops of one run.
#[derive(Default)]
pub(super) struct OwnOps {
    /// Those that are pending, and some that are not any more: a run may have ten thousand, and each slice settles one.
    ids: Vec<OpId>,
    pending: usize,
}

impl OwnOps {
    /// Whether nothing is pending.
    pub(super) fn is_empty(&self) -> bool {
        self.pending == 0
    }
}

/// The ops of one isolate.
pub(super) struct Ops {
    options: Rc<OpsOptions>,
    /// The run whose slice goes on, and how many ops it may have.
    current: Cell<Option<(TaskId, usize)>>,
    /// Its ops.
    own: RefCell<OwnOps>,
    table: RefCell<FxHashMap<OpId, Op>>,
    pub(super) timers: RefCell<Timers<Due>>,
    /// Ops that are to be settled.
    woken: RefCell<VecDeque<(TaskId, OpId)>>,
    /// Runs whose number is known to a script, and who waits for their end.
    named: RefCell<FxHashSet<TaskId>>,
    joins: RefCell<FxHashMap<TaskId, Vec<OpId>>>,
    next: Cell<u64>,
    #[cfg(feature = "io")]
    pub(super) io: super::io::State,
}

struct Op {
    task: TaskId,
    target: Target,
    source: Source,
}

/// What of JavaScript an op settles.
enum Target {
    Promise(v8::Global<v8::PromiseResolver>),
    Callback(v8::Global<v8::Function>),
}

/// What an op waits for.
enum Source {
    /// A future of the host function of this name. `None` while it is being made.
    Future(Option<Abort>, Rc<str>),
    Timer(Option<TimerKey>),
    Join,
}

impl Ops {
    /// Makes the table of an isolate and leaves a reference with it. `next` is a number that no earlier op of the worker has had.
    pub(super) fn install(isolate: &mut v8::Isolate, options: Rc<OpsOptions>, next: u64) -> Rc<Self> {
        let ops = Rc::new(Ops {
            #[cfg(feature = "io")]
            io: super::io::State::new(&options.io),
            options,
            current: Cell::new(None),
            own: RefCell::default(),
            table: RefCell::default(),
            timers: RefCell::new(Timers::new()),
            woken: RefCell::default(),
            named: RefCell::default(),
            joins: RefCell::default(),
            next: Cell::new(next),
        });
        isolate.set_slot(ops.clone());
        ops
    }

    pub(super) fn of(isolate: &v8::Isolate) -> Option<Rc<Ops>> {
        isolate.get_slot::<Rc<Ops>>().cloned()
    }

    /// The number that the next op gets.
    pub(super) fn next(&self) -> u64 {
        self.next.get()
    }

    /// A slice of that run begins; these are its ops.
    pub(super) fn enter(&self, task: TaskId, meta: &Meta, own: OwnOps) {
        self.current.set(Some((task, meta.limits.pending)));
        *self.own.borrow_mut() = own;
        #[cfg(feature = "io")]
        self.io.enter(meta.io.as_ref());
    }

    /// The run that may begin ops.
    #[cfg(feature = "io")]
    pub(super) fn current(&self) -> Option<TaskId> {
        self.current.get().map(|(task, _)| task)
    }

    /// No run may begin ops: a script is being loaded. Says which one could.
    pub(super) fn pause(&self) -> Paused {
        Paused(self.current.take())
    }

    pub(super) fn unpause(&self, paused: Paused) {
        self.current.set(paused.0);
    }

    /// The slice is over: the ops of its run.
    pub(super) fn leave(&self) -> OwnOps {
        self.current.set(None);
        #[cfg(feature = "io")]
        self.io.leave();
        let mut own = std::mem::take(&mut *self.own.borrow_mut());
        self.tidy(&mut own);
        own
    }

    /// Forgets what is settled, once that is a good part.
    fn tidy(&self, own: &mut OwnOps) {
        if own.ids.len() > own.pending + own.pending / 4 {
            let table = self.table.borrow();
            own.ids.retain(|op| table.contains_key(op));
        }
    }

    /// Those ops are wanted no longer.
    pub(super) fn drop_all(&self, ops: OwnOps) {
        let gone: Vec<_> = ops.ids.into_iter().filter_map(|op| self.take(op)).collect();
        gone.into_iter().for_each(|op| self.end(op));
    }

    /// A run has ended: whoever waits for that is woken.
    pub(super) fn ended(&self, task: TaskId) {
        #[cfg(feature = "io")]
        self.io.handles.close_all(task);
        if !self.named.borrow_mut().remove(&task) {
            return;
        }
        let joins = self.joins.borrow_mut().remove(&task).unwrap_or_default();
        joins.into_iter().for_each(|op| self.wake(op));
    }

    /// An op that is to be settled, with its run.
    pub(super) fn pop_woken(&self) -> Option<(TaskId, OpId)> {
        self.woken.borrow_mut().pop_front()
    }

    pub(super) fn has_woken(&self) -> bool {
        !self.woken.borrow().is_empty()
    }

    /// Everything is dropped; the isolate goes.
    pub(super) fn clear(&self) {
        let ops: Vec<_> = self.table.borrow_mut().drain().map(|(_, op)| op).collect();
        self.options.count.remove(ops.len());
        ops.into_iter().for_each(|op| self.end(op));
        self.timers.borrow_mut().clear();
        self.woken.borrow_mut().clear();
        #[cfg(feature = "io")]
        self.io.handles.clear();
    }

    pub(super) fn len(&self) -> usize {
        self.table.borrow().len()
    }

    fn take(&self, op: OpId) -> Option<Op> {
        let entry = self.table.borrow_mut().remove(&op)?;
        self.options.count.remove(1);
        if self.current.get().is_some_and(|(task, _)| task == entry.task) {
            self.own.borrow_mut().pending -= 1;
        }
        Some(entry)
    }

    fn end(&self, op: Op) {
        match op.source {
            Source::Future(Some(abort), _) => abort.abort(),
            Source::Timer(Some(key)) => drop(self.timers.borrow_mut().remove(key)),
            Source::Future(None, _) | Source::Timer(None) | Source::Join => {}
        }
    }

    fn add(&self, target: Target, source: Source) -> std::result::Result<(TaskId, OpId), HostError> {
        let Some((task, limit)) = self.current.get() else {
            return Err(HostError::new(
                "nothing can be waited for while a script is loaded: call this inside of a function",
            ));
        };
        let mut own = self.own.borrow_mut();
        if own.pending >= limit {
            return Err(HostError::pending(limit, Scale::Call));
        }
        if !self.options.count.add() {
            return Err(HostError::pending(self.options.count.limit, Scale::Engine));
        }
        let op = OpId(self.next.get());
        self.next.set(op.0 + 1);
        own.pending += 1;
        own.ids.push(op);
        self.table.borrow_mut().insert(op, Op { task, target, source });
        Ok((task, op))
    }

    /// Begins a future of a host function; gives the promise of what it brings.
    pub(super) fn spawn<'s, F>(
        &self,
        scope: &mut v8::PinScope<'s, '_>,
        name: &Rc<str>,
        future: F,
    ) -> std::result::Result<(OpId, v8::Local<'s, v8::Promise>), HostError>
    where
        F: Future<Output = Outcome> + Send + 'static,
    {
        let Some(resolver) = v8::PromiseResolver::new(scope) else {
            return Err(HostError::new("the run is being stopped"));
        };
        let target = Target::Promise(v8::Global::new(scope, resolver));
        let (task, op) = self.add(target, Source::Future(None, name.clone()))?;
        let completion = Completion(Some(Destination { mailbox: self.options.mailbox.clone(), task, op }));
        let spawned = self.options.runtime.spawn(async move {
            let completion = completion;
            completion.tell(future.await);
        });
        match spawned {
            Ok(abort) => {
                if let Some(Op { source: Source::Future(place, _), .. }) = self.table.borrow_mut().get_mut(&op) {
                    *place = Some(abort);
                }
                Ok((op, resolver.get_promise(scope)))
            }
            Err(error) => {
                drop(self.take(op));
                Err(HostError::new(error.to_string()))
            }
        }
    }

    /// Calls `callback` at that moment.
    pub(super) fn timer(&self, at: Moment, callback: v8::Global<v8::Function>) -> std::result::Result<OpId, HostError> {
        self.timer_of(at, Target::Callback(callback))
    }

    /// A promise that is fulfilled at that moment, with nothing. It costs less than half of a timer with a callback that fulfils one.
    pub(super) fn sleep<'s>(
        &self,
        scope: &mut v8::PinScope<'s, '_>,
        at: Moment,
    ) -> std::result::Result<v8::Local<'s, v8::Promise>, HostError> {
        let Some(resolver) = v8::PromiseResolver::new(scope) else {
            return Err(HostError::new("the run is being stopped"));
        };
        self.timer_of(at, Target::Promise(v8::Global::new(scope, resolver)))?;
        Ok(resolver.get_promise(scope))
    }

    /// The sleep of the run whose slice goes on that is behind that promise. Looks through all that the run waits for.
    pub(super) fn sleeping(&self, scope: &mut v8::PinScope<'_, '_>, promise: v8::Local<'_, v8::Value>) -> Option<OpId> {
        let own = self.own.borrow();
        let table = self.table.borrow();
        own.ids.iter().copied().find(|id| match table.get(id) {
            Some(Op { target: Target::Promise(resolver), source: Source::Timer(_), .. }) => {
                let its: v8::Local<v8::Value> = v8::Local::new(scope, resolver).get_promise(scope).into();
                its.strict_equals(promise)
            }
            _ => false,
        })
    }

    /// A sleep is given up, and its promise rejected with that.
    pub(super) fn reject(&self, scope: &mut v8::PinScope<'_, '_>, op: OpId, error: v8::Local<'_, v8::Value>) {
        let is_sleep = matches!(
            self.table.borrow().get(&op),
            Some(Op { target: Target::Promise(_), source: Source::Timer(_), .. })
        );
        if is_sleep && let Some(op) = self.take(op) {
            if let Target::Promise(resolver) = &op.target {
                v8::Local::new(scope, resolver).reject(scope, error);
            }
            self.end(op);
        }
    }

    fn timer_of(&self, at: Moment, target: Target) -> std::result::Result<OpId, HostError> {
        let (task, op) = self.add(target, Source::Timer(None))?;
        let key = self.timers.borrow_mut().add(at, Due::Op(task, op));
        if let Some(op) = self.table.borrow_mut().get_mut(&op) {
            op.source = Source::Timer(key);
        }
        Ok(op)
    }

    /// Calls `callback` when that run has ended, or somebody wakes the op.
    pub(super) fn join(
        &self,
        other: TaskId,
        callback: v8::Global<v8::Function>,
    ) -> std::result::Result<OpId, HostError> {
        let (task, op) = self.add(Target::Callback(callback), Source::Join)?;
        if self.is_alive(other) {
            self.joins.borrow_mut().entry(other).or_default().push(op);
        } else {
            self.woken.borrow_mut().push_back((task, op));
        }
        Ok(op)
    }

    /// A join is to be settled.
    pub(super) fn wake(&self, op: OpId) {
        if let Some(Op { task, source: Source::Join, .. }) = self.table.borrow().get(&op) {
            self.woken.borrow_mut().push_back((*task, op));
        }
    }

    /// The run whose slice goes on wants to know no more of an op of its own.
    pub(super) fn cancel(&self, op: OpId) {
        let own = self.current.get().map(|(task, _)| task);
        if self.table.borrow().get(&op).is_some_and(|op| Some(op.task) == own)
            && let Some(op) = self.take(op)
        {
            self.end(op);
        }
    }

    /// The number of the run whose slice goes on.
    pub(super) fn name_current(&self) -> Option<TaskId> {
        let (task, _) = self.current.get()?;
        self.named.borrow_mut().insert(task);
        Some(task)
    }

    pub(super) fn is_alive(&self, task: TaskId) -> bool {
        self.named.borrow().contains(&task)
    }

    /// Settles an op of the run whose slice goes on. Nothing where that was done before.
    pub(super) fn settle(&self, scope: &mut v8::PinScope<'_, '_>, op: OpId, outcome: Option<Outcome>) -> Result<()> {
        let Some(Op { target, source, .. }) = self.take(op) else { return Ok(()) };
        match (target, outcome) {
            (Target::Callback(callback), _) => {
                let callback = v8::Local::new(scope, callback);
                vm::catch(scope, |scope| {
                    let this = v8::undefined(scope).into();
                    callback.call(scope, this, &[])
                })
                .map(drop)
            }
            (Target::Promise(_), Some(Outcome::Panicked)) => {
                let name = if let Source::Future(_, name) = &source { &**name } else { "" };
                if let Some(host) = Host::of(scope) {
                    host.set_panicked(format!("the host function `{name}`"));
                }
                Ok(())
            }
            (Target::Promise(resolver), None) if matches!(source, Source::Timer(_)) => {
                let nothing = v8::undefined(scope).into();
                v8::Local::new(scope, resolver).resolve(scope, nothing);
                Ok(())
            }
            (Target::Promise(resolver), outcome) => {
                let resolver = v8::Local::new(scope, resolver);
                self.resolve(scope, resolver, outcome);
                Ok(())
            }
        }
    }

    /// Settles a promise of the run whose slice goes on.
    pub(super) fn resolve<'s>(
        &self,
        scope: &mut v8::PinScope<'s, '_>,
        resolver: v8::Local<'s, v8::PromiseResolver>,
        outcome: Option<Outcome>,
    ) {
        let error = match outcome {
            Some(Outcome::Value(encoded)) => match vm::decode(scope, encoded) {
                Ok(value) => {
                    resolver.resolve(scope, value);
                    return;
                }
                Err(error) => vm::exception_of(scope, &HostError::new(error.to_string())),
            },
            #[cfg(feature = "io")]
            Some(Outcome::Io(answer)) => match self.io.value(scope, self.current(), answer) {
                Ok(value) => {
                    resolver.resolve(scope, value);
                    return;
                }
                Err(exception) => exception,
            },
            Some(Outcome::Error(error)) => vm::exception_of(scope, &error),
            _ => {
                let error = HostError::new("the host's runtime has ended before its function had");
                vm::exception_of(scope, &error)
            }
        };
        if let Some(error) = error {
            resolver.reject(scope, error);
        }
    }

    /// An op of the run whose slice goes on is given up, and its promise rejected. Nothing where it is settled.
    #[cfg(feature = "io")]
    pub(super) fn give_up(&self, scope: &mut v8::PinScope<'_, '_>, op: OpId, why: super::io::Fault) {
        let Some(op) = self.take(op) else { return };
        if let Target::Promise(resolver) = &op.target {
            let resolver = v8::Local::new(scope, resolver);
            self.resolve(scope, resolver, Some(Outcome::Io(Err(why))));
        }
        self.end(op);
    }

    /// Whether it is not settled yet.
    #[cfg(feature = "io")]
    pub(super) fn is_pending(&self, op: OpId) -> bool {
        self.table.borrow().contains_key(&op)
    }
}

/// The run that may begin ops again.
#[must_use]
pub(super) struct Paused(Option<(TaskId, usize)>);

/// Tells the worker what a future has ended with, however it ends.
struct Completion(Option<Destination>);

struct Destination {
    mailbox: Arc<dyn Mailbox>,
    task: TaskId,
    op: OpId,
}

impl Destination {
    fn tell(self, outcome: Outcome) {
        self.mailbox.post(Note::Done(self.task, self.op, outcome));
    }
}

impl Completion {
    fn tell(mut self, outcome: Outcome) {
        if let Some(destination) = self.0.take() {
            destination.tell(outcome);
        }
    }
}

impl Drop for Completion {
    fn drop(&mut self) {
        if let Some(destination) = self.0.take() {
            destination.tell(if std::thread::panicking() { Outcome::Panicked } else { Outcome::Dropped });
        }
    }
}
