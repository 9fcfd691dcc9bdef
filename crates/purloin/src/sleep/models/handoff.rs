//! Models of lending a processor and of taking it back.

use loom::sync::Arc;
use loom::thread;

use super::Model;
use crate::sync::Ordering;

/// The blocked worker.
const LENDER: usize = 0;

impl Model {
    /// An idle worker until the pool stops, as in [`crate::sleep::idle`], without
    /// the spinning. It runs tasks, of which there are so many in all.
    fn serve(&self, me: usize, tasks: usize) {
        while self.done.load(Ordering::Relaxed) < tasks {
            if self.sleep.retire(me) {
                self.pass_on();
                self.sleep.wait_for_processor(me);
            } else if self.take() {
                self.sleep.stop_searching();
                self.pass_on();
                if self.done.fetch_add(1, Ordering::Relaxed) + 1 == tasks {
                    self.sleep.stop();
                }
                self.sleep.start_searching();
            } else {
                self.sleep.sleep_idle(me, None, || {
                    self.has_tasks() || self.done.load(Ordering::Relaxed) == tasks
                });
            }
        }
        self.sleep.stop_searching();
    }

    fn lend(&self) {
        self.sleep.hand_off();
        self.pass_on();
    }
}

fn spawn(model: &Arc<Model>, work: impl FnOnce(&Model) + 'static) -> thread::JoinHandle<()> {
    let model = model.clone();
    thread::spawn(move || work(&model))
}

fn spare(model: &Arc<Model>, me: usize, tasks: usize) -> thread::JoinHandle<()> {
    spawn(model, move |model| {
        model.sleep.wait_for_processor(me);
        model.serve(me, tasks);
    })
}

#[test]
fn a_publication_finds_the_borrower() {
    Model::check_with(1, 1, 3, |model| {
        let spare = spare(&model, 1, 1);
        let lender = spawn(&model, move |model| {
            model.lend();
            let is_done = || model.done.load(Ordering::Relaxed) == 1;
            model.sleep.park_until(LENDER, is_done);
            model.sleep.end_handoff();
        });
        model.publish(1);
        lender.join().unwrap();
        spare.join().unwrap();
    });
}

#[test]
fn a_borrower_that_is_woken_while_the_lender_comes_back_leaves_nothing() {
    Model::check_with(1, 1, 3, |model| {
        let spare = spare(&model, 1, 1);
        let lender = spawn(&model, move |model| {
            model.lend();
            model.sleep.end_handoff();
            model.sleep.start_searching();
            model.serve(LENDER, 1);
        });
        model.publish(1);
        lender.join().unwrap();
        spare.join().unwrap();
    });
}

#[test]
fn one_processor_is_enough_for_two_tasks() {
    Model::check_with(1, 1, 2, |model| {
        let spare = spare(&model, 1, 2);
        let lender = spawn(&model, move |model| {
            model.lend();
            let was_helped = || model.done.load(Ordering::Relaxed) > 0;
            while !was_helped() {
                thread::yield_now();
            }
            model.sleep.end_handoff();
            // Idle at once, beside the borrower: one of them rests.
            model.sleep.start_searching();
            model.serve(LENDER, 2);
        });
        model.publish(1);
        model.publish(1);
        lender.join().unwrap();
        spare.join().unwrap();
    });
}

/// A publisher wakes nobody where one searches who is about to rest.
#[test]
fn a_blocked_worker_is_woken_in_the_place_of_one_that_retires() {
    Model::check_with(2, 1, 3, |model| {
        // One that was called, and is not needed any more.
        model.sleep.hand_off();
        model.sleep.wake_one(0);
        model.sleep.end_handoff();
        let spare = spawn(&model, move |model| {
            assert!(model.sleep.retire(2));
            model.pass_on();
        });
        let blocked = spawn(&model, move |model| {
            while !model.take() {
                model.sleep.sleep_blocked(1, 0, None, || model.has_tasks());
            }
        });
        model.publish(1);
        spare.join().unwrap();
        blocked.join().unwrap();
    });
}

/// One comes back between the registration of a searcher, on whom a publisher has
/// counted, and the end of his last look.
#[test]
fn who_is_put_to_rest_while_he_looks_goes_on_if_he_finds_something() {
    Model::check_with(3, 1, 2, |model| {
        // Worker 2 has handed_off its processor to the spare one, 3, which was called.
        model.sleep.hand_off();
        model.sleep.wake_one(0);
        model.sleep.start_searching();
        let idle = [1, 3].map(|me| spawn(&model, move |model| model.serve(me, 1)));
        let lender = spawn(&model, |model| model.sleep.end_handoff());
        model.publish(1);
        lender.join().unwrap();
        for idle in idle {
            idle.join().unwrap();
        }
    });
}

#[test]
fn what_was_lent_is_all_given_back() {
    Model::check_with(2, 1, 3, |model| {
        let lenders = [0, 1].map(|_| {
            let model = model.clone();
            thread::spawn(move || {
                // The second finds no borrower.
                model.sleep.hand_off();
                model.sleep.end_handoff();
            })
        });
        for lender in lenders {
            lender.join().unwrap();
        }
        assert!(model.sleep.is_balanced(1));
    });
}
