//! Backoff: how long a worker without work spins, when it uses force, and how long it sleeps.

use std::time::Duration;

use super::protocol::Slept;
use crate::sync::{Instant, spin_loop, yield_now};
use crate::tunables;

/// Whether the sleeps of workers have no time limit. Only builds for tests and models set this: a lost
/// wake-up then makes a program hang. See [the page on waiting](super).
pub(crate) const UNTIMED: bool = cfg!(any(loom, purloin_untimed));

/// The number of rounds after which a spinning worker looks at the clock.
const ROUNDS_PER_LOOK: u32 = if cfg!(loom) { 1 } else { 8 };

/// Returns the longest sleep of a blocked worker that may not leapfrog. It has left its own tasks
/// to other workers, and may leapfrog once they are stolen. `None` means no limit.
pub(crate) fn recheck_interval() -> Option<Duration> {
    (!UNTIMED).then_some(tunables::RECHECK_INTERVAL.get())
}

/// How long a worker's next search spins before the worker sleeps.
///
/// A program may alternate between short serial parts and forks. If its workers fall asleep in
/// each serial part, each fork waits for a wake-up. So a worker that is woken for tasks soon after
/// it began to spin spins longer in its next searches, until one of its sleeps is long.
#[derive(Clone, Copy)]
pub(crate) struct SpinTime(Duration);

impl SpinTime {
    pub(crate) fn usual() -> SpinTime {
        SpinTime(tunables::SPIN_TIME.get())
    }

    /// Returns the next spin time of a worker whose sleep ended this long after it began to spin.
    fn after(slept: Slept, since_spin: Duration) -> SpinTime {
        match slept {
            Slept::WokenForTasks if since_spin < tunables::LONG_SPIN_TIME.get() => {
                SpinTime(tunables::LONG_SPIN_TIME.get())
            }
            _ => SpinTime(tunables::SPIN_TIME.get()),
        }
    }
}

/// A row of tiny tasks that a worker has met, one after the other.
///
/// A program may have nothing but tiny tasks to offer: loops of a few additions, one after the
/// other. A thief that takes one after the other slows the program down tenfold. So after a long
/// row of tiny tasks the thief leaves the next one alone for a while.
#[derive(Clone, Copy)]
pub(crate) struct TinyTasks(u32);

impl TinyTasks {
    /// No tiny task.
    pub(crate) const NONE: TinyTasks = TinyTasks(0);

    /// Returns the limit for a stolen task. A shorter one was not worth the steal, which costs thief
    /// and victim about as long.
    ///
    /// A `claim` reads and writes two or three cache lines of the victim; a whole steal, of which
    /// the victim does a part, some ten times as many. If the two processors share no cache, each
    /// takes several times as long.
    pub(crate) fn stolen_limit(claim: Duration) -> Duration {
        (10 * claim).clamp(Duration::from_nanos(500), Duration::from_nanos(5000))
    }

    /// Returns the row after one more task. A task that takes at least `limit` ends the row.
    pub(crate) fn after(self, task: Duration, limit: Duration) -> TinyTasks {
        match task < limit {
            true => TinyTasks(self.0.saturating_add(1)),
            false => TinyTasks::NONE,
        }
    }

    /// Returns how long an idle thief rests: twice as long after each further tiny task.
    fn rest(self) -> Duration {
        self.doubling(tunables::MIN_REST.get(), tunables::MAX_REST.get())
    }

    /// Returns zero for a short row, then `min`, and twice as much after each further tiny task.
    fn doubling(self, min: Duration, max: Duration) -> Duration {
        match u64::from(self.0).checked_sub(tunables::MANY_TINY_TASKS.get()) {
            Some(further) => max.min(doubled(min, further)),
            None => Duration::ZERO,
        }
    }

    /// Rests, on an idle thief. It is neither active nor searching meanwhile.
    pub(crate) fn take_rest(self) {
        let rest = self.rest();
        if rest.is_zero() {
            return;
        }
        let start = Instant::now();
        loop {
            let elapsed = start.elapsed();
            if elapsed >= rest {
                break;
            }
            // There may be more threads than processors.
            match elapsed < tunables::MIN_REST.get() {
                true => spin_loop(),
                false => yield_now(),
            }
        }
    }

    /// Delays a blocked worker before it leapfrogs, at most until `is_done`.
    pub(crate) fn delay_leapfrog(self, is_done: impl Fn() -> bool) {
        let delay = self.doubling(tunables::LEAPFROG_DELAY.get(), tunables::TINY_AWAITED.get());
        if delay.is_zero() {
            return;
        }
        let start = Instant::now();
        while !is_done() && start.elapsed() < delay {
            spin_loop();
        }
    }
}

/// One worker's backoff while it finds nothing.
pub struct Backoff {
    /// Start of this spell of spinning.
    since: Instant,
    /// Intended duration of this spell.
    spin: Duration,
    /// Time since the start of the spell, updated every few rounds.
    elapsed: Duration,
    rounds: u32,
    /// Number of rounds in which unanswering victims counted as silent.
    forcing_rounds: u32,
    /// Whether, late in this spell of spinning, a victim has answered but the worker got nothing.
    should_nap: bool,
    /// Number of answers since the search began whose task was gone when the worker came for it.
    missed_offers: u32,
    /// Whether the worker stops spinning at once.
    is_over: bool,
    naps: u32,
    timed_sleeps: u32,
}

impl Backoff {
    /// Starts a spell of spinning.
    pub(crate) fn new(spin: SpinTime) -> Self {
        Backoff {
            since: Instant::now(),
            spin: spin.0,
            elapsed: Duration::ZERO,
            rounds: 0,
            forcing_rounds: 0,
            should_nap: false,
            missed_offers: 0,
            is_over: false,
            naps: 0,
            timed_sleeps: 0,
        }
    }

