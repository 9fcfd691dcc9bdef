//! The smallest board for cells that touch each other, by branch and bound.
//!
//! The search places one cell after the other, in all shapes, at every place where the cell touches
//! the cells that it must touch. It abandons a board whose area is not below the smallest area that
//! any rank has found so far. So the number of tasks depends on how early a rank finds good boards,
//! and how fast the other ranks learn of them. The smallest area does not depend on either.
//!
//! Source: AsynchWS, Table I (20 cells); from BOTS, there from Cray's Application Kernel
//! Matrix.

mod board;
mod cells;

use bytemuck::{Pod, Zeroable};
use purloin_cluster::{Cluster, Error, GlobalMin, Rank, Task};
use purloin_kernels::{Description, Input, Inputs, Range};

use super::Kernel;
pub use board::Board;
use cells::{AREAS, CELLS, Cell, MAX_CELLS};

/// The cells to be placed, and the bound of the search.
pub struct Plan {
    cells: &'static [Cell],
    /// The smallest area that any rank has found so far, or the area of a full board.
    best: GlobalMin,
}

/// The result of a search.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct Found {
    /// The smallest area of a board with all cells, or the largest number if there is none.
    pub area: u64,
    /// The number of boards that were examined, without the boards that the bound excluded.
    pub boards: u64,
}

impl Found {
    /// The result of a search that found no board.
    const NOTHING: Found = Found {
        area: u64::MAX,
        boards: 0,
    };

    /// Combines the results of two searches.
    fn and(self, other: Found) -> Found {
        Found {
            area: self.area.min(other.area),
            boards: self.boards + other.boards,
        }
    }
}

impl Task for Board {
    type Output = Found;
    type Context = Plan;

    fn run<R: Rank<Self>>(self, mut rank: R) -> Found {
        let plan = rank.context();
        let area = self.area();
        let best = plan.best.get();
        // The area was below the bound when this task was spawned, but another task may have
        // found a better board since.
        if area >= best {
            return Found::NOTHING;
        }
        let Some(cell) = plan.cells.get(self.len()) else {
            plan.best.lower(area);
            return Found { area, boards: 1 };
        };
        let found = Found {
            boards: 1,
            ..Found::NOTHING
        };
        rank.spawn_all(self.with_next(cell, best), found, Found::and)
    }
}

/// The kernel `floorplan`.
pub struct Floorplan {
    plan: Plan,
}

impl Kernel for Floorplan {
    const DESCRIPTION: Description = Description {
        name: "floorplan",
        about: "the smallest board for n cells of several shapes, each touching others",
        inputs: Inputs::Numbers(&[Range {
            name: "cells",
            min: 1,
            max: MAX_CELLS as u32,
            default: None,
        }]),
        default: "20",
    };

    type Task = Board;

    fn prepare(cluster: &Cluster, input: Input) -> Result<Self, Error> {
        let plan = Plan {
            cells: &CELLS[..input[0] as usize],
            best: GlobalMin::new(cluster, Board::AREA)?,
        };
        Ok(Floorplan { plan })
    }

    fn context(&self) -> &Plan {
        &self.plan
    }

    fn root(&self) -> Board {
        Board::new()
    }

    fn reset(&mut self, _: &Cluster) {
        self.plan.best.reset(Board::AREA);
    }

    fn answer(&self, output: &Found) -> String {
        output.area.to_string()
    }

    fn verify(&self, output: &Found) -> bool {
        output.area == AREAS[self.plan.cells.len() - 1]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Does the same search as the tasks, sequentially and with its own bound.
    fn search(board: Board, cells: &'static [Cell], best: &mut u64) -> Found {
        let area = board.area();
        if area >= *best {
            return Found::NOTHING;
        }
        let Some(cell) = cells.get(board.len()) else {
            *best = area;
            return Found { area, boards: 1 };
        };
        let found = Found {
            boards: 1,
            ..Found::NOTHING
        };
        let boards = board.with_next(cell, *best);
        boards.fold(found, |sum, board| sum.and(search(board, cells, best)))
    }

    /// Returns the smallest area of all complete boards that extend `board`, without a bound.
    fn exhaustive_search(board: Board, cells: &'static [Cell]) -> Option<u64> {
        match cells.get(board.len()) {
            None => Some(board.area()),
            Some(cell) => board
                .with_next(cell, Board::AREA)
                .filter_map(|board| exhaustive_search(board, cells))
                .min(),
        }
    }

    #[test]
    fn the_search_finds_the_areas_published_with_the_inputs() {
        for (cells, area) in [(5, 216), (15, 713)] {
            let found = search(Board::new(), &CELLS[..cells], &mut { Board::AREA });
            assert_eq!(found.area, area);
        }
    }

    /// BOTS counts the calls that place a next cell. This kernel also counts the complete boards.
    #[test]
    fn the_search_examines_as_many_boards_as_the_original() {
        for (cells, nodes, complete) in [(5, 130, 4), (10, 23_424, 5)] {
            let found = search(Board::new(), &CELLS[..cells], &mut { Board::AREA });
            assert_eq!(found.boards, nodes + complete);
        }
    }

    #[test]
    fn the_search_with_a_bound_finds_the_area_of_the_exhaustive_search() {
        for cells in 1..=7 {
            let cells = &CELLS[..cells];
            let found = search(Board::new(), cells, &mut { Board::AREA });
            assert_eq!(Some(found.area), exhaustive_search(Board::new(), cells));
        }
    }

    #[test]
    fn the_search_finds_only_areas_below_its_bound() {
        for (cells, &area) in (1..=12).zip(&AREAS) {
            let search = |mut best| search(Board::new(), &CELLS[..cells], &mut best).area;
            assert_eq!(search(area + 1), area);
            assert_eq!(search(area), u64::MAX);
        }
    }
}
