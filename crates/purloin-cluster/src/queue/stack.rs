//! The owner's side of a queue: [`Stack`].

use std::marker::PhantomData;
use std::ptr;
use std::rc::Rc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::batch::Offer;
use super::layout::{Header, Layout, Origin, SlotHandle};
use super::memory::{Memory, OwnWord};
use crate::Task;
use crate::transport::Window;

/// The owner's private notes about a slot.
#[derive(Clone, Copy, Default)]
struct Mark {
    /// The number of the spawn to which a valid [`SlotHandle`] refers, or 0.
    serial: u64,
    /// Whether the slot is below the split, although no thief will ever copy it.
    is_skipped: bool,
    /// Whether the owner runs or has run the task in its slot, or has used its result.
    is_settled: bool,
    /// Whether the slot is free as soon as it is the newest.
    is_released: bool,
}

/// Copies a task to its slot.
///
/// Small tasks are copied field by field. The caller has just stored the fields of the task one
/// by one, and processors do not forward several small stores to one larger load. A vector copy
/// would wait about a dozen cycles for the stores.
///
/// # Safety
///
/// `place` must be aligned to eight bytes and valid for writes of `size_of::<T>()` bytes.
#[inline(always)]
unsafe fn write_fields<T: Task>(place: *mut u8, task: &T) {
    const SMALL: usize = 64;
    let from = ptr::from_ref(task);
    // SAFETY: the caller guarantees room and alignment. A size is a multiple of the alignment, so
    // the loops copy all bytes. The stores are volatile because the compiler would merge plain
    // stores into vector stores.
    unsafe {
        match align_of::<T>() {
            4 if size_of::<T>() <= SMALL => {
                let (from, to) = (from.cast::<u32>(), place.cast::<u32>());
                for word in 0..size_of::<T>() / 4 {
                    to.add(word).write_volatile(from.add(word).read());
                }
            }
            8 if size_of::<T>() <= SMALL => {
                let (from, to) = (from.cast::<u64>(), place.cast::<u64>());
                for word in 0..size_of::<T>() / 8 {
                    to.add(word).write_volatile(from.add(word).read());
                }
            }
            _ => place.cast::<T>().write_unaligned(*task),
        }
    }
}

/// The serial number of the next handle. Serial numbers are unique in a process, so a handle
/// from an earlier run is never taken for a valid one.
static NEXT_SERIAL: AtomicU64 = AtomicU64::new(1);

/// The tasks of a rank.
pub struct Stack<T, M = Rc<Window>> {
    memory: M,
    offer: Offer<OwnWord<M>>,
    rank: u32,
    /// The first free slot.
    top: usize,
    /// The first private slot.
    split: usize,
    /// The largest number of tasks to offer at a time.
    max_offered: usize,
    /// Whether the job has other ranks, which can steal.
    is_shared: bool,
    marks: Box<[Mark]>,
    /// The number of settled slots.
    settled: usize,
    tasks: PhantomData<T>,
}

impl<T: Task, M: Memory> Stack<T, M> {
    /// Creates an empty stack in a window of [`Layout::WINDOW_BYTES`] bytes. It offers up to
    /// `max_offered` tasks at a time.
    pub fn new(memory: &M, max_offered: usize) -> Self {
        Stack {
            memory: memory.clone(),
            offer: Offer::new(OwnWord(memory.clone())),
            rank: memory.rank() as u32,
            top: 0,
            split: 0,
            max_offered,
            is_shared: memory.is_shared(),
            marks: vec![Mark::default(); Layout::<T>::CAPACITY].into(),
            settled: 0,
            tasks: PhantomData,
        }
    }

    /// Returns the first free slot.
    #[inline]
    pub fn top(&self) -> usize {
        self.top
    }

    /// Returns whether there is room for this many tasks.
    #[inline]
    pub fn has_room_for(&self, tasks: usize) -> bool {
        Layout::<T>::CAPACITY - self.top >= tasks
    }

