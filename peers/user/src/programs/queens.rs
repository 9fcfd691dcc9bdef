//! The number of ways to place queens on a board, none in reach of another. Most loops over the legal places of a row
//! have one iteration or none.

use purloin::prelude::*;
use rayon::prelude::{IntoParallelRefIterator as _, ParallelIterator as _};

pub const SUITE_ANSWER: u64 = 365_596;

/// Maximum number of queens.
const MOST: usize = 14;

/// A board whose upper rows have queens.
pub trait Board: Copy + Send + Sync {
    /// A place in the next row.
    type Place: Copy + Send + Sync;

    fn is_full(&self) -> bool;

    /// Returns the legal places in the next row, and their number.
    fn places(&self) -> ([Self::Place; MOST], usize);

    /// Returns the board with another queen.
    fn with(self, place: Self::Place) -> Self;
}

/// The board of the suite: the columns of the queens. It compares each place with all queens.
#[derive(Clone, Copy, Default)]
pub struct Columns {
    columns: [u8; MOST],
    rows: usize,
}

impl Board for Columns {
    type Place = u8;

    fn is_full(&self) -> bool {
        self.rows == MOST
    }

    fn places(&self) -> ([u8; MOST], usize) {
        let (mut places, mut count) = ([0; MOST], 0);
        for column in 0..MOST as u8 {
            let reaches = |(row, &other): (usize, &u8)| {
                other == column || other.abs_diff(column) as usize == self.rows - row
            };
            if !self.columns[..self.rows].iter().enumerate().any(reaches) {
                places[count] = column;
                count += 1;
            }
        }
        (places, count)
    }

    fn with(mut self, column: u8) -> Self {
        self.columns[self.rows] = column;
        self.rows += 1;
        self
    }
}

/// A board for `N` queens whose tasks are short: the columns and diagonals that the queens occupy, as bits of the next
/// row.
#[derive(Clone, Copy)]
pub struct Bits<const N: u32> {
    columns: u32,
    left: u32,
    right: u32,
}

impl<const N: u32> Bits<N> {
    pub const EMPTY: Self = Bits {
        columns: 0,
        left: 0,
        right: 0,
    };
}

impl<const N: u32> Board for Bits<N> {
    type Place = u32;

    fn is_full(&self) -> bool {
        self.columns == (1 << N) - 1
    }

    fn places(&self) -> ([u32; MOST], usize) {
        let mut free = !(self.columns | self.left | self.right) & ((1 << N) - 1);
        let (mut places, mut count) = ([0; MOST], 0);
        while free != 0 {
            places[count] = free & free.wrapping_neg();
            free ^= places[count];
            count += 1;
        }
        (places, count)
    }

    fn with(self, place: u32) -> Self {
        Bits {
            columns: self.columns | place,
            left: (self.left | place) << 1,
            right: (self.right | place) >> 1,
        }
    }
}

pub fn serial<B: Board>(board: B) -> u64 {
    if board.is_full() {
        return 1;
    }
    let (places, count) = board.places();
    let ways = |&place: &B::Place| serial(board.with(place));
    places[..count].iter().map(ways).sum()
}

pub fn token<W: Worker, B: Board>(w: W, board: B) -> u64 {
    if board.is_full() {
        return 1;
    }
    let (places, count) = board.places();
    token_places(w, board, &places[..count])
}

fn token_places<W: Worker, B: Board>(mut w: W, board: B, places: &[B::Place]) -> u64 {
    match places {
        [] => 0,
        &[place] => token(w, board.with(place)),
        _ => {
            let (a, b) = places.split_at(places.len() / 2);
            let (a, b) = w.join(|w| token_places(w, board, a), |w| token_places(w, board, b));
            a + b
        }
    }
}

pub fn chili<B: Board>(scope: &mut chili::Scope<'_>, board: B) -> u64 {
    if board.is_full() {
        return 1;
    }
    let (places, count) = board.places();
    chili_places(scope, board, &places[..count])
}

fn chili_places<B: Board>(scope: &mut chili::Scope<'_>, board: B, places: &[B::Place]) -> u64 {
    match places {
        [] => 0,
        &[place] => chili(scope, board.with(place)),
        _ => {
            let (a, b) = places.split_at(places.len() / 2);
            let (a, b) = scope.join(|s| chili_places(s, board, a), |s| chili_places(s, board, b));
            a + b
        }
    }
}

/// Defines the tree of joins for a library whose joins take no token.
macro_rules! token_free {
    ($name:ident, $places:ident, $join:path) => {
        pub fn $name<B: Board>(board: B) -> u64 {
            if board.is_full() {
                return 1;
            }
            let (places, count) = board.places();
            $places(board, &places[..count])
        }

        fn $places<B: Board>(board: B, places: &[B::Place]) -> u64 {
            match places {
                [] => 0,
                &[place] => $name(board.with(place)),
                _ => {
                    let (a, b) = places.split_at(places.len() / 2);
                    let (a, b) = $join(|| $places(board, a), || $places(board, b));
                    a + b
                }
            }
        }
    };
}

token_free!(free, free_places, purloin::join);
token_free!(rayon, rayon_places, rayon::join);

pub fn loops<W: Worker, B: Board>(mut w: W, board: B) -> u64 {
    if board.is_full() {
        return 1;
    }
    let (places, count) = board.places();
    w.par(&places[..count])
        .map_with_token(|w, &place| loops(w, board.with(place)))
        .sum()
}

pub fn loops_free<B: Board>(board: B) -> u64 {
    if board.is_full() {
        return 1;
    }
    let (places, count) = board.places();
    let ways = |&place: &B::Place| loops_free(board.with(place));
    places[..count].par().map(ways).sum()
}

pub fn loops_rayon<B: Board>(board: B) -> u64 {
    if board.is_full() {
        return 1;
    }
    let (places, count) = board.places();
    let ways = |&place: &B::Place| loops_rayon(board.with(place));
    places[..count].par_iter().map(ways).sum()
}

pub fn spawns<W: Worker, B: Board>(mut w: W, board: B) -> u64 {
    if board.is_full() {
        return 1;
    }
    let ((places, count), mut ways) = (board.places(), [0; MOST]);
    w.finish(|scope| {
        for (&place, ways) in places[..count].iter().zip(&mut ways) {
            scope.spawn(move |w| *ways = spawns(w, board.with(place)));
        }
    });
    ways.iter().sum()
}

pub fn spawns_free<B: Board>(board: B) -> u64 {
    if board.is_full() {
        return 1;
    }
    let ((places, count), mut ways) = (board.places(), [0; MOST]);
    purloin::finish(|scope| {
        for (&place, ways) in places[..count].iter().zip(&mut ways) {
            scope.spawn(move |_| *ways = spawns_free(board.with(place)));
        }
    });
    ways.iter().sum()
}

pub fn spawns_rayon<B: Board>(board: B) -> u64 {
    if board.is_full() {
        return 1;
    }
    let ((places, count), mut ways) = (board.places(), [0; MOST]);
    rayon::scope(|scope| {
        for (&place, ways) in places[..count].iter().zip(&mut ways) {
            scope.spawn(move |_| *ways = spawns_rayon(board.with(place)));
        }
    });
    ways.iter().sum()
}
