//! Means and how sure they are: [`Estimate`].

/// Two-sided 95 % quantiles of Student's distribution, for 1 to 30 degrees of freedom.
const STUDENT: [f64; 30] = [
    12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160,
    2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056,
    2.052, 2.048, 2.045, 2.042,
];

/// A mean, and half the width of its 95 % confidence interval.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Estimate {
    /// The mean.
    pub mean: f64,
    /// With 95 % confidence, what is estimated is not further from the mean. Infinite if there
    /// is one value only.
    pub margin: f64,
}

impl Estimate {
    /// Of these values, which are independent of one another. There is at least one.
    ///
    /// Source: Student's *t*.
    pub fn new(values: &[f64]) -> Estimate {
        let count = values.len() as f64;
        let mean = values.iter().sum::<f64>() / count;
        let freedom = values.len().saturating_sub(1);
        let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
        let margin = match freedom {
            0 => f64::INFINITY,
            _ => {
                let quantile = STUDENT.get(freedom - 1).copied().unwrap_or(1.96);
                quantile * (squares / freedom as f64 / count).sqrt()
            }
        };
        Estimate { mean, margin }
    }

    /// This divided by another that is independent of it: to first order, the squares of the
    /// relative margins add up.
    pub fn relative_to(self, other: Estimate) -> Estimate {
        let mean = self.mean / other.mean;
        let relative = (self.margin / self.mean).hypot(other.margin / other.mean);
        Estimate {
            mean,
            margin: (mean * relative).abs(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn margins_are_students() {
        let estimate = Estimate::new(&[1.0, 2.0, 3.0, 4.0]);
        assert_eq!(estimate.mean, 2.5);
        // 3.182 · √(5/3) / √4.
        assert!((estimate.margin - 2.054).abs() < 1e-3, "{estimate:?}");
        assert_eq!(Estimate::new(&[7.0]).margin, f64::INFINITY);
        assert_eq!(Estimate::new(&[7.0; 9]).margin, 0.0);
    }

    #[test]
    fn relative_margins_add_up_as_squares() {
        let [a, b] = [(10.0, 0.3), (5.0, 0.2)].map(|(mean, margin)| Estimate { mean, margin });
        let ratio = a.relative_to(b);
        assert_eq!(ratio.mean, 2.0);
        assert!((ratio.margin - 2.0 * 0.05).abs() < 1e-12);
    }
}
