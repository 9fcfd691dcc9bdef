//! What a worker keeps: its stack, and who may spawn there.

use std::cell::Cell;
use std::io;

use super::recycle::Blocks;
use super::spawn::Finish;
use super::tickets::Tickets;
use super::{Direct, STACK_BYTES_PER_SLOT, Slot, Stack};
use crate::sync::{AtomicUsize, Ordering};

/// So many tasks are run where they were to be spawned, one within the other.
const MOST_NESTED: u32 = 64;

/// For so many bytes of the thread's stack, one task may be buried: stolen, and waiting for what it
/// has spawned, within another that does. A wait takes two hundred bytes, and several thousand where a
/// compiler does not optimise; the rest is for the program.
const STACK_BYTES_PER_BURIED: usize = 32 << 10;

/// What a worker keeps under such a scheduler.
pub struct Tasks<S: Direct> {
    pub(crate) stack: S::Stack,
    /// The innermost finish whose body or task this worker runs.
    pub(super) frame: Cell<Frame<S>>,
    /// The futures whose tickets lie on the stack.
    pub(super) tickets: Tickets<S>,
    /// Memory for more of them.
    pub(super) blocks: Blocks,
    /// How many tasks are run where they were to be spawned, one within the other.
    nested: Cell<u32>,
    /// How many stolen tasks have returned here, and wait for what they have spawned. Each but the
    /// first was taken while the one before waited.
    buried: Cell<usize>,
    /// How many a finish may bury before what it spawns escapes.
    most_buried: usize,
    /// The depth of a task that lies at the very bottom of the stack, were the
    /// branch that this worker runs to begin there. Modulo 2⁶⁴.
    pub(super) depth: AtomicUsize,
}

// SAFETY: `frame`, `tickets`, `blocks`, `nested` and `buried` are used on the worker's own thread only.
unsafe impl<S: Direct> Sync for Tasks<S> {}
// SAFETY: nothing is tied to a thread before the worker starts.
unsafe impl<S: Direct> Send for Tasks<S> {}

/// Where spawns may go directly to the task stack.
pub(super) struct Frame<S: Direct> {
    finish: *const Finish<S>,
    /// Whether it is the body of the finish. There, no token is newer than it
    /// while it is innermost; in a task, that of the second closure of a join is.
    pub(super) is_body: bool,
    /// The top and the live end when the frame began.
    pub(super) base: *mut Slot<S>,
    pub(super) live: *mut Slot<S>,
    /// The top after the frame's last spawn.
    top: *mut Slot<S>,
    /// How many were buried when the body of the finish began.
    buried: usize,
}

// Derived, these would ask the same of `S`.
impl<S: Direct> Clone for Frame<S> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<S: Direct> Copy for Frame<S> {}

impl<S: Direct> Tasks<S> {
    /// For one of so many workers, whose stack has `stack_size` bytes.
    pub(super) fn new(scheduler: &S, stack_size: usize, workers: usize) -> io::Result<Self> {
        Ok(Tasks {
            stack: scheduler.stack(stack_size / STACK_BYTES_PER_SLOT, workers)?,
            frame: Cell::new(Frame {
                finish: std::ptr::null(),
                is_body: false,
                base: std::ptr::null_mut(),
                live: std::ptr::null_mut(),
                top: std::ptr::null_mut(),
                buried: 0,
            }),
            tickets: Tickets::new(),
            blocks: Blocks::default(),
            nested: Cell::new(0),
            buried: Cell::new(0),
            most_buried: (stack_size / STACK_BYTES_PER_BURIED).max(1),
            depth: AtomicUsize::new(0),
        })
    }

    /// Whether another task may be run where it was to be spawned.
    pub(super) fn may_nest(&self) -> bool {
        self.nested.get() < MOST_NESTED
    }

    /// Runs a task where it was to be spawned. That must not panic.
    pub(super) fn nest<R>(&self, run: impl FnOnce() -> R) -> R {
        let outer = self.nested.get();
        self.nested.set(outer + 1);
        let result = run();
        self.nested.set(outer);
        result
    }

