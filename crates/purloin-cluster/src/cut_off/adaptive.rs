//! The adaptive cut-off: [`Adaptive`].

use std::time::Instant;

use super::profile::LEVELS;
use super::{CutOff, Profile, queue_bound};
use crate::options::Grain;
use crate::queue::MOST;

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

/// The least time of a task that is worth being created, in nanoseconds: a thousand times
/// what it costs to create and take back.
///
/// What a steal costs does not matter here, as a thief takes up to 24 tasks at a time,
/// the oldest that there are.
const LEAST: u64 = 10_000;

/// Which tasks are long and which are short, in nanoseconds.
///
/// The paper has one network, for which it has all of these times. Here, what has to do with
/// a steal follows from what a steal costs.
///
/// Source: AsynchWS, sections III and IV.B.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Grains {
    /// The least time of a task that is worth being created. The paper: 2 ms.
    least: u64,
    /// The most that residual tasks take, together, if a steal is to be begun before they
    /// are done. The paper: 12 ms, about three times what a steal costs there.
    coarse: u64,
    /// How many tasks a subtree in doubt keeps ready.
    refill: usize,
    /// The least time of a task from another node that is worth being profiled anew. The
    /// paper: 4 ms, about what a steal costs.
    afar: u64,
    is_fixed: bool,
}

impl Grains {
    pub fn new(grain: Grain) -> Grains {
        let (least, is_fixed) = match grain {
            Grain::Auto => (LEAST, false),
            Grain::Fixed(time) => (u64::try_from(time.as_nanos()).unwrap_or(u64::MAX), true),
        };
        Grains {
            least,
            coarse: least.saturating_mul(6),
            refill: MOST,
            afar: least.saturating_mul(2),
            is_fixed,
        }
    }

    /// A steal costs so many nanoseconds.
    pub fn tell_cost(&mut self, cost: u64) {
        if !self.is_fixed {
            self.coarse = cost.saturating_mul(3);
            self.refill = MOST.max((4 * cost / self.least) as usize);
            self.afar = cost.max(2 * self.least);
        }
    }

    pub fn least(self) -> u64 {
        self.least
    }

    pub fn is_worth_it(self, work: u64) -> bool {
        work > self.least
    }

    /// Whether residual tasks take so long that they are run first.
    pub fn is_coarse(self, work: u64) -> bool {
        work > self.coarse
    }

    /// How many tasks a subtree in doubt keeps ready: as many as are stolen at a time, or
    /// what lasts for some steals.
    pub fn refill(self) -> usize {
        self.refill
    }

    /// Whether a task from another node is worth being profiled anew.
    pub fn is_worth_it_afar(self, work: u64) -> bool {
        work > self.afar
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn the_papers_grain_gives_the_papers_times() {
        let grains = Grains::new(Grain::Fixed(Duration::from_millis(2)));
        assert!(grains.is_worth_it(2_000_001) && !grains.is_worth_it(2_000_000));
        assert!(grains.is_worth_it_afar(4_000_001) && !grains.is_worth_it_afar(4_000_000));
        assert!(grains.is_coarse(12_000_001) && !grains.is_coarse(12_000_000));
    }

    #[test]
    fn a_steal_that_costs_as_the_papers_gives_about_its_times() {
        let mut grains = Grains::new(Grain::Auto);
        grains.tell_cost(4_000_000);
        assert!(grains.is_coarse(12_000_001) && !grains.is_coarse(12_000_000));
        assert!(grains.is_worth_it_afar(4_000_001) && !grains.is_worth_it_afar(4_000_000));
        assert_eq!(grains.least(), LEAST);
    }
}
