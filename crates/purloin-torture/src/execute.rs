//! Runs one case in this process.

use std::sync::Arc;
use std::time::Duration;

use purloin::{Pool, ReturnBarrier};
#[cfg(feature = "schedulers")]
use purloin_schedulers::{
    Channel, ChaseLev, DefaultWs, DirectStack, OneField, ReturnBarrierWs, Stealing, TwoFields,
};

use crate::calls::{AnyPool, Pools, Thread};
use crate::case::Case;
use crate::program::{Outside, PoolName, Program, Step};
use crate::setup::{Options, SchedulerName, Setup};
use crate::sync::thread;
use crate::tasks::{Call, Subject};
use crate::world::{World, catch};

/// The outcome of a run.
#[derive(Debug, Clone, PartialEq)]
pub enum Outcome {
    /// The system has refused the threads of a pool.
    NoRun,
    /// All promises were kept. A run on virtual cores has this number of events, and this fingerprint.
    Kept {
        events: u64,
        fingerprint: u64,
    },
    Failed(Failure),
}

/// Why a run has failed.
#[derive(Debug, Clone, PartialEq)]
pub struct Failure {
    /// In one line.
    pub what: String,
    /// Further lines.
    pub details: String,
}

impl Failure {
    /// Returns the failure without its numbers: two failures of the same kind have the same.
    pub fn kind(&self) -> String {
        let what = self.what.split(" (last panic").next().unwrap_or_default();
        what.chars().filter(|c| !c.is_ascii_digit()).collect()
    }
}

/// Reports a run on real threads that does not end. Only the end of the process ends such a run.
pub type OnHang = fn(&Case, &Failure);

/// Runs a case.
pub fn execute(case: &Case, on_hang: OnHang) -> Outcome {
    let (setup, program) = case.program();
    // The program and its records live until the end of this function, and for ever if the run fails: its threads are
    // suspended in the middle of them.
    let world = Box::into_raw(Box::new(World::new(program.tasks)));
    let program = Box::into_raw(Box::new(program));
    let pools = Box::into_raw(Box::<Pools>::default());
    // SAFETY: the boxes live until the run has ended.
    let run = unsafe {
        Run {
            setup,
            program: &*program,
            world: &*world,
            pools: &*pools,
        }
    };
    let outcome = run.on_machine(case, on_hang);
    if !matches!(outcome, Outcome::Failed(_)) {
        // SAFETY: all threads of the run have ended, so nothing refers to the boxes.
        unsafe {
            drop(Box::from_raw(program));
            drop(Box::from_raw(world));
            drop(Box::from_raw(pools));
        }
    }
    outcome
}

/// One run.
#[derive(Clone, Copy)]
struct Run {
    setup: Setup,
    program: &'static Program,
    world: &'static World,
    pools: &'static Pools,
}

impl Run {
    #[cfg(purloin_virtual)]
    fn on_machine(self, case: &Case, _: OnHang) -> Outcome {
        use purloin_virtual as machine;

        let mut two_cores = machine::Machine::named("two-cores").expect("this machine is built in");
        two_cores.topology.cores = 8;
        two_cores.topology.socket = 8;
        two_cores.topology.cluster = 8;
        let mut weather = machine::Weather {
            max_events: 2_000_000,
            ..machine::Weather::of_seed(case.schedule)
        };
        if case.is_calm {
            weather.refused_threads = 0;
            weather.spurious_wakes = 0;
            weather.clock_jumps = 0;
        }
        if cfg!(purloin_untimed) {
            // A thief that falls asleep relies on `membarrier`, and no timer starts a thread again that was refused.
            weather.refuses_membarrier = false;
            weather.refused_threads = 0;
        }
        let run = machine::Run::new(&two_cores)
            .seed(case.schedule)
            .weather(weather);
        let report = run.run(|| self.main());
        // The first broken promise explains a hang after it.
        if let Some(what) = self.world.broken() {
            return Outcome::Failed(Failure {
                what,
                details: String::new(),
            });
        }
        let failed = |what: &str, threads: &[machine::Waiting]| {
            let lines = threads.iter();
            let lines =
                lines.map(|thread| format!("  {} waits for {}\n", thread.thread, thread.waits_for));
            Outcome::Failed(Failure {
                what: what.to_string(),
                details: lines.chain([self.pools.states()]).collect(),
            })
        };
        match report {
            Ok(report) if !report.answer => Outcome::NoRun,
            Ok(report) => Outcome::Kept {
                events: report.tally.events,
                fingerprint: report.tally.fingerprint,
            },
            Err(machine::Failure::Hang(threads)) => failed("the program hangs", &threads),
            Err(machine::Failure::OutOfTime { threads, .. }) => {
                failed("the program does not end", &threads)
            }
        }
    }

