//! Dependency graphs: tasks that begin after others, their **inputs**.
//!
//! A task with inputs that have not ended is **pending**. Its closure and its ticket exist, but the
//! ticket is in no stack and no queue. [`Pending`] counts what is missing:
//!
//! | counted | added | taken back |
//! |---|---|---|
//! | each input that has not ended | when the task is made | by the end of the input, after its result is available |
//! | each [`Look`] at the inputs | by a thread that needs the result | when that thread no longer looks |
//! | the maker of the task | when the task is made | once all inputs are counted |
//!
//! The thread that lowers the count to zero drops the list of the inputs and **begins** the task: it
//! spawns the ticket. The count never rises from zero, so this happens once. From its creation until
//! then, the task keeps its finish from ending. So while a thread looks at the inputs, neither they
//! nor what they borrow can go away.
//!
//! # A thread that needs the result of a pending task
//!
//! The task must not begin before its inputs have ended, so the thread helps them first.
//!
//! - **A worker of the pool** runs every input that no worker has begun and whose own inputs have
//!   ended ([`run_ready`]). Then it waits for one that another worker runs, as a blocked join does,
//!   and looks again. When no input is left, it runs the task itself. It runs nothing but tasks that
//!   the awaited task depends on, so it is a wait like any other: no task that it runs waits for its
//!   own frames, unless the program waits for itself.
//! - **Any other thread** calls an idle worker for each of these tasks, and marks the pending ones as
//!   called ([`Pending::call_workers`]): the thread that begins a called task puts it in the finish's
//!   queue, which calls an idle worker. Otherwise the task might stay on the stack of a worker that
//!   waits for this thread.
//!
//! Walks through a graph keep their path in a vector and do not recurse: a chain of tasks may be
//! longer than a thread's stack.
//!
//! # Inputs of other scopes
//!
//! A finish cannot wait for a task of another scope before its own tasks begin: the thread that
//! should run that task may be the one that waits. So a task with such inputs begins, and then waits
//! for them, before it runs the program's closure.

mod after;
#[cfg(all(loom, test))]
mod models;

pub use after::After;

use std::collections::HashSet;
use std::sync::Arc;

use crate::pool::keep_orphan;
use crate::sync::{AtomicBool, AtomicUsize, Mutex, Ordering, UnsafeCell, lock};
use crate::unwind::catch;

/// A task as those see it that depend on it.
pub(crate) trait Node {
    /// Returns the address of the scope whose tasks can begin after this one, or 0.
    fn scope(&self) -> usize;

    /// Returns whether the task has ended. If so, what it did is visible.
    fn is_done(&self) -> bool;

    /// Returns the state of a task that was made with inputs.
    fn pending(&self) -> Option<&Arc<Pending>>;

    /// Lets the end of this task count for `successor`. Returns false if the task has ended.
    fn precede(&self, successor: &Arc<Pending>) -> bool;

    /// Runs the task, if no worker has begun it and this thread is a worker of its pool. The task is
    /// not pending.
    fn run(&self);

    /// Calls an idle worker for the task, if no worker has begun it. The task is not pending.
    fn call_worker(&self);

    /// Waits until the task has ended. A worker helps the worker that runs the task.
    fn wait(&self);
}

/// A task on which another one depends. It has the lifetime of the scope's borrows, and must not be
/// used once the scope has ended.
#[derive(Clone)]
pub(crate) struct Input(Arc<dyn Node>);

// SAFETY: `new`'s caller guarantees that the functions of the node may be called on any thread, and
// that any thread may drop it.
unsafe impl Send for Input {}
// SAFETY: as for `Send`.
unsafe impl Sync for Input {}

