//! Loom models of seats: one running worker has a seat, and nobody waits for one in vain.

use loom::sync::Arc;
use loom::thread;

use super::Model;
use crate::sync::Ordering;

/// The regular worker.
const LENDER: usize = 0;
/// The spare worker.
const BORROWER: usize = 1;

impl Model {
    /// Runs with the only seat. The model counts with `requested` how many do.
    fn use_seat(&self) {
        assert_eq!(self.requested.fetch_add(1, Ordering::Relaxed), 0);
        self.requested.fetch_sub(1, Ordering::Relaxed);
    }
}

#[test]
fn a_seat_has_one_running_holder() {
    Model::check_with(1, 1, 3, |model| {
        model.tasks.store(1, Ordering::Relaxed);
        let spare = {
            let model = Arc::clone(&model);
            thread::spawn(move || {
                model.sleep.wait_for_processor(BORROWER);
                assert!(model.take());
                model.sleep.stop_searching();
                assert_eq!(model.sleep.seat(BORROWER), 0);
                model.use_seat();
                model.sleep.give_seat_back(BORROWER);
            })
        };
        model.use_seat();
        model.sleep.hand_off(Some(LENDER));
        model.pass_on();
        model.sleep.end_handoff(Some(LENDER));
        model.use_seat();
        // There is a surplus, so the worker goes to the reserve. The spare worker may wait for that.
        model.sleep.start_searching();
        assert!(model.sleep.enter_reserve(LENDER));
        spare.join().unwrap();
    });
}

#[test]
fn a_worker_that_has_lent_its_seat_reads_its_mail_when_it_has_it_back() {
    Model::check_with(1, 1, 2, |model| {
        model.tasks.store(1, Ordering::Relaxed);
        model.sleep.hand_off(Some(LENDER));
        model.pass_on();
        let spare = {
            let model = Arc::clone(&model);
            thread::spawn(move || {
                model.sleep.wait_for_processor(BORROWER);
                model.sleep.stop_searching();
                assert_eq!(model.sleep.seat(BORROWER), 0);
                model.use_seat();
                model.sleep.give_seat_back(BORROWER);
            })
        };
        model.sleep.end_handoff(Some(LENDER));
        model.use_seat();
        model.sleep.start_searching();
        assert!(model.sleep.enter_reserve(LENDER));
        let sender = {
            let model = Arc::clone(&model);
            thread::spawn(move || model.sleep.post(LENDER))
        };
        // Leaves the reserve for its mail.
        model.sleep.wait_for_processor(LENDER);
        assert!(model.sleep.has_mail(LENDER));
        model.sleep.took_mail(LENDER);
        model.use_seat();
        assert!(model.sleep.enter_reserve(LENDER));
        sender.join().unwrap();
        spare.join().unwrap();
    });
}
