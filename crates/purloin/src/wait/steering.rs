//! Where a woken worker begins: not where its waker runs.
//!
//! A worker that wakes another is about to go on working, and wants that one to work beside
//! it. Linux may queue it behind its waker all the same: it looks for another processor only
//! if it takes some of those that share a cache to be idle, and where there are two of them,
//! it does not if one has been busy of late. The woken worker then waits until processors are
//! balanced, which takes up to four milliseconds: with two processors, the second worker began
//! after a third of a program of three milliseconds, or not at all. Where it is to begin is decided
//! while it is woken; so meanwhile its affinity keeps it from the waker's processor.
//!
//! An affinity is changed by reading it, writing another and writing back the first, which is
//! right only if nobody comes between. So one waker steers at a time, and the worker does not go
//! on before he has done, as it might sleep again, start threads that have its affinity for good,
//! or be bound by what it runs. All three hold the same lock: a waker while he changes what he will
//! change back, the worker while it says that it sleeps or does not. Who wakes it meanwhile
//! only wakes it. (Somebody else may come between, within two microseconds, who binds a worker that
//! sleeps. That is lost: the system has no way of changing an affinity only if it is as expected.)

// Not that of the models: no protocol relies on it.
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::sync::spin_loop;

/// Steers the thread of one worker.
pub(super) struct Steering(Mutex<Thread>);

struct Thread {
    /// Its number in the system, once it is known.
    number: Option<usize>,
    /// Whether nobody has restricted it to some processors.
    is_free: bool,
    is_parked: bool,
}

/// For how many looks a worker waits awake until its waker has done, which takes him a microsecond
/// or two. If it slept for that, it could be woken behind him after all.
const LOOKS: usize = 1000;

impl Steering {
    pub(super) fn new() -> Steering {
        Steering(Mutex::new(Thread {
            number: None,
            is_free: false,
            is_parked: false,
        }))
    }

    /// Called by the worker itself, before it sleeps.
    pub(super) fn is_here(&self) {
        let mut thread = self.lock();
        if thread.number.is_none() {
            thread.number = system::thread();
            thread.is_free = system::is_free();
        }
    }

    /// The worker sleeps as long as this is there. It must not hold then what its wakers need.
    pub(super) fn parked(&self) -> Parked<'_> {
        self.lock().is_parked = true;
        Parked(self)
    }

    /// Has the worker woken, which is not to begin on the processor of the caller.
    pub(super) fn elsewhere(&self, wake: impl FnOnce()) {
        if let Ok(mut thread) = self.0.try_lock()
            && thread.is_parked
            && let Some(number) = thread.number
            && let Some(before) = system::keep_away(number)
        {
            wake();
            thread.is_free = system::restore(number, &before, thread.is_free);
        } else {
            wake();
        }
    }

    fn lock(&self) -> MutexGuard<'_, Thread> {
        for _ in 0..LOOKS {
            if let Ok(thread) = self.0.try_lock() {
                return thread;
            }
            spin_loop();
        }
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// See [`Steering::parked`].
pub(super) struct Parked<'s>(&'s Steering);

impl Drop for Parked<'_> {
    fn drop(&mut self) {
        self.0.lock().is_parked = false;
    }
}

#[cfg(all(target_os = "linux", not(loom), not(miri)))]
mod system {
    use libc::{CPU_CLR, CPU_COUNT, CPU_EQUAL, CPU_ISSET, CPU_SETSIZE, cpu_set_t, pid_t};

    const SIZE: usize = size_of::<cpu_set_t>();

    pub(super) fn thread() -> Option<usize> {
        // SAFETY: it takes nothing, and touches no memory of ours.
        Some(unsafe { libc::syscall(libc::SYS_gettid) as usize })
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
        restore(0, &before, true)
    }

    /// Allows a thread to use these processors again; if it was free, whatever its process may. Whether
    /// it still is, or somebody has restricted it since.
    pub(super) fn restore(thread: usize, before: &cpu_set_t, was_free: bool) -> bool {
        // SAFETY: it only looks at the sets.
        let is_before = |now: cpu_set_t| unsafe { CPU_EQUAL(before, &now) };
        let is_free = was_free && allow(thread, None) && allowed(thread).is_some_and(is_before);
        if !is_free {
            allow(thread, Some(before));
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
    pub(super) fn thread() -> Option<usize> {
        None
    }

    pub(super) fn is_free() -> bool {
        false
    }

    pub(super) fn keep_away(_: usize) -> Option<()> {
        None
    }

    pub(super) fn restore(_: usize, _: &(), _: bool) -> bool {
        false
    }
}

#[cfg(all(test, target_os = "linux", not(loom), not(miri)))]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::sync::mpsc;
    use std::thread;
    use std::time::Duration;

    use super::super::bed::Bed;
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
            let thread = steering.lock().number.unwrap_or(0);
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

    /// Binds the caller to the first processor that it may use.
    fn bind_to_one() -> usize {
        let first = allowed(0)[0];
        // SAFETY: the processor is less than the size of the set.
        let one = unsafe {
            let mut one: libc::cpu_set_t = std::mem::zeroed();
            libc::CPU_SET(first, &mut one);
            one
        };
        assert!(system::allow(0, Some(&one)));
        first
    }

    #[test]
    fn who_is_bound_stays_bound() {
        let sleep = || {
            let steering = Steering::new();
            let first = bind_to_one();
            steering.is_here();
            assert_eq!(allowed(0), [first]);
            let _parked = steering.parked();
            steering.elsewhere(|| assert_eq!(allowed(0), [first]));
            assert_eq!(allowed(0), [first]);
        };
        thread::spawn(sleep).join().unwrap();
    }

    #[test]
    fn who_is_bound_after_its_first_sleep_stays_bound() {
        let sleep = || {
            assert!(system::allow(0, None));
            let processors = allowed(0).len();
            let first = bind_to_one();
            let before = system::allowed(0).unwrap();
            let is_free = system::restore(0, &before, true);
            assert_eq!(allowed(0), [first]);
            assert_eq!(is_free, processors == 1);
        };
        thread::spawn(sleep).join().unwrap();
    }

    /// Two wake a worker again and again, which also wakes by itself. Where it may run is not
    /// changed while it is awake.
    #[test]
    fn whoever_is_awake_may_run_where_it_might() {
        let bed = Bed::new();
        let is_over = AtomicBool::new(false);
        thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    while !is_over.load(Ordering::Relaxed) {
                        bed.steering.elsewhere(|| bed.unpark());
                        thread::yield_now();
                    }
                });
            }
            scope.spawn(|| {
                let before = allowed(0);
                bed.steering.is_here();
                let unchanged = (0..1000).take_while(|_| {
                    bed.park_for(Duration::from_micros(50));
                    allowed(0) == before
                });
                let unchanged = unchanged.count();
                is_over.store(true, Ordering::Relaxed);
                assert_eq!(unchanged, 1000);
            });
        });
    }
}
