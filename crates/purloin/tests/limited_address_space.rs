//! A pool leaves most of a limited address space to the program.
//!
//! This file has only one test, because the test limits the memory of its process.
#![cfg(all(target_os = "linux", not(miri)))]

mod common;

use std::sync::mpsc::channel;

use common::address_space;
use purloin::Pool;

const LIMIT: u64 = 4 << 30;

#[test]
fn a_pool_takes_little_of_a_limited_address_space() {
    let before = address_space();
    let limit = libc::rlimit {
        rlim_cur: LIMIT,
        rlim_max: libc::RLIM_INFINITY,
    };
    // SAFETY: `setrlimit` only reads `limit`, which is a local variable.
    assert_eq!(unsafe { libc::setrlimit(libc::RLIMIT_AS, &limit) }, 0);
    let pool = Pool::builder().workers(2).build().unwrap();
    // The heaps of the two threads take 128 MB of it.
    let taken = address_space() - before;
    assert!(taken < LIMIT / 8, "{taken} bytes");

    // Some spare workers are left: one of them runs the job.
    drop(pool);
    let pool = Pool::builder().workers(1).build().unwrap();
    let (send, receive) = channel();
    let answer = pool.run(move |w| {
        w.pool().spawn(move |_| send.send(7).unwrap());
        purloin::blocking(|| receive.recv())
    });
    assert_eq!(answer, Ok(7));
    assert_eq!(pool.stats().spare_workers, 1);
}
