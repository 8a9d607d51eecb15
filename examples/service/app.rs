//! The service: its engine, its scripts, the way to the upstream services, and its life from start to graceful end.

use std::net::SocketAddr;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use jsmill::{Bytes, Engine, Limits};
use metrics_exporter_prometheus::{PrometheusBuilder, PrometheusHandle};
use tokio::net::TcpListener;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use crate::gate::Gate;
use crate::routes;
use crate::scripts::Scripts;
use crate::upstream::{Ask, Upstreams};

/// Requests that may be under way for each worker: enough to keep it busy while scripts wait for the upstream services.
const UNDER_WAY: usize = 20;

pub type Fallible<T> = Result<T, Box<dyn std::error::Error + Send + Sync>>;

/// Where the service is, and where its parts are.
pub struct Settings {
    pub listen: SocketAddr,
    pub stock: SocketAddr,
    pub rates: SocketAddr,
    pub scripts: PathBuf,
}

/// What all requests share.
pub struct App {
    pub engine: Engine,
    pub scripts: Arc<Scripts>,
    pub upstreams: Upstreams,
    pub gate: Arc<Gate>,
    pub metrics: PrometheusHandle,
}

/// A service that runs.
pub struct Running {
    pub app: Arc<App>,
    pub address: SocketAddr,
    stop: oneshot::Sender<()>,
    served: JoinHandle<std::io::Result<()>>,
    _watcher: notify::RecommendedWatcher,
}

impl App {
    /// Starts everything.
    pub async fn start(settings: Settings) -> Fallible<Running> {
        // The recorder comes first: an engine asks it for its handles when it is built.
        let metrics =
            PrometheusBuilder::new().set_buckets(&[0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0])?.install_recorder()?;
        let upstreams = Upstreams::serve(settings.stock, settings.rates).await?;

        // A core is left to HTTP. An endless loop ends after 100 ms of CPU time: that is fair where the machine is loaded, since
        // waiting for a core does not count. It must leave room for a new version that V8 has not optimised yet: many times what a
        // warm one takes, where V8's compiler waits for a core too.
        let cores = std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
        let workers = (cores - 1).max(1);
        let asked = upstreams.clone();
        let engine = Engine::builder()
            .workers(workers)
            .runtime(tokio::runtime::Handle::current())
            .host_async("ask", move |service: String, key: u32| {
                let upstreams = asked.clone();
                async move { upstreams.ask(Ask { service, key }).await }
            })
            .heap_limit(Bytes::mib(64))
            .limits(Limits {
                cpu_budget: Some(Duration::from_millis(100)),
                deadline: Some(Duration::from_secs(2)),
                result: Bytes::kib(64),
                pending: 16,
                ..Limits::default()
            })
            .build()?;

        let scripts = Arc::new(Scripts::read(&settings.scripts)?);
        let watcher = scripts.watch(&engine)?;
        let app = Arc::new(App { engine, scripts, upstreams, gate: Gate::new(UNDER_WAY * workers), metrics });
        let listener = TcpListener::bind(settings.listen).await?;
        let address = listener.local_addr()?;
        let (stop, stopped) = oneshot::channel::<()>();
        let server = axum::serve(listener, routes::all(app.clone())).with_graceful_shutdown(async move {
            // A handle that was dropped stops the service too.
            let _ = stopped.await;
        });
        let served = tokio::spawn(server.into_future());
        Ok(Running { app, address, stop, served, _watcher: watcher })
    }
}

impl Running {
    /// Takes no more connections, answers the requests that are under way, and ends the engine.
    pub async fn stop(self) -> Fallible<()> {
        // Where nobody listens, the server has ended already.
        let _ = self.stop.send(());
        self.served.await??;
        self.app.engine.shutdown().await?;
        Ok(())
    }
}
