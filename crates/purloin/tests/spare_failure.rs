//! A spare worker that cannot be started: the pool goes on without it.
//!
//! Alone in its process, whose memory it limits.
#![cfg(target_os = "linux")]

use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::thread;
use std::time::Duration;

use purloin::{Pool, Worker};

/// The address space that this process has, in bytes.
fn address_space() -> u64 {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap();
    let pages: u64 = statm.split(' ').next().unwrap().parse().unwrap();
    // SAFETY: no more than a question.
    pages * unsafe { libc::sysconf(libc::_SC_PAGESIZE) } as u64
}

#[test]
fn a_spare_worker_that_cannot_be_started_is_counted_and_done_without() {
    let pool = Pool::builder().workers(2).stack_size(64 << 20).build();
    let pool = pool.unwrap();
    // Enough for everything but another stack.
    let limit = libc::rlimit {
        rlim_cur: address_space() + (32 << 20),
        rlim_max: libc::RLIM_INFINITY,
    };
    let stolen = AtomicBool::new(false);
    thread::scope(|scope| {
        let caller = scope.spawn(|| {
            pool.run(|mut w| {
                w.join(
                    |_| {
                        while !stolen.load(SeqCst) {
                            thread::yield_now();
                        }
                    },
                    |_| {
                        stolen.store(true, SeqCst);
                        thread::sleep(Duration::from_millis(100));
                    },
                )
            })
        });
        while !stolen.load(SeqCst) {
            thread::yield_now();
        }
        // SAFETY: a limit that is read, no more.
        assert_eq!(unsafe { libc::setrlimit(libc::RLIMIT_AS, &limit) }, 0);
        // Wakes a spare worker, or would.
        assert_eq!(pool.run(|_| 1), 1);
        caller.join().unwrap();
    });
    let stats = pool.stats();
    assert_eq!(stats.spare_workers, 0, "{stats:?}");
    assert!(stats.spare_failures >= 1, "{stats:?}");
    assert_eq!(pool.run(|mut w| w.join(|_| 1, |_| 2)), (1, 2));
}
