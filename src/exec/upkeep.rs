//! How a worker keeps its isolate in shape: collections, contexts ahead of need, and when the isolate has to be replaced.

use std::time::Duration;

use super::runtime::{HEAP_INTERVAL, Runtime, Verdict};
use crate::clock::Moment;
use crate::units::Bytes;
use crate::vm::ScriptContext;

/// How long an isolate that is to be replaced for its age waits for its paused runs.
const DRAIN: Duration = Duration::from_secs(10);

impl Runtime {
    /// Whether the isolate may go on.
    pub(super) fn verdict(&mut self, now: Moment) -> Verdict {
        let Some(inside) = &mut self.inside else { return Verdict::Replace("it has no isolate") };
        if inside.isolate.heap_limit_reached() {
            return Verdict::Replace("its heap limit was reached");
        }
        if inside.runs >= self.options.max_runs {
            return self.drained("it has run as often as it may");
        }
        if now < self.next_heap_look {
            return Verdict::Fine;
        }
        self.next_heap_look = now.after(HEAP_INTERVAL);
        if now.since(inside.born) >= self.options.max_age {
            return self.drained("it has reached its maximum age");
        }
        let limit = self.options.isolate.heap_limit.get();
        if inside.isolate.heap().used.get() < limit / 3 * 2 {
            return Verdict::Fine;
        }
        inside.contexts.expire(now);
        inside.values.expire();
        self.collect();
        let used = self.inside.as_mut().map_or(0, |inside| inside.isolate.heap().used.get());
        if used >= limit / 4 * 3 {
            return Verdict::Replace("three quarters of its heap are in use after a collection");
        }
        Verdict::Fine
    }

    /// What an idle worker does now and then: drops what has expired, collects where it pays.
    pub(crate) fn maintain(&mut self) -> Verdict {
        let now = Moment::now();
        let Some(inside) = &mut self.inside else { return Verdict::Replace("it has no isolate") };
        let old = now.since(inside.born) >= self.options.max_age || inside.runs >= self.options.max_runs;
        if old && let Verdict::Replace(why) = self.drained("it is old enough") {
            return Verdict::Replace(why);
        }
        let Some(inside) = &mut self.inside else { return Verdict::Fine };
        inside.contexts.expire(now);
        inside.values.expire();
        if now < self.next_collect_look {
            return Verdict::Fine;
        }
        self.next_collect_look = now.after(self.options.collect_interval);
        let grown = inside.isolate.heap().used.get().saturating_sub(self.collected_to.get());
        if inside.unheld() != self.unheld || grown >= self.options.collect_growth.get() {
            self.collect();
            if let Verdict::Replace(why) = self.detached() {
                return Verdict::Replace(why);
            }
        }
        Verdict::Fine
    }

    /// The isolate has lived for long enough: it takes no more runs that pause, and goes when those that it has have ended, or after a while.
    fn drained(&mut self, why: &'static str) -> Verdict {
        let now = Moment::now();
        let since = *self.retiring.get_or_insert(now);
        if self.live.is_empty() || now.since(since) >= DRAIN {
            return Verdict::Replace(why);
        }
        Verdict::Fine
    }

    /// A full collection.
    pub(crate) fn collect(&mut self) {
        if let Some(inside) = &mut self.inside {
            let before = inside.isolate.heap().used;
            let start = Moment::now();
            inside.isolate.collect();
            let after = inside.isolate.heap().used;
            self.collected_to = after;
            self.collections += 1;
            let freed = Bytes::new(before.get().saturating_sub(after.get()));
            let took_us = Moment::now().since(start).as_micros() as u64;
            tracing::debug!(target: "jsmill", %before, %after, %freed, took_us, "collected");
        }
    }

    /// Contexts that nobody holds and that collections do not free are held by something within V8: after some rounds of that, the
    /// isolate is replaced.
    fn detached(&mut self) -> Verdict {
        let Some(inside) = &mut self.inside else { return Verdict::Fine };
        self.unheld = inside.unheld();
        if self.unheld <= 4 {
            self.detached_rounds = 0;
            return Verdict::Fine;
        }
        self.detached_rounds += 1;
        if self.detached_rounds >= 5 { Verdict::Replace("contexts stay that nobody holds") } else { Verdict::Fine }
    }

    /// Makes one context for the reserve, if one is missing. Says whether it did.
    pub(crate) fn fill_reserve(&mut self) -> bool {
        let Some(inside) = &mut self.inside else { return false };
        if self.uncached && inside.ready.len() < self.options.reserve {
            match ScriptContext::realm(inside.isolate.v8(), &inside.host, false, self.options.code_generation) {
                Ok(context) => {
                    inside.ready.push(context);
                    return true;
                }
                Err(error) => tracing::warn!(target: "jsmill", %error, "no context for the reserve"),
            }
        }
        false
    }
}
