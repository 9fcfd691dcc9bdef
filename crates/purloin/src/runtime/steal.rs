//! Thieves that reach into their victim's task pool: what they may take, and how they look for it.
//!
//! This file has, in this order: the trait [`PublicTasks`], the owner's side, and the thief's side.
//! For a blocked thief, see also [`super::stolen`]. [`crate::sleep`] describes how an idle or blocked
//! worker waits between two attempts.

use super::slot::{Header, Slot};
use super::state::StateWord;
use super::stolen::Stolen;
use crate::pool::{Me, Remote, Search};
use crate::scheduler::{Point, Protocol, Scheduler, TaskPool};
use crate::sleep::{Backoff, Slept, UNTIMED, Visits};
use crate::stats::Count;
use crate::sync::{Instant, asymmetric};
use crate::victim::Walk;

/// The methods by which thieves reach into a [`TaskPool`] and take tasks.
///
/// # Safety
///
/// The implementor upholds the [rules](crate::scheduler).
pub unsafe trait PublicTasks<S: Scheduler<TaskPool = Self>>: TaskPool<S> {
    /// Whether tasks become public only in answer to a request. If so, an idle worker visits only workers that have
    /// announced themselves: each other worker has an unanswered request, and will announce itself when it
    /// makes tasks public.
    const ANNOUNCES: bool = false;

    /// Owner only: makes tasks public. Returns the number of tasks that became public.
    fn publish(&self, what: Publish) -> usize;

    /// Owner only: waits until a thief has the task that was just made public, if the protocol stops
    /// the owner for each steal. Called if a thief is awake.
    fn yield_to_thief(&self) {}

    /// Owner only: returns whether a thief's request for tasks is unanswered.
    fn is_requested(&self) -> bool;

    /// Returns, as a hint, how a thief could take the oldest task.
    fn offers(&self) -> Offer;

    /// Thief: asks the owner to offer tasks at its next push or pop. Returns true if no other
    /// request was pending.
    fn request(&self) -> bool;

    /// Thief: takes the oldest public task for worker `thief`, if `may_take` allows it.
    ///
    /// The pool calls `may_take` while it holds the task, so the answer stays true as long as the
    /// task is not done. An owner that has not answered for some time `is_silent`; the thief may
    /// then take a private task by force.
    fn claim(&self, thief: usize, is_silent: bool, may_take: impl Fn() -> bool) -> Claim<S>;
}

/// The tasks that an owner makes public.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Publish {
    /// The tasks that a pending request asks for, if a request is pending.
    OnRequest,
    /// Like `OnRequest`, after the owner has pushed a spawn or a future. First closes the slots below
    /// [`TaskStack::spawn_top`](super::TaskStack::spawn_top), which has just moved up. The worker does not
    /// call [`PublicTasks::publish`] for a spawn whose slot is closed already, while no request is pending.
    Spawn,
    /// Like `Spawn`, after the first spawn or future of a stolen task.
    FirstSpawn,
    /// Every task.
    All,
}

/// How a thief could take the oldest task of a pool.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Offer {
    /// The pool has no task.
    Nothing,
    /// The oldest task is private. A thief can take it only by force.
    Private,
    /// The oldest task is public, or about to be.
    Public,
}

/// The outcome of a thief's [claim](PublicTasks::claim).
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

/// The protocol of thieves that reach in: idle thieves try one victim after the other, blocked ones
/// leapfrog, and a thief that finds nothing leaves a request.
pub struct ReachIn;

/// A scheduler whose thieves reach in.
pub trait ReachesIn: Scheduler<TaskPool: PublicTasks<Self>> {}

impl<S: Scheduler<TaskPool: PublicTasks<S>>> ReachesIn for S {}

// SAFETY: `ReachIn` calls owner-only methods only on the pool of `me`.
unsafe impl<S: Scheduler<TaskPool: PublicTasks<S>>> Protocol<S> for ReachIn {
    const SERVES_ASLEEP: bool = true;

