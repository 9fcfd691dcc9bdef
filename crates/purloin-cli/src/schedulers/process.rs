//! The adapter for peers in other languages: a program that contains kernels of its own and runs
//! them on request.
//!
//! The program runs each kernel sequentially and in parallel, and the report compares the two times
//! with each other, as in Return barrier, section 6.5. Absolute times in two languages would say
//! little about the schedulers. `peers/README.md` describes the lines that this process and the
//! program exchange.

use std::collections::HashMap;
use std::fs;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::Mutex;

use purloin_kernels::Job;

/// The commands that build and start a peer's program.
pub struct Program {
    /// The names and texts of the source files. They are part of this executable.
    pub sources: &'static [(&'static str, &'static str)],
    /// Returns the command that compiles the sources, to be run in their directory.
    pub compile: fn() -> Command,
    /// Returns the command that starts the compiled program in this directory. The kernel, its
    /// input and the number of workers are appended to the arguments.
    pub start: fn(&Path) -> Command,
    /// The software that both commands need, and where to get it.
    pub needs: &'static str,
}

/// A running program that is warm and waits for requests.
pub struct Process {
    /// For error messages: the scheduler, the kernel and the number of workers.
    title: String,
    child: Child,
    requests: ChildStdin,
    answers: BufReader<ChildStdout>,
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
    /// Builds the program if needed, starts it, and waits until it is warm.
    pub fn start(
        scheduler: &'static str,
        program: &Program,
        job: &Job,
        workers: usize,
    ) -> Result<Process, String> {
        let directory = build(scheduler, program)?;
        let mut command = (program.start)(&directory);
        let mut child = command
            .args([job.kernel(), &job.input(), &workers.to_string()])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|error| cannot_run(scheduler, program, &command, &error))?;
        let requests = child.stdin.take().expect("standard input is a pipe");
        let answers = child.stdout.take().expect("standard output is a pipe");
        let mut process = Process {
            title: format!("{scheduler}: {job} with {workers} workers"),
            child,
            requests,
            answers: BufReader::new(answers),
        };
        match process.read_line()?.as_str() {
            "ready" => Ok(process),
            other => Err(format!(
                "{}: it wrote {other:?} instead of \"ready\"",
                process.title
            )),
        }
    }

    /// Runs the kernel once in each form.
    pub fn run(&mut self) -> Result<ProcessRun, String> {
        // An error here means that the process has ended, and `read_line` reports why.
        let _ = writeln!(self.requests, "run").and_then(|()| self.requests.flush());
        let line = self.read_line()?;
        ProcessRun::parse(&line)
            .ok_or_else(|| format!("{}: it wrote {line:?} instead of a result", self.title))
    }

    fn read_line(&mut self) -> Result<String, String> {
        let mut line = String::new();
        match self.answers.read_line(&mut line) {
            Ok(1..) => Ok(line.trim_end().to_string()),
            // The process has ended, with the reason on its standard error.
            Ok(0) | Err(_) => {
                let mut errors = String::new();
                if let Some(stderr) = &mut self.child.stderr {
                    let _ = stderr.read_to_string(&mut errors);
                }
                let reason = first_line(&errors).unwrap_or("it ended without an error message");
                Err(format!("{}: {reason}", self.title))
            }
        }
    }
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

/// Builds the program of a scheduler at the first call; returns its directory.
fn build(scheduler: &'static str, program: &Program) -> Result<PathBuf, String> {
    let mut builds = BUILDS.lock().expect("no build panics");
    let builds = builds.get_or_insert_default();
    let directory = builds
        .entry(scheduler)
        .or_insert_with(|| compile(scheduler, program));
    directory.clone()
}

fn compile(scheduler: &str, program: &Program) -> Result<PathBuf, String> {
    let directory = build_directory().join(scheduler);
    let write = || {
        fs::create_dir_all(&directory)?;
        let mut sources = program.sources.iter();
        sources.try_for_each(|(name, text)| fs::write(directory.join(name), text))
    };
    write().map_err(|error| {
        let directory = directory.display();
        format!("{scheduler}: cannot write the sources to {directory}: {error}")
    })?;
    let mut command = (program.compile)();
    let compiled = command
        .current_dir(&directory)
        .output()
        .map_err(|error| cannot_run(scheduler, program, &command, &error))?;
    match compiled.status.success() {
        true => Ok(directory),
        false => {
            let errors = String::from_utf8_lossy(&compiled.stderr);
            let reason = first_line(&errors).unwrap_or("it failed without an error message");
            let compiler = command.get_program().display();
            Err(format!("{scheduler}: {compiler}: {reason}"))
        }
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

fn cannot_run(scheduler: &str, program: &Program, command: &Command, error: &io::Error) -> String {
    format!(
        "{scheduler} needs {}; cannot run {}: {error}",
        program.needs,
        command.get_program().display()
    )
}

fn first_line(text: &str) -> Option<&str> {
    text.lines().map(str::trim).find(|line| !line.is_empty())
}
