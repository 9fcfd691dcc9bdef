//! Programs that rayon's own engine runs to the end, and Purloin must, too.

use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use rayon::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};
use rayon_programs::{ends, pool};

fn yield_until(flag: &AtomicBool) {
    while !flag.load(SeqCst) {
        rayon::yield_now();
    }
}

#[test]
fn yield_now_runs_the_tasks_of_a_scope() {
    ends(|| {
        let flag = AtomicBool::new(false);
        pool(1).install(|| {
            rayon::scope(|scope| {
                scope.spawn(|_| flag.store(true, SeqCst));
                yield_until(&flag);
            });
        });
    });
}

#[test]
fn a_task_that_another_thread_yields_for_may_ask_for_its_index() {
    for threads in [1, 2] {
        ends(move || {
            let flag = AtomicBool::new(false);
            let ask = || {
                assert!(rayon::current_thread_index().unwrap() < threads);
                flag.store(true, SeqCst);
            };
            pool(threads).install(|| {
                rayon::join(|| yield_until(&flag), ask);
            });
        });
    }
}

#[test]
fn yield_now_runs_the_other_closure_of_a_join() {
    ends(|| {
        let flag = AtomicBool::new(false);
        pool(1).install(|| rayon::join(|| yield_until(&flag), || flag.store(true, SeqCst)));
    });
}

#[test]
fn yield_now_runs_broadcasts() {
    ends(|| {
        static FLAG: AtomicBool = AtomicBool::new(false);
        pool(1).install(|| {
            rayon::spawn_broadcast(|_| FLAG.store(true, SeqCst));
            yield_until(&FLAG);
        });
    });
}

#[test]
fn yield_now_runs_calls_in_a_pool_without_spare_threads() {
    ends(|| {
        let (yields, flag) = (AtomicBool::new(false), AtomicBool::new(false));
        let builder = ThreadPoolBuilder::new().num_threads(1);
        let run = |pool: &ThreadPool| {
            thread::scope(|scope| {
                scope.spawn(|| {
                    pool.install(|| {
                        yields.store(true, SeqCst);
                        yield_until(&flag);
                    });
                });
                while !yields.load(SeqCst) {
                    thread::yield_now();
                }
                pool.install(|| flag.store(true, SeqCst));
            });
        };
        builder.build_scoped(|thread| thread.run(), run).unwrap();
    });
}

#[test]
fn two_pools_may_wait_for_each_other_a_hundred_times() {
    fn descend(a: &'static ThreadPool, b: &'static ThreadPool, depth: u32) {
        if depth == 0 {
            return;
        }
        b.install(|| {
            let flag: &'static AtomicBool = Box::leak(Box::default());
            a.spawn(move || {
                descend(a, b, depth - 1);
                flag.store(true, SeqCst);
            });
            yield_until(flag);
        });
    }
    let (a, b) = (Box::leak(Box::new(pool(1))), Box::leak(Box::new(pool(1))));
    ends(|| a.install(|| descend(a, b, 100)));
}

#[test]
fn a_waiting_pool_without_spare_threads_runs_other_jobs() {
    ends(|| {
        let builder = ThreadPoolBuilder::new().num_threads(2);
        let run = |pool: &ThreadPool| {
            pool.install(|| {
                let begun = AtomicBool::new(false);
                let (send, receive) = channel();
                let is_begun = &begun;
                let second = move || {
                    is_begun.store(true, SeqCst);
                    rayon::spawn(move || send.send(7).unwrap());
                    receive.recv()
                };
                let first = || {
                    while !begun.load(SeqCst) {
                        thread::yield_now();
                    }
                };
                assert_eq!(rayon::join(first, second).1, Ok(7));
            });
        };
        builder.build_scoped(|thread| thread.run(), run).unwrap();
    });
}

