//! Profiles: the work and span of a program, and where its time goes on all workers.

use std::time::Duration;

use crate::parallel::ParallelRuns;
use crate::strands::{Evaluator, Program, Receiver, SerialRuns, is_enough, run_strands};
use crate::warning::warning;
use purloin::implement::clock::nanoseconds_per_tick;
use purloin::trace::{CriticalPath, SpeedUp, Trace};
use purloin::{BuildError, Builder, Pool, ReturnBarrier, Scheduler, Stats, Times};

/// Runs a program repeatedly, and measures why it is not faster: its work and span, its tasks and
/// steals, and where the workers' time goes.
///
/// Uses one worker for each available core. For options, see [`Profiler`].
///
/// ```
/// use purloin::Worker;
/// use purloin_analysis::{Program, profile};
///
/// struct Fib(u32, u64);
///
/// impl Program for Fib {
///     fn run<W: Worker>(&mut self, w: W) {
///         self.1 = fib(w, self.0);
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
/// let profile = profile(&mut Fib(20, 0))?;
/// assert_eq!(profile.tasks, 10945);
/// println!("{profile}"); // tables, and the likely reason why it is not faster
/// # Ok::<(), purloin::BuildError>(())
/// ```
///
/// # Errors
///
/// Returns an error if the pool cannot be built.
///
/// # Panics
///
/// Panics if the program does. The results are not reliable if the program catches panics of its
/// own tasks.
///
/// Source: Wool, section 5.
pub fn profile(program: &mut impl Program) -> Result<Profile, BuildError> {
    Profiler::new(Pool::builder()).profile(program)
}

/// The options of a profile, see [`profile()`].
#[derive(Debug)]
pub struct Profiler<S: Scheduler = ReturnBarrier> {
    pool: Builder<S>,
    stealing_cost: Duration,
}

impl<S: Scheduler> Profiler<S> {
    /// Returns a profiler that uses a pool with these options.
    pub fn new(pool: Builder<S>) -> Self {
        Profiler {
            pool,
            stealing_cost: Duration::from_nanos(1000),
        }
    }

    /// Sets the assumed cost of a steal for [`Profile::burdened`]. The default is 1,000 ns. Clamped
    /// to one hour.
    pub fn stealing_cost(mut self, cost: Duration) -> Self {
        self.stealing_cost = cost.min(Duration::from_secs(3600));
        self
    }

    /// Profiles a program, as [`profile()`] does, with these options.
    ///
    /// # Errors
    ///
    /// Returns an error if the pool cannot be built.
    ///
    /// # Panics
    ///
    /// Panics if the program does.
    pub fn profile<P: Program>(self, program: &mut P) -> Result<Profile, BuildError> {
        let cost = self.stealing_cost;
        let pool = self.pool.timed(true).build()?;
        let serial = SerialRuns::run(&pool, program);
        let cost_in_ticks = cost.as_nanos() as f64 / nanoseconds_per_tick();
        let receiver = Receiver::Evaluator(Box::new(Evaluator::new([0.0, cost_in_ticks])));
        let measured = run_strands(&pool, program, serial.shortest_ticks, receiver);
        let Receiver::Evaluator(evaluator) = measured.receiver else {
            unreachable!("`run_strands` returns the receiver that it was given");
        };
        let (size, tasks) = evaluator.result();
        let splits = evaluator.splits();
        let parallel = ParallelRuns::run(&pool, program, is_enough);
        let tick = nanoseconds_per_tick() * 1e-9;
        let times = evaluator.times_on_path();
        let work = |place| evaluator.work_of(place);
        let critical_path = measured.places.critical_path(times, work, tick);
        let span = |index: usize, cost| {
            let span = size.spans[index];
            Span {
                cost,
                span: span * tick,
                // The span is 0 if the whole program is shorter than a step of the clock.
                parallelism: match span > 0.0 {
                    true => size.work / span,
                    false => 1.0,
                },
            }
        };
        let mut profile = Profile {
            workers: pool.workers(),
            tasks,
            splits,
            work: size.work * tick,
            ideal: span(0, Duration::ZERO),
            burdened: span(1, cost),
            critical_path,
            is_filtered: measured.is_filtered,
            serial: serial.median,
            serial_runs: serial.runs,
            parallel: parallel.median,
            runs: parallel.walls.len(),
            wall: parallel.walls.iter().sum(),
            stats: parallel.stats,
            times: parallel.times,
            trace: None,
        };
        profile.trace = traced_run(&pool, program).map(|trace| profile.complete(trace));
        Ok(profile)
    }
}

