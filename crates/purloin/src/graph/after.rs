//! `Scope::after`: a description of a task that begins after others.

use std::panic::resume_unwind;

use super::Inputs;
use crate::cancel::Cancelled;
use crate::handle::Handle;
use crate::promise::{Getter, SharedTask};
use crate::runtime::ReturnBarrier;
use crate::scope::{Scope, Spawner};
use crate::shared_handle::SharedHandle;
use crate::worker::SendTask;

/// The tasks after which another one begins, from [`Scope::after`].
#[must_use = "this only describes a task: call future, shared_future or spawn"]
pub struct After<'scope, 'env: 'scope, S: Spawner = ReturnBarrier> {
    scope: &'scope Scope<'scope, 'env, S>,
    inputs: Vec<SharedTask>,
}

impl<'scope, 'env, S: Spawner> Scope<'scope, 'env, S> {
    /// Begins the description of a task that depends on others: the node of a dependency graph. It
    /// begins when all of these tasks have ended, and no worker waits meanwhile.
    ///
    /// ```
    /// # use purloin::{Pool, Worker};
    /// # let pool = Pool::new()?;
    /// let total = pool.run(|mut w| {
    ///     w.finish(|scope| {
    ///         let parts = [1, 2, 3].map(|n| scope.shared_future(move |_| n * n));
    ///         let sum = scope.after(&parts).shared_future(move |_| {
    ///             parts.iter().map(|part| part.get()).sum::<u32>()
    ///         });
    ///         *sum.get()
    ///     })
    /// });
    /// assert_eq!(total, 14);
    /// # Ok::<(), purloin::BuildError>(())
    /// ```
    ///
    /// A task can only depend on handles that exist when it is made, so tasks do not wait for each
    /// other in a circle.
    pub fn after<'d, T>(
        &'scope self,
        tasks: impl IntoIterator<Item = &'d SharedHandle<T>>,
    ) -> After<'scope, 'env, S>
    where
        T: Send + 'scope + 'd,
    {
        After::new(self).and(tasks)
    }
}

impl<'scope, 'env, S: Spawner> After<'scope, 'env, S> {
    fn new(scope: &'scope Scope<'scope, 'env, S>) -> Self {
        After {
            scope,
            inputs: Vec::new(),
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
    pub fn and<'d, T>(mut self, tasks: impl IntoIterator<Item = &'d SharedHandle<T>>) -> Self
    where
        T: Send + 'scope + 'd,
    {
        // The results are `Send`, so any thread may drop them. This value, and the task that it becomes, drop the inputs
        // before the scope ends.
        let inputs = tasks.into_iter().filter_map(SharedHandle::to_wait_for);
        self.inputs.extend(inputs);
        self
    }

    /// Makes the task, and returns a shared handle to its result.
    ///
    /// The task begins when all of its dependencies have ended, also if a thread gets its result
    /// earlier. So it gets the results of its dependencies without waiting.
    ///
    /// A dependency may also be a task of another scope or of none, for example that of
    /// [`Worker::future`](crate::Worker::future). Then the worker that runs the task waits for this
    /// dependency, before it runs `f`.
    ///
    /// If a dependency panics, the task begins all the same, and getting the result of the
    /// dependency panics.
    #[track_caller]
    pub fn shared_future<F, T>(self, f: F) -> SharedHandle<T>
    where
        F: for<'t> FnOnce(S::Token<'t>) -> T + SendTask + 'scope,
        T: Send + 'scope,
    {
        self.future(f).share()
    }

    /// Makes the task, and returns a handle to its result, which one thread or task gets. See
    /// [`shared_future`](Self::shared_future) about when the task begins.
    ///
    /// ```
    /// # use purloin::{Pool, Worker};
    /// # let pool = Pool::new()?;
    /// # let text = pool.run(|mut w| w.finish(|scope| {
    /// let word = scope.shared_future(|_| "steals");
    /// let text = scope.after([&word]).future(move |_| word.get().to_uppercase());
    /// # text.get()
    /// # }));
    /// # assert_eq!(text, "STEALS");
    /// # Ok::<(), purloin::BuildError>(())
    /// ```
    #[track_caller]
    pub fn future<F, T>(self, f: F) -> Handle<T>
    where
        F: for<'t> FnOnce(S::Token<'t>) -> T + SendTask + 'scope,
        T: Send + 'scope,
    {
        let (scope, ours, f) = self.with_inputs(f, || resume_unwind(Box::new(Cancelled)));
        match ours.0.is_empty() {
            true => scope.future(f),
            // SAFETY: `'scope` is the lifetime parameter of this scope, which holds the finish. It is
            // invariant, so the caller cannot shorten it. The inputs are tasks of this scope.
            false => unsafe { S::after(scope.finish(), ours, false, f) }.expect("it is no spawn"),
        }
    }

    /// Makes the task, if its result does not matter. Its panic reaches the finish.
    #[track_caller]
    pub fn spawn<F>(self, task: F)
    where
        F: for<'t> FnOnce(S::Token<'t>) + SendTask + 'scope,
    {
        let (scope, ours, task) = self.with_inputs(task, || ());
        match ours.0.is_empty() {
            true => scope.spawn(task),
            // SAFETY: as in `future`.
            false => drop(unsafe { S::after(scope.finish(), ours, true, task) }),
        }
    }

    /// Returns the scope, the inputs that belong to it, and a closure that first waits for the others. If the scope is
    /// cancelled by then, the closure drops `f` and returns `cancelled()`.
    fn with_inputs<F, T>(
        self,
        f: F,
        cancelled: impl FnOnce() -> T + Send + 'scope,
    ) -> (
        &'scope Scope<'scope, 'env, S>,
        Inputs,
        impl for<'t> FnOnce(S::Token<'t>) -> T + Send + 'scope,
    )
    where
        F: for<'t> FnOnce(S::Token<'t>) -> T + Send + 'scope,
        T: Send + 'scope,
    {
        let scope = self.scope;
        let finish = std::ptr::from_ref(scope.finish()).cast::<()>();
        let is_ours = |task: &SharedTask| S::DEFERS && std::ptr::eq(task.head().finish, finish);
        let (ours, others) = match self.inputs.iter().all(is_ours) {
            true => (self.inputs, Vec::new()),
            false => self.inputs.into_iter().partition(is_ours),
        };
        // Most tasks have none. Then this takes one word of the object of the task.
        let others = (!others.is_empty()).then(|| Box::new(others));
        let f = move |token: S::Token<'_>| {
            if let Some(others) = others {
                for task in &*others {
                    task.call_got();
                    task.await_end(&Getter::SHARER);
                }
                if scope.is_cancelled() {
                    drop(f);
                    return cancelled();
                }
            }
            f(token)
        };
        (scope, Inputs(ours), f)
    }
}

impl<S: Spawner> std::fmt::Debug for After<'_, '_, S> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("After")
            .field("tasks", &self.inputs.len())
            .finish_non_exhaustive()
    }
}
