//! The ranks of a job, as a program sees them: [`Cluster`].

use std::hash::{DefaultHasher, Hash, Hasher};
use std::rc::Rc;
use std::time::{Duration, Instant};

use bytemuck::{Zeroable, bytes_of_mut};

use crate::cut_off::{Adaptive, Depth, Grains, NoCutOff, Paper, Policy, Profile, QueueBound};
use crate::options::{CutOff, Options};
use crate::rank::Engine;
use crate::stats::Stats;
use crate::transport::World;
use crate::{Error, Task, failure};

/// All ranks of an MPI job. Each rank runs the same program.
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
/// .expect("the thread starts")
/// .expect("the job begins");
/// ```
///
/// Started directly, this program is a job of one rank. Started by `mpirun -n 4`, it is a job
/// of four ranks.
///
/// MPI is finalized when the cluster and all [arrays](crate::GlobalArray) have been dropped.
/// All ranks must create and drop arrays in the same order, because creating and dropping
/// are collective operations.
pub struct Cluster {
    world: Rc<World>,
}

/// The result of [`Cluster::run`], the same on every rank.
#[derive(Clone, Copy, Debug)]
pub struct Run<O> {
    /// The output of the first task.
    pub output: O,
    /// The time that the run took, measured on rank 0.
    pub elapsed: Duration,
    /// The sums of all ranks' counters.
    pub stats: Stats,
}

impl Cluster {
    /// Initializes MPI. Only the calling thread may use the cluster.
    ///
    /// From now on a panic in a task ends the job on all ranks, with a message that names the
    /// rank and the task.
    ///
    /// # Errors
    ///
    /// Returns an error if MPI is already initialized.
    pub fn initialize() -> Result<Cluster, Error> {
        failure::install_hook();
        Ok(Cluster {
            world: Rc::new(World::initialize()?),
        })
    }

    /// Returns the number of this rank, counted from 0.
    pub fn rank(&self) -> usize {
        self.world.rank()
    }

    /// Returns the number of ranks.
    pub fn ranks(&self) -> usize {
        self.world.ranks()
    }

    /// Returns the number of nodes on which the ranks run.
    pub fn nodes(&self) -> usize {
        self.world.nodes()
    }

    /// Waits until all ranks have called this function.
    pub fn barrier(&self) {
        self.world.barrier();
    }

    /// Checks that all ranks pass the same value, for example their arguments. All ranks must
    /// call this function.
    ///
    /// # Errors
    ///
    /// Returns an error on every rank if a value differs from rank 0's value. The error calls the
    /// values `about`, a noun in the plural.
    pub fn agree<A: Hash + ?Sized>(&self, about: &str, value: &A) -> Result<(), Error> {
        let mut hasher = DefaultHasher::new();
        value.hash(&mut hasher);
        let all = self.world.all_gather(hasher.finish());
        match all.iter().position(|hash| *hash != all[0]) {
            None => Ok(()),
            Some(rank) => Err(Error::Disagreement {
                rank,
                about: about.to_owned(),
            }),
        }
    }

    /// Returns whether `condition` is true on all ranks. All ranks must call this function.
    pub fn all(&self, condition: bool) -> bool {
        self.world
            .all_gather(condition.into())
            .iter()
            .all(|&condition| condition == 1)
    }

    /// Ends the job on all ranks, with a message that names this rank.
    pub fn fail(&self, message: &str) -> ! {
        self.world.fail(message)
    }

    pub(crate) fn world(&self) -> &Rc<World> {
        &self.world
    }

    /// Runs `task` and all tasks that it spawns on all ranks.
    ///
    /// All ranks must call this function, with the same options. Only the `task` of rank 0
    /// runs; the other ranks steal from it. Each rank passes its own context, which its tasks
    /// can read.
    ///
    /// # Errors
    ///
    /// Returns an error on every rank, before any task runs, if an option is out of range, if
    /// the options of the ranks differ, or if a rank lacks memory for its queue.
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

    /// Runs the task with the policy that implements the cut-off.
    fn run_cut_off<T: Task>(
        &self,
        task: T,
        context: &T::Context,
        options: &Options,
    ) -> Result<Run<T::Output>, Error> {
        let ranks_on_node = self.world.node_ranks().len();
        Ok(match options.cut_off {
            CutOff::None => self.run_with(task, context, options, NoCutOff)?.0,
            CutOff::Depth(depth) => self.run_with(task, context, options, Depth(depth))?.0,
            CutOff::Queue => {
                let policy = QueueBound::new(ranks_on_node);
                self.run_with(task, context, options, policy)?.0
            }
            CutOff::Paper => {
                let profile = Profile::new(&self.world, options.profiling)?;
                let grains = Grains::of_paper(options.grain);
                let policy = Paper::new(profile, grains, ranks_on_node);
                let (mut run, policy) = self.run_with(task, context, options, policy)?;
                run.stats.profiling_nanoseconds += policy.cost();
                run
            }
            CutOff::Adaptive => {
                let profile = Profile::new(&self.world, options.profiling)?;
                let grains = Grains::new(options.grain);
                let policy = Adaptive::new(profile, grains, ranks_on_node);
                let (mut run, policy) = self.run_with(task, context, options, policy)?;
                run.stats.profiling_nanoseconds += policy.cost();
                run
            }
        })
    }

    /// Runs the task, and returns this rank's view of the run. Only rank 0 has the output.
    fn run_with<T: Task, P: Policy>(
        &self,
        task: T,
        context: &T::Context,
        options: &Options,
        policy: P,
    ) -> Result<(Run<T::Output>, P), Error> {
        let mut engine = Engine::new(&self.world, context, policy, options)?;
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
        let (stats, policy) = engine.finish();
        let run = Run {
            output,
            elapsed,
            stats,
        };
        Ok((run, policy))
    }

    /// Gives all ranks the output and time of rank 0, and the sums of all ranks' counters.
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
