//! Where a worker's hot memory lies, so that its parts do not evict each other from the first-level
//! cache.
//!
//! AMD's processors look a line up in the first-level cache by a hash of its virtual address, the
//! line's *utag*, before they know its physical address. Of two lines in one set with equal hashes,
//! only one can be found. So each access that follows an access to the other takes ten times as
//! long. The hash has eight bits, each the exclusive or of two of the address bits 12 to 27; so all
//! lines of a page have the same hash.
//!
//! A join touches three parts of a worker's memory in turn: the machine stack, the task stack, and
//! the worker's own words. Left to chance, where the system maps a thread's stack decides whether
//! they collide: on a Zen 4, `fib(40)` took 310 ms or 475 ms.
//!
//! So the three parts begin on pages with different hashes, which do not collide whatever their
//! sets:
//!
//! - The task stack begins at a page from which [`REACH`] bytes have other hashes than the worker's
//!   own words ([`first_apart`]).
//! - The worker's thread leaves out pages of its machine stack until the next [`REACH`] bytes have
//!   other hashes than both ([`run_apart`]).
//!
//! Source: Take A Way (the hash).

use std::hint::black_box;
use std::mem::MaybeUninit;
use std::ops::Range;

const PAGE: usize = 4096;

/// Number of bytes of either stack that are kept apart: the slots of 512 nested joins, and the
/// frames of a few hundred.
const REACH: usize = 8 * PAGE;

/// Maximum number of bytes that a machine stack leaves out.
pub(crate) const MAX_SKIP: usize = match cfg!(any(loom, miri, purloin_virtual)) {
    false => 64 * PAGE,
    true => 0,
};

/// Maximum number of bytes that a task stack leaves out. It is apart from the worker's own words only,
/// which need not be more than half as many.
pub(crate) const MAX_TASKS_SKIP: usize = match cfg!(purloin_virtual) {
    false => MAX_SKIP / 2,
    true => 64 << 10,
};

/// A set of hashes of pages.
#[derive(Clone, Copy, Default)]
pub(crate) struct Hashes([u64; 4]);

impl Hashes {
    /// Returns the hashes of all pages that have a byte in `addresses`.
    pub(crate) fn of(addresses: Range<usize>) -> Hashes {
        let mut hashes = Hashes::default();
        for page in addresses.start / PAGE..addresses.end.div_ceil(PAGE) {
            let hash = hash(page * PAGE);
            hashes.0[hash / 64] |= 1 << (hash % 64);
        }
        hashes
    }

    /// Returns the hashes of the pages of a value, which need not be initialised.
    pub(crate) fn of_value<T>(value: *const T) -> Hashes {
        Hashes::of(value.addr()..value.wrapping_add(1).addr())
    }

    /// Returns the hashes of the part of a task stack that is kept apart.
    pub(crate) fn of_task_stack(first: usize) -> Hashes {
        Hashes::of(first..first.saturating_add(REACH))
    }

    pub(crate) fn union(self, other: Hashes) -> Hashes {
        Hashes(std::array::from_fn(|i| self.0[i] | other.0[i]))
    }

    fn overlaps(&self, other: Hashes) -> bool {
        self.0
            .iter()
            .zip(other.0)
            .any(|(own, other)| own & other != 0)
    }
}

/// Returns the hash by which AMD's processors look up the lines of the page at `address`.
fn hash(address: usize) -> usize {
    const PAIRS: [(u32, u32); 8] = [
        (12, 27),
        (13, 26),
        (14, 25),
        (15, 20),
        (16, 21),
        (17, 22),
        (18, 23),
        (19, 24),
    ];
    let address = address as u64;
    let bits = PAIRS.map(|(low, high)| (address >> low ^ address >> high) & 1);
    bits.iter()
        .rev()
        .fold(0, |hash, &bit| hash * 2 + bit as usize)
}

/// Returns how many bytes beyond `start` a task stack begins, so that it is apart from pages with
/// the hashes `others`: a multiple of the page size, below [`MAX_TASKS_SKIP`]. Returns 0 if there is
/// no such place.
pub(crate) fn first_apart(start: usize, others: Hashes) -> usize {
    if cfg!(purloin_virtual) {
        // A run must not depend on where the system has memory. At each multiple of this number a push takes its slow
        // path.
        return start.wrapping_neg() % MAX_TASKS_SKIP;
    }
    let mut skips = (0..MAX_TASKS_SKIP).step_by(PAGE);
    let is_apart =
        |skip: &usize| !others.overlaps(Hashes::of_task_stack(start.wrapping_add(*skip)));
    skips.find(is_apart).unwrap_or(0)
}

