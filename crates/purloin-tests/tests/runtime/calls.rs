//! Calls within calls: tasks that move between calls, and pools that call each other.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed, Ordering::SeqCst};
use std::sync::{Arc, Barrier, Mutex, mpsc};
use std::thread;
use std::time::Duration;

use purloin::{Handle, Pool, Worker};

use crate::common::{self, must_end, wait_for};

/// The stages of two calls. The first call gets a future of the second.
#[derive(Default)]
struct Stages {
    future: Mutex<Option<Handle<()>>>,
    is_made: AtomicBool,
    is_future_begun: AtomicBool,
    is_sibling_begun: AtomicBool,
    is_second_over: AtomicBool,
}

impl Stages {
    fn take(&self) -> Handle<()> {
        wait_for(&self.is_made);
        self.future.lock().unwrap().take().unwrap()
    }

    /// The second call: makes the future, and ends when the first call has got it.
    fn second(self: &Arc<Self>, pool: &Pool) {
        let this = Arc::clone(self);
        pool.run(|mut w| {
            *self.future.lock().unwrap() = Some(w.future(move |_| {
                this.is_future_begun.store(true, SeqCst);
                wait_for(&this.is_sibling_begun);
            }));
            self.is_made.store(true, SeqCst);
            wait_for(&self.is_future_begun);
        });
        self.is_second_over.store(true, SeqCst);
    }
}

/// A thief takes a task of a worker that runs the future of another call on top of it. The other
/// call ends first.
#[test]
fn a_stolen_task_belongs_to_the_call_of_its_owner() {
    must_end("a call that gets a future of another", || {
        let pool = common::pool(3);
        let stages = Arc::new(Stages::default());
        let result = thread::scope(|threads| {
            threads.spawn(|| pool.run(|_| wait_for(&stages.is_future_begun)));
            threads.spawn(|| stages.second(&pool));
            let first = threads.spawn(|| {
                catch_unwind(AssertUnwindSafe(|| {
                    pool.run(|mut w| {
                        let future = stages.take();
                        w.join(
                            |mut w| w.get(future),
                            |mut w| {
                                stages.is_sibling_begun.store(true, SeqCst);
                                wait_for(&stages.is_second_over);
                                drop(w.future(|_| resume_unwind(Box::new("nobody gets it"))));
                            },
                        );
                    });
                }))
            });
            first.join().unwrap()
        });
        assert!(result.is_err(), "its own call hears of the panic");
    });
}

#[test]
fn a_wait_covers_jobs_that_a_thief_spawns_while_its_victim_runs_a_future_of_another_call() {
    must_end("a wait for the child of a stolen task", || {
        let pool = common::forever(common::pool(3));
        let stages = Arc::new(Stages::default());
        let is_child_over = common::forever(AtomicBool::new(false));
        thread::scope(|threads| {
            threads.spawn(|| pool.run(|_| wait_for(&stages.is_future_begun)));
            threads.spawn(|| stages.second(pool));
            let own = Arc::clone(&stages);
            pool.spawn(move |mut w| {
                let future = own.take();
                w.join(
                    |mut w| w.get(future),
                    |_| {
                        own.is_sibling_begun.store(true, SeqCst);
                        // Long enough for the wait to begin.
                        thread::sleep(Duration::from_millis(50));
                        pool.spawn(|_| {
                            thread::sleep(Duration::from_millis(100));
                            is_child_over.store(true, SeqCst);
                        });
                    },
                );
            });
            pool.wait();
            assert!(is_child_over.load(SeqCst));
        });
    });
}

