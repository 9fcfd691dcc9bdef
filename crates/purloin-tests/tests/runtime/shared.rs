//! Tests of the documentation's promises about shared handles.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::*};
use std::sync::{Arc, OnceLock};
use std::thread;
use std::time::Duration;

use crate::common::{self, busy, rounds};
use purloin::{Pool, Scheduler, Serial, SharedHandle, Worker, when_all};

/// Width and height of a grid of tasks.
const GRID: usize = if cfg!(miri) { 4 } else { 24 };
/// Number of threads that get one result.
const GETTERS: usize = if cfg!(miri) { 3 } else { 12 };

common::under_two_schedulers! {
    for workers in common::workers([1, 2, 5]), Pool::builder().workers(workers);
    each_node_of_a_graph_runs_once_and_after_those_on_which_it_depends,
    all_workers_may_wait_for_one_result,
    threads_outside_may_wait_for_one_result,
    each_get_of_a_task_that_panics_panics,
    tasks_of_a_finish_may_share_what_they_borrow,
    a_result_that_is_shared_is_dropped_once,
    no_task_begins_before_its_dependencies_have_ended,
    a_task_begins_after_a_dependency_that_panics,
    dependencies_of_another_scope_and_plain_handles_do_not_hang,
    a_scope_waits_for_tasks_that_begin_late,
}

/// A grid in which each task waits for its neighbours above and to the left. Its result is the
/// number of paths to it.
fn paths<W: Worker>(mut w: W, runs: &Arc<AtomicUsize>) -> u64 {
    let mut row: Vec<SharedHandle<u64>> = Vec::new();
    for i in 0..GRID {
        for j in 0..GRID {
            let above = row.get(j).cloned();
            let left = j.checked_sub(1).map(|left| row[left].clone());
            let runs = Arc::clone(runs);
            let node = w.future(move |_| {
                runs.fetch_add(1, Relaxed);
                let paths = |node: &SharedHandle<u64>| *node.get();
                let sum = above.as_ref().map_or(0, paths) + left.as_ref().map_or(0, paths);
                if i + j == 0 { 1 } else { sum % 1_000_007 }
            });
            match i {
                0 => row.push(node.share()),
                _ => row[j] = node.share(),
            }
        }
    }
    *row[GRID - 1].get()
}

fn each_node_of_a_graph_runs_once_and_after_those_on_which_it_depends(pool: Pool<impl Scheduler>) {
    let serial = paths(Serial, &Arc::default());
    for _ in 0..rounds(100) {
        let runs = Arc::default();
        assert_eq!(pool.run(|w| paths(w, &runs)), serial);
        assert_eq!(runs.load(Relaxed), GRID * GRID);
    }
}

fn all_workers_may_wait_for_one_result(pool: Pool<impl Scheduler>) {
    for _ in 0..rounds(50) {
        let runs = AtomicUsize::new(0);
        let sum = AtomicUsize::new(0);
        pool.run(|mut w| {
            w.finish(|scope| {
                let slow = scope.future(|_| {
                    busy(Duration::from_micros(200));
                    runs.fetch_add(1, Relaxed);
                    7
                });
                let slow = slow.share();
                for _ in 0..GETTERS {
                    let slow = slow.clone();
                    let sum = &sum;
                    scope.spawn(move |_| {
                        sum.fetch_add(*slow.get(), Relaxed);
                    });
                }
            });
        });
        assert_eq!((runs.into_inner(), sum.into_inner()), (1, 7 * GETTERS));
    }
}

fn threads_outside_may_wait_for_one_result(pool: Pool<impl Scheduler>) {
    pool.run(|mut w| {
        let slow = w.future(|_| {
            busy(Duration::from_micros(500));
            7
        });
        let slow = slow.share();
        thread::scope(|threads| {
            for _ in 0..GETTERS {
                threads.spawn(|| assert_eq!(*slow.get(), 7));
            }
            assert_eq!(*slow.get(), 7);
        });
        assert!(slow.is_done());
    });
}

