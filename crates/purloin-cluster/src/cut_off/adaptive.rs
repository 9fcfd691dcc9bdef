//! The adaptive cut-off: [`Adaptive`], with its thresholds, [`Grains`].

use std::time::{Duration, Instant};

use super::profile::{DEPTHS, entry};
use super::{Policy, Profile, most_samples, queue_bound};
use crate::options::Grain;
use crate::queue::MAX_STEAL;

/// Puts tasks into the queue if tasks of the same depth have turned out to be long enough.
///
/// Until the queue has reached two thirds of its bound, the rule is help-first: all spawned
/// tasks enter the queue. From then on it is work-first: tasks of unknown depths run inline,
/// and some of them are timed. Once the mean duration of a depth is known, the mean decides.
///
/// The rule differs from the paper in the points below. [`Paper`](super::Paper) follows the paper.
/// `docs/decisions/cluster-cut-off.md` has the measurements.
///
/// * A task is worth a place in the queue above a much shorter duration, because creating a task is
///   cheap here. The thresholds that concern the network follow from the measured cost of a steal
///   ([`Grains`]).
/// * At least one task of each depth is timed. The paper times none of the first seven depths.
/// * Tasks that went through the queue are timed as well, not only the samples. Two readings of the
///   clock cost little next to a task from the queue, and once a depth is well known only a few
///   tasks of that depth are timed. In trees with extremely different subtrees, such as UTS's,
///   sixteen samples at the beginning say little, because most of them are leaves.
/// * An estimate can be refuted. A subtree that was expected to be too short, but is
///   [overdue](Policy::overdue_after), may fill the queue.
/// * The queue's bound applies to tasks of unknown depths only. Tasks that are worth a place cost a
///   hundredth of their duration. If some of them stayed out of the queue, thieves would have to
///   steal much more often. So their bound is higher, and the bound for overdue subtrees grows with
///   the latency.
///
/// Source: AsynchWS, section III, Figure 2.
pub struct Adaptive {
    profile: Profile,
    grains: Grains,
    bound: usize,
    /// Whether the queue has ever been two thirds full.
    was_full: bool,
    /// The verdict on the tasks of each depth.
    verdicts: [Verdict; DEPTHS],
    /// Whether the mean of a depth hardly changes with more samples.
    is_well_known: [bool; DEPTHS],
    /// The number of tasks that have come out of the queue.
    dequeued: u32,
    /// The time spent on asking rank 0 for its profile, in nanoseconds.
    cost: u64,
}

/// The verdict on the tasks of a depth.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Verdict {
    /// There are too few samples.
    Unknown,
    /// The tasks are long enough.
    WorthIt,
    /// The tasks are too short.
    TooShort,
    /// The tasks are too short, and so are the tasks of all greater depths.
    Fine,
}

/// The bound of the queue for tasks that are worth a place. With this many, thieves find enough
/// tasks.
const ENOUGH: usize = 512;

/// The number of samples after which the mean of a depth hardly changes.
const WELL_KNOWN: u64 = 32;

/// Of the tasks of well-known depths, one in this many is timed.
const TIMED: u32 = 1024;

/// Returns the number of samples that an entry of the profile needs before its mean counts: that of the
/// paper, but at least one.
fn samples(entry: usize) -> u64 {
    most_samples(entry).max(1)
}

impl Adaptive {
    /// Creates the rule for a node with `ranks_on_node` ranks.
    pub fn new(profile: Profile, grains: Grains, ranks_on_node: usize) -> Adaptive {
        Adaptive {
            profile,
            grains,
            bound: queue_bound(ranks_on_node),
            was_full: false,
            verdicts: [Verdict::Unknown; DEPTHS],
            is_well_known: [false; DEPTHS],
            dequeued: 0,
            cost: 0,
        }
    }

    /// Returns the time spent on asking rank 0 for its profile, in nanoseconds.
    pub fn cost(&self) -> u64 {
        self.cost
    }

    /// Returns the mean duration of tasks of a depth, in nanoseconds, if any was timed.
    fn mean(&self, depth: u32) -> Option<u64> {
        let (tasks, mean) = self.profile.mean(entry(depth));
        (tasks > 0).then_some(mean)
    }

