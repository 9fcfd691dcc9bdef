//! A worker's private tasks: only the owner touches the stack. Thieves touch the slots that they
//! were sent.

use purloin::scheduler::sync::Ordering;
use purloin::scheduler::{
    Backoff, Reclaimed, Search, Slept, State, StateWord, Stolen, TaskPool, TaskStack, WorkerThread,
};

use super::network::Post;
use super::strategy::Stealing;
use super::{Channel, ChannelSlot, thief, victim};
use crate::floor::Floor;

/// A worker's tasks, and its channels.
pub struct ChannelTasks {
    /// The bottom is the oldest task that was not sent to a thief.
    stack: TaskStack<Channel>,
    /// At `REQUESTED` while the mailbox may hold a request, and while the owner holds one that it
    /// could not answer. Otherwise above the tasks that were sent and those that stay.
    floor: Floor,
    pub(super) post: Post,
}

impl ChannelTasks {
    pub(super) fn new(
        stack: TaskStack<Channel>,
        workers: usize,
        stealing: Stealing,
    ) -> ChannelTasks {
        ChannelTasks {
            floor: Floor::new(&stack),
            post: Post::new(workers, stealing),
            stack,
        }
    }

    /// The first slot that was not sent and has no spawn at or above it.
    fn open(&self) -> *mut ChannelSlot {
        self.stack.bottom().max(self.stack.spawn_top())
    }

    /// Any thread: has the owner look into its mailbox.
    pub(super) fn notify(&self) {
        self.floor.notify();
    }

    /// Owner: leaves the floor up, so that the next push is offered.
    pub(super) fn keep_requested(&self) {
        self.floor.request();
    }

    /// Owner: takes the floor down. Then it looks into the mailbox once more.
    pub(super) fn settle(&self) {
        self.floor.acknowledge(self.open());
    }

    /// Owner: closes the slots below a task that stays.
    pub(super) fn close(&self) {
        self.floor.raise(self.open());
    }

    /// Owner: passes the oldest `count` tasks to `send`.
    pub(super) fn give(&self, count: usize, mut send: impl FnMut(*mut ChannelSlot)) {
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

    /// Owner: the tasks that were sent and that no thief has begun, the newest first.
    pub(super) fn unbegun(&self) -> impl Iterator<Item = *mut ChannelSlot> {
        let sent = self.stack.position(self.stack.bottom());
        let bottom = self.stack.bottom();
        let slots = (1..=sent.min(MAX_EXAMINED)).map(move |i| bottom.wrapping_sub(i));
        slots.filter(|&slot| is_unbegun(slot))
    }
}

/// Maximum number of sent tasks that their owner examines.
const MAX_EXAMINED: usize = 256;

/// Returns whether a task was sent, and the first thread that claims it may have it.
pub(super) fn is_unbegun(slot: *mut ChannelSlot) -> bool {
    // Relaxed: the thread that claims it looks again.
    // SAFETY: slots live as long as the pool.
    unsafe { &*slot }.header().get(Ordering::Relaxed) == State::TASK
}

// SAFETY: as for `Scheduler`.
unsafe impl TaskPool<Channel> for ChannelTasks {
    #[inline(always)]
    fn stack(&self) -> &TaskStack<Channel> {
        &self.stack
    }

    #[inline(always)]
    fn is_open(&self, slot: *mut ChannelSlot) -> bool {
        self.floor.is_open(slot)
    }

    #[inline(always)]
    fn push(&self, slot: *mut ChannelSlot) {
        // Relaxed: for the owner alone.
        self.stack.set_top(slot.wrapping_add(1), Ordering::Relaxed);
    }

    /// One store, one load, one compare.
    #[inline(always)]
    fn pop(&self, slot: *mut ChannelSlot) -> bool {
        self.stack.set_top(slot, Ordering::Relaxed);
        self.floor.is_open(slot)
    }

    #[inline(always)]
    fn pop_spawn(&self, slot: *mut ChannelSlot) -> bool {
        self.stack.set_top(slot, Ordering::Relaxed);
        slot >= self.stack.bottom() && !self.is_requested()
    }

    fn reopen(&self, _slot: *mut ChannelSlot) {
        self.floor.lower(self.open());
    }

    /// A task that was sent is the owner's again if no thief has begun it.
    #[cold]
    fn reclaim(&self, slot: *mut ChannelSlot) -> Reclaimed {
        if slot < self.stack.bottom() {
            // SAFETY: the owner has pushed `slot`, so it lies in the stack.
            let state = unsafe { &*slot }.header();
            loop {
                // Acquire: with STOLEN comes the thief's number, with DONE the result.
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
            // The owner sent all tasks below before this one.
            self.stack.set_bottom(slot);
        }
        self.floor.lower(self.open());
        Reclaimed::Owned
    }

    #[cold]
    fn release(&self, slot: *mut ChannelSlot) {
        // The slot's state stays DONE until the owner sends it again.
        self.stack.set_top(slot, Ordering::Relaxed);
        self.stack.set_bottom(slot);
        self.floor.lower(self.open());
    }

    fn is_requested(&self) -> bool {
        self.floor.is_requested()
    }

    // Thieves send messages.

    fn serve(me: &WorkerThread<Channel>) {
        victim::serve(me);
    }

    fn spawned(me: &WorkerThread<Channel>) {
        victim::spawned(me);
    }

    fn requesters(me: &WorkerThread<Channel>) -> usize {
        victim::requesters(me)
    }

    fn before_outside_work(me: &WorkerThread<Channel>) {
        thief::before_outside_work(me);
    }

    fn look(search: &mut Search<'_, Channel>) -> Option<Stolen<Channel>> {
        thief::look(search)
    }

    fn sleep(search: &mut Search<'_, Channel>) -> Slept {
        thief::sleep(search)
    }

    fn serve_while_blocked(me: &WorkerThread<Channel>, holder: Option<&WorkerThread<Channel>>) {
        victim::serve_while_blocked(me, holder);
    }

    /// Thieves send messages, which the worker must answer.
    fn offer_all(me: &WorkerThread<Channel>) -> bool {
        victim::serve_while_blocked(me, None);
        false
    }

    fn leapfrog(
        me: &WorkerThread<Channel>,
        holder: &WorkerThread<Channel>,
        outcome: &StateWord,
        backoff: &mut Backoff,
    ) -> Option<Stolen<Channel>> {
        thief::leapfrog(me, holder, outcome, backoff)
    }

    fn should_stay_awake(me: &WorkerThread<Channel>, _holder: &WorkerThread<Channel>) -> bool {
        thief::has_leapfrog_answer(me)
    }

    fn stop_leapfrogging(me: &WorkerThread<Channel>) {
        thief::stop_leapfrogging(me);
    }

    fn begin_stolen(me: &WorkerThread<Channel>) {
        thief::begin_stolen(me);
    }

    fn end_stolen(me: &WorkerThread<Channel>, outcome: &StateWord) {
        thief::end_stolen(me, outcome);
    }

    fn pass_on(_victim: &WorkerThread<Channel>) {}

    fn became_active(me: &WorkerThread<Channel>) {
        thief::became_active(me);
    }
}
