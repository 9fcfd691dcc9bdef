//! Spare workers, which use the processor of a blocked worker.
//!
//! Without spare workers most of these programs would hang: the task for which the blocked worker
//! waits itself waits for a task that no other worker is free to run.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Barrier, Mutex, mpsc};
use std::thread;
use std::time::Duration;

use crate::common::{self, eventually, wait_for};
use purloin::{Builder, Handle, Pool, ReturnBarrier, Scheduler, Spawner, Worker};
use purloin_schedulers::{ChaseLev, DirectStack};

/// Runs a join whose second closure is stolen and then waits for a call from outside.
pub(crate) fn outside_beside_a_blocked_join<S: Scheduler>(pool: &Pool<S>) {
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

/// Returns a builder for a pool with two workers.
fn two<S: Scheduler>(scheduler: S) -> Builder<S> {
    Pool::builder().workers(2).scheduler(scheduler)
}

#[test]
fn a_call_from_outside_runs_beside_a_blocked_join() {
    outside_beside_a_blocked_join(&two(ReturnBarrier::default()).build().unwrap());
    outside_beside_a_blocked_join(&two(<DirectStack>::default()).build().unwrap());
    outside_beside_a_blocked_join(&two(ChaseLev::default()).build().unwrap());
}

#[test]
fn a_pool_starts_its_spare_worker_once_and_counts_it() {
    let pool = two(ReturnBarrier::default()).build().unwrap();
    for _ in 0..20 {
        outside_beside_a_blocked_join(&pool);
    }
    let stats = pool.stats();
    assert_eq!(stats.spare_workers, 1, "{stats:?}");
    assert_eq!(stats.spare_failures, 0);
    assert!(stats.handoffs >= 20, "{stats:?}");
    // In some rounds a worker that has just become idle may run the call.
    assert!(stats.spare_tasks >= 1, "{stats:?}");
}

#[test]
fn a_pool_without_spare_workers_waits_until_a_worker_is_free() {
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
                        assert!(!called.load(SeqCst), "no worker was free for the call");
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

/// A worker that waits for a future may not run its own older tasks, because they do not descend
/// from the future.
#[test]
fn a_spare_worker_runs_older_tasks_of_a_worker_that_waits_for_a_future() {
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

/// A thread spawns the task into the queue of the finish, and the other worker takes the task. So
/// the owner of the finish waits and finds no task to run.
#[test]
fn a_call_from_outside_runs_beside_a_blocked_finish() {
    let pool = two(ReturnBarrier::default()).build().unwrap();
    let (begun, called) = (AtomicBool::new(false), AtomicBool::new(false));
    thread::scope(|scope| {
        let (pool, begun, called) = (&pool, &begun, &called);
        scope.spawn(move || {
            pool.run(|mut w| {
                w.finish(|finish| {
                    spawn_into_queue(finish, begun, called);
                    wait_for(begun);
                })
            })
        });
        wait_for(begun);
        pool.run(|_| called.store(true, SeqCst));
    });

    /// Spawns from another thread, so that the task goes to the queue of the finish.
    fn spawn_into_queue<'s>(
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

/// Runs a join whose thief runs the closure of a future, above a task for which the future waits.
/// The owner is blocked, but may not take tasks of a thief that runs the closure of a future.
fn tasks_below_the_closure_of_a_future<S: Scheduler>(pool: &Pool<S>) {
    static FUTURE: Mutex<Option<Handle<()>>> = Mutex::new(None);
    let stolen = AtomicBool::new(false);
    static CLAIMED: AtomicBool = AtomicBool::new(false);
    static RUN: AtomicBool = AtomicBool::new(false);
    CLAIMED.store(false, SeqCst);
    RUN.store(false, SeqCst);
    pool.run(|mut w| {
        w.join(
            |mut w| {
                wait_for(&stolen);
                let future = w.future(|_| {
                    CLAIMED.store(true, SeqCst);
                    wait_for(&RUN);
                });
                *FUTURE.lock().unwrap() = Some(future);
                wait_for(&CLAIMED);
            },
            |mut w| {
                stolen.store(true, SeqCst);
                let future = take(&FUTURE);
                w.join(|mut w| w.get(future), |_| RUN.store(true, SeqCst));
            },
        );
    });
}

/// Waits until the place has a value, and takes it.
fn take<T>(place: &Mutex<Option<T>>) -> T {
    loop {
        if let Some(thing) = place.lock().unwrap().take() {
            return thing;
        }
        thread::yield_now();
    }
}

#[test]
fn a_spare_worker_steals_from_a_worker_that_runs_the_closure_of_a_future() {
    tasks_below_the_closure_of_a_future(&two(ReturnBarrier::default()).build().unwrap());
    tasks_below_the_closure_of_a_future(&two(<DirectStack>::default()).build().unwrap());
    tasks_below_the_closure_of_a_future(&two(ChaseLev::default()).build().unwrap());
}

/// The queue has three tasks. Each of the first two blocks the workers that run it until the third
/// has run.
#[test]
fn spare_workers_start_as_long_as_the_queue_of_a_finish_has_tasks() {
    static FIRST: Mutex<Option<Handle<()>>> = Mutex::new(None);
    static SECOND: Mutex<Option<Handle<()>>> = Mutex::new(None);
    static CLAIMED: [AtomicBool; 2] = [const { AtomicBool::new(false) }; 2];
    static RUN: AtomicBool = AtomicBool::new(false);
    let stolen = AtomicBool::new(false);
    let pool = two(ReturnBarrier::default()).spare_workers(4);
    pool.build().unwrap().run(|mut w| {
        w.finish(|finish| {
            finish.join(
                |_| {
                    wait_for(&stolen);
                    finish.spawn(|mut w| {
                        let future = w.future(|mut w| {
                            CLAIMED[0].store(true, SeqCst);
                            w.get(take(&SECOND));
                        });
                        *FIRST.lock().unwrap() = Some(future);
                        wait_for(&CLAIMED[0]);
                    });
                    finish.spawn(|mut w| {
                        let future = w.future(|_| {
                            CLAIMED[1].store(true, SeqCst);
                            wait_for(&RUN);
                        });
                        *SECOND.lock().unwrap() = Some(future);
                        wait_for(&CLAIMED[1]);
                    });
                    finish.spawn(|_| RUN.store(true, SeqCst));
                },
                |mut w| {
                    stolen.store(true, SeqCst);
                    w.get(take(&FIRST));
                },
            );
        });
    });
}

/// Thieves cannot force steals here. So a worker that waits for a task in the queue of its finish
/// must answer requests for its older tasks.
#[test]
fn a_worker_that_waits_for_queued_tasks_answers_thieves() {
    const DEPTH: usize = 100;
    static RUN: AtomicUsize = AtomicUsize::new(0);
    static TAKEN: AtomicBool = AtomicBool::new(false);
    static MAY_TAKE: AtomicBool = AtomicBool::new(false);
    fn deep<W: Worker>(mut w: W, depth: usize) {
        if depth > 0 {
            let count = |_: W::Token<'_>| {
                RUN.fetch_add(1, SeqCst);
            };
            w.join(|w| deep(w, depth - 1), count);
            return;
        }
        w.finish(|finish| {
            thread::scope(|scope| {
                scope.spawn(|| {
                    finish.spawn(|_| {
                        TAKEN.store(true, SeqCst);
                        while RUN.load(SeqCst) < DEPTH {
                            thread::yield_now();
                        }
                    });
                });
            });
            MAY_TAKE.store(true, SeqCst);
            wait_for(&TAKEN);
        });
    }
    let pool = two(ReturnBarrier::default().forced_steals(false));
    let pool = pool.build().unwrap();
    let has_begun = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            pool.run(|_| {
                has_begun.store(true, SeqCst);
                wait_for(&MAY_TAKE);
            });
        });
        wait_for(&has_begun);
        scope.spawn(|| pool.run(|w| deep(w, DEPTH)));
    });
}

