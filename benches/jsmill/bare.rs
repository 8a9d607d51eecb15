//! The least that one could write by hand: one thread with an isolate, a bounded channel to it, a oneshot back for each call.
//!
//! No limits, no caches, no errors, one function of one signature: what an engine for everything is measured against.

use std::thread::JoinHandle;

use crossbeam_channel::{Sender, bounded};
use tokio::sync::oneshot;

use crate::raw;

struct Job {
    quantity: f64,
    unit: f64,
    code: String,
    reply: oneshot::Sender<f64>,
}

/// The thread, and the way to it.
pub struct Bare {
    jobs: Option<Sender<Job>>,
    thread: Option<JoinHandle<()>>,
}

/// A caller's end.
#[derive(Clone)]
pub struct Caller(Sender<Job>);

impl Bare {
    pub fn start() -> Self {
        let (jobs, inbox) = bounded::<Job>(1_024);
        let thread = std::thread::spawn(move || {
            raw::with_function(|scope, function| {
                for job in inbox {
                    let price = raw::price(scope, function, (job.quantity, job.unit, &job.code));
                    // A caller that is gone needs no answer.
                    let _ = job.reply.send(price);
                }
            });
        });
        Bare { jobs: Some(jobs), thread: Some(thread) }
    }

    pub fn caller(&self) -> Caller {
        Caller(self.jobs.clone().expect("the thread runs until this is dropped"))
    }
}

impl Caller {
    pub async fn price(&self, (quantity, unit, code): (f64, f64, &str)) -> f64 {
        let (reply, answer) = oneshot::channel();
        // Never blocks: there are fewer callers than places in the channel.
        self.0.send(Job { quantity, unit, code: code.to_owned(), reply }).expect("the thread runs");
        answer.await.expect("the thread answers")
    }
}

impl Drop for Bare {
    fn drop(&mut self) {
        self.jobs = None;
        if let Some(thread) = self.thread.take() {
            thread.join().expect("the thread ends well");
        }
    }
}
