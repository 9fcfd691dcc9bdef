//! Futures.
//!
//! A future is a [oneshot channel](super::oneshot) with the closure that sends, in memory of its
//! own, and a **ticket**: a task in a slot like any other, which says *run that closure, unless
//! another thread has*. The thread that **claims** the closure, by moving the channel's state from
//! TASK, runs it. This thread may be
//!
//! - the thief of the ticket;
//! - the owner of the ticket, when the frame above which it lies ends: so a future's task ends
//!   before its scope does, whether or not its result is fetched;
//! - the worker that gets the result, on the spot. The ticket then stays behind, because it may lie
//!   anywhere in any worker's stack. A worker that reaches the ticket has nothing to run, but it
//!   waits until the closure has ended: the scope must not end earlier, because the closure may
//!   borrow from it.
//!
//! Most results, though, are fetched where the future was made, with the ticket still at the top of
//! the stack. The owner then pops the ticket like the task of a join, without a claim. Only a token
//! that is older than the ticket may do this, and a comparison tells: a newer token has its top
//! above the ticket, and would push from there.
//!
//! The thread that runs the closure may reach the ticket itself: while the closure waits, the thread
//! leapfrogs, and may steal the ticket. It cannot wait for itself, so it **keeps** the ticket: the
//! slot stays stolen until the closure has ended. A ticket from a queue has no slot; for it, the thread
//! holds the finish.
//!
//! A ticket stays on the stack when the code around it goes on, as a spawn does, so it closes
//! the slots up to itself, see [`super::spawn`].
//!
//! # Waiting
//!
//! A worker that needs a result which another worker is computing leapfrogs, as in a join: it runs
//! only descendants of the awaited task, and none at all while it has tasks of its own to offer
//! (see [`super`]). The frames that it suspends wait for the task, and so for all its descendants.
//! No descendant waits for these frames, unless the program waits for itself. If one does so
//! directly, it panics: see [`waits_for_itself`].
//!
//! # The end of the channel
//!
//! Each holder releases the channel once, and the last one frees it.
//!
//! Source: Channel (channel-based futures).

use std::cell::UnsafeCell;
use std::mem::{ManuallyDrop, MaybeUninit};
use std::panic::resume_unwind;
use std::ptr::{NonNull, null};
use std::sync::Arc;

use super::join::Token;
use super::oneshot::{self, EXTRA_HOLDER, Oneshot, Waiters, WaitingWorker};
use super::slot::Slot;
use super::spawn::{Finish, end_above, is_half_full};
use super::steal;
use crate::asynchronous::wake;
use crate::handle::{Functions, Handle, Place, Promise, Wait};
use crate::loops::CancelFlag;
use crate::pool::{
    Injected, Job, Lineage, Shared, WorkerThread, block_until, keep_orphan, thread_waker,
};
use crate::scheduler::{Scheduler, TaskPool};
use crate::sync::thread;
use crate::sync::{AtomicBool, Ordering};
use crate::unwind::{Panic, catch, drop_cancelled};
use crate::worker::Cancelled;

/// A channel with the closure that sends.
struct Sender<S: Scheduler, F, T> {
    channel: Oneshot<T>,
    pool: *const Shared<S>,
    /// The number of the pool. The address alone is not enough, because another pool may later be
    /// at the same address.
    pool_id: u64,
    /// The finish in whose scope the future was made, or null.
    finish: *const Finish<S>,
    /// The flag of the scope around the code that made the future.
    scope: CancelFlag,
    /// The lineage of the code that made the future; none if no worker did.
    lineage: Lineage,
    /// Whether a worker has taken the [injected](inject) job.
    job_taken: AtomicBool,
    /// Whether the claimant has reached the ticket, and keeps it. Used by the claimant.
    keeps_ticket: AtomicBool,
    /// The ticket's slot in the stack of worker `owner`, or null if the ticket is elsewhere.
    slot: *mut Slot<S>,
    owner: usize,
    closure: UnsafeCell<MaybeUninit<F>>,
}

