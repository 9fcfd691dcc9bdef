//! Join: the fast path, and the slow path after a steal.
//!
//! [`Token::join_inline`] is the whole cost of a join as long as no thief asks. The second closure
//! goes to the slot at the top, the first one runs, the slot is popped, and the second closure runs
//! by a plain call. What follows a steal or a panic is in functions of its own, which are cold.

use std::hint::black_box;
use std::marker::PhantomData;
use std::mem::MaybeUninit;
use std::panic::{AssertUnwindSafe, catch_unwind, panic_any, resume_unwind};
use std::ptr::null;

use super::slot::{InFrame, Slot, fits};
use super::token::Token;
use crate::cancel::CancelFlag;
use crate::pool::Me;
use crate::scheduler::{Scheduler, TaskPool};
use crate::sleep::UNTIMED;
use crate::sync::asymmetric;
use crate::sync::thread;
use crate::tracing::InCallersSpan;
use crate::unwind::{Panic, catch, catch_apart, discard};

impl<S: Scheduler> Token<'_, S> {
    /// Joins in the caller's frame. `OLD` is false for a token that [`Self::at_top`] has just made:
    /// its top needs no check.
    #[inline(always)]
    pub(crate) fn join_inline<const OLD: bool, A, B, RA, RB>(&mut self, a: A, b: B) -> (RA, RB)
    where
        A: for<'u> FnOnce(Token<'u, S>) -> RA,
        B: for<'u> FnOnce(Token<'u, S>) -> RB,
    {
        // First of all, because a subscriber is code of the program, and may push a future.
        let b = InCallersSpan::new(b);
        let (thread, slot) = (self.thread, self.top);
        let tasks = &thread.tasks;
        let is_open = (!(OLD || b.has_called_subscriber()) || tasks.stack().is_top(slot))
            && tasks.stack().has_room_at(slot)
            && tasks.is_open(slot);
        if const { in_registers::<A, InCallersSpan<B>>() } {
            if is_open {
                join_at::<false, _, _, _, _, _>(thread, slot, a, b)
            } else {
                join_slowly(thread, a, b)
            }
        } else {
            let slot = if is_open {
                slot
            } else {
                S::slot_to_push(thread)
            };
            join_at::<true, _, _, _, _, _>(thread, slot, a, b)
        }
    }
}

/// Joins closures that are passed in registers.
///
/// This function is never inlined. Instead, the compiler inlines the program's recursive function
/// into it. The base case of the recursion then runs in the frame of the join, without a call.
///
/// If a join were inlined into the program's function, every call of that function would save
/// registers as soon as a closure captures by reference: the captured variable lies in the
/// function's frame from the beginning, even if the call ends in the base case. Plain `fib` takes
/// 0.7 times as long this way.
#[inline(never)]
pub(super) fn join_in_registers<S: Scheduler, A, B, RA, RB>(
    thread: Me<'_, S>,
    top: *mut Slot<S>,
    a: A,
    b: B,
) -> (RA, RB)
where
    A: for<'t> FnOnce(Token<'t, S>) -> RA,
    B: for<'t> FnOnce(Token<'t, S>) -> RB,
{
    Token { thread, top }.join_inline::<true, _, _, _, _>(a, b)
}

/// Returns whether the closures of a join are passed to a function in registers.
///
/// A larger closure is passed in memory, and if one path passes it in memory, the compiler keeps it
/// there on every path. It is then copied to the slot in words of 16 bytes, just after the captures
/// were stored in words of 8, and the copy has to wait for those stores. This tripled the time of
/// the kernel `skynet`. So a join never passes large closures to a function. Instead it checks the
/// barrier twice, which costs three more instructions.
pub(crate) const fn in_registers<A, B>() -> bool {
    let two_words = 2 * size_of::<usize>();
    size_of::<A>() <= two_words && size_of::<B>() <= two_words
}

