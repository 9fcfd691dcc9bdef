//! The task stack: the memory of a worker's tasks, its top and its bottom.
//!
//! Slots never move, because thieves hold pointers to them. So the stack grows in place: its address
//! range is reserved at the start, without access, and the owner **opens** the range from the first
//! slot upwards, piece by piece. The system supplies zeroed pages where open slots are first used, unless an
//! earlier stack has used them.
//!
//! A reserved range costs nothing but addresses. An open range counts as data of the process
//! (`ulimit -d`, strict overcommit), and a process that has called `mlockall(MCL_FUTURE)` gets all of
//! its pages at once. So a stack opens twice as much each time it is full, and starts with at most
//! 64 KiB.
//!
//! Each piece ends at a multiple of 64 KiB, as the whole stack does. A push to such a slot takes the
//! slow path, which opens the next piece ([`TaskStack::make_room`]). The fast path knows nothing of
//! pieces.
//!
//! # Which slots may be touched
//!
//! The slots from the first one up to and including the one at the open end may be read and written.
//! Pieces are never closed while the stack lives. The owner moves the top to a slot only after it
//! has pushed to the slot below, so the top never passes the open end. Other threads read slots
//! only at a bottom, at a top, or at the slot of a task that the owner has pushed. All of these
//! values, however stale, were once at or below the top, so their slots are open.
//!
//! A thread may read such a pointer by a relaxed load. That is enough: the owner stores the pointer
//! after the system call that opens the slot has returned, so the kernel has changed the access
//! before any thread can load the pointer. If a processor still has the old access cached, the
//! kernel handles the fault, and the access is repeated.

mod memory;

use std::io;
use std::ops::Range;

use crossbeam_utils::CachePadded;

use super::sizes::SLOT;
use super::slot::Slot;
use crate::pool::cache_placement::{Hashes, MAX_TASKS_SKIP, first_apart};
use crate::scheduler::Scheduler;
use crate::sync::{AtomicPtr, Ordering};

/// The end of the slots, and the end of the open slots, lie at a multiple of this many bytes. A push
/// to a slot at such a multiple takes the slow path. A push to any other slot skips the comparison
/// with the end, and so saves a load. The number is large, so that only one slot in a thousand lies at
/// a multiple.
const BOUNDARY: usize = match cfg!(any(loom, miri)) {
    false => 64 << 10,
    true => 4 * SLOT,
};

/// A worker's tasks in place: an array of slots, a top, and a bottom.
///
/// Only the runtime makes task stacks. A scheduler gets each one through
/// [`Scheduler::task_pool`], so safe code cannot pass a stack pointers that are not its own.
pub struct TaskStack<S: Scheduler> {
    /// The first free slot. The owner writes it at each push and pop. It has cache lines of
    /// its own, because hardly any other thread touches it.
    top: CachePadded<AtomicPtr<Slot<S>>>,
    /// The oldest slot that is not stolen. Thieves poll this line and the line of the slot. The
    /// owner writes neither on its fast path.
    bottom: CachePadded<AtomicPtr<Slot<S>>>,
    /// See [`TaskStack::spawn_top`]. Only the owner touches it.
    spawn_top: CachePadded<AtomicPtr<Slot<S>>>,
    slots: Slots<S>,
}

impl<S: Scheduler> TaskStack<S> {
    /// Reserves a stack of `capacity` free slots, apart from pages with the hashes `others`.
    ///
    /// # Errors
    ///
    /// Returns the system's error if there is too little address space or memory.
    pub(crate) fn new(capacity: usize, others: Hashes) -> io::Result<TaskStack<S>> {
        let slots = Slots::new(capacity, others)?;
        Ok(TaskStack {
            top: CachePadded::new(AtomicPtr::new(slots.first)),
            bottom: CachePadded::new(AtomicPtr::new(slots.first)),
            spawn_top: CachePadded::new(AtomicPtr::new(slots.first)),
            slots,
        })
    }

    /// The oldest slot.
    pub fn first(&self) -> *mut Slot<S> {
        self.slots.first
    }

    /// One past the last slot that may be used. At least one more follows, so `bottom` always
    /// points at a slot that may be read. The owner opens the slots up to here as it needs them.
    #[inline(always)]
    pub(super) fn end(&self) -> *mut Slot<S> {
        self.slots.end
    }

