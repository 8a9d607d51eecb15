//! A minute of a service, in simulated time: arrivals that nobody slows down, workers, deadlines; the queue, the load and the gate are the
//! real ones.
//!
//! Four workers, service times with a mean of 5 ms, exponential unless a test says otherwise, so they can do 800 calls a second. A tenth of the calls is critical, six
//! tenths are normal, the rest is background work. A slice is stopped at the deadline of its call, and was for nothing then.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::*;
use crate::engine::admission::Gate;
use crate::engine::load::{Meter, Reading};

const WORKERS: usize = 4;
const SERVICE: Duration = Duration::from_millis(5);
const CAPACITY: f64 = 800.0;

/// How long the calls of each priority wait for their answer.
const TIMES: [Duration; 3] = [Duration::from_millis(100), Duration::from_millis(200), Duration::from_secs(2)];

/// A sequence of random numbers (SplitMix64: Steele, Lea and Flood, OOPSLA 2014).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// Between 0 and 1, without either.
    fn unit(&mut self) -> f64 {
        ((self.next() >> 11) as f64 + 0.5) / (1_u64 << 53) as f64
    }

    fn exponential(&mut self, mean: Duration) -> Duration {
        mean.mul_f64(-self.unit().ln())
    }
}

/// What a service is put through.
struct Scene {
    seed: u64,
    admission: Admission,
    /// The gate's thresholds, where it is used.
    gate: Option<(f64, f64)>,
    /// The demand, as a share of the capacity, at each moment.
    demand: fn(Moment) -> f64,
    /// The service time of a call.
    service: fn(&mut Random) -> Duration,
    seconds: u64,
    depth: usize,
}

impl Scene {
    fn twice() -> Self {
        Scene {
            seed: 1,
            admission: Admission::default(),
            gate: Some((0.9, 0.7)),
            demand: |_| 2.0,
            service: |random| random.exponential(SERVICE),
            seconds: 60,
            depth: 1024,
        }
    }
}

/// What became of the calls, by priority.
#[derive(Debug, Default)]
struct Outcome {
    offered: [u32; 3],
    /// Answered before their deadline.
    good: [u32; 3],
    /// The time of the workers that these took.
    useful: [Duration; 3],
    /// Began, and were stopped at their deadline.
    stopped: [u32; 3],
    /// Reached their deadline in the queue.
    due: [u32; 3],
    shed: [u32; 3],
    /// Refused by the gate.
    refused: u32,
    /// Found the lane full.
    full: [u32; 3],
    left: usize,
    /// The times from submission to answer of critical calls.
    critical: Vec<Duration>,
}

impl Outcome {
    /// Answers in time of calls that are not background work, as a share of what the workers can do.
    fn answers(&self, scene: &Scene) -> f64 {
        f64::from(self.good[0] + self.good[1]) / (CAPACITY * scene.seconds as f64)
    }

    /// The time of the workers that went into these answers, as a share of all that they have. A queue that lets only short calls be in
    /// time is good at the number of answers, and bad at this.
    fn goodput(&self, scene: &Scene) -> f64 {
        let all = WORKERS as f64 * scene.seconds as f64;
        (self.useful[0] + self.useful[1]).as_secs_f64() / all
    }

    fn critical_percentile(&self, percent: usize) -> Duration {
        let mut times = self.critical.clone();
        times.sort_unstable();
        times[(times.len() * percent / 100).min(times.len() - 1)]
    }

    fn is_complete(&self) -> bool {
        let sum = |counts: [u32; 3]| counts.iter().sum::<u32>() as usize;
        let ends = [self.good, self.stopped, self.due, self.shed, self.full].map(sum).iter().sum::<usize>();
        sum(self.offered) == ends + self.refused as usize + self.left
    }
}

/// Something that happens at a moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    Arrival,
    Free(usize),
    Sample,
}

