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
//! the stack. The owner then pops the ticket like the task of a join, without a claim. A token that is
//! newer than the ticket has its top above the ticket, so it becomes stale: its joins take the slow path from
//! then on. So a get by a newer token does not pop the ticket. A get without a token does: it cannot tell whether
//! there is a newer token, and there rarely is one.
//!
//! The thread that runs the closure may reach the ticket itself: while the closure waits, the thread
//! leapfrogs, and may steal the ticket. It cannot wait for itself, so it **keeps** the ticket: the
//! slot stays stolen until the closure has ended. A ticket from a queue has no slot; for it, the thread
//! holds the finish.
//!
//! A ticket stays on the stack when the code around it goes on, as a spawn does, so it closes
//! the slots up to itself ([`super::finish`](mod@super::finish)).
//!
//! # Waiting
//!
//! A worker that needs a result which another worker is computing leapfrogs, as in a join: it runs
//! only descendants of the awaited task, and none at all while it has tasks of its own to offer
//! (see [`super`]). The frames that it suspends wait for the task, and so for all its descendants.
//! No descendant waits for these frames, unless the program waits for itself. If one does so
//! directly, it panics: see [`waits_for_itself`](promise::waits_for_itself).
//!
//! # The end of the channel
//!
//! Each holder releases the channel once, and the last one frees it. The last one that the scope waits
//! for drops a result that was never fetched.
//!
//! Source: Channel (channel-based futures).

mod claimed;
mod promise;
mod sender;

use std::cell::UnsafeCell;
use std::mem::{ManuallyDrop, MaybeUninit};
use std::ptr::{NonNull, null};

use super::finish::{Finish, end_above, is_half_full};
use super::oneshot::{self, EXTRA_HOLDER, JOB, Oneshot, Waiters, WaitingWorker};
use super::slot::{Slot, State};
use super::steal;
use super::token::Token;
use crate::asynchronous::wake;
use crate::cancel::CancelFlag;
use crate::cancel::Cancelled;
use crate::handle::{Functions, Handle, Place, Promise, Wait};
use crate::pool::{Injected, Job, Lineage, Me, Shared, block_until, keep_orphan, thread_waker};
use crate::scheduler::{Scheduler, TaskPool};
use crate::sync::thread;
use crate::sync::{AtomicBool, Ordering};
use crate::unwind::{Panic, catch, drop_cancelled, drop_catching};

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
    /// The process that has the pool's threads.
    process: u32,
    kind: Kind,
    /// Whether a worker has taken the [injected](inject) job.
    job_taken: AtomicBool,
    /// Whether the claimant has reached the ticket, and keeps it. Used by the claimant.
    keeps_ticket: AtomicBool,
    /// The ticket's slot in the stack of worker `owner`, or null if the ticket is elsewhere.
    slot: *mut Slot<S>,
    owner: usize,
    closure: UnsafeCell<MaybeUninit<F>>,
}

/// What a future belongs to.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A scope, or the call from outside that made it, which waits for the future's ticket.
    Scoped,
    /// No scope. It has a job instead of a ticket.
    Detached,
    /// As [`Kind::Detached`], but an asynchronous program waits for the result, and not tasks of the
    /// pool. While the closure runs, blocked workers may run
    /// [anything](crate::Builder::run_anything_while_blocked), as while a job runs.
    Asynchronous,
}

/// Makes a future of `closure`, whose ticket goes to the top of the stack. If the stack is half full,
/// the closure runs at once.
///
/// `token_top` is the top of the newest token.
pub(super) fn future<S, F, T>(
    thread: Me<'_, S>,
    token_top: *mut Slot<S>,
    finish: *const Finish<S>,
    closure: F,
) -> Handle<T>
where
    S: Scheduler,
    F: for<'t> FnOnce(Token<'t, S>) -> T + Send,
    T: Send,
{
    thread.pop_claimed_tickets(token_top);
    // The scope of the frame, which waits for the ticket.
    // SAFETY: the pointer is null, or the finish lives: its scope makes the future.
    let scope = unsafe { finish.as_ref() }.map_or(thread.core().frame.get().scope, Finish::flag);
    if is_half_full(thread) {
        S::serve(thread);
        return Handle::ready(run_all_apart(thread, finish, scope, closure));
    }
    let slot = thread.stack().top();
    let memory = thread.core().blocks.take();
    let place = (thread.pool(), slot, thread.index());
    let sender = Sender::new(
        memory,
        Kind::Scoped,
        place,
        finish,
        scope,
        thread.lineage(),
        closure,
    );
    // SAFETY: the slot is the free one at the top of this worker's own stack, and a pointer fits.
    unsafe { (*slot).write(run_ticket::<S, F, T>, sender) };
    thread.core().tickets.add(slot, thread.stack().spawn_top());
    thread.tasks.push(slot);
    thread.resize_frame(slot, thread.stack().top());
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
        Kind::Scoped,
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
    fn run(self, thread: Me<'_, S>) {
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
            Sender::leave(self.sender, 1, &mut |panic| finish.keep_panic(panic));
        }
    }
}

/// Makes a future of `closure` that belongs to no scope. An idle worker of `pool` runs it.
/// `kind` is [`Kind::Detached`] or [`Kind::Asynchronous`].
pub(crate) fn detached_future<S, F, T>(pool: &Shared<S>, kind: Kind, closure: F) -> Handle<T>
where
    S: Scheduler,
    F: for<'t> FnOnce(Token<'t, S>) -> T + Send + 'static,
    T: Send + 'static,
{
    let memory = oneshot::allocate();
    let nowhere = (pool, std::ptr::null_mut(), usize::MAX);
    let sender = Sender::new(
        memory,
        kind,
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
        unsafe { Sender::drop_job(self.0) };
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
                this.channel.add_extra_holder(this.job_count());
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
    thread: Me<'_, S>,
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
        return drop_apart(thread, scope, closure);
    }
    let stack = thread.stack();
    let (base, spawn_top) = (stack.top(), stack.spawn_top());
    let frame = thread.enter_in(finish, scope);
    let result = catch(|| closure(Token::at_top(thread)));
    drop(frame);
    end_above(thread, base, spawn_top);
    result
}

/// Drops the closure of a cancelled task, and then ends the tasks that its destructor leaves on the stack.
///
/// The destructor is the program's. It runs in a frame of its own, as the closure would: otherwise it could use
/// the ticket of this task, which is still on the stack.
#[cold]
fn drop_apart<S: Scheduler, F, T>(
    thread: Me<'_, S>,
    scope: CancelFlag,
    closure: F,
) -> thread::Result<T> {
    let stack = thread.stack();
    let (base, spawn_top) = (stack.top(), stack.spawn_top());
    let frame = thread.enter_in(null(), scope);
    let result = drop_cancelled(closure);
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
    thread: Me<'_, S>,
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
unsafe fn run_ticket<S, F, T>(slot: &Slot<S>, thread: Me<'_, S>)
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
