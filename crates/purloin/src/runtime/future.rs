//! Futures.
//!
//! A future is an [object](crate::promise) with a channel for the result and the closure that sends it, and a
//! **ticket**: a task in a slot like any other, which says *run that closure, unless another thread has*. The thread that **claims** the closure, by moving the channel's state from
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
//! then on. So a get by a newer token does not pop the ticket. A get without a token does, within
//! a frame: it cannot tell whether there is a newer token. There rarely is one, except in a loop over older futures.
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
//! directly, it panics: see [`waits_for_itself`](handle::waits_for_itself).
//!
//! # Inputs
//!
//! A future that begins after others ([`graph`](crate::graph)) has no place on a stack. Its ticket is spawned when
//! its inputs have ended, and is a task like any other from then on.
//!
//! # The end of the channel
//!
//! Each holder releases the channel once, and the last one frees the object. The last one that the scope waits
//! for drops a result that was never fetched.
//!
//! Source: Channel (channel-based futures).

mod handle;
mod object;
mod task;
mod tickets;

use std::cell::UnsafeCell;
use std::mem::{ManuallyDrop, MaybeUninit};
use std::panic::resume_unwind;
use std::ptr::{NonNull, null};

use self::object::Object;
use self::task::{Origin, Task};
pub(crate) use self::tickets::Tickets;
use super::finish::{Finish, is_half_full};
use super::slot::Slot;
use super::state::State;
use super::stolen;
use super::token::Token;
use crate::call::Lineage;
use crate::cancel::CancelFlag;
use crate::graph::{Begin, Inputs, Pending};
use crate::handle::Handle;
use crate::pool::{Injected, Job, Me, Shared, of_pool};
use crate::promise::{self, EXTRA_HOLDER, Functions, Head, JOB, Message, Oneshot};
use crate::promise::{Getter, Place, Promise, Wait, Waiters, WaitingWorker};
use crate::scheduler::{Scheduler, TaskPool};
use crate::sync::thread;
use crate::sync::{AtomicBool, Ordering};
use crate::this_thread::{block_until, keep_orphan};
use crate::tracing::InCallersSpan;
use crate::unwind::{Panic, catch, drop_cancelled};

/// What a future belongs to.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A scope, or the call from outside that made it, which waits for the future's ticket.
    Scoped,
    /// A scope, as a spawn with inputs: no thread gets its result.
    Spawned,
    /// No scope. It has a job instead of a ticket.
    Detached,
    /// As [`Kind::Detached`], but an asynchronous program waits for the result, and not tasks of the
    /// pool. While the closure runs, blocked workers may run
    /// [anything](crate::Builder::run_anything_while_blocked), as while a job runs.
    Asynchronous,
}

impl Kind {
    /// Returns whether the future belongs to no scope.
    fn is_detached(self) -> bool {
        matches!(self, Kind::Detached | Kind::Asynchronous)
    }
}

/// Makes a future of `closure`, whose ticket goes to the top of the stack. If the stack is half full,
/// the closure runs at once. The worker runs in a [frame](Me::frame).
///
/// Pops claimed tickets down to `token_top` first. A newer token becomes stale by that: its joins take the slow path.
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
    // Before the stack is looked at, because a subscriber is code of the program, and may make a future.
    let closure = InCallersSpan::new(closure);
    thread.pop_claimed_tickets(token_top);
    // The scope of the frame, which waits for the ticket.
    let scope = thread.scope();
    let origin = Origin {
        slot: thread.stack().top(),
        owner: thread.index(),
        ..Origin::new(
            thread.pool(),
            Kind::Scoped,
            scope,
            Lineage::of(thread.call()),
        )
    };
    let object = thread.core().blocks.take::<Object<S, F, T, 0>>();
    // SAFETY: the memory is new, and the object is written once. If no slot has the ticket, no other thread has the future.
    unsafe {
        Object::write(object, finish, origin, closure);
        match is_half_full(thread) {
            false => push_ticket(thread, object.cast()),
            true => Task::run_at_once(object.cast(), thread),
        }
        Object::handle(object)
    }
}

/// Pushes the ticket of a future to the top of this worker's stack.
#[inline]
fn push_ticket<S: Scheduler>(thread: Me<'_, S>, task: NonNull<Task<S>>) {
    let slot = thread.stack().top();
    // SAFETY: the slot is the free one at the top of this worker's own stack, and a pointer fits.
    unsafe { (*slot).write(run_ticket::<S>, task) };
    thread.core().tickets.add(slot, thread.stack().spawn_top());
    thread.resize_frame(slot, slot.wrapping_add(1));
    thread.push_spawn(slot);
}

