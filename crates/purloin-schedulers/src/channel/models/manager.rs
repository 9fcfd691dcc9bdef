//! Loom models of the manager: work-sharing requests, registered requests, and termination.

use loom::thread;

use super::*;

/// A request waits with a worker that becomes idle. The worker then forwards it to the manager, and
/// wakes the manager.
#[test]
fn a_work_sharing_request_reaches_the_manager() {
    check(3, 0b010, |model| {
        model.send_request(2, 1);
        let worker = {
            let model = model.clone();
            thread::spawn(move || {
                model.check_mailbox(1, Situation::Running);
                model.check_mailbox(1, Situation::Idle);
            })
        };
        // Worker 1 still counts as active, so the manager may send the request back there. The
        // model only checks that the manager has seen the request once.
        let mut has_arrived = false;
        model.sleep.park_until(MANAGER, || {
            has_arrived |= !model.channels(MANAGER).mailbox.is_empty();
            has_arrived
        });
        worker.join().unwrap();
    });
}

/// Either the worker sees the registered request, or the manager sees that the worker is active.
/// So a thief that sleeps without a timer is not forgotten.
#[test]
fn a_newly_active_worker_finds_registered_requests() {
    check(3, 0, |model| {
        model.send_request(2, MANAGER);
        let manager = {
            let model = model.clone();
            thread::spawn(move || model.check_mailbox(MANAGER, Situation::Idle))
        };
        model.active.store(0b010, Ordering::Relaxed);
        fence(Ordering::SeqCst);
        let registered = model.channels(MANAGER).mailbox.iter_any().next();
        manager.join().unwrap();
        assert!(registered.is_some() || !model.channels(1).mailbox.is_empty());
    });
}

/// One thief has asked the worker, and one the manager while all were idle.
#[test]
fn a_loop_is_split_for_registered_thieves_too() {
    check(4, 0, |model| {
        model.send_request(2, MANAGER);
        model.check_mailbox(MANAGER, Situation::Idle);
        model.active.store(0b010, Ordering::Relaxed);
        model.send_request(3, 1);
        assert_eq!(thieves_at_hand(&*model, 1), 2);
        assert_eq!(thieves_at_hand(&*model, MANAGER), 1);
    });
}

/// A thief that has asked ahead runs out of work while a handler holds its request and finds no task for
/// it. The thief may sleep afterwards, and the manager registers only a request that is marked as idle.
#[test]
fn a_thief_marks_a_request_as_idle_that_a_handler_holds() {
    check(2, 0b01, |model| {
        model.send_request_in(RequestState::Working, 1, MANAGER);
        let handler = {
            let model = model.clone();
            thread::spawn(move || model.check_mailbox(MANAGER, Situation::Running))
        };
        let own = model.own_request(1);
        assert!(own.mark_idle());
        handler.join().unwrap();
        assert_eq!(own.state(), RequestState::Idle);
    });
}

/// When all workers are idle, the manager's own request is UNSENT.
#[test]
fn an_idle_worker_cancels_the_manager_s_request() {
    check(2, 0, |model| {
        model.send_request(MANAGER, 1);
        let worker = {
            let model = model.clone();
            thread::spawn(move || model.check_mailbox(1, Situation::Idle))
        };
        if model.recall(RequestId::new(MANAGER, Kind::Any)) {
            let own = model.own_request(MANAGER);
            // SAFETY: this thread is the request's thief, and has recalled it, so it is UNSENT.
            unsafe { own.with(|contents| contents.restart()) };
        }
        worker.join().unwrap();
        assert!(model.channels(1).mailbox.is_empty());
        assert_eq!(model.own_request(MANAGER).state(), RequestState::Unsent);
    });
}

/// The manager's request waits with a worker that becomes idle while a third worker is active. It
/// goes there.
#[test]
fn the_manager_s_request_goes_to_an_active_worker() {
    check(3, 0b010, |model| {
        // Worker 1 is active, and all were asked.
        let own = model.own_request(MANAGER);
        // SAFETY: this thread is the request's thief, and the request is UNSENT.
        unsafe {
            own.with(|contents| {
                contents.restart();
                (0..3).for_each(|worker| contents.mark_asked(worker));
                contents.is_work_sharing = true;
            });
        }
        own.begin(RequestState::Idle);
        model.send(RequestId::new(MANAGER, Kind::Any), 2);
        model.check_mailbox(2, Situation::Idle);
        assert!(!model.channels(1).mailbox.is_empty());
    });
}

