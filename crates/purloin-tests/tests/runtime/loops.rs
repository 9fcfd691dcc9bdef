//! Tests of the documentation's promises about loops.

use std::collections::HashSet;
use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind, panic_any};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::*};
use std::sync::{Mutex, OnceLock};
use std::thread;
use std::time::Duration;

use crate::common::{self, add, busy, pool, rounds};
use purloin::implement::in_pieces;
use purloin::iter::{Reversed, ReversibleIterations};
use purloin::prelude::*;
use purloin::{IntoIterations, Iterations, Pool, Scheduler, Serial, Splitting};

/// Returns these items in the reverse order, as an argument of a loop.
fn rev<I: IntoIterations<Iterations: ReversibleIterations>>(items: I) -> Reversed<I::Iterations> {
    items.into_par().rev().into_iterations()
}

use purloin_analysis::Counted;

/// Worker counts. Each is tested with one of the splittings.
const WORKERS: &[usize] = if cfg!(miri) { &[2] } else { &[1, 2, 5] };
const SPLITTINGS: [Splitting; 3] = [
    Splitting::LazyBinary,
    Splitting::LazyGuided,
    Splitting::LazyAdaptive,
];

/// Length of a loop whose iterations take some microseconds.
const LENGTH: usize = if cfg!(miri) { 20 } else { 500 };
/// Lengths of loops whose iterations take some nanoseconds.
const LONG: usize = if cfg!(miri) { 20 } else { 1000 };
const LONGER: usize = if cfg!(miri) { 21 } else { 20_000 };
const LONGEST: usize = if cfg!(miri) { 30 } else { 100_000 };
/// Lengths of a loop and of the loops that nest in it.
const ROWS: usize = if cfg!(miri) { 3 } else { 40 };
const COLUMNS: usize = if cfg!(miri) { 10 } else { 50 };
/// Number of sums that a loop of loops computes.
const SUMS: u64 = if cfg!(miri) { 5 } else { 100 };
/// Number of iterations after which an endless loop ends even if it was never split.
const LATE: usize = if cfg!(miri) { 50 } else { 50_000_000 };
/// Length of a loop that gives an idle worker enough time to steal a part.
const SHARED: usize = if cfg!(miri) { 1_000 } else { 5_000_000 };

common::under_two_schedulers! {
    for (workers, splitting) in WORKERS.iter().copied().zip(SPLITTINGS),
        Pool::builder().workers(workers).splitting(splitting);
    every_iteration_runs_once,
    results_are_combined_in_order,
    loops_may_nest,
    a_panic_waits_for_the_iterations_that_have_begun,
    results_are_dropped_once,
}

fn every_iteration_runs_once(pool: Pool<impl Scheduler>) {
    for n in [0_usize, 1, 2, 3, 10, LONG, LONGEST] {
        let mut counts = vec![0_u8; n];
        pool.run(|mut w| {
            w.for_each(&mut counts, |count| *count += 1);
            w.for_each((0..n, &mut counts), |(i, count)| *count += (i % 7) as u8);
            w.par(&mut counts).chunks(9).for_each(|part| {
                part.iter_mut().for_each(|count| *count += 1);
            });
        });
        let right = |(i, &count): (usize, &u8)| usize::from(count) == 2 + i % 7;
        assert!(counts.iter().enumerate().all(right), "{n}");
    }
    // These iterations take long enough for the loop to be split.
    let count = AtomicUsize::new(0);
    pool.run(|mut w| {
        w.for_each(0..LENGTH, |_| {
            busy(Duration::from_micros(10));
            add(&count, 1);
        });
    });
    assert_eq!(count.into_inner(), LENGTH);
}

fn results_are_combined_in_order(pool: Pool<impl Scheduler>) {
    for n in [0, 1, 2, 3, 10, LONG, LONGER] {
        let text = |n: usize| (0..n).map(|i| format!("{i},")).collect::<String>();
        let joined = pool.run(|mut w| w.map_reduce(0..n, |i| format!("{i},"), |a, b| a + &b));
        assert_eq!(joined, (n > 0).then(|| text(n)));
    }
    let numbers: Vec<_> = (1..=LONG as u64).collect();
    let sums = pool.run(|mut w| {
        let first = w.map_reduce(&numbers, |n| *n, u64::wrapping_add);
        let second = w.par(&numbers).chunks(9).map(|part| part.len()).max();
        let third = w.map_reduce((&numbers, 0..10_u64), |(n, i)| n * i, |a, b| a + b);
        (first, second, third)
    });
    assert_eq!(
        sums,
        (Some((LONG * (LONG + 1) / 2) as u64), Some(9), Some(330))
    );
}

