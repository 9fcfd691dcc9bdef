//! Tests of the order of tasks that begin [after](purloin::Scope::after) others. They look at what a
//! task sees when it begins, not only at its result.

use std::cell::Cell;
use std::future::IntoFuture;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::*};
use std::sync::mpsc::channel;
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll, Waker};
use std::thread;
use std::time::Duration;

use crate::common::{self, busy, rounds};
use purloin::{Pool, ReturnBarrier, Scheduler, Serial, SharedHandle, Worker};

/// Number of tasks on which one task depends.
const MANY: usize = if cfg!(miri) { 5 } else { 500 };

common::under_two_schedulers! {
    for workers in common::workers([1, 2, 4]), Pool::builder().workers(workers);
    a_task_that_is_got_early_begins_after_its_input,
    a_task_that_is_got_early_begins_after_all_of_many_inputs,
    a_task_that_many_threads_get_begins_after_its_inputs,
    a_task_begins_after_inputs_of_other_scopes,
    a_task_begins_after_inputs_that_it_does_not_get,
}

// The body waits for a thread outside, and the channel scheduler has no spare workers.
common::under_two_schedulers! {
    for workers in common::workers([2, 4]), Pool::builder().workers(workers);
    a_task_that_is_awaited_begins_after_its_inputs,
    a_future_with_inputs_is_got_once_and_by_anybody,
    random_graphs_keep_their_order_whoever_gets_their_results,
    a_worker_that_gets_many_results_answers_thieves,
}

#[test]
fn a_worker_that_gets_many_results_answers_thieves_that_cannot_force() {
    let scheduler = ReturnBarrier::default().forced_steals(false);
    let pool = Pool::builder().workers(2).scheduler(scheduler).build();
    a_worker_that_gets_many_results_answers_thieves(pool.unwrap());
}

#[test]
fn random_graphs_keep_their_order_on_one_worker() {
    let pool = Pool::builder().workers(1).build().unwrap();
    random_graphs_keep_their_order_whoever_gets_their_results(pool);
}

#[test]
fn a_task_that_is_awaited_begins_after_its_inputs_on_one_worker() {
    let pool = Pool::builder().workers(1).build().unwrap();
    a_task_that_is_awaited_begins_after_its_inputs(pool);
}

fn a_task_that_is_got_early_begins_after_its_input(pool: Pool<impl Scheduler>) {
    for _ in 0..rounds(50) {
        let has_ended = &AtomicBool::new(false);
        let saw_the_end = pool.run(|mut w| {
            w.finish(|scope| {
                let input = scope.shared_future(|_| {
                    busy(Duration::from_micros(100));
                    has_ended.store(true, Relaxed);
                });
                let task = scope.after([&input]);
                *task.shared_future(|_| has_ended.load(Relaxed)).get()
            })
        });
        assert!(saw_the_end);
    }
}

fn a_task_that_is_got_early_begins_after_all_of_many_inputs(pool: Pool<impl Scheduler>) {
    let ended = &AtomicUsize::new(0);
    let seen = pool.run(|mut w| {
        w.finish(|scope| {
            let inputs: Vec<_> = (0..MANY)
                .map(|_| scope.shared_future(|_| ended.fetch_add(1, Relaxed)))
                .collect();
            let sink = scope.after(&inputs).shared_future(|_| ended.load(Relaxed));
            *sink.get()
        })
    });
    assert_eq!(seen, MANY);
}

fn a_task_that_many_threads_get_begins_after_its_inputs(pool: Pool<impl Scheduler>) {
    for _ in 0..rounds(20) {
        let ended = &AtomicUsize::new(0);
        pool.run(|mut w| {
            w.finish(|scope| {
                let mut layer: Vec<SharedHandle<()>> = Vec::new();
                for _ in 0..4 {
                    let next = (0..3).map(|_| {
                        scope.after(&layer).shared_future(|_| {
                            busy(Duration::from_micros(5));
                            ended.fetch_add(1, Relaxed);
                        })
                    });
                    layer = next.collect();
                }
                let sink = scope.after(&layer).shared_future(|_| ended.load(Relaxed));
                for _ in 0..3 {
                    let sink = sink.clone();
                    scope.spawn(move |_| assert_eq!(*sink.get(), 12));
                }
                thread::scope(|threads| {
                    threads.spawn(|| assert_eq!(*sink.get(), 12));
                    assert_eq!(*sink.get(), 12);
                });
            });
        });
    }
}

