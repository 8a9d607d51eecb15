//! `queueMicrotask` of scripts.

/// Gives a new context its `queueMicrotask`, which V8 leaves to the embedder.
pub(super) fn install(scope: &mut v8::PinScope<'_, '_>) -> Option<()> {
    let name = v8::String::new(scope, "queueMicrotask")?;
    let function = v8::Function::builder(queue_microtask)
        .length(1)
        .constructor_behavior(v8::ConstructorBehavior::Throw)
        .build(scope)?;
    function.set_name(name);
    let global = scope.get_current_context().global(scope);
    global.define_own_property(scope, name.into(), function.into(), v8::PropertyAttribute::DONT_ENUM)?;
    Some(())
}

fn queue_microtask<'s>(
    scope: &mut v8::PinScope<'s, '_>,
    arguments: v8::FunctionCallbackArguments<'s>,
    _result: v8::ReturnValue<'s, v8::Value>,
) {
    let Ok(function) = v8::Local::<v8::Function>::try_from(arguments.get(0)) else {
        if let Some(message) = v8::String::new(scope, "queueMicrotask: the argument is no function") {
            let error = v8::Exception::type_error(scope, message);
            scope.throw_exception(error);
        }
        return;
    };
    let context = scope.get_current_context();
    if let Some(queue) = context.get_microtask_queue() {
        queue.enqueue_microtask(scope, function);
    }
}
