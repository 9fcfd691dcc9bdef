//! Tests of `Pool::spawn`, which hands a task to a pool, and of `Pool::wait`.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};

use crate::common::{self, busy, message, pool_with};
use purloin::{Pool, ReturnBarrier, Scheduler, Scope, Token, Worker};
use purloin_schedulers::{Channel, ChaseLev, DirectStack, OneField, StrictChannel};

common::under_each_scheduler! {
    for workers in [1, 2, 5, 16], Pool::builder().workers(workers);
    a_wait_ends_when_all_tasks_have_ended,
    a_wait_includes_the_tasks_that_tasks_spawn,
    several_threads_may_wait_at_once,
    the_first_panic_surfaces_at_the_wait,
    a_dropped_pool_runs_the_tasks_that_are_left,
    a_wait_without_tasks_returns,
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

#[test]
fn a_worker_cannot_wait_for_its_own_pool() {
    let pool = common::pool(2);
    let result = catch_unwind(AssertUnwindSafe(|| pool.run(|_| pool.wait())));
    let text = message(result.unwrap_err());
    assert!(text.contains("would wait for itself"), "{text}");
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

/// Calls a test with pools whose workers may wait.
macro_rules! with_masters {
    ($workers:expr, $check:expr) => {
        for workers in $workers {
            $check(&pool_with(Channel::default(), workers));
            $check(&pool_with(Channel::default().forward(false), workers));
            $check(&pool_with(StrictChannel::default(), workers));
            $check(&pool_with(StrictChannel::default().forward(false), workers));
        }
    };
}

/// Spawns a binary tree of tasks, each of which counts itself.
fn spawn_tree<'scope, S: Scheduler>(
    scope: &'scope Scope<'scope, '_, S>,
    levels: u32,
    count: &'scope AtomicUsize,
) {
    scope.spawn(move |_| {
        count.fetch_add(1, Relaxed);
        if levels > 0 {
            spawn_tree(scope, levels - 1, count);
            spawn_tree(scope, levels - 1, count);
        }
    });
}

#[test]
fn a_master_waits_for_all_tasks_in_its_finish() {
    fn check<S: Scheduler>(pool: &Pool<S>) {
        for round in 0..60 {
            let count = AtomicUsize::new(0);
            pool.run(|mut w| {
                w.finish(|scope| {
                    for wait in 1..=3 {
                        spawn_tree(scope, round % 7, &count);
                        pool.wait();
                        assert_eq!(count.load(Relaxed), wait * ((2 << (round % 7)) - 1));
                    }
                });
            });
        }
    }
    with_masters!([1, 2, 5, 16], check);
}

#[test]
fn a_master_waits_for_jobs() {
    fn check<S: Scheduler>(pool: &Pool<S>) {
        for round in 0..60 {
            let count = Arc::new(AtomicUsize::new(0));
            let sum = pool.run(|mut w| {
                for _ in 0..round % 7 {
                    let count = count.clone();
                    pool.spawn(move |mut w| {
                        w.join(|_| busy(Duration::from_micros(20)), |_| ());
                        count.fetch_add(1, Relaxed);
                    });
                }
                pool.wait();
                assert_eq!(count.load(Relaxed), round % 7);
                // The worker goes on as before.
                w.map_reduce(0..100, |i| i, |a, b| a + b)
            });
            assert_eq!(sum, Some(4950));
        }
    }
    with_masters!([1, 2, 5, 16], check);
}

#[test]
fn several_masters_may_wait_at_once() {
    fn check<S: Scheduler>(pool: &Pool<S>) {
        thread::scope(|threads| {
            for _ in 0..4 {
                threads.spawn(|| {
                    for _ in 0..30 {
                        let count = AtomicUsize::new(0);
                        pool.run(|mut w| {
                            w.finish(|scope| {
                                spawn_tree(scope, 4, &count);
                                pool.wait();
                                assert_eq!(count.load(Relaxed), 31);
                                spawn_tree(scope, 3, &count);
                            });
                            assert_eq!(count.load(Relaxed), 46);
                            pool.wait();
                        });
                    }
                });
            }
            // A thread outside waits, too.
            for _ in 0..30 {
                let count = Arc::new(AtomicUsize::new(0));
                let in_job = count.clone();
                pool.spawn(move |_| {
                    in_job.fetch_add(1, Relaxed);
                });
                pool.wait();
                assert_eq!(count.load(Relaxed), 1);
            }
        });
    }
    with_masters!([1, 2, 5], check);
}

#[test]
fn a_master_runs_calls_while_it_waits() {
    fn check<S: Scheduler>(pool: &Pool<S>) {
        for _ in 0..10 {
            let (has_begun, is_done) = (
                Arc::new(AtomicBool::new(false)),
                Arc::new(AtomicBool::new(false)),
            );
            thread::scope(|threads| {
                threads.spawn(|| {
                    pool.run(|_| {
                        let (has_begun, is_done) = (has_begun.clone(), is_done.clone());
                        // This job keeps the other worker.
                        pool.spawn(move |_| {
                            has_begun.store(true, Relaxed);
                            let start = Instant::now();
                            while !is_done.load(Relaxed) {
                                assert!(start.elapsed() < Duration::from_secs(20));
                                thread::yield_now();
                            }
                        });
                        pool.wait();
                    });
                });
                while !has_begun.load(Relaxed) {
                    thread::yield_now();
                }
                pool.run(|mut w| {
                    assert_eq!(w.join(|_| 1, |_| 2), (1, 2));
                    is_done.store(true, Relaxed);
                    // On top of the other wait, or on the worker that has run the job.
                    pool.wait();
                });
            });
        }
    }
    with_masters!([2], check);
}

#[test]
fn the_panic_of_a_job_surfaces_at_the_wait_of_a_master() {
    fn check<S: Scheduler>(pool: &Pool<S>) {
        let result = pool.run(|_| {
            pool.spawn(|_| panic!("a job"));
            let result = catch_unwind(AssertUnwindSafe(|| pool.wait()));
            pool.wait();
            result
        });
        assert_eq!(message(result.unwrap_err()), "a job");
    }
    with_masters!([1, 3], check);
}

#[test]
fn tasks_and_jobs_cannot_wait_for_themselves() {
    fn fails<S: Scheduler>(pool: &Pool<S>) {
        let panic = catch_unwind(AssertUnwindSafe(|| pool.wait())).unwrap_err();
        let text = message(panic);
        assert!(text.contains("would wait for itself"), "{text}");
    }
    fn check<S: Scheduler>(pool: &Pool<S>) {
        pool.run(|mut w| {
            w.join(|_| fails(pool), |_| ());
            w.finish(|scope| scope.spawn(|_| fails(pool)));
            w.finish(|scope| {
                scope.spawn(|_| fails(pool));
                pool.wait();
            });
            w.finish(|scope| {
                scope.spawn(|_| ());
                pool.finish(|_| fails(pool));
            });
            w.future(|w| fails(w.pool())).get();
            drop(w.future(|w| fails(w.pool())));
            // The bodies of finishes in tasks.
            w.finish(|scope| scope.spawn(|mut w| w.finish(|_| fails(pool))));
            w.finish(|scope| scope.spawn(|_| pool.finish(|_| fails(pool))));
            w.finish(|scope| scope.spawn(|_| scope.join(|_| fails(pool), |_| fails(pool)).0));
            w.finish(|scope| {
                let future = |mut w: Token<'_, S>| w.finish(|_| fails(pool));
                let (future, ()) = scope.join(|_| scope.future(future), |_| ());
                future.get();
            });
            // Another task of the closure is pending.
            let future = w.future(|_| ());
            w.finish(|_| fails(pool));
            future.get();
            // A call from a worker belongs to the task that makes it.
            pool.run(|_| fails(pool));
            pool.wait();
        });
        let other = common::pool(1);
        thread::scope(|threads| {
            let wait = || pool.run(|_| other.run(|_| pool.run(|_| fails(pool))));
            threads.spawn(wait).join().unwrap();
        });
    }
    with_masters!([1, 3], check);
}

#[test]
fn a_master_may_have_futures() {
    fn check<S: Scheduler>(pool: &Pool<S>) {
        for _ in 0..100 {
            pool.run(|mut w| {
                let first = w.future(|_| 1);
                pool.wait();
                let (second, third) = (w.future(|_| 2), w.future(|mut w| w.join(|_| 3, |_| 4)));
                pool.wait();
                // The token knows the slots of the futures, which are gone.
                assert_eq!(w.join(|_| 5, |mut w| w.join(|_| 6, |_| 7)), (5, (6, 7)));
                let fourth = w.future(|_| 8);
                assert_eq!(third.get(), (3, 4));
                pool.wait();
                assert_eq!((first.get(), second.get(), fourth.get()), (1, 2, 8));
                w.for_each(0..100, |_| ());
            });
        }
    }
    with_masters!([1, 2, 5], check);
}

/// The task of the first master lies in the queue of its finish, so it runs on top of the wait like a
/// job. It yields to the call of the second thread.
#[test]
fn a_call_within_a_task_cannot_wait() {
    fn check<S: Scheduler>(pool: &Pool<S>) {
        for _ in 0..50 {
            let (has_begun, has_ended) = (AtomicBool::new(false), AtomicBool::new(false));
            let may_end = AtomicBool::new(false);
            thread::scope(|threads| {
                threads.spawn(|| {
                    pool.run(|mut w| {
                        w.finish(|scope| {
                            let task = |_: Token<'_, S>| {
                                has_begun.store(true, Relaxed);
                                while !may_end.load(Relaxed) {
                                    pool.yield_now();
                                }
                                has_ended.store(true, Relaxed);
                            };
                            scope.join(|_| scope.spawn(task), |_| ());
                            pool.wait();
                            assert!(has_ended.load(Relaxed));
                        });
                    });
                });
                while !has_begun.load(Relaxed) {
                    thread::yield_now();
                }
                pool.run(|_| {
                    // It fails if the task has yielded to it.
                    may_end.store(true, Relaxed);
                    if let Err(panic) = catch_unwind(AssertUnwindSafe(|| pool.wait())) {
                        assert!(message(panic).contains("would wait for itself"));
                    } else {
                        assert!(has_ended.load(Relaxed));
                    }
                });
            });
        }
    }
    with_masters!([1, 3], check);
}

/// A master may take back a task whose thief has not begun it.
#[test]
fn no_task_of_a_master_is_left_behind() {
    fn check<S: Scheduler>(pool: &Pool<S>) {
        for round in 0..200 {
            let count = Arc::new(AtomicUsize::new(0));
            pool.run(|mut w| {
                w.finish(|scope| {
                    for task in 0..round % 40 {
                        let count = count.clone();
                        scope.spawn(move |mut w| {
                            w.join(|_| busy(Duration::from_micros(task % 5)), |_| ());
                            let job = count.clone();
                            w.pool().spawn(move |_| {
                                job.fetch_add(1, Relaxed);
                            });
                            count.fetch_add(1, Relaxed);
                        });
                    }
                    pool.wait();
                    assert_eq!(count.load(Relaxed), 2 * (round % 40) as usize);
                });
            });
        }
    }
    with_masters!([1, 2, 3, 8], check);
}
