//! The channel of a future with its closure: which thread runs the closure, and what each holder owes.

use std::ptr::{NonNull, null};

use super::claimed::Claimed;
use super::*;

impl<S, F, T> Sender<S, F, T>
where
    S: Scheduler,
    F: for<'t> FnOnce(Token<'t, S>) -> T + Send,
    T: Send,
{
    pub(super) fn is_done(&self) -> bool {
        self.channel.is_done()
    }

    /// Returns how much a job counts among the holders.
    pub(super) fn job_count(&self) -> u32 {
        match self.kind {
            Kind::Scoped => JOB,
            Kind::Detached | Kind::Asynchronous => 1,
        }
    }

    /// Returns whether the future belongs to no scope.
    pub(super) fn is_detached(&self) -> bool {
        self.kind != Kind::Scoped
    }

    /// Writes a sender to this memory.
    pub(super) fn new(
        memory: NonNull<Self>,
        kind: Kind,
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
                // A future without a scope has a job.
                channel: Oneshot::new(kind != Kind::Scoped),
                pool_id: pool.id,
                pool,
                finish,
                scope,
                lineage,
                process: pool.process(),
                kind,
                job_taken: AtomicBool::new(false),
                keeps_ticket: AtomicBool::new(false),
                slot,
                owner,
                closure: UnsafeCell::new(MaybeUninit::new(closure)),
            });
        }
        memory
    }

    /// Returns whether the ticket is at the top of its owner's stack, belongs to the innermost
    /// frame, and is newer than a token with this top, which is null if there is no token.
    pub(super) fn is_at_top(&self, owner: Me<'_, S>, token_top: *const Slot<S>) -> bool {
        // A ticket that no thread has used is still in its slot, unless a thief is about to use it.
        // The pop finds that out.
        self.channel.is_unclaimed()
            && owner.oldest_poppable(token_top) <= self.slot.cast_const()
            && self.slot.wrapping_add(1) == owner.stack().top()
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
    pub(super) unsafe fn use_ticket(sender: NonNull<Self>, thread: Me<'_, S>) {
        // SAFETY: the ticket is a holder, so the channel lives. Only the thread that claims runs
        // the closure and writes the result.
        unsafe {
            let this = sender.as_ref();
            if this.channel.claim(thread.index()) {
                let mut claimed = Claimed::new(sender, 1, thread);
                let closure = this.take_closure();
                // The pointer is null, or the finish lives, because it waits for its futures.
                let frame = thread.enter_in(this.finish, this.scope);
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
                thread.core().keeps_ticket.set(true);
            } else {
                this.wait(thread);
                this.channel.await_extra_holder();
                Self::let_go_in_scope(sender, 1, thread);
            }
        }
    }

    /// Returns whether `thread`, which is running, has begun the closure further down its stack.
    pub(super) fn is_suspended_on(&self, thread: Me<'_, S>) -> bool {
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
    pub(super) unsafe fn run_claimed(sender: NonNull<Self>, thread: Me<'_, S>) {
        // SAFETY: the claimant is a holder, so the channel lives. Only the claimant moves the
        // closure out and writes the result.
        unsafe {
            let this = sender.as_ref();
            let mut claimed = Claimed::apart(sender, EXTRA_HOLDER, thread);
            let closure = this.take_closure();
            let result = if is_cancelled(this.finish) {
                drop_apart(thread, this.scope, closure)
            } else if this.lineage.is_none() {
                // The task belongs to no call, so it is a call of its own.
                thread.run_as_call(|| run_all_apart(thread, null(), this.scope, closure))
            } else {
                let _in_lineage = thread.enter_lineage(this.lineage);
                run_all_apart(thread, null(), this.scope, closure)
            };
            this.channel.send(result);
            // Wakers and the destructor of the result may leave tasks on the stack.
            let stack = thread.stack();
            let (base, spawn_top) = (stack.top(), stack.spawn_top());
            let frame = thread.enter_in(null(), CancelFlag::NONE);
            let waiters = claimed.end();
            // Before the wakers, which may run for long: the ticket waits until the channel is released.
            drop(claimed);
            thread.wake(waiters);
            end_above(thread, base, spawn_top);
            drop(frame);
        }
    }

    /// Waits until another worker has run the closure.
    pub(super) fn wait(&self, thread: Me<'_, S>) {
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
        unsafe { Self::leave(sender, 1, &mut keep_orphan) }
    }

    /// Ends a detached task that no thread has begun, and drops its closure. Returns the threads that wait
    /// for it.
    ///
    /// # Safety
    ///
    /// The caller is a holder.
    pub(super) unsafe fn take_back(sender: NonNull<Self>) -> Option<Waiters> {
        // SAFETY: the caller is a holder, so the channel lives. Only the claimant moves the closure out, and
        // sends.
        unsafe {
            let this = sender.as_ref();
            this.channel.claim(State::NOBODY).then(|| {
                this.channel.send(drop_cancelled(this.take_closure()));
                this.channel.end()
            })
        }
    }

    /// Removes the job of a detached task that the caller has claimed from the inbox, if it is there.
    pub(super) fn withdraw_job(&self, pool: &Shared<S>) {
        // Relaxed: the search is in vain if a worker has just taken the job.
        if self.is_detached() && !self.job_taken.load(Ordering::Relaxed) {
            pool.withdraw(std::ptr::from_ref(self).cast(), 1);
        }
    }

    /// Releases the channel for a job. If a pool that ends drops the job of a detached task unrun, nobody
    /// else runs the task, so it ends as if it were cancelled.
    ///
    /// # Safety
    ///
    /// The caller is the job, and does not use the channel again.
    pub(super) unsafe fn drop_job(sender: NonNull<Self>) {
        // SAFETY: the job is a holder, so the channel lives until `leave`.
        unsafe {
            let this = sender.as_ref();
            if !this.is_detached() {
                return Self::leave(sender, JOB, &mut |_| unreachable!("a job gets no message"));
            }
            let waiters = match this.job_taken.load(Ordering::Relaxed) {
                true => None,
                false => Self::take_back(sender),
            };
            let pool = this.pool_id;
            Self::leave(sender, 1, &mut |panic| {
                Shared::<S>::keep_panic_of(pool, panic)
            });
            let watcher = waiters.and_then(|waiters| waiters.watcher);
            watcher.into_iter().for_each(wake);
        }
    }

    /// Releases the channel for a holder that counts as `count` and that the scope waits for. The panic of
    /// a task whose result is never fetched goes to the scope.
    ///
    /// # Safety
    ///
    /// The caller is a holder, and does not use the channel again. The scope does not end before
    /// this returns, or the caller is not the last holder, or it has taken the result.
    pub(super) unsafe fn let_go_in_scope(sender: NonNull<Self>, count: u32, thread: Me<'_, S>) {
        // SAFETY: the caller is a holder, and does not use the channel again. If there is a panic, the
        // pointer is null, or the caller guarantees that the scope has not ended.
        unsafe {
            let (finish, is_detached) = (sender.as_ref().finish, sender.as_ref().is_detached());
            Self::leave(sender, count, &mut |panic| match finish.as_ref() {
                Some(finish) => finish.keep_panic(panic),
                None if is_detached => thread.pool().keep_panic(panic),
                None => thread.keep_orphan(panic),
            });
        }
    }

    /// Releases the channel for one holder, which counts as `count`. The last one but a job drops a result
    /// that was never fetched; `keep` receives the task's panic, or that of the destructor of the result. The
    /// last holder frees the channel.
    ///
    /// # Safety
    ///
    /// The caller is a holder, and does not use the channel again.
    #[inline(never)]
    pub(super) unsafe fn leave(sender: NonNull<Self>, count: u32, keep: &mut dyn FnMut(Panic)) {
        // SAFETY: the caller is a holder, so the channel lives until `let_go`, and longer if the caller was
        // the last holder. Then no other thread uses it, and everything in it has been moved out, or needs
        // no drop.
        let message = unsafe {
            let this = sender.as_ref();
            let (pool, pool_id) = (this.pool, this.pool_id);
            let (message, is_last) = this.channel.let_go(count);
            if is_last {
                match Shared::worker_of(pool, pool_id) {
                    Some(thread) => thread.core().blocks.give(sender),
                    None => oneshot::free(sender),
                }
            }
            message
        };
        match message {
            None => (),
            Some(Err(panic)) if panic.is::<Cancelled>() => (),
            Some(Err(panic)) => keep(panic),
            // A panic of its destructor counts as the task's.
            result => drop_catching(result).into_iter().for_each(keep),
        }
    }
}