fn each_get_of_a_task_that_panics_panics(pool: Pool<impl Scheduler>) {
    pool.run(|mut w| {
        let future = w.future(|_| -> u32 { panic!("the task's own panic") });
        let shared = future.share();
        let message = |get: &dyn Fn() -> u32| {
            let panic = catch_unwind(AssertUnwindSafe(get)).unwrap_err();
            *panic.downcast_ref::<&str>().unwrap()
        };
        assert_eq!(message(&|| *shared.get()), "the task's own panic");
        let other = shared.clone();
        let later = message(&|| *other.get());
        assert!(later.contains("has panicked"), "{later}");
    });
}

fn tasks_of_a_finish_may_share_what_they_borrow(pool: Pool<impl Scheduler>) {
    let words = ["steal", "pilfer", "purloin"];
    let lengths = AtomicUsize::new(0);
    pool.run(|mut w| {
        w.finish(|scope| {
            let longest = scope.future(|_| words.iter().max_by_key(|word| word.len()).unwrap());
            let longest = longest.share();
            for _ in 0..3 {
                let (longest, lengths) = (longest.clone(), &lengths);
                scope.spawn(move |_| {
                    lengths.fetch_add(longest.get().len(), Relaxed);
                });
            }
        });
    });
    assert_eq!(lengths.into_inner(), 21);
}

fn a_result_that_is_shared_is_dropped_once(pool: Pool<impl Scheduler>) {
    let counter = Arc::new(());
    for gets in 0..3 {
        pool.run(|mut w| {
            let value = Arc::clone(&counter);
            let shared = w.future(move |_| value).share();
            let clones = vec![shared; 3];
            for shared in clones.iter().take(gets) {
                assert!(Arc::ptr_eq(shared.get(), &counter));
            }
        });
        assert_eq!(Arc::strong_count(&counter), 1);
    }
}

fn no_task_begins_before_its_dependencies_have_ended(pool: Pool<impl Scheduler>) {
    for round in 0..rounds(50) {
        let ended: Vec<AtomicBool> = (0..GRID * GRID).map(|_| AtomicBool::new(false)).collect();
        let ended = &ended;
        pool.run(|mut w| {
            w.finish(|scope| {
                let mut nodes: Vec<SharedHandle<usize>> = Vec::new();
                for i in 0..GRID * GRID {
                    let mut before: Vec<usize> = (1..4).map(|k| i * k * 7 / (8 + round)).collect();
                    before.retain(|&other| other < i);
                    let dependencies: Vec<_> = before.iter().map(|&j| nodes[j].clone()).collect();
                    nodes.push(scope.after(&dependencies).shared_future(move |mut w| {
                        assert!(before.iter().all(|&other| ended[other].load(SeqCst)));
                        let sum: usize = dependencies.iter().map(|node| node.get()).sum();
                        w.join(|_| (), |_| ended[i].store(true, SeqCst));
                        (1 + sum) % 1009
                    }));
                }
                // The others end before the finish does.
                drop(nodes.split_off(GRID));
            });
        });
        assert!(ended.iter().all(|ended| ended.load(SeqCst)));
    }
}

fn a_task_begins_after_a_dependency_that_panics(pool: Pool<impl Scheduler>) {
    let begun = AtomicUsize::new(0);
    let run = || {
        pool.run(|mut w| {
            w.finish(|scope| {
                let fails = scope.shared_future(|_| -> u32 { panic!("a dependency panics") });
                let begun = &begun;
                scope.after([&fails]).spawn(move |_| {
                    begun.fetch_add(1, Relaxed);
                });
            });
        });
    };
    assert!(
        catch_unwind(AssertUnwindSafe(run)).is_err(),
        "nobody gets the result"
    );
    assert_eq!(begun.load(Relaxed), 1);
}

fn dependencies_of_another_scope_and_plain_handles_do_not_hang(pool: Pool<impl Scheduler>) {
    let sum = pool.run(|mut w| {
        let plain = w.future(|_| 1).share();
        w.finish(|outer| {
            let first = outer.shared_future(|_| 2);
            let after = outer.join(
                |mut w| {
                    w.finish(|inner| {
                        let both = [plain.clone(), first.clone()];
                        let sum = inner.after(&both).shared_future(move |_| {
                            both.iter().map(|handle| handle.get()).sum::<i32>()
                        });
                        *sum.get()
                    })
                },
                |_| *first.get(),
            );
            after.0 + after.1
        })
    });
    assert_eq!(sum, 5);
}

