//! Loom models of the task stack: every race that the module's page names.
//!
//! Run with `RUSTFLAGS="--cfg loom" cargo test --release -p purloin --lib`.
//! The asymmetric fence is modelled as two sequentially consistent fences, see
//! [`crate::sync::asymmetric`].

use std::sync::atomic::AtomicUsize;

use loom::sync::Arc;
use loom::thread;

use super::Member;
use super::slot::{Slot, State};
use super::stack::{Claim, Taken, TaskStack};
use crate::sync::{Ordering, yield_now};

/// A stack whose tasks are numbers, and how often each was run.
struct Model {
    stack: TaskStack,
    runs: [AtomicUsize; 4],
}

unsafe fn never(_: &Slot, _: &Member) {
    unreachable!("the models run tasks themselves");
}

impl Model {
    fn check(preemptions: usize, model: impl Fn(Arc<Model>) + Sync + Send + 'static) {
        let mut builder = loom::model::Builder::new();
        builder.preemption_bound = Some(preemptions);
        builder.check(move || {
            model(Arc::new(Model {
                stack: TaskStack::new(4).unwrap(),
                runs: Default::default(),
            }));
        });
    }

    fn run(&self, task: u64) {
        // Not a modelled atomic: it only counts.
        self.runs[task as usize].fetch_add(1, Ordering::Relaxed);
    }

    fn assert_each_ran_once(&self, tasks: usize) {
        for (task, runs) in self.runs.iter().enumerate() {
            assert_eq!(
                runs.load(Ordering::Relaxed),
                usize::from(task < tasks),
                "task {task}"
            );
        }
    }

    /// Owner: the first half of a join.
    fn push(&self, task: u64) -> *mut Slot {
        let slot = self.stack.top();
        let open = self.stack.is_open(slot);
        // SAFETY: the slot at the top is free.
        unsafe { (*slot).write(never, task) };
        self.stack.push(slot);
        if !open {
            self.stack.answer();
        }
        slot
    }

    /// Owner: the second half, leapfrogging left out.
    fn join(&self, slot: *mut Slot, task: u64) {
        // SAFETY: live until it is released.
        let place = unsafe { &*slot };
        if self.stack.pop(slot) {
            return self.run(task);
        }
        match self.stack.take_back(slot) {
            Taken::Back => {
                self.stack.answer();
                self.run(task);
            }
            Taken::Stolen => {
                while place.state(Ordering::Acquire) != State::DONE {
                    yield_now();
                }
                // SAFETY: the thief has written what he has run.
                assert_eq!(unsafe { place.read::<u64>() }, task);
                self.stack.release(slot);
            }
        }
    }

    /// Thief: runs what it has got.
    fn run_stolen(&self, claim: Claim) -> bool {
        let Claim::Stolen(slot) = claim else {
            return false;
        };
        // SAFETY: the thief has the slot until it is done.
        let place = unsafe { &*slot };
        // Everything older is stolen, too: thieves take the oldest first.
        let mut older = slot.wrapping_sub(1);
        while older >= self.stack.base().cast_const() {
            // An exchange that always fails, as it reads the latest value, and
            // nothing has told this thief of the other's steal.
            // SAFETY: in the stack, as it is at or above the base.
            let state = unsafe { &*older }
                .exchange(State::BUSY, State::BUSY, Ordering::AcqRel)
                .unwrap_err();
            assert!(
                state.thief().is_some() || state == State::DONE,
                "{state:?} below a stolen task"
            );
            older = older.wrapping_sub(1);
        }
        // SAFETY: as above; a race with the owner would be found by loom.
        unsafe {
            let task = place.read::<u64>();
            self.run(task);
            place.write(never, task);
        }
        place.finish_stolen();
        true
    }

    fn claim(&self, thief: usize) -> bool {
        self.run_stolen(self.stack.claim(thief, || true))
    }

    fn force(&self, thief: usize) -> bool {
        self.run_stolen(self.stack.force(thief, || true))
    }
}

#[test]
fn the_last_public_task_is_run_once() {
    Model::check(3, |model| {
        let slot = model.push(0);
        model.stack.publish_all();
        let thieves = [1, 2].map(|thief| {
            let model = model.clone();
            thread::spawn(move || model.claim(thief))
        });
        model.join(slot, 0);
        for thief in thieves {
            thief.join().unwrap();
        }
        model.assert_each_ran_once(1);
    });
}

#[test]
fn a_request_is_answered_or_harmless() {
    Model::check(3, |model| {
        let thief = {
            let model = model.clone();
            thread::spawn(move || {
                for _ in 0..2 {
                    if !model.claim(1) {
                        model.stack.request();
                    }
                }
            })
        };
        let first = model.push(0);
        let second = model.push(1);
        model.join(second, 1);
        model.join(first, 0);
        let third = model.push(2);
        model.join(third, 2);
        thief.join().unwrap();
        model.assert_each_ran_once(3);
    });
}

#[test]
fn a_standing_request_is_answered_by_the_next_push() {
    Model::check(2, |model| {
        assert!(model.stack.request());
        assert!(!model.stack.request(), "the second finds the first");
        let slot = model.push(0);
        assert!(model.stack.has_public());
        assert!(!model.stack.is_requested());
        model.join(slot, 0);
        model.assert_each_ran_once(1);
    });
}