#[test]
fn a_worker_that_gets_a_future_made_outside_stays_with_its_own_call() {
    must_end("a call that gets a future made outside", || {
        let pool = purloin::global().unwrap();
        let [is_future_begun, is_sibling_begun] =
            [(); 2].map(|()| Arc::new(AtomicBool::new(false)));
        let result = thread::scope(|threads| {
            let (send, receive) = mpsc::channel::<Handle<()>>();
            let (begun, sibling) = (&is_future_begun, &is_sibling_begun);
            // All workers but one are busy until the call has got the future.
            for _ in 1..pool.workers() {
                threads.spawn(move || pool.run(|_| wait_for(begun)));
            }
            let call = threads.spawn(move || {
                catch_unwind(AssertUnwindSafe(|| {
                    pool.run(move |mut w| {
                        let future = receive.recv().unwrap();
                        w.join(
                            |mut w| w.get(future),
                            |mut w| {
                                sibling.store(true, SeqCst);
                                drop(w.future(|_| resume_unwind(Box::new("nobody gets it"))));
                            },
                        );
                    });
                }))
            });
            let (begun, sibling) = (is_future_begun.clone(), is_sibling_begun.clone());
            let alone = pool.workers() == 1;
            let future = purloin::future(move || {
                begun.store(true, SeqCst);
                if !alone {
                    wait_for(&sibling);
                }
            });
            send.send(future).unwrap();
            call.join().unwrap()
        });
        assert!(result.is_err(), "its own call hears of the panic");
    });
}

#[test]
fn the_panic_of_a_dropped_future_surfaces_in_its_own_call_while_all_workers_wait_for_another_pool()
{
    must_end("calls to a pool whose workers wait", || {
        let (a, b) = (common::pool(1), common::pool(4));
        let is_over = AtomicBool::new(false);
        thread::scope(|threads| {
            let innocent: Vec<_> = (0..2)
                .map(|_| threads.spawn(|| a.run(|_| b.run(|_| wait_for(&is_over)))))
                .collect();
            thread::sleep(Duration::from_millis(20));
            let guilty = threads.spawn(|| {
                catch_unwind(AssertUnwindSafe(|| {
                    a.run(|mut w| drop(w.future(|_| resume_unwind(Box::new(1)))));
                }))
            });
            thread::sleep(Duration::from_millis(20));
            is_over.store(true, SeqCst);
            assert!(guilty.join().unwrap().is_err());
            for call in innocent {
                call.join().unwrap();
            }
        });
    });
}

/// Every worker of one pool waits for the other pool. No waiting worker may serve a call that needs
/// the lock.
#[test]
fn a_lock_may_be_held_across_a_call_to_another_pool() {
    for spares in [0, 1, 32] {
        must_end("a call with a lock held", move || {
            let a = Pool::builder().workers(1).spare_workers(spares);
            let (a, b) = (a.build().unwrap(), common::pool(4));
            let lock = Mutex::new(());
            let is_over = AtomicBool::new(false);
            let calls: Vec<_> = (0..spares.min(1) + 1)
                .map(|_| AtomicBool::new(false))
                .collect();
            thread::scope(|threads| {
                for (i, is_begun) in calls.iter().enumerate() {
                    let (a, b, lock, is_over) = (&a, &b, &lock, &is_over);
                    threads.spawn(move || {
                        a.run(|_| {
                            let _held = (i == 0).then(|| lock.lock().unwrap());
                            b.run(|_| {
                                is_begun.store(true, SeqCst);
                                wait_for(is_over);
                            });
                        });
                    });
                }
                calls.iter().for_each(wait_for);
                threads.spawn(|| a.run(|_| drop(lock.lock().unwrap())));
                thread::sleep(Duration::from_millis(30));
                is_over.store(true, SeqCst);
            });
        });
    }
}

#[test]
fn pools_may_call_each_other_many_times_over() {
    /// Two pools without spare workers serve each other's calls.
    fn fall(pools: [&Pool; 2], depth: u32) -> u32 {
        match depth {
            0 => 0,
            _ => 1 + pools[0].run(|_| fall([pools[1], pools[0]], depth - 1)),
        }
    }
    for spares in [0, 1, 32] {
        must_end("a fall through two pools", move || {
            let pool = || Pool::builder().workers(1).spare_workers(spares);
            let (a, b) = (pool().build().unwrap(), pool().build().unwrap());
            assert_eq!(fall([&a, &b], 50), 50);
        });
    }
}

