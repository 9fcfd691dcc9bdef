//! How much of a loop a thief gets.

/// How much of what is left of a loop becomes a task when a thief asks, for
/// [`Builder::splitting`](crate::Builder::splitting).
///
/// Whichever it is, nothing is split before a thief has asked.
///
/// Source: Channel (lazy splitting).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Splitting {
    /// Half of it. After Tzannes and others, *Lazy binary-splitting*.
    LazyBinary,
    /// One part of as many as there are workers.
    LazyGuided,
    /// One part of as many as there are workers without work, and the one that
    /// splits: with one idle worker half, with two a third for each.
    #[default]
    LazyAdaptive,
}

impl Splitting {
    /// How many of `rest` iterations to give to one thief, in a pool of
    /// `workers` of which `idle` are without work.
    pub(crate) fn share(self, rest: usize, workers: usize, idle: usize) -> usize {
        let parts = match self {
            Splitting::LazyBinary => 2,
            Splitting::LazyGuided => workers.max(2),
            Splitting::LazyAdaptive => idle.max(1) + 1,
        };
        (rest / parts).max(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_never_nothing_nor_all() {
        for splitting in [
            Splitting::LazyBinary,
            Splitting::LazyGuided,
            Splitting::LazyAdaptive,
        ] {
            for rest in [2, 3, 10, 1000] {
                for workers in [1, 2, 8, 64] {
                    for idle in 0..workers {
                        let share = splitting.share(rest, workers, idle);
                        assert!(0 < share && share <= rest / 2, "{share} of {rest}");
                    }
                }
            }
        }
    }

    #[test]
    fn two_thieves_and_their_victim_have_the_same() {
        let splitting = Splitting::LazyAdaptive;
        let first = splitting.share(300, 8, 2);
        let second = splitting.share(300 - first, 8, 1);
        assert_eq!((first, second), (100, 100));
    }
}
