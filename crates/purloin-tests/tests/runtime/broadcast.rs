//! Functions that each worker runs once.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::*};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use crate::common::busy;
use purloin::{Pool, Worker};

fn wait_for(flag: &AtomicUsize, at_least: usize) {
    while flag.load(Acquire) < at_least {
        thread::yield_now();
    }
}

#[test]
fn each_worker_runs_it_once() {
    for workers in [1, 2, 5, 16] {
        let pool = Pool::builder().workers(workers).build().unwrap();
        for _ in 0..if cfg!(miri) { 1 } else { 100 } {
            let seen = pool.broadcast(|w| (w.index(), thread::current().id()));
            let indices: Vec<usize> = seen.iter().map(|seen| seen.0).collect();
            assert!(indices.iter().copied().eq(0..workers), "{indices:?}");
            let from_within =
                pool.run(|w| w.pool().broadcast(|w| (w.index(), thread::current().id())));
            assert_eq!(seen, from_within);
        }
    }
}

/// Calls `block` on a pool of two workers. It blocks one of them until the other has counted up to
/// one, which only a broadcast does on the blocked worker.
fn reaches_a_blocked_worker(block: impl FnOnce(&Pool, &AtomicUsize, &AtomicUsize) + Send) {
    let pool = Pool::builder().workers(2).spare_workers(0).build().unwrap();
    let (is_blocked, count) = (AtomicUsize::new(0), AtomicUsize::new(0));
    thread::scope(|scope| {
        scope.spawn(|| block(&pool, &is_blocked, &count));
        wait_for(&is_blocked, 1);
        // The worker falls asleep meanwhile.
        thread::sleep(Duration::from_millis(5));
        let ran = pool.broadcast(|w| {
            count.fetch_add(1, Release);
            // The broadcast may use the pool.
            w.pool().run(|mut w| w.join(|_| 1, |_| 2)).1
        });
        assert_eq!(ran, [2, 2]);
    });
}

#[test]
fn a_worker_that_is_blocked_in_a_join_runs_it() {
    reaches_a_blocked_worker(|pool, is_blocked, count| {
        pool.run(|mut w| {
            w.join(
                |_| wait_for(is_blocked, 1),
                |_| {
                    is_blocked.store(1, Release);
                    wait_for(count, 1);
                },
            );
        });
    });
}

#[test]
fn a_worker_that_is_blocked_in_a_finish_runs_it() {
    reaches_a_blocked_worker(|pool, is_blocked, count| {
        pool.run(|mut w| {
            w.finish(|scope| {
                // From the queue: a spawn in the first closure of a join.
                scope.join(
                    |_| {
                        scope.spawn(|_| {
                            is_blocked.store(1, Release);
                            wait_for(count, 1);
                        });
                        wait_for(is_blocked, 1);
                    },
                    |_| (),
                );
            });
        });
    });
}

#[test]
fn a_worker_that_is_blocked_in_a_future_runs_it() {
    reaches_a_blocked_worker(|pool, is_blocked, count| {
        pool.run(|mut w| {
            let got = w.finish(|scope| {
                let handle = scope.future(|_| {
                    is_blocked.store(1, Release);
                    wait_for(count, 1);
                    6
                });
                wait_for(is_blocked, 1);
                handle.get()
            });
            assert_eq!(got, 6);
        });
    });
}

#[test]
fn a_worker_that_waits_for_another_pool_runs_it() {
    let other = Pool::builder().workers(1).build().unwrap();
    reaches_a_blocked_worker(|pool, is_blocked, count| {
        pool.run(|_| {
            other.run(|_| {
                is_blocked.store(1, Release);
                wait_for(count, 2);
            });
        });
    });
}

#[test]
fn broadcasts_may_nest_and_cross() {
    let pools = [(); 2].map(|()| Pool::builder().workers(3).build().unwrap());
    let [a, b] = &pools;
    let count = AtomicUsize::new(0);
    thread::scope(|scope| {
        for (from, to) in [(a, b), (b, a), (a, a), (b, b)] {
            let count = &count;
            scope.spawn(move || {
                for _ in 0..20 {
                    from.broadcast(|_| to.broadcast(|_| _ = count.fetch_add(1, Relaxed)));
                }
            });
        }
    });
    assert_eq!(count.into_inner(), 4 * 20 * 9);
}

