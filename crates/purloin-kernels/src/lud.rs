//! LU decomposition of a dense matrix, block by block.
//!
//! Source: Return barrier, section 3.1 (1024 × 1024 doubles), after the program of the same name in
//! the Cilk distribution.

use purloin::{Worker, chunks_mut};

use crate::kernel::{Answer, Description, Input, Inputs, Kernel, Range};
use crate::random::Xorshift;

/// Number of rows and of columns of a block. A block has 2 KiB, so that three fit the first-level
/// cache.
const SIDE: usize = 16;

/// A block of the matrix, stored by rows.
#[derive(Clone, Debug)]
struct Block([[f64; SIDE]; SIDE]);

impl Block {
    /// Replaces the block by its factors: *l* below the diagonal and *u* on and above it. The
    /// diagonal of *l* is all ones and is not stored.
    fn factor(&mut self) {
        for k in 0..SIDE {
            let (above, below) = self.0.split_at_mut(k + 1);
            let pivot = &above[k];
            for row in below {
                row[k] /= pivot[k];
                let factor = row[k];
                for (number, pivot) in row.iter_mut().zip(pivot).skip(k + 1) {
                    *number -= factor * pivot;
                }
            }
        }
    }

    /// Replaces this block *a* by the solution *x* of *l*·*x* = *a*, with the *l* of `factors`.
    fn solve_lower(&mut self, factors: &Block) {
        for k in 0..SIDE {
            let (above, below) = self.0.split_at_mut(k + 1);
            for (row, factors) in below.iter_mut().zip(&factors.0[k + 1..]) {
                for j in 0..SIDE {
                    row[j] -= factors[k] * above[k][j];
                }
            }
        }
    }

    /// Replaces this block *a* by the solution *x* of *x*·*u* = *a*, with the *u* of `factors`.
    fn solve_upper(&mut self, factors: &Block) {
        for row in &mut self.0 {
            for (k, pivot) in factors.0.iter().enumerate() {
                row[k] /= pivot[k];
                let factor = row[k];
                for (number, pivot) in row.iter_mut().zip(pivot).skip(k + 1) {
                    *number -= factor * pivot;
                }
            }
        }
    }

    fn subtract_product(&mut self, left: &Block, right: &Block) {
        for (row, left) in self.0.iter_mut().zip(&left.0) {
            for (factor, right) in left.iter().zip(&right.0) {
                for j in 0..SIDE {
                    row[j] -= factor * right[j];
                }
            }
        }
    }
}

/// The kernel `lud`.
#[derive(Debug)]
pub struct Lud {
    /// Number of blocks in a row.
    side: usize,
    /// The blocks, stored by rows.
    blocks: Vec<Block>,
}

/// Returns a random matrix in which each number on the diagonal is larger than the rest of its row
/// together, so that no rows have to be exchanged.
fn matrix(side: usize) -> Vec<Block> {
    let mut random = Xorshift::new(side as u64);
    let mut blocks = vec![Block([[0.0; SIDE]; SIDE]); side * side];
    for (place, block) in blocks.iter_mut().enumerate() {
        for (i, row) in block.0.iter_mut().enumerate() {
            row.fill_with(|| random.unit() - 0.5);
            if place % (side + 1) == 0 {
                row[i] += (side * SIDE) as f64;
            }
        }
    }
    blocks
}

impl Lud {
    /// Returns the number in row `i` and column `j` of the matrix.
    fn at(&self, blocks: &[Block], i: usize, j: usize) -> f64 {
        blocks[i / SIDE * self.side + j / SIDE].0[i % SIDE][j % SIDE]
    }
}

/// Replaces the blocks by their factors.
fn decompose<W: Worker>(mut w: W, side: usize, blocks: &mut [Block]) {
    for k in 0..side {
        let (above, below) = blocks.split_at_mut((k + 1) * side);
        let (diagonal, right) = above[k * side + k..].split_first_mut().expect("a row");
        diagonal.factor();
        let diagonal = &*diagonal;
        w.for_each(&mut *right, |block| block.solve_lower(diagonal));
        let right = &*right;
        w.for_each(chunks_mut(below, side), |row| {
            let (left, rest) = row[k..].split_first_mut().expect("a row");
            left.solve_upper(diagonal);
            for (block, right) in rest.iter_mut().zip(right) {
                block.subtract_product(left, right);
            }
        });
    }
}

impl Kernel for Lud {
    const DESCRIPTION: Description = Description {
        name: "lud",
        about: "LU decomposition of a dense matrix of 16 n by 16 n doubles",
        inputs: Inputs::Numbers(&[Range {
            name: "blocks in a row",
            min: 1,
            max: 512,
            default: None,
        }]),
        default: "64",
    };

    fn prepare(input: Input) -> Self {
        let side = input[0] as usize;
        let blocks = matrix(side);
        Lud { side, blocks }
    }

    fn run<W: Worker>(&mut self, w: W) -> Answer {
        decompose(w, self.side, &mut self.blocks);
        Answer::Number((self.side * SIDE) as u64)
    }

    /// Compares some rows of *l*·*u* with the matrix.
    fn verify(&self, answer: &Answer) -> bool {
        let (len, before) = (self.side * SIDE, matrix(self.side));
        let is_right = |i: usize, j: usize| {
            let terms = (0..=i.min(j)).map(|k| match k == i {
                true => self.at(&self.blocks, k, j),
                false => self.at(&self.blocks, i, k) * self.at(&self.blocks, k, j),
            });
            (terms.sum::<f64>() - self.at(&before, i, j)).abs() < 1e-9 * len as f64
        };
        let mut rows = (0..len).step_by(len / 16).chain([len - 1]);
        *answer == Answer::Number(len as u64) && rows.all(|i| (0..len).all(|j| is_right(i, j)))
    }
}
