//! Thieves who reach into the stacks of others, as far as these are public.

use super::thieves::{Stolen, Thieves};
use super::{Direct, Member, Slot, Stack, StateWord};
use crate::pool::Search;
use crate::sleep::{Patience, Slept, UNTIMED};
use crate::stats::Count;
use crate::sync::asymmetric;
use crate::victim::Walk;

/// What a thief found.
pub enum Claim<S: Direct> {
    /// This slot's task is the thief's, who must run it and say when it is
    /// done, see [`StateWord::finish_stolen`].
    Stolen(*const Slot<S>),
    /// The same, without the owner's consent.
    Forced(*const Slot<S>),
    /// Nothing public.
    Nothing,
    /// Another was faster, or what was there is not for this thief.
    Lost,
    /// The bottom was stale, and the thief has given back what it found there.
    Stale,
}

/// A stack whose tasks thieves take themselves.
pub trait Reachable<S: Direct>: Stack<S> {
    // The owner's slow paths.

    /// Answers a standing request. Returns how many tasks became public by it.
    fn answer(&self) -> usize;

    /// Closes the slots below [`Base::live`](super::Base::live), which has just
    /// moved up, and answers a standing request. Returns how many tasks became
    /// public by that.
    fn close(&self) -> usize;

    /// Makes every task public, as a number of requests would. Returns how many became
    /// public by it.
    fn publish_all(&self) -> usize;

    // What thieves do, on any thread.

    /// Whether the oldest task is public, or about to be, at a glance.
    fn offers(&self) -> bool;

    /// Whether there seems to be a task that could be had by force.
    fn hides(&self) -> bool;

    /// Asks the owner to offer tasks at its next push or pop. True if nobody
    /// had asked since it last answered.
    fn request(&self) -> bool;

    /// Takes the oldest public task for `thief`, if `may_take` allows it.
    ///
    /// `may_take` is asked while the task is held fast, so that what it finds
    /// true stays true as long as the task is not done. If the owner
    /// `is_silent`, the claim may be by force.
    fn claim(&self, thief: usize, is_silent: bool, may_take: impl Fn() -> bool) -> Claim<S>;
}

/// The thieves of such stacks.
pub struct Reaching(());

impl<S: Direct<Stack: Reachable<S>>> Thieves<S> for Reaching {
    fn answer(member: &Member<S>) {
        serve(member, S::Stack::answer);
    }

    fn close(member: &Member<S>) {
        serve(member, S::Stack::close);
    }

    fn askers(member: &Member<S>) -> usize {
        member.pool().sleep.idle()
    }

    fn look(search: &mut Search<'_, S>) -> Option<Stolen<S>> {
        let me = search.me;
        let mut walk = me.walk();
        if std::mem::replace(&mut search.is_fresh, false)
            && walk.samples() > 1
            && let Some(victim) = sample(me, &mut **walk)
            && let Some(stolen) = attempt(me, victim, &mut search.patience)
        {
            return Some(stolen);
        }
        while let Some(victim) = walk.next() {
            let victim = &me.pool().members[victim];
            if !victim.is_active() {
                walk.met_thief();
            } else if let Some(stolen) = attempt(me, victim, &mut search.patience) {
                return Some(stolen);
            }
        }
        let spares = me.pool().spares();
        let mut spares = spares.filter(|spare| spare.is_active() && spare.index != me.index);
        spares.find_map(|victim| attempt(me, victim, &mut search.patience))
    }

    fn sleep(search: &mut Search<'_, S>) -> Slept {
        let me = search.me;
        let sleep = &me.pool().sleep;
        if let Some(time) = search.patience.nap()
            && sleep.is_only_searcher()
        {
            sleep.nap(me.index, time);
            return Slept::Woken;
        }
        let time = search.doze();
        search.sleep(time, || finds_anything(me.active_others()))
    }

    fn attend(me: &Member<S>, _holder: Option<&Member<S>>) {
        if !me.tasks.stack.offers_nothing() {
            Self::answer(me);
        }
    }

    fn leave_tasks(me: &Member<S>) -> bool {
        if !me.tasks.stack.offers_nothing() {
            serve(me, S::Stack::publish_all);
        }
        true
    }

