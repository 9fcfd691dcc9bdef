//! Panics of tasks whose results are never fetched, and of destructors that the runtime runs: they
//! reach the same call under the serial elision as on a pool.

use std::any::Any;
use std::future::{Future, IntoFuture};
use std::panic::{AssertUnwindSafe, catch_unwind, panic_any, resume_unwind};
use std::pin::pin;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::*};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex};
use std::task::{Context, Wake, Waker};
use std::thread;

use crate::common::{self, rounds};
use purloin::{Cancelled, Handle, Pool, Scheduler, Serial, SharedHandle, Worker};

type Panic = Box<dyn Any + Send>;

/// Panics when it is dropped, without a message.
struct Bomb;

impl Drop for Bomb {
    fn drop(&mut self) {
        resume_unwind(Box::new("dropped"));
    }
}

fn catch<R>(f: impl FnOnce() -> R) -> Result<R, Panic> {
    catch_unwind(AssertUnwindSafe(f))
}

fn fail() {
    resume_unwind(Box::new("the task"));
}

fn expect<R>(result: Result<R, Panic>, message: &'static str) {
    let panic = result.err().expect("a panic");
    assert_eq!(panic.downcast_ref(), Some(&message));
}

common::under_two_schedulers! {
    for workers in common::workers([1, 2, 4]), Pool::builder().workers(workers);
    panics_of_detached_tasks_reach_the_finish,
    the_panic_of_a_spawn_after_others_reaches_the_finish,
    the_last_handle_drops_a_shared_result_that_was_got,
    a_panic_that_is_fetched_surfaces_once,
    an_unfetched_panic_reaches_the_run_around_the_drop,
    destructors_of_unfetched_results_panic_as_their_tasks,
    destructors_of_cancelled_tasks_panic_as_their_tasks,
    destructors_of_unwanted_calls_panic_as_spawned_jobs,
}

#[test]
fn panics_of_detached_tasks_reach_the_finish_serially() {
    assert_eq!(detached_in_a_finish(&mut Serial), 0);
}

/// A thread outside calls a worker for the task by a poll, and then drops the handle. Now the worker that
/// runs the task is the last to hold it, but for the finish.
#[test]
fn the_panic_of_a_task_that_was_polled_once_reaches_the_finish() {
    /// Wakes nobody until the test lets it.
    struct Gate(Mutex<Receiver<()>>);

    impl Wake for Gate {
        fn wake(self: Arc<Self>) {
            let _ = self.0.lock().unwrap().recv();
        }
    }

    // Dropped last: it waits for the worker at the gate.
    let pool = common::pool(1);
    let (begins, goes_on) = (AtomicBool::new(false), AtomicBool::new(false));
    let (open, gate) = channel();
    let gate = Waker::from(Arc::new(Gate(Mutex::new(gate))));
    let run = catch(|| {
        pool.run(|mut w| {
            w.finish(|scope| {
                let task = scope.future(|_| {
                    begins.store(true, Release);
                    common::wait_for(&goes_on);
                    fail();
                });
                let poll_once = || {
                    let poll = pin!(task.into_future()).poll(&mut Context::from_waker(&gate));
                    assert!(poll.is_pending());
                };
                thread::scope(|threads| threads.spawn(poll_once).join().unwrap());
                common::wait_for(&begins);
                goes_on.store(true, Release);
            });
        });
    });
    expect(run, "the task");
    open.send(()).unwrap();
}

/// If a thief ends the task before its handle is dropped, the panic reaches the run around the drop.
fn panics_of_detached_tasks_reach_the_finish(pool: Pool<impl Scheduler>) {
    for _ in 0..rounds(20) {
        let missed = AtomicUsize::new(0);
        let run = catch(|| {
            pool.run(|mut w| missed.store(detached_in_a_finish(&mut w), Relaxed));
        });
        match run {
            Ok(()) => assert_eq!(missed.into_inner(), 0),
            run => expect(run, "the task"),
        }
    }
}

