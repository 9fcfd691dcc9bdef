//! From clock readings to durations: the times of a strand in several runs, and the correction for
//! the cost of the clock.

use super::encoding::Encoder;
use super::mark::Mark;
use super::places::Place;
use super::span::Evaluator;

/// Maximum number of strands that are kept. They take 503 MB.
const MAX_KEPT: usize = 40 << 20;

/// The destination of a run's strands.
pub(super) enum Sink {
    /// Keeps their times, to combine them with the times of other runs.
    Keep(StrandTimes),
    /// Corrects them, and passes them on at once.
    PassOn {
        receiver: Box<Receiver>,
        correction: Correction,
        is_first: bool,
    },
}

/// The destination of the corrected strands.
pub(crate) enum Receiver {
    /// Computes work and span.
    Evaluator(Box<Evaluator>),
    /// Encodes the strands for a recording.
    Encoder(Encoder),
}

impl Receiver {
    fn push(&mut self, ticks: f64, mark: Option<Mark>, place: Place) {
        match self {
            Receiver::Evaluator(evaluator) => evaluator.push(ticks, mark, place),
            Receiver::Encoder(encoder) => encoder.push(ticks, mark),
        }
    }
}

impl Sink {
    /// Adds the next strand, or a part of one that goes on in another place and has no mark.
    pub(super) fn add(&mut self, strand: f64, mark: Option<Mark>, place: Place) {
        match self {
            Sink::Keep(strands) => strands.add(strand, mark, place),
            Sink::PassOn {
                receiver,
                correction,
                is_first,
            } => {
                // Of a strand with parts, only the first or the last part may count as cold.
                let is_cold = (*is_first || mark == Some(Mark::End)) && strand <= COLD;
                *is_first = false;
                receiver.push(correction.apply(is_cold, strand), mark, place);
            }
        }
    }

    /// Returns the strands of a [`Sink::Keep`].
    pub(super) fn into_kept(self) -> StrandTimes {
        match self {
            Sink::Keep(strands) => strands,
            Sink::PassOn { .. } => unreachable!("this sink keeps its strands"),
        }
    }

    /// Returns the receiver of a [`Sink::PassOn`].
    pub(super) fn into_receiver(self) -> Receiver {
        match self {
            Sink::PassOn { receiver, .. } => *receiver,
            Sink::Keep(_) => unreachable!("this sink passes its strands on"),
        }
    }
}

/// The correction of measured times: it estimates how long a strand takes without the clock.
///
/// A reading of the clock takes time, which is subtracted. It also keeps the processor from
/// overlapping the instructions of adjacent strands, which matters if strands have only a few
/// instructions. So all strands are shortened by the same factor, until together they take as long
/// as the program without a clock.
///
/// A clock cannot distinguish strands of a few nanoseconds. All of these **fine** strands get their
/// mean. Otherwise the longest chain of them would be the chain with the most noise.
#[derive(Clone, Copy)]
pub(super) struct Correction {
    /// Ticks that one reading of the clock takes.
    reading: f64,
    /// The factor by which all strands are shortened.
    scale: f64,
    /// Maximum ticks of a fine strand, reading included.
    fine_limit: f64,
    /// Mean ticks of the fine strands, reading included.
    fine_mean: f64,
}

impl Correction {
    fn apply(self, is_cold: bool, ticks: f64) -> f64 {
        let ticks = if ticks <= self.fine_limit || is_cold {
            self.fine_mean
        } else {
            ticks
        };
        (ticks - self.reading) * self.scale
    }
}

/// The times of one strand in several runs.
///
/// Disturbances such as interrupts make a time longer, and nothing makes it shorter. So the
/// shortest time counts, except for fine strands. A time-stamp counter may advance in steps of ten
/// nanoseconds, and the duration of a shorter strand shows only in a mean: the mean of the times
/// near the shortest.
#[derive(Clone, Copy)]
struct TimesOfStrand {
    shortest: f32,
    /// The sum of the times near the shortest.
    sum: f32,
    /// The number of these times.
    count: u8,
    /// The code of the strand's mark, or [`NO_MARK`].
    code: u8,
    place: Place,
}

/// The code of a strand without a mark.
const NO_MARK: u8 = u8::MAX;

impl TimesOfStrand {
    /// Returns by how many ticks a time may exceed the shortest and still count as near it.
    fn tolerance(shortest: f32) -> f32 {
        80.0 + shortest / 16.0
    }

    fn new(ticks: f32, code: u8, place: Place) -> TimesOfStrand {
        TimesOfStrand {
            shortest: ticks,
            sum: ticks,
            count: 1,
            code,
            place,
        }
    }

    fn add(&mut self, ticks: f32) {
        if self.shortest > ticks + Self::tolerance(ticks) {
            *self = TimesOfStrand::new(ticks, self.code, self.place);
        } else if ticks <= self.shortest + Self::tolerance(self.shortest) && self.count < u8::MAX {
            self.shortest = self.shortest.min(ticks);
            self.sum += ticks;
            self.count += 1;
        }
    }

    /// Returns the strand's ticks. Strands of up to `fine_limit` ticks are fine.
    fn ticks(&self, fine_limit: f64) -> f64 {
        let shortest = f64::from(self.shortest);
        match shortest <= fine_limit {
            true => f64::from(self.sum) / f64::from(self.count),
            false => shortest,
        }
    }
}

