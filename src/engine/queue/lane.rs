//! The entries of one priority, and which of them is next.
//!
//! Four lines: entries that suspend and entries that do not, each divided into those that the controller may refuse (*pressed*) and those that
//! wait for as long as it takes (*patient*). Each line keeps the order of arrival, and numbers make one order of them all. So every choice is
//! at the ends of lines, or among the first few entries.
//!
//! - In order, the oldest is next. A worker that is cold for it takes one of the first [`LOOK_AHEAD`] for which it is warm, as long as
//!   the oldest is not older than [`COURTESY`]; so nothing is passed over for longer than that.
//! - In overload (`delay`), turns alternate between the newest of the pressed entries and the oldest of all others; what is older
//!   than its limit is shed, except the newest. So neither can starve the other one.
//!
//! It does not know locks, room, threads, or other priorities.

use std::collections::VecDeque;
use std::time::Duration;

use super::delay::Delay;
use super::{Queued, Taker, Warmth};
use crate::clock::Moment;
use crate::engine::admission::Patience;

/// How many entries a worker looks at for one that it is warm for.
pub(super) const LOOK_AHEAD: usize = 8;

/// How long an entry is left to a worker that is warm for it: less than it takes to build a context.
pub(super) const COURTESY: Duration = Duration::from_micros(200);

/// How many entries are shed at a time, so that whoever sheds them gets to its own work.
const SHED_AT_ONCE: usize = 64;

/// An entry in its line.
struct Place<T> {
    order: u64,
    submitted: Moment,
    /// The age at which it may be shed.
    limit: Duration,
    home: Option<u64>,
    /// The worker that was woken for it.
    kept_for: Option<usize>,
    entry: T,
}

type Line<T> = VecDeque<Place<T>>;

/// Entries that suspend, or those that do not.
struct Side<T> {
    patient: Line<T>,
    pressed: Line<T>,
    delay: Delay,
}

/// The lines of one priority.
pub(super) struct Lane<T> {
    /// Those that do not suspend, and those that do.
    sides: [Side<T>; 2],
    next_order: u64,
    newest_had_its_turn: bool,
}

impl<T: Queued> Lane<T> {
    pub(super) fn new() -> Self {
        let side = || Side { patient: Line::new(), pressed: Line::new(), delay: Delay::new() };
        Lane { sides: [side(), side()], next_order: 0, newest_had_its_turn: false }
    }

    /// How many entries do not suspend, and how many do.
    pub(super) fn lengths(&self) -> [usize; 2] {
        [0, 1].map(|side| self.sides[side].patient.len() + self.sides[side].pressed.len())
    }

    pub(super) fn push(&mut self, entry: T, patience: Option<Patience>, home: Option<u64>, kept_for: Option<usize>) {
        let (order, submitted) = (self.next_order, entry.submitted());
        self.next_order += 1;
        let side = &mut self.sides[usize::from(entry.suspends())];
        let limit = patience.map_or(Duration::MAX, Patience::limit);
        let place = Place { order, submitted, limit, home, kept_for, entry };
        match patience {
            Some(patience) => {
                side.delay.join(patience, side.pressed.is_empty());
                side.pressed.push_back(place);
            }
            None => side.patient.push_back(place),
        }
    }

    /// Takes out the entry that is next for a worker, and puts those that are shed into `shed`.
    pub(super) fn pop(&mut self, taker: &Taker, warmth: &Warmth, shed: &mut Vec<T>) -> Option<T> {
        let sides = if taker.may_suspend { 2 } else { 1 };
        let mut overloaded = false;
        for side in &mut self.sides[..sides] {
            overloaded |= side.control(taker.now, shed);
        }
        if overloaded {
            self.newest_had_its_turn = !self.newest_had_its_turn;
            if self.newest_had_its_turn
                && let Some(entry) = self.newest(sides)
            {
                return Some(entry);
            }
        }
        self.oldest(sides, taker, warmth).or_else(|| self.newest(sides))
    }

    /// The newest pressed entry of the sides that are overloaded.
    fn newest(&mut self, sides: usize) -> Option<T> {
        let overloaded = self.sides[..sides].iter_mut().filter(|side| side.delay.is_overloaded());
        let line = overloaded.map(|side| &mut side.pressed).max_by_key(|line| line.back().map(|place| place.order))?;
        line.pop_back().map(|place| place.entry)
    }

    /// The oldest entry of all others, or one near it that is better for this worker.
    fn oldest(&mut self, sides: usize, taker: &Taker, warmth: &Warmth) -> Option<T> {
        let lines = self.sides[..sides].iter_mut().flat_map(|side| {
            let pressed = (!side.delay.is_overloaded()).then_some(&mut side.pressed);
            std::iter::once(&mut side.patient).chain(pressed)
        });
        let chosen = lines.filter_map(|line| route(line, taker, warmth).map(|at| (line[at].order, line, at)));
        let (_, line, at) = chosen.min_by_key(|(order, ..)| *order)?;
        line.remove(at).map(|place| place.entry)
    }

    /// Takes out all entries of which `which` is true.
    pub(super) fn take(&mut self, which: impl Fn(&T) -> bool, taken: &mut Vec<T>) {
        for line in self.sides.iter_mut().flat_map(|side| [&mut side.patient, &mut side.pressed]) {
            for _ in 0..line.len() {
                let Some(place) = line.pop_front() else { break };
                if which(&place.entry) { taken.push(place.entry) } else { line.push_back(place) }
            }
        }
    }

    pub(super) fn entries(&self) -> impl Iterator<Item = &T> {
        self.sides.iter().flat_map(|side| side.patient.iter().chain(&side.pressed)).map(|place| &place.entry)
    }
}

impl<T> Side<T> {
    /// Whether there is overload; sheds what is too old then.
    fn control(&mut self, now: Moment, shed: &mut Vec<T>) -> bool {
        let Some(oldest) = self.pressed.front() else { return false };
        if !self.delay.look(now, now.since(oldest.submitted)) {
            return false;
        }
        for _ in 0..SHED_AT_ONCE.min(self.pressed.len() - 1) {
            let Some(oldest) = self.pressed.pop_front_if(|place| now.since(place.submitted) > place.limit) else {
                break;
            };
            shed.push(oldest.entry);
        }
        true
    }
}

/// Which of the first entries of a line a worker takes; `None` where all of them are kept for others.
fn route<T>(line: &Line<T>, taker: &Taker, warmth: &Warmth) -> Option<usize> {
    let mut fallback = None;
    for (at, place) in line.iter().take(LOOK_AHEAD).enumerate() {
        let is_fresh = taker.now.since(place.submitted) < COURTESY;
        if at == 0 && !is_fresh {
            return Some(0);
        }
        if place.home.is_some_and(|home| warmth.is_warm(home, taker.worker)) {
            return Some(at);
        }
        if is_fresh && place.kept_for.is_some_and(|worker| worker != taker.worker) {
            continue;
        }
        // Where no worker is any better for this one, it keeps its turn.
        let is_better_elsewhere = place.home.is_some_and(|home| warmth.is_warm_somewhere(home));
        if fallback.is_none() && !is_better_elsewhere {
            return Some(at);
        }
        fallback = fallback.or(Some(at));
    }
    fallback
}
