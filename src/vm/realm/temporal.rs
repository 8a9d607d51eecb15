//! `Temporal`, made in a sealed context when a script first asks for it.
//!
//! V8 makes it lazily as well, but by a property that a sealed context cannot have: what it makes would not be frozen. So
//! that property is read here on the global object of a passing, open context. V8 builds `Temporal` in the realm that runs,
//! whatever object the property is on; a test holds it to that.

/// The native function that returns `[Temporal, Date.prototype.toTemporalInstant]` of the current realm.
pub(super) fn make<'s>(
    scope: &mut v8::PinScope<'s, '_>,
    _arguments: v8::FunctionCallbackArguments<'s>,
    mut answer: v8::ReturnValue<'s>,
) {
    if let Some(pair) = pair(scope) {
        answer.set(pair.into());
    } else if let Some(text) = v8::String::new(scope, "Temporal is not available: V8 could not make it") {
        // When V8 has an exception already, such as a termination, this one gives way to it.
        let error = v8::Exception::error(scope, text);
        scope.throw_exception(error);
    }
}

fn pair<'s>(scope: &mut v8::PinScope<'s, '_>) -> Option<v8::Local<'s, v8::Array>> {
    let here = scope.get_current_context();
    let passing = v8::Context::new(scope, Default::default());
    // Reading across realms takes the same token.
    passing.set_security_token(here.get_security_token(scope));
    let global = passing.global(scope);
    let temporal = read(scope, global, "Temporal")?;
    let date = read(scope, global, "Date")?;
    let prototype = read(scope, date, "prototype")?;
    let to_instant = read(scope, prototype, "toTemporalInstant")?;
    Some(v8::Array::new_with_elements(scope, &[temporal.into(), to_instant.into()]))
}

fn read<'s>(
    scope: &mut v8::PinScope<'s, '_>,
    object: v8::Local<'s, v8::Object>,
    name: &str,
) -> Option<v8::Local<'s, v8::Object>> {
    let name = v8::String::new(scope, name)?;
    v8::Local::<v8::Object>::try_from(object.get(scope, name.into())?).ok()
}
