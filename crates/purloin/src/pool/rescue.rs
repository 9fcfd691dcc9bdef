//! Rescue: a pool that begins nothing gets the processor of a worker that is blocked.
//!
//! A worker may block in a way that its pool does not see: in a lock, in a channel, or for the end of a
//! thread. If all workers do, work from outside waits, and it may be the very work for which they wait.
//! So a thread **watches** the pool while work waits in its inbox and no worker is idle. If the pool
//! begins no work from outside for [`STALL`](tunables::STALL), the watcher hands off a processor, as if
//! a worker were blocked in a join: a [spare worker](super::Builder::spare_workers) begins the work. The
//! watcher looks once in each interval of this length. It takes one of these processors back after two
//! intervals in a row in which the pool has begun work. When the inbox is empty, it takes all of them
//! back and ends.
//!
//! The watcher keeps the pool. So a drop of the pool that waits for the workers' threads also waits for
//! the watcher's thread: afterwards the program's handlers are gone. A pool that ends alone may outlive
//! its workers until the watcher looks again, and the watcher's thread then drops the handlers.
//!
//! The thread that injects work starts the watcher, if it finds no worker to call. So it does not
//! matter whether any thread waits for the work, or how.
//!
//! # A pool without spare workers left
//!
//! If a worker blocks and no spare worker is left to take its processor, the watcher starts, too. It
//! also starts if the thread of a spare worker cannot be started, and then tries again in each interval
//! ([`handoff`](crate::sleep)). If tasks or work from outside wait for [`STUCK`](tunables::STUCK), and no
//! worker begins any of them, the watcher prints a warning, once for each pool: the blocked tasks may wait
//! for those that wait for a worker.
//!
//! If the watcher's own thread cannot be started, the watcher is **missing**. These threads try again to
//! start it:
//!
//! - the thread that injects the next work;
//! - the next worker that hands off its processor and finds no spare worker;
//! - each thread that waits outside the pool: it checks once a second
//!   ([`MISSING_WATCHER`](tunables::MISSING_WATCHER)), and while the watcher is missing, in each interval;
//! - a thread that drops the pool, if the watcher was missing before.
//!
//! If one of the last two fails, and is not a worker, it prints a warning. A worker must not print: the
//! program may hold the lock of standard error while it waits for the worker.
//!
//! | word | written by |
//! |---|---|
//! | `is_watched` | the thread that starts the watcher sets it; the watcher clears it before its last look at the inbox |
//! | `is_missing` | the thread that has tried to start the watcher |
//! | `is_over` | the thread that drops the pool sets it once all workers have ended |
//! | `watcher` | the thread that starts the watcher; the thread that drops the pool takes it |
//!
//! No work is missed: the injecting thread pushes, executes a full fence and looks at `is_watched`; the
//! watcher clears `is_watched`, executes a full fence and looks at the inbox. One of them sees the
//! other.

use std::io::{Write, stderr};
use std::sync::Arc;
use std::time::Duration;

use super::threads::check_room;
use super::{Remote, Shared};
use crate::scheduler::{Scheduler, TaskPool};
use crate::sleep::{UNTIMED, Visits};
use crate::stats::Count;
use crate::sync::thread::{self, JoinHandle};
use crate::sync::{AtomicBool, Instant, Mutex, Ordering, fence, lock};
use crate::this_thread::host;
use crate::tunables;

/// Whether a thread watches a pool.
#[derive(Default)]
pub(super) struct Rescue {
    is_watched: AtomicBool,
    has_warned: AtomicBool,
    has_warned_of_missing: AtomicBool,
    /// Whether the last watcher could not be started.
    is_missing: AtomicBool,
    /// Whether all workers have ended.
    is_over: AtomicBool,
    /// The last watcher that was started.
    watcher: Mutex<Option<JoinHandle<()>>>,
}

impl Rescue {
    /// Watcher: waits for [`STALL`](tunables::STALL). Returns false if all workers have ended.
    fn pause(&self) -> bool {
        let (start, mut left) = (Instant::now(), tunables::STALL.get());
        // Acquire: everything that the workers did has happened.
        while !self.is_over.load(Ordering::Acquire) {
            if left.is_zero() {
                return true;
            }
            thread::park_timeout(left);
            left = tunables::STALL.get().saturating_sub(start.elapsed());
        }
        false
    }

    /// Called after a fence that orders new work before it. Returns whether the caller must start the
    /// watcher.
    fn begin(&self) -> bool {
        // Relaxed: see the page.
        !self.is_watched.load(Ordering::Relaxed) && !self.is_watched.swap(true, Ordering::Relaxed)
    }