    /// Returns the first slot above every task. For threads other than the owner's it is only a
    /// hint.
    #[inline(always)]
    pub fn top(&self) -> *mut Slot<S> {
        // Relaxed: only the owner writes it.
        self.top.load(Ordering::Relaxed)
    }

    /// Thief: returns the top, and acquires the contents of the slots below it.
    pub fn acquire_top(&self) -> *mut Slot<S> {
        self.top.load(Ordering::Acquire)
    }

    /// Owner only: sets the top.
    #[inline(always)]
    pub fn set_top(&self, slot: *mut Slot<S>, order: Ordering) {
        self.top.store(slot, order);
    }

    /// Owner only: returns whether a task may be pushed to `slot` because it is the top. A
    /// stale token names another slot: one below the top, with live slots above it, or one
    /// above the top.
    #[inline(always)]
    pub(super) fn is_top(&self, slot: *mut Slot<S>) -> bool {
        slot == self.top()
    }

    /// Returns whether `slot`, which is at or below the top, is certainly not the end. The answer
    /// is false for the end and for one other slot in a thousand; [`Self::make_room`] then decides.
    /// Pushes go from slot to slot, so none skips the end.
    #[inline(always)]
    pub(super) fn has_room_at(&self, slot: *mut Slot<S>) -> bool {
        // Loom's slots are larger than a cache line.
        const { assert!(size_of::<Slot<S>>() == SLOT || cfg!(loom)) };
        !cfg!(loom) && !slot.addr().is_multiple_of(BOUNDARY)
    }

    /// Returns the oldest slot that is not stolen. The value may be stale, unless the caller holds
    /// that slot.
    pub fn bottom(&self) -> *mut Slot<S> {
        // Relaxed: the thread that claims the slot validates it.
        self.bottom.load(Ordering::Relaxed)
    }

    /// Sets the bottom. Only for the thread that holds the slot there.
    pub fn set_bottom(&self, slot: *mut Slot<S>) {
        // Relaxed: the store carries no data. A thread that claims a task acquires, from that
        // task's state, every move of the bottom before its publication.
        self.bottom.store(slot, Ordering::Relaxed);
    }

    /// Owner only: returns the slot one past the highest spawn or future on the stack, or a slot above that while the
    /// oldest task of a frame runs. A spawn or future stays on the stack when the code around it goes on, and the slots
    /// below it are closed.
    pub fn spawn_top(&self) -> *mut Slot<S> {
        self.spawn_top.load(Ordering::Relaxed)
    }

    /// Owner only: sets `spawn_top`.
    pub(crate) fn set_spawn_top(&self, slot: *mut Slot<S>) {
        self.spawn_top.store(slot, Ordering::Relaxed);
    }

    /// The slot at the bottom.
    pub fn oldest(&self) -> &Slot<S> {
        // SAFETY: `bottom` always points into the slots, because memory has one more slot than is
        // ever used. The slots live as long as `self`.
        unsafe { &*self.bottom() }
    }

    /// The slot in the middle of the stack.
    #[inline(always)]
    pub(super) fn half(&self) -> *mut Slot<S> {
        self.slots.half
    }

    /// Returns the number of slots below `slot`.
    pub fn position(&self, slot: *const Slot<S>) -> usize {
        (slot.addr() - self.first().addr()) / size_of::<Slot<S>>()
    }

    /// Owner only: opens more slots if the top is the end of the open ones. Returns whether a task may
    /// be pushed to the top. If not, every slot is taken, or the system has no memory for more.
    #[inline]
    pub(super) fn make_room(&self) -> bool {
        // Relaxed: only the owner writes it.
        self.top() < self.slots.open_end.load(Ordering::Relaxed) || self.open_more()
    }

    /// Owner only: opens as many slots again as are open, or at least one piece. Returns false if it
    /// opens none.
    #[cold]
    pub(super) fn open_more(&self) -> bool {
        self.slots.open_more()
    }

    /// Returns the number of tasks from the bottom to the top, which are not stolen.
    pub fn unstolen(&self) -> usize {
        self.top().addr().saturating_sub(self.bottom().addr()) / size_of::<Slot<S>>()
    }

    /// Returns, as a hint, whether the stack has a task that is not stolen.
    pub fn has_unstolen(&self) -> bool {
        self.bottom() < self.top()
    }
}

impl<S: Scheduler> Drop for TaskStack<S> {
    fn drop(&mut self) {
        self.slots.are_free = self.top() == self.first();
    }
}

