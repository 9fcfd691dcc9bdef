//! The paper's cut-off: [`Paper`].

use std::time::Instant;

use super::adaptive::{Grains, samples};
use super::profile::entry;
use super::{Policy, Profile, queue_bound};
use crate::queue::MAX_STEAL;

/// Puts tasks into the queue as AsynchWS does, without the deviations of
/// [`Adaptive`](super::Adaptive).
///
/// - The queue is bounded by three tasks for each rank of the node, whatever their durations.
/// - Until a rank's queue is two thirds full, the rule is help-first. From then on it is work-first:
///   the rank runs one of several siblings inline to time it, and the others wait in the queue, as
///   far as the bound allows.
/// - At most sixteen tasks of a depth are timed. Nothing refutes their mean.
/// - Once enough tasks of a depth were timed, a task of that depth enters the queue if they take
///   more than 2 ms on average, or more than the grain that the user sets.
/// - A rank offers at most 24 tasks at a time, so that a thief takes up to 12.
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
        (tasks >= samples(entry)).then_some(mean)
    }

    /// Returns whether more tasks of a depth are timed.
    fn is_sampling(&self, depth: u32) -> bool {
        self.was_full && self.estimate(depth).is_none()
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
        if self.estimate(depth).is_none() && !has_much_room {
            self.was_full = true;
            self.refresh(depth);
        }
        match self.estimate(depth) {
            Some(work) => self.grains.is_worth_it(work) && ready < self.bound,
            None => has_much_room,
        }
    }

    fn is_fine(&self, _: u32) -> bool {
        // A depth whose tasks are too short may lie above depths whose tasks are long enough.
        false
    }

    fn leaves_siblings(&self, depth: u32, ready: usize) -> bool {
        ready < self.bound && self.is_sampling(depth)
    }

    fn wants_sample(&mut self, depth: u32) -> bool {
        self.is_sampling(depth)
    }

    fn wants_time(&mut self, depth: u32) -> bool {
        self.is_sampling(depth)
    }

    fn record(&mut self, depth: u32, work: u64) {
        self.profile.record(entry(depth), work);
    }

    fn are_residual(&self, depth: u32, tasks: usize, residual: usize) -> bool {
        let work = self.estimate(depth).unwrap_or(0);
        let is_coarse = self.grains.is_coarse(work.saturating_mul(tasks as u64));
        !is_coarse && tasks < residual
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
        assert!(paper.enqueues(3, || 23) && !paper.wants_sample(3));
        assert!(!paper.enqueues(3, || 24) && paper.wants_sample(3));
        // From then on, tasks of unknown depths are timed.
        assert!(paper.enqueues(3, || 23) && paper.wants_sample(3));
    }

    #[test]
    fn known_tasks_enter_if_they_take_2_ms_and_the_queue_has_room() {
        let mut paper = paper();
        paper.record(4, 2 * MILLISECOND);
        paper.record(5, 2 * MILLISECOND + 1);
        assert!(!paper.enqueues(4, || 0));
        assert!(paper.enqueues(5, || 35) && !paper.enqueues(5, || 36));
    }

    #[test]
    fn at_most_sixteen_tasks_of_a_depth_are_timed() {
        for (depth, expected) in [(3, 1), (8, 2), (10, 10), (11, 16), (40, 16)] {
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
        paper.record(1, 6 * MILLISECOND);
        assert!(paper.are_residual(1, 2, 3));
        paper.record(2, 6 * MILLISECOND + 1);
        assert!(!paper.are_residual(2, 2, 3) && !paper.are_residual(1, 3, 3));
    }
}
