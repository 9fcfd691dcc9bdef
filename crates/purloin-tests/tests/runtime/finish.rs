//! Tests of the documentation's promises about finishes.

use std::panic::{AssertUnwindSafe, catch_unwind, panic_any, resume_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::*};
use std::thread;
use std::time::{Duration, Instant};

use crate::common::{self, add, fib, message, pool, rounds, workers};
use purloin::{Pool, ReturnBarrier, Scheduler, Scope, Serial, Spawner, Worker};
use purloin_schedulers::{Channel, ChaseLev, DirectStack, OneField, Stealing, TwoFields};

/// Depth of a tree in which each task spawns three.
const TREE: u32 = if cfg!(miri) { 3 } else { 7 };
/// Depth of a tree of spawns and joins.
const DEPTH: u32 = if cfg!(miri) { 2 } else { 8 };
/// Number of finishes that nest.
const NESTED: usize = if cfg!(miri) { 4 } else { 30 };
/// Number of small tasks in the largest finish.
const SPAWNS: usize = if cfg!(miri) { 100 } else { 1_000_000 };
/// Number of tasks in that finish that do not fit in a slot.
const BIG_SPAWNS: usize = if cfg!(miri) { 10 } else { 1_000 };
/// Number of tasks in a finish whose owner has a small stack.
const MANY: usize = if cfg!(miri) { 50 } else { 20_000 };
/// Size of a small stack, in bytes.
const STACK: usize = 64 << 10;
/// Number of results that panic when they are dropped. Natively this is more than the slots of
/// a small stack, which has one slot for each 8 bytes and at most 1,024 more.
const BOMBS: usize = if cfg!(miri) { 2 } else { STACK / 8 + 1500 };

#[test]
fn a_finish_waits_for_everything_spawned_in_it() {
    fn tree<'s, S: Spawner>(scope: &'s Scope<'s, '_, S>, depth: u32, leaves: &'s AtomicUsize) {
        if depth == 0 {
            leaves.fetch_add(1, Relaxed);
            return;
        }
        for _ in 0..3 {
            scope.spawn(move |_| tree(scope, depth - 1, leaves));
        }
    }
    for workers in workers([1, 2, 5]) {
        let pool = pool(workers);
        for _ in 0..rounds(20) {
            let leaves = AtomicUsize::new(0);
            pool.run(|mut w| w.finish(|scope| tree(scope, TREE, &leaves)));
            assert_eq!(leaves.into_inner(), 3_usize.pow(TREE));
        }
    }
    let leaves = AtomicUsize::new(0);
    Serial.finish(|scope| tree(scope, TREE, &leaves));
    assert_eq!(leaves.into_inner(), 3_usize.pow(TREE));
}

#[test]
fn a_join_does_not_overwrite_spawns_above_the_top_of_its_token() {
    // Each task spawns a task, and then joins with a token whose top is still below the
    // spawned task.
    fn work<'s, S: Spawner, W: Worker>(
        mut w: W,
        scope: &'s Scope<'s, '_, S>,
        depth: u32,
        sum: &'s AtomicUsize,
    ) {
        sum.fetch_add(1, Relaxed);
        if depth == 0 {
            return;
        }
        scope.spawn(move |w| work(w, scope, depth - 1, sum));
        let (a, b) = w.join(|w| fib(w, 6), |w| fib(w, 7));
        assert_eq!(a + b, 21);
        scope.spawn(move |w| work(w, scope, depth - 1, sum));
        // The second closure runs with a token whose top is the slot of its own task.
        let ((), b) = w.join(
            |_| (),
            |mut w| {
                scope.spawn(move |_| add(sum, 1000));
                let (a, b) = w.join(|w| fib(w, 5), |w| fib(w, 6));
                a + b
            },
        );
        assert_eq!(b, 13);
        let (a, b) = w.join(|w| fib(w, 6), |w| fib(w, 7));
        assert_eq!(a + b, 21);
    }
    for workers in workers([1, 2, 4]) {
        let pool = pool(workers);
        for _ in 0..rounds(10) {
            let sum = AtomicUsize::new(0);
            pool.run(|mut w| {
                w.finish(|scope| {
                    scope.spawn(|w| work(w, scope, DEPTH, &sum));
                })
            });
            assert_eq!(
                sum.into_inner(),
                (2 << DEPTH) - 1 + ((1 << DEPTH) - 1) * 1000
            );
        }
    }
}

