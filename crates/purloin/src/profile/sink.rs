//! What becomes of the strands of a recorded run.

use super::span::{Evaluator, Event};

/// The most strands that are kept: 240 MB.
const MOST_KEPT: usize = 48 << 20;

/// Where strands go.
pub(super) enum Sink {
    /// They are kept.
    Keep(Strands),
    /// They are evaluated at once.
    Evaluate {
        evaluator: Evaluator,
        correction: Correction,
    },
}

impl Sink {
    /// Takes the next strand, and the event that has ended it.
    pub(super) fn take(&mut self, event: Event, strand: f64) {
        match self {
            Sink::Keep(strands) => strands.take(event, strand),
            Sink::Evaluate {
                evaluator,
                correction,
            } => evaluator.event(event, correction.apply(strand)),
        }
    }
}

/// How long a strand is without the clock.
///
/// Readings take time, which is subtracted. Beyond that they keep the processor
/// from running strands into one another, which matters where these are of a
/// few instructions; so all are made shorter alike, until together they take as
/// long as the program does without a clock.
#[derive(Clone, Copy)]
pub(super) struct Correction {
    reading: f64,
    scale: f64,
}

impl Correction {
    fn apply(self, strand: f64) -> f64 {
        f64::max(strand - self.reading, 0.0) * self.scale
    }
}

/// The strands of a program, each with its shortest time in several runs.
#[derive(Default)]
pub(super) struct Strands {
    events: Vec<Event>,
    ticks: Vec<f32>,
    /// Strands so far in this run.
    count: usize,
    /// Of all the strands of this run, kept or not.
    sum: f64,
    runs: usize,
    /// Whether there were too many, or not the same in all runs.
    is_incomplete: bool,
}

impl Strands {
    /// Begins another run.
    pub(super) fn begin_run(&mut self) {
        self.count = 0;
        self.sum = 0.0;
        self.runs += 1;
    }

    fn take(&mut self, event: Event, strand: f64) {
        let place = self.count;
        self.count += 1;
        self.sum += strand;
        if self.is_incomplete {
            return;
        }
        if self.runs == 1 {
            if place == MOST_KEPT {
                self.is_incomplete = true;
                (self.events, self.ticks) = Default::default();
                return;
            }
            self.events.push(event);
            self.ticks.push(strand as f32);
        } else if self.events.get(place) == Some(&event) {
            self.ticks[place] = self.ticks[place].min(strand as f32);
        } else {
            self.is_incomplete = true;
        }
    }

    /// Ends a run. True if another could make the strands shorter.
    pub(super) fn end_run(&mut self) -> bool {
        self.is_incomplete |= !self.events.is_empty() && self.count != self.events.len();
        !self.is_incomplete
    }

    /// The shortest strand of all.
    pub(super) fn shortest(&self) -> f64 {
        self.ticks
            .iter()
            .copied()
            .fold(f32::INFINITY, f32::min)
            .into()
    }

    /// What to make of these strands if a reading of the clock takes so long,
    /// and all together would take `total` ticks without any.
    pub(super) fn correction(&self, reading: f64, total: f64) -> Correction {
        let (sum, count) = match self.is_incomplete {
            false => (
                self.ticks.iter().map(|&ticks| f64::from(ticks)).sum(),
                self.ticks.len(),
            ),
            true => (self.sum, self.count),
        };
        let rest = f64::max(sum - reading * count as f64, f64::MIN_POSITIVE);
        Correction {
            reading,
            scale: f64::min(total / rest, 1.0),
        }
    }

    /// Evaluates what was kept, if it is complete.
    pub(super) fn evaluate(
        &self,
        mut evaluator: Evaluator,
        correction: Correction,
    ) -> Option<Evaluator> {
        if self.is_incomplete {
            return None;
        }
        for (&event, &ticks) in self.events.iter().zip(&self.ticks) {
            evaluator.event(event, correction.apply(ticks.into()));
        }
        Some(evaluator)
    }
}
