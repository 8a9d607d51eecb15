//! Contexts that are kept for the next run.
//!
//! Generic over what is kept, so that it is tested without V8.

use std::any::TypeId;
use std::rc::Rc;
use std::sync::{Arc, Weak};
use std::time::Duration;

use rustc_hash::FxHashMap;

use crate::clock::Moment;
use crate::error::{Error, Result};
use crate::script::Script;

/// Whether and how the context of a call is kept for later ones.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub enum Caching {
    /// For as long as this snapshot of the script lives. The key is the snapshot's address, and the worker holds it weakly. The
    /// default of [`Engine::task`](crate::Engine::task).
    #[default]
    Memory,
    /// Under a key that the embedder vouches for: it stands for exactly this content (the id of an immutable row, say). The context
    /// survives when the snapshot is dropped and an equal one is made; it is dropped when it was not hit for the idle time.
    Stable(Arc<str>),
    /// Not at all: each run gets a new context in which everything may be changed, as with
    /// [`Isolation::Fresh`](crate::Isolation::Fresh).
    None,
}

/// What a cache has done so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct CacheCounters {
    pub(crate) hits: u64,
    pub(crate) misses: u64,
    pub(crate) evicted: u64,
}

/// The contexts of one worker, by snapshot or by stable key, and by the kind of task that has initialised them.
pub(super) struct ContextCache<C> {
    memory: FxHashMap<(usize, TypeId), Entry<C>>,
    stable: FxHashMap<Arc<str>, Vec<(TypeId, Entry<C>)>>,
    bound: usize,
    idle: Duration,
    pub(super) counters: CacheCounters,
}

struct Entry<C> {
    context: Rc<C>,
    /// Held weakly also for its address, which cannot be given to another snapshot while this lives.
    script: Weak<Script>,
    version: Arc<str>,
    used: Moment,
}

impl<C> ContextCache<C> {
    pub(super) fn new(bound: usize, idle: Duration) -> Self {
        ContextCache {
            memory: FxHashMap::default(),
            stable: FxHashMap::default(),
            bound,
            idle,
            counters: CacheCounters::default(),
        }
    }

    pub(super) fn len(&self) -> usize {
        self.memory.len() + self.stable.values().map(Vec::len).sum::<usize>()
    }

    /// The context of that script. A hit allocates nothing.
    ///
    /// # Errors
    /// `Config` when a stable key was used for another content.
    pub(super) fn get(
        &mut self,
        caching: &Caching,
        script: &Arc<Script>,
        kind: TypeId,
        now: Moment,
    ) -> Result<Option<Rc<C>>> {
        let entry = match caching {
            Caching::None => return Ok(None),
            Caching::Memory => self.memory.get_mut(&(address(script), kind)),
            Caching::Stable(key) => {
                let entry =
                    self.stable.get_mut(key).and_then(|kinds| kinds.iter_mut().find(|(other, _)| *other == kind));
                let entry = entry.map(|(_, entry)| entry);
                if let Some(entry) = &entry
                    && entry.version.as_ref() != script.version()
                {
                    return Err(Error::config(format!(
                        "the stable key `{key}` stands for version {} of a script, and is now used for version {} of `{}`; give each content a key of its own",
                        entry.version,
                        script.version(),
                        script.name(),
                    )));
                }
                entry
            }
        };
        match entry {
            Some(entry) => {
                entry.used = now;
                self.counters.hits += 1;
                Ok(Some(entry.context.clone()))
            }
            None => {
                self.counters.misses += 1;
                Ok(None)
            }
        }
    }

    /// Keeps a context. Where the bound is reached, the one unused for the longest time goes.
    pub(super) fn put(&mut self, caching: &Caching, script: &Arc<Script>, kind: TypeId, context: Rc<C>, now: Moment) {
        if *caching == Caching::None || self.bound == 0 {
            return;
        }
        while self.len() >= self.bound {
            self.evict_oldest();
        }
        let entry = Entry { context, script: Arc::downgrade(script), version: script.version().into(), used: now };
        match caching {
            Caching::Memory => {
                self.memory.insert((address(script), kind), entry);
            }
            Caching::Stable(key) => {
                let kinds = self.stable.entry(key.clone()).or_default();
                kinds.retain(|(other, _)| *other != kind);
                kinds.push((kind, entry));
            }
            Caching::None => {}
        }
    }

    /// Forgets a context that must not be used again.
    pub(super) fn remove(&mut self, context: &Rc<C>) {
        self.retain(|entry| !Rc::ptr_eq(&entry.context, context));
    }

    /// Drops contexts whose snapshot is gone, and those under a stable key that were not hit for the idle time.
    pub(super) fn expire(&mut self, now: Moment) {
        let before = self.len();
        let idle = self.idle;
        self.memory.retain(|_, entry| entry.script.strong_count() > 0);
        for kinds in self.stable.values_mut() {
            kinds.retain(|(_, entry)| now.since(entry.used) <= idle);
        }
        self.stable.retain(|_, kinds| !kinds.is_empty());
        self.counters.evicted += (before - self.len()) as u64;
    }

