//! The handle's end of a future: how a thread gets the result, waits for it, or gives it up.

use std::panic::resume_unwind;
use std::ptr::{NonNull, null};
use std::sync::Arc;

use super::claimed::Claimed;
use super::*;

impl<S, F, T> Sender<S, F, T>
where
    S: Scheduler,
    F: for<'t> FnOnce(Token<'t, S>) -> T + Send,
    T: Send,
{
    const FUNCTIONS: *const Functions<T> = &Functions {
        // SAFETY: `Self::promise` passes these functions with the address of a sender of this type.
        // The promise is a holder, and calls `get`, `drop` or `abandon`, once.
        get: |channel, place| unsafe { Self::get(channel.cast(), place) },
        // SAFETY: `Self::promise` passes these functions with the address of a sender of this type.
        // The promise is a holder, and calls `get`, `drop` or `abandon`, once, as the last call.
        drop: |channel| unsafe { Self::let_go(channel.cast()) },
        // SAFETY: as for `drop`, in whose place the promise calls this.
        abandon: |channel| unsafe { Self::abandon(channel.cast()) },
        // SAFETY: `Self::promise` passes these functions with the address of a sender of this type,
        // which lives as long as the promise is a holder.
        is_done: |channel| unsafe { channel.cast::<Self>().as_ref() }.is_done(),
        // SAFETY: `Self::promise` passes these functions with the address of a sender of this type,
        // which lives as long as the promise is a holder.
        is_local: |channel| unsafe {
            let this = channel.cast::<Self>().as_ref();
            Shared::worker_of(this.pool, this.pool_id).is_some()
        },
        // SAFETY: `Self::promise` passes these functions with the address of a sender of this type.
        // The promise is a holder.
        run: |channel| unsafe { Self::run_for_all(channel.cast()) },
        // SAFETY: `Self::promise` passes these functions with the address of a sender of this type.
        // The promise is a holder.
        call_worker: |channel| unsafe {
            let this = channel.cast::<Self>().as_ref();
            // Most polls end here, without the lock of the registry.
            if this.process == std::process::id() && this.channel.needs_no_call() {
                return;
            }
            if let Some(pool) = Self::find_pool(channel.cast()) {
                Self::call_worker(channel.cast(), &pool);
            }
        },
        // SAFETY: `Self::promise` passes these functions with the address of a sender of this type.
        // The promise is a holder, and calls this once.
        watch: |channel, watcher| unsafe { channel.cast::<Self>().as_ref().channel.watch(watcher) },
        // SAFETY: `Self::promise` passes these functions with the address of a sender of this type.
        // The promise is a holder, and has set a watcher. One worker helps.
        wait: |channel, how| unsafe { Self::wait_for_all(channel.cast(), how) },
        // SAFETY: `Self::promise` passes these functions with the address of a sender of this type,
        // which lives as long as the promise is a holder. The task is done.
        result: |channel| unsafe { channel.cast::<Self>().as_ref().channel.message() },
    };

    pub(super) fn promise(sender: NonNull<Self>) -> Handle<T> {
        // SAFETY: the handle is one of the two holders, so the channel lives until the handle's
        // `get` or `drop`. `FUNCTIONS` is a constant for senders of this type.
        Handle::promised(unsafe { Promise::new(sender.cast(), Self::FUNCTIONS) })
    }

    /// Implements [`Promise::abandon`](crate::handle::Promise::abandon). A panic goes where that of a
    /// spawned job goes.
    ///
    /// # Safety
    ///
    /// The caller is the handle of a detached future, and does not use the channel again.
    pub(super) unsafe fn abandon(sender: NonNull<Self>) {
        // SAFETY: the handle is a holder, so the channel lives until `leave`.
        unsafe {
            let this = sender.as_ref();
            let waiters = Self::take_back(sender);
            // In a forked process another thread may have held the lock of the inbox.
            if waiters.is_some()
                && this.process == std::process::id()
                && let Some(pool) = Shared::<S>::find(this.pool_id)
            {
                this.withdraw_job(&pool);
            }
            let pool = this.pool_id;
            Self::leave(sender, 1, &mut |panic| {
                Shared::<S>::keep_panic_of(pool, panic)
            });
            // Without a wake-up: the program has dropped its future.
            drop(waiters);
        }
    }

    /// Takes the result, which is available, and releases the channel.
    ///
    /// # Safety
    ///
    /// The caller is the handle, does not use the channel again, and has seen that the task is
    /// done.
    pub(super) unsafe fn take_result(sender: NonNull<Self>) -> T {
        // SAFETY: the handle is a holder, so the channel lives, and it has seen that the task is
        // done.
        let result = unsafe {
            let result = sender.as_ref().channel.take();
            Self::let_go(sender);
            result
        };
        // Every claimant except the handle itself sends a message.
        let result = result.expect("a message was sent");
        result.unwrap_or_else(|panic| resume_unwind(panic))
    }

    /// Implements [`Handle::get`].
    ///
    /// # Safety
    ///
    /// The caller is the handle, and does not use the channel again. `place` is this thread's.
    pub(super) unsafe fn get(sender: NonNull<Self>, place: Option<Place>) -> T {
        // SAFETY: the handle is a holder, so the channel lives. The pool's pointer is dereferenced
        // only if this thread is a worker of that pool, which keeps the pool alive.
        unsafe {
            let this = sender.as_ref();
            let worker = match place {
                Some(place) if place.pool == this.pool_id => {
                    let thread = Me::new(&(&(*this.pool).worker_threads)[place.worker]);
                    Some((thread, place.top.cast()))
                }
                // Without a token. See the page on newer tokens.
                _ => Shared::worker_of(this.pool, this.pool_id).map(|thread| (thread, null())),
            };
            if let Some((thread, token_top)) = worker {
                return match this.owner == thread.index() && this.is_at_top(thread, token_top) {
                    true => Self::pop(sender, thread),
                    false => Self::get_on(sender, thread),
                };
            }
            this.channel.watch(thread_waker());
            Self::await_outside(sender, true);
            Self::take_result(sender)
        }
    }

    /// Gets the result when the ticket is at the top of the stack, and the token, if there is one, is older than the
    /// ticket.
    ///
    /// # Safety
    ///
    /// The caller is the handle, and does not use the channel again. Its ticket is at the top of
    /// `thread`'s stack.
    pub(super) unsafe fn pop(sender: NonNull<Self>, thread: Me<'_, S>) -> T {
        // SAFETY: the handle is a holder, so the channel lives. If the pop returns the ticket, this
        // thread is both holders. No thread can have claimed then, because only this handle could
        // get the result.
        unsafe {
            let slot = sender.as_ref().slot;
            if thread.pop_ticket(slot) {
                let closure = sender.as_ref().take_closure();
                let (finish, scope) = (sender.as_ref().finish, sender.as_ref().scope);
                thread.core().blocks.give(sender);
                let result = run_all(thread, finish, scope, closure);
                return result.unwrap_or_else(|panic| resume_unwind(panic));
            }
            thread.tasks.release(slot);
            // The ticket is done, so the result is available.
            debug_assert!(sender.as_ref().is_done());
            Self::take_result(sender)
        }
    }

    /// Gets the result on a worker of the task's pool, without looking at its stack.
    ///
    /// # Safety
    ///
    /// The caller is the handle, and does not use the channel again. `thread` runs on this thread.
    pub(super) unsafe fn get_on(sender: NonNull<Self>, thread: Me<'_, S>) -> T {
        // SAFETY: the handle is a holder, so the channel lives. Only the claimant moves the closure
        // out.
        unsafe {
            let this = sender.as_ref();
            if this.channel.claim(thread.index()) {
                if this.owner == thread.index() {
                    thread.core().tickets.set_claimed(this.slot);
                }
                this.withdraw_job(thread.pool());
                // The ticket stays behind. The worker that reaches it waits until this closure has
                // ended.
                let _claimed = Claimed::apart(sender, 1, thread);
                let in_lineage = thread.enter_lineage(this.lineage);
                let result = run_all_apart(thread, this.finish, this.scope, this.take_closure());
                drop(in_lineage);
                return result.unwrap_or_else(|panic| resume_unwind(panic));
            }
            if this.is_suspended_on(thread) {
                Self::let_go(sender);
                waits_for_itself();
            }
            this.wait(thread);
            Self::take_result(sender)
        }
    }

    /// Implements [`Promise::run`](crate::handle::Promise::run).
    ///
    /// # Safety
    ///
    /// The caller is the handle.
    pub(super) unsafe fn run_for_all(sender: NonNull<Self>) {
        // SAFETY: the handle is a holder, so the channel lives. The pool's pointer is dereferenced
        // only if this thread is a worker of that pool. The claimant is added as a holder.
        unsafe {
            let this = sender.as_ref();
            if let Some(thread) = Shared::worker_of(this.pool, this.pool_id)
                && !this.channel.is_begun()
                && this.channel.claim(thread.index())
            {
                if this.owner == thread.index() {
                    thread.core().tickets.set_claimed(this.slot);
                }
                this.channel.add_extra_holder(0);
                this.withdraw_job(thread.pool());
                Self::run_claimed(sender, thread);
            }
        }
    }

    /// Implements [`Promise::wait`](crate::handle::Promise::wait).
    ///
    /// # Safety
    ///
    /// The caller is the handle, and has set a watcher that unparks this thread. One call helps.
    pub(super) unsafe fn wait_for_all(sender: NonNull<Self>, how: Wait) {
        // SAFETY: the handle is a holder, so the channel lives. The pool's pointer is dereferenced
        // only if this thread is a worker of that pool.
        unsafe {
            let this = sender.as_ref();
            match Shared::worker_of(this.pool, this.pool_id) {
                Some(thread) => {
                    if this.is_suspended_on(thread) {
                        waits_for_itself();
                    }
                    match how {
                        Wait::Help => this.wait(thread),
                        _ => block_until(|| this.is_done()),
                    }
                }
                None => Self::await_outside(sender, how == Wait::CallWorker),
            }
        }
    }

    /// Returns the pool of the task. If the pool is gone, the task has ended or is about to be dropped.
    ///
    /// # Safety
    ///
    /// The caller is the handle.
    pub(super) unsafe fn find_pool(sender: NonNull<Self>) -> Option<Arc<Shared<S>>> {
        // SAFETY: the handle is a holder, so the channel lives.
        let this = unsafe { sender.as_ref() };
        let pool = Shared::<S>::find(this.pool_id);
        pool.iter().for_each(|pool| pool.check_process());
        pool
    }

    /// Calls an idle worker for the task, unless a worker has begun it or was called before. Returns
    /// whether it did.
    ///
    /// # Safety
    ///
    /// The caller is the handle. This is the pool of the task.
    pub(super) unsafe fn call_worker(sender: NonNull<Self>, pool: &Shared<S>) -> bool {
        // SAFETY: the handle is a holder, so the channel lives.
        let this = unsafe { sender.as_ref() };
        let calls = this.channel.call_worker();
        if calls {
            inject(pool, sender);
        }
        calls
    }

    /// Sleeps until the result is available, on a thread outside the pool. If it `calls`, and no worker
    /// has begun the task, calls an idle worker for it.
    ///
    /// # Safety
    ///
    /// The caller is the handle, and does not release the channel meanwhile. It has set a watcher
    /// that unparks this thread.
    pub(super) unsafe fn await_outside(sender: NonNull<Self>, calls: bool) {
        // SAFETY: the handle is a holder, so the channel lives.
        let this = unsafe { sender.as_ref() };
        // SAFETY: the handle is a holder, so the channel lives.
        let Some(pool) = (unsafe { Self::find_pool(sender) }) else {
            // No worker is left. The thread that drops the pool ends the task, or else this one does.
            // SAFETY: the caller is the handle.
            let waiters = unsafe { Self::take_back(sender) };
            let watcher = waiters.and_then(|waiters| waiters.watcher);
            watcher.into_iter().for_each(wake);
            while !this.is_done() {
                thread::yield_now();
            }
            return;
        };
        // SAFETY: the caller is the handle.
        let injected = calls && unsafe { Self::call_worker(sender, &pool) };
        pool.wait_outside(Lineage::NONE, &|| this.is_done());
        // Relaxed: the search is in vain if a worker has just taken the job.
        if injected && !this.job_taken.load(Ordering::Relaxed) {
            pool.withdraw(sender.as_ptr().cast(), 1);
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
