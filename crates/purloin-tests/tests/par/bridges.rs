//! Loops over iterators of unknown length.

use std::iter;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::*};
use std::sync::mpsc::{Receiver, channel, sync_channel};
use std::time::Duration;

use purloin::prelude::*;
use purloin::{Pool, Scheduler, Serial, bridge};

use crate::common::counted::{Counted, Counting};
use crate::common::{self, busy, rounds};

const ITEMS: u64 = if cfg!(miri) { 30 } else { 20_000 };

fn each_item_runs_once(pool: Pool<impl Scheduler>) {
    for len in [0, 1, 2, ITEMS] {
        let seen: Vec<AtomicUsize> = (0..len).map(|_| AtomicUsize::new(0)).collect();
        pool.run(|mut w| {
            w.par(bridge(0..len)).for_each(|n| {
                seen[n as usize].fetch_add(1, Relaxed);
            });
        });
        assert!(seen.iter().all(|count| count.load(Relaxed) == 1));
        let mut all: Vec<u64> = pool.run(|mut w| w.par(bridge(0..len)).map(|n| 2 * n).collect());
        all.sort_unstable();
        assert!(all.into_iter().eq((0..len).map(|n| 2 * n)));
    }
}

/// Producers that are tasks of the same pool, more of them than workers. Each waits until a consumer takes
/// its item, and the consumer waits for them.
fn producers_may_be_tasks_of_the_same_pool(pool: Pool<impl Scheduler>) {
    const EACH: u64 = if cfg!(miri) { 2 } else { 200 };
    for _ in 0..rounds(10) {
        let sum = pool.run(|mut w| {
            w.finish(|s| {
                let (send, receive) = sync_channel(1);
                for _ in 0..6 {
                    let send = send.clone();
                    s.spawn(move |_| {
                        for n in 0..EACH {
                            purloin::blocking(|| send.send(n)).unwrap();
                        }
                    });
                }
                drop(send);
                receive.par_bridge().map(|n| n + 1).sum::<u64>()
            })
        });
        assert_eq!(sum, 6 * EACH * (EACH + 1) / 2);
    }
}

common::under_two_schedulers! {
    for workers in common::workers([1, 2, 5]), Pool::builder().workers(workers);
    each_item_runs_once,
}

common::under! {
    producers_may_be_tasks_of_the_same_pool for workers in common::workers([1, 2, 5]),
        Pool::builder().workers(workers);
    under_the_return_barrier: purloin::ReturnBarrier,
}

/// The next item comes only when the body of the last one has run.
#[test]
fn a_body_may_cause_the_next_item() {
    let pool = common::pool(3);
    for _ in 0..rounds(10) {
        let (send, receive) = channel();
        send.send(0).unwrap();
        let count = pool.run(|mut w| {
            let items = iter::from_fn(move || receive.recv().ok().filter(|&n| n < ITEMS / 20));
            w.par(bridge(items))
                .inspect(|n| send.send(n + 1).unwrap())
                .count()
        });
        assert_eq!(count as u64, ITEMS / 20);
    }
}

/// The next item comes from a future that the body has left on its worker's stack, beside spare parts of the loop.
#[test]
fn a_future_of_a_body_may_cause_the_next_item() {
    for pool in [1, 2].map(common::pool) {
        for _ in 0..rounds(10) {
            let (send, receive) = channel();
            send.send(0).unwrap();
            let items = iter::from_fn(move || receive.recv().ok().filter(|&n| n < ITEMS / 20));
            pool.run(|mut w| {
                w.par(bridge(items)).for_each_with_token(|mut w, n| {
                    let send = send.clone();
                    drop(w.future(move |_| send.send(n + 1).unwrap()));
                });
            });
        }
    }
}

/// An iterator that is slow at first and has many items then, for bodies that are slow: they run in parallel.
#[test]
#[cfg_attr(miri, ignore = "it measures time")]
fn bodies_run_in_parallel_although_the_iterator_has_blocked() {
    let pool = common::pool(4);
    let (running, most) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let mut has_waited = false;
    let items = iter::repeat_with(|| {
        if !std::mem::replace(&mut has_waited, true) {
            std::thread::sleep(Duration::from_millis(20));
        }
    });
    pool.run(|mut w| {
        w.par(bridge(items.take(60))).for_each(|()| {
            most.fetch_max(running.fetch_add(1, Relaxed) + 1, Relaxed);
            std::thread::sleep(Duration::from_millis(5));
            running.fetch_sub(1, Relaxed);
        });
    });
    // Others may be asleep, and look again later.
    assert!(most.into_inner() >= 2);
}

