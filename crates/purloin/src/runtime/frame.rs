//! The bookkeeping of a worker: frames and tickets.
//!
//! A **frame** is a piece of the worker's task stack: the tasks that the body of a finish, or one
//! task, has pushed. Frames nest. A spawn may go to the stack only where its finish has the
//! innermost frame, because the tasks of an inner frame end before the tasks of an outer frame.
//!
//! A **ticket** is the task of a future, see [`super::future`].

use std::cell::{Cell, UnsafeCell};
use std::ptr::null;

use super::finish::{Finish, end_above};
use super::slot::Slot;
use super::stack::SLOT;
use crate::cancel::CancelFlag;
use crate::pool::Me;
use crate::scheduler::{Scheduler, TaskPool};
use crate::sync::thread;

/// Bytes of thread stack for each slot of the task stack. A join that waits for its first closure keeps
/// at least a return address, its worker and its slot in its frame, which takes 32 bytes. Spawns and
/// futures fill at most half of the slots. So nested joins fill the thread's stack first, unless many
/// of them are inlined into one function and share a frame.
const STACK_BYTES_PER_SLOT: usize = 16;

/// Bytes of thread stack for each suspended task, see
/// [`Core::suspended`](crate::pool::worker::Core::suspended). A wait takes two hundred bytes, and
/// several thousand without optimisation; the rest is for the program.
const STACK_BYTES_PER_SUSPENDED: usize = 32 << 10;

/// Returns the size of the task stack of a worker whose thread has a stack of `stack_size` bytes, so
/// that nested joins fill the thread's stack first.
pub(crate) const fn task_bytes(stack_size: usize) -> usize {
    match cfg!(loom) {
        false => stack_size / STACK_BYTES_PER_SLOT * SLOT,
        // A model has few tasks, and loom makes each slot anew for each interleaving.
        true => 32 * SLOT,
    }
}

/// A piece of the task stack, which ends before the tasks below it go on. The value lies on the thread's
/// stack, in the function that begins the frame, and [`Core`](crate::pool::worker::Core) points to the innermost frame. So
/// no copy is made when a frame begins or ends.
pub(crate) struct Frame<S: Scheduler> {
    finish: *const Finish<S>,
    /// Whether the frame is the body of the finish. While a body is innermost, only the token of a loop can be newer than
    /// its frame. In a task, the token of a join's second closure is newer.
    pub(super) is_body: bool,
    /// The top of the stack when the frame began.
    pub(super) base: *mut Slot<S>,
    /// [`TaskStack::spawn_top`](super::TaskStack::spawn_top) when the frame began.
    pub(super) spawn_top: *mut Slot<S>,
    /// The top after the frame's last spawn.
    top: Cell<*mut Slot<S>>,
    /// The number of suspended tasks when the body of the finish began, or 0 in a task of a job: all tasks that the
    /// worker has suspended below the job count.
    suspended: usize,
}

/// Returns how many suspended tasks one finish may cause, on a worker whose thread has a stack of this many
/// bytes, before its spawns go to its queue.
pub(crate) fn max_suspended(stack_size: usize) -> usize {
    (stack_size / STACK_BYTES_PER_SUSPENDED).max(1)
}

