//! The bookkeeping of a worker: frames, tickets, and counts of nesting.
//!
//! A **frame** is a piece of the worker's task stack: the tasks that the body of a finish, or one
//! task, has pushed. Frames nest. A spawn may go to the stack only where its finish has the
//! innermost frame, because the tasks of an inner frame end before the tasks of an outer frame.
//!
//! A **ticket** is the task of a future, see [`super::future`].

use std::cell::{Cell, UnsafeCell};
use std::io;

use super::oneshot::Blocks;
use super::scopes::Scopes;
use super::slot::Slot;
use super::spawn::Finish;
use super::stack::{SLOT, TaskStack};
use crate::loops::CancelFlag;
use crate::pool::placement::Hashes;
use crate::scheduler::{Scheduler, TaskPool};
use crate::sync::{AtomicUsize, Ordering};

/// Bytes of thread stack for each slot of the task stack. A join that waits for its first closure keeps
/// at least a return address, its worker and its slot in its frame, which takes 32 bytes. Spawns and
/// futures fill at most half of the slots. So nested joins fill the thread's stack first, unless many
/// of them are inlined into one function and share a frame.
const STACK_BYTES_PER_SLOT: usize = 16;

/// Bytes of thread stack for each suspended task, see [`Local::suspended`]. A wait takes two
/// hundred bytes, and several thousand without optimisation; the rest is for the program.
const STACK_BYTES_PER_SUSPENDED: usize = 32 << 10;

/// Returns the size of the task stack of a worker whose thread has a stack of `stack_size` bytes, so
/// that nested joins fill the thread's stack first.
pub(crate) const fn task_bytes(stack_size: usize) -> usize {
    stack_size / STACK_BYTES_PER_SLOT * SLOT
}

/// The state of one worker. Other threads use only `tasks`, `depth` and `futures`.
pub(crate) struct Local<S: Scheduler> {
    pub(crate) tasks: S::TaskPool,
    /// The innermost frame.
    pub(super) frame: Cell<Frame<S>>,
    /// The scopes around the code that this worker runs.
    pub(crate) scopes: Scopes,
    /// The futures whose tickets lie on the stack.
    pub(super) tickets: Tickets<S>,
    /// Free memory for futures.
    pub(super) blocks: Blocks,
    /// The number of stolen tasks on this worker that have returned and wait for their spawns, and of
    /// waits on top of which it runs unrelated work. The worker took each of them, except the first,
    /// while the previous one waited.
    suspended: Cell<usize>,
    /// Whether the stolen ticket that this worker has just used stays stolen, until the closure that
    /// it runs further down has ended.
    pub(super) keeps_ticket: Cell<bool>,
    /// Whether the next spawn is the first of a stolen task.
    pub(super) is_first_spawn: Cell<bool>,
    /// The number of futures, and of calls from workers of other pools, that this worker runs, one on
    /// top of the other.
    futures: AtomicUsize,
    /// The number of suspended tasks that one finish may cause before its spawns go to its
    /// queue.
    max_suspended: usize,
    /// The depth in the program's tree that a task in the first slot would have, extrapolated from
    /// the branch that this worker runs. Modulo 2⁶⁴.
    pub(super) depth: AtomicUsize,
}

// SAFETY: other threads use only `tasks`, `depth` and `futures`, which are `Sync`. The runtime uses the other
// fields on the worker's own thread only.
unsafe impl<S: Scheduler> Sync for Local<S> {}
// SAFETY: no field is tied to a thread before the worker starts.
unsafe impl<S: Scheduler> Send for Local<S> {}