#[test]
fn a_pool_that_cannot_be_built_leaves_the_calling_thread_alone() {
    let build = |name: fn(usize) -> String| {
        let builder = ThreadPoolBuilder::new().num_threads(2).thread_name(name);
        builder.use_current_thread().build()
    };
    thread::spawn(move || {
        let failed = catch_unwind(AssertUnwindSafe(|| build(|_| panic!("no name"))));
        assert!(failed.is_err());
        assert_eq!(rayon::current_thread_index(), None);
    })
    .join()
    .unwrap();
}

#[test]
fn the_thread_that_builds_a_pool_runs_no_start_handler() {
    ends(|| {
        let (send, started) = channel();
        let send = Mutex::new(send);
        thread::spawn(move || {
            let start = move |index| send.lock().unwrap().send(index).unwrap();
            let builder = ThreadPoolBuilder::new().num_threads(2).start_handler(start);
            let pool = builder.use_current_thread().build().unwrap();
            assert_eq!(pool.current_thread_index(), Some(0));
            pool.broadcast(|_| ());
        })
        .join()
        .unwrap();
        assert_eq!(started.recv(), Ok(1));
        assert!(started.try_recv().is_err());
    });
}

#[test]
fn a_destructor_of_a_thread_that_was_in_a_pool_may_spawn() {
    struct Spawns;
    impl Drop for Spawns {
        fn drop(&mut self) {
            rayon::scope(|scope| scope.spawn(|_| RUN.store(true, SeqCst)));
        }
    }
    static RUN: AtomicBool = AtomicBool::new(false);
    thread_local!(static SPAWNS: Spawns = const { Spawns });
    ends(|| {
        let thread = thread::spawn(|| {
            SPAWNS.with(|_| ());
            let builder = ThreadPoolBuilder::new().num_threads(2).use_current_thread();
            builder.build().unwrap();
        });
        thread.join().unwrap();
        assert!(RUN.load(SeqCst));
    });
}

/// Returns the time that `f` takes.
fn time(f: impl FnOnce()) -> Duration {
    let start = Instant::now();
    f();
    start.elapsed()
}

#[test]
fn a_broadcast_waits_for_one_long_job_and_not_for_many() {
    let pool = pool(2);
    let ended = Arc::new(AtomicUsize::new(0));
    for _ in 0..60 {
        let ended = Arc::clone(&ended);
        pool.spawn(move || {
            thread::sleep(Duration::from_millis(10));
            ended.fetch_add(1, SeqCst);
        });
    }
    pool.broadcast(|_| ());
    assert!(ended.load(SeqCst) < 30, "{ended:?}");
}

#[test]
fn a_thread_resumes_between_jobs_that_ask_for_their_index() {
    let (pool, other) = (pool(1), Arc::new(pool(1)));
    let (send, receive) = channel();
    pool.spawn(move || {
        let time = time(|| other.install(|| thread::sleep(Duration::from_millis(30))));
        send.send(time).unwrap();
    });
    for _ in 0..40 {
        pool.spawn(|| {
            assert_eq!(rayon::current_thread_index(), Some(0));
            thread::sleep(Duration::from_millis(20));
        });
    }
    let time = receive.recv().unwrap();
    assert!(time < Duration::from_millis(400), "{time:?}");
}

#[test]
fn yield_now_says_idle_if_the_job_is_gone() {
    pool(1).install(|| {
        rayon::spawn(|| ());
        assert_eq!(rayon::yield_local(), Some(rayon::Yield::Executed));
        assert_eq!(rayon::yield_now(), Some(rayon::Yield::Idle));
    });
}

#[test]
fn yield_now_runs_one_job() {
    ends(|| {
        let pool = ThreadPoolBuilder::new().num_threads(1).build().unwrap();
        let count = Arc::new(AtomicUsize::new(0));
        pool.install(|| {
            for _ in 0..100 {
                let count = Arc::clone(&count);
                rayon::spawn(move || _ = count.fetch_add(1, SeqCst));
            }
            for expected in 1..=10 {
                assert_eq!(rayon::yield_now(), Some(rayon::Yield::Executed));
                assert_eq!(count.load(SeqCst), expected);
            }
        });
    });
}