#[test]
fn a_panic_reaches_the_caller_after_all_have_ended() {
    let pool = Pool::builder().workers(3).build().unwrap();
    let ended = AtomicUsize::new(0);
    let result = catch_unwind(AssertUnwindSafe(|| {
        pool.broadcast(|w| {
            busy(Duration::from_micros(100));
            ended.fetch_add(1, Relaxed);
            assert!(w.index() != 1, "on worker 1");
            Box::new(7)
        });
    }));
    assert_eq!(
        *result.unwrap_err().downcast::<&str>().unwrap(),
        "on worker 1"
    );
    assert_eq!(ended.into_inner(), 3);
}

#[test]
fn workers_that_have_moved_to_the_reserve_run_it() {
    let pool = Pool::builder().workers(2).spare_workers(4).build().unwrap();
    for _ in 0..50 {
        // Blocked workers hand off their processors, and resume.
        pool.run(|mut w| {
            w.finish(|scope| {
                for _ in 0..4 {
                    scope.spawn(|mut w| {
                        let slow = |_: purloin::Token<'_>| busy(Duration::from_micros(100));
                        w.join(|_| (), slow);
                    });
                }
            });
            purloin::blocking(|| thread::sleep(Duration::from_micros(200)));
        });
        assert_eq!(pool.broadcast(|w| w.index()), [0, 1]);
    }
}

#[test]
fn what_a_dropped_pool_was_to_broadcast_runs() {
    for ends_alone in [false, true] {
        let seen = Arc::new(Mutex::new(Vec::new()));
        let done = Arc::new(AtomicBool::new(false));
        let pool = Pool::builder()
            .workers(4)
            .ends_alone(ends_alone)
            .build()
            .unwrap();
        let of_job = (Arc::clone(&seen), Arc::clone(&done));
        pool.spawn(move |w| {
            busy(Duration::from_millis(2));
            // The pool is being dropped by now.
            w.pool().spawn_broadcast(move |w| {
                of_job.0.lock().unwrap().push(w.index());
                if of_job.0.lock().unwrap().len() == 4 {
                    of_job.1.store(true, Release);
                }
            });
        });
        drop(pool);
        while !done.load(Acquire) {
            assert!(ends_alone, "the pool did not wait");
            thread::yield_now();
        }
        let mut seen = seen.lock().unwrap().clone();
        seen.sort();
        assert_eq!(seen, [0, 1, 2, 3]);
    }
}

#[test]
fn panics_of_a_broadcast_without_a_caller_reach_the_handler_or_the_next_wait() {
    let pool = Pool::builder().workers(2).build().unwrap();
    pool.spawn_broadcast(|_| panic!("nobody waits"));
    let result = catch_unwind(AssertUnwindSafe(|| pool.wait()));
    assert_eq!(
        *result.unwrap_err().downcast::<&str>().unwrap(),
        "nobody waits"
    );
    let caught = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&caught);
    let pool = Pool::builder()
        .workers(2)
        .panic_handler(move |_| _ = count.fetch_add(1, Relaxed));
    let pool = pool.build().unwrap();
    pool.spawn_broadcast(|_| panic!("nobody waits"));
    pool.wait();
    assert_eq!(caught.load(Relaxed), 2);
}

#[test]
fn a_scope_waits_for_its_broadcasts() {
    let pool = Pool::builder().workers(3).build().unwrap();
    let in_body = |nested: bool| {
        let count = AtomicUsize::new(0);
        pool.finish(|scope| {
            scope.spawn_broadcast(|w| {
                busy(Duration::from_micros(100));
                count.fetch_add(1, Relaxed);
                if nested {
                    let count = &count;
                    scope.spawn(move |_| _ = count.fetch_add(100, Relaxed));
                }
                assert!(w.workers() == 3);
            });
        });
        count.into_inner()
    };
    assert_eq!(in_body(false), 3);
    assert_eq!(in_body(true), 303);
    assert_eq!(pool.run(|_| in_body(true)), 303);
    let result = catch_unwind(AssertUnwindSafe(|| {
        pool.finish(|scope| scope.spawn_broadcast(|_| panic!("in a broadcast")));
    }));
    assert_eq!(
        *result.unwrap_err().downcast::<&str>().unwrap(),
        "in a broadcast"
    );
}
