//! The fast path: a join by token.

use std::hint::black_box;
use std::mem::MaybeUninit;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use super::ReturnBarrier;
use super::job::{Job, end_second};
use super::slot::Slot;
use super::spawn::Finish;
use super::{Direct, Member, Stack, future, spawn};
use crate::handle::{Future, Place};
use crate::sleep::UNTIMED;
use crate::sync::asymmetric;
use crate::unwind::Panic;
use crate::worker::{Scope, Spawner, Worker};

/// The [`Worker`] of the default scheduler: a worker, and the top of its task
/// stack in a register.
///
/// # What a join costs
///
/// Beyond the two calls: two loads and compares at the push (the top in memory,
/// the barrier), a test of the slot's address (the end of the stack), the stores of
/// the closure's captures, of the code pointer and of the top; at the pop a store of
/// the top, a load and compare of the barrier. No atomic read-modify-write, no fence.
/// Everything it touches is in two cache lines of the worker and the slot's own, all
/// of them in the first-level cache.
pub struct Token<'t, S: Direct = ReturnBarrier> {
    member: &'t Member<S>,
    /// The top of the stack when the token was made. The token may be stale: see
    /// [the page](super).
    top: *mut Slot<S>,
}

impl<'t, S: Direct> Token<'t, S> {
    /// A token for what runs on `member` now, called on its thread.
    #[inline(always)]
    pub(crate) fn at_top(member: &'t Member<S>) -> Self {
        Token {
            member,
            top: member.tasks.stack.base().top(),
        }
    }
}

impl<'t, S: Direct> Token<'t, S> {
    pub(super) fn member(&self) -> &'t Member<S> {
        self.member
    }

    /// The join. A token that was just made by [`Self::at_top`] is not `OLD`: its top
    /// needs no check.
    #[inline(always)]
    pub(crate) fn join_at_top<const OLD: bool, A, B, RA, RB>(&mut self, a: A, b: B) -> (RA, RB)
    where
        A: for<'u> FnOnce(Token<'u, S>) -> RA,
        B: for<'u> FnOnce(Token<'u, S>) -> RB,
    {
        let (member, slot) = (self.member, self.top);
        let stack = &member.tasks.stack;
        let is_open = (!OLD || stack.base().is_top(slot))
            && stack.base().has_room_at(slot)
            && stack.is_open(slot);
        if const { in_registers::<A>() && in_registers::<B>() } {
            if is_open {
                join_at::<false, _, _, _, _, _>(member, slot, a, b)
            } else {
                join_protected(member, a, b)
            }
        } else {
            let slot = if is_open {
                slot
            } else {
                protected_slot(member)
            };
            join_at::<true, _, _, _, _, _>(member, slot, a, b)
        }
    }
}

/// Whether a closure is passed to a function in registers.
///
/// A larger one is passed in memory, and if any path does that, then every path
/// has it in memory: the copy from there to the slot, in words of 16 bytes just
/// after the captures were stored in words of 8, has to wait for those stores.
/// It tripled the time of the kernel `skynet`. So a join of large closures makes
/// no call with them, and instead looks at the barrier twice, for three
/// instructions more.
pub(crate) const fn in_registers<T>() -> bool {
    size_of::<T>() <= 2 * size_of::<usize>()
}