/// Makes a future of `closure`, whose ticket goes to the top of the stack. If the stack is half full,
/// the closure runs at once.
///
/// `token_top` is the top of the newest token.
pub(super) fn future<S, F, T>(
    thread: &WorkerThread<S>,
    token_top: *mut Slot<S>,
    finish: *const Finish<S>,
    closure: F,
) -> Handle<T>
where
    S: Scheduler,
    F: for<'t> FnOnce(Token<'t, S>) -> T + Send,
    T: Send,
{
    let local = &thread.local;
    thread.pop_claimed_tickets(token_top);
    // The scope of the frame, which waits for the ticket.
    // SAFETY: the pointer is null, or the finish lives: its scope makes the future.
    let scope = unsafe { finish.as_ref() }.map_or(local.frame.get().scope, Finish::flag);
    if is_half_full(thread) {
        S::serve(thread);
        return Handle::ready(run_all_apart(thread, finish, scope, closure));
    }
    let slot = local.stack().top();
    // SAFETY: `thread` is the worker that runs on this thread.
    let memory = unsafe { local.blocks.take() };
    let place = (thread.pool(), slot, thread.index());
    let sender = Sender::new(memory, place, finish, scope, thread.lineage(), closure);
    // SAFETY: the slot is the free one at the top of this worker's own stack, and a pointer fits.
    unsafe { (*slot).write(run_ticket::<S, F, T>, sender) };
    local.tickets.add(slot, local.stack().spawn_top());
    local.tasks.push(slot);
    local.resize_frame(slot, local.stack().top());
    thread.offer_spawn();
    Sender::promise(sender)
}

/// Makes a future of `closure` whose ticket goes to the queue of the finish.
pub(super) fn queued_future<'scope, S, F, T>(finish: &'scope Finish<S>, closure: F) -> Handle<T>
where
    S: Scheduler,
    F: for<'t> FnOnce(Token<'t, S>) -> T + Send + 'scope,
    T: Send + 'scope,
{
    let (handle, ticket) = deferred_future(finish, closure);
    finish.enqueue::<true, _>(ticket);
    handle
}

/// Makes a future of `closure`, and returns its ticket, too. The caller spawns the ticket into the
/// finish, or drops it once the future has ended.
pub(super) fn deferred_future<'scope, S, F, T>(
    finish: &'scope Finish<S>,
    closure: F,
) -> (Handle<T>, impl for<'t> FnOnce(Token<'t, S>) + Send + 'scope)
where
    S: Scheduler,
    F: for<'t> FnOnce(Token<'t, S>) -> T + Send + 'scope,
    T: Send + 'scope,
{
    finish.check_process();
    let memory = oneshot::allocate();
    let nowhere = (finish.pool(), std::ptr::null_mut(), usize::MAX);
    let sender = Sender::new(
        memory,
        nowhere,
        finish,
        finish.flag(),
        finish.lineage(),
        closure,
    );
    let ticket = QueuedTicket { finish, sender };
    let promise = Sender::promise(sender);
    let ticket = move |w: Token<'_, S>| ticket.run(w.thread());
    (promise, ticket)
}

/// The ticket of a queued or deferred future.
struct QueuedTicket<'scope, S, F, T>
where
    S: Scheduler,
    F: for<'t> FnOnce(Token<'t, S>) -> T + Send,
    T: Send,
{
    finish: &'scope Finish<S>,
    sender: NonNull<Sender<S, F, T>>,
}

// SAFETY: the closure and its result are `Send`, so any thread may use the ticket.
unsafe impl<S, F, T> Send for QueuedTicket<'_, S, F, T>
where
    S: Scheduler,
    F: for<'t> FnOnce(Token<'t, S>) -> T + Send,
    T: Send,
{
}

impl<'scope, S, F, T> QueuedTicket<'scope, S, F, T>
where
    S: Scheduler,
    F: for<'t> FnOnce(Token<'t, S>) -> T + Send + 'scope,
    T: Send + 'scope,
{
    /// Uses the ticket. If this thread is running the closure, further down its stack, it keeps the
    /// ticket and holds the finish until the closure has ended: a wait for the closure would not end.
    fn run(self, thread: &WorkerThread<S>) {
        let ticket = ManuallyDrop::new(self);
        // SAFETY: the ticket is a holder, so the channel lives.
        let sender = unsafe { ticket.sender.as_ref() };
        if sender.is_suspended_on(thread) {
            ticket.finish.hold();
            // Relaxed: this thread reads it.
            sender.keeps_ticket.store(true, Ordering::Relaxed);
        } else {
            // SAFETY: this is the future's only ticket, and `thread` runs on this thread. The closure
            // does not.
            unsafe { Sender::use_ticket(ticket.sender, thread) };
        }
    }
}

