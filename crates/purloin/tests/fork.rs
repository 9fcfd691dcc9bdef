//! A forked process has a copy of every pool, and none of their threads.
#![cfg(target_os = "linux")]
#![allow(missing_docs)]

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

use purloin::Worker;

mod common;

/// Runs `child` in a forked process, and returns whether it returned true within a minute.
fn in_a_fork(child: impl FnOnce() -> bool) -> bool {
    // SAFETY: the child runs Rust code that takes locks of the standard library and of the
    // allocator; no other thread of this process holds one at this moment, as the workers
    // sleep, and the allocator has handlers for forks.
    let pid = unsafe { libc::fork() };
    assert!(pid >= 0);
    if pid == 0 {
        let right = catch_unwind(AssertUnwindSafe(child)).unwrap_or(false);
        // SAFETY: ends the process without handlers that are the parent's.
        unsafe { libc::_exit(if right { 0 } else { 1 }) };
    }
    let start = Instant::now();
    loop {
        let mut status = 0;
        // SAFETY: the status is ours.
        if unsafe { libc::waitpid(pid, &mut status, libc::WNOHANG) } == pid {
            return libc::WIFEXITED(status) && libc::WEXITSTATUS(status) == 0;
        }
        if start.elapsed() > Duration::from_secs(60) {
            // SAFETY: the child is ours.
            unsafe { libc::kill(pid, libc::SIGKILL) };
            return false;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// One test, as others would hold locks at the fork.
#[test]
fn a_forked_process_hears_what_is_wrong_and_can_make_its_own_pool() {
    let pool = common::pool(2);
    assert_eq!(pool.run(|w| common::fib(w, 10)), 55);
    assert_eq!(purloin::join(|| 1, || 2), (1, 2));
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
        "what cannot be done is a panic that names the way out"
    );
    assert!(
        in_a_fork(|| {
            // SAFETY: the child uses its copy no further.
            drop(unsafe { std::ptr::read(&pool) });
            true
        }),
        "a pool may be dropped"
    );
    assert!(
        in_a_fork(|| {
            let own = common::pool(2);
            own.run(|w| common::fib(w, 20)) == 6765
        }),
        "a new pool works"
    );
    assert!(
        in_a_fork(|| {
            let both = purloin::join(|| 3, || purloin::join(|| 4, || 5));
            both == (3, (4, 5)) && purloin::global().is_ok_and(|pool| pool.workers() > 0)
        }),
        "the global pool is made anew"
    );
    assert_eq!(pool.run(|mut w| w.join(|_| 1, |_| 2)), (1, 2));
}