#[test]
fn a_worker_may_wait_for_the_jobs_of_another_pool() {
    must_end("waits within waits", || {
        let [a, b, c] = [(); 3].map(|()| common::forever(common::pool(1)));
        a.run(|_| {
            b.spawn(|_| {
                a.run(|_| {
                    c.spawn(|_| a.run(|_| ()));
                    c.wait();
                });
            });
            b.wait();
        });
    });
}

#[test]
fn pools_may_be_dropped_by_tasks_of_each_other() {
    must_end("two pools that drop each other", || {
        let [a, b] = [(); 2].map(|()| Arc::new(common::pool(1)));
        let meeting = Arc::new(Barrier::new(3));
        let (send, receive) = mpsc::channel::<()>();
        for (pool, other) in [(&a, &b), (&b, &a)] {
            let (meeting, other, send) = (meeting.clone(), other.clone(), send.clone());
            pool.spawn(move |_| {
                meeting.wait();
                meeting.wait();
                drop(other);
                drop(send);
            });
        }
        meeting.wait();
        drop((a, b, send));
        meeting.wait();
        // Waits until both tasks have ended.
        assert!(receive.recv().is_err());
    });
}

#[test]
fn the_workers_of_a_dropped_pool_stay_until_its_tasks_have_ended() {
    must_end(
        "a task that has dropped its pool and gets futures outside",
        || {
            for spares in [1, 3] {
                let pool = Pool::builder().workers(1).spare_workers(spares);
                let pool = Arc::new(pool.build().unwrap());
                let (send, receive) = mpsc::channel();
                let own = Arc::clone(&pool);
                pool.spawn(move |mut w| {
                    // Waits until this is the last handle, because the test has dropped its own.
                    while Arc::strong_count(&own) > 1 {
                        thread::yield_now();
                    }
                    drop(own);
                    for i in 0..4 {
                        let future = w.future(move |_| i);
                        let got = thread::spawn(move || future.get()).join().unwrap();
                        send.send(got).unwrap();
                    }
                });
                drop(pool);
                assert_eq!(receive.iter().collect::<Vec<_>>(), [0, 1, 2, 3]);
            }
        },
    );
}

#[test]
fn a_call_within_a_call_gets_the_panics_of_its_dropped_futures() {
    let pool = common::pool(1);
    pool.run(|_| {
        let inner = catch_unwind(AssertUnwindSafe(|| {
            pool.run(|mut w| drop(w.future(|_| resume_unwind(Box::new("nobody gets it")))));
        }));
        assert!(inner.is_err());
    });
}

#[test]
fn a_future_made_outside_gets_the_panics_of_its_dropped_futures() {
    let inner = || {
        drop(purloin::future(|| {
            resume_unwind(Box::new("nobody gets it"))
        }))
    };
    let outer = purloin::future(inner);
    assert!(catch_unwind(AssertUnwindSafe(|| outer.get())).is_err());
}

#[test]
fn the_panic_of_a_dropped_future_reaches_its_inner_call_from_a_thief() {
    let pool = common::pool(2);
    for _ in 0..common::rounds(100) {
        pool.run(|_| {
            let inner = catch_unwind(AssertUnwindSafe(|| {
                pool.run(|mut w| {
                    let is_begun = Arc::new(AtomicBool::new(false));
                    let begun = Arc::clone(&is_begun);
                    drop(w.future(move |_| {
                        begun.store(true, SeqCst);
                        resume_unwind(Box::new("nobody gets it"));
                    }));
                    // A thief may take the future at each join.
                    for _ in 0..1000 {
                        w.join(|_| (), |_| ());
                        if is_begun.load(SeqCst) {
                            break;
                        }
                    }
                });
            }));
            assert!(inner.is_err());
        });
    }
}

