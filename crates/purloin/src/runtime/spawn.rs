//! Async and finish on the task stack.
//!
//! A spawned task lies in a slot like the second closure of a join. The frame
//! that opened the finish takes all spawns above it back from the top when it
//! ends, newest first: each is run there, or, if it is stolen, waited for by
//! leapfrogging. What a task spawns in turn lies above the frame, too, and is
//! taken back in the same loop; so a chain of spawns, however long, does not
//! nest. (Where thousands of tasks wait to be run, one that is to be spawned is run
//! at once, within 64 others of that kind at most.) A thief does the same before it
//! says that its task is done. So everything is properly nested and needs no
//! counter.
//!
//! Two workers that leapfrog with each other could bury the tasks of a chain, though: each waits for
//! the task that its last one has spawned, which the other has, and takes from that one the next.
//! When one has buried some hundred of a finish ([`Tasks`](super::frame::Tasks) has the number), what
//! the next of these spawns is not left on the stack, but *escapes*, as below: then nothing is waited for,
//! and both come up again. A worker that has buried twice as many, by finishes within finishes or by
//! futures that belong to none, helps nobody until it has come up.
//!
//! Two things distinguish a spawn from the task of a join:
//!
//! - It stays when the code around it goes on. A token that was made before is stale
//!   then, see [`super`]. And a spawn closes the slots up to itself: it lies below the
//!   barrier (or floor), so the pop of an older join takes its slow path, which ends what
//!   lies above.
//! - It may be made where another frame is innermost on this worker: in the
//!   first closure of a join, in a finish within, in a stolen task of a join,
//!   or on a thread that is no worker at all. In the stack it would then have
//!   to end before a frame that it does not belong to, and a join would run
//!   what it does not wait for. Such tasks escape to a queue of the finish,
//!   from which idle workers take them, and in the end its owner.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{Arc, OnceLock};
use std::thread::{self, Thread};

use super::future;
use super::job::fits;
use super::join::Token;
use super::slot::Slot;
use super::{Direct, Member, Stack, Thieves};
use crate::handle::Future;
use crate::pool::{Injected, Job, Lineage, Shared};
use crate::sleep::{Patience, unhelpful_nap};
use crate::stats::Activity;
use crate::unwind::{Panic, discard};
use crate::worker::{Scope, Worker};

/// With so many tasks of its own unstolen, a spawner runs the next at once:
/// enough for thieves to live on, and the memory stays bounded.
const MOST_UNSTOLEN: usize = 4096;

/// Whether half of the stack is used. The other half is for joins.
fn is_half_full<S: Direct>(stack: &S::Stack) -> bool {
    let base = stack.base();
    base.position(base.top()) >= base.capacity() / 2
}

/// Whether another task should go to the stack, that stays there.
pub(super) fn has_room<S: Direct>(member: &Member<S>) -> bool {
    let stack = &member.tasks.stack;
    !is_half_full::<S>(stack) && (stack.unstolen() < MOST_UNSTOLEN || !member.tasks.may_nest())
}

/// What a finish keeps in its [`Scope`].
pub struct Finish<S: Direct> {
    pool: *const Shared<S>,
    owner: usize,
    /// That of the worker that opened the finish.
    lineage: Lineage,
    /// The first panic of a task, or of a future that nobody gets.
    panic: std::sync::Mutex<Option<Panic>>,
    /// Tasks that could not go to a task stack; made when the first comes.
    escaped: OnceLock<Arc<Escaped<S>>>,
}

// SAFETY: the pool outlives the finish, which runs on one of its workers, and
// is itself shared between threads; the other fields are `Sync`.
unsafe impl<S: Direct> Sync for Finish<S> {}

type EscapedTask<S> = Injected<S>;

struct Escaped<S: Direct> {
    lineage: Lineage,
    queue: std::sync::Mutex<Queue<S>>,
    /// Escaped tasks that have not ended, in the queue or running.
    pending: std::sync::atomic::AtomicUsize,
}

struct Queue<S: Direct> {
    tasks: VecDeque<EscapedTask<S>>,
    /// How many idle workers are called for who have not come yet: no more than
    /// there are workers, and one at least while there are tasks.
    calls: usize,
    /// Threads outside of the pool that wait until the queue is shorter.
    spawners: Vec<Thread>,
    /// Such a thread has waited in vain. Until a task is taken, none waits.
    is_stalled: bool,
}

impl<S: Direct> Queue<S> {
    /// Takes the oldest task, and the threads that have waited for room.
    fn pop(&mut self) -> (Option<EscapedTask<S>>, Vec<Thread>) {
        let task = self.tasks.pop_front();
        self.is_stalled = false;
        let has_room = self.tasks.len() <= MOST_UNSTOLEN / 2;
        let spawners = if has_room {
            &mut self.spawners
        } else {
            &mut Vec::new()
        };
        (task, std::mem::take(spawners))
    }
}

