//! Threads outside a pool that wait for it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::*};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use crate::common::{self, busy, eventually, fib, must_end, pool_with};
use purloin::{Pool, ReturnBarrier, Scheduler, Spawner, Worker};
use purloin_schedulers::{Channel, ChaseLev, DirectStack, OneField, TwoFields};

/// Calls the two pools in turn, each from a worker of the other.
fn to_and_fro(one: &Pool<impl Scheduler>, other: &Pool<impl Scheduler>, depth: u64) -> u64 {
    match depth {
        0 => one.run(|w| fib(w, 10)),
        _ => one.run(|_| to_and_fro(other, one, depth - 1) + 1),
    }
}

fn two_pools_may_call_each_other<S: Scheduler, T: Scheduler>(
    one: impl Fn() -> S + Send + 'static,
    other: impl Fn() -> T + Send + 'static,
) {
    must_end("a call from pool to pool and back", move || {
        for spares in [0, 1, 2] {
            for (workers, others) in [(1, 1), (2, 1), (2, 3)] {
                let builder = Pool::builder().workers(workers).spare_workers(spares);
                let one = builder.scheduler(one()).build().unwrap();
                let builder = Pool::builder().workers(others).spare_workers(spares);
                let other = builder.scheduler(other()).build().unwrap();
                for depth in [1, 2, 3, 9] {
                    assert_eq!(to_and_fro(&one, &other, depth), 55 + depth);
                }
            }
        }
    });
}

#[test]
fn two_pools_may_call_each_other_under_each_scheduler() {
    let default = ReturnBarrier::default;
    two_pools_may_call_each_other(default, default);
    two_pools_may_call_each_other(default, move || default().forced_steals(false));
    two_pools_may_call_each_other(DirectStack::<OneField>::new, ChaseLev::default);
    two_pools_may_call_each_other(DirectStack::<TwoFields>::new, default);
    two_pools_may_call_each_other(Channel::default, default);
    two_pools_may_call_each_other(Channel::default, Channel::default);
}

#[test]
fn a_loop_may_run_its_iterations_on_another_pool_and_come_back() {
    must_end("a loop over two pools", || {
        let (one, other) = (common::pool(2), common::pool(1));
        let sum = one.run(|mut w| {
            let body = |i: u64| other.run(|_| one.run(|mut w| w.join(|_| i, |_| ()).0));
            w.map_reduce(0..100_u64, body, |a, b| a + b)
        });
        assert_eq!(sum, Some(4950));
    });
}

#[test]
fn a_worker_that_waits_for_another_pool_lends_its_processor() {
    must_end("a task that waits for its sibling", || {
        let (one, other) = (common::pool(1), common::pool(1));
        let is_done = AtomicBool::new(false);
        one.run(|mut w| {
            w.join(
                // This task ends only if the second closure runs at the same time.
                |_| other.run(|_| eventually("the second closure runs", || is_done.load(Acquire))),
                |_| is_done.store(true, Release),
            )
        });
    });
}

#[test]
fn a_thread_may_call_the_pool_whose_only_worker_waits_for_it() {
    must_end("a call by a thread that a worker waits for", || {
        let pool = common::pool(1);
        for _ in 0..3 {
            let result = pool.run(|mut w| {
                w.finish(|scope| {
                    thread::scope(|threads| {
                        let call = threads.spawn(|| pool.run(|w| fib(w, 10)));
                        let join = threads.spawn(|| scope.join(|w| fib(w, 10), |_| 1));
                        let (a, b) = join.join().unwrap();
                        call.join().unwrap() + a + b
                    })
                })
            });
            assert_eq!(result, 111);
        }
    });
}

#[test]
fn a_busy_pool_does_not_start_spare_workers_for_calls_from_outside() {
    let starts_none = || {
        let pool = common::pool(1);
        thread::scope(|threads| {
            for _ in 0..20 {
                threads.spawn(|| pool.run(|_| busy(Duration::from_millis(3))));
            }
        });
        pool.stats().spare_workers == 0
    };
    // The system may take the processor from the worker for so long that the pool seems stalled.
    assert!((0..10).any(|_| starts_none()));
}

