//! Files and sockets for scripts: what is granted, what is done, and that nothing stays open.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use jsmill::{Args, Engine, Error, Io, Result, Script};
use serde_json::Value;

use crate::support::SLACK;

mod confinement;
mod ends;
mod files;
mod slow;
mod sockets;

/// A directory of a test, gone with it.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("jsmill-io-{}-{number}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Folder(path.canonicalize().unwrap())
    }

    fn path(&self) -> &Path {
        &self.0
    }

    fn put(&self, name: &str, content: impl AsRef<[u8]>) {
        std::fs::write(self.0.join(name), content).unwrap();
    }

    fn get(&self, name: &str) -> Vec<u8> {
        std::fs::read(self.0.join(name)).unwrap()
    }

    fn fifo(&self, name: &str) -> PathBuf {
        let path = self.0.join(name);
        assert!(std::process::Command::new("mkfifo").arg(&path).status().unwrap().success());
        path
    }

    /// How many descriptors of this process are open on files in here.
    fn open(&self) -> usize {
        let open = std::fs::read_dir("/proc/self/fd").unwrap();
        // One may be closed while the list is read.
        open.filter_map(|entry| std::fs::read_link(entry.unwrap().path()).ok())
            .filter(|to| to.starts_with(&self.0))
            .count()
    }

    fn writable(&self) -> Io {
        Io::new().writable_files(&self.0)
    }

    fn readable(&self) -> Io {
        Io::new().files(&self.0)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Loopback, at any port.
fn loopback() -> Io {
    Io::new().listen("127.0.0.1:0").connect("127.0.0.1:*")
}

/// Calls the async function `main` under a grant. On a loaded machine a slice may take long.
fn main(engine: &Engine, script: &Arc<Script>, io: Io, args: impl Args) -> Result<Value> {
    engine.task(script).io(io).timeout(SLACK).call_async_blocking("main", args)
}

/// What was thrown.
#[track_caller]
fn message(error: &Error) -> String {
    error.script_error().unwrap_or_else(|| panic!("{error}")).message.clone()
}
