//! Tests of the documentation's promises about the results of loops: folds, early ends, vectors.

use std::ops::{ControlFlow, Range};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::*};
use std::time::Duration;

use crate::common::{self, add, busy};
use purloin::prelude::*;
use purloin::{ExactIterations, IntoIterations, Iterations, Pool, Scheduler, Serial, Worker};

/// Worker counts.
const WORKERS: &[usize] = if cfg!(miri) { &[2] } else { &[1, 2, 5] };

/// Length of a loop whose iterations take some microseconds.
const LENGTH: usize = if cfg!(miri) { 20 } else { 500 };
/// Length of a loop whose iterations take some nanoseconds.
const LONG: usize = if cfg!(miri) { 40 } else { 100_000 };

common::under_two_schedulers! {
    for workers in WORKERS.iter().copied(),
        Pool::builder().workers(workers);
    a_fold_has_one_value_for_each_run,
    a_failure_ends_the_loop,
    the_first_item_is_found,
    all_values_are_dropped_if_a_step_panics,
    results_are_collected_in_order,
    collected_results_are_dropped_if_an_iteration_panics,
}

/// Folds iterations of some microseconds into ranges, and checks that each run has consecutive
/// iterations and that runs are combined in order. Returns the number of values of `init`.
fn values_of_a_fold<W: Worker>(mut w: W) -> usize {
    let values = AtomicUsize::new(0);
    let whole = w.par(0..LENGTH).fold(
        || {
            add(&values, 1);
            None
        },
        |run: Option<Range<usize>>, i| {
            busy(Duration::from_micros(5));
            let run = run.unwrap_or(i..i);
            assert_eq!(run.end, i);
            Some(run.start..i + 1)
        },
        |left, right| match (left, right) {
            (Some(left), Some(right)) => {
                assert_eq!(left.end, right.start);
                Some(left.start..right.end)
            }
            _ => panic!("a run has an iteration"),
        },
    );
    assert_eq!(whole, Some(0..LENGTH));
    values.into_inner()
}

fn a_fold_has_one_value_for_each_run(pool: Pool<impl Scheduler>) {
    let values = pool.run(|w| values_of_a_fold(w));
    assert!(values <= LENGTH);
    assert!(pool.workers() > 1 || values == 1, "{values}");
    assert_eq!(values_of_a_fold(Serial), 1);
    for n in [0, 1, 2, 1000] {
        let sum = pool.run(|mut w| w.par(0..n).fold(|| 0, |sum, i| sum + i, |a, b| a + b));
        assert_eq!(sum, (0..n).sum());
    }
}

/// Returns how many iterations begin after the one that fails, in the worst case.
fn late_iterations<W: Worker>(mut w: W, bad: usize) -> usize {
    let (failed, late) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let result = w.par(0..LENGTH).try_for_each(|i| {
        add(&late, failed.load(SeqCst));
        if i == bad {
            failed.store(1, SeqCst);
            return Err(i);
        }
        busy(Duration::from_micros(5));
        Ok(())
    });
    assert_eq!(result, Err(bad));
    late.into_inner()
}

fn a_failure_ends_the_loop(pool: Pool<impl Scheduler>) {
    for bad in [0, 1, LENGTH / 3, LENGTH - 1] {
        let late = pool.run(|w| late_iterations(w, bad));
        // Between the failure and the moment when the loop knows, each other worker may begin one.
        // On a busy machine that moment may be long.
        assert!(late <= LENGTH / 2, "{late} after {bad}");
        assert_eq!(late_iterations(Serial, bad), 0);
    }
    let ok = pool.run(|mut w| w.par(0..LONG).try_for_each(|_| Some(())));
    assert_eq!(ok, Some(()));

    let add_small = |sum: usize, i: usize| match i < LONG - 1 {
        true => Ok(sum + i),
        false => Err(i),
    };
    let both = |a, b| Ok(a + b);
    pool.run(|mut w| {
        let sum = w.par(0..LONG - 1).try_fold(|| 0, add_small, both);
        assert_eq!(sum, Ok((0..LONG - 1).sum()));
        assert_eq!(
            w.par(0..LONG).try_fold(|| 0, add_small, both),
            Err(LONG - 1)
        );

        let product = |n: u64| w.par(1..=n).map(Some).try_reduce(u64::checked_mul);
        let products = [0, 1, 20, 100].map(product);
        let right = 2_432_902_008_176_640_000;
        assert_eq!(
            products,
            [None, Some(Some(1)), Some(Some(right)), Some(None)]
        );

        let flow = w.par(0..LONG).try_for_each(|i| match i == LONG / 2 {
            true => ControlFlow::Break("half"),
            false => ControlFlow::Continue(()),
        });
        assert_eq!(flow, ControlFlow::Break("half"));
    });
}

