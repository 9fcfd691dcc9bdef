//! A claimed closure while it runs, and the tickets of claimed closures.

use super::*;

/// A guard for the time while a claimed closure runs. When it is dropped, even by a panic, the
/// claimant marks the task done, and releases the channel.
pub(super) struct Claimed<'m, S, F, T>
where
    S: Scheduler,
    F: for<'t> FnOnce(Token<'t, S>) -> T + Send,
    T: Send,
{
    sender: NonNull<Sender<S, F, T>>,
    /// How much the thread counts among the holders.
    count: u32,
    thread: Me<'m, S>,
    has_ended: bool,
}

impl<'m, S, F, T> Claimed<'m, S, F, T>
where
    S: Scheduler,
    F: for<'t> FnOnce(Token<'t, S>) -> T + Send,
    T: Send,
{
    /// Begins the run of a closure that the caller has claimed. The caller is a holder that counts as
    /// `count`.
    pub(super) fn new(sender: NonNull<Sender<S, F, T>>, count: u32, thread: Me<'m, S>) -> Self {
        // SAFETY: the claimant is a holder, so the channel lives.
        let this = unsafe { sender.as_ref() };
        if thread.tasks.offers_nothing() {
            this.channel.allow_leapfrogging();
        }
        if this.kind != Kind::Asynchronous {
            thread.begin_future();
        }
        Claimed {
            sender,
            count,
            thread,
            has_ended: false,
        }
    }

    /// Begins the run of a closure whose ticket stays where it is. An owner sees the requests of thieves
    /// at a push or a pop, and here it does neither. So it answers them at this point. Otherwise a
    /// worker that gets the results of a thousand tasks would run all of them by itself.
    pub(super) fn apart(sender: NonNull<Sender<S, F, T>>, count: u32, thread: Me<'m, S>) -> Self {
        let tasks = &thread.tasks;
        if !tasks.is_open(tasks.stack().top()) {
            S::serve(thread);
        }
        Self::new(sender, count, thread)
    }

    /// Marks the task done. Returns the threads to wake.
    pub(super) fn end(&mut self) -> Waiters {
        self.has_ended = true;
        // SAFETY: the thread that has claimed is a holder, so the channel lives.
        let this = unsafe { self.sender.as_ref() };
        if this.kind != Kind::Asynchronous {
            self.thread.end_future();
        }
        this.channel.end()
    }
}

impl<S, F, T> Drop for Claimed<'_, S, F, T>
where
    S: Scheduler,
    F: for<'t> FnOnce(Token<'t, S>) -> T + Send,
    T: Send,
{
    fn drop(&mut self) {
        // SAFETY: this thread is a holder. It releases the channel here, and does not use it again. If
        // it is an extra holder, the ticket waits for it; if it is the handle, it has taken the result.
        // A ticket without a slot has held its finish.
        unsafe {
            let waiters = match self.has_ended {
                true => Waiters::default(),
                false => self.end(),
            };
            let sender = self.sender.as_ref();
            let keeps_ticket = sender.keeps_ticket.load(Ordering::Relaxed);
            let (slot, owner, finish) = (sender.slot, sender.owner, sender.finish);
            Sender::let_go_in_scope(self.sender, self.count, self.thread);
            if keeps_ticket {
                // The scope waits for the slot, or for the hold of a ticket that has none.
                Sender::let_go_in_scope(self.sender, 1, self.thread);
                match slot.is_null() {
                    true => Finish::release(finish),
                    false => steal::end(self.thread, slot, owner),
                }
            }
            self.thread.wake(waiters);
        }
    }
}

impl<S: Scheduler> Me<'_, S> {
    /// Claimant: wakes the threads that wait for the closure it has run.
    pub(super) fn wake(self, waiters: Waiters) {
        match waiters.worker {
            WaitingWorker::None => (),
            WaitingWorker::One(worker) => self.pool().sleep.unpark(worker),
            WaitingWorker::Several => {
                for worker in self.pool().started() {
                    self.pool().sleep.unpark(worker.index());
                }
            }
        }
        waiters.watcher.into_iter().for_each(wake);
    }

    /// Owner: pops the ticket at the top, in `slot`. Returns true if the owner has the ticket back.
    /// If not, a thief had it, and it is done.
    pub(super) fn pop_ticket(self, slot: *mut Slot<S>) -> bool {
        let core = self.core();
        let ticket = core.tickets.pop();
        let ticket = ticket.expect("the ticket at the top is known");
        debug_assert_eq!(ticket.slot, slot);
        self.stack().set_spawn_top(ticket.spawn_top);
        self.resize_frame(slot.wrapping_add(1), slot);
        // SAFETY: the ticket was pushed to this slot of the worker's own stack.
        self.tasks.pop(slot, true) || unsafe { S::reclaim_or_wait(self, slot) }
    }

    /// Owner: pops tickets whose closure is claimed off the top of the stack, down to a token's
    /// top.
    pub(super) fn pop_claimed_tickets(self, token_top: *mut Slot<S>) {
        let oldest = self.oldest_poppable(token_top);
        while let Some(slot) = self.core().tickets.newest_claimed()
            && slot.wrapping_add(1) == self.stack().top()
            && slot.cast_const() >= oldest
        {
            if self.pop_ticket(slot) {
                // SAFETY: the owner has the ticket back, and runs it once. The ticket finds that
                // its closure is claimed, and releases the channel.
                unsafe { (*slot).run(self) };
            } else {
                self.tasks.release(slot);
            }
        }
    }
}