#[test]
fn a_future_made_outside_runs_while_its_thread_goes_on() {
    must_end("a future that waits for its maker", || {
        let goes_on = Arc::new(AtomicBool::new(false));
        let future = {
            let goes_on = Arc::clone(&goes_on);
            purloin::future(move || eventually("the maker goes on", || goes_on.load(Acquire)))
        };
        goes_on.store(true, Release);
        future.get();
    });
}

#[test]
fn a_future_made_outside_runs_even_if_it_is_dropped() {
    let (send, receive) = mpsc::channel();
    drop(purloin::future(move || send.send(7)));
    assert_eq!(receive.recv_timeout(Duration::from_secs(60)), Ok(7));
}

/// The worker makes futures and then waits for a thread that gets them.
fn the_only_worker_waits_for_a_thread_that_gets_futures<S: Scheduler>(scheduler: S) {
    let pool = pool_with(scheduler, 1);
    must_end(
        "a thread that gets a future of the worker that waits for it",
        move || {
            for _ in 0..20 {
                let (text, word) = (String::from("purloin"), AtomicBool::new(false));
                let lengths = pool.run(|mut w| {
                    let owned = w.future(|mut w| w.join(|_| 1, |_| 2));
                    let got = w.finish(|scope| {
                        let borrows = scope.future(|w| {
                            fork(w);
                            word.store(true, Release);
                            text.len()
                        });
                        let get = || (owned.get(), borrows.get());
                        thread::scope(|threads| threads.spawn(get).join().unwrap())
                    });
                    assert!(word.load(Acquire));
                    got
                });
                assert_eq!(lengths, ((1, 2), 7));
            }
        },
    );
}

/// Spawns some tasks, so that the caller's task has descendants.
fn fork<W: Worker>(mut w: W) {
    w.finish(|scope| {
        for _ in 0..3 {
            scope.spawn(|_| ());
        }
    });
}

#[test]
fn a_thread_may_get_a_future_while_the_only_worker_waits_for_the_thread() {
    let default = ReturnBarrier::default;
    // In each round a thread sleeps until it notices that the pool is stalled. So the schedulers
    // are tested at the same time.
    thread::scope(|threads| {
        threads.spawn(|| the_only_worker_waits_for_a_thread_that_gets_futures(default()));
        threads.spawn(|| {
            the_only_worker_waits_for_a_thread_that_gets_futures(default().forced_steals(false))
        });
        threads.spawn(|| {
            the_only_worker_waits_for_a_thread_that_gets_futures(DirectStack::<OneField>::new())
        });
        threads.spawn(|| {
            the_only_worker_waits_for_a_thread_that_gets_futures(DirectStack::<TwoFields>::new())
        });
        threads.spawn(|| the_only_worker_waits_for_a_thread_that_gets_futures(ChaseLev::default()));
    });
}

/// Threads get or drop futures before, while and after a worker runs them.
#[test]
fn threads_and_workers_may_compete_for_a_future() {
    must_end("threads that get futures", || {
        let pool = common::pool(2);
        for round in 0..300 {
            let ran = AtomicUsize::new(0);
            let sum = pool.run(|mut w| {
                w.finish(|scope| {
                    let (ran, busy) = (&ran, |n| busy(Duration::from_micros(n)));
                    let futures: Vec<_> = (0..4)
                        .map(|i| {
                            scope.future(move |mut w| {
                                ran.fetch_add(1, Relaxed);
                                busy(i * 10);
                                w.join(|_| i, |_| ()).0
                            })
                        })
                        .collect();
                    thread::scope(|threads| {
                        let mut getters = Vec::new();
                        for (i, future) in futures.into_iter().enumerate() {
                            getters.push(threads.spawn(move || {
                                busy(round % 7 * 20);
                                match i == 3 {
                                    true => drop(future),
                                    false => return future.get(),
                                }
                                3
                            }));
                        }
                        busy(round % 11 * 10);
                        getters.into_iter().map(|g| g.join().unwrap()).sum::<u64>()
                    })
                })
            });
            assert_eq!((sum, ran.into_inner()), (6, 4));
        }
    });
}

