//! Calls to a pool: closures that workers run, whether or not a thread waits for the result.
//!
//! # A thread that waits for a pool to which it does not belong
//!
//! Such a thread waits for a call, a task or a future; [`this_thread`](crate::this_thread) blocks it. It sleeps until a
//! worker has finished what it waits for. Two deadlocks may keep the workers from the call for ever, and a spare worker
//! resolves both:
//!
//! - The thread is a worker of another pool, and the two pools wait for each other. So it hands off
//!   its processor while it sleeps, as in a join ([`wait`](mod@super::worker::wait)). If no spare worker
//!   is left to take the processor, the thread itself serves its pool, but only **calls that descend
//!   from the awaited call**. Any other call may need a lock that a frame further down its stack holds,
//!   or the result of a task that such a frame runs.
//! - Every worker waits for this very thread in a way that its pool does not see: in a lock, or for
//!   the end of a thread. See [`rescue`](super::rescue).
//!
//! A pool with the scheduler `Channel` has no spare workers, so a waiting worker always serves its
//! pool.

use std::ptr::null;

use super::inbox::{Injected, Job};
use super::{Me, Pool, Shared};
use crate::call::{Call, Lineage, NO_GENERATION};
use crate::cancel::CancelFlag;
use crate::runtime::{self, InFrame, Token};
use crate::scheduler::Scheduler;
use crate::sleep::{Latch, Waiter};
use crate::sync::thread;
use crate::this_thread::{block, current_call, current_scope, raise};
use crate::tracing::CallersSpan;
use crate::unwind::{AbortOnUnwind, FirstPanic, discard};

const PANIC_IN_WAIT: &str = "a thread has panicked while it waited for the pool";

/// A call in memory of the thread that waits for it: its frame, or a list of the calls of a broadcast.
struct AwaitedCall<F, R> {
    task: InFrame<F, R>,
    call: Call,
    /// The scope around the calling code.
    scope: CancelFlag,
    /// The span around the calling code.
    span: CallersSpan,
    /// In the frame of that thread. The thread that runs the call holds it.
    latch: *const Latch,
}

impl<F, R> AwaitedCall<F, R> {
    fn new(f: F, call: Call, scope: CancelFlag, latch: *const Latch) -> Self {
        AwaitedCall {
            task: InFrame::new(f),
            call,
            scope,
            span: CallersSpan::current(),
            latch,
        }
    }

    /// Returns a job that runs the call on the thread of a worker.
    ///
    /// # Safety
    ///
    /// `this` points at a call that lives until its latch opens. Until then, no other code uses the closure
    /// and the place for the result. `F` and `R` may be sent to the worker.
    unsafe fn job<S: Scheduler>(this: *mut Self) -> Injected<S>
    where
        F: for<'t> FnOnce(Token<'t, S>) -> R,
    {
        // SAFETY: by this function's contract. A job runs once.
        unsafe { Job::in_frame(this.cast(), |this, worker| Self::run(this.cast(), worker)) }
    }

    /// Runs the call on `worker`, on its own thread.
    ///
    /// # Safety
    ///
    /// As for [`Self::job`]. The caller calls this once.
    unsafe fn run<S: Scheduler>(this: *mut Self, worker: Me<'_, S>)
    where
        F: for<'t> FnOnce(Token<'t, S>) -> R,
    {
        // SAFETY: by this function's contract the call lives until `end`.
        unsafe {
            let f = InFrame::take(&raw mut (*this).task);
            let (call, scope, span) = (&(*this).call, (*this).scope, &(*this).span);
            let f = |token: Token<'_, S>| span.run(|| f(token));
            let run = || worker.with_call(call, || runtime::call_in(worker, scope, f));
            let result = worker.run_for_others(call.has_caller(), run);
            Self::end(this, worker.pool(), result);
        }
    }

    /// Stores the result, and opens the latch if this was the last hold.
    ///
    /// # Safety
    ///
    /// As for [`Self::run`]. The call may be gone afterwards.
    unsafe fn end<S: Scheduler>(this: *mut Self, pool: &Shared<S>, result: thread::Result<R>) {
        // SAFETY: by this function's contract. The pointer to the latch is read first, because the call may
        // be gone once the latch is open.
        unsafe {
            let latch = (*this).latch;
            InFrame::end(&raw mut (*this).task, result);
            Latch::release(latch, &pool.sleep);
        }
    }

    /// Takes the result.
    ///
    /// # Safety
    ///
    /// `this` points at a call whose latch the calling thread has seen open. The caller calls this once.
    unsafe fn result(this: *const Self) -> thread::Result<R> {
        // SAFETY: by this function's contract.
        unsafe { InFrame::result(&raw const (*this).task) }
    }
}

