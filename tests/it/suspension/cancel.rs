//! Calls that are given up at every point of their way, and engines that end then: nothing is left behind.

use std::pin::Pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use jsmill::{
    Composition, Direct, Engine, ErrorKind, HostError, Input, Limits, Multi, Pause, Result, Run, Scope, Script, Task,
};

use super::{Futures, Guard, Notes, nothing_is_left};
use crate::support::{SLACK, engine_with, eventually, on_many_threads, script, still_works};

/// What is given up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Async,
    Generator,
    AsyncGenerator,
    Multi,
}

const KINDS: [Kind; 4] = [Kind::Async, Kind::Generator, Kind::AsyncGenerator, Kind::Multi];

/// Where it is then.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Point {
    /// Made, and never polled.
    Unpolled,
    /// Behind another call.
    Queued,
    /// The queue is full, and it waits for room.
    Outside,
    /// In a first slice that does not end by itself.
    Running,
    /// In a later one.
    RunningLater,
    /// It has asked its caller.
    Asking,
    /// It was answered, and not resumed.
    Answered,
    /// It was answered and resumed, and its worker is busy.
    ReplyOnTheWay,
    /// It awaits a future of the host.
    Awaiting,
    /// Its `finally` block awaits a future of the host.
    Closing,
}

const POINTS: [Point; 10] = [
    Point::Unpolled,
    Point::Queued,
    Point::Outside,
    Point::Running,
    Point::RunningLater,
    Point::Asking,
    Point::Answered,
    Point::ReplyOnTheWay,
    Point::Awaiting,
    Point::Closing,
];

impl Point {
    /// Whether a call of that kind comes to that point at all.
    fn is_for(self, kind: Kind) -> bool {
        match self {
            Point::Asking | Point::Answered | Point::ReplyOnTheWay => kind != Kind::Async,
            Point::Awaiting => kind != Kind::Multi,
            Point::Closing => matches!(kind, Kind::Generator | Kind::AsyncGenerator),
            _ => true,
        }
    }
}

/// Who ends it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Who {
    /// Its caller drops it.
    Caller,
    /// The engine is dropped.
    Drop,
    /// The engine is shut down, with no time for calls to finish.
    Shutdown,
}

const SOURCE: &str = "
    const busy = (ms) => { const end = Date.now() + ms; while (Date.now() < end); };
    async function Async(later) { if (later) await aio.sleep(1); begin(); for (;;); }
    function* Generator(later) { if (later) yield 1; begin(); for (;;); }
    async function* AsyncGenerator(later) { if (later) yield 1; begin(); for (;;); }
    async function AsyncWaits() { await ask(); note('never'); }
    function* GeneratorWaits() { yield ask(); note('never'); }
    async function* AsyncGeneratorWaits() { await ask(); note('never'); }
    function* GeneratorCloses() { try { yield 1; } finally { yield ask(); note('never'); } }
    async function* AsyncGeneratorCloses() { try { yield 1; } finally { await ask(); note('never'); } }";

/// A task that spins in its first or second step; its state is a guard, and its context owns another.
struct Steps {
    script: Arc<Script>,
    futures: Futures,
    later: bool,
}

impl Task for Steps {
    fn script(&self) -> &Arc<Script> {
        &self.script
    }

    fn initialize(&self, scope: &mut Scope<'_, '_, '_>) -> Result<()> {
        let guard = self.futures.guard();
        scope.define_function("owns", move || -> Result<(), HostError> {
            let _ = &guard;
            Ok(())
        })
    }
}

impl Multi for Steps {
    type State = Guard;
    type Request = u32;
    type Reply = Guard;
    type Output = u32;

    fn start(&self, _: &mut Scope<'_, '_, '_>) -> Result<Guard> {
        Ok(self.futures.guard())
    }

    fn step(&self, _: &mut Guard, input: Input<Guard>, scope: &mut Scope<'_, '_, '_>) -> Result<Pause<u32, u32>> {
        if self.later && matches!(input, Input::Nothing) {
            return Ok(Pause::Request(1));
        }
        let function = scope.function("Async")?;
        let now = scope.to_js(&false)?;
        scope.call(function, &[now])?;
        Ok(Pause::Request(2))
    }
}

/// A call that is on its way, and what to do with it.
enum Going {
    Call(Pin<Box<dyn Future<Output = Result<()>> + Send>>),
    Run(Run<u32, u32, ()>),
    Steps(Run<u32, Guard, u32, Direct>),
}

