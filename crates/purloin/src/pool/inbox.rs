//! Work from outside a pool.

use std::collections::VecDeque;
use std::mem::MaybeUninit;
use std::panic::resume_unwind;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::{self, Thread};

use super::lineage::NO_GENERATION;
use super::{Shared, WorkerThread};
use crate::runtime::{self, Token};
use crate::scheduler::Scheduler;

/// A job for an idle worker.
pub(crate) type Injected<S> = Job<'static, S>;

/// The same, if it borrows.
pub(crate) type Job<'f, S> = Box<dyn FnOnce(&WorkerThread<S>) + Send + 'f>;

/// A queue of jobs, first in, first out.
pub(crate) struct Inbox<S: Scheduler> {
    jobs: Mutex<VecDeque<Injected<S>>>,
    /// The length, for idle workers to look at without the lock.
    len: AtomicUsize,
    /// How many jobs were taken, modulo 2⁶⁴.
    begun: AtomicUsize,
}

impl<S: Scheduler> Inbox<S> {
    pub(super) fn new() -> Self {
        Inbox {
            jobs: Mutex::default(),
            len: AtomicUsize::new(0),
            begun: AtomicUsize::new(0),
        }
    }

    pub(super) fn push(&self, job: Injected<S>) {
        let mut jobs = self.jobs.lock().unwrap_or_else(|e| e.into_inner());
        jobs.push_back(job);
        self.len.store(jobs.len(), Ordering::Relaxed);
    }

    pub(super) fn pop(&self) -> Option<Injected<S>> {
        if self.is_empty() {
            return None;
        }
        let mut jobs = self.jobs.lock().unwrap_or_else(|e| e.into_inner());
        let job = jobs.pop_front();
        // Release: who sees that it is gone, sees that its taker is not idle.
        self.len.store(jobs.len(), Ordering::Release);
        if job.is_some() {
            self.begun.fetch_add(1, Ordering::Relaxed);
        }
        job
    }

    /// How many jobs workers have taken so far, at a glance.
    pub(super) fn begun(&self) -> usize {
        self.begun.load(Ordering::Relaxed)
    }

    /// Whether it seems empty. Who sleeps over it is woken: see
    /// [`Sleep::injected`](crate::sleep::Sleep::injected).
    pub(super) fn is_empty(&self) -> bool {
        self.len.load(Ordering::Acquire) == 0
    }
}

/// A call from outside, in the frame of the caller, who waits for it.
struct Call<F, R> {
    f: MaybeUninit<F>,
    result: MaybeUninit<thread::Result<R>>,
    begun: AtomicBool,
    done: AtomicBool,
    caller: Thread,
}

struct CallPtr<F, R>(*mut Call<F, R>);

// SAFETY: the call is handed to one worker and back; `F` and `R` are `Send`.
unsafe impl<F: Send, R: Send> Send for CallPtr<F, R> {}

impl<F, R> CallPtr<F, R> {
    /// Runs the call on `member`.
    ///
    /// # Safety
    ///
    /// Called once, while the caller waits.
    unsafe fn run<S: Scheduler>(self, member: &WorkerThread<S>)
    where
        F: for<'t> FnOnce(Token<'t, S>) -> R,
    {
        let call = self.0;
        // SAFETY: the caller waits until `done`, and touches nothing before.
        unsafe {
            // Relaxed: the caller only decides by it how long to sleep.
            (*call).begun.store(true, Ordering::Relaxed);
            let f = (*call).f.assume_init_read();
            let result = member.with_root(NO_GENERATION, || runtime::call(member, f));
            (*call).result.write(result);
            // Taken out before `done`: after that the frame may be gone.
            let caller = (*call).caller.clone();
            // Release: the caller sees the result.
            (*call).done.store(true, Ordering::Release);
            caller.unpark();
        }
    }
}

/// Has `f` run by a worker, and waits for it.
pub(super) fn run_from_outside<S: Scheduler, F, R>(pool: &Shared<S>, f: F) -> R
where
    F: for<'t> FnOnce(Token<'t, S>) -> R + Send,
    R: Send,
{
    let mut call = Call {
        f: MaybeUninit::new(f),
        result: MaybeUninit::uninit(),
        begun: AtomicBool::new(false),
        done: AtomicBool::new(false),
        caller: thread::current(),
    };
    let call: *mut Call<F, R> = &mut call;
    let pointer = CallPtr(call);
    // SAFETY: run once, by the worker that takes it; we wait for it below.
    let job: Job<'_, S> = Box::new(move |member| unsafe { { pointer }.run::<S>(member) });
    // SAFETY: only the lifetime changes: this function does not return, nor
    // unwind, before the job has run.
    let job: Injected<S> = unsafe { std::mem::transmute(job) };
    pool.inject(job);
    pool.wait_outside(
        // SAFETY: `call` lives in this frame; until it is done, the caller only reads the
        // two flags.
        || unsafe { (*call).begun.load(Ordering::Relaxed) },
        // SAFETY: as for `begun`. Acquire: pairs with the worker's release.
        || unsafe { (*call).done.load(Ordering::Acquire) },
    );
    // SAFETY: the call is done, and its worker has left the frame to us.
    unsafe {
        match (*call).result.assume_init_read() {
            Ok(result) => result,
            Err(panic) => resume_unwind(panic),
        }
    }
}
