//! LU factorisation of a sparse matrix of dense blocks over ranks: see
//! [`purloin_kernels::sparselu`].
//!
//! A global array contains the non-empty blocks, including the blocks that fill during the
//! factorisation. Every rank knows their pattern beforehand.
//!
//! A separate task spawns the updates of a row, and a thief can steal it as a whole. When the first
//! task spawned all updates itself, two ranks made four times as many steals.

use std::cell::RefCell;

use bytemuck::{Pod, Zeroable};
use purloin_cluster::{Cluster, Error, GlobalArray, Rank, Task};
use purloin_kernels::dense::add_product;
use purloin_kernels::sparselu::{Pattern, are_factors, block, fill};
use purloin_kernels::{Description, Input, sparselu};

use super::Kernel;

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

    /// Writes the input to the matrix. All ranks must call this function.
    fn fill(&self, cluster: &Cluster) {
        let mut block = vec![0.0; self.side * self.side];
        for row in 0..self.pattern.side() {
            for column in 0..self.pattern.side() {
                let Some(number) = self.pattern.number(row, column) else {
                    continue;
                };
                if self.blocks.owner(number) == cluster.rank() {
                    fill(self.pattern.side(), self.side, (row, column), &mut block);
                    self.put(number, &block);
                }
            }
        }
        cluster.barrier();
    }
}

/// The kernel `sparselu`.
pub struct SparseLu {
    blocks: Blocks,
    rank: usize,
}

impl Kernel for SparseLu {
    const DESCRIPTION: Description = <sparselu::SparseLu as purloin_kernels::Kernel>::DESCRIPTION;

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

    /// Returns whether the product of the factors is the input. Only rank 0 checks, which keeps the
    /// other ranks' reads off the network.
    fn verify(&self, operations: &u64) -> bool {
        if self.rank != 0 {
            return true;
        }
        let Blocks { pattern, side, .. } = &self.blocks;
        let get = |row, column, into: &mut [f64]| {
            self.blocks.get(self.blocks.number(row, column), into);
        };
        *operations == pattern.operations() && are_factors(pattern, *side, get)
    }
}
