//! What `js/aio.js` and `js/io.js` call: one native function with the number of the service that it wants.

use std::time::Duration;

use super::{OpId, Ops, TaskId};
use crate::clock::Moment;
use crate::vm::{Host, HostError, exception_of, harden, quietly};

/// The services, as `js/prelude.js` numbers them.
const TIMER: u32 = 0;
const JOIN: u32 = 1;
const WAKE: u32 = 2;
const CANCEL: u32 = 3;
const TASK: u32 = 4;
const ALIVE: u32 = 5;
const HARDEN: u32 = 6;
const SLEEP: u32 = 7;
const SLEEPING: u32 = 8;
const REJECT: u32 = 9;

/// The function as V8 calls it.
pub(super) fn native() -> v8::FunctionCallback {
    use v8::MapFnTo;
    serve.map_fn_to()
}

fn serve<'s>(
    scope: &mut v8::PinScope<'s, '_>,
    arguments: v8::FunctionCallbackArguments<'s>,
    mut result: v8::ReturnValue<'s, v8::Value>,
) {
    match quietly("a service of the engine", || answer(scope, &arguments)) {
        Some(Ok(Some(value))) => result.set(value),
        Some(Ok(None)) => {}
        // Unwinding through V8's frames would end the process.
        None => {
            if let Some(host) = Host::of(scope) {
                host.set_panicked("a service of the engine".into());
            }
            scope.terminate_execution();
        }
        Some(Err(error)) => {
            if let Some(exception) = exception_of(scope, &error) {
                scope.throw_exception(exception);
            }
        }
    }
}

fn answer<'s>(
    scope: &mut v8::PinScope<'s, '_>,
    arguments: &v8::FunctionCallbackArguments<'s>,
) -> Result<Option<v8::Local<'s, v8::Value>>, HostError> {
    let Some(ops) = Ops::of(scope) else { return Ok(None) };
    let first = arguments.get(1);
    let number = |value: v8::Local<'s, v8::Value>| {
        v8::Local::<v8::Number>::try_from(value)
            .map(|number| number.value())
            .map_err(|_| HostError::type_error("the number of a task or of a wait is expected".into()))
    };
    let id = match arguments.get(0).uint32_value(scope) {
        Some(TIMER) => {
            let at = moment(number(first)?);
            let callback = callback(scope, arguments.get(2))?;
            ops.timer(at, callback)?.0
        }
        Some(JOIN) => {
            let other = TaskId(number(first)? as u64);
            let callback = callback(scope, arguments.get(2))?;
            ops.join(other, callback)?.0
        }
        Some(WAKE) => {
            ops.wake(OpId(number(first)? as u64));
            return Ok(None);
        }
        Some(CANCEL) => {
            ops.cancel(OpId(number(first)? as u64));
            return Ok(None);
        }
        Some(TASK) => match ops.name_current() {
            Some(TaskId(id)) => id,
            None => {
                return Err(HostError::new("there is no run while a script is loaded: call this inside of a function"));
            }
        },
        Some(ALIVE) => {
            let alive = ops.is_alive(TaskId(number(first)? as u64));
            return Ok(Some(v8::Boolean::new(scope, alive).into()));
        }
        Some(SLEEP) => return ops.sleep(scope, moment(number(first)?)).map(|promise| Some(promise.into())),
        Some(SLEEPING) => ops.sleeping(scope, first).map_or(0, |op| op.0),
        Some(REJECT) => {
            ops.reject(scope, OpId(number(first)? as u64), arguments.get(2));
            return Ok(None);
        }
        Some(HARDEN) => {
            harden(scope, first).map_err(|refused| HostError::type_error(refused.to_string()))?;
            return Ok(Some(first));
        }
        #[cfg(feature = "io")]
        Some(service) if service >= super::io::FIRST => {
            return super::io::serve(scope, &ops, service - super::io::FIRST, arguments).map(Some);
        }
        _ => return Ok(None),
    };
    Ok(Some(v8::Number::new(scope, id as f64).into()))
}

/// So many milliseconds from now.
fn moment(ms: f64) -> Moment {
    let seconds = (ms / 1e3).clamp(0.0, 1e9);
    Moment::now().after(Duration::from_secs_f64(if seconds.is_nan() { 0.0 } else { seconds }))
}

fn callback<'s>(
    scope: &mut v8::PinScope<'s, '_>,
    value: v8::Local<'s, v8::Value>,
) -> Result<v8::Global<v8::Function>, HostError> {
    let function = v8::Local::<v8::Function>::try_from(value);
    let function = function.map_err(|_| HostError::type_error("a function to call later is expected".into()))?;
    Ok(v8::Global::new(scope, function))
}