impl<'w, S: Scheduler> Me<'w, S> {
    /// Returns the innermost frame, or `None` if nothing waits for the tasks that the code leaves behind: in a panic
    /// handler, and on a thread of the program that is a worker, outside of all calls, finishes and tasks.
    #[inline(always)]
    pub(super) fn frame(self) -> Option<&'w Frame<S>> {
        // SAFETY: `in_frame` has set the pointer, and resets it before the frame is gone. No caller keeps the
        // reference beyond the frame.
        unsafe { self.core().frame.get().as_ref() }
    }

    /// Returns whether spawns of this frame's finish may go to the stack. If not, the workers
    /// that wait for them would suspend more and more tasks.
    pub(super) fn may_suspend(self, frame: &Frame<S>) -> bool {
        self.core().suspended.get() - frame.suspended < self.core().max_suspended
    }

    /// Returns whether this worker may leapfrog while it waits. [`Self::may_suspend`] does not
    /// limit suspended tasks that belong to no finish or to nested finishes.
    pub(super) fn may_leapfrog(self) -> bool {
        self.core().suspended.get() < 2 * self.core().max_suspended
    }

    /// Returns whether this blocked worker may run an unrelated task, like any stolen task: it must
    /// have no tasks of its own to offer.
    pub(crate) fn may_run_another(self) -> bool {
        self.tasks.offers_nothing() && self.may_leapfrog()
    }

    /// Calls `end`, which ends the spawns of a stolen task or runs unrelated work, and counts the
    /// task as suspended meanwhile. `end` must not panic.
    pub(crate) fn suspend(self, end: impl FnOnce()) {
        let outer = self.core().suspended.get();
        self.core().suspended.set(outer + 1);
        end();
        self.core().suspended.set(outer);
    }

    /// Returns whether this worker runs nothing nested.
    pub(crate) fn is_outermost(self) -> bool {
        self.core().suspended.get() == 0
    }

    /// Calls `f` outside of all frames and scopes. The frames and scopes around it belong to suspended code.
    pub(crate) fn outside_of_frames(self, f: impl FnOnce()) {
        let _guard = FrameGuard {
            me: self,
            outer: self.core().frame.replace(null()),
            outer_scope: self.enter_scope(CancelFlag::NONE, self.stack().top().addr()),
        };
        f();
    }

    /// Calls `f` in the frame of a task in the scope with this flag. `finish` may be null.
    #[inline(always)]
    pub(super) fn in_task<R>(
        self,
        finish: *const Finish<S>,
        scope: CancelFlag,
        f: impl FnOnce(&Frame<S>) -> R,
    ) -> R {
        let suspended = match self.frame() {
            Some(outer) => outer.suspended,
            None => 0,
        };
        self.in_frame(finish, scope, false, suspended, f)
    }

    /// Calls `f` in the frame of a finish's body.
    #[inline(always)]
    pub(super) fn in_body<R>(self, finish: &Finish<S>, f: impl FnOnce(&Frame<S>) -> R) -> R {
        let suspended = self.core().suspended.get();
        self.in_frame(finish, finish.flag(), true, suspended, f)
    }

    #[inline(always)]
    fn in_frame<R>(
        self,
        finish: *const Finish<S>,
        scope: CancelFlag,
        is_body: bool,
        suspended: usize,
        f: impl FnOnce(&Frame<S>) -> R,
    ) -> R {
        let base = self.stack().top();
        let frame = Frame {
            finish,
            is_body,
            base,
            spawn_top: self.stack().spawn_top(),
            top: Cell::new(base),
            suspended,
        };
        let _guard = FrameGuard {
            me: self,
            outer: self.core().frame.replace(&frame),
            outer_scope: self.enter_scope(scope, base.addr()),
        };
        f(&frame)
    }

    /// Calls `f` in the frame of a task, and ends the tasks that it leaves on the stack. `f` must not unwind.
    #[inline]
    pub(super) fn in_frame_of_its_own<R>(
        self,
        finish: *const Finish<S>,
        scope: CancelFlag,
        f: impl FnOnce() -> R,
    ) -> R {
        self.in_task(finish, scope, |frame| {
            let result = f();
            end_above(self, frame.base, frame.spawn_top);
            result
        })
    }

    /// Does the same as [`Self::in_frame_of_its_own`], compiled once for all closures, at the price of an indirect call.
    pub(super) fn in_frame_apart<R>(
        self,
        finish: *const Finish<S>,
        scope: CancelFlag,
        f: impl FnOnce() -> R,
    ) -> R {
        #[inline(never)]
        fn call<S: Scheduler>(
            me: Me<'_, S>,
            finish: *const Finish<S>,
            scope: CancelFlag,
            f: &mut dyn FnMut(),
        ) {
            me.in_frame_of_its_own(finish, scope, f);
        }

        let (mut f, mut result) = (Some(f), None);
        call(self, finish, scope, &mut || result = f.take().map(|f| f()));
        result.expect("the frame calls the closure")
    }

    /// Returns the innermost frame if it belongs to `finish` and no first closure of a join is running in it.
    pub(super) fn innermost_of(self, finish: &Finish<S>) -> Option<&'w Frame<S>> {
        self.frame().filter(|frame| {
            std::ptr::eq(frame.finish, finish) && frame.top.get() == self.stack().top()
        })
    }

    /// Extends the innermost frame by a spawn that was just pushed.
    pub(super) fn extend_frame(self) {
        if let Some(frame) = self.frame() {
            frame.top.set(self.stack().top());
        }
    }

    /// Moves the top of the innermost frame from `from` to `to`, if it was at `from`.
    pub(super) fn resize_frame(self, from: *mut Slot<S>, to: *mut Slot<S>) {
        if let Some(frame) = self.frame()
            && frame.top.get() == from
        {
            frame.top.set(to);
        }
    }

    /// Lowers the top of the innermost frame to `slot`, which has been popped.
    ///
    /// A destructor that runs while the frame ends may join and spawn. Without this, the top of
    /// that join could equal the frame's old top, and the spawn would seem to belong to the frame.
    pub(super) fn lower_frame(self, slot: *mut Slot<S>) {
        if let Some(frame) = self.frame()
            && frame.top.get() > slot
        {
            frame.top.set(slot);
        }
    }

    /// Returns whether a token with this top may pop the ticket in `slot`.
    ///
    /// A ticket below the base of the innermost frame belongs to an outer frame. A stale token may
    /// know such a ticket. If it popped the ticket, the innermost frame would extend below its own
    /// base, and its end would not wait for the tasks that it pushes there. Outside of all frames, all
    /// tickets belong to suspended code.
    pub(super) fn may_pop(self, slot: *const Slot<S>, token_top: *const Slot<S>) -> bool {
        slot >= token_top && self.frame().is_some_and(|frame| slot >= frame.base)
    }
}

