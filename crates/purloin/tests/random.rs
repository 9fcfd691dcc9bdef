//! Random programs under every scheduler, compared with their serial elisions.
//!
//! Each program is a tree of joins, finishes, futures, loops, dependency graphs, leaves and panics,
//! made from a seed. A failure names the seed and the number of workers. The environment variable
//! `PURLOIN_SEED` sets the first seed of each test, and `PURLOIN_PROGRAMS` the number of programs.

mod common;
/// The scheduler that the page of `purloin::scheduler` shows.
#[path = "../src/scheduler/example.rs"]
mod example;

use std::collections::{BTreeSet, VecDeque};
use std::panic::{AssertUnwindSafe, catch_unwind, panic_any};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use common::Lcg;
use purloin::{Builder, Pool, ReturnBarrier, Scheduler, Serial, SharedHandle, Spawner, Worker};
use purloin_schedulers::{
    Channel, ChaseLev, DefaultWs, DirectStack, OneField, ReturnBarrierWs, Stealing, TwoFields,
};

/// Default number of programs for each scheduler.
const PROGRAMS: u64 = if cfg!(miri) { 4 } else { 1_000 };
/// The numbers of workers of the pools on which each program runs.
const WORKERS: &[usize] = match cfg!(miri) {
    true => &[2, 3],
    false => &[1, 2, 3, 5, 8, 16],
};
/// All programs are less deep than this.
const DEPTH: u64 = if cfg!(miri) { 7 } else { 14 };
/// Maximum work of a leaf, in steps of about a nanosecond.
const LONGEST_LEAF: u64 = if cfg!(miri) { 50 } else { 20_000 };

/// A program, or a part of one.
enum Program {
    /// Returns the number.
    Leaf(u64),
    /// Works for about this number of nanoseconds.
    Busy(u32),
    /// Panics with the number.
    Panic(u64),
    Join(Box<[Program; 2]>),
    /// A join whose closures and results do not fit in a slot.
    BigJoin(Box<[Program; 2]>),
    /// A token-free join.
    FreeJoin(Box<[Program; 2]>),
    Finish {
        /// Tasks that the body of the finish spawns.
        direct: Vec<Program>,
        /// Tasks that a join in the body spawns.
        escaping: Vec<Program>,
    },
    Futures {
        /// Futures that the program gets.
        got: Vec<Program>,
        /// Futures that the program drops.
        dropped: Vec<Program>,
        /// Determines how, and in which order, the program gets its futures.
        choice: u64,
    },
    /// A loop with one iteration for each part.
    Loop(Vec<Program>),
    /// Tasks that share their results. None of them panics.
    Graph {
        nodes: Vec<Program>,
        /// Determines on which earlier nodes a node depends, and how.
        choice: u64,
    },
}

use Program::*;

impl Program {
    /// Makes a program that is at most `depth` deep.
    fn random(numbers: &mut Lcg, depth: u64, panics: bool) -> Program {
        if depth == 0 {
            return match numbers.below(12) {
                0 if panics => Panic(numbers.below(1000)),
                1 => Busy(numbers.below(LONGEST_LEAF) as u32),
                _ => Leaf(numbers.below(1000)),
            };
        }
        // One in three is lopsided.
        let left = if numbers.below(3) == 0 { 0 } else { depth - 1 };
        match numbers.below(15) {
            0 => Leaf(numbers.below(1000)),
            1 => BigJoin(Program::two(numbers, depth - 1, left, panics)),
            2 => FreeJoin(Program::two(numbers, left, depth - 1, panics)),
            3 | 4 => Finish {
                direct: Program::some(numbers, depth, panics),
                escaping: Program::some(numbers, depth, panics),
            },
            5 => Futures {
                got: Program::some(numbers, depth, panics),
                dropped: Program::some(numbers, depth, false),
                choice: numbers.below(1 << 30),
            },
            6 => Loop(Program::some(numbers, depth, panics)),
            7 => Graph {
                nodes: (0..3)
                    .flat_map(|_| Program::some(numbers, depth, false))
                    .collect(),
                choice: numbers.below(1 << 30),
            },
            n if n % 2 == 0 => Join(Program::two(numbers, left, depth - 1, panics)),
            _ => Join(Program::two(numbers, depth - 1, left, panics)),
        }
    }

    /// Makes the two closures of a join.
    fn two(numbers: &mut Lcg, a: u64, b: u64, panics: bool) -> Box<[Program; 2]> {
        Box::new([
            Program::random(numbers, a, panics),
            Program::random(numbers, b, panics),
        ])
    }

    /// Makes up to four parts that are less deep.
    fn some(numbers: &mut Lcg, depth: u64, panics: bool) -> Vec<Program> {
        let depth = depth.saturating_sub(3);
        (0..numbers.below(5))
            .map(|_| Program::random(numbers, depth, panics))
            .collect()
    }
}

