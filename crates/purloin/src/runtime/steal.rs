//! Stealing: the thief's side, and the victim's service to thieves.
//!
//! The order is: an idle thief, a thief that runs a stolen task, and the owner. For a blocked thief, see
//! [`super::leapfrog`].
//! The default methods of [`TaskPool`] call these functions; a scheduler whose thieves send
//! messages has its own. [`crate::sleep`] describes how an idle or blocked worker waits between two
//! attempts.

use super::slot::{Header, Slot};
use super::spawn;
use crate::pool::{Search, WorkerThread};
use crate::scheduler::{Scheduler, TaskPool};
use crate::sleep::{Backoff, Slept, UNTIMED};
use crate::stats::Count;
use crate::sync::{Instant, Ordering, asymmetric};
use crate::unwind::abort;
use crate::victim::Walk;

/// The outcome of a thief's [claim](TaskPool::claim).
pub enum Claim<S: Scheduler> {
    /// The thief has the task in this slot. It must run the task.
    Stolen(*const Slot<S>),
    /// The thief has the task in this slot, without the owner's consent. It must run the task.
    Forced(*const Slot<S>),
    /// No task is public.
    Nothing,
    /// Another thread was faster, or this thief may not take the task.
    Lost,
    /// The bottom was stale, and the thief has given back the task that it found there.
    Stale,
}

/// The outcome of an owner's attempt to [reclaim](TaskPool::reclaim) its newest task.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reclaimed {
    /// The owner has the task back, and runs it.
    Owned,
    /// A thief has the task, or has finished it.
    Stolen,
}

/// A task that a thief has taken and not yet run.
pub struct Stolen<S: Scheduler> {
    slot: *const Slot<S>,
    victim: usize,
    depth: usize,
}

impl<S: Scheduler> Stolen<S> {
    /// Returns the task in `slot` of `victim`.
    ///
    /// # Safety
    ///
    /// The caller has taken the task, and has marked it stolen in the slot's
    /// [outcome](Header::outcome).
    pub unsafe fn new(slot: *const Slot<S>, victim: &WorkerThread<S>) -> Self {
        Stolen {
            slot,
            victim: victim.index(),
            depth: victim.local.depth_of(slot),
        }
    }
}

// An idle thief.

/// Implements [`TaskPool::look`]: tries victims until one has a task.
pub(crate) fn look<S: Scheduler>(search: &mut Search<'_, S>) -> Option<Stolen<S>> {
    let me = search.me;
    let mut walk = me.walk();
    if std::mem::replace(&mut search.is_fresh, false) && walk.samples() > 1 {
        // The samples are a part of what the steal costs (Wool, section 5.4).
        let begin = me.timer().now();
        if let Some(victim) = sample(me, &mut **walk)
            && let Some(stolen) = attempt_since(begin, me, victim, &mut search.backoff)
        {
            return Some(stolen);
        }
    }
    while let Some(victim) = walk.next() {
        let victim = &me.peers()[victim];
        if victim.is_polling() {
            walk.met_thief();
        } else if victim.is_active()
            && let Some(stolen) = attempt(me, victim, &mut search.backoff)
        {
            return Some(stolen);
        }
    }
    let spares = me.pool().started_spares().iter();
    let mut spares = spares.filter(|spare| spare.is_active() && spare.index() != me.index());
    spares.find_map(|victim| attempt(me, victim, &mut search.backoff))
}

/// Samples several victims, and returns the one whose oldest task is nearest to the root.
fn sample<'m, S: Scheduler>(
    me: &'m WorkerThread<S>,
    walk: &mut dyn Walk,
) -> Option<&'m WorkerThread<S>> {
    let mut best: Option<(usize, &WorkerThread<S>)> = None;
    for _ in 0..walk.samples() {
        let Some(victim) = walk.next() else { break };
        let victim = &me.peers()[victim];
        if victim.is_polling() {
            walk.met_thief();
        }
        if !victim.is_active() {
            break;
        }
        let local = &victim.local;
        if !local.tasks.has_public_tasks() {
            break;
        }
        let depth = local.depth_of(local.stack().bottom());
        if best.is_none_or(|(least, _)| depth < least) {
            best = Some((depth, victim));
        }
    }
    best.map(|(_, victim)| victim)
}

/// Tries to steal from `victim`, and asks it for tasks if that fails.
pub(super) fn attempt<S: Scheduler>(
    me: &WorkerThread<S>,
    victim: &WorkerThread<S>,
    backoff: &mut Backoff,
) -> Option<Stolen<S>> {
    attempt_since(me.timer().now(), me, victim, backoff)
}

