//! Promises that only the channel scheduler makes.

use std::sync::atomic::{AtomicUsize, Ordering::*};
use std::thread;
use std::time::{Duration, Instant};

use crate::common::{add, busy, pool_with};
use purloin::{Pool, Scheduler, Worker};
use purloin_schedulers::{Channel, Stealing};

fn pool(workers: usize, stealing: Stealing) -> Pool<Channel> {
    pool_with(Channel::default().steal(stealing), workers)
}

/// Runs until there are 1,000 steals. Returns the number of steals, and the number of stolen tasks
/// that came together with another task.
fn produce(stealing: Stealing) -> (u64, u64) {
    let pool = pool(2, stealing);
    let start = Instant::now();
    // On a busy machine the thief gets few tasks in one run.
    while pool.stats().steals < 1000 {
        assert!(start.elapsed() < Duration::from_secs(60));
        pool.run(|mut w| {
            w.finish(|scope| {
                for _ in 0..1000 {
                    scope.spawn(|_| busy(Duration::from_micros(20)));
                }
            });
        });
    }
    let stats = pool.stats();
    (stats.steals, stats.free_steals)
}

#[test]
fn a_thief_that_steals_one_task_gets_one() {
    let (_, free) = produce(Stealing::One);
    assert_eq!(free, 0);
}

#[test]
fn a_thief_that_steals_half_gets_several_tasks() {
    let (steals, free) = produce(Stealing::Half);
    assert!(free > steals / 2, "{free} of {steals}");
}

/// The thief learns that all tasks are leaves.
#[test]
fn an_adaptive_thief_learns_to_steal_half() {
    let (steals, free) = produce(Stealing::Adaptive);
    assert!(free > steals / 4, "{free} of {steals}");
}

/// The thief gets half of many tasks and is slow; its victim soon finishes the other half.
#[test]
fn the_owner_takes_back_tasks_that_a_thief_has_not_begun() {
    let pool = pool(2, Stealing::Half);
    for _ in 0..20 {
        let (slow, start) = (AtomicUsize::new(0), Instant::now());
        pool.run(|mut w| {
            w.finish(|scope| {
                for _ in 0..200 {
                    scope.spawn(|_| {
                        // The first task takes long if a thief runs it.
                        if add_one(&slow) == 0 && thread::current().name() != Some("purloin-0") {
                            busy(Duration::from_millis(20));
                        }
                        busy(Duration::from_micros(20));
                    });
                }
            });
        });
        assert!(start.elapsed() < Duration::from_secs(5));
    }
}

fn add_one(count: &AtomicUsize) -> usize {
    count.fetch_add(1, Relaxed)
}

/// Sleeps as a leaf, so that other threads can use its core on a machine with few cores.
fn rest() {
    thread::sleep(Duration::from_micros(50));
}

/// A request that all workers have passed on waits at the manager, until a worker tells it that the thief
/// is about to get tasks. The tasks are leaves, so the thief asks for the next one in time.
#[test]
fn messages_are_counted_by_their_kinds() {
    let pool = pool_with(Channel::default(), 4);
    let start = Instant::now();
    loop {
        pool.run(|mut w| {
            w.finish(|scope| {
                for _ in 0..100 {
                    scope.spawn(|_| busy(Duration::from_micros(20)));
                }
            });
        });
        thread::sleep(Duration::from_millis(1));
        let stats = pool.stats();
        let kinds = [
            stats.forwards,
            stats.idle_registrations,
            stats.updates,
            stats.early_requests,
            stats.control_messages,
        ];
        if kinds.into_iter().all(|count| count > 0) {
            assert!(stats.early_requests < stats.steal_attempts);
            return;
        }
        assert!(start.elapsed() < Duration::from_secs(60), "{stats:?}");
    }
}

/// The idle workers sleep, and their steal requests wait at worker 0.
#[test]
fn any_worker_that_runs_a_call_from_outside_gets_thieves() {
    let pool = pool(4, Stealing::Adaptive);
    for round in 0..40 {
        if round % 4 == 0 {
            thread::sleep(Duration::from_millis(5));
        }
        let helped = AtomicUsize::new(0);
        pool.run(|mut w| {
            let own = thread::current().id();
            let start = Instant::now();
            while helped.load(Relaxed) == 0 {
                assert!(start.elapsed() < Duration::from_secs(20));
                w.finish(|scope| {
                    for _ in 0..20 {
                        scope.spawn(|_| {
                            add(&helped, usize::from(thread::current().id() != own));
                            rest();
                        });
                    }
                });
            }
        });
    }
}

/// A thief gets half of the tasks, and the first of them keeps it busy for a long time.
#[test]
#[cfg_attr(purloin_untimed, ignore = "thieves need timers")]
fn others_may_steal_the_tasks_that_a_busy_thief_has_not_begun() {
    const LEAF: Duration = Duration::from_millis(500);
    const SHORT_TASKS: usize = 200;
    let pool = pool(6, Stealing::Half);
    // Not in every round: a request may wait with the worker that runs the long leaf.
    let ends_early = |_: &i32| {
        let (done, late) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let start = Instant::now();
        pool.run(|mut w| {
            w.finish(|scope| {
                for _ in 0..5 {
                    scope.spawn(|_| thread::sleep(Duration::from_millis(1)));
                }
                // The long leaf. It ends early if the other workers have done everything.
                scope.spawn(|_| {
                    while start.elapsed() < LEAF && done.load(Relaxed) < SHORT_TASKS {
                        thread::sleep(Duration::from_millis(1));
                    }
                });
                for _ in 0..SHORT_TASKS {
                    // 200 ms on five workers, but 1 s on one.
                    scope.spawn(|_| {
                        thread::sleep(Duration::from_millis(5));
                        add(&done, 1);
                        add(&late, usize::from(start.elapsed() > LEAF));
                    });
                }
            });
        });
        late.into_inner() == 0
    };
    let rounds = (0..10).filter(ends_early).count();
    assert!(
        rounds >= 3,
        "tasks waited for the long leaf to end in all rounds but {rounds}"
    );
}

/// Jobs that come while the workers sleep and search, and waits for all of them.
fn runs_all_jobs_and_falls_asleep<S: Scheduler + Clone>(scheduler: S) {
    for workers in [1, 2, 3, 8] {
        let pool = pool_with(scheduler.clone(), workers);
        let done = std::sync::Arc::new(AtomicUsize::new(0));
        for round in 1..=30 {
            for _ in 0..20 {
                let done = std::sync::Arc::clone(&done);
                pool.spawn(move |mut w| {
                    w.join(|_| busy(Duration::from_micros(10)), |_| ());
                    done.fetch_add(1, Relaxed);
                });
            }
            pool.wait();
            assert_eq!(done.load(Relaxed), 20 * round);
            if round % 10 == 0 {
                // Until all workers sleep.
                thread::sleep(Duration::from_millis(20));
            }
        }
        let sum = pool.run(|mut w| w.map_reduce(0..20_000_u64, |n| n, |a, b| a + b));
        assert_eq!(sum, Some(199_990_000));
    }
}

#[test]
fn a_pool_whose_workers_refuse_requests_runs_all_jobs_and_falls_asleep() {
    runs_all_jobs_and_falls_asleep(Channel::default().forward(false));
}