/// The join, with its task in `slot`, which is free. `ASK` where a thief may
/// be waiting for tasks: then this one is offered at once.
#[inline(always)]
fn join_at<const ASK: bool, S: Direct, A, B, RA, RB>(
    member: &Member<S>,
    slot: *mut Slot<S>,
    a: A,
    b: B,
) -> (RA, RB)
where
    A: for<'t> FnOnce(Token<'t, S>) -> RA,
    B: for<'t> FnOnce(Token<'t, S>) -> RB,
{
    let stack = &member.tasks.stack;
    let mut job = Job::<S, B, RB>::new(b);
    // SAFETY: the slot is in the stack, free, and ours until it is pushed.
    // The job stays in this frame until the task is back or done: by the
    // code below, or by `first_panicked`.
    unsafe { job.write_to(&*slot) };
    stack.push(slot);
    if UNTIMED {
        // With the heavy side of a thief that is falling asleep.
        asymmetric::light();
    }
    if (ASK || UNTIMED) && stack.is_awaited(slot) {
        member.answer();
    }
    let first = || {
        a(Token {
            member,
            top: slot.wrapping_add(1),
        })
    };
    let ra = match catch_unwind(AssertUnwindSafe(first)) {
        Ok(ra) => ra,
        Err(panic) => {
            let never = first_panicked::<S, B, RA, RB>(member, slot, panic);
            // SAFETY: nothing comes back from there.
            return unsafe { never.assume_init() };
        }
    };
    if !stack.pop(slot)
        && let Some(rb) = stolen_result::<S, B, RB>(member, slot)
    {
        return (ra, rb);
    }
    // SAFETY: the task is ours again, by `pop` or by `stolen_result`, and
    // nothing has been pushed to its slot since.
    let b = unsafe { Job::<S, B, RB>::closure(&*slot) };
    let rb = b(Token { member, top: slot });
    (ra, rb)
}

/// A join where a thief has asked for tasks, or the token is stale, or the slot lies
/// where the stack may end.
#[cold]
#[inline(never)]
fn join_protected<S: Direct, A, B, RA, RB>(member: &Member<S>, a: A, b: B) -> (RA, RB)
where
    A: for<'t> FnOnce(Token<'t, S>) -> RA,
    B: for<'t> FnOnce(Token<'t, S>) -> RB,
{
    join_at::<true, _, _, _, _, _>(member, protected_slot(member), a, b)
}

/// Where to push if the token's own top will not do, for one of the reasons of
/// [`join_protected`].
#[cold]
#[inline(never)]
fn protected_slot<S: Direct>(member: &Member<S>) -> *mut Slot<S> {
    let stack = &member.tasks.stack;
    if stack.base().is_full() {
        full(member);
    }
    let slot = stack.base().top();
    stack.reopen(slot);
    slot
}

/// The end of a join whose task may be stolen: its result, or nothing if the
/// owner got it back.
#[cold]
#[inline(never)]
fn stolen_result<S: Direct, B, RB>(member: &Member<S>, slot: *mut Slot<S>) -> Option<RB>
where
    B: for<'s> FnOnce(Token<'s, S>) -> RB,
{
    if member.take_back(slot) {
        return None;
    }
    // SAFETY: `take_back` returned only when the thief was done, and this is
    // the one place that reads the result of a join that did not panic.
    let result = unsafe { Job::<S, B, RB>::result(&*slot) };
    member.tasks.stack.release(slot);
    match result {
        Ok(rb) => Some(rb),
        Err(panic) => resume_unwind(panic),
    }
}

/// Ends a join whose first closure panicked: the second runs to its end before the
/// panic goes on.
///
/// It never returns, but the compiler must not know. If a path through the join
/// did not lead to the end of the caller's function, as a landing pad does not
/// that resumes the panic, LLVM could not wrap the saving of registers around
/// the join alone: every call of a recursive function would save them, even
/// where it ends in the base case. `fib` in its plain form takes a tenth longer
/// so, and a fifth without tokens.
#[cold]
#[inline(never)]
fn first_panicked<S: Direct, B, RA, RB>(
    member: &Member<S>,
    slot: *mut Slot<S>,
    panic: Panic,
) -> MaybeUninit<(RA, RB)>
where
    B: for<'t> FnOnce(Token<'t, S>) -> RB,
{
    end_second::<S, B, RB>(member, slot, !is_full_stack(&panic));
    if black_box(true) {
        resume_unwind(panic);
    }
    // Never reached: `black_box` returns its argument.
    MaybeUninit::uninit()
}

/// How the message begins of a panic for want of slots.
const FULL_STACK: &str = "the task stack";

/// Whether it is such a panic. A recursion without end must not begin again in the
/// second closure of each join that the panic passes.
fn is_full_stack(panic: &Panic) -> bool {
    let message = panic.downcast_ref::<String>();
    message.is_some_and(|message| message.starts_with(FULL_STACK))
}

