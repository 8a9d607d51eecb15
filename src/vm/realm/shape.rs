//! Keeps V8's fast paths for regular expressions and sets across the freezing of their prototypes.
//!
//! V8 remembers the hidden class (map) of `RegExp.prototype`, `Set.prototype` and a few others in a slot of the native
//! context, and takes a path that is up to a hundred times slower when the prototype has another one. Freezing gives it
//! another one, although nothing that V8 relies on has changed: the same properties with the same values, now read-only. So
//! inside the snapshot creator the slot is moved to the new map.
//!
//! Invariant: this runs in the snapshot creator only, whose heap is far too small for a collection to be under way; a store
//! without V8's write barrier is sound there and nowhere else. When the memory does not look as expected nothing is
//! written, and regular expressions are slow instead. It knows nothing of what else is in a context.

/// The header of a native context: its map and its length.
const HEADER: usize = 2;
/// More slots than a native context has.
const MOST_SLOTS: usize = 4096;

/// The map of an object.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(in crate::vm) struct Shape(usize);

/// The map that `object` has now.
pub(in crate::vm) fn of(object: v8::Local<'_, v8::Object>) -> Shape {
    // SAFETY: a handle points to a slot that holds the tagged address of a live object, and the first word of every object
    // is its map. Nothing moves objects between here and the end of the read.
    unsafe { Shape(*address(tagged(object))) }
}

/// Lets `context` remember the present map of `object` in every slot where it remembers `old`.
pub(in crate::vm) fn remember(context: v8::Local<'_, v8::Context>, old: Shape, object: v8::Local<'_, v8::Object>) {
    let new = of(object);
    if cfg!(not(target_pointer_width = "64")) || old == new {
        return;
    }
    // SAFETY: as in `of`; the second word of a context is its length, a small integer in the upper half.
    let (base, length) = unsafe {
        let base = address(tagged(context));
        (base, *base.add(1))
    };
    let slots = length >> 32;
    if length & 0xffff_ffff != 0 || slots == 0 || slots > MOST_SLOTS {
        return;
    }
    for at in HEADER..HEADER + slots {
        // SAFETY: inside the context, by its own length. The store replaces one map by another that `object` keeps alive,
        // while no collection is under way (see the head of this file).
        unsafe {
            let slot = base.add(at);
            if *slot == old.0 {
                *slot = new.0;
            }
        }
    }
}

fn tagged<T>(local: v8::Local<'_, T>) -> usize {
    // SAFETY: a `Local` is the address of a handle's slot, which holds one word and lives as long as its scope.
    unsafe { *std::ptr::from_ref::<T>(&*local).cast::<usize>() }
}

/// Heap objects are tagged with 1 in the lowest bit.
fn address(tagged: usize) -> *mut usize {
    std::ptr::with_exposed_provenance_mut(tagged & !1)
}
