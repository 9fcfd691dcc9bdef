//! Tasks that are left to a pool, and waiting for all of them.
#![allow(missing_docs)]

mod common;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::thread;
use std::time::Duration;

use common::busy;
use purloin::{Pool, ReturnBarrier, Scheduler, Worker};
use purloin_schedulers::{Channel, ChaseLev, DirectStack, OneField};

/// Runs a test under each scheduler, on one worker and on several.
macro_rules! under_each_scheduler {
    ($($test:ident),* $(,)?) => {
        $(
            #[test]
            fn $test() {
                for workers in [1, 2, 5, 16] {
                    let pool = || Pool::builder().workers(workers);
                    $test::check(pool().build().unwrap());
                    $test::check(pool().scheduler(ReturnBarrier::default()).build().unwrap());
                    $test::check(pool().scheduler(DirectStack::<OneField>::new()).build().unwrap());
                    $test::check(pool().scheduler(ChaseLev::default()).build().unwrap());
                    $test::check(pool().scheduler(Channel::default()).build().unwrap());
                }
            }
        )*
    };
}

under_each_scheduler!(
    a_wait_ends_when_everything_is_done,
    what_spawned_tasks_spawn_is_waited_for,
    waits_from_several_threads_end,
    the_first_panic_surfaces_at_the_wait,
    a_pool_that_is_dropped_runs_what_is_left,
    a_wait_for_nothing_ends,
);

mod a_wait_ends_when_everything_is_done {
    use super::*;

    pub fn check<S: Scheduler>(pool: Pool<S>) {
        for round in 0..100 {
            let count = Arc::new(AtomicUsize::new(0));
            let tasks = round % 7;
            for task in 0..tasks {
                let count = count.clone();
                pool.spawn(move |mut w| {
                    w.finish(|scope| {
                        for _ in 0..20 {
                            scope.spawn(|mut w| {
                                w.join(|_| busy(Duration::from_micros(task)), |_| ());
                                count.fetch_add(1, Relaxed);
                            });
                        }
                    });
                });
            }
            pool.wait();
            assert_eq!(count.load(Relaxed), 20 * tasks as usize);
        }
    }
}

mod what_spawned_tasks_spawn_is_waited_for {
    use super::*;

    /// Each spawns the next.
    fn chain<S: Scheduler>(pool: &Arc<Pool<S>>, left: usize, count: &Arc<AtomicUsize>) {
        let (own, next) = (Arc::clone(pool), Arc::clone(count));
        pool.spawn(move |mut w| {
            w.join(|_| (), |_| ());
            next.fetch_add(1, Relaxed);
            if left > 1 {
                chain(&own, left - 1, &next);
            }
        });
    }

    pub fn check<S: Scheduler>(pool: Pool<S>) {
        let pool = Arc::new(pool);
        for _ in 0..20 {
            let count = Arc::new(AtomicUsize::new(0));
            chain(&pool, 50, &count);
            chain(&pool, 30, &count);
            pool.wait();
            assert_eq!(count.load(Relaxed), 80);
        }
    }
}

mod waits_from_several_threads_end {
    use super::*;

    pub fn check<S: Scheduler>(pool: Pool<S>) {
        thread::scope(|threads| {
            for _ in 0..4 {
                threads.spawn(|| {
                    for _ in 0..50 {
                        let count = Arc::new(AtomicUsize::new(0));
                        for _ in 0..3 {
                            let count = count.clone();
                            pool.spawn(move |_| {
                                busy(Duration::from_micros(3));
                                count.fetch_add(1, Relaxed);
                            });
                        }
                        pool.wait();
                        assert_eq!(count.load(Relaxed), 3);
                    }
                });
            }
        });
    }
}

mod the_first_panic_surfaces_at_the_wait {
    use super::*;

    pub fn check<S: Scheduler>(pool: Pool<S>) {
        for _ in 0..10 {
            pool.spawn(|mut w| w.join(|_| (), |_| panic!("one of them")).1);
            pool.spawn(|_| panic!("one of them"));
            let panic = catch_unwind(AssertUnwindSafe(|| pool.wait())).unwrap_err();
            assert_eq!(*panic.downcast::<&str>().unwrap(), "one of them");
            pool.wait();
        }
    }
}

mod a_pool_that_is_dropped_runs_what_is_left {
    use super::*;

    pub fn check<S: Scheduler>(pool: Pool<S>) {
        let count = Arc::new(AtomicUsize::new(0));
        for _ in 0..100 {
            let count = count.clone();
            pool.spawn(move |_| {
                count.fetch_add(1, Relaxed);
            });
        }
        drop(pool);
        assert_eq!(count.load(Relaxed), 100);
    }
}

mod a_wait_for_nothing_ends {
    use super::*;

    pub fn check<S: Scheduler>(pool: Pool<S>) {
        pool.wait();
        assert_eq!(pool.run(|mut w| w.join(|_| 1, |_| 2)), (1, 2));
        pool.wait();
        pool.wait();
    }
}

#[test]
fn a_worker_cannot_wait_for_its_own_pool() {
    let pool = Pool::builder().workers(2).build().unwrap();
    let result = catch_unwind(AssertUnwindSafe(|| pool.run(|_| pool.wait())));
    let panic = result.unwrap_err().downcast::<&str>().unwrap();
    assert!(panic.contains("would wait for itself"), "{panic}");
}

/// A chain of tasks, each of which spawns the next, for as long as `goes_on`.
fn chain<S: Scheduler>(pool: &Arc<Pool<S>>, goes_on: &Arc<AtomicBool>) {
    let (own, still) = (Arc::clone(pool), Arc::clone(goes_on));
    pool.spawn(move |mut w| {
        // The next may be spawned by a thief.
        w.join(
            |_| busy(Duration::from_micros(20)),
            |_| {
                if still.load(Relaxed) {
                    chain(&own, &still);
                }
            },
        );
    });
}

#[test]
fn a_wait_does_not_wait_for_chains_that_begin_later() {
    fn check<S: Scheduler>(pool: Pool<S>) {
        let pool = Arc::new(pool);
        let begin = || {
            let goes_on = Arc::new(AtomicBool::new(true));
            chain(&pool, &goes_on);
            goes_on
        };
        let before = begin();
        let is_over = AtomicBool::new(false);
        thread::scope(|threads| {
            let wait = threads.spawn(|| {
                pool.wait();
                is_over.store(true, Relaxed);
            });
            thread::sleep(Duration::from_millis(20));
            let later = begin();
            thread::sleep(Duration::from_millis(20));
            assert!(!is_over.load(Relaxed), "what a task spawns is waited for");
            before.store(false, Relaxed);
            common::eventually("the wait ends", || is_over.load(Relaxed));
            wait.join().unwrap();
            later.store(false, Relaxed);
        });
        pool.wait();
    }
    for workers in [1, 2, 5] {
        let pool = || Pool::builder().workers(workers);
        check(pool().build().unwrap());
        check(
            pool()
                .scheduler(DirectStack::<OneField>::new())
                .build()
                .unwrap(),
        );
        check(pool().scheduler(ChaseLev::default()).build().unwrap());
    }
}
