//! Why is my program not faster? Work, span and where the time goes.

use std::time::{Duration, Instant};

use crate::strands::{Evaluator, Program, Receiver, Serially, is_enough, median, run_strands};
use purloin::ReturnBarrier;
use purloin::Scheduler;
use purloin::implement::clock::nanoseconds_per_tick;
use purloin::{BuildError, Builder, Pool};
use purloin::{Stats, Times};

/// Runs a program again and again, and says why it is not faster: its work and
/// span, its tasks and steals, and where the workers' time goes.
///
/// It uses one worker for each available core; see [`Profiler`] for options.
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
/// println!("parallelism {:.0}", profile.ideal.parallelism);
/// # Ok::<(), purloin::BuildError>(())
/// ```
///
/// # Errors
///
/// If the pool cannot be made.
///
/// # Panics
///
/// If the program does. One that catches a panic of its own tasks, inside, is
/// not measured rightly.
///
/// Source: Wool, section 5.
pub fn profile(program: &mut impl Program) -> Result<Profile, BuildError> {
    Profiler::new(Pool::builder()).profile(program)
}

/// The options of a [`profile`].
#[derive(Debug)]
pub struct Profiler<S: Scheduler = ReturnBarrier> {
    pool: Builder<S>,
    stealing_cost: Duration,
}

impl<S: Scheduler> Profiler<S> {
    /// Profiles with a pool of these options.
    pub fn new(pool: Builder<S>) -> Self {
        Profiler {
            pool,
            stealing_cost: Duration::from_nanos(1000),
        }
    }

    /// What a steal is taken to cost, for [`Profile::burdened`]; at first
    /// 1,000 ns. At most an hour, as longer ones count.
    pub fn stealing_cost(mut self, cost: Duration) -> Self {
        self.stealing_cost = cost.min(Duration::from_secs(3600));
        self
    }

    /// See [`profile`].
    ///
    /// # Errors
    ///
    /// If the pool cannot be made.
    ///
    /// # Panics
    ///
    /// If the program does.
    pub fn profile<P: Program>(self, program: &mut P) -> Result<Profile, BuildError> {
        let cost = self.stealing_cost;
        let pool = self.pool.timed(true).build()?;
        let serial = Serially::run(&pool, program);
        let cost_in_ticks = cost.as_nanos() as f64 / nanoseconds_per_tick();
        let receiver = Receiver::Size(Evaluator::new([0.0, cost_in_ticks]));
        let measured = run_strands(&pool, program, serial.shortest, receiver);
        let Receiver::Size(evaluator) = measured.receiver else {
            unreachable!("it stays what it is");
        };
        let (size, tasks) = evaluator.result();
        let parallel = InParallel::run(&pool, program);
        let tick = nanoseconds_per_tick() * 1e-9;
        let span = |index: usize, cost| {
            let span = size.spans[index];
            Span {
                cost,
                span: span * tick,
                // The shortest time of all may be less than a step of the clock.
                parallelism: match span > 0.0 {
                    true => size.work / span,
                    false => 1.0,
                },
            }
        };
        Ok(Profile {
            workers: pool.workers(),
            tasks,
            work: size.work * tick,
            ideal: span(0, Duration::ZERO),
            burdened: span(1, cost),
            is_filtered: measured.is_filtered,
            serial: serial.median,
            serial_runs: serial.runs,
            parallel: parallel.median,
            runs: parallel.walls.len(),
            wall: parallel.walls.iter().sum(),
            stats: parallel.stats,
            times: parallel.times,
        })
    }
}

