//! Loom models of sleeping and waking: no wake-up is lost.
//!
//! A lost one would leave a thread parked for ever, which loom reports as a
//! deadlock.

mod handoff;

use loom::sync::Arc;
use loom::thread;

use super::sleepers::Sleep;
use crate::sync::{AtomicUsize, Ordering};

/// The tasks of worker 0, as a number, and a request for them.
struct Model {
    sleep: Sleep,
    tasks: AtomicUsize,
    requested: AtomicUsize,
    active: AtomicUsize,
    /// How many tasks have been run.
    done: AtomicUsize,
}

impl Model {
    fn check(model: impl Fn(Arc<Model>) + Sync + Send + 'static) {
        Model::check_with(3, 0, 3, model);
    }

    /// The same with spare workers, and as many preemptions at most.
    fn check_with(
        workers: usize,
        spares: usize,
        preemptions: usize,
        model: impl Fn(Arc<Model>) + Sync + Send + 'static,
    ) {
        let mut builder = loom::model::Builder::new();
        builder.preemption_bound = Some(preemptions);
        builder.check(move || {
            model(Arc::new(Model {
                sleep: Sleep::for_model(workers, spares),
                tasks: AtomicUsize::new(0),
                requested: AtomicUsize::new(0),
                active: AtomicUsize::new(0),
                done: AtomicUsize::new(0),
            }));
        });
    }

    fn has_tasks(&self) -> bool {
        self.tasks.load(Ordering::Relaxed) > 0
    }

    fn take(&self) -> bool {
        let tasks = self.tasks.load(Ordering::Relaxed);
        tasks > 0
            && self
                .tasks
                .compare_exchange(tasks, tasks - 1, Ordering::Relaxed, Ordering::Relaxed)
                .is_ok()
    }

    /// An idle worker, as in [`super::idle::find`], without the spinning.
    fn find(&self, me: usize) {
        self.sleep.start_searching();
        while !self.take() {
            self.sleep.sleep_idle(me, None, || {
                if self.active.load(Ordering::Relaxed) > 0 {
                    self.requested.store(1, Ordering::Relaxed);
                }
                self.has_tasks()
            });
        }
        self.sleep.stop_searching();
        self.pass_on();
    }

    /// On behalf of those who sleep.
    fn pass_on(&self) {
        if self.sleep.has_sleepers(0) && self.has_tasks() {
            self.sleep.published(0);
        }
    }

    fn publish(&self, tasks: usize) {
        self.tasks.fetch_add(tasks, Ordering::Relaxed);
        self.sleep.published(0);
    }
}

#[test]
fn a_thief_that_falls_asleep_meets_a_publication() {
    Model::check(|model| {
        let thief = {
            let model = model.clone();
            thread::spawn(move || model.find(1))
        };
        model.publish(1);
        thief.join().unwrap();
    });
}

#[test]
fn sleepers_wake_one_another() {
    Model::check(|model| {
        let thieves = [1, 2].map(|me| {
            let model = model.clone();
            thread::spawn(move || model.find(me))
        });
        // One wake-up, at most, for two tasks.
        model.publish(2);
        for thief in thieves {
            thief.join().unwrap();
        }
    });
}

#[test]
fn publications_one_by_one_reach_two_thieves() {
    Model::check(|model| {
        let thieves = [1, 2].map(|me| {
            let model = model.clone();
            thread::spawn(move || model.find(me))
        });
        model.publish(1);
        model.publish(1);
        for thief in thieves {
            thief.join().unwrap();
        }
    });
}

#[test]
fn a_worker_that_becomes_active_knows_of_the_sleepers() {
    Model::check(|model| {
        let thief = {
            let model = model.clone();
            thread::spawn(move || model.find(1))
        };
        model.active.store(1, Ordering::Relaxed);
        if model.sleep.is_needed_by_sleepers(0) {
            model.requested.store(1, Ordering::Relaxed);
        }
        // It publishes only if somebody has asked; if nobody has by now, then
        // the thief is still awake and will find it active.
        if model.requested.load(Ordering::Relaxed) == 1 {
            model.publish(1);
        } else {
            // A later push.
            while model.requested.load(Ordering::Relaxed) == 0 {
                thread::yield_now();
            }
            model.publish(1);
        }
        thief.join().unwrap();
    });
}

#[test]
fn a_blocked_worker_is_woken_by_the_one_it_waits_for() {
    Model::check(|model| {
        let blocked = {
            let model = model.clone();
            thread::spawn(move || {
                while !model.take() {
                    model.sleep.sleep_blocked(1, 0, None, || model.has_tasks());
                }
            })
        };
        model.publish(1);
        blocked.join().unwrap();
    });
}

#[test]
fn work_from_outside_wakes_an_idle_worker() {
    Model::check(|model| {
        let thief = {
            let model = model.clone();
            thread::spawn(move || model.find(1))
        };
        model.tasks.fetch_add(1, Ordering::Relaxed);
        model.sleep.injected();
        thief.join().unwrap();
    });
}
