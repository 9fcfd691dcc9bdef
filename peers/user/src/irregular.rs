//! A small loop, and a flood fill that spawns a task for each cell.

use std::hint::black_box;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

use purloin::{Scope, Spawner, Worker};
use rayon::prelude::*;

use crate::Row;
use crate::contestants::timed;

pub const ROWS: &[Row] = &[
    Row {
        what: "map_reduce of 10 elements",
        ideal: None,
        workers: 2,
        contestants: &[
            ("serial", |_| {
                per_loop(timed(SUM, || (0..LOOPS).map(|_| small_serial()).sum()))
            }),
            ("token", |pools| {
                per_loop(timed(SUM, || {
                    pools
                        .purloin
                        .run(|mut w| (0..LOOPS).map(|_| small_token(&mut w)).sum())
                }))
            }),
            ("free", |pools| {
                per_loop(timed(SUM, || {
                    pools
                        .purloin
                        .run(|_| (0..LOOPS).map(|_| small_free()).sum())
                }))
            }),
            ("rayon", |pools| {
                per_loop(timed(SUM, || {
                    pools
                        .rayon
                        .install(|| (0..LOOPS).map(|_| small_rayon()).sum())
                }))
            }),
        ],
    },
    Row {
        what: "flood fill of 128 × 128 cells",
        ideal: None,
        workers: 2,
        contestants: &[
            ("serial", |_| flood(fill_serially)),
            ("token", |pools| {
                flood(|field| {
                    pools
                        .purloin
                        .run(|mut w| w.finish(|scope| fill(scope, field, START)));
                })
            }),
            ("free", |pools| {
                flood(|field| {
                    pools
                        .purloin
                        .run(|_| purloin::finish(|scope| fill(scope, field, START)));
                })
            }),
            ("rayon", |pools| {
                flood(|field| {
                    pools
                        .rayon
                        .install(|| rayon::scope(|scope| fill_rayon(scope, field, START)));
                })
            }),
        ],
    },
];

const LOOPS: u64 = 20_000;
const ELEMENTS: u64 = 10;
/// About eight nanoseconds.
const ROUNDS: u32 = 14;
const SUM: u64 = LOOPS * small_sum();

const fn small_sum() -> u64 {
    let (mut sum, mut i) = (0, 0);
    while i < ELEMENTS {
        sum += mix(i, ROUNDS);
        i += 1;
    }
    sum
}

/// Some nanoseconds of arithmetic.
const fn mix(mut x: u64, rounds: u32) -> u64 {
    let mut round = 0;
    while round < rounds {
        x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        round += 1;
    }
    x >> 40
}

fn element(i: u64) -> u64 {
    mix(black_box(i), ROUNDS)
}

fn per_loop(seconds: Option<f64>) -> Option<f64> {
    seconds.map(|seconds| seconds / LOOPS as f64)
}

fn small_serial() -> u64 {
    (0..black_box(ELEMENTS)).map(element).sum()
}

fn small_token<W: Worker>(w: &mut W) -> u64 {
    w.map_reduce(0..black_box(ELEMENTS), element, |a, b| a + b)
        .unwrap_or(0)
}

fn small_free() -> u64 {
    purloin::map_reduce(0..black_box(ELEMENTS), element, |a, b| a + b).unwrap_or(0)
}

fn small_rayon() -> u64 {
    (0..black_box(ELEMENTS)).into_par_iter().map(element).sum()
}

const SIDE: usize = 128;
const START: usize = SIDE * SIDE / 2 + SIDE / 2;

/// A square of cells, none of which is filled at first.
struct Field {
    filled: Vec<AtomicBool>,
    sum: AtomicU64,
}

impl Field {
    fn new() -> Field {
        Field {
            filled: (0..SIDE * SIDE).map(|_| AtomicBool::new(false)).collect(),
            sum: AtomicU64::new(0),
        }
    }

    /// Fills a cell if it was not, and then works for two microseconds.
    fn enter(&self, cell: usize) -> bool {
        let is_new = !self.filled[cell].load(Relaxed) && !self.filled[cell].swap(true, Relaxed);
        if is_new {
            self.sum
                .fetch_add(mix(black_box(cell as u64), 500), Relaxed);
        }
        is_new
    }

    fn neighbours(cell: usize) -> impl Iterator<Item = usize> {
        let (x, y) = (cell % SIDE, cell / SIDE);
        [
            (x > 0).then(|| cell - 1),
            (x + 1 < SIDE).then_some(cell + 1),
            (y > 0).then(|| cell - SIDE),
            (y + 1 < SIDE).then_some(cell + SIDE),
        ]
        .into_iter()
        .flatten()
    }
}

/// Fills a fresh field, and returns the time in seconds, or nothing if a cell is missing.
fn flood(fill: impl FnOnce(&Field)) -> Option<f64> {
    let field = Field::new();
    let seconds = timed((), || fill(&field))?;
    let all: u64 = (0..SIDE * SIDE).map(|cell| mix(cell as u64, 500)).sum();
    (field.sum.into_inner() == all).then_some(seconds)
}

fn fill_serially(field: &Field) {
    let mut cells = vec![START];
    while let Some(cell) = cells.pop() {
        if field.enter(cell) {
            cells.extend(Field::neighbours(cell));
        }
    }
}

fn fill<'s, S: Spawner>(scope: &'s Scope<'s, '_, S>, field: &'s Field, cell: usize) {
    if field.enter(cell) {
        for next in Field::neighbours(cell) {
            scope.spawn(move |_| fill(scope, field, next));
        }
    }
}

fn fill_rayon<'s>(scope: &rayon::Scope<'s>, field: &'s Field, cell: usize) {
    if field.enter(cell) {
        for next in Field::neighbours(cell) {
            scope.spawn(move |scope| fill_rayon(scope, field, next));
        }
    }
}
