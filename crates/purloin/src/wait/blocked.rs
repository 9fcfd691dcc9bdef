//! A blocked worker: it helps the thief that it waits for, then it sleeps.

use std::time::Duration;

use super::Patience;
use super::sleep::Slept;
use crate::pool::{Member, Shared};
use crate::scheduler::Protocol;
use crate::stats::{Activity, Count};

/// How long a blocked worker sleeps that may not help.
const UNHELPFUL_NAP: Duration = Duration::from_millis(1);

impl<S: Protocol> Shared<S> {
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
            // Here this worker's processor has nothing to do until the holder
            // publishes or ends. This is the place where it will be lent to a
            // spare worker, which may take anything from anyone.
            me.count(Count::Sleeps);
            // One that may not help has nothing to spin for.
            let mut slept = match helps {
                true => Slept::Woken,
                false => Slept::TimedOut,
            };
            if wake_me() {
                let nap = match helps {
                    true => patience.nap(),
                    // Thieves that ask for what this worker has are answered then.
                    false => Some(UNHELPFUL_NAP),
                };
                match nap {
                    Some(time) => {
                        S::turns_away(me);
                        self.sleep.nap_blocked(me.index, time);
                    }
                    None => {
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
        if woken_for_tasks {
            S::pass_on(holder);
        }
        me.timer().turn(outer);
    }
}
