//! Plain `fib`: a join for each addition, exactly as the README of Purloin shows it.

use std::hint::black_box;
use std::thread;
use std::time::{Duration, Instant};

use purloin::{Serial, Worker};
use purloin_user::programs::fib;

use crate::Row;
use crate::contestants::{Pools, row, timed};

pub const ROWS: &[Row] = &[
    row!("plain fib(38)", fib_timed, |pools| {
        "serial": fib::token(Serial, black_box(N)),
        "token": pools.purloin.run(|w| fib::token(w, N)),
        "free": pools.purloin.run(|_| fib::free(N)),
        "chili": fib::chili(&mut pools.chili.scope(), N),
        "rayon": pools.rayon.install(|| fib::rayon(N)),
    }),
    // The speed must not depend on where the frames of the machine stack are, relative to the
    // library's own memory.
    Row {
        what: "fib(26), best of 64 stack depths",
        ideal: None,
        workers: 1,
        contestants: &[
            ("serial", |_| at_depths(f64::min, serial_at)),
            ("token", |pools| {
                at_depths(f64::min, |depth| token_at(pools, depth))
            }),
            ("free", |pools| {
                at_depths(f64::min, |depth| free_at(pools, depth))
            }),
            ("chili", |pools| {
                at_depths(f64::min, |depth| chili_at(pools, depth))
            }),
        ],
    },
    Row {
        what: "fib(26), worst of 64 stack depths",
        ideal: None,
        workers: 1,
        contestants: &[
            ("serial", |_| at_depths(f64::max, serial_at)),
            ("token", |pools| {
                at_depths(f64::max, |depth| token_at(pools, depth))
            }),
            ("free", |pools| {
                at_depths(f64::max, |depth| free_at(pools, depth))
            }),
            ("chili", |pools| {
                at_depths(f64::max, |depth| chili_at(pools, depth))
            }),
        ],
    },
];

const N: u32 = 38;
const FIB: u64 = 39_088_169;

fn fib_timed(f: impl FnOnce() -> u64) -> Option<f64> {
    timed(FIB, f)
}

/// Lets the threads of the other contestants fall asleep, and wakes those of this one.
pub fn warm_up(contestant: &str, pools: &Pools) {
    const WHILE: Duration = Duration::from_millis(5);
    thread::sleep(WHILE);
    let begin = Instant::now();
    while begin.elapsed() < WHILE {
        black_box(match contestant {
            "token" | "free" => pools.purloin.run(|w| fib::token(w, SMALL)),
            "chili" => fib::chili(&mut pools.chili.scope(), SMALL),
            "rayon" => pools.rayon.install(|| fib::rayon(SMALL)),
            _ => fib::token(Serial, SMALL),
        });
    }
}

const SMALL: u32 = 26;
const SMALL_FIB: u64 = 121_393;
const DEPTHS: usize = 64;
/// Runs at each depth, of which the fastest counts: anything else that slows a run down has nothing
/// to do with the depth.
const TRIES: usize = 9;

/// Runs a program at each depth of the stack, and chooses one of the times.
fn at_depths(choose: fn(f64, f64) -> f64, program: impl Fn(usize) -> Option<f64>) -> Option<f64> {
    let at = |depth| {
        let times: Option<Vec<f64>> = (0..TRIES).map(|_| program(depth)).collect();
        times?.into_iter().reduce(f64::min)
    };
    let times: Option<Vec<f64>> = (0..DEPTHS).map(at).collect();
    times?.into_iter().reduce(choose)
}

/// Measures small `fib`s below `depth` frames of about a cache line each.
#[inline(never)]
fn below(depth: usize, fib: &mut dyn FnMut() -> u64) -> Option<f64> {
    let line = [0_u8; 48];
    black_box(&line);
    let seconds = match depth {
        0 => timed(SMALL_FIB, fib),
        _ => below(depth - 1, fib),
    };
    black_box(&line);
    seconds
}

fn serial_at(depth: usize) -> Option<f64> {
    below(depth, &mut || fib::token(Serial, black_box(SMALL)))
}

fn token_at(pools: &Pools, depth: usize) -> Option<f64> {
    pools
        .purloin
        .run(|mut w| below(depth, &mut || w.lend(|w| fib::token(w, SMALL))))
}

fn free_at(pools: &Pools, depth: usize) -> Option<f64> {
    pools
        .purloin
        .run(|_| below(depth, &mut || fib::free(SMALL)))
}

fn chili_at(pools: &Pools, depth: usize) -> Option<f64> {
    let mut scope = pools.chili.scope();
    below(depth, &mut || fib::chili(&mut scope, SMALL))
}
