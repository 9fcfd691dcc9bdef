//! An allocator under which a run does not depend on the runs before it.

use std::alloc::{GlobalAlloc, Layout, System};

/// A global allocator that gives each value of a run cache lines of its own.
///
/// Without it, two values share a line if the system's allocator happens to put them there. That depends on everything the
/// process has allocated before, so the same seed may give another run.
///
/// ```
/// #[global_allocator]
/// static ALLOCATOR: purloin_virtual::Allocator = purloin_virtual::Allocator;
/// # fn main() {}
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct Allocator;

/// Returns the layout of whole cache lines for a value of this layout.
fn lines(layout: Layout) -> Layout {
    let aligned = layout.align_to(64).map(|layout| layout.pad_to_align());
    aligned.unwrap_or(layout)
}

// SAFETY: every value has the layout that `lines` returns, inside and outside of runs, so that it can be freed in both. The
// system's allocator does the rest.
unsafe impl GlobalAlloc for Allocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller guarantees it, and whole lines are not smaller.
        unsafe { System.alloc(lines(layout)) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as in `alloc`.
        unsafe { System.alloc_zeroed(lines(layout)) }
    }

    unsafe fn dealloc(&self, value: *mut u8, layout: Layout) {
        // SAFETY: `alloc` has passed the same layout to the same allocator.
        unsafe { System.dealloc(value, lines(layout)) }
    }
}
