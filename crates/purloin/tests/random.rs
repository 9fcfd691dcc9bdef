//! Random programs under every scheduler, compared with their serial elision.
//!
//! Each program is a tree of joins, finishes, leaves and panics, made from a
//! seed. A failure names the seed and the number of workers; with
//! `PURLOIN_SEED=N` the test starts there.
#![allow(missing_docs)]

use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind, panic_any};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use purloin::{DirectStack, OneField, Pool, ReturnBarrier, Scheduler, Serial, TwoFields, Worker};

const PROGRAMS: u64 = if cfg!(debug_assertions) {
    1_000
} else {
    10_000
};
const WORKERS: [usize; 6] = [1, 2, 3, 5, 8, 16];

enum Program {
    Leaf(u64),
    /// Works for about so many nanoseconds.
    Busy(u32),
    Panic(u64),
    Join(Box<[Program; 2]>),
    /// Closures and results that do not fit a slot.
    BigJoin(Box<[Program; 2]>),
    /// Through the token-free functions.
    FreeJoin(Box<[Program; 2]>),
    Finish {
        direct: Vec<Program>,
        /// Spawned inside a join in the finish.
        escaping: Vec<Program>,
    },
}

use Program::*;

struct Random(u64);

impl Random {
    fn below(&mut self, n: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        (self.0 >> 33) % n
    }

    fn program(&mut self, depth: u64, panics: bool) -> Program {
        if depth == 0 {
            return match self.below(12) {
                0 if panics => Panic(self.below(1000)),
                1 => Busy(self.below(20_000) as u32),
                _ => Leaf(self.below(1000)),
            };
        }
        // Lopsided as often as balanced.
        let left = if self.below(3) == 0 { 0 } else { depth - 1 };
        match self.below(12) {
            0 => Leaf(self.below(1000)),
            1 => BigJoin(self.two(depth - 1, left, panics)),
            2 => FreeJoin(self.two(left, depth - 1, panics)),
            3 | 4 => Finish {
                direct: self.some(depth, panics),
                escaping: self.some(depth, panics),
            },
            n if n % 2 == 0 => Join(self.two(left, depth - 1, panics)),
            _ => Join(self.two(depth - 1, left, panics)),
        }
    }

    fn two(&mut self, a: u64, b: u64, panics: bool) -> Box<[Program; 2]> {
        Box::new([self.program(a, panics), self.program(b, panics)])
    }

    fn some(&mut self, depth: u64, panics: bool) -> Vec<Program> {
        let depth = depth.saturating_sub(3);
        (0..self.below(5))
            .map(|_| self.program(depth, panics))
            .collect()
    }
}

/// What a program may panic with; empty if it does not.
fn panics(program: &Program) -> BTreeSet<u64> {
    match program {
        Leaf(_) | Busy(_) => BTreeSet::new(),
        Panic(id) => [*id].into(),
        Join(both) | BigJoin(both) | FreeJoin(both) => {
            let first = panics(&both[0]);
            if first.is_empty() {
                panics(&both[1])
            } else {
                first
            }
        }
        Finish { direct, escaping } => direct.iter().chain(escaping).flat_map(panics).collect(),
    }
}

fn mix(a: u64, b: u64) -> u64 {
    a.rotate_left(7).wrapping_mul(31).wrapping_add(b)
}

