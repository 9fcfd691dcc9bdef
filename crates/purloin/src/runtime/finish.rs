//! Spawn and finish.
//!
//! A spawned task lies in a slot like the second closure of a join. When the body of the finish has ended, the worker that
//! opened the finish takes all spawns in the frame of the body back from the top, newest first. It runs each
//! task, or, if a thief has it, waits by leapfrogging. A task's own spawns lie in this frame,
//! too, and the same loop takes them back; so a chain of spawns, however long, does not nest. A
//! thief takes back its task's spawns in the same way before it marks the task done. So all tasks
//! are properly nested, and no counter is needed.
//!
//! # How a spawn differs from a join
//!
//! - It stays on the stack when the code around it goes on. A token that was made before the spawn
//!   is then stale, see [`super`]. A spawn also closes the slots up to itself: it lies below the
//!   barrier, so the pop of an older join takes its slow path, which ends the tasks above.
//! - The code that spawns may run in the first closure of a join, or where another frame is innermost:
//!   in a nested finish, in a stolen closure of a join, or on a thread that is not a worker. On the
//!   stack the task would have to end before a frame to which it does not belong, and a join would
//!   run a task that it does not wait for. In all these cases the task goes to the **queue** of its
//!   finish. Idle workers take it from there, and so does the finish's owner when its body has
//!   ended.
//!
//! # A spawn runs and waits for nothing
//!
//! The code that spawns may hold a lock that the task takes, or a `RefCell`. So a spawn never runs a
//! task, and never waits for one to run. A stack that is half full leaves the other half to joins, and
//! further spawns go to the finish's queue. So the memory grows with the number of tasks that wait, by a
//! slot or by a box for each.
//!
//! # Limits
//!
//! - Two workers that leapfrog with each other could suspend any number of tasks of a chain: each
//!   waits for the task that its last task has spawned, which the other worker holds, and takes the
//!   next one from that worker. So after some hundreds of suspended tasks in one finish (see
//!   [`Core`](crate::pool::worker::Core)) its spawns go to the queue. No task waits for them, and the
//!   suspended tasks end. A worker that has suspended twice as many tasks, by nested finishes or by
//!   futures that belong to none, stops leapfrogging until some of them end.
//!
//! Source: X10's finish and async, as in Return barrier, section 2.3.

use std::panic::resume_unwind;
use std::ptr::null;
use std::sync::Arc;

use super::finish_queue::Queue;
use super::frame::{Frame, Kind, end_above, end_above_while};
use super::future;
use super::slot::{Header, Slot, fits};
use super::token::Token;
use crate::call::{Call, Lineage};
use crate::cancel::Cancelled;
use crate::cancel::{CancelFlag, CancelState};
use crate::handle::Handle;
use crate::pool::{Injected, Job, Me, Shared};
use crate::scheduler::{Point, Protocol, Scheduler, TaskPool};
use crate::scope::Scope;
use crate::sleep::Waiter;
use crate::sync::asymmetric;
use crate::sync::plain::OnceLock;
use crate::sync::thread;
use crate::this_thread::{in_scope, raise};
use crate::tracing::CallersSpan;
use crate::unwind::{Panic, catch, catch_apart};

/// The state of a finish, in its [`Scope`].
pub struct Finish<S: Scheduler> {
    pool: *const Shared<S>,
    /// The worker that opened the finish. Without meaning if a thread outside the pool has: its queue is there from the
    /// beginning.
    owner: usize,
    /// The call from which the finish descends, or null.
    call: *const Call,
    /// Whether tasks that have not begun are dropped.
    is_cancelled: CancelState,
    /// The scope of the tasks, if it is not the scope of this finish.
    scope: Option<CancelFlag>,
    /// The queue of tasks that could not go to a task stack, and the first panic. It is made for the first of them.
    queue: OnceLock<Arc<Queue<S>>>,
}

// SAFETY: the finish runs on a worker of the pool, or on a thread that borrows the pool, so the pool
// outlives it, and `Shared` is `Sync`. The call waits for it, and threads may share a call. The other fields are `Sync`.
unsafe impl<S: Scheduler> Sync for Finish<S> {}

