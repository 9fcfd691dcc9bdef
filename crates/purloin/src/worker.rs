//! The programming model: [`Worker`] and [`Scope`].

use std::marker::PhantomData;

use crate::handle::Handle;
use crate::loops::{self, IntoIterations};

/// Permission to create parallelism, and the way to do it.
///
/// A worker is a small token passed **by value**. A program that is generic
/// over it runs under every scheduler, serially, and under the measuring
/// instruments: each is a type that it is instantiated with.
///
/// ```
/// use purloin::{Pool, Worker};
///
/// fn fib<W: Worker>(mut w: W, n: u32) -> u64 {
///     if n < 2 {
///         return n.into();
///     }
///     let (a, b) = w.join(|w| fib(w, n - 1), |w| fib(w, n - 2));
///     a + b
/// }
///
/// let pool = Pool::new()?;
/// assert_eq!(pool.run(|w| fib(w, 20)), 6765);
/// assert_eq!(fib(purloin::Serial, 20), 6765);
/// # Ok::<(), purloin::BuildError>(())
/// ```
///
/// # Why a token, and why it cannot be misused
///
/// A closure receives a token of its own, valid for its own run only. The token that
/// it was made from is mutably borrowed meanwhile. So the newest token of a worker is
/// the one in use, and it carries the top of the worker's task stack in a register.
///
/// Tokens are not [`Send`], so a closure that may run elsewhere cannot capture one:
///
/// ```compile_fail,E0277
/// # use purloin::{Pool, Worker};
/// # let pool = Pool::new().unwrap();
/// pool.run(|mut w| purloin::join(|| (), || w.join(|_| (), |_| ())));
/// ```
///
/// A token cannot leave its closure:
///
/// ```compile_fail
/// # use purloin::{Pool, Worker};
/// # let pool = Pool::new().unwrap();
/// let mut kept = pool.run(|w| w);
/// # kept.join(|_| (), |_| ());
/// ```
///
/// ```compile_fail,E0521
/// # use purloin::{Pool, Worker};
/// # let pool = Pool::new().unwrap();
/// pool.run(|mut w| {
///     let mut kept = None;
///     w.lend(|inner| kept = Some(inner));
/// });
/// ```
///
/// And a token cannot be used while it is lent:
///
/// ```compile_fail,E0499
/// # use purloin::{Pool, Worker};
/// # let pool = Pool::new().unwrap();
/// pool.run(|mut w| w.lend(|_| w.join(|_| (), |_| ())));
/// ```
///
/// A wrapper that makes any value `Send` at the price of a check of the thread can carry
/// a token into a closure of a second token of the same worker. Such a *stale* token
/// still works: its joins cost a few nanoseconds more, as they look up the top in memory.
///
/// # Panics
///
/// If a closure panics, everything else runs to its end, and then the panic goes on in
/// the caller. That includes the second closure of a join whose first has panicked, as
/// in rayon. Of two panics the caller sees that of the first closure of a join, or that
/// of the body of a finish. Three things end early: a loop begins few iterations after
/// one has panicked, [`Serial`](crate::Serial) stops where a serial program does, and
/// where joins nest too deeply for the task stack, no second closure begins.
pub trait Worker: Sized {
    /// The token that closures receive.
    ///
    /// For every worker of this crate it is the worker's own type with another
    /// lifetime, so that a recursive function has one instance.
    type Token<'t>: for<'u> Worker<Token<'u> = Self::Token<'u>>;

    /// How tasks are spawned here: what a [`Scope`] is generic over.
    type Spawner: Spawner;

