//! The scopes around the code that a worker runs: which [`Scope::cancel`](crate::Scope::cancel) stops
//! its loops.
//!
//! Code belongs to the innermost finish whose body or task contains it, whatever its token. A job that a worker runs on
//! top of suspended code belongs to no scope of that code. On its
//! own thread a worker knows the flag of that scope. A stolen closure of a join belongs to the scope
//! in which its owner pushed it, and a join must not record that. So a worker also records where its
//! task stack ended when each scope began, outermost first, and a thief looks for the innermost scope
//! that began at or below the stolen slot. As with [lineages](crate::pool::Lineage), these scopes
//! wait for the slot, so they neither end nor change while the thief holds the task.
//!
//! The records are a list that grows and is used again; its elements live as long as the worker.

use std::cell::Cell;
use std::ptr::{null, null_mut};

use crate::cancel::CancelFlag;
use crate::sync::{AtomicPtr, AtomicUsize, Ordering};

/// The scopes around the code of one worker, where thieves find them.
pub(crate) struct Scopes {
    /// The outermost record.
    first: AtomicPtr<Record>,
}

/// The innermost scope around the code of one worker.
pub(crate) struct Innermost {
    /// The innermost record in use, or null.
    newest: Cell<*const Record>,
    flag: Cell<CancelFlag>,
}

/// Where a scope began.
struct Record {
    /// The address of the top of the task stack when the scope began; the maximum if the record is
    /// not in use.
    base: AtomicUsize,
    flag: AtomicPtr<()>,
    /// The record of a scope within this one.
    next: AtomicPtr<Record>,
    outer: *const Record,
}

impl Innermost {
    pub(crate) fn new() -> Self {
        Innermost {
            newest: Cell::new(null()),
            flag: Cell::new(CancelFlag::default()),
        }
    }

    pub(crate) fn flag(&self) -> CancelFlag {
        self.flag.get()
    }
}

impl Scopes {
    pub(crate) fn new() -> Self {
        Scopes {
            first: AtomicPtr::new(null_mut()),
        }
    }

    /// Enters a scope, with the top of the task stack at the address `base`. Returns the scope
    /// around it, for [`leave`](Self::leave). A worker passes the same `innermost` each time.
    #[inline]
    pub(crate) fn enter(&self, innermost: &Innermost, flag: CancelFlag, base: usize) -> CancelFlag {
        let outer = innermost.flag.replace(flag);
        if outer != flag {
            self.record(innermost, flag, base);
        }
        outer
    }

    /// Leaves the innermost scope. `outer` is the result of its `enter`. Called in the reverse order.
    #[inline]
    pub(crate) fn leave(&self, innermost: &Innermost, outer: CancelFlag) {
        if innermost.flag.replace(outer) != outer {
            // SAFETY: `enter` has recorded a scope that differs from the one around it. Records live
            // as long as `self`.
            let record = unsafe { &*innermost.newest.get() };
            // Relaxed: a thief that could mistake it has acquired a later push.
            record.base.store(usize::MAX, Ordering::Relaxed);
            innermost.newest.set(record.outer);
        }
    }

    fn record(&self, innermost: &Innermost, flag: CancelFlag, base: usize) {
        let outer = innermost.newest.get();
        // SAFETY: the pointer is null or points at a record, which lives as long as `self`.
        let place = unsafe { outer.as_ref() }.map_or(&self.first, |outer| &outer.next);
        let mut record = place.load(Ordering::Relaxed);
        if record.is_null() {
            record = Box::into_raw(Box::new(Record {
                base: AtomicUsize::new(usize::MAX),
                flag: AtomicPtr::new(null_mut()),
                next: AtomicPtr::new(null_mut()),
                outer,
            }));
            // Release: a thief that sees the record sees it initialised.
            place.store(record, Ordering::Release);
        }
        // SAFETY: records live as long as `self`.
        let in_use = unsafe { &*record };
        // Relaxed: the push of a task in this scope releases both.
        in_use
            .flag
            .store(flag.address().cast_mut(), Ordering::Relaxed);
        in_use.base.store(base, Ordering::Relaxed);
        innermost.newest.set(record);
    }