/// Implements [`Worker::finish`](crate::Worker::finish). If `around` is given, the body and the tasks belong to that scope,
/// otherwise to the scope of the finish.
pub(crate) fn finish<'env, S: Scheduler, F, R>(
    thread: Me<'_, S>,
    around: Option<CancelFlag>,
    body: F,
) -> R
where
    F: for<'scope> FnOnce(&'scope Scope<'scope, 'env, S>) -> R,
{
    let scope = Scope::new(Finish {
        pool: thread.pool(),
        owner: thread.index(),
        call: thread.call(),
        is_cancelled: CancelState::new(),
        scope: around,
        queue: OnceLock::new(),
    });
    let result = thread.in_body(scope.finish(), |frame| {
        let result = catch(|| body(&scope));
        // From here on the frame runs the tasks of the finish.
        frame.kind.set(Kind::Task);
        end_above(thread, frame.base.get(), frame.spawn_top.get());
        if let Some(queue) = scope.finish().queue.get() {
            queue.await_end(thread);
        }
        result
    });
    let result = match scope.finish().queue.get() {
        Some(queue) => queue.panic.conclude(result),
        None => result,
    };
    result.unwrap_or_else(|panic| resume_unwind(panic))
}

/// Implements [`Pool::finish`](crate::Pool::finish) on a thread that is not a worker of the pool.
/// All tasks go to the queue. The thread that waits for them runs none.
pub(crate) fn finish_outside<'env, S: Scheduler, F, R>(pool: &Shared<S>, body: F) -> R
where
    F: for<'scope> FnOnce(&'scope Scope<'scope, 'env, S>) -> R,
{
    let result = pool.as_outside_call(|lineage| {
        let queue = Arc::new(Queue::new(Waiter::Outside(thread::current()), lineage));
        let scope: Scope<'_, 'env, S> = Scope::new(Finish {
            pool,
            owner: usize::MAX,
            call: lineage.call(),
            is_cancelled: CancelState::new(),
            scope: None,
            queue: OnceLock::from(Arc::clone(&queue)),
        });
        let result = in_scope(scope.finish().flag(), || {
            let result = catch(|| body(&scope));
            queue.await_end_outside(pool);
            result
        });
        queue.panic.conclude(result.and_then(|result| result))
    });
    result.unwrap_or_else(|panic| raise(panic))
}

/// Returns whether half of the stack is in use, or the system has no memory for more of it. The other
/// half is for joins.
pub(super) fn is_half_full<S: Scheduler>(thread: Me<'_, S>) -> bool {
    let stack = thread.stack();
    stack.top() >= stack.half() || !stack.make_room()
}

/// A spawned task, as stored in a slot.
#[repr(C)]
struct Spawned<S: Scheduler, F> {
    finish: *const Finish<S>,
    task: F,
}