struct Service<'s> {
    scene: &'s Scene,
    queue: Queue<Entry>,
    random: Random,
    events: BinaryHeap<Reverse<(Moment, Event)>>,
    idle: Vec<usize>,
    /// The service time and the priority of each call.
    calls: Vec<(Duration, usize)>,
    readings: [Reading; WORKERS],
    outcome: Outcome,
}

impl Service<'_> {
    fn arrive(&mut self, now: Moment, closed: bool) {
        let demand = (self.scene.demand)(now);
        let next = now.after(self.random.exponential(Duration::from_secs_f64(1.0 / (CAPACITY * demand))));
        self.events.push(Reverse((next, Event::Arrival)));
        let priority = match self.random.unit() {
            which if which < 0.1 => Priority::Critical,
            which if which < 0.7 => Priority::Normal,
            _ => Priority::Background,
        };
        let lane = priority as usize;
        self.outcome.offered[lane] += 1;
        self.calls.push(((self.scene.service)(&mut self.random), lane));
        if closed && priority == Priority::Background {
            self.outcome.refused += 1;
            return;
        }
        let id = self.calls.len() as u32 - 1;
        match self.queue.try_room(priority) {
            Ok(room) => {
                let call = Entry { submitted: now, deadline: now.after(TIMES[lane]), ..entry(id) };
                self.queue.push(priority, room, call).unwrap();
            }
            Err(_) => self.outcome.full[lane] += 1,
        }
    }

    /// A worker takes what is next, and is free again when that is answered or stopped.
    fn take(&mut self, worker: usize, now: Moment) {
        let mut shed = Vec::new();
        let call = self.queue.pop(&Taker { now, worker, may_suspend: true }, &mut shed);
        for call in shed {
            self.outcome.shed[self.calls[call.id as usize].1] += 1;
        }
        let Some(call) = call else { return self.idle.push(worker) };
        let (service, lane) = self.calls[call.id as usize];
        let end = now.after(service).min(call.deadline);
        if now.after(service) <= call.deadline {
            self.outcome.good[lane] += 1;
            self.outcome.useful[lane] += service;
        } else {
            self.outcome.stopped[lane] += 1;
        }
        if lane == 0 {
            self.outcome.critical.push(end.since(call.submitted));
        }
        let reading = &mut self.readings[worker];
        reading.slices += end.since(now);
        reading.thread = reading.slices;
        self.events.push(Reverse((end, Event::Free(worker))));
    }

    fn expire(&mut self, now: Moment) {
        if self.queue.earliest_deadline() <= now {
            for call in self.queue.take_due(now) {
                self.outcome.due[self.calls[call.id as usize].1] += 1;
            }
        }
    }
}

fn run(scene: &Scene) -> Outcome {
    let start = at(0);
    let mut service = Service {
        scene,
        queue: Queue::new([scene.depth; 3], scene.admission),
        random: Random(scene.seed),
        events: BinaryHeap::from([Reverse((start, Event::Arrival)), Reverse((start, Event::Sample))]),
        idle: (0..WORKERS).collect(),
        calls: Vec::new(),
        readings: Default::default(),
        outcome: Outcome::default(),
    };
    let (high, low) = scene.gate.unwrap_or((1.0, 1.0));
    let (mut meter, mut gate, mut closed) = (Meter::new(start, WORKERS), Gate::new(high, low), false);
    while let Some(Reverse((now, event))) = service.events.pop()
        && now < at(scene.seconds * 1_000)
    {
        service.expire(now);
        match event {
            Event::Arrival => service.arrive(now, closed),
            Event::Free(worker) => service.idle.push(worker),
            Event::Sample => {
                meter.feed(now, &service.readings.map(Some));
                closed = gate.feed(now, meter.load().one_second, service.queue.was_urgent());
                service.events.push(Reverse((now.after(Duration::from_millis(100)), Event::Sample)));
            }
        }
        while service.queue.has_work(true)
            && let Some(worker) = service.idle.pop()
        {
            service.take(worker, now);
        }
    }
    service.outcome.left = service.queue.drain().len();
    assert!(service.outcome.is_complete(), "{:?}", service.outcome.offered);
    service.outcome
}

