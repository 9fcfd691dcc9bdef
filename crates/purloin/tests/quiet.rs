//! What workers without work cost, by the processor time of the process.
//!
//! One test, so that nothing else in the process uses processor time.
#![allow(missing_docs)]
#![cfg(target_os = "linux")]

use std::time::{Duration, Instant};

use purloin::{Pool, Worker};

/// User and system time of this process so far.
fn processor_time() -> Duration {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: writes one timespec.
    let result = unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &mut time) };
    assert_eq!(result, 0);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// The share of one core that the process uses while `f` runs.
fn share(f: impl FnOnce()) -> f64 {
    let (start, before) = (Instant::now(), processor_time());
    f();
    (processor_time() - before).as_secs_f64() / start.elapsed().as_secs_f64()
}

fn busy(time: Duration) {
    let start = Instant::now();
    while start.elapsed() < time {
        std::hint::spin_loop();
    }
}

#[test]
fn workers_without_work_cost_nothing() {
    let pool = Pool::builder().workers(4).build().unwrap();
    pool.run(|mut w| w.join(|_| (), |_| ()));
    let idle = share(|| std::thread::sleep(Duration::from_secs(5)));
    println!("a pool with nothing to do: {:.4} % of a core", idle * 100.0);
    assert!(idle < 0.001, "{idle}");

    // One worker is busy and offers nothing: what is over one core is the
    // others'. The busy one may have less than its core, so measure that too.
    let alone = Pool::builder().workers(1).build().unwrap();
    let time = Duration::from_secs(2);
    let baseline = share(|| alone.run(|_| busy(time)));
    let together = share(|| pool.run(|_| busy(time)));
    println!(
        "beside a worker that offers nothing: {:.2} % of a core",
        (together - baseline) * 100.0
    );
    assert!(together - baseline < 0.02, "{together} against {baseline}");

    // One worker offers tiny tasks all the time, each gone before a thief is
    // awake: the others nap.
    let joins = |pool: &Pool| {
        pool.run(|mut w| {
            let start = Instant::now();
            let mut joins = 0u64;
            while start.elapsed() < time {
                for _ in 0..1000 {
                    w.join(|_| std::hint::spin_loop(), |_| std::hint::spin_loop());
                    joins += 1;
                }
            }
            joins
        })
    };
    let (mut one, mut four) = (0, 0);
    let baseline = share(|| one = joins(&alone));
    let together = share(|| four = joins(&pool));
    println!(
        "beside a worker that offers tiny tasks: {:.1} % of a core; its speed: {:.2}",
        (together - baseline) * 100.0,
        four as f64 / one as f64
    );
}
