//! Memory for futures, from one to the next.
//!
//! To allocate and free a few words takes longer than all the rest of a future
//! that nobody steals. So each worker keeps some blocks that it has freed.

use std::alloc::{Layout, alloc, dealloc, handle_alloc_error};
use std::cell::UnsafeCell;
use std::ptr::NonNull;

/// The blocks that are kept are of this size: two cache lines and four.
const SIZES: [usize; 2] = [128, 256];
const ALIGN: usize = 16;

/// How many blocks of a size a worker keeps.
const MOST: usize = 256;

/// Which blocks are large enough.
const fn class(layout: Layout) -> Option<usize> {
    if layout.align() > ALIGN || layout.size() > SIZES[1] {
        None
    } else {
        Some((layout.size() > SIZES[0]) as usize)
    }
}

fn block(class: usize) -> Layout {
    Layout::from_size_align(SIZES[class], ALIGN).expect("a power of two")
}

/// The blocks that a worker keeps. Used on its own thread only.
#[derive(Default)]
pub(super) struct Blocks([UnsafeCell<Vec<NonNull<u8>>>; SIZES.len()]);

impl Blocks {
    /// # Safety
    ///
    /// Called on the worker's own thread; and `f` does not come back here.
    unsafe fn with<R>(&self, class: usize, f: impl FnOnce(&mut Vec<NonNull<u8>>) -> R) -> R {
        // SAFETY: the caller's promise.
        f(unsafe { &mut *self.0[class].get() })
    }

    /// Memory for a `T`, uninitialised.
    ///
    /// # Safety
    ///
    /// Called on the worker's own thread.
    #[inline]
    pub(super) unsafe fn take<T>(&self) -> NonNull<T> {
        const { assert!(size_of::<T>() > 0) };
        if let Some(class) = const { class(Layout::new::<T>()) }
            // SAFETY: the caller's promise.
            && let Some(kept) = unsafe { self.with(class, Vec::pop) }
        {
            return kept.cast();
        }
        allocate_for()
    }

    /// Gives back what some worker has [taken](Self::take).
    ///
    /// # Safety
    ///
    /// Called on the worker's own thread. Nothing is in the memory, and nobody
    /// uses it again.
    #[inline]
    pub(super) unsafe fn give<T>(&self, memory: NonNull<T>) {
        if let Some(class) = const { class(Layout::new::<T>()) } {
            // SAFETY: the caller's promise.
            let is_kept = unsafe {
                self.with(class, |kept| {
                    let has_room = kept.len() < MOST;
                    if has_room {
                        kept.push(memory.cast());
                    }
                    has_room
                })
            };
            if is_kept {
                return;
            }
        }
        // SAFETY: the caller's promise.
        unsafe { free(memory) };
    }
}

impl Drop for Blocks {
    fn drop(&mut self) {
        for (class, blocks) in self.0.iter_mut().enumerate() {
            for kept in blocks.get_mut().drain(..) {
                // SAFETY: allocated by `take` with this layout, and free.
                unsafe { dealloc(kept.as_ptr(), block(class)) };
            }
        }
    }
}

/// Memory as by [`Blocks::take`], on any thread.
#[cold]
pub(super) fn allocate_for<T>() -> NonNull<T> {
    match const { class(Layout::new::<T>()) } {
        Some(class) => allocate(block(class)).cast(),
        None => allocate(Layout::new::<T>()).cast(),
    }
}

#[cold]
fn allocate(layout: Layout) -> NonNull<u8> {
    // SAFETY: no layout here is of size 0.
    NonNull::new(unsafe { alloc(layout) }).unwrap_or_else(|| handle_alloc_error(layout))
}

/// Frees what some worker has [taken](Blocks::take), on any thread.
///
/// # Safety
///
/// Nothing is in it, and nobody uses it again.
#[cold]
pub(super) unsafe fn free<T>(memory: NonNull<T>) {
    let layout = match const { class(Layout::new::<T>()) } {
        Some(class) => block(class),
        None => Layout::new::<T>(),
    };
    // SAFETY: allocated with this layout.
    unsafe { dealloc(memory.cast().as_ptr(), layout) };
}