/// Returns how many of the panics of dropped handles have not reached the finish.
fn detached_in_a_finish<W: Worker>(w: &mut W) -> usize {
    let mut missed = 0;
    macro_rules! check {
        ($scope:ident => $body:expr) => {
            match catch(|| w.finish(|$scope| $body)) {
                Ok(()) => missed += 1,
                outcome => expect(outcome, "the task"),
            }
        };
    }
    check!(scope => scope.spawn(|_| fail()));
    check!(scope => drop(scope.future(|_| fail())));
    check!(scope => drop(scope.future(|_| fail()).share()));
    check!(scope => drop(scope.shared_future(|_| fail())));
    // A task without a handle: its panic always reaches the finish.
    let after = catch(|| {
        w.finish(|scope| {
            let one = scope.shared_future(|_| 1);
            scope.after([&one]).spawn(|_| fail());
        });
    });
    expect(after, "the task");
    check!(scope => {
        let one = scope.shared_future(|_| 1);
        drop(scope.after([&one]).shared_future(|_| fail()));
    });
    check!(scope => scope.spawn(move |_| drop(scope.future(|_| fail()))));
    // The finish of the scope, not the innermost one.
    check!(scope => scope.spawn(move |mut w| {
        let inner = catch(|| w.finish(|_| drop(scope.future(|_| fail()))));
        assert!(inner.is_ok());
        let inner = catch(|| w.finish(|_| scope.after([&scope.shared_future(|_| 1)]).spawn(|_| fail())));
        assert!(inner.is_ok());
    }));
    // The body's own panic is the first.
    let both = catch(|| {
        w.finish(|scope| {
            let _handle = scope.future(|_| fail());
            resume_unwind(Box::new("the body"));
        })
    });
    expect(both, "the body");
    // The result of the body may panic when it is dropped.
    let bomb = catch(|| {
        std::mem::forget(w.finish(|scope| {
            scope.spawn(|_| fail());
            Bomb
        }));
    });
    expect(bomb, "the task");
    // Several panics, whose payloads panic when they are dropped.
    let several = catch(|| {
        w.finish(|scope| {
            for _ in 0..3 {
                scope.spawn(|_| resume_unwind(Box::new(Bomb)));
            }
        })
    });
    std::mem::forget(several.expect_err("the first panic"));
    // A task that panics with `Cancelled`, in a scope that is not cancelled, has failed.
    let cancelled = catch(|| w.finish(|scope| scope.spawn(|_| panic_any(Cancelled))));
    assert!(cancelled.is_err_and(|panic| panic.is::<Cancelled>()));
    missed
}

#[test]
fn a_panic_that_is_fetched_surfaces_once_serially() {
    fetched(&mut Serial);
}

fn a_panic_that_is_fetched_surfaces_once(pool: Pool<impl Scheduler>) {
    for _ in 0..rounds(20) {
        pool.run(|mut w| fetched(&mut w));
    }
}

fn fetched<W: Worker>(w: &mut W) {
    w.finish(|scope| {
        expect(catch(|| scope.future(|_| fail()).get()), "the task");
        expect(catch(|| scope.future(|_| fail()).try_get()), "the task");
        let shared = scope.shared_future(|_| fail());
        expect(catch(|| *shared.get()), "the task");
        assert!(catch(|| *shared.get()).is_err());
        let shared = scope.future(|_| fail()).share();
        expect(catch(|| shared.try_get().copied()), "the task");
    });
    let future = w.future(|_| fail());
    expect(catch(|| w.get(future)), "the task");
}

#[test]
fn an_unfetched_panic_continues_where_the_handle_is_dropped_serially() {
    expect(catch(|| drop(Serial.future(|_| fail()))), "the task");
    expect(
        catch(|| drop(Serial.future(|_| fail()).share())),
        "the task",
    );
    let later: Handle<()> = Serial.finish(|scope| scope.future(|_| fail()));
    expect(catch(|| drop(later)), "the task");
    let later: SharedHandle<()> = Serial.finish(|scope| scope.shared_future(|_| fail()));
    expect(catch(|| drop(later)), "the task");
    let several = vec![Serial.future(|_| fail()), Serial.future(|_| fail())];
    expect(catch(|| drop(several)), "the task");
    let beside = catch(|| {
        let _handle = Serial.future(|_| fail());
        resume_unwind(Box::new("another"));
    });
    expect(beside, "another");
    // A closure whose scope is cancelled may panic when it is dropped.
    let cancelled = catch(|| {
        Serial.finish(|scope| {
            scope.cancel();
            let bomb = Bomb;
            scope.spawn(move |_| std::mem::forget(bomb));
            let bomb = Bomb;
            drop(scope.future(move |_| std::mem::forget(bomb)));
        })
    });
    expect(cancelled, "dropped");
}

fn an_unfetched_panic_reaches_the_run_around_the_drop(pool: Pool<impl Scheduler>) {
    for serially in [false, true] {
        let seen = Mutex::new(false);
        let run = || {
            pool.run(|mut w| {
                match serially {
                    true => drop(Serial.future(|_| fail())),
                    false => drop(w.future(|_| fail())),
                }
                *seen.lock().unwrap() = true;
            })
        };
        expect(catch(run), "the task");
        assert!(*seen.lock().unwrap(), "the drop itself does not panic");
    }
}

fn bombs_in_a_finish<W: Worker>(w: &mut W) {
    w.finish(|scope| drop(scope.future(|_| Bomb)));
}

