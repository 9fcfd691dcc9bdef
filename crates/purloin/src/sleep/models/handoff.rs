//! Loom models of handing off a processor and of ending the handoff.

use loom::sync::{Arc, Notify};
use loom::thread;

use super::Model;
use crate::sleep::Sleep;
use crate::sync::{AtomicUsize, Ordering};

/// The worker that is blocked and hands off its processor.
const BLOCKED: usize = 0;

impl Model {
    /// Runs tasks, as an idle worker that does not spin. The pool stops after `tasks` tasks in total.
    pub(super) fn serve(&self, me: usize, tasks: usize) {
        while self.done.load(Ordering::Relaxed) < tasks {
            if self.sleep.enter_reserve(me) {
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

    /// Moves workers that are set aside back to the reserve, as the watcher does in `pool/rescue.rs`.
    fn watch(&self) {
        while self.sleep.has_set_aside() {
            self.sleep.retry_set_aside();
            self.pass_on();
        }
    }

    /// Hands off a processor, and looks for work on behalf of the receiver.
    fn hand_off(&self) {
        self.sleep.hand_off(None);
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
fn a_publication_wakes_the_worker_that_received_a_processor() {
    Model::check_with(1, 1, 3, |model| {
        let spare = spare(&model, 1, 1);
        let blocked = spawn(&model, move |model| {
            model.hand_off();
            let is_done = || model.done.load(Ordering::Relaxed) == 1;
            model.sleep.park_until(BLOCKED, is_done);
            model.sleep.end_handoff(None);
        });
        model.publish(1);
        blocked.join().unwrap();
        spare.join().unwrap();
    });
}

/// The first thread of the spare worker does not start.
#[test]
fn a_task_runs_although_the_first_thread_for_it_does_not_start() {
    let builder = crate::sync::model_builder(3);
    builder.check(|| {
        let (starts, started) = (Arc::new(AtomicUsize::new(0)), Arc::new(Notify::new()));
        let start = {
            let (starts, started) = (starts.clone(), started.clone());
            move |sleep: &Sleep, worker: usize| {
                let is_first = starts.fetch_add(1, Ordering::Relaxed) == 0;
                match is_first {
                    true => sleep.start_failed(worker),
                    false => started.notify(),
                }
                !is_first
            }
        };
        let model = Arc::new(Model::of(Sleep::new(0, 1, 1, Box::new(start))));
        let spare = spawn(&model, move |model| {
            // Loom's notifications may come for no reason.
            while starts.load(Ordering::Relaxed) < 2 {
                started.wait();
            }
            model.serve(1, 1);
        });
        let blocked = spawn(&model, move |model| {
            model.hand_off();
            model.watch();
        });
        model.publish(1);
        model.watch();
        blocked.join().unwrap();
        spare.join().unwrap();
    });
}

#[test]
fn no_task_is_left_if_the_receiver_wakes_while_the_handoff_ends() {
    Model::check_with(1, 1, 3, |model| {
        let spare = spare(&model, 1, 1);
        let blocked = spawn(&model, move |model| {
            model.hand_off();
            model.sleep.end_handoff(None);
            model.sleep.start_searching();
            model.serve(BLOCKED, 1);
        });
        model.publish(1);
        blocked.join().unwrap();
        spare.join().unwrap();
    });
}

#[test]
fn one_processor_is_enough_for_two_tasks() {
    Model::check_with(1, 1, 2, |model| {
        let spare = spare(&model, 1, 2);
        let blocked = spawn(&model, move |model| {
            model.hand_off();
            let was_helped = || model.done.load(Ordering::Relaxed) > 0;
            while !was_helped() {
                thread::yield_now();
            }
            model.sleep.end_handoff(None);
            // The resumed worker is idle at once, like the receiver. One of them moves to the
            // reserve.
            model.sleep.start_searching();
            model.serve(BLOCKED, 2);
        });
        model.publish(1);
        model.publish(1);
        blocked.join().unwrap();
        spare.join().unwrap();
    });
}

/// A worker that publishes wakes no sleeper while another worker searches. The searcher may be
/// about to move to the reserve.
#[test]
fn a_worker_that_enters_the_reserve_wakes_a_blocked_one_instead() {
    Model::check_with(2, 1, 3, |model| {
        // Worker 2 was woken, and is no longer needed.
        model.sleep.hand_off(None);
        model.sleep.wake_one(0);
        model.sleep.end_handoff(None);
        let spare = spawn(&model, move |model| {
            assert!(model.sleep.enter_reserve(2));
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

/// A handoff ends between the registration of a searcher and the end of its last look. A worker
/// that publishes has counted on the searcher.
#[test]
fn a_worker_that_finds_a_task_in_its_last_look_leaves_the_reserve() {
    Model::check_with(3, 1, 2, |model| {
        // Worker 2 has handed off its processor to the spare worker 3, which was woken.
        model.sleep.hand_off(None);
        model.sleep.wake_one(0);
        model.sleep.start_searching();
        let idle = [1, 3].map(|me| spawn(&model, move |model| model.serve(me, 1)));
        let blocked = spawn(&model, |model| model.sleep.end_handoff(None));
        model.publish(1);
        blocked.join().unwrap();
        for idle in idle {
            idle.join().unwrap();
        }
    });
}

#[test]
fn all_handoffs_end() {
    Model::check_with(2, 1, 3, |model| {
        let blocked_workers = [0, 1].map(|_| {
            let model = model.clone();
            thread::spawn(move || {
                // The second handoff finds no receiver.
                model.sleep.hand_off(None);
                model.sleep.end_handoff(None);
            })
        });
        for blocked in blocked_workers {
            blocked.join().unwrap();
        }
        assert!(model.sleep.is_balanced(1));
    });
}
