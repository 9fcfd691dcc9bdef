//! Loom models of announcements: an idle worker misses no worker that has tasks, although it visits only those that have
//! announced themselves.

use loom::sync::Arc;
use loom::thread;

use super::Model;
use crate::sync::{Ordering, fence};

/// The worker that has tasks.
const OWNER: usize = 0;

impl Model {
    /// Asks the owner for a task. A swap, because in a model the owner's swaps may overtake a store for ever.
    fn request(&self) {
        self.requested.swap(1, Ordering::AcqRel);
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
        if self.sleep.is_needed_by_others(OWNER) {
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

    /// Clears the announcement of the owner. Returns whether it is worth another visit.
    fn withdraw(&self) -> bool {
        if self.is_active() && self.has_tasks() {
            return true;
        }
        self.sleep.offers.withdraw(OWNER);
        let has_changed = self.is_active() && (self.has_tasks() || !self.is_requested());
        if has_changed {
            self.sleep.offers.announce(OWNER);
        }
        has_changed
    }

    /// Takes one task, as an idle worker that does not spin, and visits only an owner that has announced itself.
    fn find_announced(&self, me: usize) {
        self.sleep.start_searching();
        loop {
            if self.sleep.offers.has(OWNER) {
                if self.visit() {
                    break;
                }
                self.withdraw();
            }
            self.sleep.sleep_idle(me, None, || {
                let is_announced = self.sleep.offers.has(OWNER);
                if is_announced && self.is_active() {
                    self.request();
                }
                is_announced && self.withdraw()
            });
        }
        if self.sleep.stop_searching() && self.sleep.offers.any() {
            self.sleep.search_goes_on();
        }
    }
}

fn thief(model: &Arc<Model>, me: usize) -> thread::JoinHandle<()> {
    let model = model.clone();
    thread::spawn(move || model.find_announced(me))
}

#[test]
fn a_thief_finds_a_worker_that_becomes_active() {
    Model::check(|model| {
        let thief = thief(&model, 1);
        model.begin();
        model.push(1);
        thief.join().unwrap();
    });
}

#[test]
fn two_thieves_find_an_active_worker_again_after_it_has_answered() {
    Model::check_with(3, 0, 1, |model| {
        let thieves = [1, 2].map(|me| thief(&model, me));
        model.begin();
        model.push(2);
        for thief in thieves {
            thief.join().unwrap();
        }
    });
}

/// Two visitors clear the bit while the owner sets it.
#[test]
fn a_worker_that_two_visitors_leave_is_still_announced_if_it_has_changed() {
    Model::check(|model| {
        let visitors = [1, 2].map(|_| {
            let model = model.clone();
            thread::spawn(move || {
                if model.sleep.offers.has(OWNER) && !model.has_tasks() {
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
