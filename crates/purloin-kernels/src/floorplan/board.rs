//! Boards with some cells in place: [`Board`].

use std::iter;

use bytemuck::{Pod, Zeroable};

use super::cells::{Cell, MAX_CELLS, Place, Shape};

/// The number of rows of a board, and its number of columns. A word has a bit for each column.
const SIDE: u8 = 64;

/// A board with some cells on it.
///
/// The board is a list of cells instead of a bitmap. Each task copies its board, and the list has a
/// sixth of the bytes. Searching it is cheap, because few cells lie in the rows where the next cell
/// may be placed.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
pub struct Board {
    /// The number of cells.
    len: u16,
    /// The number of rows that the cells take, from the top of the board.
    rows: u8,
    /// The number of columns that the cells take, from the left.
    columns: u8,
    /// The places of the cells.
    cells: [Rectangle; MAX_CELLS],
}

/// The place of a cell: rows from `top` to before `bottom`, columns from `left` to before `right`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
struct Rectangle {
    top: u8,
    bottom: u8,
    left: u8,
    right: u8,
}

impl Rectangle {
    fn new(top: u8, left: u8, (rows, columns): Shape) -> Rectangle {
        Rectangle {
            top,
            bottom: top + rows,
            left,
            right: left + columns,
        }
    }
}

impl Board {
    /// The area of a full board.
    pub const AREA: u64 = (SIDE as u64).pow(2);

    /// Creates a board without cells.
    pub fn empty() -> Board {
        Board::zeroed()
    }

    /// Returns the number of cells on the board.
    pub fn count(&self) -> usize {
        self.len.into()
    }

    /// Returns the area of the smallest rectangle that contains all cells and the board's corner.
    pub fn area(&self) -> u64 {
        u64::from(self.rows) * u64::from(self.columns)
    }

    /// Returns all boards that have `cell` in addition and an area below `limit`. The area of this
    /// board must be below `limit`.
    pub fn with_next(&self, cell: &'static Cell, limit: u64) -> impl Iterator<Item = Board> {
        let mut shapes = cell.shapes.iter();
        let mut shape = (0, 0);
        let (mut top, mut lefts) = (0, 0);
        iter::from_fn(move || {
            while lefts == 0 {
                shape = *shapes.next()?;
                (top, lefts) = self.places(cell.place, shape, limit);
            }
            let left = lefts.trailing_zeros() as u8;
            lefts &= lefts - 1;
            Some(self.with(Rectangle::new(top, left, shape)))
        })
    }

    /// Returns this board with one more cell.
    fn with(&self, place: Rectangle) -> Board {
        let mut board = *self;
        board.cells[self.count()] = place;
        board.len += 1;
        board.rows = self.rows.max(place.bottom);
        board.columns = self.columns.max(place.right);
        board
    }

    /// Returns the places for the upper left corner of a cell of this shape that keep the area
    /// below `limit`: a row, and the columns in it, as bits.
    ///
    /// This function does most of the work. It is not inlined into generic functions, so that only
    /// one copy exists.
    #[inline(never)]
    fn places(&self, place: Place, shape: Shape, limit: u64) -> (u8, u64) {
        let (rows, columns) = shape;
        let (top, lefts) = self.touching(place, shape);
        let bottom = top + rows;
        if lefts == 0 || bottom > SIDE {
            return (top, 0);
        }
        // With more columns than this, the area would not be below the limit.
        let max_columns = (limit - 1) / u64::from(bottom.max(self.rows));
        let max_columns = max_columns.min(SIDE.into()) as u8;
        if max_columns < columns.max(self.columns) {
            return (top, 0);
        }
        let lefts = lefts & span(0, max_columns - columns + 1);
        if lefts == 0 {
            return (top, 0);
        }
        (top, lefts & starts(!self.occupied(top, bottom), columns))
    }

    /// Returns the places for the upper left corner of a cell where the cell touches all cells that
    /// it must touch: a row, and the columns in it, as bits.
    fn touching(&self, place: Place, (rows, columns): Shape) -> (u8, u64) {
        match place {
            Place::Corner => (0, 1),
            Place::Below(above) => {
                let above = self.cells[usize::from(above)];
                let first = (above.left + 1).saturating_sub(columns);
                (above.bottom, span(first, above.right))
            }
            Place::Between { left, above } => {
                let left = self.cells[usize::from(left)];
                let above = self.cells[usize::from(above)];
                let (top, start) = (above.bottom, left.right);
                // As in the original program, it is enough if the lower left corner touches the
                // cell on the left, and the upper right corner the cell above.
                let beside = top < left.bottom && top + rows >= left.top;
                let below = start < above.right && start + columns >= above.left;
                (top, if beside && below { 1 << start } else { 0 })
            }
        }
    }

    /// Returns the columns that are occupied in any row from `top` to before `bottom`, as bits.
    fn occupied(&self, top: u8, bottom: u8) -> u64 {
        let mut occupied = 0;
        for cell in &self.cells[..self.count()] {
            // The branch is predictable, because most cells end above these rows.
            if cell.bottom > top && cell.top < bottom {
                occupied |= span(cell.left, cell.right);
            }
        }
        occupied
    }
}

