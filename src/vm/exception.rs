//! What V8 caught, as plain data.
//!
//! Reading an error runs the script's own code (getters, proxies), so it happens inside the slice and under its limits; whatever
//! goes wrong there only makes the description poorer.

use crate::error::{Error, ErrorKind, Frame, Scale, ScriptError};

/// How many frames of a stack are kept.
pub(crate) const FRAMES: i32 = 10;

/// The longest name, message or source line of an error, in UTF-16 code units.
const LONGEST_TEXT: usize = 2_000;

/// The message of V8's own error when the stack is used up.
const STACK_OVERFLOW: &str = "Maximum call stack size exceeded";

/// The messages of V8's own errors when a buffer could not be allocated.
pub(super) const BUFFER_REFUSED: [&str; 3] = [
    "Array buffer allocation failed",
    "WebAssembly.Memory(): could not allocate memory",
    "Invalid array buffer length",
];

/// Runs `body` in a scope that catches what it throws.
///
/// `None` from the body means that something was thrown or that the slice was stopped; for the latter the error is a placeholder
/// that the owner of the slice replaces with its reason.
pub(crate) fn catch<'s, 'i, T>(
    scope: &mut v8::PinScope<'s, 'i>,
    body: impl FnOnce(&mut v8::PinScope<'s, 'i>) -> Option<T>,
) -> Result<T, Error> {
    v8::tc_scope!(let caught, scope);
    if let Some(value) = body(caught) {
        return Ok(value);
    }
    if caught.has_terminated() || caught.is_execution_terminating() {
        return Err(stopped());
    }
    let (exception, message) = (caught.exception(), caught.message());
    caught.reset();
    match exception {
        Some(exception) => Err(describe(caught, exception, message)),
        None => Err(stopped()),
    }
}

/// Stands for the reason of a stopped slice until its owner is asked.
pub(crate) fn stopped() -> Error {
    ErrorKind::Cancelled.into()
}

/// The error of a thrown value.
pub(crate) fn describe<'s>(
    scope: &mut v8::PinScope<'s, '_>,
    exception: v8::Local<'s, v8::Value>,
    message: Option<v8::Local<'s, v8::Message>>,
) -> Error {
    let mut error = name_and_message(scope, exception);
    if let Some(message) = message {
        place(scope, message, &mut error);
    }
    if error.script.is_none() {
        // Not a place in a script: the text that `JSON.parse` was given, say, which is data and none of an error's business.
        (error.line, error.column, error.source_line) = (None, None, None);
    }
    let stack = v8::Exception::get_stack_trace(scope, exception).or_else(|| message?.get_stack_trace(scope));
    if let Some(stack) = stack {
        error.frames = frames(scope, stack);
    }
    if let (None, Some(frame)) = (&error.script, error.frames.iter().find(|frame| !frame.script.is_empty())) {
        error.script = Some(frame.script.clone());
        (error.line, error.column) = (Some(frame.line), Some(frame.column));
    }
    if error.message == STACK_OVERFLOW && is_range_error(scope, exception) {
        // The name may be a getter, and there was no stack left to call it.
        error.name = "RangeError".into();
        return ErrorKind::StackOverflow(error).into();
    }
    match pending(scope, exception) {
        Some((limit, scale)) => ErrorKind::PendingLimit { limit, scale }.into(),
        None => ErrorKind::Script(error).into(),
    }
}

/// Marks an exception as the one of a limit on pending work, out of reach of scripts: the number is negative for the engine's.
pub(super) fn mark_pending(
    scope: &mut v8::PinScope<'_, '_>,
    exception: v8::Local<'_, v8::Value>,
    limit: usize,
    scale: Scale,
) -> Option<bool> {
    let key = pending_key(scope)?;
    let limit = if scale == Scale::Call { limit as f64 } else { -(limit as f64) };
    let limit = v8::Number::new(scope, limit);
    v8::Local::<v8::Object>::try_from(exception).ok()?.set_private(scope, key, limit.into())
}

fn pending(scope: &mut v8::PinScope<'_, '_>, exception: v8::Local<'_, v8::Value>) -> Option<(usize, Scale)> {
    if !exception.is_native_error() {
        return None;
    }
    let key = pending_key(scope)?;
    let object = v8::Local::<v8::Object>::try_from(exception).ok()?;
    let limit = v8::Local::<v8::Number>::try_from(object.get_private(scope, key)?).ok()?.value();
    Some((limit.abs() as usize, if limit < 0.0 { Scale::Engine } else { Scale::Call }))
}

