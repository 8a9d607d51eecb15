//! Where the futures of host functions run.

use std::future::Future;
use std::sync::OnceLock;

use crate::error::{Error, Result};

/// The runtime of an engine's host functions: one that it was given, or a small one of its own, started when it is first needed.
#[derive(Debug)]
pub(crate) struct HostRuntime {
    given: Option<tokio::runtime::Handle>,
    own: OnceLock<Option<tokio::runtime::Runtime>>,
}

/// Ends a future. Dropping it leaves the future alone.
#[derive(Debug)]
pub(crate) struct Abort(tokio::task::AbortHandle);

impl HostRuntime {
    pub(crate) fn new(given: Option<tokio::runtime::Handle>) -> Self {
        HostRuntime { given, own: OnceLock::new() }
    }

    fn handle(&self) -> Result<&tokio::runtime::Handle> {
        if let Some(given) = &self.given {
            return Ok(given);
        }
        let own = self.own.get_or_init(|| {
            let runtime = tokio::runtime::Builder::new_multi_thread()
                .worker_threads(1)
                .thread_name("jsmill-host")
                .enable_all()
                .build();
            runtime.inspect_err(|error| tracing::error!(target: "jsmill", %error, "no runtime for host functions")).ok()
        });
        let own = own.as_ref().map(tokio::runtime::Runtime::handle);
        own.ok_or_else(|| {
            Error::config("the engine's own runtime for host functions could not be started; see the log")
        })
    }

    /// Runs a future to its end.
    pub(crate) fn spawn(&self, future: impl Future<Output = ()> + Send + 'static) -> Result<Abort> {
        Ok(Abort(self.handle()?.spawn(future).abort_handle()))
    }
}

impl Abort {
    pub(crate) fn abort(self) {
        self.0.abort();
    }
}

impl Drop for HostRuntime {
    fn drop(&mut self) {
        // Not by its own drop, which waits, and panics inside of another runtime.
        if let Some(runtime) = self.own.take().flatten() {
            runtime.shutdown_background();
        }
    }
}
