//! Tasks with a result, without the types of the scheduler and of the closure.
//!
//! A task is **one object**: a [`Head`], what a pool needs to run it, the result, the closure, and the inputs of
//! a task that begins after others ([`graph`](crate::graph)). The [channel](oneshot) in its head says who runs the
//! closure, to whom the result belongs, and whom the end wakes. Handles and tickets are views of this object:
//!
//! | view | who has it | counts as |
//! |---|---|---|
//! | [`Promise`] | a [`Handle`](crate::Handle), alone | the handle, one holder of the channel |
//! | [`SharedTask`] | [`SharedHandle`](crate::SharedHandle)s and the tasks that begin after this one | all of them together: the handle |
//! | a ticket | a slot or a queue, from which a worker runs the task | the ticket, one holder |
//! | [`TaskRef`] | whoever borrows one of these | nothing |
//!
//! The last holder frees the object.

mod blocks;
#[cfg(all(loom, test))]
mod models;
mod oneshot;
mod outcome;
mod ready;
mod shared;

use std::alloc::Layout;
use std::marker::PhantomData;
use std::mem::{ManuallyDrop, MaybeUninit};
use std::ops::Deref;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr::NonNull;
use std::task::Waker;

use crate::cancel::Cancelled;
use crate::graph::{Begin, Look, Pending};
use crate::sync::{AtomicUsize, Ordering, UnsafeCell, thread};
use crate::this_thread::{raise, thread_waker};
use crate::unwind::{Panic, discard, drop_catching};

pub(crate) use blocks::{Blocks, allocate, free};
pub(crate) use oneshot::{EXTRA_HOLDER, JOB, Oneshot, Waiters, WaitingWorker};
pub(crate) use outcome::{Outcome, detach, reveal};
pub(crate) use ready::{Got, Ready};
pub(crate) use shared::SharedTask;

/// Calls an executor's waker, whose panic would end a worker.
pub(crate) fn wake(waker: Waker) {
    if let Err(panic) = catch_unwind(AssertUnwindSafe(|| waker.wake())) {
        discard(panic);
    }
}

/// The place of a task's result in its object.
pub(crate) type Message<T> = UnsafeCell<Option<thread::Result<T>>>;

/// The first part of every task with a result.
pub(crate) struct Head {
    pub(crate) channel: Oneshot,
    functions: &'static Functions,
    /// The number of [`SharedTask`]s, or 1.
    sharers: AtomicUsize,
    /// The address of the finish to whose scope the task belongs, or null.
    pub(crate) finish: *const (),
}

impl Head {
    /// Returns the head of a task with these functions.
    #[inline]
    pub(crate) fn new(channel: Oneshot, functions: &'static Functions, finish: *const ()) -> Head {
        Head {
            channel,
            functions,
            sharers: AtomicUsize::new(1),
            finish,
        }
    }

    pub(crate) fn functions(&self) -> &'static Functions {
        self.functions
    }
}

/// The worker that this thread is, and the top of its task stack according to the current token. Untyped, because the
/// pool may have any scheduler. Not `Send`.
#[derive(Clone, Copy)]
pub(crate) struct Place {
    pool: u64,
    worker: *const (),
    top: *const (),
}

impl Place {
    /// # Safety
    ///
    /// `worker` points to a `Remote` of the pool with this number, with the pool's scheduler. This thread is that worker for
    /// as long as it has the place.
    #[inline]
    pub(crate) unsafe fn new(pool: u64, worker: *const (), top: *const ()) -> Place {
        Place { pool, worker, top }
    }

    /// Returns the worker and the top, if the worker is one of this pool.
    #[inline]
    pub(crate) fn of_pool(&self, pool: u64) -> Option<(*const (), *const ())> {
        (self.pool == pool).then_some((self.worker, self.top))
    }
}

/// The thread that gets a result.
#[derive(Clone, Copy)]
pub(crate) struct Getter<'a> {
    /// The worker that this thread is, if the caller knows it. (By reference: the caller has just stored it field by field,
    /// and a copy would load wider words, which the store buffer cannot forward.)
    pub(crate) place: Option<&'a Place>,
    /// Whether no other thread gets the result of the same task.
    pub(crate) is_sole: bool,
}

impl Getter<'_> {
    /// One of several threads.
    pub(crate) const SHARER: Getter<'static> = Getter {
        place: None,
        is_sole: false,
    };
}

