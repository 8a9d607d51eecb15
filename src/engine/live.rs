//! The current snapshot of something that is replaced while it is used.

use std::fmt;
use std::sync::Arc;

use arc_swap::ArcSwap;
use tokio::sync::watch;

use super::{Engine, prepare};
use crate::error::Result;
use crate::script::Script;

/// Something of which there is a current version. Clones share it.
///
/// Calls take the snapshot that is current when they are made, and keep it to their end: a swap disturbs no running call, and no call
/// sees parts of two versions.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> jsmill::Result<()> {
/// use jsmill::{Engine, Live, Script};
/// let engine = Engine::builder().workers(1).build()?;
/// let script = Live::new(Script::new("v.js", "const version = () => 1;")?);
/// assert_eq!(engine.task(&script).call::<u32>("version", ()).await?, 1);
/// script.store(&engine, Script::new("v.js", "const version = () => 2;")?).await?;
/// assert_eq!(engine.task(&script).call::<u32>("version", ()).await?, 2);
/// # Ok(())
/// # }
/// ```
pub struct Live<T> {
    inner: Arc<Inner<T>>,
}

struct Inner<T> {
    current: ArcSwap<T>,
    swaps: watch::Sender<u64>,
}

/// Tells of swaps. Made by [`Live::watch`].
pub struct Watch<T> {
    live: Live<T>,
    swaps: watch::Receiver<u64>,
}

impl<T> Live<T> {
    /// Begins with this snapshot.
    pub fn new(snapshot: Arc<T>) -> Self {
        Live { inner: Arc::new(Inner { current: ArcSwap::new(snapshot), swaps: watch::Sender::new(0) }) }
    }

    /// The current snapshot.
    pub fn load(&self) -> Arc<T> {
        self.inner.current.load_full()
    }

    /// Replaces the snapshot at once; gives the one before. Nothing is warmed: the next calls load the script on their workers.
    pub fn store_now(&self, snapshot: Arc<T>) -> Arc<T> {
        let before = self.inner.current.swap(snapshot);
        self.inner.swaps.send_modify(|swaps| *swaps += 1);
        before
    }

    /// How often the snapshot was replaced.
    pub fn swaps(&self) -> u64 {
        *self.inner.swaps.borrow()
    }

    /// A watch that tells of every swap from now on.
    pub fn watch(&self) -> Watch<T> {
        Watch { live: self.clone(), swaps: self.inner.swaps.subscribe() }
    }
}

impl Live<Script> {
    /// Replaces the snapshot after every worker of the engine has loaded the new one: no call waits for a compilation.
    ///
    /// Calls that are made after this has returned see the new version. Of two stores at the same time, the one that is ready last
    /// wins. Cancel safe: dropped before it is ready, it changes nothing.
    ///
    /// # Errors
    /// What loading the new script gives, on any worker: then the old one stays.
    pub async fn store(&self, engine: &Engine, snapshot: Arc<Script>) -> Result<()> {
        prepare::on_every_worker(engine, &snapshot, None).await?;
        drop(self.store_now(snapshot));
        engine.shared().expire();
        Ok(())
    }
}

impl<T> Watch<T> {
    /// Waits for a swap that this watch has not told of yet, and gives the snapshot that is current then. Swaps in between are not
    /// counted one by one. Cancel safe.
    pub async fn changed(&mut self) -> Arc<T> {
        // The sender lives in `live`, so that this cannot fail.
        let _ = self.swaps.changed().await;
        self.live.load()
    }
}

/// Where a call takes its snapshot from: an `Arc<Script>`, which is one, or a [`Live`] script, which holds one.
pub trait Snapshot: Send + Sync {
    /// The snapshot for a call that is made now.
    fn snapshot(&self) -> Arc<Script>;
}

impl Snapshot for Arc<Script> {
    fn snapshot(&self) -> Arc<Script> {
        self.clone()
    }
}

impl Snapshot for Live<Script> {
    fn snapshot(&self) -> Arc<Script> {
        self.load()
    }
}

impl<T: fmt::Debug> fmt::Debug for Watch<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Watch").field("live", &self.live).finish_non_exhaustive()
    }
}

impl<T> Clone for Live<T> {
    fn clone(&self) -> Self {
        Live { inner: self.inner.clone() }
    }
}

impl<T: fmt::Debug> fmt::Debug for Live<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Live").field("current", &self.load()).field("swaps", &self.swaps()).finish()
    }
}
