//! Frames: which tasks end before which code goes on, and the scope and the call to which code belongs.
//!
//! A **frame** is a piece of the worker's task stack: the tasks that the body of a finish, or one
//! task, has pushed, and those that they push in turn. Frames nest. A spawn may go to the stack only where its finish has
//! the innermost frame, because the tasks of an inner frame end before the tasks of an outer frame.
//!
//! The tasks of a finish that its owner takes back run in the frame of its body, one after the other. The tasks
//! that a stolen spawn leaves behind run in the frame of that spawn.
//!
//! # Scopes and calls
//!
//! A frame belongs to a scope: that of the innermost finish whose body or task contains its code. This scope's
//! [`cancel`](crate::Scope::cancel) stops the loops of the code, whatever its token. A job that a worker runs on
//! top of suspended code belongs to no scope of that code.
//!
//! A frame also belongs to a call, see [lineages](crate::pool::worker::lineage). A call has a frame of its own, around
//! those of its tasks.
//!
//! A stolen closure of a join belongs to the scope and to the call in which its owner pushed it, and a join must not record
//! that. So a thief looks for them in the victim's list of frames, outermost first: the innermost frame that began at or
//! below the stolen slot has the scope and the call. The scopes and the calls up to there
//! wait for the slot, so they do not end while the thief holds the task.
//!
//! # The list of frames
//!
//! The elements of the list are used again, and live as long as the worker. So a thief may read all of them. The frame of a
//! ticket may end although a task that was pushed in it stays on the stack. This task then belongs to the frame around it,
//! which has the same scope and call. The owner may then begin a frame of another scope in the same element, while a thief
//! that holds the task reads it. So the thief looks twice at where the frame began. If it has read the newer scope or
//! call, it has acquired the end of the older frame, and the second look finds that the element is not in use, or begins
//! above the slot.
//!
//! The models in `models/frames.rs` check this. In a model, all spawns take the slow path ([`Finish`] looks closer).

use std::cell::Cell;
use std::ptr::{NonNull, null, null_mut};

use super::finish::{Finish, end_above};
use super::slot::Slot;
use super::stack::{SLOT, TaskStack};
use crate::cancel::CancelFlag;
use crate::pool::Me;
use crate::pool::worker::lineage::Call;
use crate::scheduler::{Scheduler, TaskPool};
use crate::sync::{AtomicPtr, AtomicUsize, Ordering, thread};

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

/// A piece of the task stack, which ends before the tasks below it go on.
pub(crate) struct Frame<S: Scheduler> {
    // What thieves read.
    /// The address of the top of the stack when the frame began; the maximum if the element is not in use.
    start: AtomicUsize,
    /// The flag of the scope.
    scope: AtomicPtr<()>,
    /// The call, or null.
    call: AtomicPtr<Call>,
    /// The element for a frame within this one.
    inner: AtomicPtr<Frame<S>>,

    // What only the owner uses.
    /// The frame around this one; null for the root.
    outer: *const Frame<S>,
    kind: Cell<Kind>,
    /// The finish whose body or task runs in the frame, or null.
    finish: Cell<*const Finish<S>>,
    /// The top of the stack when the body or the newest task began.
    base: Cell<*mut Slot<S>>,
    /// [`TaskStack::spawn_top`] when the frame began.
    spawn_top: Cell<*mut Slot<S>>,
    /// The top after the frame's last spawn.
    top: Cell<*mut Slot<S>>,
    /// Where the frame's spawns no longer go to the stack: null if the worker has suspended too many tasks.
    limit: Cell<*mut Slot<S>>,
    /// The number of suspended tasks when the body of the finish began. In a task of a job it is 0, so that every task
    /// counts that the worker has suspended below the job.
    suspended: Cell<usize>,
}

