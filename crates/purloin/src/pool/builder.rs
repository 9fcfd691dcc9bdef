//! Options of a pool.

use std::any::Any;
use std::borrow::Cow;
use std::io;
use std::num::NonZero;
use std::sync::Arc;

use super::Pool;
use super::options::{Handlers, Options};
use super::stack_sizes::{self, Stacks};
use super::threads::WorkerStart;
use crate::error::{self, BuildError};
use crate::loops::Splitting;
use crate::runtime::ReturnBarrier;
use crate::scheduler::Scheduler;
use crate::sync::thread;
use crate::tracing::environment::EVENTS;
use crate::tunables;
use crate::victim::{Random, VictimSelection};

/// The environment variable that sets the number of workers if the program does not.
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
    stack_size: Option<usize>,
    pub(super) pinned: bool,
    pub(super) options: Options,
    pub(super) thread_name: Box<dyn Fn(usize) -> String>,
    pub(super) scheduler: Arc<S>,
}

impl<S: Scheduler> std::fmt::Debug for Builder<S> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Builder")
            .field("workers", &self.workers)
            .field("spare_workers", &self.spare_workers)
            .field("stack_size", &self.stack_size)
            .field("pinned", &self.pinned)
            .field("splitting", &self.options.splitting)
            .field("timed", &self.options.timed)
            .finish_non_exhaustive()
    }
}

impl Default for Builder {
    fn default() -> Self {
        Builder {
            workers: None,
            spare_workers: None,
            stack_size: None,
            pinned: false,
            options: Options {
                victims: Arc::new(Random),
                splitting: Splitting::default(),
                timed: false,
                traced: 0,
                handlers: Handlers::default(),
                ends_alone: false,
                runs_anything: false,
                rescues_calls: true,
            },
            thread_name: Box::new(|worker| format!("purloin-{worker}")),
            scheduler: Arc::default(),
        }
    }
}

impl Builder {
    /// Maximum number of workers of a pool.
    pub const MAX_WORKERS: usize = error::MAX_WORKERS;
    /// Minimum size of a worker's stack, in bytes: 64 KiB.
    pub const MIN_STACK_SIZE: usize = error::MIN_STACK_SIZE;
    /// Maximum size of a worker's stack, in bytes: 1 TiB.
    pub const MAX_STACK_SIZE: usize = error::MAX_STACK_SIZE;
}

impl<S: Scheduler> Builder<S> {
    /// Sets the number of workers. The default is the value of the environment variable
    /// `PURLOIN_WORKERS`, or else one worker for each available core.
    pub fn workers(mut self, workers: usize) -> Self {
        self.workers = Some(workers);
        self
    }

    /// Sets the maximum number of spare workers. The default is the number of workers, but at least
    /// 128.
    ///
    /// A worker hands its processor to a spare worker, which may run any task, in two cases:
    ///
    /// - It is blocked in a join, a finish or a future, and finds no descendant of the awaited task
    ///   to run.
    /// - It waits for another pool.
    ///
    /// So as long as there is work, the pool keeps as many workers running as it was built with.
    /// When the blocked worker resumes, the pool runs one more worker, until any worker goes idle. A spare
    /// worker also runs calls from outside if the pool begins none of them for 20 to 40 milliseconds
    /// (see [`Self::rescue_calls`]).
    ///
    /// When all spare workers are taken, the processor of a blocked worker stays idle, and a worker
    /// that waits for another pool serves only calls that descend from the awaited call. A pool
    /// with 0 spare workers is always in this state. It hangs if all of its workers wait, in a lock
    /// for example, for a thread that calls this pool.
    ///
    /// The thread of a spare worker starts when it is first needed; until then the worker costs next
    /// to nothing. If the thread cannot be started, because of a limit of the process for example, the
    /// pool tries again every 20 milliseconds while tasks wait for it. The scheduler `Channel` of the crate
    /// `purloin-schedulers` has no spare workers.
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