    #[inline(always)]
    fn answer(me: Me<'_, S>, point: Point<'_, S>) -> usize {
        let tasks = &me.tasks;
        match point {
            Point::Join => publish_and_yield(me, Publish::OnRequest),
            // The slots up to the spawn are closed already, and no thief asks.
            Point::Spawn { is_first: false }
                if !tasks.is_open(me.stack().spawn_top().wrapping_sub(1))
                    && !tasks.is_requested() => {}
            Point::Spawn { is_first: false } => publish_and_yield(me, Publish::Spawn),
            Point::Spawn { is_first: true } => publish_and_yield(me, Publish::FirstSpawn),
            Point::Loop => {
                publish_and_yield(me, Publish::OnRequest);
                if tasks.is_requested() {
                    return me.pool().sleep.idle().max(1);
                }
            }
            Point::Blocked(_) if !tasks.offers_nothing() => {
                publish_and_yield(me, Publish::OnRequest);
            }
            Point::Sleep if !tasks.offers_nothing() => _ = publish_and_wake(me, Publish::All),
            // A sleeping worker has asked only the workers that were active when it fell asleep.
            Point::Active if me.pool().sleep.became_active(me.index()) => {
                tasks.request();
            }
            Point::Blocked(_)
            | Point::Sleep
            | Point::Active
            | Point::LeapfrogEnd
            | Point::OutsideWork
            | Point::StolenBegin
            | Point::StolenEnd(_) => (),
        }
        0
    }

    /// Tries victims until one has a task.
    fn look(search: &mut Search<'_, S>) -> Option<Stolen<S>> {
        let me = search.me;
        let mut walk = me.walk();
        if std::mem::replace(&mut search.is_fresh, false) && walk.samples() > 1 {
            // The samples are a part of what the steal costs (Wool, section 5.4).
            let begin = me.timer().now();
            if let Some(victim) = sample(me, &mut walk)
                && let Some(stolen) = attempt(begin, me, victim, &mut search.backoff)
            {
                return Some(stolen);
            }
        }
        let is_full_circle = walk.is_full_circle();
        let skips = S::TaskPool::ANNOUNCES && is_full_circle && !search.is_thorough;
        let offers = &me.pool().sleep.offers;
        while let Some(victim) = walk.next() {
            if skips && !offers.has(victim) {
                continue;
            }
            let victim = &me.remote().peers()[victim];
            if victim.is_polling() {
                walk.met_thief();
            }
            let may_withdraw = skips && search.backoff.has_looked() && has_old_request(victim);
            if let Some(stolen) = visit(search, victim) {
                return Some(stolen);
            }
            if may_withdraw && has_no_task(victim) {
                withdraw(victim);
            }
        }
        // Spare workers come after the regular ones.
        let spares = me.remote().peers()[me.pool().workers..].iter();
        let mut spares = spares
            .filter(|spare| spare.index() != me.index() && (!skips || offers.has(spare.index())));
        let stolen = spares.find_map(|spare| visit(search, spare));
        // Once the worker has looked at every victim, the announcements lead to those that have tasks.
        search.is_thorough &= stolen.is_some() || !is_full_circle;
        stolen
    }

    fn sleep(search: &mut Search<'_, S>) -> Slept {
        let me = search.me;
        let sleep = &me.pool().sleep;
        if let Some(time) = search.backoff.nap_time()
            && sleep.is_only_searcher()
        {
            sleep.nap(me.index(), time);
            return Slept::Woken;
        }
        let time = search.sleep_limit();
        let visits_all = search.is_thorough || !S::TaskPool::ANNOUNCES;
        search.sleep(time, || match visits_all {
            true => finds_anything(me.active_others()),
            false => finds_announced(me),
        })
    }

    fn leapfrog(
        me: Me<'_, S>,
        holder: &Remote<S>,
        outcome: &StateWord,
        backoff: &mut Backoff,
    ) -> Option<Stolen<S>> {
        let may_take = || !outcome.is_done() && !holder.runs_on_top();
        steal_or_ask(me, holder, backoff, may_take)
    }

    fn should_stay_awake(_me: Me<'_, S>, holder: &Remote<S>) -> bool {
        finds_anything(std::iter::once(holder))
    }

    fn pass_on(victim: &Remote<S>) {
        let sleep = &victim.pool().sleep;
        let tasks = &victim.tasks;
        if sleep.has_sleepers(victim.index()) {
            tasks.request();
            // A push may have looked for requests just before. A spare worker that has no thread yet does not look
            // again later, as a thief that falls asleep does.
            if UNTIMED && asymmetric::available() {
                let _ = asymmetric::heavy();
            }
            if tasks.offers() != Offer::Nothing {
                sleep.published(victim.index());
            }
        }
    }

