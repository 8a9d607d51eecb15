//! Array buffers, counted and limited by their own allocator.
//!
//! V8 allocates the contents of array buffers outside its heap. The meter counts what lives, refuses what would pass the limit
//! (V8 then collects, tries again, and throws a `RangeError`), and remembers that it refused, so that the error can say why.

use std::alloc::{Layout, alloc, alloc_zeroed, dealloc};
use std::ffi::c_void;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use crate::units::Bytes;

/// What the array buffers of one isolate hold.
#[derive(Debug)]
pub(crate) struct BufferMeter {
    limit: usize,
    used: AtomicUsize,
    refused: AtomicBool,
    /// Bytes of the host that were handed to V8 as the contents of buffers. Not limited here: the host has sized them.
    adopted: AtomicUsize,
}

/// As `malloc` aligns, which is what V8 expects of an allocator.
const ALIGN: usize = 16;

impl BufferMeter {
    pub(crate) fn new(limit: Bytes) -> Arc<Self> {
        Arc::new(BufferMeter {
            limit: limit.as_usize(),
            used: AtomicUsize::new(0),
            refused: AtomicBool::new(false),
            adopted: AtomicUsize::new(0),
        })
    }

    /// The bytes that live buffers hold.
    pub(crate) fn used(&self) -> Bytes {
        Bytes::new(self.used.load(Ordering::Relaxed) as u64)
    }

    /// Whether an allocation was refused since this was last asked.
    pub(crate) fn take_refused(&self) -> bool {
        self.refused.load(Ordering::Relaxed) && self.refused.swap(false, Ordering::Relaxed)
    }

    /// Whether an allocation was refused in this slice.
    pub(super) fn has_refused(&self) -> bool {
        self.refused.load(Ordering::Relaxed)
    }

    /// The bytes of the host that live in buffers.
    pub(super) fn adopted(&self) -> usize {
        self.adopted.load(Ordering::Relaxed)
    }

    /// Makes bytes of the host the contents of a buffer, without a copy, and counts them while V8 holds them.
    pub(super) fn adopt(self: &Arc<Self>, bytes: Vec<u8>) -> v8::UniqueRef<v8::BackingStore> {
        self.adopted.fetch_add(bytes.len(), Ordering::Relaxed);
        v8::ArrayBuffer::new_backing_store_from_bytes(Box::new(Adopted { bytes, meter: self.clone() }))
    }

    /// Makes bytes that came from outside the contents of a buffer, without a copy, under the limit. They come back where that would pass it.
    #[cfg(feature = "io")]
    pub(super) fn admit(self: &Arc<Self>, bytes: Vec<u8>) -> Result<v8::UniqueRef<v8::BackingStore>, Vec<u8>> {
        if !self.reserve(bytes.len()) {
            return Err(bytes);
        }
        Ok(v8::ArrayBuffer::new_backing_store_from_bytes(Box::new(Admitted { bytes, meter: self.clone() })))
    }

    /// Counts so many bytes, or refuses them.
    fn reserve(&self, bytes: usize) -> bool {
        let taken = self.used.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |used| {
            used.checked_add(bytes).filter(|sum| *sum <= self.limit)
        });
        if taken.is_err() {
            self.refused.store(true, Ordering::Relaxed);
        }
        taken.is_ok()
    }

    fn allocate(&self, bytes: usize, zeroed: bool) -> *mut c_void {
        let Ok(layout) = Layout::from_size_align(bytes.max(1), ALIGN) else {
            self.refused.store(true, Ordering::Relaxed);
            return std::ptr::null_mut();
        };
        if !self.reserve(bytes) {
            return std::ptr::null_mut();
        }
        // SAFETY: the layout has a size of at least one byte.
        let data = unsafe { if zeroed { alloc_zeroed(layout) } else { alloc(layout) } };
        if data.is_null() {
            self.used.fetch_sub(bytes, Ordering::Relaxed);
        }
        data.cast()
    }

    /// The allocator of one isolate. It holds the meter for as long as V8 holds a buffer of it.
    pub(super) fn allocator(self: &Arc<Self>) -> v8::UniqueRef<v8::Allocator> {
        static VTABLE: v8::RustAllocatorVtable<BufferMeter> =
            v8::RustAllocatorVtable { allocate, allocate_uninitialized, free, drop: release };
        // SAFETY: the handle is a pointer from `Arc::into_raw` of the type that the functions of the table take; `release` gives the
        // reference back, once, when V8 drops the allocator.
        unsafe { v8::new_rust_allocator(Arc::into_raw(self.clone()), &VTABLE) }
    }
}

/// Bytes of the host, counted for as long as they live.
struct Adopted {
    bytes: Vec<u8>,
    meter: Arc<BufferMeter>,
}

impl AsMut<[u8]> for Adopted {
    fn as_mut(&mut self) -> &mut [u8] {
        &mut self.bytes
    }
}

impl Drop for Adopted {
    fn drop(&mut self) {
        self.meter.adopted.fetch_sub(self.bytes.len(), Ordering::Relaxed);
    }
}

/// Bytes from outside, under the limit for as long as they live.
#[cfg(feature = "io")]
struct Admitted {
    bytes: Vec<u8>,
    meter: Arc<BufferMeter>,
}

#[cfg(feature = "io")]
impl AsMut<[u8]> for Admitted {
    fn as_mut(&mut self) -> &mut [u8] {
        &mut self.bytes
    }
}

#[cfg(feature = "io")]
impl Drop for Admitted {
    fn drop(&mut self) {
        self.meter.used.fetch_sub(self.bytes.len(), Ordering::Relaxed);
    }
}

unsafe extern "C" fn allocate(meter: &BufferMeter, bytes: usize) -> *mut c_void {
    meter.allocate(bytes, true)
}

unsafe extern "C" fn allocate_uninitialized(meter: &BufferMeter, bytes: usize) -> *mut c_void {
    meter.allocate(bytes, false)
}

unsafe extern "C" fn free(meter: &BufferMeter, data: *mut c_void, bytes: usize) {
    if let Ok(layout) = Layout::from_size_align(bytes.max(1), ALIGN)
        && !data.is_null()
    {
        meter.used.fetch_sub(bytes, Ordering::Relaxed);
        // SAFETY: V8 frees what `allocate` gave it, once and with the same size, from which the layout is made in the same way.
        unsafe { dealloc(data.cast(), layout) };
    }
}

unsafe extern "C" fn release(meter: *const BufferMeter) {
    // SAFETY: the pointer is the one that `allocator` took out of an `Arc`; V8 calls this once.
    drop(unsafe { Arc::from_raw(meter) });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refuses_beyond_the_limit_and_gives_room_back() {
        let meter = BufferMeter::new(Bytes::kib(4));
        let first = meter.allocate(3000, true);
        assert!(!first.is_null());
        assert!(meter.allocate(3000, true).is_null());
        assert!(meter.take_refused());
        assert!(!meter.take_refused());
        // SAFETY: `first` came from this meter with this size and is freed once.
        unsafe { free(&meter, first, 3000) };
        assert_eq!(meter.used(), Bytes::new(0));
        assert!(meter.allocate(usize::MAX, false).is_null());
    }
}
