//! Shared handles: results that several tasks need.
//!
//! If a worker of the task's pool needs the result of a task that no worker has begun, it runs the
//! task. Otherwise the first worker waits in the way of [`Handle::get`]. All other threads sleep,
//! and the end of the task wakes them. They cannot help the worker that runs the task, because it
//! knows only one worker that waits for it.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{Arc, OnceLock};
use std::task::{Wake, Waker};
use std::thread;

use crate::asynchronous::wake;
use crate::handle::{Handle, Inner, Promise};
use crate::pool::{keep_orphan, thread_waker};
use crate::runtime::ReturnBarrier;
use crate::sync::{AtomicBool, AtomicUsize, Mutex, Ordering, lock};
use crate::unwind::Panic;
use crate::worker::{Cancelled, Scope, SendTask, Spawner};

/// The result of a task that several others need, available now or later, from [`Handle::share`].
///
/// Clones refer to the same result. A node of a dependency graph, for example, is a future that
/// gets the shared handles of the nodes on which it depends:
///
/// ```
/// use purloin::{Pool, Worker};
///
/// let pool = Pool::new()?;
/// let total = pool.run(|mut w| {
///     let base = w.future(|_| 10).share();
///     let (left, right) = (base.clone(), base);
///     let left = w.future(move |_| left.get() + 1);
///     let right = w.future(move |_| right.get() * 2);
///     w.get(left) + w.get(right)
/// });
/// assert_eq!(total, 31);
/// # Ok::<(), purloin::BuildError>(())
/// ```
///
/// In a scope, a task can begin [after](Scope::after) those whose results it needs. Then no worker
/// waits for them.
///
/// Source: Channel (channel-based futures), with one receiver that keeps the message for all.
pub struct SharedHandle<T>(Arc<State<T>>);

struct State<T> {
    /// The promised result; none if the result was there from the start.
    promise: Option<Promise<T>>,
    /// The result, once a thread has taken it from the promise.
    result: OnceLock<Result<T, Panicked>>,
    /// The end of the task, once someone waits for it.
    end: OnceLock<Arc<TaskEnd>>,
}

/// The panic of the task, until a thread continues it.
type Panicked = Mutex<Option<Panic>>;

// SAFETY: threads that share this value share the result, so `T` is `Sync`; the last of them drops
// it, so `T` is `Send`. One thread alone takes the result from the promise, as `OnceLock` says.
unsafe impl<T: Send + Sync> Sync for State<T> {}

/// The end of a task, which wakes those that wait for it: the watcher of its channel.
pub(crate) struct TaskEnd {
    /// The address of the scope in which tasks can begin after this end, or 0.
    scope: usize,
    /// None once the end has come.
    waiting: Mutex<Option<Waiting>>,
    /// Whether a thread helps the worker that runs the task.
    is_helped: AtomicBool,
}

#[derive(Default)]
struct Waiting {
    /// Of threads and of executors.
    wakers: Vec<Waker>,
    /// The tasks that begin after this end.
    successors: Vec<Arc<Successor>>,
}

impl TaskEnd {
    pub(crate) fn in_scope(scope: usize) -> Arc<TaskEnd> {
        Arc::new(TaskEnd {
            scope,
            waiting: Mutex::new(Some(Waiting::default())),
            is_helped: AtomicBool::new(false),
        })
    }

    /// Lets the end wake a thread, which looks whether the task has ended once more after this.
    pub(crate) fn add(&self, waker: Waker) {
        if let Some(waiting) = &mut *lock(&self.waiting) {
            waiting.wakers.push(waker);
        }
    }
}

impl Wake for TaskEnd {
    /// Called by the worker that has run the task, within the task's frame, once the task is marked
    /// done. So a worker that helps this one does not take the tasks that begin now: they need not
    /// be what it waits for.
    ///
    /// A thread that adds itself later sees the end, because this has released the lock.
    fn wake(self: Arc<Self>) {
        let waiting = lock(&self.waiting).take().unwrap_or_default();
        waiting.wakers.into_iter().for_each(wake);
        waiting.successors.iter().for_each(|task| task.came());
    }
}

impl<T> Handle<T> {
    /// Turns this handle into one that can be cloned, and that gives access to the result by
    /// reference.
    pub fn share(self) -> SharedHandle<T> {
        SharedHandle::new(self, OnceLock::new())
    }
}

