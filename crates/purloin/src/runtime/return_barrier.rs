//! Return-barrier stealing, the protocol of the default scheduler.
//!
//! # The idea
//!
//! A worker's tasks lie in place in a stack of slots (Wool's *direct task stack*). A
//! **barrier** divides it. Slots at or above are *private*: the owner pushes and pops them
//! with plain stores and a compare. Slots below are *public*: thieves take them, oldest first,
//! with one compare-and-swap and without disturbing the owner, a **free steal**. The owner
//! meets the barrier only when it unwinds to it, as in Kumar's return barrier, and then moves
//! it down. A thief that finds nothing public **requests**: it sets the barrier above
//! everything. The owner's next push or pop takes its slow path, makes older tasks public and
//! lowers the barrier to just above them. If the owner does not answer, because it is in a
//! long leaf, the thief **forces** its way in.
//!
//! A thief that has just finished a task needs about a hundred nanoseconds to post its next
//! request. If the owner pushes sooner, and then runs a leaf, the thief finds nothing and has to
//! wait until it may force. But the owner can tell: when it collects the result of a stolen task,
//! a thief has just become free. So the owner **requests on the thief's behalf**, and its next push
//! publishes at once. It does so only if the task was worth a steal, by the time since the owner
//! last published. Otherwise the two would pass tiny tasks to and fro.
//!
//! For the same reason the **first spawn of a stolen task** becomes public at once. It is the
//! worker's oldest task, so the next thief finds it without a request. In a chain of producers it
//! is the next producer, and the thief would wait for half a consumer. The second closure of a join
//! is smaller than the stolen task, and often too small for a steal, so it stays private.
//!
//! # Words, and the threads that write them
//!
//! | word | written by | read by |
//! |---|---|---|
//! | `top`: the first free slot | owner | owner's slow paths, forcing thieves |
//! | `barrier`: an address, or `REQUESTED`, or `REQUESTED｜FORCED` | thieves raise it; the owner lowers it from an address or `REQUESTED`; a forcing thief alone moves it from `FORCED` | owner at each push and pop |
//! | `bottom`: the oldest task not stolen | the thread that holds the slot it points at: the thief that steals the task moves it up, the owner that joins with a stolen task moves it down | thieves |
//! | `published`: slots below are public or stolen, as are some above by force | owner | owner |
//! | `published_at`: the time at which the owner last made tasks public | owner | owner |
//! | `spawn_top`: spawns lie below, so the barrier is never lower | owner | owner |
//! | each slot's `state` | see below | all |
//! | each slot's `has_interrupted` | owner, before it publishes the slot | the thief, for the count of free steals |
//! | each slot's contents | owner while the slot is free, thief between STOLEN and DONE | |
//!
//! # States of a slot
//!
//! ```text
//!            publish (owner)          claim (thief)          commit (thief)
//!   EMPTY ───────────────────► TASK ───────────────► BUSY ─────────────────► STOLEN
//!     ▲  ◄─────────────────────  ▲  ◄───────────────  ▲ │                      │
//!     │      reclaim (owner)     └───── give back ────┘ │                      │ run
//!     │                                                 │                      ▼
//!     │ ◄───────────────── force, give back ───────────►┘                     DONE
//!     └────────────────────────── release (owner) ──────────────────────────────┘
//! ```
//!
//! A private slot is EMPTY whether or not it has a task: the fast path never touches the
//! state. BUSY lasts for a handful of a thief's instructions, and the owner waits for it to
//! pass.
//!
//! # Why each race is harmless
//!
//! **The last public task.** Owner ([`reclaim`]) and thieves ([`claim`]) all move its state
//! away from TASK by compare-and-swap; one succeeds.
//!
//! [`reclaim`]: crate::scheduler::TaskPool::reclaim
//! [`claim`]: crate::scheduler::PublicTasks::claim
//!
//! **A stale `bottom`.** A thief reads `bottom` and loses its processor. Meanwhile the owner joins
//! the tasks below and pushes new ones. The thief's claim may then hit a task that is public, but
//! not the oldest. The thief holds the slot BUSY, reads `bottom` again, and gives the task back if
//! `bottom` has moved. While a thief holds the slot at `bottom`, `bottom` cannot move: up only by
//! stealing that slot, down only by the owner, which must reclaim that slot first.
//!
//! **A request that the owner does not see yet.** The owner works on private slots meanwhile, which
//! thieves do not touch. A later push or pop sees the request.
//!
//! **Two requests, and lowering.** The owner lowers the barrier by compare-and-swap from the value
//! that it has answered, so a newer request survives.
//!
//! **Forcing.** The thief moves the barrier from `REQUESTED` to `FORCED`, which only this thief may
//! undo, and issues the heavy half of an asymmetric fence ([`crate::sync::asymmetric`]). A pop
//! stores `top`, then loads `barrier`. So either the thief sees the pop in `top`, or the pop sees
//! the barrier and takes the slow path. There owner and thief repeat the pattern with ordinary
//! fences: the owner has stored `top` and reads the slot's state, the thief has stored BUSY there
//! and reads `top`. If only one of them sees the other, that one yields. If both do, the thief
//! gives up, and the owner waits until it has. This also holds if the owner pops a slot and pushes
//! it again in between: the thief then holds the new task, and the `top` that the thief has
//! acquired released its contents.
//!
//! The owner may answer the same request from which a forcing thief starts. While the owner is
//! halfway through its answer, the thief may force its way in, steal and leave. Some slots above
//! the owner's new barrier are then stolen, and the owner would pop them as private. So the word
//! counts forced steals in its lower bits, and the owner's compare-and-swap fails.
//!
//! **A spawn above a token's top.** The token is stale, and its join pushes at the top in memory
//! (see [`super`]). The spawn lies below the barrier, so the pop of a join below it takes the slow
//! path. The barrier closes the spawn, but does not make it public: its state stays EMPTY until a
//! thief asks. To reclaim it, the owner loads the barrier once more, and finds no request there.
//! After the last spawn the barrier stays where it is until a join meets it.
//!
//! # What differs from the sources
//!
//! - In Wool all tasks are public, so that each push and pop is atomic. The crate `purloin-schedulers`
//!   has that as `DirectStack`.
//! - The return barrier lies in the execution stack, and a thief takes a continuation out of it. Here
//!   it is a word, and a thief takes the closure in a slot.
//! - The paper's thieves use no force, and never leave tiny tasks alone. The crate `purloin-schedulers`
//!   has the paper's two systems, `DefaultWs` and `ReturnBarrierWs`. Each is a [`BarrierScheduler`]
//!   without forced steals, so it is compiled without the fence and the exchange that only forced steals
//!   need.
//! - The paper's victims offer nothing unasked. Ours do in two cases, under every `BarrierScheduler`: when
//!   they begin to spawn in a stolen task, and when they have got back the result of one
//!   (`docs/decisions/requests-on-behalf-of-others.md`). A victim without the barrier waits until the
//!   thief has the task, but at most 20 µs, and not for a thief that sleeps: the paper's thieves never
//!   sleep. With the barrier, it makes up to 32 tasks public at a time.
//! - A steal request has no sender: it is one bit at the victim. In Channel it names its thief, and the
//!   victim sends tasks to it.
//! - The depth of a task, which a thief that samples compares, is its place in the stack
//!   (`docs/decisions/depth-of-tasks.md`).
//!
//! Sources: Wool, section 3; Return barrier, section 5; Channel (steal requests); the
//! asymmetric Dekker pattern after Linux's membarrier(2).

