//! The channel of a future with its closure: which thread runs the closure, and who gets the result.

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
        // The promise is a holder, and calls either `get` or `drop`, once.
        get: |channel, place| unsafe { Self::get(channel.cast(), place) },
        // SAFETY: `Self::promise` passes these functions with the address of a sender of this type.
        // The promise is a holder, and calls either `get` or `drop`, once, as the last call.
        drop: |channel| unsafe { Self::let_go(channel.cast()) },
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

    pub(super) fn is_done(&self) -> bool {
        self.channel.is_done()
    }

    /// Writes a sender to this memory.
    pub(super) fn new(
        memory: NonNull<Self>,
        (pool, slot, owner): (&Shared<S>, *mut Slot<S>, usize),
        finish: *const Finish<S>,
        scope: CancelFlag,
        lineage: Lineage,
        closure: F,
    ) -> NonNull<Self> {
        // SAFETY: the caller passes uninitialised memory that is large enough for a sender and used
        // by no other thread.
        unsafe {
            memory.write(Sender {
                // A future without a ticket and a finish has a job.
                channel: Oneshot::new(slot.is_null() && finish.is_null()),
                pool_id: pool.id,
                pool,
                finish,
                scope,
                lineage,
                job_taken: AtomicBool::new(false),
                keeps_ticket: AtomicBool::new(false),
                slot,
                owner,
                closure: UnsafeCell::new(MaybeUninit::new(closure)),
            });
        }
        memory
    }

    pub(super) fn promise(sender: NonNull<Self>) -> Handle<T> {
        // SAFETY: the handle is one of the two holders, so the channel lives until the handle's
        // `get` or `drop`. `FUNCTIONS` is a constant for senders of this type.
        Handle::promised(unsafe { Promise::new(sender.cast(), Self::FUNCTIONS) })
    }

    /// Returns whether the ticket is at the top of its owner's stack, belongs to the innermost
    /// frame, and is newer than a token with this top.
    pub(super) fn is_at_top(&self, owner: &WorkerThread<S>, token_top: *const Slot<S>) -> bool {
        // A ticket that no thread has used is still in its slot, unless a thief is about to use it.
        // The pop finds that out.
        self.channel.is_unclaimed()
            && owner.local.oldest_poppable(token_top) <= self.slot.cast_const()
            && self.slot.wrapping_add(1) == owner.local.stack().top()
    }

    /// Moves the closure out.
    ///
    /// # Safety
    ///
    /// The caller has claimed the closure, or is both holders, and calls this once.
    pub(super) unsafe fn take_closure(&self) -> F {
        // SAFETY: the caller has the closure to itself, and moves it out once.
        unsafe { (*self.closure.get()).assume_init_read() }
    }

    /// Uses the ticket: runs the closure, or waits for the worker that runs it. When this returns,
    /// the closure has ended. If it ran here, its spawns stay on the stack, as with any task; so a
    /// chain of futures that are never fetched does not nest.
    ///
    /// If this thread runs the closure further down its stack, the claimant keeps the ticket instead.
    ///
    /// # Safety
    ///
    /// The caller has the ticket, which is a holder, and does not use it again. `thread` runs
    /// on this thread. If it runs the closure further down its stack, the ticket was stolen from
    /// its slot.
    pub(super) unsafe fn use_ticket(sender: NonNull<Self>, thread: &WorkerThread<S>) {
        // SAFETY: the ticket is a holder, so the channel lives. Only the thread that claims runs
        // the closure and writes the result.
        unsafe {
            let this = sender.as_ref();
            if this.channel.claim(thread.index()) {
                let mut claimed = Claimed::new(sender, 1, thread);
                let closure = this.take_closure();
                // The pointer is null, or the finish lives, because it waits for its futures.
                let frame = thread.local.enter_in(this.finish, this.scope);
                let result = match is_cancelled(this.finish) {
                    false => catch(|| closure(Token::at_top(thread))),
                    true => drop_cancelled(closure),
                };
                this.channel.send(result);
                // The tasks that begin after this one are spawns of this frame.
                thread.wake(claimed.end());
                drop(frame);
                drop(claimed);
            } else if this.is_suspended_on(thread) {
                this.keeps_ticket.store(true, Ordering::Relaxed);
                thread.local.keeps_ticket.set(true);
            } else {
                this.wait(thread);
                this.channel.await_extra_holder();
                Self::let_go_in_scope(sender, 1, thread);
            }
        }
    }

    /// Returns whether `thread`, which is running, has begun the closure further down its stack.
    pub(super) fn is_suspended_on(&self, thread: &WorkerThread<S>) -> bool {
        // Relaxed: only this thread claims on its behalf.
        let state = self.channel.outcome().get(Ordering::Relaxed);
        state.thief() == Some(thread.index())
    }

    /// Runs the closure, sends its result, and releases the channel.
    ///
    /// The closure runs as if it were in no finish, so its spawns go to the queue of theirs. On the
    /// stack they would have to end before the result is available, and they may wait for it.
    ///
    /// # Safety
    ///
    /// The caller has claimed the closure, is an extra holder, and does not use the channel again.
    /// `thread` runs on this thread.
    pub(super) unsafe fn run_claimed(sender: NonNull<Self>, thread: &WorkerThread<S>) {
        // SAFETY: the claimant is a holder, so the channel lives. Only the claimant moves the
        // closure out and writes the result.
        unsafe {
            let this = sender.as_ref();
            let mut claimed = Claimed::apart(sender, EXTRA_HOLDER, thread);
            let closure = this.take_closure();
            let result = if is_cancelled(this.finish) {
                drop_cancelled(closure)
            } else if this.lineage.is_none() {
                // The task belongs to no call, so it is a call of its own.
                thread.run_as_call(|| run_all_apart(thread, null(), this.scope, closure))
            } else {
                let _in_lineage = thread.enter_lineage(this.lineage);
                run_all_apart(thread, null(), this.scope, closure)
            };
            this.channel.send(result);
            // Wakers and the destructor of the result may leave tasks on the stack.
            let stack = thread.local.stack();
            let (base, spawn_top) = (stack.top(), stack.spawn_top());
            let frame = thread.local.enter(None);
            let waiters = claimed.end();
            // Before the wakers, which may run for long: the ticket waits until the channel is released.
            drop(claimed);
            thread.wake(waiters);
            end_above(thread, base, spawn_top);
            drop(frame);
        }
    }

    /// Waits until another worker has run the closure.
    pub(super) fn wait(&self, thread: &WorkerThread<S>) {
        let channel = &self.channel;
        channel.add_waiter(thread.index());
        thread.await_stolen(channel.outcome(), &|| channel.may_leapfrog());
    }

    /// Releases the channel for one holder. The panic of a task whose result is never fetched goes
    /// to the call whose task this thread runs.
    ///
    /// # Safety
    ///
    /// The caller is a holder, and does not use the channel again.
    pub(super) unsafe fn let_go(sender: NonNull<Self>) {
        // SAFETY: the caller is a holder, and does not use the channel again.
        unsafe { Self::leave(sender, 1, keep_orphan) }
    }

    /// Releases the channel for a holder that counts as `count` and that the scope waits for. The panic of
    /// a task whose result is never fetched goes to the scope.
    ///
    /// # Safety
    ///
    /// The caller is a holder, and does not use the channel again. The scope does not end before
    /// this returns, or the caller is not the last holder, or it has taken the result.
    pub(super) unsafe fn let_go_in_scope(
        sender: NonNull<Self>,
        count: u32,
        thread: &WorkerThread<S>,
    ) {
        // SAFETY: the caller is a holder, and does not use the channel again. If there is a panic, the
        // pointer is null, or the caller guarantees that the scope has not ended.
        unsafe {
            let finish = sender.as_ref().finish;
            Self::leave(sender, count, |panic| match finish.as_ref() {
                Some(finish) => finish.keep_panic(panic),
                None => thread.keep_orphan(panic),
            });
        }
    }

    /// Releases the channel for one holder, which counts as `count`, and frees the channel if that was the
    /// last. `keep` receives the task's panic if its result was never fetched.
    ///
    /// # Safety
    ///
    /// The caller is a holder, and does not use the channel again.
    pub(super) unsafe fn leave(sender: NonNull<Self>, count: u32, keep: impl FnOnce(Panic)) {
        // SAFETY: the caller is a holder, and does not use the channel again.
        if unsafe { !sender.as_ref().channel.let_go(count) } {
            return;
        }
        // SAFETY: the caller was the last holder.
        if let Some(panic) = unsafe { Self::free(sender) } {
            keep(panic);
        }
    }

    /// Frees the channel. Returns the task's panic if its result was never fetched, or that of the
    /// destructor of the result.
    ///
    /// # Safety
    ///
    /// The caller was the last holder, and does not use the channel again.
    #[inline(never)]
    pub(super) unsafe fn free(sender: NonNull<Self>) -> Option<Panic> {
        // SAFETY: the caller was the last holder, so no other thread uses the channel. Everything
        // in it has been moved out, or needs no drop.
        unsafe {
            let this = sender.as_ref();
            let panic = match this.channel.take() {
                Some(Err(panic)) if panic.is::<Cancelled>() => None,
                Some(Err(panic)) => Some(panic),
                // A panic of its destructor counts as the task's.
                result => catch(|| drop(result)).err(),
            };
            match Shared::worker_of(this.pool, this.pool_id) {
                Some(thread) => thread.local.blocks.give(sender),
                None => oneshot::free(sender),
            }
            panic
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
            if let Some(place) = place
                && place.pool == this.pool_id
            {
                let thread = &(&(*this.pool).worker_threads)[place.worker];
                if this.owner == place.worker && this.is_at_top(thread, place.top.cast()) {
                    return Self::pop(sender, thread);
                }
                return Self::get_on(sender, thread);
            }
            if let Some(thread) = Shared::worker_of(this.pool, this.pool_id) {
                return Self::get_on(sender, thread);
            }
            this.channel.watch(thread_waker());
            Self::await_outside(sender, true);
            Self::take_result(sender)
        }
    }

    /// Gets the result when the ticket is at the top of the stack and the token is older than the
    /// ticket.
    ///
    /// # Safety
    ///
    /// The caller is the handle, and does not use the channel again. Its ticket is at the top of
    /// `thread`'s stack.
    pub(super) unsafe fn pop(sender: NonNull<Self>, thread: &WorkerThread<S>) -> T {
        // SAFETY: the handle is a holder, so the channel lives. If the pop returns the ticket, this
        // thread is both holders. No thread can have claimed then, because only this handle could
        // get the result.
        unsafe {
            let slot = sender.as_ref().slot;
            if thread.pop_ticket(slot) {
                let closure = sender.as_ref().take_closure();
                let (finish, scope) = (sender.as_ref().finish, sender.as_ref().scope);
                thread.local.blocks.give(sender);
                let result = run_all(thread, finish, scope, closure);
                return result.unwrap_or_else(|panic| resume_unwind(panic));
            }
            thread.local.tasks.release(slot);
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
    pub(super) unsafe fn get_on(sender: NonNull<Self>, thread: &WorkerThread<S>) -> T {
        // SAFETY: the handle is a holder, so the channel lives. Only the claimant moves the closure
        // out.
        unsafe {
            let this = sender.as_ref();
            if this.channel.claim(thread.index()) {
                if this.owner == thread.index() {
                    thread.local.tickets.set_claimed(this.slot);
                }
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
                    thread.local.tickets.set_claimed(this.slot);
                }
                this.channel.add_extra_holder(0);
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

    /// Returns the pool of the task. If the pool is gone, the task has ended.
    ///
    /// # Safety
    ///
    /// The caller is the handle.
    pub(super) unsafe fn find_pool(sender: NonNull<Self>) -> Option<Arc<Shared<S>>> {
        // SAFETY: the handle is a holder, so the channel lives.
        let this = unsafe { sender.as_ref() };
        let pool = Shared::<S>::find(this.pool_id);
        match &pool {
            Some(pool) => pool.check_process(),
            None => debug_assert!(this.is_done()),
        }
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
