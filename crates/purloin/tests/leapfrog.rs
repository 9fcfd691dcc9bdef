//! Leapfrogging: what a blocked join runs, and when it goes on.
#![allow(missing_docs)]

mod common;

use std::cell::RefCell;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::*};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use common::{busy, eventually};
use purloin::{Pool, ReturnBarrier, Scheduler, Worker};
use purloin_schedulers::{Channel, ChaseLev, DirectStack, OneField, TwoFields};

/// One test at a time, as the others would be in the way.
static ALONE: Mutex<()> = Mutex::new(());

fn pool<S: Scheduler + Default>(workers: usize) -> Pool<S> {
    let builder = Pool::builder().workers(workers);
    builder.scheduler(S::default()).build().unwrap()
}

thread_local! {
    /// For each join that is open on this thread, the closure that it is
    /// running or waiting for. The root is 1; the closures of join *k* are
    /// 2*k* and 2*k* + 1.
    static OPEN: RefCell<Vec<u64>> = const { RefCell::new(Vec::new()) };
}

fn descends(task: u64, from: u64) -> bool {
    let generations = from.leading_zeros().checked_sub(task.leading_zeros());
    generations.is_some_and(|generations| task >> generations == from)
}

/// A lopsided tree of joins that notes what runs on top of what.
fn tree<W: Worker>(mut w: W, task: u64, depth: u32, leapfrogs: &AtomicU64) {
    OPEN.with_borrow(|open| {
        if let Some(&awaited) = open.last() {
            assert!(
                descends(task, awaited),
                "task {task:b} runs on top of a join that waits for {awaited:b}"
            );
            leapfrogs.fetch_add(u64::from(task > 2 * awaited + 1), Relaxed);
        }
    });
    if depth == 0 {
        return busy(Duration::from_micros(task % 50));
    }
    OPEN.with_borrow_mut(|open| open.push(2 * task));
    w.join(
        |w| {
            tree(w, 2 * task, depth - 1, leapfrogs);
            // From here on, the join is about its second closure.
            OPEN.with_borrow_mut(|open| *open.last_mut().unwrap() += 1);
        },
        |w| tree(w, 2 * task + 1, depth.saturating_sub(2), leapfrogs),
    );
    OPEN.with_borrow_mut(|open| open.pop());
}

fn a_blocked_worker_runs_descendants_of_the_awaited_task_only<S: Scheduler + Default>() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let leapfrogs = AtomicU64::new(0);
    let round = || {
        for workers in [2, 3, 8] {
            let pool = pool::<S>(workers);
            for _ in 0..20 {
                pool.run(|w| tree(w, 1, 13, &leapfrogs));
            }
        }
    };
    round();
    // Or else nothing has been tested: on a busy machine it is rare.
    eventually("a leapfrog", || {
        let is_there = leapfrogs.load(Relaxed) > 0;
        if !is_there {
            round();
        }
        is_there
    });
}

fn a_blocked_worker_goes_on_when_the_awaited_task_is_done<S: Scheduler + Default>() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    const UNRELATED: Duration = Duration::from_millis(8);

    /// Plenty of long tasks, for whoever would take them.
    fn unrelated<W: Worker>(mut w: W, tasks: u32, over: &AtomicBool) {
        if over.load(Relaxed) {
        } else if tasks == 1 {
            // Not busy: it must not take a core from the others.
            std::thread::sleep(UNRELATED);
        } else {
            w.join(
                |w| unrelated(w, tasks / 2, over),
                |w| unrelated(w, tasks - tasks / 2, over),
            );
        }
    }

    let pool = pool::<S>(3);
    let mut delays: Vec<_> = (0..11)
        .map(|_| {
            let (busy_elsewhere, over) = (AtomicBool::new(false), AtomicBool::new(false));
            let (begun, ended) = (AtomicBool::new(false), Mutex::new(None));
            let (delay, ()) = pool.run(|mut w| {
                w.join(
                    |mut w| {
                        eventually("unrelated work elsewhere", || busy_elsewhere.load(Acquire));
                        w.join(
                            |_| eventually("the steal", || begun.load(Acquire)),
                            |_| {
                                begun.store(true, Release);
                                busy(Duration::from_millis(2));
                                *ended.lock().unwrap() = Some(Instant::now());
                            },
                        );
                        over.store(true, Relaxed);
                        ended.lock().unwrap().unwrap().elapsed()
                    },
                    |w| {
                        busy_elsewhere.store(true, Release);
                        // Not before, or the third worker would take it.
                        eventually("the steal", || begun.load(Acquire));
                        unrelated(w, 64, &over);
                    },
                )
            });
            delay
        })
        .collect();
    delays.sort();
    // The median: with fewer cores than workers, some are late.
    assert!(delays[5] < UNRELATED / 4, "{delays:?}");
}

macro_rules! under {
    ($($scheduler:ty => $name:ident;)*) => {
        $(
            mod $name {
                use super::*;

                #[test]
                fn a_blocked_worker_runs_descendants_of_the_awaited_task_only() {
                    super::a_blocked_worker_runs_descendants_of_the_awaited_task_only::<$scheduler>();
                }

                #[test]
                fn a_blocked_worker_goes_on_when_the_awaited_task_is_done() {
                    super::a_blocked_worker_goes_on_when_the_awaited_task_is_done::<$scheduler>();
                }
            }
        )*
    };
}

under! {
    ReturnBarrier => return_barrier;
    DirectStack<OneField> => direct_stack_one_field;
    DirectStack<TwoFields> => direct_stack_two_fields;
    ChaseLev => chase_lev;
}

/// The other test is not for it: there a task waits until another is stolen, and
/// under this scheduler that takes a victim that pushes or pops.
#[test]
fn a_blocked_worker_runs_descendants_of_the_awaited_task_only_under_channels() {
    a_blocked_worker_runs_descendants_of_the_awaited_task_only::<Channel>();
}
