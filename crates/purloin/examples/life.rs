//! Plays the game of life on a board whose edges are glued together, and prints the first
//! generations. It shows a loop over two sequences in step: the rows of a board, and their numbers.
//!
//! Run it: `cargo run --release --example life [SIZE]` (default: 200)

use std::error::Error;

use purloin::{Pool, Worker};

/// A square board of living and dead cells.
#[derive(PartialEq)]
struct Board {
    size: usize,
    cells: Vec<bool>,
}

impl Board {
    /// Returns a board with one glider, which moves down and to the right.
    fn with_glider(size: usize) -> Board {
        let mut cells = vec![false; size * size];
        for (y, x) in [(0, 1), (1, 2), (2, 0), (2, 1), (2, 2)] {
            cells[y * size + x] = true;
        }
        Board { size, cells }
    }

    fn next<W: Worker>(&self, mut w: W) -> Board {
        let mut cells = vec![false; self.cells.len()];
        let rows = w.par(&mut cells).chunks(self.size).enumerate();
        rows.for_each(|(y, row)| {
            for (x, cell) in row.iter_mut().enumerate() {
                *cell = match self.neighbours(y, x) {
                    2 => self.cells[y * self.size + x],
                    3 => true,
                    _ => false,
                };
            }
        });
        Board { cells, ..*self }
    }

    /// Returns the number of living cells around a cell.
    fn neighbours(&self, y: usize, x: usize) -> usize {
        let around = |i: usize| [(i + self.size - 1) % self.size, i, (i + 1) % self.size];
        let block = around(y).map(|y| around(x).map(|x| self.cells[y * self.size + x]));
        let alive = block.iter().flatten().filter(|alive| **alive).count();
        alive - usize::from(block[1][1])
    }

    /// Prints the corner in which the glider starts.
    fn print_corner(&self) {
        for row in self.cells.chunks(self.size).take(5) {
            let symbol = |alive: &bool| if *alive { "# " } else { ". " };
            println!("{}", row.iter().take(5).map(symbol).collect::<String>());
        }
        println!();
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let size: usize = std::env::args().nth(1).map_or(Ok(200), |n| n.parse())?;
    if size < 5 {
        return Err("the board must have at least 5 rows".into());
    }
    let pool = Pool::new()?;
    let (start, mut board) = (Board::with_glider(size), Board::with_glider(size));
    // A glider moves by one row and one column in four generations.
    let generations = 4 * size;
    for generation in 0..generations {
        if generation <= 4 {
            println!("generation {generation}");
            board.print_corner();
        }
        board = pool.run(|w| board.next(w));
    }
    assert!(board == start);
    println!("after {generations} generations, the glider is back where it started");
    Ok(())
}
