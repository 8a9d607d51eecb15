//! Goal: a task of one's own, with access to the inside of the script's context: host functions, constants, V8's scope.
//!
//! Run it with `cargo run --example custom_task`.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use jsmill::{Composition, Engine, Error, ErrorKind, HostError, LogLine, OneOff, Result, Scope, Script, Task, v8};

/// The script, which uses what the task gives it: `stock` is a function of the host, `RESERVE` a constant.
const SOURCE: &str = "\
const plan = (article, wanted) => {
    const left = stock(article) - RESERVE;
    if (left < wanted) console.warn('only', left, 'of', article);
    return Math.max(0, Math.min(left, wanted));
};
const price = (article) => { throw new Error(`the table of prices at 10.0.0.7 has no ${article}`); };";

/// What the warehouse holds.
type Stock = HashMap<&'static str, i64>;

/// 1. A task owns, or shares, everything that it needs.
struct Plan {
    script: Arc<Script>,
    stock: Arc<Stock>,
    orders: Vec<(&'static str, i64)>,
}

impl Task for Plan {
    fn script(&self) -> &Arc<Script> {
        &self.script
    }

    /// What errors and spans call it; without this, it has the script's name.
    fn name(&self) -> &str {
        "plan"
    }

    /// 2. Prepares a new context, before the script is loaded into it. The context is used by all tasks of this type that have this
    ///    script, so that what is put in here must be the same for all of them.
    fn initialize(&self, scope: &mut Scope<'_, '_, '_>) -> Result<()> {
        scope.define("RESERVE", &5)?;
        let stock = self.stock.clone();
        scope.define_function("stock", move |article: String| {
            // What a host function refuses is thrown at the script. It runs on the worker, and must not block.
            stock.get(article.as_str()).copied().ok_or_else(|| HostError::new(format!("there is no {article}")))
        })
    }
}

/// 3. What is done in the context: here two functions' worth of calls in one run, and a look with V8's own means.
impl OneOff for Plan {
    type Output = (Vec<i64>, u32);

    fn run(&self, scope: &mut Scope<'_, '_, '_>) -> Result<Self::Output> {
        let plan = scope.function("plan")?;
        let mut given = Vec::with_capacity(self.orders.len());
        for (article, wanted) in &self.orders {
            let arguments = [scope.to_js(article)?, scope.to_js(wanted)?];
            let result = scope.call(plan, &arguments)?;
            given.push(scope.from_js(result)?);
        }
        // Whatever the methods of `Scope` do not do: here, how many parameters the function has.
        let key = v8::String::new(scope.v8(), "length").ok_or_else(|| Error::task("the name is too long"))?;
        let length = plan.get(scope.v8(), key.into()).ok_or_else(|| Error::task("`length` is gone"))?;
        let length = scope.from_js(length)?;
        Ok((given, length))
    }
}

/// A task that fails, on the same script.
struct Price {
    plan: Plan,
}

impl Task for Price {
    fn script(&self) -> &Arc<Script> {
        &self.plan.script
    }

    fn initialize(&self, scope: &mut Scope<'_, '_, '_>) -> Result<()> {
        self.plan.initialize(scope)
    }
}

impl OneOff for Price {
    type Output = f64;

    fn run(&self, scope: &mut Scope<'_, '_, '_>) -> Result<f64> {
        let price = scope.function("price")?;
        let article = scope.to_js("lamp")?;
        let result = scope.call(price, &[article])?;
        scope.from_js(result)
    }
}

#[tokio::main]
async fn main() -> Result<()> {
    let engine = Engine::builder().workers(1).build()?;
    let script = Script::new("plan.js", SOURCE)?;
    let stock: Arc<Stock> = Arc::new(HashMap::from([("chair", 12), ("lamp", 7)]));
    let plan =
        |orders: &[(&'static str, i64)]| Plan { script: script.clone(), stock: stock.clone(), orders: orders.to_vec() };

    // 4. The parts are put together: how it runs, what is kept of it, who gets its log.
    let log: Arc<Mutex<Vec<String>>> = Arc::default();
    let lines = log.clone();
    let composition =
        Composition::new(plan(&[("chair", 4), ("lamp", 4)])).one_off().memory().logger(move |line: &LogLine| {
            lines.lock().unwrap().push(format!("{}:{}: {}", line.script, line.line, line.message))
        });
    let (given, parameters) = engine.run(composition).await?;
    assert_eq!((given, parameters), (vec![4, 2], 2));
    let log = std::mem::take(&mut *log.lock().unwrap());
    assert_eq!(log, ["plan.js:3: only 2 of lamp"]);
    println!("{}", log[0]);

    // 5. What the host function refuses is an exception of the script, with its place. This run finds the context of the first one.
    let error = engine.run(Composition::new(plan(&[("sofa", 1)])).one_off().memory()).await.unwrap_err();
    assert_eq!(error.script_error().map(|thrown| thrown.line), Some(Some(2)), "{error}");
    println!("{error}");

    // 6. An exception handler sees errors on the worker, before the caller does: here one that keeps internal text inside.
    let composition = Composition::new(Price { plan: plan(&[]) }).one_off().memory().on_exception(|error: Error| {
        match error.kind() {
            ErrorKind::Script(_) => Error::task("no price"),
            _ => error,
        }
    });
    let error = engine.run(composition).await.unwrap_err();
    assert!(error.to_string().contains("no price") && !error.to_string().contains("10.0.0.7"), "{error}");
    println!("{error}");

    engine.shutdown().await
}
