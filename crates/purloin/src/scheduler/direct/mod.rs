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
mod memory;
#[cfg(all(loom, test))]
pub(crate) mod models;
mod recycle;
mod slot;
mod state;
mod token;

use std::cell::Cell;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

pub(crate) use base::Base;
pub(crate) use claim::{claim_public, commit};
use finish::Finish;
pub(crate) use floor::Floor;
use future::Tickets;
use recycle::Blocks;
pub(crate) use slot::{Header, Slot};
pub(crate) use state::{State, StateWord, Undecided};
pub use token::Token;
pub(crate) use token::in_registers;

use super::Protocol;
use crate::pool;
use crate::stats::Count;
use crate::sync::{AtomicUsize, Ordering};

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

    /// Makes the stack of a worker.
    fn stack(&self, capacity: usize) -> io::Result<Self::Stack>;

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

/// What a thief found.
pub enum Claim<S: Direct> {
    /// This slot's task is the thief's, who must run it and say when it is
    /// done, see [`StateWord::finish_stolen`].
    Stolen(*const Slot<S>),
    /// The same, without the owner's consent.
    Forced(*const Slot<S>),
    /// Nothing public.
    Nothing,
    /// Another was faster, or what was there is not for this thief.
    Lost,
    /// The bottom was stale, and the thief has given back what it found there.
    Stale,
}

/// A worker's stack of tasks in place: what its owner does, and what thieves do
/// to it.
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

    /// Answers a standing request. Returns how many tasks became public by it.
    fn answer(&self) -> usize;

    /// Whether a request stands.
    fn is_asked(&self) -> bool;

    /// Closes the slots below [`Base::live`], which has just moved up, and
    /// answers a standing request. Returns how many tasks became public by that.
    fn close(&self) -> usize;

    /// Makes every task public, as a number of requests would.
    #[cfg(all(loom, test))]
    fn publish_all(&self);

    // What thieves do, on any thread.

    /// Whether the oldest task is public, or about to be, at a glance.
    fn offers(&self) -> bool;

    /// Whether there seems to be a task that could be had by force.
    fn hides(&self) -> bool;

    /// Asks the owner to offer tasks at its next push or pop. True if nobody
    /// had asked since it last answered.
    fn request(&self) -> bool;

    /// Takes the oldest public task for `thief`, if `may_take` allows it.
    ///
    /// `may_take` is asked while the task is held fast, so that what it finds
    /// true stays true as long as the task is not done. If the owner
    /// `is_silent`, the claim may be by force.
    fn claim(&self, thief: usize, is_silent: bool, may_take: impl Fn() -> bool) -> Claim<S>;
}

/// What a worker keeps under such a scheduler.
pub struct Tasks<S: Direct> {
    pub(crate) stack: S::Stack,
    /// The innermost finish whose body or task this worker runs.
    frame: Cell<Frame<S>>,
    /// The futures whose tickets lie on the stack.
    tickets: Tickets<S>,
    /// Memory for more of them.
    blocks: Blocks,
    /// The depth of a task that lies at the very bottom of the stack, were the
    /// branch that this worker runs to begin there. Modulo 2⁶⁴.
    depth: AtomicUsize,
}

// SAFETY: `frame`, `tickets` and `blocks` are used on the worker's own thread only.
unsafe impl<S: Direct> Sync for Tasks<S> {}
// SAFETY: nothing is tied to a thread before the worker starts.
unsafe impl<S: Direct> Send for Tasks<S> {}

/// Where spawns may go directly to the task stack.
struct Frame<S: Direct> {
    finish: *const Finish<S>,
    /// Whether it is the body of the finish. There, no token is newer than it
    /// while it is innermost; in a task, that of the second closure of a join is.
    is_body: bool,
    /// The top and the live end when the frame began.
    base: *mut Slot<S>,
    live: *mut Slot<S>,
    /// The top after the frame's last spawn.
    top: *mut Slot<S>,
}

// Derived, these would ask the same of `S`.
impl<S: Direct> Clone for Frame<S> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<S: Direct> Copy for Frame<S> {}