#[test]
fn the_barrier_moves_down_during_free_steals() {
    Model::check(3, |model| {
        let first = model.push(0);
        let second = model.push(1);
        model.stack.publish_all();
        let thief = {
            let model = model.clone();
            thread::spawn(move || {
                model.claim(1);
                model.claim(1);
            })
        };
        model.join(second, 1);
        // Private again, whatever has been stolen below.
        let third = model.push(2);
        model.join(third, 2);
        model.join(first, 0);
        thief.join().unwrap();
        model.assert_each_ran_once(3);
    });
}

#[test]
fn a_stale_bot_is_backed_out_of() {
    Model::check(3, |model| {
        let first = model.push(0);
        let second = model.push(1);
        model.stack.publish_all();
        let thieves = [1, 2].map(|thief| {
            let model = model.clone();
            thread::spawn(move || model.claim(thief))
        });
        model.join(second, 1);
        model.join(first, 0);
        // The same two places again: a thief that still believes the second
        // to be the oldest must not get away with it.
        let first = model.push(2);
        let second = model.push(3);
        model.stack.publish_all();
        model.join(second, 3);
        model.join(first, 2);
        for thief in thieves {
            thief.join().unwrap();
        }
        model.assert_each_ran_once(4);
    });
}

#[test]
fn a_forced_steal_and_the_owners_pops() {
    Model::check(3, |model| {
        let first = model.push(0);
        let thief = {
            let model = model.clone();
            thread::spawn(move || {
                model.stack.request();
                model.force(1);
            })
        };
        let second = model.push(1);
        model.join(second, 1);
        model.join(first, 0);
        // The same place, popped and pushed again.
        let third = model.push(2);
        model.join(third, 2);
        thief.join().unwrap();
        model.assert_each_ran_once(3);
    });
}

#[test]
fn a_forced_steal_and_a_pop_that_has_seen_the_barrier() {
    // The second half of the protocol, by ordinary fences alone: the request
    // was there before the pop, which therefore needs no asymmetric fence.
    crate::sync::asymmetric::WITHOUT_LIGHT_SIDE.set(true);
    Model::check(3, |model| {
        let first = model.push(0);
        let second = model.push(1);
        model.stack.request();
        let thief = {
            let model = model.clone();
            thread::spawn(move || {
                model.force(1);
                model.force(1);
            })
        };
        model.join(second, 1);
        model.join(first, 0);
        thief.join().unwrap();
        model.assert_each_ran_once(2);
    });
}

#[test]
fn a_forced_steal_while_the_owner_answers_the_same_request() {
    Model::check(3, |model| {
        let first = model.push(0);
        let second = model.push(1);
        model.stack.request();
        let thieves = [1, 2].map(|thief| {
            let model = model.clone();
            thread::spawn(move || {
                if !model.claim(thief) {
                    model.force(thief);
                }
            })
        });
        let third = model.push(2);
        model.join(third, 2);
        model.join(second, 1);
        model.join(first, 0);
        for thief in thieves {
            thief.join().unwrap();
        }
        model.assert_each_ran_once(3);
    });
}

#[test]
fn a_thief_that_may_not_take_a_task_leaves_it() {
    Model::check(3, |model| {
        let first = model.push(0);
        let thief = {
            let model = model.clone();
            thread::spawn(move || {
                assert_ne!(
                    model.stack.claim(1, || false),
                    Claim::Stolen(first_of(&model))
                );
                model.stack.request();
                assert!(!matches!(model.stack.force(1, || false), Claim::Stolen(_)));
            })
        };
        let second = model.push(1);
        model.join(second, 1);
        model.join(first, 0);
        thief.join().unwrap();
        model.assert_each_ran_once(2);
    });
}

fn first_of(model: &Model) -> *const Slot {
    model.stack.base()
}

#[test]
fn a_sleeping_owner_is_woken_when_its_task_is_done() {
    use crate::wait::sleep::Sleep;
    Model::check(3, |model| {
        let sleep = Arc::new(Sleep::new(2));
        let first = model.push(0);
        model.stack.publish_all();
        let Claim::Stolen(stolen) = model.stack.claim(1, || true) else {
            panic!("nothing else can have it");
        };
        assert_eq!(stolen, first.cast_const());
        let stolen = stolen.addr();
        let thief = {
            let (model, sleep) = (model.clone(), sleep.clone());
            thread::spawn(move || {
                let slot = first_of(&model);
                assert_eq!(slot.addr(), stolen);
                model.run(0);
                // SAFETY: live until it is done.
                if unsafe { &*slot }.finish_stolen() {
                    sleep.unpark(0);
                }
            })
        };
        // SAFETY: live until it is released.
        let place = unsafe { &*first };
        assert!(!model.stack.pop(first));
        assert_eq!(model.stack.take_back(first), Taken::Stolen);
        let is_done = || place.state(Ordering::Acquire) == State::DONE;
        while !is_done() {
            if place.wait_for() {
                sleep.sleep_blocked(0, 1, None, is_done);
            }
        }
        model.stack.release(first);
        thief.join().unwrap();
        model.assert_each_ran_once(1);
    });
}
