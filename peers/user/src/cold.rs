//! Cold starts: a call with one join from a thread outside, after the workers have had nothing to do.
//!
//! The contestant `by hand` shows what the system takes: the calling thread unparks another one, and both compute. Its
//! delay is the wake-up of a thread.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use purloin::{Pool, Worker};

use crate::Row;
use crate::contestants::{Pools, compute};
use crate::forks::{Joins, chili, free, rayon, token};

/// Each closure of the join takes this long.
const PART: Duration = Duration::from_micros(50);

/// Number of calls in a run. The table shows their median.
const CALLS: usize = 9;

macro_rules! row {
    ($what:literal, $before:ident) => {
        Row {
            what: $what,
            ideal: Some(|_| PART.as_secs_f64()),
            workers: 2,
            contestants: &[
                ("by hand", |_| by_hand($before)),
                ("token", |pools| calls(pools, $before, token)),
                ("free", |pools| calls(pools, $before, free)),
                ("chili", |pools| calls(pools, $before, chili)),
                ("rayon", |pools| calls(pools, $before, rayon)),
            ],
        }
    };
}

pub const ROWS: &[Row] = &[
    row!("call with a join, after 50 ms asleep", sleep),
    row!("call with a join, after other threads", run_others),
    Row {
        what: "new pool, and a call with a join",
        ideal: Some(|_| PART.as_secs_f64()),
        workers: 2,
        contestants: &[
            ("by hand", |_| median(new_threads)),
            ("token", |_| median(new_purloin)),
            ("rayon", |_| median(new_rayon)),
        ],
    },
];

fn sleep() {
    thread::sleep(Duration::from_millis(50));
}

/// Lets two other threads compute: those of another pool, for example.
fn run_others() {
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| compute(Duration::from_millis(2)));
        }
    });
}

fn part() {
    compute(PART);
}

/// Returns the median of a time that `measure` returns.
fn median(mut measure: impl FnMut() -> Duration) -> Option<f64> {
    let mut times: Vec<Duration> = (0..CALLS).map(|_| measure()).collect();
    times.sort_unstable();
    Some(times[CALLS / 2].as_secs_f64())
}

/// Returns the time of a call with one join. `before` runs before each call.
fn calls(pools: &Pools, before: fn(), joins: Joins) -> Option<f64> {
    median(|| {
        before();
        let begin = Instant::now();
        let mut left = 2;
        let mut again = || {
            left -= 1;
            left == 1
        };
        joins(pools, &mut again, &part, &part);
        begin.elapsed()
    })
}

/// Returns the time in which the calling thread and a parked one compute.
fn by_hand(before: fn()) -> Option<f64> {
    let (is_called, is_over) = (AtomicBool::new(false), AtomicBool::new(false));
    let is_done = AtomicBool::new(false);
    thread::scope(|scope| {
        let other = scope.spawn(|| {
            loop {
                while !is_called.swap(false, Ordering::Acquire) {
                    thread::park();
                }
                if is_over.load(Ordering::Relaxed) {
                    return;
                }
                part();
                is_done.store(true, Ordering::Release);
            }
        });
        let call = || {
            is_called.store(true, Ordering::Release);
            other.thread().unpark();
        };
        let time = median(|| {
            before();
            let begin = Instant::now();
            call();
            part();
            while !is_done.swap(false, Ordering::Acquire) {
                std::hint::spin_loop();
            }
            begin.elapsed()
        });
        is_over.store(true, Ordering::Relaxed);
        call();
        time
    })
}

/// Returns the time in which the calling thread and a new one compute.
fn new_threads() -> Duration {
    let begin = Instant::now();
    thread::scope(|scope| {
        scope.spawn(part);
        part();
    });
    begin.elapsed()
}

fn new_purloin() -> Duration {
    let begin = Instant::now();
    let pool = Pool::builder().workers(2).build().expect("a pool");
    pool.run(|mut w| w.join(|_| part(), |_| part()));
    begin.elapsed()
}

fn new_rayon() -> Duration {
    let begin = Instant::now();
    let pool = rayon::ThreadPoolBuilder::new().num_threads(2).build();
    let pool = pool.expect("a pool");
    pool.install(|| rayon::join(part, part));
    begin.elapsed()
}
