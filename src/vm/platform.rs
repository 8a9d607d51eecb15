//! V8's start, once per process, and the threads on which isolates may live.
//!
//! V8 is started on a root thread that this module owns, and every worker is spawned from that thread: on CPUs with memory
//! protection keys a thread that does not descend from the one that started V8 dies at its first JavaScript. So an engine can be
//! built on any thread and after any other thread.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{OnceLock, mpsc};
use std::thread::JoinHandle;

use crossbeam_channel::{Sender, bounded};
use parking_lot::Mutex;

use crate::error::{Error, Result};
use crate::units::Bytes;

type Job = Box<dyn FnOnce() + Send>;

/// A request to the root thread: spawn this as a thread of that name and stack size.
struct Spawn {
    name: String,
    stack: usize,
    job: Job,
    reply: mpsc::SyncSender<std::io::Result<JoinHandle<()>>>,
}

/// V8, started.
pub(crate) struct Platform {
    flags: Flags,
    spawn: Sender<Spawn>,
    startup: Vec<u8>,
}

/// What has to be the same for all engines of a process, since V8 has it once.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Flags {
    /// V8's own flags, in the order given.
    pub(crate) v8: Vec<String>,
    /// The largest WebAssembly memory, in pages of 64 KiB.
    pub(crate) wasm_pages: u32,
    /// How much of a worker's stack JavaScript may use, in KiB, counted from the real start of the thread's stack.
    pub(crate) stack_kib: u32,
}

static PLATFORM: OnceLock<Platform> = OnceLock::new();
/// Whether V8 has begun to start, which it does once.
static BEGUN: AtomicBool = AtomicBool::new(false);

/// Held while V8 is started; holds why that has failed, which cannot be tried again.
static STARTING: Mutex<Option<Error>> = Mutex::new(None);

/// Starts V8 with these flags, or returns it where it was started with the same ones.
///
/// # Errors
/// `Config` when V8 runs with other flags, when it knows one of them not, or when its threads cannot be started.
pub(crate) fn start(flags: &Flags) -> Result<&'static Platform> {
    let mut failed = STARTING.lock();
    if let Some(error) = &*failed {
        return Err(error.clone());
    }
    if let Some(platform) = PLATFORM.get() {
        return same_flags(platform, flags);
    }
    let (spawn, requests) = bounded::<Spawn>(1);
    let (ready, started) = mpsc::sync_channel(1);
    let root_flags = flags.clone();
    std::thread::Builder::new()
        .name("jsmill-root".into())
        .spawn(move || {
            if ready.send(initialize(&root_flags)).is_err() {
                return;
            }
            while let Ok(Spawn { name, stack, job, reply }) = requests.recv() {
                let handle = std::thread::Builder::new().name(name).stack_size(stack).spawn(job);
                // A requester that is gone has no use for the handle; the thread runs detached.
                let _ = reply.send(handle);
            }
        })
        .map_err(|error| Error::config(format!("V8's root thread could not be started: {error}")))?;
    let startup = started.recv().map_err(|_| Error::config("V8 could not be started; see the log")).flatten();
    let startup = startup.inspect_err(|error| {
        // Flags that V8 does not know are refused before it starts, and others may be tried.
        if BEGUN.load(Ordering::Acquire) {
            *failed = Some(error.clone());
        }
    })?;
    Ok(PLATFORM.get_or_init(|| Platform { flags: flags.clone(), spawn, startup }))
}

fn same_flags<'p>(platform: &'p Platform, wanted: &Flags) -> Result<&'p Platform> {
    let running = &platform.flags;
    if running == wanted {
        return Ok(platform);
    }
    let mut differences = Vec::new();
    for flag in wanted.v8.iter().filter(|flag| !running.v8.contains(flag)) {
        differences.push(format!("`{flag}` is wanted and not set"));
    }
    for flag in running.v8.iter().filter(|flag| !wanted.v8.contains(flag)) {
        differences.push(format!("`{flag}` is set and not wanted"));
    }
    if running.wasm_pages != wanted.wasm_pages {
        let size = |pages: u32| Bytes::kib(u64::from(pages) * 64);
        differences.push(format!(
            "a WebAssembly memory may have {}, and {} is wanted",
            size(running.wasm_pages),
            size(wanted.wasm_pages)
        ));
    }
    if running.stack_kib != wanted.stack_kib {
        let size = |kib: u32| Bytes::kib(u64::from(kib) * 2);
        differences.push(format!(
            "`stack_size` is {}, and {} is wanted",
            size(running.stack_kib),
            size(wanted.stack_kib)
        ));
    }
    if differences.is_empty() {
        differences.push("the order of the flags differs".into());
    }
    Err(Error::config(format!(
        "V8 has its flags once per process, and an earlier engine set other ones: {}; give all engines the same `v8_flags`, `wasm_memory_limit` and `stack_size`",
        differences.join(", ")
    )))
}

/// Runs on the root thread.
fn initialize(flags: &Flags) -> Result<Vec<u8>> {
    let wasm_pages = format!("--wasm-max-mem-pages={}", flags.wasm_pages);
    // V8 takes the stack of the thread that an isolate is made on, and this size of it. (A limit in the isolate's parameters is overwritten
    // when the isolate starts.)
    let stack = format!("--stack-size={}", flags.stack_kib);
    let mut arguments = vec!["jsmill".to_owned(), "--use-strict".to_owned(), wasm_pages, stack];
    arguments.extend(flags.v8.iter().cloned());
    // V8 takes the flags that it knows out of the list, and leaves the rest.
    let unknown = v8::V8::set_flags_from_command_line(arguments);
    if let Some(flag) = unknown.get(1) {
        return Err(Error::config(format!(
            "V8 {} has no flag `{flag}`; remove it from `v8_flags`",
            v8::V8::get_version()
        )));
    }
    BEGUN.store(true, Ordering::Release);
    v8::V8::initialize_platform(v8::new_default_platform(0, false).make_shared());
    v8::V8::initialize();
    let startup = super::snapshot::create().map_err(|error| Error::config(error.to_string()))?;
    Ok(startup.to_vec())
}

impl Platform {
    /// Spawns a thread that may own an isolate.
    pub(crate) fn spawn(
        &self,
        name: String,
        stack: Bytes,
        job: impl FnOnce() + Send + 'static,
    ) -> Result<JoinHandle<()>> {
        let failed = |error: std::io::Error| Error::config(format!("a worker's thread could not be started: {error}"));
        let (reply, handle) = mpsc::sync_channel(1);
        let request = Spawn { name, stack: stack.as_usize(), job: Box::new(job), reply };
        let gone = || Error::bug("V8's root thread is gone");
        self.spawn.send(request).map_err(|_| gone())?;
        handle.recv().map_err(|_| gone())?.map_err(failed)
    }

    /// The startup snapshot. It was made by this very V8 with these flags, so that V8's check of both cannot fail.
    pub(super) fn startup(&'static self) -> &'static [u8] {
        &self.startup
    }
}

/// V8, which was started before: by whoever runs on one of its threads.
pub(super) fn running() -> Option<&'static Platform> {
    PLATFORM.get()
}
