//! A context with one script in it.
//!
//! Building one: a realm from the startup snapshot, `console`, what the task defines, the script, and (sealed) the freezing of all
//! that its top level holds. Entering one: a handle scope and the [`Scope`] that a task sees.
//!
//! Invariant: dropping a context drops everything of the host that belongs to it, at once.

use std::cell::RefCell;
use std::rc::Rc;

use rustc_hash::FxHashMap;

use super::code::{self, CodeCache};
use super::exception::{catch, stopped};
use super::host::{FunctionOwner, Host};
use super::scope::{Scope, SharedValue, Terms};
use super::{console, convert, microtask, module, realm};
use crate::error::{Error, ErrorKind, Finding, Result};
use crate::script::{Kind, Script};
use crate::wire::Encoded;

/// A context, its script's functions, and the host's functions in it.
pub(crate) struct ScriptContext {
    context: v8::Global<v8::Context>,
    queue: RefCell<v8::MicrotaskQueueHandle>,
    host: Rc<Host>,
    functions: FunctionOwner,
    top_level: TopLevel,
    sealed: bool,
    /// Of a sealed context: functions that were called already. Of another one, where a name may be bound anew at any time:
    /// functions that give what a name stands for now.
    known: RefCell<FxHashMap<Box<str>, v8::Global<v8::Function>>>,
}

impl Drop for ScriptContext {
    fn drop(&mut self) {
        self.host.count_context(-1);
    }
}

/// Where the names of a script's top level are found.
enum TopLevel {
    /// In the namespace of the entry module, or in an object that a sealed script's bindings were copied to.
    Object(v8::Global<v8::Object>),
    /// In the global scope, by evaluating the name: its bindings may change.
    Global(Vec<Box<str>>),
}

impl ScriptContext {
    /// A realm without a script.
    pub(crate) fn realm(isolate: &mut v8::OwnedIsolate, host: &Rc<Host>, sealed: bool, generate: bool) -> Result<Self> {
        let queue = v8::MicrotaskQueue::new(isolate, v8::MicrotasksPolicy::Explicit);
        let raw_queue = std::ptr::from_ref::<v8::MicrotaskQueue>(&queue).cast_mut();
        v8::scope!(let scope, isolate);
        let made = if sealed { realm::sealed(scope, Some(raw_queue)) } else { realm::open(scope, Some(raw_queue)) };
        // V8 makes none while the slice is being stopped.
        let context = made.ok_or_else(stopped)?;
        context.set_allow_generation_from_strings(generate);
        let scope = &mut v8::ContextScope::new(scope, context);
        catch(scope, |scope| {
            console::install(scope)?;
            microtask::install(scope)?;
            realm::connect(scope, host.native)
        })?;
        host.count_context(1);
        Ok(ScriptContext {
            context: v8::Global::new(scope, context),
            queue: RefCell::new(queue),
            host: host.clone(),
            functions: FunctionOwner::new(host.clone()),
            top_level: TopLevel::Global(Vec::new()),
            sealed,
            known: RefCell::default(),
        })
    }

