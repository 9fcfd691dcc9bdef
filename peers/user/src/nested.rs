//! Parallelism within parallelism, in the forms that a program may choose: a tree of joins, loops within loops, and
//! spawns.

use std::hint::black_box;

use purloin_user::programs::queens::{self, Bits};
use purloin_user::programs::skynet::{self, answer};

use crate::Row;
use crate::contestants::{row, timed};

pub const ROWS: &[Row] = &[
    row!("12 queens, joins", queens_timed, |pools| {
        "serial": queens::serial(EMPTY),
        "token": pools.purloin.run(|w| queens::token(w, EMPTY)),
        "free": pools.purloin.run(|_| queens::free(EMPTY)),
        "chili": queens::chili(&mut pools.chili.scope(), EMPTY),
        "rayon": pools.rayon.install(|| queens::rayon(EMPTY)),
    }),
    row!("12 queens, loops in loops", queens_timed, |pools| {
        "serial": queens::serial(EMPTY),
        "token": pools.purloin.run(|w| queens::loops(w, EMPTY)),
        "free": pools.purloin.run(|_| queens::loops_free(EMPTY)),
        "rayon": pools.rayon.install(|| queens::loops_rayon(EMPTY)),
    }),
    row!("skynet, 10^6 leaves, spawns", skynet_timed, |pools| {
        "serial": skynet::serial(0, black_box(LEAVES)),
        "token": pools.purloin.run(|w| skynet::spawns(w, 0, LEAVES)),
        "free": pools.purloin.run(|_| skynet::spawns_free(0, LEAVES)),
        "rayon": pools.rayon.install(|| skynet::spawns_rayon(0, LEAVES)),
    }),
];

const EMPTY: Bits<12> = Bits::EMPTY;
const LEAVES: u64 = 1_000_000;

fn queens_timed(f: impl FnOnce() -> u64) -> Option<f64> {
    timed(14_200, f)
}

fn skynet_timed(f: impl FnOnce() -> u64) -> Option<f64> {
    timed(answer(LEAVES), f)
}