/// Blocks workers in joins, futures and finishes, and then checks how many tasks run at once.
fn as_many_tasks_run_as_there_are_workers<S: Scheduler + Spawner>(
    builder: Builder<S>,
    workers: usize,
) {
    let pool = builder.workers(workers).build().unwrap();
    let rest = |time: u64| thread::sleep(Duration::from_micros(time % 500));
    for round in 0..30 {
        thread::scope(|scope| {
            for caller in 0..3 {
                let pool = &pool;
                scope.spawn(move || {
                    let time = 100 * round + 170 * caller;
                    pool.run(|mut w| {
                        w.join(
                            |mut w| w.join(|_| rest(time), |_| rest(3 * time)),
                            |mut w| {
                                rest(2 * time);
                                let future = w.future(move |_| rest(5 * time));
                                w.join(|_| rest(time), |_| rest(4 * time));
                                w.get(future);
                            },
                        );
                        w.finish(|finish| {
                            let spawn = || (0..3).for_each(|_| finish.spawn(|_| rest(time)));
                            finish.join(|_| spawn(), |_| spawn());
                        });
                    });
                });
            }
        });
    }
    static RUNNING: AtomicUsize = AtomicUsize::new(0);
    static MOST: AtomicUsize = AtomicUsize::new(0);
    MOST.store(0, SeqCst);
    for _ in 0..20 * workers {
        pool.spawn(|_| {
            MOST.fetch_max(RUNNING.fetch_add(1, SeqCst) + 1, SeqCst);
            thread::sleep(Duration::from_millis(2));
            RUNNING.fetch_sub(1, SeqCst);
        });
    }
    pool.wait();
    assert_eq!(MOST.load(SeqCst), workers, "{:?}", pool.stats());
}

