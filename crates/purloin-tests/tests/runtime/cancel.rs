//! Tests of the documentation's promises about cancelled scopes.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::*};
use std::time::Duration;

use crate::common::{self, busy, rounds};
use purloin::{Cancelled, Handle, Pool, Scheduler, Serial, Worker};

/// Number of tasks in a scope that is cancelled.
const TASKS: usize = if cfg!(miri) { 20 } else { 10_000 };
/// Number of iterations of a loop that is cancelled.
const LENGTH: usize = if cfg!(miri) { 1000 } else { 100_000_000 };

common::under_two_schedulers! {
    for workers in common::workers([1, 2, 5]), Pool::builder().workers(workers);
    tasks_that_have_not_begun_are_dropped,
    the_captures_of_dropped_tasks_are_dropped_once,
    results_of_dropped_tasks_are_cancelled,
    nodes_after_a_cancelled_one_are_cancelled,
    what_is_got_after_the_cancellation_is_cancelled,
    loops_stop,
    loops_of_a_cancelled_scope_stop_in_every_form,
    loops_of_no_cancelled_scope_go_on_in_every_form,
    a_sort_ends,
    a_panic_beside_a_cancellation_surfaces,
    a_scope_within_a_cancelled_one_goes_on,
}

fn tasks_that_have_not_begun_are_dropped(pool: Pool<impl Scheduler>) {
    for _ in 0..rounds(20) {
        let ran = AtomicUsize::new(0);
        pool.run(|mut w| {
            w.finish(|scope| {
                let ran = &ran;
                scope.cancel();
                scope.cancel();
                assert!(scope.is_cancelled());
                assert_eq!(scope.check(), Err(Cancelled));
                for _ in 0..TASKS {
                    scope.spawn(move |_| {
                        ran.fetch_add(1, Relaxed);
                    });
                }
            });
            // The next scope is another one.
            w.finish(|scope| assert_eq!(scope.check(), Ok(())));
        });
        assert_eq!(ran.into_inner(), 0);
    }
}

fn the_captures_of_dropped_tasks_are_dropped_once(pool: Pool<impl Scheduler>) {
    let (counter, counter_of_futures) = (Arc::new(()), Arc::new(()));
    let ran = AtomicUsize::new(0);
    pool.run(|mut w| {
        w.finish(|scope| {
            for i in 0..TASKS {
                let (counter, ran) = (Arc::clone(&counter), &ran);
                scope.spawn(move |_| {
                    ran.fetch_add(1, Relaxed);
                    let _counter = counter;
                    if i == TASKS / 2 {
                        scope.cancel();
                    }
                });
                let counter = Arc::clone(&counter_of_futures);
                drop(scope.future(move |_| Arc::strong_count(&counter)));
            }
        });
    });
    assert_eq!(Arc::strong_count(&counter), 1);
    assert_eq!(Arc::strong_count(&counter_of_futures), 1);
    assert!((1..=TASKS).contains(&ran.into_inner()));
}

fn results_of_dropped_tasks_are_cancelled(pool: Pool<impl Scheduler>) {
    for _ in 0..rounds(50) {
        let handles: Vec<Handle<usize>> = pool.run(|mut w| {
            w.finish(|scope| {
                let futures = |i| scope.future(move |_| i);
                let mut handles: Vec<_> = (0..10).map(futures).collect();
                scope.cancel();
                handles.extend((10..20).map(futures));
                handles
            })
        });
        for (i, handle) in handles.into_iter().enumerate() {
            if let Ok(result) = handle.try_get() {
                assert_eq!((result, result < 10), (i, true));
            }
        }
    }
    let get = || {
        pool.run(|mut w| {
            w.finish(|scope| {
                scope.cancel();
                let dropped = scope.future(|_| 7);
                scope.spawn(|_| unreachable!());
                dropped.get()
            })
        })
    };
    let panic = catch_unwind(AssertUnwindSafe(get)).unwrap_err();
    assert!(panic.is::<Cancelled>());
}

