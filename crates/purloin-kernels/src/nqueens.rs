//! All ways to place *n* queens on a board: depth-first search.
//!
//! Source: Wool, section 5.1 (13); AsynchWS, Table I (14); from BOTS and Cilk.

use bytemuck::{Pod, Zeroable};
use purloin::Worker;

use crate::kernel::{Answer, Description, Input, Inputs, Kernel, Range};

/// The largest board.
pub const LARGEST: usize = 16;

/// Solutions for boards of 0, 1, 2 … 16 rows.
pub const SOLUTIONS: [u64; LARGEST + 1] = [
    1, 1, 0, 0, 2, 10, 4, 40, 92, 352, 724, 2_680, 14_200, 73_712, 365_596, 2_279_184, 14_772_512,
];

/// A square board with queens on its first rows, none of which attacks another.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
pub struct Board {
    size: u8,
    /// Rows that have their queen.
    rows: u8,
    /// The column of each row's queen.
    columns: [u8; LARGEST],
}

impl Board {
    /// An empty board of `size` rows.
    ///
    /// # Panics
    ///
    /// If `size` is more than 16.
    pub fn new(size: u8) -> Self {
        assert!(usize::from(size) <= LARGEST);
        Board {
            size,
            rows: 0,
            columns: [0; LARGEST],
        }
    }

    /// Writes the columns of the next row that no queen attacks, and returns
    /// how many there are.
    ///
    /// This is most of the work. Kept out of the generic functions, it is the
    /// same instructions under every worker: copies of it, one in each, differed
    /// in time by up to a tenth.
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

    /// Whether every row has its queen.
    pub fn is_full(&self) -> bool {
        self.rows == self.size
    }

    fn is_safe(&self, column: u8) -> bool {
        let earlier = &self.columns[..self.rows.into()];
        (1..)
            .zip(earlier.iter().rev())
            .all(|(distance, &queen)| queen != column && queen.abs_diff(column) != distance)
    }

    /// This board with a queen on this column of the next row.
    pub fn with(&self, column: u8) -> Board {
        let mut board = *self;
        board.columns[usize::from(self.rows)] = column;
        board.rows += 1;
        board
    }
}

/// The number of ways to place queens on the remaining rows of `board`.
pub fn solutions<W: Worker>(w: W, board: Board) -> u64 {
    if board.is_full() {
        return 1;
    }
    // Tested before tasks are made, so that none is spent on a conflict.
    let mut safe = [0; LARGEST];
    match board.safe_columns(&mut safe) {
        0 => 0,
        count => divide(w, &board, &safe[..count]),
    }
}

/// The solutions with the next row's queen on one of `columns`.
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
        about: "all ways to place n queens on a board of n by n, none attacking another",
        inputs: Inputs::Numbers(&[Range {
            what: "queens",
            least: 1,
            most: LARGEST as u32,
            usual: None,
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
