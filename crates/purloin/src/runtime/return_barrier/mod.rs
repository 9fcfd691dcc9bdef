//! Return-barrier stealing, the default scheduler.
//!
//! # The idea
//!
//! A worker's tasks lie in place in a stack of slots (Wool's *direct task
//! stack*). A **barrier** divides it: slots at or above are *private*, and the
//! owner pushes and pops them with plain stores and a compare. Slots below are
//! *public*; thieves take them, oldest first, with one compare-and-swap and
//! without disturbing the owner: a **free steal**. The owner meets the barrier
//! only when it unwinds to it, as in Kumar's return barrier, and then moves it
//! down. A thief that finds nothing public **requests**: it sets the barrier
//! above everything, the owner's next push or pop takes its slow path, makes
//! its older tasks public and lowers the barrier to just above them. If the
//! owner does not answer, because it is in a long leaf, the thief **forces**
//! its way in.
//!
//! # Words, and who writes them
//!
//! | word | written by | read by |
//! |---|---|---|
//! | `top`: the first free slot | owner | owner's slow paths, forcing thieves |
//! | `barrier`: an address, or `REQUESTED`, or `REQUESTED｜FORCED` | thieves raise it; the owner lowers it from an address or `REQUESTED`; a forcing thief alone moves it from `FORCED` | owner at each push and pop |
//! | `bot`: the oldest task not stolen | whoever holds the slot it points at: the thief that steals it moves it up, the owner that joins with a stolen task moves it down | thieves |
//! | `published`: slots below are public or stolen, as are some above by force | owner | owner |
//! | `live`: spawns lie below, so the barrier is never lower | owner | owner |
//! | each slot's `state` | see below | all |
//! | each slot's contents | owner while it is free, thief between STOLEN and DONE | |
//!
//! # States of a slot
//!
//! ```text
//!            publish (owner)          claim (thief)          commit (thief)
//!   EMPTY ───────────────────► TASK ───────────────► BUSY ─────────────────► STOLEN
//!     ▲  ◄─────────────────────  ▲  ◄───────────────  ▲ │                      │
//!     │      take back (owner)   └───── give back ────┘ │                      │ run
//!     │                                                 │                      ▼
//!     │ ◄───────────────── force, give back ───────────►┘                     DONE
//!     └────────────────────────── release (owner) ──────────────────────────────┘
//! ```
//!
//! A private slot is EMPTY whether or not there is a task in it: the fast path
//! never touches the state. BUSY lasts for a handful of a thief's
//! instructions; the owner waits for it to pass.
//!
//! # Why each race is harmless
//!
//! **The last public task.** Owner ([`take_back`]) and thieves ([`claim`]) all
//! move its state away from TASK by compare-and-swap; one succeeds.
//!
//! [`take_back`]: super::Stack::take_back
//! [`claim`]: super::Reachable::claim
//!
//! **A stale `bot`.** A thief reads `bot`, sleeps, and meanwhile the tasks
//! below are joined and new ones pushed. Its claim may then hit a task that is
//! public, but not the oldest. It holds the slot BUSY, reads `bot` again, and
//! gives the task back if it moved. While it holds the slot at `bot`, `bot`
//! cannot move: up only by stealing that slot, down only by the owner, who
//! must take that slot back first.
//!
//! **A request that is not seen yet.** Harmless: what the owner does meanwhile
//! is private. A later push or pop sees it.
//!
//! **Two requests, and lowering.** The owner lowers by compare-and-swap from
//! the value that it has answered, so a request that came meanwhile stands.
//!
//! **Forcing.** The thief moves the barrier from `REQUESTED` to `FORCED`,
//! which only it may undo, and issues the heavy half of an asymmetric fence
//! ([`crate::sync::asymmetric`]). A pop stores `top`, then loads `barrier`. So
//! either the thief sees the pop in `top`, or the pop sees the barrier and goes
//! the slow way. There owner and thief repeat the pattern with ordinary
//! fences: the owner has stored `top` and reads the slot's state, the thief
//! has stored BUSY there and reads `top`. If only one sees the other, that one
//! yields; if both do, the thief gives up and the owner waits for that. A slot
//! that the owner pops and pushes again in between is no exception: the
//! thief then holds the new task, and its contents were released by the `top`
//! that the thief has acquired.
//!
//! The owner may answer the very request from which a forcing thief starts,
//! and may be half through when that thief has come, stolen and gone. Then
//! slots are stolen above where the owner is about to put the barrier, and
//! it would pop them as private. So the word counts forced steals in its lower
//! bits, and the owner's compare-and-swap fails.
//!
//! **A spawn above a token's top.** The token is stale, and its join pushes at the top in
//! memory (see [`super`](super)). The spawn lies below the barrier, so the pop of a join
//! below it takes the slow path. The barrier closes the spawn, but does not make it public:
//! its state stays EMPTY until a thief asks, and to have it back its owner looks at the
//! barrier once more, which by then does not stand at a request. After the last spawn the
//! barrier stays where it is until a join finds it in its way.
//!
//! What the stack is otherwise, and how a blocked worker waits, is told in
//! [`super`](super).
//!
//! Sources: Wool, section 3; Return barrier, section 5; Channel (steal
//! requests); the asymmetric Dekker pattern after Linux's membarrier(2).

