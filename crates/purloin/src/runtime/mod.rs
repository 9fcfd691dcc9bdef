//! The runtime: what happens to a task, from the push to the result.
//!
//! Read the files in this order:
//!
//! 1. [`slot`]: one task in place, in a slot or in the frame of the thread that waits for it, and its [`state`].
//! 2. [`stack`]: a worker's slots, with a top and a bottom; [`sizes`]: how many there are.
//! 3. [`return_barrier`]: the default scheduler's protocol between an owner and its thieves.
//! 4. [`token`] and [`join`]: what a program holds, and the fast path.
//! 5. [`frame`]: the bookkeeping that keeps finishes and tasks properly nested, and says which cancellation stops a
//!    loop and from which call a task descends.
//! 6. [`finish`](mod@finish): finish and its spawns; [`finish_queue`]: the tasks of a finish that any worker may run.
//! 7. [`future`](mod@future): futures, as a pool runs them; see [`promise`](crate::promise) for the rest.
//! 8. [`shared_loop`]: loops whose parts share an iterator, as a pool runs them.
//! 9. [`steal`]: how owners publish tasks, and how thieves look for them and claim them.
//! 10. [`stolen`]: what a thief does with a task, and how its owner waits for it.
//!
//! [`return_barrier`] is one scheduler. [`steal`] serves all schedulers whose thieves reach into the pools
//! of their victims. Everything else is the same under every scheduler. The seam is
//! [`crate::scheduler`]. How workers without work sleep and wake is in [`crate::sleep`].
//!
//! # The path of a stolen join
//!
//! The owner pushes the second closure ([`join`], [`slot`], [`stack`]). If a thief has asked,
//! the owner makes older tasks public ([`return_barrier`]). An idle worker
//! (`pool/worker/main_loop.rs`) looks at its victims, claims the oldest public task ([`steal`]) and runs it
//! ([`stolen`]). The task writes its result into the slot ([`join`]); then the thief sets the slot's state to
//! DONE, and wakes the owner if it sleeps ([`stolen`]). The owner's pop fails, so it blocks and leapfrogs
//! ([`stolen`], `pool/worker/wait.rs`) until the state is DONE, and takes the result out of the slot
//! ([`join`]).
//!
//! # Where the top is kept
//!
//! Each token holds the top by value, and memory holds it, too. The owner writes the memory at each
//! push and pop, so the top in memory is always exact. A token is made from memory at the start of
//! each task, and of a loop without a token. Its top is exact as long as the worker makes no newer token and its code
//! leaves no spawn or future behind.
//!
//! A token is **stale** if live slots lie above its top. That happens in two ways:
//!
//! - A spawn or a future leaves a live slot behind when the code around it goes on.
//! - The program makes a second token, by a token-free call or [`Pool::run`] on a worker, and uses
//!   the first one inside. Lifetimes forbid this, unless a wrapper makes the first token `Send` and
//!   checks the thread at each use.
//!
//! So a join compares the top in its token with the top in memory
//! ([`TaskStack::is_top`](stack::TaskStack::is_top)). A stale token takes the slow path, which
//! pushes at the top in memory. A token whose top lies *above* the top in memory does the same;
//! a stale token that pops a future can leave one behind. So can a get without a token, and a spawn or a future
//! of the scope around a loop, which may reclaim the slots of tasks that have ended.
//!
//! The owner pops only tickets of the innermost frame
//! ([`Me::may_pop`](crate::pool::Me::may_pop)).
//!
//! [`Pool::run`]: crate::Pool::run
//!
//! The pop of a join must notice the tasks that its first closure has left above it. Every task
//! pool therefore keeps [`TaskPool::is_open`] false for slots below a live spawn ([`finish`](mod@finish)).
//!
//! [`TaskPool::is_open`]: crate::scheduler::TaskPool::is_open
//!
//! # The end of the stack
//!
//! The end lies at an address that is a multiple of 64 KiB. A push to a multiple of 64 KiB takes
//! the slow path, which compares the slot with the end; other pushes need no load to check for the
//! end. A push to a full stack panics with a message that names the way out.
//!
//! The slots that are open at present end at such a multiple, too. The same slow path opens more.
//!
//! # The depth of a task
//!
//! Sampling compares victims by the depth of their tasks. On a worker's stack, each task is one
//! level deeper in the program's tree than the task below it. So a thief records, when it starts a
//! stolen task, how deep the task is and where its own stack ends. The depth of any task that it
//! offers is then a subtraction. Only steals pay for this. Each spawn into a finish counts as one
//! level deeper than the spawn before it, although all of them are children of the same frame: the
//! depth is a heuristic.
//!
//! Source: Wool, sections 1.1 and 3.

mod finish;
mod finish_queue;
mod frame;
mod future;
mod join;
#[cfg(loom)]
#[allow(missing_docs)]
pub mod models;
mod return_barrier;
mod shared_loop;
mod sizes;
mod slot;
mod stack;
// `promise` imports the file, and nothing else of the runtime.
pub(crate) mod state;
mod steal;
pub(crate) mod stolen;
mod token;

// The functions that `slow_paths!` calls.
pub use join::slot_to_push;
pub use stolen::reclaim_or_wait;
pub use token::split_hint;

pub(crate) use frame::{Frame, Frames};
pub(crate) use future::{Kind, Tickets, detached_future};

pub(crate) use finish::{finish, finish_outside};
pub(crate) use join::{call, call_in, in_registers};
pub use return_barrier::{BarrierHeader, BarrierScheduler, BarrierTasks, ReturnBarrier};
pub(crate) use sizes::{max_suspended, task_bytes};
pub(crate) use slot::InFrame;
pub use slot::{Header, Slot};
pub use stack::TaskStack;
pub use state::{ShortSpin, State, StateWord};
#[cfg(loom)]
pub use steal::ReachesIn;
pub use steal::{Claim, Offer, PublicTasks, Publish, ReachIn};
pub use stolen::{Reclaimed, Stolen};
pub use token::Token;
