//! The adaptive cut-off: [`Adaptive`].

use super::profile::LEVELS;
use super::{CutOff, Grains, Profile, queue_bound};

/// Tasks of those levels whose tasks have turned out to be long enough.
///
/// Help-first until two thirds of the queue's bound: spawned tasks go into the queue.
/// From then on work-first: tasks of levels that are not known yet are run where they are
/// spawned, and some of them timed. Where a level's mean is known, it decides, as long
/// as the queue is below its bound.
///
/// Three things are not in the paper:
///
/// * The times that make a task worth it follow from what a steal costs *here*
///   ([`Grains`]).
/// * Every task that went into the queue is timed as well, not only the samples; two
///   readings of a clock are little beside it (and only some are, once a level is known
///   well). In trees whose subtrees differ extremely,
///   such as those of UTS, sixteen samples at the beginning say little: most are leaves.
/// * An estimate that is [refuted](CutOff::patience) is not believed: a task that was
///   thought to be too short, and is not done after several times that, may fill the
///   queue.
///
/// Source: AsynchWS, section III, Figure 2.
pub struct Adaptive {
    profile: Profile,
    grains: Grains,
    bound: usize,
    /// The queue has been two thirds full, once.
    was_full: bool,
    /// How many tasks came out of the queue.
    created: u32,
    /// From here on, all levels that are known are too fine.
    fine_from: u32,
}

/// With so many times, a level's mean hardly changes any more.
const WELL_KNOWN: u64 = 32;

impl Adaptive {
    /// For a node with so many ranks.
    pub fn new(profile: Profile, grains: Grains, neighbours: usize) -> Adaptive {
        Adaptive {
            profile,
            grains,
            bound: queue_bound(neighbours),
            was_full: false,
            created: 0,
            fine_from: u32::MAX,
        }
    }

    /// What profiling has taken, in nanoseconds, where that is worth a clock.
    pub fn cost(&self) -> u64 {
        self.profile.cost()
    }

    fn place(level: u32) -> usize {
        (level as usize).min(LEVELS - 1)
    }

    /// How many samples there are to be of a level.
    fn samples(level: u32) -> u64 {
        let tasks = 1_u64.checked_shl(level).unwrap_or(u64::MAX);
        (tasks / 100).clamp(1, 16)
    }

    /// The mean time of a level that has been sampled enough.
    fn estimate(&mut self, level: u32) -> Option<u64> {
        let (mean, tasks) = self.profile.level(Self::place(level));
        (tasks >= Self::samples(level)).then_some(mean)
    }

    fn low_water(&self) -> usize {
        2 * self.bound / 3
    }

    /// Finds the level from which on there is nothing to be created.
    fn find_fine(&mut self) {
        let mut from = u32::MAX;
        for level in (0..LEVELS as u32).rev() {
            let mean = self.profile.known(level as usize);
            if mean.is_some_and(|mean| self.grains.is_worth_it(mean)) {
                break;
            }
            // The deepest levels have too few tasks to be known well, and are finer still.
            if mean.is_some() && self.estimate(level).is_some() {
                from = level;
            }
        }
        self.fine_from = from;
    }
}

impl CutOff for Adaptive {
    const MEASURES: bool = true;
    const SETS: bool = true;

    fn creates(&mut self, level: u32, ready: impl FnOnce() -> usize) -> bool {
        let ready = ready();
        if !self.was_full {
            self.was_full = ready >= self.low_water();
            if !self.was_full {
                return true;
            }
        }
        match self.estimate(level) {
            None => ready < self.low_water(),
            Some(mean) => self.grains.is_worth_it(mean) && ready < self.bound,
        }
    }

    #[inline(always)]
    fn is_fine(&self, level: u32) -> bool {
        level >= self.fine_from
    }

    fn wants_sample(&mut self, level: u32) -> bool {
        self.was_full && self.estimate(level).is_none()
    }

    fn wants_time(&mut self, level: u32) -> bool {
        self.created = self.created.wrapping_add(1);
        // Of levels that are known well, some will do.
        let (_, tasks) = self.profile.level(Self::place(level));
        tasks < WELL_KNOWN || self.created.is_multiple_of(8)
    }

    fn learn(&mut self, level: u32, work: u64) {
        self.profile.learn(Self::place(level), work);
        let (_, tasks) = self.profile.level(Self::place(level));
        if tasks < WELL_KNOWN || tasks.is_multiple_of(16) {
            self.find_fine();
        }
    }

    fn are_coarse(&self, level: u32, tasks: usize) -> bool {
        let mean = self.profile.known(Self::place(level)).unwrap_or(0);
        self.grains.is_coarse(mean * tasks as u64)
    }

    fn are_fine_enough_to_keep(&self, level: u32, tasks: usize) -> bool {
        let known = self.profile.known(Self::place(level));
        known.is_some_and(|mean| !self.grains.is_coarse(mean * tasks as u64))
    }

    fn serialises_from_afar(&self, level: u32) -> bool {
        let known = self.profile.known(Self::place(level));
        known.is_some_and(|mean| !self.grains.is_worth_it_afar(mean))
    }

    fn tell_cost(&mut self, cost: u64) {
        let before = self.grains;
        self.grains.tell_cost(cost);
        self.profile.refresh();
        if before != self.grains {
            self.find_fine();
        }
    }

    fn patience(&self) -> Option<u64> {
        Some(2 * self.grains.least())
    }

    fn refills(&self, ready: usize) -> bool {
        ready < self.bound
    }
}
