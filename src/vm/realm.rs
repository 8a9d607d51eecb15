//! Contexts made from the startup snapshot, and the sealing of what a script put into one.
//!
//! [`open`] is a context like V8's own, in which everything may be changed. [`sealed`] has frozen intrinsics: what a run
//! can reach of the realm itself stays as it is, so a later run does not see it. After the script was loaded, [`seal`]
//! freezes what it left at the top level, and the global object. [`harden_value`] freezes one value, such as host data.
//!
//! What differs from plain V8 in a sealed context:
//! - `RegExp.$1`, `RegExp.lastMatch` and their like, `FinalizationRegistry` and `Error.prepareStackTrace` are gone,
//!   `Error.stackTraceLimit` is fixed, and `RegExp.prototype.compile` throws.
//! - Assigning an inherited name on an instance works (`error.name = ..`, `Money.prototype.toString = ..`) for the methods
//!   of objects, functions, arrays, errors, iterators, generators and dates. It fails for the names that V8 watches
//!   (`then`, the `constructor` of arrays, promises, typed arrays and regular expressions, the methods of
//!   `RegExp.prototype`), and for the methods of collections, typed arrays and primitives: there a class member, an object
//!   literal or `Object.defineProperty` does it.
//! - What freezing cannot reach: private fields (`#count`), variables of closures, the bound arguments of functions.
//!   Whoever loads a script looks at its text for these.
//! - Two things are slower, as V8 keeps a shortcut for an unchanged prototype only: `new Map(pairs)` takes 1.4 times as long, an
//!   array in a string concatenation 2.5 times. A regular expression that [`seal`] froze takes V8's general path in `replace`,
//!   `match` and `split`; a literal inside the function does not.
//!
//! Invariant: a context that left [`sealed`] has no intrinsic that can be changed. It does not know scripts, limits or caches.

mod kind;
pub(super) mod shape;
mod temporal;
#[cfg(test)]
mod tests;

use super::snapshot::{OPEN, PARTS, SEALED};

/// The functions that belong to a context: where they are in the list that the prelude returns.
const HARDEN: u32 = 0;
const SEAL: u32 = 1;
const FINISH: u32 = 2;
const CONNECT: u32 = 3;

/// How many of them are kept with a context.
pub(super) const KEPT: u32 = 4;

/// An object that cannot be closed against changes.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{path}` is {what}, which can be changed even when it is frozen")]
pub struct Refused {
    /// Where it is, from a top-level binding on: `config.cache[0]`.
    pub path: String,
    /// What it is: `a Map`.
    pub what: String,
}

impl Refused {
    fn interrupted() -> Self {
        Refused {
            path: "globalThis".into(),
            what: "the root of a walk that was interrupted or ran out of memory".into(),
        }
    }

    fn foreign() -> Self {
        Refused { path: "globalThis".into(), what: "part of a context that was not made by `open` or `sealed`".into() }
    }
}

/// Makes a context with plain intrinsics. The isolate has to come from the startup snapshot.
///
/// `queue` is where its microtasks go; without one they go to the isolate's own queue. `None` when V8 cannot make a context,
/// such as after termination or when memory is short.
pub fn open<'s>(
    scope: &mut v8::PinScope<'s, '_, ()>,
    queue: Option<*mut v8::MicrotaskQueue>,
) -> Option<v8::Local<'s, v8::Context>> {
    let options = v8::ContextOptions { microtask_queue: queue, ..Default::default() };
    let context = v8::Context::from_snapshot(scope, OPEN, options)?;
    let scope = &mut v8::ContextScope::new(scope, context);
    let parts = keep_parts(scope, context)?;
    let finish = part(scope, parts, FINISH)?;
    let receiver = v8::undefined(scope).into();
    finish.call(scope, receiver, &[])?;
    Some(context)
}

/// Makes a context with frozen intrinsics. The isolate has to come from the startup snapshot.
///
/// `queue` is as in [`open`]. `None` when V8 cannot make a context, such as after termination or when memory is short.
pub fn sealed<'s>(
    scope: &mut v8::PinScope<'s, '_, ()>,
    queue: Option<*mut v8::MicrotaskQueue>,
) -> Option<v8::Local<'s, v8::Context>> {
    let options = v8::ContextOptions { microtask_queue: queue, ..Default::default() };
    let context = v8::Context::from_snapshot(scope, SEALED, options)?;
    let scope = &mut v8::ContextScope::new(scope, context);
    let parts = keep_parts(scope, context)?;
    let finish = part(scope, parts, FINISH)?;
    let make = v8::Function::builder(temporal::make).build(scope)?;
    let receiver = v8::undefined(scope).into();
    finish.call(scope, receiver, &[make.into()])?;
    Some(context)
}

