//! Spare workers: the processor of a blocked worker goes on working.
//!
//! Without them most of these programs would not end: the task that a worker is
//! blocked on waits for one that nobody else is there to run.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::thread;
use std::time::Duration;

use purloin::{Builder, ChaseLev, DirectStack, Error, Pool, ReturnBarrier, Scheduler, Worker};

fn wait_for(flag: &AtomicBool) {
    while !flag.load(SeqCst) {
        thread::yield_now();
    }
}

/// A join whose second closure is stolen and then waits for what is called from
/// outside.
fn outside_beside_a_blocked_join<S: Scheduler>(pool: &Pool<S>) {
    let (stolen, called) = (AtomicBool::new(false), AtomicBool::new(false));
    thread::scope(|scope| {
        scope.spawn(|| {
            pool.run(|mut w| {
                w.join(
                    |_| wait_for(&stolen),
                    |_| {
                        stolen.store(true, SeqCst);
                        wait_for(&called);
                    },
                )
            })
        });
        wait_for(&stolen);
        pool.run(|_| called.store(true, SeqCst));
    });
}

fn two<S: Scheduler>(scheduler: S) -> Builder<S> {
    Pool::builder().workers(2).scheduler(scheduler)
}

#[test]
fn work_from_outside_runs_beside_a_blocked_join() {
    outside_beside_a_blocked_join(&two(ReturnBarrier::default()).build().unwrap());
    outside_beside_a_blocked_join(&two(<DirectStack>::default()).build().unwrap());
    outside_beside_a_blocked_join(&two(ChaseLev::default()).build().unwrap());
}

#[test]
fn a_spare_worker_is_started_once_and_counted() {
    let pool = two(ReturnBarrier::default()).build().unwrap();
    for _ in 0..20 {
        outside_beside_a_blocked_join(&pool);
    }
    let stats = pool.stats();
    assert_eq!(stats.spare_workers, 1, "{stats:?}");
    assert_eq!(stats.spare_failures, 0);
    assert!(stats.lendings >= 20, "{stats:?}");
    // Workers that have become idle in the meantime may have been faster.
    assert!(stats.spare_tasks >= 1, "{stats:?}");
}

#[test]
fn a_pool_without_them_waits() {
    let pool = two(ReturnBarrier::default()).spare_workers(0);
    let pool = pool.build().unwrap();
    let (stolen, ended, called) = (
        AtomicBool::new(false),
        AtomicBool::new(false),
        AtomicBool::new(false),
    );
    thread::scope(|scope| {
        scope.spawn(|| {
            pool.run(|mut w| {
                w.join(
                    |_| wait_for(&stolen),
                    |_| {
                        stolen.store(true, SeqCst);
                        thread::sleep(Duration::from_millis(50));
                        assert!(!called.load(SeqCst), "nobody is there to run it");
                        ended.store(true, SeqCst);
                    },
                )
            })
        });
        wait_for(&stolen);
        pool.run(|_| called.store(true, SeqCst));
        assert!(ended.load(SeqCst));
    });
    assert_eq!(pool.stats().spare_workers, 0);
}

/// One that waits for a future may not run its own older tasks, of which the future's
/// thief knows nothing.
#[test]
fn tasks_below_a_wait_for_a_future_are_run() {
    let pool = two(ReturnBarrier::default()).build().unwrap();
    for _ in 0..10 {
        static STOLEN: AtomicBool = AtomicBool::new(false);
        static RUN: AtomicBool = AtomicBool::new(false);
        STOLEN.store(false, SeqCst);
        RUN.store(false, SeqCst);
        pool.run(|mut w| {
            let future = w.future(|_| {
                STOLEN.store(true, SeqCst);
                wait_for(&RUN);
            });
            wait_for(&STOLEN);
            w.join(|mut w| w.get(future), |_| RUN.store(true, SeqCst));
        });
    }
}

/// A finish whose tasks were spawned where its owner is not: it waits for them
/// without anything to help with.
#[test]
fn work_from_outside_runs_beside_a_blocked_finish() {
    let pool = two(ReturnBarrier::default()).build().unwrap();
    let (begun, called) = (AtomicBool::new(false), AtomicBool::new(false));
    thread::scope(|scope| {
        let (pool, begun, called) = (&pool, &begun, &called);
        scope.spawn(move || {
            pool.run(|mut w| {
                w.finish(|finish| {
                    // In a frame of its own, so that it escapes.
                    w_escape(finish, begun, called);
                    wait_for(begun);
                })
            })
        });
        wait_for(begun);
        pool.run(|_| called.store(true, SeqCst));
    });

    fn w_escape<'s>(
        finish: &'s purloin::Scope<'s, '_, ReturnBarrier>,
        begun: &'s AtomicBool,
        called: &'s AtomicBool,
    ) {
        thread::scope(|scope| {
            scope.spawn(|| {
                finish.spawn(move |_| {
                    begun.store(true, SeqCst);
                    wait_for(called);
                })
            });
        });
    }
}

/// As many run as there are workers, and one more only where a worker has come back
/// before its substitute had ended.
#[test]
fn no_more_run_than_there_are_processors() {
    const WORKERS: usize = 3;
    let pool = Pool::builder().workers(WORKERS).build().unwrap();
    let (running, most) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let leaf = |time: u64| {
        most.fetch_max(running.fetch_add(1, SeqCst) + 1, SeqCst);
        thread::sleep(Duration::from_micros(time));
        running.fetch_sub(1, SeqCst);
    };
    thread::scope(|scope| {
        for caller in 0..4 {
            let (pool, leaf) = (&pool, &leaf);
            scope.spawn(move || {
                for round in 0..50 {
                    pool.run(|mut w| {
                        w.join(|_| leaf(100), |_| leaf(300 + 100 * ((round + caller) % 5)))
                    });
                }
            });
        }
    });
    let stats = pool.stats();
    let most = most.into_inner();
    assert!(most <= 2 * WORKERS, "{most} at once: {stats:?}");
    assert!(stats.spare_workers <= WORKERS as u64, "{stats:?}");
    // All is quiet, and each worker that has a processor sleeps: so nothing is left
    // of the lendings, and a call is served at once.
    assert_eq!(pool.run(|_| 1), 1);
}

#[test]
fn too_many_are_named() {
    let error = Pool::builder().spare_workers(5000).build().unwrap_err();
    assert!(matches!(error, Error::SpareWorkers(5000)));
    assert_eq!(
        error.to_string(),
        "spare_workers must be at most 4096, not 5000"
    );
}
