//! Loom models of whole pools: small programs on the library's own loops, for idle workers, blocked workers,
//! threads outside the pool, and the end of the pool.
//!
//! A lost wake-up would leave a thread parked for ever, which loom reports as a deadlock. In a model no sleep
//! of a worker has a time limit.
//!
//! The bounds on preemptions are low, so that all models take a minute. With a bound of 0, loom switches to another
//! thread only where one blocks or yields, and explores what relaxed loads may see. `LOOM_MAX_PREEMPTIONS=1` explores
//! these models further, which takes some minutes more.

use std::sync::Arc;

use crate::sync::{AtomicUsize, Ordering, plain, spin_loop, thread};
use crate::{Pool, Worker};

/// Stack sizes for the threads of a model, in bytes.
const STACK_SIZE: usize = 64 << 10;

/// Explores `program`, which runs outside a pool, with at most this many preemptions. The pool is dropped at
/// the end, and waits for its workers.
pub(crate) fn check(
    workers: usize,
    spares: usize,
    preemptions: usize,
    program: impl Fn(&Pool) + Send + Sync + 'static,
) {
    let mut model = crate::sync::model_builder(preemptions);
    model.max_branches = 100_000;
    let program = Arc::new(program);
    model.check(move || {
        let program = Arc::clone(&program);
        // Loom's first thread has a small stack.
        let outside = thread::Builder::new().stack_size(STACK_SIZE);
        let outside = outside.spawn(move || {
            let pool = Pool::builder()
                .workers(workers)
                .spare_workers(spares)
                .rescue_calls(false)
                .stack_size(STACK_SIZE);
            let pool = pool.build().unwrap();
            program(&pool);
            // No worker waits any more.
            assert!(pool.shared.sleep.all_handoffs_have_ended());
        });
        outside.unwrap().join().unwrap();
    });
}

/// A point in a program at which tasks meet.
#[derive(Clone)]
pub(crate) struct Meeting(Arc<AtomicUsize>);

impl Meeting {
    pub(crate) fn new() -> Meeting {
        Meeting(Arc::new(AtomicUsize::new(0)))
    }

    /// Waits until this many tasks have come.
    pub(crate) fn of(&self, tasks: usize) {
        // Relaxed: the tasks only meet.
        self.0.fetch_add(1, Ordering::Relaxed);
        while self.0.load(Ordering::Relaxed) < tasks {
            spin_loop();
        }
    }

    pub(crate) fn came(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }
}

#[test]
fn a_pool_without_work_ends() {
    check(2, 0, 1, |_| ());
}

#[test]
fn a_call_from_outside_returns() {
    check(2, 0, 1, |pool| assert_eq!(pool.run(|_| 7), 7));
}

#[test]
fn a_thread_outside_gets_the_result_of_a_future() {
    check(1, 0, 2, |pool| assert_eq!(pool.future(|_| 7).get(), 7));
}

#[test]
fn a_wait_ends_after_the_job_before_it() {
    check(2, 0, 1, |pool| {
        let ended = Arc::new(plain::AtomicBool::new(false));
        let job = Arc::clone(&ended);
        pool.spawn(move |_| job.store(true, Ordering::Relaxed));
        pool.wait();
        assert!(ended.load(Ordering::Relaxed));
    });
}

/// The first worker that is woken wakes the second.
#[test]
fn two_jobs_meet() {
    check(2, 0, 1, |pool| {
        let meeting = Meeting::new();
        for _ in 0..2 {
            let meeting = meeting.clone();
            pool.spawn(move |_| meeting.of(2));
        }
        // A pool that is dropped wakes all workers.
        pool.wait();
    });
}

/// The job needs both workers, and begins when the pool may be stopping already.
#[test]
fn a_pool_that_is_dropped_runs_its_jobs() {
    check(2, 0, 0, |pool| {
        let meeting = Meeting::new();
        pool.spawn(move |mut w| {
            let other = meeting.clone();
            w.join(|_| meeting.of(2), |_| other.of(2));
        });
    });
}

#[test]
fn every_worker_runs_a_broadcast() {
    check(2, 0, 0, |pool| {
        assert_eq!(pool.broadcast(|w| w.index()), [0, 1]);
    });
}

/// The message comes from a job, when the pool may be stopping already.
#[test]
fn a_pool_that_is_dropped_runs_its_mail() {
    check(2, 0, 1, |pool| {
        let meeting = Meeting::new();
        pool.spawn(move |w| w.pool().spawn_broadcast(move |_| meeting.of(2)));
    });
}

/// The owner is in a leaf, and no other worker pushes, so the idle worker must not sleep.
#[test]
fn the_tasks_of_a_join_meet() {
    check(2, 0, 0, |pool| {
        let meeting = Meeting::new();
        pool.run(|mut w| w.join(|_| meeting.of(2), |_| meeting.of(2)));
        assert_eq!(meeting.came(), 2);
    });
}

#[test]
fn the_tasks_of_a_finish_meet() {
    check(2, 0, 0, |pool| {
        let meeting = Meeting::new();
        pool.run(|mut w| {
            w.finish(|scope| {
                scope.spawn(|_| meeting.of(2));
                meeting.of(2);
            });
        });
        assert_eq!(meeting.came(), 2);
    });
}

/// The owner of a stolen task takes a task of its thief.
#[test]
fn a_blocked_worker_leapfrogs() {
    check(2, 0, 0, |pool| {
        let (begun, meeting) = (Meeting::new(), Meeting::new());
        pool.run(|mut w| {
            w.join(
                |_| begun.of(2),
                |mut w| {
                    begun.of(2);
                    w.join(|_| meeting.of(2), |_| meeting.of(2));
                },
            )
        });
        assert_eq!(meeting.came(), 2);
    });
}

/// The owner of a stolen task has handed off its processor, perhaps, when it takes a task of its thief. It has the
/// processor back before it runs the task.
#[test]
fn a_worker_that_leapfrogs_has_its_processor_back() {
    check(2, 1, 0, |pool| {
        let [begun, meeting, looked] = [(); 3].map(|()| Meeting::new());
        let meet = || {
            meeting.of(2);
            assert!(pool.shared.sleep.all_handoffs_have_ended());
            looked.of(2);
        };
        pool.run(|mut w| {
            w.join(
                |_| begun.of(2),
                |mut w| {
                    begun.of(2);
                    w.join(|_| meet(), |_| meet());
                },
            )
        });
        assert_eq!(looked.came(), 2);
    });
}

/// Worker 0 waits for a task that worker 1 runs, and that waits for a job. A spare worker runs the job.
#[test]
fn a_blocked_worker_does_not_idle_its_processor() {
    check(2, 1, 0, |pool| {
        let (begun, meeting) = (Meeting::new(), Meeting::new());
        pool.run(|mut w| {
            w.join(
                |_| begun.of(2),
                |w| {
                    begun.of(2);
                    let job = meeting.clone();
                    w.pool().spawn(move |_| job.of(2));
                    meeting.of(2);
                },
            )
        });
        assert_eq!(meeting.came(), 2);
    });
}
