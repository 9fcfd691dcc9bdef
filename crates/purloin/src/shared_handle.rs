//! Shared handles: results that several tasks need.
//!
//! If a worker of the task's pool needs the result of a task that no worker has begun, it runs the
//! task, after the tasks on which it depends (see [`graph`](crate::graph)). Otherwise the first worker
//! waits in the way of [`Handle::get`]. All other threads sleep, and the end of the task wakes them.
//! They cannot help the worker that runs the task, because it knows only one worker that waits for
//! it.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::task::{Wake, Waker};

use crate::asynchronous::wake;
use crate::cancel::Cancelled;
use crate::graph::{Look, Node, Pending};
use crate::handle::{Got, Handle, Inner, Promise, Wait, keep_unheard, reveal};
use crate::pool::thread_waker;
use crate::sync::plain::OnceLock;
use crate::sync::thread;
use crate::sync::{AtomicBool, Mutex, Ordering, lock};
use crate::unwind::Panic;

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
/// In a scope, a task can begin [after](crate::Scope::after) those whose results it needs. Then no worker
/// waits for them.
///
/// Source: Channel (channel-based futures), with one receiver that keeps the message for all.
pub struct SharedHandle<T>(Arc<State<T>>);

struct State<T> {
    /// The promised result; none if the result was there from the start.
    promise: Option<Promise<T>>,
    /// The result, once a thread has taken it from the promise.
    result: OnceLock<Result<T, Panicked>>,
    /// The end of a task of a scope.
    scope_end: Option<Arc<TaskEnd>>,
    /// The end of any other task, once a thread or a task waits for it.
    end: OnceLock<Arc<TaskEnd>>,
    /// The state of a task that was made with inputs.
    pending: Option<Arc<Pending>>,
    /// Called by each get, for a measuring worker.
    got: Option<Got>,
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
    /// The tasks that begin after this end. Most tasks have at most one.
    first_successor: Option<Arc<Pending>>,
    successors: Vec<Arc<Pending>>,
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
        let successors = waiting.first_successor.iter().chain(&waiting.successors);
        successors.for_each(|task| task.input_ended());
    }
}

impl<T> Handle<T> {
    /// Turns this handle into one that can be cloned, and that gives access to the result by
    /// reference.
    pub fn share(self) -> SharedHandle<T> {
        SharedHandle::new(self, None, None)
    }
}

impl<T> SharedHandle<T> {
    fn new(
        handle: Handle<T>,
        scope_end: Option<Arc<TaskEnd>>,
        pending: Option<Arc<Pending>>,
    ) -> Self {
        let (promise, outcome, got) = match handle.0 {
            Inner::Sole(Sole(shared)) => return shared,
            Inner::Promised(promise) => (Some(promise), None, None),
            Inner::Ready(outcome) => (None, Some(outcome), None),
            Inner::Watched(outcome, got) => (None, Some(outcome), Some(got)),
        };
        let result = match outcome {
            Some(outcome) => OnceLock::from(shared(outcome.into_hidden())),
            None => OnceLock::new(),
        };
        SharedHandle(Arc::new(State {
            promise,
            result,
            scope_end,
            end: OnceLock::new(),
            pending,
            got,
        }))
    }

