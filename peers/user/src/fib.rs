//! Plain `fib`: a join for each addition, exactly as the README of Purloin shows it.

use std::hint::black_box;

use purloin::{Serial, Worker};

use crate::Row;
use crate::contestants::timed;

pub const ROWS: &[Row] = &[Row {
    what: "plain fib(38)",
    ideal: None,
    workers: 1,
    contestants: &[
        ("serial", |_| timed(FIB, || fib(Serial, black_box(N)))),
        ("token", |pools| {
            timed(FIB, || pools.purloin.run(|w| fib(w, N)))
        }),
        ("free", |pools| {
            timed(FIB, || pools.purloin.run(|_| fib_free(N)))
        }),
        ("chili", |pools| {
            timed(FIB, || fib_chili(&mut pools.chili.scope(), N))
        }),
        ("rayon", |pools| {
            timed(FIB, || pools.rayon.install(|| fib_rayon(N)))
        }),
    ],
}];

const N: u32 = 38;
const FIB: u64 = 39_088_169;

fn fib<W: Worker>(mut w: W, n: u32) -> u64 {
    if n < 2 {
        return n.into();
    }
    let (a, b) = w.join(|w| fib(w, n - 1), |w| fib(w, n - 2));
    a + b
}

fn fib_free(n: u32) -> u64 {
    if n < 2 {
        return n.into();
    }
    let (a, b) = purloin::join(|| fib_free(n - 1), || fib_free(n - 2));
    a + b
}

fn fib_chili(scope: &mut chili::Scope<'_>, n: u32) -> u64 {
    if n < 2 {
        return n.into();
    }
    let (a, b) = scope.join(|s| fib_chili(s, n - 1), |s| fib_chili(s, n - 2));
    a + b
}

fn fib_rayon(n: u32) -> u64 {
    if n < 2 {
        return n.into();
    }
    let (a, b) = rayon::join(|| fib_rayon(n - 1), || fib_rayon(n - 2));
    a + b
}
