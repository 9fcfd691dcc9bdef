//! The direct task stack: what the schedulers that are built on it share.
//!
//! A worker's tasks lie in place in an array of slots, in strict LIFO order,
//! so that no task is ever allocated. The owner pushes and pops at the **top**,
//! thieves steal at the **bottom**, and what synchronises them is each slot's
//! own state, so that the owner need not look at the bottom nor a thief at the
//! top. How exactly is the protocol's business: a [`Direct`] scheduler names
//! its [`Stack`], and has a page of its own for it. Everything else is here.
//!
//! # The top, in several places
//!
//! The top is in the tokens, by value, and in memory. The owner writes the memory at each
//! push and pop, so it is exact at any time. A token is made from memory at the start of
//! each task; its top is exact for as long as it is the newest token of its worker.
//!
//! A token is **stale** if live slots lie above its top. That happens in two ways:
//!
//! - A spawn or a future leaves a live slot behind when the code around it goes on.
//! - The program makes a second token, by a token-free call or [`Pool::run`] on a worker,
//!   and uses the first one inside. Lifetimes forbid that, unless a wrapper makes the
//!   first token `Send` at the price of a check of the thread.
//!
//! So a join compares the top in its token with the top in memory
//! ([`Base::is_top`]). A stale token takes the slow path, which
//! pushes at the top in memory. A token whose top lies *above* the top in memory does the
//! same; a stale token that pops a future can leave one behind.
//!
//! Only a ticket of the innermost frame is popped ([`Tasks::oldest_poppable`]). A stale
//! token may know a ticket at the top that belongs to a frame further out. If it popped
//! that ticket, the innermost frame would start below its own base, and its end would not
//! wait for what it spawns there.
//!
//! [`Pool::run`]: crate::Pool::run
//!
//! The pop of a join must meet what its first closure has left above it. Every stack
//! therefore keeps [`Stack::is_open`] false for slots below a live spawn, see [`spawn`].
//!
//! # The end of the stack
//!
//! The end lies at an address that is a multiple of 64 KiB. A push to such an address
//! takes the slow path, which compares it with the end; other pushes need no load for
//! that. A full stack is a panic that names the way out.
//!
//! # Waiting for a stolen task
//!
//! By leapfrogging: the blocked worker takes tasks from the thief only. When a
//! worker starts a stolen task, everything on its own stack is stolen: it was
//! idle, or it is blocked on its top task and thieves take the oldest first.
//! So what it offers while it runs the stolen task descends from that task. A
//! thief may finish, and start on something else, while the blocked worker
//! reaches into its stack; therefore a claim is confirmed only if, with the
//! slot held fast, the awaited task is still not done: as a task cannot end
//! before its descendants, and what we hold is either its descendant or was
//! pushed after its end, which we would see.
//!
//! Only in a join is everything older stolen along with the awaited task. Who
//! waits for a [`future`] may have tasks of its own that nobody has taken; then
//! it does not help, but leaves its tasks to those that are idle, and sleeps. And
//! who runs the closure of a future may have such tasks; then nobody helps him.
//!
//! # How deep a task is
//!
//! For the sampling of victims. In the stack of a worker, each task is one
//! level deeper in the program's tree than the one below it; so if we note at
//! the start of a stolen task how deep it is and where the stack ends, the
//! depth of what the worker offers is a subtraction. It costs nothing but at a
//! steal. Spawns into one finish count as deeper and deeper, although they are
//! all children of the same frame: the depth is a heuristic.
//!
//! Source: Wool, sections 1.1 and 3.

mod claim;
mod floor;
mod frame;
mod future;
mod job;
mod join;
mod member;
mod memory;
#[cfg(all(loom, test))]
pub(crate) mod models;
mod oneshot;
mod protocol;
mod recycle;
mod return_barrier;
mod slot;
mod spawn;
mod stack;
mod state;
mod steal;
mod thieves;
mod tickets;

use std::io;

pub(crate) use claim::{claim_public, commit};
pub(crate) use floor::Floor;
pub(crate) use frame::Tasks;
pub(crate) use future::detached_future;
pub use join::Token;
pub(crate) use join::in_registers;
pub use return_barrier::ReturnBarrier;
pub(crate) use return_barrier::current;
pub(crate) use slot::{Header, Slot};
pub(crate) use stack::Base;
pub(crate) use state::{State, StateWord, Undecided};
pub(crate) use steal::{Claim, Reachable, Reaching};
pub(crate) use thieves::{Stolen, Thieves};

use crate::pool;

pub(crate) type Member<S> = pool::Member<S>;

/// Bytes of thread stack for each slot of the task stack. A join that is
/// waiting for its first closure keeps at least a return address and a saved
/// register in its frame; several inlined into one frame share them.
const STACK_BYTES_PER_SLOT: usize = 8;

/// A scheduler whose tasks lie in a direct task stack.
pub trait Direct: Send + Sync + Sized + 'static {
    /// The state of a slot.
    type Header: Header;

    /// The protocol between an owner and its thieves.
    type Stack: Stack<Self>;

    /// How thieves come by tasks.
    type Thieves: Thieves<Self>;

    /// Makes the stack of one of so many workers.
    fn stack(&self, capacity: usize, workers: usize) -> io::Result<Self::Stack>;

    /// Called on each worker's own thread, before anything else.
    fn enter_thread(_: &Member<Self>) {}

    /// Called on that thread at the end.
    fn leave_thread() {}
}

/// To whom the owner's top task belongs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Taken {
    /// The owner has it back and runs it.
    Back,
    /// A thief has it, or has finished it.
    Stolen,
}

/// A worker's stack of tasks in place: what its owner does.
pub trait Stack<S: Direct>: Send + Sync {
    /// Ends and memory.
    fn base(&self) -> &Base<S>;

    // The owner's fast path.

    /// How many tasks are not stolen.
    fn unstolen(&self) -> usize {
        self.base().unstolen()
    }

    /// Owner: whether there is nothing that thieves could take, until the owner
    /// pushes again.
    fn offers_nothing(&self) -> bool {
        self.unstolen() == 0
    }

    /// Whether `slot` may be pushed by the fast path, if it is the top: no live spawn
    /// lies above it, and no thief has asked for the task.
    fn is_open(&self, slot: *mut Slot<S>) -> bool;

    /// Makes the task that was written to `slot` part of the stack.
    fn push(&self, slot: *mut Slot<S>);

    /// Takes the task in `slot`, the newest, off the stack. True if it is the
    /// owner's; if not, ask [`Self::take_back`].
    fn pop(&self, slot: *mut Slot<S>) -> bool;

    /// The same for a task that stays when the code around it goes on: its slot
    /// is closed.
    fn pop_kept(&self, slot: *mut Slot<S>) -> bool;

    // The owner's slow paths.

    /// Opens what it can, before a push to `slot`, which is at the top.
    fn reopen(&self, _slot: *mut Slot<S>) {}

    /// Whether somebody may be waiting for what was just pushed to `slot`.
    fn is_awaited(&self, slot: *mut Slot<S>) -> bool;

    /// After a [`Self::pop`] that returned false: whose is it?
    ///
    /// If it is stolen, it stays live until [`Self::release`].
    fn take_back(&self, slot: *mut Slot<S>) -> Taken;

    /// Frees `slot`, whose stolen task is done and whose result has been read.
    fn release(&self, slot: *mut Slot<S>);

    /// Whether a request stands.
    fn is_asked(&self) -> bool;
}
