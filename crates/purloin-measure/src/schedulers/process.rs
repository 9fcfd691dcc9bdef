//! The adapter for peers in other languages: a program that contains kernels of its own and runs
//! them on request.
//!
//! The program runs each kernel sequentially and in parallel, and the report compares the two times
//! with each other, as in Return barrier, section 6.5. Absolute times in two languages would say
//! little about the schedulers. `peers/README.md` describes the lines that this process and the
//! program exchange.

use std::collections::HashMap;
use std::fmt::Display;
use std::fs;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::Mutex;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

use purloin_kernels::Job;

use super::{Description, Kernels, Start};

/// A peer whose program the user names with `--peer`. The program says which kernels it has.
pub const NAMED: Description = Description {
    name: "peer",
    about: "a program that the user has built",
    is_peer: true,
    has_workers: true,
    kernels: Kernels::All,
    start: Start::NamedProgram,
    profile: None,
    options: &[],
};

/// The commands that build and start a peer's program.
pub struct Program {
    /// The names and texts of the source files, from `sources!`. They are part of this executable.
    pub sources: &'static [(&'static str, &'static str)],
    /// Returns the command that compiles the sources, to be run in their directory.
    pub compile: fn() -> Command,
    /// Returns the command that starts the compiled program in this directory. The kernel, its
    /// input and the number of workers are appended to the arguments.
    pub start: fn(&Path) -> Command,
    /// The software that both commands need, and where to get it.
    pub needs: &'static str,
}

/// Lists files of a folder of `peers`, with their texts.
macro_rules! sources {
    ($folder:literal: $($file:literal),* $(,)?) => {
        &[$((
            $file,
            include_str!(concat!("../../../../peers/", $folder, "/", $file)),
        )),*]
    };
}
pub(super) use sources;

/// A running program that is warm and waits for requests.
pub struct Process {
    /// For error messages: the scheduler, the kernel and the number of workers.
    title: String,
    child: Child,
    requests: ChildStdin,
    /// The lines that the program writes. A thread reads them, so that waiting for a line can end
    /// at the time limit.
    answers: Receiver<String>,
    /// The time limit for each answer.
    limit: Duration,
}

/// The result of one request.
pub struct ProcessRun {
    /// The time of the sequential form, in seconds.
    pub sequential: f64,
    /// The time of the parallel form, in seconds.
    pub parallel: f64,
    pub is_right: bool,
    pub answer: String,
}

impl Process {
    /// Starts the program with a kernel, and waits until it is warm.
    pub fn start(
        scheduler: &str,
        mut command: Command,
        job: &Job,
        workers: usize,
        limit: Duration,
    ) -> Result<Process, String> {
        let mut child = command
            .args([job.kernel(), &job.input(), &workers.to_string()])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|error| {
                format!("{scheduler} is left out: {}", cannot_run(&command, &error))
            })?;
        let requests = child.stdin.take().expect("standard input is a pipe");
        let answers = child.stdout.take().expect("standard output is a pipe");
        let mut process = Process {
            title: format!("{scheduler}: {job} with {workers} workers"),
            child,
            requests,
            answers: lines(answers),
            limit,
        };
        match process.read_line()?.as_str() {
            "ready" => Ok(process),
            other => Err(process.failure(format_args!("it wrote {other:?} instead of \"ready\""))),
        }
    }

    /// Runs the kernel once in each form.
    pub fn run(&mut self) -> Result<ProcessRun, String> {
        // An error here means that the process has ended, and `read_line` reports why.
        let _ = writeln!(self.requests, "run").and_then(|()| self.requests.flush());
        let line = self.read_line()?;
        ProcessRun::parse(&line)
            .ok_or_else(|| self.failure(format_args!("it wrote {line:?} instead of a result")))
    }

    fn read_line(&mut self) -> Result<String, String> {
        match self.answers.recv_timeout(self.limit) {
            Ok(line) => Ok(line.trim_end().to_string()),
            Err(RecvTimeoutError::Timeout) => {
                let seconds = self.limit.as_secs();
                Err(self.failure(format_args!("no answer within {seconds} s")))
            }
            Err(RecvTimeoutError::Disconnected) => Err(self.end()),
        }
    }

    /// Returns why the program has closed its output: the message on its standard error.
    fn end(&mut self) -> String {
        // A program that closes its output but goes on must not block the reader of its errors.
        let _ = self.child.kill();
        let mut errors = String::new();
        if let Some(stderr) = &mut self.child.stderr {
            let _ = stderr.read_to_string(&mut errors);
        }
        match (first_line(&errors), self.child.wait()) {
            (Some(reason), _) => self.failure(reason),
            (None, Ok(status)) => self.failure(format_args!("it ended with {status}")),
            (None, Err(error)) => self.failure(error),
        }
    }

    fn failure(&self, reason: impl Display) -> String {
        format!("{} is left out: {reason}", self.title)
    }
}

