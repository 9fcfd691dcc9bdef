//! The manager's knowledge: which workers are idle, as far as messages have told it.

/// The worker that detects when all workers are idle. It is the root of the tree of workers.
pub(super) const MANAGER: usize = 0;

/// The manager's knowledge of the other workers.
pub(super) struct Manager {
    /// The workers whose idle requests the manager has counted and that no victim has answered since.
    registered: Box<[bool]>,
    /// The workers that run work from outside although their requests say that they are idle.
    outside: Box<[bool]>,
    /// Number of registered workers.
    count: usize,
    /// The worker that got the last request to keep.
    last: usize,
}

impl Manager {
    /// Returns the state in a pool of this many workers, the manager among them.
    pub(super) fn new(workers: usize) -> Self {
        Manager {
            registered: vec![false; workers].into(),
            outside: vec![false; workers].into(),
            count: 0,
            last: MANAGER,
        }
    }

    /// Counts a thief whose request says that it is idle. Returns whether it counts for the first
    /// time, and is not known to run work from outside.
    pub(super) fn register(&mut self, thief: usize) -> bool {
        let is_new = !self.registered[thief] && !self.outside[thief];
        self.registered[thief] |= is_new;
        self.count += usize::from(is_new);
        is_new
    }

    /// No longer counts a thief, because a victim answers its request.
    pub(super) fn update(&mut self, thief: usize) {
        self.count -= usize::from(std::mem::take(&mut self.registered[thief]));
    }

    /// No longer counts a thief, and counts none of its requests until [`Self::outside_ended`].
    pub(super) fn outside_begun(&mut self, thief: usize) {
        self.update(thief);
        self.outside[thief] = true;
    }

    pub(super) fn outside_ended(&mut self, thief: usize) {
        self.outside[thief] = false;
    }

    /// Returns a worker that may have tasks for a thief: one that is not registered, or the manager
    /// if it `runs`. The workers take turns.
    pub(super) fn next_active(&mut self, thief: usize, runs: bool) -> Option<usize> {
        let workers = self.registered.len();
        let mut others = (1..=workers).map(|i| (self.last + i) % workers);
        let is_active = |other| match other {
            MANAGER => runs,
            _ => !self.registered[other],
        };
        let next = others.find(|&other| other != thief && is_active(other))?;
        self.last = next;
        Some(next)
    }

    /// Returns whether all workers but the manager are registered.
    pub(super) fn are_all_registered(&self) -> bool {
        self.count + 1 == self.registered.len()
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_worker_that_runs_outside_work_is_not_registered() {
        let mut manager = Manager::new(3);
        assert!(manager.register(1));
        assert!(!manager.register(1));
        manager.outside_begun(1);
        assert!(!manager.register(1));
        assert!(manager.register(2));
        assert!(!manager.are_all_registered());
        manager.outside_ended(1);
        assert!(manager.register(1));
        assert!(manager.are_all_registered());
        manager.update(2);
        manager.update(2);
        assert!(!manager.are_all_registered());
    }

    #[test]
    fn requests_go_to_the_workers_that_are_not_registered_in_turn() {
        let mut manager = Manager::new(5);
        manager.register(3);
        let turns: Vec<_> = (0..4).map(|_| manager.next_active(1, false)).collect();
        assert_eq!(turns, [Some(2), Some(4), Some(2), Some(4)]);
        let turns: Vec<_> = (0..4).map(|_| manager.next_active(1, true)).collect();
        assert_eq!(turns, [Some(0), Some(2), Some(4), Some(0)]);
        manager.register(2);
        manager.register(4);
        assert_eq!(manager.next_active(1, false), None);
        assert_eq!(manager.next_active(1, true), Some(0));
        assert_eq!(manager.next_active(2, false), Some(1));
    }
}
