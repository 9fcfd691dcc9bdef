//! The steps of an LU factorisation on dense square blocks, stored in row-major order.
//!
//! These functions do most of the kernel's work. They are not generic, so that only one copy of
//! each exists.

use crate::dense::dot;

/// Subtracts `factor` times `other` from `row`.
#[inline(always)]
fn subtract(row: &mut [f64], factor: f64, other: &[f64]) {
    for (number, other) in row.iter_mut().zip(other) {
        *number -= factor * other;
    }
}

/// Replaces a block by its factors: *l* below the diagonal, and *u* from the diagonal on. The ones
/// on the diagonal of *l* are not stored.
#[inline(never)]
pub fn factor(side: usize, block: &mut [f64]) {
    for k in 0..side {
        let (above, below) = block.split_at_mut((k + 1) * side);
        let pivots = &above[k * side..];
        for row in below.chunks_exact_mut(side) {
            row[k] /= pivots[k];
            let factor = row[k];
            subtract(&mut row[k + 1..], factor, &pivots[k + 1..]);
        }
    }
}

/// Replaces a block *b* by the solution *x* of *l*·*x* = *b*, where *l* is the lower factor in
/// `factors`.
#[inline(never)]
pub fn solve_lower(side: usize, block: &mut [f64], factors: &[f64]) {
    for (i, factors) in factors.chunks_exact(side).enumerate() {
        let (above, row) = block.split_at_mut(i * side);
        let row = &mut row[..side];
        for (above, &factor) in above.chunks_exact(side).zip(factors) {
            subtract(row, factor, above);
        }
    }
}

/// Replaces a block *b* by the solution *x* of *x*·*u* = *b*, where *u* is the upper factor in
/// `factors`.
#[inline(never)]
pub fn solve_upper(side: usize, block: &mut [f64], factors: &[f64]) {
    for row in block.chunks_exact_mut(side) {
        for (k, pivots) in factors.chunks_exact(side).enumerate() {
            row[k] /= pivots[k];
            let factor = row[k];
            subtract(&mut row[k + 1..], factor, &pivots[k + 1..]);
        }
    }
}

/// Adds *u*·`vector` to `target`, where *u* is the upper factor in `factors`.
pub fn add_upper_image(target: &mut [f64], factors: &[f64], vector: &[f64]) {
    let rows = factors.chunks_exact(vector.len());
    for (k, (number, row)) in target.iter_mut().zip(rows).enumerate() {
        *number += dot(&row[k..], &vector[k..]);
    }
}

/// Adds *l*·`vector` to `target`, where *l* is the lower factor in `factors`.
pub fn add_lower_image(target: &mut [f64], factors: &[f64], vector: &[f64]) {
    let rows = factors.chunks_exact(vector.len());
    for (k, (number, row)) in target.iter_mut().zip(rows).enumerate() {
        *number += dot(&row[..k], vector) + vector[k];
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dense::tests::{product, random};
    use crate::dense::{add_image, are_close};

    const SIDES: [usize; 5] = [1, 2, 7, 16, 33];

    /// Returns a diagonally dominant block.
    fn dominant(side: usize) -> Vec<f64> {
        let mut block = random(side, 1);
        for diagonal in block.iter_mut().step_by(side + 1) {
            *diagonal += side as f64;
        }
        block
    }

    /// Returns the factors of a block: both in one block, the lower, and the upper.
    fn factors(side: usize) -> (Vec<f64>, Vec<f64>, Vec<f64>) {
        let mut both = dominant(side);
        factor(side, &mut both);
        let (mut lower, mut upper) = (both.clone(), both.clone());
        for (place, (lower, upper)) in lower.iter_mut().zip(&mut upper).enumerate() {
            match (place / side).cmp(&(place % side)) {
                std::cmp::Ordering::Less => *lower = 0.0,
                std::cmp::Ordering::Equal => *lower = 1.0,
                std::cmp::Ordering::Greater => *upper = 0.0,
            }
        }
        (both, lower, upper)
    }

    #[test]
    fn the_product_of_the_factors_is_the_block() {
        for side in SIDES {
            let (_, lower, upper) = factors(side);
            assert!(are_close(&dominant(side), &product(side, &lower, &upper)));
        }
    }

    #[test]
    fn a_solution_times_the_factor_is_the_block() {
        for side in SIDES {
            let (both, lower, upper) = factors(side);
            let block = random(side, 2);
            let mut solution = block.clone();
            solve_lower(side, &mut solution, &both);
            assert!(are_close(&block, &product(side, &lower, &solution)));
            let mut solution = block.clone();
            solve_upper(side, &mut solution, &both);
            assert!(are_close(&block, &product(side, &solution, &upper)));
        }
    }

    #[test]
    fn images_under_combined_factors_equal_those_under_separate_factors() {
        for side in SIDES {
            let (both, lower, upper) = factors(side);
            let vector = &random(side, 2)[..side];
            let image = |add: fn(&mut [f64], &[f64], &[f64]), block: &[f64]| {
                let mut image = vec![1.0; side];
                add(&mut image, block, vector);
                image
            };
            let found = image(add_lower_image, &both);
            assert!(are_close(&image(add_image, &lower), &found));
            let found = image(add_upper_image, &both);
            assert!(are_close(&image(add_image, &upper), &found));
        }
    }
}
