//! Where a woken worker begins: not where its waker runs.
//!
//! A worker that wakes another is about to go on working, and wants that one to work beside
//! it. Linux may queue it behind its waker all the same: it looks for another processor only
//! if it takes some of those that share a cache to be idle, and where there are two of them,
//! it does not if one has been busy of late. The woken worker then waits until processors are
//! balanced, which takes up to four milliseconds: with two processors, the second worker began
//! after a third of a program of three milliseconds, or not at all. So it is kept from the
//! waker's processor until it has begun, by its affinity.

// Not those of the models: all happens under a lock, and nothing follows from it.
use std::sync::atomic::{AtomicUsize, Ordering};

/// Steers the thread of one worker. All of this happens under the lock of the sleepers.
pub(super) struct Steering {
    /// Its number in the system, once it is known.
    thread: AtomicUsize,
    /// The processor that it is kept from, plus one.
    kept_from: AtomicUsize,
}

impl Steering {
    pub(super) fn new() -> Steering {
        Steering {
            thread: AtomicUsize::new(0),
            kept_from: AtomicUsize::new(0),
        }
    }

    /// Called by the worker itself, before it sleeps.
    pub(super) fn is_here(&self) {
        if self.thread.load(Ordering::Relaxed) == 0 {
            self.thread.store(system::thread(), Ordering::Relaxed);
        }
    }

    /// Keeps a sleeping worker from the processor of the caller, who is about to wake it.
    pub(super) fn keep_away(&self) {
        let thread = self.thread.load(Ordering::Relaxed);
        if let Some(here) = system::processor()
            && system::allow(thread, here, false)
        {
            self.kept_from.store(here + 1, Ordering::Relaxed);
        }
    }

    /// Called by the worker itself, once it has begun: it may run anywhere again.
    pub(super) fn has_begun(&self) {
        let kept_from = self.kept_from.load(Ordering::Relaxed);
        if let Some(processor) = kept_from.checked_sub(1) {
            self.kept_from.store(0, Ordering::Relaxed);
            system::allow(system::thread(), processor, true);
        }
    }
}

#[cfg(all(target_os = "linux", not(loom), not(miri)))]
mod system {
    use libc::{CPU_CLR, CPU_COUNT, CPU_ISSET, CPU_SET, CPU_SETSIZE, cpu_set_t, pid_t};

    pub(super) fn thread() -> usize {
        // SAFETY: it takes nothing, and touches no memory of ours.
        unsafe { libc::syscall(libc::SYS_gettid) as usize }
    }

    pub(super) fn processor() -> Option<usize> {
        // SAFETY: as above.
        let processor = unsafe { libc::sched_getcpu() };
        usize::try_from(processor)
            .ok()
            .filter(|&processor| processor < CPU_SETSIZE as usize)
    }

    /// Allows a thread to use a processor, or forbids it if there is another. False if that was so
    /// before, or cannot be done.
    pub(super) fn allow(thread: usize, processor: usize, is_allowed: bool) -> bool {
        const SIZE: usize = size_of::<cpu_set_t>();
        // SAFETY: the set is plain data of the size that is passed, and the macro-made-functions
        // only touch bits inside it, as the processor is less than its size.
        unsafe {
            let mut set: cpu_set_t = std::mem::zeroed();
            if thread == 0
                || libc::sched_getaffinity(thread as pid_t, SIZE, &mut set) != 0
                || CPU_ISSET(processor, &set) == is_allowed
                || !is_allowed && CPU_COUNT(&set) == 1
            {
                return false;
            }
            match is_allowed {
                true => CPU_SET(processor, &mut set),
                false => CPU_CLR(processor, &mut set),
            }
            libc::sched_setaffinity(thread as pid_t, SIZE, &set) == 0
        }
    }
}

#[cfg(not(all(target_os = "linux", not(loom), not(miri))))]
mod system {
    pub(super) fn thread() -> usize {
        0
    }

    pub(super) fn processor() -> Option<usize> {
        None
    }

    pub(super) fn allow(_: usize, _: usize, _: bool) -> bool {
        false
    }
}

#[cfg(all(test, target_os = "linux", not(loom), not(miri)))]
mod tests {
    use std::sync::mpsc;
    use std::thread;

    use super::*;

    /// The processors that a thread may use.
    fn allowed(thread: usize) -> Vec<usize> {
        // SAFETY: as in `system`.
        unsafe {
            let mut set: libc::cpu_set_t = std::mem::zeroed();
            let size = size_of::<libc::cpu_set_t>();
            assert_eq!(libc::sched_getaffinity(thread as _, size, &mut set), 0);
            let all = 0..libc::CPU_SETSIZE as usize;
            all.filter(|&processor| libc::CPU_ISSET(processor, &set))
                .collect()
        }
    }

    #[test]
    fn a_woken_worker_begins_elsewhere_and_may_then_run_anywhere() {
        let steering = Steering::new();
        // Before its thread is known nothing happens.
        steering.keep_away();
        assert_eq!(steering.kept_from.load(Ordering::Relaxed), 0);
        let (sleeping, sleeps) = mpsc::channel();
        let (wake, woken) = mpsc::channel();
        thread::scope(|scope| {
            let steering = &steering;
            scope.spawn(move || {
                let before = allowed(system::thread());
                steering.is_here();
                sleeping.send((system::thread(), before.clone())).unwrap();
                woken.recv().unwrap();
                steering.has_begun();
                assert_eq!(allowed(system::thread()), before);
                assert_eq!(steering.kept_from.load(Ordering::Relaxed), 0);
            });
            let (thread, mut before) = sleeps.recv().unwrap();
            steering.keep_away();
            let kept_from = steering.kept_from.load(Ordering::Relaxed);
            if before.len() > 1 {
                assert!(kept_from > 0);
                before.retain(|&processor| processor + 1 != kept_from);
            }
            assert_eq!(allowed(thread), before);
            wake.send(()).unwrap();
        });
    }
}
