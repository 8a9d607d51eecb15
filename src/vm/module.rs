//! ES modules of one script: compiled, linked by the names that the script gave them, evaluated.

use std::fmt::Write;
use std::num::NonZeroI32;

use rustc_hash::FxHashMap;

use super::code::{self, CodeCache};
use super::exception::catch;
use super::host::Host;
use crate::error::{Error, ErrorKind, Result, ScriptError};
use crate::script::outline::BindingKind;
use crate::script::{Script, Source, resolve};

/// The method of `import.meta` to which each module hands its top-level bindings as its last statement.
const BIND: &str = "jsmill.bind";

/// A module graph while it is loaded.
pub(super) struct Loading {
    modules: Vec<v8::Global<v8::Module>>,
    /// By identity hash, which is not unique.
    by_hash: FxHashMap<NonZeroI32, Vec<usize>>,
    /// For each module, the modules that its specifiers name.
    imports: Vec<FxHashMap<String, usize>>,
    bindings: std::cell::RefCell<Vec<v8::Global<v8::Object>>>,
}

/// An evaluated graph: the entry's namespace, and one object for each module with its top-level bindings.
pub(super) struct Loaded<'s> {
    pub(super) namespace: v8::Local<'s, v8::Object>,
    pub(super) bindings: Vec<v8::Local<'s, v8::Object>>,
}

/// Loads the modules of a script into the current context.
pub(super) fn load<'s>(
    scope: &mut v8::PinScope<'s, '_>,
    host: &Host,
    cache: &CodeCache,
    script: &Script,
    entry: usize,
) -> Result<Loaded<'s>> {
    let sources = script.sources();
    let mut loading = Loading {
        modules: Vec::with_capacity(sources.len()),
        by_hash: FxHashMap::default(),
        imports: Vec::with_capacity(sources.len()),
        bindings: std::cell::RefCell::default(),
    };
    for (index, source) in sources.iter().enumerate() {
        let module = code::module(scope, cache, source, &with_bindings(source))?;
        loading.by_hash.entry(module.get_identity_hash()).or_default().push(index);
        loading.modules.push(v8::Global::new(scope, module));
        let named = source.outline.imports.iter().map(|import| import.specifier.clone());
        loading.imports.push(
            named
                .filter_map(|name| Some((name.clone(), resolve(&name, sources.iter().map(|source| &*source.name))?)))
                .collect(),
        );
    }
    let loading = std::rc::Rc::new(loading);
    *host.loading.borrow_mut() = Some(loading.clone());
    let loaded = link_and_evaluate(scope, &loading, entry);
    *host.loading.borrow_mut() = None;
    loaded
}

fn link_and_evaluate<'s>(scope: &mut v8::PinScope<'s, '_>, loading: &Loading, entry: usize) -> Result<Loaded<'s>> {
    let module = v8::Local::new(scope, &loading.modules[entry]);
    catch(scope, |scope| module.instantiate_module(scope, resolve_import)).map_err(link_error)?;
    let promise = catch(scope, |scope| module.evaluate(scope))?;
    if module.get_status() == v8::ModuleStatus::Errored {
        let exception = module.get_exception();
        let message = v8::Exception::create_message(scope, exception);
        return Err(super::exception::describe(scope, exception, Some(message)));
    }
    if let Ok(promise) = v8::Local::<v8::Promise>::try_from(promise)
        && promise.state() == v8::PromiseState::Pending
    {
        return Err(ErrorKind::Script(ScriptError::new(
            "Error",
            "a module waits at its top level; await inside a function",
        ))
        .into());
    }
    let namespace = module.get_module_namespace();
    let namespace =
        v8::Local::<v8::Object>::try_from(namespace).map_err(|_| Error::bug("a module namespace is no object"))?;
    let bindings = loading.bindings.borrow_mut().drain(..).map(|global| v8::Local::new(scope, global)).collect();
    Ok(Loaded { namespace, bindings })
}