/// Runs `work` on this thread's machine stack where it is apart from pages with the hashes
/// `others`, or [`MAX_SKIP`] bytes further down if no place before that is.
pub(super) fn run_apart(others: Hashes, work: impl FnOnce()) {
    if MAX_SKIP == 0 {
        return work();
    }
    let mut work = Some(work);
    let run = &mut || work.take().expect("it runs once")();
    descend(others, MAX_SKIP / PAGE, run);
}

fn descend(others: Hashes, pages: usize, run: &mut dyn FnMut()) {
    // In this frame, so that every frame of `run` is below it.
    let marker = 0_u8;
    let here = std::ptr::from_ref(black_box(&marker)).addr();
    let is_apart = !others.overlaps(Hashes::of(here.saturating_sub(REACH)..here));
    match is_apart || pages == 0 {
        true => run(),
        false => leave_out_page(&mut || descend(others, pages - 1, run)),
    }
    black_box(&marker);
}

/// Runs `next` a page further down the machine stack.
#[inline(never)]
fn leave_out_page(next: &mut dyn FnMut()) {
    let mut page = MaybeUninit::<[u8; PAGE]>::uninit();
    black_box(&mut page);
    next();
    // The page is in use until here, so the call before this line is not a jump.
    black_box(&mut page);
}

// Loom and Miri have no addresses to choose from.
#[cfg(all(test, not(loom), not(miri)))]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
    use std::sync::{Arc, Barrier};

    use super::*;
    use crate::Pool;
    use crate::scheduler::TaskPool;

    #[test]
    fn the_hash_is_that_of_the_paper() {
        assert_eq!(hash(0), 0);
        assert_eq!(hash(1 << 12 | 0xfff), 1);
        assert_eq!(hash(1 << 15), 8);
        assert_eq!(hash(1 << 20), 8);
        assert_eq!(hash(1 << 27), 1);
        assert_eq!(hash(1 << 19 | 1 << 24), 0);
        // Two pages that were seen to collide on a Zen 4.
        assert_eq!(hash(0x7fff_dfff_e000), hash(0x7fff_37ff_f000));
    }

    #[test]
    fn a_task_stack_is_apart_from_two_pages_anywhere() {
        let mut random = 1_u64;
        for _ in 0..10_000 {
            random = random.wrapping_mul(6364136223846793005).wrapping_add(1);
            let own = (random >> 17) as usize & 0x7fff_ffff_ffc0;
            let start = (random >> 5) as usize & 0x7fff_ffff_f000;
            let others = Hashes::of(own..own + PAGE);
            let skip = first_apart(start, others);
            assert!(!others.overlaps(Hashes::of_task_stack(start + skip)));
        }
    }

    /// Returns whether this frame, and `depth` frames below it that move by a line or two each, are
    /// on pages that do not collide with `others`.
    #[inline(never)]
    fn is_apart_for(depth: usize, others: Hashes) -> bool {
        let mut line = [0_u8; 64];
        let own = Hashes::of_value(black_box(&line));
        let is_apart = !others.overlaps(own) && (depth == 0 || is_apart_for(depth - 1, others));
        black_box(&mut line);
        is_apart
    }

    #[test]
    fn the_parts_of_each_worker_are_apart() {
        const WORKERS: usize = 4;
        for _ in 0..20 {
            let pool = Pool::builder().workers(WORKERS).build().unwrap();
            // Each worker runs one of the jobs, because each job waits for the others.
            let jobs = Arc::new(Barrier::new(WORKERS));
            let are_apart = Arc::new(AtomicUsize::new(0));
            for _ in 0..WORKERS {
                let (jobs, are_apart) = (Arc::clone(&jobs), Arc::clone(&are_apart));
                let shared = Arc::downgrade(&pool.shared);
                pool.spawn(move |_| {
                    jobs.wait();
                    let shared = shared.upgrade().unwrap();
                    let worker = shared.current().unwrap();
                    let words = Hashes::of_value(worker.remote());
                    let slots = worker.task_pool().stack().first();
                    let is_apart = is_apart_for(64, worker.hashes())
                        && !words.overlaps(Hashes::of_task_stack(slots.addr()));
                    are_apart.fetch_add(usize::from(is_apart), Relaxed);
                });
            }
            pool.wait();
            assert_eq!(are_apart.load(Relaxed), WORKERS);
        }
    }
}
