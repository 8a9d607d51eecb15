//! One V8 isolate with its limits, on the thread that made it.
//!
//! Invariant: an isolate is made, used and dropped on one thread, one at a time, and that thread descends from V8's root thread.

use std::cell::Cell;
use std::ffi::c_void;
use std::rc::Rc;
use std::sync::Arc;

use super::buffers::BufferMeter;
use super::platform;
use crate::error::{Error, Result};
use crate::units::Bytes;

/// What an isolate is made with.
pub(crate) struct IsolateOptions {
    pub(crate) heap_initial: Bytes,
    pub(crate) heap_limit: Bytes,
    pub(crate) buffer_limit: Bytes,
    pub(crate) wasm: bool,
}

/// Called inside V8 when the heap comes near its limit, or the buffers pass theirs. Must stop the slice, and nothing else.
pub(crate) type OnLimit = Box<dyn Fn(Memory)>;

/// Which memory ran out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Memory {
    Heap,
    Buffers,
}

/// An isolate, entered on its thread.
pub(crate) struct Isolate {
    /// Dropped before the guard, whose address V8 holds.
    owned: v8::OwnedIsolate,
    guard: Rc<HeapGuard>,
    buffers: Arc<BufferMeter>,
}

/// What V8's callbacks see. Lives on the isolate's thread, at one address for the isolate's life.
struct HeapGuard {
    limit: usize,
    buffers: Arc<BufferMeter>,
    buffer_limit: usize,
    reached: Cell<bool>,
    on_limit: Cell<Option<OnLimit>>,
    isolate: v8::UnsafeRawIsolatePtr,
}

impl HeapGuard {
    /// The heap in use, and the heap in all.
    fn heap(&self) -> (usize, usize) {
        // SAFETY: called by V8's callbacks only, on the isolate's thread and while it lives; the wrapper does not own it.
        let mut isolate = unsafe { v8::Isolate::from_raw_isolate_ptr(self.isolate) };
        let figures = isolate.get_heap_statistics();
        (figures.used_heap_size(), figures.total_heap_size())
    }

    /// The external memory that neither the allocator nor the host has given.
    fn unseen(&self, isolate: &mut v8::Isolate) -> usize {
        // Adding nothing tells the sum.
        let external = isolate.adjust_amount_of_external_allocated_memory(0);
        usize::try_from(external)
            .unwrap_or(0)
            .saturating_sub(self.buffers.used().as_usize())
            .saturating_sub(self.buffers.adopted())
    }

    fn report(&self, memory: Memory) {
        if let Some(on_limit) = self.on_limit.take() {
            on_limit(memory);
            self.on_limit.set(Some(on_limit));
        }
    }
}

impl Isolate {
    /// Makes an isolate on the calling thread.
    pub(crate) fn new(options: &IsolateOptions) -> Result<Self> {
        let platform = platform::running().ok_or_else(|| Error::bug("an isolate before V8 was started"))?;
        let buffers = BufferMeter::new(options.buffer_limit);
        let params = v8::CreateParams::default()
            .heap_limits(options.heap_initial.as_usize(), options.heap_limit.as_usize())
            .array_buffer_allocator(buffers.allocator().make_shared())
            .allow_atomics_wait(false)
            .snapshot_blob(platform.startup().into());
        let mut owned = v8::Isolate::new(params);
        owned.set_microtasks_policy(v8::MicrotasksPolicy::Explicit);
        if !options.wasm {
            owned.set_allow_wasm_code_generation_callback(refuse_wasm);
        }
        owned.set_capture_stack_trace_for_uncaught_exceptions(true, super::exception::FRAMES);
        owned.set_host_import_module_dynamically_callback(super::module::refuse_dynamic_import);
        owned.set_host_initialize_import_meta_object_callback(super::module::import_meta);
        let guard = Rc::new(HeapGuard {
            limit: options.heap_limit.as_usize(),
            buffers: buffers.clone(),
            buffer_limit: options.buffer_limit.as_usize(),
            reached: Cell::new(false),
            on_limit: Cell::new(None),
            // SAFETY: the pointer is used on this thread only, by callbacks that V8 makes while the isolate lives.
            isolate: unsafe { owned.as_raw_isolate_ptr() },
        });
        owned.set_slot(guard.clone());
        let data = Rc::as_ptr(&guard).cast_mut().cast::<c_void>();
        owned.add_near_heap_limit_callback(near_heap_limit, data);
        Ok(Isolate { owned, guard, buffers })
    }

