//! The startup snapshot: made once per process, the start of every isolate and context.
//!
//! [`create`] builds two contexts: one ([`super::realm::open`]) has the intrinsics as V8 makes them, the other one
//! ([`super::realm::sealed`]) has them frozen. Both carry the functions that harden values, out of reach of scripts.
//! V8 adds its newest features when a context is deserialised and aborts when it cannot extend an object for that, so
//! [`create`] first looks at a realm outside of the snapshot creator and leaves what differs extensible.
//!
//! Invariant: a blob belongs to the V8 and the flags of the process that made it. It is never stored, so it knows nothing of
//! versions; and it holds no pointer to the host, so it needs no external references.

use super::realm::shape;

/// The index of the context whose intrinsics are frozen.
pub(super) const SEALED: usize = 0;
/// The index of the context whose intrinsics are as V8 makes them.
pub(super) const OPEN: usize = 1;
/// The index of the functions in the data of either context.
pub(super) const PARTS: usize = 0;
/// Properties that V8 fills in when they are first read, all of them for `Temporal`.
pub(super) const LAZY: [&str; 2] = ["Temporal", "toTemporalInstant"];

/// Where the function that freezes the intrinsics is in what the prelude returns.
const FREEZE: u32 = 4;
/// The objects of which V8 remembers the shape, see [`shape`].
const WATCHED: &str = "[RegExp.prototype, Set.prototype, WeakSet.prototype, Object.getPrototypeOf(''.matchAll(/a/g))]";

const SURVEY: &str = include_str!("../../js/survey.js");
const HARDEN: &str = include_str!("../../js/harden.js");
const SEAL: &str = include_str!("../../js/seal.js");
const AIO: &str = include_str!("../../js/aio.js");
/// The parts of `aio`, by name.
const AIO_PARTS: [(&str, &str); 9] = [
    ("base", include_str!("../../js/aio/base.js")),
    ("work", include_str!("../../js/aio/work.js")),
    ("timers", include_str!("../../js/aio/timers.js")),
    ("combine", include_str!("../../js/aio/combine.js")),
    ("semaphore", include_str!("../../js/aio/semaphore.js")),
    ("queue", include_str!("../../js/aio/queue.js")),
    ("scope", include_str!("../../js/aio/scope.js")),
    ("once", include_str!("../../js/aio/once.js")),
    ("callbacks", include_str!("../../js/aio/callbacks.js")),
];
const IO: &str = if cfg!(feature = "io") { include_str!("../../js/io.js") } else { "undefined" };
const PRELUDE: &str = include_str!("../../js/prelude.js");

/// Why there is no snapshot: a bug of this crate, or a V8 that it does not know.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the startup snapshot cannot be made: {step}: {reason}; this is a bug in jsmill, please report it")]
pub struct Failed {
    /// What was being done.
    pub step: &'static str,
    /// What V8 said.
    pub reason: String,
}

impl Failed {
    fn new(step: &'static str, reason: impl Into<String>) -> Self {
        Failed { step, reason: reason.into() }
    }
}

/// Makes the snapshot. V8 has to be initialised, and its flags are final.
///
/// Takes some 100 ms, and enters and leaves two isolates on this thread.
///
/// # Errors
/// [`Failed`] when one of the scripts that build the contexts fails.
pub fn create() -> Result<v8::StartupData, Failed> {
    let outside = outside()?;
    let mut creator = v8::Isolate::snapshot_creator(None, None);
    let filled = fill(&mut creator, &outside);
    // The creator has to make its blob before it goes away, whether or not it was filled.
    let blob = creator.create_blob(v8::FunctionCodeHandling::Keep);
    filled?;
    blob.ok_or_else(|| Failed::new("serialising the heap", "V8 returned no data"))
}

/// The graph of the intrinsics of a realm with everything that V8 adds late.
pub(super) fn outside() -> Result<String, Failed> {
    let mut isolate = v8::Isolate::new(Default::default());
    v8::scope!(let scope, &mut isolate);
    let context = v8::Context::new(scope, Default::default());
    let scope = &mut v8::ContextScope::new(scope, context);
    v8::tc_scope!(let scope, scope);
    let source = format!("{SURVEY}({LAZY:?}).graph()");
    match evaluate(scope, &source) {
        Some(text) => Ok(text.to_rust_string_lossy(scope)),
        None => Err(Failed::new("surveying the intrinsics", thrown(scope))),
    }
}

