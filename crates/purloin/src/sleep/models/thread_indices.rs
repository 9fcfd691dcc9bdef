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

    /// Spare worker: waits until it is woken for the only task, takes it, and runs with the index.
    fn run_spare_worker(&self) {
        self.sleep.wait_for_processor(SPARE);
        assert!(self.take());
        self.sleep.stop_searching();
        assert_eq!(self.sleep.thread_index(SPARE), 0);
        self.run_with_index();
    }
}

#[test]
fn one_worker_runs_with_an_index() {
    Model::check_with(1, 1, 3, |model| {
        model.tasks.store(1, Ordering::Relaxed);
        let spare = {
            let model = Arc::clone(&model);
            thread::spawn(move || {
                model.run_spare_worker();
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
                model.run_spare_worker();
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

/// The spare worker waits for the mail to be read, as in a broadcast.
#[test]
fn an_idle_worker_reads_its_mail_while_the_spare_worker_with_its_index_is_blocked() {
    Model::check_with(1, 1, 2, |model| {
        model.tasks.store(1, Ordering::Relaxed);
        model.sleep.hand_off(Some(REGULAR));
        model.pass_on();
        let spare = {
            let model = Arc::clone(&model);
            thread::spawn(move || {
                model.run_spare_worker();
                model.sleep.post(REGULAR);
                model.sleep.hand_off(Some(SPARE));
                let is_read = || model.done.load(Ordering::Acquire) == 1;
                model.sleep.park_until(SPARE, is_read);
                model.sleep.end_handoff(Some(SPARE));
                model.run_with_index();
                model.sleep.release_thread_index(SPARE);
            })
        };
        model.sleep.end_handoff(Some(REGULAR));
        model.run_with_index();
        model.sleep.start_searching();
        while !model.sleep.has_mail(REGULAR) {
            match model.sleep.enter_reserve(REGULAR) || model.sleep.yield_thread_index(REGULAR) {
                true => model.sleep.wait_for_processor(REGULAR),
                false => thread::yield_now(),
            }
        }
        model.sleep.took_mail(REGULAR);
        model.run_with_index();
        model.done.store(1, Ordering::Release);
        model.sleep.unpark(SPARE);
        while !(model.sleep.enter_reserve(REGULAR) || model.sleep.yield_thread_index(REGULAR)) {
            thread::yield_now();
        }
        spare.join().unwrap();
    });
}

/// A blocked spare worker that runs anything uses the index of an idle regular worker while it looks
/// for a task, and then frees it. A task that comes meanwhile is not left.
#[test]
fn a_task_is_run_that_comes_while_a_blocked_worker_looks() {
    Model::check_with(1, 1, 3, |model| {
        // The spare worker is bound to the index, and blocks. The regular worker resumes.
        model.sleep.hand_off(Some(REGULAR));
        model.tasks.store(1, Ordering::Relaxed);
        model.pass_on();
        model.sleep.wait_for_processor(SPARE);
        assert!(model.take());
        model.sleep.stop_searching();
        assert_eq!(model.sleep.thread_index(SPARE), 0);
        model.sleep.hand_off(Some(SPARE));
        model.sleep.end_handoff(Some(REGULAR));
        let regular = {
            let model = Arc::clone(&model);
            thread::spawn(move || {
                model.sleep.start_searching();
                model.serve(REGULAR, 1);
            })
        };
        let spare = {
            let model = Arc::clone(&model);
            thread::spawn(move || {
                if model.sleep.try_reclaim_thread_index(SPARE) {
                    let has_task = model.take();
                    model.sleep.free_thread_index(SPARE);
                    model.pass_on();
                    if has_task {
                        model.done.fetch_add(1, Ordering::Relaxed);
                        model.sleep.stop();
                    }
                }
                let is_done = || model.done.load(Ordering::Relaxed) == 1;
                model.sleep.park_until(SPARE, is_done);
            })
        };
        model.publish(1);
        regular.join().unwrap();
        spare.join().unwrap();
    });
}

/// The spare worker asks for the index while the blocked worker looks.
#[test]
fn a_blocked_worker_that_looks_and_a_spare_worker_take_turns() {
    Model::check_with(1, 1, 3, |model| {
        model.tasks.store(1, Ordering::Relaxed);
        let spare = {
            let model = Arc::clone(&model);
            thread::spawn(move || {
                model.run_spare_worker();
                model.sleep.release_thread_index(SPARE);
            })
        };
        model.sleep.hand_off(Some(REGULAR));
        model.pass_on();
        for _ in 0..2 {
            if model.sleep.try_reclaim_thread_index(REGULAR) {
                model.run_with_index();
                model.sleep.free_thread_index(REGULAR);
            }
        }
        spare.join().unwrap();
        model.sleep.end_handoff(Some(REGULAR));
        model.run_with_index();
    });
}
