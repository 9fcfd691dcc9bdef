//! Values of each benchmark as lines, bars and percentages, for several sections of the report.

use purloin_measure::simulation::bars::{BarPanel, Bars};
use purloin_measure::simulation::picture::Line;
use purloin_sim::Estimate;

use super::{BENCHMARKS, Benchmark, Data};
use crate::report::with_margin;
use crate::statistics::{Pair, mean_ratio};
use crate::trial::Simulated;

/// Why most statements on the barrier cannot be tested here.
pub(super) const NOTHING_TO_HIDE: &str = "the paper's barrier hides the walk and the copy of the victim's stack, \
                                          and Purloin's thieves do neither";

/// Returns a line of simulated values for each benchmark.
pub(super) fn lines(data: &Data, value: impl Fn(usize, &Simulated) -> f64) -> Vec<Line> {
    each(|place, benchmark| Line {
        name: benchmark.name.to_string(),
        points: data
            .simulated(place)
            .iter()
            .filter(|run| run.cores > 1)
            .map(|run| (run.cores, value(place, run), 0.0))
            .collect(),
    })
}

/// Returns one value for each benchmark.
pub(super) fn each<T>(row: impl Fn(usize, &Benchmark) -> T) -> Vec<T> {
    let benchmarks = BENCHMARKS.iter().enumerate();
    benchmarks
        .map(|(place, benchmark)| row(place, benchmark))
        .collect()
}

/// Returns a panel with a group of bars for each benchmark.
pub(super) fn bars(
    title: impl Into<String>,
    values: impl Fn(usize) -> Vec<Option<Estimate>>,
) -> BarPanel {
    BarPanel {
        title: title.into(),
        values: each(|place, _| values(place)),
    }
}

/// Returns a picture of panels with a group of bars for each benchmark.
pub(super) fn picture(title: &str, series: &[&str], base: f64, panels: Vec<BarPanel>) -> Bars {
    Bars {
        title: title.to_string(),
        names: each(|_, benchmark| benchmark.name),
        series: series.iter().map(|name| name.to_string()).collect(),
        base,
        panels,
    }
}

/// Returns a share in percent.
pub(super) fn in_percent(share: Estimate) -> Estimate {
    share.scaled(100.0)
}

/// Formats a share as a percentage.
pub(super) fn percent(share: Estimate) -> String {
    format!("{} %", precise(in_percent(share)))
}

/// Formats a value with two digits, or more if a small margin would have none but zeros.
pub(super) fn precise(value: Estimate) -> String {
    let digits = match value.margin {
        small if small > 0.0 && small < 0.01 => (-small.log10()).ceil() as usize,
        _ => 2,
    };
    with_margin(value, digits)
}

/// Returns which part of the overheads remains with the barrier, and for how many benchmarks.
pub(super) fn mean_remaining(overheads: &[[Vec<f64>; 2]]) -> Option<(Estimate, usize)> {
    let has_overhead = |[barrier, default]: &&[Vec<f64>; 2]| {
        let all = barrier.iter().chain(default);
        !barrier.is_empty() && !default.is_empty() && all.into_iter().all(|&share| share > 0.0)
    };
    let pairs = overheads.iter().filter(has_overhead);
    let pairs: Vec<Pair> = pairs
        .map(|[barrier, default]| (&barrier[..], &default[..]))
        .collect();
    Some((mean_ratio(&pairs)?, pairs.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_small_margin_has_a_digit_that_is_not_zero() {
        let share = |mean, margin| {
            percent(Estimate {
                margin,
                ..Estimate::exact(mean)
            })
        };
        assert_eq!(share(1.4e-5, 3e-6), "0.0014 ± 0.0003 %");
        assert_eq!(share(0.0044, 0.0015), "0.44 ± 0.15 %");
        assert_eq!(share(0.0, 0.0), "0.00 ± 0.00 %");
    }
}
