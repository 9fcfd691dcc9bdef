//! How many iterations a thief gets when a loop [splits](super::split).

/// A way to split loops, for [`Builder::splitting`](crate::Builder::splitting): how many of the
/// remaining iterations become a task when a thief asks.
///
/// All ways are lazy: a loop is not split before a thief has asked.
///
/// Source: Channel (lazy splitting).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Splitting {
    /// Half of the iterations. After Tzannes and others, *Lazy binary-splitting*.
    LazyBinary,
    /// One of *n* equal parts, where *n* is the number of workers.
    LazyGuided,
    /// An equal part for each idle worker and for the worker that splits. One idle worker gets
    /// half of the iterations, two get a third each.
    #[default]
    LazyAdaptive,
}

impl Splitting {
    /// Returns how many of `rest` iterations one thief gets, in a pool of `workers` workers, `idle`
    /// of them idle. With at least two iterations, it is from 1 to half of them.
    ///
    /// ```
    /// use purloin::Splitting;
    ///
    /// assert_eq!(Splitting::LazyBinary.share(120, 8, 2), 60);
    /// assert_eq!(Splitting::LazyGuided.share(120, 8, 2), 15);
    /// assert_eq!(Splitting::LazyAdaptive.share(120, 8, 2), 40);
    /// ```
    pub fn share(self, rest: usize, workers: usize, idle: usize) -> usize {
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
    fn a_share_is_at_least_one_iteration_and_at_most_half() {
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
    fn two_thieves_and_their_victim_get_equal_shares() {
        let splitting = Splitting::LazyAdaptive;
        let first = splitting.share(300, 8, 2);
        let second = splitting.share(300 - first, 8, 1);
        assert_eq!((first, second), (100, 100));
    }
}