impl<S, F, T> Drop for QueuedTicket<'_, S, F, T>
where
    S: Scheduler,
    F: for<'t> FnOnce(Token<'t, S>) -> T + Send,
    T: Send,
{
    /// Releases the channel of a future that has ended.
    fn drop(&mut self) {
        let finish = self.finish;
        // SAFETY: the ticket is a holder, and does not use the channel again. The finish waits for the
        // code that drops the ticket.
        unsafe {
            let channel = &self.sender.as_ref().channel;
            debug_assert!(channel.is_done());
            channel.await_extra_holder();
            Sender::leave(self.sender, 1, |panic| finish.keep_panic(panic));
        }
    }
}

/// Makes a future of `closure` that belongs to no scope. An idle worker of `pool` runs it.
pub(crate) fn detached_future<S, F, T>(pool: &Shared<S>, closure: F) -> Handle<T>
where
    S: Scheduler,
    F: for<'t> FnOnce(Token<'t, S>) -> T + Send + 'static,
    T: Send + 'static,
{
    let memory = oneshot::allocate();
    let nowhere = (pool, std::ptr::null_mut(), usize::MAX);
    let sender = Sender::new(
        memory,
        nowhere,
        null(),
        CancelFlag::NONE,
        Lineage::NONE,
        closure,
    );
    inject(pool, sender);
    Sender::promise(sender)
}

/// A job with which an idle worker runs the closure of a sender. It is one of the holders, and
/// releases the channel even if it is dropped unrun, with its pool.
struct RemoteJob<S, F, T>(NonNull<Sender<S, F, T>>)
where
    S: Scheduler,
    F: for<'t> FnOnce(Token<'t, S>) -> T + Send,
    T: Send;

impl<S, F, T> Drop for RemoteJob<S, F, T>
where
    S: Scheduler,
    F: for<'t> FnOnce(Token<'t, S>) -> T + Send,
    T: Send,
{
    fn drop(&mut self) {
        // SAFETY: the job is a holder, and a dropped job does not use the channel again.
        unsafe { Sender::let_go(self.0) };
    }
}

// SAFETY: the closure and its result are `Send`, so the job may run on any thread.
unsafe impl<S, F, T> Send for RemoteJob<S, F, T>
where
    S: Scheduler,
    F: for<'t> FnOnce(Token<'t, S>) -> T + Send,
    T: Send,
{
}

/// Injects a job with which an idle worker runs the closure of `sender`, unless another thread
/// claims it first. The job is one of the holders already.
fn inject<S, F, T>(pool: &Shared<S>, sender: NonNull<Sender<S, F, T>>)
where
    S: Scheduler,
    F: for<'t> FnOnce(Token<'t, S>) -> T + Send,
    T: Send,
{
    let job = RemoteJob(sender);
    let job: Job<'_, S> = Job::boxed(move |thread| {
        let job = job;
        let sender = job.0;
        // SAFETY: the job is a holder, so the channel lives. The worker that claims the closure
        // runs it, and its spawns, before it marks the channel done, and the scope of the future
        // waits for that.
        unsafe {
            let this = sender.as_ref();
            this.job_taken.store(true, Ordering::Relaxed);
            if this.channel.claim(thread.index()) {
                this.channel.add_extra_holder(1);
                std::mem::forget(job);
                Sender::run_claimed(sender, thread);
            }
        }
    });
    // SAFETY: only the lifetime changes. The job touches closure and result only if it claims,
    // and then they are valid: the scope of the future has not ended, because it waits for the
    // closure; a future without a scope is `'static`.
    let job = unsafe { std::mem::transmute::<Job<'_, S>, Injected<S>>(job) };
    pool.inject_tagged(job, sender.as_ptr().cast());
}

/// Runs the closure, unless its scope `finish` is cancelled, and then the tasks that it leaves on
/// the stack, even if it panics. The panic is caught first, so that these tasks do not find their
/// thread panicking.
#[inline]
fn run_all<S, F, T>(
    thread: &WorkerThread<S>,
    finish: *const Finish<S>,
    scope: CancelFlag,
    closure: F,
) -> thread::Result<T>
where
    S: Scheduler,
    F: for<'t> FnOnce(Token<'t, S>) -> T,
{
    // SAFETY: the pointer is null, or the finish lives, because it waits for its futures.
    if unsafe { is_cancelled(finish) } {
        return drop_cancelled(closure);
    }
    let stack = thread.local.stack();
    let (base, spawn_top) = (stack.top(), stack.spawn_top());
    let frame = thread.local.enter_in(finish, scope);
    let result = catch(|| closure(Token::at_top(thread)));
    drop(frame);
    end_above(thread, base, spawn_top);
    result
}

