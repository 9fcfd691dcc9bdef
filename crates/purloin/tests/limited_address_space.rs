//! A pool leaves most of a limited resource to the program: address space, data, locked memory.
//!
//! Each test runs in a process of its own, because it limits the memory of its process.
#![cfg(all(target_os = "linux", not(miri)))]

mod common;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::channel;
use std::sync::{Arc, Barrier, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use common::{address_space, is_child, memory_in_status, must_end, run_in_child};
use purloin::{Pool, Worker};

const MEGABYTE: u64 = 1 << 20;

/// Runs `test` in a process of its own.
fn alone(name: &str, test: impl FnOnce()) {
    if is_child() {
        return test();
    }
    // Chance decides how many threads reserve 64 MiB for a heap of their own, if they may.
    let child = run_in_child(name, &[("MALLOC_ARENA_MAX", "1")]);
    let text = String::from_utf8_lossy(&child.stderr);
    assert!(child.status.success(), "{text}");
}

fn limit(resource: libc::__rlimit_resource_t, bytes: u64) {
    let limit = libc::rlimit {
        rlim_cur: bytes,
        rlim_max: bytes,
    };
    // SAFETY: `setrlimit` only reads `limit`, which is a local variable.
    assert_eq!(unsafe { libc::setrlimit(resource, &limit) }, 0);
}

/// Sets a limit of this process, which [`lift`] can lift.
fn limit_for_now(resource: libc::__rlimit_resource_t, value: u64) {
    let mut limit = get_limit(resource);
    limit.rlim_cur = value;
    // SAFETY: `setrlimit` only reads `limit`, which is a local variable.
    assert_eq!(unsafe { libc::setrlimit(resource, &limit) }, 0);
}

fn lift(resource: libc::__rlimit_resource_t) {
    limit_for_now(resource, get_limit(resource).rlim_max);
}

fn get_limit(resource: libc::__rlimit_resource_t) -> libc::rlimit {
    let mut limit = libc::rlimit {
        rlim_cur: 0,
        rlim_max: 0,
    };
    // SAFETY: `getrlimit` only writes `limit`, which is a local variable.
    assert_eq!(unsafe { libc::getrlimit(resource, &mut limit) }, 0);
    limit
}

/// Runs five jobs that wait for each other on two workers, and calls `wait`. For the first 300 ms,
/// `limit_threads` keeps spare workers from starting.
fn jobs_end_once_threads_start(
    resource: libc::__rlimit_resource_t,
    limit_threads: impl FnOnce() + Send + 'static,
    wait: impl FnOnce(Pool) + Send + 'static,
) {
    const JOBS: usize = 5;
    const STACK: usize = 64 << 20;
    must_end("a pool that could not start threads", move || {
        let pool = Pool::builder().workers(2).spare_workers(6);
        let pool = pool.stack_size(STACK).build().unwrap();
        let is_limited = Barrier::new(2);
        thread::scope(|scope| {
            scope.spawn(|| {
                is_limited.wait();
                thread::sleep(Duration::from_millis(300));
                lift(resource);
            });
            limit_threads();
            let thread = thread::Builder::new().stack_size(STACK);
            assert!(thread.spawn(|| ()).is_err());
            is_limited.wait();
            let all_began = Arc::new(Barrier::new(JOBS));
            for _ in 0..JOBS {
                let all_began = Arc::clone(&all_began);
                pool.spawn(move |_| _ = all_began.wait());
            }
            wait(pool);
        });
    });
}

fn limit_threads() {
    const NOBODY: libc::uid_t = 65534;
    // The limit does not apply to the superuser. For any other user this fails, and need not succeed.
    // SAFETY: `setuid` touches no memory of this process.
    let _ = unsafe { libc::setuid(NOBODY) };
    limit_for_now(libc::RLIMIT_NPROC, 1);
}

fn wait(pool: Pool) {
    pool.wait();
    assert!(pool.stats().spare_workers >= 3);
}

/// Locks the future memory of this process. Returns false if the system forbids it.
fn lock_memory() -> bool {
    // SAFETY: `mlockall` touches no memory of this process except that it makes it resident.
    unsafe { libc::mlockall(libc::MCL_FUTURE) == 0 }
}

fn lock(mutex: &Mutex<()>) -> MutexGuard<'_, ()> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn pool(workers: usize) -> Pool {
    let pool = Pool::builder().workers(workers).build().unwrap();
    assert_eq!(pool.run(|mut w| w.join(|_| 1, |_| 2)), (1, 2));
    pool
}