    /// Runs two closures, possibly in parallel, and returns both results.
    ///
    /// `a` is run at once. `b` is a task that another worker may steal while
    /// `a` runs; if none has, it is run here next, by a plain call. If one has
    /// and is not done, this worker helps it: it runs tasks that descend from
    /// `b`, and **never anything else**. So a lock may be held across a join,
    /// as long as the closures do not take it.
    ///
    /// ```
    /// # use purloin::Worker;
    /// fn sum<W: Worker>(mut w: W, numbers: &[u64]) -> u64 {
    ///     if let [number] = numbers {
    ///         return *number;
    ///     }
    ///     let (left, right) = numbers.split_at(numbers.len() / 2);
    ///     let (a, b) = w.join(|w| sum(w, left), |w| sum(w, right));
    ///     a + b
    /// }
    /// # assert_eq!(sum(purloin::Serial, &[1, 2, 3]), 6);
    /// ```
    ///
    /// Closures that own what they use (`move`) are faster than those that
    /// borrow it, where it is a few words: their captures lie in the task.
    ///
    /// Source: Wool, section 3 (spawn, call, join).
    fn join<A, B, RA, RB>(&mut self, a: A, b: B) -> (RA, RB)
    where
        A: for<'t> FnOnce(Self::Token<'t>) -> RA + Send,
        B: for<'t> FnOnce(Self::Token<'t>) -> RB + Send,
        RA: Send,
        RB: Send;

    /// Runs `body`, which may spawn tasks into its scope, and returns its
    /// result when it and all of them have ended.
    ///
    /// ```
    /// # use purloin::{Pool, Worker};
    /// # let pool = Pool::new()?;
    /// let mut squares = [1, 2, 3, 4];
    /// pool.run(|mut w| {
    ///     w.finish(|scope| {
    ///         for number in &mut squares {
    ///             scope.spawn(move |_| *number *= *number);
    ///         }
    ///     })
    /// });
    /// assert_eq!(squares, [1, 4, 9, 16]);
    /// # Ok::<(), purloin::BuildError>(())
    /// ```
    ///
    /// The token is lent to the finish meanwhile; inside, [`Scope::join`] joins.
    ///
    /// Source: X10's finish and async, as in Return barrier, section 2.3.
    fn finish<'env, F, R>(&mut self, body: F) -> R
    where
        F: for<'scope> FnOnce(&'scope Scope<'scope, 'env, Self::Spawner>) -> R;

    /// Calls `f` with a token, to pass on by value where only this borrowed one
    /// is at hand.
    ///
    /// ```
    /// # use purloin::Worker;
    /// fn twice<W: Worker>(w: &mut W, numbers: &[u64]) -> u64 {
    /// #   fn sum<W: Worker>(_: W, numbers: &[u64]) -> u64 { numbers.iter().sum() }
    ///     let once = w.lend(|w| sum(w, numbers));
    ///     once + w.lend(|w| sum(w, numbers))
    /// }
    /// # assert_eq!(twice(&mut purloin::Serial, &[1, 2, 3]), 12);
    /// ```
    fn lend<R>(&mut self, f: impl for<'t> FnOnce(Self::Token<'t>) -> R) -> R;

    /// Makes a task of `f`, which any worker may run from now on, and returns its
    /// result to come.
    ///
    /// Whoever [gets](Self::get) it runs the task itself, if nobody has begun it.
    /// It ends before its scope does, got or not: that is the closure with
    /// whose token it was made, or one around that, and at last
    /// [`Pool::run`](crate::Pool::run). To borrow from outside, use
    /// [`Scope::future`].
    ///
    /// Do not hold a lock that `f` takes. Where thousands of tasks wait to be run, and
    /// under the serial elision always, this call itself runs `f`.
    ///
    /// ```
    /// use purloin::{Pool, Worker};
    ///
    /// fn fib<W: Worker>(mut w: W, n: u32) -> u64 {
    ///     if n < 2 {
    ///         return n.into();
    ///     }
    ///     let a = w.future(move |w| fib(w, n - 1));
    ///     let b = w.lend(|w| fib(w, n - 2));
    ///     w.get(a) + b
    /// }
    ///
    /// let pool = Pool::new()?;
    /// assert_eq!(pool.run(|w| fib(w, 20)), 6765);
    /// # Ok::<(), purloin::BuildError>(())
    /// ```
    ///
    /// Source: Channel (channel-based futures).
    fn future<F, T>(&mut self, f: F) -> Handle<T>
    where
        F: for<'t> FnOnce(Self::Token<'t>) -> T + Send + 'static,
        T: Send + 'static;

    /// Waits for the result of a future, in the manner of this worker: see
    /// [`Handle::get`].
    ///
    /// # Panics
    ///
    /// If the task has.
    fn get<T: Send>(&mut self, future: Handle<T>) -> T {
        future.get()
    }

    /// Does `body` for each of the iterations, possibly in parallel.
    ///
    /// There is no grain size to choose: a worker runs the iterations in
    /// order, as a plain loop would, and gives away a part of those that are
    /// left whenever another worker has nothing to do.
    ///
    /// ```
    /// # use purloin::{Pool, Worker, chunks_mut};
    /// # let pool = Pool::new()?;
    /// let mut squares = vec![0; 1000];
    /// pool.run(|mut w| {
    ///     w.for_each((0..1000, &mut squares), |(i, square)| *square = i * i);
    ///     w.for_each(&mut squares, |square| *square += 1);
    ///     w.for_each(chunks_mut(&mut squares, 10), |ten| ten.reverse());
    /// });
    /// assert_eq!(squares[9], 1);
    /// # Ok::<(), purloin::BuildError>(())
    /// ```
    ///
    /// What a loop can go over, [`Iterations`](crate::Iterations) says. Where
    /// the body is parallel itself, use [`Self::for_each_with`].
    ///
    /// # Panics
    ///
    /// If an iteration does: after all that were started have ended. Others may
    /// never be started.
    ///
    /// Source: Channel (splittable tasks).
    #[inline]
    fn for_each<I, F>(&mut self, iterations: I, body: F)
    where
        I: IntoIterations,
        F: Fn(I::Item) + Sync,
    {
        self.map_reduce_with(iterations, move |_, item| body(item), |(), ()| ());
    }

    /// The same, for a body that is parallel itself: it gets a token.
    ///
    /// ```
    /// # use purloin::{Pool, Worker, chunks_mut};
    /// # let pool = Pool::new()?;
    /// let mut table = vec![0_usize; 12];
    /// pool.run(|mut w| {
    ///     w.for_each_with((0.., chunks_mut(&mut table, 4)), |mut w, (i, row)| {
    ///         w.for_each((0.., row), |(j, entry)| *entry = 10 * i + j);
    ///     })
    /// });
    /// assert_eq!(table[7], 13);
    /// # Ok::<(), purloin::BuildError>(())
    /// ```
    #[inline]
    fn for_each_with<I, F>(&mut self, iterations: I, body: F)
    where
        I: IntoIterations,
        F: for<'t> Fn(Self::Token<'t>, I::Item) + Sync,
    {
        self.map_reduce_with(iterations, body, |(), ()| ());
    }

    /// Maps each of the iterations, possibly in parallel, and combines the
    /// results; `None` if there are no iterations.
    ///
    /// Results are combined in the order of the iterations, so `combine` need
    /// not be commutative. It has to be associative: where the brackets are may
    /// differ from run to run, and with it the rounding of floating-point sums.
    ///
    /// ```
    /// # use purloin::{Pool, Worker};
    /// # let pool = Pool::new()?;
    /// let words = ["steal", "pilfer", "purloin"];
    /// let longest = pool.run(|mut w| w.map_reduce(&words, |word| word.len(), usize::max));
    /// assert_eq!(longest, Some(7));
    /// # Ok::<(), purloin::BuildError>(())
    /// ```
    ///
    /// # Panics
    ///
    /// If an iteration or a combination does: after all that were started have
    /// ended, and with what they returned dropped.
    #[inline]
    fn map_reduce<I, M, C, T>(&mut self, iterations: I, map: M, combine: C) -> Option<T>
    where
        I: IntoIterations,
        M: Fn(I::Item) -> T + Sync,
        C: Fn(T, T) -> T + Sync,
        T: Send,
    {
        self.map_reduce_with(iterations, move |_, item| map(item), combine)
    }

    /// The same, for a map that is parallel itself: it gets a token.
    ///
    /// All loops are made of this one. Whoever implements a worker need not
    /// write it, but may.
    #[inline]
    fn map_reduce_with<I, M, C, T>(&mut self, iterations: I, map: M, combine: C) -> Option<T>
    where
        I: IntoIterations,
        M: for<'t> Fn(Self::Token<'t>, I::Item) -> T + Sync,
        C: Fn(T, T) -> T + Sync,
        T: Send,
    {
        let iterations = iterations.into_iterations();
        self.lend(|w| loops::map_reduce::<Self, _, _, _, _>(w, iterations, map, combine))
    }

    /// How many of a loop's `rest` iterations to make a task of now, because a
    /// thief asks for work and this worker has nothing else to offer; 0 if
    /// nobody does. Loops call this every few microseconds.
    fn split_hint(&mut self, rest: usize) -> usize;
}

