//! Forks of some tens of microseconds: how soon does the second closure begin?
//!
//! All of them compute by the clock, so the ideal times do not depend on the machine.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

use purloin::Worker;

use crate::Row;
use crate::contestants::{Pools, compute};

/// Number of joins in a run.
const JOINS: u32 = 400;

/// Number of joins before them, which wake the workers. Waking is a row of its own.
const WARM_UP: u32 = 20;

macro_rules! contestants {
    ($run:ident, $($argument:expr),*) => {
        &[
            ("token", |pools| $run(pools, $($argument,)* token)),
            ("free", |pools| $run(pools, $($argument,)* free)),
            ("chili", |pools| $run(pools, $($argument,)* chili)),
            ("rayon", |pools| $run(pools, $($argument,)* rayon)),
        ]
    };
}

pub const ROWS: &[Row] = &[
    Row {
        what: "join of 50 + 50 µs",
        ideal: Some(|_| 50e-6),
        workers: 2,
        contestants: contestants!(back_to_back, 50),
    },
    Row {
        what: "join of 5 + 5 µs",
        ideal: Some(|_| 5e-6),
        workers: 2,
        contestants: contestants!(back_to_back, 5),
    },
    Row {
        what: "join of 5 + 5 µs, each from outside",
        ideal: Some(|_| 5e-6),
        workers: 2,
        contestants: contestants!(from_outside, 5),
    },
    Row {
        what: "delay of a fork after 100 µs",
        ideal: Some(|_| 0.0),
        workers: 2,
        contestants: contestants!(delay_after, || compute(Duration::from_micros(100))),
    },
    Row {
        what: "delay of a fork after 5 ms asleep",
        ideal: Some(|_| 0.0),
        workers: 2,
        contestants: contestants!(delay_after, || std::thread::sleep(Duration::from_millis(5))),
    },
    Row {
        what: "64 elements, every 32nd heavy",
        ideal: Some(|_| 39e-6),
        workers: 2,
        contestants: &[
            ("token", |pools| {
                unbalanced(pools, |pools, list| {
                    pools.purloin.run(|w| split_token(w, list))
                })
            }),
            ("free", |pools| {
                unbalanced(pools, |pools, list| pools.purloin.run(|_| split_free(list)))
            }),
            ("chili", |pools| {
                unbalanced(pools, |pools, list| {
                    split_chili(&mut pools.chili.scope(), list)
                })
            }),
            ("rayon", |pools| {
                unbalanced(pools, |pools, list| {
                    pools.rayon.install(|| split_rayon(list))
                })
            }),
        ],
    },
];

/// A way to run many joins one after the other inside a pool. `again` runs before each join and
/// says whether there is one more.
pub type Joins = fn(&Pools, again: &mut (dyn FnMut() -> bool + Send), a: Part, b: Part);

/// A closure of a join.
pub type Part<'f> = &'f (dyn Fn() + Sync);

pub fn token(pools: &Pools, again: &mut (dyn FnMut() -> bool + Send), a: Part, b: Part) {
    pools.purloin.run(|mut w| {
        while again() {
            w.join(|_| a(), |_| b());
        }
    });
}

pub fn free(pools: &Pools, again: &mut (dyn FnMut() -> bool + Send), a: Part, b: Part) {
    pools.purloin.run(|_| {
        while again() {
            purloin::join(a, b);
        }
    });
}

pub fn chili(pools: &Pools, again: &mut (dyn FnMut() -> bool + Send), a: Part, b: Part) {
    let mut scope = pools.chili.scope();
    while again() {
        scope.join(|_| a(), |_| b());
    }
}

pub fn rayon(pools: &Pools, again: &mut (dyn FnMut() -> bool + Send), a: Part, b: Part) {
    pools.rayon.install(|| {
        while again() {
            rayon::join(a, b);
        }
    });
}

/// Returns the time of a join whose closures take this many microseconds, back to back inside the
/// pool.
fn back_to_back(pools: &Pools, micros: u64, joins: Joins) -> Option<f64> {
    let part = || compute(Duration::from_micros(micros));
    let mut done = 0;
    let mut begin = Instant::now();
    let mut again = || {
        if done == WARM_UP {
            begin = Instant::now();
        }
        done += 1;
        done <= WARM_UP + JOINS
    };
    joins(pools, &mut again, &part, &part);
    Some(begin.elapsed().as_secs_f64() / f64::from(JOINS))
}

/// Returns the time of such a join that is made by the main thread.
fn from_outside(pools: &Pools, micros: u64, joins: Joins) -> Option<f64> {
    let part = || compute(Duration::from_micros(micros));
    let begin = Instant::now();
    for _ in 0..JOINS {
        let mut left = 2;
        let mut again = move || {
            left -= 1;
            left == 1
        };
        joins(pools, &mut again, &part, &part);
    }
    Some(begin.elapsed().as_secs_f64() / f64::from(JOINS))
}

/// Returns the median delay between a fork and the moment when both closures have begun. Before
/// each fork, the pool does nothing but `before`.
fn delay_after(pools: &Pools, before: fn(), joins: Joins) -> Option<f64> {
    let epoch = Instant::now();
    let nanos = move || epoch.elapsed().as_nanos() as u64;
    let (forked, begun) = (AtomicU64::new(0), AtomicU64::new(0));
    let mut delays = Vec::new();
    let mut again = || {
        if forked.load(Relaxed) > 0 {
            delays.push(begun.load(Relaxed) - forked.load(Relaxed));
        }
        before();
        forked.store(nanos(), Relaxed);
        delays.len() < 100
    };
    let part = || {
        begun.fetch_max(nanos(), Relaxed);
        compute(Duration::from_micros(500));
    };
    joins(pools, &mut again, &part, &part);
    delays.sort_unstable();
    Some(delays[delays.len() / 2] as f64 * 1e-9)
}

/// Returns the time to work through a list of 64 elements, two of which take 39 µs.
fn unbalanced(pools: &Pools, run: fn(&Pools, &[u64])) -> Option<f64> {
    let list: Vec<u64> = (0..64).map(|i| if i % 32 == 0 { 39 } else { 0 }).collect();
    let begin = Instant::now();
    for _ in 0..JOINS {
        run(pools, &list);
    }
    Some(begin.elapsed().as_secs_f64() / f64::from(JOINS))
}

fn work_on(micros: u64) {
    if micros > 0 {
        compute(Duration::from_micros(micros));
    }
}

fn split_token<W: Worker>(mut w: W, list: &[u64]) {
    match list {
        [] => (),
        &[one] => work_on(one),
        _ => {
            let (left, right) = list.split_at(list.len() / 2);
            w.join(|w| split_token(w, left), |w| split_token(w, right));
        }
    }
}

fn split_free(list: &[u64]) {
    match list {
        [] => (),
        &[one] => work_on(one),
        _ => {
            let (left, right) = list.split_at(list.len() / 2);
            purloin::join(|| split_free(left), || split_free(right));
        }
    }
}

fn split_chili(scope: &mut chili::Scope<'_>, list: &[u64]) {
    match list {
        [] => (),
        &[one] => work_on(one),
        _ => {
            let (left, right) = list.split_at(list.len() / 2);
            scope.join(|s| split_chili(s, left), |s| split_chili(s, right));
        }
    }
}

fn split_rayon(list: &[u64]) {
    match list {
        [] => (),
        &[one] => work_on(one),
        _ => {
            let (left, right) = list.split_at(list.len() / 2);
            rayon::join(|| split_rayon(left), || split_rayon(right));
        }
    }
}
