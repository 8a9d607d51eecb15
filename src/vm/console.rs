//! `console` of scripts.
//!
//! Lines go to the logger of the task, or else to `tracing` under the target `jsmill::console`. They are bounded in length and
//! number, and cost next to nothing when nobody listens.

use std::sync::Arc;

use super::exception::clipped;
use super::host::Host;

/// One line of a script's log.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct LogLine {
    /// How important the script says it is.
    pub level: LogLevel,
    /// The text: the arguments, separated by blanks, 2,000 UTF-16 code units each at most.
    pub message: String,
    /// The script or module that logged it.
    pub script: String,
    /// The line there, from 1.
    pub line: u32,
}

/// The method of `console` that was called.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum LogLevel {
    /// `console.debug`
    Debug,
    /// `console.log` and `console.info`
    Info,
    /// `console.warn`
    Warn,
    /// `console.error`
    Error,
}

/// Receives the lines that the scripts of a task log.
///
/// Called on the worker, inside the run: keep it short. A panic in it is logged and otherwise ignored.
pub trait Logger: Send + Sync + 'static {
    /// A script called a method of `console`.
    fn log(&self, line: &LogLine);
}

impl<F: Fn(&LogLine) + Send + Sync + 'static> Logger for F {
    fn log(&self, line: &LogLine) {
        self(line);
    }
}

/// How many arguments of a call are shown.
const ARGUMENTS: i32 = 16;

/// Gives a new context its `console`.
pub(super) fn install(scope: &mut v8::PinScope<'_, '_>) -> Option<()> {
    let console = v8::Object::new(scope);
    for (index, name) in ["debug", "log", "info", "warn", "error"].into_iter().enumerate() {
        let data = v8::Integer::new(scope, index as i32);
        let function = v8::Function::builder(log)
            .data(data.into())
            .constructor_behavior(v8::ConstructorBehavior::Throw)
            .build(scope)?;
        let name = v8::String::new(scope, name)?;
        function.set_name(name);
        console.create_data_property(scope, name.into(), function.into())?;
    }
    let key = v8::String::new(scope, "console")?;
    let global = scope.get_current_context().global(scope);
    global.define_own_property(scope, key.into(), console.into(), v8::PropertyAttribute::DONT_ENUM)?;
    Some(())
}

fn log<'s>(
    scope: &mut v8::PinScope<'s, '_>,
    arguments: v8::FunctionCallbackArguments<'s>,
    _result: v8::ReturnValue<'s, v8::Value>,
) {
    let Some(host) = Host::of(scope) else { return };
    let level = match arguments.data().int32_value(scope) {
        Some(0) => LogLevel::Debug,
        Some(3) => LogLevel::Warn,
        Some(4) => LogLevel::Error,
        _ => LogLevel::Info,
    };
    let logger = host.logger();
    if logger.is_none() && !is_heard(level) {
        return;
    }
    let message = match host.take_line() {
        0 => return,
        1 => "further lines of this run are not logged".to_owned(),
        _ => match text(scope, &arguments) {
            Some(text) => text,
            // A conversion threw or the slice is being stopped: the exception is on its way to the script.
            None => return,
        },
    };
    let (script, line) = caller(scope);
    emit(logger.as_ref(), LogLine { level, message, script, line });
}

fn text<'s>(scope: &mut v8::PinScope<'s, '_>, arguments: &v8::FunctionCallbackArguments<'s>) -> Option<String> {
    let mut message = String::new();
    for index in 0..arguments.length().min(ARGUMENTS) {
        if index > 0 {
            message.push(' ');
        }
        let value = arguments.get(index);
        if value.is_native_error() {
            let error = super::exception::name_and_message(scope, value);
            message.push_str(&error.to_string());
            continue;
        }
        let plain = value.is_object() && !value.is_function();
        let text = if plain { json(scope, value) } else { value.to_detail_string(scope) }?;
        message.push_str(&clipped(scope, text));
    }
    Some(message)
}

/// An object as JSON where it has such a form, else as V8 describes it.
fn json<'s>(scope: &mut v8::PinScope<'s, '_>, value: v8::Local<'s, v8::Value>) -> Option<v8::Local<'s, v8::String>> {
    {
        v8::tc_scope!(let caught, scope);
        if let Some(text) = v8::json::stringify(caught, value) {
            return Some(text);
        }
        if caught.has_terminated() {
            return None;
        }
    }
    value.to_detail_string(scope)
}

fn caller(scope: &mut v8::PinScope<'_, '_>) -> (String, u32) {
    let frame = v8::StackTrace::current_stack_trace(scope, 1).and_then(|stack| stack.get_frame(scope, 0));
    let Some(frame) = frame else { return (String::new(), 0) };
    let script = frame.get_script_name(scope).map(|name| clipped(scope, name)).unwrap_or_default();
    (script, u32::try_from(frame.get_line_number()).unwrap_or(0))
}

fn is_heard(level: LogLevel) -> bool {
    match level {
        LogLevel::Debug => tracing::enabled!(target: "jsmill::console", tracing::Level::DEBUG),
        LogLevel::Info => tracing::enabled!(target: "jsmill::console", tracing::Level::INFO),
        LogLevel::Warn => tracing::enabled!(target: "jsmill::console", tracing::Level::WARN),
        LogLevel::Error => tracing::enabled!(target: "jsmill::console", tracing::Level::ERROR),
    }
}

fn emit(logger: Option<&Arc<dyn Logger>>, line: LogLine) {
    if let Some(logger) = logger {
        super::callback::quietly("a logger", || logger.log(&line));
        return;
    }
    let LogLine { level, message, script, line } = line;
    match level {
        LogLevel::Debug => tracing::debug!(target: "jsmill::console", script, line, "{message}"),
        LogLevel::Info => tracing::info!(target: "jsmill::console", script, line, "{message}"),
        LogLevel::Warn => tracing::warn!(target: "jsmill::console", script, line, "{message}"),
        LogLevel::Error => tracing::error!(target: "jsmill::console", script, line, "{message}"),
    }
}