#[test]
fn items_are_dropped_once_whatever_ends_the_loop() {
    let pool = common::pool(3);
    for round in 0..rounds(60) {
        let counting = Counting::begin();
        let limit = ITEMS / 2;
        let items = (0..ITEMS).map(|n| {
            assert!(round % 3 != 0 || n != limit, "the iterator panics");
            Counted::new(n)
        });
        let run = || {
            pool.run(|mut w| {
                w.par(bridge(items)).any(|item: Counted| {
                    assert!(round % 3 != 1 || item.key() != limit, "the body panics");
                    round % 3 == 2 && item.key() == limit
                })
            })
        };
        let result = catch_unwind(AssertUnwindSafe(run));
        assert_eq!(result.ok(), (round % 3 == 2).then_some(true));
        counting.expect_none_left(|| format!("round {round}"));
    }
}

/// No part calls the iterator after it has ended, or after it has panicked.
#[test]
fn an_iterator_that_has_ended_is_not_called_again() {
    let pool = common::pool(3);
    for panics in [false, true] {
        for _ in 0..rounds(50) {
            let (has_ended, mut left) = (AtomicBool::new(false), 100);
            let items = iter::from_fn(|| {
                assert!(!has_ended.load(Relaxed), "called again");
                busy(Duration::from_nanos(300));
                left -= 1;
                if left == 0 {
                    has_ended.store(true, Relaxed);
                    assert!(!panics, "expected");
                    return None;
                }
                Some(left)
            });
            let run = || pool.run(|mut w| w.par(bridge(items)).count());
            match catch_unwind(AssertUnwindSafe(run)) {
                Ok(count) => assert!(!panics && count == 99),
                Err(panic) => assert!(panics && common::message(panic).contains("expected")),
            }
        }
    }
}

#[test]
fn a_cancelled_scope_ends_the_loop() {
    let pool = common::pool(2);
    let count = pool.run(|mut w| {
        let count = AtomicUsize::new(0);
        w.finish(|s| {
            w_for_each(s, &count);
        });
        count.into_inner()
    });
    assert!(count >= 100);

    fn w_for_each(s: &purloin::Scope<'_, '_, purloin::ReturnBarrier>, count: &AtomicUsize) {
        (0_u64..).par_bridge().for_each(|_| {
            if count.fetch_add(1, Relaxed) == 100 {
                s.cancel();
            }
        });
    }
}

#[test]
fn a_serial_loop_keeps_the_order() {
    let all: Vec<u64> = Serial.par(bridge(0..ITEMS)).collect();
    assert!(all.into_iter().eq(0..ITEMS));
}

/// Each item comes when the thief has given up, so each item is a split. These must not nest.
#[test]
#[cfg_attr(miri, ignore = "it takes too long")]
fn a_long_loop_over_a_slow_iterator_needs_no_deep_stack() {
    let pool = Pool::builder()
        .workers(3)
        .stack_size(128 << 10)
        .build()
        .unwrap();
    for has_accumulator in [false, true] {
        let items = (0..ITEMS).inspect(|_| busy(Duration::from_micros(30)));
        let sum = pool.run(|mut w| match has_accumulator {
            false => w.par(bridge(items)).sum::<u64>(),
            true => {
                let add = |mut sum: [u64; 100], n| {
                    sum[0] += n;
                    sum
                };
                let both = |mut a: [u64; 100], b: [u64; 100]| {
                    a[0] += b[0];
                    a
                };
                w.par(bridge(items)).fold(|| [0; 100], add, both)[0]
            }
        });
        assert_eq!(sum, ITEMS * (ITEMS - 1) / 2);
    }
}

/// Long bodies after many short ones: other workers get some.
#[test]
#[cfg_attr(miri, ignore = "it measures time")]
fn long_bodies_run_in_parallel_behind_short_ones() {
    let pool = common::pool(4);
    let (running, most) = (AtomicUsize::new(0), AtomicUsize::new(0));
    pool.run(|mut w| {
        w.par(bridge(0..100_040)).for_each(|n| {
            if n >= 100_000 {
                most.fetch_max(running.fetch_add(1, Relaxed) + 1, Relaxed);
                std::thread::sleep(Duration::from_millis(5));
                running.fetch_sub(1, Relaxed);
            }
        });
    });
    // Others may be asleep, and look again later.
    assert!(most.into_inner() >= 2);
}

