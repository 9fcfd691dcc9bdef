//! Tests of the documentation's promises about futures.

use std::panic::{AssertUnwindSafe, catch_unwind, panic_any};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::*};
use std::thread;
use std::time::Duration;

use crate::common::{self, add, busy, eventually, eventually_stolen, pool, rounds};
use purloin::{Handle, Pool, Scheduler, Serial, Worker};
use purloin_analysis::Counted;

/// A Fibonacci number's index and value.
const FIB: (u32, u64) = if cfg!(miri) { (7, 13) } else { (16, 987) };
/// Depth of a tree of futures.
const DEPTH: usize = if cfg!(miri) { 1 } else { 4 };
/// Depth of a recursion that takes a lock at each level.
const LOCKS_DEEP: u32 = if cfg!(miri) { 5 } else { 50 };
/// Number of futures in a chain. Each waits for the previous one.
const CHAIN: usize = if cfg!(miri) { 6 } else { 100 };
/// Number of futures that panic.
const PANICS: i32 = if cfg!(miri) { 3 } else { 50 };
/// Number of pairs of futures that a test makes and gets.
const PAIRS: u64 = if cfg!(miri) { 9 } else { 300_000 };
/// Number of words that futures borrow.
const WORDS: usize = if cfg!(miri) { 10 } else { 40 };

common::under_each_scheduler! {
    for workers in common::workers([1, 2, 5]), Pool::builder().workers(workers);
    a_future_has_the_result_of_its_task,
    a_task_may_get_its_futures_in_any_order,
    a_task_may_get_the_future_of_another_task,
    futures_that_nothing_gets_end_before_their_scope,
    get_passes_on_the_panic_of_the_task,
    getting_futures_keeps_the_stack_small,
    futures_of_a_finish_may_borrow_from_outside,
    results_are_dropped_once,
    closures_and_results_may_be_of_any_size,
    the_panic_of_a_future_that_nothing_gets_surfaces,
}

fn a_future_has_the_result_of_its_task(pool: Pool<impl Scheduler>) {
    fn fib<W: Worker>(mut w: W, n: u32) -> u64 {
        if n < 2 {
            return n.into();
        }
        let a = w.future(move |w| fib(w, n - 1));
        let b = w.lend(|w| fib(w, n - 2));
        w.get(a) + b
    }

    for _ in 0..rounds(20) {
        assert_eq!(pool.run(|w| fib(w, FIB.0)), FIB.1);
    }
    assert_eq!(fib(Serial, FIB.0), FIB.1);
}

fn a_task_may_get_its_futures_in_any_order(pool: Pool<impl Scheduler>) {
    fn all<W: Worker>(mut w: W, depth: usize) -> usize {
        if depth == 0 {
            return 1;
        }
        let mut futures: Vec<_> = (0..4)
            .map(|i| (i, w.future(move |w| all(w, depth - 1) + i)))
            .collect();
        // The slots of this join lie above the tickets of the futures.
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

    for _ in 0..rounds(5) {
        assert_eq!(pool.run(|w| all(w, DEPTH)), 6_usize.pow(DEPTH as u32));
    }
}

/// Each future waits for the previous one.
fn a_task_may_get_the_future_of_another_task(pool: Pool<impl Scheduler>) {
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

fn futures_that_nothing_gets_end_before_their_scope(pool: Pool<impl Scheduler>) {
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
            // The scope of that future was the first closure of the join.
            assert!(ended.load(Acquire) > before);
        });
        assert_eq!(ended.load(Acquire), 21 * i);
    }
    // The futures end even if the scope panics.
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