/// A piece of the task stack, which ends before the tasks below it go on.
pub(super) struct Frame<S: Scheduler> {
    finish: *const Finish<S>,
    /// The flag of the scope to which the code in the frame belongs. The scope waits for the frame.
    pub(super) scope: CancelFlag,
    /// Whether the frame is the body of the finish. While a body is innermost, no token is newer
    /// than its frame. In a task, the token of a join's second closure is newer.
    pub(super) is_body: bool,
    /// The top of the stack when the frame began.
    pub(super) base: *mut Slot<S>,
    /// [`TaskStack::spawn_top`] when the frame began.
    pub(super) spawn_top: *mut Slot<S>,
    /// The top after the frame's last spawn.
    top: *mut Slot<S>,
    /// The number of suspended tasks when the body of the finish began.
    suspended: usize,
}

// Derived implementations would demand that `S` be `Clone` and `Copy`.
impl<S: Scheduler> Clone for Frame<S> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<S: Scheduler> Copy for Frame<S> {}

impl<S: Scheduler> Local<S> {
    /// Returns the state of one of `workers` workers, whose thread has a stack of `stack_size`
    /// bytes, and whose task stack has `task_bytes` bytes.
    pub(crate) fn new(
        scheduler: &S,
        (stack_size, task_bytes): (usize, usize),
        workers: usize,
        own: Hashes,
    ) -> io::Result<Self> {
        let stack = TaskStack::new(task_bytes / size_of::<Slot<S>>(), own)?;
        Ok(Local {
            tasks: scheduler.task_pool(stack, workers),
            frame: Cell::new(Frame {
                finish: std::ptr::null(),
                scope: CancelFlag::default(),
                is_body: false,
                base: std::ptr::null_mut(),
                spawn_top: std::ptr::null_mut(),
                top: std::ptr::null_mut(),
                suspended: 0,
            }),
            scopes: Scopes::new(),
            tickets: Tickets::default(),
            blocks: Blocks::default(),
            suspended: Cell::new(0),
            keeps_ticket: Cell::new(false),
            is_first_spawn: Cell::new(false),
            futures: AtomicUsize::new(0),
            max_suspended: (stack_size / STACK_BYTES_PER_SUSPENDED).max(1),
            depth: AtomicUsize::new(0),
        })
    }

    /// Returns the slots of this worker's tasks.
    #[inline(always)]
    pub(super) fn stack(&self) -> &TaskStack<S> {
        self.tasks.stack()
    }

    /// Returns whether spawns of the innermost finish may go to the stack. If not, the workers
    /// that wait for them would suspend more and more tasks.
    pub(super) fn may_suspend(&self) -> bool {
        self.suspended.get() - self.frame.get().suspended < self.max_suspended
    }

    /// Returns whether this worker may leapfrog while it waits. [`Self::may_suspend`] does not
    /// limit suspended tasks that belong to no finish or to nested finishes.
    pub(super) fn may_leapfrog(&self) -> bool {
        self.suspended.get() < 2 * self.max_suspended
    }

    /// Counts a future, or a call from a worker of another pool, that this worker begins to run.
    pub(crate) fn begin_future(&self) {
        // Relaxed, and not atomic as a whole: only this worker writes. See `Self::runs_future`.
        let futures = self.futures.load(Ordering::Relaxed);
        self.futures.store(futures + 1, Ordering::Relaxed);
    }

    /// Takes back one [`Self::begin_future`].
    pub(crate) fn end_future(&self) {
        let futures = self.futures.load(Ordering::Relaxed);
        self.futures.store(futures - 1, Ordering::Relaxed);
    }

    /// Returns whether this worker runs a future, or a call from a worker of another pool.
    ///
    /// Relaxed: a worker that runs a descendant of the future sees the count. It has taken the task by
    /// an acquire that pairs with the push, and the push came after the count.
    pub(crate) fn runs_future(&self) -> bool {
        self.futures.load(Ordering::Relaxed) > 0
    }

    /// Returns whether this blocked worker may run an unrelated task, like any stolen task: it must
    /// have no tasks of its own to offer.
    pub(crate) fn may_run_another(&self) -> bool {
        self.tasks.offers_nothing() && self.may_leapfrog()
    }

