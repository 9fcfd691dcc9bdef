//! FIFO order over jobs that run in any order.
//!
//! A thread runs its own jobs from the newest to the oldest. Jobs that it has spawned in FIFO order are in a
//! list of their own. For each of them, the thread spawns a job that runs the oldest of this list, whichever
//! that is by then.

use std::collections::VecDeque;
use std::sync::Mutex;

use crate::sync::lock;

/// The jobs that each thread of a pool has spawned in FIFO order, oldest first.
pub(crate) struct Fifos<J>(Box<[Mutex<VecDeque<J>>]>);

impl<J> Fifos<J> {
    pub(crate) fn new(threads: usize) -> Self {
        Fifos((0..threads).map(|_| Mutex::default()).collect())
    }

    /// Adds a job of the thread with this list. The caller spawns a job that runs the oldest one.
    pub(crate) fn push(&self, list: usize, job: J) {
        lock(&self.0[list]).push_back(job);
    }

    /// Takes the oldest job of the thread with this list.
    pub(crate) fn pop(&self, list: usize) -> Option<J> {
        lock(&self.0[list]).pop_front()
    }
}
