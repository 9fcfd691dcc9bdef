//! Scopes: [`purloin::Pool::finish`] in rayon's form.

use std::cell::Cell;
use std::fmt;
use std::marker::PhantomData;
use std::ptr::null;

use purloin::Pool;
use purloin::implement::CallersSpan;

use crate::broadcast::BroadcastContext;
use crate::fifo::Fifos;
use crate::global::{global, with_current};
use crate::registry::{Registry, current};

/// Where tasks may be spawned that end before the scope does. See [`scope()`].
pub struct Scope<'scope> {
    base: Base<'scope>,
}

/// A [`Scope`] in which the tasks of a thread run from the oldest to the newest. See
/// [`scope_fifo()`].
pub struct ScopeFifo<'scope> {
    base: Base<'scope>,
    /// The tasks that each thread has spawned, oldest first.
    fifos: Fifos<Task<'scope>>,
}

type Task<'scope> = Box<dyn FnOnce(&ScopeFifo<'scope>) + Send + 'scope>;

/// Purloin's scope. Its address is set when the finish begins, before the program sees the scope.
struct Base<'scope> {
    scope: Cell<*const purloin::Scope<'scope, 'scope>>,
    num_threads: usize,
    /// Invariant in `'scope`.
    _scope: PhantomData<Cell<&'scope ()>>,
}

// SAFETY: `scope` is set before any other thread sees the value, and does not change afterwards. What
// it points to is `Sync`.
unsafe impl Sync for Base<'_> {}
// SAFETY: as above; nothing depends on the thread.
unsafe impl Send for Base<'_> {}

impl<'scope> Base<'scope> {
    fn new(registry: &Registry) -> Self {
        Base {
            scope: Cell::new(null()),
            num_threads: registry.num_threads(),
            _scope: PhantomData,
        }
    }

    /// Runs `body` in the finish, and waits for all tasks.
    fn run<R>(&self, pool: &Pool, body: impl FnOnce() -> R) -> R {
        pool.finish(|scope| {
            self.scope.set((&raw const *scope).cast());
            body()
        })
    }

    fn scope(&self) -> &'scope purloin::Scope<'scope, 'scope> {
        // SAFETY: `run` has set the pointer. The finish waits for the code that calls this, which is
        // its body or one of its tasks. Tasks that live for `'scope` outlive the finish, because
        // the program has chosen `'scope` outside of the call that began it. The reference is used
        // at once, for a spawn.
        unsafe { &*self.scope.get() }
    }
}

/// A pointer to a scope, in its tasks.
struct Ptr<T>(*const T);

// SAFETY: the scope is `Sync`, and lives until its tasks have ended.
unsafe impl<T: Sync> Send for Ptr<T> {}
// SAFETY: as above.
unsafe impl<T: Sync> Sync for Ptr<T> {}

impl<T> Ptr<T> {
    /// Returns the scope.
    ///
    /// # Safety
    ///
    /// The caller is a task of the scope.
    unsafe fn get(&self) -> &T {
        // SAFETY: the scope waits for its tasks.
        unsafe { &*self.0 }
    }
}

