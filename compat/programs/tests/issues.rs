//! Programs from rayon's issues, which hang, overflow the stack or do the unexpected in rayon because
//! a thread that waits runs other jobs of its pool. Each name says what has to hold.

use std::cell::Cell;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::*};
use std::sync::mpsc::channel;
use std::sync::{Mutex, OnceLock};
use std::thread::{self, sleep};
use std::time::{Duration, Instant};

use rayon::prelude::*;
use rayon_programs::{ends, pool};

fn busy(time: Duration) {
    let start = Instant::now();
    while start.elapsed() < time {
        std::hint::spin_loop();
    }
}

thread_local! {
    /// Whether this thread runs a job of the kind that a test watches.
    static IN_JOB: Cell<bool> = const { Cell::new(false) };
}

/// Runs `f` as a job of the kind that a test watches. Returns whether it began within another one,
/// on the same stack.
fn is_nested(f: impl FnOnce()) -> bool {
    let was_in_job = IN_JOB.replace(true);
    f();
    IN_JOB.set(was_in_job);
    was_in_job
}

/// Sums up in parallel, slowly enough that other threads take a part.
fn slow_sum() -> u64 {
    let numbers = (0..64_u64).into_par_iter();
    numbers.inspect(|_| busy(Duration::from_micros(20))).sum()
}

/// Issues 592, 1083, 1174 and 1181. Most threads find something else to do than to wait for the lock,
/// so they take parts of the loop that holds it.
#[test]
fn a_lock_may_be_held_across_a_parallel_loop() {
    ends(|| {
        let lock = Mutex::new(0);
        for threads in [1, 2, 4] {
            pool(threads).scope(|scope| {
                for n in 0..400 {
                    let lock = &lock;
                    scope.spawn(move |_| match n % 16 / 8 {
                        0 => {
                            let mut sum = lock.lock().unwrap();
                            *sum += slow_sum();
                        }
                        _ => assert_eq!(slow_sum(), 2016),
                    });
                }
            });
        }
        assert_eq!(lock.into_inner().unwrap(), 3 * 200 * 2016);
    });
}

/// Issue 1251.
#[test]
fn a_value_may_be_initialised_in_parallel() {
    ends(|| {
        let values: Vec<OnceLock<u64>> = (0..50).map(|_| OnceLock::new()).collect();
        pool(4).scope(|scope| {
            for n in 0..400 {
                let values = &values;
                scope.spawn(move |_| {
                    // Eight tasks need each value, one after the other.
                    assert_eq!(*values[n / 8].get_or_init(slow_sum), 2016);
                    assert_eq!(slow_sum(), 2016);
                });
            }
        });
    });
}

/// Issue 1142.
#[test]
fn a_bridged_iterator_may_use_the_pool() {
    ends(|| {
        for threads in [1, 2, 3] {
            let pool = pool(threads);
            for _ in 0..20 {
                let items =
                    (0..50).map(|n| rayon::join(|| busy(Duration::from_micros(20)), || n).1);
                let slow = |n: i32| rayon::join(|| n, || busy(Duration::from_micros(20))).0;
                let sum: i32 = pool.install(|| items.par_bridge().map(slow).sum());
                assert_eq!(sum, 1225);
            }
        }
    });
}

/// Issues 854 and 751: in rayon, jobs pile up on the stack of a thread that waits.
#[test]
fn a_job_does_not_begin_within_another_one_that_waits() {
    ends(|| {
        let nested = AtomicUsize::new(0);
        pool(4).scope(|scope| {
            for _ in 0..500 {
                scope.spawn(|_| {
                    let parts = || (0..16).into_par_iter();
                    let is_nested = is_nested(|| {
                        parts().for_each(|_| busy(Duration::from_micros(20)));
                    });
                    nested.fetch_add(is_nested.into(), Relaxed);
                });
            }
        });
        assert_eq!(nested.into_inner(), 0);
    });
}

/// Issues 1105, 872 and 588.
#[test]
fn a_job_does_not_begin_within_another_one_that_waits_for_another_pool() {
    ends(|| {
        let (here, there) = (pool(2), pool(1));
        let nested = AtomicUsize::new(0);
        here.scope(|scope| {
            // A spare thread for each that waits.
            for _ in 0..30 {
                scope.spawn(|_| {
                    let wait = || there.install(|| sleep(Duration::from_micros(200)));
                    nested.fetch_add(is_nested(wait).into(), Relaxed);
                });
            }
        });
        assert_eq!(nested.into_inner(), 0);
    });
}

