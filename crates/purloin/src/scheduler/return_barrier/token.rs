//! The fast path: a join by token.

use std::marker::PhantomData;
use std::panic::resume_unwind;

use super::finish::Finish;
use super::job::{Job, Unwinding};
use super::slot::Slot;
use super::{Member, finish};
use crate::scheduler::ReturnBarrier;
use crate::worker::{Scope, Spawner, Worker};

/// The [`Worker`] of the default scheduler: a worker, and the top of its task
/// stack in a register.
///
/// # What a join costs
///
/// Beyond the two calls: two loads and compares at the push (the barrier, the
/// end of the stack), the stores of the closure's captures, of the code
/// pointer and of the top; at the pop a store of the top, a load and compare
/// of the barrier. No atomic read-modify-write, no fence. Everything it touches
/// is in two cache lines of the worker and the slot's own, all of them in the
/// first-level cache.
pub struct Token<'t> {
    member: &'t Member,
    /// At or above every live slot when the token was made. Live slots may
    /// come to lie above it (a spawn); they are then below the barrier.
    top: *mut Slot,
}

impl<'t> Token<'t> {
    /// A token for what runs on `member` now, called on its thread.
    #[inline(always)]
    pub(crate) fn at_top(member: &'t Member) -> Self {
        Token {
            member,
            top: member.tasks.stack.top(),
        }
    }
}

/// Where to push if the token's own top will not do: a thief has asked for
/// tasks, or spawned tasks lie above it, or the stack is full.
#[cold]
#[inline(never)]
fn protected_slot(member: &Member) -> *mut Slot {
    let stack = &member.tasks.stack;
    if stack.is_full() {
        full(member);
    }
    stack.top()
}

/// The end of a join whose task may be stolen: its result, or nothing if the
/// owner got it back.
#[cold]
#[inline(never)]
fn stolen_result<B, RB>(member: &Member, slot: *mut Slot) -> Option<RB>
where
    B: for<'s> FnOnce(Token<'s>) -> RB,
{
    if member.take_back(slot) {
        return None;
    }
    // SAFETY: `take_back` returned only when the thief was done, and this is
    // the one place that reads the result of a join that did not panic.
    let result = unsafe { Job::<B, RB>::result(&*slot) };
    member.tasks.stack.release(slot);
    match result {
        Ok(rb) => Some(rb),
        Err(panic) => resume_unwind(panic),
    }
}

#[cold]
fn full(member: &Member) -> ! {
    panic!(
        "the task stack of worker {} is full: {} joins are nested; \
         raise it with Pool::builder().stack_size(bytes)",
        member.index,
        member.tasks.stack.capacity(),
    )
}

impl<'w> Worker for Token<'w> {
    type Token<'t> = Token<'t>;
    type Spawner = ReturnBarrier;

    #[inline(always)]
    fn join<A, B, RA, RB>(&mut self, a: A, b: B) -> (RA, RB)
    where
        A: for<'t> FnOnce(Token<'t>) -> RA + Send,
        B: for<'t> FnOnce(Token<'t>) -> RB + Send,
        RA: Send,
        RB: Send,
    {
        let member = self.member;
        let stack = &member.tasks.stack;
        let mut slot = self.top;
        if !stack.is_open(slot) {
            slot = protected_slot(member);
        }
        let mut job = Job::<B, RB>::new(b);
        // SAFETY: the slot is in the stack, free, and ours until it is pushed.
        // The job stays in this frame until the task is back or done: by the
        // code below, or by `Unwinding` if `a` panics.
        unsafe { job.write_to(&*slot) };
        stack.push(slot);
        if !stack.is_private(slot) {
            member.answer();
        }
        let unwinding = Unwinding::<B, RB> {
            member,
            slot,
            job: PhantomData,
        };
        let ra = a(Token {
            member,
            top: slot.wrapping_add(1),
        });
        std::mem::forget(unwinding);
        if !stack.pop(slot)
            && let Some(rb) = stolen_result::<B, RB>(member, slot)
        {
            return (ra, rb);
        }
        // SAFETY: the task is ours again, by `pop` or by `stolen_result`, and
        // nothing has been pushed to its slot since.
        let b = unsafe { Job::<B, RB>::closure(&*slot) };
        let rb = b(Token { member, top: slot });
        (ra, rb)
    }

    fn finish<'env, F, R>(&mut self, body: F) -> R
    where
        F: for<'scope> FnOnce(&'scope Scope<'scope, 'env, ReturnBarrier>) -> R,
    {
        finish::finish(self.member, body)
    }
}

impl Spawner for ReturnBarrier {
    type Token<'t> = Token<'t>;
    type Finish = Finish;

    fn spawn<'scope, F>(finish: &'scope Finish, task: F)
    where
        F: for<'t> FnOnce(Token<'t>) + Send + 'scope,
    {
        finish.spawn(task);
    }

    fn join<A, B, RA, RB>(finish: &Finish, a: A, b: B) -> (RA, RB)
    where
        A: for<'t> FnOnce(Token<'t>) -> RA + Send,
        B: for<'t> FnOnce(Token<'t>) -> RB + Send,
        RA: Send,
        RB: Send,
    {
        finish.join(a, b)
    }
}
