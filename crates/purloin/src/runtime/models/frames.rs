//! Loom models of thieves that look for the scope and the call of their task in the victim's list of frames.

use std::ptr::NonNull;

use loom::sync::Arc;
use loom::thread;

use super::super::frame::{Frame, Frames};
use crate::call::Call;
use crate::cancel::CancelFlag;
use crate::runtime::ReturnBarrier;
use crate::sync::{AtomicUsize, Ordering, yield_now};

/// The frames of worker 0, and two tasks on its stack, at the addresses 20 and 40.
struct Model {
    frames: Frames<ReturnBarrier>,
    states: [AtomicUsize; 2],
}

const FREE: usize = 0;
const PUSHED: usize = 1;
const ENDED: usize = 2;

/// Returns the flag of a scope with this number.
fn flag(scope: usize) -> CancelFlag {
    // SAFETY: the models never look at the flag itself.
    unsafe { CancelFlag::at(std::ptr::without_provenance(scope)) }
}

/// Returns the call with this number.
fn call(number: usize) -> *const Call {
    std::ptr::without_provenance(number)
}

/// Begins a frame of this scope and this call.
fn begin(frame: &Frame<ReturnBarrier>, (scope, number): (usize, usize), start: usize) {
    frame.begin(flag(scope), call(number), start);
}

impl Model {
    fn new() -> Arc<Model> {
        Arc::new(Model {
            frames: Frames::new(),
            states: Default::default(),
        })
    }

    fn root(&self) -> &Frame<ReturnBarrier> {
        // SAFETY: the root lives as long as the frames.
        unsafe { NonNull::new_unchecked(self.frames.root().cast_mut()).as_ref() }
    }

    fn push(&self, task: usize) {
        // Release: like each push that a thief acquires.
        self.states[task].store(PUSHED, Ordering::Release);
    }

    /// Takes the task back, or waits for the thief, as a finish does before it leaves its scope.
    fn join(&self, task: usize) {
        let state = &self.states[task];
        let relaxed = Ordering::Relaxed;
        if state
            .compare_exchange(PUSHED, FREE, relaxed, relaxed)
            .is_err()
        {
            while state.load(Ordering::Acquire) != ENDED {
                yield_now();
            }
        }
    }

    /// Takes a task, if it is there, and checks that it belongs to this scope and this call.
    fn steal(&self, task: usize, (scope, number): (usize, usize)) {
        let state = &self.states[task];
        let acquire = Ordering::Acquire;
        if state
            .compare_exchange(PUSHED, FREE, acquire, acquire)
            .is_ok()
        {
            assert_eq!(
                self.frames.around(20 + 20 * task),
                (flag(scope), call(number))
            );
            state.store(ENDED, Ordering::Release);
        }
    }
}

fn check(model: impl Fn() + Sync + Send + 'static) {
    let builder = crate::sync::model_builder(3);
    builder.check(model);
}

#[test]
fn a_thief_finds_the_scope_of_its_task_while_the_owner_enters_and_leaves_others() {
    check(|| {
        let model = Model::new();
        let thieves = [(0, (1, 1)), (1, (3, 1))].map(|(task, origin)| {
            let model = model.clone();
            thread::spawn(move || model.steal(task, origin))
        });
        let outermost = model.root().inner();
        begin(outermost, (1, 1), 10);
        // Its element is used again, at another place.
        let inner = outermost.inner();
        begin(inner, (2, 1), 15);
        inner.end();
        model.push(0);
        begin(inner, (3, 1), 30);
        model.push(1);
        let innermost = inner.inner();
        begin(innermost, (4, 1), 50);
        innermost.end();
        model.join(1);
        inner.end();
        model.join(0);
        outermost.end();
        thieves.into_iter().for_each(|thief| thief.join().unwrap());
    });
}

/// The frame of a ticket ends and leaves a task behind, and another frame begins in the same element.
fn outlive(other: (usize, usize)) {
    check(move || {
        let model = Model::new();
        let thief = {
            let model = model.clone();
            thread::spawn(move || model.steal(0, (1, 1)))
        };
        let outermost = model.root().inner();
        begin(outermost, (1, 1), 10);
        // A task of the same scope, which leaves a spawn behind.
        let inner = outermost.inner();
        begin(inner, (1, 1), 15);
        model.push(0);
        inner.end();
        begin(inner, other, 21);
        inner.end();
        model.join(0);
        outermost.end();
        thief.join().unwrap();
    });
}

#[test]
fn a_task_that_outlives_its_frame_belongs_to_the_scope_of_the_frame_around_it() {
    outlive((2, 1));
}

#[test]
fn a_task_that_outlives_its_frame_belongs_to_the_call_of_the_frame_around_it() {
    outlive((1, 2));
}