/// How a thread waits for a task that it does not run.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wait {
    /// A worker of the task's pool helps the worker that runs the task.
    Help,
    /// A thread outside the pool calls an idle worker for the task, if no worker has begun it.
    CallWorker,
    Sleep,
}

/// The operations of a task without its types, and the layout of its object. Each function gets the task's head.
pub(crate) struct Functions {
    /// Runs the task and moves its result to the last argument, if this can be done without a look at the channel:
    /// the task is at the top of this worker's stack. Consumes the handle if it returns true or panics.
    pub(crate) pop: unsafe fn(NonNull<Head>, Option<&Place>, *mut ()) -> bool,
    /// Gives up the handle.
    pub(crate) let_go: unsafe fn(NonNull<Head>),
    /// Gives up the handle of a [detached](crate::runtime::detached_future) task. Takes the task back
    /// if no worker has begun it.
    pub(crate) abandon: unsafe fn(NonNull<Head>),
    /// Implements [`TaskRef::is_local`].
    pub(crate) is_local: unsafe fn(NonNull<Head>, &Getter) -> bool,
    /// Implements [`TaskRef::run`].
    pub(crate) run: unsafe fn(NonNull<Head>, &Getter),
    /// Implements [`TaskRef::call_worker`].
    pub(crate) call_worker: unsafe fn(NonNull<Head>),
    /// Waits until the task has ended.
    pub(crate) wait: unsafe fn(NonNull<Head>, &Getter, Wait),
    /// Implements [`TaskRef::begin`].
    pub(crate) begin: unsafe fn(NonNull<Head>, Begin),
    /// Implements [`TaskRef::call_got`], if a measuring worker wants that.
    pub(crate) got: Option<unsafe fn(NonNull<Head>)>,
    /// Replaces the result by a panic, unless the task itself has panicked. Only the claimant calls this, before the
    /// end.
    pub(crate) fail: unsafe fn(NonNull<Head>, Panic),
    /// Drops the result. Returns the panic of its destructor, or that of the task if no thread has taken it.
    pub(crate) drop_message: unsafe fn(NonNull<Head>) -> Option<Panic>,
    /// Where the [`Message`] lies in the object, in bytes.
    pub(crate) message_offset: usize,
    /// Where the [`Pending`] lies in the object, in bytes, if the task was made with inputs.
    pub(crate) pending_offset: Option<usize>,
    /// The layout of the object.
    pub(crate) layout: Layout,
}

/// A borrowed task: a handle or a ticket keeps its object.
pub(crate) struct TaskRef(NonNull<Head>);

// SAFETY: the functions of a task may be called on any thread, and so may those of its head. The result is for whoever
// knows its type: `Promise` and `SharedHandle` say when they are `Send`.
unsafe impl Send for TaskRef {}
// SAFETY: as for `Send`.
unsafe impl Sync for TaskRef {}

impl TaskRef {
    /// # Safety
    ///
    /// The object lives as long as this value, and the pointer is valid for all of it.
    pub(crate) unsafe fn new(task: NonNull<Head>) -> TaskRef {
        TaskRef(task)
    }

    pub(crate) fn head(&self) -> &Head {
        // SAFETY: by the contract of `new`.
        unsafe { self.0.as_ref() }
    }

