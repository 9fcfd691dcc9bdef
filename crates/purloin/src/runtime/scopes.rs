//! The scopes around the code that a worker runs: which [`Scope::cancel`](crate::Scope::cancel) stops
//! its loops.
//!
//! Code belongs to the innermost finish whose body or task contains it, whatever its token. On its
//! own thread a worker knows the flag of that scope. A stolen closure of a join belongs to the scope
//! in which its owner pushed it, and a join must not record that. So a worker also records where its
//! task stack ended when each scope began, outermost first, and a thief looks for the innermost scope
//! that began at or below the stolen slot. As with [lineages](crate::pool::Lineage), these scopes
//! wait for the slot, so they neither end nor change while the thief holds the task.
//!
//! The records are a list that grows and is used again; its elements live as long as the worker.

use std::cell::Cell;
use std::ptr::{null, null_mut};

use crate::loops::CancelFlag;
use crate::sync::{AtomicPtr, AtomicUsize, Ordering};

/// The scopes around the code of one worker.
pub(crate) struct Scopes {
    /// The outermost record. Thieves read it.
    first: AtomicPtr<Record>,
    /// The innermost record in use, or null. Used by the worker's own thread.
    newest: Cell<*const Record>,
    /// The flag of the innermost scope. Used by the worker's own thread.
    current: Cell<CancelFlag>,
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

impl Scopes {
    pub(super) fn new() -> Self {
        Scopes {
            first: AtomicPtr::new(null_mut()),
            newest: Cell::new(null()),
            current: Cell::new(CancelFlag::default()),
        }
    }

    /// Returns the flag of the innermost scope. Called on the worker's own thread.
    pub(crate) fn current(&self) -> CancelFlag {
        self.current.get()
    }

    /// Enters a scope, with the top of the task stack at the address `base`. Returns the scope
    /// around it, for [`leave`](Self::leave). Called on the worker's own thread.
    #[inline]
    pub(crate) fn enter(&self, flag: CancelFlag, base: usize) -> CancelFlag {
        let outer = self.current.replace(flag);
        if outer != flag {
            self.record(flag, base);
        }
        outer
    }

    /// Leaves the innermost scope. `outer` is the result of its `enter`. Called on the worker's own
    /// thread, in the reverse order.
    #[inline]
    pub(crate) fn leave(&self, outer: CancelFlag) {
        if self.current.replace(outer) != outer {
            // SAFETY: `enter` has recorded a scope that differs from the one around it. Records live
            // as long as `self`.
            let record = unsafe { &*self.newest.get() };
            // Relaxed: a thief that could mistake it has acquired a later push.
            record.base.store(usize::MAX, Ordering::Relaxed);
            self.newest.set(record.outer);
        }
    }

    fn record(&self, flag: CancelFlag, base: usize) {
        let outer = self.newest.get();
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
        self.newest.set(record);
    }

    /// Returns the flag of the scope in which the task at the address `slot` was pushed. Called by a
    /// thief while it holds the task.
    pub(super) fn around(&self, slot: usize) -> CancelFlag {
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
