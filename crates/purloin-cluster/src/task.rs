//! What a program is written against: [`Task`] and [`Rank`].

use std::fmt::Debug;

use bytemuck::Pod;

use crate::queue::Slot;

/// A task: plain data that makes plain data, on whichever rank.
///
/// Both lie in the slots of a queue that other ranks copy from, so there are no
/// references in them; what is larger lives in a [`GlobalArray`](crate::GlobalArray),
/// which all tasks on a rank reach through their [context](Rank::context).
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
/// A task that takes more than [`LARGEST`](crate::LARGEST) bytes, or makes more, does
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
    /// What it makes.
    type Output: Pod;

    /// What all tasks on a rank may look at. Each rank has its own.
    type Context;

    /// Runs it, on this rank.
    fn run<R: Rank<Self>>(self, rank: R) -> Self::Output;
}

/// The rank that runs a task, for the time that it does.
///
/// It is a small token, passed by value. A task that it spawns is one that another rank
/// may steal; whether it really goes into the queue, or is run at once, is the
/// [cut-off](crate::Cutoff)'s to decide. So programs spawn whatever could be run in
/// parallel, however small.
pub trait Rank<T: Task>: Sized {
    /// Runs both, the second perhaps on another rank.
    fn join(&mut self, a: T, b: T) -> (T::Output, T::Output);

    /// Lets a task be run while this one goes on, and promises its result.
    ///
    /// Tasks whose result nobody asks for are waited for when this one ends.
    fn spawn(&mut self, task: T) -> Spawned<T>;

    /// Waits for a task that this one has spawned, or runs it; returns what it made.
    ///
    /// # Panics
    ///
    /// If it is not this task that has spawned it.
    fn get(&mut self, spawned: Spawned<T>) -> T::Output;

    /// Spawns all of `tasks`, and combines what they make, in any order, into `start`.
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

    /// What all tasks on this rank share.
    ///
    /// While a task waits for another, in [`join`](Rank::join), [`get`](Rank::get) or
    /// [`spawn_all`](Rank::spawn_all), its rank may run **any other task**: it has no threads
    /// to give its processor to. So nothing of the context is to be borrowed mutably, or
    /// locked, across one of these.
    fn context(&self) -> &T::Context;

    /// Lets others be served.
    ///
    /// Where a network needs the help of its processor, a rank in a long computation
    /// without any spawn answers nobody, unless it calls this now and then. It costs a
    /// reading of the clock, some dozen nanoseconds.
    fn poll(&mut self);
}

/// A task that was spawned, and whose result will be asked for by [`Rank::get`].
#[must_use = "its result is wanted; or drop it, and it is waited for when this task ends"]
pub struct Spawned<T: Task>(pub(crate) Promise<T>);

/// Where the result of a task is.
pub(crate) enum Promise<T: Task> {
    /// It was run at once.
    Done(T::Output),
    /// There it will be.
    Slot(Slot),
}

/// The serial elision: tasks are run where they are spawned, and nothing is asked of
/// MPI.
#[derive(Debug)]
pub struct Serial<'c, C> {
    context: &'c C,
}

impl<'c, C> Serial<'c, C> {
    /// With this for tasks to look at.
    pub fn new(context: &'c C) -> Self {
        Serial { context }
    }

    #[inline(always)]
    fn again(&self) -> Self {
        Serial::new(self.context)
    }
}

impl<T: Task> Rank<T> for Serial<'_, T::Context> {
    #[inline(always)]
    fn join(&mut self, a: T, b: T) -> (T::Output, T::Output) {
        (a.run(self.again()), b.run(self.again()))
    }

    #[inline(always)]
    fn spawn(&mut self, task: T) -> Spawned<T> {
        Spawned(Promise::Done(task.run(self.again())))
    }

    #[inline(always)]
    fn get(&mut self, spawned: Spawned<T>) -> T::Output {
        match spawned.0 {
            Promise::Done(output) => output,
            Promise::Slot(_) => not_mine(),
        }
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
            .fold(start, |sum, task| combine(sum, task.run(self.again())))
    }

    #[inline(always)]
    fn context(&self) -> &T::Context {
        self.context
    }

    #[inline(always)]
    fn poll(&mut self) {}
}

/// What comes of smuggling a [`Spawned`] to another task.
#[cold]
pub(crate) fn not_mine() -> ! {
    panic!("a spawned task belongs to the task that has spawned it")
}