/// A closure that a pool calls once, with its type erased.
type CallOnce<'f, S> = &'f mut (dyn for<'t> FnMut(Token<'t, S>) + Send);

/// Hands `f` to a worker of the pool, and waits until the worker has called it. Returns its panic, or that of an
/// orphan.
fn run_from_outside<S: Scheduler>(pool: &Shared<S>, f: CallOnce<'_, S>) -> thread::Result<()> {
    let caller = current_call();
    let latch = Latch::new(1, Waiter::Outside(thread::current()));
    let call = Call::new(caller, NO_GENERATION);
    let mut call = AwaitedCall::new(f, call, current_scope(), &latch);
    let this = &raw mut call;
    let guard = AbortOnUnwind::new(PANIC_IN_WAIT);
    // SAFETY: this thread waits below until the latch is open. `f` is `Send`.
    pool.inject(unsafe { AwaitedCall::job(this) }, caller, null());
    // SAFETY: the call lives in this frame.
    let awaited = unsafe { &raw const (*this).call };
    block(awaited, &|| latch.is_open(), &|| pool.limit_outside());
    guard.disarm();
    // SAFETY: the latch is open, and this is the only call to it.
    unsafe { AwaitedCall::result(this) }
}

/// Returns a job that runs `f` as a call that no thread waits for. The job counts towards `generation`, if that
/// is one.
fn detached<S: Scheduler, F>(f: F, span: CallersSpan, generation: u64) -> Injected<S>
where
    F: for<'t> FnOnce(Token<'t, S>) + Send + 'static,
{
    let f = move |token: Token<'_, S>| span.run(|| f(token));
    Job::boxed(move |thread| {
        let call = Call::new(null(), generation);
        let run = || runtime::call_in(thread, CancelFlag::NONE, f);
        thread
            .pool()
            .end_job(generation, thread.with_call(&call, run));
    })
}

impl<S: Scheduler> Shared<S> {
    /// Implements [`Pool::run`]. The compiler instantiates only this part for each `f`.
    pub(crate) fn run<F, R>(&self, f: F) -> R
    where
        F: for<'t> FnOnce(Token<'t, S>) -> R + Send,
        R: Send,
    {
        let (mut f, mut result) = (Some(f), None);
        let ran = self.run_once(&mut |token| {
            let f = f.take().expect("a call runs once");
            result = Some(f(token));
        });
        match ran {
            Ok(()) => result.expect("the call has left a result"),
            Err(panic) => {
                discard(result);
                raise(panic)
            }
        }
    }

    /// Calls `f` once, on a worker. Returns its panic, or that of an orphan.
    fn run_once(&self, f: CallOnce<'_, S>) -> thread::Result<()> {
        match self.current() {
            Some(worker) => {
                let call = Call::new(worker.call(), worker.generation());
                worker.with_call(&call, || runtime::call(worker, f))
            }
            None => {
                self.check_process();
                run_from_outside(self, f)
            }
        }
    }

    /// Queues a job that runs `f`, and that [`Pool::wait`] does not wait for.
    pub(crate) fn spawn_uncounted<F>(&self, f: F)
    where
        F: for<'t> FnOnce(Token<'t, S>) + Send + 'static,
    {
        self.check_process();
        self.inject(
            detached(f, CallersSpan::current(), NO_GENERATION),
            null(),
            null(),
        );
    }

    /// Returns a job that runs `f`, and that [`Pool::wait`] waits for, and its generation.
    pub(super) fn job<F>(&self, f: F) -> (u64, Injected<S>)
    where
        F: for<'t> FnOnce(Token<'t, S>) + Send + 'static,
    {
        self.check_process();
        // Before the job counts, because a subscriber may panic.
        let span = CallersSpan::current();
        let generation = match S::DETECTS_QUIESCENCE {
            true => NO_GENERATION,
            false => self.quiescence.spawned(self.current().map(Me::generation)),
        };
        (generation, detached(f, span, generation))
    }

    /// Records that a job of this generation has ended.
    pub(super) fn end_job(&self, generation: u64, result: thread::Result<()>) {
        if let Err(panic) = result {
            self.keep_panic(panic);
        }
        if generation != NO_GENERATION {
            self.quiescence.done(generation);
        }
    }

    /// Runs `f` on this thread, which is not a worker of this pool, as a call to the pool. The tasks
    /// with the lineage that `f` gets end before `f` does.
    pub(crate) fn as_outside_call<R>(
        &self,
        f: impl FnOnce(Lineage) -> thread::Result<R>,
    ) -> thread::Result<R> {
        let call = Call::new(current_call(), NO_GENERATION);
        call.end(f(Lineage::of(&call)))
    }

    /// Sleeps until `is_done`, when the thread waits for tasks with this lineage. The calling thread is
    /// not a worker of this pool, and is unparked at the end.
    pub(crate) fn wait_outside(&self, awaited: Lineage, is_done: &dyn Fn() -> bool) {
        block(awaited.call(), is_done, &|| self.limit_outside());
    }
}

