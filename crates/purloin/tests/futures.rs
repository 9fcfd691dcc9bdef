//! What the documentation promises of futures, each as a test.
#![allow(missing_docs)]

mod common;

use std::panic::{AssertUnwindSafe, catch_unwind, panic_any};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::*};
use std::thread;
use std::time::Duration;

use common::{add, busy, eventually, eventually_stolen, pool, rounds};
use purloin::{Handle, Pool, ReturnBarrier, Scheduler, Serial, Worker};
use purloin_analysis::Counted;
use purloin_schedulers::{Channel, ChaseLev, DirectStack, OneField, TwoFields};

/// The sizes of recursions.
const FIB: (u32, u64) = if cfg!(miri) { (7, 13) } else { (16, 987) };
const DEPTH: usize = if cfg!(miri) { 1 } else { 4 };
const LOCKS_DEEP: u32 = if cfg!(miri) { 5 } else { 50 };
/// How many futures wait for one another.
const CHAIN: usize = if cfg!(miri) { 6 } else { 100 };
const PANICS: i32 = if cfg!(miri) { 3 } else { 50 };
/// How often two futures are made and got.
const PAIRS: u64 = if cfg!(miri) { 9 } else { 300_000 };
const WORDS: usize = if cfg!(miri) { 10 } else { 40 };

/// Runs a test under each scheduler, on one worker and on several.
macro_rules! under_each_scheduler {
    ($($test:ident),* $(,)?) => {
        $(
            #[test]
            fn $test() {
                for workers in common::workers([1, 2, 5]) {
                    let pool = || Pool::builder().workers(workers);
                    $test::check(pool().scheduler(ReturnBarrier::default()).build().unwrap());
                    $test::check(pool().scheduler(DirectStack::<OneField>::new()).build().unwrap());
                    $test::check(pool().scheduler(DirectStack::<TwoFields>::new()).build().unwrap());
                    if common::MAY_HAVE_CHASE_LEV {
                        $test::check(pool().scheduler(ChaseLev::default()).build().unwrap());
                    }
                    $test::check(pool().scheduler(Channel::default()).build().unwrap());
                }
            }
        )*
    };
}

under_each_scheduler!(
    a_future_has_the_result_of_its_task,
    futures_may_be_got_in_any_order,
    a_future_may_be_got_by_another_task,
    futures_that_nobody_gets_end_before_their_scope,
    a_panic_surfaces_where_the_future_is_got,
    the_stack_does_not_grow_with_futures_that_are_got,
    a_scope_s_futures_borrow_from_outside,
    results_are_dropped_once,
    closures_and_results_may_be_of_any_size,
    a_panic_of_a_future_that_nobody_gets_surfaces,
);

mod a_future_has_the_result_of_its_task {
    use super::*;

    fn fib<W: Worker>(mut w: W, n: u32) -> u64 {
        if n < 2 {
            return n.into();
        }
        let a = w.future(move |w| fib(w, n - 1));
        let b = w.lend(|w| fib(w, n - 2));
        w.get(a) + b
    }

    pub fn check(pool: Pool<impl Scheduler>) {
        for _ in 0..rounds(20) {
            assert_eq!(pool.run(|w| fib(w, FIB.0)), FIB.1);
        }
        assert_eq!(fib(Serial, FIB.0), FIB.1);
    }
}

mod futures_may_be_got_in_any_order {
    use super::*;

    fn all<W: Worker>(mut w: W, depth: usize) -> usize {
        if depth == 0 {
            return 1;
        }
        let mut futures: Vec<_> = (0..4)
            .map(|i| (i, w.future(move |w| all(w, depth - 1) + i)))
            .collect();
        // In between, joins whose slots lie above the tickets.
        let (a, b) = w.join(|w| all(w, depth - 1), |w| all(w, depth - 1));
        futures.rotate_left(depth % 4);
        if depth.is_multiple_of(2) {
            futures.reverse();
        }
        let mut sum = a + b;
        for (i, future) in futures {
            let result = match i {
                0 => future.get(),
                1 => w.join(|mut w| w.get(future), |_| ()).0,
                2 => w.join(|_| (), |mut w| w.get(future)).1,
                _ => w.get(future),
            };
            sum += result - i;
        }
        sum
    }

    pub fn check(pool: Pool<impl Scheduler>) {
        for _ in 0..rounds(5) {
            assert_eq!(pool.run(|w| all(w, DEPTH)), 6_usize.pow(DEPTH as u32));
        }
    }
}

