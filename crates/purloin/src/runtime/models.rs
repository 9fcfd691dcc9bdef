//! Loom models of the direct task stack: the races that every protocol on it has.
//!
//! Each scheduler runs them on its own stack, beside those of its own. With
//! `RUSTFLAGS="--cfg loom" cargo test --release -p purloin --lib`.

use std::sync::atomic::AtomicUsize;

use loom::sync::Arc;
use loom::thread;

use super::Stack;
use super::{Claim, Direct, Header, Member, Reachable, Slot, State, StateWord, Taken};
use crate::sync::{Ordering, yield_now};

/// A stack whose tasks are numbers, and how often each was run.
pub(crate) struct Model<S: Direct> {
    pub(crate) stack: S::Stack,
    runs: [AtomicUsize; 4],
}

unsafe fn never<S: Direct>(_: &Slot<S>, _: &Member<S>) {
    unreachable!("the models run tasks themselves");
}

impl<S: Direct<Stack: Reachable<S>>> Model<S> {
    pub(crate) fn check(
        preemptions: usize,
        scheduler: S,
        model: impl Fn(Arc<Model<S>>) + Sync + Send + 'static,
    ) {
        let mut builder = loom::model::Builder::new();
        builder.preemption_bound = Some(preemptions);
        builder.check(move || {
            model(Arc::new(Model {
                stack: scheduler.stack(4, 3).unwrap(),
                runs: Default::default(),
            }));
        });
    }

