//! Which workers an idle worker should visit.
//!
//! An idle worker that looked at every other worker would touch as many cache lines as the pool has workers. So a worker
//! **announces** itself, and idle workers visit only the workers that have.
//!
//! An active worker that is not announced has an unanswered request, and had no task when its bit was cleared. When it next
//! pushes a task, it sees the request, makes tasks public, and announces itself. One race breaks this; see below.
//!
//! - The **owner** announces itself after it has become active, and after it has made tasks public: *change, full fence,
//!   look at the bit*. The bit is set most of the time, so the owner rarely writes it.
//! - A **visitor** that sees no task, and a request that an earlier visit has left, clears the bit: *clear, full fence,
//!   look again*. If the owner has answered the request or has tasks now, the visitor sets the bit again, and does what it
//!   would have done at its first look. If the owner sees its bit set although a visitor is about to clear it, the
//!   visitor's second look comes after the owner's change. The second look reads the request before the tasks: the request
//!   that it sees may be a newer one, but then tasks that the owner has pushed before are seen.
//!   A visitor also clears the bit of a worker that is not active.
//! - A worker that falls asleep registers as a sleeper, executes a full fence, and visits the announced workers. An owner
//!   that sets its bit executes another full fence before it looks for sleepers.
//!
//! One race is left to the timers. An owner may look for requests, lose its processor, and push a task only after a visitor
//! has cleared its bit. If the owner is then in a leaf for long, only force reaches the task, and no announcement leads
//! there. So some looks are **thorough**: they visit every active worker, and announce those with tasks. When a search goes on
//! after a sleep, and its last thorough look is a millisecond ago, its next look is thorough. So is every look of a blocked
//! worker that may run anything, and every look but the first in which a blocked worker looks for tasks on behalf of others.
//! In a build without timers, the visitor makes every processor execute a fence between the two steps of its second look.
//!
//! Without force, a worker's private tasks count as none: it offers them when it answers.
//!
//! Workers for whose tasks a blocked worker sleeps have a bit of their own, so that the last worker that searches finds
//! them.

use crossbeam_utils::CachePadded;

use super::backoff::UNTIMED;
use crate::sync::{AtomicUsize, Ordering, asymmetric, fence};

/// Which workers a look on behalf of sleepers visits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Visits {
    /// Workers that have announced themselves, under a scheduler whose workers do, and only if no worker searches.
    Announced,
    /// Every active worker.
    Everyone,
}

/// A set of workers that all workers read, and few change: one bit for each worker.
pub struct WorkerSet {
    words: Box<[CachePadded<AtomicUsize>]>,
}

const BITS: usize = usize::BITS as usize;

impl WorkerSet {
    /// Returns an empty set for this number of workers.
    pub fn new(workers: usize) -> WorkerSet {
        let words = (0..workers.div_ceil(BITS)).map(|_| CachePadded::new(AtomicUsize::new(0)));
        WorkerSet {
            words: words.collect(),
        }
    }

    fn bit(&self, worker: usize) -> (&AtomicUsize, usize) {
        (&self.words[worker / BITS], 1 << (worker % BITS))
    }

    /// Returns whether the set has the worker.
    pub fn has(&self, worker: usize) -> bool {
        let (word, bit) = self.bit(worker);
        word.load(Ordering::Relaxed) & bit != 0
    }

    /// Returns the workers of the set, in the order of their numbers.
    pub fn iter(&self) -> impl Iterator<Item = usize> {
        let words = self.words.iter().enumerate();
        words.flat_map(|(place, word)| {
            let mut bits = word.load(Ordering::Relaxed);
            std::iter::from_fn(move || {
                let next = (bits != 0).then(|| bits.trailing_zeros() as usize)?;
                bits &= bits - 1;
                Some(place * BITS + next)
            })
        })
    }

    /// Adds a worker.
    pub fn add(&self, worker: usize) {
        let (word, bit) = self.bit(worker);
        word.fetch_or(bit, Ordering::Relaxed);
    }

    /// Removes a worker.
    pub fn remove(&self, worker: usize) {
        let (word, bit) = self.bit(worker);
        word.fetch_and(!bit, Ordering::Relaxed);
    }
}

/// The workers that have announced themselves.
pub struct Offers(WorkerSet);

impl Offers {
    /// Returns the announcements of this number of workers, none of which has announced itself.
    pub fn new(workers: usize) -> Offers {
        Offers(WorkerSet::new(workers))
    }

    /// Returns whether the worker has announced itself.
    pub fn has(&self, worker: usize) -> bool {
        self.0.has(worker)
    }

    /// Returns the workers that have announced themselves.
    pub fn iter(&self) -> impl Iterator<Item = usize> {
        self.0.iter()
    }

    /// Announces a worker. An owner that announces itself has executed a full fence after the change that it announces, and
    /// looks for sleepers next.
    pub fn announce(&self, worker: usize) {
        if !self.has(worker) {
            self.0.add(worker);
            fence(Ordering::SeqCst);
        }
    }

    /// Clears the announcement of a worker that seems to have no task, and an older request. Then looks at the worker
    /// again, first whether it `has_answered` the request, then whether it `has_tasks`. If so, the announcement stays, and
    /// this returns true.
    pub fn withdraw(
        &self,
        worker: usize,
        has_answered: impl FnOnce() -> bool,
        has_tasks: impl FnOnce() -> bool,
    ) -> bool {
        self.0.remove(worker);
        fence(Ordering::SeqCst);
        let has_answered = has_answered();
        // Orders the two steps. If the worker answers after the first one, it sees the cleared bit. If it pushes after the
        // second one, it sees the request, provided that this is the heavy fence. With timers, thorough looks cover the rest.
        if UNTIMED && asymmetric::available() {
            let _ = asymmetric::heavy();
        } else {
            fence(Ordering::Acquire);
        }
        let has_changed = has_answered || has_tasks();
        if has_changed {
            self.announce(worker);
        }
        has_changed
    }
}
