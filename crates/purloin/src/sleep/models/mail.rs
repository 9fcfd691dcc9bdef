//! A loom model of mail: a message also reaches a worker in the reserve. `pool/models.rs` has the others.

use loom::sync::Arc;
use loom::thread;

use super::Model;

/// The worker that gets the message.
const ADDRESSEE: usize = 0;

impl Model {
    /// Waits for one message, as an idle worker that does not spin.
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