/// The result is not `Sync`, so that only a unique handle can move it to another thread.
fn a_future_with_inputs_is_got_once_and_by_anybody(pool: Pool<impl Scheduler>) {
    for _ in 0..rounds(20) {
        let ended = &AtomicUsize::new(0);
        let drops = &AtomicUsize::new(0);
        struct Result<'d>(Cell<usize>, &'d AtomicUsize);
        impl Drop for Result<'_> {
            fn drop(&mut self) {
                self.1.fetch_add(1, Relaxed);
            }
        }
        pool.run(|mut w| {
            w.finish(|scope| {
                let inputs: Vec<SharedHandle<()>> = (0..3)
                    .map(|_| {
                        scope.shared_future(|_| {
                            busy(Duration::from_micros(5));
                            ended.fetch_add(1, Relaxed);
                        })
                    })
                    .collect();
                let make = || {
                    let task = move |_: &()| Result(Cell::new(ended.load(Relaxed)), drops);
                    scope.after(&inputs).future(move |_| task(&()))
                };
                let seen = |result: Result<'_>| assert_eq!(result.0.take(), 3);
                let (outside, task) = (make(), make());
                scope.spawn(move |_| seen(task.get()));
                thread::scope(|threads| {
                    let getting = threads.spawn(move || seen(outside.get()));
                    // Without a free worker, the body must leave the tasks to one.
                    purloin::blocking(|| getting.join().unwrap());
                });
                drop(make());
                let mut awaited = pin!(make().into_future());
                let mut context = Context::from_waker(Waker::noop());
                loop {
                    match awaited.as_mut().poll(&mut context) {
                        Poll::Ready(result) => break seen(result),
                        Poll::Pending => purloin::blocking(thread::yield_now),
                    }
                }
                // Without inputs, and shared afterwards.
                let first = scope.after::<()>([]).future(|_| 7).share();
                let second = scope.after([&first]).future(|_| 8).share();
                assert_eq!(
                    *scope
                        .after([&second])
                        .shared_future(move |_| *second.get())
                        .get(),
                    8
                );
                seen(make().try_get().unwrap());
            });
        });
        assert_eq!(drops.load(Relaxed), 5);
    }
}

#[test]
fn the_panic_of_a_future_with_inputs_goes_where_others_go() {
    let run = |gets: bool| {
        common::pool(2).run(|mut w| {
            w.finish(|scope| {
                let input = scope.shared_future(|_| ());
                let failing = scope.after([&input]).future(|_| panic!("expected"));
                if gets {
                    let result = catch_unwind(AssertUnwindSafe(|| failing.get()));
                    assert_eq!(common::message(result.unwrap_err()), "expected");
                }
            });
        });
    };
    run(true);
    let unfetched = catch_unwind(|| run(false));
    assert_eq!(common::message(unfetched.unwrap_err()), "expected");
}

#[test]
fn errors_pass_through_a_graph_without_a_copy() {
    #[derive(Debug)]
    struct Broken;
    let result: Result<u32, Arc<Broken>> = common::pool(2).run(|mut w| {
        w.finish(|scope| {
            let good = scope.shared_future(|_| Ok::<u32, Arc<Broken>>(1));
            let broken = scope.shared_future(|_| Err::<u32, _>(Arc::new(Broken)));
            let (a, b) = (good.clone(), broken.clone());
            let middle = scope
                .after([&good, &broken])
                .shared_future(move |_| Ok(a.ok()? + b.ok()?));
            let last = scope.after([&middle]).future({
                let middle = middle.clone();
                move |_| middle.ok().map(|sum| sum + 1)
            });
            let last = last.get();
            let original = broken.ok().unwrap_err();
            assert!(
                last.as_ref()
                    .is_err_and(|error| Arc::ptr_eq(error, &original))
            );
            assert_eq!(good.ok().copied().unwrap(), 1);
            last
        })
    });
    assert!(result.is_err());
}