/// Freezes all that the script of the current context left at its top level, then the global object itself.
///
/// `bindings` are the values of its top-level declarations. To be called in a context from [`sealed`].
///
/// # Errors
/// [`Refused`] names the first object that freezing cannot close. What was met before it is frozen by then, and the global
/// object is not: such a context is of no further use.
pub fn seal(scope: &mut v8::PinScope<'_, '_>, bindings: &[(String, v8::Local<'_, v8::Value>)]) -> Result<(), Refused> {
    let mut names = Vec::with_capacity(bindings.len());
    let mut values = Vec::with_capacity(bindings.len());
    for (name, value) in bindings {
        names.push(v8::String::new(scope, name).ok_or_else(Refused::interrupted)?.into());
        values.push(v8::Local::new(scope, *value));
    }
    walk(scope, SEAL, &names, &values)
}

/// Freezes `value` and all that can be reached from it, except the intrinsics.
///
/// # Errors
/// [`Refused`], with `value` as the root of the path.
pub fn harden_value(scope: &mut v8::PinScope<'_, '_>, value: v8::Local<'_, v8::Value>) -> Result<(), Refused> {
    if !value.is_object() {
        return Ok(());
    }
    let name = v8::String::new(scope, "value").ok_or_else(Refused::interrupted)?.into();
    let value = v8::Local::new(scope, value);
    walk(scope, HARDEN, &[name], &[value])
}

fn walk<'s>(
    scope: &mut v8::PinScope<'s, '_>,
    which: u32,
    names: &[v8::Local<'s, v8::Value>],
    values: &[v8::Local<'s, v8::Value>],
) -> Result<(), Refused> {
    let context = scope.get_current_context();
    let key = private(scope).ok_or_else(Refused::interrupted)?;
    let kept = context.global(scope).get_private(scope, key).ok_or_else(Refused::interrupted)?;
    let parts = v8::Local::<v8::Array>::try_from(kept).map_err(|_| Refused::foreign())?;
    let function = part(scope, parts, which).ok_or_else(Refused::foreign)?;
    let kind = v8::Function::builder(kind::kind).build(scope).ok_or_else(Refused::interrupted)?;
    let names = v8::Array::new_with_elements(scope, names);
    let values = v8::Array::new_with_elements(scope, values);
    let receiver = v8::undefined(scope).into();

    v8::tc_scope!(let scope, scope);
    let answer = function.call(scope, receiver, &[kind.into(), names.into(), values.into()]);
    let answer = answer.ok_or_else(Refused::interrupted)?;
    let Ok(refused) = v8::Local::<v8::Array>::try_from(answer) else {
        return Ok(());
    };
    let text = |at| match refused.get_index(scope, at) {
        Some(text) => text.to_rust_string_lossy(scope),
        None => String::new(),
    };
    Err(Refused { path: text(0), what: text(1) })
}

/// Moves the functions of a new context from the snapshot to where [`walk`] finds them: a private property of the global
/// object, which no script can see.
fn keep_parts<'s>(
    scope: &mut v8::PinScope<'s, '_>,
    context: v8::Local<'s, v8::Context>,
) -> Option<v8::Local<'s, v8::Array>> {
    let parts = scope.get_context_data_from_snapshot_once::<v8::Array>(PARTS).ok()?;
    let key = private(scope)?;
    context.global(scope).set_private(scope, key, parts.into())?;
    Some(parts)
}

/// Gives the current context its library for waiting, `aio`, which calls `native` with the number of what it wants and two arguments.
pub(super) fn connect(scope: &mut v8::PinScope<'_, '_>, native: v8::FunctionCallback) -> Option<()> {
    let key = private(scope)?;
    let parts = scope.get_current_context().global(scope).get_private(scope, key)?;
    let parts = v8::Local::<v8::Array>::try_from(parts).ok()?;
    let connect = part(scope, parts, CONNECT)?;
    let native = v8::Function::builder_raw(native).constructor_behavior(v8::ConstructorBehavior::Throw).build(scope)?;
    let receiver = v8::undefined(scope).into();
    connect.call(scope, receiver, &[native.into()]).map(drop)
}

fn private<'s>(scope: &v8::PinScope<'s, '_>) -> Option<v8::Local<'s, v8::Private>> {
    let name = v8::String::new(scope, "jsmill.realm")?;
    Some(v8::Private::for_api(scope, Some(name)))
}

fn part<'s>(
    scope: &v8::PinScope<'s, '_>,
    parts: v8::Local<'s, v8::Array>,
    which: u32,
) -> Option<v8::Local<'s, v8::Function>> {
    v8::Local::<v8::Function>::try_from(parts.get_index(scope, which)?).ok()
}
