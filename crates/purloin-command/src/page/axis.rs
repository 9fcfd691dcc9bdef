//! The axes of charts: [`Axis`].

/// The scale of an axis.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Scale {
    /// Equal distances are equal differences.
    Linear,
    /// Equal distances are equal ratios.
    Logarithmic,
}

/// An axis from its lower to its upper end.
pub(super) struct Axis {
    scale: Scale,
    low: f64,
    high: f64,
}

impl Axis {
    /// Returns an axis with room for these values. Ignores values that are not finite and, on a logarithmic axis,
    /// values that are not positive.
    pub fn around(scale: Scale, values: impl Iterator<Item = f64>) -> Axis {
        let (mut low, mut high) = (f64::INFINITY, f64::NEG_INFINITY);
        for value in values {
            if value.is_finite() && (scale == Scale::Linear || value > 0.0) {
                (low, high) = (low.min(value), high.max(value));
            }
        }
        if low > high {
            (low, high) = (1.0, 2.0);
        }
        let (low, high) = match scale {
            // On an axis from 0, values that are close to each other would look the same.
            Scale::Linear if low > 0.5 * high => {
                let beyond = 0.1 * (high - low).max(0.05 * high);
                (low - beyond, high + beyond)
            }
            Scale::Linear => (low.min(0.0), if high > 0.0 { 1.05 * high } else { 1.0 }),
            Scale::Logarithmic => {
                let beyond = (high / low).powf(0.05).max(1.03);
                (low / beyond, high * beyond)
            }
        };
        Axis { scale, low, high }
    }

    /// Returns an axis from 0.
    pub fn from_0(values: impl Iterator<Item = f64>) -> Axis {
        let axis = Axis::around(Scale::Linear, values);
        Axis { low: 0.0, ..axis }
    }

    /// Returns the value, or the end of the axis that is next to it.
    pub fn clamp(&self, value: f64) -> f64 {
        value.clamp(self.low, self.high)
    }

    /// Returns the place of a value, from 0 to 1, or `None` if it has none.
    pub fn place(&self, value: f64) -> Option<f64> {
        let place = match self.scale {
            Scale::Linear => (value - self.low) / (self.high - self.low),
            Scale::Logarithmic => (value / self.low).ln() / (self.high / self.low).ln(),
        };
        place.is_finite().then(|| place.clamp(0.0, 1.0))
    }

    /// Returns round values along the axis, about `most` of them at most.
    pub fn ticks(&self, most: usize) -> Vec<f64> {
        match self.scale {
            Scale::Linear => self.round_values(most),
            Scale::Logarithmic => {
                let decades = (self.high / self.low).log10();
                let decade = |steps: &'static [f64], skip: i32| {
                    let powers = self.low.log10().floor() as i32..=self.high.log10().ceil() as i32;
                    let powers = powers.filter(move |power| power.rem_euclid(skip) == 0);
                    powers
                        .flat_map(|power| steps.iter().map(move |step| step * 10_f64.powi(power)))
                        .filter(|value| (self.low..=self.high).contains(value))
                        .collect::<Vec<_>>()
                };
                let all = decade(&[1.0, 2.0, 5.0], 1);
                let few = (decades / most as f64).ceil().max(1.0) as i32;
                match all.len() {
                    // Round values on a linear scale are as good for a range this short.
                    0..=2 => self.round_values(most),
                    count if count <= most => all,
                    _ => match decade(&[1.0, 3.0], 1) {
                        thirds if thirds.len() <= most => thirds,
                        _ => decade(&[1.0], few),
                    },
                }
            }
        }
    }

    fn round_values(&self, most: usize) -> Vec<f64> {
        let rough = (self.high - self.low) / most.max(1) as f64;
        let power = 10_f64.powf(rough.log10().floor());
        let steps = [1.0, 2.0, 5.0, 10.0].map(|factor| factor * power);
        let step = steps.into_iter().find(|&step| step >= 0.999 * rough);
        let step = step.unwrap_or(steps[3]);
        let (first, last) = ((self.low / step).ceil(), (self.high / step).floor());
        let count = (last - first).clamp(0.0, 1_000.0) as usize;
        (0..=count).map(|i| (first + i as f64) * step).collect()
    }
}

/// Formats a value at a tick, with as many digits as it needs. Ticks differ in their first five digits, because an axis
/// is at least one per cent of its upper end long.
pub(super) fn plain(value: f64) -> String {
    let value = format!("{value:.4e}").parse().unwrap_or(value);
    match value.abs() {
        0.0 => "0".to_string(),
        size if !(1e-3..1e7).contains(&size) => format!("{value:e}"),
        size if size >= 10_000.0 => crate::format::grouped(value.round() as u64),
        _ => format!("{value}"),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn ticks_are_round_and_on_the_axis() {
        let axis = Axis::from_0([0.3, 0.9].into_iter());
        assert_eq!(axis.ticks(5).len(), 5);
        for (scale, values) in [
            (Scale::Linear, vec![0.97, 1.02]),
            (Scale::Logarithmic, vec![1.0, 1024.0]),
            (Scale::Logarithmic, vec![0.91, 1.04]),
            (Scale::Logarithmic, vec![1e-9, 1e4]),
            (Scale::Linear, vec![]),
            (Scale::Linear, vec![0.0, 0.0]),
            (Scale::Logarithmic, vec![f64::NAN, -1.0]),
            (Scale::Logarithmic, vec![3.0]),
        ] {
            let axis = Axis::around(scale, values.iter().copied());
            let ticks = axis.ticks(6);
            assert!((1..=8).contains(&ticks.len()), "{values:?}: {ticks:?}");
            for tick in ticks {
                let is_inside = tick >= axis.low - 1e-9 && tick <= axis.high + 1e-9;
                assert!(is_inside, "{values:?}: {tick}");
            }
        }
    }

    #[test]
    fn the_labels_of_ticks_differ() {
        for scale in [Scale::Linear, Scale::Logarithmic] {
            for size in [1e-9, 1.3e-3, 1.0, 9.9e3, 1e7, 3.7e12] {
                for width in [1e-6, 1e-3, 0.1, 3.0, 1e3] {
                    let values = [size, size * (1.0 + width)];
                    let ticks = Axis::around(scale, values.into_iter()).ticks(6);
                    let labels: BTreeSet<_> = ticks.iter().copied().map(plain).collect();
                    assert_eq!(labels.len(), ticks.len(), "{ticks:?}: {labels:?}");
                }
            }
        }
        assert_eq!(plain(1.5e7), "1.5e7");
        assert_eq!(plain(0.1 + 0.2), "0.3");
        assert_eq!(plain(-2e-9), "-2e-9");
    }
}
