//! The paper's cut-off: [`Paper`].

use std::time::Instant;

use super::adaptive::Grains;
use super::profile::entry;
use super::{Policy, Profile, most_samples, queue_bound};
use crate::queue::MAX_STEAL;

/// Puts tasks into the queue as AsynchWS does, without the deviations of
/// [`Adaptive`](super::Adaptive).
///
/// - The queue is bounded by three tasks for each rank of the node, whatever their durations.
/// - Until a rank's queue is two thirds full, the rule is help-first. From then on it is work-first
///   for depths whose tasks are timed: the rank runs one of several siblings inline, and the others wait
///   in the queue, as far as the bound allows.
/// - Of depth n, the durations of at most min(2ⁿ / 100, 16) tasks count on a node, so none of the first
///   seven depths. These are the first that run when the rule is work-first, or that were stolen. If
///   ranks end such tasks at the same moment, each may count. Nothing refutes the mean.
/// - Once a depth has all its samples, a task of that depth enters the queue if the samples take more
///   than 2 ms on average, or more than the grain that the user sets.
/// - A rank offers at most 24 tasks at a time, so that a thief takes up to 12.
/// - A rank with at most R residual tasks steals early if they take at most 12 ms in total, by the
///   estimates of their depths, or six times the grain.
///
/// Source: AsynchWS, section III (Figure 2) and section IV.B.
pub struct Paper {
    profile: Profile,
    grains: Grains,
    bound: usize,
    /// Whether the queue has ever been two thirds full.
    was_full: bool,
    /// The time spent on asking rank 0 for its profile, in nanoseconds.
    cost: u64,
}

impl Paper {
    /// Creates the rule for a node with `ranks_on_node` ranks.
    pub fn new(profile: Profile, grains: Grains, ranks_on_node: usize) -> Paper {
        Paper {
            profile,
            grains,
            bound: queue_bound(ranks_on_node),
            was_full: false,
            cost: 0,
        }
    }

    /// Returns the time spent on asking rank 0 for its profile, in nanoseconds.
    pub fn cost(&self) -> u64 {
        self.cost
    }

    /// Returns the mean duration of tasks of a depth, in nanoseconds, once enough were timed.
    fn estimate(&self, depth: u32) -> Option<u64> {
        let entry = entry(depth);
        let (tasks, mean) = self.profile.mean(entry);
        let enough = most_samples(entry);
        (enough > 0 && tasks >= enough).then_some(mean)
    }

    /// Returns whether more tasks of a depth may be timed.
    fn is_open(&self, depth: u32) -> bool {
        most_samples(entry(depth)) > 0 && self.estimate(depth).is_none()
    }

    /// Asks for the samples of other ranks, while there are too few.
    fn refresh(&mut self, depth: u32) {
        let begin = Instant::now();
        self.profile.refresh(entry(depth));
        if !self.profile.is_local() {
            self.cost += begin.elapsed().as_nanos() as u64;
        }
    }
}

impl Policy for Paper {
    const MEASURES: bool = true;
    const MAX_OFFERED: usize = MAX_STEAL;

    fn enqueues(&mut self, depth: u32, ready: impl FnOnce() -> usize) -> bool {
        let ready = ready();
        let has_much_room = 3 * ready < 2 * self.bound;
        let mut estimate = self.estimate(depth);
        if !has_much_room {
            self.was_full = true;
            if estimate.is_none() && most_samples(entry(depth)) > 0 {
                self.refresh(depth);
                estimate = self.estimate(depth);
            }
        }
        match estimate {
            Some(work) => self.grains.is_worth_it(work) && ready < self.bound,
            None => has_much_room,
        }
    }

    fn is_fine(&self, _: u32) -> bool {
        // A depth whose tasks are too short may lie above depths whose tasks are long enough.
        false
    }

    fn leaves_siblings(&self, depth: u32, ready: usize) -> bool {
        ready < self.bound && self.was_full && self.is_open(depth)
    }

    fn wants_sample(&mut self, depth: u32) -> bool {
        self.was_full && self.is_open(depth)
    }

    fn wants_time(&mut self, depth: u32) -> bool {
        self.wants_sample(depth)
    }

