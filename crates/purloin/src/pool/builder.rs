//! Options of a pool.

use std::num::NonZero;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};
use std::thread;
use std::time::Duration;

use super::inbox::Inbox;
use super::threads::{self, Threads};
use super::{BuildError, Pool, Quiescence, Shared, WorkerThread};
use crate::loops::Splitting;
use crate::runtime::{Local, ReturnBarrier};
use crate::scheduler::Scheduler;
use crate::sleep::Sleep;
use crate::victim::{Random, Selection, VictimSelection};

/// The default number of spare workers in a pool with fewer workers. A spare worker without a
/// thread costs address space only.
const DEFAULT_SPARES: usize = 32;

/// The environment variable that sets the number of workers where the program
/// does not.
const WORKERS_VARIABLE: &str = "PURLOIN_WORKERS";

/// Options for a [`Pool`], from [`Pool::builder`].
///
/// ```
/// use purloin::Pool;
///
/// let pool = Pool::builder()
///     .workers(2)
///     .stack_size(64 << 20)
///     .thread_name(|worker| format!("solver-{worker}"))
///     .build()?;
/// assert_eq!(pool.workers(), 2);
/// # Ok::<(), purloin::BuildError>(())
/// ```
pub struct Builder<S: Scheduler = ReturnBarrier> {
    workers: Option<usize>,
    spare_workers: Option<usize>,
    stack_size: usize,
    thread_name: Box<dyn Fn(usize) -> String>,
    pinned: bool,
    victims: Box<dyn Selection>,
    steal_delay: Duration,
    splitting: Splitting,
    timed: bool,
    scheduler: S,
}

impl<S: Scheduler> std::fmt::Debug for Builder<S> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Builder")
            .field("workers", &self.workers)
            .field("spare_workers", &self.spare_workers)
            .field("stack_size", &self.stack_size)
            .field("pinned", &self.pinned)
            .field("steal_delay", &self.steal_delay)
            .field("splitting", &self.splitting)
            .field("timed", &self.timed)
            .finish_non_exhaustive()
    }
}

impl Default for Builder {
    fn default() -> Self {
        Builder {
            workers: None,
            spare_workers: None,
            stack_size: 16 << 20,
            thread_name: Box::new(|worker| format!("purloin-{worker}")),
            pinned: false,
            victims: Box::new(Random),
            steal_delay: Duration::ZERO,
            splitting: Splitting::default(),
            timed: false,
            scheduler: ReturnBarrier::default(),
        }
    }
}

impl Builder {
    /// The most workers that a pool may have.
    pub const MAX_WORKERS: usize = 4096;
    /// The smallest stack of a worker, in bytes.
    pub const MIN_STACK_SIZE: usize = 64 << 10;
    /// The largest stack of a worker, in bytes.
    pub const MAX_STACK_SIZE: usize = (1_u64 << 40) as usize;
}

impl<S: Scheduler> Builder<S> {
    /// The number of workers; at first one for each available core, or what
    /// the environment variable `PURLOIN_WORKERS` says.
    pub fn workers(mut self, workers: usize) -> Self {
        self.workers = Some(workers);
        self
    }

    /// How many spare workers there may be; at first as many as workers.
    ///
    /// A worker that waits for a stolen task, and has nothing to run that belongs to
    /// it, lends its processor to a spare worker, which may run anything: as many
    /// run as there are workers, as long as there is something to do. Only when it
    /// goes on, one more does, until the next of them has nothing to do. A spare worker's
    /// thread is started when it is first needed. With 0 the processor is idle
    /// instead, and a program whose workers all wait for a thread that calls this pool
    /// hangs. Under [`Channel`](crate::Channel) there are none.
    ///
    /// ```
    /// use purloin::Pool;
    ///
    /// let pool = Pool::builder().workers(2).spare_workers(0).build()?;
    /// # Ok::<(), purloin::BuildError>(())
    /// ```
    pub fn spare_workers(mut self, spares: usize) -> Self {
        self.spare_workers = Some(spares);
        self
    }

