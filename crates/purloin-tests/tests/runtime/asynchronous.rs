//! Results as futures of the standard library.

use std::future::{Future, IntoFuture};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::{Pin, pin};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::*};
use std::sync::{Arc, mpsc};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};
use std::time::Duration;

use crate::common::{MAY_USE_CHASE_LEV, busy, eventually, must_end, rounds};
use purloin::{Cancelled, Pool, ReturnBarrier, Scheduler, Worker};
use purloin_schedulers::{Channel, ChaseLev, DirectStack, OneField};

/// A plain executor: it sleeps until the future can go on.
fn block_on<F: Future>(future: F) -> F::Output {
    struct Unpark(Thread);
    impl Wake for Unpark {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    let mut future = pin!(future);
    loop {
        match poll(future.as_mut(), &waker) {
            Poll::Ready(result) => return result,
            Poll::Pending => thread::park(),
        }
    }
}

fn poll<F: Future + ?Sized>(future: Pin<&mut F>, waker: &Waker) -> Poll<F::Output> {
    future.poll(&mut Context::from_waker(waker))
}

/// Counts how often it is woken.
#[derive(Default)]
struct Count(AtomicUsize);

impl Wake for Count {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, SeqCst);
    }
}

/// Sets a flag when it is dropped.
struct Sets(Arc<AtomicBool>);

impl Drop for Sets {
    fn drop(&mut self) {
        self.0.store(true, SeqCst);
    }
}

fn pool(workers: usize) -> Pool {
    Pool::builder().workers(workers).build().unwrap()
}

/// Keeps the only worker of a pool busy until the sender is dropped.
fn occupy(pool: &Pool) -> mpsc::Sender<()> {
    let (release, wait) = mpsc::channel();
    let (begin, begun) = mpsc::channel();
    pool.spawn(move |_| {
        begin.send(()).unwrap();
        let _ = wait.recv();
    });
    begun.recv().unwrap();
    release
}

#[test]
fn a_call_wakes_its_executor() {
    fn check(scheduler: impl Scheduler) {
        must_end("awaiting calls", || {
            let pool = Pool::builder().workers(2).scheduler(scheduler);
            let pool = pool.build().unwrap();
            for n in 0..rounds(2_000) as u64 {
                let one = pool.run_async(move |mut w| w.join(|_| n, |_| n + 1));
                let other = pool.run_async(move |_| {
                    n.is_multiple_of(3)
                        .then(|| busy(Duration::from_micros(n % 50)))
                });
                assert_eq!(block_on(one), (n, n + 1));
                assert_eq!(block_on(other).is_some(), n.is_multiple_of(3));
            }
        });
    }
    check(ReturnBarrier::default());
    check(DirectStack::<OneField>::default());
    if MAY_USE_CHASE_LEV {
        check(ChaseLev::default());
    }
    check(Channel::default());
}

#[test]
fn a_dropped_call_is_taken_back() {
    let pool = pool(1);
    let occupied = occupy(&pool);
    let [ran, dropped] = [(); 2].map(|()| Arc::new(AtomicBool::new(false)));
    let (runs, sets) = (Arc::clone(&ran), Sets(Arc::clone(&dropped)));
    let mut future = pool.run_async(move |_| {
        let _sets = &sets;
        runs.store(true, SeqCst);
    });
    assert!(poll(Pin::new(&mut future), Waker::noop()).is_pending());
    assert!(!dropped.load(SeqCst));
    drop(future);
    assert!(dropped.load(SeqCst));
    drop(occupied);
    drop(pool);
    assert!(!ran.load(SeqCst));
}

#[test]
fn a_call_that_has_begun_runs_to_its_end() {
    let pool = pool(1);
    let (go, wait) = mpsc::channel::<()>();
    let (begin, begun) = mpsc::channel();
    let dropped = Arc::new(AtomicBool::new(false));
    let result = Sets(Arc::clone(&dropped));
    let future = pool.run_async(move |_| {
        begin.send(()).unwrap();
        let _ = wait.recv();
        result
    });
    begun.recv().unwrap();
    drop(future);
    assert!(!dropped.load(SeqCst));
    drop(go);
    eventually("the result is dropped", || dropped.load(SeqCst));
}