/// Why a program is not faster: what [`profile`] has found.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Profile {
    /// The number of workers.
    pub workers: usize,
    /// The program's joins and spawns.
    pub tasks: u64,
    /// What all strands take together, in seconds: the shortest time of the
    /// serial elision.
    pub work: f64,
    /// The span if steals cost nothing.
    pub ideal: Span,
    /// The span if each steal costs something.
    pub burdened: Span,
    /// Whether of each strand only its undisturbed times count. If not, an
    /// interrupt may have made the spans longer than they are.
    pub is_filtered: bool,
    /// The median time of the serial elision.
    pub serial: Duration,
    /// How often that was run.
    pub serial_runs: usize,
    /// The median time on all workers.
    pub parallel: Duration,
    /// How often the program was run on all workers.
    pub runs: usize,
    /// The time of all those runs together.
    pub wall: Duration,
    /// What the workers did in all those runs.
    pub stats: Stats,
    /// For each worker, and then for each spare one that was needed, where its time
    /// went in all those runs.
    pub times: Vec<Times>,
}

/// The longest chain of strands that have to be run one after the other.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Span {
    /// What a steal is taken to cost. A join of *a* and *b* takes
    /// min(*a* + *b*, max(*a*, *b*) + cost).
    pub cost: Duration,
    /// How long the chain is, in seconds.
    pub span: f64,
    /// Work divided by span: more workers than this cannot be used.
    pub parallelism: f64,
}

impl Profile {
    /// The serial time divided by the number of tasks, in seconds (the paper's
    /// *S_T*).
    pub fn task_size(&self) -> f64 {
        self.serial.as_secs_f64() / self.tasks.max(1) as f64
    }

    /// Steals in one run, on average.
    pub fn steals(&self) -> f64 {
        self.stats.steals as f64 / self.runs as f64
    }

    /// The serial time divided by the steals of a run, in seconds (the paper's
    /// *I_S*): what a steal gains on average. `None` if nothing was stolen.
    pub fn steal_interval(&self) -> Option<f64> {
        (self.stats.steals > 0).then(|| self.serial.as_secs_f64() / self.steals())
    }

    /// How long a successful steal takes, in seconds. `None` if nothing was
    /// stolen.
    pub fn steal_cost(&self) -> Option<f64> {
        let stealing = |times: &Times| times.stealing + times.stealing_in_join;
        let total: Duration = self.times.iter().map(stealing).sum();
        (self.stats.steals > 0).then(|| total.as_secs_f64() / self.stats.steals as f64)
    }

    /// The serial time divided by the parallel one.
    pub fn speed_up(&self) -> f64 {
        self.serial.as_secs_f64() / self.parallel.as_secs_f64()
    }

    /// Between what the speed-up on so many workers is to be expected by the
    /// ideal span: work / (span + work / workers), of a program that is now
    /// serial and now parallel, and work / max(span, work / workers), of one
    /// that is always equally parallel.
    ///
    /// Source: Wool, section 5.2.
    pub fn expected_speed_up(&self, workers: usize) -> (f64, f64) {
        let (parallelism, workers) = (self.ideal.parallelism, workers as f64);
        let low = 1.0 / (1.0 / parallelism + 1.0 / workers);
        (low, parallelism.min(workers))
    }
}

/// The program on all workers, run repeatedly.
struct InParallel {
    median: Duration,
    walls: Vec<Duration>,
    stats: Stats,
    times: Vec<Times>,
}

impl InParallel {
    fn run<S: Scheduler, P: Program>(pool: &Pool<S>, program: &mut P) -> InParallel {
        let mut times = vec![Times::default(); pool.times().len()];
        let (mut walls, mut stats) = (Vec::new(), Stats::default());
        // The first run wakes the cores, and does not count.
        program.prepare();
        pool.run(|w| program.run(w));
        while !is_enough(walls.len(), walls.iter().sum()) {
            program.prepare();
            let (stats_before, before, start) = (pool.stats(), pool.times(), Instant::now());
            pool.run(|w| program.run(w));
            let (wall, after) = (start.elapsed(), pool.times());
            walls.push(wall);
            stats += pool.stats() - stats_before;
            for ((sum, after), before) in times.iter_mut().zip(after).zip(before) {
                *sum += after - before;
            }
        }
        let unused = |times: &Times| times.total().is_zero();
        while times.len() > pool.workers() && times.last().is_some_and(unused) {
            times.pop();
        }
        InParallel {
            median: median(walls.clone()),
            walls,
            stats,
            times,
        }
    }
}