impl<S: Direct> Escaped<S> {
    fn new(lineage: Lineage) -> Self {
        let queue = Queue {
            tasks: VecDeque::new(),
            calls: 0,
            spawners: Vec::new(),
            is_stalled: false,
        };
        Escaped {
            lineage,
            queue: std::sync::Mutex::new(queue),
            pending: Default::default(),
        }
    }

    fn pop(&self) -> Option<EscapedTask<S>> {
        let (task, spawners) = lock_std(&self.queue).pop();
        spawners.iter().for_each(Thread::unpark);
        task
    }

    /// The same for a worker that was called, and whether another is to be called in its
    /// place.
    fn come(&self) -> Option<(EscapedTask<S>, bool)> {
        let mut queue = lock_std(&self.queue);
        let (task, spawners) = queue.pop();
        let has_more = !queue.tasks.is_empty();
        queue.calls -= usize::from(!has_more);
        drop(queue);
        spawners.iter().for_each(Thread::unpark);
        task.map(|task| (task, has_more))
    }

    fn is_long(&self) -> bool {
        lock_std(&self.queue).tasks.len() >= MOST_UNSTOLEN
    }

    /// A thread outside of `pool` waits until the queue is shorter, or the pool stalled.
    fn wait_for_room(&self, pool: &Shared<S>) {
        if !self.is_long() || lock_std(&self.queue).is_stalled {
            return;
        }
        let this = thread::current();
        pool.wait_unless_stalled(|| {
            let mut queue = lock_std(&self.queue);
            let is_long = queue.tasks.len() >= MOST_UNSTOLEN;
            if is_long && !queue.spawners.iter().any(|other| other.id() == this.id()) {
                queue.spawners.push(this.clone());
            }
            !is_long
        });
        let mut queue = lock_std(&self.queue);
        queue.is_stalled = queue.tasks.len() >= MOST_UNSTOLEN;
    }
}

fn lock_std<T>(mutex: &std::sync::Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex
        .lock()
        .unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// Runs `body` and then everything that it spawned.
pub(super) fn finish<'env, S: Direct, F, R>(member: &Member<S>, body: F) -> R
where
    F: for<'scope> FnOnce(&'scope Scope<'scope, 'env, S>) -> R,
{
    let scope = Scope::new(Finish {
        pool: member.pool(),
        owner: member.index,
        lineage: member.lineage(),
        panic: std::sync::Mutex::new(None),
        escaped: OnceLock::new(),
    });
    let stack = member.tasks.stack.base();
    let (base, live) = (stack.top(), stack.live());
    let frame = member.tasks.enter_frame(Some(scope.finish()), true);
    let result = catch_unwind(AssertUnwindSafe(|| body(&scope)));
    drain(member, base, live);
    scope.finish().await_escaped(member);
    drop(frame);
    let panic = lock_std(&scope.finish().panic).take();
    match (result, panic) {
        (Ok(result), None) => result,
        (Ok(_), Some(panic)) => resume_unwind(panic),
        (Err(panic), of_a_task) => {
            if let Some(other) = of_a_task {
                discard(other);
            }
            resume_unwind(panic)
        }
    }
}

/// Takes back every spawn above `base`, and what they spawn, running what is not
/// stolen. Below, the stack was live up to `live`.
pub(super) fn drain<S: Direct>(member: &Member<S>, base: *mut Slot<S>, live: *mut Slot<S>) {
    let stack = &member.tasks.stack;
    while stack.base().top() > base {
        let slot = stack.base().top().wrapping_sub(1);
        // Before the pop, which opens what is not live.
        stack.base().set_live(if slot > base { slot } else { live });
        member.tasks.tickets.forget(slot);
        if stack.pop_kept(slot) || member.take_back(slot) {
            // SAFETY: the task is ours, and it reads itself out of the slot
            // before anything else is pushed there.
            unsafe { (*slot).run(member) };
        } else {
            stack.release(slot);
        }
    }
    debug_assert!(stack.base().live() <= base);
}

/// A spawned task as it lies in a slot.
struct Spawned<S: Direct, F> {
    finish: *const Finish<S>,
    task: F,
}

