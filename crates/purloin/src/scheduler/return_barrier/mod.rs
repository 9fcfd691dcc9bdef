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
//! | `published`: slots below are public or stolen | owner | owner |
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
//! **The last public task.** Owner ([`stack::TaskStack::take_back`]) and
//! thieves ([`stack::TaskStack::claim`]) all move its state away from TASK by
//! compare-and-swap; one succeeds.
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
//! **A top that is too low.** The top is in the tokens, by value, and in
//! memory. A token is made from memory at the start of each task, and the
//! memory is written at each push and pop, so it is exact wherever a task
//! starts: tasks taken while blocked, and token-free calls, begin above every
//! live slot. Only a spawn leaves a live slot above a token that exists
//! already; it lies below the barrier then, see [`finish`].
//!
//! # Waiting for a stolen task
//!
//! By leapfrogging: the blocked worker takes tasks from the thief only. When a
//! worker starts a stolen task, everything on its own stack is stolen: it was
//! idle, or it is blocked on its top task and thieves take the oldest first.
//! So what it offers while it runs the stolen task descends from that task. A
//! thief may finish, and start on something else, while the blocked worker
//! reaches into its stack; therefore the claim is confirmed only if, with the
//! slot held BUSY, the awaited task is still not done: as a task cannot end
//! before its descendants, and what we hold is either its descendant or was
//! pushed after its end, which we would see.
//!
//! Sources: Wool, section 3; Return barrier, section 5; Channel (steal
//! requests); the asymmetric Dekker pattern after Linux's membarrier(2).

mod finish;
mod job;
mod memory;
#[cfg(all(loom, test))]
mod models;
mod slot;
mod stack;
mod token;

use std::cell::Cell;
use std::io;

use finish::Finish;
use slot::{Slot, State};
use stack::{Claim, Taken, TaskStack};
pub use token::Token;
pub(crate) use token::in_registers;

use super::Protocol;
use crate::pool;
use crate::stats::Count;
use crate::sync::{Ordering, asymmetric};

pub type Member = pool::Member<ReturnBarrier>;

/// Bytes of thread stack for each slot of the task stack. A join that is
/// waiting for its first closure keeps at least a return address and a saved
/// register in its frame; several inlined into one frame share them.
const STACK_BYTES_PER_SLOT: usize = 8;

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
}

impl Default for ReturnBarrier {
    fn default() -> Self {
        ReturnBarrier {
            forced_steals: true,
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
}

/// What a worker keeps under this scheduler.
pub struct Tasks {
    stack: TaskStack,
    /// The innermost finish whose body or task this worker runs.
    frame: Cell<Frame>,
    forced_steals: bool,
}

// SAFETY: `frame` is used on the worker's own thread only.
unsafe impl Sync for Tasks {}
// SAFETY: nothing is tied to a thread before the worker starts.
unsafe impl Send for Tasks {}

/// Where spawns may go directly to the task stack.
#[derive(Clone, Copy)]
struct Frame {
    finish: *const Finish,
    /// The top after the frame's last spawn.
    top: *mut Slot,
}

impl Tasks {
    /// Starts a frame, of a finish or of none, until the guard is dropped.
    fn enter(&self, finish: Option<&Finish>) -> FrameGuard<'_> {
        let frame = Frame {
            finish: finish.map_or(std::ptr::null(), |finish| finish),
            top: self.stack.top(),
        };
        FrameGuard {
            tasks: self,
            outer: self.frame.replace(frame),
        }
    }

    /// Whether this frame is of `finish`, with no join's first closure open in it.
    fn is_innermost(&self, finish: &Finish) -> bool {
        let frame = self.frame.get();
        std::ptr::eq(frame.finish, finish) && frame.top == self.stack.top()
    }

    /// Notes that the frame has pushed a spawn.
    fn extend_frame(&self) {
        let mut frame = self.frame.get();
        frame.top = self.stack.top();
        self.frame.set(frame);
    }
}

struct FrameGuard<'t> {
    tasks: &'t Tasks,
    outer: Frame,
}

impl Drop for FrameGuard<'_> {
    fn drop(&mut self) {
        self.tasks.frame.set(self.outer);
    }
}

impl Member {
    /// Answers a standing request, and wakes a thief for what became public.
    #[cold]
    #[inline(never)]
    fn answer(&self) {
        if self.tasks.stack.answer() > 0 {
            self.count(Count::Publications);
            self.pool().sleep.published(self.index);
        }
    }

