//! The functions of the program that a pool calls.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering::*};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::common::{busy, message};
use purloin::{Pool, ReturnBarrier, Scheduler, Serial, Worker};
use purloin_schedulers::{Channel, DirectStack, OneField};

#[test]
fn each_thread_calls_its_handlers_once() {
    fn check(scheduler: impl Scheduler) {
        let [begun, ended] = [(); 2].map(|()| Arc::new(Mutex::new(Vec::new())));
        let note = |list: &Arc<Mutex<Vec<usize>>>| {
            let list = Arc::clone(list);
            move |worker| list.lock().unwrap().push(worker)
        };
        let builder = Pool::builder().workers(3).spare_workers(4);
        let builder = builder
            .start_handler(note(&begun))
            .exit_handler(note(&ended));
        let pool = builder.scheduler(scheduler).build().unwrap();
        // Blocked workers need spare ones.
        for _ in 0..5 {
            pool.run(|mut w| {
                w.join(
                    |_| busy(Duration::from_micros(10)),
                    |_| busy(Duration::from_millis(2)),
                )
            });
        }
        drop(pool);
        let sorted = |list: &Mutex<Vec<usize>>| {
            let mut list = list.lock().unwrap().clone();
            list.sort();
            list
        };
        let begun = sorted(&begun);
        assert_eq!(begun[..3], [0, 1, 2]);
        assert!(begun.is_sorted_by(|a, b| a < b), "{begun:?}");
        assert_eq!(begun, sorted(&ended));
    }
    check(ReturnBarrier::default());
    check(DirectStack::<OneField>::default());
    check(Channel::default());
}

#[test]
fn tasks_see_what_the_start_handler_has_set() {
    thread_local!(static VALUE: Cell<usize> = const { Cell::new(0) });
    let pool = Pool::builder().workers(2).start_handler(|worker| {
        // The handler may use the pool.
        let (a, b) = purloin::join(|| 1, || worker);
        VALUE.set(a + b);
    });
    let pool = pool.build().unwrap();
    pool.run(|mut w| {
        w.par(0..1000)
            .for_each_with_token(|w, _| assert_eq!(VALUE.get(), 1 + w.index()));
    });
}

#[test]
fn the_panic_handler_gets_every_panic_of_a_job() {
    let texts: Arc<Mutex<Vec<&'static str>>> = Arc::default();
    let seen = Arc::clone(&texts);
    let pool = Pool::builder().workers(2).panic_handler(move |panic| {
        seen.lock()
            .unwrap()
            .push(panic.downcast_ref::<&str>().unwrap());
    });
    let pool = pool.build().unwrap();
    for _ in 0..20 {
        pool.spawn(|_| panic!("a job fails"));
    }
    pool.wait();
    assert_eq!(*texts.lock().unwrap(), ["a job fails"; 20]);
    // The panic of a call goes to its caller.
    let call = || pool.run(|_| panic!("a call fails"));
    assert!(catch_unwind(AssertUnwindSafe(call)).is_err());
    assert_eq!(texts.lock().unwrap().len(), 20);
}

#[test]
fn the_panic_of_a_start_handler_surfaces() {
    let calls = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&calls);
    let pool = Pool::builder().workers(2).start_handler(move |worker| {
        count.fetch_add(1, SeqCst);
        assert_ne!(worker, 1, "worker 1 fails");
    });
    let pool = pool.build().unwrap();
    crate::common::eventually("both threads begin", || calls.load(SeqCst) == 2);
    let panic = (0..1000).find_map(|_| {
        std::thread::sleep(Duration::from_millis(1));
        catch_unwind(AssertUnwindSafe(|| pool.wait())).err()
    });
    let text = panic.expect("the panic surfaces");
    let text = text.downcast_ref::<String>().unwrap();
    assert!(text.contains("worker 1 fails"), "{text}");
    // Both workers still run tasks.
    assert_eq!(pool.run(|mut w| w.join(|_| 1, |_| 2)), (1, 2));
}

#[test]
fn a_program_may_make_the_threads_of_a_pool() {
    let names = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        let pool = Pool::builder()
            .workers(3)
            .thread_name(|worker| format!("own-{worker}"));
        let pool = pool.build_with(|worker| {
            names
                .lock()
                .unwrap()
                .push((worker.index(), worker.name().to_string()));
            assert!(worker.stack_size() >= 8 << 20);
            match worker.index() {
                // A worker whose thread is not made gets one all the same.
                1 => drop(worker),
                _ => drop(scope.spawn(|| worker.run())),
            }
            Ok(())
        });
        assert_eq!(pool.unwrap().broadcast(|w| w.index()), [0, 1, 2]);
    });
    let expected = [0, 1, 2].map(|worker| (worker, format!("own-{worker}")));
    assert_eq!(names.into_inner().unwrap(), expected);
}

