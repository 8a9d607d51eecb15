//! What the runs of one worker have open.
//!
//! Invariant: a handle belongs to one run, and is closed when that ends. A number is never used twice, so that a script that keeps one too
//! long gets an error and not somebody else's file. The table may be shut from another thread, when the worker is lost.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use parking_lot::Mutex;
use rustc_hash::{FxHashMap, FxHashSet};

use super::Fault;
use super::files::File;
use super::sockets::{Listener, Socket};
use crate::exec::{OpId, TaskId};

/// What a handle stands for.
#[derive(Clone, Debug)]
pub(crate) enum Resource {
    File(Arc<File>),
    Socket(Arc<Socket>),
    Listener(Arc<Listener>),
}

/// What an operation does with its handle. One of each at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    /// Reads, or accepts.
    Read,
    Write,
}

#[derive(Debug)]
struct Entry {
    task: TaskId,
    resource: Resource,
}

/// The open handles of one worker.
#[derive(Debug, Default)]
pub(crate) struct Handles {
    table: Mutex<Table>,
    /// How many there are, for whoever only wants to know whether there are any.
    count: AtomicUsize,
}

#[derive(Debug, Default)]
struct Table {
    entries: FxHashMap<u64, Entry>,
    runs: FxHashMap<TaskId, FxHashSet<u64>>,
    /// The last operation of each side of a handle that has waited for one. It may be over.
    ops: FxHashMap<u64, [OpId; 2]>,
    last: u64,
    shut: bool,
}

/// No operation has this number.
const NONE: OpId = OpId(0);

impl Handles {
    /// Keeps what a run has opened; gives its number.
    pub(super) fn add(&self, task: TaskId, resource: Resource, most: usize) -> Result<u64, Fault> {
        let mut table = self.table.lock();
        // Beyond the lock, closing may take its time.
        if table.shut {
            drop(table);
            return Err(Fault::new("the worker of this run was given up"));
        }
        if table.open(task) >= most {
            drop(table);
            return Err(too_many(most));
        }
        table.last += 1;
        let number = table.last;
        table.entries.insert(number, Entry { task, resource });
        table.runs.entry(task).or_default().insert(number);
        self.count.fetch_add(1, Ordering::Relaxed);
        Ok(number)
    }

    /// Whether a run may open one more.
    pub(super) fn check_room(&self, task: TaskId, most: usize) -> Result<(), Fault> {
        if self.table.lock().open(task) < most { Ok(()) } else { Err(too_many(most)) }
    }

    /// What a handle of a run stands for, and the last operation on that side of it.
    pub(super) fn get(&self, task: TaskId, number: u64, side: Side) -> Result<(Resource, OpId), Fault> {
        let table = self.table.lock();
        match table.entries.get(&number) {
            Some(entry) if entry.task == task => {
                let op = table.ops.get(&number).map_or(NONE, |ops| ops[side as usize]);
                Ok((entry.resource.clone(), op))
            }
            Some(_) => Err(foreign()),
            None => Err(closed()),
        }
    }

    /// An operation has begun.
    pub(super) fn begun(&self, number: u64, side: Side, op: OpId) {
        let mut table = self.table.lock();
        if table.entries.contains_key(&number) {
            table.ops.entry(number).or_insert([NONE; 2])[side as usize] = op;
        }
    }

    /// Takes a handle out; gives its last operations as well. `None` where it is closed already.
    pub(super) fn remove(&self, task: TaskId, number: u64) -> Result<Option<(Resource, [OpId; 2])>, Fault> {
        let mut table = self.table.lock();
        match table.entries.get(&number) {
            None => return Ok(None),
            Some(entry) if entry.task != task => return Err(foreign()),
            Some(_) => {}
        }
        let entry = table.entries.remove(&number);
        let ops = table.ops.remove(&number).unwrap_or([NONE; 2]);
        if let Some(numbers) = table.runs.get_mut(&task) {
            numbers.remove(&number);
            if numbers.is_empty() {
                table.runs.remove(&task);
            }
        }
        self.count.fetch_sub(1, Ordering::Relaxed);
        Ok(entry.map(|entry| (entry.resource, ops)))
    }

    /// A run has ended.
    pub(in crate::exec) fn close_all(&self, task: TaskId) {
        if self.count.load(Ordering::Relaxed) == 0 {
            return;
        }
        let closed: Vec<_> = {
            let mut table = self.table.lock();
            let numbers = table.runs.remove(&task).unwrap_or_default();
            let close = |number| {
                table.ops.remove(&number);
                table.entries.remove(&number)
            };
            numbers.into_iter().filter_map(close).collect()
        };
        self.count.fetch_sub(closed.len(), Ordering::Relaxed);
    }

    /// All runs have ended.
    pub(in crate::exec) fn clear(&self) {
        let entries = {
            let mut table = self.table.lock();
            table.runs.clear();
            table.ops.clear();
            std::mem::take(&mut table.entries)
        };
        self.count.fetch_sub(entries.len(), Ordering::Relaxed);
    }

    /// The worker is lost: what it has open is closed, and it opens nothing more.
    pub(crate) fn shut(&self) {
        self.table.lock().shut = true;
        self.clear();
    }
}

impl Table {
    fn open(&self, task: TaskId) -> usize {
        self.runs.get(&task).map_or(0, FxHashSet::len)
    }
}

fn too_many(most: usize) -> Fault {
    let message = format!("this run has {most} handles open, the most that `Io::handles` allows: close some of them");
    Fault::new(message).with_code("EMFILE")
}

fn closed() -> Fault {
    Fault::new("the handle is closed: by `close`, or by the end of the run that opened it").with_code("EBADF")
}

fn foreign() -> Fault {
    Fault::new("the handle belongs to another run: each run opens its own").with_code("EBADF")
}
