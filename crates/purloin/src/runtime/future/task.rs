//! A future without the types of its closure and its result: which thread runs the closure, and what each holder owes.

use std::ptr::{NonNull, null};

use super::*;

/// The part of a future's object that any worker of its pool uses, without the type of the closure and of the result.
#[repr(C)]
pub(super) struct Task<S: Scheduler> {
    pub(super) head: Head,
    /// Runs the closure within a frame that the caller has begun, or drops it if there is no worker. Leaves the message.
    /// Never unwinds.
    pub(super) run: unsafe fn(NonNull<Task<S>>, Option<Me<'_, S>>),
    pub(super) origin: Origin<S>,
    /// Whether a worker has taken the [injected](inject) job.
    pub(super) job_taken: AtomicBool,
    /// Whether the claimant has reached the ticket, and keeps it. Used by the claimant.
    pub(super) keeps_ticket: AtomicBool,
}

/// Where a future was made, and what it belongs to.
pub(super) struct Origin<S: Scheduler> {
    /// The number of the pool. The pool may have ended.
    pub(super) pool_id: u64,
    /// The flag of the scope around the code that made the future.
    pub(super) scope: CancelFlag,
    /// The lineage of the code that made the future; none if no worker did.
    pub(super) lineage: Lineage,
    /// The ticket's slot in the stack of worker `owner`, or where it would have lain if the closure ran at once; null if
    /// the ticket is elsewhere.
    pub(super) slot: *mut Slot<S>,
    pub(super) owner: usize,
    /// The process that has the pool's threads.
    pub(super) process: u32,
    pub(super) kind: Kind,
}

impl<S: Scheduler> Origin<S> {
    /// Returns the origin of a future whose ticket is not on a stack.
    pub(super) fn new(pool: &Shared<S>, kind: Kind, scope: CancelFlag, lineage: Lineage) -> Self {
        Origin {
            pool_id: pool.id,
            scope,
            lineage,
            slot: std::ptr::null_mut(),
            owner: usize::MAX,
            process: pool.process(),
            kind,
        }
    }
}

impl<S: Scheduler> Task<S> {
    pub(super) fn is_done(&self) -> bool {
        self.head.channel.is_done()
    }

    /// Returns the finish in whose scope the future was made, or null.
    pub(super) fn finish(&self) -> *const Finish<S> {
        self.head.finish.cast()
    }

    /// Returns how much a job counts among the holders.
    pub(super) fn job_count(&self) -> u32 {
        match self.origin.kind {
            Kind::Scoped | Kind::Spawned => JOB,
            Kind::Detached | Kind::Asynchronous => 1,
        }
    }

    /// Returns whether the future belongs to no scope.
    pub(super) fn is_detached(&self) -> bool {
        self.origin.kind.is_detached()
    }

    /// Returns this thread's worker, if it is one of the task's pool, and the top of its token, which is null without one.
    #[inline]
    fn worker_and_top<'t>(&self, place: Option<&Place>) -> Option<(Me<'t, S>, *const Slot<S>)> {
        let pool_id = self.origin.pool_id;
        match place.and_then(|place| place.of_pool(pool_id)) {
            // SAFETY: this thread is that worker of the pool, by the contract of `Place::new`, and a worker keeps its pool
            // alive. The pool with this number has the scheduler `S`.
            Some((worker, top)) => unsafe { Some((Me::new(&*worker.cast()), top.cast())) },
            // SAFETY: the task's pool has this number.
            None => Some((unsafe { of_pool(pool_id) }?, null())),
        }
    }

    /// Returns this thread's worker, if it is one of the task's pool.
    pub(super) fn worker<'t>(&self, place: Option<&Place>) -> Option<Me<'t, S>> {
        self.worker_and_top(place).map(|(thread, _)| thread)
    }

