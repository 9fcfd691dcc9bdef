//! Tasks that each spawn the next, however many, do not nest on any worker's stack.
#![allow(missing_docs)]

mod common;

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::Duration;

use common::{add, busy, pool};
use purloin::{Pool, ReturnBarrier, Scheduler, Scope, Spawner, Worker};
use purloin_schedulers::{Channel, ChaseLev, DirectStack, TwoFields};

const LENGTH: usize = 100_000;

/// What a chain is made of.
#[derive(Clone, Copy)]
struct Links {
    /// How many of so many links are futures, which nobody gets, and not spawned tasks.
    futures: (usize, usize),
    /// How long each works after it has spawned the next.
    work: Duration,
}

const TASKS: (usize, usize) = (0, 1);
const FUTURES: (usize, usize) = (1, 1);

fn chain<'s, S: Spawner>(
    scope: &'s Scope<'s, '_, S>,
    length: usize,
    links: Links,
    count: &'s AtomicUsize,
) {
    add(count, 1);
    if length > 1 {
        let next = move || chain(scope, length - 1, links, count);
        match length % links.futures.1 < links.futures.0 {
            true => drop(scope.future(move |_| next())),
            false => scope.spawn(move |_| next()),
        }
    }
    busy(links.work);
}

#[test]
fn a_million_tasks_that_each_spawn_the_next() {
    let links = Links {
        futures: TASKS,
        work: Duration::ZERO,
    };
    for workers in [1, 3] {
        let count = AtomicUsize::new(0);
        pool(workers).run(|mut w| w.finish(|scope| chain(scope, 1_000_000, links, &count)));
        assert_eq!(count.into_inner(), 1_000_000);
    }
}

/// Where thousands of tasks wait, more are run at once; but those of a chain not one
/// within the other.
#[test]
fn a_chain_does_not_nest_beside_thousands_of_tasks() {
    fn next<'s, S: Spawner>(
        scope: &'s Scope<'s, '_, S>,
        length: usize,
        escapes: bool,
        count: &'s AtomicUsize,
    ) {
        count.fetch_add(1, Relaxed);
        if length == 0 {
            return;
        }
        scope.spawn(move |mut w| match escapes {
            true => {
                w.join(|_| next(scope, length - 1, true, count), |_| ());
            }
            false => next(scope, length - 1, false, count),
        });
    }
    for escapes in [false, true] {
        let count = AtomicUsize::new(0);
        pool(1).run(|mut w| {
            w.finish(|scope| {
                let begin = || {
                    for _ in 0..5000 {
                        scope.spawn(|_| ());
                    }
                    next(scope, LENGTH, escapes, &count);
                };
                match escapes {
                    true => {
                        scope.join(|_| begin(), |_| ());
                    }
                    false => begin(),
                }
            });
        });
        assert_eq!(count.into_inner(), LENGTH + 1);
    }
}

/// As on the way along a list. Thieves take the next task, and who waits for them takes the next but
/// one.
#[test]
fn a_chain_does_not_nest_in_those_who_wait_for_thieves() {
    fn check<S: Scheduler>(scheduler: impl Fn() -> S) {
        let mixed = (1, 3);
        let work = Duration::from_nanos(200);
        for (workers, futures) in [
            (2, TASKS),
            (3, TASKS),
            (1, FUTURES),
            (2, FUTURES),
            (2, mixed),
        ] {
            let count = AtomicUsize::new(0);
            let links = Links { futures, work };
            let builder = Pool::builder().workers(workers).stack_size(2 << 20);
            let pool = builder.scheduler(scheduler()).build().unwrap();
            pool.run(|mut w| w.finish(|scope| chain(scope, LENGTH, links, &count)));
            assert_eq!(count.into_inner(), LENGTH);
        }
    }
    check(ReturnBarrier::default);
    check(DirectStack::<TwoFields>::new);
    check(ChaseLev::default);
    check(Channel::default);
}

/// There, what is spawned is run at once.
#[test]
fn a_chain_does_not_nest_in_a_task_that_has_spawned_thousands() {
    // With 64 KiB, half of the task stack is as much as a spawner leaves to thieves. There is no room
    // for unoptimised code.
    let small = 64 << 10;
    let mut cases = vec![(2 << 20, FUTURES), (small, TASKS), (small, FUTURES)];
    cases.truncate(if cfg!(debug_assertions) { 1 } else { 3 });
    for (stack, futures) in cases {
        let count = AtomicUsize::new(0);
        let links = Links {
            futures,
            work: Duration::ZERO,
        };
        let pool = Pool::builder().workers(1).stack_size(stack);
        pool.build().unwrap().run(|mut w| {
            w.finish(|scope| {
                scope.spawn(|_| {
                    for _ in 0..4096 {
                        scope.spawn(|_| ());
                    }
                    chain(scope, LENGTH, links, &count);
                });
            });
        });
        assert_eq!(count.into_inner(), LENGTH);
    }
}

/// Futures that belong to no finish have no queue to escape to.
#[test]
fn a_chain_of_futures_in_no_finish_does_not_nest() {
    static COUNT: AtomicUsize = AtomicUsize::new(0);
    fn next<W: Worker>(mut w: W, length: usize) {
        add(&COUNT, 1);
        if length > 1 {
            drop(w.future(move |w| next(w, length - 1)));
        }
        busy(Duration::from_nanos(200));
    }
    for workers in [1, 2, 3] {
        let builder = Pool::builder().workers(workers).stack_size(2 << 20);
        builder.build().unwrap().run(|w| next(w, LENGTH));
        assert_eq!(COUNT.swap(0, Relaxed), LENGTH);
    }
}