/// Makes a future of `closure` whose ticket goes to the queue of the finish.
pub(super) fn queued_future<'scope, S, F, T>(finish: &'scope Finish<S>, closure: F) -> Handle<T>
where
    S: Scheduler,
    F: for<'t> FnOnce(Token<'t, S>) -> T + Send + 'scope,
    T: Send + 'scope,
{
    let closure = InCallersSpan::new(closure);
    let origin = finish.origin(Kind::Scoped);
    let object = promise::allocate::<Object<S, F, T, 0>>();
    // SAFETY: the memory is new, and the object is written once.
    let handle = unsafe {
        Object::write(object, finish, origin, closure);
        Object::handle(object)
    };
    // SAFETY: `'scope` outlives the finish, which waits for the ticket.
    let ticket = unsafe { QueuedTicket::new(object.cast()) };
    finish.enqueue(finish.job::<true, _>(move |w: Token<'_, S>| ticket.run(w.thread())));
    handle
}

/// Makes a task of `closure` that begins when its inputs have ended. Returns a handle to its result, unless it is a
/// spawn.
///
/// # Safety
///
/// `'scope` is the lifetime parameter of the scope that holds the finish. There is an input, and all inputs are tasks of
/// this scope.
pub(super) unsafe fn after<'scope, S, F, T>(
    finish: &'scope Finish<S>,
    inputs: Inputs,
    is_spawn: bool,
    closure: F,
) -> Option<Handle<T>>
where
    S: Scheduler,
    F: for<'t> FnOnce(Token<'t, S>) -> T + Send + 'scope,
    T: Send + 'scope,
{
    // Before the hold, because a subscriber may panic.
    let closure = InCallersSpan::new(closure);
    // The inputs and the closure may borrow from the scope until the task begins.
    finish.hold();
    let object = match finish.pool().current() {
        Some(thread) => thread.core().blocks.take::<Object<S, F, T, 1>>(),
        None => promise::allocate(),
    };
    let kind = match is_spawn {
        true => Kind::Spawned,
        false => Kind::Scoped,
    };
    // SAFETY: the memory is new, and the object is written once. The finish is held until the task begins.
    unsafe {
        Object::write(object, finish, finish.origin(kind), closure);
        let pending = Object::set_inputs(object, inputs);
        // A spawn drops its handle here, before the task can begin. So its ticket drops the result, and its panic reaches
        // the finish.
        let handle = Some(Object::handle(object)).filter(|_| !is_spawn);
        Pending::count_inputs(pending);
        handle
    }
}

impl<S: Scheduler> Finish<S> {
    /// Returns the origin of a future of this scope whose ticket is not on a stack.
    fn origin(&self, kind: Kind) -> Origin<S> {
        self.check_process();
        Origin::new(self.pool(), kind, self.flag(), self.lineage())
    }
}

impl<S: Scheduler> Task<S> {
    /// Implements [`Functions::begin`]: spawns the ticket, unless the task has ended.
    ///
    /// # Safety
    ///
    /// The task is pending, and nothing is missing. This is called once.
    unsafe fn begin(head: NonNull<Head>, how: Begin) {
        // SAFETY: the finish was held for the task, so it lives until the release. The ticket was not used.
        unsafe {
            let task: NonNull<Self> = head.cast();
            let finish = task.as_ref().finish();
            let ticket = QueuedTicket::new(task);
            match how {
                Begin::HasEnded => drop(ticket),
                _ => (*finish).spawn_ticket(
                    move |w: Token<'_, S>| ticket.run(w.thread()),
                    how == Begin::Call,
                ),
            }
            Finish::release(finish);
        }
    }
}

/// The ticket of a queued future, or of one that had inputs.
struct QueuedTicket<S: Scheduler>(NonNull<Task<S>>);

// SAFETY: the closure and its result are `Send`, so any thread may use the ticket.
unsafe impl<S: Scheduler> Send for QueuedTicket<S> {}

impl<S: Scheduler> QueuedTicket<S> {
    /// # Safety
    ///
    /// This is the ticket of the future, whose scope waits for it.
    unsafe fn new(task: NonNull<Task<S>>) -> Self {
        QueuedTicket(task)
    }

    fn finish(&self) -> &Finish<S> {
        // SAFETY: the ticket is a holder, so the object lives. The finish waits for the ticket.
        unsafe { &*self.0.as_ref().finish() }
    }

