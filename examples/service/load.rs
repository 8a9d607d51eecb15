//! The load generator: requests at a fixed rate whatever becomes of them, or by callers that wait for each answer.
//!
//! At a fixed rate the time of a request counts from the moment at which it was due, so that a generator which falls behind hides
//! nothing.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use axum::body::Body;
use axum::http::Request;
use jsmill::Priority;
use tokio::task::JoinSet;
use tokio::time::Instant;

use crate::app::Fallible;
use crate::client::{Answer, Client};
use crate::gate;
use crate::right::{ITEMS, Outcome, Right, Route, ZONES};
use crate::upstream::mix;

/// An answer that takes longer than this is none.
const PATIENCE: Duration = Duration::from_secs(10);

/// Where the requests go.
pub struct Target {
    pub client: Client,
    pub root: String,
    pub right: Right,
    /// When the first one was due.
    pub start: Instant,
    next: AtomicU64,
}

/// One request, and what became of it.
pub struct Record {
    /// When it was due, from the start on.
    pub at: Duration,
    pub latency: Duration,
    pub priority: Priority,
    pub outcome: Outcome,
}

impl Target {
    pub fn new(root: String) -> Arc<Self> {
        let next = AtomicU64::new(0);
        Arc::new(Target { client: Client::new(), root, right: Right::new(), start: Instant::now(), next })
    }

    /// So many requests a second for that time; a tenth of them critical, three tenths background.
    pub async fn open(self: &Arc<Self>, rate: f64, time: Duration) -> Fallible<Vec<Record>> {
        let start = Instant::now();
        let mut requests = JoinSet::new();
        for number in 0..(rate * time.as_secs_f64()) as u64 {
            let due = start + Duration::from_secs_f64(number as f64 / rate);
            tokio::time::sleep_until(due).await;
            let target = self.clone();
            requests.spawn(async move { target.random(due, None).await });
        }
        Ok(requests.join_all().await)
    }

    /// That many callers for that time, each with one critical request at a time.
    pub async fn closed(self: &Arc<Self>, callers: usize, time: Duration) -> Fallible<Vec<Record>> {
        let end = Instant::now() + time;
        let mut requests = JoinSet::new();
        for _ in 0..callers {
            let target = self.clone();
            requests.spawn(async move {
                let mut records = Vec::new();
                while Instant::now() < end {
                    records.push(target.random(Instant::now(), Some(Priority::Critical)).await);
                }
                records
            });
        }
        Ok(requests.join_all().await.into_iter().flatten().collect())
    }

    /// The next request of a sequence that is the same in each run.
    async fn random(&self, due: Instant, priority: Option<Priority>) -> Record {
        let chance = mix(self.next.fetch_add(1, Ordering::Relaxed));
        let route = if chance.is_multiple_of(2) { Route::Price } else { Route::Delivery };
        let (item, zone) = ((chance >> 8) as u32 % ITEMS, (chance >> 16) as u32 % ZONES);
        let priority = priority.unwrap_or(match (chance >> 24) % 10 {
            0 => Priority::Critical,
            1..7 => Priority::Normal,
            _ => Priority::Background,
        });
        let outcome = self.ask(route, item, zone, priority).await;
        Record { at: due - self.start, latency: due.elapsed(), priority, outcome }
    }

    /// One request.
    pub async fn ask(&self, route: Route, item: u32, zone: u32, priority: Priority) -> Outcome {
        let path = format!("/{}/{item}/{zone}", route.name());
        match self.get(&path, priority).await {
            Ok(answer) => self.right.judge(route, item, zone, &answer),
            Err(trouble) => Outcome::Failed(trouble),
        }
    }

    /// The answer at a path.
    pub async fn get(&self, path: &str, priority: Priority) -> Result<Answer, String> {
        let request = Request::get(format!("{}{path}", self.root)).header(gate::HEADER, priority.name());
        let request = request.body(Body::empty()).map_err(|error| error.to_string())?;
        match tokio::time::timeout(PATIENCE, self.client.send(request)).await {
            Ok(answer) => answer.map_err(|trouble| trouble.to_string()),
            Err(_) => Err(format!("{path}: no answer within {PATIENCE:?}")),
        }
    }
}
