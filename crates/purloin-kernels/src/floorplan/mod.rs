//! The smallest board for cells that touch each other, by branch and bound.
//!
//! The search places one cell after the other, in all shapes, at every place where the cell touches
//! the cells that it must touch. It abandons a board whose area is not below the smallest area
//! found so far. So the number of tasks depends on how early a worker finds good boards. The
//! smallest area does not.
//!
//! Source: AsynchWS, Table I (20 cells); from BOTS, there from Cray's Application Kernel Matrix.

mod board;
mod cells;

use std::sync::atomic::{AtomicU64, Ordering};

use bytemuck::{Pod, Zeroable};
use purloin::Worker;

use crate::kernel::{Answer, Description, Input, Inputs, Kernel, Range};
pub use board::Board;
pub use cells::{AREAS, CELLS, Cell, MAX_CELLS, Place, Shape};

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
    pub const NOTHING: Found = Found {
        area: u64::MAX,
        boards: 0,
    };

    /// Combines the results of two searches.
    pub fn and(self, other: Found) -> Found {
        Found {
            area: self.area.min(other.area),
            boards: self.boards + other.boards,
        }
    }
}

/// Returns the smallest area of the complete boards that extend `board`. Ignores boards whose area
/// is not below `best`, which it lowers to the areas that it finds.
pub fn search<W: Worker>(w: W, board: Board, cells: &'static [Cell], best: &AtomicU64) -> Found {
    let area = board.area();
    // Relaxed, also below: the bound is a number alone.
    let bound = best.load(Ordering::Relaxed);
    // The area was below the bound when this board was made, but another task may have found a
    // better board since.
    if area >= bound {
        return Found::NOTHING;
    }
    let Some(cell) = cells.get(board.count()) else {
        best.fetch_min(area, Ordering::Relaxed);
        return Found { area, boards: 1 };
    };
    let found = Found {
        boards: 1,
        ..Found::NOTHING
    };
    let boards: Vec<Board> = board.with_next(cell, bound).collect();
    match boards.is_empty() {
        true => found,
        false => found.and(search_all(w, &boards, cells, best)),
    }
}

/// Searches from one or more boards.
fn search_all<W: Worker>(
    mut w: W,
    boards: &[Board],
    cells: &'static [Cell],
    best: &AtomicU64,
) -> Found {
    if let [board] = *boards {
        return search(w, board, cells, best);
    }
    let (left, right) = boards.split_at(boards.len() / 2);
    let (left, right) = w.join(
        |w| search_all(w, left, cells, best),
        |w| search_all(w, right, cells, best),
    );
    left.and(right)
}

/// The kernel `floorplan`.
#[derive(Debug)]
pub struct Floorplan {
    cells: &'static [Cell],
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

    fn prepare(input: Input) -> Self {
        let cells = &CELLS[..input[0] as usize];
        Floorplan { cells }
    }

    fn run<W: Worker>(&mut self, w: W) -> Answer {
        let best = AtomicU64::new(Board::AREA);
        Answer::Number(search(w, Board::empty(), self.cells, &best).area)
    }

    fn verify(&self, answer: &Answer) -> bool {
        *answer == Answer::Number(AREAS[self.cells.len() - 1])
    }
}

#[cfg(test)]
mod tests {
    use purloin::{Pool, Serial};

    use super::*;

    /// Searches serially, for areas below `best`.
    fn found(cells: usize, best: u64) -> Found {
        search(
            Serial,
            Board::empty(),
            &CELLS[..cells],
            &AtomicU64::new(best),
        )
    }

    /// Returns the smallest area of all complete boards that extend `board`, without a bound.
    fn exhaustive_search(board: Board, cells: &'static [Cell]) -> Option<u64> {
        match cells.get(board.count()) {
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
            assert_eq!(found(cells, Board::AREA).area, area);
        }
    }

    /// BOTS counts the calls that place a next cell. This kernel also counts the complete boards.
    #[test]
    fn the_serial_search_examines_as_many_boards_as_the_original() {
        for (cells, nodes, complete) in [(5, 130, 4), (10, 23_424, 5)] {
            assert_eq!(found(cells, Board::AREA).boards, nodes + complete);
        }
    }

    #[test]
    fn the_search_with_a_bound_finds_the_area_of_the_exhaustive_search() {
        for cells in 1..=7 {
            let area = found(cells, Board::AREA).area;
            assert_eq!(
                Some(area),
                exhaustive_search(Board::empty(), &CELLS[..cells])
            );
        }
    }

    #[test]
    fn the_search_finds_only_areas_below_its_bound() {
        for (cells, &area) in (1..=12).zip(&AREAS) {
            assert_eq!(found(cells, area + 1).area, area);
            assert_eq!(found(cells, area).area, u64::MAX);
        }
    }

    #[test]
    fn a_parallel_search_finds_the_same_area() {
        let pool = Pool::builder().workers(4).build().unwrap();
        let best = AtomicU64::new(Board::AREA);
        let found = pool.run(|w| search(w, Board::empty(), &CELLS[..12], &best));
        assert_eq!(found.area, AREAS[11]);
        assert_eq!(best.into_inner(), AREAS[11]);
    }
}
