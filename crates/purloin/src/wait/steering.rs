//! Where a woken worker begins: not where its waker runs.
//!
//! A worker that wakes another is about to go on working, and wants that one to work beside
//! it. Linux may queue it behind its waker all the same: it looks for another processor only
//! if it takes some of those that share a cache to be idle, and where there are two of them,
//! it does not if one has been busy of late. The woken worker then waits until processors are
//! balanced, which takes up to four milliseconds: with two processors, the second worker began
//! after a third of a program of three milliseconds, or not at all. Where it is to begin is decided
//! while it is woken; so meanwhile its affinity keeps it from the waker's processor.

// Not those of the models: no protocol relies on them.
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// Steers the thread of one worker.
pub(super) struct Steering {
    /// Its number in the system, once it is known.
    thread: AtomicUsize,
    /// Whether nobody has restricted it to some processors.
    is_free: AtomicBool,
    /// Whether it sleeps. While it runs it may start threads, which would have its affinity for
    /// good.
    is_parked: AtomicBool,
}

impl Steering {
    pub(super) fn new() -> Steering {
        Steering {
            thread: AtomicUsize::new(0),
            is_free: AtomicBool::new(false),
            is_parked: AtomicBool::new(false),
        }
    }

    /// Called by the worker itself, before it sleeps.
    pub(super) fn is_here(&self) {
        if self.thread.load(Ordering::Relaxed) == 0 {
            self.is_free.store(system::is_free(), Ordering::Relaxed);
            // Release: whoever knows the thread knows whether it is free.
            self.thread.store(system::thread(), Ordering::Release);
        }
    }

    /// The worker sleeps as long as this is there.
    pub(super) fn parked(&self) -> Parked<'_> {
        self.is_parked.store(true, Ordering::Relaxed);
        Parked(&self.is_parked)
    }

    /// Has the worker woken, which is not to begin on the processor of the caller.
    pub(super) fn elsewhere(&self, wake: impl FnOnce()) {
        let thread = self.thread.load(Ordering::Acquire);
        let is_asleep = thread != 0 && self.is_parked.load(Ordering::Relaxed);
        let before = is_asleep.then(|| system::keep_away(thread)).flatten();
        wake();
        if let Some(before) = before {
            let is_free = self.is_free.load(Ordering::Relaxed);
            system::allow(thread, (!is_free).then_some(&before));
        }
    }
}

/// See [`Steering::parked`].
pub(super) struct Parked<'s>(&'s AtomicBool);

impl Drop for Parked<'_> {
    fn drop(&mut self) {
        self.0.store(false, Ordering::Relaxed);
    }
}

#[cfg(all(target_os = "linux", not(loom), not(miri)))]
mod system {
    use libc::{CPU_CLR, CPU_COUNT, CPU_EQUAL, CPU_ISSET, CPU_SETSIZE, cpu_set_t, pid_t};

    const SIZE: usize = size_of::<cpu_set_t>();

    pub(super) fn thread() -> usize {
        // SAFETY: it takes nothing, and touches no memory of ours.
        unsafe { libc::syscall(libc::SYS_gettid) as usize }
    }

    /// The processors that a thread may use; 0 is the calling one.
    pub(super) fn allowed(thread: usize) -> Option<cpu_set_t> {
        // SAFETY: the set is plain data of the size that is passed.
        unsafe {
            let mut set: cpu_set_t = std::mem::zeroed();
            (libc::sched_getaffinity(thread as pid_t, SIZE, &mut set) == 0).then_some(set)
        }
    }

    /// Allows a thread to use these processors, or else whatever its process may, also if that will be
    /// more one day.
    pub(super) fn allow(thread: usize, processors: Option<&cpu_set_t>) -> bool {
        // SAFETY: as above, and any bits may be set.
        unsafe {
            let mut all: cpu_set_t = std::mem::zeroed();
            std::ptr::write_bytes(&mut all, 0xff, 1);
            let processors = processors.unwrap_or(&all);
            libc::sched_setaffinity(thread as pid_t, SIZE, processors) == 0
        }
    }

