//! A value of JavaScript, walked once and written as a stream.
//!
//! Everything of the script that this runs (getters, proxies, `toJSON`) runs once and inside the slice; depth and size are checked
//! before they are used up. V8's own serializer is not used: its buffer grows without a bound, so that one string in an array of
//! references to it could fill the machine before any limit is looked at.

use std::rc::Rc;

use super::super::exception::clipped;
use super::super::host::Host;
use crate::error::Error;
use crate::units::Bytes;
use crate::wire::{Container, Full, Limits, Stream};

/// Why the walk ended early.
pub(super) enum Halt {
    /// An exception of V8 is pending, or the slice is being stopped.
    Thrown,
    /// The value cannot pass.
    Error(Error),
}

impl Halt {
    fn too_large(limits: Limits) -> Self {
        Halt::Error(crate::error::ErrorKind::ResultTooLarge { limit: Bytes::new(limits.bytes as u64) }.into())
    }
}

type Walked<T = ()> = Result<T, Halt>;

fn thrown<T>(value: Option<T>) -> Walked<T> {
    value.ok_or(Halt::Thrown)
}

/// The stream of a value.
pub(super) fn stream<'s>(
    scope: &mut v8::PinScope<'s, '_>,
    value: v8::Local<'s, v8::Value>,
    limits: Limits,
) -> Walked<Vec<u8>> {
    let object_prototype = v8::Object::new(scope).get_prototype(scope);
    let host = thrown(Host::of(scope))?;
    let mut walk = Walk {
        host,
        stream: Stream::new(limits.bytes),
        ancestors: Vec::new(),
        depth: 0,
        path: Vec::new(),
        limits,
        object_prototype,
    };
    walk.value(scope, value, true)?;
    Ok(walk.stream.into_bytes())
}

struct Walk<'s> {
    host: Rc<Host>,
    stream: Stream,
    ancestors: Vec<v8::Local<'s, v8::Object>>,
    /// Levels of nesting; a `toJSON` that returns an object is one of its own.
    depth: usize,
    path: Vec<Step<'s>>,
    limits: Limits,
    /// `Object.prototype` of the current context: an object with this prototype inherits no `toJSON`.
    object_prototype: Option<v8::Local<'s, v8::Value>>,
}

enum Step<'s> {
    Key(v8::Local<'s, v8::Value>),
    Index(u32),
}

/// What became of an object.
enum Written {
    Done,
    /// It has a `toJSON` of its own.
    ToJson,
}

impl<'s> Walk<'s> {
    fn room(&self, written: Result<(), Full>) -> Walked {
        written.map_err(|Full| Halt::too_large(self.limits))
    }

    /// `call_to_json` is false for what a `toJSON` has returned, whose own one is not called again.
    fn value(
        &mut self,
        scope: &mut v8::PinScope<'s, '_>,
        value: v8::Local<'s, v8::Value>,
        call_to_json: bool,
    ) -> Walked {
        if value.is_string() {
            // SAFETY: it is a string, as V8 has just said.
            return self.string(scope, unsafe { v8::Local::cast_unchecked(value) });
        }
        if value.is_int32() {
            let number = thrown(value.int32_value(scope))?;
            let written = self.stream.int32(number);
            return self.room(written);
        }
        if value.is_number() {
            let number = thrown(value.number_value(scope))?;
            let written = self.stream.double(number);
            return self.room(written);
        }
        if let Ok(object) = v8::Local::<v8::Object>::try_from(value) {
            return self.object(scope, object, call_to_json);
        }
        if value.is_symbol() {
            return Err(self.error(scope, "a symbol cannot pass to the host; return its description"));
        }
        if let Ok(number) = v8::Local::<v8::BigInt>::try_from(value) {
            return self.big_int(number);
        }
        let written = if value.is_boolean() {
            self.stream.boolean(value.is_true())
        } else if value.is_null() {
            self.stream.null()
        } else {
            self.stream.undefined()
        };
        self.room(written)
    }

