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
//! The top is in the tokens, by value, and in memory. A token is made from
//! memory at the start of each task, and the memory is written at each push
//! and pop, so it is exact wherever a task starts: tasks taken while blocked,
//! and token-free calls, begin above every live slot. Only a spawn leaves a
//! live slot above a token that exists already. Every stack therefore keeps
//! [`Stack::is_open`] false for slots below a live spawn, see [`finish`].
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

mod base;
mod channel;
mod claim;
mod finish;
mod floor;
mod future;
mod job;
mod member;
mod memory;
#[cfg(all(loom, test))]
pub(crate) mod models;
mod protocol;
mod reach;
mod recycle;
mod slot;
mod state;
mod tasks;
mod thieves;
mod tickets;
mod token;

use std::io;

pub(crate) use base::Base;
pub(crate) use claim::{claim_public, commit};
pub(crate) use floor::Floor;
pub(crate) use job::discard;
pub(crate) use reach::{Claim, Reachable, Reaching};
pub(crate) use slot::{Header, Slot};
pub(crate) use state::{State, StateWord, Undecided};
pub(crate) use tasks::Tasks;
pub(crate) use thieves::{Stolen, Thieves};
pub use token::Token;
pub(crate) use token::in_registers;

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

    /// Whether `slot` may be pushed by the fast path: it is there, no live
    /// spawn lies above it, and nobody has asked for what will be pushed.
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
