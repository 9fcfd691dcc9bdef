//! The programming model: [`Task`] and [`Rank`].

use std::fmt::Debug;

use bytemuck::Pod;

use crate::queue::SlotHandle;

/// A task, which may run on any rank.
///
/// The task and its output are plain data. They lie in the slots of a queue, and other ranks copy
/// them byte by byte, so they contain no references. Larger data belongs in a
/// [`GlobalArray`](crate::GlobalArray), which the tasks of a rank access through their
/// [context](Rank::context).
///
/// ```
/// use bytemuck::{Pod, Zeroable};
/// use purloin_cluster::{Rank, Serial, Task};
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
/// assert_eq!(Fib(20).run(Serial::new(&())), 6765);
/// ```
///
/// A task larger than [`MAX_TASK_BYTES`](crate::MAX_TASK_BYTES), or with a larger output, does
/// not compile:
///
/// ```compile_fail,E0080
/// # use purloin_cluster::{Cluster, Options, Rank, Task};
/// #[derive(Clone, Copy, Debug, bytemuck::Pod, bytemuck::Zeroable)]
/// #[repr(transparent)]
/// struct Large([u64; 1 << 10]);
///
/// impl Task for Large {
///     type Output = u64;
///     type Context = ();
///
///     fn run<R: Rank<Self>>(self, _: R) -> u64 {
///         self.0[0]
///     }
/// }
///
/// # fn main() -> Result<(), purloin_cluster::Error> {
/// # let cluster = Cluster::initialize()?;
/// cluster.run(Large([0; 1 << 10]), &(), &Options::default())?;
/// # Ok(())
/// # }
/// ```
pub trait Task: Pod + Debug {
    /// The result of the task.
    type Output: Pod;

    /// Data that all tasks on a rank can read. Each rank has its own.
    type Context;

    /// Runs the task on this rank.
    fn run<R: Rank<Self>>(self, rank: R) -> Self::Output;
}

/// The rank that runs a task: a token that is valid while the task runs.
///
/// The token is small and passed by value. Another rank may steal a task that this rank spawns. The
/// [cut-off](crate::CutOff) decides whether a spawned task enters the queue or runs inline. So
/// programs spawn everything that could run in parallel, no matter how small.
pub trait Rank<T: Task>: Sized {
    /// Runs two tasks and returns both outputs. The second task may run on another rank.
    fn join(&mut self, a: T, b: T) -> (T::Output, T::Output);

    /// Spawns a task that may run while the caller goes on. [`get`](Rank::get) returns its
    /// output.
    ///
    /// If the caller never asks for the output, the caller waits for the task when it ends.
    fn spawn(&mut self, task: T) -> Spawned<T>;

    /// Returns the output of a task that the caller has spawned. Runs the task if no rank has
    /// stolen it, and waits for it otherwise.
    ///
    /// # Panics
    ///
    /// Panics if another task spawned it.
    fn get(&mut self, spawned: Spawned<T>) -> T::Output;

    /// Spawns all `tasks` and waits for them. Folds their outputs into `start` with `combine`,
    /// in any order.
    ///
    /// ```
    /// # use purloin_cluster::{Rank, Serial, Task};
    /// # #[derive(Clone, Copy, Debug, bytemuck::Pod, bytemuck::Zeroable)]
    /// # #[repr(transparent)]
    /// # struct Leaves(u32);
    /// # impl Task for Leaves {
    /// # type Output = u64;
    /// # type Context = ();
    /// fn run<R: Rank<Self>>(self, mut rank: R) -> u64 {
    ///     if self.0 == 0 {
    ///         return 1;
    ///     }
    ///     rank.spawn_all((0..self.0).map(Leaves), 0, |sum, leaves| sum + leaves)
    /// }
    /// # }
    /// # assert_eq!(Leaves(10).run(Serial::new(&())), 1 << 9);
    /// ```
    fn spawn_all<A>(
        &mut self,
        tasks: impl IntoIterator<Item = T>,
        start: A,
        combine: impl FnMut(A, T::Output) -> A,
    ) -> A;

    /// Returns the data that all tasks on this rank share.
    ///
    /// While a task waits in [`join`](Rank::join), [`get`](Rank::get) or
    /// [`spawn_all`](Rank::spawn_all), its rank may run **any other task**, because a rank has no
    /// second thread that could use its processor. So a task must not hold a mutable borrow or a
    /// lock of anything in the context across one of these calls.
    fn context(&self) -> &T::Context;

    /// Lets the runtime serve other ranks.
    ///
    /// On networks that need the processor's help, a rank does not answer other ranks during a long
    /// computation without a spawn. A long computation should therefore call this function from
    /// time to time. A call reads the clock, which takes a few dozen nanoseconds.
    fn poll(&mut self);
}

/// A spawned task whose output [`Rank::get`] returns.
#[must_use = "pass it to `get` for the output; if it is dropped, the task's end waits for it"]
pub struct Spawned<T: Task>(pub(crate) SpawnedState<T>);

/// The place of a spawned task's output.
pub(crate) enum SpawnedState<T: Task> {
    /// The task ran inline, and this is its output.
    Done(T::Output),
    /// The task went into this slot of the queue.
    Queued(SlotHandle),
}

impl<T: Task> Spawned<T> {
    /// Wraps the output of a task that ran inline.
    #[inline(always)]
    pub(crate) fn done(output: T::Output) -> Self {
        Spawned(SpawnedState::Done(output))
    }

    /// Returns the output of a task that ran inline.
    ///
    /// # Panics
    ///
    /// Panics if the task went into the queue. A token that only runs tasks inline did not spawn
    /// it, so another task did.
    #[inline(always)]
    pub(crate) fn into_output(self) -> T::Output {
        match self.0 {
            SpawnedState::Done(output) => output,
            SpawnedState::Queued(_) => spawned_by_another_task(),
        }
    }
}

/// Panics because a task asks for the output of a task that it did not spawn.
#[cold]
pub(crate) fn spawned_by_another_task() -> ! {
    panic!("`get` was called with a task that another task spawned; pass the output instead")
}

/// The serial elision: a rank that runs every task inline and never calls MPI.
#[derive(Debug)]
pub struct Serial<'c, C> {
    context: &'c C,
}

impl<'c, C> Serial<'c, C> {
    /// Creates a serial rank whose tasks can read `context`.
    pub fn new(context: &'c C) -> Self {
        Serial { context }
    }

    #[inline(always)]
    fn call<T: Task<Context = C>>(&self, task: T) -> T::Output {
        task.run(Serial::new(self.context))
    }
}

impl<T: Task> Rank<T> for Serial<'_, T::Context> {
    #[inline(always)]
    fn join(&mut self, a: T, b: T) -> (T::Output, T::Output) {
        (self.call(a), self.call(b))
    }

    #[inline(always)]
    fn spawn(&mut self, task: T) -> Spawned<T> {
        Spawned::done(self.call(task))
    }

    #[inline(always)]
    fn get(&mut self, spawned: Spawned<T>) -> T::Output {
        spawned.into_output()
    }

    #[inline(always)]
    fn spawn_all<A>(
        &mut self,
        tasks: impl IntoIterator<Item = T>,
        start: A,
        mut combine: impl FnMut(A, T::Output) -> A,
    ) -> A {
        tasks
            .into_iter()
            .fold(start, |sum, task| combine(sum, self.call(task)))
    }

    #[inline(always)]
    fn context(&self) -> &T::Context {
        self.context
    }

    #[inline(always)]
    fn poll(&mut self) {}
}
