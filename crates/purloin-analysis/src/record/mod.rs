//! Recordings of programs, for the simulator.

mod all_cores;
mod file;

use std::fmt;
use std::time::Duration;

pub use self::all_cores::OnAllCores;
pub use self::file::RecordingError;
use crate::strands::{
    EncodedStrands, Encoder, Evaluator, Place, Program, Receiver, SerialRuns, Strand, run_strands,
};
use crate::warning::warning;
use purloin::implement::clock::nanoseconds_per_tick;
use purloin::{BuildError, Pool};

/// Runs a program, and records its structure and times: where it forks and joins, how long it
/// computes in between, and the cost of its tasks.
///
/// `purloin predict` and the crate `purloin-sim` simulate a recording on other machines.
///
/// The program runs in three phases:
///
/// 1. Without a clock, for the **cost of a task**. Runs of the serial elision alternate with runs
///    on one worker of the default scheduler. There are at least nine pairs and one second of
///    serial runs, or seven pairs and five seconds, unless the serial runs take more than 20
///    seconds. The difference is the cost of the tasks. So the program must be able to run with
///    tasks.
/// 2. With a clock, for the **strands**. The serial elision runs for two seconds or 20 times,
///    whichever is less, but at least three times unless that takes more than 20 seconds. The
///    shortest time of each strand counts. If the program has more than 40 million strands, or
///    different strands in each run, only the last run counts.
/// 3. On all cores, under the default scheduler, at least five times and half a second, unless that takes more than 20
///    seconds. The strands come from one core, and do not know what a second core changes: tasks may compete for cache
///    lines or for memory. `purloin predict` compares its prediction for this machine with these runs.
///    A program that deadlocks on several workers never ends here.
///
/// The strands are scaled so that together they take as long as the serial elision without a clock.
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
/// Returns an error if a pool cannot be built.
///
/// # Panics
///
/// Panics if the program does.
pub fn record(name: &str, program: &mut impl Program) -> Result<Recording, BuildError> {
    let pool = Pool::builder().workers(1).build()?;
    let (serial, ratio) = SerialRuns::run_paired_with_tasks(&pool, program);
    let receiver = Receiver::Encoder(Encoder::new(nanoseconds_per_tick()));
    let measured = run_strands(&pool, program, serial.median_ticks, receiver);
    let Receiver::Encoder(encoder) = measured.receiver else {
        unreachable!("`run_strands` returns the receiver that it was given");
    };
    let mut strands = encoder.encoded;
    // Scales the strands once more, because the last run may have been slower than the runs on
    // which the correction is based.
    if strands.ticks > 0 {
        strands.tick *= serial.median_ticks / strands.ticks as f64;
    }
    let all_tasks_nanoseconds = (ratio - 1.0) * serial.median_ticks * nanoseconds_per_tick();
    // The simulator makes a task of each split, too.
    let simulated_tasks = strands.tasks + strands.splits;
    let task_nanoseconds = match all_tasks_nanoseconds / simulated_tasks as f64 {
        cost if cost <= MAX_TASK_NANOSECONDS => cost,
        _ => 0.0,
    };
    drop(pool);
    Ok(Recording {
        name: name.to_owned(),
        slowdown: measured.shortest_ticks / serial.shortest_ticks.max(1.0),
        task_nanoseconds,
        on_all_cores: OnAllCores::measure(program)?,
        strands,
    })
}

/// Maximum cost of a task, in nanoseconds. A larger difference is noise in a long program with few
/// tasks or none.
const MAX_TASK_NANOSECONDS: f64 = 1000.0;

/// The recording of a program, made by [`record()`].
///
/// # The file
///
/// All numbers are little-endian.
///
/// | field | bytes |
/// |---|---|
/// | `PURLOIN` and a zero | 8 |
/// | version of the format, 3 | 4 |
/// | length of the program's name in bytes, and the name in UTF-8 | 4, and that length |
/// | duration of a tick in nanoseconds, as an IEEE 754 number | 8 |
/// | slowdown of the program by the clock, a factor, as an IEEE 754 number | 8 |
/// | cost of a task in nanoseconds, as an IEEE 754 number | 8 |
/// | runs on all cores: number of workers, and of runs | 4, 4 |
/// | their times: the other fields of [`OnAllCores`], in order, as IEEE 754 numbers | 5 times 8 |
/// | number of tasks, of splits, and of strands | 8, 8, 8 |
/// | length of the strands in bytes, and the strands | 8, and that length |
/// | FNV-1a hash of all bytes before | 8 |
///
/// A strand is a number in LEB128: its duration in ticks times 16, plus the number of its
/// [`Mark`](crate::Mark). Marks are numbered from 0 in the order of their declaration. If a mark has a number, the
/// number follows, in LEB128. A result is not fetched before its task has ended. A shared result may be fetched
/// several times.
#[derive(Clone, PartialEq)]
pub struct Recording {
    name: String,
    slowdown: f64,
    task_nanoseconds: f64,
    on_all_cores: OnAllCores,
    strands: EncodedStrands,
}

/// Leaves out the strands, because there may be millions.
impl fmt::Debug for Recording {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Recording")
            .field("name", &self.name)
            .field("tasks", &self.tasks())
            .field("splits", &self.splits())
            .field("work", &self.work())
            .field("slowdown", &self.slowdown)
            .field("task_nanoseconds", &self.task_nanoseconds)
            .finish_non_exhaustive()
    }
}

impl Recording {
    /// Returns the program's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the work: the median time of the serial elision, which all strands take together.
    pub fn work(&self) -> Duration {
        Duration::from_secs_f64(self.strands.work() * 1e-9)
    }

    /// Returns how many times as long the serial elision takes with a clock as without.
    pub fn slowdown(&self) -> f64 {
        self.slowdown
    }

    /// Returns the cost of a task that is spawned and joined without a steal, in nanoseconds: the
    /// time on one worker minus the time of the serial elision, divided by the number of tasks.
    /// Returns 0 if the result is more than a microsecond, or may be noise.
    pub fn task_nanoseconds(&self) -> f64 {
        self.task_nanoseconds
    }

    /// Returns the measured runs on all cores of the machine on which the program was recorded.
    pub fn on_all_cores(&self) -> OnAllCores {
        self.on_all_cores
    }

    /// Returns the number of tasks: joins, spawns and futures. A loop or a sort counts as none, see
    /// [`splits`](Self::splits).
    pub fn tasks(&self) -> u64 {
        self.strands.tasks
    }

    /// Returns how often the recording divides loops and sorts. A pool divides them only on demand. The recording
    /// divides each of them into at most about 1,024 pieces, and simulated cores steal the pieces like tasks.
    pub fn splits(&self) -> u64 {
        self.strands.splits
    }

    /// Returns a warning if the recording has neither a task nor a loop: a program that makes its tasks in another
    /// way than through its token seems to be serial.
    pub fn warning(&self) -> Option<&'static str> {
        warning(self.tasks(), self.splits())
    }

    /// Returns the span: the longest chain of strands that must run one after the other.
    pub fn span(&self) -> Duration {
        let mut evaluator = Evaluator::new([0.0; 2]);
        for Strand { nanoseconds, mark } in self.strands() {
            evaluator.push(nanoseconds, Some(mark), Place::ROOT);
        }
        Duration::from_secs_f64(evaluator.result().0.spans[0] * 1e-9)
    }

    /// Returns the strands, in the order of the serial elision.
    pub fn strands(&self) -> impl Iterator<Item = Strand> {
        self.strands.strands()
    }
}