#[test]
fn an_error_of_a_thread_maker_ends_the_other_workers() {
    std::thread::scope(|scope| {
        let pool = Pool::builder().workers(3).build_with(|worker| {
            if worker.index() == 2 {
                return Err(std::io::Error::other("no more threads"));
            }
            scope.spawn(|| worker.run());
            Ok(())
        });
        let error = pool.unwrap_err().to_string();
        assert!(
            error.contains("worker 2") && error.contains("no more threads"),
            "{error}"
        );
    });
}

#[test]
fn a_pool_that_ends_alone_runs_its_jobs_after_it_was_dropped() {
    let (send, receive) = std::sync::mpsc::channel();
    let (begin, began) = std::sync::mpsc::channel();
    let pool = Pool::builder().workers(1).ends_alone(true).build().unwrap();
    pool.spawn(move |_| {
        began.recv().unwrap();
        send.send(7).unwrap();
    });
    drop(pool);
    // The drop has not waited for the job.
    begin.send(()).unwrap();
    assert_eq!(receive.recv(), Ok(7));
}

#[test]
fn exit_handlers_of_different_threads_may_wait_for_each_other() {
    let barrier = Arc::new(std::sync::Barrier::new(4));
    let left = Arc::new(AtomicUsize::new(0));
    let of_handler = (Arc::clone(&barrier), Arc::clone(&left));
    let pool = Pool::builder()
        .workers(4)
        .spare_workers(0)
        .exit_handler(move |worker| {
            of_handler.0.wait();
            // The handler may use the pool, whose other threads may have ended.
            let left = Arc::clone(&of_handler.1);
            purloin::with_token(|token| {
                let mut w = token.unwrap();
                assert_eq!(w.join(|_| worker, |_| 1), (worker, 1));
                w.pool().spawn(move |_| _ = left.fetch_add(1, Relaxed));
            });
        });
    drop(pool.build().unwrap());
    assert_eq!(left.load(Relaxed), 4);
}

#[test]
fn a_thread_of_the_program_may_be_a_worker() {
    let attach = |workers: usize| {
        let mut others = Vec::new();
        let pool = Pool::builder().workers(workers).build_with(|worker| {
            match worker.index() {
                0 => worker.attach(),
                _ => others.push(std::thread::spawn(|| worker.run())),
            }
            Ok(())
        });
        (pool.unwrap(), others)
    };
    let on_thread = move || {
        let (pool, others) = attach(3);
        let here = std::thread::current().id();
        pool.run(|_| assert_eq!(std::thread::current().id(), here));
        let (a, b) = purloin::join(|| 1, || busy(Duration::from_millis(1)));
        assert_eq!((a, b), (1, ()));
        assert_eq!(
            purloin::map_reduce(0..1000, |n| n, |a, b| a + b),
            Some(499_500)
        );
        assert_eq!(pool.broadcast(|w| w.index()), [0, 1, 2]);
        // Other workers run jobs; this thread does not go idle.
        let (send, receive) = std::sync::mpsc::channel();
        pool.spawn(move |w| send.send(w.index()).unwrap());
        assert_ne!(receive.recv(), Ok(0));
        let again = catch_unwind(|| attach(1));
        assert!(again.is_err(), "this thread is a worker already");
        drop(pool);
        for other in others {
            other.join().unwrap();
        }
        // The thread stays a worker, without help.
        assert_eq!(purloin::join(|| 2, || 3), (2, 3));
    };
    std::thread::spawn(on_thread).join().unwrap();
}

#[test]
fn no_thread_is_attached_to_a_pool_whose_scheduler_would_wait_for_it_to_go_idle() {
    let builder = Pool::builder().workers(2).scheduler(Channel::default());
    let pool = builder.build_with(|worker| {
        if worker.index() == 0 {
            let attach = catch_unwind(AssertUnwindSafe(|| worker.attach()));
            let message = message(attach.unwrap_err());
            assert!(message.contains("cannot be attached"), "{message}");
        }
        Ok(())
    });
    let pool = pool.unwrap();
    let (send, receive) = std::sync::mpsc::channel();
    pool.spawn(move |_| send.send(7).unwrap());
    pool.wait();
    assert_eq!(receive.try_recv(), Ok(7));
}

