//! Loom models of thread indices: one running worker uses an index, and no worker waits for a free
//! one.

use loom::sync::Arc;
use loom::thread;

use super::Model;
use crate::sync::Ordering;

/// The regular worker.
const REGULAR: usize = 0;
/// The spare worker.
const SPARE: usize = 1;

impl Model {
    /// Runs with the only thread index. `requested` counts the workers that do.
    fn run_with_index(&self) {
        assert_eq!(self.requested.fetch_add(1, Ordering::Relaxed), 0);
        self.requested.fetch_sub(1, Ordering::Relaxed);
    }
}

#[test]
fn one_worker_runs_with_an_index() {
    Model::check_with(1, 1, 3, |model| {
        model.tasks.store(1, Ordering::Relaxed);
        let spare = {
            let model = Arc::clone(&model);
            thread::spawn(move || {
                model.sleep.wait_for_processor(SPARE);
                assert!(model.take());
                model.sleep.stop_searching();
                assert_eq!(model.sleep.thread_index(SPARE), 0);
                model.run_with_index();
                model.sleep.release_thread_index(SPARE);
            })
        };
        model.run_with_index();
        model.sleep.hand_off(Some(REGULAR));
        model.pass_on();
        model.sleep.end_handoff(Some(REGULAR));
        model.run_with_index();
        // There is a surplus, so the worker goes to the reserve. The spare worker may wait for that.
        model.sleep.start_searching();
        assert!(model.sleep.enter_reserve(REGULAR));
        spare.join().unwrap();
    });
}

#[test]
fn a_worker_resumes_while_a_spare_worker_with_its_index_is_blocked() {
    Model::check_with(1, 1, 3, |model| {
        model.tasks.store(1, Ordering::Relaxed);
        let spare = {
            let model = Arc::clone(&model);
            thread::spawn(move || {
                model.sleep.wait_for_processor(SPARE);
                assert!(model.take());
                model.sleep.stop_searching();
                assert_eq!(model.sleep.thread_index(SPARE), 0);
                model.run_with_index();
                model.sleep.hand_off(Some(SPARE));
                model.sleep.end_handoff(Some(SPARE));
                model.run_with_index();
                model.sleep.release_thread_index(SPARE);
            })
        };
        model.sleep.hand_off(Some(REGULAR));
        model.pass_on();
        model.sleep.end_handoff(Some(REGULAR));
        model.run_with_index();
        // Blocks again, and frees the index for the spare worker.
        model.sleep.hand_off(Some(REGULAR));
        spare.join().unwrap();
        model.sleep.end_handoff(Some(REGULAR));
        model.run_with_index();
    });
}

#[test]
fn an_idle_worker_reads_its_mail_once_its_index_is_free() {
    Model::check_with(1, 1, 2, |model| {
        model.tasks.store(1, Ordering::Relaxed);
        model.sleep.hand_off(Some(REGULAR));
        model.pass_on();
        let spare = {
            let model = Arc::clone(&model);
            thread::spawn(move || {
                model.sleep.wait_for_processor(SPARE);
                model.sleep.stop_searching();
                assert_eq!(model.sleep.thread_index(SPARE), 0);
                model.run_with_index();
                model.sleep.release_thread_index(SPARE);
            })
        };
        model.sleep.end_handoff(Some(REGULAR));
        model.run_with_index();
        model.sleep.start_searching();
        assert!(model.sleep.enter_reserve(REGULAR));
        let sender = {
            let model = Arc::clone(&model);
            thread::spawn(move || model.sleep.post(REGULAR))
        };
        // Leaves the reserve for its mail.
        model.sleep.wait_for_processor(REGULAR);
        assert!(model.sleep.has_mail(REGULAR));
        model.sleep.took_mail(REGULAR);
        model.run_with_index();
        assert!(model.sleep.enter_reserve(REGULAR));
        sender.join().unwrap();
        spare.join().unwrap();
    });
}
