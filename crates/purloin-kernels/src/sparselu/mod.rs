//! LU factorisation of a sparse matrix of dense blocks.
//!
//! The kernel goes through the blocks of the diagonal, and does three things for each:
//!
//! 1. It factors the block.
//! 2. It spawns tasks that solve for the blocks to its right and below it, with these factors.
//! 3. It spawns tasks that update the blocks in the columns of the blocks to the right and the rows
//!    of the blocks below.
//!
//! Each task handles one block, and there are no other tasks.
//!
//! Source: AsynchWS, Table I; Duran et al., Barcelona OpenMP Tasks Suite (ICPP 2009), which uses
//! floats.

pub mod block;
mod pattern;

use purloin::Worker;

use crate::dense::{MAX_SIDE, add_image, add_product, are_close, fill_randomly};
use crate::kernel::{Answer, Description, Input, Inputs, Kernel, Range};
pub use pattern::{Pattern, is_given};

/// A block, stored in row-major order.
type Block = Box<[f64]>;

/// The blocks in a row. An empty block is `None`.
type Row = Vec<Option<Block>>;

/// Computes a block of the input of `blocks` × `blocks` blocks of `side` × `side` numbers: random
/// numbers, larger on the diagonal. The matrix is diagonally dominant, so the factorisation needs no
/// row exchanges.
pub fn fill(blocks: usize, side: usize, (row, column): (usize, usize), into: &mut [f64]) {
    if !is_given(row, column) {
        return into.fill(0.0);
    }
    fill_randomly((row * blocks + column) as u64, into);
    if row == column {
        let given = (0..blocks).filter(|&column| is_given(row, column)).count();
        for diagonal in into.iter_mut().step_by(side + 1) {
            // No other number in the row is greater than a half.
            *diagonal += 0.5 * (given * side) as f64;
        }
    }
}

/// Returns whether *l*·(*u*·*x*) equals *a*·*x* for a random *x*. `get` reads a block of the factors
/// *l* and *u* by its row and column.
pub fn are_factors(
    pattern: &Pattern,
    side: usize,
    mut get: impl FnMut(usize, usize, &mut [f64]),
) -> bool {
    let mut vector = vec![0.0; pattern.side() * side];
    fill_randomly(u64::MAX, &mut vector);
    let mut block = vec![0.0; side * side];
    let [mut given, mut upper, mut lower] = [(); 3].map(|()| vec![0.0; vector.len()]);
    let part = |block: usize| block * side..(block + 1) * side;
    for row in 0..pattern.side() {
        for column in 0..pattern.side() {
            if is_given(row, column) {
                fill(pattern.side(), side, (row, column), &mut block);
                add_image(&mut given[part(row)], &block, &vector[part(column)]);
            }
        }
        // From right to left: the lower factor is applied to the image under the upper factor,
        // which is complete once the loop reaches the diagonal.
        for column in (0..pattern.side()).rev() {
            if pattern.number(row, column).is_none() {
                continue;
            }
            get(row, column, &mut block);
            let upper_row = &mut upper[part(row)];
            if column > row {
                add_image(upper_row, &block, &vector[part(column)]);
            } else if column == row {
                block::add_upper_image(upper_row, &block, &vector[part(column)]);
                block::add_lower_image(&mut lower[part(row)], &block, &upper[part(column)]);
            } else {
                add_image(&mut lower[part(row)], &block, &upper[part(column)]);
            }
        }
    }
    are_close(&given, &lower)
}

/// The kernel `sparselu`.
#[derive(Debug)]
pub struct SparseLu {
    pattern: Pattern,
    /// The number of rows and columns of a block.
    side: usize,
    /// The matrix, which the factorisation replaces by its factors.
    rows: Vec<Row>,
}

/// Replaces the matrix by its factors, and returns the number of operations on blocks.
fn factor<W: Worker>(mut w: W, side: usize, rows: &mut [Row]) -> u64 {
    let mut operations = 0;
    for step in 0..rows.len() {
        let (done, below) = rows.split_at_mut(step + 1);
        let (diagonal, right) = done[step][step..].split_first_mut().expect("a row");
        let diagonal = diagonal
            .as_mut()
            .expect("no block of the diagonal is empty");
        block::factor(side, diagonal);
        let diagonal = &**diagonal;
        operations += 1;
        w.finish(|scope| {
            for block in right.iter_mut().flatten() {
                scope.spawn(move |_| block::solve_lower(side, block, diagonal));
                operations += 1;
            }
            for block in below.iter_mut().filter_map(|row| row[step].as_mut()) {
                scope.spawn(move |_| block::solve_upper(side, block, diagonal));
                operations += 1;
            }
        });
        let right = &*right;
        w.finish(|scope| {
            for row in below {
                let (left, row) = row[step..].split_first_mut().expect("a row");
                let Some(left) = left else { continue };
                let left = &**left;
                for (block, right) in row.iter_mut().zip(right) {
                    if let (Some(block), Some(right)) = (block, right) {
                        scope.spawn(move |_| add_product(side, block, left, right, -1.0));
                        operations += 1;
                    }
                }
            }
        });
    }
    operations
}

impl Kernel for SparseLu {
    const DESCRIPTION: Description = Description {
        name: "sparselu",
        about: "LU factorisation of a sparse matrix of n by n blocks; non-empty blocks are dense",
        inputs: Inputs::Numbers(&[
            Range {
                name: "blocks in a row",
                min: 1,
                max: 1024,
                default: None,
            },
            Range {
                name: "rows of a block",
                min: 1,
                max: MAX_SIDE as u32,
                default: Some(64),
            },
        ]),
        default: "64",
    };

    fn memory(input: Input) -> u64 {
        let blocks = Pattern::of_factors(input[0] as usize).count() as u64;
        8 * blocks * u64::from(input[1]).pow(2)
    }

    fn prepare(input: Input) -> Self {
        let [blocks, side] = [input[0], input[1]].map(|number| number as usize);
        let pattern = Pattern::of_factors(blocks);
        let block = |row, column| {
            pattern.number(row, column)?;
            let mut block = vec![0.0; side * side].into_boxed_slice();
            fill(blocks, side, (row, column), &mut block);
            Some(block)
        };
        let rows = (0..blocks).map(|row| (0..blocks).map(|column| block(row, column)).collect());
        SparseLu {
            rows: rows.collect(),
            pattern,
            side,
        }
    }

    fn run<W: Worker>(&mut self, w: W) -> Answer {
        Answer::Number(factor(w, self.side, &mut self.rows))
    }

    fn verify(&self, answer: &Answer) -> bool {
        *answer == Answer::Number(self.pattern.operations())
            && are_factors(&self.pattern, self.side, |row, column, into| {
                let block = self.rows[row][column].as_ref();
                into.copy_from_slice(block.expect("the pattern has this block"));
            })
    }
}