fn pending_key<'s>(scope: &mut v8::PinScope<'s, '_>) -> Option<v8::Local<'s, v8::Private>> {
    let name = v8::String::new(scope, "jsmill.pending")?;
    Some(v8::Private::for_api(scope, Some(name)))
}

/// Whether that is a `RangeError` by its class, whatever its `name` says. Runs nothing of the script.
fn is_range_error(scope: &mut v8::PinScope<'_, '_>, exception: v8::Local<'_, v8::Value>) -> bool {
    v8::Local::<v8::Object>::try_from(exception)
        .is_ok_and(|object| object.get_constructor_name().to_rust_string_lossy(scope) == "RangeError")
}

/// Whether that is V8's own error for a buffer that its allocator refused.
pub(crate) fn is_refused_buffer(error: &ScriptError) -> bool {
    error.name == "RangeError" && BUFFER_REFUSED.iter().any(|text| error.message.contains(text))
}

/// Name and message of a thrown value.
pub(super) fn name_and_message<'s>(
    scope: &mut v8::PinScope<'s, '_>,
    exception: v8::Local<'s, v8::Value>,
) -> ScriptError {
    let object = v8::Local::<v8::Object>::try_from(exception).ok().filter(|object| !object.is_function());
    let Some(object) = object else {
        let text = exception.to_detail_string(scope).map(|text| clipped(scope, text)).unwrap_or_default();
        return ScriptError::new("Error", format!("thrown: {text}"));
    };
    let name = text_property(scope, object, "name");
    let message = text_property(scope, object, "message");
    if name.is_none() && message.is_none() {
        let class = object.get_constructor_name();
        return ScriptError::new("Error", format!("thrown: an object of class {}", clipped(scope, class)));
    }
    ScriptError::new(name.unwrap_or_else(|| "Error".into()), message.unwrap_or_default())
}

/// A property's text, where it has one that can be read without an exception.
fn text_property<'s>(scope: &mut v8::PinScope<'s, '_>, object: v8::Local<'s, v8::Object>, key: &str) -> Option<String> {
    v8::tc_scope!(let caught, scope);
    let key = v8::String::new(caught, key)?;
    let value = object.get(caught, key.into())?;
    if value.is_null_or_undefined() || value.is_function() {
        return None;
    }
    let text = if value.is_symbol() { value.to_detail_string(caught)? } else { value.to_string(caught)? };
    Some(clipped(caught, text))
}

fn place<'s>(scope: &mut v8::PinScope<'s, '_>, message: v8::Local<'s, v8::Message>, error: &mut ScriptError) {
    error.script = message
        .get_script_resource_name(scope)
        .and_then(|name| v8::Local::<v8::String>::try_from(name).ok())
        .map(|name| clipped(scope, name))
        .filter(|name| !name.is_empty());
    error.line = message.get_line_number(scope).and_then(|line| u32::try_from(line).ok()).filter(|line| *line > 0);
    error.column = message.get_start_column().checked_add(1).and_then(|column| u32::try_from(column).ok());
    error.source_line = message.get_source_line(scope).map(|line| clipped(scope, line)).filter(|line| !line.is_empty());
}

fn frames<'s>(scope: &mut v8::PinScope<'s, '_>, stack: v8::Local<'s, v8::StackTrace>) -> Vec<Frame> {
    let mut frames = Vec::new();
    for index in 0..stack.get_frame_count().min(FRAMES as usize) {
        let Some(frame) = stack.get_frame(scope, index) else { break };
        let (function, script) = (frame.get_function_name(scope), frame.get_script_name(scope));
        frames.push(Frame {
            function: function.map(|function| clipped(scope, function)).unwrap_or_default(),
            script: script.map(|script| clipped(scope, script)).unwrap_or_default(),
            line: u32::try_from(frame.get_line_number()).unwrap_or(0),
            column: u32::try_from(frame.get_column()).unwrap_or(0),
        });
    }
    frames
}

/// The text of a string, cut to a length that a log can bear. Lone surrogates become U+FFFD.
pub(crate) fn clipped(scope: &mut v8::PinScope<'_, '_>, text: v8::Local<'_, v8::String>) -> String {
    let mut units = vec![0_u16; text.length().min(LONGEST_TEXT)];
    let length = units.len() as u32;
    text.write_v2(scope, 0, &mut units[..length as usize], v8::WriteFlags::empty());
    let mut clipped = String::from_utf16_lossy(&units);
    if text.length() > LONGEST_TEXT {
        clipped.push('…');
    }
    clipped
}
