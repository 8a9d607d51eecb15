//! Values over the border, through a real engine: the two tables in `src/wire.md` cell by cell, the known traps, and random data.
//!
//! Each case is a script of one function, `main`; what a test checks is what arrives on the other side, or the path of what cannot.

mod cells_in;
mod cells_out;
mod code;
mod enums;
mod policies;
mod random;
mod size;
mod traps;

use std::sync::LazyLock;

use crate::support::SLACK;
use jsmill::{Engine, Error, ErrorKind, Limits, Policy, Result, Script};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// One engine for all conversions: they leave nothing behind.
static ENGINE: LazyLock<Engine> =
    LazyLock::new(|| Engine::builder().workers(1).v8_flags(crate::support::flags()).build().unwrap());

/// What the expression is when it arrives in Rust.
fn from_js<R: DeserializeOwned + Send + 'static>(expression: &str) -> Result<R> {
    from_js_under(Policy::default(), expression)
}

fn from_js_under<R: DeserializeOwned + Send + 'static>(policy: Policy, expression: &str) -> Result<R> {
    from_js_within(policy, ENGINE.limits(), expression)
}

fn from_js_within<R: DeserializeOwned + Send + 'static>(policy: Policy, limits: Limits, expression: &str) -> Result<R> {
    let script = Script::new("out.js", format!("const main = () => {{ return {expression};\n}};"))?;
    // Large results take their time in a debug build.
    let limits = Limits { slice_timeout: Some(SLACK), ..limits };
    ENGINE.task(&script).values(policy).limits(limits).call_blocking("main", ())
}

/// What an expression over `v` finds when `v` is the value in JavaScript.
fn to_js<T: Serialize>(value: &T, expression: &str) -> Result<Value> {
    to_js_under(Policy::default(), value, expression)
}

fn to_js_under<T: Serialize>(policy: Policy, value: &T, expression: &str) -> Result<Value> {
    let script = Script::new("in.js", format!("const main = (v) => {{ return {expression};\n}};"))?;
    ENGINE.task(&script).values(policy).call_blocking("main", (value,))
}

/// There and back again.
fn identity<T: Serialize + DeserializeOwned + Send + 'static>(policy: Policy, value: &T) -> Result<T> {
    let script = Script::new("same.js", "const main = (v) => v;")?;
    ENGINE.task(&script).values(policy).call_blocking("main", (value,))
}

/// The path and the message of a conversion that failed.
#[track_caller]
fn refused<T: std::fmt::Debug>(result: Result<T>) -> (String, String) {
    match result {
        Err(error) => match error.kind() {
            ErrorKind::Convert { path, message } => (path.clone(), message.clone()),
            _ => panic!("another error: {error} ({error:?})"),
        },
        Ok(value) => panic!("it passed as {value:?}"),
    }
}

/// The path of a conversion that failed.
#[track_caller]
fn refused_at<T: std::fmt::Debug>(result: Result<T>) -> String {
    refused(result).0
}

#[track_caller]
fn thrown<T: std::fmt::Debug>(result: Result<T>) -> (String, String) {
    let error: Error = result.unwrap_err();
    let thrown = error.script_error().unwrap_or_else(|| panic!("nothing was thrown: {error}"));
    (thrown.name.clone(), thrown.message.clone())
}