    fn string(&mut self, scope: &mut v8::PinScope<'s, '_>, text: v8::Local<'s, v8::String>) -> Walked {
        let length = text.length();
        let flags = v8::WriteFlags::empty();
        let written = if text.is_onebyte() {
            self.stream.one_byte(length, |room| text.write_one_byte_v2(scope, 0, room, flags))
        } else if self.stream.has_room(length * 2) {
            let mut units = vec![0_u16; length];
            text.write_v2(scope, 0, &mut units, flags);
            self.stream.two_byte(&units)
        } else {
            Err(Full)
        };
        self.room(written)
    }

    fn big_int(&mut self, number: v8::Local<'s, v8::BigInt>) -> Walked {
        let count = number.word_count();
        if !self.stream.has_room(count.saturating_mul(8)) {
            return Err(Halt::too_large(self.limits));
        }
        let mut words = vec![0; count];
        let (negative, words) = number.to_words_array(&mut words);
        let written = self.stream.big_int(negative, words);
        self.room(written)
    }

    fn object(
        &mut self,
        scope: &mut v8::PinScope<'s, '_>,
        object: v8::Local<'s, v8::Object>,
        call_to_json: bool,
    ) -> Walked {
        if self.ancestors.contains(&object) {
            return Err(self.error(scope, "the value contains itself; return a tree"));
        }
        if self.depth >= self.limits.depth {
            let message = format!("nested deeper than {} levels; return a flatter value", self.limits.depth);
            return Err(self.error(scope, &message));
        }
        self.depth += 1;
        self.ancestors.push(object);
        let written = self.by_kind(scope, object, call_to_json);
        // Its `toJSON` may return the object itself.
        self.ancestors.pop();
        if let Written::ToJson = written? {
            let result = self.to_json(scope, object)?.unwrap_or_else(|| object.into());
            self.value(scope, result, false)?;
        }
        self.depth -= 1;
        Ok(())
    }

