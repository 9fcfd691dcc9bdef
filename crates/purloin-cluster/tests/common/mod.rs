//! Jobs of several ranks, started by the MPI that is installed here.

// Each test file is a crate of its own and uses only some of these functions.
#![allow(dead_code)]

pub mod hosts;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

/// Returns the path of a program in this crate's `examples`.
pub fn example(name: &str) -> PathBuf {
    // A test runs as target/PROFILE/deps/NAME, and examples are in target/PROFILE/examples.
    let test = std::env::current_exe().expect("a test knows its path");
    let profile = test.parent().and_then(Path::parent);
    let program = profile
        .expect("a test is in deps")
        .join("examples")
        .join(name);
    // Plain `cargo test` builds the examples; `cargo test --tests` does not.
    assert!(
        program.exists(),
        "{program:?} is missing; build it with cargo build --package purloin-cluster --examples"
    );
    program
}

/// Reports that a test was skipped, and why. It writes past the test harness, which hides
/// the output of tests that pass.
pub fn skipped(why: &str) {
    let test = std::thread::current();
    let test = test.name().unwrap_or("a test");
    let _ = writeln!(std::io::stderr(), "{test} was SKIPPED: {why}");
}

/// Returns the command that starts a job: `$MPIRUN`, or `mpirun`.
pub fn launcher() -> String {
    std::env::var("MPIRUN").unwrap_or_else(|_| "mpirun".to_owned())
}

/// Returns whether the launcher is Open MPI's, which needs `--oversubscribe` to start more
/// ranks than cores.
pub fn is_open_mpi() -> bool {
    let output = Command::new(launcher()).arg("--version").output();
    let output = output.expect("mpirun is missing; ./x prove cluster installs it");
    String::from_utf8_lossy(&output.stdout).contains("Open MPI")
}

/// Makes the command for a job of `ranks` ranks. A single rank starts without `mpirun`.
pub fn job(ranks: usize, program: &Path, args: &[&str]) -> Command {
    let mut command = match ranks {
        1 => Command::new(program),
        _ => {
            let mut command = Command::new(launcher());
            if is_open_mpi() {
                command.arg("--oversubscribe");
            }
            command.args(["-n", &ranks.to_string()]).arg(program);
            command
        }
    };
    command.args(args);
    allow_root(&mut command);
    command
}

/// Lets root start the job. Only Open MPI reads these variables, and only it objects to root.
pub fn allow_root(command: &mut Command) {
    command
        .env("OMPI_ALLOW_RUN_AS_ROOT", "1")
        .env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1");
}

/// Runs a job to its end. Panics if that takes longer than `limit`.
pub fn run(mut job: Command, limit: Duration) -> Output {
    let begin = Instant::now();
    let mut child = job
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    while child.try_wait().unwrap().is_none() {
        if begin.elapsed() > limit {
            // mpirun ends its ranks on SIGTERM, but cannot on SIGKILL.
            let _ = Command::new("kill").arg(child.id().to_string()).status();
            std::thread::sleep(Duration::from_secs(2));
            let _ = child.kill();
            let output = child.wait_with_output().unwrap();
            panic!(
                "{job:?} has not ended after {limit:?}: {}{}",
                String::from_utf8_lossy(&output.stdout),
                String::from_utf8_lossy(&output.stderr)
            );
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    child.wait_with_output().unwrap()
}

/// A time limit for jobs that should succeed. It allows for debug builds on a busy machine.
pub const LONG: Duration = Duration::from_secs(300);