    /// Sets whether a blocked worker runs any task or job of the pool if no [spare
    /// worker](Self::spare_workers) is left to do so for 20 milliseconds. The default is false: it then
    /// runs only descendants of the task that it waits for. With 0 spare workers and true, blocked
    /// workers wait as those of most other libraries do.
    ///
    /// A program needs this if its tasks wait for each other in a way that the pool does not see, in a
    /// channel for example, and spare workers are few. In return, a task must not hold a lock across a
    /// join if other tasks lock it, a short task may end late, and the stack grows by tasks that have
    /// nothing to do with each other.
    ///
    /// No worker runs unrelated tasks while any worker runs a future, because they might wait for each
    /// other. The closure of [`Pool::run_async`] does not count as a future: a task that waits for it,
    /// in [`blocking`](crate::blocking) for example, must not hold a lock meanwhile that other tasks
    /// need. The scheduler `Channel` of the crate `purloin-schedulers` ignores this option.
    ///
    /// ```
    /// use std::sync::mpsc::channel;
    /// use purloin::{Pool, Worker};
    ///
    /// let pool = Pool::builder().workers(2).spare_workers(0).run_anything_while_blocked(true).build()?;
    /// let (send, receive) = channel();
    /// pool.run(|mut w| {
    ///     w.pool().spawn(move |_| send.send(7).unwrap());
    ///     // One worker may wait in the channel, and the other one for it. Then that runs the job.
    ///     w.join(|_| (), move |_| assert_eq!(receive.recv(), Ok(7)));
    /// });
    /// # Ok::<(), purloin::BuildError>(())
    /// ```
    pub fn run_anything_while_blocked(mut self, runs_anything: bool) -> Self {
        self.options.runs_anything = runs_anything;
        self
    }

    /// Sets whether a [spare worker](Self::spare_workers) runs a call or a job from outside if some wait
    /// and the pool begins none for 20 milliseconds. The default is true, so that jobs may wait for each
    /// other, and that a caller that holds a lock does not wait for ever if all workers wait for this
    /// lock.
    ///
    /// The pool cannot tell whether its workers wait or compute. So while callers wait behind long tasks,
    /// more tasks run than the pool has workers. With false, a call begins only when a worker is idle or
    /// blocked in a join, a finish, a future, another pool or [`blocking`](crate::blocking). When a
    /// blocked worker resumes, one extra task runs until any worker goes idle.
    ///
    /// ```
    /// use purloin::Pool;
    ///
    /// // Calls that do not block run one at a time, however long they take.
    /// let pool = Pool::builder().workers(1).rescue_calls(false).build()?;
    /// # Ok::<(), purloin::BuildError>(())
    /// ```
    pub fn rescue_calls(mut self, rescues_calls: bool) -> Self {
        self.options.rescues_calls = rescues_calls;
        self
    }

    /// Sets the size of the stack of each worker's thread, in bytes. The default is 8 MiB. It is less if
    /// the process has little left of a limit on its address space (`ulimit -v`), on its data
    /// (`ulimit -d`) or on its locked memory: about 2 MiB, or 512 KiB if the system refuses that.
    ///
    /// The stack limits how deeply joins may nest, as for any recursion. A join takes some tens of
    /// bytes in addition to the program's own variables, but close to a thousand bytes in a build
    /// without optimisation.
    ///
    /// The size is reserved as address space, and four times as much for the worker's tasks. Pages
    /// take memory only once they are used.
    pub fn stack_size(mut self, bytes: usize) -> Self {
        self.stack_size = Some(bytes);
        self
    }

    /// Sets the names of the threads, by worker. The default is `purloin-0` and so on. A spare
    /// worker gets the name of a regular worker, followed by `-spare`. If the name is empty, the
    /// threads have none.
    pub fn thread_name(mut self, name: impl Fn(usize) -> String + 'static) -> Self {
        self.thread_name = Box::new(name);
        self
    }

    /// Sets a function that each thread of the pool calls when it begins, with the number of its
    /// worker: to set thread-local values, for example.
    ///
    /// The function may use the pool, as a job may. In a builder for
    /// [`configure_global`](crate::configure_global), it must not call [`global`](crate::global()): that
    /// would make another global pool, and `configure_global` would fail. A spare worker's thread begins
    /// when it is first needed, and has a number from [`Pool::workers`] on.
    ///
    /// ```
    /// use std::cell::Cell;
    /// use purloin::Pool;
    ///
    /// thread_local!(static SEED: Cell<usize> = const { Cell::new(0) });
    /// let pool = Pool::builder().start_handler(|worker| SEED.set(worker + 1)).build()?;
    /// assert!(pool.run(|_| SEED.get()) > 0);
    /// # Ok::<(), purloin::BuildError>(())
    /// ```
    ///
    /// # Panics
    ///
    /// A panic of the function reaches the program like that of a job: see
    /// [`Self::panic_handler`].
    pub fn start_handler(mut self, handler: impl Fn(usize) + Send + Sync + 'static) -> Self {
        self.options.handlers.start = Some(Arc::new(handler));
        self
    }

