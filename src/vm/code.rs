//! Compiling, with the code that another worker has made already.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use dashmap::DashMap;

use super::exception::catch;
use crate::error::{Error, ErrorKind, Finding, Result};
use crate::script::{ContentKey, Source};
use crate::units::Bytes;

/// Compiled code, by whole content, shared by the workers of an engine.
///
/// V8 checks its version, its flags and the source's length before it takes such code; what it rejects is thrown away and made
/// anew, with the same result. Bounded: when a new entry passes the limit, the ones unused for the longest time go.
pub(crate) struct CodeCache {
    entries: DashMap<ContentKey, Entry>,
    limit: u64,
    size: AtomicU64,
    clock: AtomicU64,
    pub(crate) counters: CodeCounters,
}

struct Entry {
    code: Arc<[u8]>,
    used: AtomicU64,
    size: u64,
}

/// What compiling has cost so far.
#[derive(Debug, Default)]
pub(crate) struct CodeCounters {
    pub(crate) compiled: AtomicU64,
    pub(crate) reused: AtomicU64,
    pub(crate) rejected: AtomicU64,
}

impl CodeCache {
    pub(crate) fn new(limit: Bytes) -> Self {
        CodeCache {
            entries: DashMap::new(),
            limit: limit.get(),
            size: AtomicU64::new(0),
            clock: AtomicU64::new(0),
            counters: CodeCounters::default(),
        }
    }

    pub(crate) fn size(&self) -> Bytes {
        Bytes::new(self.size.load(Ordering::Relaxed))
    }

    fn get(&self, key: &ContentKey) -> Option<Arc<[u8]>> {
        let entry = self.entries.get(key)?;
        entry.used.store(self.clock.fetch_add(1, Ordering::Relaxed), Ordering::Relaxed);
        Some(entry.code.clone())
    }

    fn put(&self, key: ContentKey, code: &[u8]) {
        let size = (code.len() + key.size()) as u64;
        if size > self.limit {
            return;
        }
        let used = AtomicU64::new(self.clock.fetch_add(1, Ordering::Relaxed));
        let replaced = self.entries.insert(key, Entry { code: code.into(), used, size });
        let removed = replaced.map_or(0, |entry| entry.size);
        let total = self.size.fetch_add(size, Ordering::Relaxed) + size - removed;
        self.size.fetch_sub(removed, Ordering::Relaxed);
        if total > self.limit {
            self.evict();
        }
    }

    fn remove(&self, key: &ContentKey) {
        if let Some((_, entry)) = self.entries.remove(key) {
            self.size.fetch_sub(entry.size, Ordering::Relaxed);
        }
    }

    /// Down to three quarters, the ones unused for the longest time first.
    fn evict(&self) {
        let mut ages: Vec<_> = self.entries.iter().map(|e| (e.used.load(Ordering::Relaxed), e.key().clone())).collect();
        ages.sort_unstable_by_key(|(used, _)| *used);
        for (_, key) in ages {
            if self.size.load(Ordering::Relaxed) <= self.limit / 4 * 3 {
                break;
            }
            self.remove(&key);
        }
    }
}

/// A source as V8 takes it: text, origin, and code from the cache.
fn prepared<'s>(
    scope: &mut v8::PinScope<'s, '_>,
    source: &Source,
    text: &str,
    code: Option<&[u8]>,
    is_module: bool,
) -> Result<v8::script_compiler::Source> {
    let too_long = || Error::config(format!("{}: the source is longer than V8's longest string", source.name));
    let name = v8::String::new(scope, &source.name).ok_or_else(too_long)?;
    let text = v8::String::new(scope, text).ok_or_else(too_long)?;
    let origin = v8::ScriptOrigin::new(scope, name.into(), 0, 0, false, 0, None, false, false, is_module, None);
    Ok(match code {
        Some(code) => {
            let code = v8::script_compiler::CachedData::new(code);
            v8::script_compiler::Source::new_with_cached_data(text, Some(&origin), code)
        }
        None => v8::script_compiler::Source::new(text, Some(&origin)),
    })
}

/// Every function is compiled at once, so that the code in the cache is complete and no other worker compiles anything.
fn options(cached: bool) -> v8::script_compiler::CompileOptions {
    use v8::script_compiler::CompileOptions;
    if cached { CompileOptions::ConsumeCodeCache } else { CompileOptions::EagerCompile }
}

/// Compiles by `compile`, and keeps the code that `produce` makes of the result.
fn cached<'s, 'i, T>(
    scope: &mut v8::PinScope<'s, 'i>,
    cache: &CodeCache,
    source: &Source,
    text: &str,
    is_module: bool,
    compile: impl Fn(
        &mut v8::PinScope<'s, 'i>,
        &mut v8::script_compiler::Source,
        v8::script_compiler::CompileOptions,
    ) -> Option<T>,
    produce: impl Fn(&mut v8::PinScope<'s, 'i>, &T) -> Option<v8::UniqueRef<v8::CachedData<'static>>>,
) -> Result<T> {
    let key = ContentKey::new(source, is_module);
    let code = cache.get(&key);
    let mut prepared = prepared(scope, source, text, code.as_deref(), is_module)?;
    let options = options(code.is_some());
    let compiled = catch(scope, |scope| compile(scope, &mut prepared, options)).map_err(compile_error)?;
    let rejected = code.is_some() && prepared.get_cached_data().is_some_and(|code| code.rejected());
    if code.is_some() && !rejected {
        cache.counters.reused.fetch_add(1, Ordering::Relaxed);
        return Ok(compiled);
    }
    if rejected {
        cache.counters.rejected.fetch_add(1, Ordering::Relaxed);
        cache.remove(&key);
    }
    cache.counters.compiled.fetch_add(1, Ordering::Relaxed);
    if let Some(code) = produce(scope, &compiled) {
        cache.put(key, &code);
    }
    Ok(compiled)
}

/// Compiles a classic script.
pub(super) fn classic<'s>(
    scope: &mut v8::PinScope<'s, '_>,
    cache: &CodeCache,
    source: &Source,
) -> Result<v8::Local<'s, v8::Script>> {
    let text = source.text.strip_prefix('\u{feff}').unwrap_or(&source.text);
    cached(
        scope,
        cache,
        source,
        text,
        false,
        |scope, source, options| {
            v8::script_compiler::compile(scope, source, options, v8::script_compiler::NoCacheReason::NoReason)
        },
        |scope, script| script.get_unbound_script(scope).create_code_cache(),
    )
}

/// Compiles a module from its text, which is the source's with an addition of ours.
pub(super) fn module<'s>(
    scope: &mut v8::PinScope<'s, '_>,
    cache: &CodeCache,
    source: &Source,
    text: &str,
) -> Result<v8::Local<'s, v8::Module>> {
    cached(
        scope,
        cache,
        source,
        text,
        true,
        |scope, source, options| {
            v8::script_compiler::compile_module2(scope, source, options, v8::script_compiler::NoCacheReason::NoReason)
        },
        |scope, module| module.get_unbound_module_script(scope).create_code_cache(),
    )
}

/// What V8 says of a source that the parser before it let pass.
fn compile_error(error: Error) -> Error {
    let Some(thrown) = error.script_error() else { return error };
    ErrorKind::Compile(vec![Finding {
        code: "syntax",
        script: thrown.script.clone().unwrap_or_default(),
        line: thrown.line.unwrap_or(0),
        column: thrown.column.unwrap_or(0),
        message: format!("{}: {}", thrown.name, thrown.message),
        source_line: thrown.source_line.clone().unwrap_or_default(),
    }])
    .into()
}
