//! One subscriber for the whole program, which is code of the program: it may panic, and it may use the pool.
#![cfg(not(any(loom, miri)))]
#![allow(missing_docs)]

use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::SeqCst};
use std::sync::{Mutex, MutexGuard, Once, PoisonError};

use purloin::{Handle, Pool, Worker, future, join, span};
use tracing::span::{Attributes, Id, Record};
use tracing::{Dispatch, Event, Metadata, Subscriber, info_span};
use tracing_core::span::Current;

/// What the subscriber does when it is asked to keep a span open.
static ON_CLONE: Mutex<fn()> = Mutex::new(nothing);
/// What the subscriber does when it is told that a span is no longer needed.
static ON_CLOSE: Mutex<fn()> = Mutex::new(nothing);
/// What the subscriber does at an event.
static ON_EVENT: Mutex<fn()> = Mutex::new(nothing);
/// Number of spans that were opened or cloned, and not closed.
static OPEN: AtomicUsize = AtomicUsize::new(0);

fn nothing() {}

struct ForAll;

thread_local! {
    static ENTERED: RefCell<Vec<(Id, &'static Metadata<'static>)>> = const { RefCell::new(Vec::new()) };
    /// Futures that the subscriber has made, and that no code has fetched.
    static MADE: RefCell<Vec<Handle<u32>>> = const { RefCell::new(Vec::new()) };
}

/// The metadata of each span, by its number.
static SPANS: Mutex<Vec<&'static Metadata<'static>>> = Mutex::new(Vec::new());

fn name_of_current() -> Option<&'static str> {
    ENTERED.with_borrow(|entered| Some(entered.last()?.1.name()))
}

/// Calls a function of a test.
fn call(what: &Mutex<fn()>) {
    let what = *what.lock().unwrap_or_else(PoisonError::into_inner);
    what();
}

impl Subscriber for ForAll {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }

    fn new_span(&self, span: &Attributes<'_>) -> Id {
        OPEN.fetch_add(1, SeqCst);
        let mut spans = SPANS.lock().unwrap_or_else(PoisonError::into_inner);
        spans.push(span.metadata());
        Id::from_u64(spans.len() as u64)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, _: &Event<'_>) {
        call(&ON_EVENT);
    }

    fn enter(&self, id: &Id) {
        let spans = SPANS.lock().unwrap_or_else(PoisonError::into_inner);
        let metadata = spans[id.into_u64() as usize - 1];
        ENTERED.with_borrow_mut(|entered| entered.push((id.clone(), metadata)));
    }

    fn exit(&self, id: &Id) {
        let left = ENTERED.with_borrow_mut(Vec::pop);
        assert_eq!(left.map(|left| left.0), Some(id.clone()), "spans nest");
    }

    fn clone_span(&self, id: &Id) -> Id {
        call(&ON_CLONE);
        OPEN.fetch_add(1, SeqCst);
        id.clone()
    }

    fn try_close(&self, _: Id) -> bool {
        call(&ON_CLOSE);
        OPEN.fetch_sub(1, SeqCst);
        false
    }

    fn current_span(&self) -> Current {
        ENTERED.with_borrow(|entered| match entered.last() {
            Some((id, metadata)) => Current::new(id.clone(), metadata),
            None => Current::none(),
        })
    }
}

/// Installs the subscriber, and keeps other tests from using it.
fn subscriber() -> MutexGuard<'static, ()> {
    static INSTALLED: Once = Once::new();
    static ALONE: Mutex<()> = Mutex::new(());
    INSTALLED.call_once(|| {
        tracing::dispatcher::set_global_default(Dispatch::new(ForAll)).unwrap();
    });
    let alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    for what in [&ON_CLONE, &ON_CLOSE, &ON_EVENT] {
        set(what, nothing);
    }
    alone
}

fn set(what: &Mutex<fn()>, f: fn()) {
    *what.lock().unwrap_or_else(PoisonError::into_inner) = f;
}

fn fib(n: u64) -> u64 {
    match n {
        0 | 1 => n,
        _ => {
            let (a, b) = join(|| fib(n - 1), || fib(n - 2));
            a + b
        }
    }
}

#[test]
fn all_tasks_are_in_the_span_of_their_caller_and_close_what_they_open() {
    let _alone = subscriber();
    let before = OPEN.load(SeqCst);
    let pool = Pool::builder().workers(3).build().unwrap();
    info_span!("caller").in_scope(|| {
        let names = pool.broadcast(|_| (name_of_current(), span("inner", name_of_current)));
        assert_eq!(names, [(Some("caller"), Some("inner")); 3]);
        pool.run(|mut w| {
            w.finish(|scope| {
                for _ in 0..1000 {
                    scope.spawn(|_| assert_eq!(name_of_current(), Some("caller")));
                }
            });
            w.for_each(0..1000, |_| assert_eq!(name_of_current(), Some("caller")));
            assert_eq!(fib(15), 610);
        });
    });
    drop(pool);
    assert_eq!(OPEN.load(SeqCst), before);
}

