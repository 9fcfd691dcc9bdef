//! Results that are there from the start.

use std::mem::offset_of;
use std::ptr::null;

use super::*;

/// A function that a measuring worker wants to be called.
pub(crate) type Got = Box<dyn Fn() + Send + Sync>;

/// A result that was there from the start, as a task that has ended.
#[repr(C)]
pub(crate) struct Ready<T> {
    head: Head,
    message: Message<T>,
    /// Called by each get, for a measuring worker.
    got: Option<Got>,
}

impl<T> Ready<T> {
    const FUNCTIONS: &'static Functions = &Functions {
        pop: |_, _, _| false,
        // SAFETY: `promise` made the box, and the handle goes, which is the only holder.
        let_go: |task| drop(unsafe { Box::from_raw(task.cast::<Self>().as_ptr()) }),
        abandon: |_| unreachable!("only the handle of `run_async` is abandoned"),
        is_local: |_, _| false,
        run: |_, _| (),
        call_worker: |_| (),
        wait: |_, _, _| (),
        begin: |_, _| unreachable!("it has no inputs"),
        got: None,
        fail: |_, _| unreachable!("it has run"),
        drop_message: Promise::<T>::drop_message,
        message_offset: offset_of!(Self, message),
        pending_offset: None,
        layout: Layout::new::<Self>(),
    };

    const MEASURED: &'static Functions = &Functions {
        got: Some(|task| {
            // SAFETY: the handle keeps the box, which `promise` made.
            let this = unsafe { task.cast::<Self>().as_ref() };
            this.got.iter().for_each(|got| got());
        }),
        ..*Self::FUNCTIONS
    };

    /// Returns the handle of a task with this outcome. Each get calls `got` first.
    pub(crate) fn promise(outcome: Outcome<T>, got: Option<Got>) -> Promise<T> {
        let result = outcome.into_hidden();
        let functions = match got {
            None => Self::FUNCTIONS,
            Some(_) => Self::MEASURED,
        };
        let channel = Oneshot::ended();
        if let Err(panic) = &result {
            channel.note_if_cancelled(panic);
        }
        let ready = Box::new(Ready {
            head: Head::new(channel, functions, null()),
            message: UnsafeCell::new(Some(result)),
            got,
        });
        // SAFETY: this passes on the only holder.
        unsafe { Promise::new(NonNull::from(Box::leak(ready)).cast()) }
    }
}

impl<T> Drop for Ready<T> {
    fn drop(&mut self) {
        // SAFETY: no handle is left, and the pointer is to the whole object.
        let result = unsafe { TaskRef::new(NonNull::from(&mut *self).cast()).take_message::<T>() };
        drop(result.map(Outcome::new));
    }
}
