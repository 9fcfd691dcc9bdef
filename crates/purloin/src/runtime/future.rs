//! Futures on the task stack.
//!
//! A future is a **channel** for one message, in memory of its own, with the
//! closure that is to send it; and a **ticket**, a task in a slot like any other,
//! which says: run that closure, unless somebody has. Whoever **claims** the
//! closure, by moving the channel's state from TASK, runs it. That may be
//!
//! - the thief of the ticket;
//! - the owner of the ticket, when the frame above which it lies ends: so a
//!   future ends before its scope does, whether it is got or not;
//! - whoever gets the result, on the spot. Then the ticket stays behind, as it
//!   may lie anywhere in anybody's stack. There is nothing to run for it, but who
//!   comes to it waits until the closure has ended: the scope must not end
//!   before, and the closure may borrow from that.
//!
//! Mostly a future is got where it was made, though, with the ticket still at
//! the top. Then it is popped like the task of a join, and needs no claim.
//! That is possible only by a token that was made before the ticket was pushed,
//! which a comparison tells: a token made later believes that the ticket lies
//! below its top, and would go on from there.
//!
//! A ticket is a task that stays when the code around it goes on, as a spawn
//! is, so it closes the slots up to itself, see [`super::spawn`].
//!
//! # Waiting
//!
//! A worker that gets what another runs leapfrogs with that, as in a join: it
//! runs what descends from the awaited task and nothing else (and not even that
//! while it has tasks of its own to offer, see [`super`]). The frames that it
//! buries under that wait for the task, and so for all its descendants; no
//! descendant waits for them, or the program waits for itself.
//!
//! # Who frees the channel
//!
//! It has two holders, the future and the ticket; the last to let go frees it. A third is
//! the job by which a thread outside the pool calls an idle worker for the task.

use std::cell::UnsafeCell;
use std::mem::MaybeUninit;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::ptr::NonNull;
use std::thread;

use super::join::Token;
use super::oneshot::Channel;
use super::slot::Slot;
use super::spawn::{Finish, drain, has_room};
use super::{Direct, Member, Stack, recycle};
use crate::handle::{Functions, Future, Place, Promise};
use crate::pool::{Injected, Job, Lineage, Shared, outside};
use crate::unwind::{Panic, discard};

/// A channel with the closure that sends.
struct Sender<S: Direct, F, T> {
    channel: Channel<T>,
    pool: *const Shared<S>,
    /// The number of the pool, as another may come to be at that address.
    pool_id: u64,
    /// The finish of the scope that it was made in, or none.
    finish: *const Finish<S>,
    /// Where the ticket is, in the stack of worker `owner`; none if elsewhere.
    slot: *mut Slot<S>,
    owner: usize,
    closure: UnsafeCell<MaybeUninit<F>>,
}

/// Makes a future of `closure`, whose ticket goes to the top of the stack. In a
/// full stack it is run at once.
pub(super) fn future<S, F, T>(
    member: &Member<S>,
    top: *mut Slot<S>,
    finish: *const Finish<S>,
    closure: F,
) -> Future<T>
where
    S: Direct,
    F: for<'t> FnOnce(Token<'t, S>) -> T + Send,
    T: Send,
{
    let base = member.tasks.stack.base();
    member.drop_claimed(top);
    if !has_room::<S>(member) {
        member.answer();
        let run = || run_all(closure, finish, member);
        let run = || catch_unwind(AssertUnwindSafe(run));
        return Future::ready(member.tasks.nest(run));
    }
    let slot = base.top();
    // SAFETY: this is the worker's thread.
    let memory = unsafe { member.tasks.blocks.take() };
    let sender = Sender::new(memory, member.pool(), finish, slot, member.index, closure);
    // SAFETY: the slot is the free one at the top.
    unsafe { (*slot).write(run_ticket::<S, F, T>, sender) };
    let live = base.live();
    member.tasks.tickets.note(slot, live);
    member.tasks.stack.push(slot);
    member.tasks.resize_frame(slot, base.top());
    member.keep();
    Sender::promise(sender)
}