    fn help(
        me: &Member<S>,
        holder: &Member<S>,
        outcome: &StateWord,
        patience: &mut Patience,
    ) -> Option<Stolen<S>> {
        me.count(Count::StealAttempts);
        let stolen = steal_if(me, holder, patience.is_silent(), || !outcome.is_done());
        if stolen.is_none() && holder.tasks.stack.request() {
            patience.requested_anew();
        }
        stolen
    }

    fn last_look_at(_me: &Member<S>, holder: &Member<S>) -> bool {
        finds_anything(std::iter::once(holder))
    }

    fn pass_on(member: &Member<S>) {
        let sleep = &member.pool().sleep;
        let stack = &member.tasks.stack;
        if sleep.has_sleepers(member.index) {
            stack.request();
            if stack.offers() || stack.hides() {
                sleep.published(member.index);
            }
        }
    }

    fn became_active(member: &Member<S>) {
        if member.pool().sleep.is_needed_by_sleepers(member.index) {
            // Whoever sleeps has asked those that were active then.
            member.tasks.stack.request();
        }
    }
}

/// Makes tasks public where thieves have asked, and wakes one for them.
fn serve<S: Direct>(member: &Member<S>, publish: fn(&S::Stack) -> usize) {
    let begin = member.timer().attempt();
    if publish(&member.tasks.stack) > 0 {
        member.count(Count::Publications);
        member.pool().sleep.published(member.index);
    }
    member.timer().served(begin);
}

/// The victim with the task nearest to the root, of several.
fn sample<'m, S: Direct<Stack: Reachable<S>>>(
    me: &'m Member<S>,
    walk: &mut dyn Walk,
) -> Option<&'m Member<S>> {
    let mut best: Option<(usize, &Member<S>)> = None;
    for _ in 0..walk.samples() {
        let Some(victim) = walk.next() else { break };
        let victim = &me.pool().members[victim];
        if !victim.is_active() {
            walk.met_thief();
            break;
        }
        let tasks = &victim.tasks;
        if !tasks.stack.offers() {
            break;
        }
        let depth = tasks.depth_of(tasks.stack.base().bot());
        if best.is_none_or(|(least, _)| depth < least) {
            best = Some((depth, victim));
        }
    }
    best.map(|(_, victim)| victim)
}

fn attempt<S: Direct<Stack: Reachable<S>>>(
    me: &Member<S>,
    victim: &Member<S>,
    patience: &mut Patience,
) -> Option<Stolen<S>> {
    me.count(Count::StealAttempts);
    let begin = me.timer().attempt();
    let stolen = steal_if(me, victim, patience.is_silent(), || true);
    if stolen.is_some() {
        me.timer().stolen(begin);
        me.count(Count::Steals);
        if !patience.has_asked() {
            me.count(Count::FreeSteals);
        }
    } else if victim.tasks.stack.request() {
        patience.requested_anew();
    }
    stolen
}

/// The last look of a worker that goes to sleep, which leaves a request with each victim.
/// Private tasks count if a request stood already, and so might be forced; if it was
/// answered a moment ago, its victim is not silent.
///
/// A victim may push a task just now, having looked for requests before this one came. A
/// doze covers that; where no sleep is timed, a fence on every processor does.
fn finds_anything<'m, S: Direct<Stack: Reachable<S>>>(
    victims: impl Iterator<Item = &'m Member<S>> + Clone,
) -> bool {
    // Each is asked, also after something has been found.
    let mut found = false;
    for victim in victims.clone() {
        let stack = &victim.tasks.stack;
        let stood = !stack.request();
        found |= stack.offers() || stood && stack.hides();
    }
    let has_tasks = |victim: &Member<S>| victim.tasks.stack.offers() || victim.tasks.stack.hides();
    found || UNTIMED && asymmetric::available() && asymmetric::heavy() && { victims }.any(has_tasks)
}

fn steal_if<S: Direct<Stack: Reachable<S>>>(
    thief: &Member<S>,
    victim: &Member<S>,
    is_silent: bool,
    may_take: impl Fn() -> bool,
) -> Option<Stolen<S>> {
    let tasks = &victim.tasks;
    let slot = match tasks.stack.claim(thief.index, is_silent, may_take) {
        Claim::Stolen(slot) => slot,
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
    Some(Stolen::new(slot, victim))
}
