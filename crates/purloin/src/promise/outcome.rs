//! Results that are available from the start, and where their panics go.

use std::panic::resume_unwind;
use std::sync::Weak;

use crate::cancel::Cancelled;
use crate::sync::thread;
use crate::this_thread::{is_worker, keep_orphan, raise};
use crate::unwind::{FirstPanic, Panic, catch, discard};

/// An available result. If it is a panic that is never fetched, the call around the drop gets it.
pub(crate) struct Outcome<T>(Option<thread::Result<T>>);

/// The panic of a task that code without a pool has run at once. It is the payload of the task's
/// outcome, and knows where the panic goes if the result is never fetched.
struct Detached {
    panic: Panic,
    /// Of the finish in whose scope the task was made, if there is one.
    finish: Weak<FirstPanic>,
}

/// Returns the panic of a task.
pub(crate) fn reveal(panic: Panic) -> Panic {
    match panic.downcast::<Detached>() {
        Ok(task) => task.panic,
        Err(panic) => panic,
    }
}

/// Keeps the panic of a task whose result is never fetched.
///
/// Without a pool and without a finish there is no call that could get it, so it continues here, as
/// it would in a serial program.
fn keep_unheard(panic: Panic) {
    let task = match panic.downcast::<Detached>() {
        Ok(task) => *task,
        Err(panic) => return keep_orphan(panic),
    };
    match task.finish.upgrade() {
        Some(finish) => finish.keep(task.panic),
        None => keep_here(task.panic),
    }
}

/// Keeps a panic for the call that this thread runs, if it is a worker. Otherwise the panic continues
/// here, unless the thread is panicking.
fn keep_here(panic: Panic) {
    if is_worker() {
        keep_orphan(panic);
    } else if thread::panicking() {
        discard(panic);
    } else {
        resume_unwind(panic);
    }
}

/// Marks the panic of a task that has run at once. If no thread fetches the result, the panic goes to `finish`.
pub(crate) fn detach<T>(result: thread::Result<T>, finish: Weak<FirstPanic>) -> thread::Result<T> {
    result.map_err(|panic| match panic.is::<Cancelled>() {
        true => panic,
        false => Box::new(Detached { panic, finish }),
    })
}

impl<T> Outcome<T> {
    pub(crate) fn new(result: thread::Result<T>) -> Self {
        Outcome(Some(result))
    }

    pub(crate) fn get(self) -> T {
        self.into_result().unwrap_or_else(|panic| raise(panic))
    }

    pub(crate) fn into_result(self) -> thread::Result<T> {
        self.into_hidden().map_err(reveal)
    }

    /// Returns the result. Its panic is for [`reveal`] or [`keep_unheard`].
    pub(crate) fn into_hidden(mut self) -> thread::Result<T> {
        self.0.take().expect("it is taken once")
    }
}

impl<T> Drop for Outcome<T> {
    fn drop(&mut self) {
        match self.0.take() {
            Some(Err(panic)) => keep_unheard(panic),
            Some(Ok(result)) => {
                if let Err(panic) = catch(|| drop(result)) {
                    keep_here(panic);
                }
            }
            None => (),
        }
    }
}
