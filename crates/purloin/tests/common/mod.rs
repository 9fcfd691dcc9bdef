//! Helpers that several test files share.
#![allow(dead_code, missing_docs, unused_imports, unused_macros)]

pub mod counted;

use std::any::Any;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::*};
use std::thread;
use std::time::{Duration, Instant};

use purloin::{Pool, Scheduler, Worker};

/// Maximum number of rounds under Miri, which runs a program thousands of times slower.
const MIRI_ROUNDS: usize = 2;

/// Whether a test may use Chase-Lev deques. Tests under Miri may not: crossbeam-epoch turns
/// integers into pointers and violates Stacked Borrows, and Miri reports the memory that
/// crossbeam-epoch keeps as leaked. `./x prove miri` tests these deques in a separate run with other
/// flags.
pub const MAY_USE_CHASE_LEV: bool = !cfg!(miri);

/// How long a test waits for an event before it fails.
const TIMEOUT: Duration = Duration::from_secs(20);

/// Returns how many rounds a test runs: `natively`, but only a few under Miri.
pub fn rounds(natively: usize) -> usize {
    if cfg!(miri) {
        return natively.min(MIRI_ROUNDS);
    }
    natively
}

/// Returns the worker counts that a test tries: all of `natively`, but only 2 under Miri.
pub fn workers<const N: usize>(natively: [usize; N]) -> impl Iterator<Item = usize> {
    natively.into_iter().filter(|&n| !cfg!(miri) || n == 2)
}

/// Returns the files in a folder and in its subfolders.
pub fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap();
    let paths = entries.map(|entry| entry.unwrap().path());
    paths
        .flat_map(|path| match path.is_dir() {
            true => files(&path),
            false => vec![path],
        })
        .collect()
}

/// Builds a pool with the default scheduler.
pub fn pool(workers: usize) -> Pool {
    Pool::builder().workers(workers).build().unwrap()
}

/// Builds a pool with the given scheduler.
pub fn pool_with<S: Scheduler>(scheduler: S, workers: usize) -> Pool<S> {
    let builder = Pool::builder().workers(workers).scheduler(scheduler);
    builder.build().unwrap()
}

/// Makes a module of tests for each named check, with one test for each scheduler. (The random programs also run
/// under the direct stack of two fields.)
///
/// A check is a function that takes a `Pool<impl Scheduler>`. Each test evaluates the
/// builder once for each option and calls the check with the pool:
///
/// ```text
/// under_each_scheduler! {
///     for workers in [1, 2], Pool::builder().workers(workers);
///     first_check,
///     second_check,
/// }
/// ```
macro_rules! under_each_scheduler {
    (for $option:pat in $options:expr, $builder:expr; $($check:ident),+ $(,)?) => {
        $(
            crate::common::under! {
                $check for $option in $options, $builder;
                under_the_return_barrier: purloin::ReturnBarrier,
                under_the_direct_stack:
                    purloin_schedulers::DirectStack<purloin_schedulers::OneField>,
                #[cfg_attr(miri, ignore = "crossbeam-epoch needs flags of its own")]
                under_chase_lev_deques: purloin_schedulers::ChaseLev,
                under_channels: purloin_schedulers::Channel,
            }
        )+
    };
}
pub(crate) use under_each_scheduler;

/// As [`under_each_scheduler`], for checks of what lies above the schedulers: one with shared memory and one
/// with messages is enough, and the tests compile sooner.
macro_rules! under_two_schedulers {
    (for $option:pat in $options:expr, $builder:expr; $($check:ident),+ $(,)?) => {
        $(
            crate::common::under! {
                $check for $option in $options, $builder;
                under_the_return_barrier: purloin::ReturnBarrier,
                under_channels: purloin_schedulers::Channel,
            }
        )+
    };
}
pub(crate) use under_two_schedulers;

