//! Closures with memory: `map_init`, `for_each_init`, `PerWorker`; and vectors that exist already.

use std::cell::Cell;
use std::collections::HashSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use purloin::prelude::*;
use purloin::{PerWorker, Progress, Serial};

use crate::common::counted::{Counted, Counting};
use crate::common::{self, busy, rounds};

const ITEMS: usize = if cfg!(miri) { 40 } else { 10_000 };

#[test]
fn each_value_of_map_init_serves_one_run_of_items() {
    let pool = common::pool(3);
    for _ in 0..rounds(50) {
        let made = AtomicUsize::new(0);
        let init = || (made.fetch_add(1, Relaxed), 0);
        // The number of the value, and how many items it has served before.
        let served: Vec<(usize, usize)> = pool.run(|mut w| {
            let items = w.par(0..ITEMS).map_init(init, |(number, count), _| {
                *count += 1;
                (*number, *count - 1)
            });
            items.collect()
        });
        assert_eq!(served.len(), ITEMS);
        let mut next = vec![0; made.into_inner()];
        for (number, count) in served {
            assert_eq!(count, next[number], "items come in their order");
            next[number] += 1;
        }
        assert!(
            next.iter().all(|&count| count > 0),
            "no value is made in vain"
        );
    }
    let all: Vec<usize> = Serial
        .par(0..5)
        .map_init(
            || 0,
            |count, _| {
                *count += 1;
                *count
            },
        )
        .rev()
        .collect();
    assert_eq!(all, [1, 2, 3, 4, 5], "a single part has a single value");
}

#[test]
fn values_of_map_init_are_dropped_once_whatever_panics() {
    let pool = common::pool(3);
    for round in 0..rounds(50) {
        let counting = Counting::begin();
        let run = || {
            pool.run(|mut w| {
                w.par(0..ITEMS).for_each_init(
                    || Counted::new(0),
                    |_, n| assert!(n != ITEMS / 2 || round % 2 == 0),
                );
            });
        };
        assert_eq!(catch_unwind(AssertUnwindSafe(run)).is_ok(), round % 2 == 0);
        counting.expect_none_left(|| format!("round {round}"));
    }
}

#[test]
fn a_worker_has_one_value_at_a_time_and_all_are_there_at_the_end() {
    let pool = common::pool(3);
    for _ in 0..rounds(30) {
        let mut sums = PerWorker::new(|| (0_u64, Cell::new(false)));
        pool.run(|mut w| {
            w.par(0..ITEMS as u64).for_each(|n| {
                sums.with(|(sum, is_used)| {
                    assert!(!is_used.replace(true), "one body at a time");
                    *sum += n;
                    is_used.set(false);
                });
            });
        });
        let count = sums.iter_mut().count();
        // Spare workers have values, too.
        let most = 3 + pool.stats().spare_workers as usize;
        assert!((1..=most).contains(&count), "{count} values");
        let total: u64 = sums.drain().map(|(sum, _)| sum).sum();
        assert_eq!(total, (ITEMS as u64) * (ITEMS as u64 - 1) / 2);
        assert_eq!(sums.iter_mut().count(), 0, "nothing is left");
        sums.with(|(sum, _)| assert_eq!(*sum, 0, "a new value"));
    }
}

/// The body of the outer loop keeps its value while the inner loop runs, also other bodies of the inner loop on the same
/// thread, and bodies on a spare worker.
#[test]
fn nested_bodies_have_values_of_their_own() {
    let pool = common::pool(2);
    let values = PerWorker::new(Vec::new);
    pool.run(|mut w| {
        w.par(0..8_usize).for_each(|n| {
            values.with(|outer| {
                outer.push(n);
                let len = outer.len();
                (0..8_usize).into_par().for_each(|m| {
                    values.with(|inner| {
                        inner.push(100 * n + m);
                        purloin::blocking(|| busy(std::time::Duration::from_micros(20)));
                    });
                });
                assert_eq!(outer.len(), len, "nobody else has used the value");
            });
        });
    });
    let mut all: Vec<usize> = values.into_iter().flatten().collect();
    all.sort_unstable();
    let inner = (0..8).flat_map(|n| (0..8).map(move |m| 100 * n + m));
    let mut expected: Vec<usize> = (0..8).chain(inner).collect();
    expected.sort_unstable();
    assert_eq!(all, expected);
}

