//! Which workers of a pool have a processor. [The page on handoffs](super::handoff) has the rules.

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

    pub(super) fn has_thread(&self, worker: usize) -> bool {
        self.has_thread[worker]
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

    pub(super) fn stop(&mut self) {
        self.is_stopped = true;
    }

    pub(super) fn is_stopped(&self) -> bool {
        self.is_stopped
    }
}
