//! Loom models of pending tasks.

use std::sync::atomic::{AtomicUsize as Count, Ordering::Relaxed};

use loom::cell::UnsafeCell;
use loom::thread;

use super::*;

/// An input without a pool. Its task writes to `effect`.
struct Task {
    effect: UnsafeCell<u32>,
    is_done: AtomicBool,
    /// None once the end has come.
    successors: Mutex<Option<Vec<Arc<Pending>>>>,
}

// SAFETY: `effect` is written before the end, and read after it.
unsafe impl Sync for Task {}

impl Task {
    fn new() -> Arc<Task> {
        Arc::new(Task {
            effect: UnsafeCell::new(0),
            is_done: AtomicBool::new(false),
            successors: Mutex::new(Some(Vec::new())),
        })
    }

    /// Runs the task, as its claimant does.
    fn end(&self) {
        // SAFETY: one thread runs the task, and no other looks at the effect before the end.
        self.effect.with_mut(|effect| unsafe { *effect = 7 });
        self.is_done.store(true, Ordering::Release);
        let successors = lock(&self.successors).take().unwrap_or_default();
        successors.iter().for_each(|task| task.input_ended());
    }

    fn check_effect(&self) {
        // SAFETY: the caller runs after the end.
        self.effect.with(|effect| assert_eq!(unsafe { *effect }, 7));
    }
}

impl Node for Task {
    fn scope(&self) -> usize {
        0
    }

    fn is_done(&self) -> bool {
        self.is_done.load(Ordering::Acquire)
    }

    fn pending(&self) -> Option<&Arc<Pending>> {
        None
    }

    fn precede(&self, successor: &Arc<Pending>) -> bool {
        match &mut *lock(&self.successors) {
            Some(successors) => successors.push(Arc::clone(successor)),
            None => return false,
        }
        true
    }

    fn run(&self) {}

    fn call_worker(&self) {}

    fn wait(&self) {
        while !self.is_done() {
            thread::yield_now();
        }
    }
}

/// How often a pending task has begun in each way.
#[derive(Default)]
struct Begun {
    spawned: Count,
    called: Count,
    had_ended: Count,
}

impl Begun {
    fn times(&self) -> usize {
        [&self.spawned, &self.called, &self.had_ended]
            .iter()
            .map(|count| count.load(Relaxed))
            .sum()
    }
}

/// Ends `N` inputs on a thread each, while `maker` makes a task that depends on them, and looks. The
/// task begins once, after all of them.
fn check<const N: usize>(maker: fn(&Arc<Pending>, &[Arc<Task>; N])) {
    loom::model(move || {
        let tasks = std::array::from_fn(|_| Task::new());
        let begun = Arc::new(Begun::default());
        let threads = tasks.clone().map(|task| thread::spawn(move || task.end()));
        let begin = {
            let (tasks, begun) = (tasks.clone(), Arc::clone(&begun));
            move |how| {
                tasks.iter().for_each(|task| task.check_effect());
                let count = match how {
                    Begin::Spawn => &begun.spawned,
                    Begin::Call => &begun.called,
                    Begin::HasEnded => &begun.had_ended,
                };
                count.fetch_add(1, Relaxed);
            }
        };
        // SAFETY: the nodes may be used and dropped on any thread, and all captures are owned.
        let pending = unsafe {
            let inputs = tasks.clone().map(|task| Input::new(task as Arc<dyn Node>));
            Pending::new(inputs.into(), begin)
        };
        pending.count_inputs();
        maker(&pending, &tasks);
        threads
            .into_iter()
            .for_each(|thread| thread.join().unwrap());
        assert_eq!(begun.times(), 1);
    });
}

#[test]
fn a_pending_task_begins_once_after_all_of_its_inputs() {
    check::<2>(|_, _| ());
}

/// As a worker does that needs the result.
#[test]
fn a_worker_that_has_awaited_the_inputs_sees_what_they_did() {
    check::<1>(|pending, tasks| {
        let look = pending.look();
        look.iter().for_each(Look::await_inputs);
        // Here the worker runs the task.
        tasks.iter().for_each(|task| task.check_effect());
        look.into_iter().for_each(|look| look.end(true));
    });
}

/// As a worker does that polls.
#[test]
fn a_look_delays_the_begin_and_does_not_lose_it() {
    check::<1>(|pending, tasks| match pending.look() {
        Some(look) if look.run_inputs() => {
            tasks.iter().for_each(|task| task.check_effect());
            look.end(true);
        }
        Some(_) => (),
        None => tasks.iter().for_each(|task| task.check_effect()),
    });
}

#[test]
fn a_task_is_called_or_its_inputs_have_ended() {
    check::<1>(|pending, tasks| {
        if !pending.call_workers() {
            tasks.iter().for_each(|task| task.check_effect());
        }
    });
}