/// Nests `n` joins.
fn deep<W: Worker>(mut w: W, n: u64) -> u64 {
    if n == 0 {
        return 0;
    }
    let (a, b) = w.join(move |w| deep(w, n - 1), move |_| 1);
    a + b
}

#[test]
fn a_pool_takes_little_of_a_limited_address_space() {
    alone("a_pool_takes_little_of_a_limited_address_space", || {
        const LIMIT: u64 = 4096 * MEGABYTE;
        let before = address_space();
        limit(libc::RLIMIT_AS, LIMIT);
        let two = pool(2);
        let taken = address_space() - before;
        assert!(taken < LIMIT / 8, "{taken} bytes");

        // Spare workers are left: one of them runs the job.
        drop(two);
        let pool = pool(1);
        let (send, receive) = channel();
        let answer = pool.run(move |w| {
            w.pool().spawn(move |_| send.send(7).unwrap());
            purloin::blocking(|| receive.recv())
        });
        assert_eq!(answer, Ok(7));
        assert_eq!(pool.stats().spare_workers, 1);
    });
}

#[test]
fn a_pool_gets_the_task_stacks_of_an_earlier_one() {
    alone("a_pool_gets_the_task_stacks_of_an_earlier_one", || {
        // Less than the task stacks of two workers, more than all else that a pool leaves behind.
        const LITTLE: u64 = 48 * MEGABYTE;
        let before = address_space();
        let left_by = |depth| {
            let pool = pool(2);
            assert_eq!(pool.run(|w| deep(w, depth)), depth);
            drop(pool);
            address_space() - before
        };
        let shallow = 100;
        let left = left_by(shallow);
        assert!(left > LITTLE, "{left} bytes");
        // A pool that did not get them would leave two more.
        for _ in 0..30 {
            let now = left_by(shallow);
            assert!(now < left + LITTLE, "{left} and {now} bytes");
        }
        // A task stack that has grown goes back to the system.
        let now = left_by(5000);
        assert!(now < left, "{left} and {now} bytes");

        limit(libc::RLIMIT_AS, 16 << 30);
        drop((pool(2), pool(2)));
        let limited = address_space();
        drop((pool(4), pool(4)));
        assert!(address_space() < limited + LITTLE);
    });
}

#[test]
fn a_spare_worker_takes_no_stack_before_its_thread_starts() {
    alone(
        "a_spare_worker_takes_no_stack_before_its_thread_starts",
        || {
            let taken = |spares| {
                let before = address_space();
                let builder = Pool::builder().workers(1).spare_workers(spares);
                let pool = builder.stack_size(8 << 20).build().unwrap();
                let taken = address_space() - before;
                drop(pool);
                taken
            };
            let (none, many) = (taken(0), taken(1024));
            assert!(many < none + 8 * MEGABYTE, "{none} and {many} bytes");
        },
    );
}

#[test]
fn a_spare_worker_starts_once_the_limited_address_space_has_room() {
    alone(
        "a_spare_worker_starts_once_the_limited_address_space_has_room",
        || {
            let limit = || limit_for_now(libc::RLIMIT_AS, address_space() + 32 * MEGABYTE);
            jobs_end_once_threads_start(libc::RLIMIT_AS, limit, wait);
        },
    );
}

#[test]
fn a_spare_worker_starts_once_the_process_may_have_more_threads() {
    alone(
        "a_spare_worker_starts_once_the_process_may_have_more_threads",
        || jobs_end_once_threads_start(libc::RLIMIT_NPROC, limit_threads, wait),
    );
}

#[test]
fn a_dropped_pool_starts_a_spare_worker_once_the_process_may_have_more_threads() {
    alone(
        "a_dropped_pool_starts_a_spare_worker_once_the_process_may_have_more_threads",
        || {
            let drop_later = |pool| {
                thread::sleep(Duration::from_millis(100));
                drop(pool);
            };
            jobs_end_once_threads_start(libc::RLIMIT_NPROC, limit_threads, drop_later);
        },
    );
}

