//! Loom models of the races that every task pool has.
//!
//! Each scheduler runs these models on its own pool, and adds more: `RUSTFLAGS="--cfg loom" cargo
//! test --release -p purloin --lib`.

#[cfg(test)]
mod frames;
#[cfg(test)]
mod return_barrier;

use std::sync::atomic::AtomicUsize;

use loom::sync::Arc;
use loom::thread;

use super::slot::{Header, Slot};
use super::stack::TaskStack;
use super::state::{State, StateWord};
use super::steal::{Claim, Offer, PublicTasks, Publish, ReachesIn};
use super::stolen::Reclaimed;
use crate::pool::Me;
use crate::pool::cache_placement::Hashes;
use crate::scheduler::{Scheduler, TaskPool};
use crate::sync::{Ordering, yield_now};

/// A task pool whose tasks are numbers, and a count of how often each was run.
pub struct Model<S: Scheduler> {
    pub tasks: S::TaskPool,
    runs: [AtomicUsize; 4],
}

/// Writes a number instead of a task.
///
/// # Safety
///
/// The slot is free, and the caller owns it.
pub unsafe fn write_number<S: Scheduler>(slot: *mut Slot<S>, number: u64) {
    // SAFETY: the caller owns the slot, which is free, and a number fits.
    unsafe { (*slot).write(never, number) };
}

/// Reads what [`write_number`] has written.
///
/// # Safety
///
/// The caller has taken the task.
pub unsafe fn read_number<S: Scheduler>(slot: *const Slot<S>) -> u64 {
    // SAFETY: the caller has taken the task, and `write_number` wrote a `u64`.
    unsafe { (*slot).read() }
}

/// Returns a stack with room for this many tasks.
pub fn task_stack<S: Scheduler>(capacity: usize) -> TaskStack<S> {
    TaskStack::new(capacity, Hashes::default()).unwrap()
}

/// Sets the stack's `spawn_top`, as the runtime does around spawns.
pub fn set_spawn_top<S: Scheduler>(stack: &TaskStack<S>, slot: *mut Slot<S>) {
    stack.set_spawn_top(slot);
}

unsafe fn never<S: Scheduler>(_: &Slot<S>, _: Me<'_, S>) {
    unreachable!("the models run tasks themselves");
}

impl<S: ReachesIn> Model<S> {
    pub fn check(
        preemptions: usize,
        scheduler: S,
        model: impl Fn(Arc<Model<S>>) + Sync + Send + 'static,
    ) {
        let builder = crate::sync::model_builder(preemptions);
        builder.check(move || {
            model(Arc::new(Model {
                tasks: scheduler.task_pool(task_stack(4), 3),
                runs: Default::default(),
            }));
        });
    }

    pub fn run(&self, task: u64) {
        // Loom does not model this atomic: it only counts.
        self.runs[task as usize].fetch_add(1, Ordering::Relaxed);
    }

    pub fn assert_each_ran_once(&self, tasks: usize) {
        for (task, runs) in self.runs.iter().enumerate() {
            assert_eq!(
                runs.load(Ordering::Relaxed),
                usize::from(task < tasks),
                "task {task}"
            );
        }
    }

    /// Owner: the first half of a join.
    pub fn push(&self, task: u64) -> *mut Slot<S> {
        let slot = self.tasks.stack().top();
        let open = self.tasks.is_open(slot);
        if !open {
            self.tasks.reopen(slot);
        }
        // SAFETY: the slot at the top is free.
        unsafe { (*slot).write(never, task) };
        self.tasks.push(slot);
        if !open && !self.tasks.is_open(slot) {
            self.tasks.publish(Publish::OnRequest);
        }
        slot
    }

    /// Owner: the second half of a join, without leapfrogging.
    pub fn join(&self, slot: *mut Slot<S>, task: u64) {
        // SAFETY: the owner has pushed the slot, and it stays live until `release`.
        let place = unsafe { &*slot };
        if self.tasks.pop(slot, false) {
            assert_eq!(self.tasks.stack().top(), slot);
            return self.run(task);
        }
        match self.tasks.reclaim(slot) {
            Reclaimed::Owned => {
                self.tasks.publish(Publish::OnRequest);
                self.run(task);
            }
            Reclaimed::Stolen => {
                while !place.header().outcome().is_done() {
                    yield_now();
                }
                // SAFETY: the thief has written the number of the task that it has run.
                assert_eq!(unsafe { place.read::<u64>() }, task);
                self.tasks.release(slot);
            }
        }
        assert_eq!(self.tasks.stack().top(), slot);
    }

    /// Thief: runs the task that it has claimed, if any.
    pub fn run_stolen(&self, claim: Claim<S>) -> bool {
        let (Claim::Stolen(slot) | Claim::Forced(slot)) = claim else {
            return false;
        };
        // SAFETY: the claim gave the slot to this thief until the task is done.
        let place = unsafe { &*slot };
        // Every older task is stolen, too: thieves take the oldest first.
        let mut older = slot.wrapping_sub(1);
        while older >= self.tasks.stack().first().cast_const() {
            // The exchange always fails. It is used because it reads the latest value: this thief
            // has acquired nothing from the other thief's steal.
            // SAFETY: the slot is at or above the base, so it lies in the stack.
            let outcome = unsafe { (*older).header().outcome() };
            let state = outcome
                .exchange(State::BUSY, State::BUSY, Ordering::AcqRel)
                .unwrap_err();
            assert!(
                state.thief().is_some() || state == State::DONE,
                "{state:?} below a stolen task"
            );
            older = older.wrapping_sub(1);
        }
        // SAFETY: the claim gave the slot to this thief until the task is done. Loom would report a
        // race with the owner.
        unsafe {
            let task = place.read::<u64>();
            self.run(task);
            place.write(never, task);
        }
        place.header().outcome().finish_stolen();
        true
    }