/// Returns the bits from `start` to before `end`, which must be greater than `start`.
fn span(start: u8, end: u8) -> u64 {
    // `end` may be 64, and a word cannot be shifted by 64.
    (2u64 << (end - 1)).wrapping_sub(1 << start)
}

/// Returns the bits at which `len` consecutive ones begin.
fn starts(mut ones: u64, len: u8) -> u64 {
    // A bit in `ones` says whether `known` consecutive ones begin there.
    let mut known = 1;
    while known < len {
        let more = known.min(len - known);
        ones &= ones >> more;
        known += more;
    }
    ones
}

#[cfg(test)]
mod tests {
    use super::super::cells::CELLS;
    use super::*;

    /// Returns whether a rectangle contains this row and this column.
    fn covers(at: Rectangle, row: u8, column: u8) -> bool {
        (at.top..at.bottom).contains(&row) && (at.left..at.right).contains(&column)
    }

    /// Returns whether a cell may be at this place. Checks every square.
    fn fits(board: &Board, at: Rectangle, place: Place, limit: u64) -> bool {
        let cells = &board.cells[..board.count()];
        let free = |row, column| cells.iter().all(|&cell| !covers(cell, row, column));
        let mut columns = at.left..at.right;
        let touches = match place {
            Place::Corner => at.top == 0 && at.left == 0,
            Place::Below(above) => {
                let above = cells[usize::from(above)];
                at.top == above.bottom && columns.any(|column| covers(above, at.top - 1, column))
            }
            Place::Between { left, above } => {
                let (left, above) = (cells[usize::from(left)], cells[usize::from(above)]);
                // Includes one more row and column, because touching at a corner is enough.
                let mut rows = at.top..=at.bottom;
                let mut columns = at.left..=at.right;
                at.top == above.bottom
                    && at.left == left.right
                    && at.top < left.bottom
                    && rows.any(|row| covers(left, row, at.left - 1))
                    && at.left < above.right
                    && columns.any(|column| covers(above, at.top - 1, column))
            }
        };
        touches
            && at.bottom <= SIDE
            && at.right <= SIDE
            && (at.top..at.bottom).all(|row| (at.left..at.right).all(|column| free(row, column)))
            && board.with(at).area() < limit
    }

    /// Returns all places where `cell` may be, by [`fits`].
    fn expected(board: &Board, cell: &Cell, limit: u64) -> Vec<Rectangle> {
        let mut expected = Vec::new();
        for &shape in cell.shapes {
            for top in 0..SIDE {
                let row = (0..SIDE).map(|left| Rectangle::new(top, left, shape));
                expected.extend(row.filter(|&at| fits(board, at, cell.place, limit)));
            }
        }
        expected
    }

    /// Returns all places where [`Board::with_next`] puts `cell`.
    fn found(board: &Board, cell: &'static Cell, limit: u64) -> Vec<Rectangle> {
        let last = |next: Board| next.cells[board.count()];
        board.with_next(cell, limit).map(last).collect()
    }

    /// Places cells in all permitted places, and checks one in 8,000 boards square by square.
    fn check_some_boards(board: &Board, cells: &'static [Cell], limit: u64, boards: &mut u32) {
        let Some(cell) = cells.get(board.count()) else {
            return;
        };
        *boards += 1;
        if boards.is_multiple_of(8_000) {
            assert_eq!(found(board, cell, limit), expected(board, cell, limit));
        }
        for next in board.with_next(cell, limit) {
            check_some_boards(&next, cells, limit, boards);
        }
    }

    #[test]
    fn a_cell_may_be_wherever_it_touches_and_fits() {
        for (cells, limit) in [(7, Board::AREA), (13, 461)] {
            let mut boards = 0;
            check_some_boards(&Board::empty(), &CELLS[..cells], limit, &mut boards);
            assert!(boards > 10_000);
        }
    }

    #[test]
    fn no_cell_leaves_the_board() {
        static BELOW: Cell = Cell {
            shapes: &[(1, 1), (2, 9), (3, 2), (64, 1), (1, 64)],
            place: Place::Below(0),
        };
        for (top, left) in [(0, 0), (0, 61), (60, 0), (60, 61), (61, 40)] {
            let board = Board::empty().with(Rectangle::new(top, left, (3, 3)));
            let limit = Board::AREA + 1;
            assert_eq!(
                found(&board, &BELOW, limit),
                expected(&board, &BELOW, limit)
            );
        }
    }

    #[test]
    fn a_span_is_the_bits_from_start_to_end() {
        for end in 1..=SIDE {
            for start in 0..end {
                let bits = (start..end).fold(0, |bits, bit| bits | 1 << bit);
                assert_eq!(span(start, end), bits);
            }
        }
    }

    #[test]
    fn consecutive_ones_start_where_all_bits_are_ones() {
        let words = [0, 1, u64::MAX, 0xFF0F_3F7F_01FE_DCBA, 0x7FFF_FFFF_0FFF_FFF7];
        for ones in words {
            for len in 1..=SIDE {
                let all = |&start: &u8| ones & span(start, start + len) == span(start, start + len);
                let expected = (0..=SIDE - len)
                    .filter(all)
                    .fold(0, |bits, bit| bits | 1 << bit);
                assert_eq!(starts(ones, len), expected, "{len} ones in {ones:b}");
            }
        }
    }
}