#[test]
fn a_pool_of_one_thread_runs_one_call_at_a_time() {
    ends(|| {
        let pool = ThreadPoolBuilder::new().num_threads(1).build().unwrap();
        let running = AtomicUsize::new(0);
        let call = || {
            assert_eq!(running.fetch_add(1, SeqCst), 0);
            thread::sleep(Duration::from_millis(50));
            running.fetch_sub(1, SeqCst);
        };
        thread::scope(|scope| {
            for _ in 0..6 {
                scope.spawn(|| pool.install(call));
            }
        });
    });
}

#[test]
fn a_call_may_ask_for_its_index_and_hold_a_lock_that_a_long_call_needs() {
    ends(|| {
        let pool = ThreadPoolBuilder::new().num_threads(1).build().unwrap();
        let lock = Mutex::new(0);
        thread::scope(|scope| {
            scope.spawn(|| {
                pool.install(|| {
                    thread::sleep(Duration::from_millis(100));
                    *lock.lock().unwrap() += 1;
                })
            });
            thread::sleep(Duration::from_millis(10));
            pool.install(|| {
                let mut sum = lock.lock().unwrap();
                *sum += rayon::current_thread_index().unwrap();
            });
        });
    });
}

#[test]
fn a_pool_that_is_the_current_thread_runs_everything_there() {
    ends(|| {
        let on_thread = || {
            let other = ThreadPoolBuilder::new().num_threads(1).build().unwrap();
            let builder = ThreadPoolBuilder::new().num_threads(1).use_current_thread();
            let _pool = builder.build().unwrap();
            let here = thread::current().id();
            (0..20).into_par_iter().for_each(|_| {
                other.install(|| thread::sleep(Duration::from_millis(1)));
                assert_eq!(thread::current().id(), here);
            });
        };
        thread::spawn(on_thread).join().unwrap();
    });
}

/// A spawn must not run a task, however many wait: the tasks need the lock that the spawner holds.
#[test]
fn a_lock_may_be_held_over_ten_thousand_spawns() {
    fn spawn<'s>(scope: &rayon::Scope<'s>, count: &'s Mutex<usize>) {
        let held = count.lock().unwrap();
        (0..10_000).for_each(|_| scope.spawn(|_| *count.lock().unwrap() += 1));
        drop(held);
    }
    for threads in [1, 2] {
        ends(|| {
            let count = Mutex::new(0);
            pool(threads).scope(|scope| spawn(scope, &count));
            pool(threads).in_place_scope(|scope| spawn(scope, &count));
            assert_eq!(count.into_inner().unwrap(), 20_000);
        });
    }
}

/// The same with a cell of the spawning thread, whose second borrow would panic.
#[test]
fn a_cell_may_be_borrowed_over_ten_thousand_spawns() {
    thread_local!(static CELL: RefCell<usize> = const { RefCell::new(0) });
    ends(|| {
        let ran = AtomicUsize::new(0);
        let ran = &ran;
        pool(1).scope(|scope| {
            CELL.with(|cell| {
                let borrowed = cell.borrow_mut();
                for _ in 0..10_000 {
                    scope.spawn(|_| {
                        CELL.with(|cell| *cell.borrow_mut() += 1);
                        ran.fetch_add(1, SeqCst);
                    });
                }
                drop(borrowed);
            });
        });
        assert_eq!(ran.load(SeqCst), 10_000);
    });
}

#[test]
fn ten_thousand_tasks_may_wait_for_what_the_body_sends_after_it_has_spawned_them() {
    ends(|| {
        let (send, receive) = channel();
        let (receive, sum) = (Mutex::new(receive), AtomicUsize::new(0));
        let (receive, sum) = (&receive, &sum);
        pool(2).scope(|scope| {
            for _ in 0..10_000 {
                scope.spawn(|_| {
                    let number = receive.lock().unwrap().recv().unwrap();
                    sum.fetch_add(number, SeqCst);
                });
            }
            (0..10_000).for_each(|_| send.send(1).unwrap());
        });
        assert_eq!(sum.load(SeqCst), 10_000);
    });
}