/// Makes a future of `closure` whose ticket goes to the queue of the finish.
pub(super) fn escaping_future<'scope, S, F, T>(finish: &'scope Finish<S>, closure: F) -> Future<T>
where
    S: Direct,
    F: for<'t> FnOnce(Token<'t, S>) -> T + Send + 'scope,
    T: Send + 'scope,
{
    let nowhere = std::ptr::null_mut();
    let memory = recycle::allocate_for();
    let sender = Sender::new(memory, finish.pool(), finish, nowhere, usize::MAX, closure);
    let ticket = SentTicket(sender);
    finish.escape(move |w: Token<'_, S>| {
        let SentTicket(sender) = { ticket };
        // SAFETY: this is the ticket, used once.
        unsafe { Sender::run_unless_claimed(sender, w.member()) };
    });
    Sender::promise(sender)
}

/// Makes a future of `closure` that belongs to no scope. An idle worker runs it.
pub(crate) fn detached_future<S, F, T>(pool: &Shared<S>, closure: F) -> Future<T>
where
    S: Direct,
    F: for<'t> FnOnce(Token<'t, S>) -> T + Send + 'static,
    T: Send + 'static,
{
    let (no_finish, nowhere) = (std::ptr::null(), std::ptr::null_mut());
    let memory = recycle::allocate_for();
    let sender = Sender::new(memory, pool, no_finish, nowhere, usize::MAX, closure);
    leave_to(pool, sender);
    Sender::promise(sender)
}

/// Has an idle worker run the closure of `sender`, unless another claims it before. The job
/// is one of its holders.
fn leave_to<S, F, T>(pool: &Shared<S>, sender: NonNull<Sender<S, F, T>>)
where
    S: Direct,
    F: for<'t> FnOnce(Token<'t, S>) -> T + Send,
    T: Send,
{
    /// Lets go of the channel also if it is dropped unrun, with its pool.
    struct Errand<S, F, T>(NonNull<Sender<S, F, T>>)
    where
        S: Direct,
        F: for<'t> FnOnce(Token<'t, S>) -> T + Send,
        T: Send;
    impl<S, F, T> Drop for Errand<S, F, T>
    where
        S: Direct,
        F: for<'t> FnOnce(Token<'t, S>) -> T + Send,
        T: Send,
    {
        fn drop(&mut self) {
            // SAFETY: the job is a holder, and this is its end.
            unsafe { Sender::let_go(self.0) };
        }
    }
    // SAFETY: it is made to be taken elsewhere: closure and result are `Send`.
    unsafe impl<S, F, T> Send for Errand<S, F, T>
    where
        S: Direct,
        F: for<'t> FnOnce(Token<'t, S>) -> T + Send,
        T: Send,
    {
    }
    let errand = Errand(sender);
    let job: Job<'_, S> = Box::new(move |member| {
        let errand = errand;
        // SAFETY: the job is a holder. Who claims the closure runs it, and what it spawns,
        // before the end; the scope of the future waits for that.
        unsafe {
            let this = errand.0.as_ref();
            if this.channel.claim(member.index) {
                let claimed = Claimed::new(errand.0, member);
                std::mem::forget(errand);
                let run = || run_all(this.take_closure(), this.finish, member);
                let caught = || catch_unwind(AssertUnwindSafe(run));
                this.channel
                    .send(member.with_lineage(this.lineage(member.pool()), caught));
                drop(claimed);
            }
        }
    });
    // SAFETY: only the lifetime changes. The job touches the closure and the result only
    // if it claims, and then they are valid: the scope of the future has not ended, as it
    // waits for the closure; a future without a scope is `'static`.
    pool.inject(unsafe { std::mem::transmute::<Job<'_, S>, Injected<S>>(job) });
}

struct SentTicket<S: Direct, F, T>(NonNull<Sender<S, F, T>>);

// SAFETY: a ticket is made to be taken elsewhere: closure and result are `Send`.
unsafe impl<S: Direct, F: Send, T: Send> Send for SentTicket<S, F, T> {}

/// Runs the closure, and what it leaves on the stack.
fn run_all<S, F, T>(closure: F, finish: *const Finish<S>, member: &Member<S>) -> T
where
    S: Direct,
    F: for<'t> FnOnce(Token<'t, S>) -> T,
{
    /// Also if the closure panics.
    struct Drain<'m, S: Direct> {
        member: &'m Member<S>,
        bottom: *mut Slot<S>,
        live: *mut Slot<S>,
    }
    impl<S: Direct> Drop for Drain<'_, S> {
        fn drop(&mut self) {
            drain(self.member, self.bottom, self.live);
        }
    }
    let base = member.tasks.stack.base();
    let _drain = Drain {
        member,
        bottom: base.top(),
        live: base.live(),
    };
    run(closure, finish, member)
}

