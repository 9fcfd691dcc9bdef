//! Panics in tasks: each ends the job on all ranks, with one message. See [`TaskGuard`].

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::panic::PanicHookInfo;
use std::sync::Once;

use crate::transport::World;

thread_local! {
    /// Whether this thread is running tasks.
    static RUNS_TASKS: Cell<bool> = const { Cell::new(false) };

    /// The number of [`TaskGuard`]s on this thread's stack.
    static GUARDS: Cell<u32> = const { Cell::new(0) };

    /// The message of the last panic below a [`TaskGuard`].
    static MESSAGE: RefCell<String> = const { RefCell::new(String::new()) };
}

/// Installs a panic hook that saves the message of a task that panics. The [`TaskGuard`] then
/// reports it together with the task.
pub fn install_hook() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let default_hook = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            // There is room for one message. If one is saved already, either the program caught
            // that panic, or this is a second panic during unwinding and the process will abort.
            // The default hook prints the new message in both cases, so none is lost.
            if !guard_reports() || !MESSAGE.replace(message(info)).is_empty() {
                default_hook(info);
            }
        }));
    });
}

/// Returns whether a [`TaskGuard`] will be dropped by the panic and report it. If panics
/// abort, no guard is dropped.
fn guard_reports() -> bool {
    cfg!(panic = "unwind") && GUARDS.get() > 0
}

fn message(info: &PanicHookInfo<'_>) -> String {
    let text = payload(info.payload());
    match info.location() {
        Some(place) => format!("at {place}: {text}"),
        None => text.to_owned(),
    }
}

fn payload(payload: &dyn Any) -> &str {
    if let Some(text) = payload.downcast_ref::<&str>() {
        text
    } else if let Some(text) = payload.downcast_ref::<String>() {
        text
    } else {
        "(no message)"
    }
}

/// Records whether this thread is running tasks.
pub fn set_runs_tasks(runs: bool) {
    RUNS_TASKS.set(runs);
}

/// Checks that a collective operation is called outside of tasks.
///
/// # Panics
///
/// Panics if a task calls this, because the other ranks would not take part.
pub fn assert_outside_tasks() {
    assert!(
        !RUNS_TASKS.get(),
        "a task must not call a collective operation: a run, a barrier, or creating or \
         dropping an array"
    );
}

/// Guards a running task that came out of a queue, including the tasks that it runs inline. If the
/// task panics, the guard ends the job on all ranks.
pub struct TaskGuard<'r, T: std::fmt::Debug> {
    world: &'r World,
    task: &'r T,
    depth: u32,
}

impl<'r, T: std::fmt::Debug> TaskGuard<'r, T> {
    pub fn new(world: &'r World, task: &'r T, depth: u32) -> Self {
        GUARDS.set(GUARDS.get() + 1);
        TaskGuard { world, task, depth }
    }
}

impl<T: std::fmt::Debug> Drop for TaskGuard<'_, T> {
    fn drop(&mut self) {
        GUARDS.set(GUARDS.get() - 1);
        if std::thread::panicking() {
            let TaskGuard { world, task, depth } = self;
            // `fail` does not return, so only the innermost guard reports.
            world.fail(&format!(
                "task {task:?} at depth {depth}, or a task that it spawned, panicked {}",
                MESSAGE.take()
            ));
        }
    }
}