    /// Loads a script into a realm, after `initialize` has defined what it needs.
    pub(crate) fn load(
        mut self,
        isolate: &mut v8::OwnedIsolate,
        host: &Host,
        cache: &CodeCache,
        script: &Script,
        initialize: impl FnOnce(&mut Scope<'_, '_, '_>) -> Result<()>,
    ) -> Result<Self> {
        self.with(isolate, Terms::default(), initialize)?;
        self.run_microtasks(isolate);
        let top_level = {
            v8::scope!(let scope, isolate);
            let context = v8::Local::new(scope, &self.context);
            let scope = &mut v8::ContextScope::new(scope, context);
            match script.kind() {
                Kind::Classic => load_classic(scope, cache, script, self.sealed)?,
                Kind::Modules { entry } => load_modules(scope, host, cache, script, entry, self.sealed)?,
            }
        };
        self.top_level = top_level;
        self.run_microtasks(isolate);
        Ok(self)
    }

    /// Runs `body` inside the context.
    pub(crate) fn with<T>(
        &self,
        isolate: &mut v8::OwnedIsolate,
        terms: Terms<'_>,
        body: impl FnOnce(&mut Scope<'_, '_, '_>) -> T,
    ) -> T {
        v8::scope!(let scope, isolate);
        let context = v8::Local::new(scope, &self.context);
        let scope = &mut v8::ContextScope::new(scope, context);
        body(&mut Scope::new(scope, self, terms))
    }

    /// Makes a value of the host a frozen object of this context.
    pub(crate) fn freeze(&self, isolate: &mut v8::OwnedIsolate, encoded: Encoded) -> Result<SharedValue> {
        v8::scope!(let scope, isolate);
        let context = v8::Local::new(scope, &self.context);
        let scope = &mut v8::ContextScope::new(scope, context);
        let value = convert::decode(scope, encoded)?;
        realm::harden_value(scope, value).map_err(|refused| Error::convert("$", refused.to_string()))?;
        Ok(SharedValue(v8::Global::new(scope, value)))
    }

    /// Runs what the script has queued. Part of the slice: it may loop.
    pub(crate) fn run_microtasks(&self, isolate: &mut v8::OwnedIsolate) {
        self.queue.borrow().perform_checkpoint(isolate);
    }

    /// Drops what the script has queued. Not while anything runs in the context.
    pub(crate) fn forget_microtasks(&self, isolate: &mut v8::OwnedIsolate) {
        let queue = v8::MicrotaskQueue::new(isolate, v8::MicrotasksPolicy::Explicit);
        v8::scope!(let scope, isolate);
        v8::Local::new(scope, &self.context).set_microtask_queue(&queue);
        // The context knows the new one by now.
        self.queue.replace(queue);
    }

    /// Whether nothing that outlives a run can be changed.
    pub(crate) fn is_sealed(&self) -> bool {
        self.sealed
    }

    pub(super) fn functions(&self) -> &FunctionOwner {
        &self.functions
    }

    pub(super) fn function<'s>(
        &self,
        scope: &mut v8::PinScope<'s, '_>,
        name: &str,
    ) -> Result<v8::Local<'s, v8::Function>> {
        let known = self.known.borrow().get(name).map(|known| v8::Local::new(scope, known));
        if let (true, Some(function)) = (self.sealed, known) {
            return Ok(function);
        }
        let value = match &self.top_level {
            TopLevel::Object(object) => {
                let object = v8::Local::new(scope, object);
                catch(scope, |scope| {
                    let key = v8::String::new(scope, name)?;
                    if object.has_own_property(scope, key.into())? {
                        object.get(scope, key.into()).map(Some)
                    } else {
                        Some(None)
                    }
                })?
            }
            TopLevel::Global(names) => self.evaluate_name(scope, names, name, known)?,
        };
        let function = value.and_then(|value| v8::Local::<v8::Function>::try_from(value).ok());
        let Some(function) = function else { return Err(no_such_function(name, value.is_some(), &self.names(scope))) };
        if self.sealed {
            self.known.borrow_mut().insert(name.into(), v8::Global::new(scope, function));
        }
        Ok(function)
    }

    /// The value of a name in the global scope. A binding that the parser found is read by a function that is compiled once; any other
    /// name is looked up as a property.
    fn evaluate_name<'s>(
        &self,
        scope: &mut v8::PinScope<'s, '_>,
        names: &[Box<str>],
        name: &str,
        reader: Option<v8::Local<'s, v8::Function>>,
    ) -> Result<Option<v8::Local<'s, v8::Value>>> {
        if !names.iter().any(|known| &**known == name) {
            return catch(scope, |scope| {
                let key = v8::String::new(scope, name)?;
                let global = scope.get_current_context().global(scope);
                let has = global.has_own_property(scope, key.into())?;
                if has { global.get(scope, key.into()).map(Some) } else { Some(None) }
            });
        }
        let reader = match reader {
            Some(reader) => reader,
            None => {
                let reader = evaluate(scope, &format!("() => {name}"))?;
                let reader =
                    v8::Local::<v8::Function>::try_from(reader).map_err(|_| Error::bug("a reader is no function"))?;
                self.known.borrow_mut().insert(name.into(), v8::Global::new(scope, reader));
                reader
            }
        };
        catch(scope, |scope| {
            let this = v8::undefined(scope).into();
            reader.call(scope, this, &[]).map(Some)
        })
    }

    /// The functions that there are, for the help of an error.
    fn names(&self, scope: &mut v8::PinScope<'_, '_>) -> Vec<String> {
        match &self.top_level {
            TopLevel::Global(names) => names.iter().map(|name| name.to_string()).collect(),
            TopLevel::Object(object) => {
                let object = v8::Local::new(scope, object);
                own_entries(scope, object)
                    .map(|entries| {
                        entries.into_iter().filter(|(_, value)| value.is_function()).map(|(name, _)| name).collect()
                    })
                    .unwrap_or_default()
            }
        }
    }
}

