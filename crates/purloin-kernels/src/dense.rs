//! Dense square blocks, stored in row-major order: products, images of vectors, and comparison.

use crate::random::SplitMix;

/// The largest number of rows of a block.
pub const MAX_SIDE: usize = 256;

/// The number of columns of a product that are computed at once. Together with two rows, their sums
/// take eight of the 16 vector registers, of two doubles each. This shape was the fastest of those
/// measured, from 2 × 4 to 4 × 8.
const WIDTH: usize = 8;

/// Some columns of a right factor, copied so that its rows are contiguous. In the whole block, the
/// rows are so far apart that they compete for the same few sets of the first-level cache.
type Strip = [[f64; WIDTH]];

/// Adds `scale` times `left`·`right` to `target`.
///
/// This function does most of the work of `sparselu` and `strassen`. It is not generic, so that only one copy
/// exists.
///
/// # Panics
///
/// Panics if `side` is more than [`MAX_SIDE`], or if a block is not `side` by `side`.
#[inline(never)]
pub fn add_product(side: usize, target: &mut [f64], left: &[f64], right: &[f64], scale: f64) {
    assert!([target.len(), left.len(), right.len()] == [side * side; 3]);
    let mut strip = [[0.0; WIDTH]; MAX_SIDE];
    let strip = &mut strip[..side];
    for first in (0..side).step_by(WIDTH) {
        let columns = first..side.min(first + WIDTH);
        for (line, row) in strip.iter_mut().zip(right.chunks_exact(side)) {
            for (number, right) in line.iter_mut().zip(&row[columns.clone()]) {
                *number = scale * right;
            }
        }
        let mut targets = target.chunks_exact_mut(2 * side);
        let mut lefts = left.chunks_exact(2 * side);
        for (target, left) in targets.by_ref().zip(lefts.by_ref()) {
            let (upper, lower) = target.split_at_mut(side);
            let targets = [&mut upper[columns.clone()], &mut lower[columns.clone()]];
            let (upper, lower) = left.split_at(side);
            add_rows(targets, [upper, lower], strip);
        }
        // The last row, if the number of rows is odd.
        let target = targets.into_remainder();
        if !target.is_empty() {
            add_rows([&mut target[columns]], [lefts.remainder()], strip);
        }
    }
}

/// Adds the products of `ROWS` rows of a left factor and a strip to the strip's columns of `ROWS`
/// target rows.
#[inline(always)]
fn add_rows<const ROWS: usize>(targets: [&mut [f64]; ROWS], rows: [&[f64]; ROWS], strip: &Strip) {
    let rows = rows.map(|row| &row[..strip.len()]);
    let mut sums = [[0.0; WIDTH]; ROWS];
    for (k, line) in strip.iter().enumerate() {
        for (sums, row) in sums.iter_mut().zip(&rows) {
            for (sum, right) in sums.iter_mut().zip(line) {
                *sum += row[k] * right;
            }
        }
    }
    for (target, sums) in targets.into_iter().zip(&sums) {
        for (number, sum) in target.iter_mut().zip(sums) {
            *number += sum;
        }
    }
}

/// Adds `block`·`vector` to `target`.
pub fn add_image(target: &mut [f64], block: &[f64], vector: &[f64]) {
    for (number, row) in target.iter_mut().zip(block.chunks_exact(vector.len())) {
        *number += dot(row, vector);
    }
}

/// Returns the scalar product of two vectors.
pub fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// Returns whether two vectors are equal except for rounding: no element differs by more than a
/// billionth of the largest element.
pub fn are_close(expected: &[f64], found: &[f64]) -> bool {
    let magnitudes = expected.iter().map(|number| number.abs());
    let greatest = magnitudes.fold(0.0, f64::max);
    let mut pairs = expected.iter().zip(found);
    // The comparison is false if one of the two is not a number.
    expected.len() == found.len() && pairs.all(|(a, b)| (a - b).abs() <= 1e-9 * greatest)
}

/// Fills a block with random numbers from -½ to below ½, the same in each run and on
/// each machine.
pub fn fill_randomly(seed: u64, numbers: &mut [f64]) {
    let mut random = SplitMix::hashed(seed);
    numbers.fill_with(|| random.unit() - 0.5);
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// Returns a random block.
    pub fn random(side: usize, seed: u64) -> Vec<f64> {
        let mut block = vec![0.0; side * side];
        fill_randomly(seed, &mut block);
        block
    }

    /// Returns *a*·*b*, computed by the definition.
    pub fn product(side: usize, a: &[f64], b: &[f64]) -> Vec<f64> {
        let at = |place: usize| {
            let (i, j) = (place / side, place % side);
            (0..side).map(|k| a[i * side + k] * b[k * side + j]).sum()
        };
        (0..side * side).map(at).collect()
    }

    #[test]
    fn products_of_blocks_of_any_side_are_right() {
        for side in (1..=20).chain([64, 67, MAX_SIDE]) {
            let [mut sum, a, b] = [1, 2, 3].map(|seed| random(side, seed));
            let before = sum.clone();
            add_product(side, &mut sum, &a, &b, -2.0);
            let terms = before.iter().zip(product(side, &a, &b));
            let expected = terms.map(|(before, product)| before - 2.0 * product);
            assert!(are_close(&expected.collect::<Vec<_>>(), &sum), "{side}");
        }
    }

    #[test]
    fn the_image_of_a_vector_is_a_product_with_a_column() {
        let mut image = [1.0, 2.0];
        add_image(&mut image, &[1.0, 2.0, 3.0, 4.0], &[10.0, 100.0]);
        assert_eq!(image, [211.0, 432.0]);
    }

    #[test]
    fn nothing_is_close_to_nan() {
        assert!(are_close(&[1.0, 1e-10], &[1.0, 0.0]));
        assert!(!are_close(&[1.0, 1e-8], &[1.0, 0.0]));
        assert!(!are_close(&[1.0, 0.0], &[1.0, f64::NAN]));
        assert!(!are_close(&[1.0, f64::NAN], &[1.0, f64::NAN]));
        assert!(!are_close(&[1.0, 2.0], &[1.0]));
    }
}