mod force;
mod options;
mod tasks;

pub use self::options::ReturnBarrier;
pub use self::tasks::{BarrierHeader, BarrierTasks};

use super::stack::TaskStack;
use super::steal::ReachIn;
use crate::scheduler::Scheduler;

/// The barrier word while a thief asks for tasks: this bit, and in the lower bits the number
/// of forced steals so far.
const REQUESTED: usize = 1 << (usize::BITS - 1);
/// Together with [`REQUESTED`]: a thief is forcing its way in.
const FORCED: usize = 1 << (usize::BITS - 2);

// SAFETY: the page above shows for each race that exactly one thread gets each task, and every race
// in it has a loom model. The methods below uphold the other rules of `crate::scheduler`.
unsafe impl Scheduler for ReturnBarrier {
    type Header = BarrierHeader;
    type TaskPool = BarrierTasks<Self>;
    type Protocol = ReachIn;

    const LEAVES_TINY_TASKS: bool = true;

    crate::slow_paths!();

    fn task_pool(&self, stack: TaskStack<Self>, _workers: usize) -> BarrierTasks<Self> {
        // SAFETY: the runtime gets the task pool.
        unsafe { BarrierTasks::new(self, stack) }
    }
}

impl BarrierScheduler for ReturnBarrier {
    const HAS_FORCE: bool = true;
    const BARRIER_STAYS: bool = true;

    fn allows_force(&self) -> bool {
        self.forced_steals
    }
}

/// A scheduler whose workers share their tasks by a barrier: what [`BarrierTasks`] asks of it.
///
/// The paper's two schedulers, in the crate `purloin-schedulers`, have no force, and are compiled
/// without what only force needs.
pub trait BarrierScheduler:
    Scheduler<Header = BarrierHeader, TaskPool = BarrierTasks<Self>> + Clone
{
    /// Whether thieves may take tasks by force under any options. If not, the owner's slow paths are
    /// compiled without the fence and the exchange that order them with a forcing thief.
    const HAS_FORCE: bool;

    /// Whether tasks stay public after an answer, so that thieves can steal them for free. If not, the
    /// victim offers one task, and waits until a thief has it.
    const BARRIER_STAYS: bool;

    /// Returns whether thieves take tasks by force, if [`Self::HAS_FORCE`].
    fn allows_force(&self) -> bool {
        Self::HAS_FORCE
    }
}
