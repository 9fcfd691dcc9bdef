//! Pools whose blocked workers run any task or job.
//!
//! None of the pools has spare workers, so most of these programs would hang otherwise.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};
use std::sync::mpsc::channel;
use std::thread;
use std::time::{Duration, Instant};

use crate::common::{MAY_USE_CHASE_LEV, must_end, rounds, wait_for};
use purloin::{Pool, ReturnBarrier, Scheduler, Token, Worker};
use purloin_schedulers::{ChaseLev, DirectStack};

/// Builds a pool whose blocked workers run anything.
fn pool<S: Scheduler>(workers: usize, scheduler: S) -> Pool<S> {
    let builder = Pool::builder().workers(workers).scheduler(scheduler);
    let builder = builder.spare_workers(0).run_anything_while_blocked(true);
    builder.build().unwrap()
}

/// A join whose second closure runs `stolen` on another worker, while this worker waits for it.
fn block<W: Worker>(mut w: W, stolen: impl FnOnce() + Send) {
    let begun = AtomicBool::new(false);
    w.join(
        |_| wait_for(&begun),
        |_| {
            begun.store(true, SeqCst);
            stolen();
        },
    );
}

fn run_a_job_beside_a_blocked_join<S: Scheduler>(scheduler: S) {
    let pool = pool(2, scheduler);
    for _ in 0..rounds(100) {
        let (send, receive) = channel();
        let pool = &pool;
        let stolen = move || {
            pool.spawn(move |_| send.send(7).unwrap());
            assert_eq!(receive.recv(), Ok(7));
        };
        pool.run(|w| block(w, stolen));
    }
}

#[test]
fn a_blocked_join_runs_a_job() {
    run_a_job_beside_a_blocked_join(ReturnBarrier::default());
    run_a_job_beside_a_blocked_join(<DirectStack>::default());
    if MAY_USE_CHASE_LEV {
        run_a_job_beside_a_blocked_join(ChaseLev::default());
    }
}

/// A closure of `run_async` is no future that a task of the pool may wait for.
#[test]
fn a_blocked_join_of_an_asynchronous_call_runs_a_job() {
    must_end("a job beside an asynchronous call", || {
        let pool = pool(2, ReturnBarrier::default());
        for _ in 0..rounds(100) {
            let (send, receive) = channel();
            let (end, ended) = channel();
            let call = pool.run_async(move |w| {
                let pool = w.pool();
                let stolen = move || {
                    pool.spawn(move |_| send.send(7).unwrap());
                    assert_eq!(receive.recv(), Ok(7));
                };
                block(w, stolen);
                end.send(()).unwrap();
            });
            ended.recv().unwrap();
            drop(call);
        }
    });
}

/// No task waits for the result of a spawn that begins after another task.
#[test]
fn a_blocked_join_of_a_spawn_with_an_input_runs_a_job() {
    must_end("a job beside a spawn with an input", || {
        let pool = &pool(2, ReturnBarrier::default());
        for _ in 0..rounds(100) {
            let (send, receive) = channel();
            let may_end = &AtomicBool::new(false);
            let stolen = move || {
                pool.spawn(move |_| send.send(7).unwrap());
                assert_eq!(receive.recv(), Ok(7));
            };
            pool.finish(|scope| {
                let input = scope.shared_future(move |_| wait_for(may_end));
                scope.after([&input]).spawn(move |w| block(w, stolen));
                may_end.store(true, SeqCst);
            });
        }
    });
}

#[test]
fn a_blocked_join_runs_a_task_of_another_call() {
    let pool = pool(3, ReturnBarrier::default());
    for _ in 0..rounds(100) {
        let [begun, pushed, ran] = [(); 3].map(|()| AtomicBool::new(false));
        thread::scope(|scope| {
            // The first worker waits for the second one, which waits for a task of the third one.
            scope.spawn(|| {
                pool.run(|mut w| {
                    w.join(
                        |_| wait_for(&pushed),
                        |_| {
                            begun.store(true, SeqCst);
                            wait_for(&ran);
                        },
                    )
                })
            });
            wait_for(&begun);
            pool.run(|mut w| {
                w.join(
                    |_| {
                        pushed.store(true, SeqCst);
                        wait_for(&ran);
                    },
                    |_| ran.store(true, SeqCst),
                )
            });
        });
    }
}

#[test]
fn the_end_of_a_finish_runs_a_job() {
    let pool = pool(2, ReturnBarrier::default());
    for _ in 0..rounds(100) {
        let (send, receive) = channel();
        let pool = &pool;
        let begun = &AtomicBool::new(false);
        pool.run(|mut w| {
            w.finish(|scope| {
                scope.spawn(move |_| {
                    begun.store(true, SeqCst);
                    pool.spawn(move |_| send.send(7).unwrap());
                    assert_eq!(receive.recv(), Ok(7));
                });
                wait_for(begun);
            });
        });
    }
}