#[test]
fn a_panic_reaches_the_future() {
    let pool = pool(2);
    let future = pool.run_async(|_| -> u32 { panic!("oh") });
    let panic = catch_unwind(AssertUnwindSafe(|| block_on(future))).unwrap_err();
    assert_eq!(panic.downcast_ref(), Some(&"oh"));
    pool.wait();
}

#[test]
fn the_panic_of_a_dropped_call_reaches_the_next_wait() {
    // Without spare workers, a call of `run` waits until the only worker has ended the call before it.
    let pool = Pool::builder().workers(1).spare_workers(0).build().unwrap();
    // The future is dropped after the end.
    let future = pool.run_async(|_| -> u32 { panic!("after") });
    pool.run(|_| ());
    drop(future);
    let panic = catch_unwind(AssertUnwindSafe(|| pool.wait())).unwrap_err();
    assert_eq!(panic.downcast_ref(), Some(&"after"));
    // And before the end.
    let (go, wait) = mpsc::channel::<()>();
    let (begin, begun) = mpsc::channel();
    let future = pool.run_async(move |_| {
        begin.send(()).unwrap();
        let _ = wait.recv();
        panic!("before")
    });
    begun.recv().unwrap();
    drop::<purloin::RunFuture<()>>(future);
    drop(go);
    pool.run(|_| ());
    let panic = catch_unwind(AssertUnwindSafe(|| pool.wait())).unwrap_err();
    assert_eq!(panic.downcast_ref(), Some(&"before"));
}

#[test]
fn a_worker_that_polls_runs_the_call() {
    must_end("a worker that awaits", || {
        let pool = Pool::builder().workers(1).spare_workers(0).build().unwrap();
        let result = pool.run(|w| {
            let call = w.pool().run_async(|mut w| w.join(|_| 3, |_| 4));
            block_on(call)
        });
        assert_eq!(result, (3, 4));
        let result = pool.run(|mut w| block_on(w.future(|_| 5).into_future()));
        assert_eq!(result, 5);
    });
}

#[test]
fn calls_end_although_their_pool_is_dropped() {
    let pool = pool(1);
    let futures: Vec<_> = (0..100).map(|n| pool.run_async(move |_| n)).collect();
    drop(pool);
    let results: Vec<_> = futures.into_iter().map(block_on).collect();
    assert!(results.into_iter().eq(0..100));
}

#[test]
#[should_panic(expected = "polled after it had completed")]
fn a_completed_call_cannot_be_polled() {
    let pool = pool(1);
    let mut future = pool.run_async(|_| ());
    block_on(&mut future);
    block_on(future);
}

#[test]
fn the_last_executor_is_woken() {
    fn check<T>(mut future: impl Future<Output = T> + Unpin, release: mpsc::Sender<()>) {
        let counts: [Arc<Count>; 3] = Default::default();
        for count in &counts {
            let waker = Waker::from(Arc::clone(count));
            assert!(poll(Pin::new(&mut future), &waker).is_pending());
        }
        drop(release);
        let woken = || counts.each_ref().map(|count| count.0.load(SeqCst));
        eventually("an executor is woken", || woken() != [0; 3]);
        assert_eq!(woken(), [0, 0, 1]);
        assert!(poll(Pin::new(&mut future), Waker::noop()).is_ready());
    }
    let pool = pool(1);
    let occupied = occupy(&pool);
    check(pool.run_async(|_| ()), occupied);
    // A task in the scope of a call that runs elsewhere.
    let (send, handle) = mpsc::channel();
    let (release, wait) = mpsc::channel::<()>();
    pool.spawn(move |mut w| {
        send.send(w.future(|_| 7)).unwrap();
        let _ = wait.recv();
    });
    check(handle.recv().unwrap().into_future(), release);
    let (send, handle) = mpsc::channel();
    let (release, wait) = mpsc::channel::<()>();
    pool.spawn(move |mut w| {
        send.send(w.future(|_| 7).share()).unwrap();
        let _ = wait.recv();
    });
    check((&handle.recv().unwrap()).into_future(), release);
}