/// A worker of A waits for a call from B, and runs a future of that call. The future calls B, whose
/// only worker waits for A. So that worker must serve the call, which descends from the call that
/// it waits for.
#[test]
fn a_worker_serves_calls_from_futures_of_the_call_that_it_waits_for() {
    must_end("a call by a future that another call gets", || {
        let pool = |workers| Pool::builder().workers(workers).spare_workers(0).build();
        let (a, b) = (pool(2).unwrap(), common::forever(pool(1).unwrap()));
        let (send, receive) = mpsc::channel::<Handle<u32>>();
        let is_got = AtomicBool::new(false);
        let (a, is_got) = (&a, &is_got);
        thread::scope(|threads| {
            threads.spawn(move || {
                let future = receive.recv().unwrap();
                assert_eq!(a.run(move |mut w| w.get(future)), 1);
                is_got.store(true, SeqCst);
            });
            threads.spawn(move || {
                b.run(move |_| {
                    a.run(move |mut w| {
                        send.send(w.future(|_| b.run(|_| 1))).unwrap();
                        wait_for(is_got);
                    });
                });
            });
        });
    });
}

#[test]
fn the_workers_of_a_dropped_pool_stay_until_its_jobs_have_begun() {
    must_end("the job of a dropped pool that needs two workers", || {
        for _ in 0..common::rounds(2000) {
            let pool = Pool::builder().workers(2).spare_workers(0);
            let pool = pool.build().unwrap();
            pool.spawn(|mut w| {
                // No worker but the other one can run the future.
                let future = w.future(|_| 7);
                let got = thread::spawn(move || future.get());
                assert_eq!(got.join().unwrap(), 7);
            });
            drop(pool);
        }
    });
}

#[test]
fn jobs_in_the_background_run_behind_others_and_do_not_starve() {
    let pool = Pool::builder().workers(1).spare_workers(0).build().unwrap();
    let (send, receive) = std::sync::mpsc::channel();
    pool.run(|_| {
        // The only worker is busy meanwhile.
        for n in 0..3 {
            let send = send.clone();
            pool.spawn_background(move |_| send.send(100 + n).unwrap());
        }
        for n in 0..20 {
            let send = send.clone();
            pool.spawn(move |_| send.send(n).unwrap());
        }
    });
    drop(send);
    let order: Vec<usize> = receive.iter().collect();
    let expected = (0..8)
        .chain([100])
        .chain(8..16)
        .chain([101])
        .chain(16..20)
        .chain([102]);
    assert!(order.iter().copied().eq(expected), "{order:?}");
    // `wait` waits for them, and a pool that is dropped runs them.
    static RAN: AtomicUsize = AtomicUsize::new(0);
    let add = |_: purloin::Token<'_>| {
        RAN.fetch_add(1, Relaxed);
    };
    pool.spawn_background(add);
    pool.wait();
    assert_eq!(RAN.load(Relaxed), 1);
    pool.spawn_background(add);
    drop(pool);
    assert_eq!(RAN.load(Relaxed), 2);
}

/// A request comes while all workers run long jobs in the background.
#[test]
#[cfg_attr(miri, ignore = "it measures time")]
fn a_call_does_not_wait_for_long_jobs_in_the_background() {
    let pool = Pool::builder().workers(2).build().unwrap();
    let (is_over, begun) = (
        Arc::new(AtomicBool::new(false)),
        Arc::new(AtomicUsize::new(0)),
    );
    for _ in 0..4 {
        let (is_over, begun) = (Arc::clone(&is_over), Arc::clone(&begun));
        pool.spawn_background(move |_| {
            begun.fetch_add(1, Relaxed);
            while !is_over.load(Relaxed) {
                thread::sleep(Duration::from_millis(1));
            }
        });
    }
    while begun.load(Relaxed) < 2 {
        thread::yield_now();
    }
    assert_eq!(pool.run(|_| 7), 7);
    assert!(begun.load(Relaxed) < 4, "the call came first");
    is_over.store(true, Relaxed);
    pool.wait();
}
