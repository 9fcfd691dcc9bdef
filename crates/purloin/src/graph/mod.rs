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
//!   called ([`Look::call_workers`]): the thread that begins a called task puts it in the finish's
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

// Without a re-export: `scope` imports this file, and `after` imports `scope`.
pub(crate) mod after;
#[cfg(all(loom, test))]
mod models;

use std::collections::HashSet;
use std::mem::ManuallyDrop;
use std::ptr::NonNull;

use crate::promise::{Getter, Head, SharedTask, TaskRef};
use crate::sync::{AtomicBool, AtomicUsize, Ordering, UnsafeCell};
use crate::this_thread::keep_orphan;
use crate::unwind::catch;

/// The tasks on which another one depends. They have the lifetime of the scope's borrows, and must not be used once the
/// scope has ended.
pub struct Inputs(pub(crate) Vec<SharedTask>);

/// How a pending task begins.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Begin {
    /// It goes to the stack of this worker, where it may.
    Spawn,
    /// It goes to the queue of its finish, because a thread outside the pool waits for it.
    Call,
    /// A thread that looked at the inputs has run it.
    HasEnded,
}

/// The state of a task with inputs, in the object of the task.
pub(crate) struct Pending {
    /// The task. It lives as long as something is missing.
    task: NonNull<Head>,
    /// Number of inputs that have not ended, of threads that look at them, and one while the inputs
    /// are being counted.
    missing: AtomicUsize,
    /// Read by the threads that are counted in `missing`. Emptied by the thread that finds nothing
    /// missing.
    inputs: UnsafeCell<Vec<SharedTask>>,
    /// Whether a thread outside the pool waits for the task.
    is_called: AtomicBool,
}

// SAFETY: `inputs` is read by counted threads only, and written once no thread is counted. The other
// fields are `Sync`, and `SharedTask` is `Send` and `Sync`.
unsafe impl Sync for Pending {}

impl Pending {
    /// Returns the state of a task with these inputs. The caller [counts](Self::count_inputs) the inputs.
    pub(crate) fn new(task: NonNull<Head>, inputs: Inputs) -> Pending {
        Pending {
            task,
            missing: AtomicUsize::new(1),
            inputs: UnsafeCell::new(inputs.0),
            is_called: AtomicBool::new(false),
        }
    }

    /// Counts the inputs, once. Begins the task if all of them have ended.
    ///
    /// # Safety
    ///
    /// The task has this as its [`TaskRef::pending`]. It is a task of a scope that does not end before the task begins,
    /// and neither do the inputs.
    pub(crate) unsafe fn count_inputs(this: NonNull<Pending>) {
        // SAFETY: the maker is counted, so the task lives, and no thread writes to the inputs.
        unsafe {
            let (pending, look) = (this.as_ref(), Look::of(this.as_ref()));
            for input in look.inputs() {
                // Relaxed: `precede` makes this visible to the end of the input. The maker is counted, so
                // the count is above zero.
                pending.missing.fetch_add(1, Ordering::Relaxed);
                if !input.head().channel.precede(this) {
                    pending.missing.fetch_sub(1, Ordering::Relaxed);
                }
            }
        }
    }

    /// Records the end of an input. The task may be gone afterwards, so this gets no reference.
    ///
    /// # Safety
    ///
    /// The input was counted, and this is its end.
    pub(crate) unsafe fn input_ended(this: NonNull<Pending>) {
        // SAFETY: the input is counted until `came`.
        unsafe { Self::came(this, false) };
    }

    /// Counts one thing that is no longer missing. Begins the task if nothing else is.
    ///
    /// # Safety
    ///
    /// The thing was counted, and this is called once for it.
    unsafe fn came(this: NonNull<Pending>, has_ended: bool) {
        // SAFETY: the caller is counted, so the task lives until the count is lowered.
        let pending = unsafe { this.as_ref() };
        // AcqRel: what the inputs have done happens before the task begins.
        if pending.missing.fetch_sub(1, Ordering::AcqRel) > 1 {
            return;
        }
        // SAFETY: no thread is counted any more, and none will be, so this is the only one that uses
        // the inputs, and the task lives until it begins. Acquire: the others have read the inputs before.
        let (inputs, task) = unsafe {
            let inputs = pending
                .inputs
                .with_mut(|inputs| std::mem::take(&mut *inputs));
            (inputs, TaskRef::new(pending.task))
        };
        for input in inputs {
            if let Err(panic) = catch(|| drop(input)) {
                // Of the destructor of a result whose last handle this was.
                keep_orphan(panic);
            }
        }
        // Relaxed: the flag was set by a thread that looked, so before its part of the count.
        let how = match pending.is_called.load(Ordering::Relaxed) {
            _ if has_ended => Begin::HasEnded,
            true => Begin::Call,
            false => Begin::Spawn,
        };
        // SAFETY: nothing is missing, once.
        unsafe { task.begin(how) };
    }
}

