//! Confidence intervals for the ratio of two sets of times: [`Ratio`].
//!
//! Times of runs are few and not normally distributed: most are near the least, and some are much longer. So the
//! interval is the one that belongs to the Mann–Whitney test. It assumes only that B's times have the distribution of
//! A's times, multiplied by a factor. The estimate of the factor is the median of the ratios of each time of B to each
//! time of A, after Hodges and Lehmann. The interval holds every factor that the test does not reject at 5 %. Its ends
//! are two of the sorted ratios.
//!
//! Source: Hollander, Wolfe and Chicken, *Nonparametric Statistical Methods*, third edition, section 4.3.

use purloin_measure::bench::median;

/// The probability that an interval misses the true ratio on one of its two sides.
const TAIL: f64 = 0.025;

/// Maximum number of ratios for which the distribution of the ranks is computed. Above it, the normal distribution
/// replaces it, which is close unless A or B has only a few runs.
const MAX_EXACT: usize = 1_600;

/// The rounding error of a sum of probabilities, at most.
const ROUNDING: f64 = 1e-12;

/// The factor between two sets of times.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Ratio {
    /// The estimate.
    pub ratio: f64,
    /// The ends of the 95 % confidence interval. `None` if there are too few times for an interval.
    pub interval: Option<(f64, f64)>,
}

impl Ratio {
    /// Estimates the factor by which the times of `b` are longer than those of `a`. Neither is empty.
    pub fn of(a: &[f64], b: &[f64]) -> Ratio {
        let ratios = b.iter().flat_map(|b| a.iter().map(move |a| b / a));
        let mut ratios: Vec<_> = ratios.collect();
        ratios.sort_by(f64::total_cmp);
        Ratio {
            ratio: median(&ratios),
            interval: outside(a.len(), b.len())
                .map(|outside| (ratios[outside - 1], ratios[ratios.len() - outside])),
        }
    }
}

/// Returns the rank of the lower end of the interval among the ratios, from 1 on. The upper end has the same rank from
/// the top. Returns `None` if there are too few times.
fn outside(a: usize, b: usize) -> Option<usize> {
    let rank = match a * b > MAX_EXACT {
        true => {
            let (a, b) = (a as f64, b as f64);
            let deviation = (a * b * (a + b + 1.0) / 12.0).sqrt();
            (a * b / 2.0 - 1.96 * deviation).floor().max(0.0) as usize
        }
        false => {
            // The number of counts u with P(U ≤ u) ≤ `TAIL` is the rank.
            let probabilities = distribution(a, b).into_iter();
            let sums = probabilities.scan(0.0, |sum, probability| {
                *sum += probability;
                Some(*sum)
            });
            sums.take_while(|&sum| sum <= TAIL + ROUNDING).count()
        }
    };
    (rank > 0).then_some(rank)
}

/// Returns the distribution of the number of pairs in which the value of B is the smaller one, if all orders of the
/// values of A and B are equally probable: the probability of 0 pairs, of 1 pair, and so on.
fn distribution(a: usize, b: usize) -> Vec<f64> {
    // The largest of all values is one of A with probability a / (a + b). Then it makes a pair with each value of B.
    // Otherwise, it makes no pair. The row for a - 1 values of A is kept for all numbers of values of B.
    let mut rows: Vec<Vec<f64>> = vec![vec![1.0]; b + 1];
    for a in 1..=a {
        let mut row_of_fewer_b = vec![1.0];
        for (b, row) in rows.iter_mut().enumerate().skip(1) {
            let share = a as f64 / (a + b) as f64;
            let mut next = vec![0.0; a * b + 1];
            for (pairs, probability) in row.iter().enumerate() {
                next[pairs + b] += share * probability;
            }
            for (pairs, probability) in row_of_fewer_b.iter().enumerate() {
                next[pairs] += (1.0 - share) * probability;
            }
            row.clone_from(&next);
            row_of_fewer_b = next;
        }
    }
    rows.pop().expect("there is a row for b values of B")
}

#[cfg(test)]
mod tests {
    use super::super::pairs::Verdict;
    use super::*;

    /// Random numbers: the xorshift generator of Marsaglia with 64 bits.
    struct Random(u64);

