//! A task that panics ends the job, with one message: [`Running`].

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::panic::PanicHookInfo;
use std::sync::Once;

use crate::transport::World;

thread_local! {
    /// Whether this thread runs tasks.
    static RUNS_TASKS: Cell<bool> = const { Cell::new(false) };

    /// How many [`Running`] there are.
    static RUNNING: Cell<u32> = const { Cell::new(0) };

    /// What the last panic of a task says.
    static MESSAGE: RefCell<String> = const { RefCell::new(String::new()) };
}

/// Keeps the message of a task that panics, to tell it together with the task.
pub fn install_hook() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let usual = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            // Of two messages the first would be lost: if it was not caught, this is the end.
            if !is_told_later() || !MESSAGE.replace(message(info)).is_empty() {
                usual(info);
            }
        }));
    });
}

/// Whether a [`Running`] will be dropped because of the panic, and tell of it. Not where
/// panics abort.
fn is_told_later() -> bool {
    cfg!(panic = "unwind") && RUNNING.get() > 0
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

/// Notes whether this thread runs tasks.
pub fn set_runs_tasks(runs: bool) {
    RUNS_TASKS.set(runs);
}

/// For what all ranks do together.
///
/// # Panics
///
/// If a task does it: the other ranks would not.
pub fn assert_no_task() {
    assert!(
        !RUNS_TASKS.get(),
        "a task must not do what all ranks do together: runs, barriers, making and \
         dropping of arrays"
    );
}

/// A task that was taken out of a queue, while it runs: it and all that it runs itself.
pub struct Running<'r, T: std::fmt::Debug> {
    world: &'r World,
    task: &'r T,
    level: u32,
}

impl<'r, T: std::fmt::Debug> Running<'r, T> {
    pub fn new(world: &'r World, task: &'r T, level: u32) -> Self {
        RUNNING.set(RUNNING.get() + 1);
        Running { world, task, level }
    }
}

impl<T: std::fmt::Debug> Drop for Running<'_, T> {
    fn drop(&mut self) {
        RUNNING.set(RUNNING.get() - 1);
        if std::thread::panicking() {
            let Running { world, task, level } = self;
            // The innermost one tells, and nobody comes back from that.
            world.fail(&format!(
                "task {task:?}, level {level}, or what it spawned has panicked {}",
                MESSAGE.take()
            ));
        }
    }
}
