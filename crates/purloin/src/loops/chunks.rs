//! Chunks: slices in pieces of a given size, as the iterations of a loop.

use std::slice;

use super::Iterations;

/// Returns the pieces of a slice as the iterations of a loop. Each piece has `size` elements; the
/// last one may have fewer.
///
/// ```
/// use purloin::{Serial, Worker, chunks};
///
/// let numbers = [1, 2, 3, 4, 5];
/// let largest = Serial.map_reduce(chunks(&numbers, 2), |pair| pair.iter().sum(), i32::max);
/// assert_eq!(largest, Some(7));
/// ```
///
/// # Panics
///
/// Panics if `size` is 0.
pub fn chunks<T>(slice: &[T], size: usize) -> Chunks<'_, T> {
    assert!(size > 0, "the size of chunks must be at least 1");
    Chunks { slice, size }
}

/// Returns the pieces of a mutable slice as the iterations of a loop. Each piece has `size`
/// elements; the last one may have fewer.
///
/// ```
/// use purloin::{Serial, Worker, chunks_mut};
///
/// let mut numbers = [3, 2, 1, 5, 4];
/// Serial.for_each(chunks_mut(&mut numbers, 3), |part| part.sort());
/// assert_eq!(numbers, [1, 2, 3, 4, 5]);
/// ```
///
/// # Panics
///
/// Panics if `size` is 0.
pub fn chunks_mut<T>(slice: &mut [T], size: usize) -> ChunksMut<'_, T> {
    assert!(size > 0, "the size of chunks must be at least 1");
    ChunksMut { slice, size }
}

/// The pieces of a slice, from [`chunks`].
#[derive(Debug)]
pub struct Chunks<'s, T> {
    slice: &'s [T],
    size: usize,
}

/// The pieces of a mutable slice, from [`chunks_mut`].
#[derive(Debug)]
pub struct ChunksMut<'s, T> {
    slice: &'s mut [T],
    size: usize,
}

impl<'s, T: Sync> Iterations for Chunks<'s, T> {
    type Item = &'s [T];
    type Iter = slice::Chunks<'s, T>;

    fn remaining(&self) -> usize {
        self.slice.len().div_ceil(self.size)
    }

    fn split_at(self, index: usize) -> (Self, Self) {
        let middle = index.saturating_mul(self.size).min(self.slice.len());
        let (front, back) = self.slice.split_at(middle);
        (chunks(front, self.size), chunks(back, self.size))
    }

    fn in_order(self) -> Self::Iter {
        self.slice.chunks(self.size)
    }
}

impl<'s, T: Send> Iterations for ChunksMut<'s, T> {
    type Item = &'s mut [T];
    type Iter = slice::ChunksMut<'s, T>;

    fn remaining(&self) -> usize {
        self.slice.len().div_ceil(self.size)
    }

    fn split_at(self, index: usize) -> (Self, Self) {
        let middle = index.saturating_mul(self.size).min(self.slice.len());
        let (front, back) = self.slice.split_at_mut(middle);
        (chunks_mut(front, self.size), chunks_mut(back, self.size))
    }

    fn in_order(self) -> Self::Iter {
        self.slice.chunks_mut(self.size)
    }
}