    /// Returns the number of tasks that wait to run or to be stolen.
    #[inline]
    pub fn ready(&mut self) -> usize {
        self.top - self.split + self.offer.unclaimed()
    }

    /// Returns the depths of the tasks that wait to run or to be stolen.
    pub fn ready_depths(&mut self) -> impl Iterator<Item = u32> {
        let slots = self.offer.unclaimed_slots().chain(self.split..self.top);
        let tasks = slots.filter(|&slot| !self.marks[slot].is_settled);
        tasks.map(|slot| self.origin_and_depth(slot).1)
    }

    /// Returns whether fewer than `tasks` tasks are ready.
    #[inline]
    pub fn has_fewer_than(&mut self, tasks: usize) -> bool {
        self.top - self.split < tasks && self.ready() < tasks
    }

    /// Returns whether a thief would find a task now.
    #[inline]
    pub fn has_offer(&mut self) -> bool {
        self.offer.unclaimed() > 0
    }

    fn header(&self, slot: usize) -> *mut Header {
        self.memory.local(Layout::<T>::slot(slot)).cast()
    }

    /// Returns the origin and the depth of the task in a slot that is in use.
    pub fn origin_and_depth(&self, slot: usize) -> (Origin, u32) {
        let header = self.header(slot);
        // SAFETY: the slot is inside the window and was written by a push. Other ranks write
        // only to the state and the work in its header, which are not read here.
        unsafe {
            let depth = (&raw const (*header).depth).read();
            ((&raw const (*header).origin).read(), depth as u32)
        }
    }

    fn state(&self, slot: usize) -> &AtomicU64 {
        self.memory.word(Layout::<T>::state(slot))
    }

    /// Returns the task in a slot that is in use.
    #[inline]
    pub fn task(&self, slot: usize) -> T {
        let payload = self.memory.local(Layout::<T>::payload(slot));
        // SAFETY: the payload is inside the window and was written by a push. Any bytes are a
        // valid `Pod` task.
        unsafe { payload.cast::<T>().read_unaligned() }
    }

    /// Returns the output in a slot whose task [is done](Stack::is_done), and the time that the
    /// task took in nanoseconds.
    pub fn output(&self, slot: usize) -> (T::Output, u64) {
        let payload = self.memory.local(Layout::<T>::payload(slot));
        // SAFETY: the payload is inside the window, and any bytes are a valid `Pod` output. The
        // thief wrote the result before it raised the state, and `is_done` read the state with
        // acquire ordering, so no rank writes here now.
        unsafe {
            let work = (&raw const (*self.header(slot)).work).read();
            (payload.cast::<T::Output>().read_unaligned(), work)
        }
    }

    /// Pushes a task that this rank has spawned. Returns its slot.
    #[inline]
    pub fn push(&mut self, task: T, depth: u32) -> usize {
        let origin = Origin {
            rank: self.rank,
            slot: self.top as u32,
        };
        self.push_stolen(task, depth, origin)
    }

    /// Pushes a task that was spawned at `origin`. Returns its slot.
    #[inline]
    pub fn push_stolen(&mut self, task: T, depth: u32, origin: Origin) -> usize {
        let slot = self.top;
        assert!(
            slot < Layout::<T>::CAPACITY,
            "callers check `has_room_for` first"
        );
        let payload = self.memory.local(Layout::<T>::payload(slot));
        // SAFETY: the assertion above keeps the slot inside the window, and slots are multiples
        // of eight bytes. The slot is free, so no other rank accesses it.
        unsafe {
            // The state and the work are reset when the slot is published; until then they are
            // not read.
            let header = self.header(slot);
            (&raw mut (*header).origin).write(origin);
            (&raw mut (*header).depth).write(depth.into());
            write_fields(payload, &task);
            // A thief adds the difference between the result and the old payload, so it must
            // know the old payload: the task, then zeros.
            let rest = Layout::<T>::OUTPUT_BYTES.saturating_sub(size_of::<T>());
            payload.add(size_of::<T>()).write_bytes(0, rest);
        }
        self.top = slot + 1;
        slot
    }