#[cold]
fn full<S: Direct>(member: &Member<S>) -> ! {
    panic!(
        "{FULL_STACK} of worker {} is full: {} joins are nested; \
         raise it with Pool::builder().stack_size(bytes)",
        member.index,
        member.tasks.stack.base().capacity(),
    )
}

impl<'w, S: Direct> Worker for Token<'w, S> {
    type Token<'t> = Token<'t, S>;
    type Spawner = S;

    #[inline(always)]
    fn join<A, B, RA, RB>(&mut self, a: A, b: B) -> (RA, RB)
    where
        A: for<'t> FnOnce(Token<'t, S>) -> RA + Send,
        B: for<'t> FnOnce(Token<'t, S>) -> RB + Send,
        RA: Send,
        RB: Send,
    {
        self.join_at_top::<true, _, _, _, _>(a, b)
    }

    fn finish<'env, F, R>(&mut self, body: F) -> R
    where
        F: for<'scope> FnOnce(&'scope Scope<'scope, 'env, S>) -> R,
    {
        spawn::finish(self.member, body)
    }

    #[inline(always)]
    fn lend<R>(&mut self, f: impl for<'t> FnOnce(Token<'t, S>) -> R) -> R {
        f(Token {
            member: self.member,
            top: self.top,
        })
    }

    fn future<F, T>(&mut self, f: F) -> Future<T>
    where
        F: for<'t> FnOnce(Token<'t, S>) -> T + Send + 'static,
        T: Send + 'static,
    {
        future::future(self.member, self.top, std::ptr::null(), f)
    }

    fn get<T: Send>(&mut self, future: Future<T>) -> T {
        future.get_at(Some(Place {
            pool: self.member.pool().id,
            worker: self.member.index,
            top: self.top.cast_const().cast(),
        }))
    }

    #[inline(always)]
    fn share_of(&mut self, rest: usize) -> usize {
        match self.member.tasks.stack.is_open(self.top) {
            true => 0,
            false => self.member.share_of(rest),
        }
    }
}

impl<S: Direct> Spawner for S {
    type Token<'t> = Token<'t, S>;
    type Finish = Finish<S>;

    unsafe fn future<'scope, F, T>(finish: &'scope Finish<S>, f: F) -> Future<T>
    where
        F: for<'t> FnOnce(Token<'t, S>) -> T + Send + 'scope,
        T: Send + 'scope,
    {
        finish.future(f)
    }

    unsafe fn spawn<'scope, F>(finish: &'scope Finish<S>, task: F)
    where
        F: for<'t> FnOnce(Token<'t, S>) + Send + 'scope,
    {
        finish.spawn(task);
    }

    fn join<A, B, RA, RB>(finish: &Finish<S>, a: A, b: B) -> (RA, RB)
    where
        A: for<'t> FnOnce(Token<'t, S>) -> RA + Send,
        B: for<'t> FnOnce(Token<'t, S>) -> RB + Send,
        RA: Send,
        RB: Send,
    {
        finish.join(a, b)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::Pool;
    use crate::sync::Ordering;

    #[test]
    fn a_join_at_the_end_of_the_stack_panics_and_names_the_way_out() {
        let pool = Pool::builder().workers(1).build().unwrap();
        let (panic, seconds) = pool.run(|w| {
            let mut seconds = Vec::new();
            let base = w.member().tasks.stack.base();
            let top = base.top();
            base.set_top(base.end().wrapping_sub(1), Ordering::Relaxed);
            let mut last = Token::at_top(w.member());
            let join = || last.join(|mut full| full.join(|_| (), |_| ()), |_| seconds.push(1));
            let panic = catch_unwind(AssertUnwindSafe(join)).unwrap_err();
            base.set_top(top, Ordering::Relaxed);
            (panic, seconds)
        });
        let message = panic.downcast::<String>().unwrap();
        assert!(message.contains("stack_size"), "{message}");
        assert!(seconds.is_empty(), "no second closure begins");
    }
}