    /// Watcher: ends the watch, because no work waits. Returns false if the watcher must go on, because
    /// work has come after all and no other watcher has been started for it.
    fn end(&self, has_work: impl FnOnce() -> bool) -> bool {
        // Relaxed: the fence orders the swap before the last look, see the page. A store would do, but
        // loom lets a store come between the load and the store of another thread's swap.
        self.is_watched.swap(false, Ordering::Relaxed);
        fence(Ordering::SeqCst);
        !has_work() || self.is_watched.swap(true, Ordering::Relaxed)
    }
}

impl<S: Scheduler> Shared<S> {
    /// Calls an idle worker for work from outside that was just put into the inbox. If there is none,
    /// lets a thread watch the pool.
    pub(super) fn call_idle_worker(&self) {
        if !self.sleep.injected()
            && S::HANDS_OFF
            && self.spares > 0
            && (self.options.rescues_calls || self.sleep.has_set_aside())
        {
            self.watch();
        }
    }

    /// Lets a thread watch the pool, unless one does. Called after a fence that orders the work, or the
    /// hand-off, before it.
    #[cold]
    pub(super) fn watch(&self) {
        if !self.rescue.begin() {
            return;
        }
        // Held from before the start: a thread that starts the next watcher finds this one.
        let mut watcher = lock(&self.rescue.watcher);
        // A pool that is being built is not found, and has no work.
        let started = Shared::<S>::find(self.id).map(|pool| {
            let builder = thread::Builder::new().name("purloin-rescue".to_string());
            check_room().and_then(|()| builder.spawn(move || pool.rescue_if_stalled()))
        });
        // Relaxed: a thread that misses this store checks again a second later.
        let is_missing = matches!(started, Some(Err(_)));
        self.rescue.is_missing.store(is_missing, Ordering::Relaxed);
        let Some(Ok(started)) = started else {
            return self.rescue.is_watched.store(false, Ordering::Relaxed);
        };
        let last = watcher.replace(started);
        drop(watcher);
        if let Some(last) = last {
            // The last watch has ended, so this thread waits only for the end of the watcher's thread.
            let _ = last.join();
        }
    }

    /// Tries again to start a watcher that is missing, if work waits. Returns whether it is still missing.
    pub(super) fn retry_missing_watcher(&self) -> bool {
        let is_missing = || self.rescue.is_missing.load(Ordering::Relaxed);
        if is_missing() && self.has_waiting_work() {
            self.watch();
            if is_missing() && host().is_none() {
                self.warn_once(&self.rescue.has_warned_of_missing, || {
                    format!(
                        "tasks wait, but the system starts no thread for the pool; {RAISE_LIMITS}"
                    )
                });
            }
        }
        is_missing()
    }

    /// Returns the longest sleep of a thread outside the pool that waits for it. The thread calls this
    /// again afterwards.
    pub(super) fn limit_outside(&self) -> Option<Duration> {
        if !S::HANDS_OFF || self.spares == 0 {
            return None;
        }
        match self.retry_missing_watcher() && self.has_waiting_work() {
            true => Some(tunables::STALL.get()),
            // The watcher may go missing during the sleep. A build without timers has no timed sleep,
            // which would hide a lost wake-up.
            false => (!UNTIMED).then(|| tunables::MISSING_WATCHER.get()),
        }
    }

    /// Ends the watch when all workers have ended, and waits for the watcher's thread.
    pub(super) fn end_rescue(&self) {
        // Release: pairs with `pause`.
        self.rescue.is_over.store(true, Ordering::Release);
        let watcher = lock(&self.rescue.watcher).take();
        if let Some(watcher) = watcher {
            thread::unpark(&watcher);
            let _ = watcher.join();
        }
    }

    /// Runs the watcher, until nothing waits.
    fn rescue_if_stalled(self: Arc<Self>) {
        let mut handed_off = Vec::new();
        // Steals do not count for a rescue: a blocked worker that leapfrogs begins no work from outside.
        let (mut begun, mut stolen) = (self.inbox.begun(), self.steals());
        let mut stuck_since = Instant::now();
        let mut is_busy = false;
        while self.rescue.pause() {
            let before = std::mem::replace(&mut begun, self.inbox.begun());
            let stolen_before = std::mem::replace(&mut stolen, self.steals());
            let was_busy = std::mem::replace(&mut is_busy, before != begun);
            if was_busy && is_busy {
                // The pool begins work by itself.
                handed_off.pop();
            }
            let (lacks_workers, has_set_aside) = self.shortage();
            if (before, stolen_before) != (begun, stolen) || !(lacks_workers || has_set_aside) {
                stuck_since = Instant::now();
            }
            if has_set_aside {
                // A processor waits for one of these workers already. The watch does not end before they
                // are in the reserve, where later tasks find them.
                self.sleep.retry_set_aside();
                self.look_for_others(Visits::Everyone, |_| false);
            }
            if !self.is_watch_needed() {
                handed_off.clear();
                if self.rescue.end(|| self.is_watch_needed()) {
                    return;
                }
            } else if stuck_since.elapsed() >= tunables::STUCK.get() {
                self.warn_once(&self.rescue.has_warned, || self.stuck_text(has_set_aside));
            } else if !(lacks_workers || has_set_aside || is_busy) && self.options.rescues_calls {
                handed_off.extend(self.hand_off_processor(None));
                self.look_for_others(Visits::Everyone, |_| false);
            }
        }
    }