#[test]
fn tasks_may_be_spawned_into_an_outer_scope_from_anywhere() {
    for workers in workers([1, 2, 4]) {
        let pool = pool(workers);
        for _ in 0..rounds(50) {
            let count = AtomicUsize::new(0);
            let add = || add(&count, 1);
            pool.run(|mut w| {
                w.finish(|outer| {
                    // From the closures of a join. A thief may run the second.
                    outer.join(
                        |_| outer.spawn(move |_| add()),
                        |_| outer.spawn(move |_| add()),
                    );
                    // From an inner finish, which does not wait for the task.
                    outer.spawn(move |mut w| {
                        w.finish(|inner| {
                            inner.spawn(move |_| outer.spawn(move |_| add()));
                            outer.spawn(move |_| add());
                        });
                    });
                    // From a thread that is not a worker.
                    thread::scope(|threads| {
                        threads.spawn(|| outer.spawn(move |_| add()));
                    });
                })
            });
            assert_eq!(count.into_inner(), 5);
        }
    }
}

#[test]
fn a_join_does_not_wait_for_tasks_that_its_closures_spawn_into_an_outer_finish() {
    // The task takes a lock that the worker holds across the join. So the task must not run
    // inside the join.
    let pool = pool(1);
    let lock = Mutex::new(0);
    pool.run(|mut w| {
        w.finish(|scope| {
            let mut held = lock.lock().unwrap();
            scope.join(|_| scope.spawn(|_| *lock.lock().unwrap() += 1), |_| ());
            *held += 1;
        })
    });
    assert_eq!(lock.into_inner().unwrap(), 2);
}

#[test]
fn a_panic_in_a_finish_surfaces_after_all_its_tasks_have_ended() {
    for workers in workers([1, 2, 4]) {
        let pool = pool(workers);
        for _ in 0..rounds(50) {
            let ended = AtomicUsize::new(0);
            let panic = catch_unwind(AssertUnwindSafe(|| {
                pool.run(|mut w| {
                    w.finish(|scope| {
                        for i in 0..100 {
                            let ended = &ended;
                            scope.spawn(move |_| {
                                ended.fetch_add(1, Relaxed);
                                assert_ne!(i, 50, "task");
                            });
                        }
                    })
                })
            }));
            assert!(message(panic.unwrap_err()).contains("task"));
            assert_eq!(ended.load(Relaxed), 100);
            // If a task and the body panic, the caller sees the panic of the body.
            let panic = catch_unwind(AssertUnwindSafe(|| {
                pool.run(|mut w| {
                    w.finish(|scope| {
                        scope.spawn(|_| panic!("task"));
                        panic!("body");
                    })
                })
            }));
            assert_eq!(message(panic.unwrap_err()), "body");
        }
    }
}

#[test]
fn one_finish_may_spawn_a_million_tasks() {
    for workers in workers([1, 2]) {
        let pool = pool(workers);
        let count = AtomicUsize::new(0);
        let big = [1usize; 20];
        pool.run(|mut w| {
            w.finish(|scope| {
                for _ in 0..SPAWNS {
                    scope.spawn(|_| add(&count, 1));
                }
                for _ in 0..BIG_SPAWNS {
                    let count = &count;
                    scope.spawn(move |_| add(count, big[7]));
                }
            })
        });
        assert_eq!(count.into_inner(), SPAWNS + BIG_SPAWNS);
    }
}

#[test]
fn a_token_free_finish_works_inside_and_outside_a_pool() {
    let count = AtomicUsize::new(0);
    let both = || {
        purloin::finish(|scope| {
            scope.spawn(|_| add(&count, 1));
            scope.spawn(|w| add(&count, fib(w, 10) as usize));
        })
    };
    pool(2).run(|_| both());
    assert_eq!(count.load(Relaxed), 56);
    // The threads of the global pool never end, which Miri reports as a leak.
    if !cfg!(miri) {
        both();
        assert_eq!(count.load(Relaxed), 2 * 56);
    }
}

/// Stolen tasks keep their slots until the finish takes them back.
#[test]
fn a_small_stack_is_enough_for_many_tasks_with_and_without_thieves() {
    fn check<S: Scheduler>(scheduler: S) {
        let builder = Pool::builder().workers(2).stack_size(STACK);
        let pool = builder.scheduler(scheduler).build().unwrap();
        for _ in 0..rounds(20) {
            let count = AtomicUsize::new(0);
            let one = || add(&count, 1);
            pool.run(|mut w| {
                w.finish(|scope| {
                    for _ in 0..MANY {
                        scope.spawn(|mut w| {
                            w.join(|_| one(), |_| one());
                        });
                    }
                    scope.join(|_| one(), |_| one());
                });
            });
            assert_eq!(count.into_inner(), 2 * MANY + 2);
        }
    }
    check(ReturnBarrier::default());
    check(DirectStack::<OneField>::new());
    check(DirectStack::<TwoFields>::new());
    if common::MAY_USE_CHASE_LEV {
        check(ChaseLev::default());
    }
    check(Channel::default().steal(Stealing::Half));
}

