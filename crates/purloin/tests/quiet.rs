//! What workers without work cost, by the processor time of the process.
//!
//! One test, so that nothing else in the process uses processor time.
#![allow(missing_docs)]
#![cfg(target_os = "linux")]

use std::time::{Duration, Instant};

use purloin::{Pool, Scheduler, Worker};

use purloin_schedulers::Channel;

/// Processor time used so far, by the process or by this thread.
fn processor_time(clock: libc::clockid_t) -> Duration {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: writes one timespec.
    let result = unsafe { libc::clock_gettime(clock, &mut time) };
    assert_eq!(result, 0);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// The share of one core that other threads of the process use while `f` runs.
fn split_hint_others<R>(f: impl FnOnce() -> R) -> (f64, R) {
    let others = || {
        processor_time(libc::CLOCK_PROCESS_CPUTIME_ID)
            .saturating_sub(processor_time(libc::CLOCK_THREAD_CPUTIME_ID))
    };
    let (start, before) = (Instant::now(), others());
    let result = f();
    // The two clocks are read one after the other, so it may be a little less.
    let used = others().saturating_sub(before);
    let share = used.as_secs_f64() / start.elapsed().as_secs_f64();
    (share, result)
}

fn busy(time: Duration) {
    let start = Instant::now();
    while start.elapsed() < time {
        std::hint::spin_loop();
    }
}

fn check<S: Scheduler>(name: &str, pool: &Pool<S>) {
    pool.run(|mut w| w.join(|_| (), |_| ()));
    let (idle, ()) = split_hint_others(|| std::thread::sleep(Duration::from_secs(5)));
    println!(
        "{name}: a pool with nothing to do: {:.4} % of a core",
        idle * 100.0
    );
    assert!(idle < 0.001, "{name}: {idle}");

    // One worker is busy and offers nothing.
    let (others, ()) = pool.run(|_| split_hint_others(|| busy(TIME)));
    println!(
        "{name}: beside a worker that offers nothing: {:.2} % of a core",
        others * 100.0
    );
    assert!(others < 0.02, "{name}: {others}");
}

const TIME: Duration = Duration::from_secs(3);

#[test]
fn workers_without_work_cost_nothing() {
    let builder = || Pool::builder().workers(4);
    let channel = builder().scheduler(Channel::default()).build().unwrap();
    check("channel", &channel);
    drop(channel);
    let pool = builder().build().unwrap();
    check("return-barrier", &pool);

    // One worker offers tiny tasks all the time: for information.
    let (others, joins) = pool.run(|mut w| {
        split_hint_others(|| {
            let start = Instant::now();
            let mut joins = 0u64;
            while start.elapsed() < TIME {
                for _ in 0..1000 {
                    w.join(|_| std::hint::spin_loop(), |_| std::hint::spin_loop());
                    joins += 1;
                }
            }
            joins
        })
    });
    println!(
        "beside a worker that offers tiny tasks: {:.1} % of a core, {} joins a millisecond",
        others * 100.0,
        joins / 3000
    );
}
