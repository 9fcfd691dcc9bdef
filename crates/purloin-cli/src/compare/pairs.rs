//! Pairing the cells of two reports: [`Comparison`].

use std::collections::BTreeMap;

use purloin_measure::bench::median;

use super::interval::Ratio;
use super::read::{Bench, Cell};

/// The comparison of two reports.
pub struct Comparison {
    /// The machines of A and B.
    pub machines: (String, String),
    /// The cells that are in both reports.
    pub pairs: Vec<Pair>,
    /// The cells that are only in A.
    pub only_in_a: Vec<Cell>,
    /// The cells that are only in B.
    pub only_in_b: Vec<Cell>,
    /// Reasons to doubt the verdicts.
    pub warnings: Vec<String>,
}

/// A cell that is in both reports.
pub struct Pair {
    pub a: Cell,
    pub b: Cell,
    /// The factor from the times of A to those of B.
    pub ratio: Ratio,
    pub verdict: Verdict,
}

/// The verdict on a cell: the first one that fits.
#[derive(Clone, Copy, PartialEq, Eq, Debug, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// All of the interval is within the margin around 1.
    Same,
    /// All of the interval is below 1, and it does not overlap that of the serial elision.
    Faster,
    /// All of the interval is above 1, and it does not overlap that of the serial elision.
    Slower,
    /// None of these, for a [`Reason`].
    CannotTell,
}

/// Why the verdict cannot be told.
#[derive(Clone, Copy, PartialEq, Eq, Debug, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Reason {
    /// A run gave a wrong answer.
    WrongAnswer,
    /// There are too few runs for an interval.
    FewRuns,
    /// The interval contains 1, and is not within the margin.
    Noise,
    /// The interval overlaps that of the kernel's serial elision, so the machine may have changed, and not the program.
    SerialElision,
}

impl Verdict {
    /// Returns the verdict on a ratio, given the margin within which times count as the same.
    pub fn of(ratio: Ratio, margin: f64) -> Verdict {
        match ratio.interval {
            Some((low, high)) if low >= 1.0 / (1.0 + margin) && high <= 1.0 + margin => {
                Verdict::Same
            }
            Some((_, high)) if high < 1.0 => Verdict::Faster,
            Some((low, _)) if low > 1.0 => Verdict::Slower,
            _ => Verdict::CannotTell,
        }
    }
}

/// The change of the serial time above which the machine's speed may have changed.
const SHIFT: f64 = 0.03;

/// Number of runs that the advice names. It finds a difference of a few times the noise.
pub const ENOUGH_RUNS: usize = 9;

impl Pair {
    fn new(a: Cell, b: Cell, margin: f64) -> Pair {
        let ratio = Ratio::of(&a.seconds, &b.seconds);
        let mut pair = Pair {
            a,
            b,
            ratio,
            verdict: Verdict::CannotTell,
        };
        if pair.is_right() {
            pair.verdict = Verdict::of(ratio, margin);
        }
        pair
    }

    /// Returns whether every answer was right.
    fn is_right(&self) -> bool {
        self.a.verified && self.b.verified
    }

    /// Returns the reason if the verdict cannot be told.
    pub fn reason(&self) -> Option<Reason> {
        match (self.verdict, self.ratio.interval) {
            (Verdict::CannotTell, _) if !self.is_right() => Some(Reason::WrongAnswer),
            (Verdict::CannotTell, None) => Some(Reason::FewRuns),
            (Verdict::CannotTell, Some((low, high))) if low <= 1.0 && high >= 1.0 => {
                Some(Reason::Noise)
            }
            (Verdict::CannotTell, Some(_)) => Some(Reason::SerialElision),
            _ => None,
        }
    }

    /// Returns whether the cell is slower by more than the margin. The serial elision is not: it measures the machine.
    fn is_slower_than(&self, margin: f64) -> bool {
        let is_slower = self.verdict == Verdict::Slower && !self.a.is_serial();
        let low = self.ratio.interval.map(|(low, _)| low);
        is_slower && low.is_some_and(|low| low > 1.0 + margin)
    }