fn the_first_item_is_found(pool: Pool<impl Scheduler>) {
    let numbers: Vec<usize> = (0..LONG).collect();
    for from in [0, 1, LONG / 7, LONG / 2, LONG - 1, LONG] {
        // Every third number from there on, so that several workers find one.
        let holds = |n: usize| n >= from && (n - from).is_multiple_of(3);
        let first = (from < LONG).then_some(from);
        pool.run(|mut w| {
            assert_eq!(w.par(&numbers).position(|&n| holds(n)), first);
            assert_eq!(w.par(0..LONG).find_first(|&n| holds(n)), first);
            assert_eq!(
                w.par(0..LONG).find_any(|&n| holds(n)).map(holds),
                first.map(|_| true)
            );
            assert_eq!(w.par(&numbers).any(|&n| holds(n)), first.is_some());
            assert_eq!(w.par(&numbers).all(|&n| !holds(n)), first.is_none());
            assert_eq!(w.par(&numbers).any(|&n| n == from), first.is_some());
        });
        assert_eq!(Serial.par(&numbers).position(|&n| holds(n)), first);
    }
}

fn all_values_are_dropped_if_a_step_panics(pool: Pool<impl Scheduler>) {
    for bad in [0, LENGTH / 2, LENGTH - 1] {
        let counted = Arc::new(());
        let result = catch_unwind(AssertUnwindSafe(|| {
            pool.run(|mut w| {
                w.par(0..LENGTH).fold(
                    || vec![Arc::clone(&counted)],
                    |mut values, i| {
                        busy(Duration::from_micros(5));
                        assert!(i != bad, "this step panics");
                        values.push(Arc::clone(&counted));
                        values
                    },
                    |mut left, mut right| {
                        left.append(&mut right);
                        left
                    },
                )
            })
        }));
        assert!(result.is_err());
        assert_eq!(Arc::strong_count(&counted), 1);
    }
}

#[test]
#[cfg_attr(miri, ignore = "the threads of the global pool never end")]
fn folds_without_a_token_work_inside_and_outside_a_pool() {
    let sum = || (0..1000).into_par().sum::<i32>();
    assert_eq!(sum(), 499_500);
    assert_eq!(common::pool(2).run(|_| sum()), 499_500);
}

fn results_are_collected_in_order(pool: Pool<impl Scheduler>) {
    for n in [0, 1, 2, 3, 1000, LONG] {
        let text = |i: usize| i.to_string();
        let multiple = |i: usize| i.is_multiple_of(3).then(|| text(i));
        pool.run(|mut w| {
            let texts: Vec<String> = (0..n).map(text).collect();
            assert_eq!(w.par(0..n).map(text).collect::<Vec<_>>(), texts);
            assert_eq!(
                w.par(0..n)
                    .map(|i| (text(i), i))
                    .unzip::<_, _, Vec<_>, Vec<_>>(),
                (texts, (0..n).collect())
            );
            let multiples: Vec<String> = (0..n).filter_map(multiple).collect();
            assert_eq!(
                w.par(0..n).filter_map(multiple).collect::<Vec<_>>(),
                multiples
            );
            assert_eq!(w.par(0..n).map(|_| ()).collect::<Vec<_>>().len(), n);
        });
    }
    // These iterations take long enough for the loop to be split.
    let slow = |i: usize| {
        busy(Duration::from_micros(5));
        Box::new(i)
    };
    let boxes = pool.run(|mut w| w.par(0..LENGTH).map(slow).collect::<Vec<_>>());
    assert!(boxes.into_iter().map(|i| *i).eq(0..LENGTH));
    let boxes = pool.run(|mut w| {
        w.par(0..LENGTH)
            .filter_map(|i| Some(slow(i)))
            .collect::<Vec<_>>()
    });
    assert!(boxes.into_iter().map(|i| *i).eq(0..LENGTH));
}