impl<T> SharedHandle<T> {
    fn new(handle: Handle<T>, end: OnceLock<Arc<TaskEnd>>) -> Self {
        let result = OnceLock::new();
        let promise = match handle.0 {
            Inner::Promised(promise) => Some(promise),
            Inner::Ready(outcome) => {
                let _ = result.set(shared(outcome.into_result()));
                None
            }
            Inner::Watched(outcome, got) => {
                got();
                let _ = result.set(shared(outcome.into_result()));
                None
            }
        };
        SharedHandle(Arc::new(State {
            promise,
            result,
            end,
        }))
    }

    /// Returns a shared handle to a task of the scope with this address.
    fn in_scope(handle: Handle<T>, scope: usize) -> Self {
        let end = TaskEnd::in_scope(scope);
        let shared = SharedHandle::new(handle, OnceLock::from(Arc::clone(&end)));
        match &shared.0.promise {
            // SAFETY: no other thread has the handle yet, and the end is set. So this is the only
            // call.
            Some(promise) => unsafe { watch(promise, end) },
            None => end.wake(),
        }
        shared
    }

    /// Waits for the result.
    ///
    /// If no worker has begun the task, it runs here, as with [`Handle::get`]. Otherwise, if the
    /// first thread that calls this is a worker, it helps the worker that runs the task. Any other
    /// worker hands off its processor to a [spare worker](crate::Builder::spare_workers) until the
    /// task has ended.
    ///
    /// # Panics
    ///
    /// Panics if the task has panicked: one call with the panic of the task, and the others with a
    /// message that says so. Panics if the calling code belongs to the awaited task and runs on the
    /// thread that has begun it: the task would wait for its own end.
    pub fn get(&self) -> &T {
        let state = &*self.0;
        let result = state.result.get();
        match result.unwrap_or_else(|| state.wait()) {
            Ok(result) => result,
            Err(panic) => {
                let mut panic = lock(panic);
                match panic.take_if(|panic| !panic.is::<Cancelled>()) {
                    Some(panic) => resume_unwind(panic),
                    None if panic.is_some() => resume_unwind(Box::new(Cancelled)),
                    None => panic!("the task of this shared handle has panicked"),
                }
            }
        }
    }

    /// Waits for the result, as [`Self::get`] does. Returns an error if the scope of the task was
    /// [cancelled](Scope::cancel) before the task began.
    ///
    /// # Errors
    ///
    /// Returns [`Cancelled`] if the task was dropped, or if it ended because it got the result of a
    /// task that was dropped.
    ///
    /// # Panics
    ///
    /// Panics as [`Self::get`] does.
    pub fn try_get(&self) -> Result<&T, Cancelled> {
        match catch_unwind(AssertUnwindSafe(|| self.get())) {
            Ok(result) => Ok(result),
            Err(panic) if panic.is::<Cancelled>() => Err(Cancelled),
            Err(panic) => resume_unwind(panic),
        }
    }

    /// Runs the task, if no worker has begun it and this thread is a worker of its pool.
    pub(crate) fn run(&self) {
        if let Some(promise) = &self.0.promise {
            promise.run();
        }
    }

    /// Lets the end of the task wake `watcher`, unless it has come.
    pub(crate) fn watch(&self, watcher: Waker) {
        if let Some(promise) = &self.0.promise {
            self.0.end(promise).add(watcher);
        }
    }

    /// Takes back a [`Self::watch`].
    pub(crate) fn unwatch(&self, watcher: &Waker) {
        if let Some(end) = self.0.end.get()
            && let Some(waiting) = &mut *lock(&end.waiting)
        {
            waiting.wakers.retain(|other| !other.will_wake(watcher));
        }
    }

    /// Calls an idle worker for the task, if no worker has begun it.
    pub(crate) fn call_worker(&self) {
        if let Some(promise) = &self.0.promise {
            promise.call_worker();
        }
    }

    /// Returns whether the task has ended.
    pub fn is_done(&self) -> bool {
        self.0.promise.as_ref().is_none_or(Promise::is_done)
    }
}