/// Issues 1054 and 969: in rayon, a short join may take as long as a long job.
#[test]
fn a_join_does_not_wait_for_spawned_jobs() {
    ends(|| {
        let pool = pool(2);
        let (longest, stop) = (Mutex::new(Duration::ZERO), AtomicBool::new(false));
        pool.install(|| {
            rayon::in_place_scope(|scope| {
                for _ in 0..40 {
                    scope.spawn(|_| {
                        if !stop.load(Relaxed) {
                            sleep(Duration::from_millis(200));
                        }
                    });
                }
                for _ in 0..200 {
                    let start = Instant::now();
                    let is_nested = is_nested(|| {
                        let half = || busy(Duration::from_micros(50));
                        rayon::join(half, half);
                    });
                    assert!(!is_nested);
                    let mut longest = longest.lock().unwrap();
                    *longest = longest.max(start.elapsed());
                }
                stop.store(true, Relaxed);
            });
        });
        let longest = longest.into_inner().unwrap();
        assert!(longest < Duration::from_millis(150), "{longest:?}");
    });
}

/// A thread's number belongs to one running thread at a time: programs index arrays with it.
#[test]
fn numbers_of_threads_are_below_the_number_of_threads_and_unique() {
    ends(|| {
        for threads in [1, 2, 4] {
            let pool = pool(threads);
            let flags: Vec<AtomicBool> = (0..threads).map(|_| AtomicBool::new(false)).collect();
            pool.scope(|scope| {
                for _ in 0..300 {
                    scope.spawn(|_| {
                        let sum: u32 = (0..16_u32)
                            .into_par_iter()
                            .inspect(|_| {
                                let index = rayon::current_thread_index().unwrap();
                                assert!(!flags[index].swap(true, Acquire));
                                busy(Duration::from_micros(10));
                                assert_eq!(rayon::current_thread_index(), Some(index));
                                flags[index].store(false, Release);
                            })
                            .sum();
                        assert_eq!(sum, 120);
                    });
                }
            });
        }
    });
}

/// Issue 642: threads that find nothing sleep.
#[test]
fn an_idle_pool_uses_no_processor_time() {
    fn processor_ticks() -> u64 {
        let stat = std::fs::read_to_string("/proc/self/stat").unwrap();
        let fields = stat.rsplit(')').next().unwrap().split_whitespace();
        fields
            .skip(11)
            .take(2)
            .map(|field| field.parse::<u64>().unwrap())
            .sum()
    }
    if !cfg!(target_os = "linux") {
        return;
    }
    let pool = pool(4);
    pool.install(|| {
        (0..1000)
            .into_par_iter()
            .for_each(|_| busy(Duration::from_micros(1)))
    });
    // Other tests of this program use the processors, too, unless it runs one test at a time.
    let least = (0..10).map(|_| {
        let before = processor_ticks();
        sleep(Duration::from_millis(300));
        processor_ticks() - before
    });
    let least = least.min().unwrap();
    assert!(least <= 1, "{least} ticks of 10 ms in 300 ms");
}

#[test]
fn a_broadcast_runs_no_other_jobs_on_a_thread_that_waits() {
    static WAS_NESTED: AtomicBool = AtomicBool::new(false);
    let pool = pool(2);
    ends(|| {
        thread::scope(|threads| {
            let (waits, begin) = channel();
            let pool = &pool;
            threads.spawn(move || {
                begin.recv().unwrap();
                pool.spawn_broadcast(|_| ());
            });
            pool.install(move || {
                is_nested(|| {
                    rayon::scope(|scope| {
                        let (send, taken) = channel();
                        scope.spawn(move |_| {
                            send.send(()).unwrap();
                            sleep(Duration::from_millis(200));
                        });
                        taken.recv().unwrap();
                        // The other thread is busy, and this one soon waits for it.
                        for _ in 0..100 {
                            rayon::spawn(|| {
                                WAS_NESTED.fetch_or(is_nested(|| ()), SeqCst);
                            });
                        }
                        waits.send(()).unwrap();
                    });
                });
            });
        });
        drop(pool);
    });
    assert!(!WAS_NESTED.load(SeqCst));
}