fn get_passes_on_the_panic_of_the_task(pool: Pool<impl Scheduler>) {
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

fn getting_futures_keeps_the_stack_small(pool: Pool<impl Scheduler>) {
    let sum = pool.run(|mut w| {
        (0..PAIRS).fold(0, |sum, i| {
            let (a, b) = (w.future(move |_| i), w.future(|_| 1));
            // Some of these calls use no token, and some orders leave tickets on the stack.
            sum + match i % 3 {
                0 => w.get(a) + w.get(b),
                1 => a.get() + w.get(b),
                _ => b.get() + a.get(),
            }
        })
    });
    assert_eq!(sum, PAIRS * (PAIRS - 1) / 2 + PAIRS);
}

fn futures_of_a_finish_may_borrow_from_outside(pool: Pool<impl Scheduler>) {
    for _ in 0..rounds(50) {
        let words: Vec<_> = (0..WORDS).map(|i| "x".repeat(i)).collect();
        let lengths = pool.run(|mut w| {
            w.finish(|scope| {
                let futures: Vec<_> = words
                    .iter()
                    .map(|word| scope.future(move |_| word.len()))
                    .collect();
                // This future goes to the queue of the finish, because the frame of the join is
                // innermost.
                let (escaped, ()) = scope.join(|_| scope.future(|_| words[7].len()), |_| ());
                let sum: usize = futures.into_iter().map(Handle::get).sum();
                sum + escaped.get()
            })
        });
        assert_eq!(lengths, (WORDS - 1) * WORDS / 2 + 7);
    }
}

fn results_are_dropped_once(pool: Pool<impl Scheduler>) {
    struct CountsDrops(Arc<AtomicUsize>);

    impl Drop for CountsDrops {
        fn drop(&mut self) {
            self.0.fetch_add(1, AcqRel);
        }
    }

    let drops = Arc::new(AtomicUsize::new(0));
    for round in 1..=rounds(50) {
        let kept = pool.run(|mut w| {
            let new = || CountsDrops(Arc::clone(&drops));
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
            // The run gets some futures, drops some, and returns the others.
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

fn closures_and_results_may_be_of_any_size(pool: Pool<impl Scheduler>) {
    #[repr(align(128))]
    #[derive(Clone, Copy, PartialEq, Debug)]
    struct Aligned(u8);

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

#[test]
fn a_thread_outside_the_pool_may_wait_for_a_future() {
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
            eventually("the thread outside waits", || waits.load(Acquire));
            busy(Duration::from_millis(5));
            6
        });
        sender.send(future).unwrap();
    });
    assert_eq!(outside.join().unwrap(), 6);
}

#[test]
fn a_worker_of_another_pool_may_wait_for_a_future() {
    let (one, other) = (pool(1), pool(1));
    let sum = one.run(|mut w| {
        let six = w.future(|_| 6);
        // Meanwhile the only regular worker of `one` is blocked.
        let seven = other.run(|_| 7);
        w.get(six) + other.run(move |mut w| w.get(purloin::implement::ready(move || seven)))
    });
    assert_eq!(sum, 13);
    let late = one.run(|mut w| w.future(|_| 8));
    drop(one);
    assert_eq!(other.run(|mut w| w.get(late)), 8);
}

/// A worker that is blocked in `get` leapfrogs, as in a join. So it never runs a task that takes
/// the lock that it holds.
#[test]
fn a_lock_may_be_held_across_a_get() {
    let pool = pool(4);
    let lock = Arc::new(std::sync::Mutex::new(0));
    fn work<W: Worker>(mut w: W, depth: u32, lock: &Arc<std::sync::Mutex<u32>>) {
        if depth == 0 {
            return busy(Duration::from_micros(5));
        }
        let inner = Arc::clone(lock);
        // The future does not take the lock, but its siblings do.
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
                // Longer than any worker spins.
                thread::sleep(Duration::from_millis(5));
                3
            });
            w.lend(|w| eventually_stolen(w, || stolen.load(Acquire)));
            // The ticket of the first future is no longer at the top of the stack.
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

/// The scope from which a future borrows waits for its task, no matter where the task runs.
#[test]
fn a_scope_waits_for_a_future_that_another_worker_gets() {
    for _ in 0..rounds(20) {
        let pool = pool(2);
        let (sender, receiver) = std::sync::mpsc::channel::<Handle<()>>();
        let (begun, ended) = (&AtomicBool::new(false), AtomicBool::new(false));
        pool.run(|mut w| {
            w.join(
                |mut w| {
                    // Waits until the other worker has stolen the second closure.
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
                        eventually("the other worker runs the future", || local.load(Acquire));
                    });
                    assert!(
                        ended.load(Acquire),
                        "the scope ended before a future that borrows from it"
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

fn the_panic_of_a_future_that_nothing_gets_surfaces(pool: Pool<impl Scheduler>) {
    fn panic_of<R>(f: impl FnOnce() -> R) -> u32 {
        let panic = catch_unwind(AssertUnwindSafe(f)).err();
        *panic.expect("a panic").downcast().unwrap()
    }

    for pause in [0, 30, 300] {
        let pause = || busy(Duration::from_micros(pause));
        // The panic leaves the run after all futures have ended.
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
        // A future of a task that a thief may run.
        let panic = panic_of(|| {
            pool.run(|mut w| {
                w.join(
                    |_| pause(),
                    |mut w| w.join(|_| pause(), |mut w| drop(w.future(|_| panic_any(2_u32)))),
                )
            })
        });
        assert_eq!(panic, 2);
        // A future that may have ended before it is dropped.
        let panic = panic_of(|| {
            pool.run(|mut w| {
                let future = w.future(|_| panic_any(3_u32));
                pause();
                drop(future);
            })
        });
        assert_eq!(panic, 3);
        // The panic leaves the finish in whose scope the futures were made; the run goes on.
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
        // A panic that `get` passes on does not surface a second time.
        pool.run(|mut w| {
            let future = w.future(|_| panic_any(5_u32));
            assert_eq!(panic_of(|| w.get(future)), 5);
        });
        // The panic of a future in a spawned task leaves the next wait.
        pool.spawn(|mut w| drop(w.future(|_| panic_any(6_u32))));
        assert_eq!(panic_of(|| pool.wait()), 6);
        pool.wait();
    }
}