/// What a [`Scope`] needs to know of its scheduler.
///
/// A type of its own, because a scope must not depend on the lifetime of the
/// token that opened it: closures that borrow from outside could not be
/// spawned then.
pub trait Spawner: Sized + 'static {
    /// The token that spawned tasks receive.
    type Token<'t>: Worker;

    /// What a finish keeps in its scope.
    type Finish: Sync;

    /// Does what [`Scope::spawn`] says.
    ///
    /// # Safety
    ///
    /// `'scope` is the lifetime of that name of the [`Scope`] that holds
    /// `finish`; a shorter one would let the task outlive what it borrows.
    unsafe fn spawn<'scope, F>(finish: &'scope Self::Finish, task: F)
    where
        F: for<'t> FnOnce(Self::Token<'t>) + Send + 'scope;

    /// Does what [`Scope::future`] says.
    ///
    /// # Safety
    ///
    /// As for [`Self::spawn`].
    unsafe fn future<'scope, F, T>(finish: &'scope Self::Finish, f: F) -> Handle<T>
    where
        F: for<'t> FnOnce(Self::Token<'t>) -> T + Send + 'scope,
        T: Send + 'scope;

    /// Does what [`Scope::join`] says.
    fn join<A, B, RA, RB>(finish: &Self::Finish, a: A, b: B) -> (RA, RB)
    where
        A: for<'t> FnOnce(Self::Token<'t>) -> RA + Send,
        B: for<'t> FnOnce(Self::Token<'t>) -> RB + Send,
        RA: Send,
        RB: Send;
}