    /// Returns a shared handle to a task of the scope with this address.
    pub(crate) fn in_scope(handle: Handle<T>, scope: usize, pending: Option<Arc<Pending>>) -> Self {
        let end = TaskEnd::in_scope(scope);
        let shared = SharedHandle::new(handle, Some(Arc::clone(&end)), pending);
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
    /// If no worker has begun the task, it runs here, as with [`Handle::get`]. The tasks
    /// [after](crate::Scope::after) which it begins run here before it, if no worker has begun them.
    /// Otherwise, if the first thread that calls this is a worker, it helps the worker that runs the
    /// task. Any other worker hands off its processor to a [spare
    /// worker](crate::Builder::spare_workers) until the task has ended.
    ///
    /// # Panics
    ///
    /// Panics if the task has panicked: one call with the panic of the task, and the others with a
    /// message that says so. Panics if the calling code belongs to the awaited task and runs on the
    /// thread that has begun it: the task would wait for its own end.
    pub fn get(&self) -> &T {
        let state = &*self.0;
        state.call_got();
        let result = state.result.get();
        match result.unwrap_or_else(|| state.wait()) {
            Ok(result) => result,
            Err(panic) => {
                let mut panic = lock(panic);
                match panic.take_if(|panic| !panic.is::<Cancelled>()) {
                    Some(panic) => resume_unwind(reveal(panic)),
                    None if panic.is_some() => resume_unwind(Box::new(Cancelled)),
                    None => panic!("the task of this shared handle has panicked"),
                }
            }
        }
    }

    /// Waits for the result, as [`Self::get`] does. Returns an error if the scope of the task was
    /// [cancelled](crate::Scope::cancel) before the task began.
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

    /// Returns the node of this task in a graph of tasks, if a task after it must wait for it or report
    /// that it gets its result.
    pub(crate) fn node_to_wait_for<'s>(&self) -> Option<Arc<dyn Node + 's>>
    where
        T: 's,
    {
        let is_needed = !self.is_done() || self.0.got.is_some();
        is_needed.then(|| Arc::clone(&self.0) as Arc<dyn Node + 's>)
    }

    /// Runs the task, and those that it depends on, if this thread is a worker of its pool and as far
    /// as this can be done without a wait.
    pub(crate) fn run(&self) {
        let state = &*self.0;
        let Some(promise) = state.promise.as_ref().filter(|promise| promise.is_local()) else {
            return;
        };
        let Some(look) = state.pending.as_ref().and_then(Pending::look) else {
            return promise.run();
        };
        if look.run_inputs() {
            promise.run();
            look.end(promise.is_done());
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
        if let Some(end) = self.0.known_end()
            && let Some(waiting) = &mut *lock(&end.waiting)
        {
            waiting.wakers.retain(|other| !other.will_wake(watcher));
        }
    }

    /// Calls idle workers for the task and for those that it depends on, as far as no worker has begun
    /// them.
    pub(crate) fn call_worker(&self) {
        if let Some(promise) = &self.0.promise
            && !self.0.call_for_inputs()
        {
            promise.call_worker();
        }
    }

    /// Returns whether the task has ended.
    pub fn is_done(&self) -> bool {
        self.0.has_ended()
    }
}

/// A shared handle that nobody shares: the handle to the result of a task with inputs.
pub(crate) struct Sole<T>(SharedHandle<T>);

// SAFETY: no other handle refers to the result, and no other task depends on it. So the result moves with this
// value.
unsafe impl<T: Send> Send for Sole<T> {}

impl<T> Sole<T> {
    /// The caller has made the handle, and no clone of it.
    pub(crate) fn new(shared: SharedHandle<T>) -> Self {
        Sole(shared)
    }

    pub(crate) fn shared(&self) -> &SharedHandle<T> {
        &self.0
    }

    /// Waits for the result.
    pub(crate) fn get(self) -> T {
        let Sole(SharedHandle(mut state)) = self;
        state.call_got();
        if state.result.get().is_none() {
            state.wait();
        }
        let state = Arc::get_mut(&mut state).expect("no other handle refers to the result");
        let result = state.result.take().expect("there is a result");
        result.unwrap_or_else(|panic| {
            let panic = lock(&panic).take();
            resume_unwind(reveal(panic.expect("only this handle takes the panic")))
        })
    }
}

/// For tasks that may fail.
impl<T, E> SharedHandle<Result<T, Arc<E>>> {
    /// Waits for the result, and returns the value or the error. So an error passes from task to task by `?`, and is not
    /// cloned.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use purloin::{Pool, Worker};
    /// # let pool = Pool::new()?;
    /// let sum = pool.run(|mut w| {
    ///     w.finish(|scope| {
    ///         let parse = |text: &'static str| {
    ///             scope.shared_future(move |_| Ok(text.parse::<u32>()?))
    ///         };
    ///         let (a, b) = (parse("7"), parse("x"));
    ///         scope.after([&a, &b]).future(move |_| Ok(a.ok()? + b.ok()?)).get()
    ///     })
    /// });
    /// let sum: Result<u32, Arc<std::num::ParseIntError>> = sum;
    /// assert!(sum.is_err());
    /// # Ok::<(), purloin::BuildError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Returns the error of the task.
    ///
    /// # Panics
    ///
    /// Panics as [`get`](Self::get) does.
    pub fn ok(&self) -> Result<&T, Arc<E>> {
        self.get().as_ref().map_err(Arc::clone)
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
        self.scope_end.as_ref().unwrap_or_else(|| {
            self.end.get_or_init(|| {
                let end = TaskEnd::in_scope(0);
                // SAFETY: one thread sets the end, so this is the only call.
                unsafe { watch(promise, Arc::clone(&end)) };
                end
            })
        })
    }

    fn known_end(&self) -> Option<&TaskEnd> {
        let end = self.scope_end.as_ref().or_else(|| self.end.get());
        end.map(|end| &**end)
    }

    /// Waits until the task has ended.
    fn wait_for(&self, promise: &Promise<T>) {
        let is_local = promise.is_local();
        if is_local {
            let look = self.pending.as_ref().and_then(Pending::look);
            look.iter().for_each(Look::await_inputs);
            promise.run();
            let has_ended = promise.is_done();
            look.into_iter().for_each(|look| look.end(has_ended));
        }
        if promise.is_done() {
            return;
        }
        let end = self.end(promise);
        end.add(thread_waker());
        let how = match is_local {
            // Relaxed: one thread helps; which one does not matter.
            true if !end.is_helped.swap(true, Ordering::Relaxed) => Wait::Help,
            false if !self.call_for_inputs() => Wait::CallWorker,
            _ => Wait::Sleep,
        };
        // SAFETY: the end wakes the threads that were added. One thread helps. `run` has begun the
        // task if this thread is a worker of its pool.
        unsafe { promise.wait(how) };
    }

    /// Calls idle workers for the tasks on which this one depends. Returns false if all of them have
    /// ended.
    fn call_for_inputs(&self) -> bool {
        self.pending.as_ref().is_some_and(Pending::call_workers)
    }

    #[inline]
    fn call_got(&self) {
        if let Some(got) = &self.got {
            got();
        }
    }

    fn has_ended(&self) -> bool {
        self.promise.as_ref().is_none_or(Promise::is_done)
    }
}

/// Without a result, so that any thread may use and drop a task whose result is `Send`.
impl<T> Node for State<T> {
    fn scope(&self) -> usize {
        self.known_end().map_or(0, |end| end.scope)
    }

    fn is_done(&self) -> bool {
        self.has_ended()
    }

    fn pending(&self) -> Option<&Arc<Pending>> {
        self.pending.as_ref()
    }

    fn precede(&self, successor: &Arc<Pending>) -> bool {
        let end = self.known_end().expect("a task of a scope has an end");
        match &mut *lock(&end.waiting) {
            Some(waiting) => {
                let successor = Arc::clone(successor);
                match waiting.first_successor {
                    None => waiting.first_successor = Some(successor),
                    Some(_) => waiting.successors.push(successor),
                }
            }
            None => return false,
        }
        true
    }

    fn run(&self) {
        self.promise.iter().for_each(Promise::run);
    }

    fn call_worker(&self) {
        self.promise.iter().for_each(Promise::call_worker);
    }

    fn wait(&self) {
        self.call_got();
        self.promise
            .iter()
            .for_each(|promise| self.wait_for(promise));
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
            keep_unheard(panic);
        }
    }
}

impl<T> Clone for SharedHandle<T> {
    fn clone(&self) -> Self {
        SharedHandle(Arc::clone(&self.0))
    }
}

impl<T> std::fmt::Debug for SharedHandle<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SharedHandle")
            .field("is_done", &self.is_done())
            .finish_non_exhaustive()
    }
}
