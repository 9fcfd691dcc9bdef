//! The runtime: what happens to a task, from the push to the result.
//!
//! Read the files in this order:
//!
//! 1. [`slot`]: one task in place, and its state.
//! 2. [`stack`]: a worker's slots, with a top and a bottom.
//! 3. [`return_barrier`]: the default scheduler's protocol between an owner and its thieves.
//! 4. [`join`]: the fast path.
//! 5. [`frame`]: what a worker keeps to nest finishes and tasks properly.
//! 6. [`spawn`]: spawn and finish.
//! 7. [`oneshot`] and [`future`]: futures.
//! 8. [`steal`]: thieves, blocked workers, and what the owner does for them.
//!
//! Everything but [`return_barrier`] is the same under every scheduler. The seam is
//! [`crate::scheduler`]; what a worker does without work is in [`crate::sleep`].
//!
//! # The way of a stolen join
//!
//! The owner pushes the second closure ([`join`], [`slot`], [`stack`]). If a thief has asked,
//! the owner makes older tasks public ([`return_barrier`], [`steal`]). An idle worker
//! (`pool/idle.rs`) looks at its victims, claims the oldest public task and runs it
//! ([`steal`]). The owner's pop fails, so it blocks and leapfrogs ([`steal`],
//! `pool/blocked.rs`) until the slot's state is DONE, and takes the result out of the slot
//! ([`join`]).
//!
//! # The top, in several places
//!
//! The top is in the tokens, by value, and in memory. The owner writes the memory at each push
//! and pop, so it is exact at any time. A token is made from memory at the start of each task;
//! its top is exact for as long as it is the newest token of its worker.
//!
//! A token is **stale** if live slots lie above its top. That happens in two ways:
//!
//! - A spawn or a future leaves a live slot behind when the code around it goes on.
//! - The program makes a second token, by a token-free call or [`Pool::run`] on a worker, and
//!   uses the first one inside. Lifetimes forbid that, unless a wrapper makes the first token
//!   `Send` at the price of a check of the thread.
//!
//! So a join compares the top in its token with the top in memory
//! ([`TaskStack::is_top`](stack::TaskStack::is_top)). A stale token takes the slow path, which
//! pushes at the top in memory. A token whose top lies *above* the top in memory does the same;
//! a stale token that pops a future can leave one behind.
//!
//! The owner pops only tickets of the innermost frame
//! ([`Local::oldest_poppable`](frame::Local::oldest_poppable)).
//!
//! [`Pool::run`]: crate::Pool::run
//!
//! The pop of a join must meet what its first closure has left above it. Every task pool
//! therefore keeps [`TaskPool::is_open`] false for slots below a live spawn, see [`spawn`].
//!
//! [`TaskPool::is_open`]: crate::scheduler::TaskPool::is_open
//!
//! # The end of the stack
//!
//! The end lies at an address that is a multiple of 64 KiB. A push to such an address takes the
//! slow path, which compares it with the end; other pushes need no load for that. A full stack
//! is a panic that names the way out.
//!
//! # Waiting for a stolen task
//!
//! By leapfrogging: the blocked worker takes tasks from the thief only. When a worker starts a
//! stolen task, everything on its own stack is stolen: it was idle, or it is blocked on its top
//! task and thieves take the oldest first. So what it offers while it runs the stolen task
//! descends from that task. A thief may finish, and start on something else, while the blocked
//! worker reaches into its stack. Therefore a claim is confirmed only if, with the slot held
//! fast, the awaited task is still not done: a task cannot end before its descendants, so the
//! claimed task is a descendant, or it was pushed after the end, which the claimant would see.
//!
//! Only in a join is everything older stolen along with the awaited task. A worker that waits
//! for a [`future`] may have tasks of its own that no thief has taken. Then it does not
//! leapfrog, but leaves its tasks to idle workers, and sleeps. A worker that runs the closure
//! of a future may have such tasks, too. Then no worker leapfrogs with it.
//!
//! # The depth of a task
//!
//! For the sampling of victims. In the stack of a worker, each task is one level deeper in the
//! program's tree than the one below it. So if a thief notes at the start of a stolen task how
//! deep it is and where the stack ends, the depth of what it offers is a subtraction. It costs
//! nothing but at a steal. Spawns into one finish count as deeper and deeper, although they are
//! all children of the same frame: the depth is a heuristic.
//!
//! Source: Wool, sections 1.1 and 3.

mod frame;
mod future;
mod join;
#[cfg(loom)]
#[allow(missing_docs)]
pub mod models;
mod oneshot;
mod return_barrier;
mod slot;
mod spawn;
mod stack;
pub(crate) mod steal;

pub(crate) use frame::Local;
pub(crate) use future::detached_future;
pub use join::Token;
pub(crate) use join::{call, in_registers};
pub use return_barrier::ReturnBarrier;
pub use slot::{Header, ShortSpin, Slot, State, StateWord};
pub use stack::TaskStack;
pub use steal::{Claim, Reclaimed, Stolen};
