//! The folder of scripts: read at the start, watched from then on, and each script swapped when its file has changed.
//!
//! A version that cannot be compiled or loaded is refused, and the one before goes on. Whoever replaces a file should write it
//! elsewhere and rename it: a file that is half written is a version like any other.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use jsmill::{Engine, Live, Script};
use notify::{RecommendedWatcher, RecursiveMode, Watcher};
use serde::Serialize;
use tokio::sync::mpsc;

/// Changes that follow each other within this time are read at once.
const SETTLE: Duration = Duration::from_millis(20);

/// The scripts that the service needs.
pub struct Scripts {
    folder: PathBuf,
    pub price: Entry,
    pub delivery: Entry,
}

/// One of them.
pub struct Entry {
    file: &'static str,
    pub live: Live<Script>,
    seen: Mutex<Seen>,
}

/// The newest source, whether it is in use or not.
struct Seen {
    source: String,
    revision: u64,
    refused: Option<String>,
}

/// What there is to know of a script.
#[derive(Serialize)]
pub struct State {
    file: &'static str,
    version: String,
    swaps: u64,
    /// Why the newest version of the file is not the current one.
    refused: Option<String>,
}

impl Scripts {
    pub fn read(folder: &Path) -> Result<Self, Box<dyn std::error::Error + Send + Sync>> {
        let (price, delivery) = (Entry::read(folder, "price.js")?, Entry::read(folder, "delivery.js")?);
        Ok(Scripts { folder: folder.to_owned(), price, delivery })
    }

    pub fn all(&self) -> [&Entry; 2] {
        [&self.price, &self.delivery]
    }

    /// Swaps scripts when their files change, for as long as the watcher that it gives is held.
    pub fn watch(self: &Arc<Self>, engine: &Engine) -> notify::Result<RecommendedWatcher> {
        // Room for one: a change while one is waiting is the same news.
        let (changed, mut changes) = mpsc::channel(1);
        let mut watcher = notify::recommended_watcher(move |event: notify::Result<notify::Event>| match event {
            // Reading a file is an event as well.
            Ok(event) if event.kind.is_access() => {}
            Ok(_) => drop(changed.try_send(())),
            Err(error) => eprintln!("scripts: the folder cannot be watched: {error}"),
        })?;
        watcher.watch(&self.folder, RecursiveMode::NonRecursive)?;
        let (scripts, engine) = (self.clone(), engine.clone());
        tokio::spawn(async move {
            // At once, for what has changed between the start and the watch; then whenever something does.
            loop {
                for entry in scripts.all() {
                    entry.renew(&scripts.folder, &engine).await;
                }
                if changes.recv().await.is_none() {
                    return;
                }
                tokio::time::sleep(SETTLE).await;
            }
        });
        Ok(watcher)
    }
}

impl Entry {
    fn read(folder: &Path, file: &'static str) -> Result<Self, Box<dyn std::error::Error + Send + Sync>> {
        let path = folder.join(file);
        let source = std::fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        let live = Live::new(script(file, &source, 1)?);
        Ok(Entry { file, live, seen: Mutex::new(Seen { source, revision: 1, refused: None }) })
    }

    /// Takes the file's new version, if there is one.
    async fn renew(&self, folder: &Path, engine: &Engine) {
        let source = match std::fs::read_to_string(folder.join(self.file)) {
            Ok(source) => source,
            // Between two names, or deleted: the current version stays.
            Err(error) if error.kind() == io::ErrorKind::NotFound => return,
            Err(error) => return self.refuse(error.to_string()),
        };
        let revision = {
            let mut seen = self.seen.lock().expect("nobody panics with it");
            if seen.source == source {
                return;
            }
            seen.source.clone_from(&source);
            seen.revision += 1;
            seen.revision
        };
        let stored = match script(self.file, &source, revision) {
            Ok(script) => self.live.store(engine, script).await,
            Err(error) => Err(error),
        };
        match stored {
            Ok(()) => self.seen.lock().expect("nobody panics with it").refused = None,
            Err(error) => self.refuse(error.to_string()),
        }
    }

    fn refuse(&self, why: String) {
        eprintln!("scripts: {} is refused, its former version stays: {why}", self.file);
        self.seen.lock().expect("nobody panics with it").refused = Some(why);
    }

    pub fn state(&self) -> State {
        let refused = self.seen.lock().expect("nobody panics with it").refused.clone();
        State { file: self.file, version: self.live.load().version().to_owned(), swaps: self.live.swaps(), refused }
    }
}

fn script(file: &str, source: &str, revision: u64) -> jsmill::Result<Arc<Script>> {
    Script::builder(file).source(source).version(format!("r{revision}")).build()
}