#[test]
fn after_blocked_joins_exactly_as_many_tasks_run_as_there_are_workers() {
    as_many_tasks_run_as_there_are_workers(Pool::builder(), 1);
    as_many_tasks_run_as_there_are_workers(Pool::builder(), 2);
    as_many_tasks_run_as_there_are_workers(Pool::builder().spare_workers(1), 4);
    as_many_tasks_run_as_there_are_workers(Pool::builder().scheduler(<DirectStack>::default()), 3);
    as_many_tasks_run_as_there_are_workers(Pool::builder().scheduler(ChaseLev::default()), 3);
    let without_force = ReturnBarrier::default().forced_steals(false);
    as_many_tasks_run_as_there_are_workers(Pool::builder().scheduler(without_force), 3);
}

/// The pool must not end before the worker that waits for the stolen task.
#[test]
fn a_pool_may_be_dropped_by_a_stolen_task() {
    let pool = Arc::new(Pool::builder().workers(2).build().unwrap());
    let (inner, (done, is_done)) = (Arc::clone(&pool), mpsc::channel());
    pool.spawn(move |mut w| {
        let stolen = AtomicBool::new(false);
        w.join(
            |_| wait_for(&stolen),
            |_| {
                stolen.store(true, SeqCst);
                thread::sleep(Duration::from_millis(10));
                drop(inner);
            },
        );
        done.send(()).unwrap();
    });
    drop(pool);
    is_done.recv().unwrap();
}

