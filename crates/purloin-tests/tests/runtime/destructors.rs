//! Destructors that spawn, join and panic, at every place where the library runs them.

use std::panic::{AssertUnwindSafe, catch_unwind, panic_any, resume_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::thread;

use crate::common;
use purloin::prelude::*;
use purloin::{Pool, ReturnBarrier, Scope, Serial};

type DefaultScope<'s, 'e> = Scope<'s, 'e, ReturnBarrier>;

/// Joins when it is dropped, and spawns in the first closure.
struct JoinsAndSpawns<'s, 'e> {
    scope: &'s DefaultScope<'s, 'e>,
    spawns: &'e AtomicUsize,
    seconds: &'e AtomicUsize,
}

impl Drop for JoinsAndSpawns<'_, '_> {
    fn drop(&mut self) {
        join_and_spawn(self.scope, self.spawns, self.seconds);
    }
}

fn join_and_spawn<'s, 'e>(
    scope: &'s DefaultScope<'s, 'e>,
    spawns: &'e AtomicUsize,
    seconds: &'e AtomicUsize,
) {
    purloin::join(
        || {
            scope.spawn(move |_| {
                spawns.fetch_add(1, Relaxed);
            });
        },
        || {
            seconds.fetch_add(1, Relaxed);
        },
    );
}

#[test]
fn a_result_that_is_never_fetched_may_join_and_spawn_when_it_is_dropped() {
    for workers in [1, 2, 8] {
        let pool = common::pool(workers);
        let (spawns, seconds) = (AtomicUsize::new(0), AtomicUsize::new(0));
        pool.run(|mut w| {
            w.finish(|scope| {
                let (spawns, seconds) = (&spawns, &seconds);
                drop(scope.future(move |_| JoinsAndSpawns {
                    scope,
                    spawns,
                    seconds,
                }));
            });
        });
        assert_eq!((spawns.into_inner(), seconds.into_inner()), (1, 1));
        assert_eq!(
            pool.run(|mut w| w.join(|_| 1, |_| 2)),
            (1, 2),
            "the pool goes on"
        );
    }
}

/// Spawns when it is dropped.
struct Spawns<'s, 'e>(&'s DefaultScope<'s, 'e>);

impl Drop for Spawns<'_, '_> {
    fn drop(&mut self) {
        self.0.spawn(|_| ());
    }
}

#[test]
fn a_join_after_a_destructor_that_has_spawned_is_a_join() {
    for workers in [1, 2, 8] {
        let pool = common::pool(workers);
        let (spawns, seconds) = (AtomicUsize::new(0), AtomicUsize::new(0));
        pool.run(|mut w| {
            w.finish(|scope| {
                scope
                    .future(move |_| drop(scope.future(move |_| Spawns(scope))))
                    .get();
                join_and_spawn(scope, &spawns, &seconds);
            });
        });
        assert_eq!((spawns.into_inner(), seconds.into_inner()), (1, 1));
    }
}

#[test]
fn tasks_left_behind_by_a_panic_do_not_find_their_thread_panicking() {
    let pool = common::pool(1);
    let is_panicking = Arc::new(AtomicBool::new(false));
    let lock = Arc::new(Mutex::new(0));
    let (seen, taken) = (is_panicking.clone(), lock.clone());
    let result = catch_unwind(AssertUnwindSafe(|| {
        pool.run(|mut w| {
            let outer = w.future(move |mut w| {
                drop(w.future(move |_| seen.store(thread::panicking(), Relaxed)));
                drop(w.future(move |_| {
                    let mut half_way = taken.lock().unwrap();
                    *half_way = 1;
                    panic_any("half way");
                }));
                if std::hint::black_box(true) {
                    panic_any("the closure");
                }
            });
            w.get(outer);
        });
    }));
    assert_eq!(result.unwrap_err().downcast_ref(), Some(&"the closure"));
    assert!(!is_panicking.load(Relaxed));
    assert!(lock.is_poisoned());
}

/// Panics when it is dropped.
struct Bomb;

impl Drop for Bomb {
    fn drop(&mut self) {
        panic_any("dropped");
    }
}

#[test]
fn the_result_of_a_finish_may_panic_when_it_is_dropped_for_a_task_that_panicked() {
    let pool = common::pool(1);
    let result = catch_unwind(AssertUnwindSafe(|| {
        pool.run(|mut w| {
            let bomb = w.finish(|scope| {
                scope.spawn(|_| panic_any("the task"));
                Bomb
            });
            std::mem::forget(bomb);
        });
    }));
    assert_eq!(result.unwrap_err().downcast_ref(), Some(&"the task"));
}

#[test]
fn a_pool_may_be_dropped_with_the_panic_of_a_job_whose_payload_panics() {
    let pool = Pool::builder().workers(1).build().unwrap();
    pool.spawn(|_| resume_unwind(Box::new(Bomb)));
    drop(pool);
}

#[test]
fn a_program_panic_that_mentions_a_task_stack_is_not_taken_for_a_full_stack() {
    let pool = common::pool(1);
    let mut second = 0;
    let result = catch_unwind(AssertUnwindSafe(|| {
        pool.run(|mut w| {
            let message = String::from("the task stack of my virtual machine overflowed");
            w.join(|_| panic_any(message), |_| second += 1);
        });
    }));
    assert!(result.is_err());
    assert_eq!(second, 1);
}

/// Makes a future in a scope when it is dropped.
struct SpawnsWhenDropped<'s, 'e>(&'s Scope<'s, 'e, ReturnBarrier>, &'s AtomicUsize);

impl Drop for SpawnsWhenDropped<'_, '_> {
    fn drop(&mut self) {
        let count = self.1;
        drop(self.0.future(move |_| count.fetch_add(1, Relaxed)));
    }
}

/// The closure of a cancelled future is dropped by the get, while its ticket is still on the stack. The destructor
/// makes another future in the same scope, which must not get the place of that ticket.
#[test]
fn the_destructor_of_a_cancelled_closure_makes_a_future() {
    for workers in common::workers([1, 2, 3]) {
        let pool = common::pool(workers);
        for round in 0..common::rounds(200) {
            let (made, mut is_dropped) = (AtomicUsize::new(0), true);
            pool.run(|mut w| {
                w.finish(|scope| {
                    let bomb = SpawnsWhenDropped(scope, &made);
                    let future = scope.future(move |_| drop(bomb));
                    match round % 3 {
                        0 => {
                            let shared = future.share();
                            scope.cancel();
                            is_dropped &= shared.try_get().is_err();
                        }
                        1 => {
                            scope.cancel();
                            is_dropped &= future.try_get().is_err();
                        }
                        _ => {
                            let future = Mutex::new(Some(future));
                            [0].into_par().for_each_with_token(|mut w, _| {
                                scope.cancel();
                                let future = future.lock().unwrap().take().unwrap();
                                let got = AssertUnwindSafe(|| w.get(future));
                                let _ = catch_unwind(got);
                            });
                        }
                    }
                    // The slots are free for joins.
                    assert_eq!(purloin::join(|| common::fib(Serial, 5), || 7), (5, 7));
                });
                assert_eq!(
                    w.join(|w| common::fib(w, 8), |w| common::fib(w, 9)),
                    (21, 34)
                );
            });
            // With other workers, the closure may have begun before.
            if workers == 1 {
                assert!(is_dropped);
                assert_eq!(made.into_inner(), 0, "its scope is cancelled");
            }
        }
    }
}