#[cfg(target_os = "linux")]
#[test]
fn a_thread_that_gets_a_future_sleeps_until_it_is_done() {
    /// Returns the number of times that this thread has given up its processor.
    fn switches() -> i64 {
        // SAFETY: a `rusage` is plain data, for which zeros are valid, and `getrusage` writes only
        // to it.
        unsafe {
            let mut usage: libc::rusage = std::mem::zeroed();
            assert_eq!(libc::getrusage(libc::RUSAGE_THREAD, &mut usage), 0);
            usage.ru_nvcsw
        }
    }
    let before = switches();
    purloin::future(|| thread::sleep(Duration::from_millis(400))).get();
    let switches = switches() - before;
    assert!(
        switches < 50,
        "the waiting thread gave up its processor {switches} times"
    );
}

/// The thread spawns more tasks than the queue of a finish holds.
fn a_thread_may_spawn_into_a_scope_whose_only_worker_waits_for_it<S: Scheduler + Spawner>(
    scheduler: S,
    spares: usize,
) {
    let pool = Pool::builder().workers(1).spare_workers(spares);
    let pool = pool.scheduler(scheduler).build().unwrap();
    must_end("a thread that spawns into a full queue", move || {
        let count = AtomicUsize::new(0);
        pool.run(|mut w| {
            w.finish(|scope| {
                let spawn = || {
                    for _ in 0..20_000 {
                        scope.spawn(|_| common::add(&count, 1));
                    }
                };
                thread::scope(|threads| threads.spawn(spawn).join().unwrap());
            });
        });
        assert_eq!(count.into_inner(), 20_000);
    });
}

#[test]
fn a_thread_may_spawn_into_a_scope_whose_only_worker_waits_for_it_under_each_scheduler() {
    for spares in [0, 1] {
        a_thread_may_spawn_into_a_scope_whose_only_worker_waits_for_it(
            ReturnBarrier::default(),
            spares,
        );
        a_thread_may_spawn_into_a_scope_whose_only_worker_waits_for_it(ChaseLev::default(), spares);
        a_thread_may_spawn_into_a_scope_whose_only_worker_waits_for_it(Channel::default(), spares);
    }
}

#[test]
fn a_task_may_run_jobs_that_wait() {
    fn check(scheduler: impl Scheduler) {
        must_end("a loop that yields", || {
            let pool = Pool::builder().workers(1).spare_workers(0);
            let pool = pool.scheduler(scheduler).build().unwrap();
            assert!(!pool.yield_now());
            let other = Pool::builder().workers(1).build().unwrap();
            pool.run(|mut w| {
                assert!(!other.yield_now());
                let count = Arc::new(AtomicUsize::new(0));
                let sum = || count.load(Relaxed);
                for _ in 0..10 {
                    let count = Arc::clone(&count);
                    w.pool().spawn(move |mut w| {
                        let (a, b) = w.join(|_| 1, |_| 2);
                        count.fetch_add(a + b, Relaxed);
                    });
                }
                w.join(|w| while w.pool().yield_now() {}, |_| assert_eq!(sum(), 30));
                let call = w.pool().run_async(|_| 7);
                assert!(w.pool().yield_now());
                drop(call);
            });
        });
    }
    check(ReturnBarrier::default());
    check(DirectStack::<OneField>::default());
    check(Channel::default());
}

/// The task takes its own ticket, which it cannot use before it has ended.
#[test]
fn a_task_may_drain_the_pool_that_has_its_ticket() {
    must_end("a task that drains its pool", || {
        let drain = |w: purloin::Token<'_>| {
            while w.pool().yield_now() {}
            7
        };
        let seven = common::pool(1).run(|mut w| {
            // Within a join, the ticket goes to the queue of the finish.
            w.finish(|scope| scope.join(|_| scope.future(drain).get(), |_| ()).0)
        });
        assert_eq!(seven, 7);
    });
}

/// A spawn that finds no idle worker starts a thread for a rescue, which keeps the pool.
#[test]
fn a_dropped_pool_leaves_no_thread_behind() {
    let kept = Arc::new(());
    let in_handler = Arc::clone(&kept);
    let handler = move |_| _ = &in_handler;
    let pool = Pool::builder().workers(1).start_handler(handler).build();
    let pool = pool.unwrap();
    pool.spawn(|_| busy(Duration::from_millis(5)));
    thread::sleep(Duration::from_millis(1));
    pool.spawn(|_| ());
    drop(pool);
    assert_eq!(Arc::strong_count(&kept), 1);
}