type Chained<'c> = dyn Fn(Receiver<u64>, &(dyn Fn(u64) + Sync)) + 'c;

/// Runs a chain over a receiver, which gets 10, 11 and 12 from the bodies of 0, 1 and 2. Returns the number of items.
fn items_of(chained: &Chained<'_>) -> usize {
    let (send, receive) = channel();
    let seen = AtomicUsize::new(0);
    chained(receive, &|n| {
        seen.fetch_add(1, Relaxed);
        if n < 3 {
            send.send(n + 10).unwrap();
        }
    });
    seen.into_inner()
}

/// The iterator behind the range waits for what the bodies over the range do.
#[test]
fn a_chain_does_not_ask_an_iterator_before_its_time() {
    let run = |chained: &Chained<'_>| assert_eq!(items_of(chained), 6);
    run(&|receive, body| {
        let mut w = Serial;
        let items = w.par(0..3).chain(bridge(receive.into_iter().take(3)));
        items.for_each(body);
    });
    let pool = common::pool(2);
    for _ in 0..rounds(20) {
        run(&|receive, body| {
            pool.run(|mut w| {
                let items = w.par(0..3).chain(bridge(receive.into_iter().take(3)));
                items.for_each(body);
            });
        });
    }
    let (a, b) = (bridge(0..100), bridge(100..200));
    let mut all: Vec<u64> = pool.run(|mut w| w.par(a).chain(b).chain(200..300).collect());
    all.sort_unstable();
    assert!(all.into_iter().eq(0..300));
}

/// The body of the range waits for that of the iterator's first item.
#[test]
fn a_body_of_a_range_does_not_hold_up_an_iterator_behind_it() {
    let pool = common::pool(2);
    for _ in 0..rounds(20) {
        let is_there = AtomicBool::new(false);
        pool.run(|mut w| {
            w.par(0..1).chain(bridge(1..3)).for_each(|n| match n {
                0 => common::wait_for(&is_there),
                _ => is_there.store(true, SeqCst),
            });
        });
    }
}

/// An iterator that is taken by another part makes no part lose its other items.
#[test]
#[cfg_attr(miri, ignore = "it takes too long")]
fn chains_with_slow_iterators_lose_no_items() {
    let slow =
        |items: std::ops::Range<u64>| bridge(items.inspect(|_| busy(Duration::from_micros(50))));
    for workers in [1, 2, 4] {
        let pool = common::pool(workers);
        for _ in 0..rounds(10) {
            let sums = pool.run(|mut w| {
                [
                    w.par(slow(0..50)).chain(50..1000).sum::<u64>(),
                    w.par(0..500).chain(slow(500..550)).chain(550..1000).sum(),
                    w.par(slow(0..50))
                        .chain(slow(50..100))
                        .chain(100..1000)
                        .sum(),
                    w.par(0..900)
                        .chain((900..950).par_bridge().chain(950..1000))
                        .sum(),
                ]
            });
            assert_eq!(sums, [999 * 1000 / 2; 4]);
        }
    }
}

/// The iterator gets its items from the bodies over the range, and no other worker can run these.
#[test]
fn a_worker_without_help_runs_its_range_before_it_asks_an_iterator() {
    let items = |receive: Receiver<u64>| bridge(receive.into_iter().take(3));
    let pool = Pool::builder().workers(1).spare_workers(0).build().unwrap();
    let channels = common::pool_with(purloin_schedulers::Channel::default(), 1);
    common::abort_if_it_hangs("a chain on one worker", move || {
        assert_eq!(
            items_of(&|receive, body| Serial
                .par(0..3)
                .chain(receive.into_iter().take(3).par_bridge().chain(20..22))
                .for_each(body)),
            8
        );
        assert_eq!(
            items_of(
                &|receive, body| pool.run(|mut w| w.par(0..3).chain(items(receive)).for_each(body))
            ),
            6
        );
        assert_eq!(
            items_of(&|receive, body| channels
                .run(|mut w| w.par(0..3).chain(items(receive)).for_each(body))),
            6
        );
        let all = |receive, body: &(dyn Fn(u64) + Sync)| {
            pool.run(|mut w| w.par(items(receive)).chain(0..3).for_each(body));
        };
        assert_eq!(items_of(&all), 6);
    });
}

