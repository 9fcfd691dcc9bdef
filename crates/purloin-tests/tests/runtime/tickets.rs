//! Futures whose tickets a worker meets while it runs their closures.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::sync::{Arc, Mutex, OnceLock};
use std::thread;
use std::time::Duration;

use crate::common;
use purloin::{Handle, Pool, Scheduler, SharedHandle, Worker};
use purloin_schedulers::{Channel, DirectStack, OneField};

/// Worker 1 gets a future that worker 2 has made. Its task waits for worker 2. Meanwhile worker 1
/// steals the future's own ticket.
#[test]
fn a_worker_may_steal_the_ticket_of_a_task_that_it_runs() {
    fn check(pool: Pool<impl Scheduler>) {
        for in_scope in [false, true] {
            let made = Arc::new((Mutex::new(None), OnceLock::new()));
            let result = pool.run(|mut w| {
                w.finish(|scope| {
                    let own = Arc::clone(&made);
                    let maker = scope.future(move |mut w| {
                        let shared = Arc::clone(&own);
                        let get = move || *SharedHandle::get(shared.1.wait()) + 1;
                        let future = match in_scope {
                            true => scope.future(move |_| get()),
                            false => w.future(move |_| get()),
                        };
                        *own.0.lock().unwrap() = Some(future);
                        // Meanwhile the other worker waits for this task.
                        thread::sleep(Duration::from_millis(20));
                        1
                    });
                    made.1.set(maker.share()).unwrap();
                    let future = loop {
                        if let Some(future) = made.0.lock().unwrap().take() {
                            break future;
                        }
                        // A worker answers requests only here, under `Channel`.
                        scope.join(|_| (), |_| thread::yield_now());
                    };
                    Handle::get(future)
                })
            });
            assert_eq!(result, 2);
        }
    }
    check(Pool::builder().workers(2).build().unwrap());
    check(common::pool_with(Channel::default(), 2));
    check(common::pool_with(DirectStack::<OneField>::default(), 2));
}

/// A task that was spawned by an awaited one waits for the task that waits.
#[test]
fn a_task_that_would_wait_for_its_own_thread_panics() {
    let pool = Pool::builder().workers(2).build().unwrap();
    let (begun, waits) = (AtomicBool::new(false), Mutex::new(None));
    let run = || {
        pool.run(|mut w| {
            w.finish(|scope| {
                let (begun, waits) = (&begun, &waits);
                let awaited = scope.future(move |_| {
                    begun.store(true, SeqCst);
                    thread::sleep(Duration::from_millis(10));
                    scope.spawn(move |_| {
                        let handle: Option<Handle<i32>> = waits.lock().unwrap().take();
                        handle.unwrap().get();
                    });
                    thread::sleep(Duration::from_millis(20));
                    1
                });
                while !begun.load(SeqCst) {
                    thread::yield_now();
                }
                *waits.lock().unwrap() = Some(scope.future(move |_| awaited.get() + 1));
            });
        });
    };
    // No panic if another worker, or this one later, happened to run the spawned task.
    if let Err(panic) = catch_unwind(AssertUnwindSafe(run)) {
        let message = panic.downcast_ref::<&str>().unwrap();
        assert!(message.contains("waits for its own result"), "{message}");
    }
}
