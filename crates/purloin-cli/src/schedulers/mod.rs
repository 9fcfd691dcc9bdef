//! The schedulers that kernels run under: Purloin's own, and peers over adapters.

mod chili;
mod forkjoin;
mod options;
mod rayon;
mod runner;
mod token_free;

use std::fmt;
use std::time::Duration;

use purloin::{Builder, Pool, ReturnBarrier, Sampling, Scheduler, Sets};

use purloin_analysis::{Profile, Profiler};

use purloin_schedulers::{Channel, ChaseLev, DirectStack, OneField, TwoFields};

pub use self::forkjoin::{ForkJoin, clean_up};
pub use self::options::{Choice, Options};
pub use self::runner::Runner;
use self::runner::{Elision, WithoutTokens};
use crate::checked_kernel::CheckedKernel;
use purloin_kernels::Job;

/// The stack of every thread that runs a kernel, in bytes.
pub const STACK_SIZE: usize = 256 << 20;

/// A scheduler for `purloin list`.
pub struct Description {
    pub name: &'static str,
    pub about: &'static str,
    /// Whether it has workers to choose the number of.
    has_workers: bool,
    start: Start,
    /// Profiles a kernel, where that is possible.
    profile: Option<ProfileKernel>,
    pub options: &'static [&'static [&'static Choice]],
}

/// How a scheduler comes to run.
enum Start {
    /// In this process.
    Threads(fn(usize, &Options) -> Started),
    /// In a Java virtual machine: see [`ForkJoin`].
    Java,
}

/// Profiles a kernel on so many workers, with this cost of a steal.
pub type ProfileKernel =
    fn(usize, &Options, Duration, &mut CheckedKernel) -> Result<Profile, String>;

/// A scheduler with its threads, or why they cannot be started.
type Started = Result<Box<dyn Runner>, String>;

/// Everything that `--scheduler` accepts.
pub const SCHEDULERS: &[Description] = &[
    Description {
        name: "return-barrier",
        about: "Purloin's default: private tasks, made public when a thief asks, stolen for free",
        has_workers: true,
        start: Start::Threads(|workers, options| {
            let pool = pool(workers, options, return_barrier(options))?;
            Ok(match options.free {
                false => Box::new(pool),
                true => Box::new(WithoutTokens(pool)),
            })
        }),
        profile: Some(|workers, options, cost, kernel| {
            profile(
                builder(workers, options, return_barrier(options)),
                cost,
                kernel,
            )
        }),
        options: &[
            &[
                &options::API,
                &options::FORCED,
                &options::BARRIER,
                &options::SPARES,
            ],
            options::VICTIM_SELECTION,
            options::EVERY_POOL,
        ],
    },
    Description {
        name: "direct-stack",
        about: "Wool's: all tasks public, taken by one atomic operation",
        has_workers: true,
        start: Start::Threads(|workers, options| {
            Ok(match options.two_fields {
                false => Box::new(pool(workers, options, DirectStack::<OneField>::new())?),
                true => Box::new(pool(workers, options, DirectStack::<TwoFields>::new())?),
            })
        }),
        profile: Some(|workers, options, cost, kernel| match options.two_fields {
            false => {
                let scheduler = DirectStack::<OneField>::new();
                profile(builder(workers, options, scheduler), cost, kernel)
            }
            true => {
                let scheduler = DirectStack::<TwoFields>::new();
                profile(builder(workers, options, scheduler), cost, kernel)
            }
        }),
        options: &[
            &[&options::FIELDS, &options::SPARES],
            options::VICTIM_SELECTION,
            options::EVERY_POOL,
        ],
    },
    Description {
        name: "channel",
        about: "Prell's: private tasks, sent to thieves who ask by messages that go around",
        has_workers: true,
        start: Start::Threads(|workers, options| {
            let scheduler = Channel::default().steal(options.stealing);
            Ok(Box::new(pool(workers, options, scheduler)?))
        }),
        profile: Some(|workers, options, cost, kernel| {
            let scheduler = Channel::default().steal(options.stealing);
            profile(builder(workers, options, scheduler), cost, kernel)
        }),
        options: &[&[&options::STEAL], options::EVERY_POOL],
    },
    Description {
        name: "chase-lev",
        about: "the classic: a concurrent deque for each worker, of crossbeam-deque",
        has_workers: true,
        start: Start::Threads(|workers, options| {
            Ok(Box::new(pool(workers, options, ChaseLev::default())?))
        }),
        profile: Some(|workers, options, cost, kernel| {
            profile(builder(workers, options, ChaseLev::default()), cost, kernel)
        }),
        options: &[
            &[&options::SPARES],
            options::VICTIM_SELECTION,
            options::EVERY_POOL,
        ],
    },
    Description {
        name: SERIAL,
        about: "the serial elision: the same source without any parallelism",
        has_workers: false,
        start: Start::Threads(|_, options| {
            let pool = pool(1, options, ReturnBarrier::default())?;
            Ok(Box::new(Elision(pool)))
        }),
        profile: None,
        options: &[],
    },
    Description {
        name: "rayon",
        about: "the same source over rayon::join",
        has_workers: true,
        start: Start::Threads(|workers, _| match rayon::pool(workers) {
            Ok(pool) => Ok(Box::new(pool)),
            Err(error) => Err(error.to_string()),
        }),
        profile: None,
        options: &[],
    },
    Description {
        name: "chili",
        about: "the same source over chili::Scope::join",
        has_workers: true,
        start: Start::Threads(|workers, _| Ok(Box::new(chili::pool(workers)))),
        profile: None,
        options: &[],
    },
    Description {
        name: "forkjoin",
        about: "Java's ForkJoinPool on jacobi, fft, lud, barnes-hut, uts, multisort (with a JDK)",
        has_workers: true,
        start: Start::Java,
        profile: None,
        options: &[],
    },
];

const SERIAL: &str = "serial";

fn return_barrier(options: &Options) -> ReturnBarrier {
    ReturnBarrier::default()
        .forced_steals(options.forced)
        .barrier(options.barrier)
}

/// A pool of Purloin's with these options.
fn pool<S: Scheduler>(workers: usize, options: &Options, scheduler: S) -> Result<Pool<S>, String> {
    let pool = builder(workers, options, scheduler).build();
    pool.map_err(|error| error.to_string())
}

fn builder<S: Scheduler>(workers: usize, options: &Options, scheduler: S) -> Builder<S> {
    let builder = Pool::builder()
        .workers(workers)
        .stack_size(STACK_SIZE)
        .steal_delay(options.steal_delay)
        .splitting(options.splitting)
        .timed(options.timed)
        .scheduler(scheduler);
    let builder = match options.spares {
        Some(spares) => builder.spare_workers(spares),
        None => builder,
    };
    with_victims(builder, options)
}

fn profile<S: Scheduler>(
    pool: Builder<S>,
    cost: Duration,
    kernel: &mut CheckedKernel,
) -> Result<Profile, String> {
    let profile = Profiler::new(pool).stealing_cost(cost).profile(kernel);
    profile.map_err(|error| error.to_string())
}

fn with_victims<S: Scheduler>(builder: Builder<S>, options: &Options) -> Builder<S> {
    let mut sets = Sets::default();
    if let Some(victims) = options.set_size {
        sets = sets.least(victims);
    }
    if let Some(thieves) = options.thieves {
        sets = sets.multiplicity(thieves);
    }
    let mut sampled_sets = Sampling::new(sets);
    let mut sampling = <Sampling>::default();
    if let Some(samples) = options.samples {
        sampled_sets = sampled_sets.samples(samples);
        sampling = sampling.samples(samples);
    }
    match (options.sampling, options.sets) {
        (false, false) => builder,
        (true, false) => builder.victims(sampling),
        (false, true) => builder.victims(sets),
        (true, true) => builder.victims(sampled_sets),
    }
}

/// A scheduler with its options, as the user named it.
#[derive(Clone)]
pub struct Spec {
    text: String,
    description: &'static Description,
    options: Options,
}

impl fmt::Display for Spec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.text)
    }
}

