//! What sort of object a walk has met: the question that JavaScript cannot answer for certain by itself.
//!
//! The answer is `undefined` for an object that freezing closes, a text for one that it does not, `1` for a regular
//! expression (the walk looks at its flags), and a list of one for a settled promise: what it was settled with.
//! It runs no JavaScript, so a proxy does not notice.

/// The native function that the walk calls for every object.
pub(super) fn kind<'s>(
    scope: &mut v8::PinScope<'s, '_>,
    arguments: v8::FunctionCallbackArguments<'s>,
    mut answer: v8::ReturnValue<'s>,
) {
    let object = arguments.get(0);
    if let Some(what) = open(object) {
        // Without memory for the text the walk would take silence for consent.
        match v8::String::new(scope, what) {
            Some(text) => answer.set(text.into()),
            None => answer.set(v8::String::empty(scope).into()),
        }
    } else if object.is_reg_exp() {
        answer.set_int32(1);
    } else if let Ok(promise) = v8::Local::<v8::Promise>::try_from(object) {
        let result = promise.result(scope);
        answer.set(v8::Array::new_with_elements(scope, &[result]).into());
    }
}

/// The name of an object that can be changed although it is frozen. Objects that only their prototype tells (iterators,
/// `WeakRef`, ...) are not found here.
fn open(object: v8::Local<'_, v8::Value>) -> Option<&'static str> {
    if object.is_proxy() {
        Some("a Proxy")
    } else if v8::Local::<v8::Promise>::try_from(object).is_ok_and(|it| it.state() == v8::PromiseState::Pending) {
        Some("a pending Promise")
    } else if object.is_function() || object.is_array() {
        None
    } else if object.is_map() {
        Some("a Map")
    } else if object.is_set() {
        Some("a Set")
    } else if object.is_date() {
        Some("a Date")
    } else if object.is_weak_map() {
        Some("a WeakMap")
    } else if object.is_weak_set() {
        Some("a WeakSet")
    } else if object.is_data_view() {
        Some("a DataView")
    } else if object.is_array_buffer_view() {
        Some("a typed array")
    } else if object.is_array_buffer() {
        Some("an ArrayBuffer")
    } else if object.is_shared_array_buffer() {
        Some("a SharedArrayBuffer")
    } else if object.is_generator_object() {
        Some("a generator object")
    } else if object.is_map_iterator() || object.is_set_iterator() {
        Some("an iterator")
    } else if object.is_wasm_memory_object() {
        Some("a WebAssembly.Memory")
    } else {
        None
    }
}
