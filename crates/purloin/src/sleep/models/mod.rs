//! Loom models of sleeping and waking: no wake-up is lost.
//!
//! A lost wake-up would leave a thread parked for ever, which loom reports as a deadlock.
//!
//! These models call [`Sleep`] in the shortest way that its rules allow, so they are small enough for many
//! preemptions, and for more workers. The models in `pool/models.rs` run the workers' own loops.

mod handoff;
mod latch;
mod mail;
mod offers;
mod thread_indices;

use loom::sync::Arc;
use loom::thread;

use super::protocol::Sleep;
use crate::sync::{AtomicUsize, Ordering};

/// A pool in which worker 0 has tasks. A number stands for the tasks, and another for the request.
struct Model {
    sleep: Sleep,
    tasks: AtomicUsize,
    requested: AtomicUsize,
    active: AtomicUsize,
    /// Number of tasks that have run.
    done: AtomicUsize,
}

impl Model {
    fn check(model: impl Fn(Arc<Model>) + Sync + Send + 'static) {
        Model::check_with(3, 0, 3, model);
    }

    /// Checks a model with the given numbers of workers and spare workers, and at most that many
    /// preemptions.
    fn check_with(
        workers: usize,
        spares: usize,
        preemptions: usize,
        model: impl Fn(Arc<Model>) + Sync + Send + 'static,
    ) {
        let builder = crate::sync::model_builder(preemptions);
        builder.check(move || model(Arc::new(Model::of(Sleep::for_model(workers, spares)))));
    }

    fn of(sleep: Sleep) -> Model {
        Model {
            sleep,
            tasks: AtomicUsize::new(0),
            requested: AtomicUsize::new(0),
            active: AtomicUsize::new(0),
            done: AtomicUsize::new(0),
        }
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

    /// Finds a task, as an idle worker that does not spin.
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

    /// Wakes a sleeper if there are tasks.
    fn pass_on(&self) {
        if self.sleep.has_sleepers(0) && self.has_tasks() {
            self.sleep.published(0);
        }
    }

    fn is_over(&self) -> bool {
        let is_any_active = || self.active.load(Ordering::Relaxed) > 0;
        self.sleep.is_over(is_any_active)
    }

    fn publish(&self, tasks: usize) {
        self.tasks.fetch_add(tasks, Ordering::Relaxed);
        self.sleep.published(0);
    }
}

#[test]
fn a_thief_that_falls_asleep_sees_a_publication() {
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
        // At most one wake-up for two tasks.
        model.publish(2);
        for thief in thieves {
            thief.join().unwrap();
        }
    });
}

#[test]
fn two_publications_reach_two_thieves() {
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
fn a_worker_that_becomes_active_sees_the_sleepers() {
    Model::check(|model| {
        let thief = {
            let model = model.clone();
            thread::spawn(move || model.find(1))
        };
        model.active.store(1, Ordering::Relaxed);
        if model.sleep.became_active(0) {
            model.requested.store(1, Ordering::Relaxed);
        }
        // The worker publishes only if it has a request. If it has none yet, the thief is still
        // awake and will find the worker active.
        if model.requested.load(Ordering::Relaxed) == 1 {
            model.publish(1);
        } else {
            // A later push answers the request.
            while model.requested.load(Ordering::Relaxed) == 0 {
                thread::yield_now();
            }
            model.publish(1);
        }
        thief.join().unwrap();
    });
}

#[test]
fn the_last_active_worker_ends_the_sleep_of_a_stopping_pool() {
    Model::check(|model| {
        model.active.store(1, Ordering::Relaxed);
        let worker = {
            let model = model.clone();
            thread::spawn(move || {
                model.active.store(0, Ordering::Relaxed);
                model.sleep.became_inactive();
            })
        };
        let sleeper = {
            let model = model.clone();
            thread::spawn(move || {
                model.sleep.start_searching();
                while !model.is_over() {
                    model.sleep.sleep_idle(1, None, || model.is_over());
                }
            })
        };
        model.sleep.stop();
        worker.join().unwrap();
        sleeper.join().unwrap();
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