    /// The stack of each worker's thread, in bytes; at first 16 MiB. How deep
    /// joins may nest depends on it, as for any recursion: a join takes some
    /// tens of bytes beside the program's own variables, but close to a
    /// thousand in a build without optimisation. It is address space that is
    /// reserved, with eight times as much for the tasks; memory is used as it
    /// is touched.
    pub fn stack_size(mut self, bytes: usize) -> Self {
        self.stack_size = bytes;
        self
    }

    /// The names of the threads, by worker; at first `purloin-0` and so on. That of a
    /// spare worker is one of them with `-spare` at the end.
    pub fn thread_name(mut self, name: impl Fn(usize) -> String + 'static) -> Self {
        self.thread_name = Box::new(name);
        self
    }

    /// Whether worker *i* is bound to the *i*-th processor that the process
    /// may use (and around again if there are more workers). Only on Linux; the default is
    /// not to, and then Purloin touches no affinity. Spare workers run where there is room.
    ///
    /// It helps programs that compute for a few milliseconds now and then on a machine that
    /// is theirs alone: the system may queue a woken worker behind its waker, for
    /// milliseconds, although another processor is idle.
    pub fn pinned(mut self, pinned: bool) -> Self {
        self.pinned = pinned;
        self
    }

    /// How thieves choose their victims; at first [`Random`].
    ///
    /// ```
    /// use purloin::{Pool, Sampling};
    ///
    /// let pool = Pool::builder().victims(<Sampling>::default()).build()?;
    /// # Ok::<(), purloin::BuildError>(())
    /// ```
    pub fn victims(mut self, victims: impl VictimSelection) -> Self {
        self.victims = Box::new(victims);
        self
    }

    /// How long a thief waits, busily, between taking a task and running it;
    /// at first not at all. For experiments on what dearer steals would do.
    ///
    /// Source: Wool, section 5.4.
    pub fn steal_delay(mut self, delay: Duration) -> Self {
        self.steal_delay = delay;
        self
    }

    /// Whether the workers note where their time goes, for
    /// [`Pool::times`]; at first not. It costs some ten nanoseconds at each
    /// steal and at each wait, and nothing at a join.
    pub fn timed(mut self, timed: bool) -> Self {
        self.timed = timed;
        self
    }

    /// How much of a loop a thief gets; at first
    /// [`LazyAdaptive`](Splitting::LazyAdaptive).
    pub fn splitting(mut self, splitting: Splitting) -> Self {
        self.splitting = splitting;
        self
    }

    /// The scheduler, with its options.
    ///
    /// ```
    /// use purloin::{Pool, ReturnBarrier};
    ///
    /// let scheduler = ReturnBarrier::default().forced_steals(false);
    /// let pool = Pool::builder().scheduler(scheduler).build()?;
    /// # Ok::<(), purloin::BuildError>(())
    /// ```
    pub fn scheduler<T: Scheduler>(self, scheduler: T) -> Builder<T> {
        Builder {
            workers: self.workers,
            spare_workers: self.spare_workers,
            stack_size: self.stack_size,
            thread_name: self.thread_name,
            pinned: self.pinned,
            victims: self.victims,
            steal_delay: self.steal_delay,
            splitting: self.splitting,
            timed: self.timed,
            scheduler,
        }
    }

    /// Starts the workers.
    ///
    /// # Errors
    ///
    /// If an option is out of range, `PURLOIN_WORKERS` was needed and is not a
    /// number, or a worker cannot be started. Those that were are ended again.
    pub fn build(self) -> Result<Pool<S>, BuildError> {
        let workers = match self.workers {
            Some(workers) => in_range(workers).ok_or(BuildError::Workers(workers))?,
            None => workers_by_environment()?.unwrap_or_else(available_cores),
        };
        let stack_size = self.stack_size;
        if !(Builder::MIN_STACK_SIZE..=Builder::MAX_STACK_SIZE).contains(&stack_size) {
            return Err(BuildError::StackSize(stack_size));
        }
        self.victims.check()?;
        let spares = match self.spare_workers {
            _ if !S::HANDS_OFF => 0,
            Some(spares @ 0..=Builder::MAX_WORKERS) => spares,
            Some(spares) => return Err(BuildError::SpareWorkers(spares)),
            None => workers.max(DEFAULT_SPARES),
        };
        match self.start(workers, spares) {
            // Spare workers may take the address space that threads need.
            Err(BuildError::Start { .. }) if spares > 0 => self.start(workers, 0),
            pool => pool,
        }
    }

