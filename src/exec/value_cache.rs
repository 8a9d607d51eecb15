//! Shared values of the host, as frozen objects of one isolate.

use std::any::Any;
use std::rc::Rc;
use std::sync::Weak;

use rustc_hash::FxHashMap;

use super::shared::ErasedShared;
use crate::error::Result;
use crate::vm::{Host, Isolate, ScriptContext, SharedValue};

/// The shared values of one isolate, by the address of the host's object.
pub(super) struct ValueCache {
    /// The realm that the objects belong to; made for the first one.
    realm: Option<ScriptContext>,
    entries: FxHashMap<usize, Entry>,
    pub(super) converted: u64,
}

struct Entry {
    value: SharedValue,
    /// Held weakly also for its address, which cannot be given to another object while this lives.
    source: Weak<dyn Any + Send + Sync>,
}

impl ValueCache {
    pub(super) fn new() -> Self {
        ValueCache { realm: None, entries: FxHashMap::default(), converted: 0 }
    }

    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    /// The object of that value; converted, if this isolate has not met it yet. Part of a slice.
    pub(super) fn get(&mut self, isolate: &mut Isolate, host: &Rc<Host>, shared: &ErasedShared) -> Result<SharedValue> {
        if let Some(entry) = self.entries.get(&shared.address()) {
            return Ok(entry.value.clone());
        }
        let encoded = crate::vm::guarded("the conversion of a shared value", || shared.encode())?;
        let realm = match &mut self.realm {
            Some(realm) => realm,
            slot => slot.insert(ScriptContext::realm(isolate.v8(), host, true, false)?),
        };
        let value = realm.freeze(isolate.v8(), encoded)?;
        self.converted += 1;
        self.entries.insert(shared.address(), Entry { value: value.clone(), source: shared.downgrade() });
        Ok(value)
    }

    /// Drops the objects whose host has dropped its own.
    pub(super) fn expire(&mut self) {
        self.entries.retain(|_, entry| entry.source.strong_count() > 0);
    }

    pub(super) fn clear(&mut self) {
        self.entries.clear();
        self.realm = None;
    }
}