    /// Derives the verdicts from the profile.
    #[cold]
    fn update_verdicts(&mut self) {
        let mut is_fine = true;
        for depth in (0..DEPTHS).rev() {
            let (tasks, mean) = self.profile.mean(depth);
            let is_worth_it = self.grains.is_worth_it(mean);
            // The greatest depths have too few tasks to become known. Their tasks are shorter than
            // the tasks above them.
            is_fine &= tasks == 0 || !is_worth_it;
            self.verdicts[depth] = match tasks >= samples(depth) {
                false => Verdict::Unknown,
                true if is_fine => Verdict::Fine,
                true if !is_worth_it => Verdict::TooShort,
                true => Verdict::WorthIt,
            };
            self.is_well_known[depth] = tasks >= WELL_KNOWN;
        }
        // Below a fine depth all tasks are fine, known or not.
        let is_fine = |verdict: &Verdict| *verdict == Verdict::Fine;
        if let Some(first) = self.verdicts.iter().position(is_fine) {
            self.verdicts[first..].fill(Verdict::Fine);
        }
    }

    /// Returns whether a task of an unknown depth enters the queue.
    #[cold]
    fn enqueues_unknown(&mut self, depth: u32, ready: usize) -> bool {
        let enqueues = ready < 2 * self.bound / 3;
        if !enqueues {
            self.was_full = true;
            if !self.profile.is_local() {
                // Other ranks may have timed tasks of this depth.
                let begin = Instant::now();
                self.profile.refresh(entry(depth));
                self.cost += begin.elapsed().as_nanos() as u64;
                self.update_verdicts();
            }
        }
        enqueues
    }
}

impl Policy for Adaptive {
    const MEASURES: bool = true;
    const GROUP: usize = ENOUGH;

    #[inline(always)]
    fn enqueues(&mut self, depth: u32, ready: impl FnOnce() -> usize) -> bool {
        match self.verdicts[entry(depth)] {
            Verdict::WorthIt => ready() < ENOUGH,
            Verdict::TooShort | Verdict::Fine => false,
            Verdict::Unknown => self.enqueues_unknown(depth, ready()),
        }
    }

    #[inline(always)]
    fn is_fine(&self, depth: u32) -> bool {
        self.verdicts[entry(depth)] == Verdict::Fine
    }

    #[inline(always)]
    fn wants_sample(&mut self, depth: u32) -> bool {
        self.was_full && self.verdicts[entry(depth)] == Verdict::Unknown
    }

    #[inline(always)]
    fn wants_time(&mut self, depth: u32) -> bool {
        self.dequeued = self.dequeued.wrapping_add(1);
        !self.is_well_known[entry(depth)] || self.dequeued.is_multiple_of(TIMED)
    }

    fn record(&mut self, depth: u32, work: u64) {
        self.profile.record(entry(depth), work);
        let (tasks, _) = self.profile.mean(entry(depth));
        if tasks <= WELL_KNOWN || tasks.is_multiple_of(16) {
            self.update_verdicts();
        }
    }

    fn are_residual(&self, depths: impl Iterator<Item = u32>, residual: usize) -> bool {
        let mean = |depth| self.mean(depth).unwrap_or(0);
        self.grains.are_residual(depths.map(mean), residual)
    }

    fn is_serial_after_remote_steal(&self, depth: u32) -> bool {
        let is_worth_it = |mean| self.grains.is_worth_it_remotely(mean);
        self.mean(depth).is_some_and(|mean| !is_worth_it(mean))
    }

    fn set_steal_cost(&mut self, cost: u64) {
        self.grains.set_steal_cost(cost);
        if self.profile.is_local() {
            (0..DEPTHS).for_each(|depth| self.profile.refresh(depth));
        }
        self.update_verdicts();
    }

    fn overdue_after(&self) -> Option<u64> {
        Some(self.grains.least().saturating_mul(2))
    }

    fn refills(&self, ready: usize) -> bool {
        ready < self.grains.refill().min(ENOUGH)
    }
}

/// The shortest task that is worth a place in the queue, in nanoseconds: a thousand times the
/// cost of creating a task and taking it back.
///
/// It does not depend on the cost of a steal, because a thief takes the oldest tasks, and up to
/// 24 of them at a time.
const LEAST: u64 = 10_000;

/// The same time in the paper, for its network.
const LEAST_OF_PAPER: Duration = Duration::from_millis(2);