/// The panic reaches the finish, or the call if the task ends before its handle is dropped.
fn destructors_of_unfetched_results_panic_as_their_tasks(pool: Pool<impl Scheduler>) {
    for _ in 0..rounds(20) {
        expect(
            catch(|| pool.run(|mut w| bombs_in_a_finish(&mut w))),
            "dropped",
        );
        expect(
            catch(|| pool.run(|mut w| drop(w.future(|_| Bomb)))),
            "dropped",
        );
        let shared =
            catch(|| pool.run(|mut w| w.finish(|scope| drop(scope.shared_future(|_| Bomb)))));
        expect(shared, "dropped");
        let serial = catch(|| pool.run(|_| drop(Serial.future(|_| Bomb))));
        expect(serial, "dropped");
        let second = catch(|| {
            pool.run(|mut w| {
                w.finish(|scope| {
                    let _result = scope.future(|_| Bomb);
                    resume_unwind(Box::new("the body"));
                })
            })
        });
        expect(second, "the body");
        // A result that is fetched belongs to the program.
        let fetched = pool.run(|mut w| {
            let future = w.future(|_| Bomb);
            w.get(future)
        });
        std::mem::forget(fetched);
    }
}

#[test]
fn destructors_of_unfetched_results_panic_as_their_tasks_serially() {
    expect(catch(|| bombs_in_a_finish(&mut Serial)), "dropped");
    expect(catch(|| drop(Serial.future(|_| Bomb))), "dropped");
    let second = catch(|| {
        Serial.finish(|scope| {
            let _result = scope.future(|_| Bomb);
            resume_unwind(Box::new("the body"));
        })
    });
    expect(second, "the body");
}

fn destructors_of_cancelled_tasks_panic_as_their_tasks(pool: Pool<impl Scheduler>) {
    fn spawn<W: Worker>(w: &mut W) {
        w.finish(|scope| {
            scope.cancel();
            let bomb = Bomb;
            scope.spawn(move |_| std::mem::forget(bomb));
        });
    }

    fn future<W: Worker>(w: &mut W) {
        w.finish(|scope| {
            scope.cancel();
            let bomb = Bomb;
            drop(scope.future(move |_| std::mem::forget(bomb)));
        });
    }

    for _ in 0..rounds(20) {
        pool.run(|mut w| expect(catch(|| spawn(&mut w)), "dropped"));
        // The call gets the panic if the task ends before its handle is dropped.
        expect(catch(|| pool.run(|mut w| future(&mut w))), "dropped");
    }
    expect(catch(|| spawn(&mut Serial)), "dropped");
    expect(catch(|| future(&mut Serial)), "dropped");
}

/// The panic surfaces in the next wait for the spawned jobs.
fn destructors_of_unwanted_calls_panic_as_spawned_jobs(pool: Pool<impl Scheduler>) {
    for _ in 0..rounds(20) {
        let (send, begun) = std::sync::mpsc::channel();
        let result = pool.run_async(move |_| {
            send.send(()).unwrap();
            Bomb
        });
        begun.recv().unwrap();
        drop(result);
        common::eventually("the result panics", || {
            catch(|| pool.wait()).is_err_and(|panic| panic.is::<&str>())
        });
        let bomb = Bomb;
        // It runs, or it is taken back.
        drop(pool.run_async(move |_| drop(bomb)));
        common::eventually("the closure panics", || {
            catch(|| pool.wait()).is_err_and(|panic| panic.is::<&str>())
        });
    }
}

/// The program may wait for what the destructor does.
fn the_last_handle_drops_a_shared_result_that_was_got(pool: Pool<impl Scheduler>) {
    struct Goes<'a>(&'a AtomicUsize);

    impl Drop for Goes<'_> {
        fn drop(&mut self) {
            self.0.fetch_add(1, SeqCst);
        }
    }

    for _ in 0..rounds(50) {
        let gone = AtomicUsize::new(0);
        pool.run(|mut w| {
            w.finish(|scope| {
                let result = scope.shared_future(|_| Goes(&gone));
                let after = scope.after([&result]).shared_future(|_| Goes(&gone));
                let clone = after.clone();
                after.get();
                result.get();
                drop(after);
                assert_eq!(gone.load(SeqCst), 0);
                drop(clone);
                assert_eq!(gone.load(SeqCst), 1);
                drop(result);
                assert_eq!(gone.load(SeqCst), 2);
            });
        });
        assert_eq!(gone.load(SeqCst), 2);
    }
}

/// Nobody waits for such a task, whenever its input ends. `Cancelled` is a panic like any other where no scope is
/// cancelled.
fn the_panic_of_a_spawn_after_others_reaches_the_finish(pool: Pool<impl Scheduler>) {
    let fail: [fn(); 2] = [
        || resume_unwind(Box::new("the task")),
        || resume_unwind(Box::new(Cancelled)),
    ];
    for (round, is_held) in (0..rounds(200)).zip([false, true].into_iter().cycle()) {
        let fail = fail[round / 2 % 2];
        let may_end = AtomicBool::new(!is_held);
        let outcome = catch_unwind(AssertUnwindSafe(|| {
            pool.finish(|scope| {
                let input = scope.shared_future(|_| common::wait_for(&may_end));
                scope.after([&input]).spawn(move |_| fail());
                may_end.store(true, SeqCst);
            })
        }));
        assert!(outcome.is_err(), "round {round}");
    }
}
