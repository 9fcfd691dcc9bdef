//! The owner's side of a queue: [`Stack`].

use std::marker::PhantomData;
use std::ptr;
use std::rc::Rc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::layout::{Head, Layout, Origin, SHARE, Slot};
use super::share::{MOST_OFFERED, Offer, Word};
use crate::Task;
use crate::transport::Window;

/// A rank's own part of a window, which others reach.
pub trait Memory: Clone {
    /// The number of this rank.
    fn rank(&self) -> usize;

    /// Whether there are other ranks.
    fn is_shared(&self) -> bool;

    fn local(&self, offset: usize) -> *mut u8;

    /// A word that others change.
    fn word(&self, offset: usize) -> &AtomicU64;

    /// Adds to a word that others add to, and returns what it was.
    fn fetch_add(&self, offset: usize, value: u64) -> u64;

    /// Makes what was written visible to others.
    fn sync(&self);
}

impl Memory for Rc<Window> {
    fn rank(&self) -> usize {
        self.world().rank()
    }

    fn is_shared(&self) -> bool {
        self.world().ranks() > 1
    }

    #[inline(always)]
    fn local(&self, offset: usize) -> *mut u8 {
        Window::local(self, offset)
    }

    #[inline(always)]
    fn word(&self, offset: usize) -> &AtomicU64 {
        Window::word(self, offset)
    }

    fn fetch_add(&self, offset: usize, value: u64) -> u64 {
        Window::fetch_add(self, self.world().rank(), offset, value)
    }

    fn sync(&self) {
        Window::sync(self);
    }
}

/// A rank's own word.
struct OwnWord<M>(M);

impl<M: Memory> Word for OwnWord<M> {
    #[inline(always)]
    fn load(&self) -> u64 {
        // Relaxed: only numbers of slots, whose contents are this rank's own.
        self.0.word(SHARE).load(Ordering::Relaxed)
    }

    fn fetch_add(&self, value: u64) -> u64 {
        self.0.fetch_add(SHARE, value)
    }
}

/// What this rank notes about a slot.
#[derive(Clone, Copy, Default)]
struct Mark {
    /// The number of the spawn whose result is asked for by a [`Slot`], or 0.
    serial: u64,
    /// It is below the split, but nobody will come for it.
    is_kept: bool,
    /// It was run, or its result has come, and lies there.
    is_settled: bool,
    /// Nobody asks for it any more.
    is_released: bool,
}

/// Copies a task to its slot.
///
/// A small one field by field: the task has just been made, and processors do not forward
/// what was stored in pieces to a load of several of them. A copy by vectors waits for
/// that, for a dozen cycles.
///
/// # Safety
///
/// There is room for it.
#[inline(always)]
unsafe fn write_fields<T: Task>(place: *mut u8, task: &T) {
    const SMALL: usize = 64;
    let from = ptr::from_ref(task);
    // SAFETY: by the caller; slots are aligned to eight bytes. Volatile, as the compiler would
    // join the stores.
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

/// The number of the next promise: none is that of another, also not in another run.
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
    /// Whether there is anybody to offer anything to.
    is_shared: bool,
    marks: Box<[Mark]>,
    /// How many slots are settled.
    settled: usize,
    tasks: PhantomData<T>,
}

impl<T: Task, M: Memory> Stack<T, M> {
    /// An empty one, in a window of [`Layout::WINDOW`] bytes.
    pub fn new(memory: &M) -> Self {
        Stack {
            memory: memory.clone(),
            offer: Offer::new(OwnWord(memory.clone())),
            rank: memory.rank() as u32,
            top: 0,
            split: 0,
            is_shared: memory.is_shared(),
            marks: vec![Mark::default(); Layout::<T>::CAPACITY].into(),
            settled: 0,
            tasks: PhantomData,
        }
    }

    /// The first free slot.
    #[inline]
    pub fn top(&self) -> usize {
        self.top
    }

    /// Whether there is room for so many.
    #[inline]
    pub fn has_room_for(&self, tasks: usize) -> bool {
        Layout::<T>::CAPACITY - self.top >= tasks
    }

    /// How many tasks wait to be run or stolen.
    #[inline]
    pub fn ready(&mut self) -> usize {
        self.top - self.split + self.offer.left()
    }

    /// Whether fewer tasks than that are ready.
    #[inline]
    pub fn has_fewer_than(&mut self, tasks: usize) -> bool {
        self.top - self.split < tasks && self.ready() < tasks
    }

    /// Whether others find something here.
    #[inline]
    pub fn offers(&mut self) -> bool {
        self.offer.left() > 0
    }

