//! The memory of a task stack: reserved whole, committed as it is touched.
//!
//! Slots never move, because thieves hold pointers to them. So the stack
//! grows as a thread's stack does: its address range is reserved at the start,
//! and the operating system supplies zeroed pages where slots are first used.

use super::Direct;
use super::slot::Slot;

/// A fixed array of slots, all empty at first.
pub(crate) struct Slots<S: Direct> {
    base: *mut Slot<S>,
    len: usize,
}

// SAFETY: `Slots` owns its memory as a boxed slice would; slots are shared
// between threads only through their atomic state.
unsafe impl<S: Direct> Send for Slots<S> {}
// SAFETY: as above.
unsafe impl<S: Direct> Sync for Slots<S> {}

impl<S: Direct> Slots<S> {
    pub(crate) fn base(&self) -> *mut Slot<S> {
        self.base
    }

    pub(crate) fn end(&self) -> *mut Slot<S> {
        self.base.wrapping_add(self.len)
    }
}

#[cfg(all(unix, not(loom), not(miri)))]
mod system {
    use std::io;

    use super::{Direct, Slot, Slots};

    impl<S: Direct> Slots<S> {
        /// Reserves `len` slots.
        pub(crate) fn reserve(len: usize) -> io::Result<Slots<S>> {
            let bytes = len
                .checked_mul(size_of::<Slot<S>>())
                .ok_or(io::ErrorKind::OutOfMemory)?;
            // SAFETY: a fresh anonymous mapping touches no memory of ours.
            let base = unsafe {
                libc::mmap(
                    std::ptr::null_mut(),
                    bytes,
                    libc::PROT_READ | libc::PROT_WRITE,
                    libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE,
                    -1,
                    0,
                )
            };
            if base == libc::MAP_FAILED {
                return Err(io::Error::last_os_error());
            }
            // Pages are zero, and a header of zeros is a free slot's.
            let base = base.cast();
            Ok(Slots { base, len })
        }
    }

    impl<S: Direct> Drop for Slots<S> {
        fn drop(&mut self) {
            // SAFETY: the mapping was made with this address and length, and
            // no worker is left to use it.
            unsafe { libc::munmap(self.base.cast(), self.len * size_of::<Slot<S>>()) };
        }
    }
}

#[cfg(any(loom, miri, not(unix)))]
mod boxed {
    use std::io;

    use super::{Direct, Slot, Slots};

    impl<S: Direct> Slots<S> {
        /// Reserves `len` slots.
        pub(crate) fn reserve(len: usize) -> io::Result<Slots<S>> {
            let mut slots = Vec::new();
            slots
                .try_reserve_exact(len)
                .map_err(|_| io::ErrorKind::OutOfMemory)?;
            slots.resize_with(len, Slot::<S>::empty);
            let base = Box::into_raw(slots.into_boxed_slice()).cast();
            Ok(Slots { base, len })
        }
    }

    impl<S: Direct> Drop for Slots<S> {
        fn drop(&mut self) {
            let slots = std::ptr::slice_from_raw_parts_mut(self.base, self.len);
            // SAFETY: made from a box of this length in `reserve`.
            drop(unsafe { Box::from_raw(slots) });
        }
    }
}
