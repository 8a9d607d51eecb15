//! Admission: how many requests may be under way, by their priority. What comes beyond is refused at once, before it costs anything.
//!
//! A bound on requests is a bound on waiting: by Little's law the time of a request is the number of those under way over the
//! throughput. Less urgent requests have a lower bound, so that there is room left for the urgent ones.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use axum::http::HeaderMap;
use jsmill::Priority;

/// The header that says how urgent a request is.
pub const HEADER: &str = "x-priority";

/// Counts the requests that are under way.
pub struct Gate {
    most: usize,
    inside: AtomicUsize,
}

/// The right to be under way. It ends with the request, however that ends.
pub struct Pass(Arc<Gate>);

impl Gate {
    pub fn new(most: usize) -> Arc<Self> {
        Arc::new(Gate { most, inside: AtomicUsize::new(0) })
    }

    /// Lets a request in, if there is room for its priority.
    pub fn enter(self: &Arc<Self>, priority: Priority) -> Option<Pass> {
        let bound = match priority {
            Priority::Critical => self.most,
            Priority::Normal => self.most * 4 / 5,
            Priority::Background => self.most / 2,
        };
        let entered = self
            .inside
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |inside| (inside < bound.max(1)).then_some(inside + 1));
        entered.ok().map(|_| Pass(self.clone()))
    }

    pub fn inside(&self) -> usize {
        self.inside.load(Ordering::Relaxed)
    }

    pub fn most(&self) -> usize {
        self.most
    }
}

impl Drop for Pass {
    fn drop(&mut self) {
        self.0.inside.fetch_sub(1, Ordering::Relaxed);
    }
}

/// The priority that a request asks for; `None` where there is no such priority.
pub fn priority(headers: &HeaderMap) -> Option<Priority> {
    match headers.get(HEADER) {
        None => Some(Priority::Normal),
        Some(name) => Priority::ALL.into_iter().find(|priority| name == priority.name()),
    }
}
