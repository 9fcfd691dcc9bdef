//! What many tasks take: memory is bounded by the size of the stacks, not by the
//! number of tasks.
//!
//! One test, alone in its process, whose memory it looks at.
#![cfg(target_os = "linux")]
#![allow(missing_docs)]

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use purloin::{Builder, Pool, ReturnBarrier, Scheduler, Spawner, Worker};

use purloin_schedulers::{Channel, ChaseLev, DirectStack};

const TASKS: usize = 1_000_000;

/// The most memory that this process has had, in bytes.
fn peak() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM:"));
    let kilobytes = line.unwrap().split_whitespace().nth(1).unwrap();
    kilobytes.parse::<usize>().unwrap() << 10
}

/// A payload that counts how many of its kind there are.
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

/// One panic surfaces, the others are dropped as they come.
fn each_panics<S: Scheduler + Spawner>(pool: &Pool<S>) {
    static LIVE: AtomicUsize = AtomicUsize::new(0);
    let (begun, most) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let result = catch_unwind(AssertUnwindSafe(|| {
        pool.run(|mut w| {
            w.finish(|finish| {
                for _ in 0..TASKS {
                    finish.spawn(|_| {
                        begun.fetch_add(1, Relaxed);
                        // Without the hook, which would print each.
                        resume_unwind(Box::new(Payload::new(&LIVE, &most)));
                    });
                }
            });
        });
    }));
    let payload = result.unwrap_err();
    assert!(payload.is::<Payload>());
    assert_eq!(begun.into_inner(), TASKS, "all have ended");
    assert_eq!(LIVE.load(Relaxed), 1);
    drop(payload);
    let most = most.into_inner();
    assert!(most <= 1 + pool.workers(), "{most} payloads at once");
}

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

/// Spawned where the join is innermost, and so not on its stack.
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

/// Spawned by a thread that is no worker, into the scope of one that waits for it.
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

fn all<S: Scheduler + Spawner>(builder: Builder<S>) {
    let pool = builder.workers(2).stack_size(1 << 20).build().unwrap();
    each_returns(&pool);
    each_panics(&pool);
    each_escapes(&pool);
}

#[test]
#[cfg_attr(debug_assertions, ignore = "takes long without optimisation")]
fn a_million_tasks_of_one_finish_take_bounded_memory() {
    let before = peak();
    all(Pool::builder().scheduler(ReturnBarrier::default()));
    all(Pool::builder().scheduler(ReturnBarrier::default().barrier(false)));
    all(Pool::builder().scheduler(<DirectStack>::default()));
    all(Pool::builder().scheduler(Channel::default()));
    all(Pool::builder().scheduler(ChaseLev::default()));
    each_comes_from_outside(&Pool::builder().workers(2).build().unwrap());
    // The slots of a million tasks would be more than twice as much.
    let grown = peak() - before;
    assert!(grown < 24 << 20, "{} KiB more", grown >> 10);
}
