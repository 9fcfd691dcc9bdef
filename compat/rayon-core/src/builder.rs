//! Options of a pool.

use std::any::Any;
use std::env;
use std::error::Error;
use std::fmt;
use std::io;
use std::num::NonZero;
use std::panic::resume_unwind;
use std::sync::Arc;
use std::thread;

use purloin::{Builder, Pool, WorkerStart};

use crate::registry::{self, PanicHandler, Registry, ThreadHandler, ThreadPool};
use crate::unwind::halt_unwinding;

/// Options for a [`ThreadPool`].
///
/// ```
/// let pool = rayon_core::ThreadPoolBuilder::new()
///     .num_threads(2)
///     .thread_name(|index| format!("solver-{index}"))
///     .build()?;
/// assert_eq!(pool.current_num_threads(), 2);
/// # Ok::<(), rayon_core::ThreadPoolBuildError>(())
/// ```
pub struct ThreadPoolBuilder<S = DefaultSpawn> {
    num_threads: usize,
    use_current_thread: bool,
    breadth_first: bool,
    runs_anything: bool,
    stack_size: Option<usize>,
    thread_name: Option<ThreadName>,
    panic_handler: Option<PanicHandler>,
    start_handler: Option<ThreadHandler>,
    exit_handler: Option<ThreadHandler>,
    spawn_handler: S,
}

/// Minimum of the number of spare threads, which start when they are needed.
const MIN_SPARES: usize = 32;

type Panic = Box<dyn Any + Send>;

type ThreadName = Box<dyn FnMut(usize) -> String>;

/// A thread of a pool that is to be started, for
/// [`spawn_handler`](ThreadPoolBuilder::spawn_handler).
pub struct ThreadBuilder {
    worker: WorkerStart,
    name: Option<String>,
    stack_size: Option<usize>,
}

impl ThreadBuilder {
    /// Returns the number of the thread, from 0.
    pub fn index(&self) -> usize {
        self.worker.index()
    }

    /// Returns the name for the thread, if the program has set one.
    pub fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    /// Returns the size for the thread's stack in bytes, if the program has set one.
    pub fn stack_size(&self) -> Option<usize> {
        self.stack_size
    }

    /// Runs the thread's part of the pool, until the pool ends.
    pub fn run(self) {
        self.worker.run();
    }

    /// Returns a builder of a standard thread with this name and stack size.
    fn builder(&self, default_stack_size: Option<usize>) -> thread::Builder {
        let mut builder = thread::Builder::new();
        if let Some(name) = &self.name {
            builder = builder.name(name.clone());
        }
        if let Some(bytes) = self.stack_size.or(default_stack_size) {
            builder = builder.stack_size(bytes);
        }
        builder
    }
}

impl fmt::Debug for ThreadBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ThreadBuilder")
            .field("index", &self.index())
            .field("name", &self.name)
            .field("stack_size", &self.stack_size)
            .finish_non_exhaustive()
    }
}

/// Starts the threads of a pool. Programs cannot name this trait.
pub trait ThreadSpawn: sealed::Sealed {
    /// Whether the pool may start further threads, to run in place of blocked ones.
    #[doc(hidden)]
    const MAY_START_MORE: bool;

    #[doc(hidden)]
    fn spawn(&mut self, thread: ThreadBuilder) -> io::Result<()>;
}

mod sealed {
    #[allow(unnameable_types)]
    pub trait Sealed {}
}

/// Starts standard threads.
#[derive(Debug, Default)]
pub struct DefaultSpawn;

impl sealed::Sealed for DefaultSpawn {}

impl ThreadSpawn for DefaultSpawn {
    const MAY_START_MORE: bool = true;

    fn spawn(&mut self, thread: ThreadBuilder) -> io::Result<()> {
        let builder = thread.builder(Some(thread.worker.stack_size()));
        builder.spawn(|| thread.run()).map(drop)
    }
}

/// Starts threads as the program wants.
#[allow(missing_debug_implementations)]
pub struct CustomSpawn<F>(F);

impl<F> sealed::Sealed for CustomSpawn<F> {}

impl<F: FnMut(ThreadBuilder) -> io::Result<()>> ThreadSpawn for CustomSpawn<F> {
    // The program's function lives no longer than the call that builds the pool.
    const MAY_START_MORE: bool = false;

    fn spawn(&mut self, thread: ThreadBuilder) -> io::Result<()> {
        (self.0)(thread)
    }
}

impl Default for ThreadPoolBuilder {
    fn default() -> Self {
        ThreadPoolBuilder {
            num_threads: 0,
            use_current_thread: false,
            breadth_first: false,
            runs_anything: false,
            stack_size: None,
            thread_name: None,
            panic_handler: None,
            start_handler: None,
            exit_handler: None,
            spawn_handler: DefaultSpawn,
        }
    }
}

impl ThreadPoolBuilder {
    /// Returns the options for a pool, all at their defaults.
    pub fn new() -> Self {
        Self::default()
    }