/// The inside of a [finish](Worker::finish): tasks spawned here end before it does.
///
/// It may be shared freely: with spawned tasks, which may spawn further ones,
/// with the closures of a join, even with threads that are no workers.
pub struct Scope<'scope, 'env: 'scope, S: Spawner> {
    finish: S::Finish,
    scope: PhantomData<&'scope mut &'scope ()>,
    env: PhantomData<&'env mut &'env ()>,
}

impl<'scope, 'env, S: Spawner> Scope<'scope, 'env, S> {
    /// A scope around what a scheduler keeps in it: for whoever implements
    /// [`Worker::finish`], who must wait for all spawned tasks before the
    /// scope ends.
    pub(crate) fn new(finish: S::Finish) -> Self {
        Scope {
            finish,
            scope: PhantomData,
            env: PhantomData,
        }
    }

    /// What the scheduler keeps in the scope.
    pub(crate) fn finish(&self) -> &S::Finish {
        &self.finish
    }

    /// Adds a task, which any worker may run from now on until the finish ends.
    ///
    /// The task may borrow what lives longer than the finish, and may spawn
    /// into the same scope:
    ///
    /// ```
    /// # use purloin::{Pool, Scope, Spawner, Worker};
    /// # use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
    /// struct Node { children: Vec<Node> }
    ///
    /// fn count<'s, S: Spawner>(scope: &'s Scope<'s, '_, S>, node: &'s Node, seen: &'s AtomicUsize) {
    ///     seen.fetch_add(1, Relaxed);
    ///     for child in &node.children {
    ///         scope.spawn(move |_| count(scope, child, seen));
    ///     }
    /// }
    /// # let pool = Pool::new()?;
    /// # let leaf = || Node { children: vec![] };
    /// # let root = Node { children: vec![leaf(), Node { children: vec![leaf(), leaf()] }] };
    /// # let seen = AtomicUsize::new(0);
    /// pool.run(|mut w| w.finish(|scope| count(scope, &root, &seen)));
    /// assert_eq!(seen.into_inner(), 5);
    /// # Ok::<(), purloin::BuildError>(())
    /// ```
    ///
    /// Do not hold a lock that the task takes. Where thousands of tasks wait to be
    /// run, and under the serial elision always, `spawn` itself runs it; on a thread that is
    /// no worker of the pool it waits until the workers have run some of them.
    pub fn spawn<F>(&'scope self, task: F)
    where
        F: for<'t> FnOnce(S::Token<'t>) + Send + 'scope,
    {
        // SAFETY: `'scope` is our own parameter, and invariant.
        unsafe { S::spawn(&self.finish, task) };
    }

    /// Adds a task with a result: [`Worker::future`] for what borrows from
    /// outside.
    ///
    /// ```
    /// # use purloin::{Pool, Worker};
    /// # let pool = Pool::new()?;
    /// let words = ["purloin", "steal"];
    /// let length = pool.run(|mut w| {
    ///     w.finish(|scope| {
    ///         let [a, b] = words.each_ref().map(|word| scope.future(|_| word.len()));
    ///         a.get() + b.get()
    ///     })
    /// });
    /// assert_eq!(length, 12);
    /// # Ok::<(), purloin::BuildError>(())
    /// ```
    pub fn future<F, T>(&'scope self, f: F) -> Handle<T>
    where
        F: for<'t> FnOnce(S::Token<'t>) -> T + Send + 'scope,
        T: Send + 'scope,
    {
        // SAFETY: `'scope` is our own parameter, and invariant.
        unsafe { S::future(&self.finish, f) }
    }

    /// Joins two closures inside the finish: [`Worker::join`] for where the
    /// token is lent to the finish.
    ///
    /// On a thread that is no worker of the pool it waits for an idle worker. If every
    /// worker is busy or waits for that thread, a spare worker takes its place after some
    /// milliseconds.
    pub fn join<A, B, RA, RB>(&self, a: A, b: B) -> (RA, RB)
    where
        A: for<'t> FnOnce(S::Token<'t>) -> RA + Send,
        B: for<'t> FnOnce(S::Token<'t>) -> RB + Send,
        RA: Send,
        RB: Send,
    {
        S::join(&self.finish, a, b)
    }
}
