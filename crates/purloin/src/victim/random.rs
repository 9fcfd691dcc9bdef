//! Random victim selection.

use std::cell::Cell;

/// Walks around the circle of workers from a random start, so that each
/// victim is first as often as any other, and none is left out.
///
/// Source: Wool, section 2.
pub(crate) struct RandomStart {
    /// A xorshift generator; never zero.
    state: Cell<u64>,
}

impl RandomStart {
    pub(crate) fn new(worker: usize) -> Self {
        // Any odd constant spreads neighbouring workers' seeds.
        let seed = (worker as u64 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        RandomStart {
            state: Cell::new(seed),
        }
    }

    /// Every index below `workers` but `me`, once.
    pub(crate) fn walk(&self, me: usize, workers: usize) -> impl Iterator<Item = usize> + use<> {
        let mut x = self.state.get();
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        self.state.set(x);
        // The high half of a product maps the upper bits onto the range.
        let start = (((x >> 32) * workers as u64) >> 32) as usize;
        (start..workers)
            .chain(0..start)
            .filter(move |&victim| victim != me)
    }
}

#[cfg(test)]
mod tests {
    use super::RandomStart;

    #[test]
    fn a_walk_visits_every_other_worker_once() {
        let random = RandomStart::new(3);
        for _ in 0..100 {
            let mut seen: Vec<_> = random.walk(3, 7).collect();
            seen.sort_unstable();
            assert_eq!(seen, [0, 1, 2, 4, 5, 6]);
        }
        assert_eq!(random.walk(0, 1).count(), 0);
    }

    #[test]
    fn every_victim_is_first_about_equally_often() {
        let random = RandomStart::new(0);
        let mut first = [0; 5];
        for _ in 0..10_000 {
            first[random.walk(0, 5).next().unwrap()] += 1;
        }
        // Worker 1 is also first where the walk starts at the walker itself.
        assert!((3_600..4_400).contains(&first[1]), "{first:?}");
        assert!(first[2..].iter().all(|n| (1_700..2_300).contains(n)));
    }
}