    fn pass_on_all(workers: &[Remote<S>], visits: Visits, is_ours: &dyn Fn(&Remote<S>) -> bool) {
        let is_victim = |worker: &&Remote<S>| worker.is_active() && !is_ours(worker);
        if visits == Visits::Everyone {
            return workers.iter().filter(is_victim).for_each(Self::pass_on);
        }
        let sleep = &workers[0].pool().sleep;
        if sleep.is_any_searching() {
            // The searching worker finds what there is, or passes on in its turn.
            return;
        }
        if !S::TaskPool::ANNOUNCES {
            return workers.iter().filter(is_victim).for_each(Self::pass_on);
        }
        // A worker that has just started may be missing here. It looks for sleepers when it publishes.
        let announced = |of: usize| workers.get(of).filter(is_victim);
        let awaited = sleep.awaited.iter().filter(|&of| sleep.offers.has(of));
        awaited.filter_map(announced).for_each(Self::pass_on);
        let others = sleep.offers.iter().filter(|&of| !sleep.awaited.has(of));
        for victim in others.filter_map(announced) {
            if !sleep.leaves_sleepers() {
                break;
            }
            let may_withdraw = has_old_request(victim);
            Self::pass_on(victim);
            if may_withdraw && has_no_task(victim) && withdraw(victim) {
                Self::pass_on(victim);
            }
        }
    }
}

// The owner.

/// Makes tasks public, and wakes a sleeping thief for them. Returns true if a task became public while a
/// thief was awake.
fn publish_and_wake<S: ReachesIn>(owner: Me<'_, S>, what: Publish) -> bool {
    let begin = owner.timer().now();
    let published = owner.tasks.publish(what);
    owner.timer().served(begin);
    // A forked process has no workers to wake.
    if published == 0 || !owner.is_current() {
        return false;
    }
    owner.count(Count::Publications);
    let begin = owner.timer().now();
    let was_awake = owner.pool().sleep.published(owner.index());
    owner.timer().woke(begin);
    was_awake
}

/// Makes tasks public, and then lets an awake thief take one. An owner that has just woken a thief does not
/// wait, because waking takes much longer than stealing.
fn publish_and_yield<S: ReachesIn>(owner: Me<'_, S>, what: Publish) {
    if publish_and_wake(owner, what) {
        let begin = owner.timer().now();
        owner.tasks.yield_to_thief();
        owner.timer().served(begin);
    }
}

// The thief.

/// Samples several victims, and returns the one whose oldest task is nearest to the root.
fn sample<'m, S: ReachesIn>(me: Me<'m, S>, walk: &mut Walk) -> Option<&'m Remote<S>> {
    let mut best: Option<(usize, &Remote<S>)> = None;
    for _ in 0..walk.samples() {
        let Some(victim) = walk.next() else { break };
        let victim = &me.remote().peers()[victim];
        if victim.is_polling() {
            walk.met_thief();
        }
        if !victim.is_active() {
            break;
        }
        if victim.tasks.offers() != Offer::Public {
            break;
        }
        let depth = victim.depth_of(victim.stack().bottom());
        if best.is_none_or(|(least, _)| depth < least) {
            best = Some((depth, victim));
        }
    }
    best.map(|(_, victim)| victim)
}

/// Tries to steal from `victim` if it is active, for an idle worker.
fn visit<S: ReachesIn>(search: &mut Search<'_, S>, victim: &Remote<S>) -> Option<Stolen<S>> {
    if !victim.is_active() {
        return None;
    }
    let me = search.me;
    let stolen = attempt(me.timer().now(), me, victim, &mut search.backoff);
    if S::TaskPool::ANNOUNCES && search.is_thorough && stolen.is_none() && !has_no_task(victim) {
        me.pool().sleep.offers.announce(victim.index());
    }
    stolen
}

/// Tries to steal from `victim`, and counts and times the steal. The attempt has begun at `begin`, in the timer's
/// ticks.
fn attempt<S: ReachesIn>(
    begin: u64,
    me: Me<'_, S>,
    victim: &Remote<S>,
    backoff: &mut Backoff,
) -> Option<Stolen<S>> {
    let start = S::LEAVES_TINY_TASKS.then(Instant::now);
    let stolen = steal_or_ask(me, victim, backoff, || true)?;
    if let Some(start) = start {
        me.core().claim.set(start.elapsed());
    }
    me.timer().stolen(begin);
    me.count(Count::Steals);
    Some(stolen)
}

