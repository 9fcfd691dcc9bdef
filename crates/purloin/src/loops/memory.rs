//! Memory for the results of a loop, in large pages where the system has them.
//!
//! A vector of 80 MB is 20,000 pages of 4 KiB. The system clears each of them, and enters it into the page table,
//! when a worker first writes to it. This takes longer than a cheap body, and workers that do it at the same time
//! wait for each other. A page of 2 MiB takes the place of 512 of them. Linux gives them to programs that ask
//! (`madvise`), as NumPy does for its arrays, and in its usual configuration to no others. See the
//! page `docs/decisions/results-in-large-pages.md`.

/// Size in bytes from which on memory is worth a system call.
const MIN_SIZE: usize = 4 << 20;

/// Size in bytes from which on a block does not grow.
pub(super) const BLOCK: usize = 8 << 20;

/// Reserves room for `additional` values, as [`Vec::reserve`] does.
pub(super) fn reserve<T>(vec: &mut Vec<T>, additional: usize) {
    if vec.capacity() - vec.len() < additional {
        vec.reserve(additional);
        let room = vec.spare_capacity_mut();
        if size_of_val(room) >= MIN_SIZE {
            prefer_large_pages(room.as_mut_ptr().addr(), size_of_val(room));
        }
    }
}

/// Values whose number nobody knows beforehand. They lie in blocks, because a vector of large pages would be copied each time
/// it grows.
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
        if len * size_of::<T>() < BLOCK {
            return self.last.reserve(1);
        }
        self.full.push(std::mem::take(&mut self.last));
        reserve(&mut self.last, len);
    }

    /// Returns the blocks that have values.
    pub(super) fn into_vecs(self) -> impl Iterator<Item = Vec<T>> {
        let last = (!self.last.is_empty()).then_some(self.last);
        self.full.into_iter().chain(last)
    }
}

/// Asks for large pages, for memory that belongs to a vector.
#[cfg(all(target_os = "linux", not(miri)))]
fn prefer_large_pages(address: usize, size: usize) {
    // A multiple of the page size of every machine.
    const LARGE: usize = 2 << 20;
    let first = address.next_multiple_of(LARGE);
    let size = (address + size - first) / LARGE * LARGE;
    // SAFETY: the pages keep what they contain. An error leaves them as they are.
    unsafe {
        libc::madvise(
            std::ptr::without_provenance_mut(first),
            size,
            libc::MADV_HUGEPAGE,
        )
    };
}

#[cfg(not(all(target_os = "linux", not(miri))))]
fn prefer_large_pages(_: usize, _: usize) {}