/// Returns a channel with the lines that a program writes. The channel ends with the program's
/// output.
fn lines(output: impl Read + Send + 'static) -> Receiver<String> {
    let (sender, receiver) = channel();
    thread::spawn(move || {
        for line in BufReader::new(output).lines().map_while(Result::ok) {
            if sender.send(line).is_err() {
                // The `Process` was dropped.
                break;
            }
        }
    });
    receiver
}

impl Drop for Process {
    fn drop(&mut self) {
        // Kills the process, because it holds nothing that needs an orderly end.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl ProcessRun {
    /// Parses `SEQUENTIAL_NANOS PARALLEL_NANOS right|wrong ANSWER`.
    fn parse(line: &str) -> Option<ProcessRun> {
        let mut parts = line.splitn(4, ' ');
        let mut seconds = || Some(parts.next()?.parse::<u64>().ok()? as f64 / 1e9);
        Some(ProcessRun {
            sequential: seconds()?,
            parallel: seconds()?,
            is_right: parts.next()? == "right",
            answer: parts.next()?.to_string(),
        })
    }
}

/// The directories of the programs built so far, by scheduler, or the reason why a build failed.
static BUILDS: Mutex<Option<HashMap<&'static str, Result<PathBuf, String>>>> = Mutex::new(None);

/// Builds the program of a scheduler at the first call, within `limit`; returns its directory.
pub fn build(
    scheduler: &'static str,
    program: &Program,
    limit: Duration,
) -> Result<PathBuf, String> {
    let mut builds = BUILDS.lock().expect("no build panics");
    let builds = builds.get_or_insert_default();
    let directory = builds
        .entry(scheduler)
        .or_insert_with(|| compile(scheduler, program, limit));
    directory.clone()
}

fn compile(scheduler: &str, program: &Program, limit: Duration) -> Result<PathBuf, String> {
    let directory = build_directory().join(scheduler);
    let write = || {
        fs::create_dir_all(&directory)?;
        let mut sources = program.sources.iter();
        sources.try_for_each(|(name, text)| fs::write(directory.join(name), text))
    };
    write().map_err(|error| {
        let directory = directory.display();
        format!("{scheduler} is left out: cannot write the sources to {directory}: {error}")
    })?;
    let mut command = (program.compile)();
    command.current_dir(&directory);
    run_compiler(&mut command, limit)
        .map_err(|reason| {
            format!(
                "{scheduler} is left out: {reason}; it needs {}",
                program.needs
            )
        })
        .map(|()| directory)
}

/// Runs a compiler. Returns its first error, if there is one.
fn run_compiler(command: &mut Command, limit: Duration) -> Result<(), String> {
    let compiler = command.get_program().display().to_string();
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|error| cannot_run(command, &error))?;
    // The end of the messages is the end of the compiler.
    let messages = lines(child.stderr.take().expect("standard error is a pipe"));
    let end = Instant::now() + limit;
    let mut errors = String::new();
    loop {
        match messages.recv_timeout(end.saturating_duration_since(Instant::now())) {
            Ok(line) => errors = errors + &line + "\n",
            Err(RecvTimeoutError::Disconnected) => break,
            Err(RecvTimeoutError::Timeout) => {
                let _ = child.kill();
                let _ = child.wait();
                let seconds = limit.as_secs();
                return Err(format!("{compiler} has not ended within {seconds} s"));
            }
        }
    }
    match child.wait() {
        Ok(status) if status.success() => Ok(()),
        Ok(_) => {
            let reason = first_error(&errors).unwrap_or("it failed without an error message");
            Err(format!("{compiler}: {reason}"))
        }
        Err(error) => Err(format!("{compiler}: {error}")),
    }
}

/// The temporary directory of this process for all programs.
fn build_directory() -> PathBuf {
    std::env::temp_dir().join(format!("purloin-peers-{}", std::process::id()))
}

/// Removes all programs that were built.
pub fn clean_up() {
    if BUILDS.lock().is_ok_and(|builds| builds.is_some()) {
        // If this fails, the files stay in the system's temporary directory.
        let _ = fs::remove_dir_all(build_directory());
    }
}

fn cannot_run(command: &Command, error: &io::Error) -> String {
    format!("cannot run {}: {error}", command.get_program().display())
}

/// Returns the first error among a compiler's messages. Other lines may come first: g++ lists the
/// chain of included files, and Go the package after a `#`.
fn first_error(text: &str) -> Option<&str> {
    let mut messages = lines_of(text).filter(|line| !line.starts_with('#'));
    let error = lines_of(text).find(|line| line.contains("error"));
    error.or(messages.next())
}

fn first_line(text: &str) -> Option<&str> {
    lines_of(text).next()
}

fn lines_of(text: &str) -> impl Iterator<Item = &str> {
    text.lines().map(str::trim).filter(|line| !line.is_empty())
}