    /// Whether what the innermost finish spawns may stay on the stack. If not, those who wait for
    /// it would bury more and more.
    pub(super) fn may_bury(&self) -> bool {
        self.buried.get() - self.frame.get().buried < self.most_buried
    }

    /// Whether a worker that waits may run what it can take. What is not in a finish, or in one within
    /// another, may have buried many.
    pub(super) fn may_help(&self) -> bool {
        self.buried.get() < 2 * self.most_buried
    }

    /// Ends what a stolen task has spawned. That must not panic.
    pub(super) fn bury(&self, end: impl FnOnce()) {
        let outer = self.buried.get();
        self.buried.set(outer + 1);
        end();
        self.buried.set(outer);
    }

    /// Whether nothing that this worker runs is within something else.
    pub(super) fn is_at_the_surface(&self) -> bool {
        self.buried.get() == 0 && self.nested.get() == 0
    }

    /// Starts a frame, of a finish or of none, until the guard is dropped.
    pub(super) fn enter(&self, finish: Option<&Finish<S>>) -> FrameGuard<'_, S> {
        self.enter_frame(finish, false)
    }

    pub(super) fn enter_frame(
        &self,
        finish: Option<&Finish<S>>,
        is_body: bool,
    ) -> FrameGuard<'_, S> {
        let stack = self.stack.base();
        let frame = Frame {
            finish: finish.map_or(std::ptr::null(), |finish| finish),
            is_body,
            base: stack.top(),
            live: stack.live(),
            top: stack.top(),
            buried: match is_body {
                true => self.buried.get(),
                false => self.frame.get().buried,
            },
        };
        FrameGuard {
            tasks: self,
            outer: self.frame.replace(frame),
        }
    }

    /// Whether this frame is of `finish`, with no join's first closure open in it.
    pub(super) fn is_innermost(&self, finish: &Finish<S>) -> bool {
        let frame = self.frame.get();
        std::ptr::eq(frame.finish, finish) && frame.top == self.stack.base().top()
    }

    /// Notes that the frame has pushed a spawn.
    pub(super) fn extend_frame(&self) {
        let mut frame = self.frame.get();
        frame.top = self.stack.base().top();
        self.frame.set(frame);
    }

    /// The frame goes on with the top at `to`, if that was at `from` for it.
    pub(super) fn resize_frame(&self, from: *mut Slot<S>, to: *mut Slot<S>) {
        let mut frame = self.frame.get();
        if frame.top == from {
            frame.top = to;
            self.frame.set(frame);
        }
    }

    /// The oldest ticket that a token with this top may pop. One below the base of the
    /// innermost frame belongs to a frame around it, which a stale token may know;
    /// without it the innermost frame would take what is pushed next for another's.
    pub(super) fn oldest_poppable(&self, top: *const Slot<S>) -> *const Slot<S> {
        top.max(self.frame.get().base)
    }

    /// Marks the slot at the top, which is free, until something is pushed there.
    pub(crate) fn mark_top(&self) {
        // SAFETY: there is one more slot than are ever used, and nobody else
        // touches a free one.
        unsafe { (*self.stack.base().top()).mark() };
    }

    pub(crate) fn is_top_marked(&self) -> bool {
        // SAFETY: there is one more slot than are ever used, and nobody else touches a free
        // one.
        unsafe { (*self.stack.base().top()).is_marked() }
    }

    /// How deep in the program's tree the task in `slot` is.
    pub(crate) fn depth_of(&self, slot: *const Slot<S>) -> usize {
        let position = self.stack.base().position(slot);
        self.depth.load(Ordering::Relaxed).wrapping_add(position)
    }
}

pub(super) struct FrameGuard<'t, S: Direct> {
    tasks: &'t Tasks<S>,
    outer: Frame<S>,
}

impl<S: Direct> Drop for FrameGuard<'_, S> {
    fn drop(&mut self) {
        self.tasks.frame.set(self.outer);
    }
}