impl std::str::FromStr for Spec {
    type Err = String;

    fn from_str(text: &str) -> Result<Spec, String> {
        let text = text.strip_suffix(':').unwrap_or(text);
        let (name, options) = text.split_once(':').unwrap_or((text, ""));
        let Some(description) = SCHEDULERS.iter().find(|known| known.name == name) else {
            let known: Vec<_> = SCHEDULERS.iter().map(|known| known.name).collect();
            let known = known.join(", ");
            return Err(match name.contains(',') {
                true => format!("no scheduler {name:?}; give each its own --scheduler"),
                false => format!("no scheduler {name:?}; there are: {known}"),
            });
        };
        Ok(Spec {
            text: text.to_string(),
            description,
            options: Options::parse(name, description.options, options)?,
        })
    }
}

impl Spec {
    /// The yardstick.
    pub fn serial() -> Spec {
        SERIAL.parse().expect("one of the schedulers")
    }

    /// The same, with workers that note where their time goes.
    pub fn timed(mut self) -> Spec {
        self.options.timed = true;
        self
    }

    pub fn is_timed(&self) -> bool {
        self.options.timed
    }

    /// Whether there is a number of workers to choose.
    pub fn has_workers(&self) -> bool {
        self.description.has_workers
    }

    /// Profiles a kernel under it.
    pub fn profile(
        &self,
        workers: usize,
        cost: Duration,
        kernel: &mut CheckedKernel,
    ) -> Result<Profile, String> {
        let profile = self.can_profile()?;
        profile(workers, &self.options, cost, kernel)
            .map_err(|error| format!("{self} with {workers} workers: {error}"))
    }

    /// Whether kernels can be profiled under it.
    pub fn can_profile(&self) -> Result<ProfileKernel, String> {
        match self.description.profile {
            Some(profile) if !self.options.free => Ok(profile),
            _ => Err(format!(
                "no profile under {:?}; there are: return-barrier, direct-stack, channel, chase-lev, with options \
                 but api=free",
                self.text
            )),
        }
    }

    /// Whether it can run this.
    pub fn check(&self, job: &Job) -> Result<(), String> {
        match self.is_java() {
            true => ForkJoin::check(job),
            false => Ok(()),
        }
    }

    /// Whether it runs in a Java virtual machine.
    pub fn is_java(&self) -> bool {
        matches!(self.description.start, Start::Java)
    }

    /// Starts its threads, which must be of this process.
    pub fn start(&self, workers: usize) -> Started {
        let Start::Threads(start) = self.description.start else {
            return Err(format!("{self} has no threads in this process"));
        };
        start(workers, &self.options)
            .map_err(|error| format!("{self} with {workers} workers: {error}"))
    }
}