    pub(super) fn clear(&mut self) {
        self.counters.evicted += self.len() as u64;
        self.memory.clear();
        self.stable.clear();
    }

    fn evict_oldest(&mut self) {
        let used =
            self.memory.values().chain(self.stable.values().flatten().map(|(_, entry)| entry)).map(|entry| entry.used);
        if let Some(oldest) = used.min() {
            let mut gone = false;
            self.retain(|entry| gone || entry.used != oldest || std::mem::replace(&mut gone, true));
            self.counters.evicted += 1;
        }
    }

    fn retain(&mut self, mut keep: impl FnMut(&Entry<C>) -> bool) {
        self.memory.retain(|_, entry| keep(entry));
        for kinds in self.stable.values_mut() {
            kinds.retain(|(_, entry)| keep(entry));
        }
        self.stable.retain(|_, kinds| !kinds.is_empty());
    }
}

fn address(script: &Arc<Script>) -> usize {
    Arc::as_ptr(script) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    fn script(version: &str) -> Arc<Script> {
        Script::builder("s.js").source("").version(version).build().unwrap()
    }

    fn at(seconds: u64) -> Moment {
        Moment::from_nanos(seconds * 1_000_000_000)
    }

    fn cache(bound: usize) -> ContextCache<u32> {
        ContextCache::new(bound, Duration::from_secs(600))
    }

    const KIND: fn() -> TypeId = TypeId::of::<u8>;

    #[test]
    fn a_snapshots_context_goes_with_the_snapshot() {
        let mut cache = cache(8);
        let first = script("1");
        assert_eq!(cache.get(&Caching::Memory, &first, KIND(), at(0)).unwrap(), None);
        cache.put(&Caching::Memory, &first, KIND(), Rc::new(1), at(0));
        assert_eq!(cache.get(&Caching::Memory, &first, KIND(), at(1)).unwrap().as_deref(), Some(&1));
        assert_eq!(
            cache.get(&Caching::Memory, &first, TypeId::of::<u16>(), at(1)).unwrap(),
            None,
            "another kind of task"
        );
        cache.expire(at(100_000));
        assert_eq!(cache.len(), 1, "it does not age");
        drop(first);
        cache.expire(at(2));
        assert_eq!(cache.len(), 0);
        assert_eq!(cache.counters, CacheCounters { hits: 1, misses: 2, evicted: 1 });
    }

    #[test]
    fn a_stable_key_outlives_the_snapshot_and_ages_when_idle() {
        let mut cache = cache(8);
        let caching = Caching::Stable("row 7".into());
        cache.put(&caching, &script("1"), KIND(), Rc::new(1), at(0));
        cache.expire(at(599));
        let equal = script("1");
        assert_eq!(cache.get(&caching, &equal, KIND(), at(599)).unwrap().as_deref(), Some(&1));
        cache.expire(at(1199));
        assert_eq!(cache.len(), 1, "a hit makes it young again");
        cache.expire(at(1200));
        assert_eq!(cache.len(), 0);
    }

    #[test]
    fn a_stable_key_for_two_contents_is_an_error() {
        let mut cache = cache(8);
        let caching = Caching::Stable("row 7".into());
        cache.put(&caching, &script("1"), KIND(), Rc::new(1), at(0));
        let error = cache.get(&caching, &script("2"), KIND(), at(0)).unwrap_err();
        assert!(error.to_string().contains("row 7"), "{error}");
    }

    #[test]
    fn the_bound_drops_the_one_unused_for_longest() {
        let mut cache = cache(2);
        let scripts = [script("1"), script("2"), script("3")];
        cache.put(&Caching::Memory, &scripts[0], KIND(), Rc::new(1), at(0));
        cache.put(&Caching::Stable("2".into()), &scripts[1], KIND(), Rc::new(2), at(1));
        assert!(cache.get(&Caching::Memory, &scripts[0], KIND(), at(2)).unwrap().is_some());
        cache.put(&Caching::Memory, &scripts[2], KIND(), Rc::new(3), at(3));
        assert_eq!(cache.len(), 2);
        assert!(cache.get(&Caching::Memory, &scripts[0], KIND(), at(4)).unwrap().is_some());
        assert!(cache.get(&Caching::Stable("2".into()), &scripts[1], KIND(), at(4)).unwrap().is_none());
    }

    #[test]
    fn removes_what_must_not_be_used_again_and_keeps_nothing_where_asked() {
        let mut cache = cache(2);
        let snapshot = script("1");
        let context = Rc::new(1);
        cache.put(&Caching::Memory, &snapshot, KIND(), context.clone(), at(0));
        cache.put(&Caching::None, &snapshot, KIND(), Rc::new(2), at(0));
        cache.remove(&context);
        assert_eq!(cache.len(), 0);
    }
}