/// Returns the numbers with which a program may panic. The set is empty if it does not panic.
fn panics(program: &Program) -> BTreeSet<u64> {
    match program {
        Leaf(_) | Busy(_) | Graph { .. } => BTreeSet::new(),
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
        Futures { got: all, .. } | Loop(all) => all.iter().flat_map(panics).collect(),
    }
}

/// Combines two values so that their order matters.
fn mix(a: u64, b: u64) -> u64 {
    a.rotate_left(7).wrapping_mul(31).wrapping_add(b)
}

/// Runs a program and returns its value. Each leaf adds one to `leaves`.
fn run<W: Worker>(mut w: W, program: &'static Program, leaves: &'static AtomicU64) -> u64 {
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
        Futures {
            got,
            dropped,
            choice,
        } => {
            let mut choice = Lcg(*choice);
            let mut futures = VecDeque::new();
            let mut dropped = dropped.iter();
            for (place, program) in got.iter().enumerate() {
                // The future belongs to the scope of a finish or of this task.
                let future = match choice.below(3) {
                    0 => w.finish(|scope| scope.future(move |w| run(w, program, leaves))),
                    _ => w.future(move |w| run(w, program, leaves)),
                };
                futures.push_back((place, future));
                if let Some(program) = dropped.next() {
                    drop(w.future(move |w| run(w, program, leaves)));
                }
                if choice.below(3) == 0 {
                    w.join(|_| (), |_| ());
                }
            }
            for program in dropped {
                drop(w.future(move |w| run(w, program, leaves)));
            }
            let mut values = vec![0; got.len()];
            while let Some((place, future)) = match choice.below(3) {
                0 => futures.pop_front(),
                _ => futures.pop_back(),
            } {
                values[place] = match choice.below(5) {
                    0 => future.get(),
                    1 => w.join(|mut w| w.get(future), |_| ()).0,
                    2 => w.join(|_| (), |mut w| w.get(future)).1,
                    3 => {
                        let outer = w.future(move |mut w| w.get(future));
                        w.get(outer)
                    }
                    _ => w.get(future),
                };
            }
            values.into_iter().fold(0, mix)
        }
        Graph { nodes, choice } => w.finish(|scope| {
            let mut choice = Lcg(*choice);
            let mut results: Vec<SharedHandle<u64>> = Vec::new();
            for program in nodes {
                let chosen = results.iter().filter(|_| choice.below(2) == 0);
                let before: Vec<SharedHandle<u64>> = chosen.cloned().collect();
                let needed = before.clone();
                let first = choice.below(2) == 0;
                let task = move |w: <W::Spawner as Spawner>::Token<'_>| {
                    let sum = |x| needed.iter().fold(x, |x, node| mix(x, *node.get()));
                    match first {
                        true => mix(sum(0), run(w, program, leaves)),
                        false => sum(run(w, program, leaves)),
                    }
                };
                results.push(match choice.below(4) {
                    0 => scope.future(task).share(),
                    1 => scope.shared_future(task),
                    2 => scope.after(&before).shared_future(task),
                    // It waits for what it does not begin after.
                    _ => scope.after(before.first()).shared_future(task),
                });
            }
            match choice.below(3) {
                0 => results.iter().fold(0, |x, node| mix(x, *node.get())),
                1 => results.iter().rfold(0, |x, node| mix(x, *node.get())),
                _ => {
                    let sum = |nodes: &[SharedHandle<u64>]| {
                        nodes.iter().fold(0, |x, node| mix(x, *node.get()))
                    };
                    let (a, b) = results.split_at(results.len() / 2);
                    let (a, b) = scope.join(|_| sum(a), |_| sum(b));
                    mix(a, b)
                }
            }
        }),
        Loop(items) => {
            let run = |w: W::Token<'_>, item| vec![run(w, item, leaves)];
            let values = w
                .par(items)
                .map_with_token(run)
                .reduce(|a, b| [a, b].concat());
            values.unwrap_or_default().into_iter().fold(0, mix)
        }
    }
}

/// Runs a program without a token: a token-free finish spawns one task, which has a token.
fn run_freely(program: &'static Program, leaves: &'static AtomicU64) -> u64 {
    let value = AtomicU64::new(0);
    purloin::finish(|scope| scope.spawn(|w| value.store(run(w, program, leaves), Relaxed)));
    value.into_inner()
}

/// Calls `f` with a reference that pretends to live for ever, and drops the value afterwards.
fn lend_for_ever<T: 'static, R>(value: T, f: impl FnOnce(&'static T) -> R) -> R {
    struct Lent<T>(*mut T);
    impl<T> Drop for Lent<T> {
        fn drop(&mut self) {
            // SAFETY: the pointer comes from the box below. No reference to the value is left,
            // because every future ends before the run that made it.
            drop(unsafe { Box::from_raw(self.0) });
        }
    }
    let lent = Lent(Box::into_raw(Box::new(value)));
    // SAFETY: `lent` keeps the value alive during the call. `f` is one of the closures below, and
    // none of them keeps a reference to the value beyond the call.
    f(unsafe { &*lent.0 })
}