    /// Reverses the order of the newest tasks, from the slot `from` on. Offered tasks stay where
    /// they are. One task of this rank must have spawned all of them, so that only their payloads
    /// differ.
    pub fn reverse(&mut self, from: usize) {
        let (mut low, mut high) = (from.max(self.split), self.top);
        while low + 1 < high {
            high -= 1;
            let payloads = [low, high].map(|slot| self.memory.local(Layout::<T>::payload(slot)));
            // SAFETY: both slots are private, inside the window and different.
            unsafe { ptr::swap_nonoverlapping(payloads[0], payloads[1], size_of::<T>()) };
            low += 1;
        }
    }

    /// Offers the oldest private tasks if no task is offered, or adds to an offer that is nearly
    /// used up.
    #[inline]
    pub fn replenish_offer(&mut self) {
        if !self.is_shared || self.split == self.top {
            return;
        }
        let unclaimed = self.offer.unclaimed();
        let ready = unclaimed + self.top - self.split;
        if 2 * unclaimed < ready.min(self.max_offered) {
            if unclaimed > 0 {
                if self.settled > 0 {
                    // A batch ends before a settled slot, so the new batch might be the same
                    // as the old one.
                    return;
                }
                (self.split, _) = self.offer.withdraw();
            }
            self.publish_oldest_tasks();
        }
    }

    #[cold]
    fn publish_oldest_tasks(&mut self) {
        if self.settled > 0 {
            // Settled slots contain no tasks to steal.
            while self.split < self.top && self.marks[self.split].is_settled {
                self.split += 1;
            }
        }
        let max = (self.top - self.split).min(self.max_offered);
        let marks = &self.marks[self.split..][..max];
        let count = match self.settled {
            0 => max,
            _ => marks.iter().take_while(|mark| !mark.is_settled).count(),
        };
        if count > 0 {
            self.publish(self.split, count);
        }
    }

    fn publish(&mut self, first: usize, count: usize) {
        for slot in first..first + count {
            let header = self.header(slot);
            // SAFETY: the slot is inside the window and private, so no other rank accesses it.
            unsafe {
                (&raw mut (*header).state).write(0);
                (&raw mut (*header).work).write(0);
            }
        }
        // Makes the slots visible before the word that announces them.
        self.memory.sync();
        let skipped = self.offer.publish(first, count);
        for mark in &mut self.marks[first..first + skipped] {
            mark.is_skipped = true;
        }
        self.split = first + count;
    }

    /// Pops the newest task, whose slot is `slot`. Returns `None` if it is stolen; its slot then
    /// stays in use.
    #[inline]
    pub fn pop(&mut self, slot: usize) -> Option<T> {
        debug_assert_eq!(slot + 1, self.top);
        if slot < self.split && !self.reclaim(slot) {
            return None;
        }
        self.lower_to(slot);
        Some(self.task(slot))
    }

    /// Makes the task in a slot unavailable to thieves, whether it is the newest or not. Returns
    /// false if it is stolen.
    #[cold]
    fn reclaim(&mut self, slot: usize) -> bool {
        if slot >= self.split {
            return true;
        }
        if self.marks[slot].is_skipped {
            self.marks[slot].is_skipped = false;
            // Older slots that were offered are stolen or skipped, too, so the split may move down
            // to this slot.
            if slot + 1 == self.top {
                self.split = self.split.min(slot);
            }
            return true;
        }
        if !self.offer.contains(slot) {
            return false;
        }
        let end = self.split;
        let (first, left) = self.offer.withdraw();
        if left == 0 {
            return false;
        }
        self.split = first;
        if slot < first {
            // The task is stolen, but newer tasks of the batch are still here.
            return false;
        }
        debug_assert_eq!(first + left, end);
        // Offers the older half again.
        let again = (slot - first).div_ceil(2);
        if again > 0 {
            self.publish(first, again);
        }
        true
    }