fn collected_results_are_dropped_if_an_iteration_panics(pool: Pool<impl Scheduler>) {
    for bad in [0, LENGTH / 2, LENGTH - 1] {
        let counted = Arc::new(());
        let result = |i| {
            busy(Duration::from_micros(5));
            assert!(i != bad, "this iteration panics");
            Arc::clone(&counted)
        };
        let collect: [&(dyn Fn() + Sync); 3] = [
            &|| drop(pool.run(|mut w| w.par(0..LENGTH).map(result).collect::<Vec<_>>())),
            &|| {
                drop(pool.run(|mut w| {
                    w.par(0..LENGTH)
                        .map(|i| (result(i), result(i)))
                        .unzip::<_, _, Vec<_>, Vec<_>>()
                }))
            },
            &|| {
                drop(pool.run(|mut w| {
                    w.par(0..LENGTH)
                        .filter_map(|i| Some(result(i)))
                        .collect::<Vec<_>>()
                }))
            },
        ];
        for collect in collect {
            assert!(catch_unwind(AssertUnwindSafe(collect)).is_err());
            assert_eq!(Arc::strong_count(&counted), 1);
        }
    }
}

/// Iterations of which each part has fewer or more items than it says.
struct Liar {
    says: usize,
    has: usize,
}

impl Iterations for Liar {
    type Item = String;
    type Strip<'s> = std::iter::Map<Range<usize>, fn(usize) -> String>;

    const IS_EXACT: bool = true;

    fn remaining(&self) -> usize {
        self.says
    }

    fn split_at(self, index: usize) -> (Self, Self) {
        let part = |says| Liar {
            says,
            has: self.has,
        };
        (part(index), part(self.says - index))
    }

    fn strip(&mut self, len: usize) -> Self::Strip<'_> {
        self.says -= len;
        (0..self.has).map(|i| i.to_string())
    }
}

impl ExactIterations for Liar {}

impl IntoIterations for Liar {
    type Iterations = Liar;
    type Item = String;

    fn into_iterations(self) -> Liar {
        self
    }
}

#[test]
fn wrong_lengths_do_no_harm() {
    let pool = common::pool(2);
    let counted = Arc::new(());
    for (says, has) in [(1000, 0), (1000, 1), (1000, 3), (3, 1000), (0, 5)] {
        let mapped = |item: String| (item + "!", Arc::clone(&counted));
        // A panic, or a vector that has some of the items.
        let result = catch_unwind(AssertUnwindSafe(|| {
            pool.run(|mut w| w.par(Liar { says, has }).map(mapped).collect::<Vec<_>>())
        }));
        if let Ok(items) = result {
            assert!(items.len() <= says);
            assert!(items.iter().all(|(item, _)| item.ends_with('!')));
        }
        let result = catch_unwind(AssertUnwindSafe(|| {
            pool.run(|mut w| {
                w.par(Liar { says, has })
                    .map(mapped)
                    .unzip::<_, _, Vec<_>, Vec<_>>()
            })
        }));
        if let Ok((items, counts)) = result {
            assert!(items.len() == counts.len() && items.len() <= says);
        }
        assert_eq!(Arc::strong_count(&counted), 1, "results were leaked");
    }
}
