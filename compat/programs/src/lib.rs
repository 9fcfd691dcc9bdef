//! Programs that use rayon, as tests: see `tests`. This file has what the tests share.

use std::process::abort;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

use rayon::{ThreadPool, ThreadPoolBuilder};

/// Builds a pool.
pub fn pool(threads: usize) -> ThreadPool {
    let builder = ThreadPoolBuilder::new().num_threads(threads);
    builder.build().unwrap()
}

/// Runs `program`, and ends the process if it takes ten seconds: the threads of a program that hangs
/// cannot be stopped.
pub fn ends(program: impl FnOnce()) {
    let (end, ended) = channel::<()>();
    let watcher = thread::spawn(move || {
        if ended.recv_timeout(Duration::from_secs(10)) == Err(RecvTimeoutError::Timeout) {
            eprintln!("the program hangs");
            abort();
        }
    });
    program();
    drop(end);
    watcher.join().unwrap();
}
