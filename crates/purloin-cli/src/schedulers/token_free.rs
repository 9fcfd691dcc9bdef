//! Purloin's token-free functions as a [`Worker`].

use std::cell::OnceCell;
use std::marker::PhantomData;

use purloin::{Handle, IntoIterations, ReturnBarrier, Scope, Spawner, Worker};

/// Joins by [`purloin::join`]. It exists on workers only.
pub struct Free(NotSend);

/// Keeps a [`Free`] on its worker's thread.
type NotSend = PhantomData<*const ()>;

impl Free {
    /// Called on a worker, where the token-free functions run on the spot.
    pub fn on_a_worker() -> Free {
        Free(PhantomData)
    }
}

/// A finish of the default scheduler.
pub struct Finish(*const <ReturnBarrier as Spawner>::Finish);

// SAFETY: what it points to outlives the finish and is `Sync`.
unsafe impl Sync for Finish {}

/// A closure that is called on the thread that made it.
struct OnTheSpot<F>(F);

// SAFETY: `purloin::finish` sends its body nowhere if it is called on a
// worker, as every call by `Free` is.
unsafe impl<F> Send for OnTheSpot<F> {}

impl<F: FnOnce(Finish)> OnTheSpot<F> {
    fn call(self, finish: Finish) {
        (self.0)(finish);
    }
}

impl Worker for Free {
    type Token<'t> = Free;
    type Spawner = Free;

    #[inline(always)]
    fn join<A, B, RA, RB>(&mut self, a: A, b: B) -> (RA, RB)
    where
        A: for<'t> FnOnce(Free) -> RA + Send,
        B: for<'t> FnOnce(Free) -> RB + Send,
        RA: Send,
        RB: Send,
    {
        purloin::join(
            move || a(Free::on_a_worker()),
            move || b(Free::on_a_worker()),
        )
    }

    fn finish<'env, F, R>(&mut self, body: F) -> R
    where
        F: for<'scope> FnOnce(&'scope Scope<'scope, 'env, Free>) -> R,
    {
        // Outside the finish, as its tasks use the scope until it ends.
        let scope = OnceCell::new();
        let mut result = None;
        let body = OnTheSpot(|finish| {
            result = Some(body(
                scope.get_or_init(|| purloin::implement::scope(finish)),
            ));
        });
        purloin::finish(move |scope| body.call(Finish(purloin::implement::finish_of(scope))));
        result.expect("the body has run")
    }

    fn lend<R>(&mut self, f: impl for<'t> FnOnce(Free) -> R) -> R {
        f(Free::on_a_worker())
    }

    fn map_reduce_with<I, M, C, T>(&mut self, iterations: I, map: M, combine: C) -> Option<T>
    where
        I: IntoIterations,
        M: for<'t> Fn(Free, I::Item) -> T + Sync,
        C: Fn(T, T) -> T + Sync,
        T: Send,
    {
        let map = |item| map(Free::on_a_worker(), item);
        purloin::map_reduce(iterations, map, combine)
    }

    fn future<F, T>(&mut self, f: F) -> Handle<T>
    where
        F: for<'t> FnOnce(Free) -> T + Send + 'static,
        T: Send + 'static,
    {
        purloin::future(|| f(Free::on_a_worker()))
    }

    fn split_hint(&mut self, _: usize) -> usize {
        unreachable!("purloin::map_reduce splits its loops itself")
    }
}

impl Spawner for Free {
    type Token<'t> = Free;
    type Finish = Finish;

    unsafe fn spawn<'scope, F>(finish: &'scope Finish, task: F)
    where
        F: for<'t> FnOnce(Free) + Send + 'scope,
    {
        // SAFETY: see `Finish`; and the inner scope lives longer than ours,
        // whose lifetime the caller vouches for.
        unsafe { ReturnBarrier::spawn(&*finish.0, |_| task(Free::on_a_worker())) };
    }

    unsafe fn future<'scope, F, T>(finish: &'scope Finish, f: F) -> Handle<T>
    where
        F: for<'t> FnOnce(Free) -> T + Send + 'scope,
        T: Send + 'scope,
    {
        // SAFETY: see `Finish`; and the inner scope lives longer than ours,
        // whose lifetime the caller vouches for.
        unsafe { ReturnBarrier::future(&*finish.0, |_| f(Free::on_a_worker())) }
    }

    fn join<A, B, RA, RB>(_: &Finish, a: A, b: B) -> (RA, RB)
    where
        A: for<'t> FnOnce(Free) -> RA + Send,
        B: for<'t> FnOnce(Free) -> RB + Send,
        RA: Send,
        RB: Send,
    {
        Worker::join(&mut Free::on_a_worker(), a, b)
    }
}
