//! The memory of a task stack: reserved whole, committed as it is touched.
//!
//! Slots never move, because thieves hold pointers to them. So the stack
//! grows as a thread's stack does: its address range is reserved at the start,
//! and the operating system supplies zeroed pages where slots are first used.

use std::io;

use super::Direct;
use super::slot::Slot;

/// The end of the slots lies at a multiple of this many bytes. A push to any other slot
/// need not compare with the end, which would be a load; a push to one of these takes
/// its slow path. Large, so that one slot in a thousand is one of these.
const BOUNDARY: usize = match cfg!(any(loom, miri)) {
    false => 64 << 10,
    true => 4 * SLOT,
};

const SLOT: usize = 64;

/// Whether the slots may end at this one.
#[inline(always)]
pub(super) fn is_at_boundary<S: Direct>(slot: *mut Slot<S>) -> bool {
    // Loom's slots are larger than a cache line.
    const { assert!(size_of::<Slot<S>>() == SLOT || cfg!(loom)) };
    cfg!(loom) || slot.addr().is_multiple_of(BOUNDARY)
}

/// A fixed array of slots, all empty at first.
pub(crate) struct Slots<S: Direct> {
    base: *mut Slot<S>,
    /// How many there are in memory, those beyond the end included.
    len: usize,
    end: *mut Slot<S>,
}

// SAFETY: `Slots` owns its memory as a boxed slice would; slots are shared
// between threads only through their atomic state.
unsafe impl<S: Direct> Send for Slots<S> {}
// SAFETY: nothing in it changes. Slots are shared between threads only through their
// atomic state.
unsafe impl<S: Direct> Sync for Slots<S> {}

impl<S: Direct> Slots<S> {
    pub(crate) fn base(&self) -> *mut Slot<S> {
        self.base
    }

    /// One past the last slot that may be used; there is at least one more.
    #[inline(always)]
    pub(crate) fn end(&self) -> *mut Slot<S> {
        self.end
    }

    /// Reserves `capacity` slots, or up to a [`BOUNDARY`] more, and one beyond the end.
    pub(crate) fn reserve(capacity: usize) -> io::Result<Slots<S>> {
        let len = capacity
            .checked_add(BOUNDARY / SLOT + 1)
            .filter(|&len| len <= isize::MAX as usize / SLOT)
            .ok_or(io::ErrorKind::OutOfMemory)?;
        let base = Self::allocate(len)?;
        let last = base.wrapping_add(len - 1);
        let end = match cfg!(loom) {
            false => last.map_addr(|last| last - last % BOUNDARY),
            true => last,
        };
        Ok(Slots { base, len, end })
    }
}

#[cfg(all(unix, not(loom), not(miri)))]
mod system {
    use std::io;

    use super::{Direct, Slot, Slots};

    /// FreeBSD has no such flag, and reserves nothing anyway.
    #[cfg(not(target_os = "freebsd"))]
    const NO_RESERVE: libc::c_int = libc::MAP_NORESERVE;
    #[cfg(target_os = "freebsd")]
    const NO_RESERVE: libc::c_int = 0;

    impl<S: Direct> Slots<S> {
        pub(super) fn allocate(len: usize) -> io::Result<*mut Slot<S>> {
            let bytes = len * size_of::<Slot<S>>();
            // SAFETY: a fresh anonymous mapping touches no memory of ours.
            let base = unsafe {
                libc::mmap(
                    std::ptr::null_mut(),
                    bytes,
                    libc::PROT_READ | libc::PROT_WRITE,
                    libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | NO_RESERVE,
                    -1,
                    0,
                )
            };
            if base == libc::MAP_FAILED {
                return Err(io::Error::last_os_error());
            }
            // Pages are zero, and a header of zeros is a free slot's.
            Ok(base.cast())
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

#[cfg(all(not(loom), any(miri, not(unix))))]
mod zeroed {
    use std::alloc::{Layout, alloc_zeroed, dealloc};
    use std::io;

    use super::{Direct, Slot, Slots};

    fn layout<S: Direct>(len: usize) -> io::Result<Layout> {
        Layout::array::<Slot<S>>(len).map_err(|_| io::ErrorKind::OutOfMemory.into())
    }

    impl<S: Direct> Slots<S> {
        pub(super) fn allocate(len: usize) -> io::Result<*mut Slot<S>> {
            let layout = layout::<S>(len)?;
            // SAFETY: `reserve` asks for at least one slot, so the size is not zero.
            let base = unsafe { alloc_zeroed(layout) };
            if base.is_null() {
                return Err(io::ErrorKind::OutOfMemory.into());
            }
            // A header of zeros is a free slot's.
            Ok(base.cast())
        }
    }

    impl<S: Direct> Drop for Slots<S> {
        fn drop(&mut self) {
            let layout = layout::<S>(self.len).expect("`allocate` has made the same layout");
            // SAFETY: `allocate` has made it with this layout, and no worker is left
            // to use it.
            unsafe { dealloc(self.base.cast(), layout) };
        }
    }
}

#[cfg(loom)]
mod boxed {
    use std::io;

    use super::{Direct, Slot, Slots};

    impl<S: Direct> Slots<S> {
        pub(super) fn allocate(len: usize) -> io::Result<*mut Slot<S>> {
            let mut slots = Vec::new();
            slots
                .try_reserve_exact(len)
                .map_err(|_| io::ErrorKind::OutOfMemory)?;
            slots.resize_with(len, Slot::<S>::empty);
            Ok(Box::into_raw(slots.into_boxed_slice()).cast())
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
