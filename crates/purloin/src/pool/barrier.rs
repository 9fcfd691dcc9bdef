//! The task barrier: until everything is done.

use std::panic::resume_unwind;

use crate::sync::{AtomicUsize, Condvar, Mutex, MutexGuard, Ordering, fence, lock};

type Panic = Box<dyn std::any::Any + Send>;

/// Where those wait who are outside, until all that was spawned is done.
///
/// Most schedulers count what was spawned and has not ended. One that knows when
/// all workers are idle says that instead: it is asked, looks, and ends what it
/// was asked for before it looked.
pub struct Barrier {
    /// What was spawned and has not ended, if it is counted.
    pending: AtomicUsize,
    /// How many wait who have asked.
    waiting: AtomicUsize,
    inner: Mutex<Inner>,
    ended: Condvar,
}

#[derive(Default)]
struct Inner {
    /// How often anyone has asked.
    asked: u64,
    /// Everything is done that was spawned before so many of them.
    answered: u64,
    /// The first panic of a task since the last wait.
    panic: Option<Panic>,
}

impl Barrier {
    pub(crate) fn new() -> Barrier {
        Barrier {
            pending: AtomicUsize::new(0),
            waiting: AtomicUsize::new(0),
            inner: Mutex::new(Inner::default()),
            ended: Condvar::new(),
        }
    }

    /// Counts a task.
    pub(super) fn spawned(&self) {
        self.pending.fetch_add(1, Ordering::Relaxed);
    }

    /// A counted task has ended.
    pub(super) fn done(&self) {
        // AcqRel: who waits sees what all of them have done.
        if self.pending.fetch_sub(1, Ordering::AcqRel) == 1 {
            // With the lock, so that who has just looked waits already.
            let _inner = lock(&self.inner);
            self.ended.notify_all();
        }
    }

    /// Waits until no task is pending.
    pub(super) fn wait(&self) {
        let mut inner = lock(&self.inner);
        while self.pending.load(Ordering::Acquire) > 0 {
            inner = self.sleep(inner);
        }
        surface(inner);
    }

    /// Whether anyone has asked who waits still, at a glance.
    pub(crate) fn is_awaited(&self) -> bool {
        self.waiting.load(Ordering::Relaxed) > 0
    }

    /// The same for one who has just done something for the scheduler to look at,
    /// in case nobody else has it look.
    pub(crate) fn is_awaited_by_now(&self) -> bool {
        // Between that and our look: see `wait_for_end`.
        fence(Ordering::SeqCst);
        self.is_awaited()
    }

    /// What was asked for so far, if anyone waits.
    pub(crate) fn awaited(&self) -> Option<u64> {
        self.is_awaited().then(|| lock(&self.inner).asked)
    }

    /// Everything is done that was spawned before so many had asked.
    pub(crate) fn end(&self, asked: u64) {
        let mut inner = lock(&self.inner);
        inner.answered = inner.answered.max(asked);
        self.ended.notify_all();
    }

    /// Waits for the end of everything, after `ask` has had the scheduler look.
    pub(crate) fn wait_for_end(&self, ask: impl FnOnce()) {
        let mut inner = lock(&self.inner);
        inner.asked += 1;
        let asked = inner.asked;
        self.waiting.fetch_add(1, Ordering::Relaxed);
        drop(inner);
        // Between that and the asking. Who has something for the scheduler to
        // look at does it, and then looks whether anyone waits.
        fence(Ordering::SeqCst);
        ask();
        let mut inner = lock(&self.inner);
        while inner.answered < asked {
            inner = self.sleep(inner);
        }
        self.waiting.fetch_sub(1, Ordering::Relaxed);
        surface(inner);
    }

    fn sleep<'b>(&self, inner: MutexGuard<'b, Inner>) -> MutexGuard<'b, Inner> {
        self.ended.wait(inner).unwrap_or_else(|e| e.into_inner())
    }

    /// Keeps a panic for who waits, or gives it back if there is one already.
    pub(super) fn keep(&self, panic: Panic) -> Result<(), Panic> {
        let mut inner = lock(&self.inner);
        match inner.panic {
            Some(_) => Err(panic),
            None => {
                inner.panic = Some(panic);
                Ok(())
            }
        }
    }
}

/// Goes on with a panic that was kept.
fn surface(mut inner: MutexGuard<'_, Inner>) {
    let panic = inner.panic.take();
    drop(inner);
    if let Some(panic) = panic {
        resume_unwind(panic);
    }
}