impl Pool {
    /// Runs `f` once on each worker of this pool, and returns the results in the order of the
    /// workers' numbers. Waits for all of them.
    ///
    /// A worker runs `f` when it is idle, or blocked in a join, a finish, a future or another pool. Spare
    /// workers do not take part.
    ///
    /// ```
    /// # use purloin::Pool;
    /// let pool = Pool::builder().workers(3).build()?;
    /// assert_eq!(pool.broadcast(|w| w.index()), [0, 1, 2]);
    /// # Ok::<(), purloin::BuildError>(())
    /// ```
    ///
    /// # Panics
    ///
    /// Panics if `f` panics on any worker, after `f` has ended on all of them; if a worker has ended,
    /// in an exit handler for example; and in a forked process, which has a copy of the pool but none
    /// of its threads.
    pub fn broadcast<F, R>(&self, f: F) -> Vec<R>
    where
        F: for<'t> Fn(Token<'t>) -> R + Sync,
        R: Send,
    {
        let pool = &*self.shared;
        pool.check_process();
        let caller = pool.current();
        let generation = caller.map_or(NO_GENERATION, |caller| caller.generation());
        let latch = Latch::new(pool.workers, Waiter::Outside(thread::current()));
        let call = |_| {
            let call = Call::new(current_call(), generation);
            AwaitedCall::new(&f, call, CancelFlag::NONE, &latch)
        };
        let mut calls: Vec<_> = (0..pool.workers).map(call).collect();
        let own = caller.filter(|worker| !worker.is_spare());
        let all = calls.as_mut_ptr();
        let guard = AbortOnUnwind::new(PANIC_IN_WAIT);
        for worker in 0..pool.workers {
            if own.is_some_and(|own| own.index() == worker) {
                continue;
            }
            // SAFETY: there is a call for each worker. This function does not return, nor unwind, before
            // the latch is open. `F` is `Sync` and `R` is `Send`. If the job is dropped, no worker
            // runs the call, so this thread ends it.
            unsafe {
                let call = all.add(worker);
                if let Err(panic) = pool.post(worker, AwaitedCall::job(call)) {
                    AwaitedCall::end(call, pool, Err(panic));
                }
            }
        }
        if let Some(own) = own {
            // SAFETY: this call was left out above, and this is the worker's thread.
            unsafe { AwaitedCall::run(all.add(own.index()), own) };
        }
        block(null(), &|| latch.is_open(), &|| pool.limit_outside());
        guard.disarm();
        // SAFETY: the latch is open, and each call is read once.
        let results = calls
            .iter()
            .map(|call| unsafe { AwaitedCall::result(call) });
        let panics = FirstPanic::default();
        let results = results.filter_map(|result| result.map_err(|panic| panics.keep(panic)).ok());
        let results = results.collect();
        panics
            .conclude(Ok(results))
            .unwrap_or_else(|panic| raise(panic))
    }
}
