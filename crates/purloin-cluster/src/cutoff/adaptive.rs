//! The adaptive cut-off: [`Adaptive`].

use std::time::Instant;

use super::profile::LEVELS;
use super::{CutOff, Grains, Profile, queue_bound};

/// Tasks of those levels whose tasks have turned out to be long enough.
///
/// Help-first until two thirds of the queue's bound: spawned tasks go into the queue.
/// From then on work-first: tasks of levels that are not known yet are run where they are
/// spawned, and some of them timed. Where a level's mean is known, it decides.
///
/// Four things are not as in the paper; ARCHITECTURE.md has the measurements.
///
/// * The time that makes a task worth it is much shorter, as creating one is cheap; what has
///   to do with the network follows from what a steal costs *here* ([`Grains`]).
/// * Tasks that went into the queue are timed as well, not only the samples; two readings
///   of a clock are little beside them (and only some are timed once a level is known
///   well). In trees whose subtrees differ extremely, such as those of UTS, sixteen samples
///   at the beginning say little: most are leaves.
/// * An estimate that is [refuted](CutOff::patience) is not believed: a task that was
///   thought to be too short, and is not done after several times that, may fill the
///   queue.
/// * The bound of the queue is for tasks of unknown levels only. Those that are worth it
///   cost a hundredth of their time, and where some are left out, thieves have to come much
///   more often; so their bound is higher, and that of doubted tasks grows with the latency.
///
/// Source: AsynchWS, section III, Figure 2.
pub struct Adaptive {
    profile: Profile,
    grains: Grains,
    bound: usize,
    /// The queue has been two thirds full, once.
    was_full: bool,
    /// What is to be done with tasks of each level.
    levels: [Known; LEVELS],
    /// Whether a level's mean hardly changes any more.
    is_sure: [bool; LEVELS],
    /// How many tasks came out of the queue.
    created: u32,
    /// What it has taken to ask others, in nanoseconds.
    cost: u64,
}

/// What is known about the tasks of a level.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Known {
    /// Too little.
    Nothing,
    /// They are long enough.
    WorthIt,
    /// They are too short.
    TooShort,
    /// They are too short, and so are those of all deeper levels.
    Fine,
}

/// With so many tasks that are worth it, others find enough.
const ENOUGH: usize = 512;

/// With so many times, a level's mean hardly changes any more.
const WELL_KNOWN: u64 = 32;

/// One of so many tasks of a level that is known well is timed.
const TIMED: u32 = 1024;

/// The place of a level in the profile.
#[inline(always)]
fn place(level: u32) -> usize {
    (level as usize).min(LEVELS - 1)
}

/// How many samples there are to be of a level.
fn samples(level: usize) -> u64 {
    let tasks = 1_u64.checked_shl(level as u32).unwrap_or(u64::MAX);
    (tasks / 100).clamp(1, 16)
}

impl Adaptive {
    /// For a node with so many ranks.
    pub fn new(profile: Profile, grains: Grains, neighbours: usize) -> Adaptive {
        Adaptive {
            profile,
            grains,
            bound: queue_bound(neighbours),
            was_full: false,
            levels: [Known::Nothing; LEVELS],
            is_sure: [false; LEVELS],
            created: 0,
            cost: 0,
        }
    }

    /// What it has taken to ask others, in nanoseconds.
    pub fn cost(&self) -> u64 {
        self.cost
    }

    /// The mean time of a level, if any is known.
    fn mean(&self, level: u32) -> Option<u64> {
        let (tasks, mean) = self.profile.level(place(level));
        (tasks > 0).then_some(mean)
    }

    /// Draws conclusions from the times.
    #[cold]
    fn conclude(&mut self) {
        let mut is_fine = true;
        for level in (0..LEVELS).rev() {
            let (tasks, mean) = self.profile.level(level);
            let is_worth_it = self.grains.is_worth_it(mean);
            // The deepest levels have too few tasks to be known, and are finer still.
            is_fine &= tasks == 0 || !is_worth_it;
            self.levels[level] = match tasks >= samples(level) {
                false => Known::Nothing,
                true if is_fine => Known::Fine,
                true if !is_worth_it => Known::TooShort,
                true => Known::WorthIt,
            };
            self.is_sure[level] = tasks >= WELL_KNOWN;
        }
        // What lies below a fine level is fine, known or not.
        if let Some(first) = self.levels.iter().position(|known| *known == Known::Fine) {
            self.levels[first..].fill(Known::Fine);
        }
    }

    /// Whether a task of an unknown level goes into the queue.
    #[cold]
    fn creates_unknown(&mut self, level: u32, ready: usize) -> bool {
        let creates = ready < 2 * self.bound / 3;
        if !creates {
            self.was_full = true;
            if !self.profile.is_near() {
                // Others may know.
                let begin = Instant::now();
                self.profile.look(place(level));
                self.cost += begin.elapsed().as_nanos() as u64;
                self.conclude();
            }
        }
        creates
    }
}

impl CutOff for Adaptive {
    const MEASURES: bool = true;
    const SET: usize = ENOUGH;

    #[inline(always)]
    fn creates(&mut self, level: u32, ready: impl FnOnce() -> usize) -> bool {
        match self.levels[place(level)] {
            Known::WorthIt => ready() < ENOUGH,
            Known::TooShort | Known::Fine => false,
            Known::Nothing => self.creates_unknown(level, ready()),
        }
    }

    #[inline(always)]
    fn is_fine(&self, level: u32) -> bool {
        self.levels[place(level)] == Known::Fine
    }

    #[inline(always)]
    fn wants_sample(&mut self, level: u32) -> bool {
        self.was_full && self.levels[place(level)] == Known::Nothing
    }

    #[inline(always)]
    fn wants_time(&mut self, level: u32) -> bool {
        self.created = self.created.wrapping_add(1);
        !self.is_sure[place(level)] || self.created.is_multiple_of(TIMED)
    }

    fn learn(&mut self, level: u32, work: u64) {
        self.profile.learn(place(level), work);
        let (tasks, _) = self.profile.level(place(level));
        if tasks <= WELL_KNOWN || tasks.is_multiple_of(16) {
            self.conclude();
        }
    }

    fn are_residual(&self, level: u32, tasks: usize, residual: usize) -> bool {
        let mean = self.mean(level).unwrap_or(0);
        // The one that is run next counts, too, where it is about what is coarse.
        let is_coarse = self.grains.is_coarse(mean.saturating_mul(tasks as u64 + 1));
        !is_coarse && tasks < residual
    }

    fn serialises_from_afar(&self, level: u32) -> bool {
        let is_worth_it = |mean| self.grains.is_worth_it_afar(mean);
        self.mean(level).is_some_and(|mean| !is_worth_it(mean))
    }

    fn tell_cost(&mut self, cost: u64) {
        self.grains.tell_cost(cost);
        if self.profile.is_near() {
            (0..LEVELS).for_each(|level| self.profile.look(level));
        }
        self.conclude();
    }

    fn patience(&self) -> Option<u64> {
        Some(self.grains.least().saturating_mul(2))
    }

    fn refills(&self, ready: usize) -> bool {
        ready < self.grains.refill().min(ENOUGH)
    }
}