impl<S: Scheduler> Finish<S> {
    /// Implements [`Scope::spawn`].
    ///
    /// Inlined, so that the captures of the task go to the slot one by one, as the program has them. If a function
    /// got the task by value, it would copy the captures in words of 16 bytes, just after they were
    /// stored in words of 8, and wait for those stores.
    #[inline(always)]
    pub(super) fn spawn<'scope, F>(&'scope self, task: F)
    where
        F: for<'t> FnOnce(Token<'t, S>) + Send + 'scope,
    {
        let span = CallersSpan::current();
        let task = move |token: Token<'_, S>| span.run(|| task(token));
        match self.frame_to_push() {
            Some((thread, frame)) => self.push::<false, _>(thread, frame, task),
            None => self.enqueue(self.job::<false, _>(task)),
        }
    }

    /// Spawns the ticket of a task whose inputs have ended. It runs even if the scope is cancelled, because it
    /// ends the task. The queue `calls` an idle worker, which the stack does not.
    pub(super) fn spawn_ticket<'scope, F>(&'scope self, ticket: F, calls: bool)
    where
        F: for<'t> FnOnce(Token<'t, S>) + Send + 'scope,
    {
        let pusher = if calls { None } else { self.frame_to_push() };
        match pusher {
            Some((thread, frame)) => self.push::<true, F>(thread, frame, ticket),
            None => self.enqueue(self.job::<true, F>(ticket)),
        }
    }

    /// Returns the flag of [`Scope::cancel`].
    pub(super) fn cancelled(&self) -> &CancelState {
        &self.is_cancelled
    }

    /// Returns the flag of the scope to which the tasks belong.
    pub(super) fn flag(&self) -> CancelFlag {
        self.scope.unwrap_or(CancelFlag::of(&self.is_cancelled))
    }

    /// Returns whether tasks that have not begun are dropped.
    pub(super) fn is_cancelled(&self) -> bool {
        // A task that misses it begins, as if it had come earlier.
        self.is_cancelled.is_set()
    }

    /// Returns the worker of this thread and its innermost frame, if a spawn goes to its stack.
    #[inline(always)]
    fn frame_to_push(&self) -> Option<(Me<'_, S>, &Frame<S>)> {
        let thread = self.pool().current()?;
        match thread.frame_to_push(self) {
            Some(frame) => Some((thread, frame)),
            None => self.frame_with_room(thread),
        }
    }

    /// Does the same as [`Self::frame_to_push`] where the stack may have to be cleared or opened.
    #[cold]
    #[inline(never)]
    fn frame_with_room<'w>(&self, thread: Me<'w, S>) -> Option<(Me<'w, S>, &'w Frame<S>)> {
        let frame = thread.innermost_of(self)?;
        let has_room =
            frame.takes_spawns() && (!is_half_full(thread) || self.makes_room(thread, frame));
        has_room.then_some((thread, frame))
    }

    /// Removes the newest spawns that thieves have ended, and returns whether that has made room.
    /// Stolen spawns keep their slots until their owner reclaims them. It does so only in the body of a
    /// finish, where hardly any token has its top above these slots. Such a token becomes stale.
    #[cold]
    fn makes_room(&self, thread: Me<'_, S>, frame: &Frame<S>) -> bool {
        if frame.kind.get() == Kind::Body {
            let has_ended = |slot: &Slot<S>| slot.header().outcome().is_done();
            end_above_while(thread, frame.base.get(), frame.spawn_top.get(), has_ended);
            frame.top.set(thread.stack().top());
        }
        S::serve(thread);
        !is_half_full(thread)
    }

    #[inline(always)]
    fn push<const IS_TICKET: bool, F>(&self, thread: Me<'_, S>, frame: &Frame<S>, task: F)
    where
        F: for<'t> FnOnce(Token<'t, S>) + Send,
    {
        let slot = frame.top.get();
        debug_assert!(slot == thread.stack().top());
        let finish: *const Finish<S> = self;
        // SAFETY: the slot is the free one at the top of the owner's stack. The finish waits for
        // the task, so the borrows of the task stay valid until it has run.
        unsafe {
            if const { fits::<Spawned<S, F>>() } {
                (*slot).write(run_in_slot::<S, IS_TICKET, F>, Spawned { finish, task });
            } else {
                let task = Box::new(task);
                (*slot).write(run_boxed::<S, IS_TICKET, F>, Spawned { finish, task });
            }
        }
        frame.top.set(slot.wrapping_add(1));
        thread.push_spawn(slot);
    }

    /// Runs a task of this finish in a frame of its own, and then all of its spawns.
    fn run_all<const IS_TICKET: bool, F>(&self, thread: Me<'_, S>, task: F)
    where
        F: for<'t> FnOnce(Token<'t, S>),
    {
        thread.in_frame_apart(null(), self.flag(), || {
            self.run::<IS_TICKET, F>(thread, || task)
        });
    }

    /// Runs the task that `take` returns, a task of this finish, in the innermost frame, and leaves its spawns on the
    /// stack. Drops the task if the scope is cancelled.
    ///
    /// The frame is as in [`Me::begin_task`].
    ///
    /// If this function got the task itself, the captures would go from the slot to memory, in words of 16 bytes, just
    /// after they were stored in words of 8, and wait for those stores.
    #[inline(always)]
    fn run<const IS_TICKET: bool, F>(&self, thread: Me<'_, S>, take: impl FnOnce() -> F)
    where
        F: for<'t> FnOnce(Token<'t, S>),
    {
        thread.begin_task(self);
        let result = match !IS_TICKET && self.is_cancelled() {
            false => catch(move || take()(Token::at_top(thread))),
            true => catch_apart(move || drop(take())),
        };
        if let Err(panic) = result {
            self.keep_panic(panic);
        }
    }

    /// Keeps the first panic, of a task or of a future whose result is never fetched. Drops later
    /// ones.
    ///
    /// If the scope is cancelled, tasks that get the results of dropped tasks panic with
    /// [`Cancelled`], and that is no failure.
    pub(super) fn keep_panic(&self, panic: Panic) {
        if panic.is::<Cancelled>() && self.is_cancelled() {
            return;
        }
        self.queue().panic.keep(panic);
    }

    /// Returns the lineage of the code that opened the finish.
    pub(super) fn lineage(&self) -> Lineage {
        Lineage::of(self.call)
    }

    pub(super) fn pool(&self) -> &Shared<S> {
        // SAFETY: the finish runs on a worker of the pool, whose thread keeps the pool alive, or on
        // a thread that borrows the pool.
        unsafe { &*self.pool }
    }

    /// Implements [`Scope::future`].
    pub(super) fn future<'scope, F, T>(&'scope self, closure: F) -> Handle<T>
    where
        F: for<'t> FnOnce(Token<'t, S>) -> T + Send + 'scope,
        T: Send + 'scope,
    {
        if let Some((thread, frame)) = self.frame_to_push() {
            let newest = match frame.kind.get() == Kind::Body {
                true => frame.base.get(),
                false => thread.stack().top(),
            };
            return future::future(thread, newest, self, closure);
        }
        future::queued_future(self, closure)
    }

    /// Keeps the finish from ending until [`Self::release`]. Called while the finish cannot end.
    ///
    /// # Panics
    ///
    /// Panics in a forked process, where no thread would release it.
    pub(super) fn hold(&self) {
        self.check_process();
        self.queue().hold();
    }

    /// Takes one [`Self::hold`] back.
    ///
    /// # Safety
    ///
    /// `this` points at a finish that the caller holds. It may be gone afterwards, so this function
    /// gets no reference to it.
    pub(super) unsafe fn release(this: *const Self) {
        // SAFETY: by this function's contract, until nothing is pending.
        let (pool, queue) = unsafe { (&*(*this).pool, Arc::clone((*this).queue())) };
        // Once the finish may end, only the pool's own workers keep the pool alive.
        let _kept = pool.current().is_none().then(|| Shared::<S>::find(pool.id));
        queue.ended_one(pool);
    }

    /// Implements [`Scope::spawn_broadcast`].
    pub(crate) fn spawn_broadcast<'scope, F>(&'scope self, f: F)
    where
        F: for<'t> Fn(Token<'t, S>) + Send + Sync + 'scope,
    {
        let pool = self.pool();
        let span = CallersSpan::current();
        let f = Arc::new(move |token: Token<'_, S>| span.run(|| f(token)));
        for worker in 0..pool.workers {
            let (f, queue) = (Arc::clone(&f), Arc::clone(self.queue()));
            let job: Job<'scope, S> = Job::boxed(move |thread| {
                queue.run(thread, || {
                    self.run_all::<false, _>(thread, move |token| f(token))
                });
            });
            // SAFETY: only the lifetime changes. The finish does not end before the job has, which
            // holds it.
            let job: Injected<S> = unsafe { std::mem::transmute(job) };
            self.hold();
            if let Err(panic) = pool.post(worker, job) {
                self.keep_panic(panic);
                self.queue().ended_one(pool);
            }
        }
    }

    /// Panics in a forked process, which has no workers for a task in the queue.
    pub(super) fn check_process(&self) {
        let pool = self.pool();
        if pool.current().is_none() {
            pool.check_process();
        }
    }

    fn queue(&self) -> &Arc<Queue<S>> {
        let new = || Arc::new(Queue::new(Waiter::Worker(self.owner), self.lineage()));
        self.queue.get_or_init(new)
    }

    /// Returns the job that runs a task of this finish. Inlined, so that the task goes to its box as to a slot.
    #[inline(always)]
    pub(super) fn job<'scope, const IS_TICKET: bool, F>(&'scope self, task: F) -> Job<'scope, S>
    where
        F: for<'t> FnOnce(Token<'t, S>) + Send + 'scope,
    {
        Job::boxed(move |thread| self.run_all::<IS_TICKET, F>(thread, task))
    }

    /// Adds a task to the finish's queue.
    #[cold]
    #[inline(never)]
    pub(super) fn enqueue<'scope>(&'scope self, task: Job<'scope, S>) {
        self.check_process();
        // SAFETY: only the lifetime changes. The task runs before the finish ends, because the finish
        // waits until its queue has no task left.
        let task: Injected<S> = unsafe { std::mem::transmute(task) };
        self.queue().push(self.pool(), task);
    }
}

