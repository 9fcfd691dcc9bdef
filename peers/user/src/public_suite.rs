//! The public suite runtime-benchmarks: its programs in its sizes, in each form, and under oneTBB.

use std::hint::black_box;

use purloin::Serial;
use purloin_user::programs::fib;
use purloin_user::programs::matmul::{self, Matrices};
use purloin_user::programs::queens::{self, Columns};
use purloin_user::programs::skynet::{self, answer};

use crate::Row;
use crate::contestants::{Pools, printed_time, row, timed};

/// The environment variable with the path of the programs under oneTBB: see `peers/cpp/suite.cpp`.
pub const TBB: &str = "PURLOIN_SUITE_TBB";

pub const ROWS: &[Row] = &[
    row!("fib(39), joins", fib_timed, |pools| {
        "serial": fib::token(Serial, black_box(fib::SUITE)),
        "token": pools.purloin.run(|w| fib::token(w, fib::SUITE)),
        "free": pools.purloin.run(|_| fib::free(fib::SUITE)),
        "chili": fib::chili(&mut pools.chili.scope(), fib::SUITE),
        "rayon": pools.rayon.install(|| fib::rayon(fib::SUITE)),
    }, "tbb": under_tbb("fib")),
    row!("fib(39), spawns", fib_timed, |pools| {
        "serial": fib::token(Serial, black_box(fib::SUITE)),
        "token": pools.purloin.run(|w| fib::spawns(w, fib::SUITE)),
        "free": pools.purloin.run(|_| fib::spawns_free(fib::SUITE)),
        "rayon": pools.rayon.install(|| fib::spawns_rayon(fib::SUITE)),
    }),
    row!("skynet, joins", skynet_timed, |pools| {
        "serial": skynet::serial(0, black_box(skynet::SUITE)),
        "token": pools.purloin.run(|w| skynet::token(w, 0, skynet::SUITE)),
        "free": pools.purloin.run(|_| skynet::free(0, skynet::SUITE)),
        "chili": skynet::chili(&mut pools.chili.scope(), 0, skynet::SUITE),
        "rayon": pools.rayon.install(|| skynet::rayon(0, skynet::SUITE)),
    }),
    row!("skynet, loops in loops", skynet_timed, |pools| {
        "serial": skynet::serial(0, black_box(skynet::SUITE)),
        "token": pools.purloin.run(|w| skynet::loops(w, 0, skynet::SUITE)),
        "free": pools.purloin.run(|_| skynet::loops_free(0, skynet::SUITE)),
        "rayon": pools.rayon.install(|| skynet::loops_rayon(0, skynet::SUITE)),
    }),
    row!("skynet, spawns", skynet_timed, |pools| {
        "serial": skynet::serial(0, black_box(skynet::SUITE)),
        "token": pools.purloin.run(|w| skynet::spawns(w, 0, skynet::SUITE)),
        "free": pools.purloin.run(|_| skynet::spawns_free(0, skynet::SUITE)),
        "rayon": pools.rayon.install(|| skynet::spawns_rayon(0, skynet::SUITE)),
    }, "tbb": under_tbb("skynet")),
    row!("nqueens(14), joins", queens_timed, |pools| {
        "serial": queens::serial(Columns::default()),
        "token": pools.purloin.run(|w| queens::token(w, Columns::default())),
        "free": pools.purloin.run(|_| queens::free(Columns::default())),
        "chili": queens::chili(&mut pools.chili.scope(), Columns::default()),
        "rayon": pools.rayon.install(|| queens::rayon(Columns::default())),
    }),
    row!("nqueens(14), loops in loops", queens_timed, |pools| {
        "serial": queens::serial(Columns::default()),
        "token": pools.purloin.run(|w| queens::loops(w, Columns::default())),
        "free": pools.purloin.run(|_| queens::loops_free(Columns::default())),
        "rayon": pools.rayon.install(|| queens::loops_rayon(Columns::default())),
    }),
    row!("nqueens(14), spawns", queens_timed, |pools| {
        "serial": queens::serial(Columns::default()),
        "token": pools.purloin.run(|w| queens::spawns(w, Columns::default())),
        "free": pools.purloin.run(|_| queens::spawns_free(Columns::default())),
        "rayon": pools.rayon.install(|| queens::spawns_rayon(Columns::default())),
    }, "tbb": under_tbb("nqueens")),
    row!("matmul(2048), joins", matmul_timed, |pools| {
        "serial": product(matmul::serial),
        "token": product(|c, a, b| pools.purloin.run(|w| matmul::token(w, c, a, b))),
        "free": product(|c, a, b| pools.purloin.run(|_| matmul::free(c, a, b))),
        "chili": product(|c, a, b| matmul::chili(&mut pools.chili.scope(), c, a, b)),
        "rayon": product(|c, a, b| pools.rayon.install(|| matmul::rayon(c, a, b))),
    }),
    row!("matmul(2048), spawns", matmul_timed, |pools| {
        "serial": product(matmul::serial),
        "token": product(|c, a, b| pools.purloin.run(|w| matmul::spawns(w, c, a, b))),
        "free": product(|c, a, b| pools.purloin.run(|_| matmul::spawns_free(c, a, b))),
        "rayon": product(|c, a, b| pools.rayon.install(|| matmul::spawns_rayon(c, a, b))),
    }, "tbb": under_tbb("matmul")),
];

fn fib_timed(f: impl FnOnce() -> u64) -> Option<f64> {
    timed(fib::SUITE_ANSWER, f)
}

fn skynet_timed(f: impl FnOnce() -> u64) -> Option<f64> {
    timed(answer(skynet::SUITE), f)
}

fn queens_timed(f: impl FnOnce() -> u64) -> Option<f64> {
    timed(queens::SUITE_ANSWER, f)
}

/// As in the suite, the time includes the allocation of the matrices, but not the check of the result.
fn matmul_timed(f: impl FnOnce() -> Matrices) -> Option<f64> {
    let mut matrices = None;
    let seconds = timed((), || matrices = Some(f()))?;
    matrices?.is_right().then_some(seconds)
}

fn product(multiply: impl FnOnce(matmul::Results<'_>, &[i32], &[i32]) + Send) -> Matrices {
    let mut matrices = Matrices::new(matmul::SUITE);
    matrices.multiply(multiply);
    matrices
}

/// Runs a program of the suite under oneTBB, and returns the time that it prints.
fn under_tbb(program: &str, pools: &Pools) -> Option<f64> {
    let threads = pools.purloin.workers().to_string();
    printed_time(TBB, &[program, &threads])
}
