//! A task that waits takes a slot of a task stack, or a box in a queue.
//!
//! This file has only one test, because the test measures the memory of its process.
#![cfg(target_os = "linux")]

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use purloin::{Builder, Pool, ReturnBarrier, Scheduler, Spawner, Worker};

use purloin_schedulers::{Channel, ChaseLev, DefaultWs, DirectStack};

const TASKS: usize = 1_000_000;

/// Returns the peak memory of this process, in bytes.
fn peak_memory() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM:"));
    let kilobytes = line.unwrap().split_whitespace().nth(1).unwrap();
    kilobytes.parse::<usize>().unwrap() << 10
}

/// A panic payload that counts how many of its kind are alive.
struct Payload<'c>(&'c AtomicUsize);

impl Payload<'_> {
    fn new(live: &'static AtomicUsize, most: &AtomicUsize) -> Payload<'static> {
        most.fetch_max(live.fetch_add(1, Relaxed) + 1, Relaxed);
        Payload(live)
    }
}

impl Drop for Payload<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Relaxed);
    }
}

/// Each task panics. One panic surfaces; the workers drop the payloads of the others at once.
fn each_panics<S: Scheduler + Spawner>(pool: &Pool<S>) {
    static LIVE: AtomicUsize = AtomicUsize::new(0);
    let (begun, most) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let result = catch_unwind(AssertUnwindSafe(|| {
        pool.run(|mut w| {
            w.finish(|finish| {
                for _ in 0..TASKS {
                    finish.spawn(|_| {
                        begun.fetch_add(1, Relaxed);
                        // Unlike `panic_any`, it prints nothing.
                        resume_unwind(Box::new(Payload::new(&LIVE, &most)));
                    });
                }
            });
        });
    }));
    let payload = result.unwrap_err();
    assert!(payload.is::<Payload>());
    assert_eq!(begun.into_inner(), TASKS, "some tasks have not run");
    assert_eq!(LIVE.load(Relaxed), 1);
    drop(payload);
    let most = most.into_inner();
    assert!(
        most <= 1 + pool.workers(),
        "{most} payloads were alive at once"
    );
}

/// Each task returns.
fn each_returns<S: Scheduler + Spawner>(pool: &Pool<S>) {
    let sum = AtomicUsize::new(0);
    let count = pool.run(|mut w| {
        w.finish(|finish| {
            for i in 0..TASKS {
                let sum = &sum;
                finish.spawn(move |_| {
                    sum.fetch_add(i, Relaxed);
                });
            }
            TASKS
        })
    });
    assert_eq!(sum.into_inner(), count * (count - 1) / 2);
}

/// Each task is spawned inside a join, so it goes to the queue of the finish instead of a task
/// stack.
fn each_escapes<S: Scheduler + Spawner>(pool: &Pool<S>) {
    let done = AtomicUsize::new(0);
    pool.run(|mut w| {
        w.finish(|finish| {
            let spawn = || {
                for _ in 0..TASKS / 2 {
                    finish.spawn(|_| {
                        done.fetch_add(1, Relaxed);
                    });
                }
            };
            finish.join(|_| spawn(), |_| spawn());
        });
    });
    assert_eq!(done.into_inner(), TASKS);
}

/// A thread outside the pool spawns each task, into the scope of a worker that waits for that
/// thread.
fn each_comes_from_outside<S: Scheduler + Spawner>(pool: &Pool<S>) {
    let done = AtomicUsize::new(0);
    pool.run(|mut w| {
        w.finish(|finish| {
            let spawn = || {
                for _ in 0..TASKS {
                    finish.spawn(|_| {
                        done.fetch_add(1, Relaxed);
                    });
                }
            };
            std::thread::scope(|threads| threads.spawn(spawn).join().unwrap());
        });
    });
    assert_eq!(done.into_inner(), TASKS);
}

/// Runs every kind of task except tasks from outside.
fn check<S: Scheduler + Spawner>(builder: Builder<S>) {
    let pool = builder.workers(2).stack_size(1 << 20).build().unwrap();
    takes_little(|| each_returns(&pool));
    takes_little(|| each_panics(&pool));
    takes_little(|| each_escapes(&pool));
}

/// Panics if the peak grows by 128 bytes or more for each task. The allocator keeps some of the memory of each pool, so the
/// peak of all pools together depends on chance.
fn takes_little(tasks: impl FnOnce()) {
    let before = peak_memory();
    tasks();
    // The system counts in steps, so the peak may seem to fall a little.
    let grown = peak_memory().saturating_sub(before);
    assert!(
        grown < 128 * TASKS,
        "the peak has grown by {} bytes for each task",
        grown / TASKS
    );
}

#[test]
#[cfg_attr(debug_assertions, ignore = "it takes long without optimisation")]
fn a_million_tasks_of_one_finish_take_little_memory_each() {
    check(Pool::builder().scheduler(ReturnBarrier::default()));
    check(Pool::builder().scheduler(DefaultWs));
    check(Pool::builder().scheduler(<DirectStack>::default()));
    check(Pool::builder().scheduler(Channel::default()));
    check(Pool::builder().scheduler(ChaseLev::default()));
    takes_little(|| each_comes_from_outside(&Pool::builder().workers(2).build().unwrap()));
}