/// # Safety
///
/// The conditions of [`Slot::run`] hold, and the slot holds a `Spawned<S, F>`.
unsafe fn run_in_slot<S: Scheduler, const IS_TICKET: bool, F>(slot: &Slot<S>, thread: Me<'_, S>)
where
    F: for<'t> FnOnce(Token<'t, S>),
{
    // SAFETY: the caller has taken the task, once. The finish has not ended, because it waits
    // for the task.
    unsafe {
        // The pointer comes first, so it may be read alone.
        let finish = slot.read::<*const Finish<S>>();
        (*finish).run::<IS_TICKET, F>(thread, || slot.read::<Spawned<S, F>>().task);
    }
}

/// # Safety
///
/// The conditions of [`Slot::run`] hold, and the slot holds a `Spawned<S, Box<F>>`.
unsafe fn run_boxed<S: Scheduler, const IS_TICKET: bool, F>(slot: &Slot<S>, thread: Me<'_, S>)
where
    F: for<'t> FnOnce(Token<'t, S>),
{
    // SAFETY: the caller has taken the task, once. The finish has not ended, because it waits
    // for the task.
    unsafe {
        let Spawned { finish, task } = slot.read::<Spawned<S, Box<F>>>();
        (*finish).run::<IS_TICKET, F>(thread, || *task);
    }
}

