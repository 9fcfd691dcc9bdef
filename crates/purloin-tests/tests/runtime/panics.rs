//! Panics in the closures of joins.

use std::panic::{AssertUnwindSafe, catch_unwind, panic_any};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::*};
use std::time::Duration;

use crate::common::{busy, eventually_stolen, fib, message, pool, rounds, workers};
use purloin::Worker;

/// Number of joins whose closures and results count their drops.
const DROPS: usize = if cfg!(miri) { 15 } else { 300 };

#[test]
fn if_both_closures_panic_the_caller_sees_the_panic_of_the_first() {
    for workers in workers([1, 2]) {
        let pool = pool(workers);
        for _ in 0..rounds(50) {
            let panic = catch_unwind(AssertUnwindSafe(|| {
                pool.run(|mut w| {
                    w.join(|_| panic!("first"), |_| panic!("second"));
                })
            }));
            assert_eq!(message(panic.unwrap_err()), "first");
            assert_eq!(
                pool.run(|w| fib(w, 10)),
                55,
                "the pool does not work after a panic"
            );
        }
    }
}

#[test]
fn a_panic_in_a_stolen_task_reaches_its_parent() {
    let pool = pool(2);
    for _ in 0..rounds(50) {
        let stolen = AtomicBool::new(false);
        let panic = catch_unwind(AssertUnwindSafe(|| {
            pool.run(|mut w| {
                w.join(
                    |w| eventually_stolen(w, || stolen.load(Relaxed)),
                    |_| {
                        stolen.store(true, Relaxed);
                        panic!("stolen");
                    },
                );
            })
        }));
        assert_eq!(message(panic.unwrap_err()), "stolen");
    }
}

#[test]
fn a_panic_waits_for_a_stolen_task_that_borrows_from_the_frame() {
    let pool = pool(2);
    for _ in 0..rounds(50) {
        let finished = AtomicBool::new(false);
        let started = AtomicBool::new(false);
        let panic = catch_unwind(AssertUnwindSafe(|| {
            pool.run(|mut w| {
                let local = [1u64; 32];
                w.join(
                    |w| {
                        eventually_stolen(w, || started.load(Relaxed));
                        panic!("first");
                    },
                    |_| {
                        started.store(true, Relaxed);
                        busy(Duration::from_micros(300));
                        assert_eq!(local.iter().sum::<u64>(), 32);
                        finished.store(true, Relaxed);
                    },
                );
            })
        }));
        assert_eq!(message(panic.unwrap_err()), "first");
        assert!(finished.load(Relaxed));
    }
}

/// Counts how many of its kind are dropped.
struct CountsDrops<'a>(&'a AtomicUsize);

impl Drop for CountsDrops<'_> {
    fn drop(&mut self) {
        self.0.fetch_add(1, Relaxed);
    }
}

#[test]
fn everything_is_dropped_exactly_once() {
    for workers in workers([1, 2, 4]) {
        let pool = pool(workers);
        let counter = AtomicUsize::new(0);
        let drops = &counter;
        for round in 0..DROPS {
            let (a, b) = (CountsDrops(drops), CountsDrops(drops));
            let big = [round; 40];
            let result = catch_unwind(AssertUnwindSafe(|| {
                pool.run(|mut w| {
                    w.join(
                        move |_| {
                            let _a = &a;
                            if round % 3 == 0 {
                                panic!("first");
                            }
                            CountsDrops(drops)
                        },
                        move |_| {
                            let _b = (&b, big);
                            if round % 5 == 0 {
                                panic!("second");
                            }
                            CountsDrops(drops)
                        },
                    )
                })
            }));
            drop(result);
        }
        let drops = counter.into_inner();
        // Each round drops two closures, and the results of the closures that return.
        let first = (0..DROPS).filter(|r| r % 3 != 0).count();
        let second = (0..DROPS).filter(|r| r % 5 != 0).count();
        assert_eq!(drops, 2 * DROPS + first + second);
    }
}

#[test]
fn the_second_closure_of_a_join_runs_even_if_the_first_panics() {
    for workers in [1, 2, 5] {
        let pool = pool(workers);
        for pause in [0, 100] {
            let ran = AtomicUsize::new(0);
            let large = [1_usize; 20];
            let result = catch_unwind(AssertUnwindSafe(|| {
                pool.run(|mut w| {
                    w.join(
                        |mut w| {
                            // This leaves the ticket of a future on the stack.
                            drop(w.future(|_| ()));
                            busy(Duration::from_micros(pause));
                            panic_any(1_u8);
                        },
                        |mut w| {
                            let (a, b) = w.join(|_| large[3], |_| 1);
                            ran.fetch_add(a + b, Relaxed);
                            vec![a]
                        },
                    )
                })
            }));
            assert_eq!(result.unwrap_err().downcast_ref(), Some(&1_u8));
            assert_eq!(ran.into_inner(), 2);
        }
    }
}
