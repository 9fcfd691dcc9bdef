//! Recordings of programs, to be simulated: [`record`].

mod file;

use std::fmt;
use std::time::Duration;

pub use self::file::RecordingError;
use crate::strands::{Evaluator, Program, Receiver, Scribe, Serially, Strand, Tape, run_strands};
use purloin::implement::clock::nanoseconds_per_tick;
use purloin::{BuildError, Pool};

/// Runs a program, and records what it does: where it forks and joins, for how long it computes
/// in between, and what its tasks cost.
///
/// What comes of it can be simulated on machines that nobody owns yet: `purloin predict` does
/// that, by the crate `purloin-sim`. The program is run without a clock, in turn as its serial
/// elision and on one worker of the default scheduler, for a second each, and nine times if that
/// does not take twenty; what it takes longer on the worker, its tasks cost. So it has to be one
/// that can be run in parallel. Then its elision is run with a clock, for two
/// seconds or three runs, and for less if it takes very long. Of each strand the shortest time
/// counts; of programs with more than forty million strands, or with others each time, that of the
/// last run. Together, strands take as long as the elision does without a clock.
///
/// ```
/// use purloin::Worker;
/// use purloin_analysis::{Program, record};
///
/// struct Fib(u32);
///
/// impl Program for Fib {
///     fn run<W: Worker>(&mut self, w: W) {
///         fib(w, self.0);
///     }
/// }
///
/// fn fib<W: Worker>(mut w: W, n: u32) -> u64 {
///     if n < 2 {
///         return n.into();
///     }
///     let (a, b) = w.join(move |w| fib(w, n - 1), move |w| fib(w, n - 2));
///     a + b
/// }
///
/// let recording = record("fib(20)", &mut Fib(20))?;
/// assert_eq!(recording.tasks(), 10945);
/// # Ok::<(), purloin::BuildError>(())
/// ```
///
/// # Errors
///
/// If the thread that runs it cannot be made.
///
/// # Panics
///
/// If the program does.
pub fn record(name: &str, program: &mut impl Program) -> Result<Recording, BuildError> {
    let pool = Pool::builder().workers(1).build()?;
    let (serial, ratio) = Serially::beside_tasks(&pool, program);
    let receiver = Receiver::Tape(Scribe::new(nanoseconds_per_tick()));
    let measured = run_strands(&pool, program, serial.middle, receiver);
    let Receiver::Tape(Scribe { mut tape, .. }) = measured.receiver else {
        unreachable!("it stays what it is");
    };
    // Together, strands take what the program takes: the last run may have been slower than
    // those before.
    if tape.ticks > 0 {
        tape.tick *= serial.middle / tape.ticks as f64;
    }
    let tasks_take = (ratio - 1.0) * serial.middle * nanoseconds_per_tick();
    let task_nanoseconds = match tasks_take / tape.tasks as f64 {
        cost if cost <= MOST_OF_A_TASK => cost,
        _ => 0.0,
    };
    Ok(Recording {
        name: name.to_owned(),
        slowdown: measured.shortest / serial.shortest.max(1.0),
        task_nanoseconds,
        tape,
    })
}

/// What is more, in nanoseconds, is not the cost of tasks, but noise in a long program with few of
/// them, or without any.
const MOST_OF_A_TASK: f64 = 1000.0;

/// What a program does: see [`record`].
///
/// # The file
///
/// All numbers are little-endian.
///
/// | what | bytes |
/// |---|---|
/// | `PURLOIN` and a zero | 8 |
/// | version of the format, 2 | 4 |
/// | length of the program's name, and the name in UTF-8 | 4, and so many |
/// | how long a tick is, in nanoseconds, as an IEEE 754 number | 8 |
/// | how many times as long the program took with a clock, likewise | 8 |
/// | what a task costs, in nanoseconds, likewise | 8 |
/// | how many tasks there are, and how many strands | 8, 8 |
/// | length of the strands, and the strands | 8, and so many |
/// | FNV-1a hash of all before | 8 |
///
/// A strand is a number in LEB128: its duration in ticks times 16, and the [`Mark`] that ends
/// it, which are numbered from 0 on as they are listed there. After [`Mark::Got`] another number
/// says which future it was, counted as they are made. None is got twice, or before it has
/// ended.
#[derive(Clone, PartialEq)]
pub struct Recording {
    name: String,
    slowdown: f64,
    task_nanoseconds: f64,
    tape: Tape,
}

/// Without its strands, of which there may be millions.
impl fmt::Debug for Recording {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Recording")
            .field("name", &self.name)
            .field("tasks", &self.tasks())
            .field("work", &self.work())
            .field("slowdown", &self.slowdown)
            .field("task_nanoseconds", &self.task_nanoseconds)
            .finish_non_exhaustive()
    }
}

impl Recording {
    /// What the program was called.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The median time of its serial elision, which is what all strands take together.
    pub fn work(&self) -> Duration {
        Duration::from_secs_f64(self.tape.work() * 1e-9)
    }

    /// How many times as long as the plain serial elision that with a clock has taken.
    pub fn slowdown(&self) -> f64 {
        self.slowdown
    }

    /// What it costs to spawn a task and to join it, if nobody steals it, in nanoseconds: what the
    /// program takes longer on one worker than its serial elision, divided by its tasks.
    /// Nothing, if that is more than a microsecond, or cannot be told from noise.
    pub fn task_nanoseconds(&self) -> f64 {
        self.task_nanoseconds
    }

    /// Its joins, spawns and futures.
    pub fn tasks(&self) -> u64 {
        self.tape.tasks
    }

    /// The longest chain of its strands that have to be run one after the other.
    pub fn span(&self) -> Duration {
        let mut evaluator = Evaluator::new([0.0; 2]);
        for Strand { nanoseconds, mark } in self.strands() {
            evaluator.strand(nanoseconds, mark);
        }
        Duration::from_secs_f64(evaluator.result().0.spans[0] * 1e-9)
    }

    /// What it does, strand by strand, in the order of its serial elision.
    pub fn strands(&self) -> impl Iterator<Item = Strand> {
        self.tape.strands()
    }
}