    /// Makes all tasks public, asked or not, and wakes a thief for them.
    fn offer_all(&self) {
        if self.tasks.stack.publish_all() > 0 {
            self.pool().sleep.published(self.index);
        }
    }

    /// After a pop that did not find `slot` private: true if the task is ours
    /// again. If not, it was stolen, and is done when this returns.
    fn take_back(&self, slot: *mut Slot) -> bool {
        match self.tasks.stack.take_back(slot) {
            Taken::Back => {
                self.answer();
                true
            }
            Taken::Stolen => {
                // SAFETY: a slot of our own stack, live until it is released.
                self.await_stolen(unsafe { &*slot });
                false
            }
        }
    }

    /// Blocks until the stolen task in `slot` is done, running its descendants.
    fn await_stolen(&self, slot: &Slot) {
        let holder = match slot.state(Ordering::Acquire).thief() {
            Some(thief) => &self.pool().members[thief],
            None => return,
        };
        let is_done = || slot.state(Ordering::Acquire) == State::DONE;
        self.pool().await_done(
            self,
            holder,
            is_done,
            |force| {
                let stolen = steal_if(self, holder, force, || !is_done())?;
                self.count(Count::Leapfrogs);
                Some(stolen)
            },
            || slot.wait_for(),
        );
    }
}

/// A stolen task, with its victim.
pub struct Stolen {
    slot: *const Slot,
    victim: usize,
}

fn steal_if(
    thief: &Member,
    victim: &Member,
    is_silent: bool,
    may_take: impl Fn() -> bool,
) -> Option<Stolen> {
    let stack = &victim.tasks.stack;
    let mut claim = stack.claim(thief.index, &may_take);
    if claim == Claim::Nothing
        && is_silent
        && thief.tasks.forced_steals
        && stack.is_requested()
        && stack.has_any()
    {
        claim = stack.force(thief.index, &may_take);
        if matches!(claim, Claim::Stolen(_)) {
            thief.count(Count::ForcedSteals);
        }
    }
    match claim {
        Claim::Stolen(slot) => Some(Stolen {
            slot,
            victim: victim.index,
        }),
        Claim::Nothing | Claim::Lost => None,
    }
}

impl Protocol for ReturnBarrier {
    type Token<'t> = Token<'t>;
    type Tasks = Tasks;
    type Stolen = Stolen;

    fn tasks(&self, stack_size: usize) -> io::Result<Tasks> {
        Ok(Tasks {
            stack: TaskStack::new(stack_size / STACK_BYTES_PER_SLOT)?,
            frame: Cell::new(Frame {
                finish: std::ptr::null(),
                top: std::ptr::null_mut(),
            }),
            forced_steals: self.forced_steals && asymmetric::available(),
        })
    }

    fn enter_thread(member: &Member) {
        CURRENT.set(member);
    }

    fn current<'m>() -> Option<&'m Member> {
        current()
    }

    fn call<R>(member: &Member, f: impl for<'t> FnOnce(Token<'t>) -> R) -> R {
        let _frame = member.tasks.enter(None);
        f(Token::at_top(member))
    }

    fn offers(member: &Member) -> bool {
        member.tasks.stack.has_public()
    }

    fn hides(member: &Member) -> bool {
        member.tasks.forced_steals && member.tasks.stack.has_any()
    }

    fn request(member: &Member) -> bool {
        member.tasks.stack.request()
    }

    fn steal(thief: &Member, victim: &Member, is_silent: bool) -> Option<Stolen> {
        steal_if(thief, victim, is_silent, || true)
    }

    fn run(thief: &Member, stolen: Stolen) {
        debug_assert!(
            thief.tasks.stack.unstolen() == 0,
            "what a thief holds when it starts a task is all stolen"
        );
        // SAFETY: we have the task, run it once, and its owner keeps the slot
        // until it is done.
        let sleeper = unsafe {
            (*stolen.slot).run(thief);
            (*stolen.slot).finish_stolen()
        };
        if sleeper {
            thief.pool().sleep.unpark(stolen.victim);
        }
    }
}

thread_local! {
    /// The worker that this thread is, if it is one.
    static CURRENT: Cell<*const Member> = const { Cell::new(std::ptr::null()) };
}

/// The worker that runs on this thread.
#[inline(always)]
pub(crate) fn current<'m>() -> Option<&'m Member> {
    // SAFETY: set once by the worker's thread, which keeps the pool alive
    // until it ends; the reference is not sent to another thread.
    unsafe { CURRENT.get().as_ref() }
}