    /// Uses the ticket. If this thread is running the closure, further down its stack, it keeps the
    /// ticket and holds the finish until the closure has ended: a wait for the closure would not end.
    fn run(self, thread: Me<'_, S>) {
        let ticket = ManuallyDrop::new(self);
        // SAFETY: the ticket is a holder, so the object lives.
        let task = unsafe { ticket.0.as_ref() };
        if task.is_suspended_on(thread) {
            ticket.finish().hold();
            // Relaxed: this thread reads it.
            task.keeps_ticket.store(true, Ordering::Relaxed);
        } else {
            // SAFETY: this is the future's only ticket, and `thread` runs on this thread. The closure
            // does not.
            unsafe { Task::use_ticket(ticket.0, thread) };
        }
    }
}

impl<S: Scheduler> Drop for QueuedTicket<S> {
    /// Releases the channel of a future that has ended.
    fn drop(&mut self) {
        let finish: *const Finish<S> = self.finish();
        // SAFETY: the ticket is a holder, and does not use the channel again. The finish waits for the
        // code that drops the ticket.
        unsafe {
            let channel = &self.0.as_ref().head.channel;
            debug_assert!(channel.is_done());
            channel.await_extra_holder();
            Task::leave(self.0, 1, &mut |panic| (*finish).keep_panic(panic));
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
    let closure = InCallersSpan::new(closure);
    let object = promise::allocate::<Object<S, F, T, 0>>();
    let origin = Origin::new(pool, kind, CancelFlag::NONE, Lineage::NONE);
    // SAFETY: the memory is new, and the object is written once.
    let handle = unsafe {
        Object::write(object, null(), origin, closure);
        Object::handle(object)
    };
    inject(pool, object.cast());
    handle
}

/// A job with which an idle worker runs the closure of a future. It is one of the holders, and
/// releases the channel even if it is dropped unrun, with its pool.
struct RemoteJob<S: Scheduler>(NonNull<Task<S>>);

impl<S: Scheduler> Drop for RemoteJob<S> {
    fn drop(&mut self) {
        // SAFETY: the job is a holder, and a dropped job does not use the channel again.
        unsafe { Task::drop_job(self.0) };
    }
}

// SAFETY: the closure and its result are `Send`, so the job may run on any thread.
unsafe impl<S: Scheduler> Send for RemoteJob<S> {}

/// Injects a job with which an idle worker runs the closure of a future, unless another thread
/// claims it first. The job is one of the holders already.
///
/// The job touches closure and result only if it claims, and then they are valid: the scope of the future has not ended,
/// because it waits for the closure; a future without a scope is `'static`.
fn inject<S: Scheduler>(pool: &Shared<S>, task: NonNull<Task<S>>) {
    let job = RemoteJob(task);
    let job: Injected<S> = Job::boxed(move |thread: Me<'_, S>| {
        let job = job;
        let task = job.0;
        // SAFETY: the job is a holder, so the object lives. The worker that claims the closure
        // runs it, and its spawns, before it marks the channel done, and the scope of the future
        // waits for that.
        unsafe {
            let this = task.as_ref();
            this.job_taken.store(true, Ordering::Relaxed);
            if this.head.channel.claim(thread.index()) {
                this.head.channel.become_extra_holder(this.job_count());
                std::mem::forget(job);
                Task::run_claimed(task, EXTRA_HOLDER, false, thread);
            }
        }
    });
    pool.inject(job, null(), task.as_ptr().cast());
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
    thread.in_frame_of_its_own(finish, scope, || catch(|| closure(Token::at_top(thread))))
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
    thread.in_frame_apart(null(), scope, || drop_cancelled(closure))
}

/// # Safety
///
/// The pointer is null, or the finish lives.
unsafe fn is_cancelled<S: Scheduler>(finish: *const Finish<S>) -> bool {
    // SAFETY: the caller guarantees it.
    unsafe { finish.as_ref() }.is_some_and(Finish::is_cancelled)
}

/// # Safety
///
/// The conditions of [`Slot::run`] hold, and the slot holds a pointer to a task.
unsafe fn run_ticket<S: Scheduler>(slot: &Slot<S>, thread: Me<'_, S>) {
    // SAFETY: the caller has taken the ticket, which is a holder and is used once.
    unsafe {
        let task = slot.read::<NonNull<Task<S>>>();
        Task::use_ticket(task, thread);
    }
}
