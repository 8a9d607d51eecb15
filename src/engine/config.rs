//! What the builder was told, checked and resolved.

use std::num::NonZeroUsize;
use std::time::Duration;

use super::admission::{Admission, Background};
use crate::error::{Error, Result};
use crate::exec::{HostFunctions, Limits, RuntimeOptions};
use crate::units::Bytes;
use crate::vm::{Flags, IsolateOptions};

/// Which cores the workers run on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Pinning {
    /// Wherever the system puts them. The default.
    #[default]
    Off,
    /// Worker `n` on the process's core `n`, and around again where there are more workers than cores.
    On,
    /// Worker `n` on core number `list[n]`, and around again where there are more workers than entries.
    Cores(Vec<usize>),
}

/// Everything that the builder was told; `None` is what the default decides.
#[derive(Clone, Debug)]
pub(super) struct Options {
    pub(super) workers: Option<usize>,
    pub(super) pinning: Pinning,
    pub(super) stack_size: Bytes,
    pub(super) heap_initial: Bytes,
    pub(super) heap_limit: Bytes,
    pub(super) buffer_limit: Bytes,
    pub(super) queue_depth: [usize; 3],
    pub(super) admission: Admission,
    pub(super) shed: (f64, f64),
    pub(super) background: Background,
    pub(super) limits: Limits,
    pub(super) grace: Duration,
    pub(super) shutdown_timeout: Duration,
    pub(super) max_lost: usize,
    pub(super) code_generation: bool,
    pub(super) wasm: bool,
    pub(super) wasm_memory_limit: Bytes,
    pub(super) contexts: usize,
    pub(super) context_idle: Duration,
    pub(super) code_cache: Bytes,
    pub(super) reserve: usize,
    pub(super) max_runs: u64,
    pub(super) max_age: Duration,
    pub(super) live_tasks: usize,
    pub(super) pending: usize,
    pub(super) host_runtime: Option<tokio::runtime::Handle>,
    pub(super) host_functions: HostFunctions,
    #[cfg(feature = "io")]
    pub(super) io: Option<crate::Io>,
    #[cfg(feature = "io")]
    pub(super) io_threads: usize,
    pub(super) collect_growth: Option<Bytes>,
    pub(super) collect_interval: Duration,
    pub(super) spin: Option<Duration>,
    pub(super) v8_flags: Vec<String>,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            workers: None,
            pinning: Pinning::Off,
            stack_size: Bytes::mib(8),
            heap_initial: Bytes::new(0),
            heap_limit: Bytes::mib(256),
            buffer_limit: Bytes::mib(256),
            queue_depth: [1024; 3],
            admission: Admission::default(),
            shed: (0.9, 0.7),
            background: Background::default(),
            limits: Limits::default(),
            grace: Duration::from_secs(1),
            shutdown_timeout: Duration::from_secs(10),
            max_lost: 4,
            code_generation: false,
            wasm: true,
            wasm_memory_limit: Bytes::mib(256),
            contexts: 64,
            context_idle: Duration::from_secs(600),
            code_cache: Bytes::mib(64),
            reserve: 1,
            max_runs: u64::MAX,
            max_age: Duration::MAX,
            live_tasks: 10_000,
            pending: 1_000_000,
            host_runtime: None,
            host_functions: HostFunctions::new(),
            #[cfg(feature = "io")]
            io: None,
            #[cfg(feature = "io")]
            io_threads: 16,
            collect_growth: None,
            collect_interval: Duration::from_secs(1),
            spin: None,
            v8_flags: Vec::new(),
        }
    }
}

/// The configuration of an engine.
pub(super) struct Config {
    pub(super) workers: usize,
    pub(super) cores: Vec<usize>,
    pub(super) stack_size: Bytes,
    pub(super) queue_depth: [usize; 3],
    pub(super) admission: Admission,
    pub(super) shed: (f64, f64),
    pub(super) background: Background,
    pub(super) limits: Limits,
    pub(super) grace: Duration,
    pub(super) shutdown_timeout: Duration,
    pub(super) max_lost: usize,
    pub(super) code_cache: Bytes,
    pub(super) live_tasks: usize,
    pub(super) pending: usize,
    pub(super) host_runtime: Option<tokio::runtime::Handle>,
    #[cfg(feature = "io")]
    pub(super) io: Option<crate::Io>,
    #[cfg(feature = "io")]
    pub(super) io_threads: usize,
    pub(super) spin: Duration,
    pub(super) flags: Flags,
    pub(super) runtime: std::sync::Arc<RuntimeOptions>,
}

/// Whether a name can be written as a variable, as far as letters go.
fn is_identifier(name: &str) -> bool {
    let letter = |c: char| c.is_alphabetic() || c == '_' || c == '$';
    name.starts_with(letter) && name.chars().all(|c| letter(c) || c.is_numeric())
}

/// How long a worker spins before it sleeps, where there are cores enough.
const SPIN: Duration = Duration::from_micros(30);