#[test]
fn a_value_is_back_after_a_panic_and_works_outside_of_a_pool() {
    let values = PerWorker::new(|| 0);
    let panics = || {
        values.with(|value| {
            *value = 7;
            panic!("expected");
        })
    };
    assert!(catch_unwind(AssertUnwindSafe(panics)).is_err());
    assert_eq!(values.with(|value| *value), 7);
    let mut first = values.take();
    *first = 8;
    values.with(|second| *second = 9);
    drop(first);
    let all: HashSet<i32> = values.into_iter().collect();
    assert_eq!(all, HashSet::from([8, 9]));
}

#[test]
fn an_init_that_panics_leaves_nothing_behind() {
    let may_panic = AtomicUsize::new(0);
    let init = move || match may_panic.fetch_add(1, Relaxed) {
        0 => panic!("expected"),
        count => count,
    };
    let values = PerWorker::new(init);
    assert!(catch_unwind(AssertUnwindSafe(|| values.with(|_| ()))).is_err());
    assert_eq!(values.with(|value| *value), 1);
    assert_eq!(values.into_iter().collect::<Vec<_>>(), [1]);
}

#[test]
fn items_are_appended_to_a_vector_in_their_order() {
    let pool = common::pool(3);
    for _ in 0..rounds(30) {
        let mut vec = vec![7; 3];
        let mut expected = vec.clone();
        pool.run(|mut w| w.par(0..ITEMS).collect_into(&mut vec));
        expected.extend(0..ITEMS);
        assert_eq!(vec, expected);
        pool.run(|mut w| {
            w.par(0..ITEMS)
                .filter(|n| n % 3 == 0)
                .collect_into(&mut vec)
        });
        expected.extend((0..ITEMS).filter(|n| n % 3 == 0));
        assert_eq!(vec, expected);
    }
    let mut vec = Vec::with_capacity(ITEMS);
    let address = vec.as_ptr();
    Serial.par(0..ITEMS).collect_into(&mut vec);
    assert_eq!(vec.as_ptr(), address, "the vector keeps its memory");
}

#[test]
fn a_vector_keeps_its_items_when_a_closure_panics() {
    let pool = common::pool(3);
    for round in 0..rounds(50) {
        let counting = Counting::begin();
        let mut vec: Vec<Counted> = vec![Counted::new(1), Counted::new(2)];
        let run = || {
            let item = |n: usize| {
                assert!(n != ITEMS / 2);
                Counted::new(n as u64)
            };
            pool.run(|mut w| match round % 2 {
                0 => w.par(0..ITEMS).map(item).collect_into(&mut vec),
                _ => w
                    .par(0..ITEMS)
                    .filter(|_| true)
                    .map(item)
                    .collect_into(&mut vec),
            });
        };
        assert!(catch_unwind(AssertUnwindSafe(run)).is_err());
        assert_eq!(vec.len(), 2);
        drop(vec);
        counting.expect_none_left(|| format!("round {round}"));
    }
}

#[test]
fn pairs_and_parts_are_those_of_the_standard_iterators() {
    let pool = common::pool(3);
    for len in [0, 1, 7, ITEMS] {
        let pair = |n: usize| (n, n.to_string());
        let expected: (Vec<_>, Vec<_>) = (0..len).map(pair).unzip();
        let exact: (Vec<_>, Vec<_>) = pool.run(|mut w| w.par(0..len).map(pair).unzip());
        assert_eq!(exact, expected);
        let inexact: (Vec<_>, Vec<_>) =
            pool.run(|mut w| w.par(0..len).filter(|_| true).map(pair).unzip());
        assert_eq!(inexact, expected);
        let is_odd = |n: &usize| n % 2 == 1;
        let expected: (Vec<_>, Vec<_>) = (0..len).partition(is_odd);
        let parts: (Vec<_>, Vec<_>) = pool.run(|mut w| w.par(0..len).partition(is_odd));
        assert_eq!(parts, expected);
        let sets: (HashSet<_>, HashSet<_>) = pool.run(|mut w| w.par(0..len).partition(is_odd));
        assert_eq!(sets, (0..len).partition(is_odd));
    }
}

#[test]
fn the_first_item_is_found_behind_adaptors_that_leave_items_out() {
    let pool = common::pool(3);
    for _ in 0..rounds(30) {
        for first in [0, 1, ITEMS / 3, ITEMS - 1, ITEMS] {
            let found = pool.run(|mut w| {
                let items = w.par(0..ITEMS).filter(|n| n % 2 == first % 2);
                items.find_first(|&n| n >= first)
            });
            assert_eq!(found, (first < ITEMS).then_some(first));
            let found = pool.run(|mut w| {
                let items = w.par(0..ITEMS).flat_map_iter(|n| [n, n]);
                items.find_map_first(|n| (n >= first).then(|| n.to_string()))
            });
            assert_eq!(found, (first < ITEMS).then(|| first.to_string()));
            let position = pool.run(|mut w| w.par(0..ITEMS).position(|n| n >= first));
            assert_eq!(position, (first < ITEMS).then_some(first));
        }
    }
}