    fn record(&mut self, depth: u32, work: u64) {
        // Every stolen task is reported, also of depths that need no more samples.
        if self.is_open(depth) {
            // Other ranks may have timed the last one just now.
            self.refresh(depth);
        }
        if self.is_open(depth) {
            self.profile.record(entry(depth), work);
        }
    }

    fn are_residual(&self, depths: impl Iterator<Item = u32>, residual: usize) -> bool {
        let estimate = |depth| self.estimate(depth).unwrap_or(0);
        self.grains.are_residual(depths.map(estimate), residual)
    }

    fn is_serial_after_remote_steal(&self, depth: u32) -> bool {
        let work = self.estimate(depth);
        work.is_some_and(|work| !self.grains.is_worth_it_remotely(work))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Grain;

    const MILLISECOND: u64 = 1_000_000;

    /// The rule for a node with twelve ranks, so that the queue is bounded by 36 tasks.
    fn paper() -> Paper {
        Paper::new(Profile::of_one_rank(), Grains::of_paper(Grain::Auto), 12)
    }

    #[test]
    fn a_rank_offers_24_tasks() {
        assert_eq!(Paper::MAX_OFFERED, 24);
    }

    #[test]
    fn all_tasks_enter_until_the_queue_is_two_thirds_full() {
        let mut paper = paper();
        assert!(paper.enqueues(7, || 23) && !paper.wants_sample(7));
        assert!(!paper.enqueues(7, || 24) && paper.wants_sample(7));
        // From then on, tasks of unknown depths are timed.
        assert!(paper.enqueues(7, || 23) && paper.wants_sample(7));
    }

    #[test]
    fn the_first_depths_never_get_an_estimate() {
        let mut paper = paper();
        paper.record(6, MILLISECOND);
        assert!(!paper.enqueues(6, || 24) && !paper.wants_sample(6));
        assert!(paper.enqueues(6, || 23) && !paper.leaves_siblings(6, 23));
    }

    #[test]
    fn known_tasks_enter_if_they_take_2_ms_and_the_queue_has_room() {
        let mut paper = paper();
        paper.record(7, 2 * MILLISECOND);
        (0..2).for_each(|_| paper.record(8, 2 * MILLISECOND + 1));
        assert!(!paper.enqueues(7, || 0));
        assert!(paper.enqueues(8, || 35) && !paper.enqueues(8, || 36));
    }

    #[test]
    fn stolen_tasks_do_not_change_an_estimate() {
        let mut paper = paper();
        paper.record(7, 3 * MILLISECOND);
        (0..100).for_each(|_| paper.record(7, MILLISECOND));
        assert!(paper.enqueues(7, || 0));
    }

    #[test]
    fn at_most_sixteen_tasks_of_a_depth_are_timed() {
        for (depth, expected) in [(6, 0), (7, 1), (8, 2), (10, 10), (11, 16), (40, 16)] {
            let mut paper = paper();
            assert!(!paper.enqueues(depth, || 36));
            let mut timed = 0;
            while paper.wants_sample(depth) {
                paper.record(depth, MILLISECOND);
                timed += 1;
            }
            assert_eq!(timed, expected, "{depth}");
        }
    }

    #[test]
    fn siblings_of_a_sample_wait_in_the_queue() {
        let mut paper = paper();
        assert!(!paper.leaves_siblings(11, 0));
        assert!(!paper.enqueues(11, || 24));
        assert!(paper.leaves_siblings(11, 35) && !paper.leaves_siblings(11, 36));
    }

    #[test]
    fn a_rank_with_residual_tasks_of_12_ms_does_not_steal_early() {
        let mut paper = paper();
        paper.record(7, 11 * MILLISECOND);
        (0..2).for_each(|_| paper.record(8, MILLISECOND));
        let are_residual = |depths: &[u32]| paper.are_residual(depths.iter().copied(), 3);
        assert!(are_residual(&[8, 7]) && are_residual(&[8, 8, 8]));
        // Tasks of a depth without an estimate count as short.
        assert!(are_residual(&[20, 8, 7]));
        assert!(!are_residual(&[8, 8, 7]) && !are_residual(&[8, 8, 8, 8]));
    }
}