impl Options {
    pub(super) fn resolve(self) -> Result<Config> {
        let cores = std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
        let workers = self.workers.unwrap_or(cores);
        self.check(workers)?;
        let pinned = self.pinned()?;
        // A spinning worker wants a core of its own, and one is needed for its callers.
        let spin = self.spin.unwrap_or(if workers < cores { SPIN } else { Duration::ZERO });
        // Half of the stack is left to Rust code that JavaScript calls: conversion recurses once for each level of a value, and takes
        // some four KiB each without optimisation.
        let stack_kib = (self.stack_size.get() / 2 / 1024) as u32;
        Ok(Config {
            workers,
            cores: pinned,
            stack_size: self.stack_size,
            queue_depth: self.queue_depth,
            admission: self.admission,
            shed: self.shed,
            background: self.background,
            limits: self.limits,
            grace: self.grace,
            shutdown_timeout: self.shutdown_timeout,
            max_lost: self.max_lost,
            code_cache: self.code_cache,
            live_tasks: self.live_tasks,
            pending: self.pending,
            host_runtime: self.host_runtime,
            #[cfg(feature = "io")]
            io: self.io,
            #[cfg(feature = "io")]
            io_threads: self.io_threads,
            spin,
            flags: Flags { v8: self.v8_flags, wasm_pages: (self.wasm_memory_limit.get() >> 16) as u32, stack_kib },
            runtime: std::sync::Arc::new(RuntimeOptions {
                isolate: IsolateOptions {
                    heap_initial: self.heap_initial,
                    heap_limit: self.heap_limit,
                    buffer_limit: self.buffer_limit,
                    wasm: self.wasm,
                },
                contexts: self.contexts,
                context_idle: self.context_idle,
                code_generation: self.code_generation,
                reserve: self.reserve,
                max_runs: self.max_runs,
                max_age: self.max_age,
                collect_growth: self.collect_growth.unwrap_or(Bytes::new(self.heap_limit.get() / 4)),
                collect_interval: self.collect_interval,
                host_functions: self.host_functions,
            }),
        })
    }

    fn check(&self, workers: usize) -> Result<()> {
        let refuse = |message: String| Err(Error::config(message));
        if workers == 0 {
            return refuse("`workers` is 0: an engine needs at least one".into());
        }
        if workers > 1024 {
            return refuse(format!("`workers` is {workers}: 1024 are the most, and one a core is usually right"));
        }
        if self.stack_size < Bytes::mib(4) || self.stack_size > Bytes::gib(1) {
            return refuse(format!("`stack_size` is {}: it must be between 4 MiB and 1 GiB", self.stack_size));
        }
        if self.heap_limit < Bytes::mib(16) || self.heap_limit > Bytes::gib(64) {
            return refuse(format!("`heap_limit` is {}: it must be between 16 MiB and 64 GiB", self.heap_limit));
        }
        if self.heap_initial > self.heap_limit {
            return refuse(format!(
                "`heap_initial` is {}, more than `heap_limit` with {}",
                self.heap_initial, self.heap_limit
            ));
        }
        if self.wasm_memory_limit < Bytes::kib(64) || self.wasm_memory_limit > Bytes::gib(4) {
            return refuse(format!(
                "`wasm_memory_limit` is {}: it must be between 64 KiB and 4 GiB",
                self.wasm_memory_limit
            ));
        }
        if let Some(index) = self.queue_depth.iter().position(|depth| *depth == 0 || *depth > 1 << 20) {
            let name = crate::Priority::ALL[index].name();
            return refuse(format!(
                "the queue depth of priority `{name}` is {}: it must be between 1 and 1,048,576",
                self.queue_depth[index]
            ));
        }
        if self.live_tasks == 0 {
            return refuse("`live_tasks` is 0: no generator and no async function could run".into());
        }
        for name in self.host_functions.names() {
            if !is_identifier(name) {
                return refuse(format!("the host function `{name}` has a name that scripts cannot write"));
            }
        }
        self.admission.check()?;
        let (high, low) = self.shed;
        // Written so that what is no number is refused.
        if !(high > 0.0 && high <= 1.0) {
            return refuse(format!("the upper threshold of `shed` is {high}: it must be above 0.0, and 1.0 at most"));
        }
        if !(low >= 0.0 && low <= high) {
            return refuse(format!(
                "the lower threshold of `shed` is {low}: it must be between 0.0 and the upper one with {high}"
            ));
        }
        self.limits.check()?;
        #[cfg(feature = "io")]
        {
            if self.io_threads == 0 || self.io_threads > 1024 {
                return refuse(format!("`io_threads` is {}: it must be between 1 and 1,024", self.io_threads));
            }
            if let Some(io) = &self.io {
                io.check()?;
            }
        }
        if self.grace < Duration::from_millis(1) {
            return refuse(format!("`grace` is {:?}: a worker needs at least 1 ms to stop", self.grace));
        }
        if self.max_runs == 0 {
            return refuse("`max_runs` is 0: an isolate must be good for at least one run".into());
        }
        Ok(())
    }

    fn pinned(&self) -> Result<Vec<usize>> {
        let available = || -> Vec<usize> {
            core_affinity::get_core_ids().unwrap_or_default().into_iter().map(|core| core.id).collect()
        };
        match &self.pinning {
            Pinning::Off => Ok(Vec::new()),
            Pinning::On => match available() {
                cores if cores.is_empty() => {
                    Err(Error::config("`pinning`: the cores of this machine cannot be listed; turn it off"))
                }
                cores => Ok(cores),
            },
            Pinning::Cores(wanted) => {
                let cores = available();
                if wanted.is_empty() {
                    return Err(Error::config("`pinning`: the list of cores is empty; name some, or turn it off"));
                }
                match wanted.iter().find(|core| !cores.contains(core)) {
                    Some(core) => {
                        Err(Error::config(format!("`pinning`: this process may not use core {core}, only {cores:?}")))
                    }
                    None => Ok(wanted.clone()),
                }
            }
        }
    }
}
