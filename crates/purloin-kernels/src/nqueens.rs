//! Counting all ways to place *n* queens on a board, by depth-first search.
//!
//! Source: Wool, section 5.1 (13); AsynchWS, Table I (14); from BOTS and Cilk.

use bytemuck::{Pod, Zeroable};
use purloin::Worker;

use crate::kernel::{Answer, Description, Input, Inputs, Kernel, Range};

/// The largest board.
pub const LARGEST: usize = 16;

/// The numbers of solutions for boards of 0 to 16 rows.
pub const SOLUTIONS: [u64; LARGEST + 1] = [
    1, 1, 0, 0, 2, 10, 4, 40, 92, 352, 724, 2_680, 14_200, 73_712, 365_596, 2_279_184, 14_772_512,
];

/// A square board with queens on its first rows. No queen attacks another one.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
pub struct Board {
    size: u8,
    /// Number of rows that have a queen.
    rows: u8,
    /// The column of each row's queen.
    columns: [u8; LARGEST],
}

impl Board {
    /// Creates an empty board of `size` rows.
    ///
    /// # Panics
    ///
    /// Panics if `size` is more than [`LARGEST`].
    pub fn new(size: u8) -> Self {
        assert!(usize::from(size) <= LARGEST);
        Board {
            size,
            rows: 0,
            columns: [0; LARGEST],
        }
    }

    /// Writes the columns of the next row that no queen attacks to `safe`, and returns their
    /// number.
    ///
    /// This function does most of the work. It is not inlined into the generic functions, so that
    /// it runs the same instructions under every scheduler. The inlined copies differed in run time
    /// by up to 10 %.
    #[inline(never)]
    pub fn safe_columns(&self, safe: &mut [u8; LARGEST]) -> usize {
        let mut count = 0;
        for column in 0..self.size {
            if self.is_safe(column) {
                safe[count] = column;
                count += 1;
            }
        }
        count
    }

    /// Returns whether every row has a queen.
    pub fn is_full(&self) -> bool {
        self.rows == self.size
    }

    fn is_safe(&self, column: u8) -> bool {
        let earlier = &self.columns[..self.rows.into()];
        (1..)
            .zip(earlier.iter().rev())
            .all(|(distance, &queen)| queen != column && queen.abs_diff(column) != distance)
    }

    /// Returns this board with a queen on this column of the next row.
    pub fn with(&self, column: u8) -> Board {
        let mut board = *self;
        board.columns[usize::from(self.rows)] = column;
        board.rows += 1;
        board
    }
}

/// Returns the number of ways to place queens on the remaining rows of `board`.
pub fn solutions<W: Worker>(w: W, board: Board) -> u64 {
    if board.is_full() {
        return 1;
    }
    // Check for attacks before making tasks, so that no task ends at once in a conflict.
    let mut safe = [0; LARGEST];
    match board.safe_columns(&mut safe) {
        0 => 0,
        count => divide(w, &board, &safe[..count]),
    }
}

/// Counts the solutions whose next queen is on one of `columns`.
#[inline(always)]
fn divide<W: Worker>(w: W, board: &Board, columns: &[u8]) -> u64 {
    match *columns {
        [column] => solutions(w, board.with(column)),
        _ => branch(w, board, columns),
    }
}

#[inline(never)]
fn branch<W: Worker>(mut w: W, board: &Board, columns: &[u8]) -> u64 {
    let (left, right) = columns.split_at(columns.len() / 2);
    let (a, b) = w.join(
        move |w| divide(w, board, left),
        move |w| divide(w, board, right),
    );
    a + b
}

/// The kernel `nqueens`.
#[derive(Debug)]
pub struct Nqueens {
    size: u8,
}

impl Kernel for Nqueens {
    const DESCRIPTION: Description = Description {
        name: "nqueens",
        about: "number of ways to place n queens on an n by n board so that no queen attacks another",
        inputs: Inputs::Numbers(&[Range {
            name: "queens",
            min: 1,
            max: LARGEST as u32,
            default: None,
        }]),
        default: "13",
    };

    fn prepare(input: Input) -> Self {
        let size = input[0];
        Nqueens { size: size as u8 }
    }

    fn run<W: Worker>(&mut self, w: W) -> Answer {
        Answer::Number(solutions(w, Board::new(self.size)))
    }

    fn verify(&self, answer: &Answer) -> bool {
        *answer == Answer::Number(SOLUTIONS[usize::from(self.size)])
    }
}