/// A guard for the time while a worker runs in another frame, or in none.
struct FrameGuard<'w, S: Scheduler> {
    me: Me<'w, S>,
    outer: *const Frame<S>,
    outer_scope: CancelFlag,
}

impl<S: Scheduler> Drop for FrameGuard<'_, S> {
    #[inline(always)]
    fn drop(&mut self) {
        let me = self.me;
        // A thief could still look for the scope of a task above the base. (In a forked process there are no thieves.)
        debug_assert!(
            self.outer_scope == me.scope()
                || thread::panicking()
                || (me.frame()).is_none_or(|frame| frame.base == me.stack().top())
        );
        me.core().frame.set(self.outer);
        me.leave_scope(self.outer_scope);
    }
}

/// A worker's record of a ticket on its stack.
pub(super) struct Ticket<S: Scheduler> {
    pub(super) slot: *mut Slot<S>,
    /// [`TaskStack::spawn_top`](super::TaskStack::spawn_top) before the ticket was pushed.
    pub(super) spawn_top: *mut Slot<S>,
    /// Whether the owner knows that the ticket's closure is claimed.
    pub(super) is_claimed: bool,
}

/// The tickets on a worker's stack, oldest first.
pub(crate) struct Tickets<S: Scheduler>(UnsafeCell<Vec<Ticket<S>>>);

impl<S: Scheduler> Default for Tickets<S> {
    fn default() -> Self {
        Tickets(UnsafeCell::new(Vec::new()))
    }
}

impl<S: Scheduler> Tickets<S> {
    fn with<R>(&self, f: impl FnOnce(&mut Vec<Ticket<S>>) -> R) -> R {
        // SAFETY: only `Me` gives access, so this is the worker's own thread, and no `f` in this file calls
        // `with` again.
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