#[test]
fn a_worker_that_waits_for_another_pool_runs_its_own_pools_jobs() {
    let (a, b) = (
        pool(1, ReturnBarrier::default()),
        pool(1, ReturnBarrier::default()),
    );
    for _ in 0..rounds(100) {
        let (send, receive) = channel();
        let receive = Mutex::new(receive);
        let job = move |_: Token<'_>| send.send(7).unwrap();
        let answer = a.run(|_| {
            b.run(|_| {
                a.spawn(job);
                // The only worker of `a` waits for this call.
                receive.lock().unwrap().recv()
            })
        });
        assert_eq!(answer, Ok(7));
    }
}

#[test]
fn a_blocked_future_runs_nothing_unrelated() {
    let pool = &pool(3, ReturnBarrier::default());
    let flags = [(); 4].map(|()| AtomicBool::new(false));
    let [is_busy, is_stolen, has_run, may_end] = &flags;
    thread::scope(|scope| {
        scope.spawn(|| {
            pool.run(|_| {
                is_busy.store(true, SeqCst);
                wait_for(may_end);
            })
        });
        wait_for(is_busy);
        let stolen = || {
            is_stolen.store(true, SeqCst);
            wait_for(may_end);
        };
        scope.spawn(move || pool.finish(|scope| scope.future(|w| block(w, stolen)).get()));
        wait_for(is_stolen);
        // One worker is busy, one waits in the future, and one runs what the future waits for.
        scope.spawn(|| pool.run(|_| has_run.store(true, SeqCst)));
        thread::sleep(Duration::from_millis(50));
        let was_early = has_run.load(SeqCst);
        may_end.store(true, SeqCst);
        assert!(!was_early, "the call might have waited for the future");
    });
    assert!(has_run.load(SeqCst));
}

#[test]
fn unrelated_jobs_do_not_overflow_the_stack() {
    let builder = Pool::builder().workers(2).stack_size(256 << 10);
    let builder = builder.spare_workers(0).run_anything_while_blocked(true);
    let pool = builder.build().unwrap();
    static SUM: AtomicU64 = AtomicU64::new(0);
    fn job(mut w: Token<'_>) {
        let compute = || {
            let begin = Instant::now();
            while begin.elapsed() < Duration::from_micros(5) {}
        };
        let variables = std::hint::black_box([1; 200]);
        w.join(|_| compute(), |_| compute());
        SUM.fetch_add(variables.iter().sum::<u64>(), SeqCst);
    }
    let jobs = rounds(20_000) as u64;
    for _ in 0..jobs {
        pool.spawn(job);
    }
    pool.wait();
    assert_eq!(SUM.load(SeqCst), 200 * jobs);
}

#[test]
fn a_scope_that_a_plain_thread_opens_is_no_future() {
    must_end("a scope opened outside of the pool", || {
        let pool = &pool(2, ReturnBarrier::default());
        for _ in 0..rounds(20) {
            let (send, receive) = channel();
            let stolen = move || {
                pool.spawn(move |_| send.send(7).unwrap());
                assert_eq!(receive.recv(), Ok(7));
            };
            pool.finish(|scope| scope.spawn(|w| block(w, stolen)));
        }
    });
}

#[test]
fn a_wait_ignores_a_chain_that_begins_later_on_top_of_an_older_job() {
    static BEGUN: AtomicBool = AtomicBool::new(false);
    static MAY_END: AtomicBool = AtomicBool::new(false);
    static STOPS: AtomicBool = AtomicBool::new(false);
    static TICKS: AtomicU64 = AtomicU64::new(0);
    fn tick(w: Token<'_>) {
        TICKS.fetch_add(1, SeqCst);
        if !STOPS.load(SeqCst) {
            w.pool().spawn(tick);
        }
    }
    must_end("a wait", || {
        let pool = pool(2, ReturnBarrier::default());
        pool.spawn(|w| {
            block(w, || {
                BEGUN.store(true, SeqCst);
                wait_for(&MAY_END);
            })
        });
        wait_for(&BEGUN);
        thread::scope(|scope| {
            let wait = scope.spawn(|| pool.wait());
            // The wait must begin before the chain does.
            thread::sleep(Duration::from_millis(200));
            pool.spawn(tick);
            while TICKS.load(SeqCst) < 100 {
                thread::yield_now();
            }
            MAY_END.store(true, SeqCst);
            wait.join().unwrap();
        });
        STOPS.store(true, SeqCst);
    });
}
