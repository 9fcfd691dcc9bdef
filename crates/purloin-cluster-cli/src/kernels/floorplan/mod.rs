//! The least board for cells that touch one another: branch and bound.
//!
//! Cells are placed one after the other, in all of their shapes, wherever they touch
//! what they have to. No more are placed on a board whose area is not less than the
//! least that any rank has found so far. So the number of tasks depends on how early
//! good boards are found, and how fast the others hear of them; the least area does
//! not.
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
use cells::{AREAS, CELLS, Cell, MOST};

/// The cells that are to be placed, and what is known of the least area.
pub struct Plan {
    cells: &'static [Cell],
    /// The least area found so far, on any rank; or that of a full board.
    best: GlobalMin,
}

/// What a search has found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct Found {
    /// The least area of a board with all cells; the greatest number if there is none.
    pub area: u64,
    /// The number of boards looked at, other than those already known to be too large.
    pub boards: u64,
}

impl Found {
    /// No board at all.
    const NOTHING: Found = Found {
        area: u64::MAX,
        boards: 0,
    };

    /// What two searches have found together.
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
        // It was less when the task was spawned; a better board may have come since.
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
        about: "the least board for n cells of several shapes, each touching others",
        inputs: Inputs::Numbers(&[Range {
            what: "cells",
            least: 1,
            most: MOST as u32,
            usual: None,
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

    /// What tasks do, one after the other, with a best area of their own.
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

    /// The least area of all boards that can be made of this one.
    fn least_of_all(board: Board, cells: &'static [Cell]) -> Option<u64> {
        match cells.get(board.len()) {
            None => Some(board.area()),
            Some(cell) => board
                .with_next(cell, Board::AREA)
                .filter_map(|board| least_of_all(board, cells))
                .min(),
        }
    }

    #[test]
    fn the_areas_published_with_the_inputs_are_found() {
        for (cells, area) in [(5, 216), (15, 713)] {
            let found = search(Board::new(), &CELLS[..cells], &mut { Board::AREA });
            assert_eq!(found.area, area);
        }
    }

    /// In BOTS, a node is a call for the next cell; here, boards with all cells count too.
    #[test]
    fn as_many_boards_are_looked_at_as_in_the_original() {
        for (cells, nodes, complete) in [(5, 130, 4), (10, 23_424, 5)] {
            let found = search(Board::new(), &CELLS[..cells], &mut { Board::AREA });
            assert_eq!(found.boards, nodes + complete);
        }
    }

    #[test]
    fn the_least_area_is_found_without_looking_at_all_boards() {
        for cells in 1..=7 {
            let cells = &CELLS[..cells];
            let found = search(Board::new(), cells, &mut { Board::AREA });
            assert_eq!(Some(found.area), least_of_all(Board::new(), cells));
        }
    }

    #[test]
    fn nothing_is_found_that_is_not_less_than_what_is_known() {
        for (cells, &area) in (1..=12).zip(&AREAS) {
            let search = |mut best| search(Board::new(), &CELLS[..cells], &mut best).area;
            assert_eq!(search(area + 1), area);
            assert_eq!(search(area), u64::MAX);
        }
    }
}
