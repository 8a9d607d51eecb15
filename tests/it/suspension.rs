//! Runs over several slices: generators, async functions, what they wait for, and every way in which they end.
//!
//! What a script has done is seen by its notes ([`Notes`]), and what has become of a host's future by [`Futures`].

mod aio;
mod asynchronous;
mod cancel;
mod cases;
mod closing;
mod collected;
mod deadlines;
mod generators;
mod gone;
mod heaps;
mod limits;
mod memory;
mod others;
mod panics;
mod room;
mod schedules;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use jsmill::{Engine, HostError, Result, Run, TaskBuilder};
use serde_json::Value;

use crate::support::eventually;

/// What scripts have noted with a host function.
#[derive(Clone, Default)]
struct Notes(Arc<Mutex<Vec<String>>>);

impl Notes {
    /// The host function `note`.
    fn function(&self) -> impl Fn(String) -> Result<(), HostError> + Send + Sync + 'static {
        let notes = self.0.clone();
        move |text| {
            notes.lock().expect("no panic while it is held").push(text);
            Ok(())
        }
    }

    /// What was noted since the last look.
    fn take(&self) -> Vec<String> {
        std::mem::take(&mut self.0.lock().expect("no panic while it is held"))
    }
}

/// Futures of a host function that never end by themselves: how many were begun, and how many live.
#[derive(Clone, Default)]
struct Futures(Arc<Counts>);

#[derive(Default)]
struct Counts {
    begun: AtomicUsize,
    dropped: AtomicUsize,
}

/// One of them.
struct Guard(Arc<Counts>);

impl Drop for Guard {
    fn drop(&mut self) {
        self.0.dropped.fetch_add(1, Ordering::SeqCst);
    }
}

impl Futures {
    fn guard(&self) -> Guard {
        self.0.begun.fetch_add(1, Ordering::SeqCst);
        Guard(self.0.clone())
    }

    /// The host function: a future that never ends.
    fn function(
        &self,
    ) -> impl Fn() -> std::pin::Pin<Box<dyn Future<Output = Result<u32, HostError>> + Send>> + Send + Sync + 'static
    {
        let futures = self.clone();
        move || {
            let guard = futures.guard();
            Box::pin(async move {
                let _guard = guard;
                std::future::pending().await
            })
        }
    }

    fn begun(&self) -> usize {
        self.0.begun.load(Ordering::SeqCst)
    }

    fn live(&self) -> usize {
        self.begun() - self.0.dropped.load(Ordering::SeqCst)
    }
}

/// Runs a generator to its end; nothing of what it yields is answered.
async fn driven(task: TaskBuilder<'_>, function: &str) -> Result<Value> {
    let mut run: Run<Value, (), Value> = task.generate(function, ())?;
    while run.next().await?.is_some() {}
    run.finish().await
}

/// Calls the function in the way that its name asks for: `g..` is a generator, `a..` is async.
async fn end_of(task: TaskBuilder<'_>, function: &str) -> Result<Value> {
    if function.starts_with('g') { driven(task, function).await } else { task.call_async(function, ()).await }
}

/// No worker holds a run or anything that a run waits for.
#[track_caller]
fn nothing_is_left(engine: &Engine) {
    // Workers renew these figures every 100 ms.
    std::thread::sleep(Duration::from_millis(250));
    eventually("no run is held, and nothing is pending", || {
        engine.stats().workers.iter().all(|worker| worker.live == 0 && worker.pending == 0)
    });
}