/// Parts of the loop behind the first item end.
#[test]
#[cfg_attr(miri, ignore = "the loop is too long")]
fn a_search_for_the_first_item_ends_soon() {
    let pool = common::pool(3);
    let looked = AtomicUsize::new(0);
    let found = pool.run(|mut w| {
        let items = w.par(0..u64::MAX).filter(|_| {
            looked.fetch_add(1, Relaxed);
            true
        });
        items.find_first(|&n| n > 1_000_000)
    });
    assert_eq!(found, Some(1_000_001));
    assert!(looked.into_inner() >= 1_000_001);
}

#[test]
fn literals_have_the_type_of_the_result() {
    let squares: Vec<u64> = (0..4).into_par().map(|n| n * n).collect();
    assert_eq!(squares, [0, 1, 4, 9]);
    let last: Option<u8> = (1..=3).into_par().rev().reduce(|_, b| b);
    assert_eq!(last, Some(1));
    let seen = Mutex::new(Vec::<i8>::new());
    Serial.for_each(-1..=1, |n| seen.lock().unwrap().push(n));
    assert_eq!(seen.into_inner().unwrap(), [-1, 0, 1]);
}

/// Collects results, which counts the items in step with indices.
#[test]
#[cfg_attr(miri, ignore = "it measures time")]
fn progress_is_reported_although_bodies_become_slow() {
    let pool = common::pool(1);
    let slow_from = 500_000_u64;
    type Body<'b> = &'b (dyn Fn(u64) -> u64 + Sync);
    let check = |run: &dyn Fn(&Progress, Body<'_>) -> Vec<u64>| {
        let progress = Progress::new();
        let (begun, most_behind) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let slow = |n| {
            let begun = begun.fetch_add(1, Relaxed);
            if n >= slow_from + 500 {
                busy(std::time::Duration::from_micros(100));
                let behind = begun.saturating_sub(progress.done() as usize);
                most_behind.fetch_max(behind, Relaxed);
            } else if n >= slow_from {
                busy(std::time::Duration::from_micros(100));
            }
            n
        };
        assert_eq!(run(&progress, &slow).len() as u64, slow_from + 2000);
        let most_behind = most_behind.into_inner();
        assert!(most_behind < 1000, "{most_behind} items were not reported");
    };
    let items = 0..slow_from + 2000;
    check(&|progress, f| {
        pool.run(|mut w| w.par(items.clone()).progress(progress).map(f).collect())
    });
    check(&|progress, f| {
        Serial
            .par(items.clone())
            .progress(progress)
            .map(f)
            .collect()
    });
}

#[test]
fn progress_counts_each_item_once() {
    let pool = common::pool(3);
    for _ in 0..rounds(20) {
        let (progress, most) = (Progress::new(), AtomicUsize::new(0));
        let sum: usize = pool.run(|mut w| {
            let items = w.par(0..ITEMS).progress(&progress).map(|n| {
                most.fetch_max(progress.done() as usize, Relaxed);
                n
            });
            items.sum()
        });
        assert_eq!(
            (sum, progress.done()),
            (ITEMS * (ITEMS - 1) / 2, ITEMS as u64)
        );
        assert!(most.into_inner() <= ITEMS);
        let found = pool.run(|mut w| {
            let items = w.par(0..ITEMS).filter(|n| n % 2 == 0).progress(&progress);
            items.rev().map(|n| (n, n)).find_any(|(n, _)| *n == ITEMS)
        });
        assert_eq!((found, progress.done() as usize), (None, ITEMS + ITEMS / 2));
        let zipped = pool.run(|mut w| w.par(0..ITEMS).progress(&progress).enumerate().count());
        assert_eq!(
            (zipped, progress.done() as usize),
            (ITEMS, 2 * ITEMS + ITEMS / 2)
        );
    }
    let progress = Progress::new();
    let seen: Vec<u64> = Serial
        .par(0..5)
        .progress(&progress)
        .map(|_| progress.done())
        .collect();
    assert!(seen.is_sorted() && progress.done() == 5);
}