    /// Returns the verdict in words, with the reason if it cannot be told.
    pub fn words(&self) -> String {
        let runs = self.a.seconds.len().min(self.b.seconds.len());
        match (self.verdict, self.reason()) {
            (Verdict::Faster, _) => "faster".to_string(),
            (Verdict::Slower, _) => "slower".to_string(),
            (Verdict::Same, _) => "the same".to_string(),
            (_, Some(Reason::WrongAnswer)) => {
                let report = if self.a.verified { "B" } else { "A" };
                format!("cannot tell: wrong answer in {report}")
            }
            (_, Some(Reason::FewRuns)) => {
                let s = if runs == 1 { "" } else { "s" };
                format!("cannot tell: {runs} run{s}; use --runs {ENOUGH_RUNS} or more")
            }
            (_, Some(Reason::SerialElision)) => "cannot tell: so may serial".to_string(),
            _ => "cannot tell".to_string(),
        }
    }

    /// Withdraws the verdict if the serial elision of the same kernel may have changed as much.
    fn compare_with(&mut self, serial: &[(String, (f64, f64))]) {
        let job = self.a.job();
        let serial = serial.iter().find(|(other, _)| *other == job);
        if let (Some((low, high)), Some((_, (serial_low, serial_high)))) =
            (self.ratio.interval, serial)
            && matches!(self.verdict, Verdict::Faster | Verdict::Slower)
            && !self.a.is_serial()
            && low <= *serial_high
            && high >= *serial_low
        {
            self.verdict = Verdict::CannotTell;
        }
    }

    /// Returns the median time of A and that of B.
    pub fn medians(&self) -> (f64, f64) {
        (median(&self.a.seconds), median(&self.b.seconds))
    }
}

impl Comparison {
    /// Pairs the cells of A and B. `margin` is the part of a time by which times of the same program may differ.
    pub fn of(a: Bench, b: Bench, margin: f64) -> Comparison {
        let mut warnings = Vec::new();
        let (of_a, of_b) = (a.machine, b.machine);
        if (
            &of_a.processor,
            of_a.cores,
            &of_a.architecture,
            &of_a.system,
        ) != (
            &of_b.processor,
            of_b.cores,
            &of_b.architecture,
            &of_b.system,
        ) {
            warnings.push(format!(
                "The machines differ: A is from {of_a}, B is from {of_b}."
            ));
        }
        let machines = (of_a.to_string(), of_b.to_string());
        let mut pairs = Vec::new();
        let (mut only_in_a, mut rest) = (Vec::new(), merged(b.cells));
        for a in merged(a.cells) {
            match rest.iter().position(|b| a.is_like(b)) {
                Some(place) => pairs.push(Pair::new(a, rest.remove(place), margin)),
                None => only_in_a.push(a),
            }
        }
        let serial = pairs.iter().filter(|pair| pair.a.is_serial());
        let serial: Vec<_> = serial
            .filter_map(|pair| Some((pair.a.job(), pair.ratio.interval?)))
            .collect();
        pairs.iter_mut().for_each(|pair| pair.compare_with(&serial));
        warnings.extend(shift(&pairs));
        Comparison {
            machines,
            pairs,
            only_in_a,
            only_in_b: rest,
            warnings,
        }
    }

    /// Returns the number of pairs with this verdict.
    pub fn count(&self, verdict: Verdict) -> usize {
        self.pairs
            .iter()
            .filter(|pair| pair.verdict == verdict)
            .count()
    }

    /// Returns the number of pairs that are slower by more than the margin, without the serial elision.
    pub fn slower_than(&self, margin: f64) -> usize {
        let slower = self.pairs.iter().filter(|pair| pair.is_slower_than(margin));
        slower.count()
    }

    /// Returns the geometric mean of the ratios of the pairs with right answers, if there are any.
    pub fn mean(&self) -> Option<f64> {
        let right = self.pairs.iter().filter(|pair| pair.is_right());
        let logarithms: Vec<_> = right.map(|pair| pair.ratio.ratio.ln()).collect();
        let sum = logarithms.iter().sum::<f64>();
        (!logarithms.is_empty()).then(|| (sum / logarithms.len() as f64).exp())
    }

