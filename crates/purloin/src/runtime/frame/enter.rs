//! How a worker enters and leaves frames and [calls](crate::call), how it ends the tasks left in a frame, and how many
//! suspended tasks a frame may have below it.

use std::ptr::{null, null_mut};

use super::{Frame, Kind};
use crate::call::{Call, Detour, Lineage, NO_GENERATION};
use crate::cancel::CancelFlag;
use crate::pool::Me;
use crate::runtime::finish::Finish;
use crate::runtime::slot::Slot;
use crate::scheduler::{Scheduler, TaskPool};
use crate::sync::{Ordering, thread};
use crate::unwind::{Panic, discard, erased};

impl<'w, S: Scheduler> Me<'w, S> {
    /// Returns the innermost frame, or the code outside of all frames.
    #[inline(always)]
    pub(in crate::runtime) fn innermost(self) -> &'w Frame<S> {
        // SAFETY: it points to an element of this worker's list, which lives as long as the worker.
        unsafe { &*self.core().frame.get() }
    }

    /// Returns the innermost frame, or `None` if nothing waits for the tasks that the code leaves behind: in
    /// [`Kind::Outside`].
    #[inline(always)]
    pub(in crate::runtime) fn frame(self) -> Option<&'w Frame<S>> {
        let frame = self.innermost();
        (frame.kind.get() != Kind::Outside).then_some(frame)
    }

    /// Returns the innermost frame if a spawn of `finish` goes to this worker's stack, as [`Frame::takes_spawn_of`] does.
    #[inline(always)]
    pub(in crate::runtime) fn frame_to_push(self, finish: &Finish<S>) -> Option<&'w Frame<S>> {
        let frame = self.innermost();
        frame.takes_spawn_of(finish, self.stack()).then_some(frame)
    }

    /// Returns the flag of the innermost scope around the code that this worker runs.
    pub(crate) fn scope(self) -> CancelFlag {
        self.innermost().scope()
    }

    /// Returns the innermost call that this worker runs, or null.
    pub(crate) fn call(self) -> *const Call {
        self.innermost().call()
    }

    /// Enters a call until the guard is dropped. Guards are dropped in the reverse order.
    ///
    /// # Safety
    ///
    /// `call` lives until the guard is dropped.
    #[inline(never)]
    pub(crate) unsafe fn enter_call(self, call: *const Call) -> FrameGuard<'w, S> {
        // The tasks of the call begin frames of their own.
        let (kind, outer) = (Kind::Outside, self.innermost());
        self.enter(kind, null(), outer.scope(), call, outer.suspended.get())
    }

    /// Returns the generation of jobs that the innermost call belongs to.
    pub(crate) fn generation(self) -> u64 {
        // SAFETY: the innermost call lives until this worker leaves it.
        unsafe { self.call().as_ref() }.map_or(NO_GENERATION, Call::generation)
    }

    /// Enters the lineage of a task, until the guard is dropped: a task that the worker waits for,
    /// or the first item after idleness.
    ///
    /// # Safety
    ///
    /// The call of the lineage, if it has one, lives until the guard is dropped. (The caller drops the guard before it
    /// marks the task done, and the call waits for the task until then.)
    #[inline(never)]
    pub(crate) unsafe fn enter_lineage(self, lineage: Lineage) -> InLineage<'w, S> {
        let outer = self.call();
        let mut detour = None;
        let call = if lineage.is_none() || std::ptr::eq(lineage.call(), outer) {
            None
        } else if outer.is_null() {
            Some(lineage.call())
        } else {
            // SAFETY: the lineage has a call, which lives until the guard is dropped, by this function's contract.
            // `InLineage` leaves the detour's call before it drops the detour.
            let new = unsafe { Detour::new(outer, lineage) };
            Some(detour.insert(new).call())
        };
        InLineage {
            me: self,
            // SAFETY: by this function's contract the call lives until the guard is dropped. `InLineage` leaves the call
            // before it drops the detour.
            call: call.map(|call| unsafe { self.enter_call(call) }),
            detour,
        }
    }

    /// Runs a call, and returns its result, its panic, or the panic of an orphan. `f` catches its panics.
    pub(crate) fn with_call<R>(
        self,
        call: &Call,
        f: impl FnOnce() -> thread::Result<R>,
    ) -> thread::Result<R> {
        // SAFETY: the caller's reference outlives the guard.
        let in_call = unsafe { self.enter_call(call) };
        let result = f();
        drop(in_call);
        call.end(result)
    }

    /// Runs a task that does not descend from any call as a call of its own. `task` catches its
    /// panics.
    pub(crate) fn run_as_call<R>(
        self,
        task: impl FnOnce() -> thread::Result<R>,
    ) -> thread::Result<R> {
        self.with_call(&Call::new(null(), NO_GENERATION), task)
    }

    /// Keeps the panic of a task whose result is never fetched, for the innermost call of this
    /// worker.
    pub(crate) fn keep_orphan(self, panic: Panic) {
        // SAFETY: the pointer is null, or the call lives, because it waits for everything that this
        // worker runs within it.
        match unsafe { self.call().as_ref() } {
            Some(call) => call.keep_orphan(panic),
            None => discard(panic),
        }
    }

    /// Returns where the spawns of a frame no longer go to the stack, if this number of tasks was suspended when
    /// its finish began. If too many have come since, the limit is null: the workers that wait for the spawns would suspend
    /// more and more tasks.
    ///
    /// The limit stays the same while the frame is innermost: tasks that the worker suspends lie above it.
    #[inline(always)]
    fn spawn_limit(self, suspended: usize) -> *mut Slot<S> {
        match self.core().suspended.get() - suspended < self.core().max_suspended {
            true => self.stack().half(),
            false => null_mut(),
        }
    }

    /// Returns whether this worker may leapfrog while it waits. [`Self::spawn_limit`] does not
    /// limit suspended tasks that belong to no finish or to nested finishes.
    pub(in crate::runtime) fn may_leapfrog(self) -> bool {
        self.core().suspended.get() < 2 * self.core().max_suspended
    }

    /// Returns whether this blocked worker may run an unrelated task, like any stolen task: it must
    /// have no tasks of its own to offer.
    pub(crate) fn may_run_another(self) -> bool {
        self.tasks.offers_nothing() && self.may_leapfrog()
    }

    /// Ends the tasks that a stolen task has left in its frame, and counts the stolen task as suspended meanwhile.
    pub(in crate::runtime) fn end_suspended(self, frame: &Frame<S>) {
        self.suspend(|| {
            frame.limit.set(self.spawn_limit(frame.suspended.get()));
            end_above(self, frame.base.get(), frame.spawn_top.get());
        });
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
        self.in_frame(Kind::Outside, null(), CancelFlag::NONE, 0, |_| f());
    }

    /// Calls `f` in the frame of a task in the scope with this flag. `finish` may be null.
    #[inline(always)]
    pub(in crate::runtime) fn in_task<R>(
        self,
        finish: *const Finish<S>,
        scope: CancelFlag,
        f: impl FnOnce(&Frame<S>) -> R,
    ) -> R {
        let suspended = self.innermost().suspended.get();
        self.in_frame(Kind::Task, finish, scope, suspended, f)
    }

    /// Calls `f` in the frame of a finish's body.
    #[inline(always)]
    pub(in crate::runtime) fn in_body<R>(
        self,
        finish: &Finish<S>,
        f: impl FnOnce(&Frame<S>) -> R,
    ) -> R {
        let suspended = self.core().suspended.get();
        self.in_frame(Kind::Body, finish, finish.flag(), suspended, f)
    }

    #[inline(always)]
    fn in_frame<R>(
        self,
        kind: Kind,
        finish: *const Finish<S>,
        scope: CancelFlag,
        suspended: usize,
        f: impl FnOnce(&Frame<S>) -> R,
    ) -> R {
        let guard = self.enter(kind, finish, scope, self.call(), suspended);
        f(guard.frame)
    }

    #[inline(always)]
    fn enter(
        self,
        kind: Kind,
        finish: *const Finish<S>,
        scope: CancelFlag,
        call: *const Call,
        suspended: usize,
    ) -> FrameGuard<'w, S> {
        let (frame, base) = (self.innermost().inner(), self.stack().top());
        frame.kind.set(kind);
        frame.finish.set(finish);
        frame.base.set(base);
        frame.spawn_top.set(self.stack().spawn_top());
        frame.top.set(base);
        frame.limit.set(self.spawn_limit(suspended));
        frame.suspended.set(suspended);
        frame.begin(scope, call, base.addr());
        self.core().frame.set(frame);
        FrameGuard { me: self, frame }
    }

    /// Calls `f` in the frame of a task, and ends the tasks that it leaves on the stack. `f` must not unwind.
    #[inline]
    pub(in crate::runtime) fn in_frame_of_its_own<R>(
        self,
        finish: *const Finish<S>,
        scope: CancelFlag,
        f: impl FnOnce() -> R,
    ) -> R {
        self.in_task(finish, scope, |frame| {
            let result = f();
            end_above(self, frame.base.get(), frame.spawn_top.get());
            result
        })
    }

    /// Does the same as [`Self::in_frame_of_its_own`], compiled once for all closures, at the price of an indirect call.
    pub(in crate::runtime) fn in_frame_apart<R>(
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

        let ((), result) = erased(f, |f| call(self, finish, scope, f));
        result.expect("the frame calls the closure")
    }

    /// Begins a task of `finish` in the innermost frame, where the stack ends. The frame belongs to the scope of the
    /// finish, and its own code has ended or has not begun: the body of the finish, or a task.
    #[inline(always)]
    pub(in crate::runtime) fn begin_task(self, finish: &Finish<S>) {
        let (frame, base) = (self.innermost(), self.stack().top());
        debug_assert!(frame.kind.get() == Kind::Task, "code runs in the frame");
        debug_assert!(frame.scope() == finish.flag(), "the frame is elsewhere");
        frame.finish.set(finish);
        frame.base.set(base);
        frame.top.set(base);
    }

    /// Returns the innermost frame if it belongs to `finish` and no first closure of a join is running in it.
    pub(in crate::runtime) fn innermost_of(self, finish: &Finish<S>) -> Option<&'w Frame<S>> {
        self.frame().filter(|frame| {
            std::ptr::eq(frame.finish.get(), finish) && frame.top.get() == self.stack().top()
        })
    }

    /// Moves the top of the innermost frame from `from` to `to`, if it was at `from`.
    pub(in crate::runtime) fn resize_frame(self, from: *mut Slot<S>, to: *mut Slot<S>) {
        if let Some(frame) = self.frame()
            && frame.top.get() == from
        {
            frame.top.set(to);
        }
    }

    /// Returns whether a token with this top may pop the ticket in `slot`.
    ///
    /// A ticket below the base of the innermost frame belongs to an outer frame. A stale token may
    /// know such a ticket. If it popped the ticket, the innermost frame would extend below its own
    /// base, and its end would not wait for the tasks that it pushes there. Outside of all frames, all
    /// tickets belong to suspended code.
    pub(in crate::runtime) fn may_pop(
        self,
        slot: *const Slot<S>,
        token_top: *const Slot<S>,
    ) -> bool {
        slot >= token_top && self.frame().is_some_and(|frame| slot >= frame.base.get())
    }
}