    /// Returns whether no worker was left to take a processor, and whether the thread of a spare worker
    /// could not be started.
    fn shortage(&self) -> (bool, bool) {
        (self.sleep.lacks_workers(), self.sleep.has_set_aside())
    }

    /// Returns whether the watcher has something to do: work waits, or workers are set aside.
    fn is_watch_needed(&self) -> bool {
        self.sleep.has_set_aside() || self.has_waiting_work()
    }

    /// Returns whether work from outside waits, or tasks that no worker is left to take.
    fn has_waiting_work(&self) -> bool {
        !self.inbox.is_empty() || self.shortage() != (false, false) && self.has_waiting_tasks()
    }

    /// Returns the number of steals so far.
    fn steals(&self) -> u64 {
        let counters = self.started().iter().map(|worker| &*worker.counters);
        counters.map(|counters| counters.get(Count::Steals)).sum()
    }

    /// Returns, as a hint, whether any worker has tasks that no thief has taken.
    fn has_waiting_tasks(&self) -> bool {
        let mut tasks = self.started().iter().map(Remote::task_pool);
        tasks.any(|tasks| tasks.stack().has_unstolen())
    }

    /// Returns why tasks wait although no worker has begun one for a second.
    fn stuck_text(&self, has_set_aside: bool) -> String {
        let spares = self.spares;
        match has_set_aside {
            false => format!(
                "tasks wait, but all workers and all {spares} spare workers of a pool have been blocked or \
                 busy for a second; if tasks wait for each other, the pool needs more of them: \
                 Builder::spare_workers"
            ),
            true => format!(
                "tasks wait, but all workers of a pool have been blocked or busy for a second, and the \
                 system does not start threads for spare workers; {RAISE_LIMITS}"
            ),
        }
    }

    /// Prints a warning, unless the pool `has_warned`.
    #[cold]
    fn warn_once(&self, has_warned: &AtomicBool, text: impl FnOnce() -> String) {
        // Relaxed: nothing depends on the flag.
        if !has_warned.swap(true, Ordering::Relaxed) {
            // Standard error may be closed. The program goes on without the warning.
            let _ = writeln!(stderr(), "purloin: {}", text());
        }
    }
}

const RAISE_LIMITS: &str =
    "raise the limits of the process on threads and memory (ulimit -u, -v and -d)";

#[cfg(all(loom, test))]
mod models {
    use loom::sync::Arc;
    use loom::thread;

    use super::*;
    use crate::sync::AtomicUsize;

    /// A pool without idle workers. Its watcher takes the work itself.
    #[derive(Default)]
    struct Model {
        rescue: Rescue,
        waiting: AtomicUsize,
        taken: AtomicUsize,
    }

    impl Model {
        fn inject(&self) {
            self.waiting.fetch_add(1, Ordering::Relaxed);
            fence(Ordering::SeqCst);
            if self.rescue.begin() {
                self.watch();
            }
        }

        fn watch(&self) {
            loop {
                let waiting = self.waiting.swap(0, Ordering::Relaxed);
                self.taken.fetch_add(waiting, Ordering::Relaxed);
                let has_work = || self.waiting.load(Ordering::Relaxed) > 0;
                if waiting == 0 && self.rescue.end(has_work) {
                    return;
                }
            }
        }
    }

    #[test]
    fn a_watcher_that_ends_misses_no_work() {
        let builder = crate::sync::model_builder(3);
        builder.check(|| {
            let model = Arc::new(Model::default());
            let others = [(); 2].map(|()| {
                let model = model.clone();
                thread::spawn(move || model.inject())
            });
            model.inject();
            others.into_iter().for_each(|other| other.join().unwrap());
            assert_eq!(model.taken.load(Ordering::Relaxed), 3);
        });
    }
}
