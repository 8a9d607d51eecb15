//! The routes: two that answer with a script's result, and those by which the service is watched.

use std::sync::Arc;
use std::time::Instant;

use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::{Json, Router};
use jsmill::Priority;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::app::App;
use crate::gate;
use crate::refusal::Refusal;
use crate::upstream::Ask;

/// What a script is asked.
#[derive(Clone, Copy, Serialize)]
pub struct Order {
    pub item: u32,
    pub zone: u32,
}

/// What it answers. A degraded answer was made without an upstream service that did not answer.
#[derive(Serialize, Deserialize)]
pub struct Quote {
    pub version: u64,
    /// In cents.
    pub value: u64,
    pub degraded: bool,
}

pub fn all(app: Arc<App>) -> Router {
    Router::new()
        .route("/price/{item}/{zone}", get(price))
        .route("/delivery/{item}/{zone}", get(delivery))
        .route("/healthz", get(healthz))
        .route("/metrics", get(metrics))
        .with_state(app)
}

/// The script is a generator: it yields what it wants to know, and its caller answers.
async fn price(State(app): State<Arc<App>>, Path((item, zone)): Path<(u32, u32)>, headers: HeaderMap) -> Response {
    let work = async |priority| {
        app.engine
            .task(&app.scripts.price.live)
            .priority(priority)
            .generate::<Ask, f64, Quote>("main", (Order { item, zone },))?
            .answer_with(|ask| app.upstreams.ask(ask))
            .finish()
            .await
    };
    match admit(&app, &headers) {
        Ok((priority, _pass)) => timed("price", work(priority)).await,
        Err(refusal) => refused("price", refusal),
    }
}

/// The script is an async function: it asks by the host function `ask`, and its caller only sees the result.
async fn delivery(State(app): State<Arc<App>>, Path((item, zone)): Path<(u32, u32)>, headers: HeaderMap) -> Response {
    let work = async |priority| {
        app.engine
            .task(&app.scripts.delivery.live)
            .priority(priority)
            .call_async::<Quote>("main", (Order { item, zone },))
            .await
    };
    match admit(&app, &headers) {
        Ok((priority, _pass)) => timed("delivery", work(priority)).await,
        Err(refusal) => refused("delivery", refusal),
    }
}

fn admit(app: &App, headers: &HeaderMap) -> Result<(Priority, gate::Pass), Refusal> {
    let priority = gate::priority(headers).ok_or_else(Refusal::priority)?;
    let pass = app.gate.enter(priority).ok_or_else(Refusal::busy)?;
    Ok((priority, pass))
}

async fn timed(route: &'static str, work: impl Future<Output = jsmill::Result<Quote>>) -> Response {
    let start = Instant::now();
    let result = work.await;
    metrics::histogram!("service_seconds", "route" => route).record(start.elapsed());
    match result {
        Ok(quote) => counted(route, Json(quote).into_response()),
        Err(error) => refused(route, Refusal::of(&error)),
    }
}

fn refused(route: &'static str, refusal: Refusal) -> Response {
    counted(route, refusal.into_response())
}

fn counted(route: &'static str, response: Response) -> Response {
    let status = response.status().as_str().to_owned();
    metrics::counter!("service_requests_total", "route" => route, "status" => status).increment(1);
    response
}

/// Answers as long as the service takes requests, whatever its scripts do.
async fn healthz(State(app): State<Arc<App>>) -> Response {
    let stats = app.engine.stats();
    let scripts: Vec<_> = app.scripts.all().iter().map(|entry| entry.state()).collect();
    let (status, text) = match stats.workers.len() {
        0 => (StatusCode::SERVICE_UNAVAILABLE, "no workers"),
        _ => (StatusCode::OK, "ok"),
    };
    let body = json!({
        "status": text,
        "workers": stats.workers.len(),
        "lost": stats.lost,
        "under_way": app.gate.inside(),
        "scripts": scripts,
    });
    (status, Json(body)).into_response()
}

/// The text that Prometheus reads: the engine's metrics and the service's own.
async fn metrics(State(app): State<Arc<App>>) -> String {
    app.metrics.run_upkeep();
    app.metrics.render()
}