fn a_scope_waits_for_tasks_that_begin_late(pool: Pool<impl Scheduler>) {
    for _ in 0..rounds(20) {
        let ran = AtomicUsize::new(0);
        pool.run(|mut w| {
            let ran = &ran;
            w.finish(|scope| {
                let mut last = scope.shared_future(|_| busy(Duration::from_micros(50)));
                for _ in 0..10 {
                    last = scope.after([&last]).shared_future(|mut w| {
                        w.finish(|inner| inner.spawn(|_| ()));
                        ran.fetch_add(1, Relaxed);
                    });
                }
            });
            assert_eq!(ran.load(Relaxed), 10);
        });
    }
}

#[test]
fn graphs_run_on_one_worker_without_spares() {
    let pool = Pool::builder().workers(1).spare_workers(0).build().unwrap();
    dependencies_of_another_scope_and_plain_handles_do_not_hang(pool);
}

#[test]
fn graphs_run_serially() {
    let total = Serial.finish(|scope| {
        let first = scope.shared_future(|_| 3);
        let second = scope.after([&first]).shared_future({
            let first = first.clone();
            move |_| first.get() * 2
        });
        first.get() + second.get()
    });
    assert_eq!(total, 9);
}

#[test]
fn a_task_that_waits_for_itself_panics() {
    let pool = Pool::builder().workers(1).build().unwrap();
    let itself: Arc<OnceLock<SharedHandle<u32>>> = Arc::default();
    let get = || {
        pool.run(|mut w| {
            let found = Arc::clone(&itself);
            let shared = w.future(move |_| *found.get().unwrap().get()).share();
            itself.set(shared.clone()).unwrap();
            *shared.get()
        })
    };
    let panic = catch_unwind(AssertUnwindSafe(get)).unwrap_err();
    let message = panic.downcast_ref::<&str>().unwrap();
    assert!(message.contains("waits for its own result"), "{message}");
}

#[test]
fn a_task_that_waits_for_itself_after_a_thread_outside_panics() {
    let pool = Pool::builder().workers(2).build().unwrap();
    let itself = OnceLock::new();
    pool.run(|mut w| {
        w.finish(|scope| {
            let found = &itself;
            let shared: SharedHandle<u32> = scope.shared_future(move |_| {
                let itself: &SharedHandle<u32> = found.wait();
                // Meanwhile the thread outside begins to wait.
                thread::sleep(Duration::from_millis(20));
                *itself.get()
            });
            itself.set(shared.clone()).unwrap();
            let outside = thread::spawn(move || *shared.get());
            assert!(outside.join().is_err());
        });
    });
}

/// The first worker that waits runs a task that waits for a thread, which waits for the same
/// result.
#[test]
fn the_end_of_a_task_wakes_every_thread_that_waits_for_it() {
    let pool = Pool::builder().workers(2).build().unwrap();
    let begun = AtomicBool::new(false);
    pool.run(|mut w| {
        w.finish(|scope| {
            let (send, received) = std::sync::mpsc::channel();
            let begun = &begun;
            let task = scope.shared_future(move |_| {
                begun.store(true, SeqCst);
                // Meanwhile the worker begins to wait, and helps.
                thread::sleep(Duration::from_millis(10));
                scope.spawn(move |_| received.recv_timeout(Duration::from_secs(20)).unwrap());
                thread::sleep(Duration::from_millis(40));
            });
            while !begun.load(SeqCst) {
                thread::yield_now();
            }
            thread::scope(|threads| {
                threads.spawn(|| {
                    thread::sleep(Duration::from_millis(20));
                    task.get();
                    send.send(()).unwrap();
                });
                task.get();
            });
        });
    });
}

#[test]
fn all_results_come_in_the_order_of_their_handles() {
    let pool = Pool::builder().workers(2).build().unwrap();
    pool.run(|_| {
        let futures = (0..100).map(|n| purloin::future(move || n)).collect();
        assert!(when_all(futures).get().into_iter().eq(0..100));
        let none: Vec<u32> = when_all(Vec::new()).get();
        assert!(none.is_empty());
        let futures = vec![
            purloin::future(|| 1),
            purloin::future(|| panic!("one panics")),
        ];
        assert!(catch_unwind(AssertUnwindSafe(|| when_all(futures).get())).is_err());
    });
}
