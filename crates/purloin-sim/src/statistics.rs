//! Means with confidence intervals: [`Estimate`].

/// The two-sided 95 % quantiles of Student's distribution for 1 to 30 degrees of freedom.
const STUDENT: [f64; 30] = [
    12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160,
    2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056,
    2.052, 2.048, 2.045, 2.042,
];

/// A mean with its 95 % confidence interval.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Estimate {
    /// The mean.
    pub mean: f64,
    /// Half the width of the confidence interval. Infinite if there is only one value.
    pub margin: f64,
}

impl Estimate {
    /// Estimates the mean of a distribution from independent values. There must be at least one.
    ///
    /// Source: Student's *t*.
    pub fn new(values: &[f64]) -> Estimate {
        let mean = mean(values);
        let deviations = values.iter().map(|value| value - mean);
        Estimate {
            mean,
            margin: margin(deviations),
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
        freedom => quantile(freedom) * (squares / freedom as f64 / count as f64).sqrt(),
    }
}

/// Returns the two-sided 95 % quantile of Student's distribution. Beyond the table, uses the first
/// terms of its expansion around the normal distribution.
fn quantile(freedom: usize) -> f64 {
    let of_table = STUDENT.get(freedom - 1).copied();
    of_table.unwrap_or_else(|| {
        let freedom = freedom as f64;
        1.96 + 2.372 / freedom + 2.82 / freedom.powi(2)
    })
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
    fn quantiles_go_on_beyond_the_table() {
        for (freedom, expected) in [(30, 2.042), (31, 2.040), (60, 2.000), (1000, 1.962)] {
            assert!((quantile(freedom) - expected).abs() < 1e-3, "{freedom}");
        }
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
