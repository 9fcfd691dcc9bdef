//! Loom models of announcements: an idle worker misses no worker that has tasks, although it visits only those that have
//! announced themselves.

use loom::sync::Arc;
use loom::thread;

use super::Model;
use crate::sync::{Ordering, fence};

/// The worker that has tasks.
const OWNER: usize = 0;

impl Model {
    /// Asks the owner for a task. Returns whether no other request was pending. A swap, because in a model the owner's swaps
    /// may overtake a store for ever.
    fn request(&self) -> bool {
        self.requested.swap(1, Ordering::AcqRel) == 0
    }

    fn is_requested(&self) -> bool {
        self.requested.load(Ordering::Relaxed) > 0
    }

    fn is_active(&self) -> bool {
        self.active.load(Ordering::Relaxed) > 0
    }

    /// Owner: becomes active.
    fn begin(&self) {
        self.active.store(1, Ordering::Relaxed);
        if self.sleep.became_active(OWNER) {
            self.request();
        }
    }

    /// Owner: pushes tasks, and makes each public for which a thief has asked, until that many are public.
    fn push(&self, mut tasks: usize) {
        while tasks > 0 {
            if self.requested.swap(0, Ordering::AcqRel) > 0 {
                self.publish(1);
                tasks -= 1;
            } else {
                thread::yield_now();
            }
        }
    }

    /// Visits the owner, as `runtime/steal.rs` does: takes a task, or leaves a request.
    fn visit(&self) -> bool {
        let found = self.is_active() && self.take();
        if !found && self.is_active() {
            self.request();
        }
        found
    }

    fn has_no_task(&self) -> bool {
        !self.is_active() || !self.has_tasks()
    }

    fn has_old_request(&self) -> bool {
        !self.is_active() || self.is_requested()
    }

    /// Clears the announcement of the owner. Returns whether it is worth another visit.
    fn withdraw(&self) -> bool {
        let has_answered = || self.is_active() && !self.is_requested();
        let offers = &self.sleep.offers;
        offers.withdraw(OWNER, has_answered, || !self.has_no_task())
    }

    /// Wakes a sleeper for the tasks of the owner, on behalf of a worker that has stopped searching.
    fn pass_on_announced(&self) {
        if self.sleep.is_any_searching() || !self.sleep.offers.has(OWNER) || !self.is_active() {
            return;
        }
        if self.sleep.awaited.has(OWNER) {
            self.ask_for_sleepers();
        } else if self.sleep.leaves_sleepers() {
            let may_withdraw = self.has_old_request();
            self.ask_for_sleepers();
            if may_withdraw && self.has_no_task() && self.withdraw() {
                self.ask_for_sleepers();
            }
        }
    }

    fn ask_for_sleepers(&self) {
        if self.sleep.has_sleepers(OWNER) {
            self.request();
            if self.has_tasks() {
                self.sleep.published(OWNER);
            }
        }
    }

    /// Takes one task, as an idle worker that does not spin, and visits only an owner that has announced itself.
    fn find_announced(&self, me: usize) {
        self.sleep.start_searching();
        while !(self.sleep.offers.has(OWNER) && self.visit()) {
            if self.sleep.offers.has(OWNER) && self.has_old_request() && self.has_no_task() {
                self.withdraw();
            }
            self.sleep.sleep_idle(me, None, || {
                if !self.sleep.offers.has(OWNER) {
                    return false;
                }
                let is_new = self.is_active() && self.request();
                match self.has_no_task() {
                    true => !is_new && self.withdraw(),
                    false => true,
                }
            });
        }
        self.sleep.stop_searching();
        self.pass_on_announced();
    }

    /// Takes one task, as a worker that is blocked on the owner.
    fn leapfrog(&self, me: usize) {
        while !self.take() {
            self.request();
            self.sleep.sleep_blocked(me, OWNER, None, || {
                self.request();
                self.has_tasks()
            });
        }
        // It passes on the tasks of the owner.
        self.ask_for_sleepers();
    }
}

fn spawn(model: &Arc<Model>, f: impl FnOnce(&Model) + 'static) -> thread::JoinHandle<()> {
    let model = model.clone();
    thread::spawn(move || f(&model))
}

#[test]
fn a_thief_finds_a_worker_that_becomes_active() {
    Model::check(|model| {
        let thief = spawn(&model, |model| model.find_announced(1));
        model.begin();
        model.push(1);
        thief.join().unwrap();
    });
}