/// Runs the closure. What it spawns is left on the stack.
fn run<S, F, T>(closure: F, finish: *const Finish<S>, member: &Member<S>) -> T
where
    S: Direct,
    F: for<'t> FnOnce(Token<'t, S>) -> T,
{
    // SAFETY: the finish, if there is one, waits for its futures.
    let _frame = member.tasks.enter(unsafe { finish.as_ref() });
    closure(Token::at_top(member))
}

/// # Safety
///
/// As for [`Slot::run`], of a slot with a pointer to such a sender in it.
unsafe fn run_ticket<S, F, T>(slot: &Slot<S>, member: &Member<S>)
where
    S: Direct,
    F: for<'t> FnOnce(Token<'t, S>) -> T + Send,
    T: Send,
{
    // SAFETY: the caller has taken the ticket, once, and the ticket is a holder.
    unsafe {
        let sender = slot.read::<NonNull<Sender<S, F, T>>>();
        Sender::run_unless_claimed(sender, member);
    }
}

impl<S, F, T> Sender<S, F, T>
where
    S: Direct,
    F: for<'t> FnOnce(Token<'t, S>) -> T + Send,
    T: Send,
{
    const FUNCTIONS: *const Functions<T> = &Functions {
        // SAFETY: `promise` made the promise of a sender of this type. The promise is its
        // holder, and calls this or `drop`, once.
        get: |channel, place| unsafe { Self::get(channel.cast(), place) },
        // SAFETY: `promise` made the promise of a sender of this type. The promise is its
        // holder, and calls this or `get`, once.
        drop: |channel| unsafe { Self::let_go(channel.cast()) },
        // SAFETY: `promise` made the promise of a sender of this type, which is there as
        // long as the promise is its holder.
        is_done: |channel| unsafe { channel.cast::<Self>().as_ref() }.is_done(),
    };

    fn is_done(&self) -> bool {
        self.channel.is_done()
    }

    /// Writes a sender to this memory.
    fn new(
        memory: NonNull<Self>,
        pool: &Shared<S>,
        finish: *const Finish<S>,
        slot: *mut Slot<S>,
        owner: usize,
        closure: F,
    ) -> NonNull<Self> {
        // SAFETY: it is memory for this.
        unsafe {
            memory.write(Sender {
                channel: Channel::new(),
                pool_id: pool.id,
                pool,
                finish,
                slot,
                owner,
                closure: UnsafeCell::new(MaybeUninit::new(closure)),
            });
        }
        memory
    }

    fn promise(sender: NonNull<Self>) -> Future<T> {
        // SAFETY: the future is one of the two holders.
        Future::promised(unsafe { Promise::new(sender.cast(), Self::FUNCTIONS) })
    }

    /// Whether the ticket is at the top of its owner's stack, and belongs to the
    /// innermost frame, and a token with this top is older.
    fn is_at_top(&self, owner: &Member<S>, top: *const Slot<S>) -> bool {
        // A ticket that nobody has used is where it was, unless a thief is about
        // to use it, which the pop will tell.
        self.channel.is_unclaimed()
            && owner.tasks.oldest_poppable(top) <= self.slot.cast_const()
            && self.slot.wrapping_add(1) == owner.tasks.stack.base().top()
    }

    /// Moves the closure out.
    ///
    /// # Safety
    ///
    /// The caller has claimed it, or holds both ends; and calls this once.
    unsafe fn take_closure(&self) -> F {
        // SAFETY: the caller's promise.
        unsafe { (*self.closure.get()).assume_init_read() }
    }

    /// Does what the ticket says, and uses it up: when this returns, the closure has ended,
    /// whichever worker runs it. What it spawns here stays on the stack, as with any task;
    /// so a chain of futures that nobody gets does not nest.
    ///
    /// # Safety
    ///
    /// The caller has the ticket, which is a holder, and does not use it again. `member`
    /// runs on this thread.
    unsafe fn run_unless_claimed(sender: NonNull<Self>, member: &Member<S>) {
        // SAFETY: the ticket is a holder, and the claim makes us the one who
        // runs the closure and writes the result.
        unsafe {
            let this = sender.as_ref();
            if this.channel.claim(member.index) {
                let claimed = Claimed::new(sender, member);
                let closure = this.take_closure();
                let run = || run(closure, this.finish, member);
                let result = catch_unwind(AssertUnwindSafe(run));
                this.channel.send(result);
                drop(claimed);
            } else {
                this.wait(member);
                Self::let_go_in_scope(sender, member);
            }
        }
    }

    /// Waits until another has run the closure.
    fn wait(&self, member: &Member<S>) {
        let channel = &self.channel;
        channel.expect(member.index);
        member.await_stolen(channel.outcome(), || channel.may_be_helped());
    }

    /// The lineage of the worker that made the future.
    ///
    /// # Safety
    ///
    /// The caller has claimed, so that the scope waits, or there is none.
    unsafe fn lineage(&self, pool: &Shared<S>) -> Lineage {
        // SAFETY: the caller's promise.
        match unsafe { self.finish.as_ref() } {
            Some(finish) => finish.lineage(),
            // The ticket is on that worker's stack.
            None if !self.slot.is_null() => pool.members[self.owner].lineage(),
            None => Lineage::NONE,
        }
    }

    /// One of the holders lets go. A panic that nobody has got goes to the call whose
    /// task this thread runs.
    ///
    /// # Safety
    ///
    /// The caller is a holder, and does not use the channel again.
    unsafe fn let_go(sender: NonNull<Self>) {
        // SAFETY: the caller's promise. The scope may have ended.
        unsafe { Self::leave(sender, |_, panic| outside::keep_orphan(panic)) }
    }

    /// The same, for a holder that the scope waits for. The panic goes to the scope.
    ///
    /// # Safety
    ///
    /// As for [`Self::let_go`]. The scope does not end before this returns.
    unsafe fn let_go_in_scope(sender: NonNull<Self>, member: &Member<S>) {
        let keep = |this: &Self, panic| {
            // SAFETY: the caller's promise.
            match unsafe { this.finish.as_ref() } {
                Some(finish) => finish.keep(panic),
                None => member.keep_orphan(panic),
            }
        };
        // SAFETY: the caller's promise.
        unsafe { Self::leave(sender, keep) }
    }

    /// Lets go, and if it is the last, frees the channel. A panic that is left goes to `keep`.
    ///
    /// # Safety
    ///
    /// The caller is a holder, and does not use the channel again.
    unsafe fn leave(sender: NonNull<Self>, keep: impl FnOnce(&Self, Panic)) {
        // SAFETY: the caller is a holder, and does not use it again.
        unsafe {
            let this = sender.as_ref();
            if !this.channel.let_go() {
                return;
            }
            match this.channel.take() {
                Some(Err(panic)) => keep(this, panic),
                // It may panic when it is dropped.
                left => discard(left),
            }
            match Shared::worker_of(this.pool, this.pool_id) {
                Some(member) => member.tasks.blocks.give(sender),
                None => recycle::free(sender),
            }
        }
    }

    /// Takes the result, which is there, and lets go.
    ///
    /// # Safety
    ///
    /// The caller is the future, does not use it again, and has seen the channel's end.
    unsafe fn take_result(sender: NonNull<Self>) -> T {
        // SAFETY: the future is a holder, and the closure has ended.
        let result = unsafe {
            let result = sender.as_ref().channel.take();
            Self::let_go(sender);
            result
        };
        // Whoever claims, but for the future itself, sends.
        let result = result.expect("a message was sent");
        result.unwrap_or_else(|panic| resume_unwind(panic))
    }

    /// Does what [`Future::get`] says.
    ///
    /// # Safety
    ///
    /// The caller is the future, and does not use it again. `place` is this thread's.
    unsafe fn get(sender: NonNull<Self>, place: Option<Place>) -> T {
        // SAFETY: the future is a holder. The pool is only compared, unless this thread is
        // one of its workers, and keeps it alive.
        unsafe {
            let this = sender.as_ref();
            if let Some(place) = place
                && place.pool == this.pool_id
            {
                let member = &(*this.pool).members[place.worker];
                if this.owner == place.worker && this.is_at_top(member, place.top.cast()) {
                    return Self::pop(sender, member);
                }
                return Self::get_on(sender, member);
            }
            if let Some(member) = Shared::worker_of(this.pool, this.pool_id) {
                return Self::get_on(sender, member);
            }
            Self::await_outside(sender);
            Self::take_result(sender)
        }
    }

    /// Sleeps until the result is there, on a thread that is no worker of the pool. If no
    /// worker has begun the task, an idle one is called for it.
    ///
    /// # Safety
    ///
    /// The caller is the future, and stays it.
    unsafe fn await_outside(sender: NonNull<Self>) {
        // SAFETY: the future is a holder.
        let this = unsafe { sender.as_ref() };
        // If the pool is gone, the task has ended.
        let Some(pool) = Shared::<S>::find(this.pool_id) else {
            debug_assert!(this.is_done());
            return;
        };
        if !this.channel.is_begun() {
            this.channel.add_holder();
            leave_to(&pool, sender);
        }
        // SAFETY: this is the future's only wait.
        if unsafe { this.channel.wait_outside(thread::current()) } {
            pool.wait_outside(|| this.channel.is_begun(), || this.is_done());
        }
    }

    /// Gets the result on a worker of the task's pool, without looking at its stack.
    ///
    /// # Safety
    ///
    /// The caller is the future, and does not use it again. `member` runs on this thread.
    unsafe fn get_on(sender: NonNull<Self>, member: &Member<S>) -> T {
        // SAFETY: the future is a holder; what is claimed is ours.
        unsafe {
            let this = sender.as_ref();
            if this.channel.claim(member.index) {
                if this.owner == member.index {
                    member.note_claimed(this.slot);
                }
                // The ticket is left, and waits for this.
                let _claimed = Claimed::new(sender, member);
                let run = || run_all(this.take_closure(), this.finish, member);
                let caught = || catch_unwind(AssertUnwindSafe(run));
                let result = member.with_lineage(this.lineage(member.pool()), caught);
                return result.unwrap_or_else(|panic| resume_unwind(panic));
            }
            this.wait(member);
            Self::take_result(sender)
        }
    }

    /// Gets the result with the ticket at the top of the stack, which a token
    /// knows of whose own top is below.
    ///
    /// # Safety
    ///
    /// The future is used up, and its ticket is at the top of `member`'s stack.
    unsafe fn pop(sender: NonNull<Self>, member: &Member<S>) -> T {
        let stack = &member.tasks.stack;
        // SAFETY: the future is a holder, and so is the ticket. If that is ours
        // again, nobody can have claimed: only we could get the result.
        unsafe {
            let slot = sender.as_ref().slot;
            if member.pop_ticket(slot) {
                let closure = sender.as_ref().take_closure();
                let finish = sender.as_ref().finish;
                member.tasks.blocks.give(sender);
                return run_all(closure, finish, member);
            }
            stack.release(slot);
            // The ticket is done, so the result is there.
            debug_assert!(sender.as_ref().is_done());
            Self::take_result(sender)
        }
    }
}

