//! Pairing the cells of two reports: [`Comparison`].

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

/// What the times of a cell say.
#[derive(Clone, Copy, PartialEq, Eq, Debug, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// All of the interval is below 1.
    Faster,
    /// All of the interval is above 1.
    Slower,
    /// All of the interval is within the margin around 1.
    Same,
    /// The interval goes from below 1 to above 1, or there are too few runs for an interval.
    CannotTell,
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

/// The change of the serial time above which the machine itself may have changed.
const SHIFT: f64 = 0.03;

/// Number of runs that the advice names. It finds a difference of a few times the noise.
pub const ENOUGH_RUNS: usize = 9;

impl Pair {
    fn new(a: Cell, b: Cell, margin: f64) -> Pair {
        let ratio = Ratio::of(&a.seconds, &b.seconds);
        let verdict = match a.verified && b.verified {
            true => Verdict::of(ratio, margin),
            false => Verdict::CannotTell,
        };
        Pair {
            a,
            b,
            ratio,
            verdict,
        }
    }

    /// Returns the verdict in words, with the reason if there is none.
    pub fn words(&self) -> String {
        let runs = self.a.seconds.len().min(self.b.seconds.len());
        match self.verdict {
            Verdict::Faster => "faster".to_string(),
            Verdict::Slower => "slower".to_string(),
            Verdict::Same => "the same".to_string(),
            Verdict::CannotTell if !self.a.verified => "cannot tell: wrong answer in A".to_string(),
            Verdict::CannotTell if !self.b.verified => "cannot tell: wrong answer in B".to_string(),
            Verdict::CannotTell if self.ratio.interval.is_none() => {
                let s = if runs == 1 { "" } else { "s" };
                format!("cannot tell: {runs} run{s}; use --runs {ENOUGH_RUNS} or more")
            }
            Verdict::CannotTell => "cannot tell".to_string(),
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
        warnings.extend(shifts(&pairs));
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

    /// Returns the geometric mean of the ratios.
    pub fn mean(&self) -> f64 {
        let logarithms = self.pairs.iter().map(|pair| pair.ratio.ratio.ln());
        (logarithms.sum::<f64>() / self.pairs.len() as f64).exp()
    }

    /// Returns the result in one sentence.
    pub fn summary(&self) -> String {
        let verdicts = [
            (Verdict::Faster, "faster"),
            (Verdict::Slower, "slower"),
            (Verdict::Same, "the same"),
            (Verdict::CannotTell, "cannot tell"),
        ];
        let counts = verdicts.map(|(verdict, name)| (self.count(verdict), name));
        let counts = counts.iter().filter(|(count, _)| *count > 0);
        let counts: Vec<_> = counts
            .map(|(count, name)| format!("{count} {name}"))
            .collect();
        let mean = match self.pairs.len() {
            1 => format!("B/A {:.3}", self.mean()),
            pairs => format!(
                "geometric mean of B/A {:.3} over {pairs} cells",
                self.mean()
            ),
        };
        format!("{}; {mean}.", counts.join(", "))
    }
}

/// Joins the runs of cells that measure the same.
fn merged(cells: Vec<Cell>) -> Vec<Cell> {
    let mut merged: Vec<Cell> = Vec::new();
    for cell in cells {
        match merged.iter_mut().find(|other| other.is_like(&cell)) {
            Some(other) => {
                other.seconds.extend(cell.seconds);
                other.verified &= cell.verified;
            }
            None => merged.push(cell),
        }
    }
    merged
}

/// Returns a warning if the serial elisions, which are the yardstick of the machine, take another time in B. Each cell
/// knows the time of its own one.
fn shifts(pairs: &[Pair]) -> Option<String> {
    let shift = |pair: &Pair| {
        let (a, b) = pair.medians();
        (b / pair.b.vs_serial) / (a / pair.a.vs_serial)
    };
    let distance = |shift: f64| shift.ln().abs();
    let shifts = pairs.iter().map(|pair| (pair, shift(pair)));
    let shifts = shifts.filter(|(_, shift)| shift.is_finite());
    let (pair, shift) = shifts.max_by(|(_, a), (_, b)| distance(*a).total_cmp(&distance(*b)))?;
    (distance(shift) > SHIFT.ln_1p()).then(|| {
        format!(
            "The serial elision of {}={} takes {shift:.2} times as long in B: the machine itself may have been {}, \
             or serial code has changed, which changes all times. Measure A and B again, one after the other.",
            pair.a.kernel,
            pair.a.input,
            if shift > 1.0 { "slower" } else { "faster" }
        )
    })
}