#[test]
fn twice_the_capacity_for_a_minute() {
    for (seed, gate) in [(1, Some((0.9, 0.7))), (2, None)] {
        let scene = Scene { seed, gate, ..Scene::twice() };
        let outcome = run(&scene);
        let (answers, goodput) = (outcome.answers(&scene), outcome.goodput(&scene));
        assert!(answers >= 0.9 && goodput >= 0.9, "{answers}, {goodput}");
        // No critical call is lost in the queue, and one in a hundred takes longer than 30 ms: an exponential service time with a mean of
        // 5 ms does so by itself for 23 ms, and the rest is the wait until one of four workers is free.
        assert_eq!((outcome.shed[0], outcome.due[0], outcome.full[0]), (0, 0, 0));
        assert!(outcome.critical.len() > 9_000);
        let p99 = outcome.critical_percentile(99);
        assert!(p99 <= 30 * MS, "{p99:?}");
        assert_eq!(outcome.refused > 20_000, gate.is_some(), "background work makes way: {}", outcome.refused);
    }
}

/// Without controlled delay each normal call that begins has waited nearly as long as it can, and is stopped unless it happens to be short:
/// the workers are busy for nothing. Where all calls take the same time, it is worse.
#[test]
fn without_the_controller_goodput_collapses() {
    let exponential: fn(&mut Random) -> Duration = |random| random.exponential(SERVICE);
    for (service, most) in [(exponential, 0.75), (|_| SERVICE, 0.65)] {
        let scene = |admission| Scene { admission, service, seconds: 10, ..Scene::twice() };
        let without = run(&scene(Admission::Off));
        assert_eq!(without.shed, [0; 3]);
        let goodput = without.goodput(&scene(Admission::Off));
        assert!(goodput < most, "{goodput}");
        let goodput = run(&scene(Admission::default())).goodput(&scene(Admission::default()));
        assert!(goodput >= 0.9, "{goodput}");
    }
}

#[test]
fn at_half_the_capacity_nothing_is_lost() {
    for seed in 1..=3 {
        let outcome = run(&Scene { seed, demand: |_| 0.5, seconds: 20, ..Scene::twice() });
        assert_eq!((outcome.shed, outcome.refused, outcome.due, outcome.full), ([0; 3], 0, [0; 3], [0; 3]));
        assert!(outcome.good.iter().sum::<u32>() > 7_500);
    }
}

/// Each second, a tenth of one at twice the capacity, and the rest at a third of it.
#[test]
fn bursts_are_absorbed() {
    let demand = |now: Moment| if now.to_nanos() % 1_000_000_000 < 100_000_000 { 2.0 } else { 0.33 };
    let outcome = run(&Scene { demand, gate: None, seconds: 20, ..Scene::twice() });
    assert_eq!((outcome.shed, outcome.due[0], outcome.full), ([0; 3], 0, [0; 3]));
}

/// The demand comes back to normal after ten seconds, and so does the order, at once.
#[test]
fn the_end_of_an_overload_leaves_nothing_behind() {
    let demand = |now: Moment| if now < at(10_000) { 3.0 } else { 0.5 };
    let before = run(&Scene { demand, seconds: 11, ..Scene::twice() });
    let after = run(&Scene { demand, seconds: 20, ..Scene::twice() });
    assert!(before.shed[1] > 1_000);
    assert_eq!((before.shed, before.due), (after.shed, after.due));
    assert_eq!(after.left, 0);
}

/// All calls are critical: then these are shed, and the others are in time.
#[test]
fn critical_work_that_alone_is_too_much_is_shed_too() {
    let scene = Scene { demand: |_| 15.0, seconds: 2, ..Scene::twice() };
    let outcome = run(&scene);
    assert!(outcome.shed[0] > 300);
    let critical = f64::from(outcome.good[0]) / (CAPACITY * scene.seconds as f64);
    assert!(critical > 0.9, "{critical}");
}