/// Joins with the second closure in `slot`, which is free. If `SERVE`, a thief may be waiting
/// for tasks, and the owner offers this one at once.
#[inline(always)]
fn join_at<const SERVE: bool, S: Scheduler, A, B, RA, RB>(
    thread: Me<'_, S>,
    slot: *mut Slot<S>,
    a: A,
    b: InCallersSpan<B>,
) -> (RA, RB)
where
    A: for<'t> FnOnce(Token<'t, S>) -> RA,
    B: for<'t> FnOnce(Token<'t, S>) -> RB,
{
    let tasks = &thread.tasks;
    let mut second = Second::<S, B, RB>::new(b);
    // SAFETY: the slot is a free slot of the stack, and the owner's until it is pushed. `second`
    // stays in this frame until the task is back or done: the code below and `first_panicked` see
    // to that.
    unsafe { second.write_to(&*slot) };
    tasks.push(slot);
    if UNTIMED {
        // Pairs with the heavy side in `steal::finds_anything`.
        asymmetric::light();
    }
    if (SERVE || UNTIMED) && !tasks.is_open(slot) {
        S::serve(thread);
    }
    let first = || {
        a(Token {
            thread,
            top: slot.wrapping_add(1),
        })
    };
    let ra = match catch_unwind(AssertUnwindSafe(first)) {
        Ok(ra) => ra,
        Err(panic) => {
            let never = first_panicked::<S, B, RA, RB>(thread, slot, panic);
            // SAFETY: `first_panicked` does not return.
            return unsafe { never.assume_init() };
        }
    };
    if !tasks.pop(slot, false)
        && let Some(rb) = stolen_result::<S, B, RB>(thread, slot)
    {
        return (ra, rb);
    }
    // SAFETY: the task is the owner's again, by `pop` or by `stolen_result`, and nothing has
    // been pushed to its slot since.
    let b = unsafe { Second::<S, B, RB>::closure(&*slot) }.into_closure();
    let rb = b(Token { thread, top: slot });
    (ra, rb)
}

/// Joins when a thief has asked for tasks, or the token is stale, or the stack may end at the slot.
#[cold]
#[inline(never)]
fn join_slowly<S: Scheduler, A, B, RA, RB>(thread: Me<'_, S>, a: A, b: InCallersSpan<B>) -> (RA, RB)
where
    A: for<'t> FnOnce(Token<'t, S>) -> RA,
    B: for<'t> FnOnce(Token<'t, S>) -> RB,
{
    join_at::<true, _, _, _, _, _>(thread, S::slot_to_push(thread), a, b)
}

/// Implements [`Scheduler::slot_to_push`]: a thief has asked for tasks, or the token is stale, or the
/// stack may end at the slot.
pub fn slot_to_push<S: Scheduler>(thread: Me<'_, S>) -> *mut Slot<S> {
    let tasks = &thread.tasks;
    if !tasks.stack().make_room() {
        stack_is_full(thread);
    }
    let slot = tasks.stack().top();
    tasks.reopen(slot);
    slot
}

/// Ends a join whose task a thief may have. Returns the task's result, or nothing if the owner
/// has the task back.
#[cold]
#[inline(never)]
fn stolen_result<S: Scheduler, B, RB>(thread: Me<'_, S>, slot: *mut Slot<S>) -> Option<RB>
where
    B: for<'s> FnOnce(Token<'s, S>) -> RB,
{
    // SAFETY: the join has pushed the slot, on this thread.
    if unsafe { S::reclaim_or_wait(thread, slot) } {
        return None;
    }
    // SAFETY: the thief is done, because `reclaim_or_wait` has returned false. Only this function
    // reads the result of a join that did not panic.
    let result = unsafe { Second::<S, B, RB>::result(&*slot) };
    thread.tasks.release(slot);
    match result {
        Ok(rb) => Some(rb),
        Err(panic) => resume_unwind(panic),
    }
}

/// Ends a join whose first closure panicked: the second closure runs to its end before the panic
/// continues.
///
/// It never returns, but it hides this from the compiler. A landing pad that resumes the panic does
/// not lead to the end of the caller's function. With such a path through the join, LLVM could not
/// save registers around the join alone: every call of a recursive function would save them, even a
/// call that ends in the base case. `fib` in its plain form would then take a tenth longer, and a
/// fifth longer without tokens.
#[cold]
#[inline(never)]
fn first_panicked<S: Scheduler, B, RA, RB>(
    thread: Me<'_, S>,
    slot: *mut Slot<S>,
    panic: Panic,
) -> MaybeUninit<(RA, RB)>
where
    B: for<'t> FnOnce(Token<'t, S>) -> RB,
{
    let begin = !is_full_stack(&panic);
    end_second::<S, B, RB>(thread, slot, begin);
    if black_box(true) {
        resume_unwind(panic);
    }
    // Never reached: `black_box` returns its argument.
    MaybeUninit::uninit()
}

