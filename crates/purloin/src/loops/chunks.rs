//! Chunks: slices in pieces of a given size, as the iterations of a loop.

use std::mem;
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

/// The pieces of a slice, from [`chunks`] or [`chunks_exact`].
#[derive(Debug)]
pub struct Chunks<'s, T> {
    slice: &'s [T],
    size: usize,
}

/// The pieces of a mutable slice, from [`chunks_mut`] or [`chunks_exact_mut`].
#[derive(Debug)]
pub struct ChunksMut<'s, T> {
    slice: &'s mut [T],
    size: usize,
}

impl<'s, T> Chunks<'s, T> {
    /// Removes the last `len` pieces.
    pub(super) fn take_back(&mut self, len: usize) -> slice::Chunks<'s, T> {
        let rest = self.slice.len().div_ceil(self.size) - len;
        let middle = rest.saturating_mul(self.size).min(self.slice.len());
        let (rest, back) = self.slice.split_at(middle);
        self.slice = rest;
        back.chunks(self.size)
    }
}

impl<'s, T> ChunksMut<'s, T> {
    /// Removes the last `len` pieces.
    pub(super) fn take_back(&mut self, len: usize) -> slice::ChunksMut<'s, T> {
        let rest = self.slice.len().div_ceil(self.size) - len;
        let middle = rest.saturating_mul(self.size).min(self.slice.len());
        let (rest, back) = mem::take(&mut self.slice).split_at_mut(middle);
        self.slice = rest;
        back.chunks_mut(self.size)
    }
}

/// Returns the pieces of a slice that have exactly `size` elements. The elements that are left at
/// the end belong to no piece.
///
/// ```
/// use purloin::{Serial, Worker, chunks_exact};
///
/// let numbers = [1, 2, 3, 4, 5];
/// assert!(Serial.all(chunks_exact(&numbers, 2), |pair| pair.len() == 2));
/// ```
///
/// # Panics
///
/// Panics if `size` is 0.
pub fn chunks_exact<T>(slice: &[T], size: usize) -> Chunks<'_, T> {
    assert!(size > 0, "the size of chunks must be at least 1");
    chunks(&slice[..slice.len() - slice.len() % size], size)
}

/// Returns the pieces of a mutable slice that have exactly `size` elements. The elements that are
/// left at the end belong to no piece.
///
/// ```
/// use purloin::{Serial, Worker, chunks_exact_mut};
///
/// let mut numbers = [3, 1, 2, 9, 5];
/// Serial.for_each(chunks_exact_mut(&mut numbers, 2), |pair| pair.sort());
/// assert_eq!(numbers, [1, 3, 2, 9, 5]);
/// ```
///
/// # Panics
///
/// Panics if `size` is 0.
pub fn chunks_exact_mut<T>(slice: &mut [T], size: usize) -> ChunksMut<'_, T> {
    assert!(size > 0, "the size of chunks must be at least 1");
    let len = slice.len() - slice.len() % size;
    chunks_mut(&mut slice[..len], size)
}

impl<'s, T: Sync> Iterations for Chunks<'s, T> {
    type Item = &'s [T];
    type Strip<'p>
        = slice::Chunks<'s, T>
    where
        Self: 'p;

    fn remaining(&self) -> usize {
        self.slice.len().div_ceil(self.size)
    }

    fn split_at(self, index: usize) -> (Self, Self) {
        let middle = index.saturating_mul(self.size).min(self.slice.len());
        let (front, back) = self.slice.split_at(middle);
        (chunks(front, self.size), chunks(back, self.size))
    }

    fn strip(&mut self, len: usize) -> slice::Chunks<'s, T> {
        let middle = len.saturating_mul(self.size).min(self.slice.len());
        let (strip, rest) = self.slice.split_at(middle);
        self.slice = rest;
        strip.chunks(self.size)
    }
}

impl<'s, T: Send> Iterations for ChunksMut<'s, T> {
    type Item = &'s mut [T];
    type Strip<'p>
        = slice::ChunksMut<'s, T>
    where
        Self: 'p;

    fn remaining(&self) -> usize {
        self.slice.len().div_ceil(self.size)
    }

    fn split_at(self, index: usize) -> (Self, Self) {
        let middle = index.saturating_mul(self.size).min(self.slice.len());
        let (front, back) = self.slice.split_at_mut(middle);
        (chunks_mut(front, self.size), chunks_mut(back, self.size))
    }

    fn strip(&mut self, len: usize) -> slice::ChunksMut<'s, T> {
        let middle = len.saturating_mul(self.size).min(self.slice.len());
        let (strip, rest) = mem::take(&mut self.slice).split_at_mut(middle);
        self.slice = rest;
        strip.chunks_mut(self.size)
    }
}
