//! Memory for tasks with a result.
//!
//! Allocating and freeing a few words takes longer than everything else in a future that is not
//! stolen. So each worker keeps some of the blocks that it has freed.

use std::alloc::{Layout, alloc, dealloc, handle_alloc_error};
use std::ptr::NonNull;

/// The sizes of blocks that a worker keeps, in bytes: four cache lines for a future, and five for a task of a graph.
const SIZES: [usize; 2] = [256, 320];
const ALIGN: usize = 16;

/// Maximum number of blocks of each size that a worker keeps.
const MAX_BLOCKS: usize = 256;

/// Returns the smallest size class that is large enough, if there is one.
const fn class(layout: Layout) -> Option<usize> {
    if layout.align() > ALIGN || layout.size() > SIZES[1] {
        None
    } else {
        Some((layout.size() > SIZES[0]) as usize)
    }
}

fn layout_of_class(class: usize) -> Layout {
    Layout::from_size_align(SIZES[class], ALIGN).expect("the alignment is a power of two")
}

/// Returns the layout of the memory for a value with this layout.
fn rounded(layout: Layout) -> Layout {
    class(layout).map_or(layout, layout_of_class)
}

/// The free blocks of a worker.
#[derive(Default)]
pub(crate) struct Blocks([std::cell::UnsafeCell<Vec<NonNull<u8>>>; SIZES.len()]);

impl Blocks {
    /// # Safety
    ///
    /// `f` does not call this again.
    unsafe fn with<R>(&self, class: usize, f: impl FnOnce(&mut Vec<NonNull<u8>>) -> R) -> R {
        // SAFETY: only `Me` gives access, so this is the worker's own thread, and `f` does not call this
        // again: this is the only reference.
        f(unsafe { &mut *self.0[class].get() })
    }

    /// Returns uninitialised memory for a `T`.
    #[inline]
    pub(crate) fn take<T>(&self) -> NonNull<T> {
        if let Some(class) = const { class(Layout::new::<T>()) }
            // SAFETY: `Vec::pop` does not call `with`.
            && let Some(block) = unsafe { self.with(class, Vec::pop) }
        {
            return block.cast();
        }
        allocate()
    }

    /// Takes back memory for a value with this layout, which some worker has [taken](Self::take).
    ///
    /// # Safety
    ///
    /// The memory holds nothing, and no thread uses it again.
    #[inline]
    pub(crate) unsafe fn give(&self, memory: NonNull<u8>, layout: Layout) {
        if let Some(class) = class(layout) {
            // SAFETY: the closure does not call `with`.
            let is_kept = unsafe {
                self.with(class, |blocks| {
                    let has_room = blocks.len() < MAX_BLOCKS;
                    if has_room {
                        blocks.push(memory);
                    }
                    has_room
                })
            };
            if is_kept {
                return;
            }
        }
        // SAFETY: the caller guarantees that the memory holds nothing and is not used again.
        unsafe { free(memory, layout) };
    }
}

impl Drop for Blocks {
    fn drop(&mut self) {
        for (class, blocks) in self.0.iter_mut().enumerate() {
            for block in blocks.get_mut().drain(..) {
                // SAFETY: `allocate` made the block with this layout, and `give`'s caller
                // guarantees that it is unused.
                unsafe { dealloc(block.as_ptr(), layout_of_class(class)) };
            }
        }
    }
}

/// Returns uninitialised memory for a `T`, as [`Blocks::take`] does, on any thread.
#[cold]
pub(crate) fn allocate<T>() -> NonNull<T> {
    const { assert!(size_of::<T>() > 0) };
    let layout = rounded(Layout::new::<T>());
    // SAFETY: the layout's size is not 0.
    let memory = NonNull::new(unsafe { alloc(layout) });
    memory.unwrap_or_else(|| handle_alloc_error(layout)).cast()
}

/// Frees memory for a value with this layout, which some worker has [taken](Blocks::take), on any thread.
///
/// # Safety
///
/// The memory holds nothing, and no thread uses it again.
#[cold]
pub(crate) unsafe fn free(memory: NonNull<u8>, layout: Layout) {
    // SAFETY: `allocate` made the memory with this layout, and the caller guarantees that it is
    // unused.
    unsafe { dealloc(memory.as_ptr(), rounded(layout)) };
}