    /// The result of the object's `toJSON`, where it has one.
    fn to_json(
        &self,
        scope: &mut v8::PinScope<'s, '_>,
        object: v8::Local<'s, v8::Object>,
    ) -> Walked<Option<v8::Local<'s, v8::Value>>> {
        let key = thrown(v8::String::new(scope, "toJSON"))?;
        let method = thrown(object.get(scope, key.into()))?;
        let Ok(method) = v8::Local::<v8::Function>::try_from(method) else { return Ok(None) };
        let key = v8::String::empty(scope);
        thrown(method.call(scope, object.into(), &[key.into()])).map(Some)
    }

    fn by_kind(
        &mut self,
        scope: &mut v8::PinScope<'s, '_>,
        object: v8::Local<'s, v8::Object>,
        call_to_json: bool,
    ) -> Walked<Written> {
        let value: v8::Local<v8::Value> = object.into();
        if value.is_array() {
            return self.array(scope, object).map(|()| Written::Done);
        }
        // What V8 says of the prototype of a proxy is not what the proxy says.
        let plain = !value.is_proxy()
            && object.get_prototype(scope).is_some_and(|prototype| {
                prototype.is_null() || self.object_prototype.is_some_and(|plain| plain == prototype)
            });
        if !plain {
            if value.is_function() {
                return Err(self.error(scope, "a function cannot pass to the host; call it and return what it gives"));
            }
            if self.leaf(scope, value)? {
                return Ok(Written::Done);
            }
            if let Some(what) = unsupported(value) {
                return Err(self.error(scope, &format!("{what} cannot pass to the host; return what it stands for")));
            }
            if call_to_json && self.has_to_json(scope, object)? {
                return Ok(Written::ToJson);
            }
            if is_proxy_of_array(scope, value) {
                return self.array(scope, object).map(|()| Written::Done);
            }
            if !value.is_proxy() {
                self.refuse_empty_builtin(scope, object)?;
            }
        }
        self.properties(scope, object, call_to_json)
    }

    /// Built-in objects that V8 has no question for (a `WeakRef`, an iterator, those of `Intl`) have nothing of their own to show, and
    /// say by a tag what they are. As `{}` they would be lost.
    fn refuse_empty_builtin(&self, scope: &mut v8::PinScope<'s, '_>, object: v8::Local<'s, v8::Object>) -> Walked {
        let tag = v8::Symbol::get_to_string_tag(scope);
        let Ok(tag) = v8::Local::<v8::String>::try_from(thrown(object.get(scope, tag.into()))?) else { return Ok(()) };
        let keys = thrown(self.host.keys(scope, object))?;
        if keys.length() > 0 {
            return Ok(());
        }
        let tag = clipped(scope, tag);
        Err(self
            .error(scope, &format!("an object of class `{tag}` cannot pass to the host; return what it stands for")))
    }

    fn has_to_json(&self, scope: &mut v8::PinScope<'s, '_>, object: v8::Local<'s, v8::Object>) -> Walked<bool> {
        let key = thrown(v8::String::new(scope, "toJSON"))?;
        thrown(object.get(scope, key.into())).map(|method| method.is_function())
    }

    fn properties(
        &mut self,
        scope: &mut v8::PinScope<'s, '_>,
        object: v8::Local<'s, v8::Object>,
        call_to_json: bool,
    ) -> Walked<Written> {
        let start = self.stream.position();
        let keys = thrown(self.host.keys(scope, object))?;
        let written = self.stream.open(Container::Object);
        self.room(written)?;
        for index in 0..keys.length() {
            let key = thrown(keys.get_index(scope, index))?;
            let member = thrown(object.get(scope, key))?;
            if call_to_json && member.is_function() && is_to_json(scope, key) {
                self.stream.back_to(start);
                return Ok(Written::ToJson);
            }
            let text = thrown(v8::Local::<v8::String>::try_from(key).ok())?;
            self.string(scope, text)?;
            self.path.push(Step::Key(key));
            self.value(scope, member, true)?;
            self.path.pop();
        }
        let written = self.stream.close(Container::Object, keys.length());
        self.room(written)?;
        Ok(Written::Done)
    }

    fn array(&mut self, scope: &mut v8::PinScope<'s, '_>, object: v8::Local<'s, v8::Object>) -> Walked {
        let length = match v8::Local::<v8::Array>::try_from(object) {
            Ok(array) => array.length(),
            Err(_) => {
                let key = thrown(v8::String::new(scope, "length"))?;
                let length = thrown(object.get(scope, key.into()))?;
                let length = thrown(length.integer_value(scope))?;
                u32::try_from(length).map_err(|_| Halt::too_large(self.limits))?
            }
        };
        let written = self.stream.open_array(length);
        self.room(written)?;
        let mut holes = 0_u32;
        for index in 0..length {
            let element = thrown(object.get_index(scope, index))?;
            if element.is_undefined() && !thrown(object.has_index(scope, index))? {
                holes += 1;
                // A few holes are for the policy to judge; more of them than elements are a mistake, or an attack on the loop.
                let present = index + 1 - holes;
                if holes > present.saturating_add(1024) {
                    let message = format!("a sparse array of length {length}; return an object or a dense array");
                    return Err(self.error(scope, &message));
                }
                let written = self.stream.hole();
                self.room(written)?;
                continue;
            }
            self.path.push(Step::Index(index));
            self.value(scope, element, true)?;
            self.path.pop();
        }
        let names = thrown(object.get_property_names(scope, named_keys()))?;
        if names.length() > 0 {
            let name = thrown(names.get_index(scope, 0))?;
            let name = thrown(name.to_string(scope))?;
            let name = clipped(scope, name);
            let message = format!("an array with the property `{name}`, which would be lost; return an object");
            return Err(self.error(scope, &message));
        }
        let written = self.stream.close_array(length);
        self.room(written)
    }

    /// Objects that stand for one value, and collections. False for all others.
    fn leaf(&mut self, scope: &mut v8::PinScope<'s, '_>, value: v8::Local<'s, v8::Value>) -> Walked<bool> {
        if let Ok(date) = v8::Local::<v8::Date>::try_from(value) {
            let written = self.stream.date(date.value_of());
            self.room(written)?;
        } else if let Ok(map) = v8::Local::<v8::Map>::try_from(value) {
            let parts = map.as_array(scope);
            self.collection(scope, Container::Map, parts)?;
        } else if let Ok(set) = v8::Local::<v8::Set>::try_from(value) {
            let parts = set.as_array(scope);
            self.collection(scope, Container::Set, parts)?;
        } else if value.is_boolean_object()
            || value.is_number_object()
            || value.is_string_object()
            || value.is_big_int_object()
        {
            let inside = self.unboxed(scope, value)?;
            self.value(scope, inside, false)?;
        } else if value.is_reg_exp() {
            let written = self.stream.reg_exp();
            self.room(written)?;
        } else if value.is_native_error() {
            self.native_error(scope, value)?;
        } else if let Ok(view) = v8::Local::<v8::ArrayBufferView>::try_from(value) {
            if view.get_backing_store().is_some_and(|store| store.is_shared()) {
                return Err(self.error(scope, "shared memory cannot pass to the host; return a copy"));
            }
            let written = self.stream.view(element_kind(value), view.byte_length(), |room| {
                view.copy_contents(room);
            });
            self.room(written)?;
        } else if let Ok(buffer) = v8::Local::<v8::ArrayBuffer>::try_from(value) {
            let store = buffer.get_backing_store();
            let written = self.stream.view(b'B', store.byte_length(), |room| {
                for (to, from) in room.iter_mut().zip(store.iter()) {
                    *to = from.get();
                }
            });
            self.room(written)?;
        } else {
            return Ok(false);
        }
        Ok(true)
    }

    fn collection(
        &mut self,
        scope: &mut v8::PinScope<'s, '_>,
        container: Container,
        parts: v8::Local<'s, v8::Array>,
    ) -> Walked {
        let each = if container == Container::Map { 2 } else { 1 };
        let written = self.stream.open(container);
        self.room(written)?;
        for index in 0..parts.length() {
            let part = thrown(parts.get_index(scope, index))?;
            self.path.push(Step::Index(index / each));
            self.value(scope, part, true)?;
            self.path.pop();
        }
        let written = self.stream.close(container, parts.length() / each);
        self.room(written)
    }

    /// The primitive inside a boxed one, by the methods that every realm has for it.
    fn unboxed(
        &self,
        scope: &mut v8::PinScope<'s, '_>,
        value: v8::Local<'s, v8::Value>,
    ) -> Walked<v8::Local<'s, v8::Value>> {
        if value.is_boolean_object() {
            // As an object it is true whatever is inside; as text it says so.
            let text = thrown(value.to_string(scope))?;
            let inside = text.length() == "true".len();
            return Ok(v8::Boolean::new(scope, inside).into());
        }
        if value.is_string_object() {
            return thrown(value.to_string(scope)).map(Into::into);
        }
        if value.is_big_int_object() {
            return thrown(value.to_big_int(scope)).map(Into::into);
        }
        thrown(value.to_number(scope)).map(Into::into)
    }

    /// An error as `{ name, message }`, with its `cause` where it has one.
    fn native_error(&mut self, scope: &mut v8::PinScope<'s, '_>, value: v8::Local<'s, v8::Value>) -> Walked {
        let object = thrown(v8::Local::<v8::Object>::try_from(value).ok())?;
        let written = self.stream.open(Container::Object);
        self.room(written)?;
        let mut count = 0;
        for name in ["name", "message", "cause"] {
            let key = thrown(v8::String::new(scope, name))?;
            let own_only = name == "cause";
            if own_only && !thrown(object.has_own_property(scope, key.into()))? {
                continue;
            }
            let member = thrown(object.get(scope, key.into()))?;
            self.string(scope, key)?;
            self.path.push(Step::Key(key.into()));
            self.value(scope, member, true)?;
            self.path.pop();
            count += 1;
        }
        let written = self.stream.close(Container::Object, count);
        self.room(written)
    }

    fn error(&self, scope: &mut v8::PinScope<'s, '_>, message: &str) -> Halt {
        let mut path = String::from("$");
        for step in &self.path {
            match step {
                Step::Index(index) => path.push_str(&format!("[{index}]")),
                Step::Key(key) => {
                    let key = key.to_string(scope).map(|key| clipped(scope, key)).unwrap_or_default();
                    if is_identifier(&key) {
                        path.push_str(&format!(".{key}"))
                    } else {
                        path.push_str(&format!("[{key:?}]"))
                    }
                }
            }
        }
        Halt::Error(Error::convert(path, message))
    }
}

