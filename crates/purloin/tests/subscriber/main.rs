//! Spans of the crate `tracing`, with the feature of that name: those of the library reach a subscriber, and that of the
//! caller is current in tasks.
#![cfg(not(any(loom, miri)))]
#![allow(missing_docs)]

mod log;
mod stolen;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::thread;

use purloin::{Pool, Worker, span};
use tracing::dispatcher::with_default;
use tracing::level_filters::LevelFilter;
use tracing::{Dispatch, Level, Span, info_span};
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::registry::Registry;

use self::log::{Log, What, current};

fn pool(workers: usize) -> Pool {
    Pool::builder().workers(workers).build().unwrap()
}

#[test]
fn a_span_of_the_library_has_its_name() {
    let (log, subscriber) = Log::new();
    let answer = with_default(&subscriber, || {
        span("outer", || {
            let metadata = Span::current().metadata().unwrap();
            assert_eq!(metadata.name(), "outer");
            assert_eq!(metadata.target(), "purloin");
            assert_eq!(*metadata.level(), Level::DEBUG);
            span("inner", || 7)
        })
    });
    assert_eq!(answer, 7);
    assert_eq!(log.count("inner", What::Opened(Some("outer"))), 1);
    assert_eq!(log.count("outer", What::Closed), 1);
    log.check_nesting();
}

#[test]
fn a_subscriber_that_wants_no_details_gets_no_span_of_the_library() {
    let log = Log::default();
    let layers = Registry::default().with(log.clone());
    let subscriber = Dispatch::new(layers.with(LevelFilter::INFO));
    with_default(&subscriber, || {
        info_span!("caller").in_scope(|| span("detail", || assert_eq!(current(), Some("caller"))));
    });
    assert_eq!(log.count("caller", What::Closed), 1);
    assert_eq!(log.entries().len(), 4);
}

#[test]
fn a_span_of_the_library_ends_with_a_panic() {
    let (log, subscriber) = Log::new();
    with_default(&subscriber, || {
        let panics = || span("panics", || panic!("on purpose"));
        assert!(catch_unwind(panics).is_err());
        assert_eq!(current(), None);
    });
    assert_eq!(log.count("panics", What::Closed), 1);
}

#[test]
fn a_task_that_its_own_worker_runs_enters_nothing() {
    let (log, subscriber) = Log::new();
    let pool = pool(1);
    with_default(&subscriber, || {
        pool.run(|mut w| {
            let span = info_span!("caller");
            let _entered = span.enter();
            let inside = || assert_eq!(current(), Some("caller"));
            for _ in 0..100 {
                w.join(|_| inside(), |_| inside());
                w.finish(|scope| {
                    scope.spawn(|_| inside());
                    scope.future(|_| inside()).get();
                });
                let future = w.future(move |_| inside());
                w.get(future);
            }
            w.par(0..1000).for_each(|_| inside());
        });
    });
    assert_eq!(log.count("caller", What::Entered), 1);
    assert_eq!(log.count("caller", What::Closed), 1);
}

#[test]
fn tasks_of_two_callers_are_in_their_own_spans() {
    let (log, subscriber) = Log::new();
    let pool = pool(2);
    thread::scope(|threads| {
        for name in ["one", "two"] {
            let (pool, subscriber) = (&pool, &subscriber);
            threads.spawn(move || {
                with_default(subscriber, || {
                    let span = match name {
                        "one" => info_span!("one"),
                        _ => info_span!("two"),
                    };
                    let _entered = span.enter();
                    for _ in 0..200 {
                        pool.run(|mut w| {
                            w.par(0..50).for_each(|_| assert_eq!(current(), Some(name)));
                            w.finish(|scope| {
                                for _ in 0..10 {
                                    scope.spawn(|_| assert_eq!(current(), Some(name)));
                                }
                            });
                        });
                    }
                });
            });
        }
    });
    // The workers are in no span any more.
    with_default(&subscriber, || {
        assert_eq!(pool.broadcast(|_| current()), [None, None]);
    });
    drop(pool);
    log.check_nesting();
    assert_eq!(log.count("one", What::Closed), 1);
    assert_eq!(log.count("two", What::Closed), 1);
}

