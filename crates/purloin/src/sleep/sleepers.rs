//! The state that the lock of [`Sleep`](super::Sleep) protects: sleeping workers, processors and thread
//! indices. The rules are on the pages of the [protocol](super), of [hand-offs](super::handoff) and of
//! [thread indices](super::thread_indices).

/// The workers that sleep, and the distribution of processors.
pub(super) struct Sleepers {
    pub(super) list: Vec<Sleeper>,
    pub(super) processors: Processors,
    pub(super) indices: ThreadIndices,
}

/// A registered sleeper.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Sleeper {
    pub(super) worker: usize,
    /// The worker for whose tasks a blocked worker sleeps. `None` for an idle worker, which sleeps
    /// until any worker publishes.
    pub(super) until: Option<usize>,
}

impl Sleepers {
    /// Returns the index of the sleeper to wake for the tasks of worker `of`. The order of
    /// preference is: a worker that is blocked on `of`; worker `preferred`; the first idle worker
    /// that has a thread; if a thread may be started, the first worker without one.
    ///
    /// The first, rather than the last that fell asleep: so each worker does the same part of a
    /// program that forks again and again, where its processor's caches, and its part of the
    /// allocator, have the memory of that part.
    pub(super) fn to_wake(&self, of: usize, preferred: usize, may_start: bool) -> Option<usize> {
        let rank = |&Sleeper { worker, until }: &Sleeper| match until {
            Some(awaited) => (awaited == of).then_some((0, worker)),
            None if worker == preferred => Some((1, worker)),
            None if self.processors.has_thread[worker] => Some((2, worker)),
            None => may_start.then_some((3, worker)),
        };
        let places = self.list.iter().enumerate();
        let ranked = places.filter_map(|(place, sleeper)| Some((rank(sleeper)?, place)));
        ranked.min().map(|(_, place)| place)
    }
}

/// Which workers have a processor.
pub(super) struct Processors {
    /// Number of workers with a processor minus the number of processors. If negative, processors
    /// are idle.
    pub(super) balance: isize,
    /// Workers without a processor. The last worker in the list gets the next processor.
    pub(super) reserve: Vec<usize>,
    /// Workers without a thread, set aside because a thread could not be started. The last one gets a
    /// processor first.
    pub(super) set_aside: Vec<usize>,
    /// Whether each worker has a thread, or is about to get one.
    pub(super) has_thread: Box<[bool]>,
    /// Number of threads that could not be started.
    pub(super) failures: usize,
    /// Number of regular workers.
    pub(super) workers: usize,
    /// Whether the pool is stopping, so that no worker stays in the reserve.
    pub(super) is_stopped: bool,
}

impl Processors {
    pub(super) fn new(workers: usize, spares: usize) -> Processors {
        Processors {
            balance: 0,
            reserve: (workers..workers + spares).rev().collect(),
            set_aside: Vec::new(),
            has_thread: (0..workers + spares)
                .map(|worker| worker < workers)
                .collect(),
            failures: 0,
            workers,
            is_stopped: false,
        }
    }

    /// Records that `worker` is about to wake up. Returns false if the worker has no thread yet, and the
    /// caller must start it.
    ///
    /// Threads start in the order of the workers: among the workers without a thread, the first one
    /// gets a processor first, gives it up last, and is woken first.
    pub(super) fn mark_started(&mut self, worker: usize) -> bool {
        std::mem::replace(&mut self.has_thread[worker], true)
    }

    pub(super) fn is_in_reserve(&self, worker: usize) -> bool {
        self.reserve.contains(&worker)
    }

    /// Moves `worker` to the reserve. The caller rebalances.
    pub(super) fn enter_reserve(&mut self, worker: usize) {
        self.reserve.push(worker);
        self.balance -= 1;
    }

    /// Takes `worker` out of the reserve. The caller rebalances.
    pub(super) fn leave_reserve(&mut self, worker: usize) {
        self.reserve.retain(|&other| other != worker);
        self.balance += 1;
    }
}

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

    /// Returns the workers to wake after `worker` has freed its index: those that wait for an index, and
    /// the regular worker with this index. The regular worker may be in the reserve, and may have mail, or the
    /// pool may be stopping.
    pub(super) fn waiting_for(&self, worker: usize) -> Vec<usize> {
        let regular = self.of(worker).filter(|&regular| regular != worker);
        self.waiting.iter().copied().chain(regular).collect()
    }
}
