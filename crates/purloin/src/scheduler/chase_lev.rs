//! Work stealing over concurrent deques: the baseline that others compare with.
//!
//! Tasks lie in place in the slots of a task stack, as everywhere here; but who
//! may run them is decided by a deque of Chase and Lev's, of `crossbeam-deque`,
//! that holds their addresses. The owner pushes and pops at one end, thieves
//! steal at the other. There is nothing for the owner to ask or answer: each
//! push is a store and a release, each pop a full fence.
//!
//! # States of a slot
//!
//! EMPTY, then TASK from its push on, then STOLEN by the thief that took its
//! address, then DONE. An owner that finds its deque empty waits until the
//! task's thief has said who it is.
//!
//! # Leapfrogging
//!
//! A deque does not let a thief hold a task and give it back. So a blocked
//! worker that has taken one too late, when the task that it waits for is done
//! and the other is on to something else, puts it on a list of tasks
//! **returned**, where thieves look first, and in the end its owner. That is
//! rare. As long as a thief may give something back, the owner does not count as
//! one that has nothing to offer, see [`Stack::offers_nothing`].
//!
//! Sources: Channel (Chase-Lev WS in its comparisons); Chase and Lev, *Dynamic
//! circular work-stealing deque*; Lê and others, *Correct and efficient
//! work-stealing for weak memory models*.

use std::io;

use crossbeam_deque::{Steal, Stealer, Worker as Deque};

use crate::runtime::{self, Base, Claim, Direct, Floor, Reachable, Reaching, Stack};
use crate::runtime::{State, StateWord, Taken, Undecided};
use crate::sync::{AtomicUsize, Mutex, Ordering, lock};

type Slot = runtime::Slot<ChaseLev>;

/// Work stealing over `crossbeam-deque`'s concurrent deques: the classic, to
/// compare with.
///
/// ```
/// use purloin::{ChaseLev, Pool, Worker};
///
/// let pool = Pool::builder().scheduler(ChaseLev::default()).build()?;
/// assert_eq!(pool.run(|mut w| w.join(|_| 1, |_| 2)), (1, 2));
/// # Ok::<(), purloin::Error>(())
/// ```
///
/// Source: Channel (its comparisons).
#[derive(Clone, Debug, Default)]
pub struct ChaseLev(());

impl Direct for ChaseLev {
    type Header = StateWord;
    type Stack = TaskStack;
    type Thieves = Reaching;

    fn stack(&self, capacity: usize, _workers: usize) -> io::Result<TaskStack> {
        let base = Base::new(capacity)?;
        let deque = Deque::new_lifo();
        Ok(TaskStack {
            stealer: deque.stealer(),
            deque: OwnersDeque(deque),
            returned: Mutex::new(Vec::new()),
            returns: AtomicUsize::new(0),
            undecided: AtomicUsize::new(0),
            floor: Floor::new(&base),
            base,
        })
    }
}

/// The address of a task.
struct Address(*mut Slot);

// SAFETY: it is made to be taken elsewhere; who has it may run the task.
unsafe impl Send for Address {}

/// The owner's end.
struct OwnersDeque(Deque<Address>);

// SAFETY: used on the owner's thread only: the methods that touch it say so.
unsafe impl Sync for OwnersDeque {}

/// A worker's tasks.
pub struct TaskStack {
    base: Base<ChaseLev>,
    deque: OwnersDeque,
    stealer: Stealer<Address>,
    /// Tasks that thieves have given back.
    returned: Mutex<Vec<Address>>,
    /// How many there are.
    returns: AtomicUsize,
    /// How many thieves are about to steal, or to give back.
    undecided: AtomicUsize,
    floor: Floor,
}

/// What anyone may do.
impl TaskStack {
    /// Takes one of the returned tasks, or a certain one.
    fn take_returned(&self, wanted: Option<*mut Slot>) -> Option<*mut Slot> {
        // Relaxed: the lock orders; who misses one finds it later.
        if self.returns.load(Ordering::Relaxed) == 0 {
            return None;
        }
        let mut returned = lock(&self.returned);
        let is_wanted = |address: &Address| wanted.is_none_or(|wanted| wanted == address.0);
        let place = returned.iter().position(is_wanted)?;
        let Address(slot) = returned.swap_remove(place);
        self.returns.store(returned.len(), Ordering::Relaxed);
        Some(slot)
    }

    fn give_back(&self, slot: *mut Slot) {
        let mut returned = lock(&self.returned);
        returned.push(Address(slot));
        // Relaxed: before the release by which the thief has decided.
        self.returns.store(returned.len(), Ordering::Relaxed);
    }

