//! Spare workers: the processor of a blocked worker goes on working.
//!
//! Without them most of these programs would not end: the task that a worker is
//! blocked on waits for one that nobody else is there to run.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex, mpsc};
use std::thread;
use std::time::Duration;

use purloin::{BuildError, Builder, Handle, Pool, ReturnBarrier, Scheduler, Spawner, Worker};

use purloin_schedulers::{ChaseLev, DirectStack};

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
    assert!(stats.handoffs >= 20, "{stats:?}");
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

/// The holder of a task has tasks that the one who waits may not take, as it runs the
/// closure of a future above them.
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

fn take<T>(place: &Mutex<Option<T>>) -> T {
    loop {
        if let Some(thing) = place.lock().unwrap().take() {
            return thing;
        }
        thread::yield_now();
    }
}

#[test]
fn tasks_that_only_others_may_take_are_taken() {
    tasks_below_the_closure_of_a_future(&two(ReturnBarrier::default()).build().unwrap());
    tasks_below_the_closure_of_a_future(&two(<DirectStack>::default()).build().unwrap());
    tasks_below_the_closure_of_a_future(&two(ChaseLev::default()).build().unwrap());
}

/// Two of them block whoever comes for them, and wait for the last.
#[test]
fn escaped_tasks_are_called_for_as_long_as_there_are_any() {
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

/// Where nothing can be forced, an owner that waits for what has escaped answers for
/// its own tasks.
#[test]
fn who_waits_for_escaped_tasks_answers_thieves() {
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

/// After whatever was lent, as many run as there are workers.
fn no_more_and_no_fewer<S: Scheduler + Spawner>(builder: Builder<S>, workers: usize) {
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
fn no_more_and_no_fewer_run_than_there_are_workers() {
    no_more_and_no_fewer(Pool::builder(), 1);
    no_more_and_no_fewer(Pool::builder(), 2);
    no_more_and_no_fewer(Pool::builder().spare_workers(1), 4);
    no_more_and_no_fewer(Pool::builder().scheduler(<DirectStack>::default()), 3);
    no_more_and_no_fewer(Pool::builder().scheduler(ChaseLev::default()), 3);
    let without_force = ReturnBarrier::default().forced_steals(false);
    no_more_and_no_fewer(Pool::builder().scheduler(without_force), 3);
}

/// The worker that waits for it cannot end before.
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

#[test]
fn only_workers_ask_for_a_name() {
    let names = ["a", "b"];
    let pool = Pool::builder()
        .workers(2)
        .thread_name(move |i| names[i].into());
    outside_beside_a_blocked_join(&pool.build().unwrap());
    let error = Pool::builder().thread_name(|_| "a\0b".into()).build();
    assert_eq!(
        error.unwrap_err().to_string(),
        "thread_name: the name for worker 0 has a zero byte in it"
    );
}

#[test]
fn too_many_are_named() {
    let error = Pool::builder().spare_workers(5000).build().unwrap_err();
    assert!(matches!(error, BuildError::SpareWorkers(5000)));
    assert_eq!(
        error.to_string(),
        "spare_workers must be at most 4096, not 5000"
    );
}

/// It is started by a worker that is bound, and busy; there it must not stay.
#[test]
#[cfg(target_os = "linux")]
fn a_spare_worker_of_a_bound_pool_runs_where_there_is_room() {
    fn processors() -> usize {
        // SAFETY: plain data of the size that is passed.
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
                // The other is blocked by then, and has lent its processor.
                thread::sleep(Duration::from_millis(20));
                w.finish(|finish| {
                    // It escapes, and so it is called for.
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
