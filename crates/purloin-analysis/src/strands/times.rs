//! What becomes of the strands of a recorded run.

use super::encoding::Scribe;
use super::mark::Mark;
use super::span::Evaluator;

/// The most strands that are kept: 503 MB.
const MOST_KEPT: usize = 40 << 20;

/// Where strands go.
pub(super) enum Sink {
    /// They are kept.
    Keep(Strands),
    /// They are handed on at once.
    PassOn {
        receiver: Receiver,
        correction: Correction,
        is_first: bool,
    },
}

/// What becomes of them in the end.
pub(crate) enum Receiver {
    /// They are added up.
    Size(Evaluator),
    /// They are written down.
    Tape(Scribe),
}

impl Receiver {
    fn strand(&mut self, ticks: f64, mark: Mark) {
        match self {
            Receiver::Size(evaluator) => evaluator.strand(ticks, mark),
            Receiver::Tape(scribe) => scribe.strand(ticks, mark),
        }
    }
}

impl Sink {
    /// Takes the next strand.
    pub(super) fn take(&mut self, strand: f64, mark: Mark) {
        match self {
            Sink::Keep(strands) => strands.take(strand, mark),
            Sink::PassOn {
                receiver,
                correction,
                is_first,
            } => {
                let is_first = std::mem::replace(is_first, false);
                receiver.strand(correction.apply(is_first, strand, mark), mark);
            }
        }
    }
}

/// How long a strand is without the clock.
///
/// Readings take time, which is subtracted. Beyond that they keep the processor
/// from running strands into one another, which matters where these are of a
/// few instructions; so all are made shorter alike, until together they take as
/// long as the program does without a clock.
///
/// Strands of a few nanoseconds cannot be told from one another by a clock. They
/// all get their mean: the longest chain of them would else be the one that had
/// the most bad luck.
#[derive(Clone, Copy)]
pub(super) struct Correction {
    reading: f64,
    scale: f64,
    /// Up to this time, with the reading, a strand counts as fine.
    finest: f64,
    /// What fine strands take on average, with the reading.
    fine: f64,
}

impl Correction {
    fn apply(self, is_first: bool, ticks: f64, mark: Mark) -> f64 {
        let is_cold = (is_first || mark == Mark::End) && ticks <= COLD;
        let ticks = if ticks <= self.finest || is_cold {
            self.fine
        } else {
            ticks
        };
        (ticks - self.reading) * self.scale
    }
}

/// The times of one strand, in several runs.
///
/// Interrupts and the like make a time longer, nothing makes it shorter. So the
/// shortest counts, but for fine strands: a time-stamp counter may go in steps of
/// ten nanoseconds, and where a strand takes less, only the mean of those times
/// that are near the shortest can tell.
#[derive(Clone, Copy)]
struct Strand {
    shortest: f32,
    /// Of those that count.
    sum: f32,
    count: u8,
    /// That of its mark.
    code: u8,
}

impl Strand {
    /// How much longer than the shortest a time may be, in ticks.
    fn tolerance(shortest: f32) -> f32 {
        80.0 + shortest / 16.0
    }

    fn new(ticks: f32, code: u8) -> Strand {
        Strand {
            shortest: ticks,
            sum: ticks,
            count: 1,
            code,
        }
    }

    fn add(&mut self, ticks: f32) {
        if self.shortest > ticks + Self::tolerance(ticks) {
            *self = Strand::new(ticks, self.code);
        } else if ticks <= self.shortest + Self::tolerance(self.shortest) && self.count < u8::MAX {
            self.shortest = self.shortest.min(ticks);
            self.sum += ticks;
            self.count += 1;
        }
    }

    /// What counts, where strands up to `finest` are fine.
    fn ticks(&self, finest: f64) -> f64 {
        let shortest = f64::from(self.shortest);
        match shortest <= finest {
            true => f64::from(self.sum) / f64::from(self.count),
            false => shortest,
        }
    }
}

/// Ticks by which times must differ to mean something: twice the step of the
/// coarsest time-stamp counters.
const INDISTINCT: f64 = 60.0;

/// Ticks that the first and the last strand may take, some ten microseconds, as
/// they begin and end in code that the processor has long forgotten. It would be
/// the whole span of a fine-grained program.
const COLD: f64 = 30_000.0;

#[derive(Default)]
struct Mean {
    sum: f64,
    count: u64,
}

impl Mean {
    fn add(&mut self, value: f64) {
        self.sum += value;
        self.count += 1;
    }

    fn mean(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum / self.count as f64)
    }
}

/// The strands of a program.
#[derive(Default)]
pub(super) struct Strands {
    strands: Vec<Strand>,
    /// The futures that were got, in order.
    got: Vec<u32>,
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

    fn take(&mut self, strand: f64, mark: Mark) {
        let place = self.count;
        self.count += 1;
        self.sum += strand;
        if self.is_incomplete {
            return;
        }
        if self.runs == 1 {
            if place == MOST_KEPT {
                self.is_incomplete = true;
                self.strands = Vec::new();
                return;
            }
            self.strands.push(Strand::new(strand as f32, mark.code()));
            if let Mark::Got(number) = mark {
                self.got.push(number);
            }
            return;
        }
        match self.strands.get_mut(place) {
            Some(known) if known.code == mark.code() => known.add(strand as f32),
            _ => self.is_incomplete = true,
        }
    }

    /// Ends a run. True if another could make the strands shorter.
    pub(super) fn end_run(&mut self) -> bool {
        self.is_incomplete |= self.count != self.strands.len();
        !self.is_incomplete
    }

    /// What all strands take on average.
    pub(super) fn mean(&self) -> f64 {
        let (sum, count) = self.sum(f64::INFINITY);
        sum / count.max(1) as f64
    }

    fn sum(&self, finest: f64) -> (f64, usize) {
        match self.is_incomplete {
            false => {
                let ticks = self.strands.iter().map(|strand| strand.ticks(finest));
                (ticks.sum(), self.strands.len())
            }
            true => (self.sum, self.count),
        }
    }

    /// What to make of these strands if a reading of the clock takes so long,
    /// and all together would take `total` ticks without any.
    pub(super) fn correction(&self, reading: f64, total: f64) -> Correction {
        let finest = reading + INDISTINCT;
        let (sum, count) = self.sum(finest);
        let mut fine = Mean::default();
        for strand in self.strands.iter() {
            if f64::from(strand.shortest) <= finest {
                fine.add(strand.ticks(finest));
            }
        }
        // No strand takes less than nothing.
        let reading = fine.mean().map_or(reading, |fine| reading.min(fine));
        let rest = sum - reading * count as f64;
        let (reading, scale) = if rest > total {
            (reading, total / rest)
        } else if sum > total {
            ((sum - total) / count.max(1) as f64, 1.0)
        } else {
            // Other processes have disturbed the plain runs.
            (0.0, total / sum.max(1.0))
        };
        Correction {
            reading,
            scale,
            finest,
            fine: fine.mean().unwrap_or(finest),
        }
    }

    /// Whether all of them are kept.
    pub(super) fn is_complete(&self) -> bool {
        !self.is_incomplete
    }

    /// Hands all of them on.
    pub(super) fn replay(&self, correction: Correction, receiver: &mut Receiver) {
        let mut got = self.got.iter();
        for (place, strand) in self.strands.iter().enumerate() {
            let mark = Mark::of(strand.code, || got.next().copied()).expect("from a mark");
            let ticks = correction.apply(place == 0, strand.shortest.into(), mark);
            receiver.strand(ticks, mark);
        }
    }
}
