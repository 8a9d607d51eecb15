//! A plain copy of a value that V8's serializer refused: proxies read, `toJSON` called, everything else as it is; or the path of
//! what cannot pass.

use super::super::exception::catch;
use crate::error::{Error, Result};
use crate::wire::Limits;

/// How many values a copy may have: as many as fit into the stream's limit at eight bytes each.
const BYTES_PER_VALUE: usize = 8;

pub(super) fn plain_copy<'s>(
    scope: &mut v8::PinScope<'s, '_>,
    value: v8::Local<'_, v8::Value>,
    limits: Limits,
) -> Result<v8::Local<'s, v8::Value>> {
    let value = v8::Local::new(scope, value);
    let mut copy = Copy { ancestors: Vec::new(), path: Vec::new(), limits, left: limits.bytes / BYTES_PER_VALUE };
    copy.value(scope, value, true)
}

struct Copy<'s> {
    ancestors: Vec<v8::Local<'s, v8::Value>>,
    path: Vec<Step>,
    limits: Limits,
    left: usize,
}

enum Step {
    Key(String),
    Index(u32),
}

impl<'s> Copy<'s> {
    /// `call_to_json` is false for what a `toJSON` returned, whose own one is not called again.
    fn value(
        &mut self,
        scope: &mut v8::PinScope<'s, '_>,
        value: v8::Local<'s, v8::Value>,
        call_to_json: bool,
    ) -> Result<v8::Local<'s, v8::Value>> {
        self.left = self.left.checked_sub(1).ok_or_else(|| super::too_large(self.limits))?;
        if value.is_function() {
            return Err(self.error("a function cannot pass to the host; call it and return what it gives"));
        }
        if value.is_symbol() {
            return Err(self.error("a symbol cannot pass to the host; return its description"));
        }
        let Ok(object) = v8::Local::<v8::Object>::try_from(value) else { return Ok(value) };
        if self.ancestors.contains(&value) {
            return Err(self.error("the value contains itself; return a tree"));
        }
        if self.ancestors.len() >= self.limits.depth {
            return Err(self.error(&format!("nested deeper than {} levels; return a flatter value", self.limits.depth)));
        }
        if call_to_json
            && !value.is_date()
            && let Some(result) = self.to_json(scope, object)?
        {
            return self.value(scope, result, false);
        }
        self.ancestors.push(value);
        let copy = self.object(scope, object);
        self.ancestors.pop();
        copy
    }

    fn to_json(
        &self,
        scope: &mut v8::PinScope<'s, '_>,
        object: v8::Local<'s, v8::Object>,
    ) -> Result<Option<v8::Local<'s, v8::Value>>> {
        catch(scope, |scope| {
            let key = v8::String::new(scope, "toJSON")?;
            let method = object.get(scope, key.into())?;
            let Ok(method) = v8::Local::<v8::Function>::try_from(method) else { return Some(None) };
            let key = v8::String::empty(scope);
            method.call(scope, object.into(), &[key.into()]).map(Some)
        })
    }

    fn object(
        &mut self,
        scope: &mut v8::PinScope<'s, '_>,
        object: v8::Local<'s, v8::Object>,
    ) -> Result<v8::Local<'s, v8::Value>> {
        let value: v8::Local<v8::Value> = object.into();
        if value.is_map() || value.is_set() {
            return self.collection(scope, value);
        }
        if is_array(scope, value)? {
            return self.array(scope, object);
        }
        if let Some(what) = unsupported(value) {
            return Err(self.error(&format!("{what} cannot pass to the host; return what it stands for")));
        }
        if is_leaf(value) {
            return Ok(value);
        }
        let keys = own_keys(scope, object)?;
        let copy = v8::Object::new(scope);
        for index in 0..keys.length() {
            let key = catch(scope, |scope| keys.get_index(scope, index))?;
            let text =
                key.to_string(scope).map(|text| super::super::exception::clipped(scope, text)).unwrap_or_default();
            self.path.push(Step::Key(text));
            let member = catch(scope, |scope| object.get(scope, key))?;
            let member = self.value(scope, member, true)?;
            self.path.pop();
            let Ok(name) = v8::Local::<v8::Name>::try_from(key).or_else(|_| name_of(scope, key)) else { continue };
            catch(scope, |scope| copy.create_data_property(scope, name, member))?;
        }
        Ok(copy.into())
    }

    fn array(
        &mut self,
        scope: &mut v8::PinScope<'s, '_>,
        object: v8::Local<'s, v8::Object>,
    ) -> Result<v8::Local<'s, v8::Value>> {
        let length = catch(scope, |scope| {
            let key = v8::String::new(scope, "length")?;
            object.get(scope, key.into())?.integer_value(scope)
        })?;
        let too_long = || super::too_large(self.limits);
        let length = u32::try_from(length).ok().filter(|length| *length as usize <= self.left).ok_or_else(too_long)?;
        let copy = v8::Array::new(scope, 0);
        for index in 0..length {
            let element = catch(scope, |scope| {
                if object.has_index(scope, index)? { object.get_index(scope, index).map(Some) } else { Some(None) }
            })?;
            // A hole stays one, for the policy to judge.
            let Some(element) = element else { continue };
            self.path.push(Step::Index(index));
            let element = self.value(scope, element, true)?;
            self.path.pop();
            catch(scope, |scope| define_index(scope, copy, index, element))?;
        }
        set_length(scope, copy, length)?;
        Ok(copy.into())
    }

    fn collection(
        &mut self,
        scope: &mut v8::PinScope<'s, '_>,
        value: v8::Local<'s, v8::Value>,
    ) -> Result<v8::Local<'s, v8::Value>> {
        if let Ok(map) = v8::Local::<v8::Map>::try_from(value) {
            let (entries, copy) = (map.as_array(scope), v8::Map::new(scope));
            for index in (0..entries.length()).step_by(2) {
                self.path.push(Step::Index(index / 2));
                let mut entry = [index, index + 1].into_iter().map(|at| {
                    let part = catch(scope, |scope| entries.get_index(scope, at))?;
                    self.value(scope, part, true)
                });
                let (Some(key), Some(member)) = (entry.next(), entry.next()) else { continue };
                let (key, member) = (key?, member?);
                catch(scope, |scope| copy.set(scope, key, member).map(|_| ()))?;
                self.path.pop();
            }
            return Ok(copy.into());
        }
        let Ok(set) = v8::Local::<v8::Set>::try_from(value) else { return Ok(value) };
        let (members, copy) = (set.as_array(scope), v8::Set::new(scope));
        for index in 0..members.length() {
            self.path.push(Step::Index(index));
            let member = catch(scope, |scope| members.get_index(scope, index))?;
            let member = self.value(scope, member, true)?;
            catch(scope, |scope| copy.add(scope, member).map(|_| ()))?;
            self.path.pop();
        }
        Ok(copy.into())
    }

    fn error(&self, message: &str) -> Error {
        let mut path = String::from("$");
        for step in &self.path {
            match step {
                Step::Index(index) => path.push_str(&format!("[{index}]")),
                Step::Key(key) if is_identifier(key) => path.push_str(&format!(".{key}")),
                Step::Key(key) => path.push_str(&format!("[{key:?}]")),
            }
        }
        Error::convert(path, message)
    }
}

