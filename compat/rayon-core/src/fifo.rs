//! FIFO order over jobs that run in any order.
//!
//! A thread runs its own jobs from the newest to the oldest. Jobs spawned in FIFO order wait in a
//! separate list. For each, the thread spawns a **placeholder**: whoever runs a placeholder runs the job
//! that is oldest in the list at that moment. `Registry::push_fifo` and `ScopeFifo` spawn the
//! placeholders.

use std::collections::VecDeque;
use std::sync::Mutex;

use crate::sync::lock;

/// The jobs that were spawned in FIFO order, oldest first: a list for each thread of a pool. A spare worker
/// shares the list of another thread.
pub(crate) struct Fifos<J>(Box<[Mutex<VecDeque<J>>]>);

impl<J> Fifos<J> {
    pub(crate) fn new(threads: usize) -> Self {
        Fifos((0..threads).map(|_| Mutex::default()).collect())
    }

    /// Adds a job to a list. The caller spawns a placeholder.
    pub(crate) fn push(&self, list: usize, job: J) {
        lock(&self.0[list]).push_back(job);
    }

    /// Takes the oldest job of a list.
    pub(crate) fn pop(&self, list: usize) -> Option<J> {
        lock(&self.0[list]).pop_front()
    }
}
