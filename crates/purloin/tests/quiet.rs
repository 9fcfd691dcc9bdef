//! Processor time of workers that have nothing to do.
//!
//! This file has only one test, because the test measures the processor time of its process.
#![cfg(target_os = "linux")]

mod common;

use std::time::{Duration, Instant};

use common::{busy, pool_with};
use purloin::{Pool, ReturnBarrier, Scheduler, Worker};
use purloin_schedulers::Channel;

/// How long the test measures an idle pool.
const IDLE: Duration = Duration::from_secs(2);
/// How long the test measures idle workers next to a busy worker. After a quarter of a second, the
/// idle workers look for tasks only every 128 ms.
const BUSY: Duration = Duration::from_secs(1);

/// Returns the processor time that the process or this thread has used so far.
fn processor_time(clock: libc::clockid_t) -> Duration {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: `clock_gettime` only writes to `time`, which is a local variable.
    let result = unsafe { libc::clock_gettime(clock, &mut time) };
    assert_eq!(result, 0);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// Runs `f`. Returns the share of one core that the other threads of the process use meanwhile,
/// and the result of `f`.
fn processor_share_of_others<R>(f: impl FnOnce() -> R) -> (f64, R) {
    let others = || {
        processor_time(libc::CLOCK_PROCESS_CPUTIME_ID)
            .saturating_sub(processor_time(libc::CLOCK_THREAD_CPUTIME_ID))
    };
    let (start, before) = (Instant::now(), others());
    let result = f();
    // The two clocks are not read at the same time, so the difference may be negative.
    let used = others().saturating_sub(before);
    let share = used.as_secs_f64() / start.elapsed().as_secs_f64();
    (share, result)
}

/// Checks a pool that is idle, and a pool with one worker that is busy but offers no task.
fn check<S: Scheduler>(name: &str, pool: &Pool<S>) {
    pool.run(|mut w| w.join(|_| (), |_| ()));
    // On a busy machine, workers take some milliseconds to fall asleep.
    std::thread::sleep(Duration::from_millis(100));
    let (idle, ()) = processor_share_of_others(|| std::thread::sleep(IDLE));
    println!(
        "{name}: a pool with nothing to do: {:.4} % of a core",
        idle * 100.0
    );
    assert!(idle < 0.001, "{name}: {idle}");

    let (others, ()) = pool.run(|_| processor_share_of_others(|| busy(BUSY)));
    println!(
        "{name}: next to a worker that offers nothing: {:.2} % of a core",
        others * 100.0
    );
    assert!(others < 0.02, "{name}: {others}");
}

#[test]
fn workers_without_work_cost_nothing() {
    check("channel", &pool_with(Channel::default(), 4));
    let pool = pool_with(ReturnBarrier::default(), 4);
    check("return-barrier", &pool);

    // One worker offers tiny tasks all the time. The test prints the cost but does not limit it.
    let (others, joins) = pool.run(|mut w| {
        processor_share_of_others(|| {
            let start = Instant::now();
            let mut joins = 0u64;
            while start.elapsed() < BUSY {
                for _ in 0..1000 {
                    w.join(|_| std::hint::spin_loop(), |_| std::hint::spin_loop());
                    joins += 1;
                }
            }
            joins
        })
    });
    println!(
        "next to a worker that offers tiny tasks: {:.1} % of a core, {} joins a millisecond",
        others * 100.0,
        u128::from(joins) / BUSY.as_millis()
    );
}