/// Implements [`attempt`]; the attempt has begun at `begin`, in the timer's ticks.
fn attempt_since<S: Scheduler>(
    begin: u64,
    me: &WorkerThread<S>,
    victim: &WorkerThread<S>,
    backoff: &mut Backoff,
) -> Option<Stolen<S>> {
    me.count(Count::StealAttempts);
    let start = S::LEAVES_TINY_TASKS.then(Instant::now);
    let stolen = steal_if(me, victim, backoff.is_silent(), || true);
    if stolen.is_some() {
        if let Some(start) = start {
            me.note_claim(start.elapsed());
        }
        me.timer().stolen(begin);
        me.count(Count::Steals);
    } else if victim.local.tasks.request() {
        backoff.requested_again();
    }
    stolen
}

pub(super) fn steal_if<S: Scheduler>(
    thief: &WorkerThread<S>,
    victim: &WorkerThread<S>,
    is_silent: bool,
    may_take: impl Fn() -> bool,
) -> Option<Stolen<S>> {
    let claim = victim.local.tasks.claim(thief.index(), is_silent, may_take);
    let slot = match claim {
        Claim::Stolen(slot) => {
            // SAFETY: slots live as long as the pool.
            if !unsafe { &*slot }.header().has_interrupted() {
                thief.count(Count::FreeSteals);
            }
            slot
        }
        Claim::Forced(slot) => {
            thief.count(Count::ForcedSteals);
            slot
        }
        Claim::Stale => {
            thief.count(Count::BackOuts);
            return None;
        }
        Claim::Nothing | Claim::Lost => return None,
    };
    // SAFETY: the claim has taken the task. By the rules for schedulers, it has marked the task
    // stolen in the slot.
    Some(unsafe { Stolen::new(slot, victim) })
}

/// Implements [`TaskPool::sleep`].
pub(crate) fn sleep<S: Scheduler>(search: &mut Search<'_, S>) -> Slept {
    let me = search.me;
    let sleep = &me.pool().sleep;
    if let Some(time) = search.backoff.nap_time()
        && sleep.is_only_searcher()
    {
        sleep.nap(me.index(), time);
        return Slept::Woken;
    }
    let time = search.sleep_limit();
    search.sleep(time, || finds_anything(me.active_others()))
}

/// Looks for tasks once more before a worker falls asleep, and leaves a request with each victim.
/// If a request was already pending, private tasks count, because a thief may be able to force
/// them. If not, the victim has answered a moment ago and is not silent.
///
/// A victim may be pushing a task right now, after it has checked for requests and before this
/// request arrives. A timed sleep covers this race; in a build without timed sleeps, a fence on
/// every processor does.
pub(crate) fn finds_anything<'m, S: Scheduler>(
    victims: impl Iterator<Item = &'m WorkerThread<S>> + Clone,
) -> bool {
    // The worker asks every victim, even after it has found a task.
    let mut found = false;
    for victim in victims.clone() {
        let tasks = &victim.local.tasks;
        let was_pending = !tasks.request();
        found |= tasks.has_public_tasks() || was_pending && tasks.has_private_tasks();
    }
    let has_tasks = |victim: &WorkerThread<S>| {
        let tasks = &victim.local.tasks;
        tasks.has_public_tasks() || tasks.has_private_tasks()
    };
    found || UNTIMED && asymmetric::available() && asymmetric::heavy() && { victims }.any(has_tasks)
}

/// Implements [`TaskPool::pass_on`].
pub(crate) fn pass_on<S: Scheduler>(victim: &WorkerThread<S>) {
    let sleep = &victim.pool().sleep;
    let tasks = &victim.local.tasks;
    if sleep.has_sleepers(victim.index()) {
        tasks.request();
        if tasks.has_public_tasks() || tasks.has_private_tasks() {
            sleep.published(victim.index());
        }
    }
}

// A thief that has a task.

/// Runs a stolen task on the thread of its thief.
pub(crate) fn run<S: Scheduler>(thief: &WorkerThread<S>, stolen: Stolen<S>) {
    let local = &thief.local;
    debug_assert!(
        local.tasks.unstolen() == 0,
        "all tasks of a thief are stolen when it starts a stolen task"
    );
    let outer = local.depth.load(Ordering::Relaxed);
    let base = local.stack().top();
    let spawn_top = local.stack().spawn_top();
    // The first task that the stolen task pushes is one level deeper.
    let depth = stolen
        .depth
        .wrapping_add(1)
        .wrapping_sub(local.stack().position(base));
    local.depth.store(depth, Ordering::Relaxed);
    S::TaskPool::begin_stolen(thief);
    let victim = &thief.pool().worker_threads[stolen.victim];
    // SAFETY: the caller of `Stolen::new` has taken the task. It runs once, because this function
    // consumes `stolen`. Its owner keeps the slot until the task is done.
    unsafe {
        let in_lineage = thief.enter_lineage(victim.lineage_of(stolen.slot));
        let scope = victim.local.scopes.around(stolen.slot.addr());
        let frame = local.enter_in(std::ptr::null(), scope);
        (*stolen.slot).run(thief);
        local.suspend(|| spawn::end_above(thief, base, spawn_top));
        drop(frame);
        drop(in_lineage);
        if !local.keeps_ticket.take() {
            end(thief, stolen.slot, stolen.victim);
        }
    }
    local.depth.store(outer, Ordering::Relaxed);
}