    fn functions(&self) -> &'static Functions {
        self.head().functions
    }

    /// Returns whether the task has ended. If so, what it did is visible.
    pub(crate) fn is_done(&self) -> bool {
        self.head().channel.is_done()
    }

    /// Returns the state of the inputs, if the task was made with any.
    pub(crate) fn pending(&self) -> Option<&Pending> {
        let offset = self.functions().pending_offset?;
        // SAFETY: it lies at this place in the object, for which the pointer is valid.
        Some(unsafe { self.0.byte_add(offset).cast().as_ref() })
    }

    /// Returns whether this thread is a worker of the task's pool.
    fn is_local(&self, getter: &Getter) -> bool {
        // SAFETY: by the contract of `new`.
        unsafe { (self.functions().is_local)(self.0, getter) }
    }

    /// Runs the task, if no worker has begun it and this thread is a worker of its pool. The task is not pending.
    pub(crate) fn run(&self) {
        self.run_for(&Getter::SHARER);
    }

    fn run_for(&self, getter: &Getter) {
        // SAFETY: by the contract of `new`.
        unsafe { (self.functions().run)(self.0, getter) }
    }

    /// Runs the task, and those that it depends on, if this thread is a worker of its pool and as far as this can be done
    /// without a wait.
    pub(crate) fn run_ready(&self) {
        if self.is_done() || !self.is_local(&Getter::SHARER) {
            return;
        }
        let Some(look) = Look::at(self) else {
            return self.run();
        };
        if look.run_inputs() {
            self.run();
            look.end(self.is_done());
        }
    }

    /// Calls an idle worker for the task, if no worker has begun it. The task is not pending.
    pub(crate) fn call_worker(&self) {
        // SAFETY: by the contract of `new`.
        unsafe { (self.functions().call_worker)(self.0) }
    }

    /// Calls idle workers for the task and for those that it depends on, as far as no worker has begun them.
    pub(crate) fn call_workers(&self) {
        if !self.call_for_inputs() {
            self.call_worker();
        }
    }

    /// Calls idle workers for the tasks on which this one depends. Returns false if all of them have ended.
    fn call_for_inputs(&self) -> bool {
        Look::at(self).is_some_and(Look::call_workers)
    }

    /// Begins a task whose inputs have ended.
    ///
    /// # Safety
    ///
    /// The task is pending. This is called once, by the thread that finds nothing missing.
    pub(crate) unsafe fn begin(&self, how: Begin) {
        // SAFETY: the caller guarantees it.
        unsafe { (self.functions().begin)(self.0, how) }
    }

    /// Tells a measuring worker that a thread gets the result.
    #[inline]
    pub(crate) fn call_got(&self) {
        if let Some(got) = self.functions().got {
            // SAFETY: by the contract of `new`.
            unsafe { got(self.0) }
        }
    }

    /// Returns whether a measuring worker wants to know who gets the result.
    pub(crate) fn is_measured(&self) -> bool {
        self.functions().got.is_some()
    }

    /// Waits until the task has ended. If no worker has begun it, it runs here, after those that it depends on.
    pub(crate) fn await_end(&self, getter: &Getter) {
        if self.is_done() {
            return;
        }
        let look = match self.pending() {
            Some(_) if self.is_local(getter) => Look::at(self),
            _ => None,
        };
        look.iter().for_each(Look::await_inputs);
        self.run_for(getter);
        let has_ended = self.is_done();
        look.into_iter().for_each(|look| look.end(has_ended));
        if has_ended {
            return;
        }
        let how = match self.is_local(getter) {
            true if self.head().channel.may_help() => Wait::Help,
            _ if !self.head().channel.watch(thread_waker()) => return,
            false if !self.call_for_inputs() => Wait::CallWorker,
            _ => Wait::Sleep,
        };
        // SAFETY: the end wakes this thread, or it is the one that helps. `run` has begun the task if this thread is a
        // worker of its pool.
        unsafe { (self.functions().wait)(self.0, getter, how) }
    }

    /// Takes the result or the panic, if it is there.
    ///
    /// # Safety
    ///
    /// The task has ended, and no other thread uses its message. `T` is the type of the result.
    unsafe fn take_message<T>(&self) -> Option<thread::Result<T>> {
        let is_fetched = self.head().channel.is_fetched();
        // SAFETY: the caller guarantees it.
        unsafe {
            self.message::<T>().with_mut(|message| match &*message {
                // The first thread that got the result has moved the panic out.
                Some(Err(_)) if is_fetched => {
                    message.write(None);
                    None
                }
                _ => (*message).take(),
            })
        }
    }

    /// Returns the place of the result.
    ///
    /// # Safety
    ///
    /// `T` is the type of the result.
    pub(crate) unsafe fn message<T>(&self) -> &Message<T> {
        // SAFETY: the message lies at this place in the object, for which the pointer is valid.
        unsafe {
            let message = self.0.byte_add(self.functions().message_offset);
            message.cast::<Message<T>>().as_ref()
        }
    }
}

/// The only handle of a task, which will get the result.
pub(crate) struct Promise<T> {
    task: TaskRef,
    result: PhantomData<T>,
}

// SAFETY: this hands a `T` to the thread that owns it, and `T` is `Send`.
unsafe impl<T: Send> Send for Promise<T> {}
// SAFETY: threads that share a promise have the functions of the task, and not the result.
unsafe impl<T: Send> Sync for Promise<T> {}