/// The result of [`profile()`]: why a program is not faster.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Profile {
    /// The number of workers.
    pub workers: usize,
    /// The number of the program's tasks: joins, spawns and futures. A loop or a sort counts as none.
    pub tasks: u64,
    /// The number of divisions of loops and sorts. To find their span, the profile divides each loop into at most about 1,024 pieces; a pool chooses how to divide it.
    pub splits: u64,
    /// The work, in seconds: the time that all strands take together, which is the shortest time
    /// of the serial elision.
    pub work: f64,
    /// The span if steals cost nothing.
    pub ideal: Span,
    /// The span if each steal has the cost of [`Profiler::stealing_cost`].
    pub burdened: Span,
    /// Where the burdened span is.
    pub critical_path: CriticalPath,
    /// Whether disturbed times of strands were filtered out. If not, an interrupt may have made
    /// the measured spans too long.
    pub is_filtered: bool,
    /// The median time of the serial elision.
    pub serial: Duration,
    /// The number of runs of the serial elision.
    pub serial_runs: usize,
    /// The median time on all workers.
    pub parallel: Duration,
    /// The number of runs on all workers.
    pub runs: usize,
    /// The total time of all runs on all workers.
    pub wall: Duration,
    /// The counters of the workers, summed over all runs on all workers.
    pub stats: Stats,
    /// The breakdown of each worker's time in all of these runs. Spare workers come last. Spare
    /// workers that were never used are left out.
    pub times: Vec<Times>,
    /// The trace of one more run, if the pool is [traced](purloin::Builder::traced), with the speed-up and
    /// the bounds from work and span.
    pub trace: Option<Trace>,
}

/// Runs the program once more if the pool is traced, and returns the trace of this run.
fn traced_run<S: Scheduler, P: Program>(pool: &Pool<S>, program: &mut P) -> Option<Trace> {
    let before = pool.trace()?.end;
    program.prepare();
    pool.run(|w| program.run(w));
    Some(pool.trace()?.after(before))
}

/// The longest chain of strands that must run one after the other.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Span {
    /// The assumed cost of a steal. A join of *a* and *b* takes
    /// min(*a* + *b*, max(*a*, *b*) + cost).
    pub cost: Duration,
    /// The duration of the chain, in seconds.
    pub span: f64,
    /// Work divided by span. The program cannot use more workers than this.
    pub parallelism: f64,
}

impl Profile {
    /// Adds to a trace what the profile knows.
    fn complete(&self, trace: Trace) -> Trace {
        Trace {
            speed_up: Some(SpeedUp {
                work: self.work,
                span: self.burdened.span.max(f64::MIN_POSITIVE),
                measured: vec![(self.workers, self.speed_up())],
                predicted: Vec::new(),
            }),
            critical_path: Some(self.critical_path.clone()),
            ..trace
        }
    }

    /// Returns a warning if the profile has seen neither a task nor a loop: a program that makes its tasks in another
    /// way than through its token seems to be serial.
    pub fn warning(&self) -> Option<&'static str> {
        warning(self.tasks, self.splits)
    }

    /// Returns the serial time divided by the number of tasks, in seconds, or the serial time if there are no tasks.
    /// The paper calls it *S_T*.
    pub fn task_size(&self) -> f64 {
        self.serial.as_secs_f64() / self.tasks.max(1) as f64
    }

    /// Returns the mean number of steals in a run.
    pub fn steals(&self) -> f64 {
        self.stats.steals as f64 / self.runs as f64
    }

    /// Returns the serial time divided by the steals of a run, in seconds: the mean work that a
    /// steal moves. The paper calls it *I_S*. Returns `None` if nothing was stolen.
    pub fn steal_interval(&self) -> Option<f64> {
        (self.stats.steals > 0).then(|| self.serial.as_secs_f64() / self.steals())
    }

    /// Returns the mean duration of a successful steal, in seconds, or `None` if nothing was
    /// stolen.
    pub fn steal_cost(&self) -> Option<f64> {
        let stealing = |times: &Times| times.stealing + times.stealing_in_join;
        let total: Duration = self.times.iter().map(stealing).sum();
        (self.stats.steals > 0).then(|| total.as_secs_f64() / self.stats.steals as f64)
    }

    /// Returns the serial time divided by the time on all workers.
    pub fn speed_up(&self) -> f64 {
        self.serial.as_secs_f64() / self.parallel.as_secs_f64()
    }

    /// Returns a lower and an upper bound of the expected speed-up on this many workers, according
    /// to the ideal span. The lower bound is work / (span + work / workers), for a program that
    /// alternates between serial and parallel phases. The upper bound is work / max(span, work /
    /// workers), for a program that is equally parallel all the time.
    ///
    /// Source: Wool, section 5.2.
    pub fn expected_speed_up(&self, workers: usize) -> (f64, f64) {
        let (parallelism, workers) = (self.ideal.parallelism, workers as f64);
        let low = 1.0 / (1.0 / parallelism + 1.0 / workers);
        (low, parallelism.min(workers))
    }
}
