//! How a pool calls the program's handlers ([`Handlers`](super::options::Handlers)): when a thread begins and ends, and
//! for panics that no caller gets.

use super::options::ThreadHandler;
use super::{Me, Shared};
use crate::cancel::CancelFlag;
use crate::runtime;
use crate::scheduler::Scheduler;
use crate::unwind::{Panic, discard, or_abort};

impl<S: Scheduler> Shared<S> {
    /// Calls a handler on the thread of `me`, which is idle, as a call of its own.
    pub(super) fn call_handler(&self, me: Me<'_, S>, handler: Option<&ThreadHandler>) {
        if let Some(handler) = handler {
            me.active(|| {
                let call = || runtime::call_in(me, CancelFlag::NONE, |_| handler(me.index()));
                if let Err(panic) = me.run_as_call(call) {
                    self.keep_panic(panic);
                }
            });
        }
    }

    /// Passes a panic that no caller gets to the pool with this number, if it still exists.
    pub(crate) fn keep_panic_of(pool: u64, panic: Panic) {
        match Self::find(pool) {
            Some(pool) => pool.keep_panic(panic),
            None => discard(panic),
        }
    }

    /// Passes a panic that no caller gets to the program's handler, or else to the next
    /// [`wait`](super::Pool::wait).
    pub(crate) fn keep_panic(&self, panic: Panic) {
        match &self.options.handlers.panic {
            Some(handler) => {
                let call = || or_abort("the panic handler", || handler(panic));
                match self.current() {
                    // The code around it may be suspended.
                    Some(me) => me.outside_of_frames(call),
                    None => call(),
                }
            }
            None => self.quiescence.panic.keep(panic),
        }
    }
}