fn nodes_after_a_cancelled_one_are_cancelled(pool: Pool<impl Scheduler>) {
    for _ in 0..rounds(50) {
        let ran = AtomicUsize::new(0);
        let results = pool.run(|mut w| {
            w.finish(|scope| {
                let ran = &ran;
                let first = scope.shared_future(move |_| {
                    busy(Duration::from_micros(20));
                    scope.cancel();
                });
                let mut nodes = vec![first];
                for i in 0..10 {
                    let before = nodes[i].clone();
                    nodes.push(scope.after([&nodes[i]]).shared_future(move |_| {
                        ran.fetch_add(1, Relaxed);
                        *before.get()
                    }));
                }
                nodes
            })
        });
        assert_eq!(results[0].try_get(), Ok(&()));
        assert!(
            results[1..]
                .iter()
                .all(|node| node.try_get() == Err(Cancelled))
        );
        assert_eq!(ran.into_inner(), 0);
    }
}

fn what_is_got_after_the_cancellation_is_cancelled(pool: Pool<impl Scheduler>) {
    fn check<W: Worker>(mut w: W) {
        w.finish(|scope| {
            let last = scope.future(|_| 1);
            scope.cancel();
            assert!(matches!(last.try_get(), Ok(1) | Err(Cancelled)));
            assert!(scope.future(|_| 2).try_get() == Err(Cancelled));
            let shared = scope.shared_future(|_| 3);
            for _ in 0..3 {
                assert!(shared.clone().try_get() == Err(Cancelled));
            }
            assert!(scope.after([&shared]).shared_future(|_| 4).try_get() == Err(Cancelled));
        });
    }
    pool.run(|w| check(w));
    check(Serial);
    // A handle that is dropped when the scope has ended causes no panic.
    pool.run(|mut w| {
        let handle = w.finish(|scope| {
            scope.cancel();
            scope.future(|_| 5)
        });
        drop(handle);
    });
}

fn a_sort_ends(pool: Pool<impl Scheduler>) {
    let len = if cfg!(miri) { 100 } else { 50_000 };
    let mut numbers: Vec<usize> = (0..len).rev().collect();
    pool.run(|mut w| {
        w.finish(|scope| {
            let numbers = &mut numbers;
            scope.spawn(move |mut w| {
                scope.cancel();
                w.sort(numbers);
                assert!(numbers.is_sorted());
                w.sort_unstable_by(numbers, |a, b| b.cmp(a));
            });
        });
    });
    assert!(numbers.into_iter().rev().eq(0..len));
}

fn loops_stop(pool: Pool<impl Scheduler>) {
    for _ in 0..rounds(5) {
        let ran = AtomicUsize::new(0);
        pool.run(|mut w| {
            w.finish(|scope| {
                let ran = &ran;
                scope.spawn(move |mut w| {
                    w.for_each(0..LENGTH, |i| {
                        ran.fetch_add(1, Relaxed);
                        if i == 10 {
                            scope.cancel();
                        }
                    });
                });
            });
        });
        assert!((11..LENGTH).contains(&ran.into_inner()));
        let sum = pool.run(|mut w| {
            w.finish(|scope| {
                scope.spawn(|mut w| {
                    scope.cancel();
                    let sum = w.map_reduce(0..1000_u64, |i| i, |a, b| a + b);
                    assert_eq!(sum, Some(499_500), "loops with a result go on");
                });
                7
            })
        });
        assert_eq!(sum, 7);
    }
}

/// Runs a loop that cancels its scope, and fails if the loop goes on.
fn expect_stop(name: &str, run: impl FnOnce(&(dyn Fn(usize) + Sync))) {
    let (ran, last) = (AtomicUsize::new(0), AtomicUsize::new(0));
    run(&|i| {
        ran.fetch_add(1, Relaxed);
        last.fetch_max(i, Relaxed);
    });
    let ran = ran.into_inner();
    assert!(ran < LENGTH, "{name}: {ran} iterations have run");
}