impl<S: Direct> Finish<S> {
    pub(super) fn spawn<'scope, F>(&'scope self, task: F)
    where
        F: for<'t> FnOnce(Token<'t, S>) + Send + 'scope,
    {
        // SAFETY: the pool outlives the finish.
        match unsafe { &*self.pool }.current() {
            Some(member) if self.may_keep(member) => self.spawn_on(member, task),
            _ => self.escape(task),
        }
    }

    /// Whether what this worker spawns may stay with it, on its stack or run at once.
    fn may_keep(&self, member: &Member<S>) -> bool {
        let tasks = &member.tasks;
        tasks.is_innermost(self) && tasks.may_bury() && (tasks.may_nest() || has_room(member))
    }

    fn spawn_on<F>(&self, member: &Member<S>, task: F)
    where
        F: for<'t> FnOnce(Token<'t, S>) + Send,
    {
        let stack = &member.tasks.stack;
        // Stolen spawns keep their slots until they are taken back. In the body
        // of a finish no token knows of them, so that may be now.
        let frame = member.tasks.frame.get();
        if is_half_full::<S>(stack) && frame.is_body {
            drain(member, frame.base, frame.live);
            member.tasks.extend_frame();
        }
        if !has_room::<S>(member) {
            // There is plenty for others.
            member.answer();
            return self.run_at_once(task, member);
        }
        let slot = stack.base().top();
        let finish: *const Finish<S> = self;
        // SAFETY: the slot is the free one at the top. The task stays valid
        // until it is run, which is before the finish ends.
        unsafe {
            if const { fits::<Spawned<S, F>>() } {
                (*slot).write(run_in_slot::<S, F>, Spawned { finish, task });
            } else {
                let task = Box::new(task);
                (*slot).write(run_boxed::<S, F>, Spawned { finish, task });
            }
        }
        stack.push(slot);
        member.tasks.extend_frame();
        member.keep();
    }

    /// Runs a task instead of spawning it. That of a chain would run the next, and so
    /// on; so it is not done within too many others.
    fn run_at_once<F>(&self, task: F, member: &Member<S>)
    where
        F: for<'t> FnOnce(Token<'t, S>),
    {
        // The panic of a task is kept.
        member.tasks.nest(|| self.run_all(task, member));
    }

    /// Runs a task of this finish and then everything that it has spawned.
    fn run_all<F>(&self, task: F, member: &Member<S>)
    where
        F: for<'t> FnOnce(Token<'t, S>),
    {
        let stack = member.tasks.stack.base();
        let (base, live) = (stack.top(), stack.live());
        self.run(task, member);
        drain(member, base, live);
    }

    /// Runs a task of this finish. What it spawns is left on the stack.
    fn run<F>(&self, task: F, member: &Member<S>)
    where
        F: for<'t> FnOnce(Token<'t, S>),
    {
        let frame = member.tasks.enter(Some(self));
        let result = catch_unwind(AssertUnwindSafe(|| task(Token::at_top(member))));
        drop(frame);
        if let Err(panic) = result {
            self.keep(panic);
        }
    }

    /// Keeps the first panic, of a task or of a future that nobody gets.
    pub(super) fn keep(&self, panic: Panic) {
        let mut first = lock_std(&self.panic);
        if first.is_none() {
            *first = Some(panic);
        } else {
            drop(first);
            discard(panic);
        }
    }

    pub(super) fn lineage(&self) -> Lineage {
        self.lineage
    }

    /// See [`Scope::future`].
    pub(super) fn future<'scope, F, T>(&'scope self, closure: F) -> Future<T>
    where
        F: for<'t> FnOnce(Token<'t, S>) -> T + Send + 'scope,
        T: Send + 'scope,
    {
        // SAFETY: the pool outlives the finish.
        match unsafe { &*self.pool }.current() {
            Some(member) if self.may_keep(member) => {
                let frame = member.tasks.frame.get();
                let newest = match frame.is_body {
                    true => frame.base,
                    false => member.tasks.stack.base().top(),
                };
                future::future(member, newest, self, closure)
            }
            _ => future::escaping_future(self, closure),
        }
    }

    pub(super) fn pool(&self) -> &Shared<S> {
        // SAFETY: the pool outlives the finish.
        unsafe { &*self.pool }
    }

    /// Leaves a task to a queue, from which idle workers take it, and in the end the
    /// owner. If that is long, a worker runs the task at once, and any other thread waits.
    #[cold]
    pub(super) fn escape<'scope, F>(&'scope self, task: F)
    where
        F: for<'t> FnOnce(Token<'t, S>) + Send + 'scope,
    {
        let pool = self.pool();
        let escaped = self
            .escaped
            .get_or_init(|| Arc::new(Escaped::new(self.lineage)));
        match pool.current() {
            None => escaped.wait_for_room(pool),
            Some(member) if escaped.is_long() && member.tasks.may_nest() => {
                return self.run_at_once(task, member);
            }
            Some(_) => (),
        }
        let task: Job<'scope, S> = Box::new(move |member| self.run_all(task, member));
        // SAFETY: only the lifetime changes. The task is run before the finish
        // ends, which waits for every pending one.
        let task: EscapedTask<S> = unsafe { std::mem::transmute(task) };
        // Relaxed: whoever spawns here is itself waited for, by the finish or
        // by one of its tasks, so the owner sees this before it looks.
        escaped
            .pending
            .fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let mut queue = lock_std(&escaped.queue);
        queue.tasks.push_back(task);
        let is_called_for = queue.calls < pool.workers();
        queue.calls += usize::from(is_called_for);
        drop(queue);
        pool.sleep.unpark(self.owner);
        if is_called_for {
            call_for(pool, Arc::clone(escaped), self.owner);
        }
    }

    fn await_escaped(&self, member: &Member<S>) {
        let Some(escaped) = self.escaped.get() else {
            return;
        };
        let outer = member.timer().turn(Activity::SearchingInJoin);
        let pool = member.pool();
        let mut patience = Patience::new();
        let mut lent = None;
        loop {
            // After each, as what it runs may use up the wake-up that comes with a
            // request.
            loop {
                S::Thieves::attend(member, None);
                let Some(task) = escaped.pop() else { break };
                drop(lent.take());
                run_escaped(escaped, task, self.owner, member);
                patience = Patience::new();
            }
            // Acquire: what the tasks did happened before the finish ends.
            if escaped.pending.load(std::sync::atomic::Ordering::Acquire) == 0 {
                break;
            }
            lent = lent.or_else(|| pool.lend(member));
            pool.look_for_others(|_| false);
            let time = match member.tasks.stack.offers_nothing() {
                true => patience.doze(true),
                false => {
                    S::Thieves::leave_tasks(member);
                    unhelpful_nap()
                }
            };
            pool.sleep.nap_blocked(member.index, time);
        }
        drop(lent);
        member.timer().turn(outer);
    }
}

