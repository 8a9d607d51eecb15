//! Async functions and what they await.

use std::time::Duration;

use jsmill::{ErrorKind, HostError};
use serde_json::{Value, json};

use crate::assert_kind;
use crate::support::{engine, engine_with, eventually, forced_gc, on_tokio, script, still_works};

#[test]
fn host_functions_are_awaited() {
    let engine = engine_with(|builder| {
        builder
            .host_async("double", |n: f64| async move {
                tokio::time::sleep(Duration::from_millis(2)).await;
                Ok::<_, HostError>(n * 2.0)
            })
            .host_async("fail", |text: String| async move { Err::<(), _>(HostError::new(text)) })
            .host_fn("half", |n: f64| Ok::<_, HostError>(n / 2.0))
    });
    let script = script(
        "const main = async (n) => half(await double(await double(n)));
         const both = async () => { try { await fail('no'); } catch (e) { return [e.message, await double(1)]; } };
         const naked = async () => { await fail('down'); };",
    );
    on_tokio(async {
        assert_eq!(engine.task(&script).call_async::<f64>("main", (3,)).await.unwrap(), 6.0);
        assert_eq!(engine.task(&script).call_async::<Value>("both", ()).await.unwrap(), json!(["no", 2]));
        let error = engine.task(&script).call_async::<Value>("naked", ()).await.unwrap_err();
        assert_eq!(error.script_error().unwrap().message, "down");
        let many = (0..500).map(|n| engine.task(&script).call_async::<f64>("main", (n,)));
        let results = futures::future::try_join_all(many).await.unwrap();
        assert_eq!(results.iter().sum::<f64>(), (0..500).map(|n| 2.0 * n as f64).sum::<f64>());
    });
    eventually("no run is left", || engine.stats().workers[0].live == 0 && engine.stats().workers[0].pending == 0);
}

#[test]
fn waiting_for_what_nothing_settles_ends_at_once() {
    let engine = engine();
    let script = script(
        "async function thenable() { await { then() {} }; }
         async function* stream() { yield 1; await new Promise(() => {}); }
         async function never() { await new Promise(() => {}); }
         function* yields() { yield new Promise(() => {}); }
         async function races(n) { const never = new Promise(() => {}); for (let i = 0; i < n; i++) await Promise.race([never, i]); return 'done'; }",
    );
    on_tokio(async {
        for name in ["thenable", "never"] {
            let error = engine.task(&script).call_async::<()>(name, ()).await.unwrap_err();
            assert_kind!(error, ErrorKind::Stalled);
        }
        let mut run = engine.task(&script).generate::<u32, (), ()>("stream", ()).unwrap();
        assert_eq!(run.next().await.unwrap(), Some(1));
        assert_kind!(run.next().await.unwrap_err(), ErrorKind::Stalled);
        let mut run = engine.task(&script).generate::<u32, (), ()>("yields", ()).unwrap();
        assert_kind!(run.next().await.unwrap_err(), ErrorKind::Stalled);
        let task = engine.task(&script).timeout(Duration::from_secs(20));
        let rounds = if forced_gc() { 2_000 } else { 200_000 };
        assert_eq!(task.call_async::<String>("races", (rounds,)).await.unwrap(), "done");
    });
    still_works(&engine);
}

#[test]
fn rejections_that_nobody_handles_fail_the_call() {
    let engine = engine();
    let script = script(
        "async function main() { save(1); save(2); return { ok: true }; }
         async function save(n) { await null; throw new Error('disk full ' + n); }
         async function late() { const p = save(3); await null; p.catch(() => {}); return 'fine'; }
         const plain = () => { Promise.reject(new TypeError('lost')); return 1; };
         async function pending() { aio.sleep(1).then(() => { throw new Error('late'); }); return 'gone'; }",
    );
    on_tokio(async {
        let error = engine.task(&script).call_async::<Value>("main", ()).await.unwrap_err();
        let ErrorKind::Unhandled(errors) = error.kind() else { panic!("{error}") };
        let texts: Vec<_> = errors.iter().map(|error| error.message.as_str()).collect();
        assert_eq!(texts, ["disk full 1", "disk full 2"]);
        assert!(error.to_string().contains("disk full 2"), "{error}");
        assert_eq!(engine.task(&script).call_async::<String>("late", ()).await.unwrap(), "fine");
        let error = engine.task(&script).call::<u32>("plain", ()).await.unwrap_err();
        assert_kind!(error, ErrorKind::Unhandled(errors) if errors[0].name == "TypeError");
        assert_eq!(engine.task(&script).call_async::<String>("pending", ()).await.unwrap(), "gone");
        tokio::time::sleep(Duration::from_millis(20)).await;
    });
    still_works(&engine);
}

