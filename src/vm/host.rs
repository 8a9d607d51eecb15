//! What belongs to one isolate beside V8: the host functions of its contexts, the run that goes on, and what it may do.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::buffers::BufferMeter;
use super::callback::HostCall;
use super::console::Logger;
use super::isolate::Isolate;
use super::realm;
use crate::error::{Error, Result};

/// The state of one isolate that callbacks from V8 find. Held by the isolate's slot and by its worker.
pub(crate) struct Host {
    /// `Object.keys` of a realm that no script has seen: V8's own interface for the keys of an object is several times slower.
    keys: v8::Global<v8::Function>,
    pub(super) buffers: Arc<BufferMeter>,
    /// What the library for waiting of every context calls.
    pub(super) native: v8::FunctionCallback,
    functions: RefCell<Functions>,
    /// What host code panicked in during this slice.
    panicked: Cell<Option<String>>,
    logger: RefCell<Option<Arc<dyn Logger>>>,
    /// How many lines the run may still log.
    lines_left: Cell<u32>,
    /// Promises that were rejected in this slice while nothing handled them.
    rejected: RefCell<Vec<v8::Global<v8::Promise>>>,
    /// How many contexts are held.
    contexts: Cell<usize>,
    /// The module graph that is being loaded.
    pub(super) loading: RefCell<Option<Rc<super::module::Loading>>>,
}

#[derive(Default)]
struct Functions {
    next: u32,
    live: FxHashMap<u32, Rc<dyn HostCall>>,
}

/// The host functions of one context. Dropping it drops them: a script that still holds one gets an error from then on, and
/// nothing waits for V8 to collect anything.
pub(crate) struct FunctionOwner {
    host: Rc<Host>,
    ids: RefCell<Vec<u32>>,
}

impl Host {
    /// How many contexts it holds itself.
    const CONTEXTS: usize = 1;

    /// Makes the state of an isolate and leaves a reference with it.
    pub(crate) fn install(isolate: &mut Isolate, native: v8::FunctionCallback) -> Result<Rc<Host>> {
        let host = Rc::new(Host {
            keys: object_keys(isolate.v8()).ok_or_else(|| Error::bug("V8 has no `Object.keys`"))?,
            buffers: isolate.buffers().clone(),
            native,
            functions: RefCell::default(),
            panicked: Cell::default(),
            logger: RefCell::default(),
            lines_left: Cell::default(),
            rejected: RefCell::default(),
            contexts: Cell::new(Host::CONTEXTS),
            loading: RefCell::default(),
        });
        isolate.v8().set_slot(host.clone());
        isolate.v8().set_promise_reject_callback(super::rejection::note);
        Ok(host)
    }

