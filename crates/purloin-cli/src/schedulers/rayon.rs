//! The peer rayon as a [`Worker`].

use std::cell::OnceCell;

use purloin::{Handle, IntoIterations, Iterations, Scope, Spawner, Worker};
use rayon::iter::ParallelIterator;

/// Joins by [`rayon::join`]. It exists inside a pool of rayon's only.
pub struct Rayon;

/// A pool of rayon's.
pub fn pool(workers: usize) -> Result<rayon::ThreadPool, rayon::ThreadPoolBuildError> {
    rayon::ThreadPoolBuilder::new()
        .num_threads(workers)
        .stack_size(super::STACK_SIZE)
        .build()
}

/// A scope of rayon's, which waits for its tasks as a finish does.
pub struct Finish(*const rayon::Scope<'static>);

// SAFETY: what it points to outlives the finish and is `Sync`.
unsafe impl Sync for Finish {}

impl Worker for Rayon {
    type Token<'t> = Rayon;
    type Spawner = Rayon;

    #[inline(always)]
    fn join<A, B, RA, RB>(&mut self, a: A, b: B) -> (RA, RB)
    where
        A: for<'t> FnOnce(Rayon) -> RA + Send,
        B: for<'t> FnOnce(Rayon) -> RB + Send,
        RA: Send,
        RB: Send,
    {
        rayon::join(move || a(Rayon), move || b(Rayon))
    }

    fn finish<'env, F, R>(&mut self, body: F) -> R
    where
        F: for<'scope> FnOnce(&'scope Scope<'scope, 'env, Rayon>) -> R,
    {
        // Outside rayon's scope, as tasks use ours until that ends.
        let scope = OnceCell::new();
        rayon::in_place_scope(|inner| {
            let finish = Finish(std::ptr::from_ref(inner).cast());
            body(scope.get_or_init(|| purloin::implement::scope(finish)))
        })
    }

    fn lend<R>(&mut self, f: impl for<'t> FnOnce(Rayon) -> R) -> R {
        f(Rayon)
    }

    /// As rayon's own parallel iterators do it.
    fn map_reduce_with<I, M, C, T>(&mut self, iterations: I, map: M, combine: C) -> Option<T>
    where
        I: IntoIterations,
        M: for<'t> Fn(Rayon, I::Item) -> T + Sync,
        C: Fn(T, T) -> T + Sync,
        T: Send,
    {
        let halve = |all: I::Iterations| match all.remaining() {
            0 | 1 => (all, None),
            len => {
                let (front, back) = all.split_at(len / 2);
                (front, Some(back))
            }
        };
        rayon::iter::split(iterations.into_iterations(), halve)
            .filter_map(|piece| {
                let results = piece.in_order().map(|item| map(Rayon, item));
                results.reduce(&combine)
            })
            .reduce_with(&combine)
    }

    /// rayon has no futures; they are run at once.
    fn future<F, T>(&mut self, f: F) -> Handle<T>
    where
        F: for<'t> FnOnce(Rayon) -> T + Send + 'static,
        T: Send + 'static,
    {
        purloin::implement::ready(|| f(Rayon))
    }

    fn split_hint(&mut self, _: usize) -> usize {
        unreachable!("rayon splits its loops itself")
    }
}

impl Spawner for Rayon {
    type Token<'t> = Rayon;
    type Finish = Finish;

    unsafe fn spawn<'scope, F>(finish: &'scope Finish, task: F)
    where
        F: for<'t> FnOnce(Rayon) + Send + 'scope,
    {
        // SAFETY: rayon's scope waits for the task, as our finish promises, so
        // its lifetime may be any that the finish outlives.
        let scope = unsafe { &*finish.0.cast::<rayon::Scope<'scope>>() };
        scope.spawn(|_| task(Rayon));
    }

    unsafe fn future<'scope, F, T>(_: &'scope Finish, f: F) -> Handle<T>
    where
        F: for<'t> FnOnce(Rayon) -> T + Send + 'scope,
        T: Send + 'scope,
    {
        purloin::implement::ready(|| f(Rayon))
    }

    fn join<A, B, RA, RB>(_: &Finish, a: A, b: B) -> (RA, RB)
    where
        A: for<'t> FnOnce(Rayon) -> RA + Send,
        B: for<'t> FnOnce(Rayon) -> RB + Send,
        RA: Send,
        RB: Send,
    {
        Worker::join(&mut Rayon, a, b)
    }
}
