//! The private deque: only its owner touches the stack, others the slots that
//! they were sent.

use std::io;

use super::post::Post;
use super::strategy::Stealing;
use super::{Channel, Slot};
use crate::runtime::{Base, Floor, Stack, State, Taken};
use crate::sync::Ordering;

/// A worker's tasks, and its channels.
pub struct TaskStack {
    /// The bottom is the oldest task that was not sent to anyone.
    base: Base<Channel>,
    /// Up while there may be something in the mailbox, and while a request is in
    /// hand that could not be answered. Else above what was sent and what is live.
    floor: Floor,
    pub(super) post: Post,
}

impl TaskStack {
    pub(super) fn new(
        capacity: usize,
        workers: usize,
        stealing: Stealing,
    ) -> io::Result<TaskStack> {
        let base = Base::new(capacity)?;
        Ok(TaskStack {
            floor: Floor::new(&base),
            post: Post::new(workers, stealing),
            base,
        })
    }

    /// The first slot that is neither sent nor below a task that stays.
    fn open(&self) -> *mut Slot {
        self.base.bot().max(self.base.live())
    }

    /// Any thread: has the owner look into its mailbox.
    pub(super) fn notify(&self) {
        self.floor.notify();
    }

    /// Owner: leaves the floor up, so that the next push is offered.
    pub(super) fn keep_asked(&self) {
        self.floor.request();
    }

    /// Owner: takes the floor down; then it looks into the mailbox once more.
    pub(super) fn settle(&self) {
        self.floor.close(self.open());
    }

    /// Owner: closes what lies below a task that stays.
    pub(super) fn close(&self) {
        self.floor.raise(self.open());
    }

    /// Owner: the oldest tasks are to be sent.
    pub(super) fn give(&self, count: usize, mut send: impl FnMut(*mut Slot)) {
        for _ in 0..count {
            let slot = self.base.bot();
            debug_assert!(slot < self.base.top());
            // Release: whoever claims the task sees its contents.
            // SAFETY: below the top, so it lies in our memory.
            unsafe { &(*slot).header }.set(State::TASK, Ordering::Release);
            self.base.set_bot(slot.wrapping_add(1));
            send(slot);
        }
    }
}

/// How many of the tasks that were sent their owner looks at.
const MOST_LOOKED_AT: usize = 256;

impl TaskStack {
    /// Owner: tasks that were sent, and that nobody has begun, the newest first.
    pub(super) fn unbegun(&self) -> impl Iterator<Item = *mut Slot> {
        let sent = self.base.position(self.base.bot());
        let bot = self.base.bot();
        let slots = (1..=sent.min(MOST_LOOKED_AT)).map(move |i| bot.wrapping_sub(i));
        slots.filter(|&slot| is_unbegun(slot))
    }
}

/// Whether a task was sent, and is there for whoever claims it first.
pub(super) fn is_unbegun(slot: *mut Slot) -> bool {
    // Relaxed: whoever claims it looks again.
    // SAFETY: slots are there as long as the pool.
    unsafe { &(*slot).header }.get(Ordering::Relaxed) == State::TASK
}

impl Stack<Channel> for TaskStack {
    #[inline(always)]
    fn base(&self) -> &Base<Channel> {
        &self.base
    }

    #[inline(always)]
    fn is_open(&self, slot: *mut Slot) -> bool {
        self.floor.is_above(slot)
    }

    #[inline(always)]
    fn push(&self, slot: *mut Slot) {
        // Relaxed: for the owner alone.
        self.base.set_top(slot.wrapping_add(1), Ordering::Relaxed);
    }

    /// One store, one load, one compare.
    #[inline(always)]
    fn pop(&self, slot: *mut Slot) -> bool {
        self.base.set_top(slot, Ordering::Relaxed);
        self.floor.is_above(slot)
    }

    #[inline(always)]
    fn pop_kept(&self, slot: *mut Slot) -> bool {
        self.base.set_top(slot, Ordering::Relaxed);
        slot >= self.base.bot() && !self.is_asked()
    }

    fn reopen(&self, _slot: *mut Slot) {
        self.floor.lower(self.open());
    }

    fn is_awaited(&self, slot: *mut Slot) -> bool {
        !self.floor.is_above(slot)
    }

    /// A task that was sent is the owner's again if nobody has begun it.
    #[cold]
    fn take_back(&self, slot: *mut Slot) -> Taken {
        if slot < self.base.bot() {
            // SAFETY: `slot` was pushed, so it lies in our memory.
            let state = unsafe { &(*slot).header };
            loop {
                // Acquire: with the thief comes its number, later the result.
                match state.settled() {
                    // Relaxed: nobody else has written to the slot.
                    State::TASK => {
                        let taken = state.exchange(State::TASK, State::EMPTY, Ordering::Relaxed);
                        if taken.is_ok() {
                            break;
                        }
                    }
                    _ => {
                        // What runs above it meanwhile starts above it.
                        self.push(slot);
                        return Taken::Stolen;
                    }
                }
            }
            // All below was sent before it.
            self.base.set_bot(slot);
        }
        self.floor.lower(self.open());
        Taken::Back
    }

    #[cold]
    fn release(&self, slot: *mut Slot) {
        // Its state stays DONE until it is sent again.
        self.base.set_top(slot, Ordering::Relaxed);
        self.base.set_bot(slot);
        self.floor.lower(self.open());
    }

    fn is_asked(&self) -> bool {
        self.floor.is_asked()
    }
}