    fn head_at(&self, slot: usize) -> *mut Head {
        self.memory.local(Layout::<T>::slot(slot)).cast()
    }

    /// Where the task in a slot of this rank's was spawned, and its level.
    pub fn head(&self, slot: usize) -> (Origin, u32) {
        let head = self.head_at(slot);
        // SAFETY: the slot was pushed, and others change nothing of its head but state and
        // work.
        unsafe {
            let level = (&raw const (*head).level).read();
            ((&raw const (*head).origin).read(), level as u32)
        }
    }

    fn state(&self, slot: usize) -> &AtomicU64 {
        self.memory.word(Layout::<T>::state(slot))
    }

    /// The task in a slot of this rank's.
    #[inline]
    pub fn task(&self, slot: usize) -> T {
        let place = self.memory.local(Layout::<T>::payload(slot));
        // SAFETY: it was pushed, and any bytes are a task.
        unsafe { place.cast::<T>().read_unaligned() }
    }

    /// The result in a slot, and what it took.
    pub fn output(&self, slot: usize) -> (T::Output, u64) {
        let place = self.memory.local(Layout::<T>::payload(slot));
        // SAFETY: any bytes are a result. Whoever has written it has raised the state
        // afterwards, which we have seen.
        unsafe {
            let work = (&raw const (*self.head_at(slot)).work).read();
            (place.cast::<T::Output>().read_unaligned(), work)
        }
    }

    /// Pushes a task of this rank.
    #[inline]
    pub fn push(&mut self, task: T, level: u32) -> usize {
        let origin = Origin {
            rank: self.rank,
            slot: self.top as u32,
        };
        self.push_from(task, level, origin)
    }

    /// Pushes a task from elsewhere.
    #[inline]
    pub fn push_from(&mut self, task: T, level: u32, origin: Origin) -> usize {
        let slot = self.top;
        assert!(slot < Layout::<T>::CAPACITY, "callers look for room first");
        let place = self.memory.local(Layout::<T>::payload(slot));
        // SAFETY: the slot is in the window, and free: nobody else looks at it.
        unsafe {
            // State and work are not looked at before the slot is published.
            let head = self.head_at(slot);
            (&raw mut (*head).origin).write(origin);
            (&raw mut (*head).level).write(level.into());
            write_fields(place, &task);
            // Whoever writes the result must know what was there.
            let rest = Layout::<T>::RESULT_END.saturating_sub(size_of::<T>());
            place.add(size_of::<T>()).write_bytes(0, rest);
        }
        self.top = slot + 1;
        slot
    }

    /// Turns around the order of the newest tasks, from this slot on, but for those that are
    /// offered already. All were spawned by the same task of this rank.
    pub fn reverse(&mut self, from: usize) {
        let (mut low, mut high) = (from.max(self.split), self.top);
        while low + 1 < high {
            high -= 1;
            let places = [low, high].map(|slot| self.memory.local(Layout::<T>::payload(slot)));
            // SAFETY: both are tasks in private slots, which do not overlap.
            unsafe { ptr::swap_nonoverlapping(places[0], places[1], size_of::<T>()) };
            low += 1;
        }
    }