fn is_array(scope: &mut v8::PinScope<'_, '_>, value: v8::Local<'_, v8::Value>) -> Result<bool> {
    let Ok(mut proxy) = v8::Local::<v8::Proxy>::try_from(value) else { return Ok(value.is_array()) };
    // As `Array.isArray` does: a proxy of an array, through any number of proxies, is an array.
    loop {
        let target = proxy.get_target(scope);
        match v8::Local::<v8::Proxy>::try_from(target) {
            Ok(inner) => proxy = inner,
            Err(_) => return Ok(target.is_array()),
        }
    }
}

/// Values that V8's serializer writes by itself, and that have no parts to be copied.
fn is_leaf(value: v8::Local<'_, v8::Value>) -> bool {
    value.is_date()
        || value.is_boolean_object()
        || value.is_number_object()
        || value.is_string_object()
        || value.is_big_int_object()
        || value.is_array_buffer()
        || value.is_array_buffer_view()
        || value.is_native_error()
        || value.is_reg_exp()
}

fn unsupported(value: v8::Local<'_, v8::Value>) -> Option<&'static str> {
    let view = v8::Local::<v8::ArrayBufferView>::try_from(value);
    let shared_view = view.is_ok_and(|view| view.get_backing_store().is_some_and(|store| store.is_shared()));
    let kinds: [(bool, &'static str); 8] = [
        (value.is_promise(), "a promise"),
        (value.is_generator_object(), "a generator"),
        (value.is_weak_map() || value.is_weak_set(), "a weak collection"),
        (value.is_map_iterator() || value.is_set_iterator(), "an iterator"),
        (value.is_symbol_object(), "a symbol object"),
        (value.is_shared_array_buffer() || shared_view, "shared memory"),
        (value.is_wasm_memory_object() || value.is_wasm_module_object(), "a WebAssembly object"),
        (value.is_module_namespace_object(), "a module"),
    ];
    kinds.into_iter().find_map(|(is, what)| is.then_some(what))
}

/// The own enumerable string keys, as the serializer reads them.
fn own_keys<'s>(
    scope: &mut v8::PinScope<'s, '_>,
    object: v8::Local<'s, v8::Object>,
) -> Result<v8::Local<'s, v8::Array>> {
    catch(scope, |scope| {
        let options = v8::GetPropertyNamesArgsBuilder::new()
            .mode(v8::KeyCollectionMode::OwnOnly)
            .property_filter(v8::PropertyFilter::ONLY_ENUMERABLE | v8::PropertyFilter::SKIP_SYMBOLS)
            .index_filter(v8::IndexFilter::IncludeIndices)
            .key_conversion(v8::KeyConversionMode::ConvertToString)
            .build();
        object.get_own_property_names(scope, options)
    })
}

fn name_of<'s>(scope: &mut v8::PinScope<'s, '_>, key: v8::Local<'s, v8::Value>) -> Result<v8::Local<'s, v8::Name>> {
    catch(scope, |scope| key.to_string(scope).map(Into::into))
}

fn define_index(
    scope: &mut v8::PinScope<'_, '_>,
    array: v8::Local<'_, v8::Array>,
    index: u32,
    element: v8::Local<'_, v8::Value>,
) -> Option<bool> {
    let key = v8::String::new(scope, &index.to_string())?;
    array.create_data_property(scope, key.into(), element)
}

fn set_length(scope: &mut v8::PinScope<'_, '_>, array: v8::Local<'_, v8::Array>, length: u32) -> Result<()> {
    catch(scope, |scope| {
        let key = v8::String::new(scope, "length")?;
        let length = v8::Integer::new_from_unsigned(scope, length);
        array.set(scope, key.into(), length.into())
    })
    .map(|_| ())
}

fn is_identifier(key: &str) -> bool {
    let word = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '$';
    !key.is_empty() && key.chars().all(word) && !key.starts_with(|c: char| c.is_ascii_digit())
}