/// The executor of this test polls without a wait.
fn a_task_that_is_awaited_begins_after_its_inputs(pool: Pool<impl Scheduler>) {
    for on_worker in [true, false] {
        let ended = &AtomicUsize::new(0);
        let poll = |sink: &SharedHandle<usize>| {
            let mut sink = pin!(sink.into_future());
            let mut context = Context::from_waker(Waker::noop());
            loop {
                match sink.as_mut().poll(&mut context) {
                    Poll::Ready(&seen) => return seen,
                    Poll::Pending => purloin::blocking(thread::yield_now),
                }
            }
        };
        pool.run(|mut w| {
            w.finish(|scope| {
                let mut last = scope.shared_future(|_| {
                    busy(Duration::from_micros(100));
                    ended.fetch_add(1, Relaxed);
                });
                for _ in 0..5 {
                    last = scope.after([&last]).shared_future(|_| {
                        ended.fetch_add(1, Relaxed);
                    });
                }
                let sink = scope.after([&last]).shared_future(|_| ended.load(Relaxed));
                let poll = || assert_eq!(poll(&sink), 6);
                match on_worker {
                    true => poll(),
                    false => thread::scope(|threads| {
                        let polling = threads.spawn(poll);
                        // Without a free worker, the body must leave the tasks to one.
                        purloin::blocking(|| polling.join().unwrap());
                    }),
                }
            });
        });
    }
}

/// The thief becomes free when the tasks are there and the worker pushes no more.
fn a_worker_that_gets_many_results_answers_thieves(pool: Pool<impl Scheduler>) {
    let gets = &AtomicBool::new(false);
    let helped = &AtomicBool::new(false);
    let run = |getter| {
        gets.store(true, Release);
        if thread::current().id() != getter {
            helped.store(true, Relaxed);
        } else if !helped.load(Relaxed) {
            busy(Duration::from_millis(1));
        }
    };
    let is_stolen = &AtomicBool::new(false);
    pool.run(|mut w| {
        w.finish(|scope| {
            scope.spawn(|_| {
                is_stolen.store(true, Release);
                common::wait_for(gets);
            });
            while !is_stolen.load(Acquire) {
                scope.join(|_| (), |_| ());
            }
            let getter = thread::current().id();
            let inputs: Vec<_> = (0..2_000)
                .map(|_| scope.shared_future(move |_| run(getter)))
                .collect();
            scope.after(&inputs).shared_future(|_| ()).get();
        })
    });
    assert!(helped.load(Relaxed), "the thief got no task");
}

fn a_task_begins_after_inputs_of_other_scopes(pool: Pool<impl Scheduler>) {
    for _ in 0..rounds(20) {
        let ended = &AtomicUsize::new(0);
        let slow = move || {
            busy(Duration::from_micros(50));
            ended.fetch_add(1, Relaxed);
        };
        pool.run(|mut w| {
            w.finish(|outer| {
                let of_outer = outer.shared_future(move |_| slow());
                let plain = outer.future(move |_| slow()).share();
                outer.join(
                    |mut w| {
                        w.finish(|inner| {
                            let task = inner.after([&of_outer, &plain]);
                            let seen = task.shared_future(|_| ended.load(Relaxed));
                            assert_eq!(*seen.get(), 2);
                        });
                    },
                    |_| (),
                );
            });
        });
    }
}

fn a_task_begins_after_inputs_that_it_does_not_get(pool: Pool<impl Scheduler>) {
    let order = std::sync::Mutex::new(Vec::new());
    let order = &order;
    pool.run(|mut w| {
        w.finish(|scope| {
            let mut last = scope.shared_future(|_| order.lock().unwrap().push(0));
            for n in 1..20 {
                last = scope
                    .after([&last])
                    .shared_future(move |_| order.lock().unwrap().push(n));
            }
            last.get();
        });
    });
    assert!(order.lock().unwrap().iter().copied().eq(0..20));
}

