//! forte as a peer of Purloin's schedulers: runs a kernel as its serial elision and in a pool of
//! forte, and reports both times. `../README.md` describes the protocol.

mod adapter;

use std::io::{self, Write};
use std::process::ExitCode;
use std::thread;
use std::time::{Duration, Instant};

use forte::ThreadPool;
use purloin::Serial;
use purloin_kernels::{Answer, Instance, Job};
use purloin_peer::Token;

use adapter::Forte;

/// The stack size of every thread that runs a kernel, in bytes. It is the same as in
/// `purloin bench`.
const STACK_SIZE: usize = 256 << 20;

/// The maximum number of threads in a pool of forte.
const MAX_WORKERS: usize = 32;

static POOL: ThreadPool = ThreadPool::new();

/// A mistake in the arguments or requests, or another failure.
enum Failure {
    Usage(String),
    Run(String),
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Failure {
        Failure::Run(error.to_string())
    }
}

fn main() -> ExitCode {
    // forte starts its threads with the default stack size.
    // SAFETY: no other thread runs yet.
    unsafe { std::env::set_var("RUST_MIN_STACK", STACK_SIZE.to_string()) };
    // The first thread of a process has a small stack.
    let (status, message) = match thread::spawn(serve).join() {
        Ok(Ok(())) => return ExitCode::SUCCESS,
        Ok(Err(Failure::Usage(message))) => (2, message),
        Ok(Err(Failure::Run(message))) => (1, message),
        // The panic has written its message.
        Err(_) => return ExitCode::FAILURE,
    };
    eprintln!("purloin-forte: {message}");
    ExitCode::from(status)
}

/// Answers requests until the input ends.
fn serve() -> Result<(), Failure> {
    let (job, workers) = parse(std::env::args().skip(1).collect())?;
    // The thread that runs a kernel is one of the workers.
    let threads = POOL.resize_to(workers - 1);
    if threads != workers - 1 {
        let message = format!("forte started {threads} threads instead of {}", workers - 1);
        return Err(Failure::Run(message));
    }
    say("ready")?;
    // This alternates, so that no form has an advantage.
    let mut is_parallel_first = false;
    for request in io::stdin().lines() {
        let request = request?;
        if request != "run" {
            let message = format!("the only request is 'run', not '{request}'");
            return Err(Failure::Usage(message));
        }
        let parallel_first = is_parallel_first.then(|| measure(job, in_parallel));
        let sequential = measure(job, sequentially);
        let parallel = parallel_first.unwrap_or_else(|| measure(job, in_parallel));
        is_parallel_first = !is_parallel_first;
        let verdict = match sequential.is_right && parallel.is_right {
            true => "right",
            false => "wrong",
        };
        say(&format!(
            "{} {} {verdict} {}",
            sequential.time.as_nanos(),
            parallel.time.as_nanos(),
            parallel.answer
        ))?;
    }
    Ok(())
}

/// Parses the arguments: a kernel, its input and the number of workers.
fn parse(arguments: Vec<String>) -> Result<(Job, usize), Failure> {
    let [kernel, input, workers] = &arguments[..] else {
        let usage = "usage: purloin-forte KERNEL INPUT WORKERS";
        return Err(Failure::Usage(usage.to_owned()));
    };
    let job = Job::parse(&format!("{kernel}={input}"))
        .map_err(|error| Failure::Usage(error.to_string()))?;
    match workers.parse() {
        Ok(workers @ 1..=MAX_WORKERS) => Ok((job, workers)),
        _ => Err(Failure::Usage(format!(
            "forte has from 1 to {MAX_WORKERS} workers, not {workers}"
        ))),
    }
}

fn sequentially(instance: &mut Instance) -> Answer {
    instance.run(Serial)
}

fn in_parallel(instance: &mut Instance) -> Answer {
    POOL.with_worker(|worker| instance.run(Token::<Forte>::new(worker)))
}

/// The result of one run.
struct Run {
    time: Duration,
    answer: Answer,
    is_right: bool,
}

/// Runs the kernel on fresh data.
fn measure(job: Job, run: fn(&mut Instance) -> Answer) -> Run {
    let mut instance = job.prepare();
    warm_up(run);
    let start = Instant::now();
    let answer = run(&mut instance);
    Run {
        time: start.elapsed(),
        is_right: instance.verify(&answer),
        answer,
    }
}

/// Wakes the threads and their cores, which slept while the data was prepared. Takes as long as the
/// warm-up of `purloin bench`.
fn warm_up(run: fn(&mut Instance) -> Answer) {
    let millisecond = Job::parse("fib=28").expect("fib takes this input");
    let start = Instant::now();
    while start.elapsed() < Duration::from_millis(5) {
        run(&mut millisecond.prepare());
    }
}

/// Writes a line and flushes it, because the reader waits for it.
fn say(line: &str) -> io::Result<()> {
    let mut output = io::stdout().lock();
    writeln!(output, "{line}")?;
    output.flush()
}