    /// Calls `end`, which ends the spawns of a stolen task or runs unrelated work, and counts the
    /// task as suspended meanwhile. `end` must not panic.
    pub(crate) fn suspend(&self, end: impl FnOnce()) {
        let outer = self.suspended.get();
        self.suspended.set(outer + 1);
        end();
        self.suspended.set(outer);
    }

    /// Returns whether this worker runs nothing nested.
    pub(crate) fn is_outermost(&self) -> bool {
        self.suspended.get() == 0
    }

    /// Begins the frame of a task, which lasts until the guard is dropped. Without a finish, the task
    /// belongs to the same scope as the code around it.
    pub(super) fn enter(&self, finish: Option<&Finish<S>>) -> FrameGuard<'_, S> {
        match finish {
            Some(finish) => self.enter_in(finish, finish.flag()),
            None => self.enter_frame(self.frame_at_top()),
        }
    }

    /// Begins the frame of a task in the scope with this flag, which lasts until the guard is
    /// dropped. `finish` may be null.
    pub(super) fn enter_in(
        &self,
        finish: *const Finish<S>,
        scope: CancelFlag,
    ) -> FrameGuard<'_, S> {
        self.enter_frame(Frame {
            finish,
            scope,
            ..self.frame_at_top()
        })
    }

    /// Begins the frame of a finish's body, which lasts until the guard is dropped.
    pub(super) fn enter_body(&self, finish: &Finish<S>) -> FrameGuard<'_, S> {
        self.enter_frame(Frame {
            finish,
            scope: finish.flag(),
            is_body: true,
            suspended: self.suspended.get(),
            ..self.frame_at_top()
        })
    }

    /// Returns the frame of a task that belongs to no finish and begins now, in the current scope.
    fn frame_at_top(&self) -> Frame<S> {
        let stack = self.stack();
        Frame {
            finish: std::ptr::null(),
            scope: self.scopes.current(),
            is_body: false,
            base: stack.top(),
            spawn_top: stack.spawn_top(),
            top: stack.top(),
            suspended: self.frame.get().suspended,
        }
    }

    fn enter_frame(&self, frame: Frame<S>) -> FrameGuard<'_, S> {
        FrameGuard {
            local: self,
            outer: self.frame.replace(frame),
            outer_scope: self.scopes.enter(frame.scope, frame.base.addr()),
        }
    }

    /// Returns whether the innermost frame belongs to `finish`, and no first closure of a join is
    /// running in it.
    pub(super) fn is_innermost(&self, finish: &Finish<S>) -> bool {
        let frame = self.frame.get();
        std::ptr::eq(frame.finish, finish) && frame.top == self.stack().top()
    }

    /// Extends the innermost frame by a spawn that was just pushed.
    pub(super) fn extend_frame(&self) {
        let mut frame = self.frame.get();
        frame.top = self.stack().top();
        self.frame.set(frame);
    }

    /// Moves the top of the innermost frame from `from` to `to`, if it was at `from`.
    pub(super) fn resize_frame(&self, from: *mut Slot<S>, to: *mut Slot<S>) {
        let mut frame = self.frame.get();
        if frame.top == from {
            frame.top = to;
            self.frame.set(frame);
        }
    }

    /// Lowers the top of the innermost frame to `slot`, which has been popped.
    ///
    /// A destructor that runs while the frame ends may join and spawn. Without this, the top of
    /// that join could equal the frame's old top, and the spawn would seem to belong to the frame.
    pub(super) fn lower_frame(&self, slot: *mut Slot<S>) {
        let mut frame = self.frame.get();
        if frame.top > slot {
            frame.top = slot;
            self.frame.set(frame);
        }
    }

    /// Returns the oldest ticket that a token with this top may pop.
    ///
    /// A ticket below the base of the innermost frame belongs to an outer frame. A stale token may
    /// know such a ticket. If it popped the ticket, the innermost frame would extend below its own
    /// base, and its end would not wait for the tasks that it pushes there.
    pub(super) fn oldest_poppable(&self, top: *const Slot<S>) -> *const Slot<S> {
        top.max(self.frame.get().base)
    }

    /// Returns how deep in the program's tree the task in `slot` is.
    pub(super) fn depth_of(&self, slot: *const Slot<S>) -> usize {
        let position = self.stack().position(slot);
        self.depth.load(Ordering::Relaxed).wrapping_add(position)
    }
}