impl Input {
    /// # Safety
    ///
    /// Any thread may call the functions of the node and drop it. The caller drops the input, and all
    /// clones of it, while `'scope` lasts.
    pub(crate) unsafe fn new<'scope>(node: Arc<dyn Node + 'scope>) -> Input {
        // SAFETY: only the lifetime changes, and the caller guarantees that it is kept.
        Input(unsafe { std::mem::transmute::<Arc<dyn Node + 'scope>, Arc<dyn Node>>(node) })
    }

    pub(crate) fn scope(&self) -> usize {
        self.0.scope()
    }

    /// Waits until the task has ended.
    pub(crate) fn wait(&self) {
        self.0.wait();
    }

    /// Returns a [`Look`] at the inputs, if the task is pending.
    fn look(&self) -> Option<Look> {
        self.0.pending().and_then(Pending::look)
    }
}

/// How a pending task begins.
pub(crate) enum Begin {
    /// It goes to the stack of this worker, where it may.
    Spawn,
    /// It goes to the queue of its finish, because a thread outside the pool waits for it.
    Call,
    /// A thread that looked at the inputs has run it.
    HasEnded,
}

/// A task with inputs.
pub(crate) struct Pending<B: ?Sized = dyn FnMut(Begin) + Send> {
    /// Number of inputs that have not ended, of threads that look at them, and one while the inputs
    /// are being counted.
    missing: AtomicUsize,
    /// Read by the threads that are counted in `missing`. Emptied by the thread that finds nothing
    /// missing.
    inputs: UnsafeCell<Vec<Input>>,
    /// Whether a thread outside the pool waits for the task.
    is_called: AtomicBool,
    /// Begins the task. Only the thread that finds nothing missing locks and calls it, so no thread
    /// waits for this lock.
    begin: Mutex<B>,
}

// SAFETY: `inputs` is read by counted threads only, and written once no thread is counted. The other
// fields are `Sync`, and `Input` is `Send` and `Sync`.
unsafe impl<B: ?Sized + Send> Sync for Pending<B> {}

impl Pending {
    /// Returns a task with these inputs. The caller [counts](Self::count_inputs) them.
    ///
    /// # Safety
    ///
    /// The captures of `begin` stay valid until it has run, and so do the inputs.
    pub(crate) unsafe fn new<'b>(
        inputs: Vec<Input>,
        begin: impl FnOnce(Begin) + Send + 'b,
    ) -> Arc<Pending> {
        let mut begin = Some(begin);
        let begin = move |how| begin.take().expect("nothing is missing once")(how);
        let pending: Arc<Pending<dyn FnMut(Begin) + Send + 'b>> = Arc::new(Pending {
            missing: AtomicUsize::new(1),
            inputs: UnsafeCell::new(inputs),
            is_called: AtomicBool::new(false),
            begin: Mutex::new(begin),
        });
        // SAFETY: only the lifetime changes, and the caller guarantees that the captures stay valid.
        unsafe { std::mem::transmute(pending) }
    }

    /// Counts the inputs, once. Begins the task if all of them have ended.
    pub(crate) fn count_inputs(self: &Arc<Self>) {
        let look = Look {
            task: Some(Arc::clone(self)),
            unseen: usize::MAX,
        };
        for input in look.inputs() {
            // Relaxed: `precede` makes this visible to the end of the input. The maker is counted, so
            // the count is above zero.
            self.missing.fetch_add(1, Ordering::Relaxed);
            if !input.0.precede(self) {
                self.missing.fetch_sub(1, Ordering::Relaxed);
            }
        }
    }

    /// Records the end of an input.
    pub(crate) fn input_ended(&self) {
        self.came(false);
    }

    /// Counts one thing that is no longer missing. Begins the task if nothing else is.
    fn came(&self, has_ended: bool) {
        // AcqRel: what the inputs have done happens before the task begins.
        if self.missing.fetch_sub(1, Ordering::AcqRel) > 1 {
            return;
        }
        // SAFETY: no thread is counted any more, and none will be, so this is the only one that uses
        // the inputs. Acquire: the others have read them before.
        let inputs = self
            .inputs
            .with_mut(|inputs| unsafe { std::mem::take(&mut *inputs) });
        for input in inputs {
            if let Err(panic) = catch(|| drop(input)) {
                // The destructor of a result that no thread gets.
                keep_orphan(panic);
            }
        }
        // Relaxed: the flag was set by a thread that looked, so before its part of the count.
        let begin = match self.is_called.load(Ordering::Relaxed) {
            _ if has_ended => Begin::HasEnded,
            true => Begin::Call,
            false => Begin::Spawn,
        };
        lock(&self.begin)(begin);
    }

    /// Keeps the task from beginning, for a look at its inputs. Returns None if nothing is missing: then
    /// the inputs have ended, and what they did is visible.
    pub(crate) fn look(self: &Arc<Self>) -> Option<Look> {
        let one_more = |missing| (missing > 0).then_some(missing + 1);
        // Relaxed: only the count itself matters. Acquire, if it is zero: pairs with `came`.
        self.missing
            .fetch_update(Ordering::Relaxed, Ordering::Acquire, one_more)
            .ok()?;
        let mut look = Look {
            task: Some(Arc::clone(self)),
            unseen: 0,
        };
        look.unseen = look.inputs().len();
        Some(look)
    }

    /// Calls an idle worker for each task that this one waits for and that no worker has begun. Marks
    /// the pending ones, and this task, as called. Returns false if nothing is missing.
    pub(crate) fn call_workers(self: &Arc<Self>) -> bool {
        let mut path: Vec<Look> = self.look().into_iter().collect();
        let is_pending = !path.is_empty();
        // Relaxed: a task that is marked already was walked through, or is being.
        if is_pending && self.is_called.swap(true, Ordering::Relaxed) {
            return true;
        }
        while let Some(look) = path.last_mut() {
            let Some(input) = look.next() else {
                path.pop();
                continue;
            };
            match input.look() {
                _ if input.0.is_done() => (),
                Some(look) => {
                    if !look.task().is_called.swap(true, Ordering::Relaxed) {
                        path.push(look);
                    }
                }
                None => input.0.call_worker(),
            }
        }
        is_pending
    }
}

