//! Whatever happens to a queue, each entry comes out once, and its room with it.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;

#[derive(Clone, Debug)]
enum Step {
    Push { priority: usize, time: Option<u64>, suspends: bool, home: Option<u64>, over: bool },
    Pop { worker: usize, may_suspend: bool },
    Due,
    Park(bool),
    Mark { home: u64, worker: usize },
    Wait(u64),
}

fn step() -> impl Strategy<Value = Step> {
    let home = proptest::option::of(0..3_u64);
    let time = proptest::option::of(1..400_u64);
    let push = (0..3_usize, time, any::<bool>(), home, proptest::bool::weighted(0.1))
        .prop_map(|(priority, time, suspends, home, over)| Step::Push { priority, time, suspends, home, over });
    let pop = (0..3_usize, any::<bool>()).prop_map(|(worker, may_suspend)| Step::Pop { worker, may_suspend });
    prop_oneof![
        8 => push,
        8 => pop,
        1 => Just(Step::Due),
        1 => any::<bool>().prop_map(Step::Park),
        1 => (0..3_u64, 0..3_usize).prop_map(|(home, worker)| Step::Mark { home, worker }),
        8 => (0..60_000_u64).prop_map(Step::Wait),
    ]
}

fn admission() -> impl Strategy<Value = Admission> {
    prop_oneof![Just(Admission::Off), Just(Admission::Deadline), Just(Admission::CODEL)]
}

/// What should be in the queue.
#[derive(Default)]
struct Model {
    waiting: BTreeMap<u32, (usize, Entry)>,
}

impl Model {
    fn leaves(&mut self, entry: &Entry) -> usize {
        let (lane, known) = self.waiting.remove(&entry.id).expect("it was in the queue, once");
        assert_eq!(known, *entry);
        lane
    }

    fn lengths(&self) -> [usize; 3] {
        [0, 1, 2].map(|lane| self.waiting.values().filter(|(its, _)| *its == lane).count())
    }

    /// What this taker could get from the most urgent lane that has anything for him, the oldest first.
    fn candidates(&self, may_suspend: bool, parked: bool) -> Vec<&(usize, Entry)> {
        let may = |(lane, entry): &&(usize, Entry)| (may_suspend || !entry.suspends) && !(parked && *lane == 2);
        let lane = self.waiting.values().filter(may).map(|(lane, _)| *lane).min();
        self.waiting.values().filter(may).filter(|(its, _)| Some(*its) == lane).collect()
    }
}

const DEPTH: usize = 12;

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(100) })]

    #[test]
    fn each_entry_comes_out_once(admission in admission(), steps in prop::collection::vec(step(), 1..400)) {
        let queue: Queue<Entry> = Queue::new([DEPTH; 3], admission);
        let mut model = Model::default();
        let (mut now, mut next, mut parked) = (Moment::from_nanos(0), 0, false);
        for step in steps {
            match step {
                Step::Wait(micros) => now = now.after(Duration::from_micros(micros)),
                Step::Mark { home, worker } => queue.warmth().mark(home, worker),
                Step::Park(wanted) => {
                    parked = wanted;
                    queue.park(parked);
                }
                Step::Push { priority, time, suspends, home, over } => {
                    let deadline = time.map_or(Moment::NEVER, |time| now.after(Duration::from_millis(time)));
                    let entry = Entry { id: next, submitted: now, deadline, suspends, home, over };
                    if model.lengths()[priority] == DEPTH {
                        // Abandoned entries of all lanes make way.
                        model.waiting.retain(|_, (_, entry)| !entry.over);
                    }
                    let full = model.lengths()[priority] == DEPTH;
                    match queue.try_room(Priority::ALL[priority]) {
                        Ok(room) => {
                            prop_assert!(!full);
                            queue.push(Priority::ALL[priority], room, entry.clone()).unwrap();
                            model.waiting.insert(next, (priority, entry));
                            next += 1;
                        }
                        Err(why) => prop_assert_eq!((full, why), (true, NoRoom::Full { depth: DEPTH })),
                    }
                }
                Step::Due => {
                    let due = queue.take_due(now);
                    prop_assert!(due.iter().all(|entry| entry.deadline <= now));
                    due.iter().for_each(|entry| { model.leaves(entry); });
                    prop_assert!(model.waiting.values().all(|(_, entry)| entry.deadline > now));
                    let earliest = model.waiting.values().map(|(_, entry)| entry.deadline).min();
                    prop_assert_eq!(queue.earliest_deadline(), earliest.unwrap_or(Moment::NEVER));
                }
                Step::Pop { worker, may_suspend } => {
                    let has_work = !model.candidates(may_suspend, parked).is_empty();
                    prop_assert_eq!(queue.has_work(may_suspend), has_work);
                    let mut shed = Vec::new();
                    let popped = queue.pop(&Taker { now, worker, may_suspend }, &mut shed);
                    prop_assert_eq!(popped.is_some(), has_work, "nobody sleeps here, so nothing is kept");
                    for entry in &shed {
                        prop_assert!(admission != Admission::Off);
                        prop_assert!(admission != Admission::Deadline || entry.deadline != Moment::NEVER);
                        prop_assert!(now.since(entry.submitted) > 10 * MS);
                        model.leaves(entry);
                    }
                    if let Some(entry) = popped {
                        let candidates = model.candidates(may_suspend, parked);
                        let own = candidates.iter().position(|(_, known)| known.id == entry.id);
                        prop_assert!(own.is_some(), "of another lane, or one that he may not take");
                        if admission == Admission::Off && now.since(candidates[0].1.submitted) >= Duration::from_micros(200) {
                            prop_assert_eq!(own, Some(0), "in order");
                        }
                        model.leaves(&entry);
                    }
                }
            }
            prop_assert_eq!(queue.lengths(), model.lengths());
            prop_assert!(queue.lengths().iter().all(|length| *length <= DEPTH));
        }
        for entry in queue.drain() {
            model.leaves(&entry);
        }
        prop_assert!(model.waiting.is_empty());
        // All room is free again, and no more than there was.
        for priority in Priority::ALL {
            let rooms: Vec<_> = (0..DEPTH).map(|_| queue.try_room(priority).unwrap()).collect();
            prop_assert!(queue.try_room(priority).is_err());
            drop(rooms);
        }
    }
}
