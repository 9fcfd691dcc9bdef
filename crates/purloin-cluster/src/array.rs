//! Data that is too large for a task: [`GlobalArray`].

use std::marker::PhantomData;
use std::ops::Range;

use bytemuck::{Pod, cast_slice};
use mpi::ffi;

use crate::transport::Window;
use crate::{Cluster, Error};

/// An array that is distributed over all ranks, in blocks that are assigned round-robin.
///
/// Any task on any rank can read and write any element. The rank that holds the element takes no
/// part in the transfer. Elements that a task [puts](GlobalArray::put) are visible to tasks that it
/// spawns afterwards, and to a task that waits for it. If two tasks access the same elements
/// without one waiting for the other, and one of them writes, the reader may see any mixture of old
/// and new bytes. Only [accumulated](GlobalArray::accumulate) values always add up.
///
/// ```no_run
/// # use purloin_cluster::{Cluster, Error, GlobalArray};
/// # fn example(cluster: &Cluster) -> Result<(), Error> {
/// // A thousand blocks of 64 × 64 elements.
/// let array = GlobalArray::<f64>::new(cluster, 1000 * 64 * 64, 64 * 64)?;
/// let mut block = vec![0.0; 64 * 64];
/// array.get(17 * 64 * 64, &mut block);
/// array.accumulate(18 * 64 * 64, &block);
/// # Ok(())
/// # }
/// ```
pub struct GlobalArray<E> {
    window: Window,
    len: usize,
    block: usize,
    elements: PhantomData<E>,
}

/// The largest transfer, in bytes. MPI counts elements in C `int`s.
const MAX_TRANSFER: usize = 1 << 30;

impl<E: Pod> GlobalArray<E> {
    /// Creates an array of `len` elements, filled with zero bytes, in blocks of `block`
    /// elements. All ranks must call this function.
    ///
    /// # Errors
    ///
    /// Returns an error if a rank lacks memory for its part, or if ranks pass different
    /// lengths.
    ///
    /// # Panics
    ///
    /// Panics if `block` is 0.
    pub fn new(cluster: &Cluster, len: usize, block: usize) -> Result<Self, Error> {
        assert!(block > 0, "a block has at least one element");
        cluster.agree("array lengths", &(len, block))?;
        // A single block longer than the array would waste memory.
        let block = block.min(len.max(1));
        let blocks = len.div_ceil(block);
        let (rank, ranks) = (cluster.rank(), cluster.ranks());
        let mine = blocks / ranks + usize::from(blocks % ranks > rank);
        // A size that overflows saturates, and the allocation then refuses it as too large.
        let bytes = mine.saturating_mul(block).saturating_mul(size_of::<E>());
        Ok(GlobalArray {
            window: Window::allocate(cluster.world(), bytes)?,
            len,
            block,
            elements: PhantomData,
        })
    }

    /// Returns the number of elements.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Returns whether the array has no elements.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Returns the number of elements in a block.
    pub fn block_len(&self) -> usize {
        self.block
    }

    /// Returns the number of blocks. The last block may be shorter than the others.
    pub fn blocks(&self) -> usize {
        self.len.div_ceil(self.block)
    }

    /// Returns the rank that holds a block.
    pub fn owner(&self, block: usize) -> usize {
        block % self.window.world().ranks()
    }

    /// Returns the blocks that this rank holds.
    pub fn local_blocks(&self) -> impl Iterator<Item = usize> + use<E> {
        let world = self.window.world();
        (world.rank()..self.blocks()).step_by(world.ranks())
    }