/// A look at the inputs of a pending task, the newest first. Until it is dropped, the task does not
/// begin on another thread, and the scope does not end.
pub(crate) struct Look {
    /// None once the look has ended.
    task: Option<Arc<Pending>>,
    /// Number of inputs that were not looked at: the oldest ones.
    unseen: usize,
}

impl Look {
    fn task(&self) -> &Arc<Pending> {
        let task = self.task.as_ref();
        task.expect("only `end` takes the task")
    }

    fn inputs(&self) -> &[Input] {
        // SAFETY: this look is counted, so no thread writes to the inputs while it exists.
        self.task().inputs.with(|inputs| unsafe { &*inputs })
    }

    /// Returns the newest input that was not looked at.
    fn next(&mut self) -> Option<Input> {
        self.unseen = self.unseen.checked_sub(1)?;
        Some(self.inputs()[self.unseen].clone())
    }

    /// Runs what the task depends on, without a wait. Returns whether all inputs have ended.
    pub(crate) fn run_inputs(&self) -> bool {
        for input in self.inputs().iter().rev() {
            run_ready(input);
        }
        self.inputs().iter().all(|input| input.0.is_done())
    }

    /// Waits until all inputs have ended. This worker first runs all that are ready: while it waits
    /// for one, it does not look at the others.
    pub(crate) fn await_inputs(&self) {
        self.run_inputs();
        for input in self.inputs().iter().rev() {
            while !input.0.is_done() {
                if let Some(running) = run_ready(input) {
                    running.wait();
                }
            }
        }
    }

    /// Ends the look. Says whether the task has ended, on this thread or on another one.
    pub(crate) fn end(mut self, has_ended: bool) {
        self.release(has_ended);
    }

    fn release(&mut self, has_ended: bool) {
        if let Some(task) = self.task.take() {
            task.came(has_ended);
        }
    }
}

impl Drop for Look {
    fn drop(&mut self) {
        self.release(false);
    }
}

/// Runs this task, and before it those that it depends on, as far as this can be done without a wait.
/// Returns a task that another thread runs, or none if it has met none.
///
/// The caller looks at a task that depends on this one, and does so for as long as it uses the
/// returned one.
///
/// It takes the newest input first: thieves take the oldest task of a stack.
fn run_ready(task: &Input) -> Option<Input> {
    let mut walk = Walk::default();
    walk.enter(task.clone());
    while let Some(step) = walk.path.last_mut() {
        match step.look.next() {
            Some(input) => walk.enter(input),
            None => walk.leave(),
        }
    }
    walk.running
}

/// The state of [`run_ready`].
#[derive(Default)]
struct Walk {
    path: Vec<Step>,
    /// The tasks that have not ended although the walk has left them. Without them, the walk would
    /// enter such a task once on each path to it. The tasks on the path are not among them, because
    /// no task depends on itself.
    blocked: HashSet<*const Pending>,
    /// The first task that another thread runs.
    running: Option<Input>,
}

/// A pending task on the path of a walk.
struct Step {
    node: Input,
    look: Look,
    /// Whether an input has not ended, although this worker has run what it could.
    is_blocked: bool,
}

impl Walk {
    fn enter(&mut self, node: Input) {
        if node.0.is_done() {
            return;
        }
        match node.look() {
            None => self.run(&node),
            Some(look) if self.blocked.contains(&Arc::as_ptr(look.task())) => self.block(),
            Some(look) => self.path.push(Step {
                node,
                look,
                is_blocked: false,
            }),
        }
    }

    /// Leaves the last task of the path. The walk has entered all of its inputs.
    fn leave(&mut self) {
        let Some(Step {
            node,
            look,
            is_blocked,
        }) = self.path.pop()
        else {
            return;
        };
        match is_blocked {
            true => self.block(),
            false => self.run(&node),
        }
        let has_ended = node.0.is_done();
        if !has_ended {
            self.blocked.insert(Arc::as_ptr(look.task()));
        }
        look.end(has_ended);
    }

    /// Runs a task whose inputs have ended.
    fn run(&mut self, node: &Input) {
        node.0.run();
        if !node.0.is_done() {
            self.running.get_or_insert_with(|| node.clone());
            self.block();
        }
    }

    /// Notes that an input of the last task of the path has not ended.
    fn block(&mut self) {
        if let Some(step) = self.path.last_mut() {
            step.is_blocked = true;
        }
    }
}