/// The body of the first item waits for that of the second, which lies in a spare part of the outer loop.
#[test]
fn an_inner_iterator_may_wait_for_a_body_of_the_outer_loop() {
    common::abort_if_it_hangs("an inner loop", || {
        let pool = common::pool(1);
        for round in 0..rounds(50) {
            let (send, receive) = channel();
            let receive = std::sync::Mutex::new(Some(receive));
            send.send(0).unwrap();
            pool.run(|mut w| {
                w.par(bridge(0..2)).for_each(|n| match n {
                    0 => {
                        let receive: Receiver<u64> = receive.lock().unwrap().take().unwrap();
                        let items = receive.into_iter().take(2);
                        let sum: u64 = match round % 2 {
                            0 => items.par_bridge().sum(),
                            _ => Serial.par(bridge(items)).sum(),
                        };
                        assert_eq!(sum, 7);
                    }
                    _ => send.send(7).unwrap(),
                });
            });
        }
    });
}

/// While one worker waits for the iterator, the other one runs the broadcast with the last item.
#[test]
fn a_broadcast_may_cause_the_next_item() {
    common::abort_if_it_hangs("a broadcast during a loop", || {
        let pool = common::pool(2);
        for _ in 0..rounds(10) {
            let (send, receive) = channel();
            (0..3).for_each(|n| send.send(n).unwrap());
            std::thread::scope(|outside| {
                outside.spawn(|| {
                    std::thread::sleep(Duration::from_millis(5));
                    let send = std::sync::Mutex::new(Some(send));
                    pool.broadcast(|_| {
                        let send = send.lock().unwrap().take();
                        send.into_iter().for_each(|send| send.send(3).unwrap());
                    });
                });
                let sum: u64 = pool.run(|mut w| w.par(bridge(receive)).sum());
                assert_eq!(sum, 6);
            });
        }
    });
}

/// The last item comes from a job that begins when the only worker waits for it.
#[test]
fn a_pool_that_rescues_no_calls_begins_jobs_while_a_loop_waits() {
    for is_background in [false, true] {
        common::abort_if_it_hangs("a loop that waits for a job", || {
            let builder = Pool::builder().workers(1).rescue_calls(false);
            let pool = builder.build().unwrap();
            let (send, receive) = channel();
            [0, 1].into_iter().for_each(|n| send.send(n).unwrap());
            std::thread::scope(|threads| {
                let last = move || send.send(2).unwrap();
                match is_background {
                    false => {
                        threads.spawn(|| {
                            std::thread::sleep(Duration::from_millis(30));
                            pool.spawn(move |_| last());
                        });
                        let sum: i32 = pool.run(|mut w| w.par(bridge(receive)).sum());
                        assert_eq!(sum, 3);
                    }
                    true => pool.run(|mut w| {
                        w.pool().spawn_background(move |_| last());
                        assert_eq!(w.par(bridge(receive)).sum::<i32>(), 3);
                    }),
                }
            });
        });
    }
}

/// Long bodies do not hold up the items behind them, as long as one worker is left.
#[test]
#[cfg_attr(miri, ignore = "it measures time")]
fn long_bodies_hold_up_no_other_items() {
    for (workers, long) in [(2, 5..6), (3, 5..6), (4, 5..8), (4, 0..3), (4, 396..399)] {
        for pause in [Duration::ZERO, Duration::from_micros(300)] {
            let pool = common::pool(workers);
            let done = AtomicUsize::new(0);
            let items = (0..400).inspect(|_| std::thread::sleep(pause));
            pool.run(|mut w| {
                w.par(bridge(items)).for_each(|n| {
                    if long.contains(&n) {
                        let start = std::time::Instant::now();
                        while done.load(Relaxed) < 400 - long.len() {
                            assert!(start.elapsed() < Duration::from_secs(20), "the others wait");
                            std::thread::sleep(Duration::from_millis(1));
                        }
                    }
                    done.fetch_add(1, Relaxed);
                });
            });
            assert_eq!(done.into_inner(), 400);
        }
    }
}