fn loops_may_nest(pool: Pool<impl Scheduler>) {
    fn sum_to<W: Worker>(w: &mut W, n: u64) -> u64 {
        w.map_reduce(0..=n, |i| i, |a, b| a + b).unwrap()
    }

    let mut table = vec![vec![0; COLUMNS]; ROWS];
    pool.run(|mut w| {
        w.par((0.., &mut table))
            .for_each_with_token(|mut w, (i, row)| {
                w.for_each((0.., row), |(j, entry)| *entry = i * j);
                w.join(|_| (), |_| ());
            });
    });
    for (i, row) in table.iter().enumerate() {
        assert!(row.iter().enumerate().all(|(j, &entry)| entry == i * j));
    }
    let sum = pool.run(|mut w| {
        w.par(0..SUMS)
            .map_with_token(|mut w, i| sum_to(&mut w, i))
            .reduce(|a, b| a + b)
    });
    assert_eq!(sum, Some((0..SUMS).map(|i| i * (i + 1) / 2).sum()));
}

fn a_panic_waits_for_the_iterations_that_have_begun(pool: Pool<impl Scheduler>) {
    for bad in [0, 1, LENGTH / 9, LENGTH - 1] {
        let (begun, ended) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let result = catch_unwind(AssertUnwindSafe(|| {
            pool.run(|mut w| {
                w.for_each(0..LENGTH, |i| {
                    add(&begun, 1);
                    busy(Duration::from_micros(5));
                    if i == bad {
                        panic_any(i);
                    }
                    add(&ended, 1);
                });
            });
        }));
        assert_eq!(result.unwrap_err().downcast_ref(), Some(&bad));
        assert_eq!(begun.into_inner(), ended.into_inner() + 1);
    }
}

fn results_are_dropped_once(pool: Pool<impl Scheduler>) {
    /// Counts how many of its kind are dropped.
    struct CountsDrops<'c>(&'c AtomicUsize);

    impl Drop for CountsDrops<'_> {
        fn drop(&mut self) {
            self.0.fetch_add(1, AcqRel);
        }
    }

    for panics in [None, Some(LENGTH / 2), Some(0)] {
        for in_combination in [false, true] {
            let (made, dropped) = (AtomicUsize::new(0), AtomicUsize::new(0));
            let combinations = AtomicUsize::new(0);
            let result = catch_unwind(AssertUnwindSafe(|| {
                pool.run(|mut w| {
                    let map = |i| {
                        busy(Duration::from_micros(3));
                        if Some(i) == panics && !in_combination {
                            panic_any(i);
                        }
                        made.fetch_add(1, AcqRel);
                        CountsDrops(&dropped)
                    };
                    let combine = |a, _: CountsDrops| {
                        let number = combinations.fetch_add(1, Relaxed);
                        if Some(number) == panics && in_combination {
                            panic_any(number);
                        }
                        a
                    };
                    drop(w.map_reduce(0..LENGTH, map, combine));
                });
            }));
            assert_eq!(result.is_err(), panics.is_some());
            assert_eq!(made.into_inner(), dropped.into_inner());
        }
    }
}

#[test]
fn a_loop_may_have_any_length_and_any_bounds() {
    let pool = pool(3);
    pool.run(|mut w| {
        let mut sum = |range: std::ops::RangeInclusive<u64>| {
            let count = w.map_reduce(range.clone(), |_| 1, |a, b| a + b);
            let last = w.map_reduce(range, |i| i, |_, b| b);
            (count, last)
        };
        assert_eq!(sum(u64::MAX - 99..=u64::MAX), (Some(100), Some(u64::MAX)));
        assert_eq!(sum(7..=7), (Some(1), Some(7)));
        #[allow(clippy::reversed_empty_ranges)]
        let empty = 8..=7;
        assert_eq!(sum(empty), (None, None));
        let signed = w.map_reduce(i8::MIN..=i8::MAX, i64::from, |a, b| a + b);
        assert_eq!(signed, Some(-128));
        let least = w.map_reduce(i64::MIN..i64::MIN + 10, |i| i, i64::min);
        assert_eq!(least, Some(i64::MIN));
        let empty: &[u8] = &[];
        assert_eq!(w.map_reduce(empty, |_| (), |(), ()| ()), None);
        assert_eq!(w.map_reduce(&[5], |i| *i, i32::min), Some(5));
    });
}