/// Runs `op` on a thread of the current pool, with a scope into which it may spawn tasks, and waits
/// for all of them. The tasks may borrow what outlives the call.
///
/// ```
/// let mut lengths = [0; 2];
/// let [a, b] = &mut lengths;
/// rayon_core::scope(|s| {
///     s.spawn(|_| *a = "steal".len());
///     s.spawn(|_| *b = "purloin".len());
/// });
/// assert_eq!(lengths, [5, 7]);
/// ```
///
/// # Panics
///
/// Panics if `op` or a task panics, after all tasks have ended.
pub fn scope<'scope, OP, R>(op: OP) -> R
where
    OP: FnOnce(&Scope<'scope>) -> R + Send,
    R: Send,
{
    match current() {
        Some(_) => in_place_scope(op),
        None => global().install(|| in_place_scope(op)),
    }
}

/// Like [`scope()`], but the tasks of a thread run from the oldest to the newest.
pub fn scope_fifo<'scope, OP, R>(op: OP) -> R
where
    OP: FnOnce(&ScopeFifo<'scope>) -> R + Send,
    R: Send,
{
    match current() {
        Some(_) => in_place_scope_fifo(op),
        None => global().install(|| in_place_scope_fifo(op)),
    }
}

/// Like [`scope()`], but `op` runs on the calling thread, and need not be `Send`.
pub fn in_place_scope<'scope, OP, R>(op: OP) -> R
where
    OP: FnOnce(&Scope<'scope>) -> R,
{
    with_current(|pool, registry| scope_in(pool, registry, op))
}

/// Like [`scope_fifo()`], but `op` runs on the calling thread, and need not be `Send`.
pub fn in_place_scope_fifo<'scope, OP, R>(op: OP) -> R
where
    OP: FnOnce(&ScopeFifo<'scope>) -> R,
{
    with_current(|pool, registry| scope_fifo_in(pool, registry, op))
}

pub(crate) fn scope_in<'scope, R>(
    pool: &Pool,
    registry: &Registry,
    op: impl FnOnce(&Scope<'scope>) -> R,
) -> R {
    let base = Base::new(registry);
    let scope = Scope { base };
    scope.base.run(pool, || op(&scope))
}

pub(crate) fn scope_fifo_in<'scope, R>(
    pool: &Pool,
    registry: &Registry,
    op: impl FnOnce(&ScopeFifo<'scope>) -> R,
) -> R {
    let base = Base::new(registry);
    let fifos = Fifos::new(base.num_threads);
    let scope = ScopeFifo { base, fifos };
    scope.base.run(pool, || op(&scope))
}

impl<'scope> Scope<'scope> {
    /// Spawns a task, which any thread of the pool may run until the scope ends.
    pub fn spawn<BODY>(&self, body: BODY)
    where
        BODY: FnOnce(&Scope<'scope>) + Send + 'scope,
    {
        let this = Ptr(self);
        self.base.scope().spawn(move |_| {
            let this = &this;
            // SAFETY: this is a task of the scope.
            body(unsafe { this.get() });
        });
    }

    /// Lets each thread of the pool run `body` once before the scope ends.
    pub fn spawn_broadcast<BODY>(&self, body: BODY)
    where
        BODY: Fn(&Scope<'scope>, BroadcastContext<'_>) + Send + Sync + 'scope,
    {
        let this = Ptr(self);
        self.base.scope().spawn_broadcast(move |_| {
            let this = &this;
            // SAFETY: this is a task of the scope.
            BroadcastContext::with(|context| body(unsafe { this.get() }, context));
        });
    }
}

impl<'scope> ScopeFifo<'scope> {
    /// Spawns a task, which any thread of the pool may run until the scope ends.
    pub fn spawn_fifo<BODY>(&self, body: BODY)
    where
        BODY: FnOnce(&ScopeFifo<'scope>) + Send + 'scope,
    {
        let this = Ptr(self);
        let Some(index) = current().map(|worker| worker.list() % self.base.num_threads) else {
            return self.base.scope().spawn(move |_| {
                let this = &this;
                // SAFETY: this is a task of the scope.
                body(unsafe { this.get() });
            });
        };
        let span = CallersSpan::current();
        let task = move |scope: &ScopeFifo<'scope>| span.run(|| body(scope));
        self.fifos.push(index, Box::new(task));
        self.base.scope().spawn(move |_| {
            let this = &this;
            // SAFETY: this is a task of the scope.
            let scope: &ScopeFifo<'scope> = unsafe { this.get() };
            if let Some(body) = scope.fifos.pop(index) {
                body(scope);
            }
        });
    }

    /// Lets each thread of the pool run `body` once before the scope ends.
    pub fn spawn_broadcast<BODY>(&self, body: BODY)
    where
        BODY: Fn(&ScopeFifo<'scope>, BroadcastContext<'_>) + Send + Sync + 'scope,
    {
        let this = Ptr(self);
        self.base.scope().spawn_broadcast(move |_| {
            let this = &this;
            // SAFETY: this is a task of the scope.
            BroadcastContext::with(|context| body(unsafe { this.get() }, context));
        });
    }
}

impl fmt::Debug for Scope<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Scope").finish_non_exhaustive()
    }
}

impl fmt::Debug for ScopeFifo<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ScopeFifo")
            .field("num_threads", &self.base.num_threads)
            .finish_non_exhaustive()
    }
}
