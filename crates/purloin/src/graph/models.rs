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

/// Picks the count of one way to begin.
type Way = fn(&Begun) -> &Count;

/// Ends `N` inputs on a thread each, while `maker` makes a task that depends on them, and looks. The
/// task begins once, after all of them, and in the way that `maker` returns, if it knows.
fn check<const N: usize>(maker: fn(&Arc<Pending>, &[Arc<Task>; N]) -> Option<Way>) {
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
        let expected = maker(&pending, &tasks);
        threads
            .into_iter()
            .for_each(|thread| thread.join().unwrap());
        assert_eq!(begun.times(), 1);
        if let Some(way) = expected {
            assert_eq!(way(&begun).load(Relaxed), 1, "it begins in another way");
        }
    });
}

#[test]
fn a_pending_task_begins_once_after_all_of_its_inputs() {
    check::<2>(|_, _| Some(|begun| &begun.spawned));
}

/// As a worker does that needs the result.
#[test]
fn a_worker_that_has_awaited_the_inputs_sees_what_they_did() {
    check::<1>(|pending, tasks| {
        let look = pending.look();
        look.iter().for_each(Look::await_inputs);
        // Here the worker runs the task.
        tasks.iter().for_each(|task| task.check_effect());
        // An input may record its end later than this. Then its ticket is spawned although it has ended.
        look.into_iter().for_each(|look| look.end(true));
        None
    });
}

/// The end of a look says that the task has ended, if the look is the last thing that was counted.
#[test]
fn a_task_that_ended_during_a_look_is_not_begun_again() {
    loom::model(|| {
        let input = Task::new();
        let begun = Arc::new(Begun::default());
        let count = Arc::clone(&begun);
        let begin = move |how| {
            assert!(matches!(how, Begin::HasEnded));
            count.had_ended.fetch_add(1, Relaxed);
        };
        // SAFETY: the nodes may be used and dropped on any thread, and all captures are owned.
        let pending = unsafe {
            let inputs = vec![Input::new(Arc::clone(&input) as Arc<dyn Node>)];
            Pending::new(inputs, begin)
        };
        pending.count_inputs();
        let look = pending.look().expect("the input has not ended");
        thread::spawn(move || input.end()).join().unwrap();
        look.end(true);
        assert_eq!(begun.times(), 1);
    });
}

/// As a worker does that polls.
#[test]
fn a_look_delays_the_begin_and_does_not_lose_it() {
    check::<1>(|pending, tasks| {
        match pending.look() {
            Some(look) if look.run_inputs() => {
                tasks.iter().for_each(|task| task.check_effect());
                look.end(true);
                return None;
            }
            Some(_) => (),
            None => tasks.iter().for_each(|task| task.check_effect()),
        }
        Some(|begun| &begun.spawned)
    });
}

#[test]
fn a_task_is_called_or_its_inputs_have_ended() {
    check::<1>(|pending, tasks| {
        if pending.call_workers() {
            return Some(|begun| &begun.called);
        }
        tasks.iter().for_each(|task| task.check_effect());
        Some(|begun| &begun.spawned)
    });
}