/// Restores the outer frame when it is dropped.
pub(super) struct FrameGuard<'l, S: Scheduler> {
    local: &'l Local<S>,
    outer: Frame<S>,
    outer_scope: CancelFlag,
}

impl<S: Scheduler> Drop for FrameGuard<'_, S> {
    fn drop(&mut self) {
        self.local.scopes.leave(self.outer_scope);
        self.local.frame.set(self.outer);
    }
}

/// A worker's record of a ticket on its stack.
pub(super) struct Ticket<S: Scheduler> {
    pub(super) slot: *mut Slot<S>,
    /// [`TaskStack::spawn_top`] before the ticket was pushed.
    pub(super) spawn_top: *mut Slot<S>,
    /// Whether the owner knows that the ticket's closure is claimed.
    pub(super) is_claimed: bool,
}

/// The tickets on a worker's stack, oldest first. Used only on the worker's own thread.
pub(super) struct Tickets<S: Scheduler>(UnsafeCell<Vec<Ticket<S>>>);

impl<S: Scheduler> Default for Tickets<S> {
    fn default() -> Self {
        Tickets(UnsafeCell::new(Vec::new()))
    }
}

impl<S: Scheduler> Tickets<S> {
    fn with<R>(&self, f: impl FnOnce(&mut Vec<Ticket<S>>) -> R) -> R {
        // SAFETY: only the worker's own thread calls this, and no `f` in this file calls `with`
        // again.
        f(unsafe { &mut *self.0.get() })
    }

    /// Adds the ticket that is about to be pushed to `slot`.
    pub(super) fn add(&self, slot: *mut Slot<S>, spawn_top: *mut Slot<S>) {
        self.with(|tickets| {
            tickets.push(Ticket {
                slot,
                spawn_top,
                is_claimed: false,
            });
        });
    }

    /// Removes and returns the newest ticket.
    pub(super) fn pop(&self) -> Option<Ticket<S>> {
        self.with(Vec::pop)
    }

    /// Removes the newest ticket if it lies in `slot`, which is being popped.
    pub(super) fn remove(&self, slot: *mut Slot<S>) {
        self.with(|tickets| {
            if tickets.last().is_some_and(|last| last.slot == slot) {
                tickets.pop();
            }
        });
    }

    /// Marks the closure of the ticket in `slot` as claimed, if the ticket is on this stack.
    pub(super) fn set_claimed(&self, slot: *mut Slot<S>) {
        self.with(|tickets| {
            let place = tickets.partition_point(|ticket| ticket.slot < slot);
            if let Some(ticket) = tickets.get_mut(place)
                && ticket.slot == slot
            {
                ticket.is_claimed = true;
            }
        });
    }

    /// Returns the slot of the newest ticket, if its closure is claimed.
    pub(super) fn newest_claimed(&self) -> Option<*mut Slot<S>> {
        self.with(|tickets| {
            let last = tickets.last()?;
            last.is_claimed.then_some(last.slot)
        })
    }

    /// Returns the stack's `spawn_top` as it was before the oldest ticket at or above `base`.
    pub(super) fn spawn_top_below(&self, base: *mut Slot<S>) -> Option<*mut Slot<S>> {
        self.with(|tickets| {
            let first = tickets.partition_point(|ticket| ticket.slot < base);
            tickets.get(first).map(|ticket| ticket.spawn_top)
        })
    }
}
