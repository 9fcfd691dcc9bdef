//! The adapter that turns a peer into a [`Worker`], so that every kernel runs under it.
//!
//! A peer is a library that people would use instead of Purloin. For each peer, a type implements
//! [`Peer`]: a join, and the context that tasks receive. If tasks can be spawned into scopes of the
//! peer, the type also implements [`SpawningPeer`]. [`Token`] and [`PeerSpawner`] add the rest.
//!
//! This is a crate of its own because not every peer builds with the toolchain of this workspace:
//! `purloin bench` contains some peers, and `peers/forte` is a program for another one.

use std::cell::OnceCell;
use std::marker::PhantomData;
use std::ops::ControlFlow;

use purloin::implement::{CancelState, in_pieces};
use purloin::{Handle, IntoIterations, Scope, Spawner, Worker};

/// A library for joins, which runs a kernel on the threads of its own pool.
pub trait Peer: Sized + 'static {
    /// The value that the peer passes to every task: a scope in chili, nothing in rayon.
    type Context<'t>;

    /// The spawner of [`Worker::finish`]: [`PeerSpawner<Self>`], or [`purloin::Serial`] if the peer
    /// has no scopes.
    type Spawner: Spawner;

    /// Runs both closures, possibly in parallel.
    fn join<A, B, RA, RB>(context: &mut Self::Context<'_>, a: A, b: B) -> (RA, RB)
    where
        A: for<'t> FnOnce(Self::Context<'t>) -> RA + Send,
        B: for<'t> FnOnce(Self::Context<'t>) -> RB + Send,
        RA: Send,
        RB: Send;

    /// Lends the context to `f`.
    fn lend<R>(
        context: &mut Self::Context<'_>,
        f: impl for<'t> FnOnce(Self::Context<'t>) -> R,
    ) -> R;

    /// Runs `body` and every task that it spawns: [`finish_in_scope`], or the finish of
    /// [`purloin::Serial`].
    fn finish<'env, F, R>(body: F) -> R
    where
        F: for<'scope> FnOnce(&'scope Scope<'scope, 'env, Self::Spawner>) -> R;

    /// Runs a parallel loop: [`Worker::run_loop`]. The default splits it into [`LOOP_PIECES`] pieces
    /// and joins them.
    fn run_loop<I, A, N, F, C>(
        context: &mut Self::Context<'_>,
        iterations: I,
        init: N,
        step: F,
        combine: C,
    ) -> A
    where
        I: IntoIterations,
        N: Fn() -> A + Sync,
        F: for<'t> Fn(Self::Context<'t>, A, I::Item) -> ControlFlow<A, A> + Sync,
        C: Fn(A, A) -> A + Sync,
        A: Send,
    {
        let step = |token: Token<'_, Self>, sum, item| step(token.context, sum, item);
        Self::lend(context, |context| {
            in_pieces(
                &mut Token::new(context),
                iterations,
                LOOP_PIECES,
                init,
                step,
                combine,
            )
        })
    }

    /// Makes a future of `f`. The default runs `f` at once, for peers without futures.
    fn future<F, T>(context: &mut Self::Context<'_>, f: F) -> Handle<T>
    where
        F: for<'t> FnOnce(Self::Context<'t>) -> T + Send + 'static,
        T: Send + 'static,
    {
        purloin::implement::ready(|| Self::lend(context, f))
    }
}

/// The number of pieces into which a loop is cut under a peer that does not split loops on demand.
pub const LOOP_PIECES: usize = 256;

/// A peer with scopes: tasks spawned into a scope end before the scope does.
pub trait SpawningPeer: Peer<Spawner = PeerSpawner<Self>> {
    /// The peer's scope. If its type has a lifetime, it is erased to `'static`.
    type Scope: Sync;

    /// Opens a scope, calls `body` with it on this thread, and waits for every task spawned into
    /// the scope.
    fn scope<R>(body: impl FnOnce(&Self::Scope) -> R) -> R;

    /// Spawns `task` into the scope.
    ///
    /// # Safety
    ///
    /// `scope` comes from [`Self::scope`], and everything that `task` borrows lives until that
    /// scope has waited for its tasks.
    unsafe fn spawn<'scope>(
        scope: &'scope Self::Scope,
        task: impl for<'t> FnOnce(Self::Context<'t>) + Send + 'scope,
    );

    /// Makes a future of `f` that ends before the scope does. The default runs `f` at once.
    ///
    /// # Safety
    ///
    /// `scope` comes from [`Self::scope`], and everything that `f` borrows lives until that scope
    /// has waited for its tasks.
    unsafe fn future_in_scope<'scope, F, T>(_: &'scope Self::Scope, f: F) -> Handle<T>
    where
        F: for<'t> FnOnce(Self::Context<'t>) -> T + Send + 'scope,
        T: Send + 'scope,
    {
        purloin::implement::ready(|| Self::with_context(f))
    }

    /// Calls `f` with the context of the worker that runs this thread.
    fn with_context<R>(f: impl for<'t> FnOnce(Self::Context<'t>) -> R) -> R;
}

