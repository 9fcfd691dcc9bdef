//! A finish whose body runs on the calling thread: `Pool::finish`.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;
use std::sync::atomic::{AtomicUsize, Ordering::*};
use std::thread;
use std::time::Duration;

use crate::common::busy;
use purloin::{Pool, ReturnBarrier, Scheduler, Worker};
use purloin_schedulers::{Channel, DirectStack, OneField};

/// Builds a pool of each kind, and checks it.
macro_rules! check_with_each_scheduler {
    ($check:ident, $workers:expr) => {
        for workers in $workers {
            let builder = || Pool::builder().workers(workers);
            $check(
                &builder()
                    .scheduler(ReturnBarrier::default())
                    .build()
                    .unwrap(),
            );
            let direct = DirectStack::<OneField>::default();
            $check(&builder().scheduler(direct).build().unwrap());
            $check(&builder().scheduler(Channel::default()).build().unwrap());
        }
    };
}

#[test]
fn the_body_runs_on_the_calling_thread_and_the_tasks_on_workers() {
    fn check<S: Scheduler>(pool: &Pool<S>) {
        let here = thread::current().id();
        let local = Rc::new(3);
        let mut squares = vec![0; 100];
        let result = pool.finish(|scope| {
            assert_eq!(thread::current().id(), here);
            for (n, square) in squares.iter_mut().enumerate() {
                scope.spawn(move |_| {
                    assert_ne!(thread::current().id(), here);
                    *square = n * n;
                });
            }
            Rc::clone(&local)
        });
        assert_eq!(*result, 3);
        assert!((0..100).map(|n| n * n).eq(squares));
    }
    check_with_each_scheduler!(check, [1, 3]);
}

#[test]
fn tasks_may_spawn_and_join_and_the_finish_waits_for_all() {
    fn check<S: Scheduler>(pool: &Pool<S>) {
        let count = AtomicUsize::new(0);
        pool.finish(|scope| {
            for _ in 0..10 {
                scope.spawn(|mut w| {
                    w.join(
                        |_| scope.spawn(|_| _ = count.fetch_add(1, Relaxed)),
                        |_| scope.spawn(|_| _ = count.fetch_add(1, Relaxed)),
                    );
                    scope.spawn(|_| {
                        busy(Duration::from_micros(50));
                        count.fetch_add(1, Relaxed);
                    });
                });
            }
        });
        assert_eq!(count.into_inner(), 30);
    }
    check_with_each_scheduler!(check, [1, 2, 8]);
}

#[test]
fn on_a_worker_the_body_runs_on_that_worker() {
    fn check<S: Scheduler>(pool: &Pool<S>) {
        let count = AtomicUsize::new(0);
        pool.run(|mut w| {
            let here = thread::current().id();
            // The finish within the finish is on top of spawned tasks of the outer one.
            w.finish(|outer| {
                outer.spawn(|_| _ = count.fetch_add(1, Relaxed));
                pool.finish(|inner| {
                    assert_eq!(thread::current().id(), here);
                    inner.spawn(|_| _ = count.fetch_add(10, Relaxed));
                    outer.spawn(|_| _ = count.fetch_add(100, Relaxed));
                });
                assert!(count.load(Relaxed) % 100 >= 10);
            });
        });
        assert_eq!(count.into_inner(), 111);
    }
    check_with_each_scheduler!(check, [1, 2]);
}

#[test]
fn on_a_worker_of_another_pool_the_body_stays_and_the_tasks_move() {
    let other = Pool::builder().workers(1).build().unwrap();
    let check = |pool: &Pool| {
        let value = other.run(|_| {
            let here = thread::current().id();
            let mut value = 0;
            let back = AtomicUsize::new(0);
            pool.finish(|scope| {
                assert_eq!(thread::current().id(), here);
                // The task calls the pool whose only worker waits for it.
                scope.spawn(|_| back.store(other.run(|_| 5), Relaxed));
                scope.spawn(|_| value = 2);
            });
            value + back.into_inner()
        });
        assert_eq!(value, 7);
    };
    check(&Pool::builder().workers(2).build().unwrap());
    let single = Pool::builder().workers(1).spare_workers(0);
    check(&single.build().unwrap());
}

