//! The context that a run gets: found in the cache, or made for it. Part of the run's first slice.

use std::rc::Rc;

use super::runtime::{Inside, RuntimeOptions, SliceReport};
use super::{Caching, CallCore, host};
use crate::clock::Moment;
use crate::error::Result;
use crate::script::{Isolation, Script};
use crate::vm::{CodeCache, Scope, ScriptContext, SharedValue, Terms, take_unhandled};
use crate::watchdog::{Epoch, Slot};

/// What a first slice needs while it is on its way into V8.
pub(super) struct Entry<'r> {
    pub(super) options: &'r RuntimeOptions,
    pub(super) code: &'r CodeCache,
    pub(super) slot: &'r Slot,
    pub(super) epoch: Epoch,
    pub(super) now: Moment,
}

/// The shared values of a run.
pub(super) type SharedValues = smallvec::SmallVec<[SharedValue; 2]>;

impl Entry<'_> {
    /// Makes the shared values ready, and finds or makes the context.
    pub(super) fn enter(
        &self,
        inside: &mut Inside,
        call: &dyn CallCore,
        report: &mut SliceReport,
    ) -> Result<(Rc<ScriptContext>, SharedValues)> {
        let mut shared = SharedValues::new();
        for (_, value) in call.shared() {
            shared.push(inside.values.get(&mut inside.isolate, &inside.host, value)?);
        }
        Ok((self.context(inside, call, report)?, shared))
    }

    fn context(&self, inside: &mut Inside, call: &dyn CallCore, report: &mut SliceReport) -> Result<Rc<ScriptContext>> {
        let meta = call.meta();
        let fresh = is_fresh(&meta.script, &meta.caching);
        if !fresh && let Some(context) = inside.contexts.get(&meta.caching, &meta.script, call.kind(), self.now)? {
            return Ok(context);
        }
        // What a script begins while it is loaded would outlive the run.
        let paused = inside.ops.pause();
        let context = self.load(inside, call, fresh, report);
        inside.ops.unpause(paused);
        let context = context?;
        // A load that was stopped may have left anything; one in which host code panicked is dropped by `slice`.
        if !fresh && self.slot.reason(self.epoch).is_none() {
            inside.contexts.put(&meta.caching, &meta.script, call.kind(), context.clone(), self.now);
        }
        Ok(context)
    }

    fn load(
        &self,
        inside: &mut Inside,
        call: &dyn CallCore,
        fresh: bool,
        report: &mut SliceReport,
    ) -> Result<Rc<ScriptContext>> {
        let script = &call.meta().script;
        let sealed = !fresh && script.isolation() == Isolation::Sealed;
        let ready = if sealed { None } else { inside.ready.pop() };
        let realm = match ready {
            Some(realm) => realm,
            None => ScriptContext::realm(inside.isolate.v8(), &inside.host, sealed, self.options.code_generation)?,
        };
        report.built = true;
        let own = host::of_script(script)?;
        let initialize = |scope: &mut Scope<'_, '_, '_>| {
            self.options.host_functions.define(scope, own)?;
            if let Some(own) = own {
                own.define(scope, None)?;
            }
            call.initialize(scope)
        };
        let context = realm.load(inside.isolate.v8(), &inside.host, self.code, script, initialize)?;
        // Each call finds that, and not only the first one.
        if inside.host.has_rejected()
            && let Some(error) = context.with(inside.isolate.v8(), Terms::default(), |scope| take_unhandled(scope.v8()))
        {
            return Err(error);
        }
        Ok(Rc::new(context))
    }
}

fn is_fresh(script: &Script, caching: &Caching) -> bool {
    *caching == Caching::None || script.isolation() == Isolation::Fresh
}
