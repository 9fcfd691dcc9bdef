//! The command line and the output of the suite: a program runs once to warm up and once by the clock, and prints YAML.

use std::num::NonZero;
use std::process::exit;
use std::time::Instant;

use purloin::Pool;

/// Runs a program of the suite. Its arguments are the `input`, if the program has one with this name, and the number of
/// threads: half of the processors if there is none.
///
/// `run` gets the pool and the input, and returns the output to print if there is any. It ends the program if its answer is
/// wrong.
pub fn main(input: Option<(&str, usize)>, run: impl Fn(&Pool, usize) -> Option<u64>) {
    let mut arguments = std::env::args().skip(1);
    let name = std::env::args().next().unwrap_or_default();
    let mut number = |what: &str| {
        let text = arguments.next()?;
        Some(text.parse().unwrap_or_else(|_| {
            eprintln!("{name}: {what} is a number, not '{text}'");
            exit(2);
        }))
    };
    let chosen = match input {
        Some((what, default)) => number(what).unwrap_or(default),
        None => 0,
    };
    let processors = std::thread::available_parallelism().map_or(1, NonZero::get);
    let threads = number("THREADS").unwrap_or((processors / 2).max(1));
    let pool = match Pool::builder().workers(threads).build() {
        Ok(pool) => pool,
        Err(error) => {
            eprintln!("{name}: {error}");
            exit(2);
        }
    };
    println!("threads: {threads}");
    run(&pool, chosen);
    let begin = Instant::now();
    let output = run(&pool, chosen);
    let time = begin.elapsed().as_micros();
    if let Some(output) = output {
        println!("output: {output}");
    }
    println!("runs:");
    match input {
        Some(("SIZE", _)) => println!("  - matrix_size: {chosen}"),
        _ => println!("  - iteration_count: 1"),
    }
    println!("    duration: {time} us");
    if let Some(memory) = peak_memory() {
        println!("    max_rss: {memory} KiB");
    }
}

/// Ends the program unless an answer is right.
pub fn check(is_right: bool) {
    if !is_right {
        eprintln!("the answer is wrong");
        exit(1);
    }
}

/// Returns the largest amount of memory that the process has had, in KiB, where the system tells.
fn peak_memory() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().strip_suffix("kB")?.trim().parse().ok()
}