/// Takes the oldest task of `victim`, if `may_take` allows it. If it gets none, asks the victim for tasks.
fn steal_or_ask<S: ReachesIn>(
    thief: Me<'_, S>,
    victim: &Remote<S>,
    backoff: &mut Backoff,
    may_take: impl Fn() -> bool,
) -> Option<Stolen<S>> {
    thief.count(Count::StealAttempts);
    let tasks = &victim.tasks;
    let slot = match tasks.claim(thief.index(), backoff.is_silent(), may_take) {
        Claim::Stolen(slot) => {
            // SAFETY: slots live as long as the pool.
            if !unsafe { &*slot }.header().has_interrupted() {
                thief.count(Count::FreeSteals);
            }
            slot
        }
        Claim::Forced(slot) => {
            thief.count(Count::ForcedSteals);
            // The victim does not announce what it has left.
            thief.pool().sleep.offers.announce(victim.index());
            slot
        }
        failed @ (Claim::Nothing | Claim::Lost | Claim::Stale) => {
            if matches!(failed, Claim::Stale) {
                thief.count(Count::BackOuts);
            }
            if tasks.request() {
                backoff.requested_again();
            }
            return None;
        }
    };
    // SAFETY: the claim has taken the task. By the rules for schedulers, it has marked the task
    // stolen in the slot.
    Some(unsafe { Stolen::new(slot, victim) })
}

/// Looks for tasks once more before a worker falls asleep, and leaves a request with each victim.
/// If a request was already pending, private tasks count, because a thief may be able to force
/// them. If not, the victim has answered a moment ago and is not silent.
///
/// A victim may be pushing a task right now, after it has checked for requests and before this
/// request arrives. A timed sleep covers this race; in a build without timed sleeps, a fence on
/// every processor does.
fn finds_anything<'m, S: ReachesIn>(victims: impl Iterator<Item = &'m Remote<S>> + Clone) -> bool {
    // The worker asks every victim, even after it has found a task.
    let mut found = false;
    for victim in victims.clone() {
        let tasks = &victim.tasks;
        let was_pending = !tasks.request();
        let offer = tasks.offers();
        if S::TaskPool::ANNOUNCES && offer != Offer::Nothing {
            victim.pool().sleep.offers.announce(victim.index());
        }
        found |= match offer {
            Offer::Public => true,
            Offer::Private => was_pending,
            Offer::Nothing => false,
        };
    }
    found || UNTIMED && is_any_left(victims)
}

/// Returns whether a worker seems to have no task, public or private.
fn has_no_task<S: ReachesIn>(worker: &Remote<S>) -> bool {
    !worker.is_active() || worker.tasks.offers() == Offer::Nothing
}

/// Returns whether a worker has a request that it has not answered, or needs none because it is not active. Ask this before a
/// new request.
fn has_old_request<S: ReachesIn>(worker: &Remote<S>) -> bool {
    !worker.is_active() || worker.tasks.is_requested()
}

/// Clears the announcement of a worker that seems to have no task, and has not answered an older request. Returns whether it
/// is worth another visit now: it has tasks, or has answered the request.
///
/// A worker with private tasks stays announced. It may be in a leaf, and not answer. Then only a thief that uses force can
/// take them, and if every other worker is busy or asleep, the last worker that searches must leave them to a sleeper.
fn withdraw<S: ReachesIn>(victim: &Remote<S>) -> bool {
    let offers = &victim.pool().sleep.offers;
    let has_answered = || victim.is_active() && !victim.tasks.is_requested();
    offers.withdraw(victim.index(), has_answered, || !has_no_task(victim))
}

/// Does what [`finds_anything`] does, but looks only at workers that have announced themselves.
fn finds_announced<S: ReachesIn>(me: Me<'_, S>) -> bool {
    let mut found = false;
    for victim in me.pool().sleep.offers.iter() {
        if victim == me.index() {
            continue;
        }
        let Some(victim) = me.remote().peers().get(victim) else {
            continue;
        };
        let is_new = victim.is_active() && victim.tasks.request();
        found |= match has_no_task(victim) {
            true => !is_new && withdraw(victim),
            false => !is_new || victim.tasks.offers() == Offer::Public,
        };
    }
    found || UNTIMED && is_any_left(me.active_others())
}

/// Executes a fence on every processor, and returns whether any of these workers has a task. Announces the first one that has.
fn is_any_left<'m, S: ReachesIn>(mut workers: impl Iterator<Item = &'m Remote<S>>) -> bool {
    if !(asymmetric::available() && asymmetric::heavy()) {
        return false;
    }
    let left = workers.find(|worker| worker.tasks.offers() != Offer::Nothing);
    if let Some(worker) = left {
        worker.pool().sleep.offers.announce(worker.index());
    }
    left.is_some()
}