#[test]
fn handles_wake_their_executors() {
    must_end("awaiting handles", || {
        let pool = pool(3);
        for n in 0..rounds(2_000) as u64 {
            let (one, other) = pool.run(|mut w| {
                let one = w.future(move |_| busy(Duration::from_nanos(n)));
                let other = w.future(move |_| n).share();
                let clone = other.clone();
                // The task ends before its scope does, so the executors run on other threads.
                thread::scope(|threads| {
                    let awaits = threads.spawn(move || block_on(one.into_future()));
                    let all: Vec<_> = (0..2)
                        .map(|_| threads.spawn(|| *block_on((&other).into_future())))
                        .collect();
                    w.join(|_| (), |_| ());
                    awaits.join().unwrap();
                    assert!(all.into_iter().all(|awaits| awaits.join().unwrap() == n));
                });
                (block_on(w.future(|_| 1).into_future()), clone)
            });
            assert_eq!(one, 1);
            assert_eq!(*block_on((&other).into_future()), n);
        }
    });
}

#[test]
#[cfg_attr(miri, ignore = "the global pool never ends")]
fn a_handle_made_outside_of_a_pool_can_be_awaited() {
    let handles: Vec<_> = (0..100).map(|n| purloin::future(move || n)).collect();
    let sum: u32 = block_on(async {
        let mut sum = 0;
        for handle in handles {
            sum += handle.await;
        }
        sum
    });
    assert_eq!(sum, 4950);
}

#[test]
fn awaiting_a_cancelled_task_panics() {
    let pool = pool(1);
    pool.run(|mut w| {
        w.finish(|scope| {
            let handle = scope.future(|_| ());
            scope.cancel();
            let awaited = catch_unwind(AssertUnwindSafe(|| block_on(handle.into_future())));
            assert!(awaited.unwrap_err().is::<Cancelled>());
        });
    });
}

#[test]
fn a_waker_may_panic() {
    struct Panics;
    impl Wake for Panics {
        fn wake(self: Arc<Self>) {
            panic!("a waker panics");
        }
    }
    let pool = pool(1);
    let waker = Waker::from(Arc::new(Panics));
    let occupied = occupy(&pool);
    let mut call = pool.run_async(|_| 1);
    assert!(poll(Pin::new(&mut call), &waker).is_pending());
    drop(occupied);
    let (send, handle) = mpsc::channel();
    let (release, wait) = mpsc::channel::<()>();
    pool.spawn(move |mut w| {
        send.send(w.future(|_| 2)).unwrap();
        let _ = wait.recv();
    });
    let mut task = handle.recv().unwrap().into_future();
    assert!(poll(Pin::new(&mut task), &waker).is_pending());
    drop(release);
    assert_eq!(pool.run(|_| 3), 3);
    assert_eq!(block_on(call), 1);
    assert_eq!(block_on(task), 2);
}

/// The result may borrow from the scope. A poll on another thread has put a job for an idle worker into the
/// queue, and the only worker takes it after the scope has ended.
#[test]
fn a_result_that_nobody_gets_is_dropped_before_its_scope_ends() {
    let pool = Pool::builder().workers(1).spare_workers(0).build().unwrap();
    let dropped = Arc::new(AtomicBool::new(false));
    pool.run(|mut w| {
        w.finish(|scope| {
            let result = Sets(Arc::clone(&dropped));
            let future = scope.future(|_| result).into_future();
            thread::scope(|threads| {
                threads.spawn(|| {
                    let mut future = future;
                    assert!(poll(Pin::new(&mut future), Waker::noop()).is_pending());
                });
            });
        });
        assert!(dropped.load(SeqCst));
    });
}

/// A waker that calls a function.
struct Calls<F>(F);

