//! A worker's task pool: private tasks, and tasks that were sent to thieves.
//!
//! Only the owner touches the stack. A thief touches the slots whose addresses it was sent.

use purloin::scheduler::sync::Ordering;
use purloin::scheduler::{Count, Reclaimed, Slot, State, Stolen, TaskPool, TaskStack};

use super::messages::{Channels, Kind, MAX_TASKS, SentTask, Situation};
use super::strategy::Amount;
use super::{Channel, Own, Worker};
use crate::floor::Floor;

/// A worker's tasks, and the channels by which its protocol shares them.
pub struct ChannelTasks {
    /// Its bottom is the oldest task that was not sent to a thief.
    stack: TaskStack<Channel>,
    /// Raised to `REQUESTED` while the mailbox may hold a new message, or while the owner has a
    /// request that it could not answer. Otherwise the floor is above the sent tasks and the spawns.
    floor: Floor,
    pub(super) channels: Channels,
}

impl ChannelTasks {
    pub(super) fn new(stack: TaskStack<Channel>, channels: Channels) -> Self {
        ChannelTasks {
            floor: Floor::new(&stack),
            channels,
            stack,
        }
    }

    /// Returns the first slot that is above all sent tasks and above all spawns.
    fn first_open(&self) -> *mut Slot<Channel> {
        self.stack.bottom().max(self.stack.spawn_top())
    }

    /// Any thread: makes the owner look into its mailbox at its next push or pop.
    pub(super) fn notify(&self) {
        self.floor.notify();
    }

    /// Owner: leaves the floor raised, so that its next push looks into the mailbox.
    pub(super) fn keep_floor_raised(&self) {
        self.floor.request();
    }

    /// Owner: lowers the floor from `REQUESTED`. Afterwards the owner looks into the mailbox once
    /// more.
    pub(super) fn take_floor_down(&self) {
        self.floor.acknowledge(self.first_open());
    }

    /// Owner: a stolen task begins. [`Self::has_pushed`] tells later whether it has had children.
    pub(super) fn mark_top(&self) {
        // SAFETY: only the owner calls this, and the slot is the top of its stack. A stack keeps one more
        // slot open than it uses.
        unsafe { (*self.stack.top()).mark() };
    }

    /// Owner: returns whether the stolen task, which has ended, has pushed anything.
    pub(super) fn has_pushed(&self) -> bool {
        // SAFETY: only the owner calls this. The top is where it was when the stolen task began.
        !unsafe { (*self.stack.top()).is_marked() }
    }

    /// Owner: keeps the floor raised, or lowers it.
    pub(super) fn set_floor(&self, is_raised: bool) {
        match is_raised {
            true => self.keep_floor_raised(),
            false => self.take_floor_down(),
        }
    }

    /// Owner: closes the slots below a spawn that was just pushed. Returns whether the mailbox may hold a
    /// message.
    pub(super) fn close_below_spawn(&self) -> bool {
        self.floor.raise(self.first_open());
        self.is_requested()
    }

    /// Owner: returns whether the mailbox may hold a new message, or the owner has a request that it
    /// could not answer.
    pub(super) fn is_requested(&self) -> bool {
        self.floor.is_requested()
    }

    /// Owner: returns the number of tasks that it has not sent.
    pub(super) fn unstolen(&self) -> usize {
        self.stack.unstolen()
    }

    /// Owner: marks its oldest `count` tasks as sent, and passes their addresses to `send`.
    pub(super) fn send_oldest(&self, count: usize, mut send: impl FnMut(*mut Slot<Channel>)) {
        for _ in 0..count {
            let slot = self.stack.bottom();
            debug_assert!(slot < self.stack.top());
            // Release: the thread that claims the task sees its contents.
            // SAFETY: the slot is below the top, so it lies in the stack.
            unsafe { &*slot }
                .header()
                .set(State::TASK, Ordering::Release);
            self.stack.set_bottom(slot.wrapping_add(1));
            send(slot);
        }
    }

    /// Owner: adds its oldest tasks to the answer of a request. If it has sent them all, and the
    /// request is not about to get a part of a loop, adds sent tasks that no thief has claimed.
    pub(super) fn answer_with_own(
        &self,
        owner: usize,
        (kind, amount): (Kind, Amount),
        situation: Situation,
        tasks: &mut Vec<SentTask>,
    ) {
        let count = amount.of(self.unstolen()).min(MAX_TASKS);
        self.send_oldest(count, |slot| tasks.push(SentTask { slot, owner }));
        if count == 0 && kind == Kind::Any && situation != Situation::InLoop {
            // The first thief to claim a task gets it.
            let sent = self.unclaimed().map(|slot| SentTask { slot, owner });
            tasks.extend(sent.take(MAX_TASKS));
            let surplus = tasks.len() - amount.of(tasks.len());
            tasks.drain(..surplus);
        }
    }