    /// Whether the calling thread may use whatever its process may.
    pub(super) fn is_free() -> bool {
        let Some(before) = allowed(0) else {
            return false;
        };
        allow(0, None);
        // SAFETY: it only looks at the sets.
        let is_free = allowed(0).is_some_and(|after| unsafe { CPU_EQUAL(&before, &after) });
        if !is_free {
            allow(0, Some(&before));
        }
        is_free
    }

    /// Keeps a thread from the processor of the caller. What it might use before, if that was more
    /// than that one, and with it.
    pub(super) fn keep_away(thread: usize) -> Option<cpu_set_t> {
        // SAFETY: it takes nothing, and touches no memory of ours.
        let here = usize::try_from(unsafe { libc::sched_getcpu() }).ok()?;
        let before = allowed(thread)?;
        // SAFETY: the processor is less than the size of the set.
        unsafe {
            if here >= CPU_SETSIZE as usize || !CPU_ISSET(here, &before) || CPU_COUNT(&before) == 1
            {
                return None;
            }
            let mut elsewhere = before;
            CPU_CLR(here, &mut elsewhere);
            allow(thread, Some(&elsewhere)).then_some(before)
        }
    }
}

#[cfg(not(all(target_os = "linux", not(loom), not(miri))))]
mod system {
    pub(super) fn thread() -> usize {
        0
    }

    pub(super) fn is_free() -> bool {
        false
    }

    pub(super) fn keep_away(_: usize) -> Option<()> {
        None
    }

    pub(super) fn allow(_: usize, _: Option<&()>) {}
}

#[cfg(all(test, target_os = "linux", not(loom), not(miri)))]
mod tests {
    use std::sync::mpsc;
    use std::thread;

    use super::*;

    /// The processors that a thread may use.
    fn allowed(thread: usize) -> Vec<usize> {
        let set = system::allowed(thread).unwrap();
        let all = 0..libc::CPU_SETSIZE as usize;
        // SAFETY: each processor is less than the size of the set.
        all.filter(|&processor| unsafe { libc::CPU_ISSET(processor, &set) })
            .collect()
    }

    #[test]
    fn a_worker_is_woken_elsewhere_and_may_run_afterwards_where_it_might_before() {
        let steering = Steering::new();
        let lacking = || {
            let thread = steering.thread.load(Ordering::Relaxed);
            let before = allowed(thread);
            let mut meanwhile = Vec::new();
            steering.elsewhere(|| meanwhile = allowed(thread));
            assert_eq!(allowed(thread), before);
            assert!(meanwhile.iter().all(|processor| before.contains(processor)));
            before.len() - meanwhile.len()
        };
        assert_eq!(lacking(), 0, "its thread is not known yet");
        let (sleeping, sleeps) = mpsc::channel();
        let (wake, woken) = mpsc::channel::<()>();
        thread::scope(|scope| {
            let steering = &steering;
            scope.spawn(move || {
                let before = allowed(0);
                steering.is_here();
                assert_eq!(allowed(0), before);
                for parked in [false, true] {
                    let _parked = parked.then(|| steering.parked());
                    sleeping.send(()).unwrap();
                    woken.recv().unwrap();
                }
            });
            sleeps.recv().unwrap();
            assert_eq!(lacking(), 0, "it runs");
            wake.send(()).unwrap();
            sleeps.recv().unwrap();
            let processors = allowed(0).len();
            assert_eq!(lacking(), usize::from(processors > 1));
            wake.send(()).unwrap();
        });
    }

    #[test]
    fn who_is_bound_stays_bound() {
        let bind_to_one = || {
            let first = allowed(0)[0];
            // SAFETY: the processor is less than the size of the set.
            let one = unsafe {
                let mut one: libc::cpu_set_t = std::mem::zeroed();
                libc::CPU_SET(first, &mut one);
                one
            };
            assert!(system::allow(0, Some(&one)));
            let steering = Steering::new();
            steering.is_here();
            assert_eq!(allowed(0), [first]);
            let _parked = steering.parked();
            steering.elsewhere(|| assert_eq!(allowed(0), [first]));
            assert_eq!(allowed(0), [first]);
        };
        thread::spawn(bind_to_one).join().unwrap();
    }
}