fn no_such_function(name: &str, exists: bool, names: &[String]) -> Error {
    let help = match names {
        _ if exists => format!("`{name}` is no function"),
        [] => "the script has none at its top level".to_owned(),
        [only] => format!("the script has `{only}`"),
        names => {
            let mut names: Vec<_> = names.iter().map(|name| format!("`{name}`")).collect();
            names.truncate(20);
            format!("the script has {}", names.join(", "))
        }
    };
    ErrorKind::NoSuchFunction { function: name.to_owned(), help }.into()
}

fn load_classic(
    scope: &mut v8::PinScope<'_, '_>,
    cache: &CodeCache,
    script: &Script,
    sealed: bool,
) -> Result<TopLevel> {
    let source = script.entry();
    let compiled = code::classic(scope, cache, source)?;
    catch(scope, |scope| compiled.run(scope))?;
    let names: Vec<Box<str>> = source.outline.bindings.iter().map(|binding| binding.name.as_str().into()).collect();
    if !sealed {
        return Ok(TopLevel::Global(names));
    }
    // Bindings of `const`, `let` and `class` are no properties of the global object; a script can read them by name. The names are
    // identifiers that the parser found, and stand for themselves.
    let bindings = evaluate(scope, &format!("({{ __proto__: null, {} }})", names.join(", ")))?;
    let bindings = v8::Local::<v8::Object>::try_from(bindings).map_err(|_| Error::bug("bindings are no object"))?;
    seal(scope, script, &[bindings])?;
    Ok(TopLevel::Object(v8::Global::new(scope, bindings)))
}

fn load_modules(
    scope: &mut v8::PinScope<'_, '_>,
    host: &Host,
    cache: &CodeCache,
    script: &Script,
    entry: usize,
    sealed: bool,
) -> Result<TopLevel> {
    let loaded = module::load(scope, host, cache, script, entry)?;
    if sealed {
        seal(scope, script, &loaded.bindings)?;
    }
    Ok(TopLevel::Object(v8::Global::new(scope, loaded.namespace)))
}

/// Freezes the global scope and all that the top level's bindings hold.
fn seal<'s>(scope: &mut v8::PinScope<'s, '_>, script: &Script, bindings: &[v8::Local<'s, v8::Object>]) -> Result<()> {
    let mut entries = Vec::new();
    for object in bindings {
        entries.extend(own_entries(scope, *object)?);
    }
    realm::seal(scope, &entries).map_err(|refused| {
        let root = refused.path.split(['.', '[']).next().unwrap_or_default();
        let place = script.sources().iter().find_map(|source| {
            let binding = source.outline.bindings.iter().find(|binding| binding.name == root)?;
            Some((source, binding))
        });
        ErrorKind::Compile(vec![Finding {
            code: "container",
            script: place.map_or_else(|| script.name().to_owned(), |(source, _)| source.name.to_string()),
            line: place.map_or(0, |(_, binding)| binding.line),
            column: place.map_or(0, |(_, binding)| binding.column),
            message: format!(
                "{refused}; make it inside a function, pass it as a value, or ask for `Isolation::Shared`"
            ),
            source_line: String::new(),
        }])
        .into()
    })
}

fn own_entries<'s>(
    scope: &mut v8::PinScope<'s, '_>,
    object: v8::Local<'s, v8::Object>,
) -> Result<Vec<(String, v8::Local<'s, v8::Value>)>> {
    catch(scope, |scope| {
        let names = object.get_own_property_names(scope, v8::GetPropertyNamesArgs::default())?;
        let mut entries = Vec::with_capacity(names.length() as usize);
        for index in 0..names.length() {
            let key = names.get_index(scope, index)?;
            let value = object.get(scope, key)?;
            entries.push((key.to_rust_string_lossy(scope), value));
        }
        Some(entries)
    })
}

fn evaluate<'s>(scope: &mut v8::PinScope<'s, '_>, text: &str) -> Result<v8::Local<'s, v8::Value>> {
    catch(scope, |scope| {
        let text = v8::String::new(scope, text)?;
        v8::Script::compile(scope, text, None)?.run(scope)
    })
}
