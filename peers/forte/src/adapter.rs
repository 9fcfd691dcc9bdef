//! Adapts forte to `Worker`: its joins and scopes. It has no loops of its own, so loops are cut into
//! pieces, and futures run at once.

use forte::Worker;
use purloin::Scope;
use purloin_peer::{Peer, PeerSpawner, SpawningPeer, finish_in_scope};

pub struct Forte;

impl Peer for Forte {
    type Context<'t> = &'t Worker;
    type Spawner = PeerSpawner<Forte>;

    #[inline(always)]
    fn join<A, B, RA, RB>(worker: &mut &Worker, a: A, b: B) -> (RA, RB)
    where
        A: for<'t> FnOnce(&'t Worker) -> RA + Send,
        B: for<'t> FnOnce(&'t Worker) -> RB + Send,
        RA: Send,
        RB: Send,
    {
        worker.join(a, b)
    }

    fn lend<R>(worker: &mut &Worker, f: impl for<'t> FnOnce(&'t Worker) -> R) -> R {
        f(worker)
    }

    fn finish<'env, F, R>(body: F) -> R
    where
        F: for<'scope> FnOnce(&'scope Scope<'scope, 'env, PeerSpawner<Forte>>) -> R,
    {
        finish_in_scope::<Forte, _, _>(body)
    }
}

impl SpawningPeer for Forte {
    type Scope = forte::Scope<'static, 'static>;

    fn scope<R>(body: impl FnOnce(&Self::Scope) -> R) -> R {
        forte::scope(|scope| {
            // SAFETY: the lifetimes limit the borrows of tasks. Only `spawn` uses the scope, and it
            // restores the true lifetime.
            body(unsafe { &*std::ptr::from_ref(scope).cast::<Self::Scope>() })
        })
    }

    unsafe fn spawn<'scope>(
        scope: &'scope Self::Scope,
        task: impl for<'t> FnOnce(&'t Worker) + Send + 'scope,
    ) {
        // SAFETY: forte's scope waits for the task, and the caller guarantees that everything that
        // the task borrows lives until then.
        let scope = unsafe { &*std::ptr::from_ref(scope).cast::<forte::Scope<'scope, 'scope>>() };
        scope.spawn(|worker: &Worker| task(worker));
    }

    fn with_context<R>(f: impl for<'t> FnOnce(&'t Worker) -> R) -> R {
        Worker::with_current(|worker| f(worker.expect("tasks run on workers of forte")))
    }
}