/// Ends the second closure of a join whose first closure has panicked, and drops its result. If no
/// thief has the closure, runs it, or only drops it unless `begin`. Otherwise waits for the thief.
/// Never unwinds.
fn end_second<S: Scheduler, B, R>(thread: Me<'_, S>, slot: *mut Slot<S>, begin: bool)
where
    B: for<'t> FnOnce(Token<'t, S>) -> R,
{
    let tasks = &thread.tasks;
    // SAFETY: the join whose first closure panicked has pushed the slot, and not popped it. If the
    // owner has the task back, only the copy is used, and it runs once. If not, the thief is done,
    // and only this function reads the result.
    let result = unsafe {
        if tasks.pop(slot, false) || S::reclaim_or_wait(thread, slot) {
            // Runs a copy, because the task itself may push to `slot`. Runs it by the code pointer,
            // so that the closure is not compiled once more for this path.
            let own = Slot::<S>::empty();
            own.copy_contents(&*slot);
            if !begin {
                return discard(Second::<S, B, R>::closure(&own));
            }
            // In a frame of its own, as on a thief: the code around the join does not own its spawns and tickets.
            thread.in_frame_apart(null(), thread.scope(), || own.run(thread));
            Second::<S, B, R>::result(&own)
        } else {
            let result = Second::<S, B, R>::result(&*slot);
            tasks.release(slot);
            result
        }
    };
    // The caller sees the first panic only. Dropping the result may panic, too.
    discard(result);
}

/// The beginning of the message of [`stack_is_full`]. A join recognises the panic by this and by
/// the capacity of the string, even if it comes from another thread. The strings of the program's
/// own panics do not have this capacity.
const FULL_STACK: &str = "the task stack";
const FULL_STACK_CAPACITY: usize = 4096;

/// Returns whether the panic comes from [`stack_is_full`]. An endless recursion must not start
/// again in the second closure of each join that the panic passes.
fn is_full_stack(panic: &Panic) -> bool {
    panic.downcast_ref::<String>().is_some_and(|message| {
        message.starts_with(FULL_STACK) && message.capacity() >= FULL_STACK_CAPACITY
    })
}

#[cold]
fn stack_is_full<S: Scheduler>(thread: Me<'_, S>) -> ! {
    let mut message = String::with_capacity(FULL_STACK_CAPACITY);
    let (worker, stack) = (thread.index(), thread.stack());
    let joins = stack.position(stack.top());
    message.push_str(&match stack.top() < stack.end() {
        true => format!(
            "{FULL_STACK} of worker {worker} cannot grow: {joins} joins are nested, and the system \
             has no memory for more; raise the limit of the process (ulimit -d, -v or -l)"
        ),
        false => format!(
            "{FULL_STACK} of worker {worker} is full: {joins} joins are nested; raise it with \
             Pool::builder().stack_size(bytes)"
        ),
    });
    panic_any(message)
}

/// The second closure of a join, in the frame of the join.
///
/// If closure and result both fit a slot, the slot holds a bitwise copy of the closure, and only
/// that copy is used. The address of this value is then never taken, and it needs no register while
/// the first closure runs. Otherwise the slot holds a pointer to this value.
struct Second<S, B, R>(InFrame<InCallersSpan<B>, R>, PhantomData<S>);

