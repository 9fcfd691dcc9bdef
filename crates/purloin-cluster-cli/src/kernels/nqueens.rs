//! All ways to place *n* queens on a board: depth-first search.

use bytemuck::{Pod, Zeroable};
use purloin_cluster::{Cluster, Error, Rank, Task};
use purloin_kernels::nqueens::{Board, LARGEST, SOLUTIONS};
use purloin_kernels::{Description, Input, nqueens};

use super::Kernel;

/// To count the ways to place queens on the remaining rows of a board.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(transparent)]
pub struct Rest(Board);

impl Task for Rest {
    type Output = u64;
    type Context = ();

    fn run<R: Rank<Self>>(self, mut rank: R) -> u64 {
        let Rest(board) = self;
        if board.is_full() {
            return 1;
        }
        // Tested before tasks are made, so that none is spent on a conflict.
        let mut safe = [0; LARGEST];
        let count = board.safe_columns(&mut safe);
        let tasks = safe[..count].iter().map(|&column| Rest(board.with(column)));
        rank.spawn_all(tasks, 0, |sum, ways| sum + ways)
    }
}

/// The kernel `nqueens`.
pub struct Nqueens {
    size: u8,
}

impl Kernel for Nqueens {
    /// The same as in shared memory.
    const DESCRIPTION: Description = <nqueens::Nqueens as purloin_kernels::Kernel>::DESCRIPTION;

    type Task = Rest;

    fn prepare(_: &Cluster, input: Input) -> Result<Self, Error> {
        Ok(Nqueens {
            size: input[0] as u8,
        })
    }

    fn context(&self) -> &() {
        &()
    }

    fn root(&self) -> Rest {
        Rest(Board::new(self.size))
    }

    fn answer(&self, output: &u64) -> String {
        output.to_string()
    }

    fn verify(&self, output: &u64) -> bool {
        *output == SOLUTIONS[usize::from(self.size)]
    }
}
