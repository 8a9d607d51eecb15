//! Files and sockets for scripts: what `js/io.js` does with the host.
//!
//! - [`Io`] (`grants`, with `rule` for addresses) is what a run may do; `fault` what a script is told otherwise.
//! - `handles` are what the runs of a worker have open: `files` and `sockets`, whose bytes `lines` cuts.
//! - `serve` are the services behind the native function. Each is an op of its run, like the future of a host function.
//!
//! Invariant: a worker makes no call of the system that may block. It does not know tasks, slices, or caches.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use super::TaskId;
use crate::channel::BlockingPool;
use crate::clock::Moment;
use crate::vm;

mod fault;
mod files;
mod grants;
mod handles;
mod lines;
mod rule;
mod serve;
mod sockets;

pub(crate) use fault::Fault;
pub use grants::Io;
pub(crate) use handles::{Handles, Resource};
pub(super) use serve::serve;

/// The number of the first service of this module among those of the native function.
pub(super) const FIRST: u32 = 32;

/// How long a slice may go on with what is ready at once, before other runs get their turn.
const TURN: Duration = Duration::from_millis(2);

/// What an operation has brought.
#[derive(Debug)]
pub(crate) enum Answer {
    /// A new handle.
    Opened(Resource),
    Bytes(Vec<u8>),
    Text(String),
    Count(usize),
    /// There is nothing more to be read.
    End,
    /// What gives no value is done.
    Done,
}

/// What the services of a worker need of its engine.
pub(crate) struct IoOptions {
    pub(crate) handles: Arc<Handles>,
    pub(crate) pool: Arc<BlockingPool>,
}

/// The services' state in one isolate.
pub(super) struct State {
    pub(super) handles: Arc<Handles>,
    pool: Arc<BlockingPool>,
    /// What errors call an operation that panicked.
    name: Rc<str>,
    /// What the run whose slice goes on may do.
    grant: RefCell<Option<Io>>,
    /// When the slice began.
    began: Cell<Moment>,
}

impl State {
    pub(super) fn new(options: &IoOptions) -> Self {
        State {
            handles: options.handles.clone(),
            pool: options.pool.clone(),
            name: "io".into(),
            grant: RefCell::new(None),
            began: Cell::new(Moment::NEVER),
        }
    }

    /// A slice of a run with that grant begins.
    pub(super) fn enter(&self, grant: Option<&Io>) {
        *self.grant.borrow_mut() = grant.cloned();
        // Looked at when something is first done.
        self.began.set(Moment::NEVER);
    }

    /// The slice is over.
    pub(super) fn leave(&self) {
        // The directory of a grant is open for as long as anybody has the grant.
        drop(self.grant.take());
    }

    fn grant(&self) -> Option<Io> {
        self.grant.borrow().clone()
    }

    /// Whether the slice may go on with what is ready, or is to make room for others.
    fn may_go_on(&self) -> bool {
        let now = Moment::now();
        if self.began.get() == Moment::NEVER {
            self.began.set(now);
        }
        now.since(self.began.get()) < TURN
    }

    /// What a script gets, or what is thrown: none where V8 has no memory for that. What was opened is kept for the run.
    pub(super) fn value<'s>(
        &self,
        scope: &mut v8::PinScope<'s, '_>,
        task: Option<TaskId>,
        answer: Result<Answer, Fault>,
    ) -> Result<v8::Local<'s, v8::Value>, Option<v8::Local<'s, v8::Value>>> {
        let fault = match answer {
            Ok(Answer::Opened(resource)) => {
                let most = self.grant.borrow().as_ref().map_or(0, Io::max_handles);
                let task = task.ok_or_else(|| Fault::new("the run has ended"));
                match task.and_then(|task| self.handles.add(task, resource, most)) {
                    Ok(number) => return Ok(v8::Number::new(scope, number as f64).into()),
                    Err(fault) => fault,
                }
            }
            Ok(Answer::Bytes(bytes)) => match vm::bytes(scope, bytes) {
                Ok(array) => return Ok(array.into()),
                Err(error) => error.into(),
            },
            Ok(Answer::Text(text)) => match v8::String::new(scope, &text) {
                Some(text) => return Ok(text.into()),
                None => Fault::new("the text is longer than V8's longest string"),
            },
            Ok(Answer::Count(count)) => return Ok(v8::Number::new(scope, count as f64).into()),
            Ok(Answer::End) => return Ok(v8::null(scope).into()),
            Ok(Answer::Done) => return Ok(v8::undefined(scope).into()),
            Err(fault) => fault,
        };
        Err(fault.exception(scope))
    }
}
