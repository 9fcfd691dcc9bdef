//! The number of ways to place *n* queens on a board, by depth-first search.

use bytemuck::{Pod, Zeroable};
use purloin_cluster::{Cluster, Error, Rank, Task};
use purloin_kernels::nqueens::{Board, LARGEST, SOLUTIONS};
use purloin_kernels::{Description, Input, nqueens};

use super::Kernel;

/// The task that counts the ways to place queens on the remaining rows of a board.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(transparent)]
pub struct PartialBoard(Board);

impl Task for PartialBoard {
    type Output = u64;
    type Context = ();

    fn run<R: Rank<Self>>(self, mut rank: R) -> u64 {
        let PartialBoard(board) = self;
        if board.is_full() {
            return 1;
        }
        // Excludes conflicts before tasks are created, so that no task runs into a conflict.
        let mut safe = [0; LARGEST];
        let count = board.safe_columns(&mut safe);
        let tasks = safe[..count]
            .iter()
            .map(|&column| PartialBoard(board.with(column)));
        rank.spawn_all(tasks, 0, |sum, ways| sum + ways)
    }
}

/// The kernel `nqueens`.
pub struct Nqueens {
    size: u8,
}

impl Kernel for Nqueens {
    /// The description of the kernel for shared memory.
    const DESCRIPTION: Description = <nqueens::Nqueens as purloin_kernels::Kernel>::DESCRIPTION;

    type Task = PartialBoard;

    fn prepare(_: &Cluster, input: Input) -> Result<Self, Error> {
        Ok(Nqueens {
            size: input[0] as u8,
        })
    }

    fn context(&self) -> &() {
        &()
    }

    fn root(&self) -> PartialBoard {
        PartialBoard(Board::new(self.size))
    }

    fn answer(&self, output: &u64) -> String {
        output.to_string()
    }

    fn verify(&self, output: &u64) -> bool {
        *output == SOLUTIONS[usize::from(self.size)]
    }
}