impl<T> State<T> {
    /// Waits until the task has ended. Returns its result.
    #[cold]
    fn wait(&self) -> &Result<T, Panicked> {
        // Without a promise, the result has been there from the start.
        let promise = self.promise.as_ref().expect("there is a promise");
        self.wait_for(promise);
        self.result.get_or_init(|| {
            // SAFETY: the task has ended, and one thread initialises the result.
            shared(unsafe { promise.take_result() }.expect("the task has left a result"))
        })
    }

    /// Returns the end of the task, which watches it.
    fn end(&self, promise: &Promise<T>) -> &TaskEnd {
        self.end.get_or_init(|| {
            let end = TaskEnd::in_scope(0);
            // SAFETY: one thread sets the end, so this is the only call.
            unsafe { watch(promise, Arc::clone(&end)) };
            end
        })
    }

    fn wait_for(&self, promise: &Promise<T>) {
        promise.run();
        if promise.is_done() {
            return;
        }
        let end = self.end(promise);
        end.add(thread_waker());
        // Relaxed: one thread helps; which one does not matter.
        let helps = !end.is_helped.swap(true, Ordering::Relaxed);
        // SAFETY: the end wakes the threads that were added. One thread helps. `run` has begun the
        // task if this thread is a worker of its pool.
        unsafe { promise.wait(helps) };
    }
}

/// Makes `end` the watcher of the task.
///
/// # Safety
///
/// This is the only call.
unsafe fn watch<T>(promise: &Promise<T>, end: Arc<TaskEnd>) {
    // SAFETY: the caller guarantees that this is the only call.
    if !unsafe { promise.watch(Waker::from(Arc::clone(&end))) } {
        end.wake();
    }
}

fn shared<T>(result: thread::Result<T>) -> Result<T, Panicked> {
    result.map_err(|panic| Mutex::new(Some(panic)))
}

impl<T> Drop for State<T> {
    fn drop(&mut self) {
        if let Some(Err(panic)) = self.result.take()
            && let Some(panic) = lock(&panic).take()
        {
            keep_orphan(panic);
        }
    }
}

/// The tasks after which another one begins, from [`Scope::after`].
#[must_use = "this only describes a task: call shared_future or spawn"]
pub struct After<'scope, 'env: 'scope, S: Spawner = ReturnBarrier> {
    scope: &'scope Scope<'scope, 'env, S>,
    ends: Vec<Arc<TaskEnd>>,
}

impl<'scope, 'env, S: Spawner> After<'scope, 'env, S> {
    pub(crate) fn nothing(scope: &'scope Scope<'scope, 'env, S>) -> Self {
        After {
            scope,
            ends: Vec::new(),
        }
    }

    /// Adds further tasks, whose results may be of another type.
    ///
    /// ```
    /// # use purloin::{Pool, Worker};
    /// # let pool = Pool::new()?;
    /// # let text = pool.run(|mut w| w.finish(|scope| {
    /// let number = scope.shared_future(|_| 7);
    /// let word = scope.shared_future(|_| "steals");
    /// let text = scope
    ///     .after([&number])
    ///     .and([&word])
    ///     .shared_future(move |_| format!("{} {}", number.get(), word.get()));
    /// # text.get().clone()
    /// # }));
    /// # assert_eq!(text, "7 steals");
    /// # Ok::<(), purloin::BuildError>(())
    /// ```
    pub fn and<'d, T: 'd>(mut self, tasks: impl IntoIterator<Item = &'d SharedHandle<T>>) -> Self {
        let scope = self.scope_address();
        let ends = tasks.into_iter().filter_map(|task| task.0.end.get());
        // A scope that has to wait for a task of another scope may have to do so on the worker that
        // should run the task.
        self.ends
            .extend(ends.filter(|end| end.scope == scope).cloned());
        self
    }

