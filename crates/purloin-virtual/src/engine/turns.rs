//! The order in time in which cores take turns: a tournament tree with one leaf for each core.

/// A time, or [`NEVER`].
pub(crate) type Time = u64;

/// Later than every time.
pub(crate) const NEVER: Time = Time::MAX;

/// The times at which cores go on. The earliest one comes first, and the core with the least number among equals.
pub(crate) struct Turns {
    /// Number of leaves, a power of two.
    leaves: usize,
    /// The winner of each inner node's subtree: its time, and its leaf. Leaf `l` is at `leaves + l`.
    nodes: Box<[(Time, u32)]>,
}

impl Turns {
    /// Returns the turns of this number of cores, which do not wait for a turn.
    pub(crate) fn new(cores: usize) -> Turns {
        let leaves = cores.next_power_of_two();
        let nodes = (0..2 * leaves).map(|node| (NEVER, node.saturating_sub(leaves) as u32));
        Turns {
            leaves,
            nodes: nodes.collect(),
        }
    }

    /// Returns the earliest time, and its core.
    #[inline]
    pub(crate) fn first(&self) -> (Time, usize) {
        let (time, core) = self.nodes[1];
        (time, core as usize)
    }

    /// Returns the time at which a core goes on.
    pub(crate) fn of(&self, core: usize) -> Time {
        self.nodes[self.leaves + core].0
    }

    /// Sets the time at which a core goes on.
    #[inline]
    pub(crate) fn set(&mut self, core: usize, time: Time) {
        let mut node = self.leaves + core;
        self.nodes[node] = (time, core as u32);
        while node > 1 {
            node /= 2;
            let (left, right) = (self.nodes[2 * node], self.nodes[2 * node + 1]);
            self.nodes[node] = if right.0 < left.0 { right } else { left };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_earliest_core_comes_first() {
        let mut turns = Turns::new(5);
        assert_eq!(turns.first().0, NEVER);
        for (core, time) in [(3, 30), (0, 50), (4, 40), (1, 30)] {
            turns.set(core, time);
        }
        let mut order = Vec::new();
        while turns.first().0 != NEVER {
            let (time, core) = turns.first();
            order.push((time, core));
            turns.set(core, NEVER);
        }
        assert_eq!(order, [(30, 1), (30, 3), (40, 4), (50, 0)]);
    }

    #[test]
    fn one_core_is_a_tree() {
        let mut turns = Turns::new(1);
        turns.set(0, 7);
        assert_eq!(turns.first(), (7, 0));
    }
}
