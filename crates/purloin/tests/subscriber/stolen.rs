//! A task of each kind that another thread runs than its caller.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::thread::{self, ThreadId};

use purloin::prelude::*;
use purloin::{Pool, Token, span};
use tracing::dispatcher::with_default;
use tracing::info_span;

use crate::log::{Log, What, current};

/// A task that checks its span. Its caller waits until another thread has run it.
#[derive(Clone)]
struct Task(Arc<State>);

struct State {
    caller: ThreadId,
    runs: AtomicUsize,
}

impl Task {
    fn of_this_thread() -> Task {
        Task(Arc::new(State {
            caller: thread::current().id(),
            runs: AtomicUsize::new(0),
        }))
    }

    fn run(&self) {
        let _counted = self.count();
        assert_ne!(thread::current().id(), self.0.caller);
        assert_eq!(current(), Some("caller"));
        tracing::info!("runs");
        span("inner", || assert_eq!(current(), Some("inner")));
        assert_eq!(current(), Some("caller"));
    }

    /// Counts a run when the guard is dropped, also after a panic.
    fn count(&self) -> impl Drop {
        struct Guard<'t>(&'t Task);

        impl Drop for Guard<'_> {
            fn drop(&mut self) {
                self.0.0.runs.fetch_add(1, SeqCst);
            }
        }

        Guard(self)
    }

    /// Waits for so many runs. Meanwhile makes joins, so that thieves get an answer.
    fn wait_for(&self, count: usize) {
        while self.0.runs.load(SeqCst) < count {
            purloin::join(|| (), thread::yield_now);
        }
    }

    fn wait(&self) {
        self.wait_for(1);
    }
}

/// Calls `call` in a span, on a worker, with a task that another worker must run. Then checks what the subscriber was
/// told.
fn on_a_worker(call: impl FnOnce(Token<'_>, Task) + Send) {
    in_a_span(|| {
        let pool = Pool::builder().workers(2).build().unwrap();
        pool.run(|w| {
            assert_eq!(current(), Some("caller"));
            call(w, Task::of_this_thread());
            assert_eq!(current(), Some("caller"));
        });
        drop(pool);
    });
}

/// Calls `call` in a span, on a thread that is no worker, with a task that a worker must run.
fn outside(call: impl FnOnce(&Pool, Task)) {
    in_a_span(|| {
        let pool = Pool::builder().workers(2).build().unwrap();
        call(&pool, Task::of_this_thread());
        drop(pool);
    });
}

fn in_a_span(call: impl FnOnce()) {
    let (log, subscriber) = Log::new();
    with_default(&subscriber, || info_span!("caller").in_scope(call));
    log.check_nesting();
    let runs = log.count("caller", What::Event);
    assert!(runs > 0);
    assert_eq!(log.count("inner", What::Opened(Some("caller"))), runs);
    assert_eq!(log.count("caller", What::Closed), 1);
}

#[test]
fn the_closure_of_a_join() {
    on_a_worker(|mut w, task| _ = w.join(|_| task.wait(), |_| task.run()));
    on_a_worker(|_, task| _ = purloin::join(|| task.wait(), || task.run()));
}

#[test]
fn a_large_closure_of_a_join() {
    on_a_worker(|mut w, task| {
        let words = [1_u64; 9];
        let (task, b) = (&task, task.clone());
        let (_, sum) = w.join(
            |_| task.wait(),
            move |_| {
                b.run();
                words.iter().sum::<u64>()
            },
        );
        assert_eq!(sum, 9);
    });
}

#[test]
fn a_spawn() {
    on_a_worker(|mut w, task| {
        w.finish(|scope| {
            scope.spawn(|_| task.run());
            task.wait();
        });
    });
    // Larger than a slot.
    on_a_worker(|mut w, task| {
        w.finish(|scope| {
            let (words, spawned) = ([0_u64; 9], task.clone());
            scope.spawn(move |_| {
                assert_eq!(words, [0; 9]);
                spawned.run();
            });
            task.wait();
        });
    });
    // To the queue of the finish.
    on_a_worker(|mut w, task| {
        w.finish(|scope| scope.join(|_| scope.spawn(|_| task.run()), |_| task.wait()));
    });
    outside(|pool, task| pool.finish(|scope| scope.spawn(|_| task.run())));
}

#[test]
fn a_future() {
    on_a_worker(|mut w, task| {
        let future = w.future({
            let task = task.clone();
            move |_| task.run()
        });
        task.wait();
        w.get(future);
    });
    on_a_worker(|mut w, task| {
        w.finish(|scope| {
            let future = scope.future(|_| task.run());
            let shared = scope.shared_future(|_| task.run());
            task.wait_for(2);
            future.get();
            shared.get();
        });
    });
    outside(|pool, task| {
        pool.finish(|scope| {
            scope.future(|_| task.run()).get();
        });
    });
}

#[test]
fn a_task_with_inputs() {
    on_a_worker(|mut w, task| {
        w.finish(|scope| {
            // The task begins at the end of its input, in another span.
            let input = scope.shared_future(|_| {
                info_span!("input").in_scope(|| assert_eq!(current(), Some("input")))
            });
            scope.after([&input]).spawn(|_| task.run());
            let last = scope.after([&input]).shared_future(|_| task.run());
            task.wait_for(2);
            last.get();
        });
    });
}

#[test]
fn a_loop() {
    // Each of two iterations waits for the other one.
    let meet = |task: &Task| {
        drop(task.count());
        task.wait_for(2);
        assert_eq!(current(), Some("caller"));
        tracing::info!("iteration");
        span("inner", || ());
    };
    on_a_worker(|mut w, task| w.par(0..2).for_each(|_| meet(&task)));
    on_a_worker(|_, task| [1, 2].par().for_each(|_| meet(&task)));
    on_a_worker(|_, task| [1, 2].into_iter().par_bridge().for_each(|_| meet(&task)));
}

#[test]
fn a_sort() {
    in_a_span(|| {
        let mut numbers: Vec<u64> = (0..20_000_u64).map(|n| n * 7919 % 20_011).collect();
        tracing::info!("sorting");
        span("inner", || ());
        numbers.par_sort_by(|a, b| {
            assert_eq!(current(), Some("caller"));
            a.cmp(b)
        });
        assert!(numbers.is_sorted());
    });
}

#[test]
fn a_call_from_outside() {
    outside(|pool, task| pool.run(|_| task.run()));
    // On the global pool.
    outside(|_, task| {
        purloin::join(|| task.run(), || task.run());
    });
    outside(|_, task| {
        purloin::future(move || task.run()).get();
    });
    // From a worker of another pool.
    on_a_worker(|_, task| {
        let other = Pool::builder().workers(1).build().unwrap();
        other.run(|_| task.run());
    });
}

#[test]
fn a_job() {
    outside(|pool, task| {
        let [a, b, c] = [task.clone(), task.clone(), task];
        pool.spawn(move |_| a.run());
        pool.spawn_background(move |_| b.run());
        pool.spawn_broadcast(move |_| c.run());
        pool.wait();
    });
}

#[test]
fn a_broadcast() {
    outside(|pool, task| _ = pool.broadcast(|_| task.run()));
    outside(|pool, task| pool.finish(|scope| scope.spawn_broadcast(|_| task.run())));
}

#[test]
fn a_call_of_an_asynchronous_program() {
    outside(|pool, task| {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .build()
            .unwrap();
        runtime.block_on(pool.run_async(move |_| task.run()));
    });
}