    /// Copies elements, beginning with `start`, into `into`.
    ///
    /// # Panics
    ///
    /// Panics if the array has no such elements.
    pub fn get(&self, start: usize, into: &mut [E]) {
        let mut transfers = Vec::new();
        self.for_each_part(start, into.len(), |rank, offset, range| {
            let part = &mut into[range];
            let len = size_of_val(part);
            let to = part.as_mut_ptr().cast::<u8>();
            if rank == self.window.world().rank() {
                self.window.sync();
                // SAFETY: `for_each_part` keeps the offset and length inside this rank's part
                // of the window. Other ranks may write there during the copy, but any bytes
                // are a valid `Pod` element.
                unsafe { self.window.local(offset).copy_to_nonoverlapping(to, len) };
            } else {
                // SAFETY: `part` has room for `len` bytes, and `into` stays borrowed until the
                // loop below has waited for all transfers.
                transfers.push(unsafe { self.window.get(rank, offset, to, len) });
            }
        });
        for transfer in transfers {
            transfer.wait(self.window.world());
        }
    }

    /// Copies `from` into the elements that begin with `start`. The elements have their new
    /// values when this function returns.
    ///
    /// # Panics
    ///
    /// Panics if the array has no such elements.
    pub fn put(&self, start: usize, from: &[E]) {
        self.for_each_part(start, from.len(), |rank, offset, range| {
            let part: &[u8] = cast_slice(&from[range]);
            if rank == self.window.world().rank() {
                let to = self.window.local(offset);
                // SAFETY: `for_each_part` keeps the offset and length inside this rank's part
                // of the window, which does not overlap the caller's slice.
                unsafe { to.copy_from_nonoverlapping(part.as_ptr(), part.len()) };
                self.window.sync();
            } else {
                self.window.put(rank, offset, part);
            }
        });
    }

    /// Adds `from` to the elements that begin with `start`. Each addition is atomic with
    /// respect to other additions by this function, and complete when the function returns.
    ///
    /// # Panics
    ///
    /// Panics if the array has no such elements.
    pub fn accumulate(&self, start: usize, from: &[E])
    where
        E: Number,
    {
        self.for_each_part(start, from.len(), |rank, offset, range| {
            let part = &from[range];
            // SAFETY: `part` has `part.len()` elements, whose type in MPI is `datatype`, as
            // the sealed trait `Number` guarantees.
            unsafe {
                self.window.add_elements(
                    rank,
                    offset,
                    part.as_ptr().cast(),
                    part.len(),
                    E::datatype(),
                );
            }
        });
    }

    /// Splits `len` elements that begin with `start` into parts that are contiguous on one
    /// rank. Calls `action` for each part with the rank, the offset in bytes in that rank's
    /// part of the window, and the range within the `len` elements.
    fn for_each_part(
        &self,
        start: usize,
        len: usize,
        mut action: impl FnMut(usize, usize, Range<usize>),
    ) {
        let end = start.checked_add(len).filter(|&end| end <= self.len);
        assert!(
            end.is_some(),
            "elements {start} to {start} + {len} are out of range for an array of {}",
            self.len
        );
        let ranks = self.window.world().ranks();
        let max = (MAX_TRANSFER / size_of::<E>().max(1)).max(1);
        let mut done = 0;
        while done < len {
            let (block, first) = ((start + done) / self.block, (start + done) % self.block);
            let count = (self.block - first).min(len - done).min(max);
            let offset = (block / ranks * self.block + first) * size_of::<E>();
            action(block % ranks, offset, done..done + count);
            done += count;
        }
    }
}

/// Types of numbers that MPI can add.
pub trait Number: Pod + sealed::Sealed {
    /// Returns MPI's name of the type.
    #[doc(hidden)]
    fn datatype() -> ffi::MPI_Datatype;
}

mod sealed {
    pub trait Sealed {}
}

macro_rules! numbers {
    ($($number:ty: $datatype:ident),* $(,)?) => {
        $(
            impl sealed::Sealed for $number {}

            impl Number for $number {
                fn datatype() -> ffi::MPI_Datatype {
                    // SAFETY: this is a constant of the MPI library.
                    unsafe { ffi::$datatype }
                }
            }
        )*
    };
}

numbers! {
    f64: RSMPI_DOUBLE,
    f32: RSMPI_FLOAT,
    u64: RSMPI_UINT64_T,
    i64: RSMPI_INT64_T,
    u32: RSMPI_UINT32_T,
    i32: RSMPI_INT32_T,
}