/// The program's own `thread::park` must not wait for a wake-up that the pool has used up.
#[test]
fn a_call_from_outside_leaves_the_thread_its_park_token() {
    must_end("a thread that was unparked before a call", || {
        let pool = common::pool(2);
        let other = common::pool(1);
        let nap = || thread::sleep(Duration::from_millis(2));
        let calls: [&dyn Fn(); 3] = [
            &|| pool.run(|_| nap()),
            &|| pool.finish(|scope| scope.spawn(move |_| nap())),
            &|| drop(pool.broadcast(|_| nap())),
        ];
        for call in calls {
            thread::current().unpark();
            call();
            thread::park();
        }
        pool.run(|_| {
            thread::current().unpark();
            other.run(|_| nap());
            thread::park();
        });
    });
}

#[test]
fn a_pool_that_rescues_no_calls_runs_no_more_of_them_than_it_has_workers() {
    let pool = Pool::builder()
        .workers(1)
        .rescue_calls(false)
        .build()
        .unwrap();
    let running = AtomicUsize::new(0);
    let call = || {
        assert_eq!(running.fetch_add(1, SeqCst), 0);
        thread::sleep(Duration::from_millis(50));
        running.fetch_sub(1, SeqCst);
    };
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| pool.run(|_| call()));
        }
    });
    // A finish from outside waits for the pool in the same way.
    thread::scope(|scope| {
        scope.spawn(|| pool.run(|_| call()));
        scope.spawn(|| pool.finish(|scope| scope.spawn(|_| call())));
    });
}

/// The first job waits for the second one. On one worker, a spare worker must run the second.
fn two_jobs_of_which_one_waits_for_the_other(pool: &Pool) -> mpsc::Receiver<()> {
    let (send, receive) = mpsc::channel();
    let (end, ended) = mpsc::channel();
    pool.spawn(move |_| {
        receive.recv().unwrap();
        end.send(()).unwrap();
    });
    pool.spawn(move |_| send.send(()).unwrap());
    ended
}

#[test]
fn jobs_may_wait_for_each_other_in_a_wait() {
    must_end("a wait for jobs that wait for each other", || {
        let pool = common::pool(1);
        for _ in 0..3 {
            let _ended = two_jobs_of_which_one_waits_for_the_other(&pool);
            pool.wait();
        }
    });
}

#[test]
fn jobs_may_wait_for_each_other_while_no_thread_waits_for_the_pool() {
    must_end("jobs that wait for each other", || {
        let pool = common::pool(1);
        let ended = two_jobs_of_which_one_waits_for_the_other(&pool);
        ended.recv().unwrap();
        // The worker of another pool is no help either.
        let ended = two_jobs_of_which_one_waits_for_the_other(&pool);
        common::pool(1).run(move |_| ended.recv().unwrap());
    });
}

/// The first call often comes before the threads of the workers have begun. They count as idle: a call
/// that found none would start a thread for a rescue.
#[test]
#[cfg(target_os = "linux")]
fn the_first_call_of_a_pool_starts_no_thread() {
    const NAME: &str = "outside::the_first_call_of_a_pool_starts_no_thread";
    let is_rescue = |thread: std::io::Result<std::fs::DirEntry>| {
        let name = std::fs::read_to_string(thread.unwrap().path().join("comm"));
        name.is_ok_and(|name| name.contains("rescue"))
    };
    if common::is_child() {
        for _ in 0..50 {
            let pool = common::pool(1);
            pool.run(|_| ());
            let threads = std::fs::read_dir("/proc/self/task").unwrap();
            assert_eq!(threads.map(is_rescue).filter(|&is| is).count(), 0);
        }
        return;
    }
    let child = common::run_in_child(NAME, &[]);
    assert!(child.status.success(), "{child:?}");
}

/// A rescue takes its processor back. Afterwards as many jobs run as the pool has workers.
#[test]
fn after_a_rescue_no_more_jobs_run_than_there_are_workers() {
    let pool = common::pool(1);
    two_jobs_of_which_one_waits_for_the_other(&pool)
        .recv()
        .unwrap();
    pool.wait();
    thread::sleep(Duration::from_millis(60));
    let running = Arc::new(AtomicUsize::new(0));
    for _ in 0..20 {
        let running = Arc::clone(&running);
        pool.spawn(move |_| {
            assert_eq!(running.fetch_add(1, SeqCst), 0);
            busy(Duration::from_micros(500));
            running.fetch_sub(1, SeqCst);
        });
    }
    pool.wait();
}