    /// Returns the result in one sentence.
    pub fn summary(&self) -> String {
        let cells = self.pairs.len();
        let verdicts = [
            (Verdict::Faster, "is faster", "are faster"),
            (Verdict::Slower, "is slower", "are slower"),
            (Verdict::Same, "is the same", "are the same"),
            (Verdict::CannotTell, "cannot be told", "cannot be told"),
        ];
        let counts = verdicts.map(|(verdict, one, several)| match self.count(verdict) {
            0 => None,
            1 => Some(format!("1 {one}")),
            count => Some(format!("{count} {several}")),
        });
        let mut counts: Vec<_> = counts.into_iter().flatten().collect();
        let last = counts.pop().unwrap_or_default();
        let counts = match counts.is_empty() {
            true => last,
            false => format!("{} and {last}", counts.join(", ")),
        };
        let s = if cells == 1 { "" } else { "s" };
        let mean = self.mean().map(|mean| match cells {
            1 => format!("; B/A is {mean:.3}"),
            _ => format!("; the geometric mean of B/A is {mean:.3}"),
        });
        format!("Of {cells} cell{s}, {counts}{}.", mean.unwrap_or_default())
    }
}

/// Joins the runs of cells that measure the same.
fn merged(cells: Vec<Cell>) -> Vec<Cell> {
    let mut merged: Vec<Cell> = Vec::new();
    for cell in cells {
        match merged.iter_mut().find(|other| other.is_like(&cell)) {
            Some(other) => {
                other.seconds.extend(cell.seconds);
                other.serial.extend(cell.serial);
                other.verified &= cell.verified;
            }
            None => merged.push(cell),
        }
    }
    merged
}

/// Returns a warning if the times of the serial elisions differ between A and B. They show whether the machine's speed has
/// changed.
fn shift(pairs: &[Pair]) -> Option<String> {
    let (elision, shift) = measured_shift(pairs).unwrap_or_else(|| median_shift(pairs))?;
    (shift.ln().abs() > SHIFT.ln_1p()).then(|| {
        format!(
            "{elision} takes {shift:.2} times as long in B: the machine itself may have been {}, or serial code has \
             changed, which changes all times. Measure A and B again, one after the other.",
            if shift > 1.0 { "slower" } else { "faster" }
        )
    })
}

/// Returns the largest shift of a serial elision that is a cell and whose interval does not contain 1. The outer `None`
/// means that no serial elision has an interval.
fn measured_shift(pairs: &[Pair]) -> Option<Option<(String, f64)>> {
    let serial = pairs.iter().filter(|pair| pair.a.is_serial());
    let measured: Vec<_> = serial
        .filter_map(|pair| Some((pair, pair.ratio.interval?)))
        .collect();
    let shifted = measured
        .iter()
        .filter(|(_, (low, high))| *low > 1.0 || *high < 1.0)
        .map(|(pair, _)| (elision_of(&pair.a.job()), pair.ratio.ratio));
    let largest = shifted.max_by(|(_, a), (_, b)| a.ln().abs().total_cmp(&b.ln().abs()));
    (!measured.is_empty()).then_some(largest)
}

/// Returns the median over the kernels of the shift that the cells' own comparisons with the serial elision show. A
/// single kernel may seem to shift by noise alone.
fn median_shift(pairs: &[Pair]) -> Option<(String, f64)> {
    let mut times: BTreeMap<String, (Vec<f64>, Vec<f64>)> = BTreeMap::new();
    for Pair { a, b, .. } in pairs {
        let (of_a, of_b) = times.entry(a.job()).or_default();
        of_a.extend(&a.serial);
        of_b.extend(&b.serial);
    }
    // A peer with a baseline of its own has no time of the serial elision.
    times.retain(|_, (a, b)| !a.is_empty() && !b.is_empty());
    let shifts = times.values().map(|(a, b)| median(b) / median(a));
    let shifts: Vec<_> = shifts.collect();
    let elision = match shifts.len() {
        0 => return None,
        1 => elision_of(times.keys().next()?),
        kernels => format!("In the median over {kernels} kernels, the serial elision"),
    };
    Some((elision, median(&shifts)))
}

fn elision_of(job: &str) -> String {
    format!("The serial elision of {job}")
}