    /// What happens when a slice runs into a memory limit.
    pub(crate) fn set_on_limit(&mut self, on_limit: OnLimit) {
        self.guard.on_limit.set(Some(on_limit));
    }

    /// Whether the heap limit was reached since the isolate was made. Such an isolate is to be replaced.
    pub(crate) fn heap_limit_reached(&self) -> bool {
        self.guard.reached.get()
    }

    pub(crate) fn buffers(&self) -> &Arc<BufferMeter> {
        &self.buffers
    }

    pub(crate) fn handle(&self) -> v8::IsolateHandle {
        self.owned.thread_safe_handle()
    }

    pub(crate) fn v8(&mut self) -> &mut v8::OwnedIsolate {
        &mut self.owned
    }

    /// Figures of the heap. Walks the heap's spaces: some microseconds.
    pub(crate) fn heap(&mut self) -> HeapFigures {
        let figures = self.owned.get_heap_statistics();
        HeapFigures {
            used: Bytes::new(figures.used_heap_size() as u64),
            limit: Bytes::new(figures.heap_size_limit() as u64),
            contexts: figures.number_of_native_contexts(),
        }
    }

    /// A full collection, now.
    pub(crate) fn collect(&mut self) {
        self.owned.low_memory_notification();
    }
}

/// Figures of one isolate's heap.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct HeapFigures {
    pub(crate) used: Bytes,
    pub(crate) limit: Bytes,
    pub(crate) contexts: usize,
}

/// V8 is about to give up: it gets enough more that it does not, and the slice is stopped. Each further call in the same slice
/// raises the limit again: native code may have to finish an allocation before it looks at the request to stop.
unsafe extern "C" fn near_heap_limit(data: *mut c_void, current: usize, _initial: usize) -> usize {
    // SAFETY: `data` is the guard that was registered together with this function; it outlives the isolate.
    let guard = unsafe { &*data.cast::<HeapGuard>() };
    // A buffer that its allocator refuses makes V8 collect as its last resort, and that asks here too, however empty the heap is.
    let (used, total) = guard.heap();
    if guard.buffers.has_refused() && used < current / 4 * 3 {
        return current;
    }
    guard.reached.set(true);
    guard.report(Memory::Heap);
    // V8 asks once and gives up when that is not enough: one large array may have passed the limit by far already.
    current.max(total).saturating_add((guard.limit / 2).max(64 << 20))
}

/// Looks at the memory that V8 counts and its allocator does not see: resizable buffers, WebAssembly. Called inside a slice.
pub(super) unsafe extern "C" fn inspect(isolate: v8::UnsafeRawIsolatePtr, _data: *mut c_void) {
    // SAFETY: V8 calls this on the isolate's thread with the isolate that runs; the wrapper does not own it.
    let mut isolate = unsafe { v8::Isolate::from_raw_isolate_ptr(isolate) };
    let Some(guard) = isolate.get_slot::<Rc<HeapGuard>>().cloned() else { return };
    if guard.unseen(&mut isolate) <= guard.buffer_limit {
        return;
    }
    // Some of it may be garbage.
    isolate.low_memory_notification();
    if guard.unseen(&mut isolate) > guard.buffer_limit {
        guard.report(Memory::Buffers);
    }
}

unsafe extern "C" fn refuse_wasm(_context: v8::Local<v8::Context>, _source: v8::Local<v8::String>) -> bool {
    false
}