/// The loop has 2^64 iterations, which would take hundreds of years. It ends with a panic.
#[test]
fn a_loop_may_have_more_iterations_than_fit_in_64_bits() {
    let pool = pool(3);
    for splitting in [0, u64::MAX / 2, u64::MAX] {
        let result = catch_unwind(AssertUnwindSafe(|| {
            pool.run(|mut w| {
                let is_late = AtomicUsize::new(0);
                w.for_each(0..=u64::MAX, |i| {
                    if i >= splitting || is_late.fetch_add(1, Relaxed) > LATE {
                        panic_any(1);
                    }
                });
            });
        }));
        assert!(result.is_err());
    }
}

/// Returns the first items of a loop, from a search that ends at the last of them.
fn first_items<W: Worker, I>(w: &mut W, iterations: I, count: usize) -> Vec<I::Item>
where
    I: IntoIterations<Item: Send>,
{
    let take = |mut items: Vec<I::Item>, item| {
        items.push(item);
        match items.len() == count {
            true => ControlFlow::Break(items),
            false => ControlFlow::Continue(items),
        }
    };
    // On a single worker there is one run, which begins with the first item.
    let items = w
        .par(iterations)
        .try_fold(Vec::new, take, |left, _| ControlFlow::Break(left));
    match items {
        ControlFlow::Break(items) | ControlFlow::Continue(items) => items,
    }
}

/// A loop that begins with too many iterations to count them.
#[test]
fn a_loop_of_2_to_the_64_iterations_or_more_begins_as_the_standard_iterator() {
    const COUNT: usize = 5;
    let pool = pool(1);
    macro_rules! check {
        ($iterations:expr, $expected:expr) => {
            let expected: Vec<_> = $expected.take(COUNT).collect();
            assert_eq!(first_items(&mut Serial, $iterations, COUNT), expected);
            let found = pool.run(|mut w| first_items(&mut w, $iterations, COUNT));
            assert_eq!(found, expected, "on a worker");
        };
    }
    macro_rules! check_ranges {
        ($($range:expr),* $(,)?) => {
            $(
                check!($range, $range);
                check!(rev($range), $range.rev());
                check!((0.., rev($range)), (0..).zip($range.rev()));
                check!((rev($range), $range), $range.rev().zip($range));
                check!(
                    (0_u8..9, rev($range), $range),
                    (0_u8..9).zip($range.rev().zip($range)).map(|(a, (b, c))| (a, b, c))
                );
                let halves = || rev($range).into_iterations().split_at(1 << 63);
                check!(halves().0, $range.rev());
                assert_eq!(halves().0.remaining(), 1 << 63);
                let mut expected = $range.rev();
                expected.nth((1 << 63) - 1);
                check!(halves().1, expected.clone());
            )*
        };
    }
    check_ranges![
        0..=u64::MAX,
        0..u64::MAX,
        1..=u64::MAX,
        0..=usize::MAX,
        i64::MIN..=i64::MAX,
        i64::MIN..i64::MAX,
        isize::MIN..=isize::MAX,
        0..=u128::MAX,
        0..u128::MAX,
        0..1_u128 << 64,
        0..=1_u128 << 64,
        5..(1_u128 << 64) + 4,
        i128::MIN..=i128::MAX,
        i128::MIN..i128::MAX,
        -5..=i128::MAX,
    ];
    let before_last = |&x: &u64| x < u64::MAX;
    let found = pool.run(|mut w| w.par(rev(0..=u64::MAX)).find_first(before_last));
    assert_eq!(found, Some(u64::MAX - 1));
    let count = |_, count, n| match n < COUNT as u128 {
        true => ControlFlow::Continue(count + 1),
        false => ControlFlow::Break(count),
    };
    let counted = in_pieces(&mut Serial, 0..u128::MAX, 8, || 0, count, |a, b| a + b);
    assert_eq!(counted, COUNT);
    let len = LONGEST as u64;
    let pairs = pool.run(|mut w| {
        w.par((0..len, rev(0..=u64::MAX)))
            .map(|pair| pair)
            .collect::<Vec<_>>()
    });
    assert!(pairs.into_iter().eq((0..len).map(|n| (n, u64::MAX - n))));
}

common::under_two_schedulers! {
    for workers in [2, 5], Pool::builder().workers(workers);
    a_panic_ends_the_parts_that_thieves_have,
}