    /// Sets a function that each thread of the pool calls before it ends, with the number of its
    /// worker. See [`Self::start_handler`]. Other threads of the pool may have ended by then, or wait in
    /// this function; so it cannot [broadcast](Pool::broadcast), which panics.
    pub fn exit_handler(mut self, handler: impl Fn(usize) + Send + Sync + 'static) -> Self {
        self.options.handlers.exit = Some(Arc::new(handler));
        self
    }

    /// Sets a function that gets the panics of [jobs](Pool::spawn), of futures that belong to no scope and of the other
    /// two handlers. A worker may call it in the middle of another task, but it belongs to no scope of that task.
    /// Without it, the next [`Pool::wait`] panics with the first of them.
    ///
    /// ```
    /// use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
    /// use purloin::Pool;
    ///
    /// static FAILED: AtomicU32 = AtomicU32::new(0);
    /// let count = |_| {
    ///     FAILED.fetch_add(1, Relaxed);
    /// };
    /// let pool = Pool::builder().panic_handler(count).build()?;
    /// pool.spawn(|_| panic!("this job fails"));
    /// pool.wait();
    /// assert_eq!(FAILED.load(Relaxed), 1);
    /// # Ok::<(), purloin::BuildError>(())
    /// ```
    ///
    /// If the function itself panics, the process aborts.
    pub fn panic_handler(
        mut self,
        handler: impl Fn(Box<dyn Any + Send>) + Send + Sync + 'static,
    ) -> Self {
        self.options.handlers.panic = Some(Arc::new(handler));
        self
    }

    /// Sets whether the pool ends on its own when it is dropped: the thread that drops it does not
    /// wait, and the workers end as soon as they have run all jobs that are left. The default is
    /// false.
    pub fn ends_alone(mut self, ends_alone: bool) -> Self {
        self.options.ends_alone = ends_alone;
        self
    }

    /// Sets whether worker *i* is bound to the *i*-th processor that the process may use (starting
    /// over if there are more workers than processors). The default is false: Purloin does not
    /// touch the affinity of threads. Spare workers may run on any of these processors.
    ///
    /// Only Linux supports this. It helps programs that compute for a few milliseconds now and then
    /// and have the machine to themselves. Without it the system may queue a woken worker behind
    /// its waker, for milliseconds, although another processor is idle.
    pub fn pinned(mut self, pinned: bool) -> Self {
        self.pinned = pinned;
        self
    }

    /// Sets how thieves choose their victims. The default is [`Random`].
    ///
    /// ```
    /// use purloin::{Pool, Sampling};
    ///
    /// let pool = Pool::builder().victims(<Sampling>::default()).build()?;
    /// # Ok::<(), purloin::BuildError>(())
    /// ```
    pub fn victims(mut self, victims: impl VictimSelection) -> Self {
        self.options.victims = Arc::new(victims);
        self
    }

    /// Sets whether the workers record where their time goes, for [`Pool::times`]. The default is
    /// false. Recording costs some ten nanoseconds at each steal and at each wait, and nothing at a
    /// join.
    pub fn timed(mut self, timed: bool) -> Self {
        self.options.timed = timed;
        self
    }

