//! The product of two dense matrices by seven products of their quadrants.
//!
//! The tiles of a matrix are in Z-order, so that a quadrant of a matrix, and a quadrant of the
//! quadrant, is a slice of tiles like the matrix itself.
//!
//! A product of matrices larger than a tile takes three steps, one after the other: sums of
//! quadrants, seven products in parallel, and sums of the products. The sums are parallel loops over
//! tiles.
//!
//! Source: AsynchWS, Table I; Duran et al., Barcelona OpenMP Tasks Suite (ICPP 2009), after the
//! program of the same name in the Cilk distribution.

pub mod sums;

use purloin::prelude::*;

use crate::dense::{add_image, add_product, are_close, fill_randomly};
use crate::kernel::{Answer, Description, Input, Inputs, Kernel};

/// The number of rows and columns of a tile. Three tiles take 384 KiB, which fits into a
/// second-level cache.
pub const SIDE: usize = 128;

/// The number of elements in a tile.
pub const TILE: usize = SIDE * SIDE;

/// Returns the number of tiles in a matrix of 2 to the power of `levels` tiles in a row.
pub fn tiles(levels: u32) -> u32 {
    1 << (2 * levels)
}

/// Returns the row and the column of a tile in a matrix. The bits of the two are interleaved in the
/// number of the tile.
pub fn row_and_column(tile: usize) -> (usize, usize) {
    let even_bits = |number: usize| {
        let bits = (0..usize::BITS / 2).map(|bit| (number >> (2 * bit) & 1) << bit);
        bits.sum()
    };
    (even_bits(tile >> 1), even_bits(tile))
}

/// Computes a tile of the input: the tiles of the left factor, then those of the right factor.
pub fn fill(tile: u32, into: &mut [f64]) {
    fill_randomly(tile.into(), into);
}

/// Makes Freivalds' check: whether *c*·*x* equals *a*·(*b*·*x*) for a random *x*. `get` reads a tile
/// of the product *c*.
///
/// Computes the factors anew instead of reading them, so that the check notices a factor that a task
/// has overwritten.
pub fn is_product(levels: u32, get: impl Fn(u32, &mut [f64])) -> bool {
    let mut vector = vec![0.0; SIDE << levels];
    fill_randomly(u64::MAX, &mut vector);
    let inner = image(levels, &vector, |tile, into| {
        fill(tiles(levels) + tile, into)
    });
    let expected = image(levels, &inner, fill);
    are_close(&expected, &image(levels, &vector, get))
}

/// Returns the image of a vector under the matrix whose tiles `get` reads.
fn image(levels: u32, vector: &[f64], get: impl Fn(u32, &mut [f64])) -> Vec<f64> {
    let mut image = vec![0.0; vector.len()];
    let mut scratch = vec![0.0; TILE];
    for tile in 0..tiles(levels) {
        get(tile, &mut scratch);
        let (row, column) = row_and_column(tile as usize);
        let [row, column] = [row, column].map(|tile| tile * SIDE..(tile + 1) * SIDE);
        add_image(&mut image[row], &scratch, &vector[column]);
    }
    image
}

/// Splits a matrix, or a block of temporaries, into slices of this length.
fn parts<const COUNT: usize>(numbers: &[f64], len: usize) -> [&[f64]; COUNT] {
    let mut parts = numbers.chunks_exact(len);
    std::array::from_fn(|_| parts.next().expect("the slice has COUNT parts"))
}

/// Splits a matrix, or a block of temporaries, into slices of this length.
fn parts_mut<const COUNT: usize>(numbers: &mut [f64], len: usize) -> [&mut [f64]; COUNT] {
    let mut parts = numbers.chunks_exact_mut(len);
    std::array::from_fn(|_| parts.next().expect("the slice has COUNT parts"))
}

/// Replaces `result` by the product of two matrices, and returns the number of products of tiles
/// that this took.
fn multiply<W: Worker>(mut w: W, left: &[f64], right: &[f64], result: &mut [f64]) -> u64 {
    if result.len() == TILE {
        result.fill(0.0);
        add_product(SIDE, result, left, right, 1.0);
        return 1;
    }
    let len = result.len() / 4;
    // Eight sums, and three of the seven products. The other four products lie in the quadrants of
    // the result.
    let mut temporaries = vec![0.0; 11 * len];
    let [s1, s2, s3, s4, t1, t2, t3, t4, p5, p6, p7] = parts_mut(&mut temporaries, len);
    sum_quadrants(&mut w, left, [&mut *s1, s2, s3, s4], sums::left);
    sum_quadrants(&mut w, right, [&mut *t1, t2, t3, t4], sums::right);
    let [a11, a12, _, a22] = parts(left, len);
    let [b11, _, b21, b22] = parts(right, len);
    let [c11, c12, c21, c22] = parts_mut(result, len);
    let [s1, s2, s3, s4, t1, t2, t3, t4] = [s1, s2, s3, s4, t1, t2, t3, t4].map(|sum| &*sum);
    let mut products = [0; 7];
    let seven = [
        (a11, b11, &mut *c11),
        (s1, t1, &mut *c12),
        (s2, t2, &mut *c21),
        (s3, t3, &mut *c22),
        (a12, b21, &mut *p5),
        (s4, b22, &mut *p6),
        (a22, t4, &mut *p7),
    ];
    w.finish(|scope| {
        for ((left, right, result), products) in seven.into_iter().zip(&mut products) {
            scope.spawn(move |w| *products = multiply(w, left, right, result));
        }
    });
    let results =
        [c11, c12, c21, c22].map(|quadrant| quadrant.into_par().chunks(TILE).into_iterations());
    let [p5, p6, p7] =
        [&*p5, &*p6, &*p7].map(|product| product.into_par().chunks(TILE).into_iterations());
    let [c11, c12, c21, c22] = results;
    w.for_each(
        ((c11, c12, c21, c22), (p5, p6, p7)),
        |((c11, c12, c21, c22), (p5, p6, p7))| {
            sums::whole(c11, c12, c21, c22, p5, p6, p7);
        },
    );
    products.iter().sum()
}

