//! Quantiles of measured values.

/// Returns the median of some values.
pub fn median(values: &[f64]) -> f64 {
    quantile(values, 0.5)
}

/// Returns the value below which this share of the values lies, by linear interpolation.
pub(super) fn quantile(values: &[f64], share: f64) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let place = share * (sorted.len() - 1) as f64;
    let (below, above) = (place.floor() as usize, place.ceil() as usize);
    sorted[below] + (sorted[above] - sorted[below]) * place.fract()
}

#[cfg(test)]
mod tests {
    use super::quantile;

    #[test]
    fn a_quantile_between_two_values_is_interpolated() {
        assert_eq!(quantile(&[3.0], 0.25), 3.0);
        assert_eq!(quantile(&[4.0, 1.0], 0.5), 2.5);
        assert_eq!(quantile(&[9.0, 1.0, 3.0], 0.75), 6.0);
    }
}