    /// Lets the workers record what they do and when, for [`Pool::trace`], and keep the newest `events` events of each
    /// worker. An event takes 24 bytes. The default is 0: nothing is recorded, unless the environment variable
    /// `PURLOIN_TRACE` or `PURLOIN_REPORT` is set. Then each worker keeps 65,536 events, or as many as
    /// `PURLOIN_TRACE_EVENTS` says.
    ///
    /// Recording costs some ten nanoseconds at each steal, wait, sleep and [span](crate::span()), and nothing at a join. A
    /// traced pool is [timed](Self::timed).
    ///
    /// ```
    /// use purloin::{Pool, Worker};
    ///
    /// let pool = Pool::builder().workers(2).traced(1 << 16).build()?;
    /// pool.run(|mut w| w.join(|_| (), |_| ()));
    /// let trace = pool.trace().expect("the pool is traced");
    /// println!("{trace}");
    /// trace.write_report(&mut Vec::new())?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn traced(mut self, events: usize) -> Self {
        self.options.traced = events;
        self
    }

    /// Sets how many iterations of a loop a thief gets. The default is
    /// [`LazyAdaptive`](Splitting::LazyAdaptive).
    pub fn splitting(mut self, splitting: Splitting) -> Self {
        self.options.splitting = splitting;
        self
    }

    /// Sets the scheduler, with its options. The default is [`ReturnBarrier`].
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
            pinned: self.pinned,
            options: self.options,
            thread_name: self.thread_name,
            scheduler: Arc::new(scheduler),
        }
    }

    /// Starts the workers, and returns the pool.
    ///
    /// # Errors
    ///
    /// Returns an error if an option is out of range; if the program does not set the number of
    /// workers and `PURLOIN_WORKERS` is not a valid number; or if a worker cannot be started. In
    /// the last case, the workers started so far are ended again.
    pub fn build(self) -> Result<Pool<S>, BuildError> {
        let is_refused = |error: &BuildError| {
            matches!(
                error,
                BuildError::TaskStack { .. } | BuildError::Start { .. }
            )
        };
        self.try_stacks(WorkerStart::start, is_refused)
    }

    /// Starts the pool with the largest stacks that the system grants.
    fn try_stacks(
        &self,
        mut start: impl FnMut(WorkerStart<S>) -> io::Result<()>,
        is_refused: impl Fn(&BuildError) -> bool,
    ) -> Result<Pool<S>, BuildError> {
        let (workers, spares) = self.check()?;
        let stacks: Cow<'static, [Stacks]> = match self.stack_size {
            Some(size) => vec![stack_sizes::with_tasks(size)].into(),
            None => stack_sizes::default_stacks(stack_sizes::left(), workers).into(),
        };
        let mut result = None;
        for &stacks in &*stacks {
            let pool = self.start(workers, spares, stacks, &mut start);
            let goes_on = pool.as_ref().is_err_and(&is_refused);
            result = Some(pool);
            if !goes_on {
                break;
            }
        }
        result.expect("there are stacks to try")
    }

    /// Like [`build`](Self::build), but `start` makes the thread of each worker: one with other
    /// properties, or a scoped one. The pool has no spare workers, unless the program sets their
    /// [number](Self::spare_workers): their threads begin later, and the pool makes them.
    ///
    /// When the pool is dropped, it does not wait for these threads: their maker may.
    ///
    /// ```
    /// use purloin::Pool;
    ///
    /// std::thread::scope(|scope| {
    ///     let pool = Pool::builder().workers(2).build_with(|worker| {
    ///         scope.spawn(move || worker.run());
    ///         Ok(())
    ///     })?;
    ///     assert_eq!(pool.broadcast(|w| w.index()), [0, 1]);
    ///     Ok::<(), purloin::BuildError>(())
    /// })?;
    /// # Ok::<(), purloin::BuildError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Returns an error as `build` does, and if `start` returns one.
    pub fn build_with(
        mut self,
        start: impl FnMut(WorkerStart<S>) -> io::Result<()>,
    ) -> Result<Pool<S>, BuildError> {
        self.spare_workers.get_or_insert(0);
        // Not after an error of `start`, which may have made some of the threads.
        self.try_stacks(start, |error| matches!(error, BuildError::TaskStack { .. }))
    }

    /// Checks the options. Returns the number of workers and the maximum number of spare workers.
    fn check(&self) -> Result<(usize, usize), BuildError> {
        let workers = match self.workers {
            Some(workers) => in_range(workers).ok_or(BuildError::Workers(workers))?,
            None => workers_by_environment()?.unwrap_or_else(available_cores),
        };
        let sizes = Builder::MIN_STACK_SIZE..=Builder::MAX_STACK_SIZE;
        if let Some(size) = self.stack_size.filter(|size| !sizes.contains(size)) {
            return Err(BuildError::StackSize(size));
        }
        self.options.victims.check()?;
        if self.options.traced != 0 && !EVENTS.contains(&self.options.traced) {
            return Err(BuildError::TraceEvents(self.options.traced));
        }
        let spares = match self.spare_workers {
            _ if !S::HANDS_OFF => 0,
            Some(spares @ 0..=Builder::MAX_WORKERS) => spares,
            Some(spares) => return Err(BuildError::SpareWorkers(spares)),
            None => workers.max(tunables::DEFAULT_SPARES.get() as usize),
        };
        Ok((workers, spares))
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

/// Returns the number of cores that this process may use.
pub(super) fn available_cores() -> usize {
    let cores = thread::available_parallelism().map_or(1, NonZero::get);
    cores.min(Builder::MAX_WORKERS)
}
