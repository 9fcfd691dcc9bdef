//! Statistics of several runs and of several programs.

use purloin_sim::Estimate;

/// A geometric mean, and the number of its values.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct GeometricMean {
    pub mean: f64,
    pub of: usize,
}

/// Returns the geometric mean of the positive finite values, or `None` if there are none. The
/// caller says what became of the others.
pub fn geometric_mean(values: &[f64]) -> Option<GeometricMean> {
    let logarithms = values.iter().map(|value| value.ln());
    let finite: Vec<_> = logarithms.filter(|value| value.is_finite()).collect();
    let of = finite.len();
    (of > 0).then(|| GeometricMean {
        mean: (finite.iter().sum::<f64>() / of as f64).exp(),
        of,
    })
}

/// The times of two variants of a program, trial by trial.
pub type Pair<'r> = (&'r [f64], &'r [f64]);

/// Estimates the geometric mean, over all pairs, of the ratio of their times. One estimate of all
/// pairs decides more than the best of their own estimates, which is often the luckiest one.
pub fn mean_ratio(pairs: &[Pair]) -> Option<Estimate> {
    let trials = pairs.iter().map(|(a, b)| a.len().min(b.len())).min()?;
    let mean = |trial: usize| {
        let logarithms = pairs.iter().map(|(a, b)| (a[trial] / b[trial]).ln());
        logarithms.sum::<f64>() / pairs.len() as f64
    };
    let means: Vec<_> = (0..trials).map(mean).collect();
    // The margin is that of the upper end, which is the wider one.
    (!means.is_empty()).then(|| {
        let logarithm = Estimate::new(&means);
        let Estimate { mean, margin, .. } = logarithm;
        Estimate {
            mean: mean.exp(),
            margin: (mean + margin).exp() - mean.exp(),
            ..logarithm
        }
    })
}

/// Returns Spearman's rank correlation of the two values of each pair, in which equal values share their
/// ranks. `None` for fewer than three pairs, or if one of the two values is the same in all of them.
pub fn rank_correlation(pairs: &[(f64, f64)]) -> Option<f64> {
    // The rank above the middle one.
    let ranks = |of: fn(&(f64, f64)) -> f64| -> Vec<f64> {
        let values = pairs.iter().map(of);
        let rank = |value: f64| -> f64 {
            let others = values.clone();
            others
                .map(|other| f64::from(value > other) - f64::from(value < other))
                .sum()
        };
        values.clone().map(rank).collect()
    };
    let (a, b) = (ranks(|pair| pair.0), ranks(|pair| pair.1));
    let product = |x: &[f64], y: &[f64]| x.iter().zip(y).map(|(x, y)| x * y).sum::<f64>();
    let both = (product(&a, &a) * product(&b, &b)).sqrt();
    (pairs.len() > 2 && both > 0.0).then(|| product(&a, &b) / both)
}

/// Returns the place and the [widened](all_at_once) interval of the estimate that decides whether one of
/// them is above a threshold: the one whose interval has the highest lower end, or if none is above, the
/// highest upper end.
pub fn deciding(values: &[Estimate], threshold: f64) -> Option<(usize, Estimate)> {
    let values = all_at_once(values).into_iter().enumerate();
    let lower = |(_, value): &(usize, Estimate)| value.mean - value.margin;
    let upper = |(_, value): &(usize, Estimate)| value.mean + value.margin;
    let highest = values
        .clone()
        .max_by(|a, b| lower(a).total_cmp(&lower(b)))?;
    match lower(&highest) > threshold {
        true => Some(highest),
        false => values.max_by(|a, b| upper(a).total_cmp(&upper(b))),
    }
}

/// Widens the intervals of several values, so that with 95 % confidence all of them hold at once.
pub fn all_at_once(values: &[Estimate]) -> Vec<Estimate> {
    let wider = values.iter().map(|value| value.one_of(values.len()));
    wider.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_of_opposite_order_have_a_correlation_of_minus_one() {
        let falling = [(1.0, 9.0), (2.0, 7.0), (30.0, 0.1)];
        assert_eq!(rank_correlation(&falling), Some(-1.0));
        assert_eq!(rank_correlation(&falling[1..]), None);
        let mixed = [(1.0, 7.0), (2.0, 9.0), (30.0, 0.1)];
        assert_eq!(rank_correlation(&mixed), Some(-0.5));
    }

    #[test]
    fn equal_values_have_no_correlation() {
        assert_eq!(rank_correlation(&[(0.0, 0.0); 6]), None);
        assert_eq!(
            rank_correlation(&[(1.0, 2.0), (2.0, 2.0), (3.0, 2.0)]),
            None
        );
        let tied = [(1.0, 1.0), (1.0, 2.0), (2.0, 3.0), (3.0, 4.0)];
        // Ranks 1.5, 1.5, 3, 4 and 1, 2, 3, 4.
        let correlation = rank_correlation(&tied).unwrap();
        assert!(
            (correlation - 4.5 / (4.5_f64 * 5.0).sqrt()).abs() < 1e-9,
            "{correlation}"
        );
    }

    #[test]
    fn a_geometric_mean_says_how_many_values_it_has() {
        let mean = geometric_mean(&[4.0, 1.0, 0.0, f64::NAN]).unwrap();
        assert!((mean.mean - 2.0).abs() < 1e-9);
        assert_eq!(mean.of, 2);
        assert_eq!(geometric_mean(&[0.0]), None);
    }

    #[test]
    fn a_mean_ratio_is_that_of_the_pairs_of_each_trial() {
        let pairs: [Pair; 2] = [(&[4.0, 2.0], &[1.0, 1.0]), (&[1.0, 8.0], &[1.0, 1.0])];
        // √(4 · 1) and √(2 · 8).
        let ratio = mean_ratio(&pairs).unwrap();
        assert!((ratio.mean - 8_f64.sqrt()).abs() < 1e-9);
        assert!(ratio.margin > 1.0 && ratio.margin.is_finite());
        assert_eq!(mean_ratio(&[]), None);
    }
}