/// The forms of a loop that any worker has. Each loop begins in a cancelled scope, or cancels it.
fn stop_in_every_form<W: Worker>(w: &mut W) {
    macro_rules! check {
        ($name:expr, $scope:ident, $count:ident => $body:expr) => {
            expect_stop($name, |$count| w.finish(|$scope| $body));
        };
    }
    check!("a task", scope, count => scope.spawn(move |mut w| {
        w.for_each(0..LENGTH, |i| {
            count(i);
            if i == 10 {
                scope.cancel();
            }
        });
    }));
    check!("a join in the body", scope, count => {
        scope.cancel();
        scope.join(
            |mut w| w.for_each(0..LENGTH, count),
            |mut w| w.for_each(0..LENGTH, count),
        );
    });
    check!("a join in a task", scope, count => scope.spawn(move |mut w| {
        scope.cancel();
        w.join(
            |mut w| {
                busy(Duration::from_micros(100));
                w.join(|_| busy(Duration::from_micros(100)), |_| ());
                w.for_each(0..LENGTH, count);
            },
            |mut w| w.for_each(0..LENGTH, count),
        );
    }));
    check!("without a token in the body", scope, count => {
        scope.cancel();
        purloin::for_each(0..LENGTH, count);
    });
    check!("without a token in a task", scope, count => scope.spawn(move |_| {
        scope.cancel();
        purloin::for_each(0..LENGTH, count);
    }));
    check!("without a token in a join", scope, count => {
        scope.cancel();
        scope.join(
            |_| purloin::for_each(0..LENGTH, count),
            |_| purloin::join(|| busy(Duration::from_micros(50)), || purloin::for_each(0..LENGTH, count)),
        );
    });
    check!("another worker's token", scope, count => {
        scope.cancel();
        Serial.for_each(0..LENGTH, count);
    });
    check!("a future that was cancelled late", scope, count => {
        let future = scope.future(move |mut w| {
            scope.cancel();
            w.for_each(0..LENGTH, count);
        });
        let _ = future.try_get();
    });
    check!("a future that is never fetched", scope, count => drop(scope.future(move |mut w| {
        scope.cancel();
        w.for_each(0..LENGTH, count);
    })));
    check!("a node", scope, count => {
        let first = scope.shared_future(|_| ());
        scope.after([&first]).spawn(move |mut w| {
            scope.cancel();
            w.for_each(0..LENGTH, count);
        });
    });
    check!("a loop in a loop", scope, count => scope.spawn(move |mut w| {
        w.par(0..8).for_each_with_token(|mut w, _| {
            scope.cancel();
            w.for_each(0..LENGTH, count);
        });
    }));
    check!("the outer task, after a scope in it", scope, count => scope.spawn(move |mut w| {
        w.finish(|inner| inner.spawn(|_| scope.cancel()));
        w.for_each(0..LENGTH, count);
    }));
    check!("a task of the outer scope, from the inner one", scope, count => scope.spawn(move |mut w| {
        w.finish(|inner| {
            inner.spawn(move |_| scope.spawn(move |mut w| {
                scope.cancel();
                w.for_each(0..LENGTH, count);
            }));
        });
    }));
    check!("an inner scope", outer, count => outer.spawn(move |mut w| {
        w.finish(|scope| scope.spawn(move |mut w| {
            scope.cancel();
            w.for_each(0..LENGTH, count);
        }));
        assert!(!outer.is_cancelled());
    }));
}

fn loops_of_a_cancelled_scope_stop_in_every_form(pool: Pool<impl Scheduler>) {
    for _ in 0..rounds(5) {
        pool.run(|mut w| stop_in_every_form(&mut w));
        expect_stop("a finish outside of the pool", |count| {
            pool.finish(|scope| {
                scope.cancel();
                scope.join(
                    |mut w| w.for_each(0..LENGTH, count),
                    |_| purloin::for_each(0..LENGTH, count),
                );
                if !cfg!(miri) {
                    purloin::for_each(0..LENGTH, count);
                }
            });
        });
        expect_stop("a call that the scope waits for", |count| {
            pool.run(|mut w| {
                w.finish(|scope| {
                    scope.cancel();
                    pool.run(|mut w| w.for_each(0..LENGTH, count));
                });
            });
        });
    }
}

