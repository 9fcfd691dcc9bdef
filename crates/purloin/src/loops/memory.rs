//! Memory for the results of a loop.
//!
//! A page fault for each 4 KiB of a large result takes longer than a cheap body. Linux gives large pages to programs that
//! ask for them. `docs/decisions/large-results-use-large-pages.md` has the measurements.

/// Minimum size in bytes for which large pages are worth a system call: two of them.
const MIN_SIZE: usize = 4 << 20;

/// Minimum size in bytes of a full block. A smaller block grows by doubling. Small where there are debug assertions, so
/// that tests fill several blocks.
pub(super) const BLOCK: usize = if cfg!(debug_assertions) {
    1 << 10
} else {
    8 << 20
};

/// Reserves room for `additional` values, as [`Vec::reserve`] does, and asks for large pages if the room is large.
pub(super) fn reserve<T>(vec: &mut Vec<T>, additional: usize) {
    if vec.capacity() - vec.len() < additional {
        vec.reserve(additional);
        let room = vec.spare_capacity_mut();
        if size_of_val(room) >= MIN_SIZE {
            large_pages::prefer(room.as_mut_ptr().addr(), size_of_val(room));
        }
    }
}

/// A list of values whose length is not known in advance. The values are in blocks, each twice as long as the one before:
/// a vector in large pages would be copied each time it grows. Without large pages there is one block, except where there
/// are debug assertions.
pub(crate) struct Blocks<T> {
    full: Vec<Vec<T>>,
    last: Vec<T>,
}

impl<T> Default for Blocks<T> {
    fn default() -> Self {
        Blocks {
            full: Vec::new(),
            last: Vec::new(),
        }
    }
}

impl<T> Blocks<T> {
    #[inline(always)]
    pub(super) fn push(&mut self, value: T) {
        if self.last.len() == self.last.capacity() {
            self.grow();
        }
        self.last.push(value);
    }

    #[cold]
    #[inline(never)]
    fn grow(&mut self) {
        let len = self.last.len();
        if len * size_of::<T>() < BLOCK || !(cfg!(debug_assertions) || large_pages::are_given()) {
            return self.last.reserve(1);
        }
        self.full.push(std::mem::take(&mut self.last));
        reserve(&mut self.last, 2 * len);
    }

    /// Returns the blocks that have values.
    pub(super) fn into_vecs(self) -> impl Iterator<Item = Vec<T>> {
        let last = (!self.last.is_empty()).then_some(self.last);
        self.full.into_iter().chain(last)
    }
}

#[cfg(all(target_os = "linux", not(miri)))]
mod large_pages {
    use std::fs;
    use std::ptr::without_provenance_mut;

    use crate::sync::plain::OnceLock;

    /// The size of a large page on x86-64, and a multiple of every base page size.
    const LARGE: usize = 2 << 20;

    /// Returns whether the system gives large pages to programs that ask for them.
    pub(super) fn are_given() -> bool {
        static ARE_GIVEN: OnceLock<bool> = OnceLock::new();
        *ARE_GIVEN.get_or_init(|| {
            let setting = fs::read("/sys/kernel/mm/transparent_hugepage/enabled");
            setting.is_ok_and(|setting| !setting.ends_with(b"[never]\n"))
        })
    }

    /// Asks the system for large pages in this range of addresses, of at least [`MIN_SIZE`](super::MIN_SIZE) bytes. A part
    /// at either end that fills no large page stays as it is.
    pub(super) fn prefer(address: usize, size: usize) {
        const { assert!(super::MIN_SIZE >= 2 * LARGE) };
        let first = address.next_multiple_of(LARGE);
        let size = (address + size - first) / LARGE * LARGE;
        // SAFETY: the advice changes no contents, whatever the range contains. The result is ignored, because an error
        // changes nothing.
        unsafe { libc::madvise(without_provenance_mut(first), size, libc::MADV_HUGEPAGE) };
    }
}

#[cfg(not(all(target_os = "linux", not(miri))))]
mod large_pages {
    pub(super) fn are_given() -> bool {
        false
    }

    pub(super) fn prefer(_: usize, _: usize) {}
}