#[test]
fn panics_wait_for_all_tasks() {
    fn check<S: Scheduler>(pool: &Pool<S>) {
        for panics_in_task in [false, true] {
            let ended = AtomicUsize::new(0);
            let result = catch_unwind(AssertUnwindSafe(|| {
                pool.finish(|scope| {
                    for n in 0..10 {
                        let ended = &ended;
                        scope.spawn(move |_| {
                            busy(Duration::from_micros(100));
                            ended.fetch_add(1, Relaxed);
                            assert!(!panics_in_task || n != 4, "in a task");
                        });
                    }
                    assert!(panics_in_task, "in the body");
                });
            }));
            let panic = *result.unwrap_err().downcast::<&str>().unwrap();
            assert_eq!(panic == "in a task", panics_in_task);
            assert_eq!(ended.into_inner(), 10);
        }
        assert_eq!(pool.run(|_| 7), 7);
    }
    check_with_each_scheduler!(check, [1, 2]);
}

#[test]
fn futures_of_the_scope_may_be_got_in_the_body() {
    fn check<S: Scheduler>(pool: &Pool<S>) {
        let words = ["in", "place"];
        let sum = pool.finish(|scope| {
            let [a, b] = words.each_ref().map(|word| scope.future(|_| word.len()));
            a.get() + b.get()
        });
        assert_eq!(sum, 7);
    }
    check_with_each_scheduler!(check, [1, 2]);
}

#[test]
fn the_panic_of_a_future_that_nobody_gets_ends_the_finish() {
    let pool = Pool::builder().workers(2).build().unwrap();
    let result = catch_unwind(AssertUnwindSafe(|| {
        pool.finish(|scope| {
            scope.spawn(|mut w| drop(w.future(|_| panic!("an orphan"))));
        });
    }));
    assert_eq!(
        *result.unwrap_err().downcast::<&str>().unwrap(),
        "an orphan"
    );
}

#[test]
fn a_cancelled_scope_drops_the_tasks_that_have_not_begun() {
    let pool = Pool::builder().workers(1).spare_workers(0).build().unwrap();
    let ran = AtomicUsize::new(0);
    pool.finish(|scope| {
        scope.cancel();
        for _ in 0..10 {
            scope.spawn(|_| _ = ran.fetch_add(1, Relaxed));
        }
    });
    assert_eq!(ran.into_inner(), 0);
}

#[test]
fn a_thread_may_spawn_a_flood() {
    let pool = Pool::builder().workers(2).build().unwrap();
    let count = AtomicUsize::new(0);
    pool.finish(|scope| {
        for _ in 0..50_000 {
            scope.spawn(|_| _ = count.fetch_add(1, Relaxed));
        }
    });
    assert_eq!(count.into_inner(), 50_000);
}

#[test]
fn with_token_finds_the_worker() {
    let pool = Pool::builder().workers(2).build().unwrap();
    let index = || purloin::with_token(|token| token.map(|w| (w.index(), w.workers())));
    assert_eq!(index(), None);
    let both = pool.run(|w| (index(), w.index()));
    assert_eq!(both.0, Some((both.1, 2)));
    let other = Pool::builder().workers(1).scheduler(Channel::default());
    assert_eq!(other.build().unwrap().run(|_| index()), None);
    // Tasks that are left in the frame end with it.
    let sum = pool.run(|_| {
        purloin::with_token(|token| {
            let mut w = token.unwrap();
            let handle = w.future(|_| 6);
            handle.get() + w.join(|_| 1, |_| 0).0
        })
    });
    assert_eq!(sum, 7);
}