#[test]
fn limits_span_the_slices() {
    let engine = engine();
    let script = script(
        "async function sleeps() { await aio.sleep(60000); }
         async function spins() { for (;;) { const end = Date.now() + 5; while (Date.now() < end); await aio.sleep(1); } }
         async function loops() { await aio.sleep(1); for (;;); }
         function* asks() { try { yield 1; } finally { } }",
    );
    on_tokio(async {
        let task = engine.task(&script).deadline(Duration::from_millis(50));
        let error = task.call_async::<()>("sleeps", ()).await.unwrap_err();
        assert_kind!(error, ErrorKind::Deadline { queued: false, .. });
        let spent = error.spent().unwrap();
        assert!(spent.waiting >= Duration::from_millis(30) && spent.cpu < Duration::from_millis(30), "{spent:?}");
        let task = engine.task(&script).cpu_budget(Duration::from_millis(40));
        let error = task.call_async::<()>("spins", ()).await.unwrap_err();
        assert_kind!(error, ErrorKind::CpuBudget { .. });
        assert!(error.spent().unwrap().cpu >= Duration::from_millis(30), "{error}");
        let task = engine.task(&script).timeout(Duration::from_millis(30));
        assert_kind!(task.call_async::<()>("loops", ()).await.unwrap_err(), ErrorKind::SliceTimeout { .. });
        let task = engine.task(&script).idle_timeout(Duration::from_millis(20));
        let mut run = task.generate::<u32, (), ()>("asks", ()).unwrap();
        assert_eq!(run.next().await.unwrap(), Some(1));
        tokio::time::sleep(Duration::from_millis(200)).await;
        assert_kind!(run.next().await.unwrap_err(), ErrorKind::IdleTimeout { .. });
    });
    eventually("no run is left", || engine.stats().workers[0].live == 0 && engine.stats().workers[0].pending == 0);
    still_works(&engine);
}

#[test]
fn a_panic_of_a_host_future_ends_the_call() {
    let engine = engine_with(|builder| {
        builder.host_async("boom", || async move {
            tokio::task::yield_now().await;
            if true {
                panic!("inside of a future");
            }
            Ok::<_, HostError>(())
        })
    });
    let script = script("async function main() { try { await boom(); } catch (e) { return 'caught'; } }");
    on_tokio(async {
        let error = engine.task(&script).call_async::<String>("main", ()).await.unwrap_err();
        assert_kind!(error, ErrorKind::HostPanicked { what } if what.contains("boom"));
    });
    still_works(&engine);
}

#[test]
fn a_rejection_while_the_script_is_loaded_fails_every_call() {
    let engine = engine();
    let script = script("Promise.reject(new Error('at the top')); async function main() { return 1; }");
    on_tokio(async {
        for _ in 0..2 {
            let error = engine.task(&script).call_async::<u32>("main", ()).await.unwrap_err();
            assert_kind!(error, ErrorKind::Unhandled(errors) if errors[0].message == "at the top");
        }
    });
    still_works(&engine);
}

#[test]
fn nothing_is_begun_while_a_script_is_loaded() {
    let engine = engine_with(|builder| builder.host_async("one", || async { Ok::<_, HostError>(1) }));
    for source in ["const p = aio.sleep(1);", "const p = one();"] {
        let script = script(&format!("{source} async function main() {{ return 1; }}"));
        let error = engine.task(&script).call_async_blocking::<u32>("main", ()).unwrap_err();
        assert!(error.to_string().contains("inside of a function"), "{source}: {error}");
    }
}

#[test]
fn pending_work_is_bounded_for_a_call_and_for_the_engine() {
    let engine = engine_with(|builder| builder.pending(50));
    let script = script(
        "async function many(n) { const waits = []; for (let i = 0; i < n; i++) waits.push(aio.sleep(5)); await aio.all(waits); return n; }
         async function careful(n) { const waits = []; for (let i = 0; i < n; i++) waits.push(aio.sleep(5)); try { await aio.all(waits); } catch (e) { return e.name; } }",
    );
    on_tokio(async {
        let limits = jsmill::Limits { pending: 10, ..Default::default() };
        let task = engine.task(&script).limits(limits);
        assert_eq!(task.clone().call_async::<u32>("many", (10,)).await.unwrap(), 10);
        let error = task.clone().call_async::<u32>("many", (11,)).await.unwrap_err();
        assert_kind!(error, ErrorKind::PendingLimit { limit: 10, scale: jsmill::Scale::Call });
        assert_eq!(task.call_async::<String>("careful", (11,)).await.unwrap(), "RangeError");
        let error = engine.task(&script).call_async::<u32>("many", (51,)).await.unwrap_err();
        assert_kind!(error, ErrorKind::PendingLimit { limit: 50, scale: jsmill::Scale::Engine });
        assert_eq!(engine.task(&script).call_async::<u32>("many", (50,)).await.unwrap(), 50);
    });
    eventually("nothing is pending", || engine.stats().workers[0].pending == 0);
}
