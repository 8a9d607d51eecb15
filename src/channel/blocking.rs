//! Where calls of the operating system that may block are made: threads of their own, few in number.
//!
//! The threads are those of tokio's blocking pool, in a runtime that nothing drives. So they are bounded apart from the pool of the
//! embedder's runtime, whose shutdown never waits for a call that does not return.

use std::future::Future;
use std::pin::Pin;
use std::sync::OnceLock;
use std::task::{Context, Poll};
use std::time::Duration;

use crate::error::{Error, Result};

/// How long a thread without work stays.
const KEEP: Duration = Duration::from_secs(10);

/// A bounded set of threads for calls that block, started when they are first needed. Further calls wait for a thread.
#[derive(Debug)]
pub(crate) struct BlockingPool {
    threads: usize,
    runtime: OnceLock<Option<tokio::runtime::Runtime>>,
}

/// A call on its way. Dropping it takes the call back, unless it has begun.
pub(crate) struct Blocking<T>(tokio::task::JoinHandle<T>);

impl BlockingPool {
    pub(crate) fn new(threads: usize) -> Self {
        BlockingPool { threads, runtime: OnceLock::new() }
    }

    /// Makes a call on one of the threads.
    pub(crate) fn run<T: Send + 'static>(&self, call: impl FnOnce() -> T + Send + 'static) -> Result<Blocking<T>> {
        Ok(Blocking(self.runtime()?.spawn_blocking(call)))
    }

    /// The same without anybody who waits for it.
    pub(crate) fn detach(&self, call: impl FnOnce() + Send + 'static) {
        if let Ok(runtime) = self.runtime() {
            runtime.spawn_blocking(call);
        }
    }

    fn runtime(&self) -> Result<&tokio::runtime::Runtime> {
        let runtime = self.runtime.get_or_init(|| {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .max_blocking_threads(self.threads)
                .thread_keep_alive(KEEP)
                .thread_name("jsmill-blocking")
                .build();
            runtime.inspect_err(|error| tracing::error!(target: "jsmill", %error, "no threads for files")).ok()
        });
        runtime.as_ref().ok_or_else(|| Error::config("the threads for files could not be made; see the log"))
    }
}

impl<T> Future for Blocking<T> {
    /// `None` where the call was never made, or panicked.
    type Output = Option<T>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<T>> {
        Pin::new(&mut self.0).poll(context).map(std::result::Result::ok)
    }
}

impl<T> Drop for Blocking<T> {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl Drop for BlockingPool {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take().flatten() {
            runtime.shutdown_background();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::sync::{Arc, mpsc};

    use super::*;

    #[tokio::test]
    async fn no_more_calls_at_a_time_than_threads() {
        let pool = BlockingPool::new(2);
        let (now, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let calls: Vec<_> = (0..8)
            .map(|number| {
                let (now, most) = (now.clone(), most.clone());
                let call = move || {
                    most.fetch_max(now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                    std::thread::sleep(Duration::from_millis(5));
                    now.fetch_sub(1, Ordering::SeqCst);
                    number
                };
                pool.run(call).unwrap()
            })
            .collect();
        for (number, call) in calls.into_iter().enumerate() {
            assert_eq!(call.await, Some(number));
        }
        assert_eq!(most.load(Ordering::SeqCst), 2);
    }

    #[tokio::test]
    async fn a_call_that_has_not_begun_is_taken_back_and_a_detached_one_is_not() {
        let pool = BlockingPool::new(1);
        let (release, blocked) = mpsc::channel::<()>();
        let first = pool.run(move || blocked.recv()).unwrap();
        let (said, heard) = mpsc::channel();
        let late = said.clone();
        drop(pool.run(move || late.send("dropped")).unwrap());
        pool.detach(move || said.send("detached").unwrap());
        release.send(()).unwrap();
        assert_eq!(first.await, Some(Ok(())));
        assert_eq!(heard.iter().collect::<Vec<_>>(), ["detached"]);
    }

    #[test]
    fn a_call_that_does_not_return_holds_nobody_up() {
        let pool = BlockingPool::new(1);
        let (_release, blocked) = mpsc::channel::<()>();
        pool.detach(move || assert!(blocked.recv().is_err()));
        drop(pool);
    }
}
