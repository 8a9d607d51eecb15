//! A collection at every resume: whatever a paused run holds is held by handles that the collector knows, and moves with its objects.

use std::sync::Arc;
use std::task::Poll;

use jsmill::{Composition, HostError, Input, Multi, Pause, Result, Run, Scope, Script, Task};
use serde_json::{Value, json};

use super::nothing_is_left;
use crate::growth::Figures;
use crate::support::{engine_with, forced_gc, on_many_threads, on_tokio, script};

const SOURCE: &str = "
    const made = (n) => ({ n, list: [n, [n]], text: 'x' + n, map: new Map([[n, { n }]]) });
    function* inner(n) { const own = made(n); const reply = yield own.list; return own.map.get(n).n + reply; }
    function* main(rounds) {
        let sum = 0;
        for (let n = 0; n < rounds; n++) {
            const before = made(n);
            sum += yield* inner(n);
            if (before.text !== 'x' + n || before.list[1][0] !== n) throw new Error('moved away');
            sum += yield Promise.resolve(before.n);
        }
        return { sum, made: made(sum).list };
    }
    async function* stream(rounds) {
        let sum = 0;
        for (let n = 0; n < rounds; n++) {
            const before = made(n);
            sum += yield* inner(n);
            sum += await aio.sleep(0, before.map.get(n).n);
            if (before.text !== 'x' + n) throw new Error('moved away');
        }
        return { sum, made: made(sum).list };
    }
    async function later(rounds) {
        let sum = 0;
        for (let n = 0; n < rounds; n++) {
            const before = made(n);
            const [a, b] = await Promise.all([double(before.n), aio.sleep(0, before.list)]);
            sum += a + b[1][0];
            if (before.text !== 'x' + n) throw new Error('moved away');
        }
        return sum;
    }
    const read = (held) => held.n + held.list[1][0] + held.map.get(held.n).n;";

fn rounds() -> u32 {
    if forced_gc() { 5 } else { 40 }
}

#[test]
fn between_a_request_and_its_reply() {
    let engine = engine_with(|builder| builder);
    let script = script(SOURCE);
    let figures = Figures::of(&engine);
    on_tokio(async {
        for name in ["main", "stream"] {
            let mut run: Run<Value, u32, Value> = engine.task(&script).generate(name, (rounds(),)).unwrap();
            let mut n = 0;
            while let Some(request) = run.next().await.unwrap() {
                assert_eq!(request, json!([n, [n]]), "{name}");
                figures.heap_and_rss();
                run.reply(100).unwrap();
                figures.heap_and_rss();
                n += 1;
            }
            assert_eq!(n, rounds());
            // The sum of `n`, `n` again, and the reply, over all rounds.
            let sum = n * (n - 1) + 100 * n;
            assert_eq!(run.finish().await.unwrap(), json!({ "sum": sum, "made": [sum, [sum]] }), "{name}");
        }
    });
    nothing_is_left(&engine);
}

/// Collections that run between the slices of everything that is on its way.
#[test]
fn while_hosts_and_timers_are_awaited() {
    let engine = engine_with(|builder| {
        builder.host_async("double", |n: f64| async move {
            tokio::task::yield_now().await;
            Ok::<_, HostError>(2.0 * n)
        })
    });
    let script = script(SOURCE);
    let figures = Figures::of(&engine);
    on_many_threads(async {
        let calls: Vec<_> =
            (0..8).map(|_| tokio::spawn(engine.task(&script).call_async::<u32>("later", (rounds(),)))).collect();
        let mut collections = 0;
        while calls.iter().any(|call| !call.is_finished()) {
            // On this thread of two: the calls' own wake-ups go on.
            tokio::task::yield_now().await;
            figures.heap_and_rss();
            collections += 1;
        }
        assert!(collections > 0);
        for call in calls {
            assert_eq!(call.await.unwrap().unwrap(), (0..rounds()).map(|n| 3 * n).sum::<u32>());
        }
    });
    nothing_is_left(&engine);
}

/// A task that holds an object of its script from step to step, and collects in each.
struct Holder(Arc<Script>);

impl Task for Holder {
    fn script(&self) -> &Arc<Script> {
        &self.0
    }
}

impl Multi for Holder {
    type State = (v8::Global<v8::Value>, u32);
    type Request = u32;
    type Reply = u32;
    type Output = u32;

    fn start(&self, scope: &mut Scope<'_, '_, '_>) -> Result<Self::State> {
        let made = scope.function("made")?;
        let n = scope.to_js(&7)?;
        let value = scope.call(made, &[n])?;
        let held = v8::Global::new(scope.v8(), value);
        scope.v8().low_memory_notification();
        Ok((held, 0))
    }

    fn step(
        &self,
        (held, sum): &mut Self::State,
        input: Input<u32>,
        scope: &mut Scope<'_, '_, '_>,
    ) -> Result<Pause<u32, u32>> {
        scope.v8().low_memory_notification();
        let read = scope.function("read")?;
        let value = v8::Local::new(scope.v8(), &*held);
        let result = scope.call(read, &[value])?;
        *sum += scope.from_js::<u32>(result)?;
        scope.v8().low_memory_notification();
        match input {
            Input::Reply(0) => Ok(Pause::Done(*sum)),
            _ => Ok(Pause::Request(*sum)),
        }
    }

    fn close(&self, (held, _): Self::State, scope: &mut Scope<'_, '_, '_>) -> Result<()> {
        scope.v8().low_memory_notification();
        drop(held);
        Ok(())
    }
}

#[test]
fn inside_of_the_steps_of_a_task() {
    let engine = engine_with(|builder| builder);
    let script = script(SOURCE);
    let figures = Figures::of(&engine);
    on_tokio(async {
        let mut run = engine.start(Composition::new(Holder(script.clone())).multi().memory()).unwrap();
        for n in 1..=rounds() {
            assert_eq!(run.next().await.unwrap(), Some(21 * n));
            figures.heap_and_rss();
            run.reply(1).unwrap();
        }
        assert_eq!(run.next().await.unwrap(), Some(21 * (rounds() + 1)));
        run.reply(0).unwrap();
        assert_eq!(run.finish().await.unwrap(), 21 * (rounds() + 2));
        let mut run = engine.start(Composition::new(Holder(script)).multi().memory()).unwrap();
        run.next().await.unwrap();
        run.close().await.unwrap();
    });
    nothing_is_left(&engine);
}

/// A run whose snapshot and context nobody else holds lives on by itself.
#[test]
fn after_everything_else_of_its_script_is_gone() {
    let engine = engine_with(|builder| builder);
    let figures = Figures::of(&engine);
    on_tokio(async {
        let source = script(SOURCE);
        let mut run: Run<Value, u32, Value> = engine.task(&source).generate("main", (1,)).unwrap();
        drop(source);
        let first = run.next().await.unwrap();
        assert_eq!(first, Some(json!([0, [0]])));
        figures.heap_and_rss();
        run.reply(3).unwrap();
        figures.heap_and_rss();
        let end = std::future::poll_fn(|context| match run.poll_next_request(context) {
            Poll::Ready(next) => Poll::Ready(next),
            Poll::Pending => Poll::Pending,
        });
        assert_eq!(end.await.unwrap(), None);
        assert_eq!(run.finish().await.unwrap(), json!({ "sum": 3, "made": [3, [3]] }));
    });
    nothing_is_left(&engine);
}
