//! Loom models of pending tasks.

use std::alloc::Layout;
use std::mem::{MaybeUninit, offset_of};
use std::ptr::null;
use std::sync::atomic::{AtomicUsize as Count, Ordering::Relaxed};

use loom::cell::UnsafeCell;
use loom::sync::Arc;
use loom::thread;

use super::*;
use crate::promise::{Functions, Oneshot, Promise};

/// A task without a pool.
#[repr(C)]
struct Task {
    head: Head,
    /// Written by the task.
    effect: UnsafeCell<u32>,
    /// How often its handle has gone.
    gone: Count,
}

// SAFETY: `effect` is written before the end, and read after it. The head is used as its own page says.
unsafe impl Sync for Task {}
// SAFETY: as above.
unsafe impl Send for Task {}

const FUNCTIONS: &Functions = &Functions {
    pop: |_, _, _| false,
    let_go: |task| {
        // SAFETY: the model keeps the task until its end.
        let task = unsafe { task.cast::<Task>().as_ref() };
        task.gone.fetch_add(1, Relaxed);
    },
    abandon: |_| unreachable!(),
    is_local: |_, _| false,
    run: |_, _| (),
    call_worker: |_| (),
    wait: |task, _, _| {
        // SAFETY: the model keeps the task until its end.
        while !unsafe { task.as_ref() }.channel.is_done() {
            thread::yield_now();
        }
    },
    begin: |_, _| unreachable!(),
    got: None,
    fail: |_, _| unreachable!(),
    drop_message: |_| None,
    message_offset: 0,
    pending_offset: None,
    layout: Layout::new::<Task>(),
};

impl Task {
    fn new(functions: &'static Functions) -> Task {
        Task {
            head: Head::new(Oneshot::new(false), functions, null()),
            effect: UnsafeCell::new(0),
            gone: Count::new(0),
        }
    }

    /// Runs the task, as its claimant does.
    fn end(&self) {
        assert!(self.head.channel.claim(0));
        // SAFETY: one thread runs the task, and no other looks at the effect before the end.
        self.effect.with_mut(|effect| unsafe { *effect = 7 });
        self.head.channel.end().watchers.wake();
    }

    fn check_effect(&self) {
        // SAFETY: the caller runs after the end.
        self.effect.with(|effect| assert_eq!(unsafe { *effect }, 7));
    }
}

/// A task with inputs, which records how often it has begun, and how.
#[repr(C)]
struct Dependent {
    task: Task,
    pending: MaybeUninit<Pending>,
    inputs: Vec<Arc<Task>>,
    begun: [Count; 3],
}

// SAFETY: as for `Task`. `pending` is written before other threads have the task, and is `Sync`.
unsafe impl Sync for Dependent {}
// SAFETY: as above.
unsafe impl Send for Dependent {}

const FUNCTIONS_WITH_INPUTS: &Functions = &Functions {
    begin: |task, how| {
        // SAFETY: the model keeps the task until its end.
        let this = unsafe { task.cast::<Dependent>().as_ref() };
        this.inputs.iter().for_each(|input| input.check_effect());
        this.begun[how as usize].fetch_add(1, Relaxed);
    },
    pending_offset: Some(offset_of!(Dependent, pending)),
    ..*FUNCTIONS
};

impl Dependent {
    /// Returns a task that depends on `N` others, which are not counted yet.
    fn new<const N: usize>() -> Box<Dependent> {
        let inputs: Vec<_> = (0..N).map(|_| Arc::new(Task::new(FUNCTIONS))).collect();
        let mut tasks = Inputs(Vec::new());
        for task in &inputs {
            // SAFETY: this is the handle of the task, and no code looks at its result. The model keeps the task.
            let promise: Promise<()> = unsafe { Promise::new(NonNull::from(&**task).cast()) };
            tasks.0.push(promise.share());
        }
        // The task does not move any more.
        let mut this = Box::new(Dependent {
            task: Task::new(FUNCTIONS_WITH_INPUTS),
            pending: MaybeUninit::uninit(),
            inputs,
            begun: Default::default(),
        });
        let head = NonNull::from(&mut *this).cast();
        this.pending.write(Pending::new(head, tasks));
        this
    }

    /// Counts the inputs, once.
    fn count_inputs(&self) {
        // SAFETY: the task has this as its `pending`, and the model keeps it and its inputs.
        unsafe { Pending::count_inputs(NonNull::from(&self.pending).cast()) };
    }

    fn look(&self) -> Option<Look> {
        // SAFETY: the model keeps the task until its end.
        Look::at(&unsafe { TaskRef::new(NonNull::from(self).cast()) })
    }

    fn check_effects(&self) {
        self.inputs.iter().for_each(|input| input.check_effect());
    }

    fn times(&self, how: Begin) -> usize {
        self.begun[how as usize].load(Relaxed)
    }
}

/// Ends `N` inputs on a thread each, while this thread makes a task that depends on them, and looks. The
/// task begins once, after all of them, and in the way that `looker` returns, if it knows.
fn check<const N: usize>(looker: fn(&Dependent) -> Option<Begin>) {
    loom::model(move || {
        let task = Dependent::new::<N>();
        let threads: Vec<_> = (task.inputs.iter().cloned())
            .map(|input| thread::spawn(move || input.end()))
            .collect();
        task.count_inputs();
        let expected = looker(&task);
        threads
            .into_iter()
            .for_each(|thread| thread.join().unwrap());
        let begun = [Begin::Spawn, Begin::Call, Begin::HasEnded].map(|how| task.times(how));
        assert_eq!(begun.iter().sum::<usize>(), 1);
        if let Some(how) = expected {
            assert_eq!(task.times(how), 1, "it begins in another way");
        }
        for input in &task.inputs {
            assert_eq!(input.gone.load(Relaxed), 1);
        }
    });
}

#[test]
fn a_pending_task_begins_once_after_all_of_its_inputs() {
    check::<2>(|_| Some(Begin::Spawn));
}

/// As a worker does that needs the result.
#[test]
fn a_worker_that_has_awaited_the_inputs_sees_what_they_did() {
    check::<1>(|task| {
        let look = task.look();
        look.iter().for_each(Look::await_inputs);
        // Here the worker runs the task.
        task.check_effects();
        // An input may record its end later than this. Then its ticket is spawned although it has ended.
        look.into_iter().for_each(|look| look.end(true));
        None
    });
}

/// The end of a look says that the task has ended, if the look is the last thing that was counted.
#[test]
fn a_task_that_ended_during_a_look_is_not_begun_again() {
    loom::model(|| {
        let task = Dependent::new::<1>();
        task.count_inputs();
        let look = task.look().expect("the input has not ended");
        let input = task.inputs[0].clone();
        thread::spawn(move || input.end()).join().unwrap();
        look.end(true);
        assert_eq!(task.times(Begin::HasEnded), 1);
    });
}

/// As a worker does that polls.
#[test]
fn a_look_delays_the_begin_and_does_not_lose_it() {
    check::<1>(|task| {
        match task.look() {
            Some(look) if look.run_inputs() => {
                task.check_effects();
                look.end(true);
                return None;
            }
            Some(_) => (),
            None => task.check_effects(),
        }
        Some(Begin::Spawn)
    });
}

#[test]
fn a_task_is_called_or_its_inputs_have_ended() {
    check::<1>(|task| {
        if task.look().is_some_and(Look::call_workers) {
            return Some(Begin::Call);
        }
        task.check_effects();
        Some(Begin::Spawn)
    });
}