impl<S: Direct> Tasks<S> {
    /// Starts a frame, of a finish or of none, until the guard is dropped.
    fn enter(&self, finish: Option<&Finish<S>>) -> FrameGuard<'_, S> {
        self.enter_frame(finish, false)
    }

    fn enter_frame(&self, finish: Option<&Finish<S>>, is_body: bool) -> FrameGuard<'_, S> {
        let stack = self.stack.base();
        let frame = Frame {
            finish: finish.map_or(std::ptr::null(), |finish| finish),
            is_body,
            base: stack.top(),
            live: stack.live(),
            top: stack.top(),
        };
        FrameGuard {
            tasks: self,
            outer: self.frame.replace(frame),
        }
    }

    /// Whether this frame is of `finish`, with no join's first closure open in it.
    fn is_innermost(&self, finish: &Finish<S>) -> bool {
        let frame = self.frame.get();
        std::ptr::eq(frame.finish, finish) && frame.top == self.stack.base().top()
    }

    /// Notes that the frame has pushed a spawn.
    fn extend_frame(&self) {
        let mut frame = self.frame.get();
        frame.top = self.stack.base().top();
        self.frame.set(frame);
    }

    /// The frame goes on with the top at `to`, if that was at `from` for it.
    fn resize_frame(&self, from: *mut Slot<S>, to: *mut Slot<S>) {
        let mut frame = self.frame.get();
        if frame.top == from {
            frame.top = to;
            self.frame.set(frame);
        }
    }

    /// How deep in the program's tree the task in `slot` is.
    fn depth_of(&self, slot: *const Slot<S>) -> usize {
        let position = self.stack.base().position(slot);
        self.depth.load(Ordering::Relaxed).wrapping_add(position)
    }
}

struct FrameGuard<'t, S: Direct> {
    tasks: &'t Tasks<S>,
    outer: Frame<S>,
}

impl<S: Direct> Drop for FrameGuard<'_, S> {
    fn drop(&mut self) {
        self.tasks.frame.set(self.outer);
    }
}

impl<S: Direct> Member<S> {
    /// Answers a standing request, and wakes a thief for what became public.
    #[cold]
    #[inline(never)]
    fn answer(&self) {
        if self.tasks.stack.answer() > 0 {
            self.count(Count::Publications);
            self.pool().sleep.published(self.index);
        }
    }

    /// How many of a loop's `rest` iterations to make a task of: none if
    /// nobody asks, or if there are older tasks to answer with.
    #[cold]
    #[inline(never)]
    fn share_of(&self, rest: usize) -> usize {
        let stack = &self.tasks.stack;
        self.answer();
        if rest < 2 || !stack.is_asked() || stack.base().is_full() {
            return 0;
        }
        self.pool().share_of(rest)
    }

    /// Makes the task that was just pushed one that stays, and offers it where
    /// somebody has asked.
    fn keep(&self) {
        let stack = &self.tasks.stack;
        stack.base().set_live(stack.base().top());
        if stack.close() > 0 {
            self.count(Count::Publications);
            self.pool().sleep.published(self.index);
        }
    }

    /// After a pop that failed: true if the task in `slot` is ours again. If
    /// not, it was stolen, and is done when this returns.
    fn take_back(&self, slot: *mut Slot<S>) -> bool {
        let stack = &self.tasks.stack;
        if stack.base().live() > slot.wrapping_add(1) {
            self.end_futures_above(slot);
            if stack.pop(slot) {
                return true;
            }
        }
        match stack.take_back(slot) {
            Taken::Back => {
                self.answer();
                true
            }
            Taken::Stolen => {
                // SAFETY: a slot of our own stack, live until it is released.
                self.await_stolen(unsafe { &*slot }.header.outcome(), || true);
                false
            }
        }
    }

    /// The first closure of the join whose task is in `slot` has left futures
    /// behind, and the pop of that slot has gone below their tickets.
    #[cold]
    fn end_futures_above(&self, slot: *mut Slot<S>) {
        let (base, bottom) = (self.tasks.stack.base(), slot.wrapping_add(1));
        let live = self.tasks.tickets.live_below(bottom);
        let live = live.expect("a join leaves nothing alive but futures");
        // Release: as the push has.
        base.set_top(base.live(), Ordering::Release);
        finish::drain(self, bottom, live);
    }

