//! The pools of all contestants, and the clock.

use std::error::Error;
use std::hint::black_box;
use std::num::NonZero;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// One pool for each library, all with the same number of workers.
pub struct Pools {
    pub purloin: purloin::Pool,
    pub chili: chili::ThreadPool,
    pub rayon: rayon::ThreadPool,
}

impl Pools {
    pub fn new(workers: usize) -> Result<Pools, Box<dyn Error>> {
        let chili = chili::Config {
            thread_count: NonZero::new(workers),
            ..chili::Config::default()
        };
        Ok(Pools {
            purloin: purloin::Pool::builder().workers(workers).build()?,
            chili: chili::ThreadPool::with_config(chili),
            rayon: rayon::ThreadPoolBuilder::new()
                .num_threads(workers)
                .build()?,
        })
    }
}

/// Runs `f` once, and returns its time in seconds, or nothing if its answer is wrong.
pub fn timed<T: PartialEq>(right: T, f: impl FnOnce() -> T) -> Option<f64> {
    let begin = Instant::now();
    let answer = black_box(f());
    let seconds = begin.elapsed().as_secs_f64();
    (answer == right).then_some(seconds)
}

/// Runs the program whose path is in this environment variable, with these arguments. Returns the time that it prints.
pub fn printed_time(variable: &str, arguments: &[&str]) -> Option<f64> {
    let mut command = Command::new(std::env::var_os(variable)?);
    let output = command.args(arguments).stderr(Stdio::inherit()).output();
    let output = output.ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    let time = |line: &str| Some(line.trim().strip_prefix("duration: ")?.to_string());
    let line = text.lines().find_map(time)?;
    let micros: f64 = line.strip_suffix(" us")?.parse().ok()?;
    output.status.success().then_some(micros * 1e-6)
}

/// Computes for this long, by the clock.
pub fn compute(time: Duration) {
    let begin = Instant::now();
    while begin.elapsed() < time {
        std::hint::spin_loop();
    }
}

/// Makes a row: the program and its form, the function that measures and checks it, and the contestants with what each of
/// them runs. Another contestant may measure itself.
macro_rules! row {
    ($what:literal, $timed:path, |$pools:ident| {
        $($name:literal: $run:expr,)+
    } $(, $other:literal: $measure:ident($argument:literal))?) => {
        crate::Row {
            what: $what,
            ideal: None,
            workers: 1,
            contestants: &[
                $(($name, |$pools| {
                    // The serial form needs no pool.
                    let _ = $pools;
                    $timed(|| $run)
                }),)+
                $(($other, |pools| $measure($argument, pools)),)?
            ],
        }
    };
}
pub(crate) use row;
