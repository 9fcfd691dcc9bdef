//! The channel by which requests reach a worker: many senders, one receiver.
//!
//! There is one request of each number, so a mailbox is a bit for each. It has
//! room for all of them, nothing is allocated, and a request may be taken out
//! again by its thief. It has no order; the receiver goes through it by numbers.

use purloin::scheduler::sync::{AtomicUsize, Ordering};

/// The number of a request.
pub(super) type Id = usize;

const BITS: usize = usize::BITS as usize;

/// Requests for one worker.
pub(super) struct Mailbox(Box<[AtomicUsize]>);

impl Mailbox {
    /// For so many requests.
    pub(super) fn new(requests: usize) -> Mailbox {
        let words = requests.div_ceil(BITS);
        Mailbox((0..words).map(|_| AtomicUsize::new(0)).collect())
    }

    /// Puts a request in, which is the caller's.
    pub(super) fn put(&self, id: Id) {
        // Release: what the caller has written there. Others who put something in
        // go on with what it releases, as they exchange.
        let before = self.0[id / BITS].fetch_or(1 << (id % BITS), Ordering::Release);
        debug_assert!(before & 1 << (id % BITS) == 0, "it is nowhere else");
    }

    /// Takes a request out, if it is there: then it is the caller's.
    pub(super) fn take(&self, id: Id) -> bool {
        // Acquire: what was written there before.
        self.0[id / BITS].fetch_and(!(1 << (id % BITS)), Ordering::Acquire) & 1 << (id % BITS) != 0
    }

    /// The requests that are there as it goes, as far as this thread knows.
    pub(super) fn iter(&self) -> impl Iterator<Item = Id> {
        self.0.iter().enumerate().flat_map(|(i, word)| {
            let mut bits = word.load(Ordering::Relaxed);
            std::iter::from_fn(move || {
                let lowest = (bits != 0).then(|| bits.trailing_zeros() as usize)?;
                bits &= bits - 1;
                Some(i * BITS + lowest)
            })
        })
    }

    /// Whether there are none, as far as this thread knows.
    pub(super) fn is_empty(&self) -> bool {
        self.0.iter().all(|word| word.load(Ordering::Relaxed) == 0)
    }
}