    pub(crate) fn run(&self, task: u64) {
        // Not a modelled atomic: it only counts.
        self.runs[task as usize].fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn assert_each_ran_once(&self, tasks: usize) {
        for (task, runs) in self.runs.iter().enumerate() {
            assert_eq!(
                runs.load(Ordering::Relaxed),
                usize::from(task < tasks),
                "task {task}"
            );
        }
    }

    /// Owner: the first half of a join.
    pub(crate) fn push(&self, task: u64) -> *mut Slot<S> {
        let slot = self.stack.base().top();
        let open = self.stack.is_open(slot);
        if !open {
            self.stack.reopen(slot);
        }
        // SAFETY: the slot at the top is free.
        unsafe { (*slot).write(never, task) };
        self.stack.push(slot);
        if !open && self.stack.is_awaited(slot) {
            self.stack.answer();
        }
        slot
    }

    /// Owner: the second half, leapfrogging left out.
    pub(crate) fn join(&self, slot: *mut Slot<S>, task: u64) {
        // SAFETY: live until it is released.
        let place = unsafe { &*slot };
        if self.stack.pop(slot) {
            assert_eq!(self.stack.base().top(), slot);
            return self.run(task);
        }
        match self.stack.take_back(slot) {
            Taken::Back => {
                self.stack.answer();
                self.run(task);
            }
            Taken::Stolen => {
                while !place.header.outcome().is_done() {
                    yield_now();
                }
                // SAFETY: the thief has written what he has run.
                assert_eq!(unsafe { place.read::<u64>() }, task);
                self.stack.release(slot);
            }
        }
        assert_eq!(self.stack.base().top(), slot);
    }

    /// Thief: runs what it has got.
    pub(crate) fn run_stolen(&self, claim: Claim<S>) -> bool {
        let (Claim::Stolen(slot) | Claim::Forced(slot)) = claim else {
            return false;
        };
        // SAFETY: the thief has the slot until it is done.
        let place = unsafe { &*slot };
        // Everything older is stolen, too: thieves take the oldest first.
        let mut older = slot.wrapping_sub(1);
        while older >= self.stack.base().first().cast_const() {
            // An exchange that always fails, as it reads the latest value, and
            // nothing has told this thief of the other's steal.
            // SAFETY: in the stack, as it is at or above the base.
            let outcome = unsafe { (*older).header.outcome() };
            let state = outcome
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
        place.header.outcome().finish_stolen();
        true
    }

    pub(crate) fn claim(&self, thief: usize) -> bool {
        self.run_stolen(self.stack.claim(thief, false, || true))
    }
}

pub(crate) fn the_bottom_moves_up<S: Direct<Stack: Reachable<S>>>(scheduler: S) {
    Model::check(1, scheduler, |model| {
        let first = model.push(0);
        let second = model.push(1);
        model.stack.publish_all();
        assert!(model.claim(1) && model.claim(2) && !model.claim(1));
        model.join(second, 1);
        model.join(first, 0);
        model.assert_each_ran_once(2);
    });
}

/// A leapfrogging worker that comes too late: the task that it waits for is
/// done, and the thief is on to something else.
pub(crate) fn a_late_leapfrog_takes_nothing_unrelated<S: Direct<Stack: Reachable<S>>>(
    scheduler: S,
) {
    Model::check(3, scheduler, |model| {
        let outcome = Arc::new(StateWord::empty());
        let blocked = {
            let (model, outcome) = (model.clone(), outcome.clone());
            thread::spawn(move || {
                let claim = model.stack.claim(1, false, || !outcome.is_done());
                if let Claim::Stolen(slot) = claim {
                    // SAFETY: we have it.
                    assert_eq!(unsafe { (*slot).read::<u64>() }, 0, "unrelated");
                }
                model.run_stolen(claim);
            })
        };
        let descendant = model.push(0);
        model.stack.publish_all();
        model.join(descendant, 0);
        outcome.finish_stolen();
        let unrelated = model.push(1);
        model.stack.publish_all();
        model.join(unrelated, 1);
        blocked.join().unwrap();
        model.assert_each_ran_once(2);
    });
}

pub(crate) fn the_last_public_task_is_run_once<S: Direct<Stack: Reachable<S>>>(scheduler: S) {
    Model::check(3, scheduler, |model| {
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

pub(crate) fn a_stale_bot_is_backed_out_of<S: Direct<Stack: Reachable<S>>>(scheduler: S) {
    Model::check(3, scheduler, |model| {
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

pub(crate) fn a_sleeping_owner_is_woken_when_its_task_is_done<S: Direct<Stack: Reachable<S>>>(
    scheduler: S,
) {
    use crate::sleep::Sleep;
    Model::check(3, scheduler, |model| {
        let sleep = Arc::new(Sleep::for_model(2, 0));
        let first = model.push(0);
        model.stack.publish_all();
        let Claim::Stolen(stolen) = model.stack.claim(1, false, || true) else {
            panic!("nothing else can have it");
        };
        assert_eq!(stolen, first.cast_const());
        let stolen = stolen.addr();
        let thief = {
            let (model, sleep) = (model.clone(), sleep.clone());
            thread::spawn(move || {
                let slot = model.stack.base().first();
                assert_eq!(slot.addr(), stolen);
                model.run(0);
                // SAFETY: live until it is done.
                if unsafe { &*slot }.header.outcome().finish_stolen() {
                    sleep.unpark(0);
                }
            })
        };
        // SAFETY: live until it is released.
        let outcome = unsafe { (*first).header.outcome() };
        assert!(!model.stack.pop(first));
        assert_eq!(model.stack.take_back(first), Taken::Stolen);
        while !outcome.is_done() {
            if outcome.wait_for() {
                sleep.sleep_blocked(0, 1, None, || outcome.is_done());
            }
        }
        model.stack.release(first);
        thief.join().unwrap();
        model.assert_each_ran_once(1);
    });
}

pub(crate) fn a_thief_that_may_not_take_a_task_leaves_it<S: Direct<Stack: Reachable<S>>>(
    scheduler: S,
) {
    Model::check(3, scheduler, |model| {
        let first = model.push(0);
        model.stack.publish_all();
        let thief = {
            let model = model.clone();
            thread::spawn(move || {
                let claim = model.stack.claim(1, false, || false);
                assert!(!matches!(claim, Claim::Stolen(_)));
            })
        };
        let second = model.push(1);
        model.join(second, 1);
        model.join(first, 0);
        thief.join().unwrap();
        model.assert_each_ran_once(2);
    });
}

pub(crate) fn a_standing_request_is_answered_by_the_next_push<S: Direct<Stack: Reachable<S>>>(
    scheduler: S,
) {
    Model::check(2, scheduler, |model| {
        assert!(model.stack.request());
        assert!(!model.stack.request(), "the second finds the first");
        let slot = model.push(0);
        assert!(model.stack.offers());
        assert!(model.stack.request(), "the first was answered");
        model.join(slot, 0);
        model.assert_each_ran_once(1);
    });
}
