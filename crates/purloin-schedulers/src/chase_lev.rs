//! Work stealing over concurrent deques: the baseline of many papers, and the shortest example of
//! a scheduler.
//!
//! Tasks lie in place in the slots of a task stack, as under every scheduler here. A Chase-Lev
//! deque, from `crossbeam-deque`, holds their addresses and decides which thread runs them. The
//! owner pushes and pops at one end, thieves steal at the other. A thief needs no answer from the
//! owner. In return, each push costs a release store, and each pop a full fence.
//!
//! # States of a slot
//!
//! A slot is EMPTY; TASK from the push on; STOLEN once a thief that took its address has marked it;
//! and then DONE. An owner that finds its deque empty waits until the thief has written its number
//! to the slot.
//!
//! # Leapfrogging
//!
//! A deque does not let a thief hold a task and give it back. A blocked worker may take a task too
//! late, when the task that it waits for is done and its victim runs another task. In that rare
//! case it puts the task on a list of **returned** tasks. Thieves look there first, and the owner
//! looks there last. As long as a thief may return a task, the owner may still have a task to
//! offer, see [`TaskPool::offers_nothing`].
//!
//! # What differs from the sources
//!
//! - The deque holds addresses of slots. In the sources, it holds the tasks.
//! - Thieves sleep, and owners wake them by a floor, as under [`DirectStack`](crate::DirectStack).
//!
//! Sources: Channel (Chase-Lev WS in its comparisons); Chase and Lev, *Dynamic circular
//! work-stealing deque*; Lê and others, *Correct and efficient work-stealing for weak memory
//! models*.

use crossbeam_deque::{Steal, Stealer, Worker as Deque};
use purloin::scheduler::sync::{AtomicUsize, Mutex, Ordering, lock};
use purloin::scheduler::{
    Claim, Offer, PublicTasks, Publish, ReachIn, Reclaimed, Scheduler, ShortSpin, Slot, State,
    StateWord, TaskPool, TaskStack,
};

use crate::floor::Floor;

/// Work stealing over the concurrent deques of `crossbeam-deque`: the classic protocol, as a
/// baseline.
///
/// ```
/// use purloin::{Pool, Worker};
/// use purloin_schedulers::ChaseLev;
///
/// let pool = Pool::builder().scheduler(ChaseLev::default()).build()?;
/// assert_eq!(pool.run(|mut w| w.join(|_| 1, |_| 2)), (1, 2));
/// # Ok::<(), purloin::BuildError>(())
/// ```
///
/// Source: Channel (its comparisons).
#[derive(Clone, Debug, Default)]
pub struct ChaseLev(());

// SAFETY: the deque hands out each address once, and so does the list of returned tasks. A thief
// marks the slot before the owner may leave `reclaim`.
unsafe impl Scheduler for ChaseLev {
    type Header = StateWord;
    type TaskPool = ChaseLevTasks;
    type Protocol = ReachIn;

    purloin::slow_paths!();

    fn task_pool(&self, stack: TaskStack<Self>, _workers: usize) -> ChaseLevTasks {
        let deque = Deque::new_lifo();
        ChaseLevTasks {
            stealer: deque.stealer(),
            deque: OwnersDeque(deque),
            returned: Mutex::new(Vec::new()),
            returns: AtomicUsize::new(0),
            undecided: AtomicUsize::new(0),
            floor: Floor::new(&stack),
            stack,
        }
    }
}

type ChaseLevSlot = Slot<ChaseLev>;

/// The address of a task.
struct Address(*mut ChaseLevSlot);

// SAFETY: the task is `Send`, and only the thread that takes the address out of the deque or the
// list runs it.
unsafe impl Send for Address {}

/// Called before an operation of a deque. The deque has the standard library's atomics. On virtual cores its stores are
/// visible at once, also before earlier stores of the runtime, which no real machine allows. So these must be visible first.
#[inline(always)]
fn enter_deque() {
    #[cfg(purloin_virtual)]
    purloin::scheduler::sync::fence(Ordering::SeqCst);
}

/// The owner's end of a deque.
struct OwnersDeque(Deque<Address>);

// SAFETY: only the owner's thread uses the deque's end. The methods of `TaskPool` that touch it are
// for the owner only, and the runtime upholds that.
unsafe impl Sync for OwnersDeque {}

/// A worker's tasks. A deque holds their addresses.
pub struct ChaseLevTasks {
    stack: TaskStack<ChaseLev>,
    deque: OwnersDeque,
    stealer: Stealer<Address>,
    /// Tasks that thieves have given back.
    returned: Mutex<Vec<Address>>,
    /// The number of returned tasks.
    returns: AtomicUsize,
    /// The number of thieves that are about to steal a task, or to return one.
    undecided: AtomicUsize,
    floor: Floor,
}