/// The own enumerable string keys that are no indices.
fn named_keys() -> v8::GetPropertyNamesArgs {
    v8::GetPropertyNamesArgsBuilder::new()
        .mode(v8::KeyCollectionMode::OwnOnly)
        .property_filter(v8::PropertyFilter::ONLY_ENUMERABLE | v8::PropertyFilter::SKIP_SYMBOLS)
        .index_filter(v8::IndexFilter::SkipIndices)
        .key_conversion(v8::KeyConversionMode::KeepNumbers)
        .build()
}

fn is_to_json(scope: &mut v8::PinScope<'_, '_>, key: v8::Local<'_, v8::Value>) -> bool {
    v8::Local::<v8::String>::try_from(key)
        .is_ok_and(|key| key.length() == "toJSON".len() && key.to_rust_string_lossy(scope) == "toJSON")
}

/// As `Array.isArray` does: a proxy of an array, through any number of proxies, is an array.
fn is_proxy_of_array(scope: &mut v8::PinScope<'_, '_>, value: v8::Local<'_, v8::Value>) -> bool {
    let mut value = v8::Local::new(scope, value);
    while let Ok(proxy) = v8::Local::<v8::Proxy>::try_from(value) {
        value = proxy.get_target(scope);
        if value.is_array() {
            return true;
        }
    }
    false
}