/// The code that runs in a frame.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// Code that must leave no tasks behind, because nothing waits for them: a call or a job, whose tasks have frames of
    /// their own; a panic handler; a destructor that runs for another thread; and a thread of the program that is a
    /// worker, outside of all calls.
    Outside,
    /// The body of the finish. While a body is innermost, only the token of a loop can be newer than its frame, so
    /// [`Finish::future`] may remove tickets down to the frame's base.
    Body,
    /// A task. The token of a join's second closure is newer than the frame.
    Task,
}

impl<S: Scheduler> Frame<S> {
    fn new(outer: *const Frame<S>) -> NonNull<Frame<S>> {
        let frame = Box::new(Frame {
            start: AtomicUsize::new(usize::MAX),
            scope: AtomicPtr::new(null_mut()),
            call: AtomicPtr::new(null_mut()),
            inner: AtomicPtr::new(null_mut()),
            outer,
            kind: Cell::new(Kind::Outside),
            finish: Cell::new(null()),
            base: Cell::new(null_mut()),
            spawn_top: Cell::new(null_mut()),
            top: Cell::new(null_mut()),
            limit: Cell::new(null_mut()),
            suspended: Cell::new(0),
        });
        NonNull::from(Box::leak(frame))
    }

    /// Owner: returns the element for a frame within this one.
    #[inline(always)]
    pub(super) fn inner(&self) -> &Frame<S> {
        // Relaxed: only the owner writes it.
        let inner = NonNull::new(self.inner.load(Ordering::Relaxed));
        // SAFETY: elements live as long as the worker.
        unsafe { inner.unwrap_or_else(|| self.add_inner()).as_ref() }
    }

    #[cold]
    #[inline(never)]
    fn add_inner(&self) -> NonNull<Frame<S>> {
        let inner = Frame::new(self);
        // Release: a thief that sees the element sees it initialised.
        self.inner.store(inner.as_ptr(), Ordering::Release);
        inner
    }

    /// Owner: lets thieves see the frame, which begins where the stack ends, at the address `start`.
    #[inline(always)]
    pub(super) fn begin(&self, scope: CancelFlag, call: *const Call, start: usize) {
        // Release: a thief that reads one of these by mistake sees that the previous frame has ended.
        self.scope
            .store(scope.address().cast_mut(), Ordering::Release);
        self.call.store(call.cast_mut(), Ordering::Release);
        // Relaxed: the push of a task in this frame releases all three.
        self.start.store(start, Ordering::Relaxed);
    }

    /// Owner: ends the frame. The tasks that stay on the stack belong to the frame around it.
    #[inline(always)]
    pub(super) fn end(&self) {
        // Relaxed: a thief that could mistake the frame has acquired a later push, or a later scope or call.
        self.start.store(usize::MAX, Ordering::Relaxed);
    }

    /// Owner: returns the call, or null.
    #[inline(always)]
    fn call(&self) -> *const Call {
        // Relaxed: only the owner writes it.
        self.call.load(Ordering::Relaxed)
    }

    /// Owner: returns the flag of the scope.
    #[inline(always)]
    fn scope(&self) -> CancelFlag {
        // Relaxed: only the owner writes it. SAFETY: the scope waits for the code that runs in the frame.
        unsafe { CancelFlag::at(self.scope.load(Ordering::Relaxed)) }
    }

    /// Returns whether the body of the finish runs in the frame.
    pub(super) fn is_body(&self) -> bool {
        self.kind.get() == Kind::Body
    }

    /// Returns the top of the stack when the body or the newest task began.
    pub(super) fn base(&self) -> *mut Slot<S> {
        self.base.get()
    }

    /// Returns [`TaskStack::spawn_top`] when the frame began.
    pub(super) fn spawn_top(&self) -> *mut Slot<S> {
        self.spawn_top.get()
    }

    /// Returns whether a spawn of `finish` goes to this stack, if the frame is the innermost one of its worker. The answer
    /// is false for one in a thousand of those that do; [`Finish`] then looks closer.
    #[inline(always)]
    pub(super) fn takes_spawn_of(&self, finish: &Finish<S>, stack: &TaskStack<S>) -> bool {
        let top = stack.top();
        std::ptr::eq(self.finish.get(), finish)
            && self.top.get() == top
            && stack.has_room_at(top)
            && top < self.limit.get()
    }