mod a_future_may_be_got_by_another_task {
    use super::*;

    /// Each waits for the one before.
    pub fn check(pool: Pool<impl Scheduler>) {
        for _ in 0..rounds(50) {
            let last = pool.run(|mut w| {
                let mut last = w.future(|_| 0);
                for i in 1..CHAIN {
                    last = w.future(move |mut w| w.get(last) + i);
                }
                w.get(last)
            });
            assert_eq!(last, (CHAIN - 1) * CHAIN / 2);
        }
    }
}

mod futures_that_nobody_gets_end_before_their_scope {
    use super::*;

    pub fn check(pool: Pool<impl Scheduler>) {
        let ended = Arc::new(AtomicUsize::new(0));
        for i in 1..=rounds(20) {
            pool.run(|mut w| {
                for _ in 0..10 {
                    let ended = Arc::clone(&ended);
                    drop(w.future(move |mut w| {
                        let inner = Arc::clone(&ended);
                        drop(w.future(move |_| add(&inner, 1)));
                        busy(Duration::from_micros(20));
                        add(&ended, 1);
                    }));
                }
                let before = ended.load(Relaxed);
                w.join(
                    |mut w| {
                        let ended = Arc::clone(&ended);
                        drop(w.future(move |_| add(&ended, 1)));
                    },
                    |_| (),
                );
                // The scope of that was the join.
                assert!(ended.load(Acquire) > before);
            });
            assert_eq!(ended.load(Acquire), 21 * i);
        }
        // Whether or not the scope panics.
        let result = catch_unwind(AssertUnwindSafe(|| {
            pool.run(|mut w| {
                for _ in 0..10 {
                    let ended = Arc::clone(&ended);
                    drop(w.future(move |_| add(&ended, 1)));
                }
                panic_any(1);
            })
        }));
        assert_eq!(result.unwrap_err().downcast_ref(), Some(&1));
        assert_eq!(ended.load(Acquire), 21 * rounds(20) + 10);
    }
}

mod a_panic_surfaces_where_the_future_is_got {
    use super::*;

    pub fn check(pool: Pool<impl Scheduler>) {
        for i in 0..PANICS {
            pool.run(|mut w| {
                let future = w.future(move |_| panic_any(i));
                let other = w.future(|_| 5);
                let result = catch_unwind(AssertUnwindSafe(|| match i % 3 {
                    0 => w.get(future),
                    1 => future.get(),
                    _ => w.join(|_| (), |mut w| w.get(future)).1,
                }));
                assert_eq!(result.unwrap_err().downcast_ref(), Some(&i));
                assert_eq!(w.get(other), 5);
            });
        }
    }
}

mod the_stack_does_not_grow_with_futures_that_are_got {
    use super::*;

    pub fn check(pool: Pool<impl Scheduler>) {
        let sum = pool.run(|mut w| {
            (0..PAIRS).fold(0, |sum, i| {
                let (a, b) = (w.future(move |_| i), w.future(|_| 1));
                // In the order that leaves tickets behind, or by no token.
                sum + match i % 3 {
                    0 => w.get(a) + w.get(b),
                    1 => a.get() + w.get(b),
                    _ => b.get() + a.get(),
                }
            })
        });
        assert_eq!(sum, PAIRS * (PAIRS - 1) / 2 + PAIRS);
    }
}

mod a_scope_s_futures_borrow_from_outside {
    use super::*;

    pub fn check(pool: Pool<impl Scheduler>) {
        for _ in 0..rounds(50) {
            let words: Vec<_> = (0..WORDS).map(|i| "x".repeat(i)).collect();
            let lengths = pool.run(|mut w| {
                w.finish(|scope| {
                    let futures: Vec<_> = words
                        .iter()
                        .map(|word| scope.future(move |_| word.len()))
                        .collect();
                    // Some go to the queue, as another frame is innermost.
                    let (escaped, ()) = scope.join(|_| scope.future(|_| words[7].len()), |_| ());
                    let sum: usize = futures.into_iter().map(Handle::get).sum();
                    sum + escaped.get()
                })
            });
            assert_eq!(lengths, (WORDS - 1) * WORDS / 2 + 7);
        }
    }
}

mod results_are_dropped_once {
    use super::*;

    struct Counts(Arc<AtomicUsize>);

    impl Drop for Counts {
        fn drop(&mut self) {
            self.0.fetch_add(1, AcqRel);
        }
    }