/// Implements [`Peer::finish`] by a scope of the peer.
pub fn finish_in_scope<'env, P: SpawningPeer, F, R>(body: F) -> R
where
    F: for<'scope> FnOnce(&'scope Scope<'scope, 'env, PeerSpawner<P>>) -> R,
{
    // Declared outside the peer's scope, because tasks use this scope until the peer's scope has
    // waited for them.
    let scope = OnceCell::new();
    P::scope(|inner| {
        body(scope.get_or_init(|| {
            purloin::implement::scope(Finish(std::ptr::from_ref(inner), CancelState::new()))
        }))
    })
}

/// A worker of the peer `P`.
pub struct Token<'t, P: Peer> {
    context: P::Context<'t>,
}

impl<'t, P: Peer> Token<'t, P> {
    /// Wraps the context of a task.
    #[inline(always)]
    pub fn new(context: P::Context<'t>) -> Self {
        Token { context }
    }
}

impl<P: Peer> Worker for Token<'_, P> {
    type Token<'t> = Token<'t, P>;
    type Spawner = P::Spawner;

    #[inline(always)]
    fn join<A, B, RA, RB>(&mut self, a: A, b: B) -> (RA, RB)
    where
        A: for<'t> FnOnce(Token<'t, P>) -> RA + Send,
        B: for<'t> FnOnce(Token<'t, P>) -> RB + Send,
        RA: Send,
        RB: Send,
    {
        P::join(
            &mut self.context,
            move |context| a(Token::new(context)),
            move |context| b(Token::new(context)),
        )
    }

    fn finish<'env, F, R>(&mut self, body: F) -> R
    where
        F: for<'scope> FnOnce(&'scope Scope<'scope, 'env, P::Spawner>) -> R,
    {
        P::finish(body)
    }

    fn lend<R>(&mut self, f: impl for<'t> FnOnce(Token<'t, P>) -> R) -> R {
        P::lend(&mut self.context, |context| f(Token::new(context)))
    }

    fn run_loop<I, A, N, F, C>(&mut self, iterations: I, init: N, step: F, combine: C) -> A
    where
        I: IntoIterations,
        N: Fn() -> A + Sync,
        F: for<'t> Fn(Token<'t, P>, A, I::Item) -> ControlFlow<A, A> + Sync,
        C: Fn(A, A) -> A + Sync,
        A: Send,
    {
        let step = |context: P::Context<'_>, sum, item| step(Token::new(context), sum, item);
        P::run_loop(&mut self.context, iterations, init, step, combine)
    }

    fn future<F, T>(&mut self, f: F) -> Handle<T>
    where
        F: for<'t> FnOnce(Token<'t, P>) -> T + Send + 'static,
        T: Send + 'static,
    {
        P::future(&mut self.context, |context| f(Token::new(context)))
    }

    fn split_hint(&mut self, _: usize) -> usize {
        unreachable!("only the loops of Purloin's own schedulers call this")
    }
}

/// Spawns into scopes of the peer `P`.
pub struct PeerSpawner<P>(PhantomData<P>);

/// A pointer to a scope of a peer, and whether the scope is cancelled.
pub struct Finish<P: SpawningPeer>(*const P::Scope, CancelState);

// SAFETY: a finish gives access to a `&P::Scope` only, and `P::Scope` is `Sync`.
unsafe impl<P: SpawningPeer> Sync for Finish<P> {}

impl<P: SpawningPeer> Finish<P> {
    fn get(&self) -> &P::Scope {
        // SAFETY: `finish_in_scope` made the pointer. It keeps the peer's scope open until every
        // task that can reach this finish has ended.
        unsafe { &*self.0 }
    }
}

impl<P: SpawningPeer> Spawner for PeerSpawner<P> {
    type Token<'t> = Token<'t, P>;
    type Finish = Finish<P>;

    fn cancelled(finish: &Finish<P>) -> &CancelState {
        &finish.1
    }

    unsafe fn spawn<'scope, F>(finish: &'scope Finish<P>, task: F)
    where
        F: for<'t> FnOnce(Token<'t, P>) + Send + 'scope,
    {
        let task = move |context: P::Context<'_>| {
            if !finish.1.is_set() {
                task(Token::new(context));
            }
        };
        // SAFETY: the caller guarantees that everything that the task borrows outlives the finish,
        // and `finish_in_scope` ends the finish only after the peer's scope.
        unsafe { P::spawn(finish.get(), task) };
    }

    unsafe fn future<'scope, F, T>(finish: &'scope Finish<P>, f: F) -> Handle<T>
    where
        F: for<'t> FnOnce(Token<'t, P>) -> T + Send + 'scope,
        T: Send + 'scope,
    {
        // SAFETY: the caller guarantees that everything that `f` borrows outlives the finish, and
        // `finish_in_scope` ends the finish only after the peer's scope.
        unsafe { P::future_in_scope(finish.get(), |context| f(Token::new(context))) }
    }

    fn join<A, B, RA, RB>(_: &Finish<P>, a: A, b: B) -> (RA, RB)
    where
        A: for<'t> FnOnce(Token<'t, P>) -> RA + Send,
        B: for<'t> FnOnce(Token<'t, P>) -> RB + Send,
        RA: Send,
        RB: Send,
    {
        P::with_context(|context| Token::new(context).join(a, b))
    }
}
