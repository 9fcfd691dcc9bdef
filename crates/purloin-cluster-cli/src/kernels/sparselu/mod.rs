//! LU factorisation of a sparse matrix of dense blocks.
//!
//! The blocks that are not empty lie in a global array; which they are, empty ones that
//! fill on the way among them, every rank knows beforehand. For each block of the
//! diagonal, the first task factors it, then lets all blocks to its right and below it be
//! solved with these factors, then all those be updated that lie both right of one and
//! below one: a task for each block. The updates of a row are spawned by a task of their
//! own, which can be stolen as one. With all spawned by the first task, two ranks took
//! four times as many steals.
//!
//! Source: Duran et al., Barcelona OpenMP Tasks Suite (ICPP 2009), which has floats.

mod block;
mod pattern;

use std::cell::RefCell;

use bytemuck::{Pod, Zeroable};
use purloin_cluster::{Cluster, Error, GlobalArray, Rank, Task};
use purloin_kernels::{Description, Input, Inputs, Range};

use self::pattern::{Pattern, is_given};
use super::Kernel;
use super::random::Random;

/// A task: what is done to blocks on account of a block of the diagonal.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
pub struct Work {
    /// Which block of the diagonal, or [`ALL`], one after the other.
    step: u32,
    row: u32,
    /// Of one block, or [`ALL`] of the row that are to be updated.
    column: u32,
}

/// Stands for all of what there is otherwise one.
const ALL: u32 = u32::MAX;

impl Work {
    /// What is done to one block.
    fn new(step: usize, row: usize, column: usize) -> Work {
        Work {
            step: step as u32,
            row: row as u32,
            column: column as u32,
        }
    }
}

impl Task for Work {
    /// Operations on blocks.
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

/// Does one step, and returns how many operations on blocks that took.
fn eliminate<R: Rank<Work>>(rank: &mut R, step: usize) -> u64 {
    // All others wait for it, and nobody need steal it.
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

/// Updates a row in a step, and returns how many operations on blocks that took.
fn update_row<R: Rank<Work>>(rank: &mut R, step: usize, row: u32) -> u64 {
    let columns: Vec<usize> = rank.context().pattern.beyond(step).collect();
    let blocks = columns
        .iter()
        .map(|&column| Work::new(step, row as usize, column));
    rank.spawn_all(blocks, 0, |sum, count| sum + count)
}

/// The matrix, which becomes its factors.
pub struct Blocks {
    pattern: Pattern,
    /// Rows and columns of a block.
    side: usize,
    /// The blocks that are not empty, in the order of their numbers.
    blocks: GlobalArray<f64>,
    scratch: RefCell<Scratch>,
}

/// Memory for the tasks on this rank, one after the other.
struct Scratch {
    /// The block that a task changes.
    target: Vec<f64>,
    /// Blocks that tasks look at: of each row one that is not above the diagonal, then of
    /// each column one that is.
    copies: Vec<Copied>,
}

/// A copy of a block that is not changed any more.
#[derive(Clone, Default)]
struct Copied {
    /// The number of the block, if it is of any.
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
        self.pattern.number(row, column).expect("not empty")
    }

    /// Makes sure that there is a copy of a block, and returns where.
    ///
    /// What a step uses of blocks that it does not change is one column and one row, and
    /// these are final. As each block of a column is used for a whole row, most are
    /// there already.
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

    /// Does what a task does that is of one block.
    #[inline(never)]
    fn work(&self, work: &Work) {
        let [step, row, column] = [work.step, work.row, work.column].map(|place| place as usize);
        // No other task is run on this rank before this one ends: it spawns none.
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
                block::add_product(self.side, target, left, right, -1.0);
            }
        }
        self.put(number, target);
    }

    /// What is in a block at first: numbers that look random, such that each on the
    /// diagonal outweighs its row, so that no rows need be exchanged.
    fn given(&self, row: usize, column: usize, into: &mut [f64]) {
        let blocks = self.pattern.side();
        if !is_given(row, column) {
            return into.fill(0.0);
        }
        Random::new((row * blocks + column) as u64).fill(into);
        if row == column {
            let given = (0..blocks).filter(|&column| is_given(row, column)).count();
            for diagonal in into.iter_mut().step_by(self.side + 1) {
                // No number of those in the row is more than a half.
                *diagonal += 0.5 * (given * self.side) as f64;
            }
        }
    }

    /// Makes it the matrix it was at first, on all ranks together.
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

    /// The images of a vector under the matrix that it was, and under its factors.
    fn images(&self, vector: &[f64]) -> (Vec<f64>, Vec<f64>) {
        let mut block = vec![0.0; self.side * self.side];
        let [mut given, mut upper, mut lower] = [(); 3].map(|()| vec![0.0; vector.len()]);
        let part = |block: usize| block * self.side..(block + 1) * self.side;
        for row in 0..self.pattern.side() {
            for column in 0..self.pattern.side() {
                if is_given(row, column) {
                    self.given(row, column, &mut block);
                    block::add_image(&mut given[part(row)], &block, &vector[part(column)]);
                }
            }
            // From right to left: the image under the lower factor is that of the image
            // under the upper one, which is complete from the diagonal on.
            for column in (0..self.pattern.side()).rev() {
                let Some(number) = self.pattern.number(row, column) else {
                    continue;
                };
                self.get(number, &mut block);
                let upper_row = &mut upper[part(row)];
                if column > row {
                    block::add_image(upper_row, &block, &vector[part(column)]);
                } else if column == row {
                    block::add_upper_image(upper_row, &block, &vector[part(column)]);
                    block::add_lower_image(&mut lower[part(row)], &block, &upper[part(column)]);
                } else {
                    block::add_image(&mut lower[part(row)], &block, &upper[part(column)]);
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
        about: "LU factorisation of a sparse matrix of doubles, of n by n dense blocks",
        inputs: Inputs::Numbers(&[
            Range {
                what: "blocks in a row",
                least: 1,
                most: 1024,
                usual: None,
            },
            Range {
                what: "rows of a block",
                least: 1,
                most: block::LONGEST as u32,
                usual: Some(64),
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
        // One rank may be verifying yet.
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

    /// Whether *l*·(*u*·*x*) is *a*·*x* for some *x*. One rank's word is enough, and
    /// spares the network that of the others.
    fn verify(&self, operations: &u64) -> bool {
        if self.rank != 0 {
            return true;
        }
        let pattern = &self.blocks.pattern;
        let squares = (0..pattern.side()).map(|step| (1 + pattern.beyond(step).count()).pow(2));
        let mut vector = vec![0.0; pattern.side() * self.blocks.side];
        Random::new(u64::MAX).fill(&mut vector);
        let (given, found) = self.blocks.images(&vector);
        *operations == squares.sum::<usize>() as u64 && block::are_close(&given, &found)
    }
}
