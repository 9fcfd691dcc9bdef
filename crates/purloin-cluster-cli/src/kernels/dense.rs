//! Products of dense square blocks, which lie in memory row by row.

/// The longest side of a block.
pub const LONGEST: usize = 256;

/// Columns of a product that are computed at once. With two rows, their sums take
/// eight of the 16 registers for two doubles; of the shapes from 2 × 4 to 4 × 8, this
/// was the fastest.
const WIDTH: usize = 8;

/// Some columns of a right factor, side by side: in the whole block, its rows would be so
/// far apart that they contend for the same few places of the first-level cache.
type Strip = [[f64; WIDTH]];

/// Adds `scale` times `left`·`right` to `target`.
///
/// Not generic, so that there is one copy of it: it is most of the work of two kernels.
///
/// # Panics
///
/// If `side` is more than [`LONGEST`], or a block is not `side` by `side`.
#[inline(never)]
pub fn add_product(side: usize, target: &mut [f64], left: &[f64], right: &[f64], scale: f64) {
    assert!([target.len(), left.len(), right.len()] == [side * side; 3]);
    let mut strip = [[0.0; WIDTH]; LONGEST];
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
        // The last row, if they are odd.
        let target = targets.into_remainder();
        if !target.is_empty() {
            add_rows([&mut target[columns]], [lefts.remainder()], strip);
        }
    }
}

/// Adds the products of some rows with a strip to those columns of as many rows.
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

/// The sum of the products of their numbers.
pub fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// Whether these are as expected but for rounding: each differs by at most a billionth of
/// the greatest.
pub fn are_close(expected: &[f64], found: &[f64]) -> bool {
    let magnitudes = expected.iter().map(|number| number.abs());
    let greatest = magnitudes.fold(0.0, f64::max);
    let mut pairs = expected.iter().zip(found);
    // What is not a number is not close to any.
    expected.len() == found.len() && pairs.all(|(a, b)| (a - b).abs() <= 1e-9 * greatest)
}

#[cfg(test)]
pub mod tests {
    use super::super::random::Random;
    use super::*;

    /// A block that looks random.
    pub fn random(side: usize, seed: u64) -> Vec<f64> {
        let mut block = vec![0.0; side * side];
        Random::new(seed).fill(&mut block);
        block
    }

    /// *a*·*b*, by the definition.
    pub fn product(side: usize, a: &[f64], b: &[f64]) -> Vec<f64> {
        let at = |place: usize| {
            let (i, j) = (place / side, place % side);
            (0..side).map(|k| a[i * side + k] * b[k * side + j]).sum()
        };
        (0..side * side).map(at).collect()
    }

    #[test]
    fn blocks_of_any_side_are_multiplied() {
        for side in (1..=20).chain([64, 67, LONGEST]) {
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
    fn what_is_not_a_number_is_close_to_none() {
        assert!(are_close(&[1.0, 1e-10], &[1.0, 0.0]));
        assert!(!are_close(&[1.0, 1e-8], &[1.0, 0.0]));
        assert!(!are_close(&[1.0, 0.0], &[1.0, f64::NAN]));
        assert!(!are_close(&[1.0, f64::NAN], &[1.0, f64::NAN]));
        assert!(!are_close(&[1.0, 2.0], &[1.0]));
    }
}