/// While a closure that one holder has claimed runs; then that holder says that
/// it is done, and lets go. Also if the closure panics.
struct Claimed<'m, S, F, T>
where
    S: Direct,
    F: for<'t> FnOnce(Token<'t, S>) -> T + Send,
    T: Send,
{
    sender: NonNull<Sender<S, F, T>>,
    member: &'m Member<S>,
}

impl<'m, S, F, T> Claimed<'m, S, F, T>
where
    S: Direct,
    F: for<'t> FnOnce(Token<'t, S>) -> T + Send,
    T: Send,
{
    /// The caller has claimed.
    fn new(sender: NonNull<Sender<S, F, T>>, member: &'m Member<S>) -> Self {
        if member.tasks.stack.offers_nothing() {
            // SAFETY: whoever claims is a holder.
            unsafe { sender.as_ref() }.channel.allow_help();
        }
        Claimed { sender, member }
    }
}

impl<S, F, T> Drop for Claimed<'_, S, F, T>
where
    S: Direct,
    F: for<'t> FnOnce(Token<'t, S>) -> T + Send,
    T: Send,
{
    fn drop(&mut self) {
        // SAFETY: whoever made this is a holder, and lets go by it.
        unsafe {
            let channel = &self.sender.as_ref().channel;
            let waiters = channel.end();
            if let Some(waiter) = waiters.worker {
                self.member.pool().sleep.unpark(waiter);
            }
            if let Some(thread) = waiters.outside {
                thread.unpark();
            }
            Sender::let_go_in_scope(self.sender, self.member);
        }
    }
}
