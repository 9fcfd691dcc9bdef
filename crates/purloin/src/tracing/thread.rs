//! What a thread records without knowing its worker, and the spans of the program.

use std::cell::{Cell, RefCell};
use std::sync::Arc;

use purloin_trace::Activity;

use super::buffer::{Buffer, Record};
use super::state::{self, OFF, ON, STATE, UNKNOWN, is_on};
use super::{collect, files, subscriber};
use crate::stats::clock::ticks;
use crate::sync::plain::Ordering;
use crate::this_thread::is_worker;

/// Returns whether threads record. Reads the environment if no thread has.
#[cold]
fn find_out() -> bool {
    if STATE.load(Ordering::Relaxed) == UNKNOWN {
        let state = if files::settings().is_some() { ON } else { OFF };
        // Another thread may have built a traced pool.
        let _ = STATE.compare_exchange(UNKNOWN, state, Ordering::Relaxed, Ordering::Relaxed);
    }
    is_on()
}

crate::sync::thread_local! {
    /// The buffer of this thread.
    static OWN: RefCell<Option<Arc<Buffer>>> = const { RefCell::new(None) };
}

crate::sync::thread_local! {
    /// The function that watches the spans of this thread.
    static WATCHER: Cell<Option<Watcher>> = const { Cell::new(None) };
}

/// A function that is told the name of each span that a thread enters, and `None` when the thread leaves one.
type Watcher = fn(Option<&'static str>);

/// Lets a function watch the [spans](span) of this thread, until the result is dropped.
pub fn watch_spans(watcher: Watcher) -> impl Drop {
    struct Guard(Option<Watcher>);

    impl Drop for Guard {
        fn drop(&mut self) {
            // The thread-local value may be gone, if the guard is a part of another one.
            let _ = WATCHER.try_with(|watcher| watcher.set(self.0));
            state::end();
        }
    }

    state::begin();
    Guard(WATCHER.with(|own| own.replace(Some(watcher))))
}

/// Installs a worker's buffer on this thread, until the guard is dropped.
pub(crate) fn enter(buffer: Arc<Buffer>) -> impl Drop {
    struct Guard(Option<Arc<Buffer>>);

    impl Drop for Guard {
        fn drop(&mut self) {
            // The thread-local value may be gone, if the guard is a part of another one.
            let _ = OWN.try_with(|own| {
                let last = own.replace(self.0.take());
                last.iter().for_each(|buffer| buffer.thread_ends());
            });
        }
    }

    buffer.thread_begins();
    buffer.push(Record::Begins(Activity::Searching));
    Guard(OWN.with(|own| own.replace(Some(buffer))))
}

/// Calls `f` with the buffer of this thread, if it has one.
fn with_own(f: impl FnOnce(&Buffer)) {
    // If the value is gone, the thread is ending.
    let _ = OWN.try_with(|own| {
        if let Some(buffer) = &*own.borrow() {
            f(buffer);
        }
    });
}

/// Gives this thread a buffer if it has none, unless it is a worker of a pool that is not traced, or there is no trace.
fn need_own() {
    if !collect::is_any_traced() && files::settings().is_none() {
        return;
    }
    // If the value is gone, the thread is ending.
    let is_missing = OWN.try_with(|own| own.borrow().is_none()).unwrap_or(false);
    if is_missing
        && !is_worker()
        && let Some(buffer) = collect::outside_thread()
    {
        let _ = OWN.try_with(|own| own.replace(Some(buffer)));
    }
}

/// Returns the buffer of this thread, if it has one.
fn own() -> Option<Arc<Buffer>> {
    OWN.try_with(|own| own.borrow().clone()).ok().flatten()
}

/// Stops all recording, in a process that was forked.
pub(crate) fn forked() {
    state::forked();
    // Another thread may have held one of the buffer's locks.
    let _ = OWN.try_with(|own| std::mem::forget(own.take()));
}

/// Calls `sleep`, in which the calling worker sleeps.
pub(crate) fn asleep<R>(sleep: impl FnOnce() -> R) -> R {
    if !is_on() {
        return sleep();
    }
    with_own(Buffer::begin_sleep);
    let result = sleep();
    with_own(Buffer::end_sleep);
    result
}

/// Returns the time, for [`wakes`]; 0 if nothing is recorded.
pub(crate) fn time_of_wake() -> u64 {
    if is_on() { ticks() } else { 0 }
}

/// Records that this thread has woken a worker of the pool with this number, at a [time](time_of_wake) before the
/// worker could wake up.
pub(crate) fn wakes(pool: u64, worker: usize, time: u64) {
    if time > 0 {
        let wake = Record::Wake {
            pool: pool as u32,
            worker: worker as u32,
        };
        need_own();
        with_own(|buffer| buffer.push_at(time, wake));
    }
}

/// Records that the calling worker has its processor again.
pub(crate) fn ended_handoff() {
    if is_on() {
        with_own(|buffer| buffer.push(Record::HandoffEnd));
    }
}

/// Calls `f`, and names the time that it takes in [traces](crate::Pool::trace).
///
/// Spans may nest, and tasks may contain them. A span covers what its own thread does: if `f` forks, and another worker
/// steals a part, that part is not in the span unless it has a span of its own. Without a traced pool, this costs a
/// load and a branch.
///
/// With the feature `tracing`, the subscriber of the crate `tracing` also gets the span, with this name, the target
/// `purloin` and the level `DEBUG`, whether or not a pool is traced. There, a stolen part is in the span, too.
///
/// ```
/// let index = purloin::span("build the index", || [3, 1, 2].map(|n| n * n));
/// assert_eq!(index, [9, 1, 4]);
/// ```
pub fn span<R>(name: &'static str, f: impl FnOnce() -> R) -> R {
    /// What has been told that the span has begun: at its end, the thread may have another buffer.
    struct Guard {
        buffer: Option<Arc<Buffer>>,
        watcher: Option<Watcher>,
    }

    impl Drop for Guard {
        fn drop(&mut self) {
            if let Some(buffer) = &self.buffer {
                buffer.end_span();
            }
            if let Some(watcher) = self.watcher {
                watcher(None);
            }
        }
    }

    let f = || subscriber::in_span(name, f);
    if STATE.load(Ordering::Relaxed) == OFF || !find_out() {
        return f();
    }
    need_own();
    // The guard ends the span also after a panic of `f`.
    let guard = Guard {
        buffer: own(),
        watcher: WATCHER.try_with(Cell::get).ok().flatten(),
    };
    if let Some(buffer) = &guard.buffer {
        buffer.begin_span(name);
    }
    if let Some(watcher) = guard.watcher {
        watcher(Some(name));
    }
    f()
}
