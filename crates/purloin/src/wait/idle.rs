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
            pool.sleep.stop_searching();
            if let Work::Injected(_) | Work::Stolen(_) = work {
                pass_on(pool);
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
                pool.sleep.sleep_idle(me.index, patience.doze(), || {
                    let mut found = pool.has_injected() || pool.is_stopping();
                    for victim in active_victims(me) {
                        found |= victim.has_something_asked_for();
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

/// Called by a worker that stops searching: others counted on it.
///
/// What it has taken may have been the answer to their requests, and tasks may
/// have become public, or been pushed, while it was expected to come by.
fn pass_on<S: Protocol>(pool: &Shared<S>) {
    for member in pool.members.iter().filter(|member| member.is_active()) {
        member.pass_on();
    }
    if pool.has_injected() {
        pool.sleep.injected();
    }
}

impl<S: Protocol> Member<S> {
    /// Asks this worker anew, on behalf of those that sleep, and wakes one of
    /// them if there is something to get and nobody is searching.
    pub(super) fn pass_on(&self) {
        let sleep = &self.pool().sleep;
        if sleep.has_sleepers(self.index) {
            S::request(self);
            if S::offers(self) || S::hides(self) {
                sleep.published(self.index);
            }
        }
    }

    /// The last look of a worker that goes to sleep, which leaves a request.
    /// Private tasks count if a request stood already, and so might be forced;
    /// if it was answered a moment ago, its victim is not silent.
    pub(super) fn has_something_asked_for(&self) -> bool {
        let stood = !S::request(self);
        S::offers(self) || stood && S::hides(self)
    }
}
