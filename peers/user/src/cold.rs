//! Cold starts: a call with one join from a thread outside, after the workers have had nothing to do.
//!
//! The contestant `by hand` shows what the system takes: the calling thread wakes or starts another one, and both compute.

use std::sync::mpsc::{TryRecvError, channel};
use std::thread;
use std::time::{Duration, Instant};

use purloin::{Pool, Worker};

use crate::Row;
use crate::contestants::{Pools, compute};
use crate::forks::{Joins, chili, free, rayon, token};

/// Each closure of the join takes this long: longer than two wake-ups, so that two workers run them.
const PART: Duration = Duration::from_micros(500);

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
    row!("call with a join, after 10 ms asleep", sleep),
    row!("call with a join, after others ran", run_others),
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
    thread::sleep(Duration::from_millis(10));
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

/// Returns the time in which the calling thread and one that waits compute.
fn by_hand(before: fn()) -> Option<f64> {
    let ((call, calls), (done, ends)) = (channel(), channel());
    thread::scope(|scope| {
        scope.spawn(move || {
            for () in calls {
                part();
                // The caller is gone if it has panicked.
                let _ = done.send(());
            }
        });
        // Dropped with this closure, so that the thread ends, also after a panic.
        let call = call;
        median(|| {
            before();
            let begin = Instant::now();
            call.send(()).expect("the thread waits");
            part();
            while let Err(error) = ends.try_recv() {
                assert_eq!(error, TryRecvError::Empty, "the thread has panicked");
                std::hint::spin_loop();
            }
            begin.elapsed()
        })
    })
}

/// Lets the threads of the last pool end: rayon does not wait for them.
fn rest() {
    thread::sleep(Duration::from_millis(1));
}

/// Returns the time in which the calling thread and a new one compute.
fn new_threads() -> Duration {
    rest();
    let begin = Instant::now();
    thread::scope(|scope| {
        scope.spawn(part);
        part();
    });
    begin.elapsed()
}

fn new_purloin() -> Duration {
    rest();
    let begin = Instant::now();
    let pool = Pool::builder().workers(2).build().expect("a pool");
    pool.run(|mut w| w.join(|_| part(), |_| part()));
    begin.elapsed()
}

fn new_rayon() -> Duration {
    rest();
    let begin = Instant::now();
    let pool = rayon::ThreadPoolBuilder::new().num_threads(2).build();
    let pool = pool.expect("a pool");
    pool.install(|| rayon::join(part, part));
    begin.elapsed()
}