    /// Builds a pool whose threads live only as long as this call, and calls `with_pool` with it.
    /// Each thread calls `wrapper`, which calls [`ThreadBuilder::run`].
    ///
    /// # Errors
    ///
    /// Returns an error if the pool cannot be built.
    pub fn build_scoped<W, F, R>(self, wrapper: W, with_pool: F) -> Result<R, ThreadPoolBuildError>
    where
        W: Fn(ThreadBuilder) + Sync,
        F: FnOnce(&ThreadPool) -> R,
    {
        let wrapper = &wrapper;
        thread::scope(|scope| {
            let pool = self.spawn_handler(|thread| {
                let builder = thread.builder(Some(thread.worker.stack_size()));
                builder.spawn_scoped(scope, || wrapper(thread)).map(drop)
            });
            Ok(with_pool(&pool.build()?))
        })
    }
}

impl<S: ThreadSpawn> ThreadPoolBuilder<S> {
    /// Builds the pool.
    ///
    /// # Errors
    ///
    /// Returns an error if a thread cannot be started, or if the pool is to use the current thread
    /// and that belongs to a pool already.
    pub fn build(mut self) -> Result<ThreadPool, ThreadPoolBuildError> {
        let is_worker = purloin::implement::is_worker;
        if self.use_current_thread && (registry::current().is_some() || is_worker()) {
            return Err(ErrorKind::CurrentThreadAlreadyInPool.into());
        }
        let threads = self.threads();
        let registry = Arc::new(Registry::new(
            threads,
            self.panic_handler.take(),
            self.start_handler.take(),
            self.exit_handler.take(),
        ));
        let [of_start, of_exit] = [(); 2].map(|()| Arc::clone(&registry));
        let stack_size = self
            .stack_size
            .map(|bytes| bytes.clamp(Builder::MIN_STACK_SIZE, Builder::MAX_STACK_SIZE));
        // A pool that consists of the current thread runs nothing on other threads.
        let is_current_thread = self.use_current_thread && threads == 1;
        let has_spares = S::MAY_START_MORE && !self.runs_anything && !is_current_thread;
        let mut builder = Pool::builder()
            .workers(threads)
            .ends_alone(true)
            .thread_name(|_| String::new())
            .spare_workers(match has_spares {
                true => threads.max(MIN_SPARES),
                false => 0,
            })
            // Programs use small pools to limit the number of jobs that run at the same time.
            .rescue_calls(false)
            // When no spare thread is left.
            .run_anything_while_blocked(true)
            .start_handler(move |index| of_start.started(index))
            .exit_handler(move |index| of_exit.ends(index));
        if let Some(bytes) = stack_size {
            builder = builder.stack_size(bytes);
        }
        let (mut unnamed, mut current) = (None, None);
        let pool = builder.build_with(|worker| match worker.index() {
            0 if self.use_current_thread => {
                current = Some(worker);
                Ok(())
            }
            _ => self.start(worker, &mut unnamed),
        });
        if let Some(panic) = unnamed {
            resume_unwind(panic);
        }
        let pool = pool.map_err(|error| ErrorKind::IOError(into_io(error)))?;
        // Last, because it cannot be taken back.
        if let Some(worker) = current {
            worker.attach();
            registry::enter(&registry, 0);
        }
        Ok(ThreadPool { pool, registry })
    }

    /// Starts one thread. If the program's function for names panics, keeps the panic in `unnamed`.
    fn start(&mut self, mut worker: WorkerStart, unnamed: &mut Option<Panic>) -> io::Result<()> {
        let name = self.thread_name.as_mut();
        match halt_unwinding(|| name.map(|name| name(worker.index()))) {
            Ok(name) => {
                if let Some(name) = &name {
                    if name.contains('\0') {
                        return Err(io::Error::new(
                            io::ErrorKind::InvalidInput,
                            "the name of a thread contains '\\0'",
                        ));
                    }
                    worker.set_name(name);
                }
                self.spawn_handler.spawn(ThreadBuilder {
                    worker,
                    name,
                    stack_size: self.stack_size,
                })
            }
            Err(panic) => {
                *unnamed = Some(panic);
                Err(io::Error::other("no name for a thread"))
            }
        }
    }
}

impl<S> ThreadPoolBuilder<S> {
    /// Returns the number of threads, from the program or from the environment.
    fn threads(&self) -> usize {
        let cores = || thread::available_parallelism().map_or(1, NonZero::get);
        let variable = |name| env::var(name).ok()?.parse::<usize>().ok();
        let threads = match self.num_threads {
            0 => match variable("RAYON_NUM_THREADS") {
                Some(0) => cores(),
                Some(threads) => threads,
                None => match variable("RAYON_RS_NUM_CPUS") {
                    Some(threads @ 1..) => threads,
                    _ => cores(),
                },
            },
            threads => threads,
        };
        threads.min(crate::max_num_threads())
    }

    /// Sets the number of threads. The default, also for 0, is the value of the environment variable
    /// `RAYON_NUM_THREADS`, or else one thread for each available core.
    pub fn num_threads(mut self, num_threads: usize) -> Self {
        self.num_threads = num_threads;
        self
    }