    /// Owner: returns the sent tasks that no thief has claimed, the newest first.
    fn unclaimed(&self) -> impl Iterator<Item = *mut Slot<Channel>> {
        let sent = self.stack.position(self.stack.bottom());
        let bottom = self.stack.bottom();
        let slots = (1..=sent.min(MAX_EXAMINED)).map(move |i| bottom.wrapping_sub(i));
        slots.filter(|&slot| is_unclaimed(slot))
    }
}

/// Maximum number of sent tasks that their owner examines.
const MAX_EXAMINED: usize = 256;

/// Returns, as a hint, whether the task in `slot` was sent and no thread has claimed it.
pub(super) fn is_unclaimed(slot: *mut Slot<Channel>) -> bool {
    // Relaxed: the thread that claims the task checks again.
    // SAFETY: slots live as long as the pool.
    unsafe { &*slot }.header().get(Ordering::Relaxed) == State::TASK
}

/// Thief: claims the sent task in `slot`, if no other thread has claimed it and `may_take` allows
/// it while the slot is held. Returns whether the task is the thief's.
///
/// The slot may hold a newer task by now. If its owner has sent the newer task, to any thief, this
/// thief may take it.
pub(super) fn claim(slot: *mut Slot<Channel>, thief: usize, may_take: impl Fn() -> bool) -> bool {
    // SAFETY: slots live as long as the pool.
    let state = unsafe { &*slot }.header();
    // Acquire: the contents of the task.
    if state
        .exchange(State::TASK, State::BUSY, Ordering::Acquire)
        .is_err()
    {
        return false;
    }
    let may_take = may_take();
    let next = if may_take {
        State::stolen(thief)
    } else {
        State::TASK
    };
    // Release: the next thread that claims the task acquires from this store the owner's writes.
    state.set(next, Ordering::Release);
    may_take
}

/// Thief: claims the first of the received tasks from `next` that its owner has not taken back. The
/// steal `is_free` if the worker has not sent a request for it.
pub(super) fn claim_received(
    me: Own<'_>,
    is_free: bool,
    mut next: impl FnMut() -> Option<SentTask>,
) -> Option<Stolen<Channel>> {
    loop {
        let sent = next()?;
        if claim(sent.slot, me.index(), || true) {
            me.count(Count::Steals);
            if is_free {
                me.count(Count::FreeSteals);
            }
            // SAFETY: `claim` has taken the task, and has written the thief to its slot.
            return Some(unsafe { Stolen::new(sent.slot, &me.peers()[sent.owner]) });
        }
    }
}

/// Returns the channels of a worker.
pub(super) fn channels(worker: &Worker) -> &Channels {
    &worker.task_pool().channels
}

// SAFETY: the page of the protocol shows that exactly one thread gets each task: private tasks are
// the owner's, and for a sent task one atomic exchange of the slot's state decides.
unsafe impl TaskPool<Channel> for ChannelTasks {
    #[inline(always)]
    fn stack(&self) -> &TaskStack<Channel> {
        &self.stack
    }

    #[inline(always)]
    fn is_open(&self, slot: *mut Slot<Channel>) -> bool {
        self.floor.is_open(slot)
    }

    #[inline(always)]
    fn push(&self, slot: *mut Slot<Channel>) {
        // Relaxed: only the owner reads it.
        self.stack.set_top(slot.wrapping_add(1), Ordering::Relaxed);
    }

    /// One store, one load, one compare.
    #[inline(always)]
    fn pop(&self, slot: *mut Slot<Channel>, is_spawn: bool) -> bool {
        self.stack.set_top(slot, Ordering::Relaxed);
        match is_spawn {
            true => slot >= self.stack.bottom() && !self.is_requested(),
            false => self.floor.is_open(slot),
        }
    }

    fn reopen(&self, _slot: *mut Slot<Channel>) {
        self.floor.lower(self.first_open());
    }

    /// Takes back a task that was sent if no thief has claimed it.
    #[cold]
    fn reclaim(&self, slot: *mut Slot<Channel>) -> Reclaimed {
        if slot < self.stack.bottom() {
            // SAFETY: the owner has pushed `slot`, so it lies in the stack.
            let state = unsafe { &*slot }.header();
            loop {
                // Acquire: STOLEN carries the thief's number, and DONE publishes the result.
                match state.settled() {
                    // Relaxed: no other thread has written to the slot.
                    State::TASK => {
                        let taken = state.exchange(State::TASK, State::EMPTY, Ordering::Relaxed);
                        if taken.is_ok() {
                            break;
                        }
                    }
                    _ => {
                        // Tasks that the owner runs meanwhile start above it.
                        self.push(slot);
                        return Reclaimed::Stolen;
                    }
                }
            }
            // The owner sent all older tasks before this one.
            self.stack.set_bottom(slot);
        }
        self.floor.lower(self.first_open());
        Reclaimed::Owned
    }

    #[cold]
    fn release(&self, slot: *mut Slot<Channel>) {
        // The slot's state stays DONE until the owner sends it again.
        self.stack.set_top(slot, Ordering::Relaxed);
        self.stack.set_bottom(slot);
        self.floor.lower(self.first_open());
    }
}
