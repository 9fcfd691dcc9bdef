//! Loom models of mail: no message is lost, wherever its worker sleeps.

use loom::sync::Arc;
use loom::thread;

use super::Model;
use crate::sync::{Ordering, fence};

/// The worker that gets the message.
const ADDRESSEE: usize = 0;

impl Model {
    /// Waits for one message as an idle worker does in `pool/worker/idle.rs`, but does not spin.
    fn await_message(&self) {
        self.sleep.start_searching();
        while !self.sleep.has_mail(ADDRESSEE) {
            if self.sleep.enter_reserve(ADDRESSEE) {
                self.sleep.wait_for_processor(ADDRESSEE);
            } else {
                let has_mail = || self.sleep.has_mail(ADDRESSEE);
                self.sleep.sleep_idle(ADDRESSEE, None, has_mail);
            }
        }
        self.sleep.took_mail(ADDRESSEE);
        self.sleep.stop_searching();
    }
}

#[test]
fn a_message_wakes_an_idle_worker() {
    Model::check_with(2, 0, 3, |model| {
        let worker = {
            let model = Arc::clone(&model);
            thread::spawn(move || model.await_message())
        };
        model.sleep.post(ADDRESSEE);
        worker.join().unwrap();
    });
}

#[test]
fn a_message_takes_its_worker_out_of_the_reserve() {
    Model::check_with(2, 1, 3, |model| {
        let worker = {
            let model = Arc::clone(&model);
            thread::spawn(move || model.await_message())
        };
        // The other worker is blocked, and resumes: one of three workers moves to the reserve.
        model.sleep.hand_off(None);
        model.sleep.end_handoff(None);
        model.sleep.post(ADDRESSEE);
        worker.join().unwrap();
    });
}

#[test]
fn a_worker_does_not_end_before_its_mail() {
    Model::check_with(2, 0, 3, |model| {
        model.active.store(1, Ordering::Relaxed);
        let worker = {
            let model = Arc::clone(&model);
            thread::spawn(move || {
                model.sleep.start_searching();
                loop {
                    if model.sleep.has_mail(ADDRESSEE) {
                        model.sleep.took_mail(ADDRESSEE);
                        model.done.store(1, Ordering::Relaxed);
                    }
                    let is_over = model.is_over();
                    fence(Ordering::Acquire);
                    if is_over && !model.sleep.has_mail(ADDRESSEE) {
                        break;
                    }
                    model.sleep.sleep_idle(ADDRESSEE, None, || {
                        model.sleep.has_mail(ADDRESSEE) || model.is_over()
                    });
                }
            })
        };
        let job = {
            let model = Arc::clone(&model);
            thread::spawn(move || {
                model.sleep.post(ADDRESSEE);
                model.active.store(0, Ordering::Release);
                model.sleep.became_inactive();
            })
        };
        model.sleep.stop();
        job.join().unwrap();
        worker.join().unwrap();
        assert_eq!(model.done.load(Ordering::Relaxed), 1);
    });
}
