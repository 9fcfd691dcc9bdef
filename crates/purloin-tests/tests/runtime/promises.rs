//! Tests of the documentation's promises about joins and pools.

use std::sync::atomic::{AtomicBool, Ordering::*};
use std::sync::{Barrier, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use crate::common::{busy, eventually, fib, pool, rounds, workers};
use purloin::{Pool, ReturnBarrier, Serial, Worker};

/// Indices of the Fibonacci numbers that tests compute.
const SMALL: u32 = if cfg!(miri) { 9 } else { 22 };
const SMALLER: u32 = if cfg!(miri) { 7 } else { 15 };
/// Depth of a tree of joins with large closures.
const DEPTH: u32 = if cfg!(miri) { 4 } else { 10 };
/// Depth of a recursion that takes a lock at each level.
const LOCKS_DEEP: u32 = if cfg!(miri) { 5 } else { 60 };
/// Number of threads that call a pool at once.
const CALLERS: usize = if cfg!(miri) { 3 } else { 8 };
/// Number of pools that are made and dropped.
const POOLS: usize = if cfg!(miri) { 8 } else { 200 };

#[test]
fn joins_agree_with_the_serial_elision_on_any_number_of_workers() {
    let expected = fib(Serial, SMALL);
    for workers in workers([1, 2, 3, 7, 16]) {
        let pool = pool(workers);
        for _ in 0..rounds(20) {
            assert_eq!(pool.run(|w| fib(w, SMALL)), expected);
        }
    }
}

#[test]
#[cfg_attr(miri, ignore = "it needs a forced steal")]
fn a_task_is_stolen_while_the_first_closure_runs() {
    let pool = pool(2);
    // Each closure waits for the other, so they must run at the same time.
    let meet = Barrier::new(2);
    for _ in 0..200 {
        pool.run(|mut w| w.join(|_| meet.wait().is_leader(), |_| meet.wait().is_leader()));
    }
}

#[test]
#[cfg_attr(miri, ignore = "it needs a forced steal")]
fn three_workers_wake_one_another_for_private_tasks() {
    let pool = pool(3);
    for round in 0..20 {
        // In some rounds all workers sleep, in others they are awake.
        thread::sleep(Duration::from_millis(round % 4 * 2));
        let meet = Barrier::new(3);
        let wait = || meet.wait().is_leader();
        pool.run(|mut w| w.join(|mut w| w.join(|_| wait(), |_| wait()), |_| wait()));
    }
}

#[test]
#[cfg_attr(miri, ignore = "it needs a forced steal")]
fn a_worker_that_takes_work_from_outside_leaves_others_to_steal() {
    let pool = pool(3);
    for _ in 0..20 {
        let meet = Barrier::new(3);
        thread::scope(|threads| {
            threads.spawn(|| pool.run(|_| meet.wait().is_leader()));
            pool.run(|mut w| {
                let start = Instant::now();
                while start.elapsed() < Duration::from_micros(500) {
                    w.join(|_| (), |_| ());
                }
                w.join(|_| meet.wait().is_leader(), |_| meet.wait().is_leader());
            });
        });
    }
}

#[test]
fn run_may_be_called_from_several_threads_at_once() {
    let pool = pool(2);
    thread::scope(|threads| {
        for _ in 0..CALLERS {
            threads.spawn(|| {
                for _ in 0..rounds(50) {
                    assert_eq!(pool.run(|w| fib(w, 12)), 144);
                }
            });
        }
    });
}

#[test]
fn run_on_a_worker_of_the_same_pool_calls_its_closure_at_once() {
    let pool = pool(1);
    let deep = pool.run(|mut w| {
        let (a, b) = w.join(|_| pool.run(|w| fib(w, 10)), |w| fib(w, 11));
        a + b
    });
    assert_eq!(deep, 144);
}

#[test]
fn run_on_a_worker_of_another_pool_blocks_only_that_worker() {
    let (one, other) = (pool(2), pool(1));
    let result = one.run(|mut w| {
        let (a, b) = w.join(|_| other.run(|w| fib(w, SMALLER)), |w| fib(w, SMALLER));
        a + b
    });
    assert_eq!(result, 2 * fib(Serial, SMALLER));
}

#[test]
fn token_free_joins_use_the_worker_on_which_they_run() {
    fn free(n: u32) -> u64 {
        if n < 2 {
            return n.into();
        }
        let (a, b) = purloin::join(|| free(n - 1), || free(n - 2));
        a + b
    }
    let pool = pool(2);
    let threads = Mutex::new(std::collections::HashSet::new());
    let result = pool.run(|_| {
        purloin::join(
            || {
                threads
                    .lock()
                    .unwrap()
                    .insert(thread::current().name().map(String::from))
            },
            || free(SMALL),
        )
        .1
    });
    assert_eq!(result, fib(Serial, SMALL));
    let threads = threads.into_inner().unwrap();
    assert!(
        threads
            .iter()
            .all(|name| name.as_deref().is_some_and(|n| n.starts_with("purloin-")))
    );
    // Outside any pool they use the global pool. Its threads never end, which Miri reports as
    // a leak.
    if !cfg!(miri) {
        assert_eq!(free(15), 610);
    }
}

#[test]
fn token_and_token_free_joins_mix() {
    fn mixed<W: Worker>(mut w: W, n: u32) -> u64 {
        if n < 2 {
            return n.into();
        }
        let (a, b) = w.join(
            |w| {
                // The token-free join must not overwrite the task of the outer join.
                let (x, y) = purloin::join(|| 1, || 2);
                mixed(w, n - 1) + x + y - 3
            },
            |w| mixed(w, n - 2),
        );
        let (x, y) = purloin::join(|| a, || b);
        x + y
    }
    for workers in workers([1, 2, 5]) {
        let pool = pool(workers);
        for _ in 0..rounds(10) {
            assert_eq!(pool.run(|w| mixed(w, SMALLER)), fib(Serial, SMALLER));
        }
    }
}

#[test]
fn closures_and_results_may_be_of_any_size() {
    fn sum<W: Worker>(mut w: W, block: [u64; 64], depth: u32) -> ([u64; 100], u64) {
        if depth == 0 {
            return ([block[0]; 100], block.iter().sum());
        }
        let (a, b) = w.join(
            move |w| sum(w, block, depth - 1),
            move |w| sum(w, block, depth - 1),
        );
        (a.0, a.1 + b.1)
    }
    #[repr(align(256))]
    #[derive(Clone, Copy)]
    struct Aligned(u8);
    for workers in workers([1, 2, 3]) {
        let pool = pool(workers);
        let (array, total) = pool.run(|w| sum(w, [7; 64], DEPTH));
        assert_eq!((array[99], total), (7, (7 * 64) << DEPTH));
        let aligned = Aligned(3);
        let (a, b) = pool.run(|mut w| {
            w.join(
                move |_| (&raw const aligned).addr() % 256,
                move |_| ((&raw const aligned).addr() % 256, aligned.0),
            )
        });
        assert_eq!((a, b), (0, (0, 3)));
        // These closures and results have size zero.
        assert_eq!(pool.run(|mut w| w.join(|_| (), |_| ())), ((), ()));
    }
}

/// If values of this size pass through `catch_unwind`, LLVM takes more than a minute to compile this
/// test in a release build.
#[test]
fn large_arrays_may_move_into_tasks_and_out() {
    const LEN: usize = 100_000;
    let last = |mut array: [u8; LEN]| {
        array[0] += 1;
        array
    };
    let pool = Pool::builder().workers(2).stack_size(64 << 20).build();
    let pool = pool.unwrap();
    let sum = pool.run(move |mut w| {
        let (a, b, c, d) = ([1; LEN], [2; LEN], [3; LEN], [4; LEN]);
        let (a, b) = w.join(move |_| last(a), move |_| last(b));
        let future = w.future(move |_| last(c));
        let c = w.get(future);
        let d = w.finish(move |scope| {
            let future = scope.future(move |_| last(d));
            scope.spawn(move |_| assert_eq!(last(a)[0], 3));
            future
        });
        let d = w.get(d);
        [a, b, c, d].map(|array| u32::from(array[0]) + u32::from(array[LEN - 1]))
    });
    assert_eq!(sum, [3, 5, 7, 9]);
    let array = pool.run(move |_| last([5; LEN]));
    assert_eq!((array[0], array[1]), (6, 5));
}

#[test]
fn a_lock_may_be_held_across_a_join() {
    // A blocked worker that ran unrelated tasks would run a task of the other recursion, and so
    // lock a mutex that it already holds.
    let pool = pool(4);
    let locks: Vec<_> = (0..4).map(|_| Mutex::new(())).collect();
    fn work<W: Worker>(mut w: W, locks: &[Mutex<()>], at: usize, depth: u32) -> u64 {
        if depth == 0 {
            return 1;
        }
        let (a, b) = w.join(
            |mut w| {
                let _held = locks[at].lock().unwrap();
                let (a, b) = w.join(|w| fib(w, 8), |w| fib(w, 9));
                a + b
            },
            |w| work(w, locks, (at + 1) % locks.len(), depth - 1),
        );
        a + b
    }
    for _ in 0..rounds(100) {
        let total = pool.run(|mut w| {
            let (a, b) = w.join(
                |w| work(w, &locks, 0, LOCKS_DEEP),
                |w| work(w, &locks, 2, LOCKS_DEEP),
            );
            a + b
        });
        assert_eq!(total, 2 * (u64::from(LOCKS_DEEP) * 55 + 1));
    }
}

#[test]
#[cfg(target_os = "linux")]
#[cfg_attr(miri, ignore = "it needs a forced steal")]
fn an_idle_worker_steals_from_a_worker_that_does_not_answer() {
    // The other worker is busy when the join pushes its task, so no steal request is pending at
    // that time. The first closure is a leaf, which never answers a request.
    let pool = pool(2);
    let mut waits = Vec::new();
    for _ in 0..21 {
        let gate = Barrier::new(2);
        let idle = Mutex::new(None);
        let stolen = Mutex::new(None);
        thread::scope(|threads| {
            threads.spawn(|| {
                pool.run(|_| {
                    gate.wait();
                    busy(Duration::from_millis(2));
                    *idle.lock().unwrap() = Some(Instant::now());
                })
            });
            pool.run(|mut w| {
                gate.wait();
                // This join answers a request that may have been pending since this worker was last
                // active.
                w.join(|_| (), |_| ());
                w.join(
                    |_| {
                        eventually("the other worker forces a steal", || {
                            stolen.lock().unwrap().is_some()
                        });
                    },
                    |_| *stolen.lock().unwrap() = Some(Instant::now()),
                );
            });
        });
        let (idle, stolen) = (idle.into_inner().unwrap(), stolen.into_inner().unwrap());
        waits.push(stolen.unwrap() - idle.unwrap());
    }
    waits.sort();
    println!("median time from idle to stolen: {:?}", waits[10]);
    assert!(pool.stats().forced_steals > 0);
}

#[test]
fn without_forced_steals_a_worker_answers_at_its_next_join() {
    let pool = Pool::builder()
        .workers(2)
        .scheduler(ReturnBarrier::default().forced_steals(false))
        .build()
        .unwrap();
    for _ in 0..rounds(50) {
        let stolen = AtomicBool::new(false);
        pool.run(|mut w| {
            w.join(
                |mut w| {
                    busy(Duration::from_micros(100));
                    let start = Instant::now();
                    while !stolen.load(Relaxed) {
                        w.join(|_| (), |_| ());
                        assert!(start.elapsed() < Duration::from_secs(20));
                    }
                },
                |_| stolen.store(true, Relaxed),
            )
        });
        assert_eq!(pool.run(|w| fib(w, SMALLER)), fib(Serial, SMALLER));
    }
    assert_eq!(pool.stats().forced_steals, 0);
}

#[test]
#[cfg_attr(miri, ignore = "it takes minutes")]
fn a_million_joins_nest_in_a_stack_of_a_gigabyte() {
    fn deep<W: Worker>(mut w: W, n: u64) -> u64 {
        if n == 0 {
            return 0;
        }
        let (a, b) = w.join(move |w| deep(w, n - 1), move |_| n);
        a + b
    }
    for workers in [1, 2] {
        let pool = Pool::builder()
            .workers(workers)
            // Without optimisation, frames are several times as large.
            .stack_size(if cfg!(debug_assertions) {
                4 << 30
            } else {
                1 << 30
            })
            .build()
            .unwrap();
        assert_eq!(pool.run(|w| deep(w, 1_000_000)), 500_000_500_000);
    }
}

#[test]
fn pools_come_and_go() {
    for round in 0..POOLS {
        let pool = pool(round % 4 + 1);
        if round % 2 == 0 {
            assert_eq!(pool.run(|w| fib(w, 8)), 21);
        }
    }
}

#[test]
#[cfg_attr(miri, ignore = "the threads of the global pool never end")]
fn there_is_one_global_pool() {
    let one: *const Pool = purloin::global().unwrap();
    let two: *const Pool = purloin::global().unwrap();
    assert_eq!(one, two);
}
