//! An idle worker: it looks everywhere, then it sleeps.

use super::Patience;
use super::sleep::Slept;
use crate::pool::{Injected, Member, Shared};
use crate::scheduler::Protocol;
use crate::stats::Count;
use crate::victim::Walk;

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
    let mut search = Search::begin(me);
    loop {
        if let Some(work) = search.look() {
            pool.sleep.stop_searching();
            if let Work::Injected(_) | Work::Stolen(_) = work {
                pass_on(pool);
            }
            return work;
        }
        let patience = &mut search.patience;
        if patience.pause() {
            continue;
        }
        let slept = match patience.nap() {
            Some(time) if pool.sleep.is_only_searcher() => {
                pool.sleep.nap(me.index, time);
                Slept::Woken
            }
            _ => {
                me.count(Count::Sleeps);
                let is_anyone_active = me.active_others().next().is_some();
                let time = patience.doze(is_anyone_active);
                pool.sleep.sleep_idle(me.index, time, || {
                    let mut found = pool.has_injected() || pool.is_stopping();
                    for victim in me.active_others() {
                        found |= victim.has_something_asked_for();
                    }
                    found
                })
            }
        };
        search.again(slept);
    }
}

/// A search for work, from one task to the next.
struct Search<'m, S: Protocol> {
    me: &'m Member<S>,
    patience: Patience,
    /// Whether it has not looked at anyone yet.
    is_fresh: bool,
}

impl<'m, S: Protocol> Search<'m, S> {
    fn begin(me: &'m Member<S>) -> Self {
        me.walk().start();
        Search {
            me,
            patience: Patience::new(),
            is_fresh: true,
        }
    }

    /// Goes on after sleep or nap.
    fn again(&mut self, slept: Slept) {
        self.me.walk().start();
        self.patience.again(slept);
    }

    /// One round of looking.
    fn look(&mut self) -> Option<Work<S>> {
        let pool = self.me.pool();
        if let Some(job) = pool.take_injected() {
            return Some(Work::Injected(job));
        }
        if pool.is_stopping() {
            return Some(Work::Stop);
        }
        let mut walk = self.me.walk();
        if std::mem::replace(&mut self.is_fresh, false)
            && walk.samples() > 1
            && let Some(victim) = self.sample(&mut **walk)
            && let Some(stolen) = self.attempt(victim)
        {
            return Some(Work::Stolen(stolen));
        }
        while let Some(victim) = walk.next() {
            let victim = &pool.members[victim];
            if !victim.is_active() {
                walk.met_thief();
            } else if let Some(stolen) = self.attempt(victim) {
                return Some(Work::Stolen(stolen));
            }
        }
        None
    }

    /// The victim with the task nearest to the root, of several.
    fn sample(&self, walk: &mut dyn Walk) -> Option<&'m Member<S>> {
        let mut best: Option<(usize, &Member<S>)> = None;
        for _ in 0..walk.samples() {
            let Some(victim) = walk.next() else { break };
            let victim = &self.me.pool().members[victim];
            if !victim.is_active() {
                walk.met_thief();
                break;
            }
            if !S::offers(victim) {
                break;
            }
            let depth = S::offered_depth(victim);
            if best.is_none_or(|(least, _)| depth < least) {
                best = Some((depth, victim));
            }
        }
        best.map(|(_, victim)| victim)
    }

    fn attempt(&mut self, victim: &Member<S>) -> Option<S::Stolen> {
        self.me.count(Count::StealAttempts);
        let begin = self.me.timer().attempt();
        let stolen = S::steal(self.me, victim, self.patience.is_silent());
        if stolen.is_some() {
            self.me.timer().stolen(begin);
            self.me.count(Count::Steals);
            if !self.patience.has_asked() {
                self.me.count(Count::FreeSteals);
            }
        } else {
            if S::request(victim) {
                self.patience.requested_anew();
            }
        }
        stolen
    }
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
