//! LU factorisation of a sparse matrix of dense blocks.
//!
//! A global array contains the non-empty blocks, including the blocks that fill during the
//! factorisation. Every rank knows their pattern beforehand.
//!
//! The first task goes through the blocks of the diagonal, and does three things for each:
//!
//! 1. It factors the block.
//! 2. It spawns tasks that solve for the blocks to its right and below it, with these factors.
//! 3. It spawns tasks that update the blocks in the columns of the blocks to the right and the rows
//!    of the blocks below.
//!
//! Each task handles one block. A separate task spawns the updates of a row, and a thief can steal
//! it as a whole. When the first task spawned all updates itself, two ranks made four times as many
//! steals.
//!
//! Source: Duran et al., Barcelona OpenMP Tasks Suite (ICPP 2009), which uses floats.

mod block;
mod pattern;

use std::cell::RefCell;

use bytemuck::{Pod, Zeroable};
use purloin_cluster::{Cluster, Error, GlobalArray, Rank, Task};
use purloin_kernels::{Description, Input, Inputs, Range};

use self::pattern::{Pattern, is_given};
use super::Kernel;
use super::dense::{MAX_SIDE, add_image, add_product, are_close, fill_randomly};

/// The task that does one step of the factorisation on one or more blocks. Each step belongs to a
/// block of the diagonal.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
pub struct Work {
    /// The number of the step, or [`ALL`] steps, one after the other.
    step: u32,
    row: u32,
    /// The column of the block, or [`ALL`] blocks of the row that need an update.
    column: u32,
}

/// The value of a field that stands for all steps or all columns.
const ALL: u32 = u32::MAX;

impl Work {
    /// Returns the task for one block.
    fn new(step: usize, row: usize, column: usize) -> Work {
        Work {
            step: step as u32,
            row: row as u32,
            column: column as u32,
        }
    }
}

impl Task for Work {
    /// The number of operations on blocks.
    type Output = u64;
    type Context = Blocks;

    fn run<R: Rank<Self>>(self, mut rank: R) -> u64 {
        match self {
            Work { step: ALL, .. } => {
                let steps = 0..rank.context().pattern.side();
                steps.map(|step| eliminate(&mut rank, step)).sum()
            }
            Work { column: ALL, .. } => update_row(&mut rank, self.step as usize, self.row),
            _ => {
                rank.context().work(&self);
                1
            }
        }
    }
}

/// Does one step, and returns the number of operations on blocks.
fn eliminate<R: Rank<Work>>(rank: &mut R, step: usize) -> u64 {
    // All other operations of the step wait for this factorisation, so there is no point in
    // spawning it.
    rank.context().work(&Work::new(step, step, step));
    let beyond: Vec<usize> = rank.context().pattern.beyond(step).collect();
    let right = beyond.iter().map(|&column| Work::new(step, step, column));
    let below = beyond.iter().map(|&row| Work::new(step, row, step));
    let solved = rank.spawn_all(right.chain(below), 0, |sum, count| sum + count);
    let rows = beyond.iter().map(|&row| Work {
        column: ALL,
        ..Work::new(step, row, step)
    });
    rank.spawn_all(rows, 1 + solved, |sum, count| sum + count)
}

/// Updates a row in a step, and returns the number of operations on blocks.
fn update_row<R: Rank<Work>>(rank: &mut R, step: usize, row: u32) -> u64 {
    let columns: Vec<usize> = rank.context().pattern.beyond(step).collect();
    let blocks = columns
        .iter()
        .map(|&column| Work::new(step, row as usize, column));
    rank.spawn_all(blocks, 0, |sum, count| sum + count)
}

/// The matrix, which the factorisation replaces by its factors.
pub struct Blocks {
    pattern: Pattern,
    /// The number of rows and columns of a block.
    side: usize,
    /// The non-empty blocks, in the order of their numbers.
    blocks: GlobalArray<f64>,
    scratch: RefCell<Scratch>,
}

/// Scratch memory, which the tasks on this rank use one after the other.
struct Scratch {
    /// The block that a task changes.
    target: Vec<f64>,
    /// Copies of blocks that tasks read: for each row, one block on or below the diagonal, followed
    /// by one block above the diagonal for each column.
    copies: Vec<Copied>,
}

/// A copy of a block that no longer changes.
#[derive(Clone, Default)]
struct Copied {
    /// The number of the block, or `None` if there is no copy.
    number: Option<usize>,
    block: Vec<f64>,
}

impl Blocks {
    fn get(&self, number: usize, into: &mut [f64]) {
        self.blocks.get(number * into.len(), into);
    }

    fn put(&self, number: usize, from: &[f64]) {
        self.blocks.put(number * from.len(), from);
    }

    fn number(&self, row: usize, column: usize) -> usize {
        self.pattern
            .number(row, column)
            .expect("tasks access non-empty blocks only")
    }

    /// Copies a block, unless a copy exists, and returns the place of the copy.
    ///
    /// The blocks that a step reads without changing them form one column and one row, and are
    /// final. The updates of a whole row read the same block of the column, so most copies exist
    /// already.
    fn copy(&self, copies: &mut [Copied], row: usize, column: usize) -> usize {
        let place = match row >= column {
            true => row,
            false => self.pattern.side() + column,
        };
        let copy = &mut copies[place];
        let number = self.number(row, column);
        if copy.number != Some(number) {
            copy.block.resize(self.side * self.side, 0.0);
            self.get(number, &mut copy.block);
            copy.number = Some(number);
        }
        place
    }

