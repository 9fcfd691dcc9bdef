//! Futures in difficult places: what is below and beside them on the stacks.
#![allow(missing_docs)]

mod common;

use std::cell::Cell;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering::*};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use common::{add, busy, pool};
use purloin::{Handle, Pool, ReturnBarrier, Scheduler, Worker};
use purloin_schedulers::{Channel, ChaseLev, DirectStack, OneField};

fn some_joins<W: Worker>(w: &mut W) {
    for _ in 0..3 {
        w.join(|_| (), |_| ());
        busy(Duration::from_micros(100));
    }
}

/// The token of a second closure lies above tickets of its frame.
#[test]
fn futures_made_in_the_second_closure_of_a_join() {
    let (pool, runs) = (pool(2), &AtomicUsize::new(0));
    for i in 1..=100 {
        pool.run(move |mut w| {
            w.finish(|scope| {
                scope.spawn(move |mut w| {
                    let new = || scope.future(move |_| add(runs, 1));
                    let futures: Vec<_> = (0..8).map(|_| new()).collect();
                    w.join(
                        |_| (),
                        move |mut w| {
                            futures.into_iter().for_each(Handle::get);
                            let future = new();
                            w.join(|mut w| some_joins(&mut w), |_| ());
                            future.get();
                        },
                    );
                });
            });
        });
        assert_eq!(runs.load(Acquire), 9 * i);
    }
}

/// The same with spawns, in a stack that they fill.
#[test]
fn spawns_in_the_second_closure_of_a_join() {
    let pool = Pool::builder().workers(3).stack_size(256 << 10);
    let pool = pool.build().unwrap();
    for _ in 0..5 {
        let (runs, spawned) = (&AtomicUsize::new(0), &AtomicUsize::new(0));
        pool.run(move |mut w| {
            w.finish(|scope| {
                scope.spawn(move |mut w| {
                    let spawn = |count: usize| {
                        for _ in 0..count {
                            add(spawned, 1);
                            scope.spawn(move |_| add(runs, 1));
                        }
                        // Thieves take them, and their slots stay.
                        busy(Duration::from_micros(200));
                    };
                    (0..80).for_each(|_| spawn(200));
                    for _ in 0..40 {
                        w.join(
                            |_| (),
                            |mut w| {
                                spawn(300);
                                w.join(|mut w| some_joins(&mut w), |_| ());
                                spawn(300);
                            },
                        );
                    }
                });
            });
        });
        assert_eq!(runs.load(Acquire), spawned.load(Acquire));
    }
}

/// Perhaps at the same address, of another type.
#[test]
fn futures_outlive_their_pool_and_are_got_in_another() {
    for _ in 0..20 {
        let first = pool(2);
        let mut futures: Vec<_> =
            first.run(|mut w| (0..600).map(|i| w.future(move |_| [i; 3])).collect());
        drop(first);
        let pools: Vec<_> = (0..12)
            .map(|_| {
                let builder = Pool::builder().workers(2).stack_size(64 << 10);
                builder.scheduler(ChaseLev::default()).build().unwrap()
            })
            .collect();
        for pool in &pools {
            let some = futures.split_off(futures.len() - 50);
            let sum: usize = pool.run(|mut w| {
                let new: Vec<_> = (0..50).map(|i| w.future(move |_| [i; 3])).collect();
                let all = some.into_iter().chain(new);
                all.map(|future| w.get(future).len()).sum()
            });
            assert_eq!(sum, 300);
        }
    }
}

thread_local! {
    static BLOCKED: Cell<bool> = const { Cell::new(false) };
}

fn who_waits_for_a_future_runs_nothing_else<S: Scheduler>(scheduler: S) {
    let pool = &Pool::builder()
        .workers(2)
        .scheduler(scheduler)
        .build()
        .unwrap();
    let (sender, receiver) = mpsc::channel::<Handle<()>>();
    let (started, has_started) = mpsc::channel();
    let unrelated = thread::scope(|threads| {
        threads.spawn(move || {
            pool.run(move |mut w| {
                let future = receiver.recv().unwrap();
                has_started.recv().unwrap();
                BLOCKED.set(true);
                w.get(future);
                BLOCKED.set(false);
            });
        });
        thread::sleep(Duration::from_millis(50));
        let ((), unrelated) = pool.run(move |mut w| {
            w.join(
                |mut w| {
                    // Left to the end of this closure, where the second is unstolen.
                    let future = w.future(move |mut w| {
                        started.send(()).unwrap();
                        for _ in 0..100 {
                            w.join(|_| (), |_| ());
                            thread::sleep(Duration::from_millis(1));
                        }
                    });
                    sender.send(future).unwrap();
                },
                |_| BLOCKED.get(),
            )
        });
        unrelated
    });
    assert!(!unrelated, "it does not descend from what was waited for");
}