/// The thresholds, in nanoseconds, that tell long tasks from short ones.
///
/// The paper has one fixed threshold each, for its network. Here, the thresholds that concern a
/// steal follow from the measured cost of a steal.
///
/// Source: AsynchWS, sections III and IV.B.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Grains {
    /// The shortest task that is worth a place in the queue. The paper: 2 ms.
    least: u64,
    /// The longest total duration of residual tasks that still starts an early steal. The
    /// paper: 12 ms, about three times the cost of a steal there.
    coarse: u64,
    /// The number of tasks that an overdue subtree keeps ready.
    refill: usize,
    /// The shortest task stolen from another node whose children are profiled anew. The
    /// paper: 4 ms, about the cost of a steal there.
    remote: u64,
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
            refill: MAX_STEAL,
            remote: least.saturating_mul(2),
            is_fixed,
        }
    }

    /// Returns the paper's thresholds, scaled to the grain if the user sets one.
    pub fn of_paper(grain: Grain) -> Grains {
        match grain {
            Grain::Auto => Grains::new(Grain::Fixed(LEAST_OF_PAPER)),
            fixed => Grains::new(fixed),
        }
    }

    /// Adapts the thresholds to the cost of a steal, in nanoseconds.
    pub fn set_steal_cost(&mut self, cost: u64) {
        if !self.is_fixed {
            self.coarse = cost.saturating_mul(3);
            self.refill = MAX_STEAL.max((4 * cost / self.least) as usize);
            self.remote = cost.max(2 * self.least);
        }
    }

    pub fn least(self) -> u64 {
        self.least
    }

    /// Returns whether a task of this duration is worth a place in the queue.
    pub fn is_worth_it(self, work: u64) -> bool {
        work > self.least
    }

    /// Returns whether to start a steal while tasks remain that are expected to take these times: at most
    /// `residual` tasks, which do not take so long together that the steal would be too early.
    pub fn are_residual(self, mut tasks: impl Iterator<Item = u64>, residual: usize) -> bool {
        let work = tasks.try_fold((0, 0_u64), |(count, sum), work| {
            (count < residual).then_some((count + 1, sum.saturating_add(work)))
        });
        work.is_some_and(|(_, sum)| sum <= self.coarse)
    }

    /// Returns the number of tasks that an overdue subtree keeps ready: as many as a thief
    /// takes at a time, or enough to last for four steals.
    pub fn refill(self) -> usize {
        self.refill
    }

    /// Returns whether the children of a task of this duration, stolen from another node, are
    /// profiled anew.
    pub fn is_worth_it_remotely(self, work: u64) -> bool {
        work > self.remote
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_papers_grain_gives_the_papers_thresholds() {
        let grains = Grains::of_paper(Grain::Auto);
        assert!(grains.is_worth_it(2_000_001) && !grains.is_worth_it(2_000_000));
        assert!(grains.is_worth_it_remotely(4_000_001) && !grains.is_worth_it_remotely(4_000_000));
        assert_eq!(coarse(grains), 12_000_001);
    }

    /// Returns the shortest time, in nanoseconds, that is too long for an early steal.
    fn coarse(grains: Grains) -> u64 {
        let mut times = [12_000_000, 12_000_001].into_iter();
        let is_coarse = |&time: &u64| !grains.are_residual([time].into_iter(), 1);
        times.find(is_coarse).expect("one is too long")
    }

    #[test]
    fn residual_tasks_are_few_and_short_together() {
        let grains = Grains::of_paper(Grain::Auto);
        let are_residual = |tasks: &[u64]| grains.are_residual(tasks.iter().copied(), 2);
        assert!(are_residual(&[]) && are_residual(&[0, 0]) && !are_residual(&[0, 0, 0]));
        assert!(are_residual(&[3_000_000, 9_000_000]) && !are_residual(&[3_000_000, 9_000_001]));
    }

    #[test]
    fn a_steal_at_the_papers_cost_gives_the_papers_steal_thresholds() {
        let mut grains = Grains::new(Grain::Auto);
        grains.set_steal_cost(4_000_000);
        assert_eq!(coarse(grains), 12_000_001);
        assert!(grains.is_worth_it_remotely(4_000_001) && !grains.is_worth_it_remotely(4_000_000));
        assert_eq!(grains.least(), LEAST);
    }
}