/// A bound worker starts the spare worker and stays busy. The spare worker must not inherit the
/// binding.
#[test]
#[cfg(target_os = "linux")]
fn a_spare_worker_of_a_bound_pool_runs_where_there_is_room() {
    /// Returns how many processors this thread may use.
    fn processors() -> usize {
        // SAFETY: a `cpu_set_t` is plain data, for which zeros are valid, and `sched_getaffinity`
        // writes at most the size that it is given.
        unsafe {
            let mut set: libc::cpu_set_t = std::mem::zeroed();
            assert_eq!(libc::sched_getaffinity(0, size_of_val(&set), &mut set), 0);
            libc::CPU_COUNT(&set) as usize
        }
    }
    let all = processors();
    let pool = Pool::builder().workers(2).pinned(true).build().unwrap();
    let (stolen, seen) = (AtomicBool::new(false), AtomicUsize::new(0));
    pool.run(|mut w| {
        w.join(
            |_| wait_for(&stolen),
            |mut w| {
                assert_eq!(processors(), 1);
                stolen.store(true, SeqCst);
                eventually(
                    "the other worker is blocked and lends its processor",
                    || pool.stats().handoffs > 0,
                );
                w.finish(|finish| {
                    // The task goes to the queue of the finish, for which a spare worker starts.
                    finish.join(
                        |_| {
                            finish.spawn(|_| seen.store(processors(), SeqCst));
                            while seen.load(SeqCst) == 0 {
                                thread::yield_now();
                            }
                        },
                        |_| (),
                    );
                });
            },
        )
    });
    assert_eq!(seen.into_inner(), all);
}

/// The only worker waits for a task on its own stack, and for a job from outside.
#[test]
fn a_worker_that_blocks_lends_its_processor() {
    fn check(scheduler: impl Scheduler) {
        let pool = Pool::builder().workers(1).scheduler(scheduler);
        let pool = pool.build().unwrap();
        for _ in 0..20 {
            let (send, received) = mpsc::channel();
            let (also, received) = (send.clone(), Mutex::new(received));
            pool.run(|mut w| {
                w.finish(|scope| {
                    scope.spawn(move |_| send.send(1).unwrap());
                    pool.spawn(move |_| also.send(2).unwrap());
                    let received = received.lock().unwrap();
                    let wait = || received.recv_timeout(Duration::from_secs(20)).unwrap();
                    assert_eq!(purloin::blocking(|| wait() + wait()), 3);
                });
            });
        }
    }
    check(ReturnBarrier::default());
    check(<DirectStack>::default());
    check(ChaseLev::default());
}

#[test]
fn what_blocks_may_itself_use_the_pool_or_panic() {
    assert_eq!(purloin::blocking(|| 7), 7, "outside of any pool");
    let pool = two(ReturnBarrier::default()).build().unwrap();
    for _ in 0..100 {
        let sum = pool.run(|mut w| {
            let inner = |_: purloin::Token<'_>| {
                purloin::blocking(|| {
                    let (a, b) = purloin::join(|| 1, || purloin::blocking(|| 2));
                    a + b
                })
            };
            let (a, b) = w.join(inner, inner);
            a + b
        });
        assert_eq!(sum, 6);
        let panics = || pool.run(|_| purloin::blocking(|| panic!("it fails")));
        assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(panics)).is_err());
    }
}

/// Spawns `count` tasks, each of which waits until all of them run.
fn run_together(pool: &Pool, count: usize) {
    let all = &Barrier::new(count);
    pool.run(|mut w| {
        w.finish(|scope| {
            (0..count).for_each(|_| scope.spawn(|_| _ = purloin::blocking(|| all.wait())));
        });
    });
}

#[test]
fn a_hundred_tasks_may_wait_for_each_other() {
    common::must_end("tasks that wait for each other", || {
        run_together(&common::pool(2), 100);
    });
}

#[test]
fn a_pool_that_lacks_spare_workers_says_so() {
    const NAME: &str = "spares::a_pool_that_lacks_spare_workers_says_so";
    if common::is_child() {
        let pool = Pool::builder().workers(2).spare_workers(4).build().unwrap();
        thread::spawn(move || run_together(&pool, 10));
        return thread::sleep(Duration::from_secs(3));
    }
    let child = common::run_in_child(NAME, &[]);
    assert!(child.status.success(), "{child:?}");
    let error = String::from_utf8(child.stderr).unwrap();
    let warnings: Vec<_> = error
        .lines()
        .filter(|line| line.starts_with("purloin:"))
        .collect();
    assert_eq!(warnings.len(), 1, "{error}");
    assert!(warnings[0].contains("Builder::spare_workers"), "{error}");
}