/// Takes back every spawn and future above `base`, and their own spawns, and runs the tasks that no
/// thief has. `spawn_top` is the stack's `spawn_top` below `base`.
pub(in crate::runtime) fn end_above<S: Scheduler>(
    thread: Me<'_, S>,
    base: *mut Slot<S>,
    spawn_top: *mut Slot<S>,
) {
    end_above_while(thread, base, spawn_top, |_| true);
    debug_assert!(thread.stack().spawn_top() <= base);
}

/// Implements [`end_above`], but stops at the newest task for which `ends` returns false.
#[inline(always)]
pub(in crate::runtime) fn end_above_while<S: Scheduler>(
    thread: Me<'_, S>,
    base: *mut Slot<S>,
    spawn_top: *mut Slot<S>,
    ends: impl Fn(&Slot<S>) -> bool,
) {
    let tasks = &thread.tasks;
    let stack = tasks.stack();
    loop {
        let top = stack.top();
        if top <= base {
            break;
        }
        let slot = top.wrapping_sub(1);
        // SAFETY: `slot` is the top of this thread's own stack, so it was pushed.
        if !ends(unsafe { &*slot }) {
            return;
        }
        // Before the pop, which opens the slots above it.
        stack.set_spawn_top(slot);
        thread.forget_ticket(slot);
        // SAFETY: `slot` is the top of this thread's own stack, so it was pushed.
        if tasks.pop(slot, true) || unsafe { S::reclaim_or_wait(thread, slot) } {
            // SAFETY: the owner has the task, and the task moves itself out of the slot before
            // anything else is pushed there. It is a spawn or a ticket: a join leaves no task behind.
            unsafe { (*slot).run(thread) };
        } else {
            tasks.release(slot);
        }
    }
    stack.set_spawn_top(spawn_top);
}