/// Panics when it is dropped.
struct Bomb;

impl Drop for Bomb {
    fn drop(&mut self) {
        resume_unwind(Box::new(7));
    }
}

#[test]
fn a_panic_payload_that_panics_when_it_is_dropped_does_not_end_the_process() {
    let pool = pool(1);
    let result = catch_unwind(AssertUnwindSafe(|| {
        pool.run(|mut w| {
            w.finish(|scope| {
                scope.spawn(|_| panic_any(Bomb));
                scope.spawn(|_| panic_any(Bomb));
                panic_any(1);
            })
        })
    }));
    assert_eq!(result.unwrap_err().downcast_ref(), Some(&1));
}

#[test]
fn a_result_that_panics_when_it_is_dropped_leaves_the_stack_as_it_was() {
    let builder = Pool::builder().workers(2).stack_size(STACK);
    let pool = builder.build().unwrap();
    let stolen = AtomicUsize::new(0);
    // All joins belong to one run, so their tasks lie on the stack of the same worker.
    let panic = pool.run(|mut w| {
        while stolen.load(Relaxed) < BOMBS {
            let is_stolen = AtomicBool::new(false);
            let join = || {
                w.join(
                    |_| {
                        let start = Instant::now();
                        while !is_stolen.load(Acquire) && start.elapsed() < Duration::from_millis(5)
                        {
                            thread::yield_now();
                        }
                        add(&stolen, usize::from(is_stolen.load(Acquire)));
                        // Unlike `panic_any`, it does not call the hook, which would print.
                        resume_unwind(Box::new(1));
                    },
                    |_| {
                        is_stolen.store(true, Release);
                        Bomb
                    },
                );
            };
            let panic = catch_unwind(AssertUnwindSafe(join)).unwrap_err();
            if panic.downcast_ref() != Some(&1) {
                return Some(panic);
            }
        }
        None
    });
    if let Some(panic) = panic {
        panic!(
            "this is not the panic of the first closure: {}",
            message(panic)
        );
    }
}

/// A task may outlive the frame, the closure and the task that spawned it, but not its finish.
#[test]
fn tasks_outlive_their_spawners_but_not_their_finish() {
    fn spawner<'s, S: Spawner>(
        scope: &'s Scope<'s, '_, S>,
        has_returned: &'s AtomicBool,
        late: &'s AtomicUsize,
    ) {
        // This function has returned when the task uses the string.
        let mine = String::from("moved along");
        scope.spawn(move |_| {
            while !has_returned.load(Acquire) {
                thread::yield_now();
            }
            assert_eq!(mine, "moved along");
            late.fetch_add(1, Relaxed);
        });
    }
    let pool = pool(3);
    for _ in 0..rounds(50) {
        let flags = [(); 3].map(|()| AtomicBool::new(false));
        let late = AtomicUsize::new(0);
        pool.run(|mut w| {
            w.finish(|scope| {
                spawner(scope, &flags[0], &late);
                flags[0].store(true, Release);
                scope.spawn(|_| {
                    spawner(scope, &flags[1], &late);
                    flags[1].store(true, Release);
                });
                scope.spawn(|mut w| {
                    w.finish(|_| spawner(scope, &flags[2], &late));
                    flags[2].store(true, Release);
                });
            });
            assert_eq!(late.load(Relaxed), 3);
        });
    }
}

#[test]
fn finishes_nest_and_return_values() {
    fn depth<W: Worker>(w: &mut W, levels: usize, ended: &AtomicUsize) -> usize {
        if levels == 0 {
            return 0;
        }
        let inner = w.finish(|scope| {
            for _ in 0..4 {
                scope.spawn(move |mut w| {
                    w.finish(|scope| scope.spawn(move |_| add(ended, 1)));
                    add(ended, 1);
                });
            }
            levels
        });
        // All eight tasks of this level have ended, and all tasks of the levels above.
        assert_eq!(ended.load(Relaxed) % 8, 0);
        inner + depth(w, levels - 1, ended)
    }
    for workers in workers([1, 2, 5]) {
        let ended = AtomicUsize::new(0);
        let sum = pool(workers).run(|mut w| depth(&mut w, NESTED, &ended));
        assert_eq!(sum, NESTED * (NESTED + 1) / 2);
        assert_eq!(ended.into_inner(), 8 * NESTED);
    }
}
