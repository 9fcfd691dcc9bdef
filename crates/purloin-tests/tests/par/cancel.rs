//! Loops, scopes and futures that a `Cancel` ends.

use std::hint::black_box;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};

use purloin::prelude::*;
use purloin::{Cancel, Cancelled, Pool, Scheduler, Serial, Spawner};

use crate::common::counted::{Counted, Counting};
use crate::common::{self, rounds};

const ITEMS: usize = if cfg!(miri) { 40 } else { 10_000 };

/// A number of iterations that no loop gets through, unless the compiler computes the result without running it.
const ENDLESS: u64 = u64::MAX;

#[test]
fn a_loop_that_is_not_cancelled_has_all_results() {
    let (pool, cancel) = (common::pool(3), Cancel::new());
    let expected: Vec<usize> = (0..ITEMS).collect();
    for _ in 0..rounds(20) {
        let all: Result<Vec<_>, _> = pool.run(|mut w| w.par(0..ITEMS).until(&cancel).collect());
        assert_eq!(all.as_ref(), Ok(&expected));
        let sum: Result<usize, _> =
            pool.run(|mut w| w.par(&expected[..]).copied().until(&cancel).sum());
        assert_eq!(sum, Ok(expected.iter().sum()));
        let serial: Result<Vec<_>, _> = Serial.par(0..ITEMS).until(&cancel).collect();
        assert_eq!(serial.as_ref(), Ok(&expected));
    }
}

fn a_cancelled_loop_ends(pool: Pool<impl Scheduler>) {
    for _ in 0..rounds(10) {
        let cancel = Cancel::new();
        let ran = AtomicUsize::new(0);
        let visit = |n: u64| {
            // Not the first item, so that other parts have begun.
            if ran.fetch_add(1, Relaxed) == 50 {
                cancel.cancel();
            }
            n
        };
        let sum: Result<u64, Cancelled> = pool.run(|mut w| {
            w.par(0..ENDLESS)
                .map(visit)
                .map(|n| n & 1)
                .until(&cancel)
                .sum()
        });
        assert_eq!(sum, Err(Cancelled));
        let result = pool.run(|mut w| {
            w.par(0..ENDLESS)
                .until(&cancel)
                .try_for_each(|n| n.map(|_| ()))
        });
        assert_eq!(result, Err(Cancelled), "a token stays cancelled");
        let least = pool.run(|mut w| {
            let items = w.par(0..ENDLESS).filter(|n| n % 2 == 0).until(&cancel);
            items.try_reduce(|a, b| Ok(a.min(b)))
        });
        assert_eq!(least, Some(Err(Cancelled)));
    }
}

/// No loop of this test ever ends by itself.
fn time_ends_a_loop(pool: Pool<impl Scheduler>) {
    let limit = Duration::from_millis(5);
    let start = Instant::now();
    let cancel = Cancel::after(limit);
    let count = pool.run(|mut w| {
        let items = w.par(0..ENDLESS).map(black_box).until(&cancel);
        items.try_fold(|| 0_u64, |count, n| n.map(|_| count + 1), |a, b| Ok(a + b))
    });
    assert_eq!(count, Err(Cancelled));
    assert!(start.elapsed() >= limit && cancel.is_cancelled());
    let parent = Cancel::new();
    let child = parent.child(Some(limit));
    let of_child: Result<u64, _> =
        pool.run(|mut w| w.par(0..ENDLESS).map(black_box).until(&child).max_of());
    assert_eq!(of_child, Err(Cancelled));
    assert!(!parent.is_cancelled() && parent.check().is_ok());
    parent.cancel();
    assert!(parent.child(None).is_cancelled());
}

#[test]
fn a_loop_that_has_gone_over_all_of_its_items_is_not_cancelled() {
    let cancel = Cancel::new();
    let (first, second) = ([1, 2, 3], [4, 5, 6]);
    let sum: Result<i32, Cancelled> = Serial
        .par(&first)
        .map(|n| *n)
        .filter(|_| true)
        .until(&cancel)
        .chain(second.par().map(|n| {
            cancel.cancel();
            Ok(*n)
        }))
        .sum();
    assert_eq!(sum, Ok(21));
}

trait MaxOf<T> {
    fn max_of(self) -> Result<T, Cancelled>;
}

impl<R, C> MaxOf<u64> for purloin::iter::Par<R, C>
where
    R: purloin::iter::Runner,
    C: purloin::iter::Chain<Item = Result<u64, Cancelled>>,
{
    fn max_of(self) -> Result<u64, Cancelled> {
        self.try_reduce(|a, b| Ok(a.max(b))).unwrap_or(Ok(0))
    }
}

common::under_two_schedulers! {
    for workers in common::workers([1, 2, 4]), Pool::builder().workers(workers);
    a_cancelled_loop_ends,
    time_ends_a_loop,
}

#[test]
fn a_time_limit_of_zero_runs_nothing() {
    let cancel = Cancel::after(Duration::ZERO);
    for workers in [1, 3] {
        let pool = common::pool(workers);
        let ran = AtomicBool::new(false);
        let result: Result<(), _> = pool.run(|mut w| {
            let items = w.par(0..ITEMS).map(|_| ran.store(true, Relaxed));
            items.until(&cancel).collect()
        });
        assert_eq!((result, ran.into_inner()), (Err(Cancelled), false));
    }
    let serial: Result<usize, _> = Serial.par(0..ITEMS).until(&cancel).sum();
    assert_eq!(serial, Err(Cancelled));
    let nothing: Result<usize, _> = Serial.par(0..0).until(&cancel).sum();
    assert_eq!(nothing, Ok(0), "no item is missing");
}

