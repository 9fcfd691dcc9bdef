//! What several tests need.
#![allow(dead_code, missing_docs)]

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};

use purloin::{Pool, Worker};

/// Miri runs a program thousands of times slower, so a test does less under it.
const MOST_ROUNDS: usize = 2;

/// Whether a test may use Chase-Lev deques. It may not under Miri: crossbeam-epoch makes
/// pointers of integers and violates Stacked Borrows, and Miri reports its memory as
/// leaked. `./x miri` gives these deques a run of their own, with other flags.
pub const MAY_HAVE_CHASE_LEV: bool = !cfg!(miri);

/// How often a test does the same.
pub fn rounds(normally: usize) -> usize {
    if cfg!(miri) {
        return normally.min(MOST_ROUNDS);
    }
    normally
}

/// How many workers a test has, one number after the other. Two are among them.
pub fn workers<const N: usize>(normally: [usize; N]) -> impl Iterator<Item = usize> {
    normally.into_iter().filter(|&n| !cfg!(miri) || n == 2)
}

pub fn pool(workers: usize) -> Pool {
    Pool::builder().workers(workers).build().unwrap()
}

pub fn fib<W: Worker>(mut w: W, n: u32) -> u64 {
    if n < 2 {
        return n.into();
    }
    let (a, b) = w.join(|w| fib(w, n - 1), |w| fib(w, n - 2));
    a + b
}

/// Keeps the processor busy without ever offering a task.
pub fn busy(time: Duration) {
    let start = Instant::now();
    while start.elapsed() < time {
        std::hint::spin_loop();
    }
}

/// Waits for `condition`, and fails if it does not come.
pub fn eventually(what: &str, mut condition: impl FnMut() -> bool) {
    let start = Instant::now();
    while !condition() {
        assert!(start.elapsed() < Duration::from_secs(20), "{what}");
        thread::sleep(Duration::from_micros(50));
    }
}

/// The same for what only a thief brings about. Under Miri it cannot use force, so the
/// worker answers it by joins.
pub fn eventually_stolen<W: Worker>(mut w: W, condition: impl Fn() -> bool) {
    eventually("a steal", || {
        if cfg!(miri) {
            w.join(|_| (), |_| ());
        }
        condition()
    });
}

pub fn add(count: &AtomicUsize, n: usize) {
    count.fetch_add(n, Relaxed);
}

pub fn message(panic: Box<dyn std::any::Any + Send>) -> String {
    match panic.downcast::<&str>() {
        Ok(text) => text.to_string(),
        Err(panic) => *panic.downcast::<String>().unwrap(),
    }
}

/// Fails if `f` does not end. Its thread is left behind then.
pub fn ends(what: &'static str, f: impl FnOnce() + Send + 'static) {
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