/// A fixed array of slots, all initially free.
struct Slots<S: Scheduler> {
    /// The start of the allocation.
    memory: *mut Slot<S>,
    /// The number of slots in the allocation, including those before the first and beyond the end.
    len: usize,
    /// The addresses that were open from the start, because another stack has had the memory before.
    already_open: Range<usize>,
    /// Whether every task that was in a slot is gone.
    are_free: bool,
    first: *mut Slot<S>,
    /// One past the last slot that may be used before more slots are opened. Only the owner writes
    /// it, on its slow path.
    open_end: AtomicPtr<Slot<S>>,
    half: *mut Slot<S>,
    end: *mut Slot<S>,
}

// SAFETY: `Slots` owns its memory as a boxed slice would, and may drop it on any thread. Threads
// share slots only through their atomic state.
unsafe impl<S: Scheduler> Send for Slots<S> {}
// SAFETY: only the owner of the stack writes `open_end`, and the other fields never change. Threads
// share slots only through their atomic state.
unsafe impl<S: Scheduler> Sync for Slots<S> {}

impl<S: Scheduler> Slots<S> {
    /// Reserves at least `capacity` slots, up to the next [`BOUNDARY`], and one more beyond the
    /// end. The first of them is apart from pages with the hashes `others`. Opens those up to the first
    /// `BOUNDARY`.
    fn new(capacity: usize, others: Hashes) -> io::Result<Slots<S>> {
        let len = capacity
            .checked_add(MAX_TASKS_SKIP / SLOT + BOUNDARY / SLOT + 1)
            .filter(|&len| len <= isize::MAX as usize / SLOT)
            .ok_or(io::ErrorKind::OutOfMemory)?;
        let (memory, already_open) = memory::allocate(len)?;
        let first = memory.wrapping_byte_add(first_apart(memory.addr(), others));
        let last = memory.wrapping_add(len - 1);
        let end = match cfg!(loom) {
            false => last.map_addr(|last| last - last % BOUNDARY),
            true => last,
        };
        let open_end = match cfg!(loom) {
            false => first.map_addr(|first| (first + 1).next_multiple_of(BOUNDARY)),
            true => end,
        };
        let slots = Slots {
            memory,
            len,
            already_open,
            are_free: false,
            first,
            open_end: AtomicPtr::new(open_end),
            // SAFETY: both are slots of the allocation, and the end is not below the first one.
            half: first.wrapping_add(unsafe { end.offset_from_unsigned(first) } / 2),
            end,
        };
        slots.open(first, open_end)?;
        Ok(slots)
    }

    /// See [`TaskStack::open_more`].
    fn open_more(&self) -> bool {
        let open_end = self.open_end.load(Ordering::Relaxed);
        let rest = self.end.addr() - open_end.addr();
        let open = open_end.addr() - self.first.addr();
        let steps = [open.next_multiple_of(BOUNDARY), BOUNDARY];
        let ends = steps.map(|step| open_end.wrapping_byte_add(step.min(rest)));
        let mut ends = ends.into_iter().filter(|&end| end > open_end);
        let opened = ends.find(|&end| self.open(open_end, end).is_ok());
        if let Some(end) = opened {
            self.open_end.store(end, Ordering::Relaxed);
        }
        opened.is_some()
    }

    /// Opens the slots from `from` up to and including the one at `to`.
    fn open(&self, from: *mut Slot<S>, to: *mut Slot<S>) -> io::Result<()> {
        let is_open = |address| self.already_open.contains(&address);
        match is_open(from.addr()) && is_open(to.addr()) {
            true => Ok(()),
            // SAFETY: both slots lie in the memory of these slots.
            false => unsafe { memory::open(from, to) },
        }
    }
}

impl<S: Scheduler> Drop for Slots<S> {
    fn drop(&mut self) {
        let open_end = self.open_end.load(Ordering::Relaxed);
        // One piece, or two.
        let is_small = open_end.addr() - self.first.addr() <= 2 * BOUNDARY;
        let kept = (is_small && self.are_free).then_some(self.first..open_end);
        // SAFETY: `allocate` has returned the memory with this length. The pool drops its stacks after
        // its threads have ended, so nobody uses it any more. A slot whose task is gone is free.
        unsafe { memory::free(self.memory, self.len, kept) };
    }
}