impl<S: Scheduler, B, R> Second<S, B, R>
where
    B: for<'t> FnOnce(Token<'t, S>) -> R,
{
    const IN_SLOT: bool = fits::<InCallersSpan<B>>() && fits::<Result<R, Panic>>();

    #[inline(always)]
    fn new(closure: InCallersSpan<B>) -> Self {
        Second(InFrame::new(closure), PhantomData)
    }

    /// Writes the task to a slot.
    ///
    /// # Safety
    ///
    /// The conditions of [`Slot::write`] hold. `self` stays in place, and is not used, until the
    /// owner has the task back or the task is done.
    #[inline(always)]
    unsafe fn write_to(&mut self, slot: &Slot<S>) {
        // SAFETY: the caller guarantees the conditions of `Slot::write`, and that `self` stays in
        // place. The thread that takes the task uses the copy in the slot, and no thread uses the
        // other copy.
        unsafe {
            if const { Self::IN_SLOT } {
                slot.write::<InCallersSpan<B>>(Self::run_in_slot, self.0.copy());
            } else {
                slot.write::<*mut InFrame<InCallersSpan<B>, R>>(Self::run_in_frame, &mut self.0);
            }
        }
    }

    /// Moves the closure out.
    ///
    /// # Safety
    ///
    /// The caller has taken the task, and calls this once.
    #[inline(always)]
    unsafe fn closure(slot: &Slot<S>) -> InCallersSpan<B> {
        // SAFETY: the caller has taken the task, so the slot still holds the value that `write_to`
        // wrote, and only this call moves the closure out.
        unsafe {
            if const { Self::IN_SLOT } {
                slot.read::<InCallersSpan<B>>()
            } else {
                InFrame::take(slot.read::<*mut InFrame<InCallersSpan<B>, R>>())
            }
        }
    }

    /// Moves the result out.
    ///
    /// # Safety
    ///
    /// The slot's task is done, and the caller calls this once.
    unsafe fn result(slot: &Slot<S>) -> Result<R, Panic> {
        // SAFETY: one of the two functions below wrote the result before the state became DONE,
        // which the caller has acquired. The caller moves it out only once.
        unsafe {
            if const { Self::IN_SLOT } {
                slot.read()
            } else {
                InFrame::result(slot.read::<*mut InFrame<InCallersSpan<B>, R>>())
            }
        }
    }

    /// # Safety
    ///
    /// The conditions of [`Slot::run`] hold, and [`Self::write_to`] has written the closure to the
    /// slot.
    unsafe fn run_in_slot(slot: &Slot<S>, thread: Me<'_, S>) {
        // SAFETY: the caller has taken the task, which includes the closure and the place for the
        // result.
        unsafe {
            let run = || Self::closure(slot).run(|b| b(Token::at_top(thread)));
            slot.write_result(catch(run));
        }
    }

    /// # Safety
    ///
    /// The conditions of [`Slot::run`] hold, and [`Self::write_to`] has written a pointer to the
    /// slot.
    unsafe fn run_in_frame(slot: &Slot<S>, thread: Me<'_, S>) {
        // SAFETY: the caller has taken the task, which includes the closure and the place for the
        // result. Both lie in the frame of the join, which waits until the task is done.
        unsafe {
            let task = slot.read::<*mut InFrame<InCallersSpan<B>, R>>();
            let run = || InFrame::take(task).run(|b| b(Token::at_top(thread)));
            InFrame::end(task, catch(run));
        }
    }
}

/// Calls `f` with a token, on the worker's own thread, in the innermost scope, and ends the futures that
/// it leaves behind. Returns its result or its panic.
pub(crate) fn call<S: Scheduler, R>(
    thread: Me<'_, S>,
    f: impl for<'t> FnOnce(Token<'t, S>) -> R,
) -> thread::Result<R> {
    call_in(thread, thread.scope(), f)
}

/// Calls `f` as [`call`] does, in the scope with this flag.
pub(crate) fn call_in<S: Scheduler, R>(
    thread: Me<'_, S>,
    scope: CancelFlag,
    f: impl for<'t> FnOnce(Token<'t, S>) -> R,
) -> thread::Result<R> {
    thread.in_frame_apart(null(), scope, || catch_apart(|| f(Token::at_top(thread))))
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::sync::Ordering;
    use crate::{Pool, Worker};

    #[test]
    fn a_join_at_the_end_of_the_stack_panics_and_names_the_way_out() {
        // Without spare workers there are no thieves. The slots below the top hold no tasks.
        let builder = Pool::builder().workers(1).spare_workers(0);
        let pool = builder.build().unwrap();
        let (panic, seconds) = pool.run(|w| {
            let mut seconds = Vec::new();
            let me = w.thread();
            let stack = me.stack();
            let top = stack.top();
            while stack.open_more() {}
            stack.set_top(stack.end().wrapping_sub(1), Ordering::Relaxed);
            let mut last = Token::at_top(w.thread());
            let join = || last.join(|mut full| full.join(|_| (), |_| ()), |_| seconds.push(1));
            let panic = catch_unwind(AssertUnwindSafe(join)).unwrap_err();
            stack.set_top(top, Ordering::Relaxed);
            (panic, seconds)
        });
        let message = panic.downcast::<String>().unwrap();
        assert!(message.contains("stack_size"), "{message}");
        assert!(seconds.is_empty(), "no second closure begins");
    }
}