/// The value of a program; every leaf counts itself.
fn run<W: Worker>(mut w: W, program: &Program, leaves: &AtomicU64) -> u64 {
    match program {
        Leaf(value) => {
            leaves.fetch_add(1, Relaxed);
            *value
        }
        Busy(nanoseconds) => {
            leaves.fetch_add(1, Relaxed);
            (0..u64::from(*nanoseconds)).fold(0, |x, i| std::hint::black_box(x ^ i))
        }
        Panic(id) => panic_any(*id),
        Join(both) => {
            let [a, b] = &**both;
            let (a, b) = w.join(|w| run(w, a, leaves), |w| run(w, b, leaves));
            mix(a, b)
        }
        BigJoin(both) => {
            let [a, b] = &**both;
            let ballast = [leaves.as_ptr().addr(); 30];
            let (a, b) = w.join(
                move |w| (run(w, a, leaves), ballast),
                move |w| (run(w, b, leaves), ballast),
            );
            assert_eq!((a.1, b.1), (ballast, ballast));
            mix(a.0, b.0)
        }
        FreeJoin(both) => {
            let [a, b] = &**both;
            let (a, b) = purloin::join(|| run_freely(a, leaves), || run_freely(b, leaves));
            mix(a, b)
        }
        Finish { direct, escaping } => {
            let values: Vec<_> = direct
                .iter()
                .chain(escaping)
                .map(|_| AtomicU64::new(0))
                .collect();
            let (direct_values, escaping_values) = values.split_at(direct.len());
            w.finish(|scope| {
                for (program, value) in direct.iter().zip(direct_values) {
                    scope.spawn(move |w| value.store(run(w, program, leaves), Relaxed));
                }
                let middle = escaping.len() / 2;
                let half = |range: std::ops::Range<usize>| {
                    for (program, value) in
                        escaping[range.clone()].iter().zip(&escaping_values[range])
                    {
                        scope.spawn(move |w| value.store(run(w, program, leaves), Relaxed));
                    }
                };
                scope.join(|_| half(0..middle), |_| half(middle..escaping.len()));
            });
            values
                .into_iter()
                .fold(0, |x, value| mix(x, value.into_inner()))
        }
    }
}

/// From no token to a token, by a finish with one task.
fn run_freely(program: &Program, leaves: &AtomicU64) -> u64 {
    let value = AtomicU64::new(0);
    purloin::finish(|scope| scope.spawn(|w| value.store(run(w, program, leaves), Relaxed)));
    value.into_inner()
}

fn check<S: Scheduler>(pools: &[Pool<S>], seed: u64) {
    let mut random = Random(seed.wrapping_mul(0x9E3779B97F4A7C15));
    random.below(1);
    let depth = random.below(14);
    let with_panics = random.below(3) == 0;
    let program = random.program(depth, with_panics);
    let panics = panics(&program);
    let serial_leaves = AtomicU64::new(0);
    // Token-free joins of the serial elision would go to the global pool; the
    // value is the same.
    let expected = panics
        .is_empty()
        .then(|| run(Serial, &program, &serial_leaves));
    for pool in pools {
        let leaves = AtomicU64::new(0);
        let result = catch_unwind(AssertUnwindSafe(|| pool.run(|w| run(w, &program, &leaves))));
        let place = format!("seed {seed}, {} workers", pool.workers());
        match result {
            Ok(value) => {
                assert_eq!(Some(value), expected, "{place}");
                assert_eq!(leaves.into_inner(), serial_leaves.load(Relaxed), "{place}");
            }
            Err(panic) => {
                let id = *panic
                    .downcast::<u64>()
                    .unwrap_or_else(|_| panic!("{place}: another panic"));
                assert!(panics.contains(&id), "{place}: {id} is not in {panics:?}");
            }
        }
    }
}

fn check_all<S: Scheduler + Clone>(scheduler: S) {
    // The panics are meant; do not print them.
    let report = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        if !info.payload().is::<u64>() {
            report(info);
        }
    }));
    let pools = WORKERS.map(|workers| {
        let builder = Pool::builder()
            .workers(workers)
            .scheduler(scheduler.clone());
        builder.build().unwrap()
    });
    let first = std::env::var("PURLOIN_SEED").map_or(0, |seed| seed.parse().unwrap());
    for seed in first..first + PROGRAMS {
        check(&pools, seed);
    }
}

#[test]
fn random_programs_agree_with_their_serial_elision() {
    check_all(ReturnBarrier::default());
}

#[test]
fn random_programs_agree_without_forced_steals() {
    check_all(ReturnBarrier::default().forced_steals(false));
}

#[test]
fn random_programs_agree_under_the_direct_stack() {
    check_all(DirectStack::<OneField>::new());
}

#[test]
fn random_programs_agree_under_the_direct_stack_of_two_fields() {
    check_all(DirectStack::<TwoFields>::new());
}
