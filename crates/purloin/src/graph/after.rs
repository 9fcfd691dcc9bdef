//! `Scope::after`: a description of a task that begins after others.

use std::panic::resume_unwind;
use std::sync::Arc;

use super::{Begin, Input, Pending};
use crate::cancel::Cancelled;
use crate::handle::{Handle, Inner};
use crate::runtime::ReturnBarrier;
use crate::scope::{Scope, Spawner};
use crate::shared_handle::{SharedHandle, Sole};
use crate::worker::SendTask;

/// The tasks after which another one begins, from [`Scope::after`].
#[must_use = "this only describes a task: call future, shared_future or spawn"]
pub struct After<'scope, 'env: 'scope, S: Spawner = ReturnBarrier> {
    scope: &'scope Scope<'scope, 'env, S>,
    inputs: Vec<Input>,
}

impl<'scope, 'env, S: Spawner> After<'scope, 'env, S> {
    pub(crate) fn nothing(scope: &'scope Scope<'scope, 'env, S>) -> Self {
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
        let nodes = tasks.into_iter().filter_map(SharedHandle::node_to_wait_for);
        // SAFETY: a node does not use the result, and the result is `Send`. This value, and the task
        // that it becomes, drop the inputs before the scope ends.
        let inputs = nodes.map(|node| unsafe { Input::new(node) });
        self.inputs.extend(inputs);
        self
    }

    /// Makes the task, and returns a shared handle to its result.
    ///
    /// The task begins when all of its dependencies have ended, also if a thread gets its result
    /// earlier. So it gets the results of its dependencies without waiting.
    ///
    /// A dependency may also be a task of another scope, or a handle from
    /// [`Handle::share`](crate::Handle::share). Then the worker that runs the task waits for this
    /// dependency, before it runs `f`.
    ///
    /// If a dependency panics, the task begins all the same, and getting the result of the
    /// dependency panics.
    pub fn shared_future<F, T>(self, f: F) -> SharedHandle<T>
    where
        F: for<'t> FnOnce(S::Token<'t>) -> T + SendTask + 'scope,
        T: Send + 'scope,
    {
        let (scope, address) = (self.scope, self.scope_address());
        let (inputs, others) = self.inputs();
        let f = move |token: S::Token<'_>| {
            if wait_for(&others, scope) {
                drop(f);
                resume_unwind(Box::new(Cancelled));
            }
            f(token)
        };
        if !S::DEFERS {
            return SharedHandle::in_scope(scope.future(f), address, None);
        }
        let finish = scope.finish();
        // SAFETY: `'scope` is the lifetime parameter of this scope, which holds the finish. It is
        // invariant, so the caller cannot shorten it. The ticket is used once, below.
        let (handle, ticket) = unsafe { S::deferred_future(finish, f) };
        // SAFETY: as above.
        let spawn = move |calls| unsafe { S::spawn_ticket(finish, ticket, calls) };
        if inputs.is_empty() {
            let handle = SharedHandle::in_scope(handle, address, None);
            spawn(false);
            return handle;
        }
        let pending = Self::pending(scope, inputs, move |begin| match begin {
            Begin::Spawn => spawn(false),
            Begin::Call => spawn(true),
            Begin::HasEnded => drop(spawn),
        });
        let handle = SharedHandle::in_scope(handle, address, Some(Arc::clone(&pending)));
        pending.count_inputs();
        handle
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
    pub fn future<F, T>(self, f: F) -> Handle<T>
    where
        F: for<'t> FnOnce(S::Token<'t>) -> T + SendTask + 'scope,
        T: Send + 'scope,
    {
        // The shared handle is not cloned before the program asks for that.
        Handle(Inner::Sole(Sole::new(self.shared_future(f))))
    }

    /// Makes the task, if its result does not matter. Its panic reaches the finish.
    pub fn spawn<F>(self, task: F)
    where
        F: for<'t> FnOnce(S::Token<'t>) + SendTask + 'scope,
    {
        let scope = self.scope;
        let (inputs, others) = self.inputs();
        let task = move |token: S::Token<'_>| match wait_for(&others, scope) {
            true => drop(task),
            false => task(token),
        };
        match inputs.is_empty() {
            true => scope.spawn(task),
            // No handle refers to the task, so no thread looks at its inputs.
            false => Self::pending(scope, inputs, |_| scope.spawn(task)).count_inputs(),
        }
    }

    /// Returns the inputs in this scope, for which the task is held back, and the others.
    fn inputs(self) -> (Vec<Input>, Vec<Input>) {
        let address = self.scope_address();
        let is_ours = |input: &Input| S::DEFERS && input.scope() == address;
        match self.inputs.iter().all(is_ours) {
            true => (self.inputs, Vec::new()),
            false => self.inputs.into_iter().partition(is_ours),
        }
    }

    /// Returns a task of the scope with these inputs, which the scope waits for.
    fn pending(
        scope: &'scope Scope<'scope, 'env, S>,
        inputs: Vec<Input>,
        begin: impl FnOnce(Begin) + Send + 'scope,
    ) -> Arc<Pending> {
        let finish = scope.finish();
        S::hold(finish);
        let begin = move |how| {
            begin(how);
            // SAFETY: the finish was held, and this runs once.
            unsafe { S::release(finish) };
        };
        // SAFETY: the finish was held, so the scope, and what the tasks borrow, lasts until `begin` has
        // run.
        unsafe { Pending::new(inputs, begin) }
    }

    fn scope_address(&self) -> usize {
        std::ptr::from_ref(self.scope).addr()
    }
}

/// Waits for inputs of other scopes. Returns whether the task must not begin, because its own scope was
/// cancelled meanwhile.
fn wait_for<S: Spawner>(others: &[Input], scope: &Scope<'_, '_, S>) -> bool {
    others.iter().for_each(Input::wait);
    !others.is_empty() && scope.is_cancelled()
}

impl<S: Spawner> std::fmt::Debug for After<'_, '_, S> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("After")
            .field("tasks", &self.inputs.len())
            .finish_non_exhaustive()
    }
}