/// Makes a module with one test for each of these schedulers.
macro_rules! under {
    ($check:ident for $option:pat in $options:expr, $builder:expr;
        $($(#[$attribute:meta])* $test:ident: $S:ty,)+) => {
        mod $check {
            use super::*;

            fn check<S: purloin::Scheduler + Default>() {
                for $option in $options {
                    super::$check($builder.scheduler(S::default()).build().unwrap());
                }
            }

            $(
                #[test]
                $(#[$attribute])*
                fn $test() {
                    check::<$S>();
                }
            )+
        }
    };
}
pub(crate) use under;

/// Computes a Fibonacci number with one join for each addition.
pub fn fib<W: Worker>(mut w: W, n: u32) -> u64 {
    if n < 2 {
        return n.into();
    }
    let (a, b) = w.join(|w| fib(w, n - 1), |w| fib(w, n - 2));
    a + b
}

/// Spins for `time` and offers no task.
pub fn busy(time: Duration) {
    let start = Instant::now();
    while start.elapsed() < time {
        std::hint::spin_loop();
    }
}

/// Waits until `condition` holds, and panics after 20 seconds.
pub fn eventually(event: &str, mut condition: impl FnMut() -> bool) {
    let start = Instant::now();
    while !condition() {
        assert!(start.elapsed() < TIMEOUT, "timed out: {event}");
        thread::sleep(Duration::from_micros(50));
    }
}

/// Waits until a thief has made `condition` true. Under Miri a thief cannot force a steal, so this
/// worker answers the thief's request by joins.
pub fn eventually_stolen<W: Worker>(mut w: W, condition: impl Fn() -> bool) {
    eventually("a thief steals the task", || {
        if cfg!(miri) {
            w.join(|_| (), |_| ());
        }
        condition()
    });
}

/// Yields the processor until `flag` is set.
pub fn wait_for(flag: &AtomicBool) {
    while !flag.load(SeqCst) {
        thread::yield_now();
    }
}

/// Adds to a counter of events.
pub fn add(count: &AtomicUsize, n: usize) {
    count.fetch_add(n, Relaxed);
}

/// Returns the text of a panic.
pub fn message(panic: Box<dyn Any + Send>) -> String {
    match panic.downcast::<&str>() {
        Ok(text) => text.to_string(),
        Err(panic) => *panic.downcast::<String>().unwrap(),
    }
}

/// A linear congruential generator of pseudo-random numbers.
pub struct Lcg(pub u64);

impl Lcg {
    /// Returns a generator whose first numbers do not resemble those of the next seeds.
    pub fn of_seed(seed: u64) -> Self {
        let mut numbers = Lcg(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15));
        numbers.below(1);
        numbers
    }

    /// Returns the next number, which is less than `n`.
    pub fn below(&mut self, n: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        (self.0 >> 33) % n
    }
}

/// Returns the seeds of random programs. The environment variable `PURLOIN_SEED` sets the first seed,
/// and `PURLOIN_PROGRAMS` the number of programs, of which there are `programs` by default.
pub fn seeds(programs: u64) -> std::ops::Range<u64> {
    let setting = |variable: &str, default| {
        std::env::var(variable).map_or(default, |number| number.parse().unwrap())
    };
    let first = setting("PURLOIN_SEED", 0);
    first..first + setting("PURLOIN_PROGRAMS", programs)
}

/// The environment variable that marks a child process of [`run_in_child`].
const CHILD: &str = "PURLOIN_TEST_CHILD";

/// Whether this process is a child of [`run_in_child`].
pub fn is_child() -> bool {
    std::env::var_os(CHILD).is_some()
}

/// Runs the test with this path, from the same program as the caller, in a child process with
/// additional environment variables. Returns the exit status and the output.
pub fn run_in_child(name: &str, variables: &[(&str, &str)]) -> Output {
    Command::new(std::env::current_exe().unwrap())
        .env(CHILD, "1")
        .envs(variables.iter().copied())
        .args(["--exact", name, "--nocapture"])
        .output()
        .unwrap()
}

/// Returns the size of this process's address space, in bytes.
#[cfg(target_os = "linux")]
pub fn address_space() -> u64 {
    memory_in_status("VmSize:")
}

/// Returns a number of bytes that the system reports for this process under this name.
#[cfg(target_os = "linux")]
pub fn memory_in_status(name: &str) -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let size = status.lines().find_map(|line| line.strip_prefix(name));
    let kilobytes = size.unwrap().trim().strip_suffix(" kB").unwrap();
    kilobytes.parse::<u64>().unwrap() << 10
}

/// Fails if `f` does not end within a minute. It then leaves the thread of `f` behind.
pub fn must_end(what: &'static str, f: impl FnOnce() + Send + 'static) {
    let (end, ended) = std::sync::mpsc::channel();
    let thread = thread::spawn(move || {
        f();
        let _ = end.send(());
    });
    match ended.recv_timeout(Duration::from_secs(60)) {
        Ok(()) => thread.join().unwrap(),
        Err(std::sync::mpsc::RecvTimeoutError::Disconnected) => {
            std::panic::resume_unwind(thread.join().unwrap_err())
        }
        Err(std::sync::mpsc::RecvTimeoutError::Timeout) => panic!("{what} hangs"),
    }
}

/// Runs `f`. Ends the process with a message if that takes more than a minute: a hanging thread may use
/// what its caller borrows, so the caller cannot go on.
pub fn abort_if_it_hangs<R>(what: &str, f: impl FnOnce() -> R) -> R {
    // Miri's clock counts instructions.
    if cfg!(miri) {
        return f();
    }
    let (end, ended) = std::sync::mpsc::channel::<()>();
    thread::scope(|threads| {
        // `f` may panic, so the end of the channel is the end of `f`.
        let _end = end;
        threads.spawn(move || {
            let result = ended.recv_timeout(Duration::from_secs(60));
            if result == Err(std::sync::mpsc::RecvTimeoutError::Timeout) {
                eprintln!("{what} hangs");
                std::process::abort();
            }
        });
        f()
    })
}

/// Keeps a value for ever, for jobs that outlive the test's frame. A static refers to the value, so
/// it does not count as leaked.
pub fn forever<T: Send + Sync + 'static>(value: T) -> &'static T {
    static KEPT: Mutex<Vec<&'static (dyn Any + Send + Sync)>> = Mutex::new(Vec::new());
    let value: &'static T = Box::leak(Box::new(value));
    KEPT.lock().unwrap().push(value);
    value
}