/// Makes the program of a seed and runs it on each pool.
fn check<S: Scheduler>(pools: &[Pool<S>], seed: u64) {
    let mut numbers = Lcg::of_seed(seed);
    let depth = numbers.below(DEPTH);
    let with_panics = numbers.below(3) == 0;
    lend_for_ever(
        Program::random(&mut numbers, depth, with_panics),
        |program| {
            let name = format!("seed {seed}");
            common::abort_if_it_hangs(&name, || check_program(pools, &name, program));
        },
    );
}

/// Runs a program on each pool, and compares the values with the value of its serial elision.
fn check_program<S: Scheduler>(pools: &[Pool<S>], seed: &str, program: &'static Program) {
    let panics = panics(program);
    // The token-free joins of the serial elision run on the global pool, which does not change
    // the value. The threads of the global pool never end, which Miri reports as a leak. So
    // under Miri these joins run on the first pool.
    let expected = panics.is_empty().then(|| {
        lend_for_ever(AtomicU64::new(0), |leaves| {
            let run = || run(Serial, program, leaves);
            let value = if cfg!(miri) {
                pools[0].run(|_| run())
            } else {
                run()
            };
            (value, leaves.load(Relaxed))
        })
    });
    for pool in pools {
        let place = format!("{seed}, {} workers", pool.workers());
        let result = lend_for_ever(AtomicU64::new(0), |leaves| {
            let run = || pool.run(|w| run(w, program, leaves));
            let result = catch_unwind(AssertUnwindSafe(run));
            result.map(|value| (value, leaves.load(Relaxed)))
        });
        match result {
            Ok(both) => assert_eq!(Some(both), expected, "{place}"),
            Err(panic) => {
                let id = *panic
                    .downcast::<u64>()
                    .unwrap_or_else(|_| panic!("{place}: a panic of another type"));
                assert!(panics.contains(&id), "{place}: {id} is not in {panics:?}");
            }
        }
    }
}

/// Runs the programs of all seeds under one scheduler.
fn check_all<S: Scheduler + Clone>(scheduler: S) {
    check_with(|builder| builder.scheduler(scheduler.clone()));
}

/// Runs the programs of all seeds, on pools with options that `options` sets.
fn check_with<S: Scheduler>(options: impl Fn(Builder) -> Builder<S>) {
    // Panics of the programs are intended, so they are not printed.
    let report = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        if !info.payload().is::<u64>() {
            report(info);
        }
    }));
    let pools = WORKERS.iter().map(|&workers| {
        let builder = options(Pool::builder().workers(workers));
        builder.build().unwrap()
    });
    let pools: Vec<_> = pools.collect();
    for seed in common::seeds(PROGRAMS) {
        check(&pools, seed);
    }
}

#[test]
fn random_programs_agree_with_their_serial_elision() {
    check_all(ReturnBarrier::default());
}

#[test]
fn random_programs_agree_when_blocked_workers_run_anything_beside_a_spare_worker() {
    check_with(|builder| builder.run_anything_while_blocked(true).spare_workers(1));
}

#[test]
fn random_programs_agree_when_blocked_workers_run_anything_without_spare_workers() {
    check_with(|builder| builder.run_anything_while_blocked(true).spare_workers(0));
}

#[test]
fn random_programs_agree_without_forced_steals() {
    check_all(ReturnBarrier::default().forced_steals(false));
}

#[test]
fn random_programs_agree_under_default_ws() {
    check_all(DefaultWs);
}

#[test]
fn random_programs_agree_under_return_barrier_ws() {
    check_all(ReturnBarrierWs);
}

#[test]
fn random_programs_agree_under_the_direct_stack() {
    check_all(DirectStack::<OneField>::new());
}

#[test]
fn random_programs_agree_under_the_direct_stack_of_two_fields() {
    check_all(DirectStack::<TwoFields>::new());
}

#[test]
#[cfg_attr(miri, ignore = "crossbeam-epoch needs flags of its own")]
fn random_programs_agree_under_chase_lev_deques() {
    check_all(ChaseLev::default());
}

#[test]
fn random_programs_agree_under_the_scheduler_of_the_documentation() {
    check_with(|builder| builder.scheduler(example::Locked));
}

#[test]
fn random_programs_agree_under_channels_that_bring_one_task() {
    check_all(Channel::default().steal(Stealing::One));
}

#[test]
fn random_programs_agree_under_channels_that_bring_half_of_the_tasks() {
    check_all(Channel::default().steal(Stealing::Half));
}

#[test]
fn random_programs_agree_under_channels_whose_workers_refuse_requests() {
    check_all(Channel::default().forward(false));
    check_all(Channel::default().forward(false).steal(Stealing::Half));
}