    fn steal(&self) -> Result<*mut Slot, Claim<ChaseLev>> {
        if let Some(slot) = self.take_returned(None) {
            return Ok(slot);
        }
        match self.stealer.steal() {
            Steal::Success(Address(slot)) => Ok(slot),
            Steal::Empty => Err(Claim::Nothing),
            Steal::Retry => Err(Claim::Lost),
        }
    }
}

impl Stack<ChaseLev> for TaskStack {
    #[inline(always)]
    fn base(&self) -> &Base<ChaseLev> {
        &self.base
    }

    fn unstolen(&self) -> usize {
        self.deque.0.len() + self.returns.load(Ordering::Relaxed)
    }

    /// In this order: who has emptied the deque said before that he is undecided
    /// (the deque's steal orders the two), and who has decided has given back
    /// before.
    fn offers_nothing(&self) -> bool {
        self.deque.0.is_empty()
            && self.undecided.load(Ordering::Acquire) == 0
            && self.returns.load(Ordering::Relaxed) == 0
    }

    #[inline(always)]
    fn is_open(&self, slot: *mut Slot) -> bool {
        self.floor.is_above(slot)
    }

    #[inline(always)]
    fn push(&self, slot: *mut Slot) {
        self.base.set_top(slot.wrapping_add(1), Ordering::Relaxed);
        // Relaxed: the deque's release comes after.
        // SAFETY: `slot` is in our memory, and free.
        unsafe { &(*slot).header }.set(State::TASK, Ordering::Relaxed);
        self.deque.0.push(Address(slot));
    }

    #[inline(always)]
    fn pop(&self, slot: *mut Slot) -> bool {
        self.base.set_top(slot, Ordering::Relaxed);
        self.floor.is_above(slot) && self.deque.0.pop().is_some()
    }

    fn pop_kept(&self, slot: *mut Slot) -> bool {
        self.base.set_top(slot, Ordering::Relaxed);
        self.deque.0.pop().is_some()
    }

    fn reopen(&self, _slot: *mut Slot) {
        self.floor.lower(self.base.live());
    }

    fn is_awaited(&self, slot: *mut Slot) -> bool {
        !self.floor.is_above(slot)
    }

    #[cold]
    fn take_back(&self, slot: *mut Slot) -> Taken {
        // SAFETY: `slot` was pushed, so it lies in our memory.
        let state = unsafe { &(*slot).header };
        let mut undecided = Undecided::default();
        loop {
            // It is the newest, so it is the one that comes out.
            if self.deque.0.pop().is_some() || self.take_returned(Some(slot)).is_some() {
                return Taken::Back;
            }
            // Acquire: with the thief comes its number, later the result.
            if state.get(Ordering::Acquire) != State::TASK {
                // What runs above it meanwhile starts above it.
                self.base.set_top(slot.wrapping_add(1), Ordering::Relaxed);
                return Taken::Stolen;
            }
            undecided.pause();
        }
    }

    #[cold]
    fn release(&self, slot: *mut Slot) {
        self.base.set_top(slot, Ordering::Relaxed);
        // For the heuristic of `depth_of` only.
        self.base.set_bot(slot);
    }

    fn is_asked(&self) -> bool {
        self.floor.is_asked()
    }
}

impl Reachable<ChaseLev> for TaskStack {
    #[cold]
    fn answer(&self) -> usize {
        match self.is_asked() && self.offers() {
            true => self.close(),
            false => 0,
        }
    }

    fn close(&self) -> usize {
        usize::from(self.floor.close(self.base.live()))
    }

    /// They are.
    fn publish_all(&self) -> usize {
        0
    }

    fn offers(&self) -> bool {
        !self.stealer.is_empty() || self.returns.load(Ordering::Relaxed) > 0
    }

    fn hides(&self) -> bool {
        false
    }

    fn request(&self) -> bool {
        self.floor.request()
    }

    fn claim(
        &self,
        thief: usize,
        _is_silent: bool,
        may_take: impl Fn() -> bool,
    ) -> Claim<ChaseLev> {
        // A look first, so that thieves who find nothing do not write. And may we?
        // So that what is given back is rare.
        if !self.offers() || !may_take() {
            return Claim::Nothing;
        }
        // Relaxed: the deque's steal comes after, with a full fence.
        self.undecided.fetch_add(1, Ordering::Relaxed);
        let claim = match self.steal() {
            Err(claim) => claim,
            Ok(slot) if !may_take() => {
                self.give_back(slot);
                Claim::Lost
            }
            Ok(slot) => {
                // Relaxed: it carries no data.
                // SAFETY: we have its task, and so it is in the stack.
                unsafe { &(*slot).header }.set(State::stolen(thief), Ordering::Relaxed);
                self.base.set_bot(slot.wrapping_add(1));
                Claim::Stolen(slot)
            }
        };
        self.undecided.fetch_sub(1, Ordering::Release);
        claim
    }
}
