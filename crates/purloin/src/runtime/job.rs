//! The closure of a join as it lies in a slot, and its result.

use std::marker::PhantomData;
use std::mem::{ManuallyDrop, MaybeUninit};
use std::panic::{AssertUnwindSafe, catch_unwind};

use super::join::Token;
use super::slot::{PAYLOAD_WORDS, Run, Slot};
use super::{Direct, Member, Stack};
use crate::unwind::{Panic, discard};

/// Whether a value of type `T` fits a slot's payload.
pub(super) const fn fits<T>() -> bool {
    size_of::<T>() <= size_of::<[u64; PAYLOAD_WORDS]>() && align_of::<T>() <= align_of::<u64>()
}

impl<S: Direct> Slot<S> {
    /// Writes how to run the task, and the task.
    ///
    /// # Safety
    ///
    /// The caller is the owner, the slot is free or private to him, and `T`
    /// [`fits`].
    #[inline(always)]
    pub(crate) unsafe fn write<T>(&self, run: Run<S>, task: T) {
        debug_assert!(fits::<T>());
        self.contents.with_mut(|contents| {
            // SAFETY: nobody else touches a free or private slot's contents,
            // and a `T` fits the payload in size and alignment.
            unsafe {
                (*contents).run.write(run);
                (&raw mut (*contents).payload).cast::<T>().write(task);
            }
        });
    }

    /// Moves a value out of the payload.
    ///
    /// # Safety
    ///
    /// The caller has taken the slot's task or result, and a `T` was the last
    /// thing written there.
    #[inline(always)]
    pub(crate) unsafe fn read<T>(&self) -> T {
        self.contents.with(|contents| {
            // SAFETY: the caller promises that a `T` is there and is his.
            unsafe { (&raw const (*contents).payload).cast::<T>().read() }
        })
    }

    /// Runs the task.
    ///
    /// # Safety
    ///
    /// The caller has taken the task, and calls this once.
    pub(super) unsafe fn run(&self, member: &Member<S>) {
        // SAFETY: `run` was written together with the task.
        unsafe {
            let run = self.contents.with(|contents| (*contents).run.assume_init());
            run(self, member);
        }
    }
}

/// The second closure of a join, in the frame of the join.
///
/// If closure and result both fit a slot, the slot holds a bitwise copy of the
/// closure, and only that is used: this one never has its address taken, and
/// nothing of it needs a register while the first closure runs. If not, the
/// slot holds a pointer to this.
pub(super) struct Job<S, B, R> {
    scheduler: PhantomData<S>,
    closure: ManuallyDrop<B>,
    result: MaybeUninit<Result<R, Panic>>,
}

impl<S: Direct, B, R> Job<S, B, R>
where
    B: for<'t> FnOnce(Token<'t, S>) -> R,
{
    const IN_SLOT: bool = fits::<B>() && fits::<Result<R, Panic>>();

    #[inline(always)]
    pub(super) fn new(closure: B) -> Self {
        Job {
            scheduler: PhantomData,
            closure: ManuallyDrop::new(closure),
            result: MaybeUninit::uninit(),
        }
    }

    /// Writes the task to a slot.
    ///
    /// # Safety
    ///
    /// As for [`Slot::write`]; and `self` stays where it is, and is not used,
    /// until the task has been taken back or is done.
    #[inline(always)]
    pub(super) unsafe fn write_to(&mut self, slot: &Slot<S>) {
        // SAFETY: the caller's promise; of the two copies of the closure only
        // the slot's is ever used, by whoever takes the task.
        unsafe {
            if const { Self::IN_SLOT } {
                slot.write::<B>(Self::run_in_slot, std::ptr::read(&*self.closure));
            } else {
                slot.write::<*mut Self>(Self::run_in_frame, self);
            }
        }
    }

    /// Moves the closure out.
    ///
    /// # Safety
    ///
    /// The caller has taken the task, and calls this once.
    #[inline(always)]
    pub(super) unsafe fn closure(slot: &Slot<S>) -> B {
        // SAFETY: what `write_to` wrote is still there, and the caller's.
        unsafe {
            if const { Self::IN_SLOT } {
                slot.read::<B>()
            } else {
                let job = slot.read::<*mut Self>();
                ManuallyDrop::take(&mut (*job).closure)
            }
        }
    }

    /// The result that a thief has left.
    ///
    /// # Safety
    ///
    /// The slot's task is done, and this is called once.
    pub(super) unsafe fn result(slot: &Slot<S>) -> Result<R, Panic> {
        // SAFETY: a thief has written the result where `run` put it, and his
        // release of DONE was acquired.
        unsafe {
            if const { Self::IN_SLOT } {
                slot.read()
            } else {
                let job = slot.read::<*mut Self>();
                (*job).result.assume_init_read()
            }
        }
    }

    /// # Safety
    ///
    /// As for [`Slot::run`], of a slot that [`Self::write_to`] has written with the job
    /// itself.
    unsafe fn run_in_slot(slot: &Slot<S>, member: &Member<S>) {
        // SAFETY: the caller has taken the task, so closure and result are its own.
        unsafe {
            let result = run_caught(Self::closure(slot), member);
            slot.contents.with_mut(|contents| {
                (&raw mut (*contents).payload)
                    .cast::<Result<R, Panic>>()
                    .write(result);
            });
        }
    }

    /// # Safety
    ///
    /// As for [`Slot::run`], of a slot that [`Self::write_to`] has written with a pointer
    /// to the job.
    unsafe fn run_in_frame(slot: &Slot<S>, member: &Member<S>) {
        // SAFETY: the caller has taken the task, so closure and result are its own. The
        // frame of the join, which has the job, waits until the task is done.
        unsafe {
            let job = slot.read::<*mut Self>();
            (*job).result.write(run_caught(Self::closure(slot), member));
        }
    }
}

fn run_caught<S: Direct, B, R>(closure: B, member: &Member<S>) -> Result<R, Panic>
where
    B: for<'t> FnOnce(Token<'t, S>) -> R,
{
    let _frame = member.tasks.enter(None);
    catch_unwind(AssertUnwindSafe(|| closure(Token::at_top(member))))
}

/// Ends the second closure of a join whose first has panicked: runs it, or waits for
/// its thief, and drops its result. Unless `begin`, drops it where no thief has it.
/// Never unwinds.
pub(super) fn end_second<S: Direct, B, R>(member: &Member<S>, slot: *mut Slot<S>, begin: bool)
where
    B: for<'t> FnOnce(Token<'t, S>) -> R,
{
    // SAFETY: the join whose first closure panics has pushed the slot, and
    // not popped it. If the task is ours again, it runs once, in the copy.
    let result = unsafe {
        if member.tasks.stack.pop(slot) || member.take_back(slot) {
            // A copy, as the task itself may push to `slot`. And by the code pointer: the
            // closure need not be compiled once more for this.
            let own = Slot::<S>::empty();
            own.copy_contents(&*slot);
            if !begin {
                return discard(Job::<S, B, R>::closure(&own));
            }
            own.run(member);
            Job::<S, B, R>::result(&own)
        } else {
            let result = Job::<S, B, R>::result(&*slot);
            member.tasks.stack.release(slot);
            result
        }
    };
    // The caller sees the first panic; dropping the result may be a third.
    discard(result);
}
