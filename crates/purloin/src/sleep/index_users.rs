//! Which workers use which thread index. [The page on thread indices](super::thread_indices) has the rules.

/// The state of a pool's thread indices.
pub(super) struct ThreadIndices {
    /// The worker that uses each index, if one does.
    pub(super) users: Vec<Option<usize>>,
    /// The bound spare workers, each with its index.
    pub(super) bound: Vec<(usize, usize)>,
    /// Workers that wait until they may use an index.
    pub(super) waiting: Vec<usize>,
}

impl ThreadIndices {
    pub(super) fn new(workers: usize) -> ThreadIndices {
        ThreadIndices {
            users: (0..workers).map(Some).collect(),
            bound: Vec::new(),
            waiting: Vec::new(),
        }
    }

    /// Returns the index to which a worker is bound. Regular workers are always bound.
    pub(super) fn of(&self, worker: usize) -> Option<usize> {
        if worker < self.users.len() {
            return Some(worker);
        }
        let bound = self.bound.iter().find(|(bound, _)| *bound == worker);
        bound.map(|(_, index)| *index)
    }

    /// Returns whether a worker may run: no other worker uses its index.
    pub(super) fn may_run(&self, worker: usize) -> bool {
        let index = self.of(worker).map(|index| self.users[index]);
        index.is_none_or(|user| user.is_none_or(|user| user == worker))
    }

    /// Marks the index of a worker as used by the worker, if the worker is bound to one. The caller has
    /// checked [`Self::may_run`].
    pub(super) fn use_own(&mut self, worker: usize) {
        if let Some(index) = self.of(worker) {
            self.users[index] = Some(worker);
        }
    }

    /// Marks the index of a worker as free, if the worker uses one.
    pub(super) fn free(&mut self, worker: usize) {
        if let Some(index) = self.of(worker)
            && self.users[index] == Some(worker)
        {
            self.users[index] = None;
        }
    }

    /// Returns the workers that wait for an index, for [`Sleep::wake_waiting`](super::Sleep::wake_waiting).
    pub(super) fn waiting(&self) -> Vec<usize> {
        self.waiting.clone()
    }

    /// Returns the workers to wake after `worker` has freed its index: those that wait for an index, and
    /// the regular worker with this index. The regular worker may be in the reserve, and may have mail, or the
    /// pool may be stopping.
    pub(super) fn waiting_for(&self, worker: usize) -> Vec<usize> {
        let regular = self.of(worker).filter(|&regular| regular != worker);
        self.waiting.iter().copied().chain(regular).collect()
    }
}