/// The source with a last statement that hands over its top-level bindings: they cannot be reached from outside otherwise, and are
/// needed to be frozen. Lines and columns of the source stay as they are.
fn with_bindings(source: &Source) -> String {
    let mut text = source.text.strip_prefix('\u{feff}').unwrap_or(&source.text).to_owned();
    let mut names = String::new();
    for binding in source.outline.bindings.iter().filter(|binding| binding.kind != BindingKind::Import) {
        // Names of bindings are identifiers, so they stand for themselves.
        let _ = write!(names, "{}, ", binding.name);
    }
    let _ = write!(text, "\n;import.meta[\"{BIND}\"]({{ __proto__: null, {names}}});");
    text
}

fn link_error(error: Error) -> Error {
    let Some(thrown) = error.script_error() else { return error };
    ErrorKind::Compile(vec![crate::error::Finding {
        code: "import",
        script: thrown.script.clone().unwrap_or_default(),
        line: thrown.line.unwrap_or(0),
        column: thrown.column.unwrap_or(0),
        message: thrown.message.clone(),
        source_line: thrown.source_line.clone().unwrap_or_default(),
    }])
    .into()
}

fn resolve_import<'s>(
    context: v8::Local<'s, v8::Context>,
    specifier: v8::Local<'s, v8::String>,
    _attributes: v8::Local<'s, v8::FixedArray>,
    referrer: v8::Local<'s, v8::Module>,
) -> Option<v8::Local<'s, v8::Module>> {
    // SAFETY: V8 calls this with the context that is being linked in, on the isolate's thread; the scope ends with this function,
    // and the handle that is returned lives in the scope of V8's caller.
    v8::callback_scope!(unsafe scope, context);
    let host = Host::of(scope)?;
    let loading = host.loading.borrow().clone()?;
    let candidates = loading.by_hash.get(&referrer.get_identity_hash())?;
    let referrer = candidates.iter().find(|index| loading.modules[**index] == referrer)?;
    let specifier = specifier.to_rust_string_lossy(scope);
    let module = loading.imports[*referrer].get(&specifier)?;
    Some(v8::Local::new(scope, &loading.modules[*module]))
}

/// `import.meta` of a module: the way for its bindings, taken away after the module has been evaluated.
pub(super) unsafe extern "C" fn import_meta(
    context: v8::Local<v8::Context>,
    _module: v8::Local<v8::Module>,
    meta: v8::Local<v8::Object>,
) {
    // SAFETY: V8 calls this with the context that the module belongs to, on the isolate's thread.
    v8::callback_scope!(unsafe scope, context);
    let Some(key) = v8::String::new(scope, BIND) else { return };
    if let Some(bind) = v8::Function::new(scope, bind) {
        meta.create_data_property(scope, key.into(), bind.into());
    }
}

fn bind<'s>(
    scope: &mut v8::PinScope<'s, '_>,
    arguments: v8::FunctionCallbackArguments<'s>,
    _result: v8::ReturnValue<'s, v8::Value>,
) {
    let loading = Host::of(scope).and_then(|host| host.loading.borrow().clone());
    if let (Some(loading), Ok(bindings)) = (loading, v8::Local::<v8::Object>::try_from(arguments.get(0))) {
        let bindings = v8::Global::new(scope, bindings);
        loading.bindings.borrow_mut().push(bindings);
    }
    if let Some(key) = v8::String::new(scope, BIND) {
        arguments.this().delete(scope, key.into());
    }
}

/// `import()`: refused when the script is made, and here for code that is generated from strings.
pub(super) fn refuse_dynamic_import<'s>(
    scope: &mut v8::PinScope<'s, '_>,
    _options: v8::Local<'s, v8::Data>,
    _referrer: v8::Local<'s, v8::Value>,
    _specifier: v8::Local<'s, v8::String>,
    _attributes: v8::Local<'s, v8::FixedArray>,
) -> Option<v8::Local<'s, v8::Promise>> {
    let message = v8::String::new(scope, "import() is refused: a script consists of the modules that it was made of")?;
    let error = v8::Exception::type_error(scope, message);
    scope.throw_exception(error);
    None
}
