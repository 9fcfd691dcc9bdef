//! An idle worker: it looks everywhere, then it sleeps.

use std::time::Duration;

use super::{Injected, Member, Shared};
use crate::scheduler::Protocol;
use crate::sleep::{Patience, Slept};
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
    me.pool().sleep.start_searching();
    go_on_finding(me)
}

/// The same for a worker that counts as searching already: one whose thread was
/// started because there is something to do.
pub(crate) fn go_on_finding<S: Protocol>(me: &Member<S>) -> Work<S> {
    let pool = me.pool();
    let mut search = Search::begin(me);
    loop {
        if pool.sleep.retire(me.index) {
            pass_on_all(pool);
            pool.sleep.rest(me.index);
            search = Search::begin(me);
        }
        if let Some(work) = search.look() {
            pool.sleep.stop_searching();
            if let Work::Injected(_) | Work::Stolen(_) = work {
                pass_on_all(pool);
            }
            return work;
        }
        if !search.patience.pause() {
            let slept = S::sleep(&mut search);
            search.again(slept);
        }
    }
}

/// A search for work, from one task to the next.
pub struct Search<'m, S: Protocol> {
    pub(crate) me: &'m Member<S>,
    pub(crate) patience: Patience,
    /// Whether it has not looked at anyone yet.
    pub(crate) is_fresh: bool,
    /// Whether it has slept for a while for nothing.
    pub(crate) has_dozed: bool,
}

impl<'m, S: Protocol> Search<'m, S> {
    fn begin(me: &'m Member<S>) -> Self {
        me.walk().start();
        Search {
            me,
            patience: Patience::new(),
            is_fresh: true,
            has_dozed: false,
        }
    }

    /// How long to sleep at most, if not for good: see [`Patience::doze`].
    pub(crate) fn doze(&mut self) -> Option<Duration> {
        let is_anyone_active = self.me.active_others().next().is_some();
        self.patience.doze(is_anyone_active)
    }

    /// Sleeps, unless something turns up in the last look.
    pub(crate) fn sleep(&self, time: Option<Duration>, last_look: impl FnOnce() -> bool) -> Slept {
        let pool = self.me.pool();
        self.me.count(Count::Sleeps);
        pool.sleep.sleep_idle(self.me.index, time, || {
            last_look() || pool.has_injected() || pool.is_stopping()
        })
    }

    /// Goes on after sleep or nap.
    fn again(&mut self, slept: Slept) {
        self.me.walk().start();
        self.has_dozed = slept == Slept::TimedOut;
        self.patience.again(slept);
    }

    /// One round of looking.
    fn look(&mut self) -> Option<Work<S>> {
        let pool = self.me.pool();
        if pool.has_injected() {
            S::turns_outside(self.me);
            if let Some(job) = pool.take_injected() {
                return Some(Work::Injected(job));
            }
        }
        if pool.is_stopping() {
            return Some(Work::Stop);
        }
        S::look(self).map(Work::Stolen)
    }
}

/// Called by a worker that stops searching: others counted on it.
///
/// What it has taken may have been the answer to their requests, and tasks may
/// have become public, or been pushed, while it was expected to come by.
fn pass_on_all<S: Protocol>(pool: &Shared<S>) {
    pass_on(pool, pool.members.iter());
}

/// Wakes a sleeper for what these have to offer, or for work from outside.
pub(super) fn pass_on<'m, S: Protocol>(
    pool: &Shared<S>,
    members: impl Iterator<Item = &'m Member<S>>,
) {
    for member in members.filter(|member| member.is_active()) {
        S::pass_on(member);
    }
    if pool.has_injected() {
        pool.sleep.injected();
    }
}
