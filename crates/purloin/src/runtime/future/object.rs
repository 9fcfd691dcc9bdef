//! The object of a future, with the types of its closure and its result.

use std::alloc::Layout;
use std::mem::offset_of;
use std::ptr::NonNull;

use super::*;
use crate::tracing::InCallersSpan;

/// The object of a future. `PENDING` is 1 if the task was made with inputs, and else 0.
#[repr(C)]
pub(super) struct Object<S: Scheduler, F, T, const PENDING: usize> {
    task: Task<S>,
    message: Message<T>,
    closure: UnsafeCell<MaybeUninit<InCallersSpan<F>>>,
    pending: [MaybeUninit<Pending>; PENDING],
}

impl<S, F, T, const PENDING: usize> Object<S, F, T, PENDING>
where
    S: Scheduler,
    F: for<'t> FnOnce(Token<'t, S>) -> T + Send,
    T: Send,
{
    const FUNCTIONS: &'static Functions = &Functions {
        pop: Self::pop,
        let_go: Task::<S>::let_go_of_handle,
        abandon: Task::<S>::abandon,
        is_local: Task::<S>::is_local,
        run: Task::<S>::run_for_handle,
        call_worker: Task::<S>::call_for_handle,
        wait: Task::<S>::wait_for_handle,
        begin: Task::<S>::begin,
        got: None,
        fail: Promise::<T>::fail,
        drop_message: Promise::<T>::drop_message,
        message_offset: offset_of!(Self, message),
        pending_offset: match PENDING {
            0 => None,
            _ => Some(offset_of!(Self, pending)),
        },
        layout: Layout::new::<Self>(),
    };

    /// Writes an object to this memory, without its [`Pending`].
    ///
    /// # Safety
    ///
    /// The memory is uninitialised, large enough, and used by no other thread.
    #[inline]
    pub(super) unsafe fn write(
        memory: NonNull<Self>,
        finish: *const Finish<S>,
        origin: Origin<S>,
        closure: InCallersSpan<F>,
    ) {
        // A future without a scope has a job.
        let channel = Oneshot::new(origin.kind.is_detached());
        let object = Object {
            task: Task {
                head: Head::new(channel, Self::FUNCTIONS, finish.cast()),
                run: Self::run,
                origin,
                job_taken: AtomicBool::new(false),
                keeps_ticket: AtomicBool::new(false),
            },
            message: Message::new(None),
            closure: UnsafeCell::new(MaybeUninit::new(closure)),
            pending: [const { MaybeUninit::uninit() }; PENDING],
        };
        // SAFETY: the caller guarantees it.
        unsafe { memory.write(object) };
    }

    /// Returns the handle.
    ///
    /// # Safety
    ///
    /// The object was written, and this is called once.
    pub(super) unsafe fn handle(object: NonNull<Self>) -> Handle<T> {
        // SAFETY: the handle is one of the two holders, so the object lives until it goes.
        Handle::promised(unsafe { Promise::new(object.cast()) })
    }

    /// Moves the closure out.
    ///
    /// # Safety
    ///
    /// The caller has claimed the closure, or is both holders, and calls this once.
    unsafe fn take_closure(
        object: NonNull<Self>,
    ) -> impl for<'t> FnOnce(Token<'t, S>) -> T + use<S, F, T, PENDING> {
        // SAFETY: the caller has the closure to itself, and moves it out once.
        let closure = unsafe { (*object.as_ref().closure.get()).assume_init_read() };
        move |token: Token<'_, S>| closure.run(|f| f(token))
    }

    /// Implements [`Task::run`].
    ///
    /// # Safety
    ///
    /// The caller has claimed, and has not ended the channel. It calls this once.
    unsafe fn run(task: NonNull<Task<S>>, thread: Option<Me<'_, S>>) {
        // SAFETY: only the claimant moves the closure out and writes the message.
        unsafe {
            let object: NonNull<Self> = task.cast();
            let closure = Self::take_closure(object);
            let result = match thread {
                Some(thread) => catch(|| closure(Token::at_top(thread))),
                None => drop_cancelled(closure),
            };
            if let Err(panic) = &result {
                task.as_ref().head.channel.note_if_cancelled(panic);
            }
            (object.as_ref().message).with_mut(|message| *message = Some(result));
        }
    }

    /// Implements [`Functions::pop`].
    ///
    /// # Safety
    ///
    /// The caller is the handle.
    unsafe fn pop(head: NonNull<Head>, place: Option<&Place>, result: *mut ()) -> bool {
        // SAFETY: the handle is a holder, so the object lives. If the pop returns the ticket, this
        // thread is both holders. No thread can have claimed then, because only this handle could
        // get the result.
        unsafe {
            let task = head.cast::<Task<S>>();
            let Some(thread) = task.as_ref().owner_at_top(place) else {
                return false;
            };
            let slot = task.as_ref().origin.slot;
            if !thread.pop_ticket(slot) {
                // A thief has run the closure.
                thread.tasks.release(slot);
                return false;
            }
            let closure = Self::take_closure(task.cast());
            let (finish, scope) = (task.as_ref().finish(), task.as_ref().origin.scope);
            thread
                .core()
                .blocks
                .give(task.cast(), Layout::new::<Self>());
            match run_all(thread, finish, scope, closure) {
                Ok(value) => result.cast::<T>().write(value),
                Err(panic) => resume_unwind(panic),
            }
            true
        }
    }
}

impl<S, F, T> Object<S, F, T, 1>
where
    S: Scheduler,
    F: for<'t> FnOnce(Token<'t, S>) -> T + Send,
    T: Send,
{
    /// Writes the [`Pending`]. Returns a pointer to it.
    ///
    /// # Safety
    ///
    /// The object was written, and no other thread has it.
    pub(super) unsafe fn set_inputs(object: NonNull<Self>, inputs: Inputs) -> NonNull<Pending> {
        // SAFETY: the caller guarantees it.
        unsafe {
            let place = NonNull::new_unchecked(&raw mut (*object.as_ptr()).pending).cast();
            place.write(Pending::new(object.cast(), inputs));
            place
        }
    }
}
