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
//! A frame also belongs to a call, see [calls](crate::call). A call has a frame of its own, around
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

mod enter;

use std::cell::Cell;
use std::ptr::{NonNull, null, null_mut};

pub(super) use self::enter::{end_above, end_above_while};
use super::finish::Finish;
use super::slot::Slot;
use super::stack::TaskStack;
use crate::call::Call;
use crate::cancel::CancelFlag;
use crate::scheduler::Scheduler;
use crate::sync::{AtomicPtr, AtomicUsize, Ordering};

/// A piece of the task stack, which ends before the tasks below it go on.
pub(crate) struct Frame<S: Scheduler> {
    // Thieves read these fields.
    /// The address of the top of the stack when the frame began; the maximum if the element is not in use.
    start: AtomicUsize,
    /// The flag of the scope.
    scope: AtomicPtr<()>,
    /// The call, or null.
    call: AtomicPtr<Call>,
    /// The element for a frame within this one.
    inner: AtomicPtr<Frame<S>>,

    // Only the owner uses these fields.
    /// The frame around this one; null for the root.
    outer: *const Frame<S>,
    pub(super) kind: Cell<Kind>,
    /// The finish whose body or task runs in the frame, or null.
    finish: Cell<*const Finish<S>>,
    /// The top of the stack when the body or the newest task began.
    pub(super) base: Cell<*mut Slot<S>>,
    /// [`TaskStack::spawn_top`] when the frame began.
    pub(super) spawn_top: Cell<*mut Slot<S>>,
    /// The top after the frame's last spawn.
    pub(super) top: Cell<*mut Slot<S>>,
    /// Where the frame's spawns no longer go to the stack: null if the worker has suspended too many tasks.
    limit: Cell<*mut Slot<S>>,
    /// The number of suspended tasks when the body of the finish began. In a task of a job it is 0, so that every task
    /// counts that the worker has suspended below the job.
    suspended: Cell<usize>,
}

/// The code that runs in a frame.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
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