impl ChaseLevTasks {
    /// Takes the wanted task from the list of returned tasks, or any task if none is named.
    fn take_returned(&self, wanted: Option<*mut ChaseLevSlot>) -> Option<*mut ChaseLevSlot> {
        // Relaxed: the lock orders, and a thread that misses a task here finds it later.
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

    fn give_back(&self, slot: *mut ChaseLevSlot) {
        let mut returned = lock(&self.returned);
        returned.push(Address(slot));
        // Relaxed: the thief's decrement of `undecided` comes after, and releases this.
        self.returns.store(returned.len(), Ordering::Relaxed);
    }

    /// Returns whether a thief could find a task.
    fn has_tasks(&self) -> bool {
        !self.stealer.is_empty() || self.returns.load(Ordering::Relaxed) > 0
    }

    fn steal(&self) -> Result<*mut ChaseLevSlot, Claim<ChaseLev>> {
        if let Some(slot) = self.take_returned(None) {
            return Ok(slot);
        }
        enter_deque();
        match self.stealer.steal() {
            Steal::Success(Address(slot)) => Ok(slot),
            Steal::Empty => Err(Claim::Nothing),
            Steal::Retry => Err(Claim::Lost),
        }
    }
}

// SAFETY: the deque hands out each address once, and so does the list of returned tasks. A thief
// marks the slot before the owner may leave `reclaim`.
unsafe impl TaskPool<ChaseLev> for ChaseLevTasks {
    #[inline(always)]
    fn stack(&self) -> &TaskStack<ChaseLev> {
        &self.stack
    }

    #[inline(always)]
    fn is_open(&self, slot: *mut ChaseLevSlot) -> bool {
        self.floor.is_open(slot)
    }

    #[inline(always)]
    fn push(&self, slot: *mut ChaseLevSlot) {
        self.stack.set_top(slot.wrapping_add(1), Ordering::Relaxed);
        // Relaxed: the deque's push below has a release store.
        // SAFETY: `slot` lies in the stack.
        unsafe { &*slot }
            .header()
            .set(State::TASK, Ordering::Relaxed);
        enter_deque();
        self.deque.0.push(Address(slot));
    }

    #[inline(always)]
    fn pop(&self, slot: *mut ChaseLevSlot, is_spawn: bool) -> bool {
        self.stack.set_top(slot, Ordering::Relaxed);
        if !is_spawn && !self.floor.is_open(slot) {
            return false;
        }
        enter_deque();
        self.deque.0.pop().is_some()
    }

    fn reopen(&self, _slot: *mut ChaseLevSlot) {
        self.floor.lower(self.stack.spawn_top());
    }

    #[cold]
    fn reclaim(&self, slot: *mut ChaseLevSlot) -> Reclaimed {
        // SAFETY: the owner has pushed `slot`, so it lies in the stack.
        let state = unsafe { &*slot }.header();
        let mut spin = ShortSpin::default();
        loop {
            enter_deque();
            // The deque hands out its newest task first, which is the task in `slot`.
            if self.deque.0.pop().is_some() || self.take_returned(Some(slot)).is_some() {
                return Reclaimed::Owned;
            }
            // Acquire: STOLEN carries the thief's number, and DONE publishes the result.
            if state.get(Ordering::Acquire) != State::TASK {
                // Tasks that the owner runs meanwhile lie above this slot.
                self.stack.set_top(slot.wrapping_add(1), Ordering::Relaxed);
                return Reclaimed::Stolen;
            }
            spin.pause();
        }
    }

    #[cold]
    fn release(&self, slot: *mut ChaseLevSlot) {
        self.stack.set_top(slot, Ordering::Relaxed);
        // The bottom serves only as a hint: for the depth of tasks, and whether tasks wait.
        self.stack.set_bottom(slot);
    }

    /// The order of the three checks matters. A thief counts as undecided before it empties the
    /// deque (the deque's steal orders the two), and it returns a task before it counts as decided.
    fn offers_nothing(&self) -> bool {
        self.deque.0.is_empty()
            && self.undecided.load(Ordering::Acquire) == 0
            && self.returns.load(Ordering::Relaxed) == 0
    }
}

// SAFETY: the deque gives out each address once, and so does the list of returned tasks. `claim` marks
// the slot as stolen before it returns.
unsafe impl PublicTasks<ChaseLev> for ChaseLevTasks {
    /// All tasks are public, so a request asks the owner only to wake a thief.
    #[inline]
    fn publish(&self, what: Publish) -> usize {
        let is_answered = match what {
            Publish::OnRequest => self.is_requested() && self.has_tasks(),
            Publish::Spawn | Publish::FirstSpawn => true,
            Publish::All => false,
        };
        usize::from(is_answered && self.floor.acknowledge(self.stack.spawn_top()))
    }

    fn is_requested(&self) -> bool {
        self.floor.is_requested()
    }

    fn offers(&self) -> Offer {
        match self.has_tasks() {
            true => Offer::Public,
            false => Offer::Nothing,
        }
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
        // Checks for tasks first, so that thieves that find none do not write. Checks `may_take`
        // before the steal, so that returned tasks are rare.
        if !self.has_tasks() || !may_take() {
            return Claim::Nothing;
        }
        // Relaxed: the deque's steal below has a full fence.
        self.undecided.fetch_add(1, Ordering::Relaxed);
        let claim = match self.steal() {
            Err(claim) => claim,
            Ok(slot) if !may_take() => {
                self.give_back(slot);
                Claim::Lost
            }
            Ok(slot) => {
                // Relaxed: no data depends on it.
                // SAFETY: the thief has the task, so the slot lies in the stack.
                unsafe { &*slot }
                    .header()
                    .set(State::stolen(thief), Ordering::Relaxed);
                self.stack.set_bottom(slot.wrapping_add(1));
                Claim::Stolen(slot)
            }
        };
        self.undecided.fetch_sub(1, Ordering::Release);
        claim
    }
}