    /// Makes the calling thread the first thread of the pool, for good. It runs only what it waits
    /// for itself, and jobs that it runs by [`yield_now`](crate::yield_now).
    pub fn use_current_thread(mut self) -> Self {
        self.use_current_thread = true;
        self
    }

    /// Sets whether a thread that waits in a join or a scope runs any job of the pool, as rayon's own
    /// threads do. By default it runs only parts of what it waits for, and a spare thread runs the
    /// rest, unless all spare threads wait, too. rayon itself does not have this option.
    ///
    /// A pool with a [`spawn_handler`](Self::spawn_handler) has no spare threads, so its threads
    /// always run any job.
    pub fn run_anything_while_blocked(mut self, runs_anything: bool) -> Self {
        self.runs_anything = runs_anything;
        self
    }

    /// Sets the names of the threads. By default they have none.
    pub fn thread_name<F>(mut self, closure: F) -> Self
    where
        F: FnMut(usize) -> String + 'static,
    {
        self.thread_name = Some(Box::new(closure));
        self
    }

    /// Sets the size of each thread's stack, in bytes. The default is 8 MiB.
    pub fn stack_size(mut self, stack_size: usize) -> Self {
        self.stack_size = Some(stack_size);
        self
    }

    /// Sets a function that each thread calls when it begins.
    pub fn start_handler<H>(mut self, start_handler: H) -> Self
    where
        H: Fn(usize) + Send + Sync + 'static,
    {
        self.start_handler = Some(Box::new(start_handler));
        self
    }

    /// Sets a function that each thread calls before it ends.
    pub fn exit_handler<H>(mut self, exit_handler: H) -> Self
    where
        H: Fn(usize) + Send + Sync + 'static,
    {
        self.exit_handler = Some(Box::new(exit_handler));
        self
    }

    /// Sets a function that gets the panics of jobs and handlers. Without it, such a panic aborts
    /// the process, and so does a panic of the function.
    pub fn panic_handler<H>(mut self, panic_handler: H) -> Self
    where
        H: Fn(Box<dyn Any + Send>) + Send + Sync + 'static,
    {
        self.panic_handler = Some(Box::new(panic_handler));
        self
    }

    /// Sets a function that makes the threads, which call [`ThreadBuilder::run`].
    pub fn spawn_handler<F>(self, spawn: F) -> ThreadPoolBuilder<CustomSpawn<F>>
    where
        F: FnMut(ThreadBuilder) -> io::Result<()>,
    {
        ThreadPoolBuilder {
            num_threads: self.num_threads,
            use_current_thread: self.use_current_thread,
            breadth_first: self.breadth_first,
            runs_anything: self.runs_anything,
            stack_size: self.stack_size,
            thread_name: self.thread_name,
            panic_handler: self.panic_handler,
            start_handler: self.start_handler,
            exit_handler: self.exit_handler,
            spawn_handler: CustomSpawn(spawn),
        }
    }

    /// Has no effect: a thread runs its own tasks from the newest to the oldest.
    #[deprecated(note = "use `scope_fifo` and `spawn_fifo` for similar effect")]
    pub fn breadth_first(mut self) -> Self {
        self.breadth_first = true;
        self
    }
}

impl<S> fmt::Debug for ThreadPoolBuilder<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ThreadPoolBuilder")
            .field("num_threads", &self.num_threads)
            .field("use_current_thread", &self.use_current_thread)
            .field("stack_size", &self.stack_size)
            .field("breadth_first", &self.breadth_first)
            .finish_non_exhaustive()
    }
}

/// A pool cannot be built.
#[derive(Debug)]
pub struct ThreadPoolBuildError {
    kind: ErrorKind,
}

#[derive(Debug)]
pub(crate) enum ErrorKind {
    GlobalPoolAlreadyInitialized,
    CurrentThreadAlreadyInPool,
    IOError(io::Error),
}

impl From<ErrorKind> for ThreadPoolBuildError {
    fn from(kind: ErrorKind) -> Self {
        ThreadPoolBuildError { kind }
    }
}

/// Returns the error of a thread that did not start, or else the error of the pool.
fn into_io(error: purloin::BuildError) -> io::Error {
    match error {
        purloin::BuildError::Start { source, .. }
        | purloin::BuildError::TaskStack { source, .. } => source,
        other => io::Error::other(other),
    }
}

impl fmt::Display for ThreadPoolBuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.kind {
            ErrorKind::GlobalPoolAlreadyInitialized => {
                f.write_str("The global thread pool has already been initialized.")
            }
            ErrorKind::CurrentThreadAlreadyInPool => {
                f.write_str("The current thread is already part of another thread pool.")
            }
            ErrorKind::IOError(error) => error.fmt(f),
        }
    }
}

impl Error for ThreadPoolBuildError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match &self.kind {
            ErrorKind::IOError(error) => Some(error),
            _ => None,
        }
    }
}