    /// Makes the task, and returns a shared handle to its result.
    ///
    /// When the task begins, it gets the results of its dependencies without waiting. It begins
    /// earlier if a thread gets its result. Then it waits where it gets the results of its
    /// dependencies. The same holds for dependencies of another scope, and for handles from
    /// [`Handle::share`]: they do not delay the task.
    ///
    /// If a dependency panics, the task begins all the same, and getting the result of the
    /// dependency panics.
    pub fn shared_future<F, T>(self, f: F) -> SharedHandle<T>
    where
        F: for<'t> FnOnce(S::Token<'t>) -> T + SendTask + 'scope,
        T: Send + 'scope,
    {
        let (scope, address) = (self.scope, self.scope_address());
        if !S::DEFERS {
            return SharedHandle::in_scope(scope.future(f), address);
        }
        // SAFETY: `'scope` is the lifetime parameter of this scope, which holds the finish. It is
        // invariant, so the caller cannot shorten it. `begin` spawns the ticket, and runs once.
        let (handle, ticket) = unsafe { S::deferred_future(scope.finish(), f) };
        let handle = SharedHandle::in_scope(handle, address);
        if self.ends.is_empty() {
            // SAFETY: as above.
            unsafe { S::spawn_ticket(scope.finish(), ticket) };
        } else {
            S::hold(scope.finish());
            let begin = move || {
                // SAFETY: as above. The finish was held, and this runs once.
                unsafe {
                    S::spawn_ticket(scope.finish(), ticket);
                    S::release(scope.finish());
                }
            };
            // SAFETY: `begin` runs before the finish ends, because it was held.
            unsafe { begin_after(self.ends, begin) };
        }
        handle
    }

    /// Makes the task, if its result does not matter.
    pub fn spawn<F>(self, task: F)
    where
        F: for<'t> FnOnce(S::Token<'t>) + SendTask + 'scope,
    {
        drop(self.shared_future(task));
    }

    fn scope_address(&self) -> usize {
        std::ptr::from_ref(self.scope).addr()
    }
}

/// A task that begins after several ends.
struct Successor<B: ?Sized = dyn FnMut() + Send> {
    /// Number of ends that have not come; one more while they are being counted.
    missing: AtomicUsize,
    /// Begins the task. Only the last end locks and calls it, so no thread waits for this lock, even if
    /// the task runs inline.
    begin: Mutex<B>,
}

impl Successor {
    /// Records an end. Begins the task if it was the last.
    fn came(&self) {
        // AcqRel: what the tasks before have done happens before this one begins.
        if self.missing.fetch_sub(1, Ordering::AcqRel) == 1 {
            lock(&self.begin)();
        }
    }
}

/// Calls `begin` after these ends, or at once if all of them have come.
///
/// # Safety
///
/// The captures of `begin` stay valid until it has run.
unsafe fn begin_after<'b>(ends: Vec<Arc<TaskEnd>>, begin: impl FnOnce() + Send + 'b) {
    let mut begin = Some(begin);
    let begin = move || begin.take().expect("the last end comes once")();
    let successor: Arc<Successor<dyn FnMut() + Send + 'b>> = Arc::new(Successor {
        missing: AtomicUsize::new(1),
        begin: Mutex::new(begin),
    });
    // SAFETY: only the lifetime changes, and the caller guarantees that the captures stay valid.
    let successor: Arc<Successor> = unsafe { std::mem::transmute(successor) };
    for end in ends {
        if let Some(waiting) = &mut *lock(&end.waiting) {
            // Relaxed: the lock orders it before the end.
            successor.missing.fetch_add(1, Ordering::Relaxed);
            waiting.successors.push(Arc::clone(&successor));
        }
    }
    successor.came();
}

/// Returns a handle to the results of several futures, in the order of their handles.
///
/// A task waits for them. It belongs to the same scope as a [`future`](crate::future()) that is
/// made here.
///
/// ```
/// let squares = (1..=3).map(|n| purloin::future(move || n * n)).collect();
/// assert_eq!(purloin::when_all(squares).get(), [1, 4, 9]);
/// ```
///
/// # Panics
///
/// [`Handle::get`] panics if one of the tasks has panicked.
pub fn when_all<T: Send + 'static>(handles: Vec<Handle<T>>) -> Handle<Vec<T>> {
    crate::future(move || handles.into_iter().map(Handle::get).collect())
}

impl<T> Clone for SharedHandle<T> {
    fn clone(&self) -> Self {
        SharedHandle(Arc::clone(&self.0))
    }
}

impl<S: Spawner> std::fmt::Debug for After<'_, '_, S> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("After")
            .field("tasks", &self.ends.len())
            .finish_non_exhaustive()
    }
}

impl<T> std::fmt::Debug for SharedHandle<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SharedHandle")
            .field("is_done", &self.is_done())
            .finish_non_exhaustive()
    }
}
