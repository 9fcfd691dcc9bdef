//! Futures and spawns in difficult places on the task stack, and workers that wait for them.

use std::cell::Cell;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::*};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use crate::common::{self, add, busy, eventually, pool, pool_with, wait_for};
use purloin::{Handle, Pool, ReturnBarrier, Scheduler, Worker};
use purloin_schedulers::ChaseLev;

fn some_joins<W: Worker>(w: &mut W) {
    for _ in 0..3 {
        w.join(|_| (), |_| ());
        busy(Duration::from_micros(100));
    }
}

/// When the second closure runs, tickets of the frame around the join lie below the top of
/// its token.
#[test]
fn the_second_closure_of_a_join_may_make_and_get_futures() {
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

/// When the second closure runs, spawns of the frame around the join fill the task stack below
/// the top of its token.
#[test]
fn the_second_closure_of_a_join_may_spawn_into_a_full_stack() {
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
                        // Meanwhile thieves take the tasks, but the slots stay in use.
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

/// The workers of the later pools may have the same addresses as the first pool's workers, but a
/// different type.
#[test]
fn a_worker_of_another_pool_may_get_a_future_whose_pool_is_gone() {
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
    /// Whether the worker of this thread is waiting for a future.
    static BLOCKED: Cell<bool> = const { Cell::new(false) };
}

common::under_each_scheduler! {
    for workers in [2], Pool::builder().workers(workers);
    a_worker_that_waits_for_a_future_runs_no_unrelated_task,
}

fn a_worker_that_waits_for_a_future_runs_no_unrelated_task(pool: Pool<impl Scheduler>) {
    let pool = &pool;
    let (sender, receiver) = mpsc::channel::<Handle<()>>();
    let (started, has_started) = mpsc::channel();
    let is_ready = &AtomicBool::new(false);
    let unrelated = thread::scope(|threads| {
        threads.spawn(move || {
            pool.run(move |mut w| {
                is_ready.store(true, SeqCst);
                let future = receiver.recv().unwrap();
                has_started.recv().unwrap();
                BLOCKED.set(true);
                w.get(future);
                BLOCKED.set(false);
            });
        });
        // From here on, the other worker can run the second closure only while it waits.
        wait_for(is_ready);
        let ((), unrelated) = pool.run(move |mut w| {
            w.join(
                |mut w| {
                    // The owner runs the task of this future at the end of the closure, while
                    // the second closure still lies below it and is not stolen.
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
    assert!(
        !unrelated,
        "a worker that waited for a future ran a task that does not descend from it"
    );
}

/// The slots of stolen tickets stay in use for a while, but leave room for joins.
#[test]
fn a_small_stack_is_enough_for_a_sliding_window_of_futures() {
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
fn a_worker_that_waits_for_a_future_lets_others_steal_its_tasks() {
    for forced in [true, false] {
        let pool = &pool_with(ReturnBarrier::default().forced_steals(forced), 3);
        let (sender, receiver) = mpsc::channel::<Handle<()>>();
        let (started, has_started) = mpsc::channel();
        let busy_workers = &AtomicUsize::new(0);
        let is_stolen = Arc::new(AtomicBool::new(false));
        let (got, begun) = thread::scope(|threads| {
            let has_begun = Arc::clone(&is_stolen);
            let getter = threads.spawn(move || {
                pool.run(move |mut w| {
                    add(busy_workers, 1);
                    let future = receiver.recv().unwrap();
                    has_started.recv().unwrap();
                    w.join(
                        |mut w| {
                            w.get(future);
                            Instant::now()
                        },
                        |_| {
                            has_begun.store(true, Release);
                            Instant::now()
                        },
                    )
                })
            });
            threads.spawn(move || {
                pool.run(|_| {
                    add(busy_workers, 1);
                    // This worker becomes idle long after the worker that gets the future has
                    // fallen asleep.
                    thread::sleep(Duration::from_millis(150));
                });
            });
            eventually("two workers are busy", || busy_workers.load(Relaxed) == 2);
            pool.run(move |mut w| {
                let future = w.future(move |_| {
                    started.send(()).unwrap();
                    let start = Instant::now();
                    while !is_stolen.load(Acquire) && start.elapsed() < Duration::from_millis(400) {
                        thread::sleep(Duration::from_millis(1));
                    }
                });
                sender.send(future).unwrap();
            });
            getter.join().unwrap()
        });
        assert!(
            begun < got,
            "no idle worker stole the second closure while its owner waited for a future"
        );
    }
}

/// When the loop begins, tasks that the body of the finish has spawned lie below the top of its
/// token.
#[test]
fn a_token_free_loop_in_the_body_of_a_finish_may_spawn() {
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
