//! Parallelism within parallelism, in the forms that a program may choose: a tree of joins, loops within loops, and
//! spawns.
//!
//! The *queens* program counts the ways to place queens on a board. Most of its loops have one iteration or none.
//! *Skynet* sums the numbers of the leaves of a tree with ten children at each node.

use std::hint::black_box;

use purloin::prelude::*;
use rayon::prelude::{IntoParallelRefIterator, ParallelIterator};

use crate::Row;
use crate::contestants::timed;

pub const ROWS: &[Row] = &[
    Row {
        what: "12 queens, joins",
        ideal: None,
        workers: 1,
        contestants: &[
            ("serial", |_| timed(WAYS, || serial(EMPTY))),
            ("token", |pools| {
                timed(WAYS, || pools.purloin.run(|w| joins(w, EMPTY)))
            }),
            ("free", |pools| {
                timed(WAYS, || pools.purloin.run(|_| joins_free(EMPTY)))
            }),
            ("rayon", |pools| {
                timed(WAYS, || pools.rayon.install(|| joins_rayon(EMPTY)))
            }),
        ],
    },
    Row {
        what: "12 queens, loops in loops",
        ideal: None,
        workers: 1,
        contestants: &[
            ("serial", |_| timed(WAYS, || serial(EMPTY))),
            ("token", |pools| {
                timed(WAYS, || pools.purloin.run(|w| loops(w, EMPTY)))
            }),
            ("free", |pools| {
                timed(WAYS, || pools.purloin.run(|_| loops_free(EMPTY)))
            }),
            ("rayon", |pools| {
                timed(WAYS, || pools.rayon.install(|| loops_rayon(EMPTY)))
            }),
        ],
    },
    Row {
        what: "skynet, 10^6 leaves, spawns",
        ideal: None,
        workers: 1,
        contestants: &[
            ("serial", |_| timed(SUM, || sum(0, black_box(LEAVES)))),
            ("token", |pools| {
                timed(SUM, || pools.purloin.run(|w| spawns(w, 0, LEAVES)))
            }),
            ("free", |pools| {
                timed(SUM, || pools.purloin.run(|_| spawns_free(0, LEAVES)))
            }),
            ("rayon", |pools| {
                timed(SUM, || pools.rayon.install(|| spawns_rayon(0, LEAVES)))
            }),
        ],
    },
];

const QUEENS: u32 = 12;
const WAYS: u64 = 14_200;

/// The columns and diagonals that queens above the next row occupy, as bits of that row.
#[derive(Clone, Copy)]
struct Board {
    columns: u32,
    left: u32,
    right: u32,
}

const EMPTY: Board = Board {
    columns: 0,
    left: 0,
    right: 0,
};

impl Board {
    fn is_full(self) -> bool {
        self.columns == (1 << QUEENS) - 1
    }

    /// Returns the legal places in the next row, and their number.
    fn places(self) -> ([u32; QUEENS as usize], usize) {
        let mut free = !(self.columns | self.left | self.right) & ((1 << QUEENS) - 1);
        let (mut places, mut count) = ([0; QUEENS as usize], 0);
        while free != 0 {
            places[count] = free & free.wrapping_neg();
            free ^= places[count];
            count += 1;
        }
        (places, count)
    }

    fn with(self, place: u32) -> Board {
        Board {
            columns: self.columns | place,
            left: (self.left | place) << 1,
            right: (self.right | place) >> 1,
        }
    }
}

fn serial(board: Board) -> u64 {
    if board.is_full() {
        return 1;
    }
    let (places, count) = board.places();
    places[..count]
        .iter()
        .map(|&place| serial(board.with(place)))
        .sum()
}

fn loops<W: Worker>(mut w: W, board: Board) -> u64 {
    if board.is_full() {
        return 1;
    }
    let (places, count) = board.places();
    w.par(&places[..count])
        .map_with_token(|w, &place| loops(w, board.with(place)))
        .sum()
}

fn loops_free(board: Board) -> u64 {
    if board.is_full() {
        return 1;
    }
    let (places, count) = board.places();
    places[..count]
        .par()
        .map(|&place| loops_free(board.with(place)))
        .sum()
}

fn loops_rayon(board: Board) -> u64 {
    if board.is_full() {
        return 1;
    }
    let (places, count) = board.places();
    places[..count]
        .par_iter()
        .map(|&place| loops_rayon(board.with(place)))
        .sum()
}

fn joins<W: Worker>(w: W, board: Board) -> u64 {
    if board.is_full() {
        return 1;
    }
    let (places, count) = board.places();
    join_places(w, board, &places[..count])
}

fn join_places<W: Worker>(mut w: W, board: Board, places: &[u32]) -> u64 {
    match places {
        [] => 0,
        &[place] => joins(w, board.with(place)),
        _ => {
            let (a, b) = places.split_at(places.len() / 2);
            let (a, b) = w.join(|w| join_places(w, board, a), |w| join_places(w, board, b));
            a + b
        }
    }
}

/// Defines the tree of joins for a library whose joins take no token.
macro_rules! token_free_joins {
    ($joins:ident, $join_places:ident, $join:path) => {
        fn $joins(board: Board) -> u64 {
            if board.is_full() {
                return 1;
            }
            let (places, count) = board.places();
            $join_places(board, &places[..count])
        }

        fn $join_places(board: Board, places: &[u32]) -> u64 {
            match places {
                [] => 0,
                &[place] => $joins(board.with(place)),
                _ => {
                    let (a, b) = places.split_at(places.len() / 2);
                    let (a, b) = $join(|| $join_places(board, a), || $join_places(board, b));
                    a + b
                }
            }
        }
    };
}

token_free_joins!(joins_free, join_free, purloin::join);
token_free_joins!(joins_rayon, join_rayon, rayon::join);

const LEAVES: u64 = 1_000_000;
const SUM: u64 = LEAVES * (LEAVES - 1) / 2;

fn sum(first: u64, leaves: u64) -> u64 {
    match leaves {
        1 => first,
        _ => (0..10)
            .map(|n| sum(first + n * (leaves / 10), leaves / 10))
            .sum(),
    }
}

fn spawns<W: Worker>(mut w: W, first: u64, leaves: u64) -> u64 {
    if leaves == 1 {
        return first;
    }
    let mut sums = [0; 10];
    w.finish(|scope| {
        for (n, sum) in (0..).zip(&mut sums) {
            let part = leaves / 10;
            scope.spawn(move |w| *sum = spawns(w, first + n * part, part));
        }
    });
    sums.iter().sum()
}

fn spawns_free(first: u64, leaves: u64) -> u64 {
    if leaves == 1 {
        return first;
    }
    let mut sums = [0; 10];
    purloin::finish(|scope| {
        for (n, sum) in (0..).zip(&mut sums) {
            let part = leaves / 10;
            scope.spawn(move |_| *sum = spawns_free(first + n * part, part));
        }
    });
    sums.iter().sum()
}

fn spawns_rayon(first: u64, leaves: u64) -> u64 {
    if leaves == 1 {
        return first;
    }
    let mut sums = [0; 10];
    rayon::scope(|scope| {
        for (n, sum) in (0..).zip(&mut sums) {
            let part = leaves / 10;
            scope.spawn(move |_| *sum = spawns_rayon(first + n * part, part));
        }
    });
    sums.iter().sum()
}