    /// Blocks until the stolen task with this outcome is done, running its
    /// descendants, if the thief has nothing but those to offer (`may_help`).
    fn await_stolen(&self, outcome: &StateWord, may_help: impl Fn() -> bool) {
        let holder = match outcome.get(Ordering::Acquire).thief() {
            Some(thief) => &self.pool().members[thief],
            None => return,
        };
        self.pool().await_done(
            self,
            holder,
            || outcome.is_done(),
            || {
                let is_free = self.tasks.stack.offers_nothing();
                if !is_free {
                    self.answer();
                }
                is_free && may_help()
            },
            |is_silent| {
                let stolen = steal_if(self, holder, is_silent, || !outcome.is_done())?;
                self.count(Count::Leapfrogs);
                Some(stolen)
            },
            || outcome.wait_for(),
        );
    }
}

/// A stolen task, with its victim.
pub struct Stolen<S: Direct> {
    slot: *const Slot<S>,
    victim: usize,
    depth: usize,
}

fn steal_if<S: Direct>(
    thief: &Member<S>,
    victim: &Member<S>,
    is_silent: bool,
    may_take: impl Fn() -> bool,
) -> Option<Stolen<S>> {
    let tasks = &victim.tasks;
    let slot = match tasks.stack.claim(thief.index, is_silent, may_take) {
        Claim::Stolen(slot) => slot,
        Claim::Forced(slot) => {
            thief.count(Count::ForcedSteals);
            slot
        }
        Claim::Stale => {
            thief.count(Count::BackOuts);
            return None;
        }
        Claim::Nothing | Claim::Lost => return None,
    };
    Some(Stolen {
        slot,
        victim: victim.index,
        depth: tasks.depth_of(slot),
    })
}

impl<S: Direct> Protocol for S {
    type Token<'t> = Token<'t, S>;
    type Tasks = Tasks<S>;
    type Stolen = Stolen<S>;

    fn tasks(&self, stack_size: usize) -> io::Result<Tasks<S>> {
        Ok(Tasks {
            stack: self.stack(stack_size / STACK_BYTES_PER_SLOT)?,
            frame: Cell::new(Frame {
                finish: std::ptr::null(),
                is_body: false,
                base: std::ptr::null_mut(),
                live: std::ptr::null_mut(),
                top: std::ptr::null_mut(),
            }),
            tickets: Tickets::new(),
            blocks: Blocks::default(),
            depth: AtomicUsize::new(0),
        })
    }

    fn enter_thread(member: &Member<S>) {
        <S as Direct>::enter_thread(member);
    }

    fn leave_thread() {
        <S as Direct>::leave_thread();
    }

    fn call<R>(member: &Member<S>, f: impl for<'t> FnOnce(Token<'t, S>) -> R) -> R {
        let stack = member.tasks.stack.base();
        let (base, live) = (stack.top(), stack.live());
        let frame = member.tasks.enter(None);
        let result = catch_unwind(AssertUnwindSafe(|| f(Token::at_top(member))));
        // Futures that nobody has got.
        finish::drain(member, base, live);
        drop(frame);
        match result {
            Ok(result) => result,
            Err(panic) => resume_unwind(panic),
        }
    }

    fn offers(member: &Member<S>) -> bool {
        member.tasks.stack.offers()
    }

    fn hides(member: &Member<S>) -> bool {
        member.tasks.stack.hides()
    }

    fn offered_depth(member: &Member<S>) -> usize {
        member.tasks.depth_of(member.tasks.stack.base().bot())
    }

    fn request(member: &Member<S>) -> bool {
        member.tasks.stack.request()
    }

    fn steal(thief: &Member<S>, victim: &Member<S>, is_silent: bool) -> Option<Stolen<S>> {
        steal_if(thief, victim, is_silent, || true)
    }

    fn run(thief: &Member<S>, stolen: Stolen<S>) {
        let tasks = &thief.tasks;
        debug_assert!(
            tasks.stack.unstolen() == 0,
            "what a thief holds when it starts a task is all stolen"
        );
        let outer = tasks.depth.load(Ordering::Relaxed);
        let base = tasks.stack.base().top();
        let live = tasks.stack.base().live();
        // The first task that it pushes is one level deeper.
        let depth = (stolen.depth + 1).wrapping_sub(tasks.stack.base().position(base));
        tasks.depth.store(depth, Ordering::Relaxed);
        // SAFETY: we have the task, run it once, and its owner keeps the slot
        // until it is done.
        let sleeper = unsafe {
            (*stolen.slot).run(thief);
            finish::drain(thief, base, live);
            (*stolen.slot).header.outcome().finish_stolen()
        };
        if sleeper {
            thief.pool().sleep.unpark(stolen.victim);
        }
        tasks.depth.store(outer, Ordering::Relaxed);
    }
}
