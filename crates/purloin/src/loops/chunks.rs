//! Chunks: slices in pieces of a given size, as the iterations of a loop.

use std::iter::Rev;
use std::mem;
use std::ops::ControlFlow;
use std::slice;

use super::{ExactIterations, IntoIterations, Iterations, ReversibleIterations};

/// Returns the pieces of a slice as the iterations of a loop. Each piece has `size` elements; the
/// last one may have fewer.
///
/// # Panics
///
/// Panics if `size` is 0.
pub(crate) fn chunks<T>(slice: &[T], size: usize) -> Chunks<'_, T> {
    assert!(size > 0, "the size of chunks must be at least 1");
    Chunks { slice, size }
}

/// Returns the pieces of a mutable slice as the iterations of a loop. Each piece has `size`
/// elements; the last one may have fewer.
///
/// # Panics
///
/// Panics if `size` is 0.
pub(crate) fn chunks_mut<T>(slice: &mut [T], size: usize) -> ChunksMut<'_, T> {
    assert!(size > 0, "the size of chunks must be at least 1");
    ChunksMut { slice, size }
}

/// Returns the pieces of a slice that have exactly `size` elements. The elements that are left at
/// the end belong to no piece.
///
/// # Panics
///
/// Panics if `size` is 0.
pub(crate) fn chunks_exact<T>(slice: &[T], size: usize) -> ChunksExact<'_, T> {
    assert!(size > 0, "the size of chunks must be at least 1");
    let whole = slice.len() - slice.len() % size;
    ChunksExact {
        slice: &slice[..whole],
        size,
    }
}

/// Returns the pieces of a mutable slice that have exactly `size` elements. The elements that are
/// left at the end belong to no piece.
///
/// # Panics
///
/// Panics if `size` is 0.
pub(crate) fn chunks_exact_mut<T>(slice: &mut [T], size: usize) -> ChunksExactMut<'_, T> {
    assert!(size > 0, "the size of chunks must be at least 1");
    let whole = slice.len() - slice.len() % size;
    ChunksExactMut {
        slice: &mut slice[..whole],
        size,
    }
}

/// Defines the type of the pieces that a function returns, over slices of type `$Slice`.
macro_rules! pieces {
    ($($Chunks:ident: [$function:literal], $Slice:ty, $Bound:ident, $split_at:ident, $chunks:ident;)*) => {
        $(
            #[doc = concat!("The pieces of a slice, from [`Par::", $function, "`](crate::iter::Par::", $function, ").")]
            #[derive(Debug)]
            pub struct $Chunks<'s, T> {
                slice: $Slice,
                size: usize,
            }

            impl<T> $Chunks<'_, T> {
                /// Returns the number of elements in the first `len` pieces.
                #[inline]
                fn width(&self, len: usize) -> usize {
                    len.saturating_mul(self.size).min(self.slice.len())
                }
            }

            impl<'s, T> $Chunks<'s, T> {
                /// Removes the elements of the first `len` pieces.
                #[inline]
                fn front(&mut self, len: usize) -> $Slice {
                    let width = self.width(len);
                    let (front, rest) = mem::take(&mut self.slice).$split_at(width);
                    self.slice = rest;
                    front
                }
            }

            impl<'s, T: $Bound> Iterations for $Chunks<'s, T> {
                type Item = $Slice;
                type Strip<'p>
                    = slice::$Chunks<'s, T>
                where
                    Self: 'p;

                const IS_EXACT: bool = true;

                #[inline]
                fn remaining(&self) -> usize {
                    self.slice.len().div_ceil(self.size)
                }

                #[inline]
                fn split_at(self, index: usize) -> (Self, Self) {
                    let (width, size) = (self.width(index), self.size);
                    let (front, back) = self.slice.$split_at(width);
                    ($Chunks { slice: front, size }, $Chunks { slice: back, size })
                }

                #[inline]
                fn strip(&mut self, len: usize) -> slice::$Chunks<'s, T> {
                    self.front(len).$chunks(self.size)
                }

                #[inline]
                fn fold_strip<A>(
                    &mut self,
                    len: usize,
                    sum: A,
                    mut step: impl FnMut(A, $Slice) -> ControlFlow<A, A>,
                ) -> ControlFlow<A, A> {
                    let front = self.front(len);
                    with_size!(self.size, |size| front.$chunks(size).try_fold(sum, &mut step))
                }
            }

            impl<'s, T: $Bound> ReversibleIterations for $Chunks<'s, T> {
                type Back<'p>
                    = Rev<slice::$Chunks<'s, T>>
                where
                    Self: 'p;

                #[inline]
                fn strip_back(&mut self, len: usize) -> Self::Back<'_> {
                    let width = self.width(self.remaining() - len);
                    let (rest, strip) = mem::take(&mut self.slice).$split_at(width);
                    self.slice = rest;
                    strip.$chunks(self.size).rev()
                }
            }

            impl<T: $Bound> ExactIterations for $Chunks<'_, T> {}

            into_iterations! {
                ['s, T: $Bound] $Chunks<'s, T>,
            }
        )*
    };
}

pieces! {
    Chunks: ["chunks"], &'s [T], Sync, split_at, chunks;
    ChunksMut: ["chunks"], &'s mut [T], Send, split_at_mut, chunks_mut;
    ChunksExact: ["chunks_exact"], &'s [T], Sync, split_at, chunks_exact;
    ChunksExactMut: ["chunks_exact"], &'s mut [T], Send, split_at_mut, chunks_exact_mut;
}