impl Going {
    /// Goes on to the next event, which is no error.
    async fn next(&mut self) {
        match self {
            Going::Call(call) => call.await.unwrap(),
            Going::Run(run) => assert_eq!(run.next().await.unwrap(), Some(1)),
            Going::Steps(run) => assert_eq!(run.next().await.unwrap(), Some(1)),
        }
    }

    /// Polls it once.
    async fn poll(&mut self) {
        let mut next = std::pin::pin!(self.next());
        let pending = std::future::poll_fn(|context| Poll::Ready(next.as_mut().poll(context).is_pending()));
        assert!(pending.await, "it is over");
    }

    fn reply(&mut self, futures: &Futures) {
        match self {
            Going::Call(_) => unreachable!("an async function asks for nothing"),
            Going::Run(run) => run.reply(5).unwrap(),
            Going::Steps(run) => run.reply(futures.guard()).unwrap(),
        }
    }

    /// The end that it has come to.
    async fn end(self) -> Result<()> {
        match self {
            Going::Call(call) => call.await,
            Going::Run(mut run) => loop {
                if run.next().await?.is_none() {
                    return Ok(());
                }
            },
            Going::Steps(mut run) => loop {
                if run.next().await?.is_none() {
                    return Ok(());
                }
            },
        }
    }
}

struct Setup {
    engine: Engine,
    script: Arc<Script>,
    notes: Notes,
    futures: Futures,
    /// Whether the script spins.
    spins: Notes,
}

fn setup(room: usize) -> Setup {
    let (notes, futures, spins) = (Notes::default(), Futures::default(), Notes::default());
    let limits = Limits { slice_timeout: None, close_timeout: Duration::from_millis(300), ..Limits::default() };
    let engine = engine_with(|builder| {
        let begin = spins.function();
        builder
            .limits(limits)
            .shutdown_timeout(Duration::ZERO)
            .queue_depth(jsmill::Priority::Normal, room)
            .host_fn("note", notes.function())
            .host_fn("begin", move || begin("spins".into()))
            .host_async("ask", futures.function())
    });
    Setup { engine, script: script(SOURCE), notes, futures, spins }
}

impl Setup {
    fn make(&self, kind: Kind, point: Point) -> Going {
        let later = !matches!(point, Point::Running);
        let suffix = match point {
            Point::Awaiting => "Waits",
            Point::Closing => "Closes",
            _ => "",
        };
        let function = format!("{kind:?}{suffix}");
        match kind {
            Kind::Async => Going::Call(Box::pin(self.engine.task(&self.script).call_async(&function, (later,)))),
            Kind::Generator | Kind::AsyncGenerator => {
                Going::Run(self.engine.task(&self.script).generate(&function, (later,)).unwrap())
            }
            Kind::Multi => {
                let task = Steps { script: self.script.clone(), futures: self.futures.clone(), later };
                Going::Steps(self.engine.start(Composition::new(task).multi().memory()).unwrap())
            }
        }
    }

    /// Keeps the worker busy for some time.
    async fn busy(&self, ms: u32) {
        tokio::spawn(self.engine.task(&self.script).call::<()>("busy", (ms,)));
        tokio::time::sleep(Duration::from_millis(40)).await;
    }

    /// Brings a call to that point.
    async fn bring(&self, kind: Kind, point: Point) -> Going {
        let mut going = self.make(kind, point);
        match point {
            Point::Unpolled => {}
            Point::Queued => {
                self.busy(150).await;
                going.poll().await;
            }
            Point::Outside => {
                self.busy(150).await;
                self.busy(1).await;
                going.poll().await;
            }
            Point::Running => {
                going.poll().await;
                eventually("it runs", || self.spins.take() == ["spins"]);
            }
            Point::RunningLater => {
                if kind == Kind::Async {
                    going.poll().await;
                } else {
                    going.next().await;
                    going.reply(&self.futures);
                    going.poll().await;
                }
                eventually("it runs", || self.spins.take() == ["spins"]);
            }
            Point::Asking => going.next().await,
            Point::Answered => {
                going.next().await;
                going.reply(&self.futures);
            }
            Point::ReplyOnTheWay => {
                going.next().await;
                self.busy(150).await;
                going.reply(&self.futures);
                going.poll().await;
            }
            Point::Awaiting => {
                going.poll().await;
                eventually("it awaits", || self.futures.live() == 1);
            }
            Point::Closing => {
                going.next().await;
                match going {
                    Going::Run(run) => going = Going::Call(Box::pin(run.close())),
                    Going::Call(_) | Going::Steps(_) => unreachable!("only generators have `finally` blocks"),
                }
                going.poll().await;
                eventually("it awaits", || self.futures.live() == 1);
            }
        }
        going
    }