    impl Random {
        /// Returns a number between 0 and 1.
        fn next(&mut self) -> f64 {
            self.0 ^= self.0 << 13;
            self.0 ^= self.0 >> 7;
            self.0 ^= self.0 << 17;
            (self.0 >> 11) as f64 / (1_u64 << 53) as f64
        }

        /// Returns times around a second. They are as skewed as those of runs: one in ten is disturbed.
        fn times(&mut self, runs: usize, noise: f64) -> Vec<f64> {
            let time = |_| {
                let normal = (0..12).map(|_| self.next()).sum::<f64>() - 6.0;
                let disturbed = if self.next() < 0.1 {
                    5.0 * noise * self.next()
                } else {
                    0.0
                };
                1.0 + noise * normal + disturbed
            };
            (0..runs).map(time).collect()
        }
    }

    #[test]
    fn the_ranks_are_those_of_the_published_tables() {
        // Critical values of the Mann–Whitney test, two-sided at 5 %, and one more.
        for (a, b, rank) in [
            (4, 4, 1),
            (5, 5, 3),
            (9, 9, 18),
            (3, 5, 1),
            (10, 7, 15),
            (20, 20, 128),
            // The probability of the first rank is exactly 1 / 40.
            (1, 39, 1),
            (1, 41, 1),
            (2, 700, 155),
        ] {
            assert_eq!(outside(a, b), Some(rank), "{a}, {b}");
            assert_eq!(outside(b, a), Some(rank), "{b}, {a}");
        }
        for (a, b) in [(1, 1), (3, 3), (2, 7), (1, 30)] {
            assert_eq!(outside(a, b), None, "{a}, {b}");
        }
        // The normal distribution takes over without a step.
        let (exact, normal) = (outside(40, 40).unwrap(), outside(41, 40).unwrap());
        assert!((0..=20).contains(&(normal - exact)), "{exact}, {normal}");
    }

    #[test]
    fn the_probabilities_sum_to_1() {
        for (a, b) in [(1, 1), (4, 7), (40, 40)] {
            let distribution = distribution(a, b);
            assert_eq!(distribution.len(), a * b + 1);
            assert!((distribution.iter().sum::<f64>() - 1.0).abs() < 1e-9);
        }
    }

    /// Returns how many of 1,000 comparisons give each verdict.
    fn verdicts(runs: usize, noise: f64, factor: f64) -> [usize; 3] {
        let mut random = Random(0x9e37_79b9_7f4a_7c15);
        let mut counts = [0; 3];
        for _ in 0..1_000 {
            let a = random.times(runs, noise);
            let b: Vec<_> = random
                .times(runs, noise)
                .iter()
                .map(|time| factor * time)
                .collect();
            match Verdict::of(Ratio::of(&a, &b), 0.0) {
                Verdict::Faster => counts[0] += 1,
                Verdict::Slower => counts[1] += 1,
                Verdict::Same | Verdict::CannotTell => counts[2] += 1,
            }
        }
        counts
    }

    #[test]
    fn times_of_the_same_program_rarely_differ() {
        for (runs, noise) in [(5, 0.02), (9, 0.02), (9, 0.2), (15, 0.05)] {
            let [faster, slower, _] = verdicts(runs, noise, 1.0);
            assert!(
                faster + slower <= 60,
                "{runs} runs: {faster} faster, {slower} slower"
            );
        }
    }

    #[test]
    fn a_tenth_is_seen_through_a_noise_of_two_per_cent() {
        assert!(verdicts(9, 0.02, 1.1)[1] >= 990);
        assert!(verdicts(9, 0.02, 1.0 / 1.1)[0] >= 990);
        // Three runs are not enough for any difference.
        assert_eq!(verdicts(3, 0.02, 2.0), [0, 0, 1_000]);
    }

    #[test]
    fn the_estimate_is_inside_the_interval() {
        let a = [1.0, 1.1, 1.2, 1.3, 9.0];
        let b = [2.0, 2.2, 2.4, 2.6, 2.8];
        let Ratio { ratio, interval } = Ratio::of(&a, &b);
        let (low, high) = interval.unwrap();
        assert!(
            low < ratio && ratio < high && (1.8..2.2).contains(&ratio),
            "{low} {ratio} {high}"
        );
    }
}