/// The loop would take years, so every part must end when another part panics.
fn a_panic_ends_the_parts_that_thieves_have(pool: Pool<impl Scheduler>) {
    let first = OnceLock::new();
    let is_split = AtomicBool::new(false);
    let result = catch_unwind(AssertUnwindSafe(|| {
        pool.run(|mut w| {
            w.for_each(0..1_u64 << 50, |_| {
                if *first.get_or_init(|| thread::current().id()) != thread::current().id() {
                    is_split.store(true, Relaxed);
                } else if is_split.load(Relaxed) {
                    panic_any(1);
                }
            });
        });
    }));
    assert!(result.is_err());
}

#[test]
fn an_idle_worker_gets_a_part_of_a_loop() {
    let pool = pool(2);
    for _ in 0..rounds(20) {
        let workers = Mutex::new(HashSet::new());
        let both = AtomicBool::new(false);
        pool.run(|mut w| {
            w.for_each(0..SHARED, |_| {
                if !both.load(Relaxed) {
                    let mut workers = workers.lock().unwrap();
                    workers.insert(thread::current().id());
                    both.store(workers.len() == 2, Relaxed);
                    drop(workers);
                    busy(Duration::from_micros(2));
                }
            });
        });
        assert!(
            both.into_inner(),
            "the idle worker stole no part of a loop that takes ten seconds"
        );
    }
}

/// Until two workers run slow iterations, each takes at least ten thousand times as long as a cheap one. So the
/// length of a strip must not depend on past speed alone: the first worker that meets a slow iteration must soon
/// look for the other.
#[test]
#[cfg_attr(miri, ignore = "it takes millions of iterations")]
fn a_loop_that_turns_expensive_is_shared() {
    // The number of iterations of each kind, and how many slow ones may run before both workers run some.
    for (cheap, expensive, most_alone) in [(10_000_000, 2_000, 250), (900, 100, 80)] {
        let mut is_expensive = vec![false; cheap];
        is_expensive.resize(cheap + expensive, true);
        // The workers that ran slow iterations, and how many of these ran before a second worker did.
        let runners = Mutex::new((HashSet::new(), 0));
        pool(2).run(|mut w| {
            w.for_each(&is_expensive, |&is_expensive| {
                if is_expensive {
                    let mut runners = runners.lock().unwrap();
                    runners.0.insert(thread::current().id());
                    let is_shared = runners.0.len() > 1;
                    runners.1 += usize::from(!is_shared);
                    drop(runners);
                    if !is_shared {
                        // Without the lock, so that the second worker can record itself.
                        thread::sleep(Duration::from_millis(3));
                    }
                }
            });
        });
        let (workers, alone) = runners.into_inner().unwrap();
        assert!(workers.len() > 1, "one worker ran all slow iterations");
        assert!(alone <= most_alone, "{alone} of {expensive}");
    }
}

#[test]
fn token_free_loops_work_inside_and_outside_a_pool() {
    let sum = || purloin::map_reduce(0..1000, |i| i, |a, b| a + b);
    assert_eq!(pool(2).run(|_| sum()), Some(499_500));
    // The threads of the global pool never end, which Miri reports as a leak.
    if cfg!(miri) {
        return;
    }
    assert_eq!(sum(), Some(499_500));
    let mut numbers = vec![1; 1000];
    purloin::for_each(&mut numbers, |n| *n += 1);
    assert!(numbers.iter().all(|&n| n == 2));
}

#[test]
fn a_loop_runs_under_counting_and_serial_workers() {
    let tasks = std::sync::atomic::AtomicU64::new(0);
    let sum = |mut w: Counted<'_, Serial>| w.map_reduce(0..1000, |i| i, |a, b| a + b);
    assert_eq!(sum(Counted::new(Serial, &tasks)), Some(499_500));
    assert_eq!(
        Serial.map_reduce(0..1000, |i| i, |a, b| a + b),
        Some(499_500)
    );
    // The type of the chunks implements `Iterations`.
    fn length(iterations: impl Iterations) -> usize {
        iterations.remaining()
    }
    assert_eq!(length([0; 10].par().chunks(3).into_iterations()), 4);
}

#[test]
fn chunks_of_size_zero_are_refused() {
    let result = catch_unwind(|| [1].par().chunks(0).count());
    assert_eq!(
        common::message(result.unwrap_err()),
        "the size of chunks must be at least 1"
    );
}