#[test]
fn loops_of_a_cancelled_scope_stop_in_every_form_serially() {
    stop_in_every_form(&mut Serial);
}

/// Runs loops beside, within and around a cancelled scope, to which they do not belong.
fn go_on_in_every_form<W: Worker>(w: &mut W) {
    const SHORT: usize = if cfg!(miri) { 100 } else { 20_000 };
    let ran = AtomicUsize::new(0);
    let count = |_| {
        ran.fetch_add(1, Relaxed);
    };
    let mut expected = 0;
    let mut check = |name: &str, loops: usize| {
        expected += loops * SHORT;
        assert_eq!(ran.load(Relaxed), expected, "{name}");
    };
    w.finish(|scope| scope.cancel());
    w.for_each(0..SHORT, count);
    check("after the scope", 1);
    w.finish(|outer| {
        outer.spawn(|mut w| {
            w.finish(|inner| inner.cancel());
            w.for_each(0..SHORT, count);
            purloin::for_each(0..SHORT, count);
        });
    });
    check("after an inner scope", 2);
    w.finish(|outer| {
        outer.cancel();
        outer.join(
            |mut w| w.finish(|inner| inner.spawn(|mut w| w.for_each(0..SHORT, count))),
            |mut w| {
                w.finish(|inner| {
                    inner.join(
                        |mut w| w.for_each(0..SHORT, count),
                        |_| purloin::for_each(0..SHORT, count),
                    );
                })
            },
        );
    });
    check("a scope within the cancelled one", 3);
    w.finish(|outer| {
        outer.spawn(|mut w| {
            w.finish(|inner| {
                inner.cancel();
                outer.spawn(|mut w| w.for_each(0..SHORT, count));
            });
        });
    });
    check("a task of the outer scope, from the cancelled one", 1);
    for _ in 0..rounds(20) {
        w.finish(|outer| {
            // A future that was made outside of the cancelled scope, and runs where it is fetched.
            let future = outer.future(|mut w| w.for_each(0..SHORT, count));
            let shared = outer.shared_future(|mut w| w.for_each(0..SHORT, count));
            outer.spawn(move |mut w| {
                w.finish(|inner| {
                    inner.cancel();
                    inner.join(|_| future.get(), |_| *shared.get());
                });
            });
        });
        check("a future of the outer scope", 2);
    }
}

fn loops_of_no_cancelled_scope_go_on_in_every_form(pool: Pool<impl Scheduler>) {
    for _ in 0..rounds(5) {
        pool.run(|mut w| go_on_in_every_form(&mut w));
    }
}

#[test]
fn loops_of_no_cancelled_scope_go_on_in_every_form_serially() {
    go_on_in_every_form(&mut Serial);
}

fn a_panic_beside_a_cancellation_surfaces(pool: Pool<impl Scheduler>) {
    let run = || {
        pool.run(|mut w| {
            w.finish(|scope| {
                scope.spawn(|_| {
                    scope.cancel();
                    panic!("a real failure");
                });
            });
        });
    };
    let panic = catch_unwind(AssertUnwindSafe(run)).unwrap_err();
    assert_eq!(panic.downcast_ref(), Some(&"a real failure"));
}

fn a_scope_within_a_cancelled_one_goes_on(pool: Pool<impl Scheduler>) {
    let ran = AtomicUsize::new(0);
    pool.run(|mut w| {
        w.finish(|outer| {
            let ran = &ran;
            outer.spawn(move |mut w| {
                w.finish(|inner| {
                    outer.cancel();
                    inner.spawn(move |_| {
                        ran.fetch_add(1, Relaxed);
                    });
                });
            });
        });
    });
    assert_eq!(ran.into_inner(), 1);
}

#[test]
fn the_serial_elision_drops_later_tasks() {
    let ran = AtomicUsize::new(0);
    Serial.finish(|scope| {
        for i in 0..10 {
            let ran = &ran;
            scope.spawn(move |_| {
                ran.fetch_add(1, Relaxed);
                if i == 3 {
                    scope.cancel();
                }
            });
        }
    });
    assert_eq!(ran.into_inner(), 4);
}