    #[cfg(not(purloin_virtual))]
    fn on_machine(self, case: &Case, on_hang: OnHang) -> Outcome {
        use std::sync::mpsc::{RecvTimeoutError, channel};

        let (end, ended) = channel::<()>();
        let (case, pools) = (case.clone(), self.pools);
        let watcher = std::thread::spawn(move || {
            if ended.recv_timeout(Duration::from_secs(20)) == Err(RecvTimeoutError::Timeout) {
                let failure = Failure {
                    what: "the program does not end".to_string(),
                    details: pools.states(),
                };
                on_hang(&case, &failure);
                std::process::exit(1);
            }
        });
        let is_run = self.main();
        drop(end);
        let _ = watcher.join();
        match self.world.broken() {
            Some(what) => Outcome::Failed(Failure {
                what,
                details: String::new(),
            }),
            None if !is_run => Outcome::NoRun,
            None => Outcome::Kept {
                events: 0,
                fingerprint: 0,
            },
        }
    }

    /// Runs the program on the main thread. Returns false if the system refuses the threads of a pool.
    fn main(self) -> bool {
        let Run {
            setup,
            program,
            world,
            pools,
        } = self;
        let Some(main) = attempts(|| build_main(&setup)) else {
            return false;
        };
        pools.set(PoolName::Main, main);
        if program.uses_other_pool() {
            let Some(other) = attempts(|| build(&setup.other, ReturnBarrier::default())) else {
                pools.drop(PoolName::Main);
                return false;
            };
            pools.set(PoolName::Other, other);
        }
        let call = Call {
            world,
            pools,
            tree: Arc::default(),
            pool: PoolName::Main,
            _job: None,
        };
        let mut threads = Vec::new();
        for (number, steps) in program.threads.iter().enumerate().skip(1) {
            let call = call.clone();
            let builder = thread::Builder::new().name(format!("caller-{number}"));
            let thread = builder.spawn(move || catch(|| Thread::new(call).run(steps)));
            threads.extend(thread);
        }
        let result = catch(|| Thread::new(call.clone()).run(&program.threads[0]));
        let results = threads.into_iter().map(|thread| match thread.join() {
            Ok(result) => result,
            Err(_) => Ok(()),
        });
        for result in results.chain([result]).collect::<Vec<_>>() {
            if let Err(payload) = result {
                world.expect(false, || {
                    format!("a thread outside ends with the panic {payload:?}")
                });
            }
        }
        // Jobs of the other pool may call the first one.
        while pools.has(PoolName::Other) && pools.jobs() > 0 {
            for pool in [PoolName::Main, PoolName::Other] {
                let _ = catch(|| pools.get(pool).wait());
            }
            thread::sleep(Duration::from_micros(100));
        }
        for pool in [PoolName::Main, PoolName::Other] {
            let dropped = catch(|| pools.drop(pool));
            world.expect(dropped.is_ok(), || {
                format!("dropping a pool panics: {dropped:?}")
            });
        }
        let jobs = pools.jobs();
        world.expect(jobs == 0, || {
            format!("{jobs} jobs are left when their pool has ended")
        });
        program.for_each_job(&mut |job| {
            if world.is_made(job) {
                world.expect_ended(job, "when its pool has ended");
            }
        });
        world.expect_all_dropped();
        true
    }
}