    pub fn check(pool: Pool<impl Scheduler>) {
        let drops = Arc::new(AtomicUsize::new(0));
        for round in 1..=rounds(50) {
            let kept = pool.run(|mut w| {
                let new = || Counts(Arc::clone(&drops));
                let futures: Vec<_> = (0..10)
                    .map(|i| {
                        let (captured, result) = (new(), new());
                        w.future(move |_| {
                            let _captured = captured;
                            busy(Duration::from_micros(i));
                            result
                        })
                    })
                    .collect();
                let mut futures = futures.into_iter();
                // Got, dropped, and kept beyond the run.
                for future in futures.by_ref().take(3) {
                    drop(w.get(future));
                }
                drop(futures.by_ref().take(3).collect::<Vec<_>>());
                futures.collect::<Vec<_>>()
            });
            assert!(kept.iter().all(Handle::is_done));
            for future in kept {
                drop(future.get());
            }
            assert_eq!(drops.load(Acquire), 20 * round);
        }
    }
}

mod closures_and_results_may_be_of_any_size {
    use super::*;

    #[repr(align(128))]
    #[derive(Clone, Copy, PartialEq, Debug)]
    struct Aligned(u8);

    pub fn check(pool: Pool<impl Scheduler>) {
        for _ in 0..rounds(50) {
            pool.run(|mut w| {
                let large = [7_u64; 1000];
                let a = w.future(move |_| large);
                let b = w.future(|_| ());
                let c = w.future(|_| Aligned(3));
                let d = w.future(|_| [1_u8; 300]);
                assert_eq!(w.get(d), [1; 300]);
                assert_eq!(w.get(c), Aligned(3));
                w.get(b);
                assert_eq!(w.get(a), large);
            });
        }
    }
}

#[test]
fn a_thread_that_is_no_worker_waits_for_a_future() {
    let pool = pool(2);
    let (sender, receiver) = std::sync::mpsc::channel();
    let waits = Arc::new(AtomicBool::new(false));
    let waiting = Arc::clone(&waits);
    let outside = thread::spawn(move || {
        let future: Handle<u32> = receiver.recv().unwrap();
        assert!(!future.is_done());
        waiting.store(true, Release);
        future.get()
    });
    pool.run(|mut w| {
        let future = w.future(move |_| {
            eventually("the other to wait", || waits.load(Acquire));
            busy(Duration::from_millis(5));
            6
        });
        sender.send(future).unwrap();
    });
    assert_eq!(outside.join().unwrap(), 6);
}

#[test]
fn a_worker_of_another_pool_waits_for_a_future() {
    let (one, other) = (pool(1), pool(1));
    let sum = one.run(|mut w| {
        let six = w.future(|_| 6);
        // Nobody but the worker that waits here could run it.
        let seven = other.run(|_| 7);
        w.get(six) + other.run(move |mut w| w.get(purloin::implement::ready(move || seven)))
    });
    assert_eq!(sum, 13);
    let late = one.run(|mut w| w.future(|_| 8));
    drop(one);
    assert_eq!(other.run(|mut w| w.get(late)), 8);
}

/// A blocked worker leapfrogs in a `get` as in a join: the lock that it holds
/// is safe.
#[test]
fn a_lock_may_be_held_across_a_get() {
    let pool = pool(4);
    let lock = Arc::new(std::sync::Mutex::new(0));
    fn work<W: Worker>(mut w: W, depth: u32, lock: &Arc<std::sync::Mutex<u32>>) {
        if depth == 0 {
            return busy(Duration::from_micros(5));
        }
        let inner = Arc::clone(lock);
        // It does not take the lock; its siblings do.
        let future = w.future(move |mut w| {
            w.join(|_| busy(Duration::from_micros(20)), |_| ());
            drop(inner);
        });
        w.join(
            |mut w| {
                let mut held = lock.lock().unwrap();
                w.get(future);
                *held += 1;
            },
            |w| work(w, depth - 1, lock),
        );
    }
    for _ in 0..rounds(50) {
        pool.run(|w| work(w, LOCKS_DEEP, &lock));
    }
    assert_eq!(*lock.lock().unwrap(), LOCKS_DEEP * rounds(50) as u32);
}

#[test]
fn a_worker_sleeps_until_the_future_is_done() {
    let pool = pool(2);
    for _ in 0..rounds(20) {
        let stolen = Arc::new(AtomicBool::new(false));
        let is_stolen = Arc::clone(&stolen);
        pool.run(|mut w| {
            let future = w.future(move |_| {
                is_stolen.store(true, Release);
                // Longer than any spinning.
                thread::sleep(Duration::from_millis(5));
                3
            });
            w.lend(|w| eventually_stolen(w, || stolen.load(Acquire)));
            // The ticket is not at the top.
            let other = w.future(|_| 4);
            assert_eq!(w.get(future), 3);
            assert_eq!(w.get(other), 4);
        });
    }
}