impl<'scope> Scope<'scope, '_> {
    /// Lets each worker of the pool run `f` once before the finish ends. See
    /// [`Pool::broadcast`](crate::Pool::broadcast).
    ///
    /// ```
    /// # use purloin::Pool;
    /// # use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
    /// let pool = Pool::builder().workers(3).build()?;
    /// let seen = AtomicUsize::new(0);
    /// pool.finish(|scope| {
    ///     scope.spawn_broadcast(|w| {
    ///         seen.fetch_add(1 << w.index(), Relaxed);
    ///     });
    /// });
    /// assert_eq!(seen.into_inner(), 0b111);
    /// # Ok::<(), purloin::BuildError>(())
    /// ```
    pub fn spawn_broadcast<F>(&'scope self, f: F)
    where
        F: for<'t> Fn(Token<'t>) + Send + Sync + 'scope,
    {
        self.finish().spawn_broadcast(f);
    }
}

impl<S: Scheduler> Me<'_, S> {
    /// Owner: pushes the spawn or future in `slot`, which is the top. Closes the slots up to it, and offers it if a
    /// thief has asked.
    #[inline(always)]
    pub(super) fn push_spawn(self, slot: *mut Slot<S>) {
        self.tasks.push(slot);
        self.stack().set_spawn_top(slot.wrapping_add(1));
        // Pairs with the heavy side in `steal::finds_anything`.
        asymmetric::light();
        match self.core().is_first_spawn.get() {
            false => _ = S::Protocol::answer(self, Point::Spawn { is_first: false }),
            true => self.offer_first_spawn(),
        }
    }

    #[cold]
    #[inline(never)]
    fn offer_first_spawn(self) {
        self.core().is_first_spawn.set(false);
        S::Protocol::answer(self, Point::Spawn { is_first: true });
    }
}
