//! An asymmetric fence: free on the side that runs often, expensive on the other.
//!
//! Dekker's pattern needs a full fence on both sides: *store mine, fence, load yours*. A join would
//! pay for one at every pop, while a thief comes once in a million pops. So the two sides differ:
//!
//! - The owner's side, [`light`], only stops the compiler from reordering.
//! - The thief's side, [`heavy`], is Linux's `membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED)`. It
//!   interrupts every processor that runs a thread of this process and executes a full fence there.
//!   The owner's fence is at the instruction where the interrupt arrives: its later loads see the
//!   thief's store, and the thief's loads see its earlier stores.
//!
//! The system call takes about 10 to 20 microseconds, so thieves use it only on a victim that has
//! not answered for longer than that. Other systems, old kernels and some sandboxes do not have the
//! call. There [`available`] returns false, and no thief relies on the light side.
//!
//! # Registration
//!
//! The process must register for the call. If the process has another thread already, the kernel
//! waits for a grace period first: 5 to 20 milliseconds. So [`prepare`] registers only while the process
//! has a single thread. Otherwise a thread of its own registers when the first thief wants to use force
//! ([`request`]), and [`available`] returns false until it has.
//!
//! Under loom both sides are sequentially consistent fences, because loom cannot model an
//! interrupt. The kernel guarantees that the pair of `light` and `heavy` orders memory like two
//! fences, so the results of the models hold for the real code.

use super::{Ordering, fence};

/// The owner's side: stops the compiler from reordering, at no cost at run time.
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
    /// Set by a model in which the light side orders nothing, so that its fence does not hide a
    /// missing fence elsewhere. (All threads of a model run on one thread of the system.)
    pub static WITHOUT_LIGHT_SIDE: std::cell::Cell<bool> = const { std::cell::Cell::new(false) };
}

/// The thief's side: a full fence here and on every other thread of the process.
///
/// Call it only after [`available`] has returned true. Returns false if the system still refuses
/// the call, because it lacks memory or now forbids the call. In that case the other threads have
/// executed no fence.
#[must_use]
pub(crate) fn heavy() -> bool {
    // Orders this thread's own accesses even if the kernel returns early, because the process has
    // a single thread.
    fence(Ordering::SeqCst);
    #[cfg(all(target_os = "linux", not(any(loom, miri, purloin_virtual))))]
    let ordered = linux::membarrier(linux::PRIVATE_EXPEDITED);
    #[cfg(purloin_virtual)]
    let ordered = purloin_virtual::sync::membarrier();
    #[cfg(not(any(purloin_virtual, all(target_os = "linux", not(any(loom, miri))))))]
    let ordered = cfg!(loom);
    fence(Ordering::SeqCst);
    ordered
}

/// Registers the process for [`heavy`], if that takes no time. Called when a pool is built.
pub(crate) fn prepare() {
    #[cfg(all(target_os = "linux", not(any(loom, miri, purloin_virtual))))]
    linux::prepare();
}

/// Lets a thread register the process for [`heavy`], unless this was done before.
#[cold]
pub(crate) fn request() {
    #[cfg(all(target_os = "linux", not(any(loom, miri, purloin_virtual))))]
    linux::request();
}

/// Called in a forked child.
pub(crate) fn forked() {
    #[cfg(all(target_os = "linux", not(any(loom, miri, purloin_virtual))))]
    linux::forked();
}

/// Returns whether [`heavy`] reaches the other threads. If so, it always will.
pub(crate) fn available() -> bool {
    #[cfg(all(target_os = "linux", not(any(loom, miri, purloin_virtual))))]
    {
        linux::is_registered()
    }
    #[cfg(loom)]
    {
        true
    }
    #[cfg(purloin_virtual)]
    {
        purloin_virtual::sync::has_membarrier()
    }
    #[cfg(all(not(any(loom, purloin_virtual)), any(not(target_os = "linux"), miri)))]
    {
        false
    }
}

#[cfg(all(target_os = "linux", not(any(loom, miri, purloin_virtual))))]
mod linux {
    use std::os::linux::fs::MetadataExt;
    use std::sync::atomic::{AtomicU32, Ordering};
    use std::thread;

    // From <linux/membarrier.h>.
    pub(super) const PRIVATE_EXPEDITED: libc::c_int = 1 << 3;
    const REGISTER_PRIVATE_EXPEDITED: libc::c_int = 1 << 4;

    /// One of the following. Relaxed: the kernel orders the calls, and nothing else depends on it.
    static STATE: AtomicU32 = AtomicU32::new(UNREGISTERED);
    const UNREGISTERED: u32 = 0;
    const REGISTERING: u32 = 1;
    const REGISTERED: u32 = 2;
    const REFUSED: u32 = 3;

    pub(super) fn membarrier(command: libc::c_int) -> bool {
        // SAFETY: membarrier takes three integers and touches no memory of this process.
        unsafe { libc::syscall(libc::SYS_membarrier, command, 0, 0) == 0 }
    }

    pub(super) fn is_registered() -> bool {
        STATE.load(Ordering::Relaxed) == REGISTERED
    }

    pub(super) fn prepare() {
        // A build without timed sleeps relies on the call: no pool may run before the process is
        // registered, by this thread or by another one.
        let must_register = cfg!(purloin_untimed);
        let is_new = STATE.load(Ordering::Relaxed) == UNREGISTERED;
        if is_new && (must_register || is_single_threaded()) && begin() {
            register();
        }
        while must_register && STATE.load(Ordering::Relaxed) == REGISTERING {
            thread::yield_now();
        }
    }

    pub(super) fn request() {
        if begin() {
            // The thread calls no code of the program.
            let thread = thread::Builder::new().stack_size(64 << 10);
            if thread.spawn(register).is_err() {
                register();
            }
        }
    }

    /// Called in a forked child, which has no thread that registers it.
    pub(super) fn forked() {
        let order = Ordering::Relaxed;
        let _ = STATE.compare_exchange(REGISTERING, UNREGISTERED, order, order);
    }

    /// Returns whether the caller must register the process.
    fn begin() -> bool {
        let order = Ordering::Relaxed;
        STATE.load(order) == UNREGISTERED
            && STATE
                .compare_exchange(UNREGISTERED, REGISTERING, order, order)
                .is_ok()
    }

    fn register() {
        let is_registered = membarrier(REGISTER_PRIVATE_EXPEDITED) && membarrier(PRIVATE_EXPEDITED);
        let state = if is_registered { REGISTERED } else { REFUSED };
        STATE.store(state, Ordering::Relaxed);
    }

    /// Returns whether the process has only this thread. Returns false if the system does not tell.
    fn is_single_threaded() -> bool {
        // The folder has a subfolder for each thread, and each counts as a link, like `.` and `..`.
        std::fs::metadata("/proc/self/task").is_ok_and(|tasks| tasks.st_nlink() == 3)
    }
}