/// Ticks by which times must differ to be distinct: twice the step of the coarsest time-stamp
/// counters.
const INDISTINCT: f64 = 60.0;

/// Maximum ticks of a cold strand, about ten microseconds. The first and the last strand begin or
/// end in code that has left the caches. Their times would be the whole span of a fine-grained
/// program, so they count as fine up to this limit.
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

/// The times of all strands of a program, in several runs.
#[derive(Default)]
pub(super) struct StrandTimes {
    strands: Vec<TimesOfStrand>,
    /// The numbers of the marks that have one, in the order of the marks.
    numbers: Vec<u32>,
    /// Number of strands so far in this run.
    count: usize,
    /// Ticks of all strands of this run, kept or not.
    sum: f64,
    runs: usize,
    /// Whether there were too many strands to keep them, or the runs had different strands.
    is_incomplete: bool,
}

impl StrandTimes {
    /// Begins a run.
    pub(super) fn begin_run(&mut self) {
        self.count = 0;
        self.sum = 0.0;
        self.runs += 1;
    }

    fn add(&mut self, strand: f64, mark: Option<Mark>, place: Place) {
        let code = mark.map_or(NO_MARK, Mark::code);
        let index = self.count;
        self.count += 1;
        self.sum += strand;
        if self.is_incomplete {
            return;
        }
        if self.runs == 1 {
            if index == MAX_KEPT {
                self.is_incomplete = true;
                self.strands = Vec::new();
                return;
            }
            self.strands
                .push(TimesOfStrand::new(strand as f32, code, place));
            self.numbers.extend(mark.and_then(Mark::number));
            return;
        }
        match self.strands.get_mut(index) {
            Some(known) if known.code == code => known.add(strand as f32),
            _ => self.is_incomplete = true,
        }
    }

    /// Ends a run. Returns whether another run is useful.
    pub(super) fn end_run(&mut self) -> bool {
        self.is_incomplete |= self.count != self.strands.len();
        !self.is_incomplete
    }

    /// Returns the mean of all strands, in ticks.
    pub(super) fn mean(&self) -> f64 {
        let (sum, count) = self.sum(f64::INFINITY);
        sum / count.max(1) as f64
    }

    /// Returns the ticks of all strands together, and their number.
    fn sum(&self, fine_limit: f64) -> (f64, usize) {
        match self.is_incomplete {
            false => {
                let ticks = self.strands.iter().map(|strand| strand.ticks(fine_limit));
                (ticks.sum(), self.strands.len())
            }
            true => (self.sum, self.count),
        }
    }

    /// Returns the correction of these strands. A reading of the clock takes `reading` ticks, and
    /// the program takes `total` ticks without a clock.
    pub(super) fn correction(&self, reading: f64, total: f64) -> Correction {
        let fine_limit = reading + INDISTINCT;
        let (sum, count) = self.sum(fine_limit);
        let mut fine = Mean::default();
        for strand in self.strands.iter() {
            if f64::from(strand.shortest) <= fine_limit {
                fine.add(strand.ticks(fine_limit));
            }
        }
        // The mean of the fine strands must not become negative.
        let reading = fine.mean().map_or(reading, |fine| reading.min(fine));
        let rest = sum - reading * count as f64;
        let (reading, scale) = if rest > total {
            (reading, total / rest)
        } else if sum > total {
            ((sum - total) / count.max(1) as f64, 1.0)
        } else {
            // The runs without a clock took longer, because other processes have disturbed them.
            (0.0, total / sum.max(1.0))
        };
        Correction {
            reading,
            scale,
            fine_limit,
            fine_mean: fine.mean().unwrap_or(fine_limit),
        }
    }

    /// Returns whether the strands of all runs are kept.
    pub(super) fn is_complete(&self) -> bool {
        !self.is_incomplete
    }

    /// Corrects all strands and passes them on.
    pub(super) fn replay(&self, correction: Correction, receiver: &mut Receiver) {
        let mut numbers = self.numbers.iter();
        let has_mark = |strand: &TimesOfStrand| strand.code != NO_MARK;
        // The first and the last strand, with their parts.
        let first = self.strands.iter().position(has_mark).unwrap_or(0);
        let inner = self
            .strands
            .split_last()
            .map_or(&[][..], |(_, inner)| inner);
        let last = inner
            .iter()
            .rposition(has_mark)
            .map_or(0, |index| index + 1);
        let are_short = |parts: &[TimesOfStrand]| {
            parts
                .iter()
                .map(|part| f64::from(part.shortest))
                .sum::<f64>()
                <= COLD
        };
        let is_first_cold = self.strands.get(..=first).is_some_and(are_short);
        let is_last_cold = self.strands.get(last..).is_some_and(are_short);
        for (index, strand) in self.strands.iter().enumerate() {
            // `add` has stored the code of a mark, or the code of none.
            let mark = Mark::from_code(strand.code, || numbers.next().copied());
            let is_cold = index <= first && is_first_cold || index >= last && is_last_cold;
            receiver.push(
                correction.apply(is_cold, strand.shortest.into()),
                mark,
                strand.place,
            );
        }
    }
}