/// A function that replaces one tile of each quadrant by sums of these tiles.
type SumOfFour = fn(&mut [f64], &mut [f64], &mut [f64], &mut [f64]);

/// Writes the sums of the quadrants of a factor to `into`.
fn sum_quadrants<W: Worker>(w: &mut W, factor: &[f64], into: [&mut [f64]; 4], sum: SumOfFour) {
    let len = factor.len() / 4;
    let [a, b, c, d] = into.map(|sum| sum.into_par().chunks(TILE).into_iterations());
    w.for_each((0..len / TILE, (a, b, c, d)), |(tile, (a, b, c, d))| {
        let quadrants: [&[f64]; 4] = parts(factor, len);
        let tile = tile * TILE..(tile + 1) * TILE;
        for (into, quadrant) in [&mut *a, &mut *b, &mut *c, &mut *d]
            .into_iter()
            .zip(quadrants)
        {
            into.copy_from_slice(&quadrant[tile.clone()]);
        }
        sum(a, b, c, d);
    });
}

/// The kernel `strassen`.
#[derive(Debug)]
pub struct Strassen {
    levels: u32,
    /// The left factor, then the right factor.
    factors: Vec<f64>,
    product: Vec<f64>,
}

impl Kernel for Strassen {
    const DESCRIPTION: Description = Description {
        name: "strassen",
        about: "the product of two dense n by n matrices of doubles, by Strassen's algorithm",
        inputs: Inputs::Name(&["128", "256", "512", "1024", "2048", "4096", "8192", "16384"]),
        default: "2048",
    };

    fn memory(input: Input) -> u64 {
        // Two factors, the product, and eleven temporaries of the size of a quadrant.
        let matrix = 8 * TILE as u64 * u64::from(tiles(input[0]));
        3 * matrix + 11 * matrix / 4
    }

    fn prepare(input: Input) -> Self {
        let levels = input[0];
        let len = TILE * tiles(levels) as usize;
        let mut factors = vec![0.0; 2 * len];
        for (tile, into) in (0..).zip(factors.chunks_exact_mut(TILE)) {
            fill(tile, into);
        }
        // Written here, so that page faults are not part of the timed run.
        let product = vec![f64::NAN; len];
        Strassen {
            levels,
            factors,
            product,
        }
    }

    fn run<W: Worker>(&mut self, w: W) -> Answer {
        let (left, right) = self.factors.split_at(self.product.len());
        Answer::Number(multiply(w, left, right, &mut self.product))
    }

    fn verify(&self, answer: &Answer) -> bool {
        *answer == Answer::Number(7_u64.pow(self.levels))
            && is_product(self.levels, |tile, into| {
                into.copy_from_slice(&self.product[tile as usize * TILE..][..TILE]);
            })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_input_is_the_side_of_a_matrix() {
        let inputs = Strassen::DESCRIPTION.inputs;
        for side in [128, 256, 2048, 16384] {
            let input = inputs.parse(&side.to_string()).unwrap();
            assert_eq!(SIDE << input[0], side);
        }
    }

    #[test]
    fn a_quadrant_is_a_range_of_tiles() {
        let quadrants = [(0, 0), (0, 1), (1, 0), (1, 1)];
        assert_eq!([0, 1, 2, 3].map(row_and_column), quadrants);
        for levels in 1..=4 {
            let half = 1 << (levels - 1);
            for tile in 0..tiles(levels) as usize {
                let (row, column) = row_and_column(tile);
                assert!(row < 2 * half && column < 2 * half);
                let quadrant = tile / tiles(levels - 1) as usize;
                assert_eq!(quadrant, 2 * (row / half) + column / half);
                let in_quadrant = row_and_column(tile % tiles(levels - 1) as usize);
                assert_eq!(in_quadrant, (row % half, column % half));
            }
        }
    }
}
