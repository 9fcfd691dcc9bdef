//! An idle worker: it looks everywhere, then it sleeps.

use super::Patience;
use crate::pool::{Injected, Member, Shared};
use crate::scheduler::Protocol;
use crate::stats::Count;

/// What an idle worker has found.
pub(crate) enum Work<S: Protocol> {
    /// From outside the pool.
    Injected(Injected<S>),
    Stolen(S::Stolen),
    /// The pool is being dropped.
    Stop,
}

/// Blocks until there is work.
pub(crate) fn find<S: Protocol>(me: &Member<S>) -> Work<S> {
    let pool = me.pool();
    pool.sleep.start_searching();
    let mut patience = Patience::new();
    loop {
        if let Some(work) = look(me, &mut patience) {
            if pool.sleep.stop_searching() {
                wake_for_leftovers(pool);
            }
            return work;
        }
        if patience.pause() {
            continue;
        }
        match patience.nap() {
            Some(time) if pool.sleep.is_only_searcher() => pool.sleep.nap(me.index, time),
            _ => {
                me.count(Count::Sleeps);
                pool.sleep.sleep_idle(me.index, || {
                    let mut found = pool.has_injected() || pool.is_stopping();
                    for victim in active_victims(me) {
                        S::request(victim);
                        found |= S::offers(victim);
                    }
                    found
                });
            }
        }
        patience.again();
    }
}

/// One look at everything.
fn look<S: Protocol>(me: &Member<S>, patience: &mut Patience) -> Option<Work<S>> {
    let pool = me.pool();
    if let Some(job) = pool.take_injected() {
        return Some(Work::Injected(job));
    }
    if pool.is_stopping() {
        return Some(Work::Stop);
    }
    for victim in active_victims(me) {
        me.count(Count::StealAttempts);
        if let Some(stolen) = S::steal(me, victim, patience.is_silent()) {
            me.count(Count::Steals);
            if !patience.has_asked() {
                me.count(Count::FreeSteals);
            }
            if pool.sleep.has_sleepers(victim.index) {
                // The answer that we have taken was meant for them too.
                S::request(victim);
            }
            return Some(Work::Stolen(stolen));
        }
        if S::request(victim) {
            patience.requested_anew();
        }
    }
    None
}

fn active_victims<S: Protocol>(me: &Member<S>) -> impl Iterator<Item = &Member<S>> {
    me.victims().filter(|victim| victim.is_active())
}

/// Wakes a sleeper if there is something for it.
fn wake_for_leftovers<S: Protocol>(pool: &Shared<S>) {
    for member in pool.members.iter() {
        if pool.sleep.has_sleepers(member.index) && S::offers(member) {
            return pool.sleep.wake_one(member.index);
        }
    }
    if pool.has_injected() {
        pool.sleep.injected();
    }
}
