//! The cells to be placed: [`CELLS`].

/// The number of cells in [`CELLS`].
pub const MAX_CELLS: usize = 20;

/// A cell: a rectangle with several possible shapes.
#[derive(Clone, Copy, Debug)]
pub struct Cell {
    /// The possible shapes.
    pub shapes: &'static [Shape],
    /// The places that the cell may take.
    pub place: Place,
}

/// The number of rows of a cell, and its number of columns.
pub type Shape = (u8, u8);

/// The places that a cell may take, relative to earlier cells.
#[derive(Clone, Copy, Debug)]
pub enum Place {
    /// The upper left corner of the board.
    Corner,
    /// Anywhere along the lower edge of this cell, as long as the two touch.
    Below(u8),
    /// Below `above` and to the right of `left`: in the row where `above` ends and the column where
    /// `left` ends, if the cell touches both there.
    Between {
        /// The cell to the left.
        left: u8,
        /// The cell above.
        above: u8,
    },
}

use Place::{Below, Between, Corner};

/// All cells, in the order in which they are placed.
///
/// They come from the inputs `input.5`, `input.15` and `input.20` of the Barcelona OpenMP Tasks
/// Suite, and each input begins with the cells of the previous one. The suite numbers cells from 1,
/// and this table from 0.
#[rustfmt::skip]
pub static CELLS: [Cell; MAX_CELLS] = [
    cell(&[(3, 10), (6, 5)], Corner),
    cell(&[(2, 12), (3, 8), (4, 6)], Below(0)),
    cell(&[(5, 12), (6, 10)], Between { left: 1, above: 0 }),
    cell(&[(3, 8), (4, 6), (8, 3)], Below(2)),
    cell(&[(4, 10), (5, 8), (8, 5), (10, 4)], Below(1)),
    cell(&[(3, 3)], Below(4)),
    cell(&[(2, 16), (4, 8), (8, 4)], Between { left: 5, above: 4 }),
    cell(&[(2, 6), (3, 4), (4, 3)], Below(3)),
    cell(&[(3, 3)], Between { left: 7, above: 3 }),
    cell(&[(5, 6), (6, 5)], Between { left: 8, above: 3 }),
    cell(&[(4, 4)], Below(5)),
    cell(&[(2, 12), (4, 6), (6, 4), (12, 2)], Between { left: 6, above: 7 }),
    cell(&[(4, 9), (6, 6), (9, 4)], Below(8)),
    cell(&[(3, 9)], Between { left: 12, above: 9 }),
    cell(&[(3, 22), (6, 11)], Between { left: 10, above: 12 }),
    cell(&[(3, 8), (4, 6), (6, 4), (8, 3)], Below(13)),
    cell(&[(4, 10), (5, 8)], Below(14)),
    cell(&[(2, 6), (6, 2), (3, 4), (4, 3)], Between { left: 16, above: 14 }),
    cell(&[(3, 8), (2, 12)], Between { left: 17, above: 14 }),
    cell(&[(5, 5)], Below(15)),
];

/// The smallest area for the first 1, 2, 3 … cells. The areas for 5, 15 and 20 cells are published
/// with the inputs. The suite's own program computed the others.
pub static AREAS: [u64; MAX_CELLS] = [
    30, 60, 144, 192, 216, 252, 270, 270, 285, 323, 361, 380, 460, 540, 713, 736, 837, 837, 837,
    896,
];

const fn cell(shapes: &'static [Shape], place: Place) -> Cell {
    Cell { shapes, place }
}
