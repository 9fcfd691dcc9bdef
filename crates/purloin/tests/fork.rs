//! A forked process has a copy of every pool, but none of their threads.
#![cfg(target_os = "linux")]

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::{Duration, Instant};

use purloin::{Pool, Token, Worker};

mod common;

/// Runs `child` in a forked process. Returns whether `child` returned true within a minute.
fn in_a_fork(child: impl FnOnce() -> bool) -> bool {
    // SAFETY: the child runs Rust code that takes locks of the standard library and of the
    // allocator. The caller makes sure that all workers sleep, so no other thread of this
    // process holds a lock of the standard library. The allocator handles forks itself.
    let pid = unsafe { libc::fork() };
    assert!(pid >= 0);
    if pid == 0 {
        // The panics are expected, and a backtrace takes long.
        std::panic::set_hook(Box::new(|_| ()));
        let right = catch_unwind(AssertUnwindSafe(child)).unwrap_or(false);
        // SAFETY: `_exit` only ends the process. It runs none of the exit handlers that the child
        // has inherited from its parent.
        unsafe { libc::_exit(if right { 0 } else { 1 }) };
    }
    let start = Instant::now();
    loop {
        let mut status = 0;
        // SAFETY: `status` is a local variable that `waitpid` may write.
        if unsafe { libc::waitpid(pid, &mut status, libc::WNOHANG) } == pid {
            return libc::WIFEXITED(status) && libc::WEXITSTATUS(status) == 0;
        }
        if start.elapsed() > Duration::from_secs(60) {
            // SAFETY: `waitpid` has not reaped the child, so `pid` still names it.
            unsafe { libc::kill(pid, libc::SIGKILL) };
            return false;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// This file has only one test, because other tests could hold locks during the fork.
#[test]
fn a_forked_process_gets_clear_panics_and_may_make_its_own_pool() {
    let pool = common::pool(2);
    assert_eq!(pool.run(|w| common::fib(w, 10)), 55);
    assert_eq!(purloin::join(|| 1, || 2), (1, 2));
    // Until all workers sleep.
    std::thread::sleep(Duration::from_millis(300));

    assert!(
        in_a_fork(|| {
            let calls: [&dyn Fn(); 3] = [&|| pool.run(|_| ()), &|| pool.spawn(|_| ()), &|| {
                pool.wait()
            }];
            calls.iter().all(|call| {
                let panic = catch_unwind(AssertUnwindSafe(call)).unwrap_err();
                common::message(panic).contains("make a pool there")
            })
        }),
        "calls of the parent's pool do not panic with a message that names the way out"
    );
    assert!(
        in_a_fork(|| {
            // SAFETY: the child ends without a second use or drop of its copy of the pool.
            drop(unsafe { std::ptr::read(&pool) });
            true
        }),
        "the child cannot drop its copy of the parent's pool"
    );
    assert!(
        in_a_fork(|| {
            let own = common::pool(2);
            own.run(|w| common::fib(w, 20)) == 6765
        }),
        "a pool that the child makes does not work"
    );
    assert!(
        in_a_fork(|| {
            let both = purloin::join(|| 3, || purloin::join(|| 4, || 5));
            both == (3, (4, 5)) && purloin::global().is_ok_and(|pool| pool.workers() > 0)
        }),
        "the child has no working global pool"
    );
    assert_eq!(pool.run(|mut w| w.join(|_| 1, |_| 2)), (1, 2));

    // Tasks fork while the other worker steals and computes. It takes no lock of the standard
    // library.
    for round in 0..20 {
        let (in_child, fib) = pool.run(|mut w| {
            w.join(
                |mut w| {
                    let deeper = w.join(
                        |_| in_a_fork(|| a_child_of_a_task_is_right(&pool)),
                        |w| common::fib(w, 18),
                    );
                    deeper.0
                },
                |w| common::fib(w, 20),
            )
        });
        assert!(in_child, "the child of a task fails in round {round}");
        assert_eq!(fib, 6765);
    }
    let token = || {
        pool.run(|mut w| {
            w.join(
                |w| in_a_fork(|| a_token_in_a_child_is_right(w)),
                |w| common::fib(w, 20),
            )
            .0
        })
    };
    assert!(
        (0..20).all(|_| token()),
        "a token in the child of a task hangs or is wrong"
    );
}

/// In the child of a task, no thread is a worker.
fn a_child_of_a_task_is_right(parents: &Pool) -> bool {
    let call = catch_unwind(AssertUnwindSafe(|| parents.run(|_| ()))).unwrap_err();
    let own = common::pool(2);
    let sum = AtomicUsize::new(0);
    purloin::for_each(0..1000_usize, |n| _ = sum.fetch_add(n, Relaxed));
    let global = purloin::global().unwrap();
    common::message(call).contains("make a pool there")
        && own.run(|w| common::fib(w, 20)) == 6765
        && global.run(|w| common::fib(w, 20)) == 6765
        && purloin::join(|| 3, || purloin::join(|| 4, || 5)) == (3, (4, 5))
        && sum.into_inner() == 499_500
}

/// The child goes on with its task. It gets right results, or a panic where a thief is missing.
fn a_token_in_a_child_is_right(mut w: Token<'_>) -> bool {
    let run = || {
        let fib = w.lend(|w| common::fib(w, 20));
        let count = AtomicUsize::new(0);
        w.finish(|scope| (0..10).for_each(|_| scope.spawn(|_| _ = count.fetch_add(1, Relaxed))));
        (fib, count.into_inner())
    };
    let is_right = match catch_unwind(AssertUnwindSafe(run)) {
        Ok(results) => results == (6765, 10),
        Err(panic) => common::message(panic).contains("make a pool there"),
    };
    // Futures of this thread, which no thread of the parent can have stolen.
    let (one, two) = (w.future(|_| 1), w.future(|_| 2));
    let are_right = w.get(one) + w.get(two) == 3;
    // Tasks with results, which the queue of the finish would get.
    let run = |w: &mut Token<'_>| {
        w.finish(|scope| {
            let (sum, _) = scope.join(
                |_| {
                    let one = scope.shared_future(|_| 1);
                    let two = scope.after([&one]).shared_future(move |_| one.get() + 1);
                    two.get() + scope.future(|_| 3).get()
                },
                |_| (),
            );
            sum
        })
    };
    is_right
        && are_right
        && match catch_unwind(AssertUnwindSafe(|| run(&mut w))) {
            Ok(sum) => sum == 5,
            Err(panic) => common::message(panic).contains("make a pool there"),
        }
}
