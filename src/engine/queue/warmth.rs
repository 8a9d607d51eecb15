//! Which worker has the context of which entry: a hint for routing.
//!
//! A fixed table of bits, one for each worker, at a place that the entry's home (a hash of what its context belongs to) gives. Two homes may
//! share a place, and two workers beyond the sixty-fourth a bit: such an error costs a worse order, and nothing else. A worker that drops
//! contexts wipes all its bits, and sets them again as it goes on. It does not know contexts.

use std::sync::atomic::{AtomicU64, Ordering};

/// How many places there are: more than contexts are warm at a time, usually.
const PLACES: usize = 1024;

/// The table.
pub(in crate::engine) struct Warmth {
    places: Box<[AtomicU64]>,
}

impl Warmth {
    pub(super) fn new() -> Self {
        Warmth { places: std::iter::repeat_with(AtomicU64::default).take(PLACES).collect() }
    }

    fn place(&self, home: u64) -> &AtomicU64 {
        &self.places[home as usize % PLACES]
    }

    /// That worker has the context now.
    pub(in crate::engine) fn mark(&self, home: u64, worker: usize) {
        let (place, bit) = (self.place(home), bit(worker));
        // Nearly always set already; a write would take the cache line away from the other workers.
        if place.load(Ordering::Relaxed) & bit == 0 {
            place.fetch_or(bit, Ordering::Relaxed);
        }
    }

    /// Nothing is known to be warm at that worker any more.
    pub(in crate::engine) fn wipe(&self, worker: usize) {
        for place in &self.places {
            place.fetch_and(!bit(worker), Ordering::Relaxed);
        }
    }

    pub(super) fn is_warm(&self, home: u64, worker: usize) -> bool {
        self.place(home).load(Ordering::Relaxed) & bit(worker) != 0
    }

    /// Whether some worker has it, whichever.
    pub(super) fn is_warm_somewhere(&self, home: u64) -> bool {
        self.place(home).load(Ordering::Relaxed) != 0
    }
}

fn bit(worker: usize) -> u64 {
    1 << (worker % 64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_worker_is_warm_until_it_wipes() {
        let warmth = Warmth::new();
        assert!(!warmth.is_warm(7, 3) && !warmth.is_warm_somewhere(7));
        warmth.mark(7, 3);
        warmth.mark(7, 4);
        warmth.mark(8, 3);
        assert!(warmth.is_warm(7, 3) && warmth.is_warm(7, 4) && !warmth.is_warm(7, 5));
        warmth.wipe(3);
        assert!(!warmth.is_warm(7, 3) && warmth.is_warm_somewhere(7) && !warmth.is_warm_somewhere(8));
    }

    #[test]
    fn any_home_and_any_worker_has_a_place() {
        let warmth = Warmth::new();
        warmth.mark(u64::MAX, usize::MAX);
        assert!(warmth.is_warm(u64::MAX, usize::MAX));
    }
}