/// A look at the inputs of a pending task, the newest first. Until it is dropped, the task does not
/// begin on another thread, and the scope does not end.
pub(crate) struct Look {
    /// Lives while the look is counted.
    pending: NonNull<Pending>,
    /// Number of inputs that were not looked at: the oldest ones.
    unseen: usize,
}

impl Look {
    /// Keeps the task from beginning, for a look at its inputs. Returns None if nothing is missing: then
    /// the inputs have ended, and what they did is visible.
    pub(crate) fn at(task: &TaskRef) -> Option<Look> {
        let pending = task.pending()?;
        let one_more = |missing| (missing > 0).then_some(missing + 1);
        // Relaxed: only the count itself matters. Acquire, if it is zero: pairs with `came`.
        (pending.missing)
            .fetch_update(Ordering::Relaxed, Ordering::Acquire, one_more)
            .ok()?;
        let mut look = Look::of(pending);
        look.unseen = look.inputs().len();
        Some(look)
    }

    /// Returns a look that is counted already.
    fn of(pending: &Pending) -> Look {
        Look {
            pending: NonNull::from(pending),
            unseen: usize::MAX,
        }
    }

    fn pending(&self) -> &Pending {
        // SAFETY: this look is counted, so the task lives.
        unsafe { self.pending.as_ref() }
    }

    fn inputs(&self) -> &[SharedTask] {
        // SAFETY: this look is counted, so no thread writes to the inputs while it exists.
        self.pending().inputs.with(|inputs| unsafe { &*inputs })
    }

    /// Returns the newest input that was not looked at.
    fn next(&mut self) -> Option<SharedTask> {
        self.unseen = self.unseen.checked_sub(1)?;
        Some(self.inputs()[self.unseen].clone())
    }

    /// Calls an idle worker for each task that this one waits for and that no worker has begun. Marks
    /// the pending ones, and this task, as called. Returns true: something was missing.
    pub(crate) fn call_workers(self) -> bool {
        // Relaxed: a task that is marked already was walked through, or is being.
        if self.pending().is_called.swap(true, Ordering::Relaxed) {
            return true;
        }
        let mut path = vec![self];
        while let Some(look) = path.last_mut() {
            let Some(input) = look.next() else {
                path.pop();
                continue;
            };
            match Look::at(&input) {
                _ if input.is_done() => (),
                Some(look) => {
                    if !look.pending().is_called.swap(true, Ordering::Relaxed) {
                        path.push(look);
                    }
                }
                None => input.call_worker(),
            }
        }
        true
    }

    /// Runs what the task depends on, without a wait. Returns whether all inputs have ended.
    pub(crate) fn run_inputs(&self) -> bool {
        for input in self.inputs().iter().rev() {
            run_ready(input);
        }
        self.inputs().iter().all(|input| input.is_done())
    }

    /// Waits until all inputs have ended. This worker first runs all that are ready: while it waits
    /// for one, it does not look at the others.
    pub(crate) fn await_inputs(&self) {
        self.run_inputs();
        for input in self.inputs().iter().rev() {
            while !input.is_done() {
                if let Some(running) = run_ready(input) {
                    running.await_end(&Getter::SHARER);
                }
            }
        }
    }

    /// Ends the look. Says whether the task has ended, on this thread or on another one.
    pub(crate) fn end(self, has_ended: bool) {
        // SAFETY: the look is counted until this call, and forgotten here, so the count is lowered once.
        unsafe { Pending::came(ManuallyDrop::new(self).pending, has_ended) };
    }
}

impl Drop for Look {
    fn drop(&mut self) {
        // SAFETY: the look is counted until this call. `end` forgets the look, so the count is lowered once.
        unsafe { Pending::came(self.pending, false) };
    }
}

/// Runs this task, and before it those that it depends on, as far as this can be done without a wait.
/// Returns a task that another thread runs, or none if it has met none.
///
/// The caller looks at a task that depends on this one, and does so for as long as it uses the
/// returned one.
///
/// It takes the newest input first: thieves take the oldest task of a stack.
fn run_ready(task: &SharedTask) -> Option<SharedTask> {
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
    blocked: HashSet<NonNull<Pending>>,
    /// The first task that another thread runs.
    running: Option<SharedTask>,
}

/// A pending task on the path of a walk.
struct Step {
    node: SharedTask,
    look: Look,
    /// Whether an input has not ended, although this worker has run what it could.
    is_blocked: bool,
}

impl Walk {
    fn enter(&mut self, node: SharedTask) {
        if node.is_done() {
            return;
        }
        match Look::at(&node) {
            None => self.run(&node),
            Some(look) if self.blocked.contains(&look.pending) => self.block(),
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
        let has_ended = node.is_done();
        if !has_ended {
            self.blocked.insert(look.pending);
        }
        look.end(has_ended);
    }

    /// Runs a task whose inputs have ended.
    fn run(&mut self, node: &SharedTask) {
        node.run();
        if !node.is_done() {
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
