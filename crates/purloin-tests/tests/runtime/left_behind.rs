//! Tasks that code leaves behind when it goes on: bodies of loops without a token, scopes of other workers, threads of
//! the program that are workers, and panic handlers. The innermost scope waits for the tasks, if there is a scope.

use std::panic::{AssertUnwindSafe, catch_unwind, panic_any, resume_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use crate::common;
use common::eventually;
use purloin::prelude::*;
use purloin::{Cancel, Handle, Pool, Serial};

/// Number of items of a loop. A short one runs in its caller's frame; a long one is split more often.
const LENGTHS: [usize; 2] = [10, 1000];

/// Makes a future that nobody gets.
fn leave(task: impl FnOnce() + Send + 'static) {
    drop(purloin::future(task));
}

/// Calls `code` in each scope that a worker may enter: its own, one of another pool, and serial ones. Calls `then` after
/// each of them.
fn in_each_scope(code: impl Fn(&Cancel) + Sync, then: impl Fn() + Sync) {
    let (pool, other) = (common::pool(2), common::pool(1));
    pool.run(|_| {
        let cancel = Cancel::new();
        purloin::finish(|scope| {
            scope.cancel_by(&cancel);
            code(&cancel);
        });
        then();
        let cancel = Cancel::new();
        other.finish(|scope| {
            scope.cancel_by(&cancel);
            code(&cancel);
        });
        then();
        let cancel = Cancel::new();
        Serial.finish(|scope| {
            scope.cancel_by(&cancel);
            code(&cancel);
        });
        then();
        let cancel = Cancel::new();
        Serial.finish(|scope| {
            scope.cancel_by(&cancel);
            scope.spawn(|_| code(&cancel));
        });
        then();
    });
}

#[test]
fn a_scope_waits_for_the_futures_that_its_code_leaves_behind() {
    let (made, ended) = (AtomicUsize::new(0), Arc::new(AtomicUsize::new(0)));
    let make = || {
        made.fetch_add(1, SeqCst);
        let (begun, ended) = (Arc::new(AtomicBool::new(false)), Arc::clone(&ended));
        let has_begun = Arc::clone(&begun);
        leave(move || {
            begun.store(true, SeqCst);
            thread::sleep(Duration::from_millis(5));
            // Its loop belongs to the scope, which must not be gone.
            purloin::for_each(0..4, |_| _ = ended.fetch_add(1, SeqCst));
        });
        eventually("a thief takes the future", || has_begun.load(SeqCst));
    };
    let check = || assert_eq!(ended.load(SeqCst), 4 * made.load(SeqCst));
    for _ in 0..common::rounds(10) {
        in_each_scope(|_| make(), check);
        in_each_scope(|_| [0].into_par().for_each(|_| make()), check);
    }
}

#[test]
fn a_loop_in_a_future_belongs_to_the_scope_that_makes_the_future() {
    in_each_scope(
        |cancel| {
            let run = || {
                let (cancel, seen) = (cancel.clone(), AtomicUsize::new(0));
                let future = purloin::future(move || {
                    purloin::for_each(0..u64::MAX, |_| {
                        if seen.fetch_add(1, SeqCst) == 10 {
                            cancel.cancel();
                        }
                    });
                });
                future.get();
            };
            run();
            (0..1).into_par().for_each(|_| run());
        },
        || (),
    );
    // The body of a bridge belongs to the scope around its loop.
    let pool = common::pool(2);
    pool.run(|_| {
        purloin::finish(|scope| {
            let cancel = Cancel::new();
            scope.cancel_by(&cancel);
            [0].iter().par_bridge().for_each(|_| {
                let cancel = cancel.clone();
                let future = purloin::future(move || {
                    purloin::for_each(0..u64::MAX, |n| {
                        if n == 10 {
                            cancel.cancel();
                        }
                    });
                });
                future.get();
            });
        });
    });
}

/// A thread of the program runs no frame, whose end would wait for the tasks. Another worker runs them.
#[test]
fn futures_left_behind_by_a_thread_that_is_a_worker_run() {
    let on_thread = || {
        let mut others = Vec::new();
        let pool = Pool::builder().workers(2).build_with(|worker| {
            match worker.index() {
                0 => worker.attach(),
                _ => others.push(thread::spawn(|| worker.run())),
            }
            Ok(())
        });
        let ran = Arc::new(AtomicUsize::new(0));
        let count = || {
            let ran = Arc::clone(&ran);
            move || _ = ran.fetch_add(1, SeqCst)
        };
        leave(count());
        (0..10).into_par().for_each(|_| leave(count()));
        (0..10)
            .into_par()
            .for_each_with_token(|mut w, _| drop(w.future(|_| ())));
        eventually("another worker runs them", || ran.load(SeqCst) == 11);
        assert_eq!(purloin::future(|| 7).get(), 7);
        drop(pool.unwrap());
        for other in others {
            other.join().unwrap();
        }
    };
    thread::spawn(on_thread).join().unwrap();
}

/// Panics when it is dropped.
struct Bomb;

impl Drop for Bomb {
    fn drop(&mut self) {
        panic!("the destructor of a result");
    }
}

#[test]
fn the_panic_of_an_orphan_drops_the_result_of_a_call_without_a_token_first() {
    let orphan = || leave(|| panic_any("an orphan"));
    let of_loop = || {
        (0..1)
            .into_par()
            .map(|_| {
                orphan();
                Bomb
            })
            .reduce(|a, _| a)
    };
    let of_join = || {
        let first = || {
            orphan();
            Bomb
        };
        Some(purloin::join(first, || ()).0)
    };
    let check = |call: &dyn Fn() -> Option<Bomb>| {
        let panic = catch_unwind(AssertUnwindSafe(call)).err().unwrap();
        assert_eq!(panic.downcast_ref(), Some(&"an orphan"));
    };
    check(&of_loop);
    check(&of_join);
}

/// Each body spawns, makes futures and joins by tokens that spawns have made stale. The task stack is small, so that
/// the scope's slots are used again.
fn spawn_in_bodies<W: Worker>(w: &mut W, len: usize) {
    let seen: Vec<_> = (0..3 * len).map(|_| AtomicUsize::new(0)).collect();
    w.finish(|scope| {
        let sum: u64 = (0..len)
            .into_par()
            .map_with_token(|mut w, i| {
                let spawned = [&seen[3 * i], &seen[3 * i + 1], &seen[3 * i + 2]];
                scope.spawn(move |_| _ = spawned[0].fetch_add(1, SeqCst));
                let future = scope.future(move |_| spawned[1].fetch_add(1, SeqCst));
                let left = purloin::future(move || i);
                let (a, b) = w.join(
                    |mut w| {
                        scope.spawn(move |_| _ = spawned[2].fetch_add(1, SeqCst));
                        w.join(|_| i, move |_| left.get()).0
                    },
                    move |_| i,
                );
                match i % 3 {
                    0 => _ = w.get(purloin::future(move || i)),
                    1 => _ = future.get(),
                    _ => (),
                }
                (a + b) as u64
            })
            .sum();
        assert_eq!(sum, (len * (len - 1)) as u64);
    });
    assert!(seen.iter().all(|seen| seen.load(SeqCst) == 1));
}

#[test]
fn bodies_of_loops_without_a_token_spawn_into_the_scope_around_the_loop() {
    for workers in common::workers([1, 2, 5]) {
        let builder = Pool::builder().workers(workers).stack_size(1 << 19);
        let pool = builder.build().unwrap();
        for len in LENGTHS.map(|len| if cfg!(miri) { len.min(20) } else { len }) {
            for _ in 0..common::rounds(20) {
                pool.run(|mut w| {
                    spawn_in_bodies(&mut w, len);
                    w.join(
                        |mut w| spawn_in_bodies(&mut w, len),
                        |mut w| spawn_in_bodies(&mut w, len),
                    );
                    w.finish(|scope| scope.spawn(|mut w| spawn_in_bodies(&mut w, len)));
                });
            }
        }
    }
}

/// The handler runs on a worker that waits in a join, whose frames belong to other code.
#[test]
fn a_panic_handler_on_a_blocked_worker_may_make_futures() {
    let ran = Arc::new(AtomicUsize::new(0));
    let in_handler = Arc::clone(&ran);
    let builder = Pool::builder().workers(2).panic_handler(move |_| {
        let ran = Arc::clone(&in_handler);
        leave(move || _ = ran.fetch_add(1, SeqCst));
    });
    let pool = builder.build().unwrap();
    for round in 1..=common::rounds(5) {
        pool.run(|mut w| {
            let begun = AtomicBool::new(false);
            w.join(
                |_| eventually("a thief has begun", || begun.load(SeqCst)),
                |w| {
                    begun.store(true, SeqCst);
                    // Without the panic hook: Miri takes seconds to print a backtrace.
                    w.pool()
                        .spawn_broadcast(|_| resume_unwind(Box::new("a panic")));
                    thread::sleep(Duration::from_millis(20));
                },
            );
            let dropped = Arc::new(());
            let own = Arc::clone(&dropped);
            w.join(|mut w| w.join(|_| (), move |_| drop(own)), |_| ());
            assert_eq!(Arc::strong_count(&dropped), 1);
        });
        eventually("the futures run", || ran.load(SeqCst) == 2 * round);
    }
}

/// A pool of one worker, whose panic handler runs `handler` on top of the code that yields.
fn with_handler(handler: impl Fn() + Send + Sync + 'static) -> Pool {
    let builder = Pool::builder().workers(1).spare_workers(0);
    builder.panic_handler(move |_| handler()).build().unwrap()
}

/// Lets the panic handler run in the middle of a task.
fn call_handler(pool: &Pool) {
    pool.spawn(|_| resume_unwind(Box::new("a panic")));
    pool.yield_now();
}

#[test]
fn a_panic_handler_may_get_futures_of_suspended_code() {
    let cell = Arc::new(Mutex::new(None::<Handle<()>>));
    let in_handler = Arc::clone(&cell);
    let got = Arc::new(AtomicUsize::new(0));
    let counts = Arc::clone(&got);
    let pool = with_handler(move || {
        let future = in_handler.lock().unwrap().take();
        future.unwrap().get();
        counts.fetch_add(1, SeqCst);
    });
    let set = || *cell.lock().unwrap() = Some(purloin::future(|| ()));
    let seen = Arc::new(AtomicUsize::new(0));
    pool.run(|_| {
        // The ticket lies below the frame of the finish.
        set();
        let ended = Arc::clone(&seen);
        purloin::finish(|_| {
            call_handler(&pool);
            leave(move || purloin::for_each(0..4, |_| _ = ended.fetch_add(1, SeqCst)));
        });
        assert_eq!(seen.load(SeqCst), 4);
    });
    let spawned = AtomicUsize::new(0);
    pool.run(|_| {
        purloin::finish(|scope| {
            set();
            call_handler(&pool);
            purloin::join(|| scope.spawn(|_| _ = spawned.fetch_add(1, SeqCst)), || ());
        });
    });
    assert_eq!((got.load(SeqCst), spawned.load(SeqCst)), (2, 1));
}

#[test]
fn the_loops_of_a_panic_handler_belong_to_no_scope_of_suspended_code() {
    let seen = Arc::new(AtomicUsize::new(0));
    let in_handler = Arc::clone(&seen);
    let pool = with_handler(move || {
        purloin::for_each(0..4, |_| _ = in_handler.fetch_add(1, SeqCst));
    });
    pool.run(|_| {
        purloin::finish(|scope| {
            scope.cancel();
            call_handler(&pool);
        });
    });
    assert_eq!(seen.load(SeqCst), 4);
}

/// The second closure runs although the first one has panicked, and its futures end with it.
#[test]
fn a_join_that_panics_outside_of_all_frames_leaves_no_future_behind() {
    let ran = Arc::new(AtomicUsize::new(0));
    let in_handler = Arc::clone(&ran);
    let pool = with_handler(move || {
        let ran = Arc::clone(&in_handler);
        let second = || leave(move || _ = ran.fetch_add(1, SeqCst));
        let join = || purloin::join(|| resume_unwind(Box::new("a panic")), second);
        assert!(catch_unwind(AssertUnwindSafe(join)).is_err());
        assert_eq!(in_handler.load(SeqCst), 1);
    });
    pool.run(|mut w| w.join(|_| call_handler(&pool), |_| ()));
    assert_eq!(ran.load(SeqCst), 1);
}

/// Makes a future when it is dropped.
struct LeavesFuture(Arc<AtomicUsize>);

impl Drop for LeavesFuture {
    fn drop(&mut self) {
        let count = Arc::clone(&self.0);
        leave(move || {
            thread::sleep(Duration::from_millis(2));
            count.fetch_add(1, SeqCst);
        });
    }
}

#[test]
fn a_finish_waits_for_a_future_of_the_destructor_of_a_result() {
    let pool = common::pool(2);
    let count = Arc::new(AtomicUsize::new(0));
    let task = || {
        let result = LeavesFuture(Arc::clone(&count));
        move || drop(purloin::future(move || result))
    };
    for round in 1..=common::rounds(20) {
        pool.finish(|scope| {
            let task = task();
            scope.spawn(move |_| task());
        });
        assert_eq!(count.load(SeqCst), 2 * round - 1);
        pool.run(|mut w| {
            w.finish(|scope| {
                let task = task();
                scope.spawn(move |_| task());
            });
        });
        assert_eq!(count.load(SeqCst), 2 * round);
    }
}

/// As under every other worker, the task does not wait for what its code leaves behind.
#[test]
fn a_serial_spawn_waits_for_no_future() {
    let lock = Arc::new(Mutex::new(()));
    common::pool(2).run(|_| {
        Serial.finish(|scope| {
            let guard = lock.lock().unwrap();
            let lock = Arc::clone(&lock);
            scope.spawn(move |_| leave(move || drop(lock.lock().unwrap())));
            drop(guard);
        });
    });
}

#[test]
fn a_finish_of_another_pool_ends_its_tasks_before_the_futures_of_its_body() {
    let outer = Pool::builder().workers(1).spare_workers(0).build().unwrap();
    let inner = common::pool(1);
    let got = Arc::new(AtomicUsize::new(0));
    outer.run(|w| {
        let outer = w.pool();
        inner.finish(|scope| {
            let future = scope.future(|_| outer.run(|_| 1));
            let got = Arc::clone(&got);
            leave(move || _ = got.fetch_add(future.get(), SeqCst));
        });
    });
    assert_eq!(got.load(SeqCst), 1);
}