/// The scope would end on a worker, although it began on none.
#[test]
fn no_thread_is_attached_within_a_finish() {
    let attach = || {
        let pool = Pool::builder().workers(2).build_with(|worker| {
            match worker.index() {
                0 => worker.attach(),
                _ => drop(worker),
            }
            Ok(())
        });
        drop(pool);
    };
    let on_thread = move || {
        Serial.finish(|_| {
            Serial.finish(|_| {
                let message = message(catch_unwind(attach).unwrap_err());
                assert!(message.contains("within a `finish`"), "{message}");
            });
        });
        attach();
        assert_eq!(purloin::join(|| 2, || 3), (2, 3));
    };
    std::thread::spawn(on_thread).join().unwrap();
}

#[test]
fn a_broadcast_panics_if_an_attached_thread_has_ended() {
    let attached = std::thread::spawn(|| {
        let pool = Pool::builder().workers(2).build_with(|worker| {
            if worker.index() == 0 {
                worker.attach();
            }
            Ok(())
        });
        pool.unwrap()
    });
    let pool = attached.join().unwrap();
    let broadcast = || pool.broadcast(|_| ());
    assert!(catch_unwind(AssertUnwindSafe(broadcast)).is_err());
    assert_eq!(pool.run(|mut w| w.join(|_| 1, |_| 2)), (1, 2));
}

#[test]
fn a_broadcast_panics_if_a_worker_has_ended() {
    let barrier = Arc::new(std::sync::Barrier::new(2));
    let panics = Arc::new(AtomicUsize::new(0));
    let of_handler = (Arc::clone(&barrier), Arc::clone(&panics));
    let builder = Pool::builder().workers(2).spare_workers(0);
    let builder = builder.exit_handler(move |worker| {
        of_handler.0.wait();
        if worker == 0 {
            return;
        }
        // The other worker ends.
        std::thread::sleep(Duration::from_millis(20));
        purloin::with_token(|token| {
            let pool = token.unwrap().pool();
            let broadcasts: [&dyn Fn(); 2] = [&|| drop(pool.broadcast(|_| ())), &|| {
                pool.finish(|scope| scope.spawn_broadcast(|_| ()))
            }];
            for broadcast in broadcasts {
                let panic = catch_unwind(AssertUnwindSafe(broadcast)).unwrap_err();
                let text = *panic.downcast::<&str>().unwrap();
                assert!(text.contains("has ended"), "{text}");
                of_handler.1.fetch_add(1, Relaxed);
            }
            pool.spawn_broadcast(|_| ());
        });
    });
    drop(builder.build().unwrap());
    assert_eq!(panics.load(Relaxed), 2);
}

#[test]
fn workers_of_a_pool_that_is_not_built_get_no_threads() {
    let begun = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&begun);
    let builder = Pool::builder().workers(4);
    let builder = builder.start_handler(move |_| _ = count.fetch_add(1, Relaxed));
    let pool = builder.build_with(|worker| match worker.index() {
        3 => Err(std::io::Error::other("no more threads")),
        // Dropped, and the last one fails.
        _ => {
            drop(worker);
            Ok(())
        }
    });
    assert!(pool.is_err());
    std::thread::sleep(Duration::from_millis(10));
    assert_eq!(begun.load(Relaxed), 0);
}

#[cfg(unix)]
#[test]
fn a_panic_of_the_panic_handler_ends_the_process() {
    const NAME: &str = "handlers::a_panic_of_the_panic_handler_ends_the_process";
    if crate::common::is_child() {
        let builder = Pool::builder().workers(1);
        let pool = builder.panic_handler(|_| panic!("no")).build().unwrap();
        pool.spawn(|_| panic!("a job"));
        pool.wait();
        unreachable!();
    }
    let child = crate::common::run_in_child(NAME, &[]);
    let text = String::from_utf8_lossy(&child.stderr);
    assert!(!child.status.success());
    assert!(text.contains("the panic handler has panicked"), "{text}");
}

#[test]
fn a_thread_name_with_a_nul_is_refused_where_it_is_set() {
    let refused = catch_unwind(|| {
        Pool::builder().workers(1).build_with(|mut worker| {
            worker.set_name("a\0");
            Ok(())
        })
    });
    let panic = refused.unwrap_err();
    let text = panic.downcast_ref::<&str>().unwrap();
    assert!(text.contains("the name of a thread"), "{text}");
}
