//! Purloin's own schedulers, and the serial elision.

use std::time::Duration;

use purloin::{
    BuildError, Builder, Pool, ReturnBarrier, Sampling, Scheduler, Serial, Sets, Stats, Times,
};
use purloin_analysis::{Profile, Profiler};
use purloin_kernels::{Answer, Instance};
use purloin_schedulers::{
    Channel, ChaseLev, DefaultWs, DirectStack, Fields, OneField, ReturnBarrierWs, TwoFields,
};

use super::options::{self, Options, Victims};
use super::token_free::TokenFree;
use super::{Description, Kernels, Runner, STACK_SIZE, Start};
use crate::checked_kernel::CheckedKernel;

pub const RETURN_BARRIER: Description = Description {
    name: "return-barrier",
    about: "Purloin's default: private tasks, made public when a thief asks, stolen for free",
    is_peer: false,
    has_workers: true,
    kernels: Kernels::All,
    start: Start::Threads(|workers, options| {
        match (options.barrier, options.token_free) {
        (true, false) => Ok(Box::new(pool(workers, options, return_barrier(options))?)),
        (true, true) => {
            let pool = pool(workers, options, return_barrier(options))?;
            Ok(Box::new(TokenFree(pool)))
        }
        (false, false) => Ok(Box::new(pool(workers, options, DefaultWs)?)),
        (false, true) => Err(
            "barrier=off is another scheduler, default-ws, whose workers need tokens; use api=token"
                .to_owned(),
        ),
    }
    }),
    profile: Some(|workers, options, cost, kernel| match options.barrier {
        true => {
            let pool = builder(workers, options, return_barrier(options));
            profile(pool, cost, kernel)
        }
        false => profile(builder(workers, options, DefaultWs), cost, kernel),
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
};

pub const DEFAULT_WS: Description = Description {
    name: "default-ws",
    about: "Kumar's baseline: private tasks; each steal interrupts its victim, which offers one task",
    is_peer: false,
    has_workers: true,
    kernels: Kernels::All,
    start: Start::Threads(|workers, options| Ok(Box::new(pool(workers, options, DefaultWs)?))),
    profile: Some(|workers, options, cost, kernel| {
        profile(builder(workers, options, DefaultWs), cost, kernel)
    }),
    options: &[
        &[&options::SPARES],
        options::VICTIM_SELECTION,
        options::EVERY_POOL,
    ],
};

pub const RETURN_BARRIER_WS: Description = Description {
    name: "return-barrier-ws",
    about: "Kumar's system: after an answer more tasks lie below a barrier, stolen for free; no force",
    is_peer: false,
    has_workers: true,
    kernels: Kernels::All,
    start: Start::Threads(|workers, options| {
        Ok(Box::new(pool(workers, options, ReturnBarrierWs)?))
    }),
    profile: Some(|workers, options, cost, kernel| {
        profile(builder(workers, options, ReturnBarrierWs), cost, kernel)
    }),
    options: &[
        &[&options::SPARES],
        options::VICTIM_SELECTION,
        options::EVERY_POOL,
    ],
};

pub const DIRECT_STACK: Description = Description {
    name: "direct-stack",
    about: "Wool's scheduler: all tasks public, taken by one atomic operation",
    is_peer: false,
    has_workers: true,
    kernels: Kernels::All,
    start: Start::Threads(|workers, options| {
        Ok(match options.two_fields {
            false => Box::new(pool(workers, options, direct_stack::<OneField>(options))?),
            true => Box::new(pool(workers, options, direct_stack::<TwoFields>(options))?),
        })
    }),
    profile: Some(|workers, options, cost, kernel| match options.two_fields {
        false => {
            let scheduler = direct_stack::<OneField>(options);
            profile(builder(workers, options, scheduler), cost, kernel)
        }
        true => {
            let scheduler = direct_stack::<TwoFields>(options);
            profile(builder(workers, options, scheduler), cost, kernel)
        }
    }),
    options: &[
        &[&options::FIELDS, &options::STEAL_DELAY, &options::SPARES],
        options::VICTIM_SELECTION,
        options::EVERY_POOL,
    ],
};

pub const CHANNEL: Description = Description {
    name: "channel",
    about: "Prell's scheduler: private tasks; steal requests travel as messages from worker to \
            worker",
    is_peer: false,
    has_workers: true,
    kernels: Kernels::All,
    start: Start::Threads(|workers, options| {
        Ok(Box::new(pool(workers, options, channel(options))?))
    }),
    profile: Some(|workers, options, cost, kernel| {
        profile(builder(workers, options, channel(options)), cost, kernel)
    }),
    options: &[&[&options::STEAL, &options::FORWARD], options::EVERY_POOL],
};

pub const CHASE_LEV: Description = Description {
    name: "chase-lev",
    about: "the classic: a concurrent deque for each worker, from crossbeam-deque",
    is_peer: false,
    has_workers: true,
    kernels: Kernels::All,
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
};

pub const SERIAL: Description = Description {
    name: "serial",
    about: "the serial elision: the same source without any parallelism",
    is_peer: false,
    has_workers: false,
    kernels: Kernels::All,
    start: Start::Threads(|_, options| {
        let pool = pool(1, options, ReturnBarrier::default())?;
        Ok(Box::new(Elision(pool)))
    }),
    profile: None,
    options: &[],
};

fn return_barrier(options: &Options) -> ReturnBarrier {
    ReturnBarrier::default().forced_steals(options.forced)
}

fn direct_stack<F: Fields>(options: &Options) -> DirectStack<F> {
    DirectStack::new().steal_delay(options.steal_delay)
}

fn channel(options: &Options) -> Channel {
    Channel::default()
        .steal(options.stealing)
        .forward(options.forwards)
}

fn pool<S: Scheduler>(workers: usize, options: &Options, scheduler: S) -> Result<Pool<S>, String> {
    let pool = builder(workers, options, scheduler).build();
    pool.map_err(|error| match error {
        BuildError::TaskStack { worker, source, .. } | BuildError::Start { worker, source, .. } => {
            format!(
                "no memory or address space for the stacks of worker {worker}: {source}; use fewer \
                 workers, or raise the limit that `ulimit -v` shows"
            )
        }
        error => error.to_string(),
    })
}

fn builder<S: Scheduler>(workers: usize, options: &Options, scheduler: S) -> Builder<S> {
    let builder = Pool::builder()
        .workers(workers)
        .stack_size(STACK_SIZE)
        .splitting(options.splitting)
        .timed(options.timed)
        .traced(options.traced)
        .scheduler(scheduler);
    let builder = match options.spares {
        Some(spares) => builder.spare_workers(spares),
        None => builder,
    };
    with_victims(builder, options)
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
    match options.victims {
        Victims::Random => builder,
        Victims::Sampling => builder.victims(sampling),
        Victims::Sets => builder.victims(sets),
        Victims::SampledSets => builder.victims(sampled_sets),
    }
}

fn profile<S: Scheduler>(
    pool: Builder<S>,
    cost: Duration,
    kernel: &mut CheckedKernel,
) -> Result<Profile, String> {
    let profile = Profiler::new(pool).stealing_cost(cost).profile(kernel);
    profile.map_err(|error| error.to_string())
}

impl<S: Scheduler> Runner for Pool<S> {
    fn run(&self, instance: &mut Instance) -> Answer {
        Pool::run(self, |worker| instance.run(worker))
    }

    fn stats(&self) -> Option<Stats> {
        Some(Pool::stats(self))
    }

    fn times(&self) -> Option<Times> {
        let mut total = Times::default();
        self.times().into_iter().for_each(|times| total += times);
        Some(total)
    }
}

/// The serial elision. It runs on a worker of a pool, because a worker has a large stack.
struct Elision(Pool);

impl Runner for Elision {
    fn run(&self, instance: &mut Instance) -> Answer {
        self.0.run(|_| instance.run(Serial))
    }
}
