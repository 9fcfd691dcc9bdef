//! Tests that a chain of tasks, where each task spawns the next, does not nest on a worker's stack.

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::Duration;

use crate::common::{add, busy, pool};
use purloin::{Pool, ReturnBarrier, Scheduler, Scope, Spawner, Worker};
use purloin_schedulers::{Channel, ChaseLev, DirectStack, TwoFields};

const LENGTH: usize = 100_000;

/// The kind and duration of a chain's tasks.
#[derive(Clone, Copy)]
struct Links {
    /// `(n, of)`: among `of` tasks in a row, `n` are futures that nothing gets. The others are
    /// spawned.
    futures: (usize, usize),
    /// Work of each task after it has created the next.
    work: Duration,
}

/// All tasks are spawned.
const ALL_SPAWNED: (usize, usize) = (0, 1);
/// All tasks are futures.
const ALL_FUTURES: (usize, usize) = (1, 1);

/// Runs the first of `length` tasks, which creates the next.
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
fn a_million_tasks_may_each_spawn_the_next() {
    let links = Links {
        futures: ALL_SPAWNED,
        work: Duration::ZERO,
    };
    for workers in [1, 3] {
        let count = AtomicUsize::new(0);
        pool(workers).run(|mut w| w.finish(|scope| chain(scope, 1_000_000, links, &count)));
        assert_eq!(count.into_inner(), 1_000_000);
    }
}

/// While thousands of tasks are ready, a spawn runs its task inline. Even so, the tasks of a chain
/// must not nest.
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

/// A walk along a list is a chain of tasks. A thief takes the next task; a worker that waits for
/// the thief takes the task after that.
#[test]
fn a_chain_does_not_nest_on_workers_that_wait_for_thieves() {
    fn check<S: Scheduler>(scheduler: impl Fn() -> S) {
        let mixed = (1, 3);
        let work = Duration::from_nanos(200);
        for (workers, futures) in [
            (2, ALL_SPAWNED),
            (3, ALL_SPAWNED),
            (1, ALL_FUTURES),
            (2, ALL_FUTURES),
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

/// A task that has spawned thousands of tasks runs further spawns inline.
#[test]
fn a_chain_does_not_nest_in_a_task_that_has_spawned_thousands() {
    // With a stack of 64 KiB, half of the task stack has as many slots as a spawner leaves tasks to
    // thieves. A stack of 64 KiB is too small for unoptimised code.
    let small = 64 << 10;
    let mut cases = vec![
        (2 << 20, ALL_FUTURES),
        (small, ALL_SPAWNED),
        (small, ALL_FUTURES),
    ];
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

/// Futures that belong to no finish cannot go to the queue of a finish.
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