#[test]
fn items_of_a_cancelled_loop_are_dropped_once() {
    let pool = common::pool(3);
    for round in 0..rounds(40) {
        let counting = Counting::begin();
        let items: Vec<Counted> = (0..ITEMS as u64).map(Counted::new).collect();
        let cancel = Cancel::new();
        let kept: Result<Vec<Counted>, _> = pool.run(|mut w| {
            let visit = |item: Counted| {
                if item.key() == (ITEMS / 2) as u64 {
                    cancel.cancel();
                }
                item
            };
            w.par(items).map(visit).until(&cancel).collect()
        });
        // The cancellation may come when all items have run.
        assert!(kept.is_err() || kept.as_ref().is_ok_and(|kept| kept.len() == ITEMS));
        drop(kept);
        counting.expect_none_left(|| format!("round {round}"));
    }
}

/// The tasks wait for the cancellation, which comes from a thread outside.
fn a_token_cancels_a_scope<W: Worker>(w: &mut W, tasks: usize) {
    let (cancel, ran) = (Cancel::new(), AtomicUsize::new(0));
    thread::scope(|threads| {
        threads.spawn(|| {
            thread::sleep(Duration::from_millis(2));
            cancel.cancel();
        });
        w.finish(|scope| {
            scope.cancel_by(&cancel);
            scope.cancel_by(&cancel);
            spawn_tasks(scope, tasks, &ran);
        });
    });
    assert!(
        ran.into_inner() < tasks,
        "tasks that had not begun are dropped"
    );

    fn spawn_tasks<'s, S: Spawner>(
        scope: &'s purloin::Scope<'s, '_, S>,
        tasks: usize,
        ran: &'s AtomicUsize,
    ) {
        for _ in 0..tasks {
            scope.spawn(move |_| {
                ran.fetch_add(1, Relaxed);
                while !scope.is_cancelled() {
                    thread::yield_now();
                }
                assert_eq!(scope.check(), Err(Cancelled));
            });
        }
    }
}

#[test]
fn a_token_cancels_scopes_of_each_kind_of_worker() {
    for workers in [1, 2] {
        common::pool(workers).run(|mut w| a_token_cancels_a_scope(&mut w, 20));
    }
    a_token_cancels_a_scope(&mut Serial, 20);
}

#[test]
fn a_token_stops_the_loops_of_its_scope() {
    let cancel = Cancel::after(Duration::from_millis(2));
    common::pool(2).run(|mut w| {
        w.finish(|scope| {
            scope.cancel_by(&cancel);
            purloin::for_each(0..ENDLESS, |n| {
                black_box(n);
            });
            assert!(scope.is_cancelled());
        });
    });
    Serial.finish(|scope| {
        scope.cancel_by(&cancel);
        Serial.for_each(0..ENDLESS, |n| {
            black_box(n);
        });
    });
}

#[test]
#[should_panic = "this scope has another token"]
fn a_scope_has_one_token() {
    let (first, second) = (Cancel::new(), Cancel::new());
    Serial.finish(|scope| {
        scope.cancel_by(&first);
        scope.cancel_by(&second);
    });
}

#[test]
fn dropping_the_future_cancels_the_closure() {
    let pool = common::pool(1);
    let (cancel, has_begun) = (Cancel::new(), std::sync::Arc::new(AtomicBool::new(false)));
    let (until, begins) = (cancel.clone(), std::sync::Arc::clone(&has_begun));
    let future = pool.run_async(move |mut w| {
        begins.store(true, Relaxed);
        w.par(0..ENDLESS).map(black_box).until(&until).max_of()
    });
    let future = future.cancel_on_drop(&cancel);
    while !has_begun.load(Relaxed) {
        thread::yield_now();
    }
    assert!(!cancel.is_cancelled());
    drop(future);
    assert!(cancel.is_cancelled());
    // The only worker is free again.
    assert_eq!(pool.run(|_| 7), 7);
}

#[test]
fn generations_of_tokens_need_no_deep_stack() {
    let first = Cancel::new();
    let mut last = first.clone();
    for _ in 0..if cfg!(miri) { 50 } else { 300_000 } {
        last = last.child(None);
    }
    assert!(!last.is_cancelled());
    first.cancel();
    assert!(last.is_cancelled());
    drop(first);
    drop(last);
}

/// The scope keeps its token.
#[test]
fn a_scope_may_outlive_the_name_of_its_token() {
    common::pool(2).run(|mut w| {
        w.finish(|scope| {
            let cancel = Cancel::new();
            let until = cancel.child(None);
            scope.cancel_by(&until);
            drop(until);
            scope.cancel();
        });
        w.finish(|scope| {
            let cancel = Cancel::new();
            scope.cancel_by(&cancel);
            assert!(!scope.is_cancelled());
            cancel.cancel();
            drop(cancel);
            assert!(scope.is_cancelled());
        });
    });
}
