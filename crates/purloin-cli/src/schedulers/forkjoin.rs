//! Java's ForkJoinPool: a program in Java, under `peers/java`, that is asked for one
//! run after the other.
//!
//! It runs a kernel sequentially and in its pool, each time, so that the two can be
//! compared as Return barrier, section 6.5, does: machines of different languages
//! are not. Its lines are told in `peers/java/README.md`.

use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::OnceLock;

use purloin_kernels::Job;

macro_rules! sources {
    ($($class:ident),*) => {
        [$((
            concat!(stringify!($class), ".java"),
            include_str!(concat!("../../../../peers/java/", stringify!($class), ".java")),
        )),*]
    };
}

/// The kernels that there are in Java.
const KERNELS: [&str; 6] = ["jacobi", "fft", "lud", "barnes-hut", "uts", "multisort"];

/// Names and contents of the source files: they come with the command.
const SOURCES: &[(&str, &str)] = &sources!(
    BarnesHut, Cell, Division, Fft, Input, Jacobi, Kernel, Loop, Lud, Merge, Mistake, Multisort,
    Node, Peer, Pull, Random, Tree, Uts
);

/// A kernel in a warm Java virtual machine.
pub struct ForkJoin {
    what: String,
    process: Child,
    requests: ChildStdin,
    answers: BufReader<ChildStdout>,
}

/// What came of one run.
pub struct Timed {
    /// In seconds, without the pool.
    pub sequential: f64,
    /// In seconds, in the pool.
    pub parallel: f64,
    pub is_right: bool,
    pub answer: String,
}

impl ForkJoin {
    /// Whether there is such a kernel, with such an input.
    pub fn check(job: &Job) -> Result<(), String> {
        match KERNELS.contains(&job.kernel()) {
            true => Ok(()),
            false => Err(format!(
                "forkjoin has no kernel {:?}; there are: {}",
                job.kernel(),
                KERNELS.join(", ")
            )),
        }
    }

    /// Starts the machine, and waits until it is warm.
    pub fn start(job: Job, workers: usize) -> Result<ForkJoin, String> {
        let what = format!(
            "forkjoin: {}={} with {workers} workers",
            job.kernel(),
            job.input()
        );
        let classes = classes()?;
        let mut process = Command::new("java")
            // As deep as the kernels need.
            .arg("-Xss64m")
            .arg("-cp")
            .arg(classes)
            .args(["Peer", job.kernel(), &job.input(), &workers.to_string()])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|error| no_jdk("java", &error))?;
        let requests = process.stdin.take().expect("piped");
        let answers = BufReader::new(process.stdout.take().expect("piped"));
        let mut peer = ForkJoin {
            what,
            process,
            requests,
            answers,
        };
        match peer.answer()?.as_str() {
            "ready" => Ok(peer),
            other => Err(format!("{}: said {other:?}", peer.what)),
        }
    }

    /// Runs the kernel, twice.
    pub fn run(&mut self) -> Result<Timed, String> {
        // Whether it is still there, its answer says.
        let _ = writeln!(self.requests, "run").and_then(|()| self.requests.flush());
        let line = self.answer()?;
        let parse = || {
            let mut parts = line.splitn(4, ' ');
            let mut seconds = || Some(parts.next()?.parse::<u64>().ok()? as f64 / 1e9);
            Some(Timed {
                sequential: seconds()?,
                parallel: seconds()?,
                is_right: parts.next()? == "right",
                answer: parts.next()?.to_string(),
            })
        };
        parse().ok_or_else(|| format!("{}: said {line:?}", self.what))
    }

    /// The next line that it says.
    fn answer(&mut self) -> Result<String, String> {
        let mut line = String::new();
        match self.answers.read_line(&mut line) {
            Ok(1..) => Ok(line.trim_end().to_string()),
            // It has ended, and said why.
            Ok(0) | Err(_) => {
                let mut why = String::new();
                if let Some(errors) = &mut self.process.stderr {
                    let _ = errors.read_to_string(&mut why);
                }
                let why = why.lines().next().unwrap_or("ended without a word");
                Err(format!("{}: {why}", self.what))
            }
        }
    }
}

impl Drop for ForkJoin {
    fn drop(&mut self) {
        // It has nothing to lose.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn no_jdk(program: &str, error: &std::io::Error) -> String {
    format!(
        "forkjoin needs a JDK, version 11 or later, and cannot run {program}: {error} \
         (Debian: apt-get install default-jdk-headless)"
    )
}

/// The folder with the compiled program, which is made once.
static CLASSES: OnceLock<Result<PathBuf, String>> = OnceLock::new();

fn classes() -> Result<&'static Path, String> {
    let classes = CLASSES.get_or_init(compile);
    classes.as_deref().map_err(String::clone)
}

/// Removes it again.
pub fn clean_up() {
    if let Some(Ok(folder)) = CLASSES.get() {
        // What is left of it is in a folder for such things.
        let _ = std::fs::remove_dir_all(folder);
    }
}

fn compile() -> Result<PathBuf, String> {
    let folder = std::env::temp_dir().join(format!("purloin-forkjoin-{}", std::process::id()));
    let write = || {
        std::fs::create_dir_all(&folder)?;
        SOURCES
            .iter()
            .try_for_each(|(name, text)| std::fs::write(folder.join(name), text))
    };
    write().map_err(|error| format!("forkjoin: cannot write {}: {error}", folder.display()))?;
    let compiled = Command::new("javac")
        .current_dir(&folder)
        .args(SOURCES.iter().map(|(name, _)| name))
        .output()
        .map_err(|error| no_jdk("javac", &error))?;
    match compiled.status.success() {
        true => Ok(folder),
        false => Err(format!(
            "forkjoin: javac: {}",
            String::from_utf8_lossy(&compiled.stderr).trim_end()
        )),
    }
}
