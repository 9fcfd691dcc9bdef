//! A pool works as long as a spare worker cannot be started.
//!
//! This file has only one test, because the test limits the memory of its process.
#![cfg(target_os = "linux")]

mod common;

use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::thread;
use std::time::Duration;

use common::{address_space, wait_for};
use purloin::{Pool, Worker};

#[test]
fn a_pool_counts_a_spare_worker_that_cannot_be_started_and_works_without_it() {
    let pool = Pool::builder().workers(2).stack_size(64 << 20).build();
    let pool = pool.unwrap();
    let stolen = AtomicBool::new(false);
    thread::scope(|scope| {
        let caller = scope.spawn(|| {
            pool.run(|mut w| {
                w.join(
                    |_| wait_for(&stolen),
                    |_| {
                        stolen.store(true, SeqCst);
                        thread::sleep(Duration::from_millis(100));
                    },
                )
            })
        });
        wait_for(&stolen);
        // Leaves room for everything except another stack. All threads are there, so none takes this room for its heap.
        let limit = libc::rlimit {
            rlim_cur: address_space() + (32 << 20),
            rlim_max: libc::RLIM_INFINITY,
        };
        // SAFETY: `setrlimit` only reads `limit`, which is a local variable.
        assert_eq!(unsafe { libc::setrlimit(libc::RLIMIT_AS, &limit) }, 0);
        // This call needs a spare worker, because both workers are blocked or busy.
        assert_eq!(pool.run(|_| 1), 1);
        caller.join().unwrap();
    });
    let stats = pool.stats();
    assert_eq!(stats.spare_workers, 0, "{stats:?}");
    assert!(stats.spare_failures >= 1, "{stats:?}");
    assert_eq!(pool.run(|mut w| w.join(|_| 1, |_| 2)), (1, 2));
}
