//! The handle's end of a future: how a thread gets the result, waits for it, or gives it up.

use std::ptr::NonNull;
use std::sync::Arc;

use super::*;

/// Implementations of [`Functions`]. Each gets the head of an object whose first part is a `Task<S>`.
impl<S: Scheduler> Task<S> {
    /// Releases the channel for the handle. The panic of a task whose result is never fetched goes
    /// to the call whose task this thread runs.
    ///
    /// # Safety
    ///
    /// The caller is the handle, and does not use the channel again.
    pub(super) unsafe fn let_go_of_handle(head: NonNull<Head>) {
        // SAFETY: the caller is a holder, and does not use the channel again.
        unsafe { Self::leave(head.cast(), 1, &mut keep_orphan) }
    }

    /// Implements [`Functions::abandon`]. A panic goes where that of a spawned job goes.
    ///
    /// # Safety
    ///
    /// The caller is the handle of a detached future, and does not use the channel again.
    pub(super) unsafe fn abandon(head: NonNull<Head>) {
        // SAFETY: the handle is a holder, so the object lives until `leave`.
        unsafe {
            let task: NonNull<Self> = head.cast();
            let this = task.as_ref();
            let waiters = Self::take_back(task);
            // In a forked process another thread may have held the lock of the inbox.
            if waiters.is_some()
                && this.origin.process == std::process::id()
                && let Some(pool) = Shared::<S>::find(this.origin.pool_id)
            {
                this.withdraw_job(&pool);
            }
            let pool = this.origin.pool_id;
            Self::leave(task, 1, &mut |panic| {
                Shared::<S>::keep_panic_of(pool, panic)
            });
            // Without a wake-up: the program has dropped its future.
            drop(waiters);
        }
    }

    /// Implements [`Functions::is_local`].
    ///
    /// # Safety
    ///
    /// The object lives.
    pub(super) unsafe fn is_local(head: NonNull<Head>, getter: &Getter) -> bool {
        // SAFETY: the caller guarantees it.
        unsafe { head.cast::<Self>().as_ref() }
            .worker(getter.place)
            .is_some()
    }

    /// Implements [`Functions::run`].
    ///
    /// # Safety
    ///
    /// The caller borrows the handle. What the getter says is right.
    pub(super) unsafe fn run_for_handle(head: NonNull<Head>, getter: &Getter) {
        // SAFETY: the handle is a holder, so the object lives until this returns.
        unsafe {
            let task: NonNull<Self> = head.cast();
            let this = task.as_ref();
            if let Some(thread) = this.worker(getter.place)
                && !this.head.channel.is_begun()
                && this.head.channel.claim(thread.index())
            {
                if this.origin.owner == thread.index() {
                    thread.core().tickets.set_claimed(this.origin.slot);
                }
                this.withdraw_job(thread.pool());
                Self::run_claimed(task, 0, getter.is_sole, thread);
            }
        }
    }

    /// Implements [`Functions::wait`].
    ///
    /// # Safety
    ///
    /// The caller borrows the handle. The end of the task wakes this thread, or it is the one that helps.
    pub(super) unsafe fn wait_for_handle(head: NonNull<Head>, getter: &Getter, how: Wait) {
        // SAFETY: the handle is a holder, so the object lives.
        let this = unsafe { head.cast::<Self>().as_ref() };
        match this.worker(getter.place) {
            Some(thread) => {
                if this.is_suspended_on(thread) {
                    waits_for_itself();
                }
                match how {
                    Wait::Help => this.wait(thread),
                    _ => block_until(|| this.is_done()),
                }
            }
            // SAFETY: the handle is a holder.
            None => unsafe { Self::await_outside(head.cast(), how == Wait::CallWorker) },
        }
    }

    /// Implements [`Functions::call_worker`].
    ///
    /// # Safety
    ///
    /// The caller borrows the handle.
    pub(super) unsafe fn call_for_handle(head: NonNull<Head>) {
        // SAFETY: the handle is a holder, so the object lives.
        unsafe {
            let task: NonNull<Self> = head.cast();
            let this = task.as_ref();
            // Most polls end here, without the lock of the registry.
            if this.origin.process == std::process::id() && this.head.channel.needs_no_call() {
                return;
            }
            if let Some(pool) = this.find_pool() {
                Self::call_worker(task, &pool);
            }
        }
    }

    /// Returns the pool of the task. If the pool is gone, the task has ended or is about to be dropped.
    fn find_pool(&self) -> Option<Arc<Shared<S>>> {
        let pool = Shared::<S>::find(self.origin.pool_id);
        pool.iter().for_each(|pool| pool.check_process());
        pool
    }

    /// Calls an idle worker for the task, unless a worker has begun it or was called before. Returns
    /// whether it did.
    ///
    /// # Safety
    ///
    /// The caller borrows the handle. This is the pool of the task.
    unsafe fn call_worker(task: NonNull<Self>, pool: &Shared<S>) -> bool {
        // SAFETY: the handle is a holder, so the object lives.
        let calls = unsafe { task.as_ref() }.head.channel.call_worker();
        if calls {
            inject(pool, task);
        }
        calls
    }

    /// Sleeps until the result is available, on a thread outside the pool. If it `calls`, and no worker
    /// has begun the task, calls an idle worker for it.
    ///
    /// # Safety
    ///
    /// The caller borrows the handle. The end of the task wakes this thread.
    unsafe fn await_outside(task: NonNull<Self>, calls: bool) {
        // SAFETY: the handle is a holder, so the object lives.
        let this = unsafe { task.as_ref() };
        let Some(pool) = this.find_pool() else {
            // No worker is left. The thread that drops the pool ends the task, or else this one does.
            // SAFETY: the handle is a holder.
            if let Some(waiters) = unsafe { Self::take_back(task) } {
                waiters.watchers.wake();
            }
            while !this.is_done() {
                thread::yield_now();
            }
            return;
        };
        // SAFETY: the handle is a holder.
        let injected = calls && unsafe { Self::call_worker(task, &pool) };
        pool.wait_outside(Lineage::NONE, &|| this.is_done());
        // Relaxed: the search is in vain if a worker has just taken the job.
        if injected && !this.job_taken.load(Ordering::Relaxed) {
            pool.inbox.withdraw(task.as_ptr().cast(), 1);
        }
    }
}

/// Panics, because the calling task would wait for a closure further down its own stack.
#[cold]
pub(super) fn waits_for_itself() -> ! {
    panic!(
        "this task waits for its own result, or for that of a task which waits for the task that \
         has spawned this one"
    );
}
