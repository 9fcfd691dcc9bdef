//! The peer rayon: joins and scopes by rayon-core, loops by rayon's parallel iterators.

use std::ops::ControlFlow;

use purloin::implement::in_order;
use purloin::{IntoIterations, Iterations, Scope};
use purloin_kernels::{Answer, Instance};
use purloin_peer::{Peer, PeerSpawner, SpawningPeer, Token, finish_in_scope};
use rayon::iter::ParallelIterator;

use super::{Description, Kernels, Runner, STACK_SIZE, Start};

pub const RAYON: Description = Description {
    name: "rayon",
    about: "peer: the same source over rayon::join",
    is_peer: true,
    has_workers: true,
    kernels: Kernels::All,
    start: Start::Threads(|workers, _| {
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(workers)
            .stack_size(STACK_SIZE)
            .build();
        match pool {
            Ok(pool) => Ok(Box::new(pool)),
            Err(error) => Err(error.to_string()),
        }
    }),
    profile: None,
    options: &[],
};

impl Runner for rayon::ThreadPool {
    fn run(&self, instance: &mut Instance) -> Answer {
        self.install(|| instance.run(Token::<Rayon>::new(())))
    }
}

struct Rayon;

impl Peer for Rayon {
    // Tasks get no context, because rayon finds the worker of a thread in a thread-local variable.
    type Context<'t> = ();
    type Spawner = PeerSpawner<Rayon>;

    #[inline(always)]
    fn join<A, B, RA, RB>(_: &mut (), a: A, b: B) -> (RA, RB)
    where
        A: FnOnce(()) -> RA + Send,
        B: FnOnce(()) -> RB + Send,
        RA: Send,
        RB: Send,
    {
        rayon::join(move || a(()), move || b(()))
    }

    fn lend<R>(_: &mut (), f: impl FnOnce(()) -> R) -> R {
        f(())
    }

    fn finish<'env, F, R>(body: F) -> R
    where
        F: for<'scope> FnOnce(&'scope Scope<'scope, 'env, PeerSpawner<Rayon>>) -> R,
    {
        finish_in_scope::<Rayon, _, _>(body)
    }

    /// Splits the loop as rayon's own parallel iterators do.
    fn run_loop<I, A, N, F, C>(_: &mut (), iterations: I, init: N, step: F, combine: C) -> A
    where
        I: IntoIterations,
        N: Fn() -> A + Sync,
        F: Fn((), A, I::Item) -> ControlFlow<A, A> + Sync,
        C: Fn(A, A) -> A + Sync,
        A: Send,
    {
        let halve = |all: I::Iterations| match all.remaining() {
            0 | 1 => (all, None),
            len => {
                let (front, back) = all.split_at(len / 2);
                (front, Some(back))
            }
        };
        rayon::iter::split(iterations.into_iterations(), halve)
            .map(|piece| in_order(piece, init(), |sum, item| step((), sum, item)))
            .reduce_with(&combine)
            .unwrap_or_else(&init)
    }
}

impl SpawningPeer for Rayon {
    type Scope = rayon::Scope<'static>;

    fn scope<R>(body: impl FnOnce(&Self::Scope) -> R) -> R {
        rayon::in_place_scope(|scope| {
            // SAFETY: the lifetime limits the borrows of tasks. Only `spawn` uses the scope, and it
            // restores the true lifetime.
            body(unsafe { &*std::ptr::from_ref(scope).cast::<Self::Scope>() })
        })
    }

    unsafe fn spawn<'scope>(scope: &'scope Self::Scope, task: impl FnOnce(()) + Send + 'scope) {
        // SAFETY: rayon's scope waits for the task, and the caller guarantees that everything that
        // the task borrows lives until then.
        let scope = unsafe { &*std::ptr::from_ref(scope).cast::<rayon::Scope<'scope>>() };
        scope.spawn(|_| task(()));
    }

    fn with_context<R>(f: impl FnOnce(()) -> R) -> R {
        f(())
    }
}