fn fill(creator: &mut v8::OwnedIsolate, outside: &str) -> Result<(), Failed> {
    v8::scope!(let scope, creator);
    // A creator without a default context could not be disposed of. It is not used: V8 makes one from it, or ends the process.
    let unused = v8::Context::new(scope, Default::default());
    scope.set_default_context(unused);
    for (index, outside) in [(SEALED, Some(outside)), (OPEN, None)] {
        let context = v8::Context::new(scope, Default::default());
        prepare(&mut v8::ContextScope::new(scope, context), context, outside)?;
        let given = scope.add_context(context);
        if given != index {
            return Err(Failed::new("adding a context", format!("its index is {given} in place of {index}")));
        }
    }
    Ok(())
}

/// Runs the prelude in `context` and attaches what it returns.
fn prepare<'s>(
    scope: &mut v8::PinScope<'s, '_>,
    context: v8::Local<'s, v8::Context>,
    sealed: Option<&str>,
) -> Result<(), Failed> {
    const STEP: &str = "running the prelude";
    let before = watched(scope)?;
    v8::tc_scope!(let scope, scope);
    let parts: String = AIO_PARTS.iter().map(|(name, source)| format!("{name}: {source},\n")).collect();
    let source = format!(
        "{PRELUDE}({}, {:?}, {LAZY:?}, {SURVEY}, {HARDEN}, {SEAL}, {AIO}, {{{parts}}}, {IO})",
        sealed.is_some(),
        sealed.unwrap_or_default()
    );
    let Some(parts) = evaluate(scope, &source).and_then(|parts| v8::Local::<v8::Array>::try_from(parts).ok()) else {
        return Err(Failed::new(STEP, thrown(scope)));
    };
    let mut kept = vec![];
    for at in 0..super::realm::KEPT {
        kept.extend(parts.get_index(scope, at));
    }
    let kept = v8::Array::new_with_elements(scope, &kept);
    scope.add_context_data(context, kept);
    if sealed.is_none() {
        return Ok(());
    }
    let freeze = parts.get_index(scope, FREEZE).and_then(|it| v8::Local::<v8::Function>::try_from(it).ok());
    let freeze = freeze.ok_or_else(|| Failed::new(STEP, "it returned something else than its parts"))?;
    let receiver = v8::undefined(scope).into();
    if freeze.call(scope, receiver, &[]).is_none() {
        return Err(Failed::new("freezing the intrinsics", thrown(scope)));
    }
    for (object, old) in before {
        shape::remember(context, old, object);
    }
    Ok(())
}

/// The objects of which V8 remembers the shape, with the shapes that they have now.
fn watched<'s>(scope: &mut v8::PinScope<'s, '_>) -> Result<Vec<(v8::Local<'s, v8::Object>, shape::Shape)>, Failed> {
    let objects = evaluate(scope, WATCHED).and_then(|it| v8::Local::<v8::Array>::try_from(it).ok());
    let objects = objects.ok_or_else(|| Failed::new("finding the prototypes that V8 watches", "the script failed"))?;
    let mut found = vec![];
    for at in 0..objects.length() {
        if let Some(object) = objects.get_index(scope, at).and_then(|it| v8::Local::<v8::Object>::try_from(it).ok()) {
            found.push((object, shape::of(object)));
        }
    }
    Ok(found)
}

fn evaluate<'s>(scope: &mut v8::PinScope<'s, '_>, source: &str) -> Option<v8::Local<'s, v8::Value>> {
    let source = v8::String::new(scope, source)?;
    let mut source = v8::script_compiler::Source::new(source, None);
    let options = v8::script_compiler::CompileOptions::EagerCompile;
    let reason = v8::script_compiler::NoCacheReason::NoReason;
    v8::script_compiler::compile(scope, &mut source, options, reason)?.run(scope)
}

fn thrown(scope: &mut v8::PinnedRef<'_, v8::TryCatch<v8::HandleScope>>) -> String {
    match scope.stack_trace().or_else(|| scope.exception()) {
        Some(exception) => exception.to_rust_string_lossy(scope),
        None => "no exception".to_owned(),
    }
}