    pub fn claim(&self, thief: usize) -> bool {
        self.run_stolen(self.tasks.claim(thief, false, || true))
    }
}

pub fn the_bottom_moves_up<S: ReachesIn>(scheduler: S) {
    Model::check(1, scheduler, |model| {
        let first = model.push(0);
        let second = model.push(1);
        model.tasks.publish(Publish::All);
        assert!(model.claim(1) && model.claim(2) && !model.claim(1));
        model.join(second, 1);
        model.join(first, 0);
        model.assert_each_ran_once(2);
    });
}

/// A leapfrogging worker comes too late: the task that it waits for is done, and the thief runs
/// another task.
pub fn a_late_leapfrog_takes_nothing_unrelated<S: ReachesIn>(scheduler: S) {
    Model::check(3, scheduler, |model| {
        let outcome = Arc::new(StateWord::empty());
        let blocked = {
            let (model, outcome) = (model.clone(), outcome.clone());
            thread::spawn(move || {
                let claim = model.tasks.claim(1, false, || !outcome.is_done());
                if let Claim::Stolen(slot) = claim {
                    // SAFETY: the claim gave the slot to this worker.
                    assert_eq!(unsafe { (*slot).read::<u64>() }, 0, "unrelated");
                }
                model.run_stolen(claim);
            })
        };
        let descendant = model.push(0);
        model.tasks.publish(Publish::All);
        model.join(descendant, 0);
        outcome.finish_stolen();
        let unrelated = model.push(1);
        model.tasks.publish(Publish::All);
        model.join(unrelated, 1);
        blocked.join().unwrap();
        model.assert_each_ran_once(2);
    });
}

pub fn the_last_public_task_is_run_once<S: ReachesIn>(scheduler: S) {
    Model::check(3, scheduler, |model| {
        let slot = model.push(0);
        model.tasks.publish(Publish::All);
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

pub fn a_thief_with_a_stale_bottom_gives_the_task_back<S: ReachesIn>(scheduler: S) {
    Model::check(3, scheduler, |model| {
        let first = model.push(0);
        let second = model.push(1);
        model.tasks.publish(Publish::All);
        let thieves = [1, 2].map(|thief| {
            let model = model.clone();
            thread::spawn(move || model.claim(thief))
        });
        model.join(second, 1);
        model.join(first, 0);
        // Two new tasks in the same slots: a thief that still takes the second slot for the oldest
        // must give its task back.
        let first = model.push(2);
        let second = model.push(3);
        model.tasks.publish(Publish::All);
        model.join(second, 3);
        model.join(first, 2);
        for thief in thieves {
            thief.join().unwrap();
        }
        model.assert_each_ran_once(4);
    });
}

pub fn a_sleeping_owner_is_woken_when_its_task_is_done<S: ReachesIn>(scheduler: S) {
    use crate::sleep::Sleep;
    Model::check(3, scheduler, |model| {
        let sleep = Arc::new(Sleep::for_model(2, 0));
        let first = model.push(0);
        model.tasks.publish(Publish::All);
        let Claim::Stolen(stolen) = model.tasks.claim(1, false, || true) else {
            panic!("no other thread can have the task");
        };
        assert_eq!(stolen, first.cast_const());
        let stolen = stolen.addr();
        let thief = {
            let (model, sleep) = (model.clone(), sleep.clone());
            thread::spawn(move || {
                let slot = model.tasks.stack().first();
                assert_eq!(slot.addr(), stolen);
                model.run(0);
                // SAFETY: the thief holds the slot until the task is done.
                if unsafe { &*slot }.header().outcome().finish_stolen() {
                    sleep.unpark(0);
                }
            })
        };
        // SAFETY: the owner has pushed the slot, and it stays live until `release`.
        let outcome = unsafe { (*first).header().outcome() };
        assert!(!model.tasks.pop(first, false));
        assert_eq!(model.tasks.reclaim(first), Reclaimed::Stolen);
        while !outcome.is_done() {
            if outcome.wait_for() {
                sleep.sleep_blocked(0, 1, None, || outcome.is_done());
            }
        }
        model.tasks.release(first);
        thief.join().unwrap();
        model.assert_each_ran_once(1);
    });
}

pub fn a_thief_that_may_not_take_a_task_leaves_it<S: ReachesIn>(scheduler: S) {
    Model::check(3, scheduler, |model| {
        let first = model.push(0);
        model.tasks.publish(Publish::All);
        let thief = {
            let model = model.clone();
            thread::spawn(move || {
                let claim = model.tasks.claim(1, false, || false);
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

pub fn a_standing_request_is_answered_by_the_next_push<S: ReachesIn>(scheduler: S) {
    Model::check(2, scheduler, |model| {
        assert!(model.tasks.request());
        assert!(!model.tasks.request(), "the second finds the first");
        let slot = model.push(0);
        assert!(model.tasks.offers() == Offer::Public);
        assert!(model.tasks.request(), "the first was answered");
        model.join(slot, 0);
        model.assert_each_ran_once(1);
    });
}

/// An owner pushes and pops the same slots again and again, while a thief tries twice to steal.
pub fn each_task_is_run_once_under_an_owner_at_work<S: ReachesIn>(scheduler: S) {
    Model::check(3, scheduler, |model| {
        let thief = {
            let model = model.clone();
            thread::spawn(move || {
                for _ in 0..2 {
                    if !model.claim(1) {
                        model.tasks.request();
                    }
                }
            })
        };
        let first = model.push(0);
        let second = model.push(1);
        model.join(second, 1);
        let third = model.push(2);
        model.join(third, 2);
        model.join(first, 0);
        thief.join().unwrap();
        model.assert_each_ran_once(3);
    });
}
