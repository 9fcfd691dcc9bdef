//! A blocked worker: it helps the thief that it waits for, then it sleeps.

use super::{Member, Shared};
use crate::scheduler::Protocol;
use crate::sleep::{Patience, Sleep, Slept, unhelpful_nap};
use crate::stats::{Activity, Count};

/// The processor of a blocked worker, as long as another has it.
pub(crate) struct Lent<'p>(&'p Sleep);

impl Drop for Lent<'_> {
    fn drop(&mut self) {
        self.0.take_back();
    }
}

impl<S: Protocol> Shared<S> {
    /// Lends the processor of `me`, who is going to sleep.
    pub(crate) fn lend(&self, me: &Member<S>) -> Option<Lent<'_>> {
        let lent = self.lend_processor();
        if lent.is_some() {
            me.count(Count::Lendings);
        }
        lent
    }

    /// Lends a processor that is not a worker's: that of a thread outside, which is going
    /// to sleep.
    pub(crate) fn lend_processor(&self) -> Option<Lent<'_>> {
        S::LENDS.then(|| {
            self.sleep.lend();
            Lent(&self.sleep)
        })
    }

    /// Wakes a sleeper if there is anything to run that the callers, who are going to
    /// sleep, leave to others.
    pub(crate) fn look_for_others(&self, is_ours: impl Fn(&Member<S>) -> bool) {
        if S::LENDS {
            let others = self.members.iter().filter(|member| !is_ours(member));
            super::idle::pass_on(self, others);
        }
    }

    /// Blocks `me` until `is_done`, that is, until the task that `holder` has
    /// stolen has ended, and leapfrogs meanwhile: runs what it takes from the
    /// holder by `help`.
    ///
    /// It does so only while `may_help`: if `me` has tasks of its own that nobody
    /// has stolen, then what it runs above them would be offered together with
    /// them, and another blocked worker that awaits it might take one of those.
    ///
    /// `wake_me` asks to be unparked at the end, and is false if that is past.
    pub(crate) fn await_done(
        &self,
        me: &Member<S>,
        holder: &Member<S>,
        is_done: impl Fn() -> bool,
        may_help: impl Fn() -> bool,
        help: impl Fn(&mut Patience) -> Option<S::Stolen>,
        wake_me: impl Fn() -> bool,
    ) {
        let outer = me.timer().turn(Activity::SearchingInJoin);
        let mut patience = Patience::new();
        let mut lent = None;
        // Whether a wake-up for the holder's tasks is ours to pass on.
        let mut woken_for_tasks = false;
        while !is_done() {
            let helps = may_help();
            if helps {
                let begin = me.timer().attempt();
                if let Some(stolen) = help(&mut patience) {
                    me.timer().stolen(begin);
                    me.count(Count::Steals);
                    if !patience.has_asked() {
                        me.count(Count::FreeSteals);
                    }
                    drop(lent.take());
                    S::pass_on(holder);
                    woken_for_tasks = false;
                    me.timer().turn(Activity::ApplicationInJoin);
                    me.run_stolen(stolen);
                    me.timer().turn(Activity::SearchingInJoin);
                    patience = Patience::new();
                    continue;
                }
            }
            if patience.pause() {
                continue;
            }
            me.count(Count::Sleeps);
            // One that may not help has nothing to spin for.
            let mut slept = match helps {
                true => Slept::Woken,
                false => Slept::TimedOut,
            };
            if wake_me() {
                // This worker's processor has nothing to do until the holder
                // publishes or ends. Another may take anything from anyone; but what
                // the holder has is ours, if we may help.
                lent = lent.or_else(|| self.lend(me));
                self.look_for_others(|other| {
                    helps && (other.index == holder.index || other.index == me.index)
                });
                let nap = match helps {
                    true => patience.nap(),
                    false => unhelpful_nap(),
                };
                match !helps || nap.is_some() {
                    true => {
                        if !helps {
                            S::leave_tasks(me);
                        }
                        S::turns_away(me);
                        self.sleep.nap_blocked(me.index, nap);
                    }
                    false => {
                        slept = self.sleep.sleep_blocked(
                            me.index,
                            holder.index,
                            patience.doze(true),
                            || is_done() || S::last_look_at(me, holder),
                        );
                        woken_for_tasks |= slept == Slept::WokenForTasks;
                    }
                }
            }
            patience.again(slept);
        }
        drop(lent);
        if woken_for_tasks {
            S::pass_on(holder);
        }
        me.timer().turn(outer);
    }
}
