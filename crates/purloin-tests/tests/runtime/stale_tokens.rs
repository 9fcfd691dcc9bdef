//! Safe programs that use a stale token, which has live slots above its top.
//!
//! A wrapper that makes any value `Send`, and checks the thread instead, can carry a token into a
//! closure of a second token of the same worker. The types cannot forbid this, so the scheduler
//! must cope: it never overwrites a closure, a result or a task above the top of a stale token, and
//! each scope waits for the tasks that were spawned into it.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use crate::common;
use purloin::{Pool, Scheduler, Worker};
use send_wrapper::SendWrapper;

/// Number of rounds of each test.
const ROUNDS: usize = if cfg!(miri) { 2 } else { 200 };
/// Length of a loop.
const NUMBERS: u64 = if cfg!(miri) { 20 } else { 100 };

common::under_each_scheduler! {
    for workers in common::workers([1, 2, 5]),
        Pool::builder().workers(workers).stack_size(1 << 20);
    a_join_by_a_stale_token_overwrites_no_task,
    a_loop_by_a_stale_token_overwrites_no_task,
    a_spawn_by_a_stale_token_ends_before_its_finish,
    a_scope_waits_for_a_spawn_after_a_stale_token_gets_a_future,
    a_scope_waits_for_a_spawn_after_a_stale_token_makes_a_future,
}

/// Returns a unique pair, so that a test notices if it is overwritten.
fn pair(a: u64) -> (u64, u64) {
    std::hint::black_box((a, !a))
}

#[test]
fn a_stale_token_below_joins_without_tokens_overwrites_no_task() {
    let pool = common::pool(1);
    for _ in 0..ROUNDS {
        pool.run(|w| {
            let stale = SendWrapper::new(w);
            let in_slot = pair(0);
            let (outer, second) = purloin::join(
                move || {
                    let captured = pair(1);
                    purloin::join(
                        move || {
                            let (mut w, in_slot) = (stale.take(), pair(3));
                            w.join(|_| pair(2), move |_| in_slot)
                        },
                        move || (captured, pair(4)),
                    )
                },
                move || in_slot,
            );
            assert_eq!(second, pair(0));
            assert_eq!(outer, ((pair(2), pair(3)), (pair(1), pair(4))));
        });
    }
}

/// A get without a token takes a future off the stack below a newer token, which goes on with joins and spawns.
#[test]
fn a_get_without_a_token_below_a_newer_token_overwrites_no_task() {
    for workers in common::workers([1, 2, 5]) {
        let pool = common::pool(workers);
        for round in 0..ROUNDS as u64 {
            let joined = || {
                let in_slot = pair(round);
                let (first, second) = purloin::join(|| pair(1), move || in_slot);
                assert_eq!((first, second), (pair(1), pair(round)));
            };
            let got = pool.run(|mut w| {
                let futures = [0, 1, 2].map(|n| purloin::future(move || pair(n)));
                let futures: Vec<_> = futures.into_iter().map(|f| Mutex::new(Some(f))).collect();
                // The token of the loop is above the futures.
                let got = w.par(0..NUMBERS as usize).map(|i| {
                    joined();
                    let future = futures[2 - i % 3].lock().unwrap().take();
                    let got = future.map(|future| future.get());
                    joined();
                    got
                });
                let of_loop: Vec<_> = got.filter_map(|got| got).collect();
                let (again, spawned) = (purloin::future(|| pair(7)), AtomicUsize::new(0));
                let of_scope = purloin::finish(|scope| {
                    scope.spawn(|_| common::add(&spawned, 1));
                    let got = again.get();
                    scope.spawn(|_| common::add(&spawned, 1));
                    joined();
                    got
                });
                assert_eq!(spawned.into_inner(), 2);
                assert_eq!(of_scope, pair(7));
                of_loop
            });
            let mut keys: Vec<_> = got.iter().map(|got| got.0).collect();
            keys.sort_unstable();
            assert_eq!(keys, [0, 1, 2]);
            assert!(got.iter().all(|got| *got == pair(got.0)));
        }
    }
}