/// A guard for the time during which a worker runs in a frame.
#[must_use]
pub(crate) struct FrameGuard<'w, S: Scheduler> {
    me: Me<'w, S>,
    frame: &'w Frame<S>,
}

impl<S: Scheduler> Drop for FrameGuard<'_, S> {
    #[inline(always)]
    fn drop(&mut self) {
        let FrameGuard { me, frame } = *self;
        me.core().frame.set(frame.outer);
        // A thief could still look for the scope and the call of a task above the start.
        debug_assert!(
            frame.start.load(Ordering::Relaxed) == me.stack().top().addr()
                || (frame.scope() == me.scope() && frame.call() == me.call())
                || thread::panicking()
        );
        frame.end();
    }
}

/// A guard for the time during which a worker runs a task with a certain lineage.
#[must_use]
pub(crate) struct InLineage<'w, S: Scheduler> {
    me: Me<'w, S>,
    call: Option<FrameGuard<'w, S>>,
    detour: Option<Detour>,
}

impl<S: Scheduler> Drop for InLineage<'_, S> {
    fn drop(&mut self) {
        drop(self.call.take());
        if let Some(detour) = self.detour.take() {
            // It may hold a panic, whose destructor is the program's.
            self.me.outside_of_frames(|| drop(detour));
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use crate::Pool;

    #[test]
    fn an_idle_worker_has_no_call() {
        let pool = Pool::builder().workers(2).build().unwrap();
        for _ in 0..10 {
            pool.run(|_| ());
        }
        let is_in_none =
            |worker: &crate::pool::Remote<_>| worker.frames.around(usize::MAX - 1).1.is_null();
        assert!(pool.shared().worker_threads.iter().all(is_in_none));
    }
}
