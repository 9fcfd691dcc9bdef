//! An asymmetric fence: free on the side that runs often, dear on the other.
//!
//! Dekker's pattern needs a full fence on both sides: *store mine, fence, load
//! yours*. A join would pay for it at every pop, against a thief that comes
//! once in a million of them. So the owner's side, [`light`], is only an order
//! to the compiler, and the thief's side, [`heavy`], is Linux's
//! `membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED)`, which executes a full fence
//! on every processor that runs a thread of this process. Where the owner is
//! in its instruction stream when that interrupt arrives, *there* is its fence:
//! its loads after it see the thief's store, and its stores before it are seen
//! by the thief's loads.
//!
//! The system call costs about 10 to 20 microseconds, so it is used only on a
//! victim that has not answered for longer than that. Where it is missing
//! (other systems, old kernels, sandboxes), [`available`] is false, and no
//! thief ever relies on the light side.
//!
//! Under loom both sides are sequentially consistent fences: the stronger
//! symmetric equivalent, as loom cannot model an interrupt. What the model
//! proves of the protocol with two fences holds with this pair, because the
//! kernel promises exactly that for the owner's program order.

use super::{Ordering, fence};

/// The owner's side: orders nothing but the compiler.
#[inline(always)]
pub(crate) fn light() {
    #[cfg(not(loom))]
    std::sync::atomic::compiler_fence(Ordering::SeqCst);
    #[cfg(loom)]
    if !WITHOUT_LIGHT_SIDE.get() {
        fence(Ordering::SeqCst);
    }
}

#[cfg(loom)]
std::thread_local! {
    /// Set by a model of what happens where the light side orders nothing, so
    /// that its fence does not stand in for another. (All threads of a model
    /// run on one thread of the system.)
    pub static WITHOUT_LIGHT_SIDE: std::cell::Cell<bool> = const { std::cell::Cell::new(false) };
}

/// The thief's side: a full fence here and on every other thread of the process.
///
/// Call it only where [`available`] has returned true. False if the system
/// refuses all the same, for want of memory or because it was forbidden since:
/// then nothing is ordered.
#[must_use]
pub(crate) fn heavy() -> bool {
    // Orders this thread's own accesses even if the kernel returns early
    // because the process has a single thread.
    fence(Ordering::SeqCst);
    #[cfg(all(target_os = "linux", not(loom), not(miri)))]
    let ordered = linux::membarrier(linux::PRIVATE_EXPEDITED);
    #[cfg(not(all(target_os = "linux", not(loom), not(miri))))]
    let ordered = cfg!(loom);
    fence(Ordering::SeqCst);
    ordered
}

/// Whether [`heavy`] reaches the other threads; registers the process for it
/// at the first call.
pub(crate) fn available() -> bool {
    #[cfg(all(target_os = "linux", not(loom), not(miri)))]
    {
        linux::registered()
    }
    #[cfg(loom)]
    {
        true
    }
    #[cfg(all(not(loom), any(not(target_os = "linux"), miri)))]
    {
        false
    }
}

#[cfg(all(target_os = "linux", not(loom), not(miri)))]
mod linux {
    use std::sync::OnceLock;

    // From <linux/membarrier.h>.
    pub(super) const PRIVATE_EXPEDITED: libc::c_int = 1 << 3;
    const REGISTER_PRIVATE_EXPEDITED: libc::c_int = 1 << 4;

    pub(super) fn membarrier(command: libc::c_int) -> bool {
        // SAFETY: membarrier takes three integers and touches no memory of ours.
        unsafe { libc::syscall(libc::SYS_membarrier, command, 0, 0) == 0 }
    }

    pub(super) fn registered() -> bool {
        static REGISTERED: OnceLock<bool> = OnceLock::new();
        *REGISTERED
            .get_or_init(|| membarrier(REGISTER_PRIVATE_EXPEDITED) && membarrier(PRIVATE_EXPEDITED))
    }
}
