//! Handles that several threads and tasks share.

use std::panic::resume_unwind;

use super::*;

/// A counted share of the handle of a task.
pub(crate) struct SharedTask(TaskRef);

impl SharedTask {
    /// Returns the first sharer. The caller passes on the handle.
    pub(super) fn first(task: TaskRef) -> Self {
        SharedTask(task)
    }
}

impl Deref for SharedTask {
    type Target = TaskRef;

    fn deref(&self) -> &TaskRef {
        &self.0
    }
}

impl Clone for SharedTask {
    fn clone(&self) -> Self {
        // Relaxed: this sharer keeps the handle until this returns.
        let sharers = self.head().sharers.fetch_add(1, Ordering::Relaxed);
        if sharers > isize::MAX as usize {
            // Only a program that forgets its handles comes here. As with `Arc`, it must not go on: the count could
            // wrap.
            std::process::abort();
        }
        // SAFETY: the new sharer is counted, so the object lives.
        SharedTask(unsafe { TaskRef::new(self.0.0) })
    }
}

impl Drop for SharedTask {
    fn drop(&mut self) {
        // AcqRel: what the other sharers did comes before the handle is given up.
        if self.head().sharers.fetch_sub(1, Ordering::AcqRel) > 1 {
            return;
        }
        let functions = self.functions();
        // The last sharer drops a result that was got. A panic of its destructor continues here.
        let is_got = self.is_done() && self.head().channel.is_fetched();
        // SAFETY: this was the last sharer of the handle, which goes. It has the message after the end.
        let panic = unsafe {
            let panic = is_got.then(|| (functions.drop_message)(self.0.0));
            (functions.let_go)(self.0.0);
            panic.flatten()
        };
        match panic {
            Some(panic) if thread::panicking() => discard(panic),
            Some(panic) => resume_unwind(panic),
            None => (),
        }
    }
}
