//! What the channel scheduler promises beyond the others.
#![allow(missing_docs)]

mod common;

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::*};
use std::thread;
use std::time::{Duration, Instant};

use common::{add, busy, eventually};
use purloin::{Pool, Worker};
use purloin_schedulers::{Channel, Stealing};

fn pool(workers: usize, stealing: Stealing) -> Pool<Channel> {
    let scheduler = Channel::default().steal(stealing);
    let builder = Pool::builder().workers(workers);
    builder.scheduler(scheduler).build().unwrap()
}

/// Steals, and how many of these were of tasks that came with another.
fn produce(stealing: Stealing) -> (u64, u64) {
    let pool = pool(2, stealing);
    let start = Instant::now();
    // On a busy machine the thief gets little.
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
fn a_thief_of_one_gets_one() {
    let (_, free) = produce(Stealing::One);
    assert_eq!(free, 0);
}

#[test]
fn a_thief_of_half_gets_many() {
    let (steals, free) = produce(Stealing::Half);
    assert!(free > steals / 2, "{free} of {steals}");
}

/// It finds out that all are leaves.
#[test]
fn an_adaptive_thief_comes_to_take_half() {
    let (steals, free) = produce(Stealing::Adaptive);
    assert!(free > steals / 4, "{free} of {steals}");
}

/// Half of many, and then its victim is done with the rest.
#[test]
fn tasks_that_a_thief_has_not_begun_are_taken_back() {
    let pool = pool(2, Stealing::Half);
    for _ in 0..20 {
        let (slow, start) = (AtomicUsize::new(0), Instant::now());
        pool.run(|mut w| {
            w.finish(|scope| {
                for _ in 0..200 {
                    scope.spawn(|_| {
                        // The first that is stolen takes long.
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

/// A leaf that leaves its core to others, of which there may be few.
fn rest() {
    thread::sleep(Duration::from_micros(50));
}

/// Requests rest with a worker in a long leaf; and then another has tasks.
#[test]
fn a_thief_does_not_wait_for_a_victim_that_does_not_answer() {
    let pool = pool(3, Stealing::One);
    for _ in 0..5 {
        let (is_over, runs) = (AtomicBool::new(false), AtomicUsize::new(0));
        let elsewhere = AtomicUsize::new(0);
        thread::scope(|threads| {
            threads.spawn(|| {
                pool.run(|_| {
                    eventually("the tasks of another", || is_over.load(Acquire));
                });
            });
            threads.spawn(|| {
                pool.run(|mut w| {
                    thread::sleep(Duration::from_millis(20));
                    let own = thread::current().id();
                    // Until the third worker has come by.
                    let start = Instant::now();
                    while elsewhere.load(Relaxed) == 0 {
                        assert!(start.elapsed() < Duration::from_secs(20));
                        w.finish(|scope| {
                            for _ in 0..20 {
                                scope.spawn(|_| {
                                    add(&runs, 1);
                                    let is_own = thread::current().id() == own;
                                    add(&elsewhere, usize::from(!is_own));
                                    rest();
                                });
                            }
                        });
                    }
                    is_over.store(true, Release);
                });
            });
        });
        assert_eq!(runs.load(Relaxed) % 20, 0);
    }
}

/// All others sleep, and what they left is with worker 0.
#[test]
fn a_job_from_outside_is_shared_whoever_takes_it() {
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

/// A thief has half of what there was in its hand, and then it is busy.
#[test]
fn what_a_busy_thief_has_not_begun_is_for_others() {
    const LEAF: Duration = Duration::from_millis(500);
    let pool = pool(6, Stealing::Half);
    for _ in 0..3 {
        let (start, left) = (Instant::now(), AtomicUsize::new(0));
        pool.run(|mut w| {
            w.finish(|scope| {
                for _ in 0..5 {
                    scope.spawn(|_| thread::sleep(Duration::from_millis(1)));
                }
                scope.spawn(|_| thread::sleep(LEAF));
                for _ in 0..200 {
                    // On five workers 200 ms in all; on one it would be a second.
                    scope.spawn(|_| {
                        thread::sleep(Duration::from_millis(5));
                        add(&left, usize::from(start.elapsed() > LEAF));
                    });
                }
            });
        });
        assert_eq!(left.load(Relaxed), 0, "still to do after the leaf");
    }
}