#[cfg(all(loom, test))]
mod models;
mod stack;

use std::cell::Cell;
use std::io;

use self::stack::TaskStack;
use super::{Direct, Member, Reaching, StateWord};
use crate::sync::asymmetric;

/// Return-barrier stealing, the default scheduler.
///
/// Tasks are private to their worker until a thief asks; then the older ones
/// become public, and are stolen without disturbing their owner. A thief whose
/// victim does not answer takes its task by force, through Linux's
/// `membarrier`.
///
/// Sources: Wool, section 3 (the direct task stack, leapfrogging); Return
/// barrier, section 5; Channel (requests that the victim polls for).
#[derive(Clone, Debug)]
pub struct ReturnBarrier {
    forced_steals: bool,
    barrier: bool,
}

impl Default for ReturnBarrier {
    fn default() -> Self {
        ReturnBarrier {
            forced_steals: true,
            barrier: true,
        }
    }
}

impl ReturnBarrier {
    /// Whether thieves may take tasks from a silent victim by force; true at
    /// first. Where the system has no `membarrier` they never do, and wait for
    /// the victim's next push or pop.
    pub fn forced_steals(mut self, allowed: bool) -> Self {
        self.forced_steals = allowed;
        self
    }

    /// Whether a victim that was asked leaves the barrier where it is, with a number
    /// of tasks below it that thieves take for free; true at first.
    ///
    /// If not, each steal interrupts its victim: that offers one task, waits until a
    /// thief has taken it, and goes on. It is there to be compared with.
    ///
    /// Source: Return barrier, sections 2.4 and 5.2 (DefaultWS).
    pub fn barrier(mut self, stays: bool) -> Self {
        self.barrier = stays;
        self
    }
}

impl Direct for ReturnBarrier {
    type Header = StateWord;
    type Stack = TaskStack;
    type Thieves = Reaching;

    fn stack(&self, capacity: usize, _workers: usize) -> io::Result<TaskStack> {
        TaskStack::new(
            capacity,
            self.forced_steals && asymmetric::available(),
            self.barrier,
        )
    }

    fn enter_thread(member: &Member<Self>) {
        CURRENT.set(member);
    }

    fn leave_thread() {
        CURRENT.set(std::ptr::null());
    }
}

thread_local! {
    /// The worker of this scheduler that this thread is, if it is one: for
    /// those who have no token.
    static CURRENT: Cell<*const Member<ReturnBarrier>> = const { Cell::new(std::ptr::null()) };
}

/// The worker that runs on this thread.
#[inline(always)]
pub(crate) fn current<'m>() -> Option<&'m Member<ReturnBarrier>> {
    // SAFETY: set once by the worker's thread, which keeps the pool alive
    // until it ends; the reference is not sent to another thread.
    unsafe { CURRENT.get().as_ref() }
}
