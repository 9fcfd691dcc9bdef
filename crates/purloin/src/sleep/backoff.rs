//! How long to spin, when to use force, when to nap.

use std::time::{Duration, Instant};

use super::sleepers::Slept;
use crate::sync::{spin_loop, yield_now};

/// Whether no sleep of a worker ends by itself: a build for tests, in which a wake-up that
/// is lost is a program that hangs. See the page on waiting.
pub(crate) const UNTIMED: bool = cfg!(purloin_untimed);

/// How long a blocked worker sleeps that may not help.
const UNHELPFUL_NAP: Duration = Duration::from_millis(1);

/// For how long a blocked worker sleeps at most that has left its own tasks to others, and
/// so may help when these are stolen.
pub(crate) fn unhelpful_nap() -> Option<Duration> {
    (!UNTIMED).then_some(UNHELPFUL_NAP)
}

/// Time spent spinning before a worker goes to sleep: a few times what it
/// costs to put a thread to sleep and to wake it.
const SPIN: Duration = Duration::from_micros(80);

/// A victim that has not answered for this long is in a leaf. Longer than
/// `membarrier` takes.
const SILENT: Duration = Duration::from_micros(30);

/// How many rounds a worker tries force, at least, before it sleeps.
const PRESSING_ROUNDS: u32 = 8;

/// How long the first sleep lasts at most, and the last but one that does not
/// last for good; see the page on waiting.
const SHORTEST_DOZE: Duration = Duration::from_millis(1);
const LONGEST_DOZE: Duration = Duration::from_millis(128);

/// How many answers may come too late before a worker naps.
const MAX_IN_VAIN: u32 = 8;

const SHORTEST_NAP: Duration = Duration::from_micros(100);
const LONGEST_NAP: Duration = Duration::from_millis(2);

/// One worker's backoff while it finds nothing.
pub struct Backoff {
    since: Instant,
    /// How long to spin.
    spin: Duration,
    elapsed: Duration,
    rounds: u32,
    /// Rounds in which victims that had not answered were taken to be silent.
    pressing_rounds: u32,
    /// Requests posted in this spell of spinning.
    asked: bool,
    /// Requests answered, with nothing got, late in this spell of spinning.
    answered: bool,
    /// Requests answered in vain, since the search began.
    in_vain: u32,
    /// Whether to spin no longer.
    is_over: bool,
    naps: u32,
    dozes: u32,
}

impl Backoff {
    pub(crate) fn new() -> Self {
        Backoff {
            since: Instant::now(),
            spin: SPIN,
            elapsed: Duration::ZERO,
            rounds: 0,
            pressing_rounds: 0,
            asked: false,
            answered: false,
            in_vain: 0,
            is_over: false,
            naps: 0,
            dozes: 0,
        }
    }

    /// Another spell of spinning, after sleep or nap. After a doze that nobody
    /// has ended it is a short one: the victims have had all that time to answer.
    pub(crate) fn again(&mut self, slept: Slept) {
        let fresh = Backoff::new();
        *self = Backoff {
            in_vain: self.in_vain,
            naps: self.naps,
            dozes: self.dozes,
            ..match slept {
                Slept::TimedOut => Backoff {
                    spin: Duration::ZERO,
                    elapsed: SILENT,
                    ..fresh
                },
                Slept::Woken | Slept::WokenForTasks => fresh,
            }
        };
    }

    /// Notes that a request was posted anew: somebody had answered the last.
    pub fn requested_anew(&mut self) {
        self.asked = true;
        self.answered |= self.is_silent();
    }

    /// Notes that a request was answered with what was gone when we came. After
    /// some of these it is time for a nap.
    pub fn asked_in_vain(&mut self) {
        self.in_vain += 1;
        self.answered |= self.in_vain >= MAX_IN_VAIN;
        self.is_over |= self.answered;
    }

    /// Whether this worker has asked somebody for tasks since it last got any;
    /// if not, what it gets now is a free steal.
    pub fn has_asked(&self) -> bool {
        self.asked
    }

    /// Whether a victim whose request still stands is in a leaf.
    pub fn is_silent(&self) -> bool {
        self.elapsed >= SILENT
    }

    /// Lets a moment pass. False once it is time to sleep.
    pub(crate) fn pause(&mut self) -> bool {
        if self.is_over {
            return false;
        }
        self.rounds += 1;
        self.pressing_rounds += u32::from(self.is_silent());
        if self.rounds.is_multiple_of(8) {
            self.elapsed = self.elapsed.max(self.since.elapsed());
            // If we have lost the processor for long, the time is over before
            // we have used any force.
            if self.elapsed >= self.spin && self.pressing_rounds >= PRESSING_ROUNDS {
                return false;
            }
        }
        // Spin while an answer may come within nanoseconds; later let other
        // threads have the processor, of which there may be few.
        if self.rounds < 32 || !self.rounds.is_multiple_of(4) {
            spin_loop();
        } else {
            yield_now();
        }
        true
    }

    /// How long to sleep at most: the first time not for good, and as long as
    /// anyone is active twice as long each time.
    pub(crate) fn doze(&mut self, is_anyone_active: bool) -> Option<Duration> {
        if UNTIMED || self.dozes > 0 && !is_anyone_active {
            return None;
        }
        let doze = SHORTEST_DOZE * 2u32.saturating_pow(self.dozes.min(10));
        self.dozes += 1;
        Some(doze.min(LONGEST_DOZE))
    }

    /// How long to nap instead of sleeping, if that is better.
    pub fn nap(&mut self) -> Option<Duration> {
        if UNTIMED || !self.answered {
            self.naps = 0;
            return None;
        }
        let nap = SHORTEST_NAP * 2u32.saturating_pow(self.naps.min(10));
        self.naps += 1;
        Some(nap.min(LONGEST_NAP))
    }
}
