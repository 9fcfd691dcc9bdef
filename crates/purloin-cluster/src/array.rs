//! Data that is too large for a task: [`GlobalArray`] and [`GlobalMin`].

use std::marker::PhantomData;
use std::ops::Range;

use bytemuck::{Pod, cast_slice};
use mpi::ffi;

use crate::transport::Window;
use crate::{Cluster, Error};

/// An array whose elements lie on all ranks, in blocks that are dealt round-robin.
///
/// Any task on any rank copies from it and to it, without the help of the rank on which
/// the elements lie. What a task has [`put`](GlobalArray::put) is there for tasks that it
/// spawns afterwards, and for the one that waits for it. Tasks that use the same elements
/// without waiting for each other, one of them writing, find any mixture of old and new;
/// only what is [accumulated](GlobalArray::accumulate) adds up.
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

/// The most bytes that MPI is asked to copy at a time: it counts in `int`s.
const MOST_BYTES: usize = 1 << 30;

impl<E: Pod> GlobalArray<E> {
    /// Makes an array of `len` elements, all of them zero bytes, in blocks of `block`; on
    /// all ranks together.
    ///
    /// # Errors
    ///
    /// If a rank has no memory for its part, or ranks want different lengths.
    ///
    /// # Panics
    ///
    /// If `block` is 0.
    pub fn new(cluster: &Cluster, len: usize, block: usize) -> Result<Self, Error> {
        assert!(block > 0, "a block has at least one element");
        cluster.agree("array lengths", &(len, block))?;
        // No more than there is.
        let block = block.min(len.max(1));
        let blocks = len.div_ceil(block);
        let (rank, ranks) = (cluster.rank(), cluster.ranks());
        let mine = blocks / ranks + usize::from(blocks % ranks > rank);
        // Too many bytes to count are too many to have.
        let bytes = mine.saturating_mul(block).saturating_mul(size_of::<E>());
        Ok(GlobalArray {
            window: Window::allocate(cluster.world(), bytes)?,
            len,
            block,
            elements: PhantomData,
        })
    }

    /// How many elements there are.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// How many elements a block has.
    pub fn block_len(&self) -> usize {
        self.block
    }

    /// How many blocks there are; the last may be shorter.
    pub fn blocks(&self) -> usize {
        self.len.div_ceil(self.block)
    }

    /// The rank on which a block lies.
    pub fn owner(&self, block: usize) -> usize {
        block % self.window.world().ranks()
    }

    /// The blocks that lie on this rank.
    pub fn local_blocks(&self) -> impl Iterator<Item = usize> + use<E> {
        let world = self.window.world();
        (world.rank()..self.blocks()).step_by(world.ranks())
    }

    /// Copies the elements from `start` on into `into`.
    ///
    /// # Panics
    ///
    /// If there are not as many.
    pub fn get(&self, start: usize, into: &mut [E]) {
        let mut transfers = Vec::new();
        self.for_each_part(start, into.len(), |rank, offset, range| {
            let part = &mut into[range];
            let len = size_of_val(part);
            let to = part.as_mut_ptr().cast::<u8>();
            if rank == self.window.world().rank() {
                self.window.sync();
                // SAFETY: as many bytes of this rank's part, which others may change
                // meanwhile: any bytes are elements.
                unsafe { self.window.local(offset).copy_to_nonoverlapping(to, len) };
            } else {
                // SAFETY: there is room, borrowed until all transfers have ended.
                transfers.push(unsafe { self.window.get(rank, offset, to, len) });
            }
        });
        for transfer in transfers {
            transfer.wait(self.window.world());
        }
    }

    /// Copies `from` to the elements from `start` on. They are there when it returns.
    ///
    /// # Panics
    ///
    /// If there are not as many.
    pub fn put(&self, start: usize, from: &[E]) {
        self.for_each_part(start, from.len(), |rank, offset, range| {
            let part: &[u8] = cast_slice(&from[range]);
            if rank == self.window.world().rank() {
                let to = self.window.local(offset);
                // SAFETY: as many bytes of this rank's part.
                unsafe { to.copy_from_nonoverlapping(part.as_ptr(), part.len()) };
                self.window.sync();
            } else {
                self.window.put(rank, offset, part);
            }
        });
    }

    /// Adds `from` to the elements from `start` on, each atomically with respect to other
    /// such additions. They are done when it returns.
    ///
    /// # Panics
    ///
    /// If there are not as many elements.
    pub fn accumulate(&self, start: usize, from: &[E])
    where
        E: Number,
    {
        self.for_each_part(start, from.len(), |rank, offset, range| {
            let part = &from[range];
            // SAFETY: elements of this type.
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

    /// Calls `action` for each part of some elements that lies together: on which rank, at
    /// which offset, and which of them.
    fn for_each_part(
        &self,
        start: usize,
        len: usize,
        mut action: impl FnMut(usize, usize, Range<usize>),
    ) {
        let end = start.checked_add(len).filter(|&end| end <= self.len);
        assert!(
            end.is_some(),
            "elements {start} to {start} + {len} of an array of {}",
            self.len
        );
        let ranks = self.window.world().ranks();
        let most = (MOST_BYTES / size_of::<E>().max(1)).max(1);
        let mut done = 0;
        while done < len {
            let (block, first) = ((start + done) / self.block, (start + done) % self.block);
            let count = (self.block - first).min(len - done).min(most);
            let offset = (block / ranks * self.block + first) * size_of::<E>();
            action(block % ranks, offset, done..done + count);
            done += count;
        }
    }
}

/// Numbers that MPI can add.
pub trait Number: Pod + sealed::Sealed {
    /// What MPI calls it.
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
                    // SAFETY: a constant.
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