#[test]
fn two_thieves_find_an_active_worker_again_after_it_has_answered() {
    Model::check_with(3, 0, 1, |model| {
        let thieves = [1, 2].map(|me| spawn(&model, move |model| model.find_announced(me)));
        model.begin();
        model.push(2);
        for thief in thieves {
            thief.join().unwrap();
        }
    });
}

/// The thief's task may be the answer to the blocked worker's request.
#[test]
fn the_last_thief_asks_anew_for_a_blocked_worker() {
    Model::check_with(3, 0, 1, |model| {
        let thief = spawn(&model, |model| model.find_announced(1));
        let blocked = spawn(&model, |model| model.leapfrog(2));
        model.begin();
        model.push(2);
        thief.join().unwrap();
        blocked.join().unwrap();
    });
}

/// A worker that has found a job from outside passes on while the owner pushes.
#[test]
fn a_worker_with_a_job_leaves_the_tasks_to_a_sleeper() {
    Model::check_with(3, 0, 1, |model| {
        let thief = spawn(&model, |model| model.find_announced(1));
        let with_job = spawn(&model, |model| {
            model.sleep.start_searching();
            if model.sleep.offers.has(OWNER) && model.has_no_task() {
                if !model.is_active() || !model.request() {
                    model.withdraw();
                }
            }
            model.sleep.stop_searching();
            model.pass_on_announced();
        });
        model.begin();
        model.push(1);
        thief.join().unwrap();
        with_job.join().unwrap();
    });
}

/// Two visitors clear the bit while the owner sets it.
#[test]
fn a_worker_that_two_visitors_leave_is_still_announced_if_it_has_changed() {
    Model::check(|model| {
        let visitors = [1, 2].map(|_| {
            spawn(&model, |model| {
                if model.sleep.offers.has(OWNER) && !model.has_tasks() {
                    // Also with a new request.
                    model.request();
                    model.withdraw();
                }
            })
        });
        model.begin();
        model.tasks.fetch_add(1, Ordering::Relaxed);
        fence(Ordering::SeqCst);
        model.sleep.offers.announce(OWNER);
        for visitor in visitors {
            visitor.join().unwrap();
        }
        assert!(model.sleep.offers.has(OWNER));
    });
}

/// Two visitors, of whom one clears the bit while the owner answers the request of the other with a task that is taken at
/// once, and then pushes a private one.
#[test]
fn a_worker_that_answers_between_the_looks_of_a_visitor_stays_announced() {
    Model::check_with(3, 0, 2, |model| {
        model.active.store(1, Ordering::Relaxed);
        model.sleep.offers.announce(OWNER);
        model.request();
        let visitors = [1, 2].map(|_| {
            spawn(&model, |model| {
                if model.sleep.offers.has(OWNER) {
                    let may_withdraw = model.has_old_request();
                    if !model.take() {
                        model.request();
                    }
                    if may_withdraw && model.has_no_task() {
                        model.withdraw();
                    }
                }
            })
        });
        // The answer. Its task is public.
        if model.requested.swap(0, Ordering::AcqRel) > 0 {
            model.publish(1);
        }
        // A private task.
        model.tasks.fetch_add(1, Ordering::Relaxed);
        crate::sync::asymmetric::light();
        let has_seen = model.is_requested();
        for visitor in visitors {
            visitor.join().unwrap();
        }
        let is_gone = !model.has_tasks();
        assert!(has_seen || is_gone || model.sleep.offers.has(OWNER));
    });
}

/// The owner pushes a private task without a fence, and does not answer again. The fence of a visitor on every processor
/// takes its place.
#[test]
fn a_worker_with_a_private_task_stays_announced_or_has_seen_the_request() {
    Model::check(|model| {
        let visitor = spawn(&model, |model| {
            if model.sleep.offers.has(OWNER) && model.is_active() {
                let may_withdraw = model.has_old_request();
                model.request();
                if may_withdraw && model.has_no_task() {
                    model.withdraw();
                }
            }
        });
        model.begin();
        model.request();
        model.tasks.store(1, Ordering::Relaxed);
        crate::sync::asymmetric::light();
        let has_seen = model.is_requested();
        visitor.join().unwrap();
        assert!(has_seen || model.sleep.offers.has(OWNER));
    });
}