/// Each join and each future asks the subscriber for its span, which pushes another future to the same stack.
#[test]
fn a_subscriber_may_make_futures_while_a_task_is_made() {
    static RUN: AtomicUsize = AtomicUsize::new(0);
    static MADE_IN_ALL: AtomicUsize = AtomicUsize::new(0);

    let _alone = subscriber();
    let pool = Pool::builder().workers(2).build().unwrap();
    pool.run(|mut w| {
        set(&ON_CLONE, || {
            MADE_IN_ALL.fetch_add(1, SeqCst);
            let made = future(|| RUN.fetch_add(1, SeqCst) as u32);
            MADE.with_borrow_mut(|futures| {
                futures.push(made);
                if futures.len() > 20 {
                    futures.clear();
                }
            });
        });
        info_span!("caller").in_scope(|| {
            for _ in 0..20 {
                assert_eq!(fib(10), 55);
                let (a, b) = w.join(|w| fib_with(w, 8), |w| fib_with(w, 7));
                assert_eq!((a, b), (21, 13));
                let (first, second) = (w.future(|_| fib(5)), w.future(|_| fib(6)));
                assert_eq!((w.get(second), w.get(first)), (8, 5));
            }
        });
        set(&ON_CLONE, nothing);
    });
    pool.broadcast(|_| MADE.with_borrow_mut(Vec::clear));
    // The call waits for the futures that it leaves behind.
    assert_eq!(RUN.load(SeqCst), MADE_IN_ALL.load(SeqCst));
}

fn fib_with<W: Worker>(mut w: W, n: u64) -> u64 {
    match n {
        0 | 1 => n,
        _ => {
            let (a, b) = w.join(|w| fib_with(w, n - 1), |w| fib_with(w, n - 2));
            a + b
        }
    }
}

/// If a task counted before it has its span, the wait for it would never end.
#[test]
fn a_subscriber_that_panics_makes_no_wait_endless() {
    let _alone = subscriber();
    let pool = Pool::builder().workers(2).build().unwrap();
    set(&ON_CLONE, || panic!("the subscriber panics"));
    let panics = |f: &dyn Fn()| {
        let result = info_span!("caller").in_scope(|| catch_unwind(AssertUnwindSafe(f)));
        assert!(result.is_err());
    };
    panics(&|| pool.spawn(|_| ()));
    panics(&|| pool.run(|_| ()));
    panics(&|| _ = pool.broadcast(|_| ()));
    set(&ON_CLONE, nothing);
    pool.run(|mut w| {
        set(&ON_CLONE, || panic!("the subscriber panics"));
        info_span!("caller").in_scope(|| {
            let panics = |f: &mut dyn FnMut()| {
                assert!(catch_unwind(AssertUnwindSafe(f)).is_err());
            };
            panics(&mut || _ = join(|| (), || ()));
            panics(&mut || w.finish(|scope| scope.spawn(|_| ())));
            panics(&mut || w.finish(|scope| _ = scope.future(|_| ())));
            panics(&mut || {
                w.finish(|scope| {
                    set(&ON_CLONE, nothing);
                    let input = scope.shared_future(|_| 1);
                    set(&ON_CLONE, || panic!("the subscriber panics"));
                    scope.after([&input]).spawn(|_| ());
                });
            });
        });
        set(&ON_CLONE, nothing);
    });
    pool.wait();
}

/// While it waits for its join, the worker may run any other task, inside of the subscriber.
#[test]
fn a_subscriber_may_join_at_an_event() {
    static JOINS: AtomicU64 = AtomicU64::new(0);

    let _alone = subscriber();
    let pool = Pool::builder().workers(3).build().unwrap();
    set(&ON_EVENT, || {
        JOINS.fetch_add(fib(12), SeqCst);
    });
    info_span!("caller").in_scope(|| {
        pool.run(|mut w| {
            w.finish(|scope| {
                for _ in 0..200 {
                    scope.spawn(|_| {
                        assert_eq!(name_of_current(), Some("caller"));
                        tracing::info!("an event");
                    });
                }
            });
        });
    });
    assert_eq!(JOINS.load(SeqCst), 200 * 144);
}

/// Each of these joins would ask the subscriber for its span, within the answer to such a question.
#[test]
fn a_subscriber_may_join_while_a_task_is_made() {
    let _alone = subscriber();
    let before = OPEN.load(SeqCst);
    let pool = Pool::builder().workers(2).build().unwrap();
    let joins = || assert_eq!(fib(4), 3);
    set(&ON_CLONE, joins);
    set(&ON_CLOSE, joins);
    info_span!("caller").in_scope(|| {
        pool.run(|mut w| {
            assert_eq!(w.lend(|w| fib_with(w, 10)), 55);
            w.finish(|scope| {
                for _ in 0..100 {
                    scope.spawn(|_| assert_eq!(name_of_current(), Some("caller")));
                }
            });
        });
    });
    drop(pool);
    assert_eq!(OPEN.load(SeqCst), before);
}