    /// Nothing is left of what the engine had.
    fn check_clean(self, what: &str, who: Who) {
        match who {
            Who::Caller => {
                nothing_is_left(&self.engine);
                still_works(&self.engine);
                assert_eq!(self.engine.stats().queued, [0; 3], "{what}");
                assert_eq!(self.engine.stats().lost_total, 0, "{what}");
                // The context lives on, for the next call, until its snapshot goes.
                drop(self.script);
                eventually(&format!("everything that the call owned is dropped: {what}"), || self.futures.live() == 0);
                drop(self.engine);
            }
            Who::Drop | Who::Shutdown => {
                drop((self.engine, self.script));
                eventually(&format!("everything that the engine owned is dropped: {what}"), || {
                    self.futures.live() == 0
                });
            }
        }
        assert_eq!(self.notes.take(), [""; 0], "{what}: the script went on");
    }
}

fn everywhere(who: Who, kind: Kind) {
    on_many_threads(async {
        for point in POINTS.into_iter().filter(|point| point.is_for(kind)) {
            let what = format!("{kind:?}, {point:?}, {who:?}");
            let mut setup = setup(if point == Point::Outside { 1 } else { 1_024 });
            let going = setup.bring(kind, point).await;
            match who {
                Who::Caller => drop(going),
                Who::Drop => {
                    let engine = std::mem::replace(&mut setup.engine, crate::support::engine());
                    drop(engine);
                    ends(&what, point, going).await;
                }
                Who::Shutdown => {
                    tokio::time::timeout(SLACK, setup.engine.shutdown()).await.expect(&what).expect(&what);
                    ends(&what, point, going).await;
                }
            }
            setup.check_clean(&what, who);
        }
    });
}

/// A call of an engine that ends has the end that it is told.
async fn ends(what: &str, point: Point, going: Going) {
    let end = tokio::time::timeout(SLACK, going.end()).await.unwrap_or_else(|_| panic!("{what}: it has no end"));
    match end {
        // A closing has no result that could be missing.
        Ok(()) if point == Point::Closing => {}
        Ok(()) => panic!("{what}: it cannot have ended well"),
        Err(error) => assert!(matches!(error.kind(), ErrorKind::ShuttingDown), "{what}: {error}"),
    }
}

macro_rules! cases {
    ($($name:ident: $who:expr, $kind:expr;)*) => {
        $(#[test]
        fn $name() {
            everywhere($who, $kind);
        })*

        /// Each way in which a call ends is tested with each kind.
        #[test]
        fn all_are_tested() {
            let cases = [$(($who, $kind)),*];
            for kind in KINDS {
                for who in [Who::Caller, Who::Drop, Who::Shutdown] {
                    assert!(cases.contains(&(who, kind)), "{who:?} {kind:?}");
                }
            }
        }
    };
}

cases! {
    an_async_function_is_given_up: Who::Caller, Kind::Async;
    a_generator_is_given_up: Who::Caller, Kind::Generator;
    an_async_generator_is_given_up: Who::Caller, Kind::AsyncGenerator;
    a_task_in_steps_is_given_up: Who::Caller, Kind::Multi;
    the_engine_of_an_async_function_is_dropped: Who::Drop, Kind::Async;
    the_engine_of_a_generator_is_dropped: Who::Drop, Kind::Generator;
    the_engine_of_an_async_generator_is_dropped: Who::Drop, Kind::AsyncGenerator;
    the_engine_of_a_task_in_steps_is_dropped: Who::Drop, Kind::Multi;
    the_engine_of_an_async_function_is_shut_down: Who::Shutdown, Kind::Async;
    the_engine_of_a_generator_is_shut_down: Who::Shutdown, Kind::Generator;
    the_engine_of_an_async_generator_is_shut_down: Who::Shutdown, Kind::AsyncGenerator;
    the_engine_of_a_task_in_steps_is_shut_down: Who::Shutdown, Kind::Multi;
}
