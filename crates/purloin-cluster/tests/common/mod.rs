//! Jobs of several ranks, started by the MPI that is here.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

/// The command itself.
pub fn command() -> PathBuf {
    env!("CARGO_BIN_EXE_purloin-cluster").into()
}

/// One of the programs in `examples`.
#[allow(dead_code)]
pub fn example(name: &str) -> PathBuf {
    let directory = command().parent().unwrap().join("examples");
    let program = directory.join(name);
    // `cargo test` builds them, but not with --tests.
    assert!(
        program.exists(),
        "no {program:?}; cargo build --examples makes it"
    );
    program
}

/// Says that a test was skipped, and why, past the harness, which keeps silent about tests
/// that pass.
#[allow(dead_code)]
pub fn skipped(why: &str) {
    let test = std::thread::current();
    let test = test.name().unwrap_or("a test");
    let _ = writeln!(std::io::stderr(), "{test} was SKIPPED: {why}");
}

/// What starts a job: `mpirun`, or what the environment says.
pub fn launcher() -> String {
    std::env::var("MPIRUN").unwrap_or_else(|_| "mpirun".to_owned())
}

/// Whether this is Open MPI, which wants to be told that more ranks than cores are meant.
pub fn is_open_mpi() -> bool {
    let output = Command::new(launcher()).arg("--version").output();
    let output = output.expect("mpirun is there: ./x test installs it");
    String::from_utf8_lossy(&output.stdout).contains("Open MPI")
}

/// A job of so many ranks. One rank is started without `mpirun`.
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
    command
        .args(args)
        // Only Open MPI minds, and only it reads these.
        .env("OMPI_ALLOW_RUN_AS_ROOT", "1")
        .env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1");
    command
}

/// Runs a job to its end, which must come soon.
pub fn run(mut job: Command, most: Duration) -> Output {
    let begin = Instant::now();
    let mut child = job
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    while child.try_wait().unwrap().is_none() {
        if begin.elapsed() > most {
            // mpirun ends its ranks when it is asked to, and not when it is killed.
            let _ = Command::new("kill").arg(child.id().to_string()).status();
            std::thread::sleep(Duration::from_secs(2));
            let _ = child.kill();
            let output = child.wait_with_output().unwrap();
            panic!(
                "{job:?} does not end: {}{}",
                String::from_utf8_lossy(&output.stdout),
                String::from_utf8_lossy(&output.stderr)
            );
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    child.wait_with_output().unwrap()
}

/// Long enough for anything that ends, also in debug builds on a busy machine.
pub const LONG: Duration = Duration::from_secs(300);

/// Runs the command on so many ranks, and reads its report.
#[allow(dead_code)]
pub fn report(ranks: usize, args: &[&str]) -> Value {
    let args = [args, &["--json", "-"]].concat();
    let output = run(job(ranks, &command(), &args), LONG);
    assert!(
        output.status.success(),
        "{args:?} on {ranks} ranks: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    serde_json::from_slice(&output.stdout).expect("a report is JSON")
}
