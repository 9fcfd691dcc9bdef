//! Starts child processes, watches them, and reports what they find.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

use crate::arguments::{BUILD, Options};
use crate::case::Case;
use crate::child::{self, RUNS};
use crate::execute::{Failure, Outcome, execute};
use crate::show;
use crate::shrink::shrink;

/// A child that tells nothing for this long hangs: in native code, or in a loop without events.
const SILENCE: Duration = Duration::from_secs(60);

/// Time between two lines about the progress.
const PROGRESS: Duration = Duration::from_secs(2);

/// Number of kinds of failures after which the search ends.
const MAX_KINDS: usize = 8;

/// A child process, and the case that it runs.
pub struct Watched {
    process: Child,
    lines: Receiver<String>,
    /// The last case that it has begun.
    case: Option<Case>,
    last_line: Instant,
}

/// A report of a child.
pub enum News {
    Runs {
        runs: u64,
        events: u64,
    },
    Failed(Case, Failure),
    /// It has ended without a failure.
    Ended,
}

impl Watched {
    /// Starts a child with these arguments.
    pub fn start(arguments: &[String]) -> Watched {
        let program = std::env::current_exe().expect("this program has a path");
        let mut process = Command::new(program)
            .args(arguments)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("this program can be started again");
        let output = process.stdout.take().expect("the output is piped");
        let (sender, lines): (Sender<String>, _) = channel();
        std::thread::spawn(move || {
            let mut lines = BufReader::new(output).lines().map_while(Result::ok);
            let _ = lines.try_for_each(|line| sender.send(line));
        });
        Watched {
            process,
            lines,
            case: None,
            last_line: Instant::now(),
        }
    }

    /// Returns what the child tells next, or nothing if that takes longer than this.
    pub fn next(&mut self, time: Duration) -> Option<News> {
        let deadline = Instant::now() + time;
        loop {
            let rest = deadline.saturating_duration_since(Instant::now());
            match self.lines.recv_timeout(rest) {
                Ok(line) => {
                    self.last_line = Instant::now();
                    if let Some(news) = self.read(&line) {
                        return Some(news);
                    }
                }
                Err(RecvTimeoutError::Timeout) if self.last_line.elapsed() < SILENCE => {
                    return None;
                }
                Err(RecvTimeoutError::Timeout) => {
                    let _ = self.process.kill();
                    return Some(self.failed("the process makes no progress"));
                }
                Err(RecvTimeoutError::Disconnected) => {
                    let status = self.process.wait().expect("the child was started");
                    return Some(match status.code() {
                        Some(0 | 1) => News::Ended,
                        _ => self.failed(&format!("the process ends: {status}")),
                    });
                }
            }
        }
    }

    fn failed(&self, what: &str) -> News {
        let case = self.case.clone().unwrap_or_else(|| Case::of_seed(0, None));
        let failure = Failure {
            what: what.to_string(),
            details: String::new(),
        };
        News::Failed(case, failure)
    }

    fn read(&mut self, line: &str) -> Option<News> {
        if let Some((case, failure)) = child::failure_of(line) {
            return Some(News::Failed(case, failure));
        }
        if let Some(case) = line.strip_prefix("s ") {
            self.case = case.parse().ok();
            return None;
        }
        let mut numbers = line.strip_prefix("c ")?.split(' ').map(str::parse);
        match (numbers.next()?, numbers.next()?) {
            (Ok(runs), Ok(events)) => Some(News::Runs { runs, events }),
            _ => None,
        }
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Runs programs for some time. Returns false if one fails.
pub fn run(options: &Options) -> bool {
    let start = Instant::now();
    let mut next_seed = options.from;
    let jobs = options.jobs as u64;
    let mut begin = || {
        let mut arguments = vec![format!("--from={next_seed}"), "--step=1".to_string()];
        next_seed += RUNS;
        arguments.extend(
            options
                .scheduler
                .map(|scheduler| format!("--scheduler={}", scheduler.name())),
        );
        Watched::start(&arguments)
    };
    let mut children: Vec<_> = (0..jobs).map(|_| begin()).collect();
    let (mut runs, mut events) = (0, 0);
    let mut kinds = BTreeSet::new();
    let mut failures = 0;
    let mut shown = Instant::now();
    while start.elapsed() < options.time {
        for child in &mut children {
            match child.next(Duration::from_millis(20)) {
                None => (),
                Some(News::Runs {
                    runs: more,
                    events: more_events,
                }) => {
                    runs += more;
                    events += more_events;
                }
                Some(News::Ended) => *child = begin(),
                Some(News::Failed(case, failure)) => {
                    let case = Case {
                        scheduler: options.scheduler,
                        ..case
                    };
                    failures += 1;
                    if options.is_hunt {
                        println!("{}: {} ({case})", runs, failure.what);
                        return false;
                    }
                    if kinds.insert(failure.kind()) {
                        report(&case, &failure);
                    } else {
                        println!("again: {} (./x torture{BUILD} --seed {case})", failure.what);
                    }
                    *child = begin();
                }
            }
        }
        if kinds.len() >= MAX_KINDS {
            break;
        }
        if shown.elapsed() >= PROGRESS {
            shown = Instant::now();
            let seconds = start.elapsed().as_secs_f64();
            let millions = events as f64 / seconds / 1e6;
            eprintln!(
                "{seconds:6.0} s: {runs} programs, {millions:.1} million events a second, {failures} failures"
            );
        }
    }
    let seconds = start.elapsed().as_secs_f64();
    println!("{runs} programs in {seconds:.0} s, {events} events, {failures} failures");
    failures == 0
}

/// Prints a failure, and the smallest program that fails in the same way.
fn report(case: &Case, failure: &Failure) {
    println!("\nfailed: {}\n{}", failure.what, failure.details);
    println!("repeat with: ./x torture{BUILD} --seed {case}\n");
    let (small, of_small) = shrink(case, failure);
    println!("the smallest program that fails like this:\n");
    println!("{}", show::case(&small));
    println!("{}\n{}", of_small.what, of_small.details);
    println!("repeat with: ./x torture{BUILD} --seed {small}\n");
}

/// Runs one case in this process, and says what happens. Returns false if it fails.
pub fn run_one(case: &Case) -> bool {
    println!("{}", show::case(case));
    child::prepare();
    match execute(case, say_failure) {
        Outcome::NoRun => {
            println!("the system has refused the threads of a pool, so nothing has run");
            true
        }
        Outcome::Kept {
            events,
            fingerprint,
        } => {
            println!("all promises were kept: {events} events, fingerprint {fingerprint:016x}");
            // The library's statics survive a run, and must not change the next one.
            let again = execute(case, say_failure);
            let is_same = again
                == Outcome::Kept {
                    events,
                    fingerprint,
                };
            if !is_same {
                println!("failed: a second run goes another way: {again:?}");
            }
            is_same
        }
        Outcome::Failed(failure) => {
            say_failure(case, &failure);
            false
        }
    }
}

fn say_failure(_: &Case, failure: &Failure) {
    println!("failed: {}\n{}", failure.what, failure.details);
}