    /// Returns whether the frame's spawns may go to the stack at all.
    pub(super) fn takes_spawns(&self) -> bool {
        !self.limit.get().is_null()
    }

    /// Returns the top after the frame's last spawn.
    #[inline(always)]
    pub(super) fn top(&self) -> *mut Slot<S> {
        self.top.get()
    }

    /// Lowers the top and the base to `slot`, which has just been popped, if they are above it.
    ///
    /// The destructor of a future's result runs in this frame, and may join, spawn and make futures. Without this, the
    /// top of such a join could equal the frame's old top, so that a spawn in the join would seem to belong to the frame,
    /// and futures below the old base could not be popped. If no ticket is on the stack, no code of the program
    /// runs in the frame between a pop and the beginning of the next task.
    pub(super) fn lower(&self, slot: *mut Slot<S>) {
        self.top.set(self.top.get().min(slot));
        self.base.set(self.base.get().min(slot));
    }

    /// Says that the body of the finish has ended. What follows are its tasks.
    #[inline(always)]
    pub(super) fn end_body(&self) {
        self.kind.set(Kind::Task);
    }

    /// Extends the frame by a spawn that was just pushed, up to `top`.
    #[inline(always)]
    pub(super) fn extend(&self, top: *mut Slot<S>) {
        self.top.set(top);
    }
}

/// The frames of one worker.
pub(crate) struct Frames<S: Scheduler> {
    /// The code outside of all frames.
    root: NonNull<Frame<S>>,
}

// SAFETY: other threads call `around` only, which reads atomic fields. The cells belong to the worker's own thread: `Me`
// leads to them, and the thread that drops the pool drops them.
unsafe impl<S: Scheduler> Sync for Frames<S> {}
// SAFETY: as for `Sync`.
unsafe impl<S: Scheduler> Send for Frames<S> {}

impl<S: Scheduler> Frames<S> {
    pub(crate) fn new() -> Self {
        Frames {
            root: Frame::new(null()),
        }
    }

    /// Returns the element for code outside of all frames.
    pub(crate) fn root(&self) -> *const Frame<S> {
        self.root.as_ptr()
    }

    /// Returns the flag of the scope and the call in which the task at the address `slot` was pushed. Called by a
    /// thief while it holds the task.
    pub(crate) fn around(&self, slot: usize) -> (CancelFlag, *const Call) {
        // SAFETY: elements live as long as `self`. The thief reads only their atomic fields.
        unsafe {
            let (mut scope, mut call) = (null_mut(), null_mut());
            let mut frame = self.root.as_ref();
            while let Some(inner) = frame.inner.load(Ordering::Acquire).as_ref() {
                // Relaxed: the thief has acquired the push of the task, which came after the beginning of
                // the frames around it. All other frames begin above the slot.
                let contains = || inner.start.load(Ordering::Relaxed) <= slot;
                if !contains() {
                    break;
                }
                // Acquire: see the page.
                let of_inner = (
                    inner.scope.load(Ordering::Acquire),
                    inner.call.load(Ordering::Acquire),
                );
                if !contains() {
                    break;
                }
                (scope, call) = of_inner;
                frame = inner;
            }
            // SAFETY: the scope waits for the task, so its flag is valid as long as the task runs.
            (CancelFlag::at(scope), call)
        }
    }
}

impl<S: Scheduler> Drop for Frames<S> {
    fn drop(&mut self) {
        let mut next = self.root.as_ptr();
        while !next.is_null() {
            // SAFETY: `Frame::new` has made the pointer from a box, and no thread uses it any more.
            let frame = unsafe { Box::from_raw(next) };
            next = frame.inner.load(Ordering::Relaxed);
        }
    }
}

