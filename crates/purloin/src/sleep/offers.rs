//! Which workers an idle worker should visit, in one bit for each worker.
//!
//! An idle worker that looked at every other worker would touch as many cache lines as the pool has workers. So a worker
//! **announces** itself, and idle workers visit only the workers that have.
//!
//! The bit of an active worker is clear only if the worker offers nothing, and a request is pending with it. Its next
//! push then makes tasks public, and it announces itself again.
//!
//! - The **owner** sets its bit after it has become active, and after it has made tasks public: *change, full fence, look
//!   at the bit*. The bit is set most of the time, so the owner rarely writes it.
//! - A **visitor** that has found nothing, and has left its request, clears the bit: *clear, full fence, look again*. If
//!   the owner has become active or has made tasks public meanwhile, the visitor sets the bit again.
//! - A worker that falls asleep registers as a sleeper, executes a full fence, and visits the workers whose bits are set.
//!   An owner that sets its bit executes another full fence before it looks for sleepers.
//!
//! If the owner sees its bit set although a visitor is about to clear it, the visitor's second look comes after the
//! owner's change.

use crate::sync::{AtomicUsize, Ordering, fence};

/// A bit for each worker of a pool.
pub struct Offers {
    words: Box<[AtomicUsize]>,
}

const BITS: usize = usize::BITS as usize;

impl Offers {
    /// Returns clear bits for this number of workers.
    pub fn new(workers: usize) -> Offers {
        let words = (0..workers.div_ceil(BITS)).map(|_| AtomicUsize::new(0));
        Offers {
            words: words.collect(),
        }
    }

    fn bit(&self, worker: usize) -> (&AtomicUsize, usize) {
        (&self.words[worker / BITS], 1 << (worker % BITS))
    }

    /// Returns whether the worker has announced itself.
    pub fn has(&self, worker: usize) -> bool {
        let (word, bit) = self.bit(worker);
        word.load(Ordering::Relaxed) & bit != 0
    }

    /// Returns whether any worker has announced itself.
    pub fn any(&self) -> bool {
        self.words
            .iter()
            .any(|word| word.load(Ordering::Relaxed) != 0)
    }

    /// Returns the workers that have announced themselves.
    pub fn all(&self) -> impl Iterator<Item = usize> + Clone {
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

    /// Announces a worker. The caller has executed a full fence after the change that it announces, and looks for sleepers
    /// next.
    pub fn announce(&self, worker: usize) {
        if !self.has(worker) {
            let (word, bit) = self.bit(worker);
            word.fetch_or(bit, Ordering::Relaxed);
            fence(Ordering::SeqCst);
        }
    }

    /// Clears the bit of a worker. The caller looks at the worker again.
    pub fn withdraw(&self, worker: usize) {
        let (word, bit) = self.bit(worker);
        word.fetch_and(!bit, Ordering::Relaxed);
        fence(Ordering::SeqCst);
    }
}
