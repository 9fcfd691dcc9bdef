//! The command line and the output of the suite: a program runs once to warm up and once to be timed, and prints YAML.

use std::fmt::Display;
use std::num::NonZero;
use std::process::exit;
use std::time::Instant;

use purloin::Pool;

/// The argument of a program before the number of threads.
pub struct Input {
    pub name: &'static str,
    pub default: usize,
    /// Returns whether the program accepts a number.
    pub accepts: fn(usize) -> bool,
    /// The numbers that it accepts, in words, for the error message.
    pub accepted: &'static str,
}

/// Runs a program of the suite. Its arguments are its input, if it takes one, and the number of threads, by default half the
/// number of processors.
///
/// `run` gets the pool and the input, and returns the output to print, if any. It checks its answer.
pub fn main(input: Option<Input>, run: impl Fn(&Pool, usize) -> Option<u64>) {
    let mut arguments = std::env::args().skip(1);
    let mut number = |what: &str, accepted: &str, accepts: &dyn Fn(usize) -> bool| {
        let text = arguments.next()?;
        let number = text.parse().ok().filter(|number| accepts(*number));
        Some(
            number
                .unwrap_or_else(|| refuse(format_args!("{what} must be {accepted}, not '{text}'"))),
        )
    };
    let chosen = input.as_ref().map_or(0, |input| {
        number(input.name, input.accepted, &input.accepts).unwrap_or(input.default)
    });
    let processors = std::thread::available_parallelism().map_or(1, NonZero::get);
    let threads = number("THREADS", "a number", &|_| true).unwrap_or((processors / 2).max(1));
    if let Some(text) = arguments.next() {
        refuse(format_args!("unexpected argument '{text}'"));
    }
    let pool = match Pool::builder().workers(threads).build() {
        Ok(pool) => pool,
        Err(error) => refuse(error),
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
        Some(input) if input.name == "SIZE" => println!("  - matrix_size: {chosen}"),
        _ => println!("  - iteration_count: 1"),
    }
    println!("    duration: {time} us");
    if let Some(memory) = peak_memory() {
        println!("    max_rss: {memory} KiB");
    }
}

/// Exits because of a mistake in the arguments.
fn refuse(mistake: impl Display) -> ! {
    let program = std::env::args().next().unwrap_or_default();
    eprintln!("{program}: {mistake}");
    exit(2);
}

/// Exits with an error unless the answer is right.
pub fn check(is_right: bool) {
    if !is_right {
        eprintln!("the answer is wrong");
        exit(1);
    }
}

/// Returns the peak resident memory of the process in KiB, if the system reports it.
fn peak_memory() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().strip_suffix("kB")?.trim().parse().ok()
}