/// Returns how many suspended tasks one finish may cause, on a worker whose thread has a stack of this many
/// bytes, before its spawns go to its queue.
pub(crate) fn max_suspended(stack_size: usize) -> usize {
    (stack_size / STACK_BYTES_PER_SUSPENDED).max(1)
}

impl<'w, S: Scheduler> Me<'w, S> {
    /// Returns the innermost frame, or the code outside of all frames.
    #[inline(always)]
    pub(super) fn innermost(self) -> &'w Frame<S> {
        // SAFETY: it points to an element of this worker's list, which lives as long as the worker.
        unsafe { &*self.core().frame.get() }
    }

    /// Returns the innermost frame, or `None` if nothing waits for the tasks that the code leaves behind: in
    /// [`Kind::Outside`].
    #[inline(always)]
    pub(super) fn frame(self) -> Option<&'w Frame<S>> {
        let frame = self.innermost();
        (frame.kind.get() != Kind::Outside).then_some(frame)
    }

    /// Returns the innermost frame if a spawn of `finish` goes to this worker's stack, as [`Frame::takes_spawn_of`] does.
    #[inline(always)]
    pub(super) fn frame_to_push(self, finish: &Finish<S>) -> Option<&'w Frame<S>> {
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
    pub(super) fn may_leapfrog(self) -> bool {
        self.core().suspended.get() < 2 * self.core().max_suspended
    }

    /// Returns whether this blocked worker may run an unrelated task, like any stolen task: it must
    /// have no tasks of its own to offer.
    pub(crate) fn may_run_another(self) -> bool {
        self.tasks.offers_nothing() && self.may_leapfrog()
    }

    /// Ends the tasks that a stolen task has left in its frame, and counts the stolen task as suspended meanwhile.
    pub(super) fn end_suspended(self, frame: &Frame<S>) {
        self.suspend(|| {
            frame.limit.set(self.spawn_limit(frame.suspended.get()));
            end_above(self, frame.base(), frame.spawn_top());
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
    pub(super) fn in_task<R>(
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
    pub(super) fn in_body<R>(self, finish: &Finish<S>, f: impl FnOnce(&Frame<S>) -> R) -> R {
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
    pub(super) fn in_frame_of_its_own<R>(
        self,
        finish: *const Finish<S>,
        scope: CancelFlag,
        f: impl FnOnce() -> R,
    ) -> R {
        self.in_task(finish, scope, |frame| {
            let result = f();
            end_above(self, frame.base(), frame.spawn_top());
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

    /// Begins a task of `finish` in the innermost frame, where the stack ends. The frame belongs to the scope of the
    /// finish, and its own code has ended or has not begun: the body of the finish, or a task.
    #[inline(always)]
    pub(super) fn begin_task(self, finish: &Finish<S>) {
        let (frame, base) = (self.innermost(), self.stack().top());
        debug_assert!(frame.kind.get() == Kind::Task, "code runs in the frame");
        debug_assert!(frame.scope() == finish.flag(), "the frame is elsewhere");
        frame.finish.set(finish);
        frame.base.set(base);
        frame.top.set(base);
    }

    /// Returns the innermost frame if it belongs to `finish` and no first closure of a join is running in it.
    pub(super) fn innermost_of(self, finish: &Finish<S>) -> Option<&'w Frame<S>> {
        self.frame().filter(|frame| {
            std::ptr::eq(frame.finish.get(), finish) && frame.top.get() == self.stack().top()
        })
    }

    /// Moves the top of the innermost frame from `from` to `to`, if it was at `from`.
    pub(super) fn resize_frame(self, from: *mut Slot<S>, to: *mut Slot<S>) {
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
    pub(super) fn may_pop(self, slot: *const Slot<S>, token_top: *const Slot<S>) -> bool {
        slot >= token_top && self.frame().is_some_and(|frame| slot >= frame.base())
    }
}

/// A guard for the time while a worker runs in a frame.
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