    /// Starts another spell of spinning after a sleep or nap. After a sleep that timed out the
    /// spell is short, because the victims have had the whole sleep to answer. Returns the spin
    /// time of later searches.
    pub(crate) fn restart(&mut self, slept: Slept) -> SpinTime {
        if cfg!(loom) {
            // In a model, a worker does not spin: a thread that yields waits until all others have yielded or
            // blocked, so nothing would happen while the worker falls asleep. It yields here, because its last
            // look may have found something that it cannot take yet.
            yield_now();
        }
        let spin = SpinTime::after(slept, self.since.elapsed());
        let fresh = Backoff::new(spin);
        *self = Backoff {
            missed_offers: self.missed_offers,
            naps: self.naps,
            timed_sleeps: self.timed_sleeps,
            ..match slept {
                Slept::TimedOut => Backoff {
                    spin: Duration::ZERO,
                    elapsed: tunables::SILENT_AFTER.get(),
                    ..fresh
                },
                Slept::Woken | Slept::WokenForTasks => fresh,
            }
        };
        spin
    }

    /// Records that the worker has posted a new request, because a victim had answered the last
    /// one.
    pub fn requested_again(&mut self) {
        self.should_nap |= self.is_silent();
    }

    /// Records that a victim has answered with a task that was gone when the worker came for it.
    /// After several missed offers the worker naps.
    pub fn missed_offer(&mut self) {
        self.missed_offers += 1;
        self.should_nap |= u64::from(self.missed_offers) >= tunables::MAX_MISSED_OFFERS.get();
        self.is_over |= self.should_nap;
    }

    /// Returns whether a victim that has not answered yet counts as silent.
    pub fn is_silent(&self) -> bool {
        self.elapsed >= tunables::SILENT_AFTER.get()
    }

    /// Returns whether the worker has looked around several times, and found nothing.
    pub fn has_looked(&self) -> bool {
        u64::from(self.rounds) >= tunables::LOOKS.get()
    }

    /// Spins for a moment. Returns false once it is time to sleep.
    pub(crate) fn pause(&mut self) -> bool {
        if self.is_over {
            return false;
        }
        self.rounds += 1;
        self.forcing_rounds += u32::from(self.is_silent());
        if self.rounds.is_multiple_of(ROUNDS_PER_LOOK) {
            self.elapsed = self.elapsed.max(self.since.elapsed());
            // A worker that has lost its processor for a long time may reach the end of its spell
            // before it has used any force.
            if self.elapsed >= self.spin
                && u64::from(self.forcing_rounds) >= tunables::MIN_FORCING_ROUNDS.get()
            {
                return false;
            }
        }
        // Spin while an answer may come within nanoseconds. Later let other threads have the
        // processor: there may be more threads than processors.
        if self.rounds < 32 || !self.rounds.is_multiple_of(4) {
            spin_loop();
        } else {
            yield_now();
        }
        true
    }

    /// Returns how long the next sleep may last, or `None` for no limit. The first sleep of a
    /// search always has a limit; later ones do while any other worker is active, and the limit
    /// doubles each time. `is_any_active` may err towards true while its argument, the limit, is short.
    pub(crate) fn sleep_limit(
        &mut self,
        is_any_active: impl FnOnce(Duration) -> bool,
    ) -> Option<Duration> {
        let limit = doubled(tunables::MIN_SLEEP_LIMIT.get(), self.timed_sleeps.into());
        let limit = limit.min(tunables::MAX_SLEEP_LIMIT.get());
        if UNTIMED || self.timed_sleeps > 0 && !is_any_active(limit) {
            return None;
        }
        self.timed_sleeps += 1;
        Some(limit)
    }

    /// Returns how long to nap, or `None` if the worker should sleep instead.
    pub fn nap_time(&mut self) -> Option<Duration> {
        if UNTIMED || !self.should_nap {
            self.naps = 0;
            return None;
        }
        let nap = doubled(tunables::MIN_NAP.get(), self.naps.into());
        self.naps += 1;
        Some(nap.min(tunables::MAX_NAP.get()))
    }
}

/// Returns `time`, doubled `times` times.
fn doubled(time: Duration, times: u64) -> Duration {
    time.saturating_mul(1 << times.min(31))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thief_rests_for_longer_after_each_tiny_task_in_a_row() {
        let tiny = Duration::from_nanos(60);
        let limit = TinyTasks::stolen_limit(Duration::from_nanos(80));
        assert_eq!(limit, Duration::from_nanos(800));
        let mut row = TinyTasks::NONE;
        for _ in 1..tunables::MANY_TINY_TASKS.get() {
            row = row.after(tiny, limit);
            assert_eq!(row.rest(), Duration::ZERO);
        }
        for micros in [1, 2, 4, 8, 16, 32, 64, 64, 64] {
            row = row.after(tiny, limit);
            assert_eq!(row.rest(), Duration::from_micros(micros));
        }
        let row = row.after(limit, limit);
        assert_eq!(row.after(tiny, limit).rest(), Duration::ZERO);
    }

    #[test]
    fn a_blocked_worker_leapfrogs_later_after_each_tiny_task_in_a_row() {
        let delay = |tasks| {
            TinyTasks(tasks).doubling(tunables::LEAPFROG_DELAY.get(), tunables::TINY_AWAITED.get())
        };
        let nanos = [15, 16, 17, 18, 19, 20, u32::MAX].map(|tasks| delay(tasks).as_nanos());
        assert_eq!(nanos, [0, 400, 800, 1600, 3200, 4000, 4000]);
    }
}