/// Calls `f` until it returns something, a few times.
fn attempts<T>(f: impl Fn() -> Option<T>) -> Option<T> {
    (0..10).find_map(|_| f())
}

impl Program {
    fn uses_other_pool(&self) -> bool {
        let mut uses = false;
        for item in self.threads.iter().flatten() {
            use Outside::*;
            uses |= match &item.step {
                Call(pool, _) | Finish(pool, _) | Wait(pool) | Broadcast(pool) | Look(pool) => {
                    *pool == PoolName::Other
                }
                Job { pool, .. } | Async { pool, .. } | Future { pool, .. } => {
                    *pool == PoolName::Other
                }
                Pause => false,
            };
            self.for_each_step(&mut |step| {
                if let Step::Call { pool, .. } | Step::Job { pool, .. } | Step::Async { pool, .. } =
                    step
                {
                    uses |= *pool == PoolName::Other;
                }
            });
        }
        uses
    }

    fn for_each_step<'p>(&'p self, f: &mut impl FnMut(&'p Step)) {
        for item in self.threads.iter().flatten() {
            for task in item.step.tasks() {
                task.for_each(&mut |task| task.steps.iter().for_each(|item| f(&item.step)));
            }
        }
    }

    /// Calls `f` with the number of each task that is a job.
    fn for_each_job(&self, f: &mut impl FnMut(usize)) {
        for item in self.threads.iter().flatten() {
            if let Outside::Job { task, .. } = &item.step {
                f(task.id);
            }
        }
        self.for_each_step(&mut |step| {
            if let Step::Job { task, .. } | Step::Blocking(task) = step {
                f(task.id);
            }
        });
    }
}

fn build<S: Subject>(options: &Options, scheduler: S) -> Option<Box<dyn AnyPool>>
where
    Pool<S>: AnyPool,
{
    let mut builder = options.apply(Pool::builder().scheduler(scheduler));
    if options.handles_panics {
        builder = builder.panic_handler(|_| ());
    }
    let pool = builder.build().ok()?;
    Some(Box::new(pool))
}

fn build_main(setup: &Setup) -> Option<Box<dyn AnyPool>> {
    use SchedulerName as Name;
    let options = &setup.main;
    #[cfg(feature = "schedulers")]
    let channel = |stealing| Channel::default().steal(stealing);
    match setup.scheduler {
        Name::ReturnBarrier => build(options, ReturnBarrier::default()),
        Name::ReturnBarrierWithoutForce => {
            build(options, ReturnBarrier::default().forced_steals(false))
        }
        #[cfg(feature = "schedulers")]
        Name::ReturnBarrierWs => build(options, ReturnBarrierWs),
        #[cfg(feature = "schedulers")]
        Name::DefaultWs => build(options, DefaultWs),
        #[cfg(feature = "schedulers")]
        Name::DirectStack => build(options, DirectStack::<OneField>::new()),
        #[cfg(feature = "schedulers")]
        Name::DirectStackTwoFields => build(options, DirectStack::<TwoFields>::new()),
        #[cfg(feature = "schedulers")]
        Name::ChaseLev => build(options, ChaseLev::default()),
        #[cfg(feature = "schedulers")]
        Name::ChannelOne => build(options, channel(Stealing::One)),
        #[cfg(feature = "schedulers")]
        Name::ChannelHalf => build(options, channel(Stealing::Half)),
        #[cfg(feature = "schedulers")]
        Name::ChannelAdaptive => build(options, channel(Stealing::Adaptive)),
        #[cfg(feature = "schedulers")]
        Name::ChannelWithoutForwarding => build(options, channel(Stealing::Half).forward(false)),
    }
}
