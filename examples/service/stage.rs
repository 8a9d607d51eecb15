//! The self-test's own folder of scripts, in which it plays the operator: new versions, and a hostile one.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::time::Instant;

use crate::app::{App, Fallible};
use crate::right::Route;
use crate::scripts::Entry;

/// What a swap may take, from the file to the workers.
const PATIENCE: Duration = Duration::from_secs(10);
/// The order on which the hostile version never returns.
pub const HOSTILE: (u32, u32) = (5, 2);

/// The folder, and the number of the newest version.
pub struct Stage {
    pub folder: PathBuf,
    version: AtomicU64,
}

impl Stage {
    /// Makes the folder anew, with the first versions.
    pub fn new(folder: PathBuf) -> Fallible<Self> {
        match fs::remove_dir_all(&folder) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error.into()),
            _ => {}
        }
        fs::create_dir_all(&folder)?;
        let stage = Stage { folder, version: AtomicU64::new(1) };
        for route in [Route::Price, Route::Delivery] {
            stage.write(route, source(route))?;
        }
        Ok(stage)
    }

    /// Writes the next version of a script, and waits until the service uses it. Gives the time of that.
    pub async fn swap(&self, app: &App, route: Route) -> Fallible<Duration> {
        self.store(app, route, self.next(route)).await
    }

    /// The next version of the price, but for one order it is an endless loop.
    pub async fn hostile(&self, app: &App) -> Fallible<Duration> {
        let (item, zone) = HOSTILE;
        let trap = format!("while (order.item === {item} && order.zone === {zone});");
        let honest = self.next(Route::Price).replace("function* main(", "function* honest(");
        let hostile = format!("{honest}\nfunction* main(order) {{\n    {trap}\n    return yield* honest(order);\n}}\n");
        self.store(app, Route::Price, hostile).await
    }

    fn next(&self, route: Route) -> String {
        let version = self.version.fetch_add(1, Ordering::Relaxed) + 1;
        source(route).replace("const VERSION = 1;", &format!("const VERSION = {version};"))
    }

    async fn store(&self, app: &App, route: Route, source: String) -> Fallible<Duration> {
        let start = Instant::now();
        let entry: &Entry = match route {
            Route::Price => &app.scripts.price,
            Route::Delivery => &app.scripts.delivery,
        };
        let mut swaps = entry.live.watch();
        self.write(route, &source)?;
        match tokio::time::timeout(PATIENCE, swaps.changed()).await {
            Ok(_) => Ok(start.elapsed()),
            Err(_) => Err(format!("the new version of the {} is not in use after {PATIENCE:?}", route.name()).into()),
        }
    }

    /// Under another name first: a file that is half written is never seen.
    fn write(&self, route: Route, source: impl AsRef<str>) -> std::io::Result<()> {
        let (file, new) = (format!("{}.js", route.name()), format!("{}.new", route.name()));
        fs::write(self.folder.join(&new), source.as_ref())?;
        fs::rename(self.folder.join(new), self.folder.join(file))
    }

    /// Swaps both scripts in turn until it is stopped; gives the longest time that a swap took.
    pub async fn keep_swapping(
        self: Arc<Self>,
        app: Arc<App>,
        pause: Duration,
        mut stop: tokio::sync::oneshot::Receiver<()>,
    ) -> Fallible<Duration> {
        let mut longest = Duration::ZERO;
        for route in [Route::Price, Route::Delivery].into_iter().cycle() {
            tokio::select! {
                _ = &mut stop => break,
                () = tokio::time::sleep(pause) => {}
            }
            longest = longest.max(self.swap(&app, route).await?);
        }
        Ok(longest)
    }
}

fn source(route: Route) -> &'static str {
    match route {
        Route::Price => include_str!("scripts/price.js"),
        Route::Delivery => include_str!("scripts/delivery.js"),
    }
}

/// Where the self-test keeps its folder.
pub fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("target/service/scripts")
}