/// Each task checks that its inputs have ended. Tasks, the body and threads outside get results of
/// tasks at random.
fn random_graphs_keep_their_order_whoever_gets_their_results(pool: Pool<impl Scheduler>) {
    const NODES: usize = if cfg!(miri) { 12 } else { 120 };
    for seed in 1..=rounds(40) as u64 {
        let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15);
        let mut random = |below: usize| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state % below as u64) as usize
        };
        let ended: Vec<AtomicBool> = (0..NODES).map(|_| AtomicBool::new(false)).collect();
        let ended = &ended;
        pool.run(|mut w| {
            w.finish(|scope| {
                let mut nodes: Vec<SharedHandle<usize>> = Vec::new();
                let mut outside = Vec::new();
                for i in 0..NODES {
                    let count = random(4).min(i);
                    let inputs: Vec<usize> = (0..count).map(|_| random(i)).collect();
                    // Besides its inputs, a task may get the result of an older task.
                    let got = (i > 0 && random(4) == 0).then(|| nodes[random(i)].clone());
                    let handles: Vec<_> = inputs.iter().map(|&n| nodes[n].clone()).collect();
                    let length = random(3);
                    nodes.push(scope.after(&handles).shared_future(move |mut w| {
                        for &input in &inputs {
                            assert!(ended[input].load(Relaxed), "{i} began before {input} ended");
                        }
                        got.iter().for_each(|task| _ = task.get());
                        busy(Duration::from_micros(length as u64));
                        w.join(|_| (), |_| ());
                        ended[i].store(true, Relaxed);
                        i
                    }));
                    match random(12) {
                        0 => assert_eq!(*nodes[random(i + 1)].get() / NODES, 0),
                        1 => {
                            let task = nodes[random(i + 1)].clone();
                            outside.push(thread::spawn(move || *task.get()));
                        }
                        2 => {
                            let task = nodes[random(i + 1)].clone();
                            scope.spawn(move |_| _ = task.get());
                        }
                        _ => (),
                    }
                }
                for thread in outside {
                    purloin::blocking(|| thread.join().unwrap());
                }
            });
        });
        assert!(ended.iter().all(|ended| ended.load(Relaxed)));
    }
}

#[test]
fn a_long_chain_of_tasks_does_not_nest() {
    const LONG: usize = if cfg!(miri) { 20 } else { 200_000 };
    for spares in [0, 4] {
        let builder = Pool::builder().workers(1).spare_workers(spares);
        let pool = builder.stack_size(256 << 10).build().unwrap();
        let last = pool.run(|mut w| {
            w.finish(|scope| {
                let mut last = scope.shared_future(|_| 0);
                for _ in 0..LONG {
                    let before = last.clone();
                    last = scope
                        .after([&last])
                        .shared_future(move |_| *before.get() + 1);
                }
                *last.get()
            })
        });
        assert_eq!(last, LONG);
    }
}

/// The first task of a chain runs on a worker that waits for this thread. The body waits for the
/// last task, and may run none of the others before.
#[test]
fn a_worker_waits_for_an_input_that_another_worker_runs() {
    let pool = Pool::builder().workers(2).build().unwrap();
    let (send, receive) = channel::<()>();
    let has_ended = &AtomicBool::new(false);
    let seen = pool.run(|mut w| {
        w.finish(|scope| {
            let (begin, begun) = channel();
            let first = scope.shared_future(move |_| {
                begin.send(()).unwrap();
                receive.recv().unwrap();
                has_ended.store(true, Relaxed);
            });
            begun.recv().unwrap();
            let second = scope
                .after([&first])
                .shared_future(|_| has_ended.load(Relaxed));
            let third = scope
                .after([&second])
                .shared_future(|_| has_ended.load(Relaxed));
            thread::scope(|threads| {
                threads.spawn(move || {
                    thread::sleep(Duration::from_millis(20));
                    send.send(()).unwrap();
                });
                *third.get() && *second.get()
            })
        })
    });
    assert!(seen);
}

/// A get of a task whose input waits for the very task that calls get.
#[test]
fn a_task_that_waits_for_its_own_successor_panics() {
    let pool = Pool::builder().workers(1).spare_workers(0).build().unwrap();
    let successor: &OnceLock<SharedHandle<u32>> = &OnceLock::new();
    pool.run(|mut w| {
        w.finish(|scope| {
            let task = scope.shared_future(move |_| *successor.get().unwrap().get());
            let last = scope.after([&task]).shared_future(|_| 1);
            successor.set(last.clone()).unwrap();
            assert!(catch_unwind(AssertUnwindSafe(|| *task.get())).is_err());
            assert_eq!(*last.get(), 1);
        });
    });
}

#[test]
fn the_serial_elision_keeps_the_order() {
    let ended = AtomicUsize::new(0);
    let seen = Serial.finish(|scope| {
        let inputs: Vec<_> = (0..5)
            .map(|_| scope.shared_future(|_| ended.fetch_add(1, Relaxed)))
            .collect();
        *scope
            .after(&inputs)
            .shared_future(|_| ended.load(Relaxed))
            .get()
    });
    assert_eq!(seen, 5);
}