#[test]
fn a_pool_for_which_a_worker_waits_starts_a_spare_worker_once_the_process_may_have_more_threads() {
    alone(
        "a_pool_for_which_a_worker_waits_starts_a_spare_worker_once_the_process_may_have_more_threads",
        || {
            let other = pool(1);
            let wait = move |pool| other.run(|_| wait(pool));
            jobs_end_once_threads_start(libc::RLIMIT_NPROC, limit_threads, wait);
        },
    );
}

#[test]
fn the_threads_of_a_program_start_beside_a_pool_in_a_small_address_space() {
    alone(
        "the_threads_of_a_program_start_beside_a_pool_in_a_small_address_space",
        || {
            const THREADS: usize = 16;
            limit(libc::RLIMIT_AS, 100 * MEGABYTE);
            let _pool = pool(THREADS);
            let all_started = Mutex::new(());
            let started = lock(&all_started);
            thread::scope(|scope| {
                let threads = [(); THREADS].map(|()| {
                    thread::Builder::new().spawn_scoped(scope, || {
                        let memory = vec![1_u8; 64 << 10];
                        drop(lock(&all_started));
                        drop(memory);
                    })
                });
                drop(started);
                assert!(threads.iter().all(Result::is_ok), "{threads:?}");
            });
        },
    );
}

#[test]
fn a_program_may_allocate_most_of_its_limited_data_beside_a_pool() {
    alone(
        "a_program_may_allocate_most_of_its_limited_data_beside_a_pool",
        || {
            const LIMIT: u64 = 1024 * MEGABYTE;
            limit(libc::RLIMIT_DATA, LIMIT);
            let _pool = pool(2);
            let mut memory = Vec::<u8>::new();
            let most = LIMIT as usize / 10 * 9;
            assert!(memory.try_reserve_exact(most).is_ok());
        },
    );
}

#[test]
fn a_join_for_which_the_system_has_no_memory_panics_and_the_pool_goes_on() {
    alone(
        "a_join_for_which_the_system_has_no_memory_panics_and_the_pool_goes_on",
        || {
            const DEPTH: u64 = 20_000;
            let pool = Pool::builder().workers(1).stack_size(64 << 20);
            let pool = pool.build().unwrap();
            assert_eq!(pool.run(|w| deep(w, 10)), 10);
            // A message with a backtrace would take more memory than is left.
            std::panic::set_hook(Box::new(|_| ()));
            // Leaves room for messages, but not for another piece of the task stack.
            let left = 60 << 10;
            limit(libc::RLIMIT_DATA, memory_in_status("VmData:") + left);
            let run = || pool.run(|w| deep(w, DEPTH));
            let panic = catch_unwind(AssertUnwindSafe(run)).unwrap_err();
            let message = panic.downcast::<String>().unwrap();
            assert!(message.contains("no memory for more"), "{message}");
            assert_eq!(pool.run(|w| deep(w, 10)), 10);
        },
    );
}

#[test]
fn a_pool_takes_little_memory_of_a_process_that_locks_all_of_it() {
    alone(
        "a_pool_takes_little_memory_of_a_process_that_locks_all_of_it",
        || {
            if !lock_memory() {
                return;
            }
            let before = memory_in_status("VmRSS:");
            let pool = pool(2);
            let taken = memory_in_status("VmRSS:") - before;
            assert!(taken < 20 * MEGABYTE, "{taken} bytes");
            // The task stack of the worker grows all the same.
            assert_eq!(pool.run(|w| deep(w, 5000)), 5000);
        },
    );
}

#[test]
fn a_pool_starts_in_a_process_that_may_lock_only_a_few_megabytes() {
    alone(
        "a_pool_starts_in_a_process_that_may_lock_only_a_few_megabytes",
        || {
            const NOBODY: libc::uid_t = 65534;
            limit(libc::RLIMIT_MEMLOCK, 8 * MEGABYTE);
            // The superuser may lock any amount. This fails for any other user, and need not succeed.
            // SAFETY: `setuid` touches no memory of this process.
            let _ = unsafe { libc::setuid(NOBODY) };
            if lock_memory() {
                assert_eq!(pool(2).workers(), 2);
            }
        },
    );
}
