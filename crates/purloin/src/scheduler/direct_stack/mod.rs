//! The direct task stack of Wool, with all tasks public.
//!
//! # The idea
//!
//! Every task can be stolen from the moment it is pushed. Owner and thieves
//! exclude each other by the state of the slot alone: whoever moves it away
//! from TASK has the task. So each join pays for one atomic read-modify-write,
//! and a thief needs two cache lines: that of `bot` and that of the slot.
//!
//! Both published forms are here, as types: [`OneField`] with compare-and-swap
//! and [`TwoFields`], which needs a test-and-set only.
//!
//! # Words, and who writes them
//!
//! | word | written by | read by |
//! |---|---|---|
//! | `top`: the first free slot | owner | owner; others as a hint |
//! | `bot`: the oldest task not stolen | whoever holds the slot it points at: the thief that steals it moves it up, the owner that joins with a stolen task moves it down | thieves |
//! | `floor`: slots at or above are open | thieves raise it to `ASKED`; the owner sets it to an address | owner at each push and pop |
//! | each slot's state | see below | all |
//! | each slot's contents | owner while it is free, thief between STOLEN and DONE | |
//!
//! # States of a slot, in one field
//!
//! ```text
//!           push (owner)           claim (thief)          commit (thief)
//!   EMPTY ────────────────► TASK ───────────────► BUSY ─────────────────► STOLEN
//!     ▲                      │ ▲                   │                        │ run
//!     └──────────────────────┘ └───────────────────┘                        ▼
//!     ▲     pop (owner)            back out (thief)                       DONE
//!     └──────────────────────────── release (owner) ────────────────────────┘
//! ```
//!
//! # States of a slot, in two fields
//!
//! `taken` is TASK or EMPTY, and taking is a swap with EMPTY: whoever gets TASK
//! back has the task. BUSY is not told from EMPTY there. `alarm` is EMPTY when
//! the task is pushed, and becomes STOLEN and DONE by the thief that commits.
//! An owner whose swap has failed waits until the task is back in `taken` or
//! `alarm` has gone off.
//!
//! # Why each race is harmless
//!
//! **The last task.** Owner and thieves move its state away from TASK by one
//! atomic operation each; one succeeds.
//!
//! **A stale `bot`.** A thief reads `bot`, sleeps, and meanwhile the tasks
//! below are joined and new ones pushed. Its claim may then hit a task that is
//! not the oldest. It holds the slot, reads `bot` again, and backs out if it
//! has moved: gives the task back. While it holds the slot at `bot`, `bot`
//! cannot move: up only by stealing that slot, down only by the owner, who
//! must take that slot back first. What it reads is current, because the owner
//! moved `bot` before it pushed the task that the thief has just acquired.
//!
//! **A swap that comes too late** (two fields). It writes EMPTY over EMPTY. If
//! the slot was freed and pushed anew in between, the swap has that new task,
//! and `bot` tells whether it is the oldest.
//!
//! **Sleeping thieves.** Wool's thieves never sleep. Ours do, and ask first:
//! `floor` goes up to `ASKED`, the owner's next push takes its slow path,
//! wakes one, and lowers the floor. The price is one compare with a word that only
//! requests and spawns change. A push that was already past that compare is found by the
//! thief's second look, a millisecond later, see [`crate::sleep`].
//!
//! **A spawn above a token's top.** A join with the stale token starts at the top in
//! memory, above which there is nothing: that is how far the floor may always come down.
//! The floor is above the spawn, so the pop of a join below it takes the slow path.
//!
//! Source: Wool, section 3 (Figure 3); its one-field form in Faxén, Efficient
//! work stealing for fine grained parallelism, ICPP 2010.

#[cfg(all(loom, test))]
mod models;
mod one_field;
mod stack;
mod two_fields;

use std::io;
use std::marker::PhantomData;

pub use self::one_field::OneField;
use self::stack::{Fields, TaskStack};
pub use self::two_fields::TwoFields;
use crate::runtime::{Direct, Reaching};

/// Wool's direct task stack: all tasks are public, and whoever takes one from
/// its slot, owner or thief, does it by one atomic operation.
///
/// The baseline for [`ReturnBarrier`](crate::ReturnBarrier), which differs in
/// that its tasks are private until a thief asks.
///
/// ```
/// use purloin::{DirectStack, OneField, Pool, TwoFields, Worker};
///
/// let one = Pool::builder().scheduler(DirectStack::<OneField>::new()).build()?;
/// let two = Pool::builder().scheduler(DirectStack::<TwoFields>::new()).build()?;
/// assert_eq!(one.run(|mut w| w.join(|_| 1, |_| 2)), two.run(|mut w| w.join(|_| 1, |_| 2)));
/// # Ok::<(), purloin::Error>(())
/// ```
///
/// Source: Wool, section 3.
pub struct DirectStack<F: Fields = OneField>(PhantomData<fn() -> F>);

impl<F: Fields> DirectStack<F> {
    /// The scheduler; it has no options but its type.
    pub fn new() -> Self {
        DirectStack(PhantomData)
    }
}

// Derived, these would ask the same of `F`.
impl<F: Fields> Default for DirectStack<F> {
    fn default() -> Self {
        Self::new()
    }
}

impl<F: Fields> Clone for DirectStack<F> {
    fn clone(&self) -> Self {
        Self::new()
    }
}

impl<F: Fields> std::fmt::Debug for DirectStack<F> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("DirectStack").finish()
    }
}

impl<F: Fields> Direct for DirectStack<F> {
    type Header = F::Header;
    type Stack = TaskStack<F>;
    type Thieves = Reaching;

    fn stack(&self, capacity: usize, _workers: usize) -> io::Result<TaskStack<F>> {
        TaskStack::new(capacity)
    }
}