#[test]
fn futures_count_as_tasks() {
    let tasks = std::sync::atomic::AtomicU64::new(0);
    let sum = Counted::new(Serial, &tasks).lend(|mut w| {
        let six = w.future(|_| 6);
        w.finish(|scope| scope.future(|_| 7).get()) + w.get(six)
    });
    assert_eq!((sum, tasks.into_inner()), (13, 2));
}

/// Whoever runs the task of a future, the scope from which it borrows waits.
#[test]
fn a_scope_waits_for_a_future_that_is_got_elsewhere() {
    for _ in 0..rounds(20) {
        let pool = pool(2);
        let (sender, receiver) = std::sync::mpsc::channel::<Handle<()>>();
        let (begun, ended) = (&AtomicBool::new(false), AtomicBool::new(false));
        pool.run(|mut w| {
            w.join(
                |mut w| {
                    // Until the other worker is there.
                    w.lend(|w| eventually_stolen(w, || begun.load(Acquire)));
                    let local = AtomicBool::new(false);
                    w.finish(|scope| {
                        let (local, ended) = (&local, &ended);
                        let future = scope.future(move |_| {
                            local.store(true, Release);
                            busy(Duration::from_millis(2));
                            assert!(local.load(Acquire));
                            ended.store(true, Release);
                        });
                        sender.send(future).unwrap();
                        eventually("the other to run it", || local.load(Acquire));
                    });
                    assert!(
                        ended.load(Acquire),
                        "it borrows from a scope that has ended"
                    );
                    local.store(false, Release);
                },
                move |mut w| {
                    begun.store(true, Release);
                    w.get(receiver.recv().unwrap());
                },
            );
        });
    }
}

mod a_panic_of_a_future_that_nobody_gets_surfaces {
    use super::*;

    fn panic_of<R>(f: impl FnOnce() -> R) -> u32 {
        let panic = catch_unwind(AssertUnwindSafe(f)).err();
        *panic.expect("a panic").downcast().unwrap()
    }

    pub fn check(pool: Pool<impl Scheduler>) {
        for pause in [0, 30, 300] {
            let pause = || busy(Duration::from_micros(pause));
            // From the run, once everything has ended.
            let ended = Arc::new(AtomicUsize::new(0));
            let panic = panic_of(|| {
                pool.run(|mut w| {
                    drop(w.future(|_| panic_any(1_u32)));
                    let ended = Arc::clone(&ended);
                    drop(w.future(move |_| add(&ended, 1)));
                    pause();
                })
            });
            assert_eq!((panic, ended.load(Relaxed)), (1, 1));
            // From inside a task that may be stolen.
            let panic = panic_of(|| {
                pool.run(|mut w| {
                    w.join(
                        |_| pause(),
                        |mut w| w.join(|_| pause(), |mut w| drop(w.future(|_| panic_any(2_u32)))),
                    )
                })
            });
            assert_eq!(panic, 2);
            // Dropped when it has ended.
            let panic = panic_of(|| {
                pool.run(|mut w| {
                    let future = w.future(|_| panic_any(3_u32));
                    pause();
                    drop(future);
                })
            });
            assert_eq!(panic, 3);
            // From the finish in whose scope it was made; the run goes on.
            let panic = pool.run(|mut w| {
                let is_dropped = AtomicBool::new(false);
                panic_of(|| {
                    w.finish(|scope| {
                        let task = || {
                            eventually("the future is dropped", || is_dropped.load(Acquire));
                            panic_any(4_u32)
                        };
                        drop(scope.future(move |_| task()));
                        scope.join(|_| drop(scope.future(move |_| task())), |_| pause());
                        is_dropped.store(true, Release);
                    })
                })
            });
            assert_eq!(panic, 4);
            // A panic that is caught, or got, is not one of those.
            pool.run(|mut w| {
                let future = w.future(|_| panic_any(5_u32));
                assert_eq!(panic_of(|| w.get(future)), 5);
            });
            // From the wait for a task that was left to the pool.
            pool.spawn(|mut w| drop(w.future(|_| panic_any(6_u32))));
            assert_eq!(panic_of(|| pool.wait()), 6);
            pool.wait();
        }
    }
}