/// # Safety
///
/// The pointer is null, or the finish lives.
unsafe fn is_cancelled<S: Scheduler>(finish: *const Finish<S>) -> bool {
    // SAFETY: the caller guarantees it.
    unsafe { finish.as_ref() }.is_some_and(Finish::is_cancelled)
}

/// As [`run_all`], on the cold paths. It is never inlined, so that they compile the closure only
/// once.
#[cold]
#[inline(never)]
fn run_all_apart<S, F, T>(
    thread: &WorkerThread<S>,
    finish: *const Finish<S>,
    scope: CancelFlag,
    closure: F,
) -> thread::Result<T>
where
    S: Scheduler,
    F: for<'t> FnOnce(Token<'t, S>) -> T,
{
    run_all(thread, finish, scope, closure)
}

/// # Safety
///
/// The conditions of [`Slot::run`] hold, and the slot holds a pointer to a `Sender<S, F, T>`.
unsafe fn run_ticket<S, F, T>(slot: &Slot<S>, thread: &WorkerThread<S>)
where
    S: Scheduler,
    F: for<'t> FnOnce(Token<'t, S>) -> T + Send,
    T: Send,
{
    // SAFETY: the caller has taken the ticket, which is a holder and is used once.
    unsafe {
        let sender = slot.read::<NonNull<Sender<S, F, T>>>();
        Sender::use_ticket(sender, thread);
    }
}

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

    fn is_done(&self) -> bool {
        self.channel.is_done()
    }

    /// Writes a sender to this memory.
    fn new(
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

    fn promise(sender: NonNull<Self>) -> Handle<T> {
        // SAFETY: the handle is one of the two holders, so the channel lives until the handle's
        // `get` or `drop`. `FUNCTIONS` is a constant for senders of this type.
        Handle::promised(unsafe { Promise::new(sender.cast(), Self::FUNCTIONS) })
    }

    /// Returns whether the ticket is at the top of its owner's stack, belongs to the innermost
    /// frame, and is newer than a token with this top.
    fn is_at_top(&self, owner: &WorkerThread<S>, token_top: *const Slot<S>) -> bool {
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
    unsafe fn take_closure(&self) -> F {
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
    unsafe fn use_ticket(sender: NonNull<Self>, thread: &WorkerThread<S>) {
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
    fn is_suspended_on(&self, thread: &WorkerThread<S>) -> bool {
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
    unsafe fn run_claimed(sender: NonNull<Self>, thread: &WorkerThread<S>) {
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
    fn wait(&self, thread: &WorkerThread<S>) {
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
    unsafe fn let_go(sender: NonNull<Self>) {
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
    unsafe fn let_go_in_scope(sender: NonNull<Self>, count: u32, thread: &WorkerThread<S>) {
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
    unsafe fn leave(sender: NonNull<Self>, count: u32, keep: impl FnOnce(Panic)) {
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
    unsafe fn free(sender: NonNull<Self>) -> Option<Panic> {
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
    unsafe fn take_result(sender: NonNull<Self>) -> T {
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
    unsafe fn get(sender: NonNull<Self>, place: Option<Place>) -> T {
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
    unsafe fn pop(sender: NonNull<Self>, thread: &WorkerThread<S>) -> T {
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
    unsafe fn get_on(sender: NonNull<Self>, thread: &WorkerThread<S>) -> T {
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
    unsafe fn run_for_all(sender: NonNull<Self>) {
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
    unsafe fn wait_for_all(sender: NonNull<Self>, how: Wait) {
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
    unsafe fn find_pool(sender: NonNull<Self>) -> Option<Arc<Shared<S>>> {
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
    unsafe fn call_worker(sender: NonNull<Self>, pool: &Shared<S>) -> bool {
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
    unsafe fn await_outside(sender: NonNull<Self>, calls: bool) {
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
fn waits_for_itself() -> ! {
    panic!(
        "this task waits for its own result, or for that of a task which waits for the task that \
         has spawned this one"
    );
}

/// A guard for the time while a claimed closure runs. When it is dropped, even by a panic, the
/// claimant marks the task done, and releases the channel.
struct Claimed<'m, S, F, T>
where
    S: Scheduler,
    F: for<'t> FnOnce(Token<'t, S>) -> T + Send,
    T: Send,
{
    sender: NonNull<Sender<S, F, T>>,
    /// How much the thread counts among the holders.
    count: u32,
    thread: &'m WorkerThread<S>,
    has_ended: bool,
}

impl<'m, S, F, T> Claimed<'m, S, F, T>
where
    S: Scheduler,
    F: for<'t> FnOnce(Token<'t, S>) -> T + Send,
    T: Send,
{
    /// Begins the run of a closure that the caller has claimed. The caller is a holder that counts as
    /// `count`.
    fn new(sender: NonNull<Sender<S, F, T>>, count: u32, thread: &'m WorkerThread<S>) -> Self {
        if thread.local.tasks.offers_nothing() {
            // SAFETY: the claimant is a holder, so the channel lives.
            unsafe { sender.as_ref() }.channel.allow_leapfrogging();
        }
        thread.local.begin_future();
        Claimed {
            sender,
            count,
            thread,
            has_ended: false,
        }
    }

    /// Begins the run of a closure whose ticket stays where it is. An owner sees the requests of thieves
    /// at a push or a pop, and here it does neither. So it answers them at this point. Otherwise a
    /// worker that gets the results of a thousand tasks would run all of them by itself.
    fn apart(sender: NonNull<Sender<S, F, T>>, count: u32, thread: &'m WorkerThread<S>) -> Self {
        if thread.local.tasks.is_requested() {
            S::serve(thread);
        }
        Self::new(sender, count, thread)
    }

    /// Marks the task done. Returns the threads to wake.
    fn end(&mut self) -> Waiters {
        self.has_ended = true;
        self.thread.local.end_future();
        // SAFETY: the thread that has claimed is a holder, so the channel lives.
        unsafe { self.sender.as_ref() }.channel.end()
    }
}

impl<S, F, T> Drop for Claimed<'_, S, F, T>
where
    S: Scheduler,
    F: for<'t> FnOnce(Token<'t, S>) -> T + Send,
    T: Send,
{
    fn drop(&mut self) {
        // SAFETY: this thread is a holder. It releases the channel here, and does not use it again. If
        // it is an extra holder, the ticket waits for it; if it is the handle, it has taken the result.
        // A ticket without a slot has held its finish.
        unsafe {
            let waiters = match self.has_ended {
                true => Waiters::default(),
                false => self.end(),
            };
            let sender = self.sender.as_ref();
            let keeps_ticket = sender.keeps_ticket.load(Ordering::Relaxed);
            let (slot, owner, finish) = (sender.slot, sender.owner, sender.finish);
            Sender::let_go_in_scope(self.sender, self.count, self.thread);
            if keeps_ticket {
                // The scope waits for the slot, or for the hold of a ticket that has none.
                Sender::let_go_in_scope(self.sender, 1, self.thread);
                match slot.is_null() {
                    true => Finish::release(finish),
                    false => steal::end(self.thread, slot, owner),
                }
            }
            self.thread.wake(waiters);
        }
    }
}

impl<S: Scheduler> WorkerThread<S> {
    /// Claimant: wakes the threads that wait for the closure it has run.
    fn wake(&self, waiters: Waiters) {
        match waiters.worker {
            WaitingWorker::None => (),
            WaitingWorker::One(worker) => self.pool().sleep.unpark(worker),
            WaitingWorker::Several => {
                for worker in self.pool().started() {
                    self.pool().sleep.unpark(worker.index());
                }
            }
        }
        waiters.watcher.into_iter().for_each(wake);
    }

    /// Owner: pops the ticket at the top, in `slot`. Returns true if the owner has the ticket back.
    /// If not, a thief had it, and it is done.
    fn pop_ticket(&self, slot: *mut Slot<S>) -> bool {
        let local = &self.local;
        let ticket = local.tickets.pop();
        let ticket = ticket.expect("the ticket at the top is known");
        debug_assert_eq!(ticket.slot, slot);
        local.stack().set_spawn_top(ticket.spawn_top);
        local.resize_frame(slot.wrapping_add(1), slot);
        // SAFETY: the ticket was pushed to this slot of the worker's own stack.
        local.tasks.pop_spawn(slot) || unsafe { S::reclaim_or_wait(self, slot) }
    }

    /// Owner: pops tickets whose closure is claimed off the top of the stack, down to a token's
    /// top.
    fn pop_claimed_tickets(&self, token_top: *mut Slot<S>) {
        let local = &self.local;
        let oldest = local.oldest_poppable(token_top);
        while let Some(slot) = local.tickets.newest_claimed()
            && slot.wrapping_add(1) == local.stack().top()
            && slot.cast_const() >= oldest
        {
            if self.pop_ticket(slot) {
                // SAFETY: the owner has the ticket back, and runs it once. The ticket finds that
                // its closure is claimed, and releases the channel.
                unsafe { (*slot).run(self) };
            } else {
                local.tasks.release(slot);
            }
        }
    }
}