impl<T> Promise<T> {
    /// # Safety
    ///
    /// The caller passes on the handle of a task with a result of this type.
    pub(crate) unsafe fn new(task: NonNull<Head>) -> Self {
        Promise {
            // SAFETY: the handle is a holder, so the object lives.
            task: unsafe { TaskRef::new(task) },
            result: PhantomData,
        }
    }

    /// Returns the task, for which the caller must let go of the handle.
    fn into_task(self) -> NonNull<Head> {
        ManuallyDrop::new(self).task.0
    }

    /// Waits for the result. `place` says which worker this thread is, if it is one.
    #[inline]
    pub(crate) fn get(self, place: Option<&Place>) -> T {
        let mut result = MaybeUninit::<T>::uninit();
        let this = ManuallyDrop::new(self);
        // SAFETY: this is the handle, and if it is consumed, it is not used again. The result has this type.
        unsafe {
            if (this.task.functions().pop)(this.task.0, place, result.as_mut_ptr().cast()) {
                return result.assume_init();
            }
        }
        ManuallyDrop::into_inner(this).await_and_take(place)
    }

    #[cold]
    fn await_and_take(self, place: Option<&Place>) -> T {
        let is_sole = true;
        self.task.await_end(&Getter { place, is_sole });
        self.take()
    }

    /// Takes the result of a task that has ended.
    ///
    /// # Panics
    ///
    /// Panics if the task has panicked.
    pub(crate) fn take(self) -> T {
        assert!(self.task.is_done());
        self.task.call_got();
        // SAFETY: this is the type of the result. The task has ended, so no thread but this one, which has the only
        // handle, uses the message.
        let result = unsafe { self.task.take_message::<T>() };
        drop(self);
        let result = result.expect("the task has left a result");
        result.unwrap_or_else(|panic| raise(reveal(panic)))
    }

    /// Waits for the result. Returns an error if the task was cancelled.
    pub(crate) fn try_get(self) -> Result<T, Cancelled> {
        let (place, is_sole) = (None, true);
        self.task.await_end(&Getter { place, is_sole });
        match self.head().channel.is_cancelled() {
            true => {
                self.call_got();
                Err(Cancelled)
            }
            false => Ok(self.take()),
        }
    }

    /// Implements [`Functions::fail`].
    ///
    /// # Safety
    ///
    /// The caller has run the task, and has not ended it. Its result has this type.
    pub(crate) unsafe fn fail(task: NonNull<Head>, panic: Panic) {
        // SAFETY: until the end, only this thread uses the message.
        unsafe {
            let task = TaskRef::new(task);
            let message = task.message::<T>();
            if message.with(|message| matches!(&*message, Some(Err(_)))) {
                return discard(panic);
            }
            task.head().channel.note_if_cancelled(&panic);
            discard(message.with_mut(|message| (*message).replace(Err(panic))));
        }
    }

    /// Implements [`Functions::drop_message`].
    ///
    /// # Safety
    ///
    /// The task has ended, and no other thread uses its message, which has this type.
    pub(crate) unsafe fn drop_message(task: NonNull<Head>) -> Option<Panic> {
        // SAFETY: the caller guarantees it.
        match unsafe { TaskRef::new(task).take_message::<T>() }? {
            Ok(result) => drop_catching(result),
            Err(panic) => Some(panic),
        }
    }

    /// Gives up the result of a detached task, and takes the task back if no worker has begun it.
    pub(crate) fn abandon(self) {
        let task = self.into_task();
        // SAFETY: this was the handle.
        unsafe { (task.as_ref().functions.abandon)(task) }
    }

    /// Lets any number of threads share the handle.
    pub(crate) fn share(self) -> SharedTask {
        // SAFETY: this was the handle, so the object lives.
        SharedTask::first(unsafe { TaskRef::new(self.into_task()) })
    }
}

impl<T> Deref for Promise<T> {
    type Target = TaskRef;

    fn deref(&self) -> &TaskRef {
        &self.task
    }
}

impl<T> Drop for Promise<T> {
    fn drop(&mut self) {
        // SAFETY: this is the handle, and goes.
        unsafe { (self.task.functions().let_go)(self.task.0) };
    }
}