    /// Offers the oldest tasks, if none are offered, or few of many.
    #[inline]
    pub fn share(&mut self) {
        if !self.is_shared || self.split == self.top {
            return;
        }
        let left = self.offer.left();
        let all = left + self.top - self.split;
        if 2 * left < all.min(MOST_OFFERED) {
            if left > 0 {
                if self.settled > 0 {
                    // It might be the same that is offered again.
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
            // Those are no tasks any more.
            while self.split < self.top && self.marks[self.split].is_settled {
                self.split += 1;
            }
        }
        let most = (self.top - self.split).min(MOST_OFFERED);
        let marks = &self.marks[self.split..][..most];
        let count = match self.settled {
            0 => most,
            _ => marks.iter().take_while(|mark| !mark.is_settled).count(),
        };
        if count > 0 {
            self.publish(self.split, count);
        }
    }

    fn publish(&mut self, first: usize, count: usize) {
        for slot in first..first + count {
            let head = self.head_at(slot);
            // SAFETY: the slot is in the window, and nobody else looks at it yet.
            unsafe {
                (&raw mut (*head).state).write(0);
                (&raw mut (*head).work).write(0);
            }
        }
        // What was written to the slots is there before the word says so.
        self.memory.sync();
        let kept = self.offer.publish(first, count);
        for mark in &mut self.marks[first..first + kept] {
            mark.is_kept = true;
        }
        self.split = first + count;
    }

    /// Takes the newest task off the stack. `None` if it is stolen: then it stays.
    #[inline]
    pub fn pop(&mut self, slot: usize) -> Option<T> {
        debug_assert_eq!(slot + 1, self.top);
        if slot < self.split && !self.take_back(slot) {
            return None;
        }
        self.lower_to(slot);
        Some(self.task(slot))
    }

    /// Takes a task, the newest or not, out of what is shared. False if it is stolen.
    #[cold]
    fn take_back(&mut self, slot: usize) -> bool {
        if slot >= self.split {
            return true;
        }
        if self.marks[slot].is_kept {
            self.marks[slot].is_kept = false;
            // All that is older and was offered is gone, or kept as well.
            if slot + 1 == self.top {
                self.split = self.split.min(slot);
            }
            return true;
        }
        if !self.offer.covers(slot) {
            return false;
        }
        let end = self.split;
        let (first, left) = self.offer.withdraw();
        if left == 0 {
            return false;
        }
        self.split = first;
        if slot < first {
            // Stolen; the newer ones of the batch are still there.
            return false;
        }
        debug_assert_eq!(first + left, end);
        // The older half is offered again.
        let again = (slot - first).div_ceil(2);
        if again > 0 {
            self.publish(first, again);
        }
        true
    }

    /// Whether a stolen task's result is there or, if it is another rank's, whether it
    /// has been copied.
    pub fn is_done(&self, slot: usize) -> bool {
        // Acquire: the result.
        self.state(slot).load(Ordering::Acquire) != 0
    }

    /// Writes the result of a task of this rank's that was stolen, and came back.
    pub fn deliver(&self, slot: usize, output: T::Output, work: u64) {
        let place = self.memory.local(Layout::<T>::payload(slot));
        // SAFETY: the slot waits for its result, which nobody else has.
        unsafe {
            (&raw mut (*self.head_at(slot)).work).write(work);
            place.cast::<T::Output>().write_unaligned(output);
        }
        // Release: the result.
        self.state(slot).store(1, Ordering::Release);
    }

    /// The newest slot is free again, whose task was stolen.
    pub fn release(&mut self, slot: usize) {
        debug_assert_eq!(slot + 1, self.top);
        self.split = self.split.min(slot);
        self.lower_to(slot);
    }

    /// The newest slot is free. So are those below it that nobody asks for any more:
    /// the newest is never one of these, so that no task begins above one, which might go
    /// while it runs.
    #[inline]
    fn lower_to(&mut self, slot: usize) {
        self.top = slot;
        if self.settled > 0 {
            self.trim();
        }
    }

    #[cold]
    fn trim(&mut self) {
        while self.top > 0 && self.marks[self.top - 1].is_released {
            self.settled -= 1;
            self.top -= 1;
            self.marks[self.top] = Mark::default();
        }
        self.split = self.split.min(self.top);
    }
}

/// Tasks whose results are asked for in any order.
impl<T: Task, M: Memory> Stack<T, M> {
    /// Notes that the result of the newest task will be asked for.
    pub fn promise(&mut self, slot: usize, level: u32) -> Slot {
        // Relaxed: only a number that nobody else has.
        let serial = NEXT_SERIAL.fetch_add(1, Ordering::Relaxed);
        self.marks[slot].serial = serial;
        Slot {
            index: slot as u32,
            level,
            serial,
        }
    }

    /// Whether a slot is still the one that was promised.
    pub fn has(&self, slot: Slot) -> bool {
        let index = slot.index as usize;
        index < self.top
            && self.marks[index].serial == slot.serial
            && !self.marks[index].is_released
    }

    /// Whether the result lies in the slot, and is this rank's own business.
    pub fn is_settled(&self, slot: usize) -> bool {
        self.marks[slot].is_settled
    }

    /// Takes a task, the newest or not, to run it while it stays in its slot. `None` if
    /// it is stolen.
    pub fn take(&mut self, slot: usize) -> Option<T> {
        // From now on nobody else must get it.
        let is_mine = self.take_back(slot);
        is_mine.then(|| {
            self.settle(slot);
            self.task(slot)
        })
    }

    /// The result of a slot is there, or will be before anybody asks for it.
    pub fn settle(&mut self, slot: usize) {
        self.settled += usize::from(!self.marks[slot].is_settled);
        self.marks[slot].is_settled = true;
    }

    /// Nobody asks for this slot any more. It is free as soon as it is the newest.
    pub fn let_go(&mut self, slot: usize) {
        self.settle(slot);
        self.marks[slot].is_released = true;
        self.trim();
    }

    /// The result of a slot is not asked for by its promise any more.
    pub fn forget(&mut self, slot: usize) {
        self.marks[slot].serial = 0;
    }
}