impl Model {
    /// A worker that has slept with its request at the manager runs all jobs, and becomes idle
    /// again. For each job it calls `job` with the number of jobs that it has run before.
    fn run_jobs(&self, me: usize, job: impl Fn(usize)) {
        let mut number = 0;
        while !self.jobs.are_over() {
            self.withdraw(RequestId::new(me, Kind::Any));
            if self.jobs.take() {
                job(number);
                number += 1;
            }
        }
        self.become_idle(me);
    }

    /// A worker whose request may be withdrawn becomes idle again.
    fn become_idle(&self, me: usize) {
        let own = self.own_request(me);
        match own.state() {
            RequestState::Unsent => self.send_request(me, MANAGER),
            _ => {
                if own.mark_idle() {
                    if self.barrier.is_awaited_by_now() {
                        self.sleep.unpark(MANAGER);
                    }
                } else if own.state() == RequestState::Unsent {
                    self.send_request(me, MANAGER);
                }
            }
        }
    }

    /// The idle manager. Returns when it has ended the waits at the task barrier up to this one.
    fn end_waits(&self, last: u64) {
        self.sleep.park_until(MANAGER, || {
            self.end_wait_if_quiescent()
                .is_some_and(|wait| wait >= last)
        });
    }

    /// The idle manager: looks at its messages, and ends the waits at the task barrier if all workers
    /// are idle. Returns the last of these waits.
    fn end_wait_if_quiescent(&self) -> Option<u64> {
        self.check_mailbox(MANAGER, Situation::Idle);
        let wait = self.barrier.awaited()?;
        let is_quiescent = forward::is_quiescent(self, || self.jobs.are_over());
        if !is_quiescent {
            return None;
        }
        self.barrier.end(wait);
        Some(wait)
    }
}

/// The wait ends after the job, and it does end: otherwise the manager would sleep for ever.
#[test]
fn a_wait_ends_after_the_last_job() {
    check(2, 0, |model| {
        model.send_request(1, MANAGER);
        model.jobs.add();
        let manager = {
            let model = model.clone();
            thread::spawn(move || model.end_waits(1))
        };
        let worker = {
            let model = model.clone();
            thread::spawn(move || model.run_jobs(1, |_| model.run(0)))
        };
        model.barrier.wait_for_end(|| model.sleep.unpark(MANAGER));
        model.assert_each_ran_once(1);
        manager.join().unwrap();
        worker.join().unwrap();
    });
}

#[test]
fn a_thread_that_has_waited_sees_the_effects_of_the_job() {
    check(2, 0, |model| {
        let effect = Arc::new(loom::cell::UnsafeCell::new(0));
        model.send_request(1, MANAGER);
        model.jobs.add();
        let manager = {
            let model = model.clone();
            thread::spawn(move || model.end_waits(1))
        };
        let worker = {
            let (model, effect) = (model.clone(), effect.clone());
            thread::spawn(move || {
                // SAFETY: the reader waits until the job is done. Loom reports a race otherwise.
                model.run_jobs(1, |_| effect.with_mut(|effect| unsafe { *effect = 1 }));
            })
        };
        model.barrier.wait_for_end(|| model.sleep.unpark(MANAGER));
        // SAFETY: the wait is over, so the job is done. Loom reports a race otherwise.
        effect.with(|effect| assert_eq!(unsafe { *effect }, 1));
        manager.join().unwrap();
        worker.join().unwrap();
    });
}

/// The first job adds another one, and the worker seems idle in between.
#[test]
fn a_wait_covers_a_job_that_a_job_has_added() {
    check(2, 0, |model| {
        model.send_request(1, MANAGER);
        model.jobs.add();
        let manager = {
            let model = model.clone();
            thread::spawn(move || model.end_waits(1))
        };
        let worker = {
            let model = model.clone();
            thread::spawn(move || {
                model.run_jobs(1, |number| {
                    if number == 0 {
                        model.jobs.add();
                    }
                    model.run(number as u64);
                });
            })
        };
        model.barrier.wait_for_end(|| model.sleep.unpark(MANAGER));
        model.assert_each_ran_once(2);
        manager.join().unwrap();
        worker.join().unwrap();
    });
}