    /// A pool with so many workers, and as many spare ones as there is room for.
    fn start(&self, workers: usize, spares: usize) -> Result<Pool<S>, BuildError> {
        let stack_size = self.stack_size;
        let tasks = |_| Local::new(&self.scheduler, stack_size, workers);
        let mut all_tasks = Vec::new();
        for worker in 0..workers {
            all_tasks.push(tasks(worker).map_err(|source| BuildError::TaskStack {
                worker,
                stack_size,
                source,
            })?);
        }
        // Where the memory is short there are fewer of these.
        all_tasks.extend((0..spares).map_while(|spare| tasks(spare).ok()));
        let mut names: Vec<String> = (0..workers).map(&self.thread_name).collect();
        if let Some(worker) = names.iter().position(|name| name.contains('\0')) {
            return Err(BuildError::ThreadName { worker });
        }
        for worker in workers..all_tasks.len() {
            names.push(format!("{}-spare", names[worker % workers]));
        }
        let shared = Arc::new_cyclic(|shared: &Weak<Shared<S>>| Shared {
            // Relaxed: only that it is another each time.
            id: super::NEXT_POOL.fetch_add(1, Ordering::Relaxed),
            process: std::process::id(),
            sleep: Sleep::new(workers, all_tasks.len() - workers, {
                let shared = Weak::clone(shared);
                Box::new(move |worker| match shared.upgrade() {
                    Some(shared) => Threads::start(shared, worker),
                    // Nobody is left to wait for it.
                    None => Ok(()),
                })
            }),
            worker_threads: all_tasks
                .into_iter()
                .enumerate()
                .map(|(index, tasks)| {
                    let walk = self.victims.walk(index, workers);
                    WorkerThread::new(index, shared.as_ptr(), tasks, walk, self.timed)
                })
                .collect(),
            workers,
            threads: Threads {
                names: names.into(),
                stack_size,
                processors: match self.pinned {
                    true => threads::processors(),
                    false => Box::default(),
                },
                handles: Default::default(),
            },
            inbox: Inbox::new(),
            quiescence: Quiescence::new(),
            stopping: AtomicBool::new(false),
            steal_delay: self.steal_delay,
            splitting: self.splitting,
        });
        shared.enlist();
        // Dropping it ends the workers that it has.
        let pool = Pool { shared };
        for worker in 0..workers {
            let shared = Arc::clone(&pool.shared);
            Threads::start(shared, worker).map_err(|source| BuildError::Start {
                worker,
                stack_size,
                source,
            })?;
        }
        Ok(pool)
    }
}

fn in_range(workers: usize) -> Option<usize> {
    (1..=Builder::MAX_WORKERS)
        .contains(&workers)
        .then_some(workers)
}

fn workers_by_environment() -> Result<Option<usize>, BuildError> {
    let Some(value) = std::env::var_os(WORKERS_VARIABLE) else {
        return Ok(None);
    };
    if value.is_empty() {
        return Ok(None);
    }
    let value = value.to_string_lossy();
    match value.trim().parse().ok().and_then(in_range) {
        Some(workers) => Ok(Some(workers)),
        None => Err(BuildError::Environment(value.into_owned())),
    }
}

/// The number of cores that this process may use.
pub(super) fn available_cores() -> usize {
    let cores = thread::available_parallelism().map_or(1, NonZero::get);
    cores.min(Builder::MAX_WORKERS)
}
