//! Starting jobs through `mpirun`: [`Launcher`].

use std::io::ErrorKind;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use purloin_command::Failure;
use serde::de::DeserializeOwned;

use super::job::Job;
use crate::NAME;
use crate::latency::Latencies;
use crate::report::Outcome;

/// The way out for a user whose command cannot be run.
const NAME_ANOTHER: &str = "name another command in the environment variable MPIRUN, or after --mpirun of \
                            \"purloin-cluster figures\"";

/// A command that starts jobs, such as `mpirun`.
pub struct Launcher {
    /// The command and its options.
    words: Vec<String>,
    /// The path of `purloin-cluster`.
    program: PathBuf,
    /// Whether the command is Open MPI's, which needs `--oversubscribe` to start more ranks than
    /// cores.
    is_open_mpi: bool,
}

impl Launcher {
    /// Parses a command with its options, and checks that it can be run.
    pub fn find(command: &str) -> Result<Launcher, Failure> {
        let words: Vec<_> = command.split_whitespace().map(str::to_owned).collect();
        let Some(first) = words.first() else {
            return Err(Failure::usage(
                "--mpirun is empty; name a command, such as mpirun",
            ));
        };
        let version = Command::new(first)
            .arg("--version")
            .stdin(Stdio::null())
            .output()
            .map_err(|error| match error.kind() {
                ErrorKind::NotFound => Failure::Usage(format!(
                    "the command \"{first}\", which starts jobs, is not installed; install Open \
                     MPI (package openmpi-bin) or MPICH, or {NAME_ANOTHER}"
                )),
                _ => Failure::Usage(format!("cannot run \"{first}\": {error}; {NAME_ANOTHER}")),
            })?;
        let program = std::env::current_exe()
            .map_err(|error| Failure::Run(format!("cannot find the path of {NAME}: {error}")))?;
        let is_open_mpi = String::from_utf8_lossy(&version.stdout).contains("Open MPI");
        Ok(Launcher {
            words,
            program,
            is_open_mpi,
        })
    }

    /// Runs a job to its end, and returns its report.
    pub fn run(&self, job: &Job) -> Result<Outcome, Failure> {
        let failed = |why: String| Failure::Run(format!("cannot run {job}: {why}"));
        let outcome: Outcome = self.read(job.ranks, &job.arguments()).map_err(failed)?;
        // The launcher of another MPI would start many jobs of one rank.
        if outcome.ranks != job.ranks {
            return Err(failed(format!(
                "{} started a job of {} rank(s); use the launcher of the MPI that {NAME} was built \
                 with",
                self.words[0], outcome.ranks
            )));
        }
        match outcome.verified {
            true => Ok(outcome),
            false => Err(failed("its answer is wrong".to_owned())),
        }
    }

    /// Measures the time of gets from the last of some ranks.
    pub fn latencies(&self, ranks: usize) -> Result<Latencies, Failure> {
        self.read(ranks, &["latency".to_owned()])
            .map_err(|why| Failure::Run(format!("cannot run latency on {ranks} ranks: {why}")))
    }

    /// Runs the command on some ranks, and reads its JSON report. The error is the reason of a
    /// failure.
    fn read<R: DeserializeOwned>(&self, ranks: usize, arguments: &[String]) -> Result<R, String> {
        let output = self.command(ranks, arguments).output();
        let output = output.map_err(|error| error.to_string())?;
        if !output.status.success() {
            let reason = reason(&String::from_utf8_lossy(&output.stderr));
            return Err(reason.unwrap_or_else(|| output.status.to_string()));
        }
        serde_json::from_slice(&output.stdout)
            .map_err(|error| format!("cannot read its report: {error}"))
    }

    fn command(&self, ranks: usize, arguments: &[String]) -> Command {
        let mut command = Command::new(&self.words[0]);
        command.args(&self.words[1..]);
        if self.is_open_mpi {
            command.arg("--oversubscribe");
        }
        command
            .args(["-n", &ranks.to_string()])
            .arg(&self.program)
            .args(arguments)
            .args(["--json", "-"])
            .stdin(Stdio::null());
        command
    }
}

/// Extracts the reason for a failure from a job's standard error, as one line.
fn reason(stderr: &str) -> Option<String> {
    if stderr.contains("OMPI_ALLOW_RUN_AS_ROOT") {
        return Some(
            "mpirun refuses to run as root; run it as another user, or set \
             OMPI_ALLOW_RUN_AS_ROOT=1 and OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1"
                .to_owned(),
        );
    }
    let prefix = format!("{NAME}: ");
    if let Some(line) = stderr.lines().find_map(|line| line.strip_prefix(&prefix)) {
        return Some(line.to_owned());
    }
    // The message comes from the launcher. Its first paragraph, without the frame of dashes, has
    // the reason.
    let lines = stderr.lines().map(str::trim);
    let paragraph: Vec<_> = lines
        .skip_while(|line| line.trim_matches('-').is_empty())
        .take_while(|line| !line.trim_matches('-').is_empty())
        .collect();
    (!paragraph.is_empty()).then(|| paragraph.join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reason_for_a_failure_is_one_line_of_the_jobs_messages() {
        let frame = "-".repeat(40);
        let stderr =
            format!("{frame}\nThere are not enough slots\n  for you:\n\nEither\n{frame}\n");
        let paragraph = Some("There are not enough slots for you:".to_owned());
        assert_eq!(reason(&stderr), paragraph);
        let stderr = format!("{frame}\nPrimary job\n{frame}\npurloin-cluster: it is wrong\n");
        assert_eq!(reason(&stderr), Some("it is wrong".to_owned()));
        assert_eq!(reason("\n"), None);
    }
}
