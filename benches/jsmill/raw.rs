//! The v8 crate by itself: an isolate on the calling thread, a function, arguments made by hand.
//!
//! V8 has to be started by an engine first, since a process can start it once. On CPUs with memory protection keys only threads
//! that descend from the one which started V8 may run JavaScript, so these benches need a CPU without such keys (or an engine's
//! worker); elsewhere any thread will do.

use crate::work;

/// Starts V8 where it does not run yet.
pub fn start_v8() {
    drop(work::engine(jsmill::Limits::default()));
}

/// Makes an isolate and a context with the script, and gives `body` the function.
pub fn with_function<T>(body: impl for<'s> FnOnce(&mut v8::PinScope<'s, '_>, v8::Local<'s, v8::Function>) -> T) -> T {
    let mut isolate = v8::Isolate::new(Default::default());
    v8::scope!(let scope, &mut isolate);
    let context = v8::Context::new(scope, Default::default());
    let scope = &mut v8::ContextScope::new(scope, context);
    load(scope);
    let name = v8::String::new(scope, "price").expect("a short text");
    let function = context.global(scope).get(scope, name.into()).expect("the script defines it");
    let function = v8::Local::<v8::Function>::try_from(function).expect("it is a function");
    body(scope, function)
}

/// Compiles the script in the current context and runs it.
pub fn load(scope: &mut v8::PinScope<'_, '_>) {
    let source = v8::String::new(scope, work::SOURCE).expect("a short text");
    let script = v8::Script::compile(scope, source, None).expect("the script compiles");
    script.run(scope).expect("the script runs");
}

/// Calls the function with arguments that are converted one by one.
pub fn price<'s>(
    scope: &mut v8::PinScope<'s, '_>,
    function: v8::Local<'s, v8::Function>,
    (quantity, unit, code): (f64, f64, &str),
) -> f64 {
    v8::scope!(let scope, scope);
    let args = [
        v8::Number::new(scope, quantity).into(),
        v8::Number::new(scope, unit).into(),
        v8::String::new(scope, code).expect("a short text").into(),
    ];
    let this = v8::undefined(scope).into();
    let result = function.call(scope, this, &args).expect("the function returns");
    result.number_value(scope).expect("the result is a number")
}