    /// Returns whether the result of a stolen task has arrived or, for another rank's task,
    /// whether a thief has copied it.
    pub fn is_done(&self, slot: usize) -> bool {
        // Acquire: pairs with the thief's addition, so that `output` reads the result.
        self.state(slot).load(Ordering::Acquire) != 0
    }

    /// Writes the output of a task that this rank spawned, and that came back to it by a steal.
    pub fn write_output(&self, slot: usize, output: T::Output, work: u64) {
        let payload = self.memory.local(Layout::<T>::payload(slot));
        // SAFETY: the slot is inside the window. Only the rank that ran the task writes to a slot
        // that waits for its result, and this rank ran it.
        unsafe {
            (&raw mut (*self.header(slot)).work).write(work);
            payload.cast::<T::Output>().write_unaligned(output);
        }
        // Release: `is_done` makes the result visible to the frame that waits for it.
        self.state(slot).store(1, Ordering::Release);
    }

    /// Frees the newest slot, whose task was stolen and is done.
    pub fn free_newest(&mut self, slot: usize) {
        debug_assert_eq!(slot + 1, self.top);
        self.split = self.split.min(slot);
        self.lower_to(slot);
    }

    /// Frees the newest slot, and then the released slots below it.
    ///
    /// So the newest slot is never a released slot. Otherwise a task could start above a released
    /// slot, and that slot could be freed while the task runs.
    #[inline]
    fn lower_to(&mut self, slot: usize) {
        self.top = slot;
        if self.settled > 0 {
            self.free_released();
        }
    }

    #[cold]
    fn free_released(&mut self) {
        while self.top > 0 && self.marks[self.top - 1].is_released {
            self.settled -= 1;
            self.top -= 1;
            self.marks[self.top] = Mark::default();
        }
        self.split = self.split.min(self.top);
    }
}

/// Tasks whose results the owner needs in any order.
impl<T: Task, M: Memory> Stack<T, M> {
    /// Makes a handle to the task in a slot.
    pub fn handle(&mut self, slot: usize, depth: u32) -> SlotHandle {
        // Relaxed: the number only needs to be unique.
        let serial = NEXT_SERIAL.fetch_add(1, Ordering::Relaxed);
        self.marks[slot].serial = serial;
        SlotHandle {
            index: slot as u32,
            depth,
            serial,
        }
    }

    /// Returns whether the handle's task is still in its slot.
    pub fn is_valid(&self, handle: SlotHandle) -> bool {
        let index = handle.index as usize;
        index < self.top
            && self.marks[index].serial == handle.serial
            && !self.marks[index].is_released
    }

    /// Returns whether the owner runs or has run the task in its slot, or has used its result.
    pub fn is_settled(&self, slot: usize) -> bool {
        self.marks[slot].is_settled
    }

    /// Takes a task, the newest or not, to run it while it stays in its slot. Returns `None` if
    /// it is stolen.
    pub fn take_in_place(&mut self, slot: usize) -> Option<T> {
        let is_reclaimed = self.reclaim(slot);
        is_reclaimed.then(|| {
            // A settled slot is not offered, so no thief can take the task from now on.
            self.settle(slot);
            self.task(slot)
        })
    }

    /// Marks a slot as settled.
    pub fn settle(&mut self, slot: usize) {
        self.settled += usize::from(!self.marks[slot].is_settled);
        self.marks[slot].is_settled = true;
    }

    /// Releases a slot whose result is no longer needed. It is free as soon as it is the newest.
    pub fn release(&mut self, slot: usize) {
        self.settle(slot);
        self.marks[slot].is_released = true;
        self.free_released();
    }

    /// Invalidates the handle to a slot.
    pub fn invalidate_handle(&mut self, slot: usize) {
        self.marks[slot].serial = 0;
    }
}