    /// The own enumerable string keys of an object, as strings. `None` when an exception is pending.
    pub(super) fn keys<'s>(
        &self,
        scope: &mut v8::PinScope<'s, '_>,
        object: v8::Local<'s, v8::Object>,
    ) -> Option<v8::Local<'s, v8::Array>> {
        let keys = v8::Local::new(scope, &self.keys);
        let this = v8::undefined(scope).into();
        let value: v8::Local<v8::Value> = object.into();
        if value.is_proxy() {
            return v8::Local::try_from(keys.call(scope, this, &[value])?).ok();
        }
        {
            v8::tc_scope!(let caught, scope);
            if let Some(keys) = keys.call(caught, this, &[value]) {
                return v8::Local::try_from(keys).ok();
            }
            if caught.has_terminated() {
                return None;
            }
        }
        // Nothing but the end of JavaScript's stack makes `Object.keys` fail here. V8's interface needs none of that stack.
        let options = v8::GetPropertyNamesArgsBuilder::new()
            .mode(v8::KeyCollectionMode::OwnOnly)
            .property_filter(v8::PropertyFilter::ONLY_ENUMERABLE | v8::PropertyFilter::SKIP_SYMBOLS)
            .key_conversion(v8::KeyConversionMode::ConvertToString)
            .build();
        object.get_own_property_names(scope, options)
    }

    /// The state of the isolate that a callback runs in.
    pub(crate) fn of(isolate: &v8::Isolate) -> Option<Rc<Host>> {
        isolate.get_slot::<Rc<Host>>().cloned()
    }

    pub(super) fn function(&self, id: u32) -> Option<Rc<dyn HostCall>> {
        self.functions.borrow().live.get(&id).cloned()
    }

    /// A slice begins: its log, and how much it may log.
    pub(crate) fn begin(&self, logger: Option<&Arc<dyn Logger>>, lines: u32) {
        self.lines_left.set(lines);
        self.rejected.borrow_mut().clear();
        if logger.is_some() || self.logger.borrow().is_some() {
            *self.logger.borrow_mut() = logger.cloned();
        }
    }

    /// What is left of the log's allowance, for the next slice of the run.
    pub(crate) fn lines_left(&self) -> u32 {
        self.lines_left.get()
    }

    /// Whether promises were rejected in this slice while nothing handled them.
    pub(crate) fn has_rejected(&self) -> bool {
        !self.rejected.borrow().is_empty()
    }

    pub(super) fn rejected(&self) -> &RefCell<Vec<v8::Global<v8::Promise>>> {
        &self.rejected
    }

    /// How many contexts are held by anybody here.
    pub(crate) fn contexts(&self) -> usize {
        self.contexts.get()
    }

    pub(super) fn count_context(&self, by: isize) {
        self.contexts.set(self.contexts.get().saturating_add_signed(by));
    }

    pub(super) fn logger(&self) -> Option<Arc<dyn Logger>> {
        self.logger.borrow().clone()
    }

    /// Takes one line of the log's allowance. The number left before, zero for none.
    pub(super) fn take_line(&self) -> u32 {
        let left = self.lines_left.get();
        self.lines_left.set(left.saturating_sub(1));
        left
    }

    pub(crate) fn set_panicked(&self, what: String) {
        self.panicked.set(Some(what));
    }

    /// What host code panicked in since this was last asked.
    pub(crate) fn take_panicked(&self) -> Option<String> {
        self.panicked.take()
    }

    /// How many host functions live in the isolate.
    pub(crate) fn live_functions(&self) -> usize {
        self.functions.borrow().live.len()
    }
}

fn object_keys(isolate: &mut v8::OwnedIsolate) -> Option<v8::Global<v8::Function>> {
    v8::scope!(let scope, isolate);
    let context = realm::open(scope, None)?;
    let scope = &mut v8::ContextScope::new(scope, context);
    let object = v8::String::new(scope, "Object")?;
    let object = context.global(scope).get(scope, object.into())?;
    let object = v8::Local::<v8::Object>::try_from(object).ok()?;
    let keys = v8::String::new(scope, "keys")?;
    let keys = object.get(scope, keys.into())?;
    let keys = v8::Local::<v8::Function>::try_from(keys).ok()?;
    Some(v8::Global::new(scope, keys))
}

impl FunctionOwner {
    pub(crate) fn new(host: Rc<Host>) -> Self {
        FunctionOwner { host, ids: RefCell::new(Vec::new()) }
    }

    /// Keeps a function and gives it the id by which its callback finds it.
    pub(super) fn add(&self, function: Rc<dyn HostCall>) -> Result<u32> {
        let mut functions = self.host.functions.borrow_mut();
        let id = functions.next;
        functions.next =
            id.checked_add(1).ok_or_else(|| Error::bug("an isolate has defined four billion host functions"))?;
        functions.live.insert(id, function);
        self.ids.borrow_mut().push(id);
        Ok(id)
    }
}

impl Drop for FunctionOwner {
    fn drop(&mut self) {
        let mut gone = Vec::new();
        {
            let mut functions = self.host.functions.borrow_mut();
            for id in self.ids.get_mut().drain(..) {
                gone.extend(functions.live.remove(&id));
            }
        }
        // Outside of the borrow: what a function owns may do anything when it is dropped, even panic.
        for function in gone {
            super::callback::quietly("the drop of a host function", || drop(function));
        }
    }
}