    /// Does the work of a task for one block.
    #[inline(never)]
    fn work(&self, work: &Work) {
        let [step, row, column] = [work.step, work.row, work.column].map(|place| place as usize);
        // The borrow is exclusive: this task does not spawn, so no other task runs on this rank
        // before it ends.
        let Scratch { target, copies } = &mut *self.scratch.borrow_mut();
        let number = self.number(row, column);
        self.get(number, target);
        match (row == step, column == step) {
            (true, true) => block::factor(self.side, target),
            (true, false) => {
                let factors = self.copy(copies, step, step);
                block::solve_lower(self.side, target, &copies[factors].block);
            }
            (false, true) => {
                let factors = self.copy(copies, step, step);
                block::solve_upper(self.side, target, &copies[factors].block);
            }
            (false, false) => {
                let left = self.copy(copies, row, step);
                let right = self.copy(copies, step, column);
                let [left, right] = [left, right].map(|place| &*copies[place].block);
                add_product(self.side, target, left, right, -1.0);
            }
        }
        self.put(number, target);
    }

    /// Computes a block of the input: random numbers, larger on the diagonal. The matrix is
    /// diagonally dominant, so the factorisation needs no row exchanges.
    fn given(&self, row: usize, column: usize, into: &mut [f64]) {
        let blocks = self.pattern.side();
        if !is_given(row, column) {
            return into.fill(0.0);
        }
        fill_randomly((row * blocks + column) as u64, into);
        if row == column {
            let given = (0..blocks).filter(|&column| is_given(row, column)).count();
            for diagonal in into.iter_mut().step_by(self.side + 1) {
                // No other number in the row is greater than a half.
                *diagonal += 0.5 * (given * self.side) as f64;
            }
        }
    }

    /// Writes the input to the matrix. All ranks must call this function.
    fn fill(&self, cluster: &Cluster) {
        let mut block = vec![0.0; self.side * self.side];
        for row in 0..self.pattern.side() {
            for column in 0..self.pattern.side() {
                let Some(number) = self.pattern.number(row, column) else {
                    continue;
                };
                if self.blocks.owner(number) == cluster.rank() {
                    self.given(row, column, &mut block);
                    self.put(number, &block);
                }
            }
        }
        cluster.barrier();
    }

    /// Returns the images of a vector under the input, and under the product of its factors.
    fn images(&self, vector: &[f64]) -> (Vec<f64>, Vec<f64>) {
        let mut block = vec![0.0; self.side * self.side];
        let [mut given, mut upper, mut lower] = [(); 3].map(|()| vec![0.0; vector.len()]);
        let part = |block: usize| block * self.side..(block + 1) * self.side;
        for row in 0..self.pattern.side() {
            for column in 0..self.pattern.side() {
                if is_given(row, column) {
                    self.given(row, column, &mut block);
                    add_image(&mut given[part(row)], &block, &vector[part(column)]);
                }
            }
            // From right to left: the lower factor is applied to the image under the upper factor,
            // which is complete once the loop reaches the diagonal.
            for column in (0..self.pattern.side()).rev() {
                let Some(number) = self.pattern.number(row, column) else {
                    continue;
                };
                self.get(number, &mut block);
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
        (given, lower)
    }
}

/// The kernel `sparselu`.
pub struct SparseLu {
    blocks: Blocks,
    rank: usize,
}

impl Kernel for SparseLu {
    const DESCRIPTION: Description = Description {
        name: "sparselu",
        about: "the LU factorisation of a sparse matrix of doubles, with n by n dense blocks",
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

    type Task = Work;

    fn prepare(cluster: &Cluster, input: Input) -> Result<Self, Error> {
        let [count, side] = [input[0], input[1]].map(|number| number as usize);
        let pattern = Pattern::of_factors(count);
        let numbers = side * side;
        let blocks = GlobalArray::new(cluster, pattern.count() * numbers, numbers)?;
        let blocks = Blocks {
            pattern,
            side,
            blocks,
            scratch: RefCell::new(Scratch {
                target: vec![0.0; numbers],
                copies: vec![Copied::default(); 2 * count],
            }),
        };
        blocks.fill(cluster);
        let rank = cluster.rank();
        Ok(SparseLu { blocks, rank })
    }

    fn context(&self) -> &Blocks {
        &self.blocks
    }

    fn root(&self) -> Work {
        Work {
            step: ALL,
            row: 0,
            column: 0,
        }
    }

    fn reset(&mut self, cluster: &Cluster) {
        // Rank 0 may still be verifying the last run.
        cluster.barrier();
        for copy in &mut self.blocks.scratch.get_mut().copies {
            copy.number = None;
        }
        self.blocks.fill(cluster);
    }

    fn answer(&self, operations: &u64) -> String {
        let count = self.blocks.pattern.count();
        format!("{count} blocks, {operations} operations on them")
    }

    /// Returns whether *l*·(*u*·*x*) equals *a*·*x* for a random *x*. Only rank 0 checks, which
    /// keeps the other ranks' reads off the network.
    fn verify(&self, operations: &u64) -> bool {
        if self.rank != 0 {
            return true;
        }
        let pattern = &self.blocks.pattern;
        let squares = (0..pattern.side()).map(|step| (1 + pattern.beyond(step).count()).pow(2));
        let mut vector = vec![0.0; pattern.side() * self.blocks.side];
        fill_randomly(u64::MAX, &mut vector);
        let (given, found) = self.blocks.images(&vector);
        *operations == squares.sum::<usize>() as u64 && are_close(&given, &found)
    }
}
