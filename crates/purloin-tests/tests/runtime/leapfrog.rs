//! Leapfrogging: the tasks that a blocked worker runs, and the moment when it goes on.

use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::*};
use std::sync::{Mutex, PoisonError};
use std::thread::available_parallelism;
use std::time::{Duration, Instant};

use crate::common::{busy, eventually, pool_with};
use purloin::{ReturnBarrier, Scheduler, Worker};
use purloin_schedulers::{
    Channel, ChaseLev, DefaultWs, DirectStack, OneField, ReturnBarrierWs, TwoFields,
};

/// Each test holds this lock, because two tests at once would use up the cores.
static ALONE: Mutex<()> = Mutex::new(());

thread_local! {
    /// For each join that is open on this thread, the closure that the join runs or waits for.
    static OPEN: RefCell<Vec<Task>> = const { RefCell::new(Vec::new()) };
}

/// A task of a tree.
#[derive(Clone, Copy, Debug)]
struct Task {
    tree: u64,
    /// The root has number 1. The closures of the join in closure *k* have numbers 2*k* and 2*k* + 1.
    number: u64,
}

impl Task {
    /// Returns the closures of the join in this task.
    fn children(self) -> [Task; 2] {
        [0, 1].map(|child| Task {
            number: 2 * self.number + child,
            ..self
        })
    }

    fn descends_from(self, from: Task) -> bool {
        let generations = from
            .number
            .leading_zeros()
            .checked_sub(self.number.leading_zeros());
        self.tree == from.tree
            && generations.is_some_and(|generations| self.number >> generations == from.number)
    }
}

/// Runs a lopsided tree of joins. Each task checks that it descends from the closure for which
/// the join below it on the same thread waits.
fn tree<W: Worker>(mut w: W, task: Task, depth: u32, leapfrogs: &AtomicU64) {
    OPEN.with_borrow(|open| {
        if let Some(&awaited) = open.last() {
            assert!(
                task.descends_from(awaited),
                "{task:?} runs on top of a join that waits for {awaited:?}"
            );
            leapfrogs.fetch_add(u64::from(task.number > 2 * awaited.number + 1), Relaxed);
        }
    });
    if depth == 0 {
        return busy(Duration::from_micros(task.number % 50));
    }
    let [a, b] = task.children();
    OPEN.with_borrow_mut(|open| open.push(a));
    w.join(
        |w| {
            tree(w, a, depth - 1, leapfrogs);
            // From here on, the join runs or waits for its second closure.
            OPEN.with_borrow_mut(|open| *open.last_mut().unwrap() = b);
        },
        |w| tree(w, b, depth.saturating_sub(2), leapfrogs),
    );
    OPEN.with_borrow_mut(|open| open.pop());
}

fn a_blocked_worker_runs_descendants_of_the_awaited_task_only<S: Scheduler + Default>() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let leapfrogs = AtomicU64::new(0);
    let round = || {
        for workers in [2, 3, 8] {
            let pool = pool_with(S::default(), workers);
            for _ in 0..20 {
                pool.run(|w| tree(w, Task { tree: 0, number: 1 }, 13, &leapfrogs));
            }
        }
    };
    round();
    // Without a leapfrog the rounds have tested nothing. On a busy machine leapfrogs are rare. On one
    // processor there may be none: while one worker waits, its thief does not run.
    if available_parallelism().is_ok_and(|processors| processors.get() == 1) {
        return;
    }
    eventually("a worker leapfrogs", || {
        let is_there = leapfrogs.load(Relaxed) > 0;
        if !is_there {
            round();
        }
        is_there
    });
}

/// A broadcast runs on a blocked worker, on top of what the worker waits for. Neither takes tasks of
/// the other, even if the worker has asked for a task before the broadcast came.
#[test]
fn a_broadcast_on_a_blocked_worker_keeps_to_itself() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let (leapfrogs, trees) = (AtomicU64::new(0), AtomicU64::new(0));
    let new_tree = || Task {
        tree: trees.fetch_add(1, Relaxed),
        number: 1,
    };
    for workers in [3, 8] {
        let pool = crate::common::pool(workers);
        let is_over = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !is_over.load(Relaxed) {
                    pool.broadcast(|w| {
                        let below = OPEN.take();
                        tree(w, new_tree(), 6, &leapfrogs);
                        OPEN.set(below);
                    });
                }
            });
            let runs = catch_unwind(AssertUnwindSafe(|| {
                for _ in 0..40 {
                    pool.run(|w| tree(w, new_tree(), 11, &leapfrogs));
                }
            }));
            is_over.store(true, Relaxed);
            runs.unwrap_or_else(|panic| resume_unwind(panic));
        });
    }
}

fn a_blocked_worker_goes_on_when_the_awaited_task_is_done<S: Scheduler + Default>() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    const UNRELATED: Duration = Duration::from_millis(8);

    /// Offers many long tasks until `over` is set.
    fn unrelated<W: Worker>(mut w: W, tasks: u32, over: &AtomicBool) {
        if over.load(Relaxed) {
        } else if tasks == 1 {
            // The task sleeps instead of spinning, so that it does not take a core from the other
            // workers.
            std::thread::sleep(UNRELATED);
        } else {
            w.join(
                |w| unrelated(w, tasks / 2, over),
                |w| unrelated(w, tasks - tasks / 2, over),
            );
        }
    }

    let pool = pool_with(S::default(), 3);
    let mut delays: Vec<_> = (0..11)
        .map(|_| {
            let (busy_elsewhere, over) = (AtomicBool::new(false), AtomicBool::new(false));
            let (begun, ended) = (AtomicBool::new(false), Mutex::new(None));
            let (delay, ()) = pool.run(|mut w| {
                w.join(
                    |mut w| {
                        eventually("the other worker has unrelated tasks", || {
                            busy_elsewhere.load(Acquire)
                        });
                        w.join(
                            |_| eventually("the third worker steals", || begun.load(Acquire)),
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
                        // Before that, the third worker would steal an unrelated task.
                        eventually("the third worker steals", || begun.load(Acquire));
                        unrelated(w, 64, &over);
                    },
                )
            });
            delay
        })
        .collect();
    delays.sort();
    // The test checks the median, because with fewer cores than workers some delays are long.
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

/// The other test does not suit these schedulers. In it, a closure waits until the other closure is
/// stolen, but under them a victim answers requests only when it pushes or pops.
mod without_force {
    use super::*;

    #[test]
    fn a_blocked_worker_runs_descendants_of_the_awaited_task_only() {
        super::a_blocked_worker_runs_descendants_of_the_awaited_task_only::<Channel>();
        super::a_blocked_worker_runs_descendants_of_the_awaited_task_only::<DefaultWs>();
        super::a_blocked_worker_runs_descendants_of_the_awaited_task_only::<ReturnBarrierWs>();
    }
}