    /// Returns the flag of the scope in which the task at the address `slot` was pushed. Called by a
    /// thief while it holds the task.
    pub(crate) fn around(&self, slot: usize) -> CancelFlag {
        let mut flag = null();
        let mut place = &self.first;
        // SAFETY: records live as long as `self`.
        while let Some(record) = unsafe { place.load(Ordering::Acquire).as_ref() }
            // Relaxed: the thief has acquired the push of the task, which came after the records of
            // the scopes around it. All other records in use begin above the slot.
            && record.base.load(Ordering::Relaxed) <= slot
        {
            flag = record.flag.load(Ordering::Relaxed).cast_const();
            place = &record.next;
        }
        // SAFETY: the scope waits for the task, so its flag is valid as long as the task runs.
        unsafe { CancelFlag::at(flag) }
    }
}

impl Drop for Scopes {
    fn drop(&mut self) {
        let mut next = self.first.load(Ordering::Relaxed);
        while !next.is_null() {
            // SAFETY: `record` has made the pointer from a box, and no thread uses it any more.
            let record = unsafe { Box::from_raw(next) };
            next = record.next.load(Ordering::Relaxed);
        }
    }
}

#[cfg(all(loom, test))]
mod models {
    use loom::sync::Arc;
    use loom::thread;

    use super::*;
    use crate::sync::yield_now;

    /// The scopes of worker 0, and two tasks on its stack, at the addresses 20 and 40.
    struct Model {
        scopes: Scopes,
        innermost: Innermost,
        states: [AtomicUsize; 2],
    }

    const FREE: usize = 0;
    const PUSHED: usize = 1;
    const ENDED: usize = 2;

    // SAFETY: only the model's main thread uses `innermost`.
    unsafe impl Sync for Model {}
    // SAFETY: as for `Sync`.
    unsafe impl Send for Model {}

    /// Returns the flag of a scope with this number.
    fn flag(scope: usize) -> CancelFlag {
        // SAFETY: the models never look at the flag itself.
        unsafe { CancelFlag::at(std::ptr::without_provenance(scope)) }
    }

    impl Model {
        fn enter(&self, flag: CancelFlag, base: usize) -> CancelFlag {
            self.scopes.enter(&self.innermost, flag, base)
        }

        fn leave(&self, outer: CancelFlag) {
            self.scopes.leave(&self.innermost, outer);
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

        /// Takes a task, if it is there, and checks that it belongs to this scope.
        fn steal(&self, task: usize, scope: usize) {
            let state = &self.states[task];
            let acquire = Ordering::Acquire;
            if state
                .compare_exchange(PUSHED, FREE, acquire, acquire)
                .is_ok()
            {
                assert_eq!(self.scopes.around(20 + 20 * task), flag(scope));
                state.store(ENDED, Ordering::Release);
            }
        }
    }

    #[test]
    fn a_thief_finds_the_scope_of_its_task_while_the_owner_enters_and_leaves_others() {
        let mut builder = loom::model::Builder::new();
        builder.preemption_bound = Some(3);
        builder.check(|| {
            let model = Arc::new(Model {
                scopes: Scopes::new(),
                innermost: Innermost::new(),
                states: Default::default(),
            });
            let thieves = [(0, 1), (1, 3)].map(|(task, scope)| {
                let model = model.clone();
                thread::spawn(move || model.steal(task, scope))
            });
            let outermost = model.enter(flag(1), 10);
            // Its record is used again, at another place.
            let outer = model.enter(flag(2), 15);
            model.leave(outer);
            model.push(0);
            let outer = model.enter(flag(3), 30);
            model.push(1);
            let between = model.enter(flag(4), 50);
            model.leave(between);
            model.join(1);
            model.leave(outer);
            model.join(0);
            model.leave(outermost);
            thieves.into_iter().for_each(|thief| thief.join().unwrap());
        });
    }
}
