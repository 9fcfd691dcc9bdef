//! Purloin's token-free functions ([`purloin::join`] and so on), adapted like a peer. Kernels call
//! them under `return-barrier:api=free`.

use std::marker::PhantomData;
use std::ops::ControlFlow;

use purloin::prelude::*;
use purloin::{Handle, IntoIterations, Pool, ReturnBarrier, Scope, Spawner, Stats, Times};
use purloin_kernels::{Answer, Instance};
use purloin_peer::{Peer, PeerSpawner, SpawningPeer, Token, finish_in_scope};

use super::Runner;

/// A pool whose kernels call the token-free functions.
pub struct TokenFree(pub Pool);

impl Runner for TokenFree {
    fn run(&self, instance: &mut Instance) -> Answer {
        self.0
            .run(|_| instance.run(Token::<Free>::new(OnWorker::here())))
    }

    fn stats(&self) -> Option<Stats> {
        Runner::stats(&self.0)
    }

    fn times(&self) -> Option<Times> {
        Runner::times(&self.0)
    }
}

struct Free;

/// Proof that this thread is a worker of a pool, where the token-free functions run in place.
///
/// The pointer makes the type `!Send`.
struct OnWorker(PhantomData<*const ()>);

impl OnWorker {
    /// Returns the proof. Called on a worker only.
    fn here() -> OnWorker {
        OnWorker(PhantomData)
    }
}

impl Peer for Free {
    type Context<'t> = OnWorker;
    type Spawner = PeerSpawner<Free>;

    #[inline(always)]
    fn join<A, B, RA, RB>(_: &mut OnWorker, a: A, b: B) -> (RA, RB)
    where
        A: FnOnce(OnWorker) -> RA + Send,
        B: FnOnce(OnWorker) -> RB + Send,
        RA: Send,
        RB: Send,
    {
        purloin::join(move || a(OnWorker::here()), move || b(OnWorker::here()))
    }

    fn lend<R>(_: &mut OnWorker, f: impl FnOnce(OnWorker) -> R) -> R {
        f(OnWorker::here())
    }

    fn finish<'env, F, R>(body: F) -> R
    where
        F: for<'scope> FnOnce(&'scope Scope<'scope, 'env, PeerSpawner<Free>>) -> R,
    {
        finish_in_scope::<Free, _, _>(body)
    }

    /// After a step that breaks, the rest of its run does nothing.
    fn run_loop<I, A, N, F, C>(_: &mut OnWorker, iterations: I, init: N, step: F, combine: C) -> A
    where
        I: IntoIterations,
        N: Fn() -> A + Sync,
        F: Fn(OnWorker, A, I::Item) -> ControlFlow<A, A> + Sync,
        C: Fn(A, A) -> A + Sync,
        A: Send,
    {
        let sum = iterations.into_par().fold(
            || ControlFlow::Continue(init()),
            |sum, item| match sum {
                ControlFlow::Continue(sum) => step(OnWorker::here(), sum, item),
                ControlFlow::Break(_) => sum,
            },
            |left, right| ControlFlow::Continue(combine(value(left), value(right))),
        );
        value(sum)
    }

    fn future<F, T>(_: &mut OnWorker, f: F) -> Handle<T>
    where
        F: FnOnce(OnWorker) -> T + Send + 'static,
        T: Send + 'static,
    {
        purloin::future(|| f(OnWorker::here()))
    }
}

/// Returns the value in either case.
fn value<A>(sum: ControlFlow<A, A>) -> A {
    match sum {
        ControlFlow::Continue(sum) | ControlFlow::Break(sum) => sum,
    }
}

impl SpawningPeer for Free {
    type Scope = <ReturnBarrier as Spawner>::Finish;

    fn scope<R>(body: impl FnOnce(&Self::Scope) -> R) -> R {
        let mut result = None;
        let body = InPlace(|scope: &Self::Scope| result = Some(body(scope)));
        purloin::finish(move |scope| body.call(purloin::implement::finish_of(scope)));
        result.expect("the body has run")
    }

    unsafe fn spawn<'scope>(
        scope: &'scope Self::Scope,
        task: impl FnOnce(OnWorker) + Send + 'scope,
    ) {
        // SAFETY: the finish waits for the task, and the caller guarantees that everything that the
        // task borrows lives until then.
        unsafe { ReturnBarrier::spawn(scope, |_| task(OnWorker::here())) };
    }

    unsafe fn future_in_scope<'scope, F, T>(scope: &'scope Self::Scope, f: F) -> Handle<T>
    where
        F: FnOnce(OnWorker) -> T + Send + 'scope,
        T: Send + 'scope,
    {
        // SAFETY: the finish waits for the future's task, and the caller guarantees that everything
        // that `f` borrows lives until then.
        unsafe { ReturnBarrier::future(scope, |_| f(OnWorker::here())) }
    }

    fn with_context<R>(f: impl FnOnce(OnWorker) -> R) -> R {
        f(OnWorker::here())
    }
}

/// A closure that claims to be `Send` because it stays on the thread that made it.
struct InPlace<F>(F);

// SAFETY: `purloin::finish` calls its body on the calling thread if that thread is a worker, and an
// `OnWorker` exists only on workers. So the closure stays on its thread.
unsafe impl<F> Send for InPlace<F> {}

impl<F> InPlace<F> {
    fn call<A>(self, argument: A)
    where
        F: FnOnce(A),
    {
        (self.0)(argument);
    }
}