/// Marks a stolen task done.
///
/// # Safety
///
/// The thief has stolen the task from this slot of `victim`, and does not use the slot again.
pub(super) unsafe fn end<S: Scheduler>(
    thief: &WorkerThread<S>,
    slot: *const Slot<S>,
    victim: usize,
) {
    // SAFETY: the owner keeps the slot until the task is done.
    let outcome = unsafe { &*slot }.header().outcome();
    S::TaskPool::end_stolen(thief, outcome);
    if outcome.finish_stolen() {
        thief.pool().sleep.unpark(victim);
    }
}

// The owner.

/// Makes tasks public by `publish`, if thieves have asked, and wakes a sleeping thief for them.
/// Returns whether there are any, and a thief was awake.
pub(crate) fn serve<S: Scheduler>(
    owner: &WorkerThread<S>,
    publish: fn(&S::TaskPool) -> usize,
) -> bool {
    let begin = owner.timer().now();
    let published = publish(&owner.local.tasks);
    owner.timer().served(begin);
    // In a forked process this thread is no worker, and there is none to wake.
    if published == 0 || owner.pool().current().is_none() {
        return false;
    }
    owner.count(Count::Publications);
    let begin = owner.timer().now();
    let was_awake = owner.pool().sleep.published(owner.index());
    owner.timer().woke(begin);
    was_awake
}

/// Does what [`serve`] does, and then lets the thief take its task. An owner that has just woken a
/// thief goes on at once: a thief takes much longer to wake up than to steal.
pub(crate) fn serve_and_yield<S: Scheduler>(
    owner: &WorkerThread<S>,
    publish: fn(&S::TaskPool) -> usize,
) {
    if serve(owner, publish) {
        let begin = owner.timer().now();
        owner.local.tasks.yield_to_thief();
        owner.timer().served(begin);
    }
}

/// Implements [`TaskPool::became_active`].
pub(crate) fn became_active<S: Scheduler>(owner: &WorkerThread<S>) {
    if owner.pool().sleep.is_needed_by_others(owner.index()) {
        // A sleeping worker has asked only the workers that were active when it fell asleep.
        owner.local.tasks.request();
    }
}

/// Implements [`Scheduler::split_hint`].
pub fn split_hint<S: Scheduler>(owner: &WorkerThread<S>, rest: usize) -> usize {
    if rest < 2 || !owner.local.stack().make_room() {
        S::TaskPool::serve(owner);
        return 0;
    }
    match S::TaskPool::serve_in_loop(owner) {
        0 => 0,
        thieves => owner.pool().split_hint(rest, thieves),
    }
}

/// Implements [`Scheduler::reclaim_or_wait`].
///
/// # Safety
///
/// This is the owner's thread, and it has pushed `slot`.
pub unsafe fn reclaim_or_wait<S: Scheduler>(owner: &WorkerThread<S>, slot: *mut Slot<S>) -> bool {
    let tasks = &owner.local.tasks;
    if tasks.stack().spawn_top() > slot.wrapping_add(1) {
        owner.end_futures_above(slot);
        if tasks.pop(slot) {
            return true;
        }
    }
    let begin = owner.timer().now();
    let reclaimed = tasks.reclaim(slot);
    owner.timer().crossed(begin);
    match reclaimed {
        Reclaimed::Owned => {
            S::TaskPool::serve(owner);
            true
        }
        Reclaimed::Stolen => {
            // SAFETY: the slot lies in the owner's stack, and stays live until `release`.
            owner.await_stolen(unsafe { &*slot }.header().outcome(), &|| true);
            false
        }
    }
}

impl<S: Scheduler> WorkerThread<S> {
    /// Owner: closes the slots up to the spawn or future that was just pushed, and offers it if a
    /// thief has asked.
    pub(super) fn offer_spawn(&self) {
        let stack = self.local.stack();
        stack.set_spawn_top(stack.top());
        // Pairs with the heavy side in `finds_anything`.
        asymmetric::light();
        S::TaskPool::spawned(self);
    }

    /// Owner: ends the futures that the first closure of the join in `slot` has left behind. The
    /// pop of that slot has moved the top below their tickets.
    #[cold]
    fn end_futures_above(&self, slot: *mut Slot<S>) {
        let (stack, bottom) = (self.local.stack(), slot.wrapping_add(1));
        let spawn_top = self.local.tickets.spawn_top_below(bottom);
        let Some(spawn_top) = spawn_top else {
            // A panic would unwind the join's frame, which a thief may still use.
            abort("the first closure of a join has left a task on the stack that is not a future");
        };
        // Release: like the push of those tickets.
        stack.set_top(stack.spawn_top(), Ordering::Release);
        spawn::end_above(self, bottom, spawn_top);
    }
}
