//! Tests of `Pool::spawn`, which hands a task to a pool, and of `Pool::wait`.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};

use crate::common::{self, busy, message, pool_with};
use purloin::{Pool, ReturnBarrier, Scheduler, Worker};
use purloin_schedulers::{ChaseLev, DirectStack, OneField};

common::under_each_scheduler! {
    for workers in [1, 2, 5, 16], Pool::builder().workers(workers);
    a_wait_ends_when_all_tasks_have_ended,
    a_wait_includes_the_tasks_that_tasks_spawn,
    several_threads_may_wait_at_once,
    the_first_panic_surfaces_at_the_wait,
    a_dropped_pool_runs_the_tasks_that_are_left,
    a_wait_without_tasks_returns,
    a_worker_cannot_wait_for_its_own_pool,
}

fn a_wait_ends_when_all_tasks_have_ended<S: Scheduler>(pool: Pool<S>) {
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

fn a_wait_includes_the_tasks_that_tasks_spawn<S: Scheduler>(pool: Pool<S>) {
    /// Spawns the first of `left` tasks. Each task spawns the next.
    fn counted_chain<S: Scheduler>(pool: &Arc<Pool<S>>, left: usize, count: &Arc<AtomicUsize>) {
        let (own, next) = (Arc::clone(pool), Arc::clone(count));
        pool.spawn(move |mut w| {
            w.join(|_| (), |_| ());
            next.fetch_add(1, Relaxed);
            if left > 1 {
                counted_chain(&own, left - 1, &next);
            }
        });
    }

    let pool = Arc::new(pool);
    for _ in 0..20 {
        let count = Arc::new(AtomicUsize::new(0));
        counted_chain(&pool, 50, &count);
        counted_chain(&pool, 30, &count);
        pool.wait();
        assert_eq!(count.load(Relaxed), 80);
    }
}

fn several_threads_may_wait_at_once<S: Scheduler>(pool: Pool<S>) {
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

fn the_first_panic_surfaces_at_the_wait<S: Scheduler>(pool: Pool<S>) {
    for _ in 0..10 {
        pool.spawn(|mut w| w.join(|_| (), |_| panic!("one of them")).1);
        pool.spawn(|_| panic!("one of them"));
        let panic = catch_unwind(AssertUnwindSafe(|| pool.wait())).unwrap_err();
        assert_eq!(message(panic), "one of them");
        pool.wait();
    }
}

fn a_dropped_pool_runs_the_tasks_that_are_left<S: Scheduler>(pool: Pool<S>) {
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

fn a_wait_without_tasks_returns<S: Scheduler>(pool: Pool<S>) {
    pool.wait();
    assert_eq!(pool.run(|mut w| w.join(|_| 1, |_| 2)), (1, 2));
    pool.wait();
    pool.wait();
}

fn a_worker_cannot_wait_for_its_own_pool<S: Scheduler>(pool: Pool<S>) {
    let fails = || {
        let panic = catch_unwind(AssertUnwindSafe(|| pool.wait())).unwrap_err();
        let text = message(panic);
        assert!(text.contains("would wait for itself"), "{text}");
    };
    pool.run(|mut w| {
        fails();
        w.join(|_| fails(), |_| fails());
        w.finish(|scope| {
            scope.spawn(|_| fails());
            fails();
        });
        // A call from a worker belongs to the task that makes it.
        pool.run(|_| fails());
    });
}

/// Spawns a chain of tasks. Each task spawns the next as long as `goes_on` is set.
fn chain<S: Scheduler>(pool: &Arc<Pool<S>>, goes_on: &Arc<AtomicBool>) {
    let (own, still) = (Arc::clone(pool), Arc::clone(goes_on));
    pool.spawn(move |mut w| {
        // A thief may steal the closure that spawns the next task.
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
fn a_wait_ignores_chains_of_tasks_that_begin_later() {
    /// Returns whether a wait ended although a later chain went on. `pause` is the time for the wait
    /// to begin.
    fn ends<S: Scheduler>(pool: &Arc<Pool<S>>, pause: Duration) -> bool {
        let begin = || {
            let goes_on = Arc::new(AtomicBool::new(true));
            chain(pool, &goes_on);
            goes_on
        };
        let before = begin();
        let is_over = AtomicBool::new(false);
        let ended = thread::scope(|threads| {
            threads.spawn(|| {
                pool.wait();
                is_over.store(true, Relaxed);
            });
            thread::sleep(pause);
            let later = begin();
            thread::sleep(pause);
            let was_over = is_over.load(Relaxed);
            before.store(false, Relaxed);
            let start = Instant::now();
            while !is_over.load(Relaxed) && start.elapsed() < Duration::from_secs(2) {
                thread::sleep(Duration::from_millis(1));
            }
            let ended = is_over.load(Relaxed);
            later.store(false, Relaxed);
            assert!(!was_over, "the wait missed a task that a task spawned");
            ended
        });
        pool.wait();
        ended
    }
    fn check<S: Scheduler>(pool: Pool<S>) {
        let pool = Arc::new(pool);
        // On a busy machine the thread that waits may begin late. Then the wait covers both chains.
        let pauses = [20, 200, 2000].map(Duration::from_millis);
        let ended = pauses.into_iter().any(|pause| ends(&pool, pause));
        assert!(ended, "no wait ends although a later chain goes on");
    }
    for workers in [1, 2, 5] {
        check(pool_with(ReturnBarrier::default(), workers));
        check(pool_with(DirectStack::<OneField>::new(), workers));
        check(pool_with(ChaseLev::default(), workers));
    }
}