#[test]
fn who_waits_for_a_future_runs_nothing_else_under_any_scheduler() {
    who_waits_for_a_future_runs_nothing_else(ReturnBarrier::default());
    who_waits_for_a_future_runs_nothing_else(DirectStack::<OneField>::new());
    who_waits_for_a_future_runs_nothing_else(ChaseLev::default());
    who_waits_for_a_future_runs_nothing_else(Channel::default());
}

/// The slots of stolen tickets stay for a while, but leave room for joins.
#[test]
fn a_window_of_futures_slides_through_a_small_stack() {
    let pool = Pool::builder().workers(2).stack_size(64 << 10);
    let pool = pool.build().unwrap();
    pool.run(|mut w| {
        let mut window = VecDeque::new();
        for i in 0..100_000_u64 {
            window.push_back(w.future(move |_| {
                busy(Duration::from_micros(1));
                i
            }));
            if window.len() > 8 {
                assert_eq!(w.get(window.pop_front().unwrap()), i - 8);
            }
            w.join(|_| (), |_| ());
        }
    });
    pool.run(|mut w| {
        for i in 0..100_000_u64 {
            drop(w.future(move |_| i));
            w.join(|_| (), |_| ());
        }
    });
}

#[test]
fn a_worker_that_waits_for_a_future_gives_away_its_own_tasks() {
    for forced in [true, false] {
        let scheduler = ReturnBarrier::default().forced_steals(forced);
        let pool = &Pool::builder()
            .workers(3)
            .scheduler(scheduler)
            .build()
            .unwrap();
        let (sender, receiver) = mpsc::channel::<Handle<()>>();
        let (started, has_started) = mpsc::channel();
        let (got, begun) = thread::scope(|threads| {
            let getter = threads.spawn(move || {
                pool.run(move |mut w| {
                    let future = receiver.recv().unwrap();
                    has_started.recv().unwrap();
                    w.join(
                        |mut w| {
                            w.get(future);
                            Instant::now()
                        },
                        |_| Instant::now(),
                    )
                })
            });
            thread::sleep(Duration::from_millis(50));
            threads.spawn(move || pool.run(|_| thread::sleep(Duration::from_millis(150))));
            thread::sleep(Duration::from_millis(50));
            pool.run(move |mut w| {
                let future = w.future(move |_| {
                    started.send(()).unwrap();
                    thread::sleep(Duration::from_millis(400));
                });
                sender.send(future).unwrap();
            });
            getter.join().unwrap()
        });
        assert!(begun < got, "nobody has taken it, though a worker was idle");
    }
}

/// The token of a loop lies above what the body of a finish has spawned before.
#[test]
fn spawns_in_a_token_free_loop_in_the_body_of_a_finish() {
    let pool = Pool::builder().workers(3).stack_size(256 << 10);
    let pool = pool.build().unwrap();
    for _ in 0..20 {
        let (runs, spawned) = (&AtomicUsize::new(0), &AtomicUsize::new(0));
        pool.run(move |mut w| {
            w.finish(|scope| {
                let spawn = |count: usize| {
                    for _ in 0..count {
                        add(spawned, 1);
                        scope.spawn(move |_| add(runs, 1));
                    }
                    busy(Duration::from_micros(100));
                };
                (0..20).for_each(|_| spawn(200));
                purloin::for_each(0..400, |_| spawn(200));
                let sum = purloin::map_reduce(0..1000, |i| i, |a, b| a + b);
                assert_eq!(sum, Some(499_500));
            });
        });
        assert_eq!(runs.load(Acquire), spawned.load(Acquire));
    }
}
