//! Flood fill: a task for each cell that is reached, spawned into one finish.

use std::sync::atomic::{AtomicU32, Ordering};

use purloin::{Scope, Spawner, Worker};

use crate::kernel::{Answer, Description, Input, Inputs, Kernel, Range};
use crate::work::{Results, steps, steps_per_microsecond};

/// The mark of a cell that is being filled. No work has this result: results are odd.
const REACHED: u32 = 2;

/// The kernel `flood`.
#[derive(Debug)]
pub struct Flood {
    field: Field,
}

/// A square of cells.
#[derive(Debug)]
struct Field {
    side: usize,
    /// 0 for a cell that was not reached, [`REACHED`], or the result of its work.
    cells: Vec<AtomicU32>,
    /// Number of steps of each cell.
    steps: u64,
}

impl Field {
    /// Reaches a cell, and spawns a task for each of its neighbours if it is the first to do so.
    fn fill<'s, S: Spawner>(&'s self, scope: &'s Scope<'s, '_, S>, cell: usize) {
        // Relaxed: the end of the finish orders the results before the answer.
        let relaxed = Ordering::Relaxed;
        let state = &self.cells[cell];
        if state.load(relaxed) != 0
            || state
                .compare_exchange(0, REACHED, relaxed, relaxed)
                .is_err()
        {
            return;
        }
        state.store(steps(self.steps, cell as u64), relaxed);
        let (side, x, y) = (self.side, cell % self.side, cell / self.side);
        let neighbours = [
            (x > 0, cell.wrapping_sub(1)),
            (x + 1 < side, cell + 1),
            (y > 0, cell.wrapping_sub(side)),
            (y + 1 < side, cell + side),
        ];
        for (is_inside, neighbour) in neighbours {
            if is_inside {
                scope.spawn(move |_| self.fill(scope, neighbour));
            }
        }
    }

    fn results(&self) -> Results {
        let results = self.cells.iter().map(|cell| cell.load(Ordering::Relaxed));
        Results(results.collect())
    }
}

impl Kernel for Flood {
    const DESCRIPTION: Description = Description {
        name: "flood",
        about: "flood fill of a square of cells, with a spawned task for each cell",
        inputs: Inputs::Numbers(&[
            Range {
                name: "cells along each side",
                min: 1,
                // The serial elision nests as deep as there are cells.
                max: 256,
                default: None,
            },
            Range {
                name: "microseconds per cell",
                min: 0,
                max: 1_000_000,
                default: Some(2),
            },
        ]),
        default: "128",
    };

    fn prepare(input: Input) -> Self {
        let side = input[0] as usize;
        Flood {
            field: Field {
                side,
                cells: Results::new(side * side)
                    .0
                    .into_iter()
                    .map(AtomicU32::new)
                    .collect(),
                steps: u64::from(input[1]) * steps_per_microsecond(),
            },
        }
    }

    fn run<W: Worker>(&mut self, mut w: W) -> Answer {
        let field = &self.field;
        let middle = field.side / 2 * (field.side + 1);
        w.finish(|scope| field.fill(scope, middle));
        field.results().done()
    }

    fn verify(&self, answer: &Answer) -> bool {
        let expected = |cell| steps(self.field.steps, cell as u64);
        self.field.results().verify(answer, expected)
    }
}