/// V8's letter for the type of a view's elements.
fn element_kind(view: v8::Local<'_, v8::Value>) -> u8 {
    let kinds: [(bool, u8); 11] = [
        (view.is_int8_array(), b'b'),
        (view.is_uint8_clamped_array(), b'C'),
        (view.is_int16_array(), b'w'),
        (view.is_uint16_array(), b'W'),
        (view.is_int32_array(), b'd'),
        (view.is_uint32_array(), b'D'),
        (view.is_float16_array(), b'h'),
        (view.is_float32_array(), b'f'),
        (view.is_float64_array(), b'F'),
        (view.is_big_int64_array(), b'q'),
        (view.is_big_uint64_array(), b'Q'),
    ];
    kinds.into_iter().find_map(|(is, kind)| is.then_some(kind)).unwrap_or(b'B')
}

fn unsupported(value: v8::Local<'_, v8::Value>) -> Option<&'static str> {
    let kinds: [(bool, &'static str); 8] = [
        (value.is_promise(), "a promise"),
        (value.is_generator_object(), "a generator"),
        (value.is_weak_map() || value.is_weak_set(), "a weak collection"),
        (value.is_map_iterator() || value.is_set_iterator(), "an iterator"),
        (value.is_symbol_object(), "a symbol object"),
        (value.is_shared_array_buffer(), "shared memory"),
        (value.is_wasm_memory_object() || value.is_wasm_module_object(), "a WebAssembly object"),
        (value.is_module_namespace_object(), "a module"),
    ];
    kinds.into_iter().find_map(|(is, what)| is.then_some(what))
}

fn is_identifier(key: &str) -> bool {
    let word = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '$';
    !key.is_empty() && key.chars().all(word) && !key.starts_with(|c: char| c.is_ascii_digit())
}