fn a_join_by_a_stale_token_overwrites_no_task(pool: Pool<impl Scheduler>) {
    for _ in 0..ROUNDS {
        pool.run(|stale| {
            let stale = SendWrapper::new(stale);
            // `run` makes a second token of this worker, which does not borrow the first.
            let (first, second) = pool.run(|mut w| {
                let (captured, in_slot) = (pair(1), pair(0));
                w.join(
                    move |mut w| {
                        w.join(
                            move |mut newest| {
                                let mut stale = stale.take();
                                let by_stale = stale.join(|_| pair(2), |_| pair(3));
                                (by_stale, newest.join(|_| pair(4), |_| pair(5)))
                            },
                            move |_| captured,
                        )
                    },
                    move |_| in_slot,
                )
            });
            let joins = ((pair(2), pair(3)), (pair(4), pair(5)));
            assert_eq!((first, second), ((joins, pair(1)), pair(0)));
        });
    }
}

fn a_loop_by_a_stale_token_overwrites_no_task(pool: Pool<impl Scheduler>) {
    for _ in 0..ROUNDS {
        pool.run(|stale| {
            let stale = SendWrapper::new(stale);
            let (sum, second) = pool.run(|mut w| {
                let in_slot = pair(0);
                w.join(
                    move |_| {
                        let mut stale = stale.take();
                        stale
                            .par(0..NUMBERS)
                            .map_with_token(|mut w, i| w.join(move |_| i, |_| ()).0)
                            .reduce(|a, b| a + b)
                    },
                    move |_| in_slot,
                )
            });
            assert_eq!((sum, second), (Some(NUMBERS * (NUMBERS - 1) / 2), pair(0)));
        });
    }
}

fn a_spawn_by_a_stale_token_ends_before_its_finish(pool: Pool<impl Scheduler>) {
    for _ in 0..ROUNDS {
        pool.run(|stale| {
            let stale = SendWrapper::new(stale);
            let (count, second) = pool.run(|mut w| {
                let in_slot = pair(0);
                w.join(
                    move |mut newest| {
                        let count = AtomicUsize::new(0);
                        let mut stale = stale.take();
                        stale.finish(|scope| {
                            for _ in 0..10 {
                                scope.spawn(|mut w| {
                                    w.join(
                                        |_| count.fetch_add(1, Relaxed),
                                        |_| count.fetch_add(1, Relaxed),
                                    );
                                });
                                newest.join(|_| (), |_| ());
                            }
                        });
                        count.into_inner()
                    },
                    move |_| in_slot,
                )
            });
            assert_eq!((count, second), (20, pair(0)));
        });
    }
}

fn a_scope_waits_for_a_spawn_after_a_stale_token_gets_a_future(pool: Pool<impl Scheduler>) {
    for _ in 0..ROUNDS {
        pool.run(|mut stale| {
            let future = stale.future(|_| 7);
            let stale = SendWrapper::new(stale);
            let seen = pool.run(|mut w| {
                let seen = AtomicUsize::new(0);
                w.finish(|scope| {
                    // The ticket of the future is at the top of the stack, below the finish.
                    let (got, seen) = (stale.take().get(future), &seen);
                    scope.spawn(move |_| {
                        seen.fetch_add(got, Relaxed);
                    });
                });
                seen.into_inner()
            });
            assert_eq!(seen, 7);
        });
    }
}

fn a_scope_waits_for_a_spawn_after_a_stale_token_makes_a_future(pool: Pool<impl Scheduler>) {
    for _ in 0..ROUNDS {
        pool.run(|mut stale| {
            let future = stale.future(|_| 7);
            let stale = SendWrapper::new(stale);
            let seen = pool.run(|mut w| {
                let seen = AtomicUsize::new(0);
                // This claims the future, but its ticket stays at the top, below the finish.
                let got = future.get();
                w.finish(|scope| {
                    let mut stale = stale.take();
                    let another = stale.future(|_| 1);
                    scope.spawn(|_| {
                        seen.fetch_add(got, Relaxed);
                    });
                    assert_eq!(stale.get(another), 1);
                    scope.spawn(|_| {
                        seen.fetch_add(got, Relaxed);
                    });
                });
                seen.into_inner()
            });
            assert_eq!(seen, 14);
        });
    }
}
