//! The ranks of a job, as a program sees them: [`Cluster`].

use std::hash::{DefaultHasher, Hash, Hasher};
use std::rc::Rc;
use std::time::{Duration, Instant};

use bytemuck::{Zeroable, bytes_of_mut};

use crate::cut_off::{Adaptive, CutOff, Depth, Grains, Never, Profile, QueueBound};
use crate::options::{Cutoff, Options};
use crate::rank::Engine;
use crate::stats::Stats;
use crate::transport::World;
use crate::{Error, Task, failure};

/// All ranks of an MPI job, each of which runs the same program.
///
/// ```no_run
/// use bytemuck::{Pod, Zeroable};
/// use purloin_cluster::{Cluster, Options, Rank, Task, launch};
///
/// #[derive(Clone, Copy, Debug, Pod, Zeroable)]
/// #[repr(transparent)]
/// struct Fib(u64);
///
/// impl Task for Fib {
///     type Output = u64;
///     type Context = ();
///
///     fn run<R: Rank<Self>>(self, mut rank: R) -> u64 {
///         if self.0 < 2 {
///             return self.0;
///         }
///         let (a, b) = rank.join(Fib(self.0 - 1), Fib(self.0 - 2));
///         a + b
///     }
/// }
///
/// launch(|| {
///     let cluster = Cluster::initialize()?;
///     let run = cluster.run(Fib(40), &(), &Options::default())?;
///     if cluster.rank() == 0 {
///         println!("{} in {:?}", run.output, run.elapsed);
///     }
///     Ok::<_, purloin_cluster::Error>(())
/// })
/// .expect("a thread starts")
/// .expect("the job begins");
/// ```
///
/// Started as it is, this is a job of one rank; with `mpirun -n 4`, of four.
///
/// MPI ends when this and all [arrays](crate::GlobalArray) are gone. Like all that is made
/// by all ranks together, these are to go in the same order everywhere.
pub struct Cluster {
    world: Rc<World>,
}

/// What a run has made.
#[derive(Clone, Copy, Debug)]
pub struct Run<O> {
    /// What the first task has made; on every rank.
    pub output: O,
    /// How long that took, on the first rank.
    pub elapsed: Duration,
    /// What was counted, on all ranks together.
    pub stats: Stats,
}

impl Cluster {
    /// Initializes MPI, on the calling thread, which must be the only one that uses it.
    ///
    /// From then on, a panic in a task ends the job on all ranks, with a message that
    /// says which.
    ///
    /// # Errors
    ///
    /// If MPI was initialized before.
    pub fn initialize() -> Result<Cluster, Error> {
        failure::install_hook();
        Ok(Cluster {
            world: Rc::new(World::initialize()?),
        })
    }

    /// The number of this rank, from 0 on.
    pub fn rank(&self) -> usize {
        self.world.rank()
    }

    /// How many ranks there are.
    pub fn ranks(&self) -> usize {
        self.world.ranks()
    }

    /// How many nodes they are on.
    pub fn nodes(&self) -> usize {
        self.world.nodes()
    }

    /// Waits until all ranks have come here.
    pub fn barrier(&self) {
        self.world.barrier();
    }

    /// Makes sure, on all ranks together, that they have the same of something, such as their
    /// arguments.
    ///
    /// # Errors
    ///
    /// If they have not, on every rank; `about` says what it is.
    pub fn agree<A: Hash + ?Sized>(&self, about: &str, what: &A) -> Result<(), Error> {
        let mut hasher = DefaultHasher::new();
        what.hash(&mut hasher);
        let all = self.world.all_gather(hasher.finish());
        match all.iter().position(|hash| *hash != all[0]) {
            None => Ok(()),
            Some(rank) => Err(Error::Disagreement {
                rank,
                about: about.to_owned(),
            }),
        }
    }

    /// Whether something is so on all ranks. All have to ask.
    pub fn agree_that(&self, is_so: bool) -> bool {
        self.world
            .all_gather(is_so.into())
            .iter()
            .all(|&is_so| is_so == 1)
    }

    /// Ends the job on all ranks, with a message that says on which rank it was called.
    pub fn fail(&self, message: &str) -> ! {
        self.world.fail(message)
    }

    pub(crate) fn world(&self) -> &Rc<World> {
        &self.world
    }

    /// Runs `task`, and all that it spawns, on all ranks together.
    ///
    /// All ranks must call it, with the same options. The first rank's task is the one
    /// that is run; each rank's context is what its tasks see.
    ///
    /// # Errors
    ///
    /// If an option is out of range, ranks differ in them, or there is no memory for the
    /// queues; on every rank, before any task runs.
    pub fn run<T: Task>(
        &self,
        task: T,
        context: &T::Context,
        options: &Options,
    ) -> Result<Run<T::Output>, Error> {
        self.agree("options", options)?;
        options.check()?;
        self.world.set_latency(options.latency);
        let run = self.run_cut_off(task, context, options);
        self.world.set_latency(Duration::ZERO);
        Ok(self.share(run?))
    }

    fn run_cut_off<T: Task>(
        &self,
        task: T,
        context: &T::Context,
        options: &Options,
    ) -> Result<Run<T::Output>, Error> {
        let neighbours = self.world.neighbours().len();
        Ok(match options.cutoff {
            Cutoff::None => self.run_with(task, context, options, Never)?.0,
            Cutoff::Depth(depth) => self.run_with(task, context, options, Depth(depth))?.0,
            Cutoff::Queue => {
                let cutoff = QueueBound::new(neighbours);
                self.run_with(task, context, options, cutoff)?.0
            }
            Cutoff::Adaptive => {
                let profile = Profile::new(&self.world, options.profiling)?;
                let grains = Grains::new(options.grain);
                let cutoff = Adaptive::new(profile, grains, neighbours);
                let (mut run, cutoff) = self.run_with(task, context, options, cutoff)?;
                run.stats.profiling_nanoseconds += cutoff.cost();
                run
            }
        })
    }

    fn run_with<T: Task, C: CutOff>(
        &self,
        task: T,
        context: &T::Context,
        options: &Options,
        cutoff: C,
    ) -> Result<(Run<T::Output>, C), Error> {
        let mut engine = Engine::new(&self.world, context, cutoff, options)?;
        self.world.barrier();
        let begin = Instant::now();
        let output = match self.rank() {
            0 => engine.lead(task),
            _ => {
                engine.follow();
                T::Output::zeroed()
            }
        };
        let elapsed = begin.elapsed();
        let (stats, cutoff) = engine.finish();
        let run = Run {
            output,
            elapsed,
            stats,
        };
        Ok((run, cutoff))
    }

    /// The first rank's output and time, and the sum of what was counted, on every rank.
    fn share<O: bytemuck::Pod>(&self, mut run: Run<O>) -> Run<O> {
        self.world.broadcast(bytes_of_mut(&mut run.output));
        let mut nanoseconds = run.elapsed.as_nanos() as u64;
        self.world.broadcast(bytes_of_mut(&mut nanoseconds));
        run.elapsed = Duration::from_nanos(nanoseconds);
        let mut counts: [u64; size_of::<Stats>() / 8] = bytemuck::cast(run.stats);
        for count in &mut counts {
            *count = self.world.all_gather(*count).iter().sum();
        }
        run.stats = bytemuck::cast(counts);
        run
    }
}