/// Calls an idle worker, who runs one of the tasks, and before that leaves the next to
/// whoever is idle then, after what others have called for. He may find that the
/// owner has been faster, even that the finish is over.
fn call_for<S: Direct>(pool: &Shared<S>, escaped: Arc<Escaped<S>>, owner: usize) {
    pool.inject(Box::new(move |member| {
        if let Some((task, has_more)) = escaped.come() {
            if has_more {
                call_for(member.pool(), Arc::clone(&escaped), owner);
            }
            run_escaped(&escaped, task, owner, member);
        }
    }));
}

fn run_escaped<S: Direct>(
    escaped: &Escaped<S>,
    task: EscapedTask<S>,
    owner: usize,
    member: &Member<S>,
) {
    let outer = member.timer().turn_to_application();
    // The owner of the finish waits for it, and so does its root.
    member.with_lineage(escaped.lineage, || task(member));
    member.timer().turn(outer);
    // Release: its end is before that of the finish.
    let before = escaped
        .pending
        .fetch_sub(1, std::sync::atomic::Ordering::Release);
    if before == 1 {
        member.pool().sleep.unpark(owner);
    }
}

/// # Safety
///
/// As for [`Slot::run`], of a slot with a [`Spawned`] of type `F` in it.
unsafe fn run_in_slot<S: Direct, F>(slot: &Slot<S>, member: &Member<S>)
where
    F: for<'t> FnOnce(Token<'t, S>),
{
    // SAFETY: the caller has taken the task, once. The finish has not ended, as it waits
    // for the task.
    unsafe {
        let spawned = slot.read::<Spawned<S, F>>();
        (*spawned.finish).run(spawned.task, member);
    }
}

/// # Safety
///
/// As for [`Slot::run`], of a slot with a [`Spawned`] of type `Box<F>` in it.
unsafe fn run_boxed<S: Direct, F>(slot: &Slot<S>, member: &Member<S>)
where
    F: for<'t> FnOnce(Token<'t, S>),
{
    // SAFETY: the caller has taken the task, once. The finish has not ended, as it waits
    // for the task.
    unsafe {
        let spawned = slot.read::<Spawned<S, Box<F>>>();
        (*spawned.finish).run(*spawned.task, member);
    }
}

impl<S: Direct> Finish<S> {
    /// Joins on the worker that runs on this thread, or else on any of the pool.
    pub(super) fn join<A, B, RA, RB>(&self, a: A, b: B) -> (RA, RB)
    where
        A: for<'t> FnOnce(Token<'t, S>) -> RA + Send,
        B: for<'t> FnOnce(Token<'t, S>) -> RB + Send,
        RA: Send,
        RB: Send,
    {
        // SAFETY: the pool outlives the finish.
        unsafe { &*self.pool }.run(move |mut w| w.join(a, b))
    }
}
