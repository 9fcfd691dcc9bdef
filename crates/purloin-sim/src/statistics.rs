//! Means with confidence intervals: [`Estimate`].

use statrs::distribution::{ContinuousCDF, StudentsT};

/// The probability that an interval does not contain the true value.
const ERROR: f64 = 0.05;

/// A mean with its 95 % confidence interval.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Estimate {
    /// The mean.
    pub mean: f64,
    /// Half the width of the confidence interval. Infinite if there is only one value.
    pub margin: f64,
    /// The degrees of freedom: one less than the number of values that the mean comes from, or
    /// `usize::MAX` if it is known exactly.
    pub freedom: usize,
}

impl Estimate {
    /// Returns a value that is known exactly.
    pub fn exact(mean: f64) -> Estimate {
        Estimate {
            mean,
            margin: 0.0,
            freedom: usize::MAX,
        }
    }

    /// Estimates the mean of a distribution from independent values. There must be at least one.
    ///
    /// Source: Student's *t*.
    pub fn new(values: &[f64]) -> Estimate {
        let mean = mean(values);
        let deviations = values.iter().map(|value| value - mean);
        Estimate {
            mean,
            margin: margin(deviations),
            freedom: values.len() - 1,
        }
    }

    /// Estimates the ratio of the mean of `values` to the mean of `bases`. The two come in pairs:
    /// the values at the same position come from the same program. A value without a partner does not
    /// count.
    ///
    /// Source: Cochran, *Sampling techniques* (1977), section 6.3: the ratio estimate.
    pub fn of_ratio(values: &[f64], bases: &[f64]) -> Estimate {
        let count = values.len().min(bases.len());
        let (values, bases) = (&values[..count], &bases[..count]);
        let base = mean(bases);
        let ratio = mean(values) / base;
        let pairs = values.iter().zip(bases);
        let deviations = pairs.map(|(value, of)| (value - ratio * of) / base);
        Estimate {
            mean: ratio,
            margin: margin(deviations),
            freedom: count - 1,
        }
    }

    /// Returns this estimate in another unit.
    pub fn scaled(self, factor: f64) -> Estimate {
        Estimate {
            mean: factor * self.mean,
            margin: factor.abs() * self.margin,
            ..self
        }
    }

    /// Estimates the difference of two means that were estimated independently.
    pub fn minus(self, other: Estimate) -> Estimate {
        Estimate {
            mean: self.mean - other.mean,
            margin: self.margin.hypot(other.margin),
            freedom: self.freedom.min(other.freedom),
        }
    }

    /// Widens the interval of one of `count` estimates, so that with 95 % confidence the intervals of all of
    /// them hold at once.
    ///
    /// Source: Bonferroni: each may fail with an equal part of the probability.
    pub fn one_of(self, count: usize) -> Estimate {
        let wider = match self.freedom {
            0 | usize::MAX => 1.0,
            freedom => quantile(ERROR / count as f64, freedom) / quantile(ERROR, freedom),
        };
        Estimate {
            margin: wider * self.margin,
            ..self
        }
    }
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// Returns half the width of the confidence interval of a mean, from the deviations from it.
fn margin(deviations: impl ExactSizeIterator<Item = f64>) -> f64 {
    let count = deviations.len();
    let squares: f64 = deviations.map(|deviation| deviation.powi(2)).sum();
    match count - 1 {
        0 => f64::INFINITY,
        freedom => quantile(ERROR, freedom) * (squares / freedom as f64 / count as f64).sqrt(),
    }
}

/// Returns the value that the absolute value of a variable with Student's distribution exceeds with this
/// probability.
fn quantile(probability: f64, freedom: usize) -> f64 {
    let student = StudentsT::new(0.0, 1.0, freedom as f64).expect("the parameters are positive");
    student.inverse_cdf(1.0 - probability / 2.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn margins_follow_students_distribution() {
        let estimate = Estimate::new(&[1.0, 2.0, 3.0, 4.0]);
        assert_eq!(estimate.mean, 2.5);
        // 3.182 · √(5/3) / √4.
        assert!((estimate.margin - 2.054).abs() < 1e-3, "{estimate:?}");
        assert_eq!(Estimate::new(&[7.0]).margin, f64::INFINITY);
        assert_eq!(Estimate::new(&[7.0; 9]).margin, 0.0);
    }

    #[test]
    fn quantiles_are_those_of_the_published_tables() {
        for (probability, freedom, expected) in [
            (0.05, 1, 12.706),
            (0.05, 2, 4.303),
            (0.05, 5, 2.571),
            (0.05, 30, 2.042),
            (0.05, 1000, 1.962),
            (0.01, 2, 9.925),
            (0.001, 10, 4.587),
        ] {
            let found = quantile(probability, freedom);
            assert!(
                (found - expected).abs() < 1e-3,
                "{probability}, {freedom}: {found}"
            );
        }
    }

    #[test]
    fn one_of_several_intervals_is_wider_with_few_values() {
        let estimate = Estimate::new(&[1.0, 2.0, 3.0]);
        let wider = estimate.one_of(5).margin / estimate.margin;
        assert!((wider - 9.925 / 4.303).abs() < 1e-3, "{wider}");
        assert_eq!(estimate.one_of(1), estimate);
        assert_eq!(Estimate::exact(2.0).one_of(5), Estimate::exact(2.0));
        assert_eq!(Estimate::new(&[7.0]).one_of(5).margin, f64::INFINITY);
    }

    #[test]
    fn differences_have_the_errors_of_both_sides() {
        let [a, b] = [[1.0, 2.0, 3.0, 4.0].as_slice(), &[5.0, 9.0]].map(Estimate::new);
        let difference = a.minus(b);
        assert_eq!((difference.mean, difference.freedom), (-4.5, 1));
        assert_eq!(difference.margin, a.margin.hypot(b.margin));
        assert_eq!(Estimate::exact(1.0).minus(a).freedom, 3);
        let scaled = b.scaled(-2.0);
        assert_eq!((scaled.mean, scaled.margin), (-14.0, 2.0 * b.margin));
    }

    #[test]
    fn ratios_compare_values_in_pairs() {
        let base = [1.0, 2.0, 3.0, 4.0];
        let same = Estimate::of_ratio(&[2.0, 4.0, 6.0, 8.0], &base);
        assert_eq!((same.mean, same.margin), (2.0, 0.0));
        assert_eq!(Estimate::of_ratio(&[2.0, 4.0, 9.0], &base[..2]).mean, 2.0);
        let other = Estimate::of_ratio(&[3.0, 1.0, 2.0, 4.0], &base);
        assert_eq!(other.mean, 1.0);
        // Differences 2, -1, -1, 0: 3.182 · √(6/3) / √4 / 2.5.
        assert!((other.margin - 0.9).abs() < 1e-3, "{other:?}");
    }
}
