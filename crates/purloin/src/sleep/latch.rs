//! A latch counts what a thread waits for, and wakes the thread when nothing is left.

use super::Sleep;
use crate::sync::thread::Thread;
use crate::sync::{AtomicUsize, Ordering};

/// The thread that waits for a [`Latch`].
#[derive(Clone)]
pub(crate) enum Waiter {
    /// The worker with this number.
    Worker(usize),
    /// A thread that is woken by its handle: one outside the pool, or one that waits for a broadcast.
    Outside(Thread),
}

impl Waiter {
    /// Returns whether the thread may be a worker of another pool.
    pub(crate) fn is_outside(&self) -> bool {
        matches!(self, Waiter::Outside(_))
    }

    pub(crate) fn unpark(&self, sleep: &Sleep) {
        match self {
            Waiter::Worker(worker) => sleep.unpark(*worker),
            Waiter::Outside(thread) => thread.unpark(),
        }
    }
}

/// A count of what a thread waits for.
pub(crate) struct Latch {
    left: AtomicUsize,
    waiter: Waiter,
}

impl Latch {
    /// Returns a latch that is held this many times.
    pub(crate) fn new(left: usize, waiter: Waiter) -> Latch {
        Latch {
            left: AtomicUsize::new(left),
            waiter,
        }
    }

    pub(crate) fn waiter(&self) -> &Waiter {
        &self.waiter
    }

    /// Holds the latch until [`Self::release`]. Called while the waiting thread cannot go on.
    pub(crate) fn hold(&self) {
        // Relaxed: the waiting thread waits for the code that calls this, so it sees this increment
        // before it checks the count.
        self.left.fetch_add(1, Ordering::Relaxed);
    }

    /// Takes one hold back, and wakes the waiting thread if it was the last.
    ///
    /// # Safety
    ///
    /// `this` points at a latch that the caller holds. The latch may be gone afterwards, so this function
    /// gets no reference to it.
    pub(crate) unsafe fn release(this: *const Latch, sleep: &Sleep) {
        // SAFETY: the latch lives while the caller holds it, and this function uses it only before it takes
        // the hold back.
        unsafe {
            let left = &raw const (*this).left;
            let mut now = (*left).load(Ordering::Relaxed);
            // Release: everything that the caller did happens before the waiting thread goes on.
            let order = Ordering::Release;
            while now > 1 {
                match (*left).compare_exchange_weak(now, now - 1, order, Ordering::Relaxed) {
                    Ok(_) => return,
                    Err(other) => now = other,
                }
            }
            let waiter = (*this).waiter.clone();
            if (*left).fetch_sub(1, order) == 1 {
                waiter.unpark(sleep);
            }
        }
    }

    /// Returns whether nothing is left to wait for.
    pub(crate) fn is_open(&self) -> bool {
        // Acquire: pairs with the release of each hold.
        self.left.load(Ordering::Acquire) == 0
    }
}