#[test]
fn a_stolen_task_that_panics_leaves_the_span() {
    let (log, subscriber) = Log::new();
    let pool = pool(2);
    with_default(&subscriber, || {
        let stolen = || {
            let has_begun = AtomicBool::new(false);
            let wait = || {
                while !has_begun.load(SeqCst) {
                    purloin::join(|| (), thread::yield_now);
                }
            };
            let panics = || {
                has_begun.store(true, SeqCst);
                panic!("on purpose");
            };
            let _: ((), ()) = purloin::join(wait, panics);
        };
        let call = || pool.run(|_| info_span!("caller").in_scope(stolen));
        assert!(catch_unwind(AssertUnwindSafe(call)).is_err());
        assert_eq!(pool.broadcast(|_| current()), [None, None]);
    });
    log.check_nesting();
    assert_eq!(log.count("caller", What::Entered), 2);
    assert_eq!(log.count("caller", What::Closed), 1);
}

#[test]
fn a_panic_of_the_first_closure_leaves_the_second_one_in_the_span() {
    let (log, subscriber) = Log::new();
    with_default(&subscriber, || {
        pool(1).run(|mut w| {
            info_span!("caller").in_scope(|| {
                let join = || {
                    w.join(
                        |_| info_span!("first").in_scope(|| panic!("on purpose")),
                        |_| assert_eq!(current(), Some("caller")),
                    )
                };
                assert!(catch_unwind(AssertUnwindSafe(join)).is_err());
                assert_eq!(current(), Some("caller"));
            });
        });
    });
    log.check_nesting();
}

/// The worker that gets the result runs the task, in another span than that in which the task was made.
#[test]
fn a_task_that_runs_in_another_span_leaves_it_meanwhile() {
    let (log, subscriber) = Log::new();
    let pool = pool(1);
    with_default(&subscriber, || {
        pool.run(|mut w| {
            let outside = w.future(|_| current());
            let a = info_span!("a").entered();
            let in_a = w.future(|_| current());
            info_span!("b").in_scope(|| {
                info_span!("c").in_scope(|| {
                    assert_eq!(w.get(in_a), Some("a"));
                    assert_eq!(current(), Some("c"));
                    assert_eq!(w.get(outside), None);
                    assert_eq!(current(), Some("c"));
                });
                assert_eq!(current(), Some("b"));
            });
            assert_eq!(current(), Some("a"));
            drop(a);
            assert_eq!(current(), None);
        });
    });
    log.check_nesting();
    for name in ["a", "b", "c"] {
        assert_eq!(log.count(name, What::Closed), 1);
    }
}

#[test]
fn an_unrelated_job_is_not_in_the_span_of_the_task_that_it_interrupts() {
    let (log, subscriber) = Log::new();
    let pool = pool(1);
    with_default(&subscriber, || {
        pool.spawn(|w| {
            w.pool().spawn(|_| assert_eq!(current(), None));
            info_span!("waits").in_scope(|| {
                assert!(w.pool().yield_now());
                assert_eq!(current(), Some("waits"));
            });
        });
        pool.wait();
    });
    log.check_nesting();
    assert_eq!(log.count("waits", What::Entered), 2);
}

#[test]
fn a_dropped_task_lets_go_of_the_span() {
    let (log, subscriber) = Log::new();
    with_default(&subscriber, || {
        pool(1).run(|mut w| {
            info_span!("caller").in_scope(|| {
                w.finish(|scope| {
                    scope.spawn(|_| unreachable!("it is cancelled"));
                    drop(scope.future(|_| unreachable!("it is cancelled")));
                    scope.cancel();
                });
            });
            assert_eq!(log.count("caller", What::Closed), 1);
        });
    });
}

#[test]
fn two_subscribers_get_the_spans_of_their_own_threads() {
    let pool = pool(2);
    let meet = Barrier::new(2);
    let logs = ["one", "two"].map(|_| Log::new());
    thread::scope(|threads| {
        for (_, subscriber) in &logs {
            threads.spawn(|| {
                with_default(subscriber, || {
                    // Both registries give it the same number.
                    info_span!("caller").in_scope(|| {
                        pool.run(|_| {
                            meet.wait();
                            tracing::info!("both run");
                            meet.wait();
                        });
                    });
                });
            });
        }
    });
    assert_eq!(
        pool.broadcast(|_| Span::current().is_disabled()),
        [true, true]
    );
    for (log, _) in &logs {
        log.check_nesting();
        assert_eq!(log.count("caller", What::Event), 1);
        assert_eq!(log.count("caller", What::Entered), 2);
    }
}