    /// Returns this thread's worker, if it owns the ticket and the ticket is at the top of its stack, belongs to the
    /// innermost frame, and is newer than the token, if there is one.
    #[inline]
    pub(super) fn owner_at_top<'t>(&self, place: Option<&Place>) -> Option<Me<'t, S>> {
        // Without a token, see the page on newer tokens.
        let (thread, token_top) = self.worker_and_top(place)?;
        let slot = self.origin.slot;
        // A ticket that no thread has used is still in its slot, unless a thief is about to use it.
        // The pop finds that out.
        let is_at_top = self.origin.owner == thread.index()
            && self.head.channel.is_unclaimed()
            && thread.may_pop(slot, token_top)
            && slot.wrapping_add(1) == thread.stack().top();
        is_at_top.then_some(thread)
    }

    /// Returns whether `thread`, which is running, has begun the closure further down its stack.
    pub(super) fn is_suspended_on(&self, thread: Me<'_, S>) -> bool {
        // Relaxed: only this thread claims on its behalf.
        let state = self.head.channel.outcome().get(Ordering::Relaxed);
        state.thief() == Some(thread.index())
    }

    /// Waits until another worker has run the closure.
    pub(super) fn wait(&self, thread: Me<'_, S>) {
        let channel = &self.head.channel;
        channel.add_waiter(thread.index());
        thread.await_stolen(channel.outcome(), &|| channel.may_leapfrog());
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
    pub(super) unsafe fn use_ticket(task: NonNull<Self>, thread: Me<'_, S>) {
        // SAFETY: the ticket is a holder, so the object lives. Only the thread that claims runs
        // the closure and writes the result.
        unsafe {
            let this = task.as_ref();
            if this.head.channel.claim(thread.index()) {
                this.begin_closure(thread);
                thread.in_task(this.finish(), this.origin.scope, |_| {
                    // The pointer is null, or the finish lives, because it waits for its futures.
                    let is_cancelled = is_cancelled(this.finish());
                    (this.run)(task, (!is_cancelled).then_some(thread));
                    // The tasks that begin after this one are spawns of this frame.
                    thread.wake(this.end_closure(thread));
                });
                Self::leave_claimed(task, 1, thread);
            } else if this.is_suspended_on(thread) {
                this.keeps_ticket.store(true, Ordering::Relaxed);
                thread.core().keeps_ticket.set(true);
            } else {
                if !this.is_done() {
                    this.wait(thread);
                }
                this.head.channel.await_extra_holder();
                Self::leave_in_scope(task, 1, thread);
            }
        }
    }

    /// Runs a claimed closure whose ticket stays where it is, and sends its result. Then releases the `count` as which the
    /// caller holds the channel.
    ///
    /// The closure runs as if it were in no finish, so its spawns go to the queue of theirs. On the
    /// stack they would have to end before the result is available, and they may wait for it. If the caller has the only
    /// handle, `is_sole`, none of them can.
    ///
    /// # Safety
    ///
    /// The caller has claimed the closure. It is an extra holder, or it counts as 0 and borrows a handle.
    /// `thread` runs on this thread.
    pub(super) unsafe fn run_claimed(
        task: NonNull<Self>,
        count: u32,
        is_sole: bool,
        thread: Me<'_, S>,
    ) {
        // SAFETY: the caller keeps the object until `leave_claimed`, or longer. Only the claimant moves the
        // closure out and writes the result. The call of the lineage waits for the task, which ends after `run`.
        unsafe {
            let this = task.as_ref();
            // An owner sees the requests of thieves at a push or a pop, and here it does neither. So it answers them
            // at this point. Otherwise a worker that gets the results of a thousand tasks would run all of them by
            // itself.
            if !thread.tasks.is_open(thread.stack().top()) {
                S::serve(thread);
            }
            this.begin_closure(thread);
            let finish = match is_sole {
                true => this.finish(),
                false => null(),
            };
            let run = || Self::run_apart(task, finish, thread);
            if this.origin.lineage.is_none() && !is_sole {
                // The task belongs to no call, so it is a call of its own.
                let orphan = thread.run_as_call(|| {
                    run();
                    Ok(())
                });
                if let Err(panic) = orphan {
                    (this.head.functions().fail)(task.cast(), panic);
                }
            } else {
                let _in_lineage = thread.enter_lineage(this.origin.lineage);
                run();
            }
            // This holds no reference to the object, which may be freed before it returns.
            let end = || {
                let waiters = task.as_ref().end_closure(thread);
                // Before the wakers, which may run for long: the ticket waits until the channel is released.
                Self::leave_claimed(task, count, thread);
                thread.wake(waiters);
            };
            match is_sole {
                // No task begins after this one, and no other thread drops the result.
                true => end(),
                // Wakers and the destructor of the result may leave tasks on the stack.
                false => thread.in_frame_of_its_own(null(), CancelFlag::NONE, end),
            }
        }
    }

    /// Runs the closure of a future that has just been made, whose ticket the caller has, and ends it.
    ///
    /// # Safety
    ///
    /// No other thread has the future. The caller does not use the ticket again.
    #[cold]
    pub(super) unsafe fn run_at_once(task: NonNull<Self>, thread: Me<'_, S>) {
        // SAFETY: the caller guarantees it, and claims.
        unsafe {
            S::serve(thread);
            let this = task.as_ref();
            this.head.channel.claim(thread.index());
            Self::run_apart(task, this.finish(), thread);
            this.head.channel.end();
            Self::leave_in_scope(task, 1, thread);
        }
    }

    /// Runs the closure, unless its scope is cancelled, and then the tasks that it leaves on the stack.
    ///
    /// # Safety
    ///
    /// The caller has claimed the closure, and keeps the object. `thread` runs on this thread.
    unsafe fn run_apart(task: NonNull<Self>, finish: *const Finish<S>, thread: Me<'_, S>) {
        // SAFETY: the caller guarantees it. The pointer is null, or the finish lives, because it waits for its futures.
        unsafe {
            let this = task.as_ref();
            let (finish, runner) = match is_cancelled(this.finish()) {
                false => (finish, Some(thread)),
                true => (null(), None),
            };
            thread.in_frame_of_its_own(finish, this.origin.scope, || {
                (this.run)(task, runner);
            });
        }
    }

    /// Returns whether tasks of the pool may wait for the result.
    fn is_awaited_future(&self) -> bool {
        matches!(self.origin.kind, Kind::Scoped | Kind::Detached)
    }

    /// Claimant: begins the run of the closure.
    fn begin_closure(&self, thread: Me<'_, S>) {
        if thread.tasks.offers_nothing() {
            self.head.channel.allow_leapfrogging();
        }
        if self.is_awaited_future() {
            thread.begin_future();
        }
    }

    /// Claimant: marks the task done. Returns the threads to wake.
    fn end_closure(&self, thread: Me<'_, S>) -> Waiters {
        if self.is_awaited_future() {
            thread.end_future();
        }
        self.head.channel.end()
    }

    /// Claimant, after the end: releases the channel for the `count` as which it counts, and for the ticket if it keeps that.
    ///
    /// # Safety
    ///
    /// The caller has claimed, and does not use the channel again, unless it borrows a handle. If it is an extra holder,
    /// the ticket waits for it. A ticket without a slot has held its finish.
    #[inline]
    unsafe fn leave_claimed(task: NonNull<Self>, count: u32, thread: Me<'_, S>) {
        // SAFETY: the caller guarantees it.
        unsafe {
            let this = task.as_ref();
            let kept = (this.keeps_ticket.load(Ordering::Relaxed))
                .then(|| (this.origin.slot, this.origin.owner, this.finish()));
            if count > 0 {
                Self::leave_in_scope(task, count, thread);
            }
            if let Some((slot, owner, finish)) = kept {
                // The scope waits for the slot, or for the hold of a ticket that has none.
                Self::leave_in_scope(task, 1, thread);
                match slot.is_null() {
                    true => Finish::release(finish),
                    false => stolen::end(thread, slot, owner),
                }
            }
        }
    }

    /// Ends a detached task that no thread has begun, and drops its closure. Returns the threads that wait
    /// for it.
    ///
    /// # Safety
    ///
    /// The caller is a holder.
    pub(super) unsafe fn take_back(task: NonNull<Self>) -> Option<Waiters> {
        // SAFETY: the caller is a holder, so the object lives. Only the claimant moves the closure out, and
        // sends.
        unsafe {
            let this = task.as_ref();
            this.head.channel.claim(State::NOBODY).then(|| {
                (this.run)(task, None);
                this.head.channel.end()
            })
        }
    }

    /// Removes the job of a detached task that the caller has claimed from the inbox, if it is there.
    pub(super) fn withdraw_job(&self, pool: &Shared<S>) {
        // Relaxed: the search is in vain if a worker has just taken the job.
        if self.is_detached() && !self.job_taken.load(Ordering::Relaxed) {
            pool.inbox.withdraw(std::ptr::from_ref(self).cast(), 1);
        }
    }

    /// Releases the channel for a job. If a pool that ends drops the job of a detached task unrun, nobody
    /// else runs the task, so it ends as if it were cancelled.
    ///
    /// # Safety
    ///
    /// The caller is the job, and does not use the channel again.
    pub(super) unsafe fn drop_job(task: NonNull<Self>) {
        // SAFETY: the job is a holder, so the object lives until `leave`.
        unsafe {
            let this = task.as_ref();
            if !this.is_detached() {
                return Self::leave(task, JOB, &mut |_| unreachable!("a job gets no message"));
            }
            let waiters = match this.job_taken.load(Ordering::Relaxed) {
                true => None,
                false => Self::take_back(task),
            };
            let pool = this.origin.pool_id;
            Self::leave(task, 1, &mut |panic| {
                Shared::<S>::keep_panic_of(pool, panic)
            });
            if let Some(waiters) = waiters {
                waiters.watchers.wake();
            }
        }
    }

    /// Releases the channel for a holder that counts as `count` and that the scope waits for. The panic of
    /// a task whose result is never fetched goes to the scope.
    ///
    /// # Safety
    ///
    /// The caller is a holder, and does not use the channel again. The scope does not end before
    /// this returns, or the caller is not the last holder.
    pub(super) unsafe fn leave_in_scope(task: NonNull<Self>, count: u32, thread: Me<'_, S>) {
        // SAFETY: the caller is a holder, and does not use the channel again. If there is a panic, the
        // pointer is null, or the caller guarantees that the scope has not ended.
        unsafe {
            let (finish, is_detached) = (task.as_ref().finish(), task.as_ref().is_detached());
            Self::leave(task, count, &mut |panic| match finish.as_ref() {
                Some(finish) => finish.keep_panic(panic),
                None if is_detached => thread.pool().keep_panic(panic),
                None => thread.keep_orphan(panic),
            });
        }
    }

    /// Releases the channel for one holder, which counts as `count`. The last one but a job drops a result
    /// that was never fetched; `keep` receives the task's panic, or that of the destructor of the result. The
    /// last holder frees the object.
    ///
    /// # Safety
    ///
    /// The caller is a holder, and does not use the channel again.
    #[inline(never)]
    pub(super) unsafe fn leave(task: NonNull<Self>, count: u32, keep: &mut dyn FnMut(Panic)) {
        // SAFETY: the caller is a holder, so the object lives until it has released the channel, and longer if the caller was
        // the last holder. Then no other thread uses it, and everything in it has been moved out, or needs
        // no drop.
        unsafe {
            let this = task.as_ref();
            let pool_id = this.origin.pool_id;
            let functions = this.head.functions();
            let mut panic = None;
            if count != JOB {
                if !this.head.channel.release_unless_last(count) {
                    return;
                }
                panic = (functions.drop_message)(task.cast());
                // For a spawn, the finish decides whether `Cancelled` is a failure.
                if this.head.channel.is_cancelled() && this.origin.kind != Kind::Spawned {
                    panic = None;
                }
            }
            if this.head.channel.release(count) {
                // SAFETY: the task's pool has this number.
                match of_pool::<S>(pool_id) {
                    Some(thread) => thread.core().blocks.give(task.cast(), functions.layout),
                    None => promise::free(task.cast(), functions.layout),
                }
            }
            panic.into_iter().for_each(keep);
        }
    }
}
