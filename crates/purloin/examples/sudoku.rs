//! Solves a sudoku by parallel search. It shows `map_with_token`, whose closure is itself
//! parallel, and cancellation: the task that finds a solution sets a flag, and all others stop.
//!
//! Run it: `cargo run --release --example sudoku [PUZZLE]` (81 characters, 0 or . for empty cells)

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use purloin::{Pool, Worker};

/// By Arto Inkala, said to be among the hardest.
const PUZZLE: &str =
    "8..........36......7..9.2...5...7.......457.....1...3...1....68..85...1..9....4..";

/// A character for each cell, row by row: a digit, or a dot for an empty cell.
type Board = [u8; 81];

fn parse(puzzle: &str) -> Option<Board> {
    let board: Board = puzzle.replace('0', ".").into_bytes().try_into().ok()?;
    let is_valid = |cell: &u8| matches!(cell, b'.' | b'1'..=b'9');
    (board.iter().all(is_valid) && is_consistent(&board)).then_some(board)
}

fn print(board: &Board) {
    for row in board.chunks(9) {
        println!("{}", String::from_utf8_lossy(row));
    }
    println!();
}

/// Returns whether two cells are in one row, column or box.
fn see_each_other(a: usize, b: usize) -> bool {
    let box_of = |cell| (cell / 27, cell % 9 / 3);
    a / 9 == b / 9 || a % 9 == b % 9 || box_of(a) == box_of(b)
}

fn may_be(board: &Board, cell: usize, digit: u8) -> bool {
    (0..81).all(|other| board[other] != digit || !see_each_other(cell, other) || other == cell)
}

fn is_consistent(board: &Board) -> bool {
    (0..81).all(|cell| board[cell] == b'.' || may_be(board, cell, board[cell]))
}

fn candidates(board: &Board, cell: usize) -> Vec<u8> {
    let is_possible = |digit: &u8| may_be(board, cell, *digit);
    (b'1'..=b'9').filter(is_possible).collect()
}

fn solve<W: Worker>(mut w: W, board: &Board, solved: &AtomicBool) -> Option<Board> {
    if solved.load(Relaxed) {
        return None; // another task has a solution
    }
    // Branch at the empty cell with the fewest candidates.
    let empty = (0..81).filter(|cell| board[*cell] == b'.');
    let choices = empty.map(|cell| (cell, candidates(board, cell)));
    let Some((cell, digits)) = choices.min_by_key(|(_, digits)| digits.len()) else {
        solved.store(true, Relaxed);
        return Some(*board);
    };
    let try_digit = |w: W::Token<'_>, digit: &u8| {
        let mut board = *board;
        board[cell] = *digit;
        solve(w, &board, solved)
    };
    let tries = w.par(&digits).map_with_token(try_digit);
    tries.find_map_any(|solution| solution)
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let puzzle = std::env::args().nth(1).unwrap_or(PUZZLE.into());
    let puzzle = parse(&puzzle).ok_or("a puzzle has 81 digits or dots, without contradictions")?;
    print(&puzzle);
    let solution = Pool::new()?.run(|w| solve(w, &puzzle, &AtomicBool::new(false)));
    let solution = solution.ok_or("the puzzle has no solution")?;
    print(&solution);
    assert!(is_consistent(&solution));
    assert!((0..81).all(|cell| puzzle[cell] == b'.' || puzzle[cell] == solution[cell]));
    Ok(())
}