impl<F: Fn() + Send + Sync + 'static> Wake for Calls<F> {
    fn wake(self: Arc<Self>) {
        (self.0)();
    }
}

fn calls(f: impl Fn() + Send + Sync + 'static) -> Waker {
    Waker::from(Arc::new(Calls(f)))
}

#[test]
fn a_task_that_a_waker_makes_runs() {
    for workers in [1, 2] {
        let pool = pool(workers);
        for _ in 0..100 {
            let ran = Arc::new(AtomicBool::new(false));
            let sets = Sets(Arc::clone(&ran));
            let sets = std::sync::Mutex::new(Some(sets));
            let waker = calls(move || {
                drop(purloin::future({
                    let sets = sets.lock().unwrap().take();
                    move || drop(sets)
                }))
            });
            let mut one = pin!(pool.run_async(|_| 1));
            if poll(one.as_mut(), &waker).is_pending() {
                eventually("the task runs", || ran.load(SeqCst));
            }
        }
    }
}

#[test]
fn a_task_that_the_destructor_of_an_unwanted_result_makes_runs() {
    struct Spawns(Arc<AtomicBool>);
    impl Drop for Spawns {
        fn drop(&mut self) {
            let sets = Sets(Arc::clone(&self.0));
            drop(purloin::future(move || drop(sets)));
        }
    }
    let pool = pool(1);
    let ran = Arc::new(AtomicBool::new(false));
    let (begin, begun) = mpsc::channel();
    let (go, wait) = mpsc::channel::<()>();
    let result = Spawns(Arc::clone(&ran));
    let call = pool.run_async(move |_| {
        begin.send(()).unwrap();
        let _ = wait.recv();
        result
    });
    begun.recv().unwrap();
    // Before the end: this thread is no worker, and the destructor would make a global pool.
    drop(call);
    drop(go);
    eventually("the task runs", || ran.load(SeqCst));
    // And without a call: the result of a future that nobody gets.
    let ran = Arc::new(AtomicBool::new(false));
    let result = Spawns(Arc::clone(&ran));
    pool.spawn(|_| drop(purloin::future(|| result)));
    eventually("the task runs", || ran.load(SeqCst));
}

#[test]
#[cfg_attr(miri, ignore = "the global pool never ends")]
fn dropped_futures_of_a_shared_handle_leave_nothing_behind() {
    let (sender, receiver) = mpsc::channel::<()>();
    let handle = purloin::future(move || receiver.recv()).share();
    let count = Arc::new(Count::default());
    let waker = Waker::from(Arc::clone(&count));
    for _ in 0..100 {
        let mut future = (&handle).into_future();
        assert!(poll(Pin::new(&mut future), &waker).is_pending());
    }
    drop(waker);
    assert_eq!(Arc::strong_count(&count), 1);
    drop(sender);
    let _ = handle.get();
    assert_eq!(count.0.load(SeqCst), 0);
}

#[test]
#[cfg_attr(miri, ignore = "the global pool never ends")]
fn a_waker_whose_clone_panics_does_not_take_the_wake_up_with_it() {
    use std::task::{RawWaker, RawWakerVTable};
    const PANICS: &RawWakerVTable = &RawWakerVTable::new(
        |_| panic!("this waker has no clones"),
        |_| (),
        |_| (),
        |_| (),
    );
    let (sender, receiver) = mpsc::channel::<()>();
    let mut future = purloin::future(move || receiver.recv()).into_future();
    // SAFETY: the functions of this waker use no data.
    let waker = unsafe { Waker::from_raw(RawWaker::new(std::ptr::null(), PANICS)) };
    let polled = catch_unwind(AssertUnwindSafe(|| poll(Pin::new(&mut future), &waker)));
    assert!(polled.is_err());
    let releases = thread::spawn(move || {
        thread::sleep(Duration::from_millis(20));
        drop(sender);
    });
    must_end("a future whose first waker panicked", || {
        assert!(block_on(future).is_err());
    });
    releases.join().unwrap();
}
