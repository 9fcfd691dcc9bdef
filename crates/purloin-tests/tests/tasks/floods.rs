//! Tests that a spawn neither runs a task nor waits for one, however many tasks wait.

use std::cell::RefCell;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering::*};
use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

use crate::common;
use purloin::{Pool, Scheduler, Worker};

/// Far more than any scheduler keeps on a stack of this size.
const FLOOD: usize = if cfg!(miri) { 200 } else { 20_000 };
const STACK: usize = 64 << 10;

common::under_each_scheduler! {
    for workers in common::workers([1, 2]), Pool::builder().workers(workers).stack_size(2 << 20);
    a_lock_may_be_held_while_a_body_spawns_a_flood,
}

common::under_two_schedulers! {
    for workers in common::workers([1, 2]), Pool::builder().workers(workers).stack_size(2 << 20);
    a_lock_may_be_held_while_a_task_spawns_a_flood,
    a_lock_may_be_held_while_a_join_spawns_a_flood,
    a_lock_may_be_held_while_a_body_makes_a_flood_of_futures,
    a_lock_may_be_held_while_a_thread_outside_spawns_a_flood,
}

fn a_lock_may_be_held_while_a_body_spawns_a_flood(pool: Pool<impl Scheduler>) {
    let count = &Mutex::new(0);
    pool.run(|mut w| {
        w.finish(|scope| {
            let held = count.lock().unwrap();
            (0..FLOOD).for_each(|_| scope.spawn(|_| *count.lock().unwrap() += 1));
            drop(held);
        });
    });
    assert_eq!(*count.lock().unwrap(), FLOOD);
}

fn a_lock_may_be_held_while_a_task_spawns_a_flood(pool: Pool<impl Scheduler>) {
    let count = &Mutex::new(0);
    pool.run(|mut w| {
        w.finish(|scope| {
            scope.spawn(|_| {
                let held = count.lock().unwrap();
                (0..FLOOD).for_each(|_| scope.spawn(|_| *count.lock().unwrap() += 1));
                drop(held);
            });
        });
    });
    assert_eq!(*count.lock().unwrap(), FLOOD);
}

fn a_lock_may_be_held_while_a_join_spawns_a_flood(pool: Pool<impl Scheduler>) {
    let count = &Mutex::new(0);
    pool.run(|mut w| {
        w.finish(|scope| {
            scope.join(
                |_| {
                    let held = count.lock().unwrap();
                    (0..FLOOD).for_each(|_| scope.spawn(|_| *count.lock().unwrap() += 1));
                    drop(held);
                },
                |_| (),
            );
        });
    });
    assert_eq!(*count.lock().unwrap(), FLOOD);
}

fn a_lock_may_be_held_while_a_body_makes_a_flood_of_futures(pool: Pool<impl Scheduler>) {
    let count = &Mutex::new(0);
    let sum: usize = pool.run(|mut w| {
        w.finish(|scope| {
            let held = count.lock().unwrap();
            let task = || {
                *count.lock().unwrap() += 1;
                1
            };
            let futures: Vec<_> = (0..FLOOD).map(|_| scope.future(move |_| task())).collect();
            drop(held);
            futures.into_iter().map(|future| future.get()).sum()
        })
    });
    assert_eq!((*count.lock().unwrap(), sum), (FLOOD, FLOOD));
}

fn a_lock_may_be_held_while_a_thread_outside_spawns_a_flood(pool: Pool<impl Scheduler>) {
    let count = &Mutex::new(0);
    pool.finish(|scope| {
        let held = count.lock().unwrap();
        (0..FLOOD).for_each(|_| scope.spawn(|_| *count.lock().unwrap() += 1));
        drop(held);
    });
    assert_eq!(*count.lock().unwrap(), FLOOD);
}

/// A `RefCell` that is borrowed panics where a lock would wait.
#[test]
fn a_cell_of_the_thread_may_be_borrowed_while_a_body_spawns_a_flood() {
    thread_local!(static CELL: RefCell<usize> = const { RefCell::new(0) });
    let count = &AtomicUsize::new(0);
    let pool = Pool::builder()
        .workers(1)
        .stack_size(STACK)
        .build()
        .unwrap();
    pool.run(|mut w| {
        w.finish(|scope| {
            CELL.with(|cell| {
                let borrowed = cell.borrow_mut();
                for _ in 0..FLOOD {
                    scope.spawn(|_| {
                        CELL.with(|cell| *cell.borrow_mut() += 1);
                        count.fetch_add(1, Relaxed);
                    });
                }
                drop(borrowed);
            });
        });
    });
    assert_eq!(count.load(Relaxed), FLOOD);
}

/// The tasks wait for what the body sends after it has spawned them.
#[test]
fn tasks_of_a_flood_may_wait_for_what_the_body_does_next() {
    let pool = Pool::builder().workers(2).build().unwrap();
    let (send, received) = channel();
    let received = &Mutex::new(received);
    let sum = &AtomicUsize::new(0);
    pool.run(|mut w| {
        w.finish(|scope| {
            for _ in 0..FLOOD {
                scope.spawn(|_| {
                    let received = received.lock().unwrap();
                    let number = received.recv_timeout(Duration::from_secs(20)).unwrap();
                    sum.fetch_add(number, Relaxed);
                });
            }
            (0..FLOOD).for_each(|_| send.send(1).unwrap());
        });
    });
    assert_eq!(sum.load(Relaxed), FLOOD);
}

/// Thieves end most of these tasks while the body still spawns. Their slots are used again.
#[test]
fn a_flood_that_thieves_end_may_be_longer_than_the_stack() {
    let pool = Pool::builder()
        .workers(2)
        .stack_size(STACK)
        .build()
        .unwrap();
    let count = &AtomicUsize::new(0);
    pool.run(|mut w| {
        w.finish(|scope| {
            for n in 0..10 * FLOOD {
                scope.spawn(|_| _ = count.fetch_add(1, Relaxed));
                if n % FLOOD == 0 {
                    thread::sleep(Duration::from_millis(1));
                }
            }
        });
    });
    assert_eq!(count.load(Relaxed), 10 * FLOOD);
}
